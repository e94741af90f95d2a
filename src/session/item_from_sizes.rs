//! Reads a session only for its list item, from sizes where these suffice.

use std::sync::Arc;

use crate::gateway::history_limit::history_limit_under;
use crate::gateway::pruning::effective_settings_under;
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::setting_value::PRUNING_PATH;
use crate::ids::{Epoch, LineIds};
use crate::policy::prune::last_touch_under;
use crate::policy::settings::GuardSettings;
use crate::session::SessionItem;
use crate::session::item_loading::{TranscriptFacts, complete_item};
use crate::session::list::list_item;
use crate::session::loading::assemble_session;
use crate::session::next_model::next_model;
use crate::session::next_prompt::NextPrompt;
use crate::session::open_source::{OpenError, open_source};
use crate::session::overflow::{ModelWindow, OverflowScope, find_failures, implausible_counts};
use crate::session::price::{PriceSource, list_price};
use crate::session::prompt_counts::PromptCounts;
use crate::session::ruleset_choice::{choose_ruleset, fixed_chars, own_context, reread_as};
use crate::session::sent_forms::StepSettings;
use crate::session::unreliable_counts::find_unreliable_counts;
use crate::session::usage_totals::transcript_usage;
use crate::store::body;
use crate::store::discovery::Store;
use crate::store::load::{ProgressFn, load};
use crate::store::session::Session;
use crate::transcript::Tree;
use crate::units::Moment;

/// Reads a session only for its list item. `now_ms` decides whether its lock is stale.
pub fn load_item(
    store: &Store,
    session: &Session,
    now_ms: Moment,
    progress: ProgressFn<'_>,
) -> Result<SessionItem, OpenError> {
    load_listed_item(store, session, list_item(store, session, now_ms), now_ms, progress)
}

/// Does the same for an item as [`list_item`] returns it.
pub fn load_listed_item(
    store: &Store,
    session: &Session,
    mut item: SessionItem,
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
    let has_touch = || last_touch_under(rules, &index, (&item.provider, &item.model), read_entry).is_some();
    let prune = effective_settings_under(rules, store.config.value(&PRUNING_PATH)).filter(|_| has_touch());
    let steps = StepSettings {
        rules,
        model_window: window.model_tokens,
        guard: GuardSettings::default(),
        prune: prune.as_ref(),
        window: window.tokens,
        history_limit: history_limit_under(rules, &session.key.0, &store.config.js_root)
            .map_or(0.0, |limit| limit.turns()),
    };
    // Sizes do not show what these steps leave of the messages.
    if !steps.steps_for(&index, &context).is_empty() {
        return Ok(assemble_session(store, session, source, index, Epoch(1), (chosen, now_ms)).item);
    }
    let implausible = implausible_counts(&scope);
    let counts = PromptCounts {
        source: &source,
        index: &index,
        context: &context,
        overflows: &failures.overflows,
        unreliable_counts: &find_unreliable_counts(
            &scope,
            &implausible,
            &failures.overflows,
            &context.path,
            &steps,
        ),
        fixed_chars: fixed_chars((store, session), chosen.id, (&source, &index), &context),
        guard: steps.guard_limits(),
    };
    let next_prompt = NextPrompt::from_counts(&counts, None);
    // What fits after a commit is a question to the whole session.
    if next_prompt.is_planned && !failures.overflows.is_empty() {
        return Ok(assemble_session(store, session, source, index, Epoch(1), (chosen, now_ms)).item);
    }
    let registered = store.config.registry_model(&item.agent, &item.provider, &item.model);
    let registered = registered.and_then(|(_, model)| model.price);
    let config = &store.config;
    let prices = PriceSource {
        index: &index,
        config,
        provider: &item.provider,
        model: &item.model,
        price: list_price(config, &item.provider, &item.model, registered),
    };
    let reported = TranscriptFacts {
        usage: transcript_usage(prices, rules, &implausible).for_item(),
        source: &source,
        index: &index,
        tree: &tree,
        context_throws,
        window,
        next_prompt: next_prompt.total,
        overflows: failures.overflows.len(),
        state: failures.last_calls(&index, &context.path).state,
        fits_since_commit: false,
    };
    Ok(complete_item(&reported, item, row))
}
