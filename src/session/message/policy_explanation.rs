//! Explains the fates that truncation, repair, the guard and tool-use clearing give.

use crate::format::{format_number, quantity};
use crate::gateway::ruleset::Aggregate;
use crate::policy::clear_tool_uses::ClearedBy;
use crate::policy::truncate::sized_result_chars;
use crate::policy::{Fate, Reason};
use crate::session::message::fate_explanation::FateExplainer;
use crate::units::Chars;

impl FateExplainer<'_> {
    /// Returns `None` for a reason that none of these policies gives.
    pub(super) fn explain_policy(&self, reason: Reason) -> Option<Vec<String>> {
        Some(match reason {
            Reason::OverLimit | Reason::OverAggregate | Reason::WithinLimit => {
                self.explain_truncation(reason)
            }
            Reason::GuardCut
            | Reason::GuardFitted
            | Reason::GuardCompacted
            | Reason::WithinGuard
            | Reason::TooSmallToCompact => self.explain_guard(reason),
            Reason::ClearedUse
            | Reason::BelowTrigger
            | Reason::KeptUse
            | Reason::ClearedAtLeast
            | Reason::TooLittleToClear => self.explain_tool_clearing(reason),
            _ => vec![self.explain_repair(reason)?],
        })
    }

    /// Compares with the limit of one result (pruning 6.2, 6.6).
    fn explain_truncation(&self, reason: Reason) -> Vec<String> {
        let settings = &self.plan.settings.truncate;
        let rules = self.plan.settings.ruleset.rules();
        let most = settings.max_result_chars_under(rules, self.plan.window);
        if reason == Reason::OverAggregate {
            return self.explain_aggregate(match rules.aggregate {
                rule @ Aggregate::Weighted => rule.budget(self.plan.window, most, true),
                _ => self.plan.settings.reduce.all_chars,
            });
        }
        let limit = format_number(most);
        let relation = if reason == Reason::OverLimit { "are over" } else { "are not over" };
        let compared = match sized_result_chars(self.size) {
            Some(chars) => {
                format!("Its {} {relation} the {limit} that one result may have.", quantity(chars, "char"))
            }
            None => format!("Its chars {relation} the {limit} that one result may have."),
        };
        if reason == Reason::WithinLimit {
            return vec![compared];
        }
        let stays = match self.fate.after.value() {
            Ok(after) if Ok(after) != self.fate.before.value() => {
                format!("Keeps {}, including a note.", quantity(after, "char"))
            }
            _ => format!(
                "Every block keeps {} and the note, so nothing is cut.",
                quantity(settings.min_keep_chars, "char")
            ),
        };
        vec![compared, stays]
    }

    /// Compares with the budget of all results (pruning 8.3).
    fn explain_aggregate(&self, budget: Chars) -> Vec<String> {
        let stays = match self.fate.fate {
            Fate::Cleared => "A note replaces it, if it fits.".to_owned(),
            _ => {
                format!("Keeps {}, including a note.", quantity(self.fate.after.whole_chars(), "char"))
            }
        };
        let budget = quantity(budget, "char");
        vec![
            format!(
                "All results together exceed {budget}; the gateway shortens the oldest answered ones \
                 first."
            ),
            stays,
        ]
    }

    /// Compares with the limits of a call (pruning 6.33, 6.35).
    fn explain_guard(&self, reason: Reason) -> Vec<String> {
        let Some(numbers) = self.plan.guarded else { return Vec::new() };
        let (single, budget) =
            (quantity(numbers.limits.single, "char"), quantity(numbers.limits.budget, "char"));
        let total = format!("All messages together have {}", quantity(numbers.total, "char"));
        let relation = if numbers.total > numbers.limits.budget { "over" } else { "within" };
        let whole = format!("{total}, {relation} the guard's budget of {budget}.");
        match reason {
            Reason::GuardFitted => vec![
                format!("It counts as more than the {single} that the guard allows for one result."),
                "Text counts double, heavy scripts more. Keeps the texts and images that fit, drops its \
                 details."
                    .into(),
            ],
            Reason::WithinGuard if numbers.limits.budget == Chars::INFINITY => {
                vec![format!("It counts as at most {single}.")]
            }
            Reason::GuardCut => vec![
                format!("It counts as more than the {single} that the guard allows for one result."),
                "A result counts double, with its details. Keeps one text.".into(),
            ],
            Reason::GuardCompacted => {
                vec![whole, "The guard replaces the oldest results with a short text.".into()]
            }
            Reason::TooSmallToCompact => {
                vec![whole, "The text that would replace it is not shorter.".into()]
            }
            _ if numbers.total > numbers.limits.budget => {
                vec![whole, "Replacing older results was enough.".into()]
            }
            _ => vec![format!("It counts as at most {single}."), whole],
        }
    }

    /// Compares with the trigger and the part kept (pruning 7.2). Token counts are approximate.
    fn explain_tool_clearing(&self, reason: Reason) -> Vec<String> {
        let settings = &self.plan.settings.clear;
        let Some(numbers) = self.plan.cleared else { return Vec::new() };
        let trigger = format_number(settings.trigger);
        let whole = match settings.cleared_by {
            ClearedBy::Client => "All messages have",
            ClearedBy::Server { .. } => "The prompt has",
        };
        let total = |relation| {
            format!(
                "{whole} ~{}, {relation} the trigger of {trigger}.",
                quantity(numbers.tokens_before as f64, "token")
            )
        };
        match reason {
            Reason::BelowTrigger => vec![total("not over")],
            Reason::KeptUse if settings.keep < 0.0 => {
                vec![format!("Kept: only the first {} may be cleared.", quantity(-settings.keep, "result"))]
            }
            Reason::KeptUse if settings.keep == 1.0 => vec!["Kept: the last result.".into()],
            Reason::KeptUse => {
                vec![format!("Kept: among the last {}.", quantity(settings.keep, "result"))]
            }
            Reason::TooLittleToClear => vec![
                total("over"),
                format!(
                    "Clearing would free less than {}, so nothing is cleared.",
                    quantity(settings.clear_at_least, "token")
                ),
            ],
            Reason::ClearedAtLeast => vec![format!(
                "Clearing older results freed ~{}, at least the required {}.",
                quantity(numbers.tokens_before.saturating_sub(numbers.tokens_after) as f64, "token"),
                format_number(settings.clear_at_least)
            )],
            _ => vec![
                total("over"),
                match settings.cleared_by {
                    ClearedBy::Client => {
                        format!(
                            "A placeholder of {} replaces it.",
                            quantity(settings.placeholder.len() as f64, "char")
                        )
                    }
                    ClearedBy::Server { .. } => "The provider's server clears it by its own count.".into(),
                },
            ],
        }
    }

    /// Repair has no thresholds, so its sentences have no numbers.
    fn explain_repair(&self, reason: Reason) -> Option<String> {
        let sentence = match reason {
            Reason::OrphanResult => "No earlier call has its id, so a provider would refuse it.",
            Reason::FailedAnswer => "The answer failed or was stopped while it called tools.",
            Reason::DuplicateResult => "Its call already has a result.",
            Reason::RenamedResult => "Its tool name was blank or not trimmed.",
            Reason::Moved => "It moves up to its call, where a provider expects it.",
            Reason::CallRemoved if self.fate.fate == Fate::Dropped => {
                "It has no usable call and no other content."
            }
            Reason::CallRemoved => "A call without arguments, id or plain name is dropped.",
            Reason::CallTidied => "A call's name is trimmed or its attachments are redacted.",
            Reason::DetailsStripped => "Keeps its text; drops its details, which no model receives.",
            Reason::InputsCleared => "The arguments of its calls are cleared with their results.",
            Reason::NoGuard => "This runtime has no guard: it sends every result unchanged.",
            Reason::ExcludedTool => "Its tool is excluded from clearing.",
            Reason::UncalledResult => "Never cleared: the answer before it has no call with its id.",
            _ => return None,
        };
        Some(sentence.into())
    }
}

#[cfg(test)]
#[path = "policy_explanation_tests.rs"]
mod tests;
