//! Completes a session's list item from its transcript: tokens, entries, compactions and marks.

use std::sync::Arc;

use crate::context::{Context, build_context};
use crate::gateway::eligibility::ModelRoute;
use crate::gateway::window::WindowInfo;
use crate::ids::EntryIx;
use crate::policy::PolicySet;
use crate::policy::prune::touches;
use crate::session::message::facts::time_ms;
use crate::session::overflow::{CallState, ModelWindow, Overflow};
use crate::session::setting_change::SettingChange;
use crate::session::simulated_settings::simulate_settings;
use crate::session::title::title;
use crate::session::usage_totals::session_usage;
use crate::session::{ItemUsage, LoadedSession, Mark, SessionItem, TokenCount, UnmeasuredReason};
use crate::store::body;
use crate::store::entry::EntryKind;
use crate::store::index::{Index, OpenStatus};
use crate::store::session_records::SessionRecord;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
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

// Views of a session from another leaf than its own: after some entry, or just before a model call.
//
// An overflow is explained with the context, model and time of its own call, which later entries have replaced.

impl LoadedSession {
    /// Returns the session at `leaf`, or `None` if the runtime could not build the context there.
    pub fn at_leaf(&self, leaf: Leaf) -> Option<Self> {
        let context = build_context(&self.index, &self.tree, &leaf).ok()?;
        let mut moved = Self {
            leaf,
            context: Arc::new(context),
            context_throws: false,
            details: None,
            // The provider counted the prompt of the session's own leaf.
            measured: Err(UnmeasuredReason::OtherLeaf),
            ..self.clone()
        };
        moved.load_prompt_report();
        moved.recount_prompt();
        moved.assume_summary_length();
        Some(moved)
    }

    /// Returns the session at a leaf whose context the runtime fails to build.
    #[must_use]
    pub fn without_context(&self, leaf: Leaf) -> Self {
        let measured = Err(UnmeasuredReason::OtherLeaf);
        let context = Arc::default();
        let mut moved = Self { leaf, context, context_throws: true, measured, details: None, ..self.clone() };
        moved.load_prompt_report();
        moved.recount_prompt();
        moved
    }

    /// Returns the session with `entry` as its leaf, or `None` if the entry has no id.
    pub fn at_entry(&self, entry: EntryIx) -> Option<Self> {
        let index = &self.index;
        self.at_leaf(Leaf::Id(index.ids.text(index.entry(entry).id?).to_owned()))
    }

    /// Returns the session in its state before the call that overflowed.
    pub fn before_call(&self, overflow: &Overflow) -> Option<Self> {
        // The answer itself was not in its own prompt, so the leaf is its parent.
        let then = self.at_entry(self.tree.parent(overflow.entry)?)?;
        let touch = touches(&self.index).find(|(entry, _)| *entry < overflow.entry);
        Some(Self { last_cache_touch_ms: touch.map(|(_, at)| at), ..then })
    }

    /// Returns the session with the window and the limits of workspace files that these changes give it.
    #[must_use]
    pub fn with_window_changes(&self, changes: &[SettingChange]) -> Self {
        let simulated = simulate_settings(self, changes, PolicySet::NONE);
        let mut assuming = Self { window: simulated.window, ..self.clone() };
        if let Some(window) = simulated.assumed.runtime_window {
            assuming.limits.runtime_window = window;
        }
        let files_reduction = simulated.assumed.fixed_reduction.round() as i64;
        Arc::make_mut(&mut assuming.next_prompt).files_reduction = files_reduction;
        assuming
    }

    /// Returns the session in its state at the failed call: its path, model and time.
    pub fn at_failed_call(&self, overflow: &Overflow) -> Option<Self> {
        let mut then = self.at_entry(overflow.entry)?;
        let is_answer = then.context.messages.iter().last().is_some_and(|last| last.entry == overflow.entry);
        Arc::make_mut(&mut then.context).ends_with_answer = is_answer;
        let touch = touches(&self.index).find(|(entry, _)| *entry < overflow.entry);
        let then = Self { last_cache_touch_ms: touch.map(|(_, at)| at), ..then };
        let words = &then.index.values;
        let model = overflow.model.and_then(|(provider, id)| Some((words.text(provider)?, words.text(id)?)));
        let then = match model {
            Some((provider, model)) => then.with_model(provider, model),
            None => then,
        };
        Some(Self { last_call_ms: last_call(&then), ..then })
    }

    /// Returns the session with another model, that model's window and its route to the provider.
    #[must_use]
    pub fn with_model(self, provider: String, model: String) -> Self {
        if (&self.provider, &self.model) == (&provider, &model) {
            return self;
        }
        let window = ModelWindow::for_model(&self.overflow_scope(), &provider, &model);
        let mut called = Self {
            window: window.gateway,
            route: ModelRoute::from_config(&self.config.js_root, &provider, &model),
            provider,
            model,
            ..self
        };
        called.limits.runtime_window = window.runtime;
        called
    }
}
