//! Explains the fates that truncation, repair, the guard and tool-use clearing give.

use crate::format::{format_number, quantity};
use crate::gateway::ruleset::Aggregate;
use crate::policy::clear_tool_uses::ClearedBy;
use crate::policy::truncate::sized_result_chars;
use crate::policy::{Fate, Reason};
use crate::session::message::fate_explanation::FateExplainer;

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
                format!("{} stay, a note among them.", quantity(after, "char"))
            }
            _ => format!(
                "Every block keeps {} and the note, so nothing goes.",
                quantity(settings.min_keep_chars, "char")
            ),
        };
        vec![compared, stays]
    }

    /// Compares with the budget of all results (pruning 8.3).
    fn explain_aggregate(&self, budget: f64) -> Vec<String> {
        let stays = match self.fate.fate {
            Fate::Cleared => "A note that it was left out stays, as far as there is room.".to_owned(),
            _ => {
                format!("{} stay, a note among them.", quantity(self.fate.after.whole_chars() as f64, "char"))
            }
        };
        let budget = quantity(budget, "char");
        vec![
            format!("All results together are over {budget}; the oldest that were answered give way."),
            stays,
        ]
    }

    /// Compares with the limits of a call (pruning 6.33, 6.35).
    fn explain_guard(&self, reason: Reason) -> Vec<String> {
        let Some(numbers) = self.plan.guarded else { return Vec::new() };
        let (single, budget) =
            (quantity(numbers.limits.single, "char"), quantity(numbers.limits.budget, "char"));
        let total = format!("All messages count {}", quantity(numbers.total, "char"));
        let relation = if numbers.total > numbers.limits.budget { "over" } else { "within" };
        let whole = format!("{total}, {relation} the guard's budget of {budget}.");
        match reason {
            Reason::GuardFitted => vec![
                format!("It counts for more than the {single} that the guard lets one result have."),
                "A text counts double, heavy scripts more. What fits of texts and images stays, its details go.".into(),
            ],
            Reason::WithinGuard if numbers.limits.budget.is_infinite() => {
                vec![format!("It counts for no more than {single}.")]
            }
            Reason::GuardCut => vec![
                format!("It counts for more than the {single} that the guard lets one result have."),
                "A result counts double, with its details. One text stays.".into(),
            ],
            Reason::GuardCompacted => vec![whole, "The oldest results give way, a short text stays.".into()],
            Reason::TooSmallToCompact => {
                vec![whole, "The text that would stand for it is no shorter.".into()]
            }
            _ if numbers.total > numbers.limits.budget => {
                vec![whole, "Older results gave way first: that was enough.".into()]
            }
            _ => vec![format!("It counts for no more than {single}."), whole],
        }
    }

    /// Compares with the trigger and the part kept (pruning 7.2). Token counts are approximate.
    fn explain_tool_clearing(&self, reason: Reason) -> Vec<String> {
        let settings = &self.plan.settings.clear;
        let Some(numbers) = self.plan.cleared else { return Vec::new() };
        let trigger = format_number(settings.trigger);
        let whole = match settings.cleared_by {
            ClearedBy::Client => "All messages count",
            ClearedBy::Server { .. } => "The prompt counts",
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
                vec![format!("Only the first {} may be cleared.", quantity(-settings.keep, "result"))]
            }
            Reason::KeptUse if settings.keep == 1.0 => vec!["The last result is kept.".into()],
            Reason::KeptUse => {
                vec![format!("Among the last {}, which are kept.", quantity(settings.keep, "result"))]
            }
            Reason::TooLittleToClear => vec![
                total("over"),
                format!(
                    "Less than {} could be cleared, so nothing is.",
                    quantity(settings.clear_at_least, "token")
                ),
            ],
            Reason::ClearedAtLeast => vec![format!(
                "Clearing older results reclaimed ~{}, which is at least {}.",
                quantity(numbers.tokens_before.saturating_sub(numbers.tokens_after) as f64, "token"),
                format_number(settings.clear_at_least)
            )],
            _ => vec![
                total("over"),
                match settings.cleared_by {
                    ClearedBy::Client => {
                        format!(
                            "A placeholder of {} stays.",
                            quantity(settings.placeholder.len() as f64, "char")
                        )
                    }
                    ClearedBy::Server { .. } => {
                        "The provider's server clears it, by a count of its own.".into()
                    }
                },
            ],
        }
    }

    /// Repair has no thresholds, so its sentences have no numbers.
    fn explain_repair(&self, reason: Reason) -> Option<String> {
        let sentence = match reason {
            Reason::OrphanResult => "No call before it has its id: a provider would refuse it.",
            Reason::DuplicateResult => "Its call has a result already.",
            Reason::RenamedResult => "Its tool name was blank or not trimmed.",
            Reason::Moved => "It moves up to its call: a provider wants it there.",
            Reason::CallRemoved if self.fate.fate == Fate::Dropped => {
                "None of its calls is usable, and it holds nothing else."
            }
            Reason::CallRemoved => "A call without arguments, id or plain name goes.",
            Reason::CallTidied => "A call is sent with its name trimmed or its attachments redacted.",
            Reason::DetailsStripped => "Its text stays; its details go, which no model is sent.",
            Reason::InputsCleared => "The arguments of its calls go with their results.",
            Reason::NoGuard => "This runtime has no guard: every result is sent as it is.",
            Reason::ExcludedTool => "Its tool is excluded from clearing.",
            Reason::UncalledResult => "The answer before it holds no call with its id: it is never cleared.",
            _ => return None,
        };
        Some(sentence.into())
    }
}

#[cfg(test)]
#[path = "policy_explanation_tests.rs"]
mod tests;
