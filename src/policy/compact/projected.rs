//! Prepares compactions of pi 1.5, which works on projected messages: it reconsiders the part that the previous
//! compaction kept, and splits a turn by the entries that yield a message, not by their position in the file
//! (store-pi-1.5 H).

use std::collections::HashSet;

use crate::context::tokens::{estimate_context, estimate_message};
use crate::context::{ContentSource, ContextMessage};
use crate::gateway::ruleset::PiRelease;
use crate::js::JsException;
use crate::policy::compact::branch::{BranchEntry, PreviousCompaction, ProjectedEntry, is_summarised};
use crate::policy::compact::prepare::{CutPoint, Preparation};
use crate::store::entry::{EntryKind, Role};
use crate::store::intern::IdIx;
use crate::units::Tokens;

/// Prepares a compaction of a projected branch. Returns `None` when the path ends in a compaction or nothing would be
/// summarised (store-pi-1.5 H1, H8). `system_tokens` counts the replayed system message.
pub(super) fn prepare_projected(
    branch: &[BranchEntry],
    system_tokens: Result<Tokens, JsException>,
    keep_tokens: Tokens,
) -> Result<Option<Preparation>, JsException> {
    if branch.is_empty() || ends_in_compaction(branch) {
        return Ok(None);
    }
    let first = &branch[0];
    let previous = (first.kind == EntryKind::Compaction && first.message.is_some()).then_some(0);
    let start = previous.map_or(0, |at| at + 1);
    if start == branch.len() {
        return Ok(None);
    }
    let cut = find_projected_cut(branch, start, keep_tokens.get())?;
    let tokens_before = tokens_before(branch, system_tokens)?;
    let first_kept = branch[cut.first_kept];
    let pi = PiRelease::NEWEST;
    let prepared = Preparation {
        previous_compaction: previous,
        start,
        cut,
        first_kept: first_kept.entry,
        tokens_before,
        pi,
    };
    let mut summarised = prepared.history().chain(prepared.turn_prefix());
    Ok((summarised.any(|at| is_summarised(pi, &branch[at])) && first_kept.has_id).then_some(prepared))
}

/// Prepares a compaction of a branch that is read entry by entry, such as a replay's, whose messages are already
/// edited. Selects the entries that a projection would select and maps the result back to positions on the branch.
pub(super) fn prepare_unprojected(
    branch: &[BranchEntry],
    before: &PreviousCompaction,
    keep_tokens: Tokens,
) -> Result<Option<Preparation>, JsException> {
    let compaction = branch.iter().rposition(|entry| entry.kind == EntryKind::Compaction);
    let is_system = |at: &usize| branch[*at].message.is_some_and(|size| size.role == Role::System);
    let places: Vec<usize> = match compaction {
        None => (0..branch.len()).collect(),
        Some(at) => {
            let kept = before.first_kept.unwrap_or(at).min(at)..at;
            let kept = kept.filter(|at| !is_system(at));
            std::iter::once(at).chain(kept).chain(at + 1..branch.len()).collect()
        }
    };
    let selected = places.iter().map(|at| BranchEntry {
        projected: Some(ProjectedEntry {
            path_index: *at as u32,
            id: None,
            content_source: ContentSource::Own,
            omitted: None,
            replaces: None,
        }),
        ..branch[*at]
    });
    let selected: Vec<BranchEntry> = selected.collect();
    let prepared = prepare_projected(&selected, before.system_tokens, keep_tokens)?;
    let place = |at: usize| places.get(at).copied().unwrap_or(branch.len());
    Ok(prepared.map(|prepared| Preparation {
        previous_compaction: prepared.previous_compaction.map(place),
        start: place(prepared.start),
        cut: CutPoint {
            first_kept: place(prepared.cut.first_kept),
            turn_start: prepared.cut.turn_start.map(place),
        },
        ..prepared
    }))
}

/// Whether the last entry of the path is a compaction. In a projection that compaction comes first.
fn ends_in_compaction(branch: &[BranchEntry]) -> bool {
    let place = |entry: &BranchEntry| entry.projected.map_or(0, |projected| projected.path_index);
    let last = branch.iter().max_by_key(|entry| place(entry));
    last.is_some_and(|entry| entry.kind == EntryKind::Compaction)
}

/// Cuts `branch[start..]` (store-pi-1.5 H3–H7).
fn find_projected_cut(branch: &[BranchEntry], start: usize, keep: f64) -> Result<CutPoint, JsException> {
    let cuts: Vec<usize> = (start..branch.len()).filter(|at| is_valid_cut(&branch[*at])).collect();
    let (Some(first), Some(last)) = (cuts.first(), cuts.last()) else {
        return Ok(CutPoint { first_kept: start, turn_start: None });
    };
    let mut cut = match budget_boundary(branch, start, keep)? {
        None => *first,
        Some(at) => {
            let cut = *cuts.iter().find(|cut| **cut >= at).unwrap_or(last);
            if is_omitted_recovery(&branch[cut + 1..]) { cut + 1 } else { cut }
        }
    };
    while cut > start && branch[cut - 1].message.is_none() && branch[cut - 1].kind != EntryKind::Compaction {
        cut -= 1;
    }
    let turn_start = (start..=cut).rev().find(|at| is_turn_start(&branch[*at]));
    let whole = branch.get(cut).is_some_and(is_turn_start);
    Ok(CutPoint { first_kept: cut, turn_start: turn_start.filter(|_| !whole) })
}

/// Returns the newest position from which the messages fill the budget; messages of 0 tokens are skipped.
fn budget_boundary(branch: &[BranchEntry], start: usize, keep: f64) -> Result<Option<usize>, JsException> {
    let mut sum = 0.0;
    for at in (start..branch.len()).rev() {
        let Some(size) = branch[at].message else { continue };
        let tokens = estimate_message(&size)?;
        if tokens == Tokens::ZERO {
            continue;
        }
        sum += tokens.get();
        if sum >= keep {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether the kept part may begin here: at any message except tool results and system messages (store-pi-1.5 H3).
pub(super) fn is_valid_cut(entry: &BranchEntry) -> bool {
    let role = entry.message.filter(|_| entry.kind != EntryKind::Compaction).map(|size| size.role);
    role.is_some_and(|role| !matches!(role, Role::ToolResult | Role::System | Role::Other))
}

/// Whether a turn begins here (store-pi-1.5 H7).
pub(super) fn is_turn_start(entry: &BranchEntry) -> bool {
    let role = entry.message.filter(|_| entry.kind != EntryKind::Compaction).map(|size| size.role);
    role.is_some_and(|role| {
        let asks = matches!(role, Role::User | Role::BashExecution | Role::Custom);
        asks || matches!(role, Role::BranchSummary | Role::CompactionSummary)
    })
}

/// Whether the entries after the cut are only those that a recovery left out, including an answer. The pending request
/// is then summarised too (store-pi-1.5 H5).
fn is_omitted_recovery(suffix: &[BranchEntry]) -> bool {
    let silent = |entry: &BranchEntry| entry.message.is_none() && entry.kind != EntryKind::Compaction;
    let of = |entry: &BranchEntry| entry.projected.filter(|projected| projected.omitted.is_some());
    let omitted: HashSet<Option<IdIx>> = suffix.iter().filter_map(of).map(|projected| projected.id).collect();
    let answered = suffix
        .iter()
        .any(|entry| of(entry).is_some_and(|projected| projected.omitted == Some(Role::Assistant)));
    let replaced = suffix.iter().filter_map(|entry| entry.projected?.replaces);
    suffix.iter().all(silent) && answered && replaced.into_iter().all(|target| omitted.contains(&target))
}

/// Estimates the context before, anchored on usage unless an edit or a compaction follows the anchor (store-pi-1.5 E5).
fn tokens_before(
    branch: &[BranchEntry],
    system_tokens: Result<Tokens, JsException>,
) -> Result<Tokens, JsException> {
    let speaking: Vec<(&BranchEntry, ContextMessage)> = branch
        .iter()
        .filter_map(|entry| Some((entry, ContextMessage::from_entry(entry.entry, entry.message?))))
        .collect();
    let messages: Vec<ContextMessage> = speaking.iter().map(|(_, message)| *message).collect();
    let plain = estimate_context(&messages)?;
    let place = |entry: &BranchEntry| entry.projected.map(|projected| projected.path_index);
    let changed = branch
        .iter()
        .filter(|entry| matches!(entry.kind, EntryKind::ContextEdit | EntryKind::Compaction))
        .filter_map(place)
        .max();
    if plain.last_usage.is_some_and(|at| place(speaking[at].0) > changed) {
        return Ok(plain.tokens);
    }
    let others = messages.iter().filter(|message| message.size.role != Role::System);
    others.map(|message| estimate_message(&message.size)).try_fold(system_tokens?, |sum, own| Ok(sum + own?))
}

#[cfg(test)]
#[path = "projected_tests.rs"]
mod tests;
