//! Prepares compactions of pi 0.63.1 to 0.86, which walk the branch from the first entry that the previous compaction
//! kept (compaction 12, row "Range start"; store-pi-1.5, table at the top).

use crate::context::ContextMessage;
use crate::context::tokens::{estimate_context, estimate_message};
use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::js::JsException;
use crate::policy::compact::branch::{BranchEntry, is_summarised};
use crate::policy::compact::prepare::{CutPoint, Preparation, find_cut_point};
use crate::policy::compact::projected::{is_turn_start, is_valid_cut};
use crate::store::entry::EntryKind;
use crate::units::Tokens;

/// Prepares a compaction of a branch. `kept` is the position of the first entry that the last compaction kept; without
/// one before that compaction the walk starts after it. Returns `None` when the branch ends in a compaction and, since
/// 0.79.8, when nothing would be summarised. Errors where the runtime throws.
pub(super) fn prepare_from_kept(
    pi: PiRelease,
    branch: &[BranchEntry],
    kept: Option<usize>,
    keep_tokens: Tokens,
) -> Result<Option<Preparation>, JsException> {
    let previous = branch.iter().rposition(|entry| entry.kind == EntryKind::Compaction);
    if branch.is_empty() || previous.is_some_and(|at| at + 1 == branch.len()) {
        return Ok(None);
    }
    let start = previous.map_or(0, |at| kept.filter(|kept| *kept <= at).unwrap_or(at + 1));
    let tokens_before = tokens_before(pi, branch, start, previous)?;
    let cut = if pi.has(PiChange::CutsByContext) {
        find_context_cut(pi, branch, start, keep_tokens.get())?
    } else {
        find_cut_point(branch, start, keep_tokens)?
    };
    let first_kept = branch[cut.first_kept];
    let prepared = Preparation {
        previous_compaction: previous,
        start,
        cut,
        first_kept: first_kept.entry,
        tokens_before,
        pi,
    };
    let mut summarised = prepared.history().chain(prepared.turn_prefix());
    let any = summarised.any(|at| is_summarised(pi, &branch[at]));
    Ok((first_kept.has_id && (any || !pi.has(PiChange::NeedsMessages))).then_some(prepared))
}

/// Estimates the context: the last summary, the part it kept, and everything after. Since 0.80.4 an older compaction
/// inside the kept part counts too.
fn tokens_before(
    pi: PiRelease,
    branch: &[BranchEntry],
    start: usize,
    previous: Option<usize>,
) -> Result<Tokens, JsException> {
    let speaks = |at: &usize| {
        let is_compaction = branch[*at].kind == EntryKind::Compaction;
        Some(*at) != previous && (!is_compaction || pi.has(PiChange::CutsByContext))
    };
    let places = previous.into_iter().chain((start..branch.len()).filter(speaks));
    let message = |at: usize| Some(ContextMessage::from_entry(branch[at].entry, branch[at].message?));
    let messages: Vec<ContextMessage> = places.filter_map(message).collect();
    estimate_context(&messages).map(|estimate| estimate.tokens)
}

/// Cuts `branch[start..]` as pi does since 0.80.4: every message of the context counts towards the budget, compaction
/// summaries included, and every one except those may begin the kept part.
fn find_context_cut(
    pi: PiRelease,
    branch: &[BranchEntry],
    start: usize,
    keep: f64,
) -> Result<CutPoint, JsException> {
    if branch[start..].iter().any(|entry| entry.lacks_message) {
        return Err(JsException);
    }
    let cuts: Vec<usize> = (start..branch.len()).filter(|at| is_valid_cut(&branch[*at])).collect();
    let (Some(first), Some(last)) = (cuts.first(), cuts.last()) else {
        return Ok(CutPoint { first_kept: start, turn_start: None });
    };
    // Since 0.86, a tail without a valid cut is kept together with the last cut before it.
    let without = if pi.has(PiChange::KeepsSystemMessages) { last } else { first };
    let reached = budget_boundary(branch, start, keep)?;
    let mut cut =
        *reached.map_or(first, |reached| cuts.iter().find(|cut| **cut >= reached).unwrap_or(without));
    while cut > start && branch[cut - 1].message.is_none() && branch[cut - 1].kind != EntryKind::Compaction {
        cut -= 1;
    }
    let turn_start = (start..=cut).rev().find(|at| is_turn_start(&branch[*at]));
    Ok(CutPoint { first_kept: cut, turn_start: turn_start.filter(|_| !is_turn_start(&branch[cut])) })
}

/// Returns the newest position from which the messages fill the budget; messages of 0 tokens cannot be that position.
fn budget_boundary(branch: &[BranchEntry], start: usize, keep: f64) -> Result<Option<usize>, JsException> {
    let mut sum = 0.0;
    for at in (start..branch.len()).rev() {
        let Some(size) = branch[at].message else { continue };
        let tokens = estimate_message(&size)?;
        sum += tokens.get();
        if tokens != Tokens::ZERO && sum >= keep {
            return Ok(Some(at));
        }
    }
    Ok(None)
}
