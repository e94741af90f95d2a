//! What a read transcript adds to its line of the session list: tokens, entries, compactions, marks.

use crate::context::Context;
use crate::ids::EntryIx;
use crate::inspect::{Counted, Inspection, Mark, Measured, SourceOfCount};
use crate::policy::overflow::is_overflow;
use crate::store::body;
use crate::store::entry::{EntryKind, Role, StopReason};
use crate::store::index::{Index, Standing};
use crate::store::rows::Row;

/// Fills in the line of the list. What the row says of compactions stays: the gateway counts attempts too
/// (compaction 2.21).
pub(super) fn complete(inspection: &mut Inspection, row: Option<&Row>) {
    let tokens = next_prompt(inspection);
    let overflowed = ended_in_overflow(inspection);
    let damaged = is_damaged(inspection);
    let index = &inspection.index;
    let item = &mut inspection.session;
    let compactions = index.entries.iter().filter(|entry| entry.kind == EntryKind::Compaction).count();
    item.compactions = item.compactions.or(Some(compactions as u64));
    item.entries = Some(index.entries.len() as u64);
    item.bytes = index.end + index.pending;
    item.window = inspection.window.tokens.max(0.0) as u64;
    item.tokens = Some(tokens);
    if row.and_then(|row| row.updated_at).is_none() {
        item.updated_ms = last_time(index).or(item.updated_ms);
    }
    let over = overflowed || item.is_over_window();
    item.set_mark(Mark::Overflow, over);
    item.set_mark(Mark::Damaged, damaged);
}

/// The last prompt a provider counted on this path. A count from before the last compaction says nothing
/// about what is sent now, even where its message was kept.
pub(super) fn last_prompt(index: &Index, context: &Context) -> Option<Measured> {
    let since = context.path.iter().rev().take_while(|ix| Some(**ix) != context.compaction);
    since.into_iter().find_map(|ix| {
        let usage = index.entry(*ix).message?.usage?;
        let tokens = usage.prompt_tokens();
        (tokens.is_finite() && tokens > 0.0).then_some(Measured { prompt_tokens: tokens as u64, entry: *ix })
    })
}

/// What the next prompt takes: as counted by the provider when the last answer has a count, else the
/// estimate of everything that fills the window.
fn next_prompt(inspection: &Inspection) -> Counted {
    let last = last_assistant(&inspection.index, &inspection.context);
    match inspection.measured.filter(|measured| Some(measured.entry) == last) {
        Some(measured) => Counted { tokens: measured.prompt_tokens, source: SourceOfCount::Measured },
        None => Counted { tokens: inspection.budget().total(), source: SourceOfCount::Est },
    }
}

fn last_assistant(index: &Index, context: &Context) -> Option<EntryIx> {
    let is_assistant = |ix: &&EntryIx| {
        let entry = index.entry(**ix);
        entry.kind == EntryKind::Message && entry.role() == Some(Role::Assistant)
    };
    context.path.iter().rev().find(is_assistant).copied()
}

/// Whether the last answer on the path is an error that says that the prompt was too large
/// (compaction 8.8).
fn ended_in_overflow(inspection: &Inspection) -> bool {
    let index = &inspection.index;
    let failed =
        |ix: &EntryIx| index.entry(*ix).message.is_some_and(|message| message.stop == StopReason::Error);
    let Some(ix) = last_assistant(index, &inspection.context).filter(failed) else { return false };
    let message = body::message(&inspection.source, index, ix).ok().flatten();
    let text = message.and_then(|message| Some(message.get("errorMessage")?.as_str()?.to_string_lossy()));
    text.is_some_and(|text| is_overflow(&text))
}

fn is_damaged(inspection: &Inspection) -> bool {
    let index = &inspection.index;
    let odd = !matches!(index.standing, Standing::Fine | Standing::Empty);
    odd || index.bad_lines > 0 || inspection.context_throws || !inspection.tree.cyclic().is_empty()
}

fn last_time(index: &Index) -> Option<i64> {
    index.entries.iter().rev().map(|entry| entry.time).find(|time| time.is_finite()).map(|ms| ms as i64)
}
