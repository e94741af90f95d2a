//! Explains a message's fate in sentences, with the numbers that the rule compared.
//!
//! A person must be able to check each decision by hand, so a sentence shows both sides of a comparison: "Its 3,200
//! chars are not over `softTrim.maxChars` 4,000."

use crate::format::{format_duration, format_number, format_ratios, quantity};
use crate::plan::Plan;
use crate::policy::prune::{Gate, trimmable_chars};
use crate::policy::{MessageFate, Reason};
use crate::store::entry::MessageSize;
use crate::units::Millis;

/// Returns the sentences that explain a fate, and last the rule, as `pruning 5.7`. Chars are UTF-16 units; ratios are
/// the chars of all messages divided by those of the window (pruning 5.5).
pub fn explain_fate(fate: &MessageFate, plan: &Plan, size: &MessageSize) -> Vec<String> {
    let facts = FateExplainer { plan, fate, size };
    let mut lines = facts.explain_policy(fate.reason).unwrap_or_else(|| match fate.reason {
        reason if reason.is_gate() => vec![facts.explain_gate(reason)],
        Reason::NoWindow | Reason::TooFewAssistants | Reason::RatioBelowSoft => {
            facts.explain_no_pruning(fate.reason)
        }
        Reason::BelowMaxChars
        | Reason::HeadAndTailCover
        | Reason::HardClearOff
        | Reason::TooFewPrunableChars
        | Reason::ClearedEnough => facts.explain_untouched(fate.reason),
        Reason::SoftTrim => facts.explain_soft_trim(),
        Reason::HardClear => facts.explain_hard_clear(),
        Reason::RememberedTrim => {
            vec!["The gateway trimmed it at an earlier call and has sent it trimmed since.".to_owned()]
        }
        Reason::RememberedClear => {
            vec!["The gateway cleared it at an earlier call and has sent the placeholder since.".to_owned()]
        }
        Reason::RememberedCut => {
            vec!["The gateway cut it for an earlier call and has sent it cut since.".to_owned()]
        }
        shield => vec![facts.explain_protected(shield)],
    });
    lines.push(fate.reason.rule().to_owned());
    lines
}

pub(super) struct FateExplainer<'a> {
    pub(super) plan: &'a Plan,
    pub(super) fate: &'a MessageFate,
    pub(super) size: &'a MessageSize,
}

impl FateExplainer<'_> {
    /// For a gate that stopped the whole policy (pruning 3.3, 3.6, 4.2).
    fn explain_gate(&self, reason: Reason) -> String {
        match reason {
            Reason::PruningOff => "Pruning is off: contextPruning.mode is not cache-ttl.".into(),
            Reason::NoPruner => "This release never prunes, with any configuration.".into(),
            Reason::ProviderNotEligible => "The gateway does not prune for this provider and model.".into(),
            Reason::NeverTouched => {
                "No run has recorded a cache touch yet, so pruning does not start.".into()
            }
            Reason::NoTtl => "Pruning is off: contextPruning.ttl is 0.".into(),
            _ => self.explain_warm_cache(),
        }
    }

    fn explain_warm_cache(&self) -> String {
        match self.plan.gate {
            Gate::Warm { idle_ms, ttl_ms } if idle_ms < Millis::ZERO => {
                format!(
                    "Cache warm: last touched {} in the future, ttl {}.",
                    format_duration(idle_ms.abs()),
                    format_duration(ttl_ms)
                )
            }
            Gate::Warm { idle_ms, ttl_ms } => {
                format!("Cache warm: {} of {} passed.", format_duration(idle_ms), format_duration(ttl_ms))
            }
            _ => {
                format!("Cache warm: less than {} passed.", format_duration(self.plan.settings.prune.ttl_ms))
            }
        }
    }

    /// For a policy that pruned nothing in the whole context (pruning 5.1, 5.2, 5.5).
    fn explain_no_pruning(&self, reason: Reason) -> Vec<String> {
        let outcome = &self.plan.pruning;
        vec![match reason {
            Reason::NoWindow => "The context window is unknown, so nothing is pruned.".into(),
            Reason::TooFewAssistants => format!(
                "Fewer than {}, so nothing is pruned yet.",
                quantity(self.plan.settings.prune.keep_last_assistants, "assistant message")
            ),
            _ => describe_below(
                "softTrimRatio",
                outcome.ratio_before,
                self.plan.settings.prune.soft_trim_ratio,
            ),
        }]
    }

    /// For a message that is protected at any ratio (pruning 5.12).
    fn explain_protected(&self, reason: Reason) -> String {
        match reason {
            Reason::BeforeFirstUser => "Before the first user message: protected by position.".into(),
            Reason::WithinLastAssistants => {
                format!("Within {}: protected by position.", self.describe_last_assistants())
            }
            Reason::Image => {
                format!(
                    "It contains {}: results with images are never pruned.",
                    quantity(f64::from(self.size.images), "image")
                )
            }
            Reason::ToolDenied => "contextPruning.tools excludes this tool.".into(),
            Reason::NotAToolResult => "Only tool results are ever pruned.".into(),
            Reason::BeyondHistoryLimit => {
                let turns = quantity(self.plan.settings.history_limit, "user turn");
                format!("The gateway sends only the last {turns}.")
            }
            Reason::SeenImages => "The model has answered since, so its images are not sent again.".into(),
            Reason::SeenMedia => {
                "The model has answered three turns since, so its media are not sent again.".into()
            }
            Reason::SummarisedHistory => "The summary replaces it.".into(),
            Reason::Replayed => "The compaction keeps its changes to prompt and tools.".into(),
            Reason::SummarisedTurn => {
                "The cut splits this turn; its beginning gets a separate summary.".into()
            }
            Reason::PreviousSummary => "The new summary includes the previous one.".into(),
            Reason::LostTail => {
                "The previous compaction kept it; the new one neither keeps nor summarises it.".into()
            }
            Reason::KeptRecent => {
                let keep = format_number(self.plan.settings.compaction.keep_recent_tokens);
                format!("Kept: among the newest messages, about {keep} tokens.")
            }
            _ => "No policy changes it.".into(),
        }
    }

    /// For a candidate that was left whole (pruning 5.7–5.10).
    fn explain_untouched(&self, reason: Reason) -> Vec<String> {
        let settings = &self.plan.settings.prune;
        let outcome = &self.plan.pruning;
        if reason == Reason::HeadAndTailCover {
            return vec![format!(
                "It has {}, more than {}, but {} cover them all.",
                quantity(self.size.joined_chars, "char"),
                format_number(settings.soft_trim.max_chars),
                self.describe_head_and_tail()
            )];
        }
        let short = format!(
            "It has {}, within softTrim.maxChars {}.",
            quantity(self.size.joined_chars, "char"),
            format_number(settings.soft_trim.max_chars)
        );
        let not_cleared = match reason {
            Reason::HardClearOff => "Clearing is off: hardClear.enabled is false.".into(),
            Reason::TooFewPrunableChars => format!(
                "Nothing to clear: prunable results have {}, below minPrunableToolChars {}.",
                quantity(outcome.prunable_chars, "char"),
                format_number(settings.min_prunable_tool_chars)
            ),
            Reason::ClearedEnough => {
                let (after, hard) = format_ratios(outcome.ratio_after, settings.hard_clear_ratio);
                format!("Clearing older results was enough: ratio {after} is below hardClearRatio {hard}.")
            }
            _ => describe_below("hardClearRatio", outcome.ratio_trimmed, settings.hard_clear_ratio),
        };
        vec![short, not_cleared]
    }

    fn explain_soft_trim(&self) -> Vec<String> {
        let settings = &self.plan.settings.prune;
        let reached =
            describe_reached("softTrimRatio", self.plan.pruning.ratio_before, settings.soft_trim_ratio);
        // A result short enough to stay is only trimmed to replace its images.
        if trimmable_chars(&settings.soft_trim, &self.size.tool_result_size()) <= settings.soft_trim.max_chars
        {
            let sentence =
                format!("Before {}. A text line replaces each image.", self.describe_last_assistants());
            return vec![sentence, reached];
        }
        vec![
            format!(
                "Over {}, before {}. Keeps {}.",
                quantity(settings.soft_trim.max_chars, "char"),
                self.describe_last_assistants(),
                self.describe_head_and_tail()
            ),
            reached,
        ]
    }

    fn explain_hard_clear(&self) -> Vec<String> {
        let settings = &self.plan.settings.prune;
        vec![
            format!(
                "Among the oldest results, before {}. A placeholder of {} replaces it.",
                self.describe_last_assistants(),
                quantity(settings.hard_clear.placeholder.len() as f64, "char")
            ),
            describe_reached("hardClearRatio", self.plan.pruning.ratio_trimmed, settings.hard_clear_ratio),
        ]
    }

    fn describe_last_assistants(&self) -> String {
        let keep = self.plan.settings.prune.keep_last_assistants;
        match keep {
            0.0 => "the end".into(),
            1.0 => "the last assistant".into(),
            _ => format!("the last {} assistants", format_number(keep)),
        }
    }

    fn describe_head_and_tail(&self) -> String {
        let trim = &self.plan.settings.prune.soft_trim;
        if trim.head_chars == trim.tail_chars {
            return format!("the first and last {}", quantity(trim.head_chars, "char"));
        }
        format!("the first {} and last {}", format_number(trim.head_chars), quantity(trim.tail_chars, "char"))
    }
}

fn describe_below(name: &str, ratio: f64, limit: f64) -> String {
    let (ratio, limit) = format_ratios(ratio, limit);
    format!("Ratio {ratio} is below {name} {limit}.")
}

/// Reaching the ratio is enough; it need not be exceeded (pruning 5.5, 5.8).
fn describe_reached(name: &str, ratio: f64, limit: f64) -> String {
    let relation = if ratio == limit { "is exactly" } else { "is above" };
    let (ratio, limit) = format_ratios(ratio, limit);
    format!("Ratio {ratio} {relation} {name} {limit}.")
}

#[cfg(test)]
#[path = "fate_explanation_tests.rs"]
mod tests;
