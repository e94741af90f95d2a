//! One opened session: transcript, tree, context, window and settings, with the counts derived from them.
//!
//! Reports, replays and screens read from this value only, so they all agree.

use std::collections::HashSet;
use std::sync::Arc;

use crate::commit::InterruptedCommit;
use crate::context::Context;
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::tokens::{ContextEstimate, estimate_for_runtime};
use crate::gateway::config::GatewayConfig;
use crate::gateway::eligibility::{ModelRoute, is_eligible_under};
use crate::gateway::models::Price;
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::ruleset::{Aggregate, Guard, LegacyImages, RulesetChoice};
use crate::gateway::thinking::drops_thinking;
use crate::gateway::window::WindowInfo;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::js::JsException;
use crate::plan::{CacheCost, CompactionSummary, Plan, PlanError, PlanInput};
use crate::policy::clear_tool_uses::ClearedBy;
use crate::policy::preflight::{FixedPressure, ToolChars};
use crate::policy::prune::projections::ProjectionSnapshot;
use crate::policy::prune::{Gate, is_touched_by};
use crate::policy::settings::PolicySetting;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::context_details::ContextDetails;
use crate::session::context_limits::ContextLimits;
use crate::session::item::SessionItem;
use crate::session::lineage::Lineage;
use crate::session::next_prompt::NextPrompt;
use crate::session::overflow::{
    CallError, CallFailures, LastCalls, Overflow, OverflowScope, implausible_counts,
};
use crate::session::prompt_counts::{MeasuredPrompt, PromptCounts, UnmeasuredReason};
use crate::session::successor::Successor;
use crate::session::unreliable_counts::find_unreliable_counts;
use crate::store::body::{self, BodyError};
use crate::store::index::Index;
use crate::store::prompt_report::SystemPromptReport;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
use crate::units::{Chars, Millis, Moment, Tokens};

#[derive(Debug, Clone)]
pub struct LoadedSession {
    /// The session's item in the list.
    pub item: SessionItem,
    pub source: Source,
    /// Sizes of the entries.
    pub index: Arc<Index>,
    pub tree: Arc<Tree>,
    /// The leaf in view.
    pub leaf: Leaf,
    /// The messages that the model would be sent; empty when the runtime throws.
    /// The options of a command line that select its store; empty for the default store.
    pub store_options: Arc<str>,
    pub context: Arc<Context>,
    /// Whether the runtime throws when it builds the context.
    pub context_throws: bool,
    /// Provider of the next call; empty if unknown.
    pub provider: String,
    /// Model id of the next call; empty if unknown.
    pub model: String,
    pub ruleset: RulesetChoice,
    /// The route to the model, if the configuration shows it.
    pub route: ModelRoute,
    pub window: WindowInfo,
    /// List price in USD per million tokens: from the configuration, else the list of the release.
    pub price: Option<Price>,
    /// Chars before the messages, when a run left a report.
    pub fixed_chars: Option<FixedChars>,
    /// The report behind `fixed_chars`, part by part.
    pub prompt_report: Option<Arc<SystemPromptReport>>,
    /// The last prompt that a provider counted on this path, or why there is none.
    pub measured: Result<MeasuredPrompt, UnmeasuredReason>,
    /// Time of the model's last answer on this path. It is the message's own time, which a copy keeps.
    pub last_call_ms: Option<Moment>,
    /// Time of the last cache touch (pruning 4.3).
    pub last_cache_touch_ms: Option<Moment>,
    /// The session that the key names now, when no session record names this one.
    pub successor: Option<Successor>,
    /// Whose history the transcript holds, and whether it is all there.
    pub lineage: Arc<Lineage>,
    pub limits: ContextLimits,
    pub config: Arc<GatewayConfig>,
    /// Each setting of each policy with its configured value and provenance.
    pub setting_rows: Vec<PolicySetting>,
    /// The configured settings; for pruning, the defaults when it is off.
    pub configured_settings: PolicySettings,
    /// Body-derived data for policies that sizes cannot decide; read when one of them is switched on.
    pub details: Option<Arc<ContextDetails>>,
    pub pruning_configured: bool,
    /// Calls that overflowed, on every branch, in file order.
    pub overflows: Arc<[Overflow]>,
    /// Calls that failed for another reason than their size, on every branch, in file order.
    pub errors: Arc<[CallError]>,
    /// Answers whose usage does not measure their prompt: impossible, partial, or of a prompt that the server cut.
    pub unreliable_counts: Arc<HashSet<EntryIx>>,
    /// The prompt of the next call, by the best available count.
    pub next_prompt: Arc<NextPrompt>,
    /// An interrupted commit that is not settled yet.
    pub unfinished_commit: Option<InterruptedCommit>,
    /// Increases with every reading.
    pub epoch: Epoch,
    /// The earlier reading to which this one only added entries: results for those entries still hold.
    pub extends_epoch: Option<Epoch>,
}

/// Identifies a session as read, at one leaf. A result computed for one key is not valid for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionViewKey {
    key: SessionKey,
    epoch: Epoch,
    leaf: Option<EntryIx>,
}

impl LoadedSession {
    pub fn overflow_scope(&self) -> OverflowScope<'_> {
        OverflowScope {
            source: &self.source,
            index: &self.index,
            config: &self.config,
            user: ModelUser { agent: &self.item.agent, session: &self.item.key.0 },
            ruleset: self.ruleset.id,
            refusals: &self.overflows,
        }
    }

    /// Estimates the context as the session's runtime does, anchored on the provider's last count.
    ///
    /// # Errors
    /// Fails where the runtime throws.
    pub fn runtime_estimate(&self) -> Result<ContextEstimate, JsException> {
        estimate_for_runtime(self.ruleset.id.rules(), &self.index, &self.context)
    }

    /// Returns the display name of the release that last wrote the gateway's configuration, else that of the ruleset.
    pub fn gateway_release(&self) -> String {
        match self.config.written_by.as_deref().filter(|_| self.limits.is_gateway_run) {
            Some(version) => format!("OpenClaw {version}"),
            None => self.ruleset.id.display_name().to_owned(),
        }
    }

    /// Judges the newest calls of the path.
    pub fn last_calls(&self) -> LastCalls {
        let failures =
            CallFailures { overflows: Arc::clone(&self.overflows), errors: Arc::clone(&self.errors) };
        failures.last_calls(&self.index, &self.context.path)
    }

    /// Returns the tokens of the next prompt if a call overflowed and the commit that came after it made the active
    /// branch fit the window, and what refusals prove of it; `None` once another call is made.
    pub fn fits_since_commit(&self) -> Option<u64> {
        let window = self.smallest_refused_window().unwrap_or(u64::MAX).min(self.window.model_tokens.whole());
        let tokens = self.next_prompt.total.tokens;
        (!self.overflows.is_empty() && self.next_prompt.is_planned && tokens < window).then_some(tokens)
    }

    /// Returns the overflow that an entry records, first record or duplicate.
    pub fn overflow_at(&self, entry: EntryIx) -> Option<&Overflow> {
        self.overflows.iter().find(|overflow| overflow.entry == entry || overflow.duplicates.contains(&entry))
    }

    pub fn view_key(&self) -> SessionViewKey {
        SessionViewKey { key: self.item.key.clone(), epoch: self.epoch, leaf: self.context.leaf }
    }

    /// Whether pruning can run for the model: by the rules, or because the gateway touched the cache for it.
    pub(in crate::session) fn is_prune_eligible(&self) -> bool {
        let rules = self.ruleset.id.rules();
        is_eligible_under(rules, &self.provider, &self.model, &self.route)
            || is_touched_by(&self.index, (&self.provider, &self.model), |ix| {
                body::read_entry(&self.source, &self.index, ix)
            })
    }

    /// Whether the model is sent the thinking of its last answer only (releases R18).
    pub(in crate::session) fn drops_thinking(&self) -> bool {
        drops_thinking(self.ruleset.id.rules(), &self.provider, &self.model, &self.route)
    }

    pub(in crate::session) fn is_responses_api(&self) -> bool {
        self.route.is_responses_api(&self.provider)
    }

    /// Estimates system prompt and tools as the check before the prompt does.
    pub(in crate::session) fn fixed_pressure(&self) -> FixedPressure {
        let chars = self.fixed_chars.unwrap_or_default();
        let tools = self.prompt_report.as_ref().map_or(&[][..], |report| &report.tools);
        let tools = tools.iter().map(|tool| ToolChars {
            name: Chars::from_len(tool.name.encode_utf16().count()),
            description: tool.summary_chars,
            parameters: tool.schema_chars,
        });
        FixedPressure::new(self.ruleset.id.rules(), chars.system, (chars.tools, tools))
    }

    /// Returns the policies that a run and a call of this release apply (pruning 1.1–1.4, 8). When the server clears
    /// tool uses, nothing new is pruned (pruning 7.10).
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

    /// Plans the enabled policies under these settings and this gate.
    pub fn plan(&self, settings: &PolicySettings, gate: Gate) -> Result<Plan, PlanError> {
        let remembered = self.details.as_ref().map(|details| &details.stored_pruning);
        self.plan_context(&self.context, settings, (gate, remembered))
    }

    /// Plans for `context`, whose messages are the first ones of the session's context, with the pruning that is stored.
    pub(in crate::session) fn plan_context(
        &self,
        context: &Context,
        settings: &PolicySettings,
        (gate, remembered): (Gate, Option<&ProjectionSnapshot>),
    ) -> Result<Plan, PlanError> {
        let count = context.messages.len();
        Plan::new(&PlanInput {
            index: &self.index,
            context,
            branch: self.details.as_ref().map(|details| details.compaction_input()),
            features: self.details.as_ref().and_then(|details| details.features.get(..count)),
            remembered,
            settings,
            window: self.window.tokens,
            guard_window: self.window.model_tokens,
            gate,
            drops_thinking: self.drops_thinking(),
            is_responses_api: self.is_responses_api(),
            fixed_pressure: self.fixed_pressure(),
        })
    }

    /// Reads the context details from the transcript, unless they are already there.
    pub fn load_details(mut self) -> Result<Self, BodyError> {
        if self.details.is_none() {
            let rules = self.ruleset.id.rules();
            self.details =
                Some(Arc::new(ContextDetails::read(&self.source, &self.index, &self.context, rules)?));
        }
        Ok(self)
    }

    /// Returns the plan's cost and savings at the provider's cache, from the same counts as the next prompt; `None` without
    /// a price, or if the plan changes no message.
    pub fn cache_cost(&self, plan: &Plan, now_ms: Moment) -> Option<CacheCost> {
        let first = plan.fates().iter().position(|message| message.fate.is_change())?;
        let prompt = self.next_prompt.total.tokens;
        let tail = (first..self.context.messages.len()).map(|at| self.next_prompt.tokens_of(at)).sum::<u64>();
        let tail_after = (tail + self.next_budget_after(plan).total()).saturating_sub(prompt);
        let price = self.price.as_ref()?.at(prompt as f64);
        Some(CacheCost::of_tail((tail, tail_after), &price, self.idle_ms(now_ms)))
    }

    /// Returns the cost of a change with these tokens behind its start, before and after, or `None` without a price.
    pub fn cache_cost_of_tail(&self, tokens: (u64, u64), now_ms: Moment) -> Option<CacheCost> {
        Some(CacheCost::of_tail(tokens, self.price.as_ref()?, self.idle_ms(now_ms)))
    }

    fn idle_ms(&self, now_ms: Moment) -> Option<Millis> {
        self.last_call_ms.map(|at| now_ms - at)
    }

    /// Finds unreliable counts on the path and recounts the next prompt. Call it again after a change of leaf.
    pub fn recount_prompt(&mut self) {
        let steps = self.step_settings();
        let scope = self.overflow_scope();
        let implausible = implausible_counts(&scope);
        let doubted =
            find_unreliable_counts(&scope, &implausible, &self.overflows, &self.context.path, &steps);
        self.unreliable_counts = Arc::new(doubted);
        let forms = self.find_sent_forms();
        self.next_prompt = Arc::new(NextPrompt::from_counts(&self.prompt_counts(), forms.as_ref()));
    }

    pub(super) fn prompt_counts(&self) -> PromptCounts<'_> {
        PromptCounts {
            source: &self.source,
            index: &self.index,
            context: &self.context,
            overflows: &self.overflows,
            unreliable_counts: &self.unreliable_counts,
            fixed_chars: self.fixed_chars,
            guard: self.step_settings().guard_limits(),
        }
    }

    /// Returns the tokens before any message: system prompt, workspace files and tool schemas.
    pub fn fixed_tokens(&self) -> u64 {
        Budget::fixed_only(self.fixed_chars).total()
    }

    /// Returns the current content of the window, by estimate.
    pub fn budget(&self) -> Budget {
        Budget::from_context(self.fixed_chars, &self.context)
    }

    /// Returns the tokens of the next prompt under a plan.
    pub fn prompt_tokens_after(&self, plan: &Plan) -> u64 {
        self.next_budget_after(plan).total()
    }

    /// Returns the tokens of the next prompt after a commit; the length of a real summary replaces the assumed one.
    pub fn prompt_tokens_after_commit(&self, plan: &Plan, summary: Option<&CompactionSummary>) -> u64 {
        plan.tokens_with_summary(summary, self.prompt_tokens_after(plan))
    }

    /// Returns the tokens of a prompt around messages that were estimated by chars/4, by the count of the next prompt.
    pub fn prompt_around(&self, message_tokens: Tokens) -> Tokens {
        let estimates = self.context.messages.iter().map(|message| estimate_or_zero(&message.size));
        self.next_prompt.prompt_around(message_tokens, estimates.sum())
    }

    /// Returns the tokens of the next prompt that a plan frees.
    pub fn tokens_freed_by(&self, plan: &Plan) -> u64 {
        self.next_prompt.total.tokens.saturating_sub(self.prompt_tokens_after(plan))
    }

    /// Returns the content of the window under a plan, by estimate.
    pub fn budget_after(&self, plan: &Plan) -> Budget {
        let mut budget = Budget::new(self.fixed_chars, &self.context, |at| plan.tokens_after[at]);
        for (size, tokens) in plan.added_messages() {
            budget.add_message(&size, tokens);
        }
        budget
    }
}
