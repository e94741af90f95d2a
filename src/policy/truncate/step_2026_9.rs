//! Truncation as a step by the rules of 2026.9: each result held to its limit, then all of them together, oldest first
//! (pruning 8.3). Those behind the last answer keep more, and are left out when all together are too many.

use crate::gateway::ruleset::Truncation;
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::list::List;
use crate::policy::reason::Reason;
use crate::policy::settings::TruncateSettings;
use crate::policy::truncate::v2026_9::{aggregate_chars, notices_chars};
use crate::store::entry::Role;

/// Cuts the results of a list for a window in tokens; `limit` is what one may have, in weighted chars.
pub(super) fn truncate_list(
    list: &mut List,
    window: f64,
    limit: f64,
    settings: &TruncateSettings,
) -> Vec<MessageFate> {
    let answered = list.sizes().rposition(|size| size.role == Role::Assistant);
    let fresh_from = answered.map_or(0, |at| at + 1);
    let mut run = Run { fates: Vec::with_capacity(list.len()), list };
    for at in 0..run.list.len() {
        let min_keep = if at >= fresh_from { settings.min_keep_chars } else { 0.0 };
        run.single(at, limit, min_keep);
    }
    run.aggregate(fresh_from, aggregate_chars(window, limit));
    run.fates
}

struct Run<'l, 'a> {
    list: &'l mut List<'a>,
    fates: Vec<MessageFate>,
}

impl Run<'_, '_> {
    /// Weighted chars of the text of a result; 0 for other messages.
    fn chars(&self, at: usize) -> f64 {
        let letters = self.list.texture(at).and_then(|texture| texture.letters);
        letters.map_or(0.0, |letters| letters.chars)
    }

    fn single(&mut self, at: usize, limit: f64, min_keep: f64) {
        let size = self.list.size(at);
        let is_result = size.role == Role::ToolResult;
        let reason = if is_result { Reason::WithinLimit } else { Reason::Untouched };
        self.fates.push(MessageFate::kept(&size, reason));
        if self.chars(at) > limit {
            self.edit(at, cut(limit, min_keep), (Fate::Truncated, Reason::OverLimit));
        }
    }

    /// Cuts what is answered until all fit; what is still too much is left out.
    fn aggregate(&mut self, fresh_from: usize, budget: f64) {
        let mut over = (0..self.list.len()).map(|at| self.chars(at)).sum::<f64>() - budget;
        for elides in [false, true] {
            for at in 0..fresh_from {
                if over <= 0.0 {
                    return;
                }
                let now = self.chars(at);
                let room = (now - over).max(0.0);
                let max = if elides { room } else { room.max(self.notices(at)) };
                if now <= max {
                    continue;
                }
                let (edit, fate) = if elides {
                    (Edit::Elide { max_chars: max }, Fate::Cleared)
                } else {
                    (cut(max, 0.0), Fate::Truncated)
                };
                self.edit(at, edit, (fate, Reason::OverAggregate));
                over -= now - self.chars(at);
            }
        }
    }

    fn notices(&self, at: usize) -> f64 {
        let body = self.list.texture(at).and_then(|texture| texture.body.as_ref());
        body.map_or(0.0, |body| notices_chars(body))
    }

    fn edit(&mut self, at: usize, edit: Edit, (fate, reason): (Fate, Reason)) {
        self.list.make(at, edit);
        let after = self.list.size(at).prune_chars;
        self.fates[at] = MessageFate { fate, reason, after, ..self.fates[at] };
    }
}

fn cut(max_chars: f64, min_keep_chars: f64) -> Edit {
    Edit::Truncate { max_chars, min_keep_chars, by: Truncation::HeadAndTail }
}

#[cfg(test)]
mod tests {
    use crate::gateway::ruleset::Ruleset;
    use crate::policy::settings::TruncateSettings;
    use crate::policy::testing::{List as Messages, calls, result};
    use crate::policy::truncate::truncate_list;
    use crate::policy::truncate::v2026_9::truncate_call;
    use crate::policy::{Fate, Reason};

    /// What becomes of results of so many chars, an answer behind those before `|`; checked against the rule on texts.
    fn truncated(list: &str, window: f64) -> Vec<(Fate, Reason, u64)> {
        let message = |word: &str| match word.parse::<usize>() {
            Ok(chars) => result("c", &"x".repeat(chars)),
            Err(_) => calls(&["c"]),
        };
        let messages = Messages::under(Ruleset::V2026_9_2, &list.split(' ').map(message).collect::<Vec<_>>());
        let mut list = messages.list();
        let rules = Ruleset::V2026_9_2.rules();
        let settings = TruncateSettings::built_in(rules, window);
        let fates = truncate_list(&mut list, rules, window, &settings);
        let expected = truncate_call(&messages.bodies, window);
        let expected = expected.into_iter().zip(&messages.bodies);
        let expected: Vec<_> = expected.map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect();
        assert_eq!(messages.check(&list), expected);
        fates.iter().map(|fate| (fate.fate, fate.reason, fate.after.chars())).collect()
    }

    #[test]
    fn each_result_has_its_limit_and_what_is_fresh_keeps_more() {
        let told = truncated("20000 16000 | 20000", 50_000.0);
        assert_eq!((told[0].0, told[0].1), (Fate::Truncated, Reason::OverLimit));
        assert_eq!(told[1], (Fate::Kept, Reason::WithinLimit, 16_000));
        assert_eq!(told[2].1, Reason::Untouched);
        assert!([told[0].2, told[3].2].iter().all(|chars| *chars <= 16_000));
    }

    #[test]
    fn all_together_have_a_budget_and_the_oldest_answered_ones_give_way() {
        let told = truncated("9000 9000 9000 9000 9000 | 9000", 9_000.0);
        assert_eq!((told[0].0, told[0].1), (Fate::Truncated, Reason::OverAggregate));
        assert_eq!(told[5].1, Reason::Untouched);
    }

    #[test]
    fn results_that_cannot_be_cut_enough_are_left_out() {
        let list = format!("{} | {}", ["300"; 30].join(" "), ["1900"; 30].join(" "));
        let told = truncated(&list, 2_000.0);
        assert!(
            told[..30]
                .iter()
                .any(|(fate, reason, _)| (*fate, *reason) == (Fate::Cleared, Reason::OverAggregate))
        );
        assert!(told[31..].iter().all(|(fate, ..)| *fate == Fate::Kept));
    }
}
