//! The budget of all tool results together, in gateways since 2026.4.8: first each result is cut to its own limit, then
//! as many as necessary until all fit (releases R35–R38; pruning 8.3). Lengths are UTF-16 units, since 2026.8.1
//! weighted chars; the comments call both units.

use crate::context::tokens::weighted::NORMAL_WEIGHT;
use crate::gateway::ruleset::{Aggregate, HeadTailCut, Notice, Rules, Truncation};
use crate::js::{JsString, Value};
use crate::policy::truncate::max_result_chars_under;
use crate::policy::truncate::message::CHARS_PER_TOKEN;
use crate::policy::truncate::replaced_content::{with_content, with_text};
use crate::policy::truncate::v2026_9::Suffix;
use crate::policy::truncate::v2026_9::{self, ELIDED, FRESH_MIN_KEEP, WeightedCutOptions};
use crate::units::{Chars, Tokens};

/// Units of the shortest notice with a count; the smallest budget if `floor_is_notice` is set.
const SHORTEST_NOTICE: Chars = Chars(33.0);
/// Cuts and notice of versions that weigh chars.
const WEIGHTED: HeadTailCut =
    HeadTailCut { notice: Notice::CountAndAdvice, bounded: true, result_blocks: true, whole_pairs: true };

/// The limits for one list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResultBudget {
    pub ends: HeadTailCut,
    /// Order in which results shrink.
    pub rule: Aggregate,
    pub single_limit: Chars,
    pub total_limit: Chars,
    /// Units that a fresh result, one after the last message of another role, keeps when it is cut to its own limit; it
    /// never shrinks for the total limit. `None` if fresh results are like all others.
    pub fresh_min_keep: Option<Chars>,
    /// Messages before this position were sent earlier and stay unchanged.
    pub sent_until: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reduction {
    /// Over the limit of one result.
    OverLimit {
        /// In units.
        limit: Chars,
        /// Units that stay at least.
        min_keep: Chars,
    },
    /// Shortened for the budget of all results.
    OverBudget {
        /// Limit that remains, in units.
        limit: Chars,
        notice: BudgetNotice,
    },
    /// Replaced by a note, or emptied, because nothing of it fits.
    Elided {
        /// Units for the note.
        limit: Chars,
    },
}

/// Notice after a text that was shortened for the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetNotice {
    /// The notice of every cut.
    Usual,
    /// A shorter notice, for many results that share a small budget.
    Short,
}

impl BudgetNotice {
    /// Returns the units of the notice for one lost unit.
    fn shortest_len(self, usual: Notice) -> Chars {
        match (self, usual) {
            (Self::Short, _) => Chars::from_len(short_notice(Chars(1.0)).len()),
            (Self::Usual, usual) => Chars::from_len(usual.text(Chars(1.0)).len()),
        }
    }
}

/// (releases R36)
fn short_notice(lost: Chars) -> JsString {
    format!("[... {} chars truncated; narrow args]", crate::js::number_text(lost.max(Chars(1.0)).get()))
        .as_str()
        .into()
}

impl Reduction {
    /// Returns the units that a result has at most after the change.
    pub fn longest(&self, rule: Aggregate) -> Chars {
        match *self {
            Self::OverLimit { limit, min_keep } => limit.max(min_keep),
            Self::OverBudget { limit, .. } => limit,
            Self::Elided { .. } if rule == Aggregate::Emptied => Chars::ZERO,
            Self::Elided { limit } => limit.min(Chars::from_len(ELIDED.len())),
        }
    }

    /// Returns the changed message; `None` if it stays unchanged.
    pub fn apply(&self, ends: HeadTailCut, rule: Aggregate, message: &Value) -> Option<Value> {
        let usual = Suffix::Standard(ends.notice);
        let cut = |limit: Chars, min_keep: Chars, suffix: Suffix<'_>| match rule {
            Aggregate::Weighted => v2026_9::truncated_result(
                message,
                limit,
                min_keep,
                WeightedCutOptions { unit: NORMAL_WEIGHT, suffix },
            ),
            _ => ends.cut_message(message, limit, min_keep, suffix),
        };
        match *self {
            Self::OverLimit { limit, min_keep } => cut(limit, min_keep, usual),
            Self::OverBudget { limit, notice: BudgetNotice::Usual } => cut(limit, Chars::ZERO, usual),
            Self::OverBudget { limit, notice: BudgetNotice::Short } => {
                cut(limit, Chars::ZERO, Suffix::Generated(short_notice))
            }
            Self::Elided { limit } => Some(elided(ends, rule, message, limit)),
        }
    }
}

/// Tool results by position: of a list, whose texts are predicted, or in the tests the texts themselves.
pub trait ResultEditor {
    /// Changes a result and returns its new length.
    fn change(&mut self, at: usize, by: Reduction) -> Chars;
    /// Reverts the last change, which was of this result.
    fn revert(&mut self, at: usize);
}

/// One change of a result; a result may change twice.
#[derive(Debug, Clone, Copy)]
pub struct AppliedReduction {
    /// Position in the list.
    pub at: usize,
    pub reduction: Reduction,
    /// Units that the result loses.
    pub freed_chars: Chars,
}

/// Reduces results to a budget; `is_result` and `chars` hold the kind and the length of each message. Returns the changes
/// in order.
pub fn reduce_results(
    results: &mut dyn ResultEditor,
    is_result: &[bool],
    chars: Vec<Chars>,
    budget: &ResultBudget,
) -> Vec<AppliedReduction> {
    let answered = is_result.iter().rposition(|is_result| !is_result).map_or(0, |at| at + 1);
    let fresh_from = if budget.fresh_min_keep.is_some() { answered } else { is_result.len() };
    let places: Vec<usize> = (0..is_result.len()).filter(|at| is_result[*at]).collect();
    let mut run = ReduceRun { results, budget, chars, applied: Vec::new() };
    for at in places.iter().copied().filter(|at| *at >= budget.sent_until) {
        let min_keep = budget.fresh_min_keep.filter(|_| at >= fresh_from).unwrap_or(Chars::ZERO);
        if run.chars[at] > budget.single_limit {
            run.change(at, Reduction::OverLimit { limit: budget.single_limit, min_keep });
        }
    }
    let reducible: Vec<usize> = places.into_iter().filter(|at| run.chars[*at] > Chars::ZERO).collect();
    run.reduce_to_total(&reducible, fresh_from);
    run.applied
}

struct ReduceRun<'a> {
    results: &'a mut dyn ResultEditor,
    budget: &'a ResultBudget,
    /// Current length of each message.
    chars: Vec<Chars>,
    applied: Vec<AppliedReduction>,
}

impl ReduceRun<'_> {
    /// Changes a result and returns the units it loses. A change that frees nothing is reverted, unless the result is
    /// over its own limit.
    fn change(&mut self, at: usize, by: Reduction) -> Chars {
        let chars = self.results.change(at, by);
        let gain = (self.chars[at] - chars).max(Chars::ZERO);
        if gain > Chars::ZERO || matches!(by, Reduction::OverLimit { .. }) {
            self.chars[at] = chars;
            self.applied.push(AppliedReduction { at, reduction: by, freed_chars: gain });
        } else {
            self.results.revert(at);
        }
        gain
    }

    /// Shortens results until all fit the total limit.
    fn reduce_to_total(&mut self, reducible: &[usize], fresh_from: usize) {
        let total: Chars = reducible.iter().map(|at| self.chars[*at]).sum();
        let mut remaining = total - self.budget.total_limit;
        let newest_first = matches!(self.budget.rule, Aggregate::Newest { .. });
        let mut order: Vec<usize> = reducible
            .iter()
            .copied()
            .filter(|at| (self.budget.sent_until..fresh_from).contains(at))
            .collect();
        if newest_first {
            order.reverse();
        }
        if reducible.len() < 2 || remaining <= Chars::ZERO {
            return;
        }
        let chars_before: Vec<(usize, Chars)> = order.iter().map(|at| (*at, self.chars[*at])).collect();
        let notice = self.notice(reducible.len());
        let least = notice.shortest_len(self.budget.ends.notice);
        for at in order.iter().copied() {
            if remaining <= Chars::ZERO {
                return;
            }
            let chars = self.chars[at];
            let reducible = (chars - least).max(Chars::ZERO);
            if reducible > Chars::ZERO {
                let limit = least.max(chars - reducible.min(remaining));
                remaining -= self.change(at, Reduction::OverBudget { limit, notice });
            }
        }
        if !newest_first && self.budget.rule != Aggregate::Oldest {
            self.elide(&chars_before, remaining);
        }
    }

    /// Returns the notice for `results` results that share the budget.
    fn notice(&self, results: usize) -> BudgetNotice {
        let usual = Chars::from_len(self.budget.ends.notice.text(Chars(1.0)).len());
        let has_short = !matches!(self.budget.rule, Aggregate::Newest { .. })
            || self.budget.ends.notice == Notice::CountAndAdvice;
        if has_short && self.budget.total_limit < usual * results as f64 {
            BudgetNotice::Short
        } else {
            BudgetNotice::Usual
        }
    }

    /// Elides results that could not be cut enough. With [`Aggregate::Emptied`], the gateway counts the length before
    /// the cut as freed.
    fn elide(&mut self, order: &[(usize, Chars)], mut remaining: Chars) {
        for (at, before) in order.iter().copied() {
            if remaining <= Chars::ZERO {
                return;
            }
            // Before a prompt, 2026.8.1 and later never shorten the note.
            let note = self.budget.rule == Aggregate::Weighted && self.budget.fresh_min_keep.is_some();
            let least = if note { Chars::from_len(ELIDED.len()) } else { Chars::ZERO };
            let limit = (self.chars[at] - remaining).max(least);
            let gain = self.change(at, Reduction::Elided { limit });
            remaining -= if self.budget.rule == Aggregate::Emptied { before } else { gain };
        }
    }
}

/// Empties the texts of a result, or since 2026.7.1 fills them with as much of the note as fits.
fn elided(ends: HeadTailCut, rule: Aggregate, message: &Value, limit: Chars) -> Value {
    let note = JsString::from(ELIDED);
    let mut left = if rule == Aggregate::Emptied { 0 } else { limit.get() as usize };
    let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
    let new = blocks.iter().map(|block| {
        if ends.text(block).is_none() {
            return block.clone();
        }
        let text = note.slice(0, left.min(note.len()));
        left -= text.len();
        with_text(block, Some(text))
    });
    with_content(message, new.collect())
}

/// Returns the budget of tool results for every prompt, or for the recovery from an overflow; `None` if the version has
/// no budget. `single` overrides the limit of one result; for prompts only in versions where that is configurable.
pub fn result_budget(
    rules: &Rules,
    tokens: Tokens,
    single: Option<Chars>,
    for_prompts: bool,
) -> Option<ResultBudget> {
    let rule = rules.aggregate;
    let ends = match rules.truncation {
        _ if rule == Aggregate::None => return None,
        Truncation::Ends(ends) => ends,
        Truncation::HeadAndTail => WEIGHTED,
        Truncation::None | Truncation::Head { .. } => return None,
    };
    let single = single.filter(|_| rules.result_limit.is_configured() || !for_prompts);
    let of_window = max_result_chars_under(rules, tokens);
    let single = single.unwrap_or(of_window).max(Chars(1.0));
    // The first releases with a budget take it from the window alone.
    let is_of_window = matches!(rule, Aggregate::Newest { floor_is_notice: true });
    let all = rule.budget(tokens, if is_of_window { of_window } else { single }, for_prompts);
    let spares_fresh = for_prompts && matches!(rule, Aggregate::Elided | Aggregate::Weighted);
    Some(ResultBudget {
        ends,
        rule,
        single_limit: single,
        total_limit: all,
        fresh_min_keep: spares_fresh.then_some(FRESH_MIN_KEEP),
        sent_until: 0,
    })
}

impl Aggregate {
    /// Returns the total limit, for a limit of `single` units per result: with `for_prompts` that of every prompt,
    /// otherwise that of the recovery.
    pub fn budget(self, tokens: Tokens, single: Chars, for_prompts: bool) -> Chars {
        match self {
            Self::Newest { floor_is_notice: true } => single.max(SHORTEST_NOTICE),
            Self::Oldest | Self::Emptied if for_prompts => single * 4.0,
            Self::Elided | Self::Weighted => {
                let half = if tokens > Tokens::ZERO {
                    (tokens.to_chars(CHARS_PER_TOKEN) * 0.5).floor()
                } else {
                    Chars::ZERO
                };
                half.max(single * 4.0)
            }
            _ => single,
        }
    }
}
