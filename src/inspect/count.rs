//! What a read transcript adds to its line of the session list: tokens, entries, compactions, marks.

use std::sync::Arc;

use crate::commit::{ReceiptKind, receipt_kind};
use crate::context::Context;
use crate::gateway::prune_setting::PRUNING_PATH;
use crate::gateway::pruning::effective_settings_under;
use crate::gateway::window::WindowInfo;
use crate::ids::{EntryIx, LineIds};
use crate::inspect::facts::time;
use crate::inspect::list::listed_item;
use crate::inspect::next_prompt::{Counts, NextPrompt};
use crate::inspect::open::{OpenError, next_model, source_of};
use crate::inspect::overflow::{Scope, overflows};
use crate::inspect::partial_usage::partial_usage;
use crate::inspect::reading::{chosen, context_of, fixed_of, read_as};
use crate::inspect::title::title;
use crate::inspect::{Counted, Inspection, Mark, Measured, SessionItem, Unmeasured};
use crate::policy::prune::last_touch_under;
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
    context_throws: bool,
    window: WindowInfo,
    next_prompt: Counted,
    /// Calls of the file that did not fit.
    overflows: usize,
}

impl<'a> Told<'a> {
    /// By a session that was opened.
    pub(super) fn of(inspection: &'a Inspection) -> Self {
        Self {
            source: &inspection.source,
            index: &inspection.index,
            tree: &inspection.tree,
            context_throws: inspection.context_throws,
            window: inspection.window,
            next_prompt: inspection.next_prompt.total,
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
    let (index, _) = read_as(&source, index, rules.pi, progress)?;
    let tree = Tree::under(rules, &index);
    let (context, context_throws) = context_of(&index, &tree);
    let mut item = listed_item(store, session, now_ms);
    let row = session.row.as_ref();
    (item.provider, item.model) = next_model(row, &index, &context).unwrap_or((item.provider, item.model));
    item.ruleset = chosen.ruleset;
    let window = store.config.window(rules, &item.agent, &item.provider, &item.model);
    let overflows = overflows(&Scope {
        source: &source,
        index: &index,
        config: &store.config,
        agent: &item.agent,
        ruleset: chosen.ruleset,
    });
    let touched = |ix| body::entry(&source, &index, ix);
    let prunes = effective_settings_under(rules, store.config.value(&PRUNING_PATH)).is_some()
        && last_touch_under(rules, &index, (&item.provider, &item.model), touched).is_some();
    let next_prompt = NextPrompt::of(&Counts {
        index: &index,
        context: &context,
        overflows: &overflows,
        doubted: &partial_usage(&index, &context.path, prunes),
        fixed: fixed_of(row, (&source, &index), &context, &store.config),
    });
    let told = Told {
        source: &source,
        index: &index,
        tree: &tree,
        context_throws,
        window,
        next_prompt: next_prompt.total,
        overflows: overflows.len(),
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
    item.tokens = Some(told.next_prompt);
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
pub(super) fn is_commit(index: &Index, ix: EntryIx) -> bool {
    receipt_kind(index, ix) == Some(ReceiptKind::Commit)
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
