//! Mechanisms in words.

use crate::format::{format_number, format_short_estimate, quantity};
use crate::report::explain::description::grounds::{Described, Evidence};
use crate::report::explain::failure::LimitOrigin;
use crate::report::explain::finding::FindingClass;
use crate::report::explain::mechanism::{LargePrompt, MessageFit};
use crate::store::entry::Role;

/// Percent from which a switched model's own tokenizer is named.
const MIN_SHIFT_PERCENT: u64 = 10;
/// Entries of the part to name.
const MAX_ENTRIES: usize = 40;

impl Described for LargePrompt {
    fn headline(&self) -> String {
        let tokens = format_short_estimate(self.mechanism.tokens.whole());
        let limit = describe_limit(self);
        let counted = |noun: &str| quantity(self.mechanism.count, noun);
        match self.mechanism.class {
            FindingClass::BytesLimit if self.mechanism.count > 0 => {
                format!("the request is too large in bytes ({}); this is not a token limit", counted("image"))
            }
            FindingClass::BytesLimit => {
                "the request is too large in bytes; this is not a token limit".to_owned()
            }
            FindingClass::ModelSwitch => {
                let model = self.model.as_deref().unwrap_or("the model");
                match self.shift_percent().filter(|percent| *percent >= MIN_SHIFT_PERCENT) {
                    Some(percent) => format!("the call went to {model}, which counts {percent}% more tokens"),
                    None => format!("the call went to {model}, whose limit is {limit}"),
                }
            }
            FindingClass::CountShift => {
                let percent = self.shift_percent().unwrap_or(0);
                format!("the provider counted {percent}% more for the same text; the limit is {limit}")
            }
            FindingClass::FixedOverhead => {
                format!("system prompt, tools and files take {tokens} of {limit}")
            }
            FindingClass::ImageBloat => format!("{} take {tokens} of {limit}", counted("image")),
            FindingClass::UserMessage => format!("{} {}", describe_input(self), describe_size(self)),
            FindingClass::SingleResult => {
                let tool = self.tool.as_deref().unwrap_or_default();
                format!("one {tool} result {}", describe_size(self))
            }
            FindingClass::ParallelResults => {
                format!("{} added {tokens}; the limit is {limit}", counted("parallel result"))
            }
            FindingClass::ToolLoopTreadmill => {
                format!("one run's {} take {tokens} of {limit}", counted("tool result"))
            }
            FindingClass::RecurringSessionGrowth => {
                let runs = format_number(self.mechanism.count as u64);
                format!("the same job ran {runs} times in one session")
            }
            _ => describe_growth(self),
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        let scale = if self.size.is_measured { "scaled to the provider's count" } else { "by estimate" };
        let tokens = format_short_estimate(self.mechanism.tokens.whole());
        let part = Evidence::new(format!("{tokens} tokens, {scale}"))
            .with_entries(self.mechanism.entries.iter().copied().take(MAX_ENTRIES));
        let cut = self.result_limit.map(|(chars, cut)| {
            let (chars, cut) = (format_number(chars), quantity(cut, "result"));
            Evidence::new(format!("the call fits if each result is cut to {chars} chars; that cuts {cut}"))
                .with_rule("pruning 6.1")
        });
        let shift = (self.mechanism.class == FindingClass::CountShift).then(|| {
            Evidence::new(
                "the messages since the last accepted call do not explain the growth: another host or tokenizer \
                 counts, or more precedes the messages",
            )
        });
        let isolation = (self.mechanism.class == FindingClass::RecurringSessionGrowth).then(|| {
            Evidence::new(if self.is_isolated {
                "heartbeat.isolatedSession is configured, but these runs share one session id"
            } else {
                "an isolated session for each run keeps it small (heartbeat.isolatedSession, cron sessionTarget)"
            })
        });
        [part].into_iter().chain(shift).chain(cut).chain(isolation).collect()
    }
}

/// Names the sender of the part.
fn describe_input(prompt: &LargePrompt) -> String {
    let count = prompt.mechanism.count;
    match (prompt.role, count) {
        (Some(Role::BashExecution), 1) => "the output of a !command".to_owned(),
        (Some(Role::BashExecution), _) => quantity(count, "!command output"),
        (Some(Role::Custom), 1) => "a message of an extension".to_owned(),
        (Some(Role::Custom), _) => format!("together, {} of extensions", quantity(count, "message")),
        _ => "your message".to_owned(),
    }
}

impl LargePrompt {
    /// Returns by how many percent the provider counted more than before.
    fn shift_percent(&self) -> Option<u64> {
        self.counted_more.map(|ratio| ((ratio - 1.0) * 100.0).round().max(0.0) as u64)
    }
}

/// Names the limit. The gateway's own check has one that no other line shows, below the window.
fn describe_limit(prompt: &LargePrompt) -> String {
    let limit = format_number(prompt.limit);
    if prompt.limit_origin == LimitOrigin::GatewayBudget {
        format!("{limit} after the reserve")
    } else {
        limit
    }
}

/// Describes a single message: too large on its own, or the one that no longer fitted.
fn describe_size(prompt: &LargePrompt) -> String {
    let tokens = format_short_estimate(prompt.mechanism.tokens.whole());
    let limit = describe_limit(prompt);
    match prompt.message_fit() {
        MessageFit::NeverFits => format!("alone is {tokens} tokens; the limit is {limit}"),
        MessageFit::NeverFitsWithFixedParts => {
            let fixed = format_short_estimate(prompt.fixed_tokens);
            format!("takes {tokens} and the fixed parts {fixed}; the limit is {limit}")
        }
        MessageFit::FitsAlone => format!("added {tokens}; the limit is {limit}"),
    }
}

/// Describes a prompt of which no part stands out.
fn describe_growth(prompt: &LargePrompt) -> String {
    let requested = prompt.size.description();
    if prompt.is_mostly_unseen() {
        let unseen = format_short_estimate(prompt.unseen_tokens);
        format!("{unseen} of {requested} tokens are in no message of the transcript")
    } else {
        format!("the session grew message by message to {requested} tokens")
    }
}

#[cfg(test)]
#[path = "large_prompt_tests.rs"]
mod tests;
