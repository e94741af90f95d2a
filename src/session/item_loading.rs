//! Completes a session's list item from its transcript: tokens, entries, compactions and marks.

use std::sync::Arc;

use crate::context::Context;
use crate::gateway::history_accounts::history_limit_under;
use crate::gateway::prune_setting::PRUNING_PATH;
use crate::gateway::pruning::effective_settings_under;
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::window::{WindowInfo, WindowSource};
use crate::ids::{EntryIx, LineIds};
use crate::policy::prune::last_touch_under;
use crate::policy::settings::GuardSettings;
use crate::session::list::list_item;
use crate::session::loading::open_from;
use crate::session::message::facts::time_ms;
use crate::session::next_model::next_model;
use crate::session::next_prompt::NextPrompt;
use crate::session::open_source::{OpenError, open_source};
use crate::session::overflow::{CallState, ModelWindow, OverflowScope, find_failures, implausible_counts};
use crate::session::price::{PriceSource, list_price};
use crate::session::prompt_counts::PromptCounts;
use crate::session::ruleset_choice::{choose_ruleset, fixed_chars, own_context, reread_as};
use crate::session::sent_forms::StepSettings;
use crate::session::title::title;
use crate::session::unreliable_counts::find_unreliable_counts;
use crate::session::usage_totals::{session_usage, transcript_usage};
use crate::session::{ItemUsage, LoadedSession, Mark, SessionItem, TokenCount};
use crate::store::body;
use crate::store::discovery::Store;
use crate::store::entry::EntryKind;
use crate::store::index::{Index, OpenStatus};
use crate::store::load::{ProgressFn, load};
use crate::store::session::Session;
use crate::store::session_records::SessionRecord;
use crate::store::source::Source;
use crate::transcript::Tree;
use crate::units::Moment;

/// Data of a read transcript that the list item needs.
pub(super) struct TranscriptFacts<'a> {
    source: &'a Source,
    index: &'a Index,
    tree: &'a Tree,
    context_throws: bool,
    window: WindowInfo,
    next_prompt: TokenCount,
    /// Calls in the file that overflowed.
    overflows: usize,
    state: CallState,
    usage: ItemUsage,
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
            usage: session_usage(session).for_item(),
        }
    }
}

/// Reads a session only for its list item. `now_ms` decides whether its lock is stale.
pub fn load_item(
    store: &Store,
    session: &Session,
    now_ms: Moment,
    progress: ProgressFn<'_>,
) -> Result<SessionItem, OpenError> {
    let source = open_source(session, None)?;
    let index = Arc::new(load(&source, &mut LineIds, progress)?);
    let chosen = choose_ruleset(store, session, &index);
    let rules = chosen.id.rules();
    let (index, _) = reread_as(&source, index, rules.pi, progress)?;
    let tree = Tree::under(rules, &index);
    let (context, context_throws) = own_context(&index, &tree);
    let mut item = list_item(store, session, now_ms);
    let row = session.record.as_ref();
    (item.provider, item.model) = next_model(row, &index, &context).unwrap_or((item.provider, item.model));
    item.ruleset = chosen.id;
    let scope = OverflowScope {
        source: &source,
        index: &index,
        config: &store.config,
        user: ModelUser { agent: &session.agent, session: &session.key.0 },
        ruleset: chosen.id,
        refusals: &[],
    };
    let failures = find_failures(&scope).with_row_error(row, &index, &context.path);
    let scope = OverflowScope { refusals: &failures.overflows, ..scope };
    let window = ModelWindow::for_model(&scope, &item.provider, &item.model).gateway;
    let read_entry = |ix| body::read_entry(&source, &index, ix);
    let prunes = effective_settings_under(rules, store.config.value(&PRUNING_PATH)).is_some()
        && last_touch_under(rules, &index, (&item.provider, &item.model), read_entry).is_some();
    let steps = StepSettings {
        rules,
        model_window: window.model_tokens,
        guard: GuardSettings::default(),
        prunes,
        history_limit: history_limit_under(rules, &session.key.0, &store.config.js_root)
            .map_or(0.0, |limit| limit.turns()),
    };
    // Sizes do not show what these steps leave of the messages.
    if !steps.steps_for(&context).is_empty() {
        return Ok(open_from(store, session, source, None, now_ms, progress)?.item);
    }
    let counts = PromptCounts {
        source: &source,
        index: &index,
        context: &context,
        overflows: &failures.overflows,
        unreliable_counts: &find_unreliable_counts(&scope, &failures.overflows, &context.path, &steps),
        fixed_chars: fixed_chars((store, session), chosen.id, (&source, &index), &context),
        guard: steps.guard_limits(),
    };
    let next_prompt = NextPrompt::from_counts(&counts, None);
    let registered = store.config.registry_model(&item.agent, &item.provider, &item.model);
    let registered = registered.and_then(|(_, model)| model.price);
    let config = &store.config.js_root;
    let prices = PriceSource {
        index: &index,
        config,
        provider: &item.provider,
        model: &item.model,
        price: list_price(config, &item.provider, &item.model, registered),
    };
    let reported = TranscriptFacts {
        usage: transcript_usage(prices, &implausible_counts(&scope)).for_item(),
        source: &source,
        index: &index,
        tree: &tree,
        context_throws,
        window,
        next_prompt: next_prompt.total,
        overflows: failures.overflows.len(),
        state: failures.last_calls(&index, &context.path).state,
    };
    Ok(complete_item(&reported, item, row))
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
    let is_assumed = reported.window.model_source == WindowSource::Default && !item.model.is_empty();
    item.set_mark(Mark::AssumedWindow, is_assumed);
    item.tokens = Some(reported.next_prompt);
    if row.and_then(|row| row.updated_at).is_none() {
        item.updated_ms = last_entry_ms(index).or(item.updated_ms);
    }
    item.overflows = Some(reported.overflows as u64);
    item.usage = Some(reported.usage);
    item.state = Some(reported.state);
    item.set_mark(Mark::Overflow, reported.overflows > 0);
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
