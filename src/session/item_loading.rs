//! Completes a session's list item from its transcript: tokens, entries, compactions and marks.

use crate::context::Context;
use crate::gateway::window::WindowInfo;
use crate::ids::EntryIx;
use crate::session::message::facts::time_ms;
use crate::session::overflow::CallState;
use crate::session::title::title;
use crate::session::usage_totals::session_usage;
use crate::session::{ItemUsage, LoadedSession, Mark, SessionItem, TokenCount};
use crate::store::body;
use crate::store::entry::EntryKind;
use crate::store::index::{Index, OpenStatus};
use crate::store::session_records::SessionRecord;
use crate::store::source::Source;
use crate::transcript::Tree;
use crate::units::Moment;

/// Data of a read transcript that the list item needs.
pub(super) struct TranscriptFacts<'a> {
    pub(super) source: &'a Source,
    pub(super) index: &'a Index,
    pub(super) tree: &'a Tree,
    pub(super) context_throws: bool,
    pub(super) window: WindowInfo,
    pub(super) next_prompt: TokenCount,
    /// Calls in the file that overflowed.
    pub(super) overflows: usize,
    pub(super) state: CallState,
    /// Whether a commit after an overflow made the next prompt fit.
    pub(super) fits_since_commit: bool,
    pub(super) usage: ItemUsage,
}

impl<'a> TranscriptFacts<'a> {
    pub(super) fn from_session(session: &'a LoadedSession) -> Self {
        Self {
            source: &session.source,
            index: &session.index,
            tree: &session.tree,
            context_throws: session.context_throws,
            window: session.window,
            next_prompt: session.next_prompt.total,
            overflows: session.overflows.len(),
            state: session.last_calls().state,
            fits_since_commit: session.fits_since_commit().is_some(),
            usage: session_usage(session).for_item(),
        }
    }
}

/// Fills in the list item. The session record's compaction count takes precedence, because the gateway counts attempts
/// too (compaction 2.21).
pub(super) fn complete_item(
    reported: &TranscriptFacts<'_>,
    mut item: SessionItem,
    row: Option<&SessionRecord>,
) -> SessionItem {
    let index = reported.index;
    let compactions =
        index.auxiliary_entries().filter(|(_, entry)| entry.kind == EntryKind::Compaction).count();
    item.compactions = item.compactions.or(Some(compactions as u64));
    item.entries = Some(index.entries.len() as u64);
    item.bytes = index.file_bytes();
    if let Some(title) = row.is_none().then(|| title(reported.source, index)).flatten() {
        item.title = title;
    }
    item.window = reported.window.model_tokens.whole();
    item.run_window = reported.window.tokens.whole();
    let is_assumed = reported.window.model_source.is_assumed() && !item.model.is_empty();
    item.set_mark(Mark::AssumedWindow, is_assumed);
    item.tokens = Some(reported.next_prompt);
    // A run writes its entries at once, and its record at its end.
    let recorded = item.updated_ms.filter(|_| row.is_some_and(|row| row.updated_at.is_some()));
    item.updated_ms = match (recorded, last_entry_ms(index)) {
        (Some(recorded), Some(last)) => Some(recorded.max(last)),
        (recorded, last) => recorded.or(last).or(item.updated_ms),
    };
    item.overflows = Some(reported.overflows as u64);
    item.usage = Some(reported.usage);
    item.state = Some(reported.state);
    let is_over = matches!(reported.state, CallState::Overflow | CallState::SilentCut);
    item.set_mark(Mark::Overflow, is_over && !reported.fits_since_commit);
    item.set_mark(Mark::Refused, reported.state == CallState::Refused);
    item.set_mark(Mark::Failing, reported.state == CallState::Failing);
    item.set_mark(Mark::Damaged, is_damaged(reported));
    item
}

/// Returns when the model last answered on the path.
pub(super) fn last_call(session: &LoadedSession) -> Option<Moment> {
    let LoadedSession { source, index, context, .. } = session;
    let ix = last_assistant(index, context)?;
    let message = body::read_message(source, index, ix).ok().flatten()?;
    Some(time_ms(index.entry(ix), &message))
}

fn last_assistant(index: &Index, context: &Context) -> Option<EntryIx> {
    context.path.iter().rev().copied().find(|ix| index.entry(*ix).is_model_call())
}

fn is_damaged(reported: &TranscriptFacts<'_>) -> bool {
    let index = reported.index;
    let odd = !matches!(index.open_status, OpenStatus::Opens | OpenStatus::Empty);
    odd || index.bad_lines > 0 || reported.context_throws || !reported.tree.cyclic().is_empty()
}

fn last_entry_ms(index: &Index) -> Option<Moment> {
    index.entries.iter().rev().map(|entry| entry.time_ms).find(|time| time.is_finite()).map(Moment::to_whole)
}
