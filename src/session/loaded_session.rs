//! One opened session: its transcript, tree, context, window and settings, and the counts that follow from them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::commit::InterruptedCommit;
use crate::context::Context;
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::chars4::estimate_chars;
use crate::gateway::catalog::Price;
use crate::gateway::config::GatewayConfig;
use crate::gateway::eligibility::{ModelRoute, is_eligible_under};
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::{Aggregate, Guard, LegacyImages, RulesetChoice};
use crate::gateway::thinking::drops_thinking;
use crate::gateway::window::WindowInfo;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::js::Value;
use crate::plan::cache_cost::CacheCost;
use crate::plan::{Plan, PlanError, PlanInput};
use crate::policy::clear_tool_uses::ClearedBy;
use crate::policy::prune::{Gate, gate_under};
use crate::policy::settings::PolicySetting;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::context_details::ContextDetails;
use crate::session::context_limits::ContextLimits;
use crate::session::item::SessionItem;
use crate::session::measured_prompt::{MeasuredPrompt, Unmeasured};
use crate::session::next_prompt::NextPrompt;
use crate::session::overflow::{Overflow, OverflowScope};
use crate::session::partial_usage::find_partial_usage;
use crate::session::prompt_counts::PromptCounts;
use crate::session::successor::Successor;
use crate::store::body::BodyError;
use crate::store::index::Index;
use crate::store::prompt_report::SystemPromptReport;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};

/// Everything known of one session.
#[derive(Debug, Clone)]
pub struct LoadedSession {
    /// The row of the session list.
    pub item: SessionItem,
    /// Its open transcript.
    pub source: Source,
    /// Sizes of its entries.
    pub index: Arc<Index>,
    /// Its tree.
    pub tree: Arc<Tree>,
    /// The leaf looked at.
    pub leaf: Leaf,
    /// What the model would be sent from there; empty where the runtime throws.
    pub context: Arc<Context>,
    /// Building the context throws in the runtime.
    pub context_throws: bool,
    /// Provider and model id of the next call, as far as is known.
    pub provider: String,
    /// Model id.
    pub model: String,
    /// The rules it is read by.
    pub ruleset: RulesetChoice,
    /// How its model is reached, as far as the configuration tells.
    pub route: ModelRoute,
    /// Window of the next call.
    pub window: WindowInfo,
    /// List price of the model: from config, else the catalogue; USD per million tokens.
    pub price: Option<Price>,
    /// Chars before the messages, where a run left a report.
    pub fixed_chars: Option<FixedChars>,
    /// That report, part by part.
    pub prompt_report: Option<Arc<SystemPromptReport>>,
    /// The last prompt a provider counted on this path, or why there is none.
    pub measured: Result<MeasuredPrompt, Unmeasured>,
    /// When the model last answered on this path, ms: by the message's own time, which a copy keeps.
    pub last_call_ms: Option<f64>,
    /// The last cache touch, ms (pruning 4.3).
    pub last_cache_touch_ms: Option<f64>,
    /// The session that its key names now, where no row names this one.
    pub successor: Option<Successor>,
    /// What keeps it within its window.
    pub limits: ContextLimits,
    /// The gateway's configuration.
    pub config: Arc<GatewayConfig>,
    /// Each setting of each step with its configured value and where that comes from.
    pub setting_rows: Vec<PolicySetting>,
    /// The configured settings; of pruning the defaults where it is off.
    pub configured_settings: PolicySettings,
    /// What steps that look at more than sizes ask for; read when one of them is switched on.
    pub details: Option<Arc<ContextDetails>>,
    /// Whether the configuration switches pruning on.
    pub pruning_configured: bool,
    /// Its calls that did not fit, on every branch, in the order of the file.
    pub overflows: Arc<[Overflow]>,
    /// Answers of the path whose counts cannot be the whole prompt.
    pub partial_counts: Arc<HashSet<EntryIx>>,
    /// The prompt of the next call by the best count there is.
    pub next_prompt: Arc<NextPrompt>,
    /// A commit to it that was broken off and not settled yet.
    pub unfinished_commit: Option<InterruptedCommit>,
    /// Rises with every reading.
    pub epoch: Epoch,
    /// The reading this one only added entries to: what was known of those still holds.
    pub extends_epoch: Option<Epoch>,
}

/// What is inspected: a session, as it was read, down to one of its leaves. What was told of it holds for no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionViewKey {
    key: SessionKey,
    epoch: Epoch,
    leaf: Option<EntryIx>,
}

impl LoadedSession {
    /// Where its overflows are looked for.
    pub fn overflow_scope(&self) -> OverflowScope<'_> {
        OverflowScope {
            source: &self.source,
            index: &self.index,
            config: &self.config,
            agent: &self.item.agent,
            ruleset: self.ruleset.id,
        }
    }

    /// The release that last wrote the gateway's configuration, for people; the rules' own where nothing says.
    pub fn gateway_release(&self) -> String {
        let written = self.config.value(&["meta", "lastTouchedVersion"]).and_then(Value::as_str);
        match written.filter(|_| self.limits.is_gateway_run) {
            Some(version) => format!("OpenClaw {}", version.to_string_lossy()),
            None => self.ruleset.id.display_name().to_owned(),
        }
    }

    /// The overflow that an entry records, be it the first record of it or another.
    pub fn overflow_at(&self, entry: EntryIx) -> Option<&Overflow> {
        self.overflows.iter().find(|overflow| overflow.entry == entry || overflow.duplicates.contains(&entry))
    }

    /// What is inspected.
    pub fn view_key(&self) -> SessionViewKey {
        SessionViewKey { key: self.item.key.clone(), epoch: self.epoch, leaf: self.context.leaf }
    }

    /// The gate under some settings at a moment (ms).
    pub fn gate(&self, on: bool, settings: &PruneSettings, now_ms: f64) -> Gate {
        let rules = self.ruleset.id.rules();
        let eligible = is_eligible_under(rules, &self.provider, &self.model, &self.route);
        gate_under(rules, on.then_some(settings), eligible, self.last_cache_touch_ms, now_ms)
    }

    /// Whether the model is sent the thinking of its last answer alone (releases R18).
    pub(in crate::session) fn drops_thinking(&self) -> bool {
        drops_thinking(self.ruleset.id.rules(), &self.provider, &self.model, &self.route)
    }

    /// Tokens of the system prompt with its workspace files; tools are not among them.
    pub(in crate::session) fn system_prompt_tokens(&self) -> f64 {
        self.fixed_chars.map_or(0.0, |fixed| estimate_chars(fixed.system) as f64)
    }

    /// What a run and a call of the version go through by themselves (pruning 1.1–1.4, 8). Where the server clears,
    /// nothing new is pruned (pruning 7.10).
    pub fn gateway_policies(&self) -> PolicySet {
        let rules = self.ruleset.id.rules();
        let server = self.configured_settings.clear.cleared_by != ClearedBy::Client;
        PolicySet::of(&[Policy::Repair, Policy::History])
            .with(Policy::Images, rules.legacy_images != LegacyImages::Stay)
            .with(Policy::Prune, rules.pruner.is_active() && !server)
            .with(Policy::Clear, server)
            .with(Policy::Guard, rules.guard != Guard::None)
            .with(
                Policy::Reduce,
                Policy::Reduce.is_supported_by(rules) && !matches!(rules.aggregate, Aggregate::Newest { .. }),
            )
            .with(Policy::Check, Policy::Check.is_supported_by(rules))
    }

    /// The plan of some steps, under these settings and a gate of the pruner.
    pub fn plan(&self, settings: &PolicySettings, gate: Gate) -> Result<Plan, PlanError> {
        Plan::new(&PlanInput {
            index: &self.index,
            context: &self.context,
            branch: self.details.as_ref().map(|closer| closer.compaction_input()),
            features: self.details.as_ref().map(|closer| closer.features.as_slice()),
            remembered: self.details.as_ref().map(|closer| &closer.stored_pruning),
            settings,
            window: self.window.tokens,
            guard_window: self.window.model_tokens,
            gate,
            drops_thinking: self.drops_thinking(),
            system_tokens: self.system_prompt_tokens(),
        })
    }

    /// The same with what closer steps ask for, read from the transcript where it is not there yet.
    pub fn load_details(mut self) -> Result<Self, BodyError> {
        if self.details.is_none() {
            let rules = self.ruleset.id.rules();
            self.details =
                Some(Arc::new(ContextDetails::read(&self.source, &self.index, &self.context, rules)?));
        }
        Ok(self)
    }

    /// What a plan costs and saves at the provider's cache, where the model has a price.
    pub fn cache_cost(&self, plan: &Plan, now_ms: f64) -> Option<CacheCost> {
        let idle_ms = self.last_call_ms.map(|at| now_ms - at);
        CacheCost::new(plan, self.price.as_ref()?, idle_ms)
    }

    /// Judges the counts of the path, and counts the next prompt by them. To be done again for another leaf.
    pub fn recount_prompt(&mut self) {
        let prunes = self.pruning_configured && self.last_cache_touch_ms.is_some();
        let doubted = find_partial_usage(&self.index, &self.context.path, prunes);
        self.partial_counts = Arc::new(doubted);
        self.next_prompt = Arc::new(NextPrompt::from_counts(&self.prompt_counts()));
    }

    /// What is counted of it.
    pub(super) fn prompt_counts(&self) -> PromptCounts<'_> {
        PromptCounts {
            index: &self.index,
            context: &self.context,
            overflows: &self.overflows,
            partial_counts: &self.partial_counts,
            fixed_chars: self.fixed_chars,
        }
    }

    /// Tokens before any message: system prompt, workspace files and tool schemas.
    pub fn fixed_tokens(&self) -> u64 {
        Budget::fixed_only(self.fixed_chars).total()
    }

    /// What fills the window as things stand.
    pub fn budget(&self) -> Budget {
        Budget::from_context(self.fixed_chars, &self.context)
    }

    /// Tokens of the next prompt that a plan frees.
    pub fn tokens_freed_by(&self, plan: &Plan) -> u64 {
        let after = self.next_prompt.budget_after(&self.context, plan);
        self.next_prompt.total.tokens.saturating_sub(after.total())
    }

    /// What would fill the window under a plan.
    pub fn budget_after(&self, plan: &Plan) -> Budget {
        let mut budget = Budget::new(self.fixed_chars, &self.context, |at| plan.tokens_after[at]);
        for (size, tokens) in plan.added_messages() {
            budget.add_message(&size, tokens);
        }
        budget
    }
}
