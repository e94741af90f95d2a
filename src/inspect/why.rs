//! Why a message has its fate: the sentences, with the numbers the rule compared.

use crate::inspect::words::{counted, of, ratios, span};
use crate::plan::Plan;
use crate::policy::prune::{Gate, trim_chars};
use crate::policy::{MessageFate, Reason};
use crate::store::entry::MessageSize;

/// The sentences that explain a fate, and last the rule it follows, as `pruning 5.7`. Chars are UTF-16
/// units; ratios are chars of all messages against those of the window (pruning 5.5).
pub fn why(fate: &MessageFate, plan: &Plan, size: &MessageSize) -> Vec<String> {
    let facts = Facts { plan, fate, size };
    let mut lines = facts.of_closer_steps(fate.reason).unwrap_or_else(|| match fate.reason {
        reason if reason.is_gate() => vec![facts.gate(reason)],
        Reason::NoWindow | Reason::TooFewAssistants | Reason::RatioBelowSoft => facts.nothing(fate.reason),
        Reason::BelowMaxChars
        | Reason::HeadAndTailCover
        | Reason::HardClearOff
        | Reason::TooFewPrunableChars
        | Reason::ClearedEnough => facts.spared(fate.reason),
        Reason::SoftTrim => facts.trimmed(),
        Reason::HardClear => facts.cleared(),
        Reason::RememberedTrim => {
            vec!["The gateway trimmed it at a call before, and sends it so ever since.".to_owned()]
        }
        Reason::RememberedClear => {
            vec!["The gateway cleared it at a call before, and sends the placeholder ever since.".to_owned()]
        }
        Reason::RememberedCut => {
            vec!["The gateway cut it for a call before, and sends it so ever since.".to_owned()]
        }
        shield => vec![facts.shielded(shield)],
    });
    lines.push(fate.reason.rule().to_owned());
    lines
}

pub(super) struct Facts<'a> {
    pub(super) plan: &'a Plan,
    pub(super) fate: &'a MessageFate,
    pub(super) size: &'a MessageSize,
}

impl Facts<'_> {
    /// A gate stopped the whole policy (pruning 3.3, 3.6, 4.2).
    fn gate(&self, reason: Reason) -> String {
        match reason {
            Reason::PruningOff => "Pruning is off: contextPruning.mode is not cache-ttl.".into(),
            Reason::NoPruner => "This version never prunes, whatever is configured.".into(),
            Reason::ProviderNotEligible => {
                "The gateway does not prune for this provider and model: they are not eligible.".into()
            }
            Reason::NeverTouched => "No run recorded a cache touch yet, so pruning never starts.".into(),
            Reason::NoTtl => "ttl is 0: that switches pruning off.".into(),
            _ => self.warm(),
        }
    }

    fn warm(&self) -> String {
        match self.plan.gate {
            Gate::Warm { idle_ms, ttl_ms } if idle_ms < 0.0 => {
                format!("Cache warm: touched {} in the future, ttl {}.", span(-idle_ms), span(ttl_ms))
            }
            Gate::Warm { idle_ms, ttl_ms } => {
                format!("Cache warm: {} of {} have passed.", span(idle_ms), span(ttl_ms))
            }
            _ => format!("Cache warm: less than {} have passed.", span(self.plan.settings.prune.ttl_ms)),
        }
    }

    /// The policy looked at the whole and left it (pruning 5.1, 5.2, 5.5).
    fn nothing(&self, reason: Reason) -> Vec<String> {
        let outcome = &self.plan.outcome;
        vec![match reason {
            Reason::NoWindow => "No usable window is known, so nothing is pruned.".into(),
            Reason::TooFewAssistants => format!(
                "Fewer than {}, so nothing is pruned yet.",
                of(self.plan.settings.prune.keep_last_assistants, "assistant message")
            ),
            _ => below("softTrimRatio", outcome.ratio_before, self.plan.settings.prune.soft_trim_ratio),
        }]
    }

    /// What shields a message whatever the ratios (pruning 5.12).
    fn shielded(&self, reason: Reason) -> String {
        match reason {
            Reason::BeforeFirstUser => "Before the first user message: protected by position.".into(),
            Reason::WithinLastAssistants => {
                format!("Within {}: protected by position.", self.last_assistants())
            }
            Reason::Image => {
                format!(
                    "It holds {}: results with images are never pruned.",
                    of(self.size.images.into(), "image")
                )
            }
            Reason::ToolDenied => "contextPruning.tools leaves this tool out.".into(),
            Reason::NotAToolResult => "Only tool results are ever pruned.".into(),
            Reason::BeyondHistoryLimit => {
                let turns = of(self.plan.settings.history_limit, "user turn");
                format!("Only the last {turns} and what follows them are sent.")
            }
            Reason::SeenImages => "The model has answered since: its images are not sent again.".into(),
            Reason::SeenMedia => {
                "The model has answered three turns since: its media are not sent again.".into()
            }
            Reason::SummarisedHistory => "The summary stands for it.".into(),
            Reason::Replayed => "The compaction carries what it says of prompt and tools.".into(),
            Reason::SummarisedTurn => {
                "The beginning of a turn that the cut splits: it has a summary of its own.".into()
            }
            Reason::PreviousSummary => "The summary before goes into the new one.".into(),
            Reason::LostTail => {
                "Kept by the compaction before; the new one neither keeps nor summarises it.".into()
            }
            Reason::KeptRecent => {
                let keep = counted(self.plan.settings.compaction.keep_recent_tokens);
                format!("Among the newest messages, of which about {keep} tokens are kept.")
            }
            _ => "No step looks at it.".into(),
        }
    }

    /// A candidate that stayed whole (pruning 5.7–5.10).
    fn spared(&self, reason: Reason) -> Vec<String> {
        let settings = &self.plan.settings.prune;
        let outcome = &self.plan.outcome;
        if reason == Reason::HeadAndTailCover {
            return vec![format!(
                "Its {} are over {}, but {} cover them all.",
                of(self.size.joined_chars, "char"),
                counted(settings.soft_trim.max_chars),
                self.head_and_tail()
            )];
        }
        let short = format!(
            "Its {} are not over softTrim.maxChars {}.",
            of(self.size.joined_chars, "char"),
            counted(settings.soft_trim.max_chars)
        );
        let not_cleared = match reason {
            Reason::HardClearOff => "Clearing is switched off: hardClear.enabled is false.".into(),
            Reason::TooFewPrunableChars => format!(
                "Prunable results hold {}, under minPrunableToolChars {}: none is cleared.",
                of(outcome.prunable_chars, "char"),
                counted(settings.min_prunable_tool_chars)
            ),
            Reason::ClearedEnough => {
                let (after, hard) = ratios(outcome.ratio_after, settings.hard_clear_ratio);
                format!("Clearing older results was enough: ratio {after} is below hardClearRatio {hard}.")
            }
            _ => below("hardClearRatio", outcome.ratio_trimmed, settings.hard_clear_ratio),
        };
        vec![short, not_cleared]
    }

    fn trimmed(&self) -> Vec<String> {
        let settings = &self.plan.settings.prune;
        let reached = reached("softTrimRatio", self.plan.outcome.ratio_before, settings.soft_trim_ratio);
        // Only where images are replaced is a result trimmed that is short enough.
        if trim_chars(&settings.soft_trim, &self.size.result()) <= settings.soft_trim.max_chars {
            let sentence =
                format!("Before {}. A line of text stands for each image.", self.last_assistants());
            return vec![sentence, reached];
        }
        vec![
            format!(
                "Over {}, before {}. {} stay.",
                of(settings.soft_trim.max_chars, "char"),
                self.last_assistants(),
                capital(&self.head_and_tail())
            ),
            reached,
        ]
    }

    fn cleared(&self) -> Vec<String> {
        let settings = &self.plan.settings.prune;
        vec![
            format!(
                "Among the oldest results, before {}. A placeholder of {} stays.",
                self.last_assistants(),
                of(settings.hard_clear.placeholder.len() as f64, "char")
            ),
            reached("hardClearRatio", self.plan.outcome.ratio_trimmed, settings.hard_clear_ratio),
        ]
    }

    fn last_assistants(&self) -> String {
        let keep = self.plan.settings.prune.keep_last_assistants;
        match keep {
            0.0 => "the end".into(),
            1.0 => "the last assistant".into(),
            _ => format!("the last {} assistants", counted(keep)),
        }
    }

    fn head_and_tail(&self) -> String {
        let trim = &self.plan.settings.prune.soft_trim;
        if trim.head_chars == trim.tail_chars {
            return format!("the first and last {}", of(trim.head_chars, "char"));
        }
        format!("the first {} and last {}", counted(trim.head_chars), of(trim.tail_chars, "char"))
    }
}

fn below(name: &str, ratio: f64, limit: f64) -> String {
    let (ratio, limit) = ratios(ratio, limit);
    format!("Ratio {ratio} is below {name} {limit}.")
}

/// Reaching a ratio is enough (pruning 5.5, 5.8).
fn reached(name: &str, ratio: f64, limit: f64) -> String {
    let relation = if ratio == limit { "is exactly" } else { "is over" };
    let (ratio, limit) = ratios(ratio, limit);
    format!("Ratio {ratio} {relation} {name} {limit}.")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

#[cfg(test)]
#[path = "why_tests.rs"]
mod tests;
