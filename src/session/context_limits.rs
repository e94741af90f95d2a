//! The limits that keep a session within its window, from configuration and session record.
//!
//! Parts of the gateway disagree about the window: the runtime compacts by one, the status line shows another, the
//! memory flush uses a third. Each is kept separately, so that a report can name the difference.

use crate::format::format_number;
use crate::gateway::compaction::{CompactionMode, compaction_mode};
use crate::gateway::memory_flush::{FlushSettings, flush_settings, flush_settings_under};
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::ruleset::{Rules, Ruleset};
use crate::gateway::window::{DEFAULT_WINDOW, runtime_window};
use crate::gateway::window_lookup::{
    StatusWindowSource, flush_window, status_window_from, stored_window, window_for_status,
};
use crate::js::{Value, is_truthy};
use crate::policy::memory_flush::FlushSkip;
use crate::policy::preflight::Route;
use crate::session::TokenCount;
use crate::session::lifecycle::Lifecycle;
use crate::store::discovery::Store;
use crate::store::key::SessionKind;
use crate::store::session::Session;
use crate::store::session_records::SessionRecord;
use crate::units::{Millis, Moment, Tokens};

/// Providers whose models run as command-line programs, in addition to the configured ones (compaction 9.8).
const CLI_PROVIDERS: [&str; 2] = ["claude-cli", "codex-cli"];

#[derive(Debug, Clone)]
pub struct ContextLimits {
    /// Whether a gateway runs the session; pi without a gateway has neither memory flush nor recovery loop.
    pub is_gateway_run: bool,
    /// Whether this is a chat with people.
    pub is_chat: bool,
    /// Whether the store has a record of the session.
    pub has_record: bool,
    pub compaction_mode: CompactionMode,
    pub flush: FlushSettings,
    /// The reason that no memory flush runs here, if none does.
    pub flush_skip: Option<FlushSkip>,
    /// Automatic resets, when a gateway does them.
    pub lifecycle: Option<Lifecycle>,
    /// Window of the runtime's own compaction trigger, in tokens (compaction 2.8).
    pub runtime_window: Tokens,
    /// Window that the status line shows, in tokens (compaction 7.6).
    pub status_window: Tokens,
    pub status_window_source: StatusWindowSource,
    /// Window of the memory flush, in tokens (compaction 9.3).
    pub flush_window: Tokens,
    /// Window that a chat run stores as `contextTokens`, in tokens (compaction 7.7).
    pub stored_window: Tokens,
    pub stored_totals: StoredTotals,
    /// The gateway's estimate of the last prompt, if the record has one.
    pub gateway_budget: Option<GatewayBudget>,
    /// `lastRunError` of the record: the words of the last run's failure.
    pub run_error: Option<String>,
}

/// Numbers of the session record; `None` when absent or of another type.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StoredTotals {
    /// `totalTokens`, even if stale.
    pub total_tokens: Option<Tokens>,
    pub fresh: Option<bool>,
    /// `totalTokensVersion`.
    pub version: Option<f64>,
    pub context_tokens: Option<Tokens>,
    pub compaction_count: Option<f64>,
    pub flush_compaction_count: Option<f64>,
    pub input: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
}

impl StoredTotals {
    fn from_row(row: &SessionRecord) -> Self {
        let raw = row.raw();
        let number = |key: &str| raw.get(key).and_then(Value::as_f64);
        Self {
            total_tokens: number("totalTokens").map(Tokens),
            fresh: raw.get("totalTokensFresh").and_then(Value::as_bool),
            version: number("totalTokensVersion"),
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
    /// Returns the limits of a session on this model.
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
        let user = ModelUser { agent: &session.agent, session: &session.key.0 };
        let known = store.config.known_window(user, provider, model).map(|known| known.tokens);
        // The row holds what the gateway's own lookup of the id found (compaction 7.5, 7.7).
        let row_window = store.config.recorded_window(user, provider, model).map(|row| row.tokens);
        Self {
            is_gateway_run: !ruleset.is_pi(),
            is_chat: is_chat(session.kind),
            has_record: row.is_some(),
            compaction_mode: compaction_mode(rules, config),
            flush: flush_settings_under(rules, &store.config, flush_window(&store.config, model, row_window)),
            flush_skip: flush_skip_reason(config, row, provider),
            runtime_window: runtime_window(config, provider, model, known),
            lifecycle: Lifecycle::for_session(store, session),
            status_window: window_for_status(&store.config, provider, model, row_window),
            status_window_source: status_window_from(&store.config, provider, model),
            flush_window: flush_window(&store.config, model, row_window),
            stored_window: stored_window(&store.config, model, stored.context_tokens),
            stored_totals: stored,
            gateway_budget: row.and_then(GatewayBudget::from_record),
            run_error: row.and_then(run_error),
        }
    }
}

impl Default for ContextLimits {
    /// Returns the limits of a chat whose gateway has no configuration.
    fn default() -> Self {
        Self {
            is_gateway_run: true,
            is_chat: true,
            has_record: false,
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
            gateway_budget: None,
            run_error: None,
        }
    }
}

fn run_error(record: &SessionRecord) -> Option<String> {
    let words = record.member("lastRunError")?.as_str()?.to_string_lossy();
    Some(words.trim().to_owned()).filter(|words| !words.is_empty())
}

fn is_chat(kind: SessionKind) -> bool {
    !matches!(
        kind,
        SessionKind::Cron | SessionKind::Hook | SessionKind::Subagent | SessionKind::Acp | SessionKind::Pi
    )
}

/// Returns the reason that no flush runs, if the store shows one. The store does not record the purpose of a run, such as a
/// heartbeat (compaction 9.8).
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

// The gateway's own view of the last prompt, which it stores in the session's record: its estimate, its budget and the
// route it took (overflow-texts 1.2).

/// A refusal belongs to the estimate if no more time lies between them.
const SAME_PROMPT_MS: Millis = Millis(120_000.0);

/// `contextBudgetStatus` of the record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatewayBudget {
    /// NaN if unknown.
    pub updated_at: Moment,
    /// The route, if clawscope knows its name.
    pub route: Option<Route>,
    /// The gateway's estimate of the prompt.
    pub estimate: Tokens,
    /// Tokens that the estimate may have: the window minus the reserve.
    pub budget: Tokens,
    /// The window that the gateway used.
    pub window: Option<Tokens>,
}

impl GatewayBudget {
    /// Reads the record; `None` without an estimate and a budget.
    pub fn from_record(record: &SessionRecord) -> Option<Self> {
        let status = record.member("contextBudgetStatus")?;
        let number =
            |key: &str| status.get(key).and_then(Value::as_f64).filter(|n| n.is_finite() && *n > 0.0);
        let budget = number("promptBudgetBeforeReserve").map(Tokens);
        let window = number("contextTokenBudget").map(Tokens);
        let reserve = number("effectiveReserveTokens").or(number("reserveTokens")).map(Tokens);
        let route = status.get("route").and_then(Value::as_str);
        Some(Self {
            updated_at: Moment(number("updatedAt").unwrap_or(f64::NAN)),
            route: route.and_then(|route| Route::named(&route.to_string_lossy())),
            estimate: Tokens(number("estimatedPromptTokens")?),
            budget: budget.or_else(|| Some(window? - reserve?))?,
            window,
        })
    }

    /// Returns the tokens above the budget; 0 if the estimate fits.
    pub fn excess(&self) -> Tokens {
        (self.estimate - self.budget).max(Tokens::ZERO)
    }

    /// Describes the estimate against the budget, beside the tokens of the next prompt, under a version's rules.
    pub fn description(&self, next: Option<TokenCount>, rules: &Rules) -> String {
        let number = |tokens: Tokens| format_number(tokens.whole());
        let relation = match self.excess() {
            excess if excess > Tokens::ZERO => format!("over by {}", number(excess)),
            _ => "fits".to_owned(),
        };
        let route = self
            .route
            .map(|route| format!("; {}", route.description(rules.sends_above_budget())))
            .unwrap_or_default();
        let compared = next.filter(|next| next.tokens > 0).map(|next| {
            let ratio = self.estimate.get() / next.tokens as f64;
            format!("; {ratio:.2}x the {} tokens counted here", format_number(next.tokens))
        });
        format!(
            "{} of a budget of {}, {relation}{route}{}",
            number(self.estimate),
            number(self.budget),
            compared.unwrap_or_default()
        )
    }

    /// Whether it is the estimate of a prompt that was refused at this time.
    pub fn is_of(&self, refused_at: Moment) -> bool {
        let apart = self.updated_at - refused_at;
        self.excess() > Tokens::ZERO && apart <= SAME_PROMPT_MS && Millis(-apart.get()) <= SAME_PROMPT_MS
    }
}
