//! Refused and failing calls in words: what the error means, and the way out.

use crate::format::{format_displayed_timestamp, format_number, format_size, quantity};
use crate::policy::overflow::ErrorClass;
use crate::report::explain::description::grounds::{Described, Evidence};
use crate::report::explain::unanswered::{Culprit, Fault, UnansweredCalls};
use crate::session::overflow::CallState;
use crate::session::prompt_faults::PromptFaultKind;
use crate::units::Bytes;

/// Images below this size are within every known limit.
const LARGE_IMAGE: Bytes = Bytes(1 << 20);
/// Longer ids are cut in a headline.
const SHORT_ID_CHARS: usize = 8;
/// The longest quote in a headline, in chars.
const SHORT_QUOTE_CHARS: usize = 48;

impl Described for UnansweredCalls {
    fn headline(&self) -> String {
        let head = match self.state {
            CallState::Failing => "Failing",
            _ => "Refused",
        };
        let times = match self.calls.len() {
            1 => String::new(),
            count => format!(" {}x", format_number(count as u64)),
        };
        format!("{head}{times}: {}. {}", self.cause(), self.short_way_out())
    }

    fn evidence(&self) -> Vec<Evidence> {
        let (since, time) = &self.since;
        let when = format_displayed_timestamp(*time).map(|time| format!(" ({time})")).unwrap_or_default();
        let calls = match self.calls.len() {
            1 => format!("1 call failed with this error: {since}{when}"),
            count => format!("{} failed with this error since {since}{when}", quantity(count, "call")),
        };
        let said =
            format!("{} says: {}", self.speaker(), if self.said.is_empty() { "nothing" } else { &self.said });
        let answered = match &self.last_answer {
            Some((_, name)) => format!("the last answered call is {name}"),
            None => "no call of this branch was answered".to_owned(),
        };
        let culprits = self.culprits.iter().map(|culprit| {
            Evidence::new(format!("{}: {}", culprit.name, culprit.description()))
                .with_entries([culprit.entry])
        });
        let mut lines = vec![
            Evidence::new(calls).with_entries(self.calls.iter().copied()),
            Evidence::new(said).with_rule("overflow-texts 5"),
            Evidence::new(answered).with_entries(self.last_answer.as_ref().map(|(ix, _)| *ix)),
        ];
        lines.extend(culprits);
        lines.push(Evidence::new(format!("not an overflow: {}", self.why_no_size())));
        lines
    }

    fn step(&self) -> Option<String> {
        Some(self.way_out())
    }
}

impl UnansweredCalls {
    /// Says what is wrong, without a full stop.
    fn cause(&self) -> String {
        let provider = self.speaker();
        let first = self.culprits.first();
        match self.class {
            ErrorClass::Lock => "the session is locked by another process or a left-over lock".to_owned(),
            ErrorClass::ToolPairing | ErrorClass::Thinking => match first {
                Some(culprit) => culprit.headline(),
                None if self.class == ErrorClass::Thinking => "a thinking block is rejected".to_owned(),
                None => "tool calls and results do not pair".to_owned(),
            },
            ErrorClass::MessageForm => "a message of the history has a form that is rejected".to_owned(),
            ErrorClass::Media => match first {
                Some(culprit) if self.culprits.len() == 1 => culprit.headline(),
                Some(_) => format!("the images of {} are rejected", quantity(self.culprits.len(), "message")),
                None => "an image or file is rejected".to_owned(),
            },
            ErrorClass::ReplyReserve => self.reply_cause(),
            ErrorClass::RequestCeiling => match (self.numbers.limit, self.numbers.requested) {
                (Some(limit), Some(requested)) => format!(
                    "the plan allows {} tokens a minute, one request needs {}",
                    format_number(limit),
                    format_number(requested)
                ),
                _ => "one request needs more than the plan allows".to_owned(),
            },
            ErrorClass::Billing => format!("no credit left at {provider} (billing)"),
            ErrorClass::Quota => format!("the quota at {provider} is used up"),
            ErrorClass::RateLimit => format!("{provider} limits the rate of requests"),
            ErrorClass::Auth => format!("{provider} rejects the key or login"),
            ErrorClass::Model => format!("{provider} does not serve the model"),
            ErrorClass::Content => "a content filter rejects a message".to_owned(),
            ErrorClass::Compaction => "the call for the compaction's summary failed".to_owned(),
            ErrorClass::Gateway => format!("the gateway stopped the run ({})", self.short_quote()),
            ErrorClass::Field => "a field of the request is too long or too complex".to_owned(),
            ErrorClass::Provider => format!("{provider} did not answer ({})", self.short_quote()),
            ErrorClass::Other => format!("{provider} says “{}”", self.short_quote()),
        }
    }

    fn reply_cause(&self) -> String {
        match (self.numbers.output, self.numbers.limit) {
            (Some(output), Some(limit)) => format!(
                "the reply reserves {} tokens, the limit is {}",
                format_number(output),
                format_number(limit)
            ),
            (None, Some(limit)) => {
                format!("the reply reserves more than {} tokens", format_number(limit))
            }
            _ => "the reply reserves too many tokens".to_owned(),
        }
    }

    /// Says in few words what to do.
    fn short_way_out(&self) -> String {
        match self.class {
            ErrorClass::Lock => "Run `clawscope doctor`.".to_owned(),
            ErrorClass::Media => {
                self.branch_words(if self.culprits.len() > 1 { "or drop them" } else { "or drop it" })
            }
            ErrorClass::ToolPairing
            | ErrorClass::Thinking
            | ErrorClass::MessageForm
            | ErrorClass::Content => self.branch_words("or start a new session"),
            ErrorClass::ReplyReserve => "Lower the model's maxTokens.".to_owned(),
            ErrorClass::RequestCeiling => "Waiting does not help.".to_owned(),
            ErrorClass::Billing => "Recharge it or switch the model.".to_owned(),
            ErrorClass::Quota => "Wait for its reset or switch the model.".to_owned(),
            ErrorClass::RateLimit | ErrorClass::Provider => {
                "Wait and send again, or switch the model.".to_owned()
            }
            ErrorClass::Auth => "Renew the key or login.".to_owned(),
            ErrorClass::Model => "Choose another model.".to_owned(),
            ErrorClass::Compaction => "Compact with another model.".to_owned(),
            ErrorClass::Gateway => "See its log.".to_owned(),
            ErrorClass::Field => "Offer fewer or smaller tools.".to_owned(),
            ErrorClass::Other => "Send again once, then switch the model.".to_owned(),
        }
    }

    fn branch_words(&self, other: &str) -> String {
        match &self.branch_from {
            Some((_, name)) => format!("Continue from {} {other}.", short(name)),
            None => "Start a new session.".to_owned(),
        }
    }

    /// Says in a sentence what to do, with the setting, the command or the entry.
    pub fn way_out(&self) -> String {
        let provider = if self.provider.is_empty() { "PROVIDER" } else { &self.provider };
        let branch = self.branch_command();
        match self.class {
            ErrorClass::Lock => "`clawscope doctor` names the lock and its process. Stop that process, or remove the lock if the process is gone; the session itself is intact.".to_owned(),
            ErrorClass::ToolPairing | ErrorClass::Thinking | ErrorClass::MessageForm | ErrorClass::Content => {
                format!("The message stays in the history, so waiting and sending again do not help. {branch}")
            }
            ErrorClass::Media => format!("The image stays in the history, so every call is refused until it is gone. {branch}"),
            ErrorClass::ReplyReserve => format!(
                "Set models.providers.{provider}.models[].maxTokens of {} well below the limit. Compaction, /reset and reserveTokensFloor do not help.",
                if self.model.is_empty() { "the model" } else { &self.model }
            ),
            ErrorClass::RequestCeiling => "Waiting and /reset do not help: a single request is above the allowance. Take a larger plan, a model with a higher limit, fewer tools or smaller workspace files.".to_owned(),
            ErrorClass::Billing => format!("Pay or recharge the account at {provider}, or switch to a model of another provider. Waiting, /reset and settings do not help; the session itself is intact."),
            ErrorClass::Quota => format!("The quota at {provider} comes back at its reset; another provider's model answers now. /reset and settings do not help; the session itself is intact."),
            ErrorClass::RateLimit => "Waiting helps: send again in a minute, or switch to another provider's model. The session itself is intact.".to_owned(),
            ErrorClass::Auth => format!("Renew the key or login of {provider} (`openclaw models auth`). Waiting and /reset do not help; the session itself is intact."),
            ErrorClass::Model => format!("Choose a model that {provider} serves (/model). The session itself is intact."),
            ErrorClass::Compaction => "Compact with another model, or with `clawscope commit --policy compact`. The history is intact.".to_owned(),
            ErrorClass::Gateway => "The gateway's log has the reason. The provider was not asked.".to_owned(),
            ErrorClass::Field => "Offer fewer tools or a smaller schema. Compaction and /reset do not help.".to_owned(),
            ErrorClass::Provider => format!("Waiting helps: send again later, or switch to another model if {provider} stays down. The session itself is intact."),
            ErrorClass::Other => "The words name no cause that clawscope knows. Nothing says that the prompt was too large.".to_owned(),
        }
    }

    /// Names the commands that continue without the rejected messages.
    fn branch_command(&self) -> String {
        match self.ways_out.as_slice() {
            [drop, branch, ..] => format!(
                "`{}` continues without it, `{} {}` before it; /new starts without the history.",
                drop.command,
                branch.change.option(),
                branch.names.join(" ")
            ),
            [branch] => format!(
                "`{}` continues from the last answer; /new starts without the history.",
                branch.command
            ),
            [] if self.branch_from.is_some() => {
                "The file is damaged, so no commit can remove it: start a new session (/new).".to_owned()
            }
            [] => "No answer comes before it: start a new session (/new).".to_owned(),
        }
    }

    /// Says why no size is to blame.
    fn why_no_size(&self) -> String {
        match self.numbers.input {
            Some(input) if self.class == ErrorClass::ReplyReserve => {
                format!("the prompt has only {} tokens", format_number(input))
            }
            _ => format!("the error is of class {}", self.class.as_str()),
        }
    }

    fn speaker(&self) -> &str {
        if self.provider.is_empty() { "the provider" } else { &self.provider }
    }

    fn short_quote(&self) -> String {
        let mut chars = self.said.chars();
        let quote: String = chars.by_ref().take(SHORT_QUOTE_CHARS).collect();
        let is_cut = chars.next().is_some();
        if is_cut { format!("{quote}…") } else { quote.trim_end_matches('.').to_owned() }
    }
}

impl Culprit {
    fn headline(&self) -> String {
        let name = short(&self.name);
        match &self.fault {
            // A copy of a store may lack the data: then its size explains nothing.
            Fault::Prompt(PromptFaultKind::LargeImage { bytes }) if *bytes < LARGE_IMAGE => {
                format!("the image in {name} is rejected")
            }
            Fault::Prompt(PromptFaultKind::LargeImage { bytes }) => {
                format!("the image in {name} ({}) is rejected", format_size(*bytes))
            }
            Fault::Prompt(PromptFaultKind::CallWithoutResult { .. }) => {
                format!("a tool call in {name} has no result")
            }
            Fault::Prompt(PromptFaultKind::EmptyCallId) => format!("tool result {name} has an empty call id"),
            Fault::Prompt(PromptFaultKind::ResultWithoutCall { .. }) => {
                format!("tool result {name} has no call")
            }
            Fault::Images(_) => format!("the images in {name} are rejected"),
            Fault::Thinking => format!("a thinking block of {name} is rejected"),
        }
    }

    /// Says what is wrong with the message.
    pub fn description(&self) -> String {
        match &self.fault {
            Fault::Prompt(kind) => kind.description(),
            Fault::Images(count) => format!("this message has {}", quantity(u64::from(*count), "image")),
            Fault::Thinking => "this message has thinking that the provider does not accept".to_owned(),
        }
    }
}

fn short(name: &str) -> String {
    let is_uuid = name.len() > 2 * SHORT_ID_CHARS && name.is_ascii();
    if is_uuid { name[..SHORT_ID_CHARS].to_owned() } else { name.to_owned() }
}
