//! What a read transcript adds to its line of the session list: tokens, entries, compactions, marks.

use std::sync::Arc;

use crate::commit::{ReceiptKind, receipt_kind};
use crate::context::Context;
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::estimate_as;
use crate::gateway::window::WindowInfo;
use crate::ids::{EntryIx, LineIds};
use crate::inspect::facts::time;
use crate::inspect::list::listed_item;
use crate::inspect::open::{OpenError, next_model, source_of};
use crate::inspect::overflow::{Scope, overflows};
use crate::inspect::reading::{chosen, context_of, fixed_of, read_as};
use crate::inspect::title::title;
use crate::inspect::{Counted, Inspection, Mark, Measured, SessionItem, SourceOfCount, Unmeasured};
use crate::store::body;
use crate::store::entry::{EntryKind, Reading};
use crate::store::index::{Index, Standing};
use crate::store::load::{Progress, load};
use crate::store::rows::Row;
use crate::store::session::Session;
use crate::store::source::Source;
use crate::store::survey::Store;
use crate::transcript::Tree;

/// What of a read transcript its line of the list is told by.
pub(super) struct Told<'a> {
    source: &'a Source,
    index: &'a Index,
    tree: &'a Tree,
    context: &'a Context,
    context_throws: bool,
    window: WindowInfo,
    measured: Result<Measured, Unmeasured>,
    /// Chars before the messages; asked for only where no provider's count has them in it.
    fixed: &'a dyn Fn() -> Option<FixedChars>,
    /// Calls of the file that did not fit.
    overflows: usize,
}

impl<'a> Told<'a> {
    /// By a session that was opened; `fixed` answers what it says of itself.
    pub(super) fn of(inspection: &'a Inspection, fixed: &'a dyn Fn() -> Option<FixedChars>) -> Self {
        Self {
            source: &inspection.source,
            index: &inspection.index,
            tree: &inspection.tree,
            context: &inspection.context,
            context_throws: inspection.context_throws,
            window: inspection.window,
            measured: inspection.measured,
            fixed,
            overflows: inspection.overflows.len(),
        }
    }
}

/// A session as its line of the list tells it, read for nothing else. The time is that its lock is judged by, in ms.
pub fn count(
    store: &Store,
    session: &Session,
    now_ms: i64,
    progress: Progress<'_>,
) -> Result<SessionItem, OpenError> {
    let source = source_of(session, None)?;
    let index = Arc::new(load(&source, &mut LineIds, progress)?);
    let chosen = chosen(store, session, &index);
    let rules = chosen.ruleset.rules();
    let (index, _) = read_as(&source, index, rules.reading, progress)?;
    let tree = Tree::under(rules, &index);
    let (context, context_throws) = context_of(&index, &tree);
    let mut item = listed_item(store, session, now_ms);
    let row = session.row.as_ref();
    (item.provider, item.model) = next_model(row, &index, &context).unwrap_or((item.provider, item.model));
    item.ruleset = chosen.ruleset;
    let told = Told {
        source: &source,
        index: &index,
        tree: &tree,
        context: &context,
        context_throws,
        window: store.config.window(rules, &item.agent, &item.provider, &item.model),
        measured: last_prompt(&index, &context),
        fixed: &|| fixed_of(row, (&source, &index), &context, &store.config),
        overflows: overflows(&Scope {
            source: &source,
            index: &index,
            config: &store.config,
            agent: &item.agent,
            ruleset: chosen.ruleset,
        })
        .len(),
    };
    Ok(completed(&told, item, row))
}

/// Fills in the line of the list. What the row says of compactions stays: the gateway counts attempts too
/// (compaction 2.21).
pub(super) fn completed(told: &Told<'_>, mut item: SessionItem, row: Option<&Row>) -> SessionItem {
    let index = told.index;
    let compactions = index.asides().filter(|(_, entry)| entry.kind == EntryKind::Compaction).count();
    item.compactions = item.compactions.or(Some(compactions as u64));
    item.entries = Some(index.entries.len() as u64);
    item.bytes = index.end + index.pending;
    if let Some(title) = row.is_none().then(|| title(told.source, index)).flatten() {
        item.title = title;
    }
    item.window = told.window.tokens.max(0.0) as u64;
    item.tokens = Some(next_prompt(told));
    if row.and_then(|row| row.updated_at).is_none() {
        item.updated_ms = last_time(index).or(item.updated_ms);
    }
    item.overflows = Some(told.overflows as u64);
    item.set_mark(Mark::Overflow, told.overflows > 0);
    item.set_mark(Mark::Damaged, is_damaged(told));
    item
}

/// When the model last answered on the path, ms.
pub(super) fn last_call(inspection: &Inspection) -> Option<f64> {
    let Inspection { source, index, context, .. } = inspection;
    let ix = last_assistant(index, context)?;
    let message = body::message(source, index, ix).ok().flatten()?;
    Some(time(index.entry(ix), &message))
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
fn next_prompt(told: &Told<'_>) -> Counted {
    let last = last_assistant(told.index, told.context);
    let estimated = |tokens| Counted { tokens, source: SourceOfCount::Est };
    let Some(measured) = told.measured.ok().filter(|measured| Some(measured.entry) == last) else {
        return estimated(Budget::of((told.fixed)(), told.context).total());
    };
    let since = estimate_as(told.index, told.context)
        .ok()
        .filter(|since| since.trailing_tokens > 0.0 && since.tokens.is_finite());
    match since {
        Some(since) => estimated(since.tokens as u64),
        None => Counted { tokens: measured.prompt_tokens, source: SourceOfCount::Measured },
    }
}

fn last_assistant(index: &Index, context: &Context) -> Option<EntryIx> {
    context.path.iter().rev().copied().find(|ix| index.entry(*ix).is_call())
}

fn is_damaged(told: &Told<'_>) -> bool {
    let index = told.index;
    let odd = !matches!(index.standing, Standing::Fine | Standing::Empty);
    odd || index.bad_lines > 0 || told.context_throws || !told.tree.cyclic().is_empty()
}

fn last_time(index: &Index) -> Option<i64> {
    index.entries.iter().rev().map(|entry| entry.time).find(|time| time.is_finite()).map(|ms| ms as i64)
}
