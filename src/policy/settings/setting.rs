//! The data of one setting. `--set`, its help, the tuning pane, patches and the guide derive from it.

use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::{Ruleset, Version};
use crate::gateway::setting_value::{Control, Unit};
use crate::js::{self, JsString, Object, Value};
use crate::policy::clear_tool_uses::TokenCounting;
use crate::policy::policy_set::Policy;
use crate::policy::settings::PolicySettings;

/// Every setting, in the order of the tuning pane: by policy, then those that belong to no policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettingId {
    ReserveTokens,
    ReserveTokensFloor,
    KeepRecentTokens,
    SummaryTokens,
    ToolResultMaxChars,
    TruncateWindowShare,
    TruncateMaxChars,
    TruncateMinKeepChars,
    HistoryLimit,
    ReduceAllChars,
    ReduceKeepSent,
    MidTurnPrecheck,
    CheckPromptTokens,
    PruneMode,
    PruneTtl,
    KeepLastAssistants,
    SoftTrimRatio,
    HardClearRatio,
    MinPrunableToolChars,
    SoftTrimMaxChars,
    SoftTrimHeadChars,
    SoftTrimTailChars,
    HardClearEnabled,
    HardClearPlaceholder,
    ToolsAllow,
    ToolsDeny,
    GuardBudgetShare,
    GuardSingleShare,
    ClearTrigger,
    ClearKeep,
    ClearAtLeast,
    ClearToolInputs,
    ClearCountByModel,
    ClearExcludeTools,
    ClearPlaceholder,
    ContextTokens,
    ContextWindow,
    MaxTokens,
    BootstrapMaxChars,
    BootstrapTotalMaxChars,
    FlushEnabled,
    FlushSoftThresholdTokens,
    FlushForceBytes,
    ActiveTranscriptBytes,
}

/// A row of the settings table.
#[derive(Debug, Clone, Copy)]
pub struct SettingSpec {
    pub id: SettingId,
    /// The name in `--set`, JSON and patches, such as `contextPruning.softTrim.maxChars`.
    pub key: &'static str,
    /// The policy that reads it; `None` for the windows and the workspace files.
    pub policy: Option<Policy>,
    pub source: Source,
    /// Type, range and unit.
    pub control: Control,
    pub field: Field,
    /// Its place below `agents.defaults` and the releases that read it; `None` if it is not there.
    pub config: Option<ConfigKey>,
    pub hint: Hint,
    /// The meaning of 0 where it is no amount, such as `no limit`.
    pub zero: Option<&'static str>,
    /// One sentence for people.
    pub description: &'static str,
}

/// The origin of the current value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The gateway's `contextPruning`.
    Pruning,
    /// The gateway's `compaction`, or pi's.
    Compaction,
    /// The turn limit of the session's channel.
    HistoryLimit,
    /// `contextLimits` of the agent or the default.
    ResultChars,
    /// `compaction.midTurnPrecheck.enabled`.
    MidTurn,
    /// The gateway has it built in.
    BuiltIn,
    /// The client that sends the request (pruning 7.14).
    Client,
    /// An assumption of the preview.
    Preview,
    /// The loaded session.
    Session(SessionSetting),
}

/// A setting that belongs to no policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSetting {
    /// An upper limit for the window of an agent.
    ContextTokens,
    /// The window of a model.
    ContextWindow,
    /// The tokens that a call reserves for the reply of a model.
    MaxTokens,
    /// Chars of one workspace file in the system prompt (compaction 11.9).
    BootstrapMaxChars,
    /// Chars of all workspace files in the system prompt (compaction 11.9).
    BootstrapTotalMaxChars,
    /// A key of `compaction.memoryFlush` (compaction 9.1).
    Flush(FlushKey),
    /// Bytes of the transcript from which the gateway compacts before a turn, whatever its tokens (compaction 12).
    ActiveTranscriptBytes,
}

/// A key that decides when the memory flush runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushKey {
    Enabled,
    SoftThresholdTokens,
    ForceFlushTranscriptBytes,
}

/// The field of [`PolicySettings`] that holds the value.
#[derive(Debug, Clone, Copy)]
pub enum Field {
    Number(fn(&mut PolicySettings) -> &mut f64),
    Switch(fn(&mut PolicySettings) -> &mut bool),
    Text(fn(&mut PolicySettings) -> &mut JsString),
    /// One of the pruner's lists of tools.
    PrunableTools(&'static str),
    ExcludedTools,
    SummaryTokens,
    CountByModel,
    /// The pruner's switch is the set of enabled policies; settings of a session are in the session.
    Elsewhere,
}

/// The words next to a setting in the tuning pane: its meaning for the open session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    None,
    Words(&'static str),
    /// The share as tokens of the window, and the name of the whole.
    ShareOf(&'static str),
    /// The tokens as a share of the window; above the window, it never acts.
    TriggerShare,
    /// The time since the last cache touch.
    IdleTime,
    /// The time at which the protected messages begin.
    Protected,
    PrunableChars,
    LongResults,
    ClearedResults,
    DeniedResults,
    /// The total above which compaction runs.
    CompactionTrigger,
    KeptTokens,
    Turns,
}

/// A key of the gateway's configuration and the releases that read it (releases R95).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigKey {
    /// The path below `agents.defaults`; one that begins with `channels` is below the root.
    pub path: &'static str,
    /// The first release that reads the key; `None` for the oldest known.
    pub since: Option<&'static str>,
    /// The release that dropped the key, and its replacement.
    pub removed: Option<(&'static str, &'static str)>,
}

/// Upper bound for the tokens of a summary; no window is larger.
const MAX_SUMMARY_TOKENS: f64 = 1e6;

impl SettingSpec {
    /// Returns the meaning of a value of 0 that is no amount.
    pub fn zero_word(&self, value: &Value) -> Option<&'static str> {
        self.zero.filter(|_| matches!(value, Value::Number(number) if *number == 0.0))
    }

    /// Returns the key without its first part, such as `softTrim.maxChars`.
    pub fn name(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(_, name)| name)
    }

    /// Returns the place in the configuration, such as `agents.defaults.contextPruning.ttl`; `None` if no key of the
    /// gateway sets it.
    pub fn config_path(&self) -> Option<String> {
        match self.source {
            Source::HistoryLimit => Some("channels.*.historyLimit".to_owned()),
            Source::Session(SessionSetting::ContextWindow | SessionSetting::MaxTokens) => {
                Some(format!("models.providers.*.models[].{}", self.key))
            }
            Source::Pruning
            | Source::Compaction
            | Source::ResultChars
            | Source::MidTurn
            | Source::Session(_) => Some(format!("agents.defaults.{}", self.key)),
            Source::BuiltIn | Source::Client | Source::Preview => None,
        }
    }

    /// Whether it belongs to one model, as in `contextWindow[provider/model]`.
    pub fn is_of_model(&self) -> bool {
        matches!(self.id, SettingId::ContextWindow | SettingId::MaxTokens)
    }

    /// Returns the unit or the values that it takes, in a few words.
    pub fn values(&self) -> &'static str {
        match self.control {
            Control::Switch if self.id == SettingId::PruneMode => "off or cache-ttl",
            Control::Switch => "true or false",
            Control::Slider { unit, .. } => unit_values(unit),
            Control::List => "tools: exec,web_*",
            Control::Text => "text",
            Control::Fixed { unit, .. } => unit.map_or("", unit_values),
        }
    }

    /// Whether it also takes a share of the window: the client computes its tokens, and no gateway validates them.
    pub fn takes_share(&self) -> bool {
        self.source == Source::Client && self.control.unit() == Some(Unit::Tokens)
    }

    /// Describes the values that it takes, for the answer to a wrong one.
    pub fn expected(&self) -> String {
        match self.control {
            Control::Slider { min, .. } if self.takes_share() => {
                format!("a whole number, {min} or more, or a share of the window such as 75%")
            }
            Control::Switch => self.values().to_owned(),
            Control::Slider { unit: Unit::Milliseconds, .. } => {
                "a duration such as 30m, 1h or 1h30m".to_owned()
            }
            Control::Slider { unit: Unit::Share, .. } => "a number from 0 to 1".to_owned(),
            Control::Slider { min, .. } => format!("a whole number, {min} or more"),
            Control::List => "tool names and patterns, such as exec,web_* or [\"exec\"]".to_owned(),
            Control::Text => "a text that is not blank".to_owned(),
            Control::Fixed { why, .. } => why.to_owned(),
        }
    }
}

fn unit_values(unit: Unit) -> &'static str {
    match unit {
        Unit::Milliseconds => "duration: 30m, 1h30m",
        Unit::Messages => "count",
        Unit::Share => "0 to 1",
        Unit::Chars => "chars",
        Unit::Tokens => "tokens",
        Unit::Turns => "turns",
        Unit::Bytes => "bytes",
    }
}

impl Field {
    pub fn read(self, settings: &mut PolicySettings) -> Value {
        match self {
            Self::Number(field) => Value::from(*field(settings)),
            Self::Switch(field) => Value::Bool(*field(settings)),
            Self::Text(field) => Value::String(field(settings).clone()),
            Self::PrunableTools(list) => {
                let items = settings.prune.tools.get(list).and_then(Value::as_array);
                Value::Array(items.map(<[Value]>::to_vec).unwrap_or_default())
            }
            Self::ExcludedTools => {
                Value::Array(settings.clear.exclude_tools.iter().cloned().map(Value::String).collect())
            }
            Self::SummaryTokens => Value::from(settings.summary_tokens as f64),
            Self::CountByModel => Value::Bool(settings.clear.counting == TokenCounting::Model),
            Self::Elsewhere => Value::Null,
        }
    }

    pub fn write(self, settings: &mut PolicySettings, value: &Value) {
        let number = value.as_f64().unwrap_or(f64::NAN);
        let on = value.as_bool().unwrap_or(false);
        match self {
            Self::Number(field) => *field(settings) = number,
            Self::Switch(field) => *field(settings) = on,
            Self::Text(field) => *field(settings) = js::to_text(Some(value)),
            Self::PrunableTools(list) => {
                let mut tools = settings.prune.tools.as_object().cloned().unwrap_or_else(Object::default);
                tools.set(list, value.clone());
                settings.prune.tools = Value::Object(tools);
            }
            Self::ExcludedTools => {
                let names = value.as_array().unwrap_or_default().iter();
                settings.clear.exclude_tools = names.filter_map(Value::as_str).cloned().collect();
            }
            Self::SummaryTokens => settings.summary_tokens = number.min(MAX_SUMMARY_TOKENS) as u64,
            Self::CountByModel => {
                settings.clear.counting = if on { TokenCounting::Model } else { TokenCounting::Approximate };
            }
            Self::Elsewhere => {}
        }
    }
}

impl ConfigKey {
    /// The path below the root.
    pub fn full_path(&self) -> String {
        if self.path.starts_with("channels") {
            return self.path.to_owned();
        }
        format!("agents.defaults.{}", self.path)
    }

    pub fn is_read(&self, ruleset: Ruleset) -> bool {
        let not_before = |release: &str| ruleset_of(release) <= ruleset;
        !ruleset.is_pi()
            && self.since.is_none_or(not_before)
            && !self.removed.is_some_and(|(gone, _)| not_before(gone))
    }

    /// Explains why a release does not read the key: the release that dropped it and the replacement, or the release
    /// that introduces it. Returns `None` if the release reads it.
    pub fn unread_reason(&self, ruleset: Ruleset) -> Option<String> {
        if self.is_read(ruleset) {
            return None;
        }
        match (self.removed, self.since) {
            (Some((release, "nothing")), _) if ruleset_of(release) <= ruleset => {
                Some(format!("removed in {release}"))
            }
            (Some((release, instead)), _) if ruleset_of(release) <= ruleset => {
                Some(format!("removed in {release}, {instead}"))
            }
            (_, Some(release)) => Some(format!("added in {release}")),
            (_, None) => None,
        }
    }
}

pub(super) fn ruleset_of(release: &str) -> Ruleset {
    release.parse::<Version>().map_or(Ruleset::default(), |version| version.ruleset())
}

#[derive(Debug, Clone, PartialEq)]
pub struct SettingRow {
    pub id: SettingId,
    /// That of the table, or fixed if the version does not read the key.
    pub control: Control,
    /// The built-in value; a duration is in ms.
    pub default: Value,
    /// The unchecked value from the configuration or from a loading rule.
    pub config: Option<Value>,
    /// The value in force: `config` after all checks, else `default`.
    pub value: Value,
    pub provenance: Provenance,
}

impl SettingRow {
    /// Returns the key used by `--set` and in JSON.
    pub fn key(&self) -> &'static str {
        self.id.spec().key
    }

    /// Returns the key without its first part.
    pub fn name(&self) -> &'static str {
        self.id.spec().name()
    }
}
