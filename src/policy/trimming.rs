//! The interface of a trimming policy: which versions have it, which data it decides from, and its run over a message
//! list. A plan runs a list of these and knows no policy by name.

use crate::gateway::ruleset::Rules;
use crate::js::{JsException, Object};
use crate::policy::clear_tool_uses::ClearTotals;
use crate::policy::compact::{CompactionInput, Preparation};
use crate::policy::fate::MessageFate;
use crate::policy::guard::GuardOutcome;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::preflight::{FixedPressure, PreflightResult};
use crate::policy::prune::projections::ProjectionSnapshot;
use crate::policy::prune::{Gate, PruneOutcome};
use crate::policy::reason::Reason;
use crate::policy::repair::RepairRules;
use crate::policy::settings::PolicySettings;
use crate::store::intern::ValueTable;

/// One trimming rule of the gateway or the provider.
pub trait TrimmingPolicy: Sync {
    /// Returns the word used by `--policy`, in JSON and on screen.
    fn word(&self) -> &'static str;

    /// Returns the rules of the policy as the rulebook numbers them.
    fn rule(&self) -> &'static str;

    fn phase(&self) -> Phase;

    /// Whether a version has this policy.
    fn is_supported_by(&self, rules: &Rules) -> bool;

    /// Whether the policy decides from message features (see [`super::features`]) and not from sizes alone in a
    /// version.
    fn needs_features(&self, rules: &Rules) -> bool;

    /// Whether few versions have the policy, so that a screen shows it for those only.
    fn is_rare(&self) -> bool {
        false
    }

    /// Returns the settings that a commit records with the policy's effect.
    fn settings_json(&self, _settings: &PolicySettings, _windows: Windows) -> Object {
        Object::default()
    }

    /// Changes the list and reports the fate of every message in it.
    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError>;
}

/// Context windows in tokens; NaN when unknown.
#[derive(Debug, Clone, Copy)]
pub struct Windows {
    pub session: f64,
    /// The model's own, which the guard uses (pruning 6.30).
    pub model: f64,
}

/// The input of a policy besides the message list.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInput<'a> {
    pub settings: &'a PolicySettings,
    pub windows: Windows,
    /// The result of the pruner's gate.
    pub gate: Gate,
    /// Table of the tool names.
    pub words: &'a ValueTable,
    /// The messages have features.
    pub has_features: bool,
    /// The branch as a compaction reads it; `None` if it was not loaded.
    pub branch: Option<CompactionInput<'a>>,
    /// The pruned and cut results that the gateway remembers; `None` if they were not loaded.
    pub remembered: Option<&'a ProjectionSnapshot>,
    /// The model receives only the thinking of its last answer (releases R13, R18).
    pub drops_thinking: bool,
    /// The model is called through the Responses API (compaction 6.8).
    pub is_responses_api: bool,
    /// System prompt and tools, as the check before the prompt counts them.
    pub fixed_pressure: FixedPressure,
    /// Estimated tokens of all messages of the list.
    pub list_tokens: u64,
    /// The last message answers the call that the policies are applied to.
    pub ends_with_answer: bool,
}

impl PolicyInput<'_> {
    /// Returns the repair of the version for the model.
    pub fn repair_rules(&self) -> RepairRules {
        RepairRules { rules: self.settings.ruleset.rules(), is_responses_api: self.is_responses_api }
    }
}

impl PolicyInput<'_> {
    pub fn rules(&self) -> &'static Rules {
        self.settings.ruleset.rules()
    }
}

/// The result of a policy.
#[derive(Debug)]
pub struct PolicyOutcome {
    /// The fate of each input message.
    pub fates: Vec<MessageFate>,
    /// The policy replaced content.
    pub changed: bool,
    /// Positions of the replaced messages, if the policy did nothing else; `None` if any message may differ.
    pub replaced: Option<Vec<usize>>,
    pub details: Option<PolicyDetails>,
}

/// Numbers behind the decision of a policy, for those that show some.
#[derive(Debug)]
pub enum PolicyDetails {
    Compaction(Preparation),
    Pruning(PruneOutcome),
    Guard(GuardOutcome),
    Check(PreflightResult),
    Clearing(ClearTotals),
}

impl PolicyOutcome {
    /// Creates the outcome of a policy that changed the messages with a changed fate.
    pub fn new(fates: Vec<MessageFate>) -> Self {
        let changed = fates.iter().any(|fate| fate.fate.is_change());
        Self { fates, changed, replaced: None, details: None }
    }

    /// Creates the outcome of a policy that left every message of the list.
    pub fn unchanged(list: &MessageList<'_>) -> Self {
        Self::new(list.sizes().map(|size| MessageFate::kept(&size, Reason::Untouched)).collect())
    }

    #[must_use]
    pub fn with_details(self, details: Option<PolicyDetails>) -> Self {
        Self { details, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyError {
    /// The runtime throws because of a message's shape.
    Throws,
    /// The policy needs data that was not loaded.
    NeedsTexts,
}

impl From<JsException> for PolicyError {
    fn from(_: JsException) -> Self {
        Self::Throws
    }
}
