//! The settings table: one row per setting, and between them the keys of the gateway that no setting here changes.
//!
//! The rows are in the order of the configuration, which `clawscope rules` shows; those that the configuration does not
//! have come last. A new setting is a [`SettingId`], a row here and a field that its policy reads.

use crate::gateway::setting_value::{Control, Unit};
use crate::policy::policy_set::Policy;
use crate::policy::settings::setting::Field::{
    CountByModel, Elsewhere, ExcludedTools, Number, PrunableTools, SummaryTokens, Switch, Text,
};
use crate::policy::settings::setting::{
    ConfigKey, Field, FlushKey, Hint, SessionSetting, SettingId, SettingSpec, Source,
};

#[derive(Debug, Clone, Copy)]
struct Row {
    config: Option<ConfigKey>,
    setting: Option<SettingSpec>,
}

/// The release that turned most settings into built-in values.
const BUILT_IN_SINCE: &str = "2026.8.1";

/// The likeness, 0 to 1, below which a suggestion would only confuse.
const MIN_LIKENESS: f64 = 0.75;

const fn slider(unit: Unit, max: f64, step: f64) -> Control {
    Control::Slider { min: 0.0, max, step, unit }
}

const fn chars(max: f64, step: f64) -> Control {
    slider(Unit::Chars, max, step)
}

const fn tokens(max: f64, step: f64) -> Control {
    slider(Unit::Tokens, max, step)
}

const SHARE: Control = slider(Unit::Share, 1.0, 0.01);
const DURATION: Control = slider(Unit::Milliseconds, 86_400_000.0, 60_000.0);
const RESERVE: Control = tokens(200_000.0, 1000.0);

const fn always(path: &'static str) -> ConfigKey {
    ConfigKey { path, since: None, removed: None }
}

/// A key that no setting changes: it concerns the writer of summaries, the memory flush or single channels.
const fn key(path: &'static str) -> Row {
    Row { config: Some(always(path)), setting: None }
}

const fn row(
    id: SettingId,
    key: &'static str,
    (policy, source): (Option<Policy>, Source),
    (control, field): (Control, Field),
    hint: Hint,
    description: &'static str,
) -> Row {
    let config = None;
    let setting =
        SettingSpec { id, key, policy, source, control, field, config, hint, zero: None, description };
    Row { config, setting: Some(setting) }
}

const fn pruning(
    id: SettingId,
    key: &'static str,
    value: (Control, Field),
    hint: Hint,
    description: &'static str,
) -> Row {
    row(id, key, (Some(Policy::Prune), Source::Pruning), value, hint, description).configured()
}

const fn compaction(
    id: SettingId,
    key: &'static str,
    field: Field,
    hint: Hint,
    description: &'static str,
) -> Row {
    row(id, key, (Some(Policy::Compact), Source::Compaction), (RESERVE, field), hint, description)
        .configured()
}

const fn session(
    id: SettingId,
    key: &'static str,
    setting: SessionSetting,
    unit: Unit,
    description: &'static str,
) -> Row {
    let control = Control::Slider { min: 1.0, max: 1e6, step: 1000.0, unit };
    row(id, key, (None, Source::Session(setting)), (control, Elsewhere), Hint::None, description)
}

const fn clearing(
    id: SettingId,
    key: &'static str,
    value: (Control, Field),
    hint: &'static str,
    description: &'static str,
) -> Row {
    row(id, key, (Some(Policy::Clear), Source::Client), value, Hint::Words(hint), description)
}

impl Row {
    /// Places the key below `agents.defaults`.
    const fn configured(self) -> Self {
        match self.setting {
            Some(setting) => Self { config: Some(always(setting.key)), ..self },
            None => self,
        }
    }

    /// Names the meaning of 0.
    const fn with_zero(self, word: &'static str) -> Self {
        match self.setting {
            Some(setting) => Self { setting: Some(SettingSpec { zero: Some(word), ..setting }), ..self },
            None => self,
        }
    }

    const fn since(self, release: &'static str) -> Self {
        match self.config {
            Some(key) => Self { config: Some(ConfigKey { since: Some(release), ..key }), ..self },
            None => self,
        }
    }

    const fn removed(self, release: &'static str, instead: &'static str) -> Self {
        match self.config {
            Some(key) => {
                Self { config: Some(ConfigKey { removed: Some((release, instead)), ..key }), ..self }
            }
            None => self,
        }
    }

    const fn until(self, instead: &'static str) -> Self {
        self.removed(BUILT_IN_SINCE, instead)
    }
}

const PRUNE_MODE: SettingSpec = SettingSpec {
    id: SettingId::PruneMode,
    key: "contextPruning.mode",
    policy: Some(Policy::Prune),
    source: Source::Pruning,
    control: Control::Switch,
    field: Elsewhere,
    config: None,
    hint: Hint::None,
    zero: None,
    description: "Turns pruning on; a change of another pruning setting turns it on for the preview.",
};

static TABLE: [Row; 68] = [
    Row { config: None, setting: Some(PRUNE_MODE) }.configured(),
    pruning(
        SettingId::PruneTtl,
        "contextPruning.ttl",
        (DURATION, Number(|s| s.prune.ttl_ms.get_mut())),
        Hint::IdleTime,
        "Pruning waits until the provider's cache has been idle this long; 0 never prunes. \
         Below the provider's own cache lifetime (5m or 1h), it throws away a cache that is still warm.",
    )
    .with_zero("never"),
    pruning(
        SettingId::KeepLastAssistants,
        "contextPruning.keepLastAssistants",
        (slider(Unit::Messages, 20.0, 1.0), Number(|s| &mut s.prune.keep_last_assistants)),
        Hint::Protected,
        "The tool results of this many newest replies stay.",
    )
    .until("built in: 3"),
    pruning(
        SettingId::SoftTrimRatio,
        "contextPruning.softTrimRatio",
        (SHARE, Number(|s| &mut s.prune.soft_trim_ratio)),
        Hint::ShareOf("of messages"),
        "Share of the window from which old tool results are shortened.",
    )
    .until("built in: 0.3"),
    pruning(
        SettingId::HardClearRatio,
        "contextPruning.hardClearRatio",
        (SHARE, Number(|s| &mut s.prune.hard_clear_ratio)),
        Hint::ShareOf("of messages"),
        "Share of the window from which old tool results are cleared.",
    )
    .until("built in: 0.5"),
    pruning(
        SettingId::MinPrunableToolChars,
        "contextPruning.minPrunableToolChars",
        (chars(400_000.0, 1000.0), Number(|s| s.prune.min_prunable_tool_chars.get_mut())),
        Hint::PrunableChars,
        "Clearing needs at least this much text in prunable tool results.",
    )
    .until("built in: 50,000"),
    pruning(
        SettingId::SoftTrimMaxChars,
        "contextPruning.softTrim.maxChars",
        (chars(40_000.0, 100.0), Number(|s| s.prune.soft_trim.max_chars.get_mut())),
        Hint::LongResults,
        "Tool results up to this size stay whole.",
    )
    .until("built in: 4,000"),
    pruning(
        SettingId::SoftTrimHeadChars,
        "contextPruning.softTrim.headChars",
        (chars(20_000.0, 100.0), Number(|s| s.prune.soft_trim.head_chars.get_mut())),
        Hint::Words("kept from the start"),
        "A shortened tool result keeps this much of its start.",
    )
    .until("built in: 1,500"),
    pruning(
        SettingId::SoftTrimTailChars,
        "contextPruning.softTrim.tailChars",
        (chars(20_000.0, 100.0), Number(|s| s.prune.soft_trim.tail_chars.get_mut())),
        Hint::Words("kept from the end"),
        "A shortened tool result keeps this much of its end.",
    )
    .until("built in: 1,500"),
    pruning(
        SettingId::HardClearEnabled,
        "contextPruning.hardClear.enabled",
        (Control::Switch, Switch(|s| &mut s.prune.hard_clear.enabled)),
        Hint::ClearedResults,
        "Clears old tool results; otherwise pruning only shortens them.",
    ),
    pruning(
        SettingId::HardClearPlaceholder,
        "contextPruning.hardClear.placeholder",
        (Control::Text, Text(|s| &mut s.prune.hard_clear.placeholder)),
        Hint::Words("replaces the result"),
        "Text that replaces a cleared tool result.",
    ),
    pruning(
        SettingId::ToolsAllow,
        "contextPruning.tools.allow",
        (Control::List, PrunableTools("allow")),
        Hint::Words("empty: every tool"),
        "Tools whose results may be pruned; empty means every tool.",
    ),
    pruning(
        SettingId::ToolsDeny,
        "contextPruning.tools.deny",
        (Control::List, PrunableTools("deny")),
        Hint::DeniedResults,
        "Tools whose results are never pruned.",
    ),
    session(
        SettingId::ContextTokens,
        "contextTokens",
        SessionSetting::ContextTokens,
        Unit::Tokens,
        "Lowers the window of the agent.",
    )
    .configured()
    .until("contextTokens of a model in models.providers"),
    row(
        SettingId::ToolResultMaxChars,
        "contextLimits.toolResultMaxChars",
        (Some(Policy::Truncate), Source::ResultChars),
        (chars(200_000.0, 1000.0), Number(|s| s.truncate.max_chars.get_mut())),
        Hint::None,
        "A single tool result in the transcript has at most this size.",
    )
    .configured()
    .since("2026.4.15")
    .until("built in: by the size of the window"),
    key("compaction.mode"),
    compaction(
        SettingId::ReserveTokensFloor,
        "compaction.reserveTokensFloor",
        // The larger of floor and reserve applies: `settings_from_values`.
        Elsewhere,
        Hint::Words("minimum reserve"),
        "The reserve is never smaller than this.",
    )
    .until("built in: 20,000"),
    compaction(
        SettingId::ReserveTokens,
        "compaction.reserveTokens",
        Number(|s| s.compaction.reserve_tokens.get_mut()),
        Hint::CompactionTrigger,
        "Compaction runs when less than this much of the window is free.",
    )
    .since("2026.2.21")
    .until("built in: 20,000"),
    compaction(
        SettingId::KeepRecentTokens,
        "compaction.keepRecentTokens",
        Number(|s| s.compaction.keep_recent_tokens.get_mut()),
        Hint::KeptTokens,
        "A compaction keeps about this much of the newest messages.",
    )
    .since("2026.2.21"),
    key("compaction.maxHistoryShare").since("2026.1.29").until("nothing"),
    key("compaction.identifierPolicy").since("2026.3.1"),
    key("compaction.identifierInstructions").since("2026.3.1").until("nothing"),
    key("compaction.recentTurnsPreserve").since("2026.3.7"),
    key("compaction.qualityGuard.enabled").since("2026.3.7"),
    key("compaction.qualityGuard.maxRetries").since("2026.3.7"),
    key("compaction.postCompactionSections").since("2026.3.7"),
    key("compaction.model").since("2026.3.8"),
    key("compaction.customInstructions").since("2026.3.11").until("nothing"),
    key("compaction.postIndexSync").since("2026.3.11").removed("2026.5.18", "nothing"),
    key("compaction.timeoutSeconds").since("2026.3.22"),
    key("compaction.notifyUser").since("2026.4.5"),
    key("compaction.provider").since("2026.4.7"),
    key("compaction.truncateAfterCompaction").since("2026.4.25").until("nothing"),
    row(
        SettingId::MidTurnPrecheck,
        "compaction.midTurnPrecheck.enabled",
        (Some(Policy::Check), Source::MidTurn),
        (Control::Switch, Switch(|s| &mut s.check.mid_turn)),
        Hint::Words("of your next message"),
        "Checks the prompt inside a tool loop too.",
    )
    .configured()
    .since("2026.4.29"),
    session(
        SettingId::ActiveTranscriptBytes,
        "compaction.maxActiveTranscriptBytes",
        SessionSetting::ActiveTranscriptBytes,
        Unit::Bytes,
        "Compacts before a turn when the transcript has this size, whatever its tokens; 0 never does.",
    )
    .with_zero("never")
    .configured()
    .since("2026.5.2"),
    key("compaction.enabled").since("2026.8.1"),
    key("compaction.thinkingLevel").since("2026.8.1"),
    row(
        SettingId::FlushEnabled,
        "compaction.memoryFlush.enabled",
        (None, Source::Session(SessionSetting::Flush(FlushKey::Enabled))),
        (Control::Switch, Elsewhere),
        Hint::None,
        "Saves notes before a compaction.",
    )
    .configured(),
    session(
        SettingId::FlushSoftThresholdTokens,
        "compaction.memoryFlush.softThresholdTokens",
        SessionSetting::Flush(FlushKey::SoftThresholdTokens),
        Unit::Tokens,
        "The flush runs this many tokens before the reserve.",
    )
    .configured(),
    session(
        SettingId::FlushForceBytes,
        "compaction.memoryFlush.forceFlushTranscriptBytes",
        SessionSetting::Flush(FlushKey::ForceFlushTranscriptBytes),
        Unit::Bytes,
        "The flush runs when the transcript has this size, whatever its tokens; 0 never does.",
    )
    .with_zero("never")
    .configured()
    .since("2026.3.1"),
    key("compaction.memoryFlush.model").since("2026.5.2"),
    key("compaction.memoryFlush.prompt").until("nothing"),
    key("compaction.memoryFlush.systemPrompt").until("nothing"),
    key("channels.*.dmHistoryLimit"),
    key("channels.*.dms.*.historyLimit"),
    key("channels.*.historyLimit").since("2026.2.17"),
    key("channels.*.accounts.*.historyLimit").since("2026.8.1"),
    row(
        SettingId::HistoryLimit,
        "historyLimit",
        (Some(Policy::History), Source::HistoryLimit),
        (slider(Unit::Turns, 100.0, 1.0), Number(|s| &mut s.history_limit)),
        Hint::Turns,
        "Keeps this many of the user's last turns; 0 keeps all. In direct chats the key is dmHistoryLimit.",
    )
    .with_zero("no limit"),
    session(
        SettingId::ContextWindow,
        "contextWindow",
        SessionSetting::ContextWindow,
        Unit::Tokens,
        "The window of a model: contextWindow[provider/model]=N, else that of the failing call.",
    ),
    session(
        SettingId::MaxTokens,
        "maxTokens",
        SessionSetting::MaxTokens,
        Unit::Tokens,
        "Tokens reserved for a model's reply: maxTokens[provider/model]=N, else that of the failing call.",
    ),
    session(
        SettingId::BootstrapMaxChars,
        "bootstrapMaxChars",
        SessionSetting::BootstrapMaxChars,
        Unit::Chars,
        "Limit of one workspace file in the system prompt.",
    ),
    session(
        SettingId::BootstrapTotalMaxChars,
        "bootstrapTotalMaxChars",
        SessionSetting::BootstrapTotalMaxChars,
        Unit::Chars,
        "Limit of all workspace files in the system prompt together.",
    ),
    row(
        SettingId::SummaryTokens,
        "compaction.summaryTokens",
        (Some(Policy::Compact), Source::Preview),
        (tokens(16_000.0, 100.0), SummaryTokens),
        Hint::Words("assumed length"),
        "Assumed length of the summary that a compaction writes.",
    ),
    row(
        SettingId::TruncateWindowShare,
        "truncate.windowShare",
        (Some(Policy::Truncate), Source::BuiltIn),
        (SHARE, Number(|s| &mut s.truncate.window_share)),
        Hint::ShareOf("of one result"),
        "Share of the window that a single tool result may take.",
    ),
    row(
        SettingId::TruncateMaxChars,
        "truncate.maxChars",
        (Some(Policy::Truncate), Source::BuiltIn),
        (chars(1e6, 10_000.0), Number(|s| s.truncate.max_chars.get_mut())),
        Hint::Words("at any window"),
        "A single tool result has at most this size, whatever the window.",
    ),
    row(
        SettingId::TruncateMinKeepChars,
        "truncate.minKeepChars",
        (Some(Policy::Truncate), Source::BuiltIn),
        (chars(20_000.0, 100.0), Number(|s| s.truncate.min_keep_chars.get_mut())),
        Hint::Words("kept of every block"),
        "A truncated text block keeps at least this much.",
    ),
    row(
        SettingId::ReduceAllChars,
        "reduce.allChars",
        (Some(Policy::Reduce), Source::BuiltIn),
        (chars(2e6, 10_000.0), Number(|s| s.reduce.all_chars.get_mut())),
        Hint::None,
        "All tool results together have at most this size.",
    ),
    row(
        SettingId::ReduceKeepSent,
        "reduce.keepSent",
        (Some(Policy::Reduce), Source::BuiltIn),
        (Control::Switch, Switch(|s| &mut s.reduce.keeps_sent)),
        Hint::None,
        "Leaves results unchanged that an earlier call sent.",
    ),
    row(
        SettingId::CheckPromptTokens,
        "check.promptTokens",
        (Some(Policy::Check), Source::Preview),
        (tokens(200_000.0, 500.0), Number(|s| s.check.prompt_tokens.get_mut())),
        Hint::Words("of your next message"),
        "Assumed length of your next message, for the check before a prompt.",
    ),
    row(
        SettingId::GuardBudgetShare,
        "guard.budgetShare",
        (Some(Policy::Guard), Source::BuiltIn),
        (SHARE, Number(|s| &mut s.guard.budget_share)),
        Hint::ShareOf("of all"),
        "Share of the window that the whole context of a call may take.",
    ),
    row(
        SettingId::GuardSingleShare,
        "guard.singleShare",
        (Some(Policy::Guard), Source::BuiltIn),
        (SHARE, Number(|s| &mut s.guard.single_share)),
        Hint::ShareOf("of one result"),
        "Share of the window that one tool result of a call may take.",
    ),
    row(
        SettingId::ClearTrigger,
        "clearToolUses.trigger",
        (Some(Policy::Clear), Source::Client),
        (tokens(1e6, 5_000.0), Number(|s| &mut s.clear.trigger)),
        Hint::TriggerShare,
        "Tool uses are cleared above this prompt size; 70% to 80% of the window leaves room for an answer.",
    ),
    clearing(
        SettingId::ClearKeep,
        "clearToolUses.keep",
        (slider(Unit::Messages, 50.0, 1.0), Number(|s| &mut s.clear.keep)),
        "newest uses kept",
        "This many of the newest tool uses stay.",
    ),
    clearing(
        SettingId::ClearAtLeast,
        "clearToolUses.clearAtLeast",
        (tokens(200_000.0, 500.0), Number(|s| &mut s.clear.clear_at_least)),
        "or clears nothing",
        "Nothing is cleared unless it frees at least this much.",
    ),
    clearing(
        SettingId::ClearToolInputs,
        "clearToolUses.clearToolInputs",
        (Control::Switch, Switch(|s| &mut s.clear.clear_tool_inputs)),
        "clears arguments too",
        "Clears the arguments of the calls too.",
    ),
    clearing(
        SettingId::ClearCountByModel,
        "clearToolUses.countByModel",
        (Control::Switch, CountByModel),
        "or chars/4 + 3 each",
        "Counts tokens as the model does; otherwise a quarter of the chars, and 3 for each message.",
    ),
    clearing(
        SettingId::ClearExcludeTools,
        "clearToolUses.excludeTools",
        (Control::List, ExcludedTools),
        "never cleared",
        "Tools whose uses are never cleared.",
    ),
    clearing(
        SettingId::ClearPlaceholder,
        "clearToolUses.placeholder",
        (Control::Text, Text(|s| &mut s.clear.placeholder)),
        "replaces the result",
        "Text that replaces a cleared tool result.",
    ),
];

const COUNT: usize = {
    let (mut at, mut count) = (0, 0);
    while at < TABLE.len() {
        count += TABLE[at].setting.is_some() as usize;
        at += 1;
    }
    count
};

/// Every setting in the order of [`SettingId`].
pub static SETTINGS: [SettingSpec; COUNT] = {
    let mut all = [PRUNE_MODE; COUNT];
    let mut at = 0;
    while at < TABLE.len() {
        if let Some(setting) = TABLE[at].setting {
            all[setting.id as usize] = SettingSpec { config: TABLE[at].config, ..setting };
        }
        at += 1;
    }
    // Fails to compile when a setting has no row, or two.
    at = 0;
    while at < COUNT {
        assert!(all[at].id as usize == at);
        at += 1;
    }
    all
};

/// Returns every key of the gateway's configuration that concerns a context, in the order of the configuration.
pub fn config_keys() -> impl Iterator<Item = &'static ConfigKey> {
    TABLE.iter().filter_map(|row| row.config.as_ref())
}

/// Finds a setting by its key.
pub fn find_setting(key: &str) -> Option<&'static SettingSpec> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

/// Returns the setting whose key, or whose key without its first part, is most like a mistyped one.
pub fn nearest_setting(typed: &str) -> Option<&'static SettingSpec> {
    let likeness = |setting: &SettingSpec| {
        strsim::jaro_winkler(typed, setting.key).max(strsim::jaro_winkler(typed, setting.name()))
    };
    let nearest =
        SETTINGS.iter().map(|setting| (likeness(setting), setting)).max_by(|a, b| a.0.total_cmp(&b.0));
    nearest.filter(|(likeness, _)| *likeness >= MIN_LIKENESS).map(|(_, setting)| setting)
}

impl SettingId {
    pub fn spec(self) -> &'static SettingSpec {
        &SETTINGS[self as usize]
    }
}
