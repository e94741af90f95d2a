//! Builds a [`LoadedSession`] from a store's session: its transcript, settings and session record.
//!
//! A session that is open already is only read from its old end, because it may be megabytes and grow every second.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::commit::{LockState, find_interrupted, lock_state};
use crate::context::budget::FixedChars;
use crate::gateway::compaction::{CompactionSettings, gateway_compaction_under};
use crate::gateway::eligibility::ModelRoute;
use crate::gateway::history_limit::history_limit_under;
use crate::gateway::pi_settings::PiSettings;
use crate::gateway::pruning::{PruneSettings, effective_settings_under};
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::ruleset::{PiChange, Reserve, Rules, Ruleset, RulesetChoice};
use crate::gateway::setting_value::PRUNING_PATH;
use crate::ids::{Epoch, LineIds, SessionKey};
use crate::js::{JsString, Value};
use crate::policy::PolicySettings;
use crate::policy::clear_tool_uses::server::{ServerClearRequest, ServerFacts, server_state};
use crate::policy::clear_tool_uses::{ClearSettings, ModelScale};
use crate::policy::prune::last_touch_under;
use crate::policy::settings::{CheckSettings, ResultLimits, SettingSources, assign_to_pi, policy_settings};
use crate::session::compaction_trigger::chat_room;
use crate::session::context_limits::{ContextLimits, GatewayBudget};
use crate::session::item_loading::{TranscriptFacts, complete_item, last_call};
use crate::session::lineage::Lineage;
use crate::session::list::list_item;
use crate::session::next_model::next_model;
use crate::session::open_source::open_source;
use crate::session::overflow::{ModelWindow, Overflow, OverflowKind, OverflowScope, find_failures};
use crate::session::price::list_price;
use crate::session::prompt_counts::last_prompt;
use crate::session::ruleset_choice::{choose_ruleset, own_context, reread_as};
use crate::session::successor::find_successor;
use crate::session::workspace_estimate::estimate_report;
use crate::session::{ContextDetails, LoadedSession, Mark, PreviousDetails};
use crate::store::body;
use crate::store::discovery::Store;
use crate::store::index::Index;
use crate::store::load::{FileChange, LoadError, ProgressFn, load, refresh};
use crate::store::path_kind::load_settings;
use crate::store::session::{Flag, Session};
use crate::store::session_records::SessionRecord;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
use crate::units::{Moment, Tokens};

pub use crate::session::open_source::OpenError;

/// Opens a session at its own leaf and reads only the entries added since `previous`. The epoch follows that of
/// `previous`. `now_ms` decides whether its lock is stale.
pub fn open(
    store: &Store,
    key: &SessionKey,
    previous: Option<&LoadedSession>,
    now_ms: Moment,
    progress: ProgressFn<'_>,
) -> Result<LoadedSession, OpenError> {
    let unknown = || OpenError::Unknown { key: key.clone() };
    let session = store.sessions.iter().find(|session| session.key == *key).ok_or_else(unknown)?;
    open_session(store, session, previous, now_ms, progress)
}

/// Like [`open`], for a session that is already found.
pub fn open_session(
    store: &Store,
    session: &Session,
    previous: Option<&LoadedSession>,
    now_ms: Moment,
    progress: ProgressFn<'_>,
) -> Result<LoadedSession, OpenError> {
    let known = previous.filter(|known| session.path.as_deref() == Some(known.source.path()));
    let source = open_source(session, known.map(|known| &known.source))?;
    let loaded = open_from(store, session, source, known, now_ms, progress)?;
    let epoch = previous.map_or(Epoch(1), |known| known.epoch.next());
    Ok(LoadedSession { epoch, ..loaded })
}

/// Opens a session from `source`, even if its transcript has moved meanwhile.
pub fn open_from(
    store: &Store,
    session: &Session,
    source: Source,
    known: Option<&LoadedSession>,
    now_ms: Moment,
    progress: ProgressFn<'_>,
) -> Result<LoadedSession, OpenError> {
    let (index, grown_from) = read_index(&source, known, progress)?;
    let chosen = choose_ruleset(store, session, &index);
    let (index, other) = reread_as(&source, index, chosen.id.rules().pi, progress)?;
    let grown_from = grown_from.filter(|_| !other);
    let epoch = known.map_or(Epoch(1), |known| known.epoch.next());
    let loaded = LoadedSession {
        extends_epoch: grown_from,
        ..assemble_session(store, session, source, index, epoch, (chosen, now_ms))
    };
    let details = known.and_then(|known| extend_details(known, &loaded, progress));
    Ok(LoadedSession { details: details.or_else(|| loaded.details.clone()), ..loaded })
}

/// Extends the earlier reading's context details by the added entries. Returns `None` under another ruleset, or when
/// reading fails: the details are then read when a policy needs them.
fn extend_details(
    before: &LoadedSession,
    now: &LoadedSession,
    progress: ProgressFn<'_>,
) -> Option<Arc<ContextDetails>> {
    now.extends_epoch?;
    if before.ruleset.id != now.ruleset.id {
        return None;
    }
    let rules = now.ruleset.id.rules();
    let known = PreviousDetails { context: &before.context, details: before.details.as_ref()? };
    let bytes = now.item.bytes;
    let mut wanted = || progress(bytes, bytes);
    let read =
        ContextDetails::read_while(&now.source, &now.index, &now.context, rules, Some(known), &mut wanted);
    read.ok().flatten().map(Arc::new)
}

fn read_index(
    source: &Source,
    previous: Option<&LoadedSession>,
    progress: ProgressFn<'_>,
) -> Result<(Arc<Index>, Option<Epoch>), LoadError> {
    let Some(known) = previous else { return Ok((Arc::new(load(source, &mut LineIds, progress)?), None)) };
    Ok(match refresh(&known.index, source, &mut LineIds, progress)? {
        FileChange::Unchanged => (Arc::clone(&known.index), Some(known.epoch)),
        FileChange::Grown(index) => (Arc::new(*index), Some(known.epoch)),
        FileChange::Replaced(index) => (Arc::new(*index), None),
    })
}

/// Assembles the session from a transcript that was indexed under the chosen ruleset. `now_ms` decides whether its lock
/// is stale.
pub(super) fn assemble_session(
    store: &Store,
    session: &Session,
    source: Source,
    index: Arc<Index>,
    epoch: Epoch,
    (chosen, now_ms): (RulesetChoice, Moment),
) -> LoadedSession {
    let rules = chosen.id.rules();
    let tree = Tree::under(rules, &index);
    let (context, context_throws) = own_context(&index, &tree);
    let mut item = list_item(store, session, now_ms);
    (item.provider, item.model) =
        next_model(session.record.as_ref(), &index, &context).unwrap_or((item.provider, item.model));
    item.ruleset = chosen.id;
    let report = session.record.as_ref().and_then(SessionRecord::prompt_report);
    let config = &store.config;
    let registered = config.registry_model(&item.agent, &item.provider, &item.model);
    let registered = registered.and_then(|(_, model)| model.price);
    let scope = OverflowScope {
        source: &source,
        index: &index,
        config,
        user: ModelUser { agent: &session.agent, session: &session.key.0 },
        ruleset: chosen.id,
        refusals: &[],
    };
    let failures = find_failures(&scope).with_row_error(session.record.as_ref(), &index, &context.path);
    let scope = OverflowScope { refusals: &failures.overflows, ..scope };
    let ModelWindow { gateway: window, runtime: runtime_window } =
        ModelWindow::for_model(&scope, &item.provider, &item.model);
    let limits = ContextLimits {
        runtime_window,
        ..ContextLimits::for_session(store, chosen.id, session, (&item.provider, &item.model))
    };
    let read_entry = |ix| body::read_entry(&source, &index, ix);
    let pi = pi_settings(store, session, rules);
    // The releases that keep system messages are those that know settings of single models.
    let own_model =
        rules.pi.has(PiChange::KeepsSystemMessages).then(|| format!("{}/{}", item.provider, item.model));
    let runtime = pi.as_ref().map(|pi| pi.compaction(own_model.as_deref())).unwrap_or_default();
    let mut settings = configured_policy_settings(store, chosen.id, &item.key.0, (runtime, window.tokens));
    let model = (item.provider.as_str(), item.model.as_str());
    let reserve = settings.compaction.reserve_tokens;
    settings.compaction.chat_room = chat_room(rules, &limits, &config.js_root, model, reserve);
    let loaded = LoadedSession {
        successor: find_successor(store, session, &index),
        lineage: Arc::new(Lineage::new(store, session, &index, &tree)),
        last_cache_touch_ms: last_touch_under(rules, &index, (&item.provider, &item.model), read_entry),
        window,
        ruleset: chosen.clone(),
        route: ModelRoute::from_config(&config.js_root, &item.provider, &item.model),
        price: list_price(config, &item.provider, &item.model, registered),
        provider: item.provider.clone(),
        model: item.model.clone(),
        item,
        store_options: store.options.as_str().into(),
        source,
        leaf: Leaf::Own,
        fixed_chars: report.as_ref().map(FixedChars::new),
        prompt_report: report.map(Arc::new),
        measured: last_prompt(&index, &context),
        last_call_ms: None,
        limits,
        config: Arc::clone(config),
        setting_rows: Vec::new(),
        pruning_configured: effective_settings_under(rules, config.value(&PRUNING_PATH)).is_some(),
        configured_settings: settings,
        details: None,
        tree: Arc::new(tree),
        context: Arc::new(context),
        context_throws,
        index,
        unfinished_commit: None,
        overflows: Arc::clone(&failures.overflows),
        errors: Arc::clone(&failures.errors),
        unreliable_counts: Arc::default(),
        next_prompt: Arc::default(),
        epoch,
        extends_epoch: None,
    };
    let own_settings = pi.as_ref().map(|pi| (pi, own_model.as_deref()));
    finish_session(loaded, (store, session, now_ms), runtime, own_settings)
}

/// Completes a session with the data that needs the loaded transcript: prompt report, settings, item and counts.
fn finish_session(
    mut loaded: LoadedSession,
    (store, session, now_ms): (&Store, &Session, Moment),
    runtime: CompactionSettings,
    pi: Option<(&PiSettings, Option<&str>)>,
) -> LoadedSession {
    loaded.load_prompt_report();
    if loaded.prompt_report.is_none() && loaded.limits.is_gateway_run {
        loaded.set_prompt_report(estimate_report(store, session));
    }
    list_settings(&mut loaded, runtime, pi);
    loaded.assume_summary_length();
    refresh_item(&mut loaded, session, now_ms);
    let (fixed_tokens, factor) = loaded.next_prompt.scale_factors();
    loaded.configured_settings.clear.model_scale = ModelScale { fixed_tokens, factor };
    loaded
}

/// Lists the settings in force with their origin; `pi` are the settings of pi that the runtime reads, with the model.
fn list_settings(
    loaded: &mut LoadedSession,
    runtime: CompactionSettings,
    pi: Option<(&PiSettings, Option<&str>)>,
) {
    if let Some(clear) = server_clear_settings(loaded, &loaded.config.js_root) {
        loaded.configured_settings.clear = clear;
    }
    loaded.setting_rows = policy_settings(&SettingSources {
        config: &loaded.config,
        ruleset: loaded.ruleset.id,
        session_key: &loaded.item.key.0,
        runtime,
        window: loaded.window.tokens,
        clear: &loaded.configured_settings.clear,
    });
    if let Some((pi, own_model)) = pi {
        assign_to_pi(&mut loaded.setting_rows, pi, own_model);
    }
}

/// Adds the data that depends on the transcript and its lock and journal at `now_ms`.
fn refresh_item(loaded: &mut LoadedSession, session: &Session, now_ms: Moment) {
    let mut overflows = loaded.overflows.to_vec();
    add_gateway_budget(&mut overflows, loaded.limits.gateway_budget);
    loaded.overflows = overflows.into();
    loaded.recount_prompt();
    loaded.last_call_ms = last_call(loaded);
    let reported = TranscriptFacts::from_session(loaded);
    loaded.item = complete_item(&reported, loaded.item.clone(), session.record.as_ref());
    let locked = matches!(lock_state(loaded.source.path(), now_ms), Ok(LockState::Held { .. }));
    loaded.item.set_mark(Mark::Running, locked || session.has_flag(Flag::Running));
    loaded.unfinished_commit = find_interrupted(loaded.source.path(), now_ms).ok().flatten();
    loaded.item.set_mark(Mark::Unfinished, loaded.unfinished_commit.is_some());
}

/// Adds the gateway's own numbers to its newest refusal, which states none in its text.
fn add_gateway_budget(overflows: &mut [Overflow], budget: Option<GatewayBudget>) {
    let newest = overflows.iter_mut().rev().find(|overflow| overflow.kind == OverflowKind::Precheck);
    let Some((overflow, budget)) = newest.zip(budget) else { return };
    if overflow.requested.is_none() && budget.is_of(overflow.time_ms) {
        overflow.requested = Some(budget.estimate.whole());
        overflow.limit = Some(budget.budget.whole());
    }
}

/// Returns the configured settings of every policy; for pruning, the built-in ones when it is off.
fn configured_policy_settings(
    store: &Store,
    ruleset: Ruleset,
    session_key: &str,
    (runtime, window): (CompactionSettings, Tokens),
) -> PolicySettings {
    let (config, rules) = (&store.config, ruleset.rules());
    let limit = history_limit_under(rules, session_key, &config.js_root);
    let prune = effective_settings_under(rules, config.value(&PRUNING_PATH));
    let results = ResultLimits::of(config, rules, session_key, window);
    let mid_turn = config.value(&["agents", "defaults", "compaction", "midTurnPrecheck", "enabled"]);
    let mid_turn = rules.mid_turn_check && mid_turn.and_then(crate::js::Value::as_bool) == Some(true);
    PolicySettings {
        truncate: results.truncate,
        reduce: results.reduce,
        check: CheckSettings { mid_turn, ..CheckSettings::default() },
        compaction: gateway_compaction_under(rules, &config.js_root, runtime, window),
        history_limit: limit.map_or(0.0, |limit| limit.turns()),
        prune: prune.unwrap_or_else(|| PruneSettings::built_in(rules)),
        ..PolicySettings::built_in(ruleset, window)
    }
}

/// Returns the settings of pi's own files, or `None` when a gateway runs the session.
fn pi_settings(store: &Store, session: &Session, rules: &Rules) -> Option<PiSettings> {
    load_settings(&store.path_kind, session.cwd.as_deref()).filter(|_| rules.reserve == Reserve::Runtime)
}

// The server-side clearing of tool uses that a gateway requests of the provider (pruning 7.10 to 7.12).

/// Returns the settings that the gateway requests, or `None` if it requests no clearing. The known tools are those with
/// results in the session: a transcript does not list the tools of the next call.
pub(super) fn server_clear_settings(session: &LoadedSession, config: &Value) -> Option<ClearSettings> {
    let LoadedSession { provider, route, configured_settings: configured, .. } = session;
    let facts = ServerFacts::from_config(config, session.pruning_configured, provider, route);
    let asks = session.ruleset.id.rules().server_clearing && server_state(&facts).is_on();
    let known = known_tools(session);
    asks.then(|| {
        let clearing = ServerClearRequest::new(session.window.tokens, Some(&configured.prune.tools), &known);
        clearing.settings(session.fixed_tokens())
    })
}

fn known_tools(session: &LoadedSession) -> BTreeSet<JsString> {
    let words = session.context.messages.iter().map(|message| message.size.tool_name);
    words
        .filter_map(|word| session.index.values.value(word)?.as_str().cloned())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
#[path = "loading_tests.rs"]
mod tests;

#[cfg(test)]
mod server_clear_tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js;
    use crate::policy::clear_tool_uses::ClearedBy;
    use crate::policy::prune::Gate;
    use crate::policy::{Policy, PolicySet, PolicySettings, Reason};
    use crate::session::testing::{call, loaded_session, result, transcript, user};
    use crate::units::Tokens;

    fn session(chars: usize, ruleset: Ruleset) -> LoadedSession {
        let long = "x".repeat(chars);
        let uses = (0..5).flat_map(|at| {
            let id = format!("c{at}");
            [call(&id, "exec", "{}"), result(&id, "exec", &long, "")]
        });
        let lines: Vec<String> = std::iter::once(user("go")).chain(uses).collect();
        let mut session = loaded_session(&transcript(&lines), 200_000.0);
        session.ruleset.id = ruleset;
        session
    }

    #[test]
    fn only_the_newest_gateway_clears_at_anthropic_and_only_with_an_api_key() {
        let asks = |ruleset, config: &str, provider: &str| {
            let session = LoadedSession { provider: provider.into(), ..session(1, ruleset) };
            server_clear_settings(&session, &js::parse(config).unwrap()).map(|settings| settings.trigger)
        };
        let profile = |mode: &str| {
            format!(r#"{{"auth":{{"profiles":{{"a":{{"provider":"anthropic","mode":"{mode}"}}}}}}}}"#)
        };
        assert_eq!(asks(Ruleset::V2026_9_6, "{}", "anthropic"), Some(60_000.0));
        assert_eq!(asks(Ruleset::V2026_9_6, &profile("api_key"), "anthropic"), Some(60_000.0));
        assert_eq!(asks(Ruleset::V2026_9_6, &profile("oauth"), "anthropic"), None);
        assert_eq!(asks(Ruleset::V2026_9_6, "{}", "openrouter"), None);
        assert_eq!(asks(Ruleset::V2026_3_2, "{}", "anthropic"), None);
    }

    /// Returns the reasons of the five results.
    fn reasons(chars: usize) -> Vec<Reason> {
        let session = session(chars, Ruleset::V2026_9_6).load_details().expect("reads");
        let clear = server_clear_settings(&session, &Value::Null).expect("asks");
        assert_eq!(clear.cleared_by, ClearedBy::Server { prompt_tokens: 0 });
        let policies = PolicySet::of(&[Policy::Clear]);
        let settings = PolicySettings {
            enabled: policies,
            clear,
            ..PolicySettings::built_in(Ruleset::V2026_9_6, Tokens(200_000.0))
        };
        let plan = session.plan(&settings, Gate::Off).expect("plans");
        [2, 4, 6, 8, 10].map(|at: usize| plan.fates()[at].reason).to_vec()
    }

    #[test]
    fn the_server_clears_all_uses_but_the_last_three_above_the_trigger() {
        use Reason::{BelowTrigger, ClearedUse, KeptUse};
        assert_eq!(reasons(40_000), [BelowTrigger; 5]);
        assert_eq!(reasons(60_000), [ClearedUse, ClearedUse, KeptUse, KeptUse, KeptUse]);
    }

    #[test]
    fn no_use_is_cleared_if_it_frees_too_little() {
        let long = "x".repeat(100_000);
        let mut lines = vec![user("go")];
        for (at, text) in ["short", &long, &long, &long].into_iter().enumerate() {
            let id = format!("c{at}");
            lines.extend([call(&id, "exec", "{}"), result(&id, "exec", text, "")]);
        }
        let mut session = loaded_session(&transcript(&lines), 200_000.0);
        session.ruleset.id = Ruleset::V2026_9_6;
        let session = session.load_details().expect("reads");
        let clear = server_clear_settings(&session, &Value::Null).expect("asks");
        let settings =
            PolicySettings { enabled: PolicySet::of(&[Policy::Clear]), clear, ..PolicySettings::default() };
        let plan = session.plan(&settings, Gate::Off).expect("plans");
        assert_eq!((plan.fates()[2].reason, plan.is_empty()), (Reason::TooLittleToClear, true));
    }
}
