//! Settings that belong to no policy: the windows, and the share of the workspace files in the system prompt.

use std::path::PathBuf;

use crate::gateway::config::GatewayConfig;
use crate::gateway::memory_flush::{FlushSettings, flush_settings_under, max_active_transcript_bytes};
use crate::gateway::ruleset::{FileLimits, Rules};
use crate::gateway::window::{DEFAULT_WINDOW, WindowInfo, WindowSource};
use crate::policy::settings::{FlushKey, SessionSetting, SettingOwner, SettingSpec, Source};
use crate::session::LoadedSession;
use crate::session::overflow::ModelWindow;
use crate::store::prompt_report::InjectedFile;
use crate::units::{Chars, Tokens};

/// Shown for versions that do not read `contextTokens`.
const WINDOW_OF_MODEL: &str = "the window comes from the model or models.providers.*.models[].contextTokens";
/// Shown for settings that no replay reads.
const NOT_REPLAYED: &str = "a replay runs no memory flush and does not measure the file";
/// Tenths of the limit that a longer file keeps: its beginning and its end (compaction 11.9).
const KEPT_TENTHS: f64 = 9.0;
/// The smallest remaining budget, in chars, for which the gateway still cuts a file.
const MIN_FILE_CHARS: Chars = Chars(64.0);
/// Chars per token in the gateway's estimate.
const CHARS_PER_TOKEN: f64 = 4.0;

/// Returns the setting as one of the session; `None` if it belongs to a policy.
pub fn session_setting(setting: &SettingSpec) -> Option<SessionSetting> {
    match setting.source {
        Source::Session(setting) => Some(setting),
        _ => None,
    }
}

/// Returns why no replay can try a setting that the gateway reads; `None` if one can.
pub fn describe_untried(setting: &SettingSpec) -> Option<&'static str> {
    let is_untried = |own| matches!(own, SessionSetting::Flush(_) | SessionSetting::ActiveTranscriptBytes);
    session_setting(setting).filter(|own| is_untried(*own)).map(|_| NOT_REPLAYED)
}

/// Returns why the session's version lacks this setting, or `None` if it has it.
pub fn describe_missing(session: &LoadedSession, setting: SessionSetting) -> Option<&'static str> {
    match setting {
        SessionSetting::ContextTokens => {
            (!session.ruleset.id.rules().window_source.reads_context_tokens()).then_some(WINDOW_OF_MODEL)
        }
        SessionSetting::BootstrapMaxChars | SessionSetting::BootstrapTotalMaxChars => {
            (!session.limits.is_gateway_run).then_some("pi alone injects no workspace files")
        }
        SessionSetting::ContextWindow | SessionSetting::MaxTokens => None,
        SessionSetting::Flush(_) | SessionSetting::ActiveTranscriptBytes => Some(NOT_REPLAYED),
    }
}

/// Returns the file that holds a setting and the path in it; a setting of a model is that of the failing call. `None` is
/// the gateway's `openclaw.json`.
pub fn config_path(session: &LoadedSession, setting: &SettingSpec) -> (Option<PathBuf>, String) {
    if !setting.is_of_model() {
        return (None, setting.config_path().unwrap_or_default());
    }
    let own = session.setting_rows.iter().find_map(|row| match &row.owner {
        SettingOwner::Runtime { agent_dir, .. } => Some(agent_dir.join("models.json")),
        _ => None,
    });
    let above = if own.is_some() { "" } else { "models." };
    let (provider, model) = session.failing_model();
    (own, format!("{above}providers.{provider}.models[{model}].{}", setting.key))
}

/// Returns the value in force, in tokens, chars or bytes; 1 for a switch that is on.
pub fn current_value(session: &LoadedSession, setting: SessionSetting) -> f64 {
    let report = session.prompt_report.as_deref();
    let limits = session.ruleset.id.rules().workspace_files;
    let flush = &session.limits.flush;
    match setting {
        SessionSetting::ContextTokens => session.window.tokens.get(),
        SessionSetting::ContextWindow => {
            let names = session.failing_model();
            if session.is_own_model(&names) {
                session.limits.runtime_window.get()
            } else {
                ModelWindow::for_model(&session.overflow_scope(), &names.0, &names.1).runtime.get()
            }
        }
        SessionSetting::MaxTokens => {
            session.max_tokens(&session.failing_model()).map_or(f64::NAN, Tokens::get)
        }
        SessionSetting::BootstrapMaxChars => {
            report.and_then(|it| it.max_file_chars).unwrap_or(limits.file).get()
        }
        SessionSetting::BootstrapTotalMaxChars => {
            report.and_then(|it| it.max_total_chars).unwrap_or(limits.total).get()
        }
        SessionSetting::Flush(key) => flush_value(flush, key),
        SessionSetting::ActiveTranscriptBytes => {
            max_active_transcript_bytes(&session.config).map_or(0.0, |bytes| bytes.get() as f64)
        }
    }
}

fn flush_value(flush: &FlushSettings, key: FlushKey) -> f64 {
    match key {
        FlushKey::Enabled => f64::from(flush.enabled.value),
        FlushKey::SoftThresholdTokens => flush.soft_tokens.value.get(),
        FlushKey::ForceFlushTranscriptBytes => flush.force_bytes.value.get() as f64,
    }
}

/// Returns the release's default, in tokens, chars or bytes; `None` for the windows, which depend on the model.
pub fn default_value(setting: SessionSetting, rules: &Rules) -> Option<f64> {
    Some(match setting {
        SessionSetting::ContextTokens | SessionSetting::ContextWindow | SessionSetting::MaxTokens => {
            return None;
        }
        SessionSetting::BootstrapMaxChars => rules.workspace_files.file.get(),
        SessionSetting::BootstrapTotalMaxChars => rules.workspace_files.total.get(),
        SessionSetting::Flush(key) => {
            let of_release = flush_settings_under(rules, &GatewayConfig::empty(), DEFAULT_WINDOW);
            flush_value(&of_release, key)
        }
        SessionSetting::ActiveTranscriptBytes => 0.0,
    })
}

/// Returns the window if the model's own is `own` tokens; a configured `contextTokens` still lowers it.
pub fn window_with(session: &LoadedSession, own: f64) -> WindowInfo {
    WindowInfo::of_model(Tokens(own), WindowSource::Tried).capped(session.window.cap())
}

/// Estimates the tokens that these file limits, in chars, remove from the system prompt; 0 without a report.
pub fn tokens_saved_by_limits(
    session: &LoadedSession,
    max_file: Option<Chars>,
    max_total: Option<Chars>,
) -> Tokens {
    let Some(report) = session.prompt_report.as_deref() else { return Tokens::ZERO };
    if max_file.is_none() && max_total.is_none() {
        return Tokens::ZERO;
    }
    let (one, all) = (SessionSetting::BootstrapMaxChars, SessionSetting::BootstrapTotalMaxChars);
    let limit = |own: Option<Chars>, setting| {
        own.unwrap_or_else(|| Chars(current_value(session, setting))).max(Chars::ZERO).floor()
    };
    let chars = |file, total| {
        let limits = FileLimits { file: limit(file, one), total: limit(total, all) };
        injected_sizes(&report.files, limits).iter().sum::<Chars>()
    };
    (chars(None, None) - chars(max_file, max_total)).to_tokens(CHARS_PER_TOKEN)
}

/// Returns the chars of each file under limits, one after another until the total is used up (compaction 11.9).
pub(super) fn injected_sizes(files: &[InjectedFile], limits: FileLimits) -> Vec<Chars> {
    let mut left = limits.total;
    let size = |file: &InjectedFile| {
        let sent = if left < MIN_FILE_CHARS { Chars::ZERO } else { file_chars(file, limits.file).min(left) };
        left -= sent;
        sent
    };
    files.iter().map(size).collect()
}

/// Returns the chars of one file: a missing one has a notice, a longer one is cut. A raised limit may show more of a
/// file than the report measured.
fn file_chars(file: &InjectedFile, max: Chars) -> Chars {
    if file.is_missing {
        return file.injected_chars;
    }
    let whole = if file.is_truncated { file.raw_chars } else { file.injected_chars };
    if whole > max { (max * KEPT_TENTHS / 10.0).floor() } else { whole }
}
