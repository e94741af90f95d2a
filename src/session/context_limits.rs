//! What keeps a session within its window, as configuration and row say: the mode of its compaction, the memory
//! flush, the windows that different places of the gateway go by, and the totals it stored.

use crate::gateway::compaction::{CompactionMode, compaction_mode};
use crate::gateway::memory_flush::{FlushSettings, flush_settings, flush_settings_under};
use crate::gateway::ruleset::Ruleset;
use crate::gateway::window::{DEFAULT_WINDOW, runtime_window};
use crate::gateway::window_lookup::{
    StatusWindowSource, flush_window, status_window_from, stored_window, window_for_status,
};
use crate::js::{Value, is_truthy};
use crate::policy::memory_flush::FlushSkip;
use crate::session::lifecycle::Lifecycle;
use crate::store::discovery::Store;
use crate::store::key::SessionKind;
use crate::store::session::Session;
use crate::store::session_records::SessionRecord;

/// Providers whose models a command-line program runs, beside the configured ones (compaction 9.8).
const CLI_PROVIDERS: [&str; 2] = ["claude-cli", "codex-cli"];

/// What keeps a session within its window.
#[derive(Debug, Clone)]
pub struct ContextLimits {
    /// A gateway runs it; sessions of pi alone have neither flush nor recovery loop.
    pub is_gateway_run: bool,
    /// It is a chat with people, which this version of the gateway resets in the end (compaction 8.19).
    pub is_chat: bool,
    /// Who writes the summaries.
    pub compaction_mode: CompactionMode,
    /// Settings of the memory flush.
    pub flush: FlushSettings,
    /// Why no flush runs here.
    pub flush_skip: Option<FlushSkip>,
    /// What begins it anew, where a gateway does so by itself.
    pub lifecycle: Option<Lifecycle>,
    /// Window of the runtime's own trigger, in tokens (compaction 2.8).
    pub runtime_window: f64,
    /// Window that the status line shows, in tokens (compaction 7.6).
    pub status_window: f64,
    /// What settled that.
    pub status_window_source: StatusWindowSource,
    /// Window of the memory flush, in tokens (compaction 9.3).
    pub flush_window: f64,
    /// What a chat run stores as `contextTokens`, in tokens (compaction 7.7).
    pub stored_window: f64,
    /// What the row says.
    pub stored_totals: StoredTotals,
}

/// Numbers of the row; absent where they are of another type.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StoredTotals {
    /// `totalTokens`, be it stale.
    pub total_tokens: Option<f64>,
    /// `totalTokensFresh`.
    pub fresh: Option<bool>,
    /// `contextTokens`.
    pub context_tokens: Option<f64>,
    /// `compactionCount`.
    pub compaction_count: Option<f64>,
    /// `memoryFlushCompactionCount`.
    pub flush_compaction_count: Option<f64>,
    /// `inputTokens`.
    pub input: Option<f64>,
    /// `cacheRead`.
    pub cache_read: Option<f64>,
    /// `cacheWrite`.
    pub cache_write: Option<f64>,
}

impl StoredTotals {
    fn from_row(row: &SessionRecord) -> Self {
        let number = |key: &str| row.raw.get(key).and_then(Value::as_f64);
        Self {
            total_tokens: number("totalTokens"),
            fresh: row.raw.get("totalTokensFresh").and_then(Value::as_bool),
            context_tokens: row.context_tokens,
            compaction_count: number("compactionCount"),
            flush_compaction_count: number("memoryFlushCompactionCount"),
            input: number("inputTokens"),
            cache_read: number("cacheRead"),
            cache_write: number("cacheWrite"),
        }
    }
}

impl ContextLimits {
    /// As the store has it, for a session on this model.
    pub fn for_session(
        store: &Store,
        ruleset: Ruleset,
        session: &Session,
        (provider, model): (&str, &str),
    ) -> Self {
        let config = &store.config.js_root;
        let row = session.record.as_ref();
        let stored = row.map(StoredTotals::from_row).unwrap_or_default();
        let rules = ruleset.rules();
        let known = store.config.known_window(&session.agent, provider, model);
        Self {
            is_gateway_run: !ruleset.is_pi(),
            is_chat: is_chat(session.kind) && rules.recovery.resets_session,
            compaction_mode: compaction_mode(rules, config),
            flush: flush_settings_under(rules, &store.config, flush_window(config, model)),
            flush_skip: flush_skip_reason(config, row, provider),
            runtime_window: runtime_window(config, provider, model, known),
            lifecycle: Lifecycle::for_session(store, session),
            status_window: window_for_status(config, provider, model),
            status_window_source: status_window_from(config, provider, model),
            flush_window: flush_window(config, model),
            stored_window: stored_window(config, model, stored.context_tokens),
            stored_totals: stored,
        }
    }
}

impl Default for ContextLimits {
    /// A chat of a gateway without a configuration.
    fn default() -> Self {
        Self {
            is_gateway_run: true,
            is_chat: true,
            compaction_mode: CompactionMode::Default,
            flush: flush_settings(&crate::gateway::config::GatewayConfig::empty()),
            flush_skip: None,
            runtime_window: DEFAULT_WINDOW,
            lifecycle: None,
            status_window: DEFAULT_WINDOW,
            status_window_source: StatusWindowSource::Default,
            flush_window: DEFAULT_WINDOW,
            stored_window: DEFAULT_WINDOW,
            stored_totals: StoredTotals::default(),
        }
    }
}

fn is_chat(kind: SessionKind) -> bool {
    !matches!(
        kind,
        SessionKind::Cron | SessionKind::Hook | SessionKind::Subagent | SessionKind::Acp | SessionKind::Pi
    )
}

/// Why no flush runs, as far as the store tells: what a run is for (a heartbeat, say) it does not (compaction 9.8).
fn flush_skip_reason(config: &Value, row: Option<&SessionRecord>, provider: &str) -> Option<FlushSkip> {
    let Some(row) = row else { return Some(FlushSkip::NoRow) };
    let defaults = config.get("agents").and_then(|agents| agents.get("defaults"));
    let backends = defaults.and_then(|defaults| defaults.get("cliBackends"));
    if CLI_PROVIDERS.contains(&provider) || backends.is_some_and(|backends| backends.get(provider).is_some())
    {
        return Some(FlushSkip::CliBackend);
    }
    let report = row.prompt_report_value();
    let sandbox = report.as_ref().and_then(|report| report.get("sandbox"));
    let sandboxed = is_truthy(sandbox.and_then(|sandbox| sandbox.get("sandboxed")));
    let access = defaults.and_then(|defaults| defaults.get("sandbox")?.get("workspaceAccess"));
    let writes = access.is_some_and(|access| access.str_is("rw"));
    (sandboxed && !writes).then_some(FlushSkip::ReadOnlySandbox)
}
