//! Alerts of `watch --alert`: one line when a session crosses a share of its window, and the actions of `[alerts]`.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::lines::RunningTotals;
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::config::AlertsConfig;
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::{format_time, whole_percent};
use crate::ids::EntryIx;
use crate::runtime::effects::{start_program, terminal_codes};
use crate::session::LoadedSession;
use crate::session::fullness_alert::{AlertLevels, CrossedLevels, FullnessAlert};
use crate::units::Moment;

/// The levels, and how to report a crossing.
#[derive(Debug, Clone)]
pub(super) struct AlertRequest {
    pub(super) levels: AlertLevels,
    pub(super) config: AlertsConfig,
}

/// A session that crossed a share of its window.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct AlertJson {
    /// `alert`.
    event: &'static str,
    /// The session key.
    key: String,
    agent: String,
    path: String,
    /// ms since 1970.
    time: i64,
    /// The crossed share of the window, in percent.
    level: f64,
    /// The share that the next prompt takes, in percent.
    percent: u64,
    /// Tokens of the next prompt.
    tokens: u64,
    /// Whether the provider did not count `tokens`.
    is_estimate: bool,
    /// The context window in tokens.
    window: u64,
}

impl JsonOutput for AlertJson {}

/// Estimates the fullness before these new entries, as the session itself is first read after them.
pub(super) fn fullness_before(loaded: &LoadedSession, new: &[EntryIx]) -> Option<f64> {
    let fullness = loaded.item.fullness()?;
    // The first read may find only the start of a line.
    let Some(first) = new.first() else { return Some(fullness) };
    let last = EntryIx(loaded.index.entries.len().checked_sub(1)? as u32);
    let totals = RunningTotals::new(loaded);
    let before = first.0.checked_sub(1).map_or(0, |at| totals.at(EntryIx(at)).0);
    let after = totals.at(last).0;
    Some(if after == 0 { 0.0 } else { fullness * before as f64 / after as f64 })
}

/// Observes a session after a read, and reports a crossing.
pub(super) fn report_alert(
    request: &AlertRequest,
    state: &mut CrossedLevels,
    (loaded, path): (&LoadedSession, &Path),
    now_ms: Moment,
    (json, output): (bool, &mut Output),
) -> Result<(), Failure> {
    let item = &loaded.item;
    let Some(fullness) = item.fullness() else { return Ok(()) };
    let (next, level) = request.levels.observe(*state, fullness);
    *state = next;
    let Some(alert) = level.and_then(|level| FullnessAlert::new(item, level, now_ms)) else { return Ok(()) };
    if json {
        output.json(&AlertJson {
            event: "alert",
            key: item.key.0.clone(),
            agent: item.agent.clone(),
            path: path.to_string_lossy().into_owned(),
            time: alert.at_ms.whole(),
            level: alert.level * 100.0,
            percent: whole_percent(alert.tokens, alert.window).unwrap_or(0),
            tokens: alert.tokens,
            is_estimate: alert.is_estimate,
            window: alert.window,
        })?;
    } else {
        let line = format!("{} ALERT {}", format_time(alert.at_ms), alert.message());
        output.line(Tone::Bad, &line)?;
        if output.width().is_some() {
            std::io::Write::write_all(output, terminal_codes(&request.config, &alert).as_bytes())?;
        }
    }
    start_program(&request.config, &alert).or_else(|error| output.note(&error.to_string()))?;
    Ok(())
}
