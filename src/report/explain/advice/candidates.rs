//! Candidate values for every key, the mildest first.

use std::path::PathBuf;

use crate::gateway::registry::Provenance;
use crate::gateway::setting_value::{Unit, ttl_text};
use crate::js::Value;
use crate::policy::settings::{PolicySetting, SettingId, SettingOwner};
use crate::report::explain::advice::{AdvisedChange, ReplacedValue};
use crate::report::explain::failure::Failure;
use crate::session::LoadedSession;
use crate::session::session_settings::{config_path, current_value, session_setting};
use crate::session::setting_change::{SettingChange, missing_in_version};
use crate::store::entry::Role;
use crate::units::Tokens;

const MINUTE: f64 = 60_000.0;
/// Common ttl values, ms.
const TTLS_MS: [f64; 7] =
    [120.0 * MINUTE, 60.0 * MINUTE, 30.0 * MINUTE, 15.0 * MINUTE, 10.0 * MINUTE, 5.0 * MINUTE, MINUTE];
/// ttl values for a pruner that was off, ms.
const NEW_TTLS_MS: [f64; 4] = [60.0 * MINUTE, 30.0 * MINUTE, 5.0 * MINUTE, MINUTE];
const KEEP_LAST: [f64; 5] = [10.0, 6.0, 3.0, 2.0, 1.0];
const RATIOS: [f64; 5] = [0.4, 0.3, 0.2, 0.1, 0.0];
const MIN_CHARS: [f64; 3] = [25_000.0, 10_000.0, 0.0];
/// The length above which a result is trimmed, and the length kept at each end, in chars.
const TRIMS: [(f64, f64); 3] = [(2_500.0, 900.0), (1_200.0, 450.0), (400.0, 150.0)];
const KEEP_RECENT: [f64; 4] = [20_000.0, 10_000.0, 5_000.0, 2_000.0];
/// Reserves as shares of the window.
const RESERVES: [f64; 10] = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.86];
const TURN_LIMITS: [usize; 10] = [100, 50, 30, 20, 12, 8, 5, 3, 2, 1];
/// Shares of the window for a lower `contextTokens`.
const LOWER_WINDOW_SHARES: [f64; 3] = [0.75, 0.5, 0.25];
/// Shares of the window that the provider serves: the lower ones leave room for a turn that compaction cannot foresee.
const SERVED_WINDOW_SHARES: [f64; 7] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4];
/// Shares of the reservation for a reply, and the smallest one that is advised.
const REPLY_SHARES: [f64; 6] = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015_625];
const MIN_REPLY: f64 = 1_024.0;
/// Windows of common servers, for a model whose window the gateway believes too small.
const LARGER_WINDOWS: [f64; 7] = [16_384.0, 32_768.0, 65_536.0, 131_072.0, 200_000.0, 262_144.0, 1_048_576.0];
const FILE_CHARS: [f64; 4] = [10_000.0, 5_000.0, 2_000.0, 500.0];
const TOTAL_CHARS: [f64; 4] = [50_000.0, 20_000.0, 8_000.0, 2_000.0];

/// A key and its values.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Values, the mildest first; each is one setting, or several that belong together.
    pub values: Vec<Vec<SettingChange>>,
}

/// Keys and values that a search may change.
pub(super) struct SearchSpace<'a> {
    pub session: &'a LoadedSession,
    pub failure: &'a Failure,
    /// Whether a plugin compacts; the gateway then ignores its own compaction settings.
    pub has_engine_plugin: bool,
    /// Whether pruning can act at all.
    pub can_prune: bool,
}

impl SearchSpace<'_> {
    /// Returns every key that this release reads and the configuration can set, with its candidate values.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let mut all = vec![self.reply(), self.window()];
        if self.can_prune {
            all.push(self.pruning_on());
        }
        if self.can_prune && self.session.pruning_configured {
            all.extend(self.pruning());
        }
        all.extend(self.gateway_check());
        all.push(self.turns());
        if !self.has_engine_plugin {
            all.push(self.keep_recent());
            all.push(self.reserve());
        }
        if self.can_prune {
            all.push(self.context_tokens());
        }
        all.push(self.files(SettingId::BootstrapMaxChars, &FILE_CHARS));
        all.push(self.files(SettingId::BootstrapTotalMaxChars, &TOTAL_CHARS));
        all.retain(|candidate| !candidate.values.is_empty());
        all
    }

    fn candidate(&self, id: SettingId, values: impl IntoIterator<Item = Value>) -> Candidate {
        let values = values.into_iter().filter_map(|value| Some(vec![self.change(id, value)?]));
        Candidate { values: values.collect() }
    }

    fn candidate_below(&self, id: SettingId, values: &[f64]) -> Candidate {
        let now = self.setting_row(id).and_then(|row| row.setting.value.as_f64()).unwrap_or(f64::NAN);
        self.candidate(id, values.iter().filter(|value| **value < now).map(|value| Value::from(*value)))
    }

    fn setting_row(&self, id: SettingId) -> Option<&PolicySetting> {
        self.session.setting_rows.iter().find(|row| row.setting.id == id)
    }

    fn change(&self, id: SettingId, value: Value) -> Option<SettingChange> {
        settable_change(self.session, id, value)
    }

    /// A smaller reservation for the reply, if the prompt alone fits.
    fn reply(&self) -> Candidate {
        let reply = self.failure.blocking_reply().unwrap_or(0) as f64;
        let values =
            REPLY_SHARES.iter().map(|share| (reply * share).floor()).filter(|tokens| *tokens >= MIN_REPLY);
        self.candidate(SettingId::MaxTokens, values.map(Value::from))
    }

    /// The provider's actual window if the runtime assumes a larger one, and smaller ones: every guard then acts earlier.
    /// The smallest window that the runtime accepts may do, too.
    fn window(&self) -> Candidate {
        let (served, least) = (self.failure.limit as f64, self.session.smallest_window().get());
        let mut values: Vec<f64> = SERVED_WINDOW_SHARES
            .iter()
            .map(|share| (served * share).floor().max(least))
            .filter(|_| !self.failure.is_by_gateway())
            .filter(|tokens| Tokens(*tokens) < self.failure.believed_window.runtime)
            .collect();
        values.dedup();
        self.candidate(SettingId::ContextWindow, values.into_iter().map(Value::from))
    }

    /// A call that only the gateway refused: no check inside a tool loop, or a larger window.
    fn gateway_check(&self) -> Vec<Candidate> {
        if !self.failure.is_by_gateway() {
            return Vec::new();
        }
        let checks = self.session.configured_settings.check.mid_turn;
        let off = [Value::Bool(false)].into_iter().filter(|_| checks);
        let needed = self.failure.prompt_tokens.max(self.failure.limit + 1) as f64;
        let window = self.session.window.tokens;
        let larger = LARGER_WINDOWS.into_iter().filter(|tokens| *tokens > window.get().max(needed));
        let own = self.failure.believed_window.gateway == self.session.window;
        vec![
            self.candidate(SettingId::MidTurnPrecheck, off),
            self.candidate(SettingId::ContextWindow, larger.filter(|_| own).map(Value::from)),
        ]
    }

    fn pruning_on(&self) -> Candidate {
        if self.session.pruning_configured {
            return self.candidate_below(SettingId::PruneTtl, &TTLS_MS);
        }
        let on = |ttl: &f64| {
            let mode = self.change(SettingId::PruneMode, Value::from("cache-ttl"))?;
            Some(vec![mode, self.change(SettingId::PruneTtl, Value::from(*ttl))?])
        };
        Candidate { values: NEW_TTLS_MS.iter().filter_map(on).collect() }
    }

    fn pruning(&self) -> Vec<Candidate> {
        let trims = TRIMS.iter().filter_map(|(max, kept)| {
            let now = self.setting_row(SettingId::SoftTrimMaxChars)?.setting.value.as_f64()?;
            let change = |id: SettingId, chars: f64| self.change(id, Value::from(chars));
            let all = [
                change(SettingId::SoftTrimMaxChars, *max)?,
                change(SettingId::SoftTrimHeadChars, *kept)?,
                change(SettingId::SoftTrimTailChars, *kept)?,
            ];
            (*max < now).then(|| all.to_vec())
        });
        let tools = [SettingId::ToolsAllow, SettingId::ToolsDeny].into_iter().filter_map(|id| {
            let set = self.setting_row(id)?.setting.value.as_array().is_some_and(|list| !list.is_empty());
            let none = self.change(id, Value::Array(Vec::new()))?;
            set.then(|| vec![none])
        });
        vec![
            self.candidate_below(SettingId::KeepLastAssistants, &KEEP_LAST),
            Candidate { values: tools.collect() },
            Candidate { values: trims.collect() },
            self.candidate_below(SettingId::MinPrunableToolChars, &MIN_CHARS),
            self.candidate_below(SettingId::HardClearRatio, &RATIOS),
            self.candidate_below(SettingId::SoftTrimRatio, &RATIOS),
        ]
    }

    fn turns(&self) -> Candidate {
        let path = self.session.context.path.iter();
        let requested = path.filter(|ix| self.session.index.entry(**ix).role() == Some(Role::User)).count();
        let now = self.session.configured_settings.history_limit;
        let most = if now > 0.0 { now as usize } else { requested };
        self.candidate(
            SettingId::HistoryLimit,
            TURN_LIMITS.iter().filter(|turns| **turns < most).map(|turns| Value::from(*turns as f64)),
        )
    }

    fn keep_recent(&self) -> Candidate {
        self.candidate_below(SettingId::KeepRecentTokens, &KEEP_RECENT)
    }

    /// A larger reserve compacts earlier; a smaller one leaves room where the reserve took all of it.
    fn reserve(&self) -> Candidate {
        let window = self.session.limits.runtime_window;
        let now = self.session.configured_settings.compaction.reserve_tokens;
        let ids = [SettingId::ReserveTokens, SettingId::ReserveTokensFloor];
        let id = ids.into_iter().find(|id| self.change(*id, Value::from(1.0)).is_some());
        let Some(id) = id.filter(|_| window > Tokens::ZERO) else { return Candidate { values: Vec::new() } };
        let larger = RESERVES.iter().map(|share| (window * *share / 1_000.0).ceil() * 1_000.0);
        let most = (window * RESERVES[RESERVES.len() - 1]).floor();
        self.candidate(
            id,
            larger.map(|reserve| reserve.min(most)).filter(|reserve| *reserve > now).map(Value::from),
        )
    }

    fn context_tokens(&self) -> Candidate {
        let window = self.session.window.tokens;
        let values = LOWER_WINDOW_SHARES
            .iter()
            .filter(|_| window > Tokens::ZERO)
            .map(|share| Value::from((window * *share).floor()));
        self.candidate(SettingId::ContextTokens, values)
    }

    /// Fewer chars of workspace files in the system prompt, if a run reported files.
    fn files(&self, id: SettingId, values: &[f64]) -> Candidate {
        let reported = self.session.prompt_report.as_deref().map_or(0, |report| report.files.len());
        let now = session_setting(id.spec()).map_or(f64::NAN, |setting| current_value(self.session, setting));
        self.candidate(
            id,
            values.iter().filter(|value| reported > 0 && **value < now).map(|value| Value::from(*value)),
        )
    }
}

/// Returns a change of a key; `None` if the version lacks the key or only a preview can set it.
pub(super) fn settable_change(session: &LoadedSession, id: SettingId, value: Value) -> Option<SettingChange> {
    let is_window = matches!(id, SettingId::ContextWindow | SettingId::ContextTokens);
    let is_too_small =
        is_window && value.as_f64().is_some_and(|tokens| !session.runs_with(id, Tokens(tokens)));
    if is_too_small || missing_in_version(session, id).is_some() {
        return None;
    }
    let row = session.setting_rows.iter().find(|row| row.setting.id == id);
    let settable =
        |row: &PolicySetting| matches!(row.owner, SettingOwner::Gateway(_) | SettingOwner::Runtime { .. });
    if row.is_some_and(|row| !settable(row)) {
        return None;
    }
    let is_ttl = row.is_some_and(|row| row.setting.control.unit() == Some(Unit::Milliseconds));
    let value = if is_ttl { ttl_text(&value) } else { value };
    Some(SettingChange { id, value, origin: Provenance::Tuned, model: None })
}

/// Returns a change with its place in the configuration and the value that it replaces.
pub(super) fn advised_change(session: &LoadedSession, change: &SettingChange) -> AdvisedChange {
    let row = session.setting_rows.iter().find(|row| row.setting.id == change.id);
    let unit = row.and_then(|row| row.setting.control.unit());
    let (file, path): (Option<PathBuf>, String) = match row.map(|row| &row.owner) {
        Some(SettingOwner::Gateway(path)) => (None, path.clone()),
        Some(SettingOwner::Runtime { file, path, .. }) => (Some(file.clone()), path.clone()),
        _ => config_path(session, change.id.spec()),
    };
    let ttl = (unit == Some(Unit::Milliseconds))
        .then(|| change.value.as_str().and_then(crate::gateway::setting_value::parse_duration))
        .flatten();
    let tuned = match ttl {
        Some(ms) => Value::from(ms.get()),
        None if change.id == SettingId::PruneMode => Value::from(true),
        None => change.value.clone(),
    };
    AdvisedChange {
        id: change.id,
        file,
        config_path: path,
        unit,
        before: replaced_value(session, change.id, row),
        value: change.value.clone(),
        setting_value: tuned,
    }
}

fn replaced_value(session: &LoadedSession, id: SettingId, row: Option<&PolicySetting>) -> ReplacedValue {
    let Some(row) = row else {
        let setting = session_setting(id.spec());
        let value = setting.map(|setting| current_value(session, setting)).filter(|value| !value.is_nan());
        return value.map_or(ReplacedValue::Unknown, |value| ReplacedValue::Set(Value::from(value)));
    };
    let no_limit = id == SettingId::HistoryLimit && session.configured_settings.history_limit <= 0.0;
    if id == SettingId::PruneMode || no_limit {
        return ReplacedValue::Off;
    }
    ReplacedValue::Set(row.setting.value.clone())
}
