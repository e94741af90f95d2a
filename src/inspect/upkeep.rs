//! What keeps a session within its window, as configuration and row say: the mode of its compaction, the memory
//! flush, the windows that different places of the gateway go by, and the totals it stored.

use crate::gateway::compaction::{CompactionMode, compaction_mode};
use crate::gateway::memory_flush::{FlushSettings, flush_settings, flush_settings_under};
use crate::gateway::ruleset::{MemoryFlush, Ruleset};
use crate::gateway::window::{DEFAULT_WINDOW, runtime_window};
use crate::gateway::window_lookup::{
    StatusWindow, flush_window, status_window_from, stored_window, window_for_status,
};
use crate::inspect::Inspection;
use crate::inspect::lifecycle::Lifecycle;
use crate::js::{Value, truthy};
use crate::policy::memory_flush::{Flush, FlushFacts, LastCall, Skip, flush};
use crate::store::key::Kind;
use crate::store::rows::Row;
use crate::store::session::Session;
use crate::store::survey::Store;

/// Providers whose models a command-line program runs, beside the configured ones (compaction 9.8).
const CLI_PROVIDERS: [&str; 2] = ["claude-cli", "codex-cli"];

/// What keeps a session within its window.
#[derive(Debug, Clone)]
pub struct Upkeep {
    /// A gateway runs it; sessions of pi alone have neither flush nor recovery loop.
    pub gateway: bool,
    /// It is a chat with people, which this version of the gateway resets in the end (compaction 8.19).
    pub chat: bool,
    /// Who writes the summaries.
    pub mode: CompactionMode,
    /// Settings of the memory flush.
    pub flush: FlushSettings,
    /// Why no flush runs here.
    pub skipped: Option<Skip>,
    /// What begins it anew, where a gateway does so by itself.
    pub lifecycle: Option<Lifecycle>,
    /// Window of the runtime's own trigger, in tokens (compaction 2.8).
    pub runtime_window: f64,
    /// Window that the status line shows, in tokens (compaction 7.6).
    pub status_window: f64,
    /// What settled that.
    pub status_from: StatusWindow,
    /// Window of the memory flush, in tokens (compaction 9.3).
    pub flush_window: f64,
    /// What a chat run stores as `contextTokens`, in tokens (compaction 7.7).
    pub stored_window: f64,
    /// What the row says.
    pub row: StoredTotals,
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
    pub compactions: Option<f64>,
    /// `memoryFlushCompactionCount`.
    pub flushed_at: Option<f64>,
    /// `inputTokens`.
    pub input: Option<f64>,
    /// `cacheRead`.
    pub cache_read: Option<f64>,
    /// `cacheWrite`.
    pub cache_write: Option<f64>,
}

impl StoredTotals {
    fn of(row: &Row) -> Self {
        let number = |key: &str| row.raw.get(key).and_then(Value::as_f64);
        Self {
            total_tokens: number("totalTokens"),
            fresh: row.raw.get("totalTokensFresh").and_then(Value::as_bool),
            context_tokens: row.context_tokens,
            compactions: number("compactionCount"),
            flushed_at: number("memoryFlushCompactionCount"),
            input: number("inputTokens"),
            cache_read: number("cacheRead"),
            cache_write: number("cacheWrite"),
        }
    }
}

impl Upkeep {
    /// As the store has it, for a session on this model.
    pub fn of(store: &Store, ruleset: Ruleset, session: &Session, (provider, model): (&str, &str)) -> Self {
        let config = &store.config.js;
        let row = session.row.as_ref();
        let stored = row.map(StoredTotals::of).unwrap_or_default();
        let rules = ruleset.rules();
        let known = store.config.known_window(&session.agent, provider, model);
        Self {
            gateway: !ruleset.is_pi(),
            chat: is_chat(session.kind) && rules.recovery.resets_session,
            mode: compaction_mode(rules, config),
            flush: flush_settings_under(rules, &store.config, flush_window(config, model)),
            skipped: skipped(config, row, provider),
            runtime_window: runtime_window(config, provider, model, known),
            lifecycle: Lifecycle::of(store, session),
            status_window: window_for_status(config, provider, model),
            status_from: status_window_from(config, provider, model),
            flush_window: flush_window(config, model),
            stored_window: stored_window(config, model, stored.context_tokens),
            row: stored,
        }
    }
}

impl Default for Upkeep {
    /// A chat of a gateway without a configuration.
    fn default() -> Self {
        Self {
            gateway: true,
            chat: true,
            mode: CompactionMode::Default,
            flush: flush_settings(&crate::gateway::config::GatewayConfig::empty()),
            skipped: None,
            runtime_window: DEFAULT_WINDOW,
            lifecycle: None,
            status_window: DEFAULT_WINDOW,
            status_from: StatusWindow::Default,
            flush_window: DEFAULT_WINDOW,
            stored_window: DEFAULT_WINDOW,
            row: StoredTotals::default(),
        }
    }
}

fn is_chat(kind: Kind) -> bool {
    !matches!(kind, Kind::Cron | Kind::Hook | Kind::Subagent | Kind::Acp | Kind::Pi)
}

/// Why no flush runs, as far as the store tells: what a run is for (a heartbeat, say) it does not (compaction 9.8).
fn skipped(config: &Value, row: Option<&Row>, provider: &str) -> Option<Skip> {
    let Some(row) = row else { return Some(Skip::NoRow) };
    let defaults = config.get("agents").and_then(|agents| agents.get("defaults"));
    let backends = defaults.and_then(|defaults| defaults.get("cliBackends"));
    if CLI_PROVIDERS.contains(&provider) || backends.is_some_and(|backends| backends.get(provider).is_some())
    {
        return Some(Skip::CliBackend);
    }
    let report = row.report();
    let sandbox = report.as_ref().and_then(|report| report.get("sandbox"));
    let sandboxed = truthy(sandbox.and_then(|sandbox| sandbox.get("sandboxed")));
    let access = defaults.and_then(|defaults| defaults.get("sandbox")?.get("workspaceAccess"));
    let writes = access.is_some_and(|access| access.str_is("rw"));
    (sandboxed && !writes).then_some(Skip::ReadOnlySandbox)
}

impl Inspection {
    /// Where the session stands with the memory flush, before a next message of unknown size; none where no gateway
    /// runs it.
    pub fn memory_flush(&self) -> Option<Flush> {
        let upkeep = &self.upkeep;
        let kind = self.ruleset.ruleset.rules().memory_flush;
        let reads_transcript = !matches!(kind, MemoryFlush::StoredTotal { .. });
        let facts = FlushFacts {
            window: upkeep.flush_window,
            reserve_tokens: self.configured.compaction.reserve_tokens,
            stored_tokens: upkeep.row.total_tokens,
            fresh: upkeep.row.fresh,
            last_call: self.last_call_of_file().filter(|_| reads_transcript),
            message_tokens: 0.0,
            bytes: (self.index.end + self.index.pending) as f64,
            compactions: upkeep.row.compactions.unwrap_or(0.0),
            flushed_at: upkeep.row.flushed_at,
            skipped: upkeep.skipped,
        };
        upkeep.gateway.then(|| flush(&upkeep.flush, &facts))
    }

    /// The last usage in the file with a positive number, whatever its branch (compaction 9.5).
    fn last_call_of_file(&self) -> Option<LastCall> {
        let usages = self
            .index
            .entries
            .iter()
            .rev()
            .filter_map(|entry| entry.message.and_then(|message| message.usage));
        let calls = usages
            .map(|usage| LastCall { prompt_tokens: usage.prompt_tokens(), output_tokens: usage.output });
        let counted = |call: &LastCall| call.prompt_tokens > 0.0 || call.output_tokens > 0.0;
        calls.into_iter().find(counted)
    }
}
