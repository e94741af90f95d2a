//! Why truncation, repair, the guard and clearing do to a message what they do: the sentences.

use crate::inspect::why::Facts;
use crate::inspect::words::{counted, of};
use crate::policy::truncate::sized_result_chars;
use crate::policy::{Fate, Reason};

impl Facts<'_> {
    /// The sentences of a reason that one of these steps gives; none for any other.
    pub(super) fn of_closer_steps(&self, reason: Reason) -> Option<Vec<String>> {
        Some(match reason {
            Reason::OverLimit | Reason::WithinLimit => self.truncated(reason),
            Reason::GuardCut | Reason::GuardCompacted | Reason::WithinGuard | Reason::TooSmallToCompact => {
                self.guarded(reason)
            }
            Reason::ClearedUse | Reason::BelowTrigger | Reason::KeptUse | Reason::ClearedAtLeast => {
                self.clearing(reason)
            }
            _ => vec![self.repaired(reason)?],
        })
    }

    /// Against the limit of one result (pruning 6.2, 6.6).
    fn truncated(&self, reason: Reason) -> Vec<String> {
        let settings = &self.plan.settings.truncate;
        let limit = counted(settings.max_result_chars(self.plan.window));
        let relation = if reason == Reason::OverLimit { "are over" } else { "are not over" };
        let compared = match sized_result_chars(self.size) {
            Some(chars) => {
                format!("Its {} {relation} the {limit} that one result may have.", of(chars, "char"))
            }
            None => format!("Its chars {relation} the {limit} that one result may have."),
        };
        if reason == Reason::WithinLimit {
            return vec![compared];
        }
        let stays = match self.fate.after.get() {
            Ok(after) if Ok(after) != self.fate.before.get() => {
                format!("{} stay, a note among them.", of(after, "char"))
            }
            _ => format!(
                "Every block keeps {} and the note, so nothing goes.",
                of(settings.min_keep_chars, "char")
            ),
        };
        vec![compared, stays]
    }

    /// Against the limits of a call (pruning 6.33, 6.35).
    fn guarded(&self, reason: Reason) -> Vec<String> {
        let Some(numbers) = self.plan.guarded else { return Vec::new() };
        let (single, budget) = (of(numbers.limits.single, "char"), of(numbers.limits.budget, "char"));
        let total = format!("All messages count {}", of(numbers.total, "char"));
        let relation = if numbers.total > numbers.limits.budget { "over" } else { "within" };
        let whole = format!("{total}, {relation} the guard's budget of {budget}.");
        match reason {
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

    /// Against the trigger and what is kept (pruning 7.2). Tokens are counted approximately.
    fn clearing(&self, reason: Reason) -> Vec<String> {
        let settings = &self.plan.settings.clear;
        let Some(numbers) = self.plan.cleared else { return Vec::new() };
        let trigger = counted(settings.trigger);
        let total = |relation| {
            format!(
                "All messages count ~{}, {relation} the trigger of {trigger}.",
                of(numbers.before as f64, "token")
            )
        };
        match reason {
            Reason::BelowTrigger => vec![total("not over")],
            Reason::KeptUse if settings.keep < 0.0 => {
                vec![format!("Only the first {} may be cleared.", of(-settings.keep, "result"))]
            }
            Reason::KeptUse if settings.keep == 1.0 => vec!["The last result is kept.".into()],
            Reason::KeptUse => {
                vec![format!("Among the last {}, which are kept.", of(settings.keep, "result"))]
            }
            Reason::ClearedAtLeast => vec![format!(
                "Clearing older results reclaimed ~{}, which is at least {}.",
                of(numbers.before.saturating_sub(numbers.after) as f64, "token"),
                counted(settings.clear_at_least)
            )],
            _ => vec![
                total("over"),
                format!("A placeholder of {} stays.", of(settings.placeholder.len() as f64, "char")),
            ],
        }
    }

    /// What needs no numbers.
    fn repaired(&self, reason: Reason) -> Option<String> {
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
            Reason::ExcludedTool => "Its tool is excluded from clearing.",
            Reason::UncalledResult => "The answer before it holds no call with its id: it is never cleared.",
            _ => return None,
        };
        Some(sentence.into())
    }
}

#[cfg(test)]
#[path = "why_steps_tests.rs"]
mod tests;
