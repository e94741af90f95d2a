//! What a read transcript adds to its line of the session list: tokens, entries, compactions, marks.

use crate::commit::{ReceiptKind, receipt_kind};
use crate::context::Context;
use crate::context::tokens::estimate_as;
use crate::ids::EntryIx;
use crate::inspect::facts::time;
use crate::inspect::{Counted, Inspection, Mark, Measured, SourceOfCount, Unmeasured};
use crate::js::Value;
use crate::policy::overflow::is_overflow_as;
use crate::store::body;
use crate::store::entry::{EntryKind, Reading, Role, StopReason};
use crate::store::index::{Index, Standing};
use crate::store::rows::Row;
use crate::transcript::labels;

/// Chars of a title made from a text, the ellipsis included.
const TITLE_CHARS: usize = 60;

/// Fills in the line of the list. What the row says of compactions stays: the gateway counts attempts too
/// (compaction 2.21).
pub(super) fn complete(inspection: &mut Inspection, row: Option<&Row>) {
    let tokens = next_prompt(inspection);
    let last = last_answer(inspection);
    inspection.last_call = last.as_ref().map(|(ix, message)| time(inspection.index.entry(*ix), message));
    let overflowed = last.is_some_and(|(ix, message)| is_refused(inspection, ix, &message));
    let damaged = is_damaged(inspection);
    let title = row.is_none().then(|| title(inspection)).flatten();
    let index = &inspection.index;
    let item = &mut inspection.session;
    let compactions = index.entries.iter().filter(|entry| entry.kind == EntryKind::Compaction).count();
    item.compactions = item.compactions.or(Some(compactions as u64));
    item.entries = Some(index.entries.len() as u64);
    item.bytes = index.end + index.pending;
    item.title = title.unwrap_or_else(|| std::mem::take(&mut item.title));
    item.window = inspection.window.tokens.max(0.0) as u64;
    item.tokens = Some(tokens);
    if row.and_then(|row| row.updated_at).is_none() {
        item.updated_ms = last_time(index).or(item.updated_ms);
    }
    let over = overflowed || item.is_over_window();
    item.set_mark(Mark::Overflow, over);
    item.set_mark(Mark::Damaged, damaged);
}

/// A name for a session no row names: its own (store K9), else what was asked first (store C10, R4).
fn title(inspection: &Inspection) -> Option<String> {
    let index = &inspection.index;
    if let Some(name) = labels::name(index).filter(|_| index.reading == Reading::Projected) {
        return Some(one_line(&name));
    }
    let named = index.reading == Reading::Entries;
    let names = index.entries.iter().rev().filter(|entry| entry.kind == EntryKind::SessionInfo);
    let mut names = names.filter_map(|entry| index.word_text(entry.word)).map(|name| one_line(&name));
    let own = names.find(|name| named && !name.is_empty());
    own.or_else(|| {
        let asked = index.iter().find(|(_, entry)| entry.role() == Some(Role::User))?.0;
        let message = body::message(&inspection.source, index, asked).ok().flatten()?;
        let content = message.get("content")?;
        let blocks = content.as_array().unwrap_or_default().iter().filter_map(|block| block.get("text"));
        let texts = std::iter::once(content).chain(blocks).filter_map(Value::as_str);
        texts.map(|text| one_line(&text.to_string_lossy())).find(|text| !text.is_empty())
    })
}

/// White space collapsed, cut to 60 chars (store C10).
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE_CHARS {
        return line;
    }
    line.chars().take(TITLE_CHARS - 1).chain(['…']).collect()
}

/// The last prompt a provider counted on this path. A count from before the last compaction says nothing
/// about what is sent now, even where its message was kept; nor does one that was copied to a new branch.
pub(super) fn last_prompt(index: &Index, context: &Context) -> Result<Measured, Unmeasured> {
    for ix in context.path.iter().rev() {
        if Some(*ix) == context.compaction {
            return Err(Unmeasured::SinceCompaction);
        }
        if Some(*ix) == context.reset {
            return Err(Unmeasured::SinceReset);
        }
        if index.reading == Reading::Projected && index.entry(*ix).kind == EntryKind::ContextEdit {
            return Err(Unmeasured::SinceEdit);
        }
        if is_commit(index, *ix) {
            return Err(Unmeasured::SinceCommit);
        }
        let usage = index.entry(*ix).message.and_then(|message| message.usage);
        let tokens = usage.map_or(0.0, |usage| usage.prompt_tokens());
        if tokens.is_finite() && tokens > 0.0 {
            return Ok(Measured { prompt_tokens: tokens as u64, entry: *ix });
        }
    }
    Err(Unmeasured::NoUsage)
}

/// Whether a branch ends here that was written by a commit: what stands before it on the path is a copy.
fn is_commit(index: &Index, ix: EntryIx) -> bool {
    receipt_kind(index, ix) == Some(ReceiptKind::Commit)
}

/// What the next prompt takes: as counted by the provider when the last answer has a count and nothing
/// came after it; with results after it, that count and their estimate; else the estimate of everything
/// that fills the window.
fn next_prompt(inspection: &Inspection) -> Counted {
    let last = last_assistant(&inspection.index, &inspection.context);
    let estimated = |tokens| Counted { tokens, source: SourceOfCount::Est };
    let Some(measured) = inspection.measured.ok().filter(|measured| Some(measured.entry) == last) else {
        return estimated(inspection.budget().total());
    };
    let since = estimate_as(&inspection.index, &inspection.context)
        .ok()
        .filter(|since| since.trailing_tokens > 0.0 && since.tokens.is_finite());
    match since {
        Some(since) => estimated(since.tokens as u64),
        None => Counted { tokens: measured.prompt_tokens, source: SourceOfCount::Measured },
    }
}

fn last_assistant(index: &Index, context: &Context) -> Option<EntryIx> {
    let is_assistant = |ix: &&EntryIx| {
        let entry = index.entry(**ix);
        entry.kind == EntryKind::Message && entry.role() == Some(Role::Assistant)
    };
    context.path.iter().rev().find(is_assistant).copied()
}

/// The last answer on the path, read again.
fn last_answer(inspection: &Inspection) -> Option<(EntryIx, Value)> {
    let ix = last_assistant(&inspection.index, &inspection.context)?;
    let message = body::message(&inspection.source, &inspection.index, ix).ok().flatten()?;
    Some((ix, message))
}

/// Whether the last answer is an error that says that the prompt was too large (compaction 8.8). The copy
/// of one on a branch written since was an answer to a prompt that is not sent any more.
fn is_refused(inspection: &Inspection, ix: EntryIx, message: &Value) -> bool {
    let index = &inspection.index;
    let after = inspection.context.path.iter().rev().take_while(|at| **at != ix);
    let failed = index.entry(ix).message.is_some_and(|message| message.stop == StopReason::Error);
    let text = message.get("errorMessage").and_then(Value::as_str);
    failed
        && text.is_some_and(|text| is_overflow_as(index.reading, &text.to_string_lossy()))
        && !after.into_iter().any(|at| is_commit(index, *at))
}

fn is_damaged(inspection: &Inspection) -> bool {
    let index = &inspection.index;
    let odd = !matches!(index.standing, Standing::Fine | Standing::Empty);
    odd || index.bad_lines > 0 || inspection.context_throws || !inspection.tree.cyclic().is_empty()
}

fn last_time(index: &Index) -> Option<i64> {
    index.entries.iter().rev().map(|entry| entry.time).find(|time| time.is_finite()).map(|ms| ms as i64)
}
