//! The steps that the gateway itself takes on every call of a session: they shaped the prompt of the last count, and shape
//! the next one, also after a plan.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::sync::Arc;

use crate::context::Context;
use crate::context::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::policy::prune::Gate;
use crate::policy::prune::projections::ProjectionSnapshot;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::LoadedSession;
use crate::session::context_details::read_stored_pruning;
use crate::session::sent_forms::{SentForms, StepSettings};
use crate::store::body::BodyError;
use crate::units::Millis;

/// Steps of a run or call that shorten the messages of a prompt without a trace in the transcript.
const STEPS: [Policy; 3] = [Policy::History, Policy::Prune, Policy::Guard];

impl LoadedSession {
    pub(super) fn step_settings(&self) -> StepSettings<'_> {
        StepSettings {
            rules: self.ruleset.id.rules(),
            model_window: self.window.model_tokens,
            guard: self.configured_settings.guard,
            prune: Some(&self.configured_settings.prune)
                .filter(|_| self.pruning_configured && self.last_cache_touch_ms.is_some()),
            window: self.window.tokens,
            history_limit: self.configured_settings.history_limit,
        }
    }

    /// Returns the forms in which the gateway sends the messages, or `None` if it sends them whole. Keeps the context
    /// details that this needs.
    pub(super) fn find_sent_forms(&mut self) -> Option<SentForms> {
        let own = self.step_settings();
        let has_marks = LazyCell::new(|| own.has_marks(&self.index, &self.context));
        let may_act = own.steps_with(&self.index, &self.context, || *has_marks);
        let policies = self.gateway_policies();
        let steps = STEPS.into_iter().filter(|step| may_act.has(*step) && policies.has(*step));
        let mut steps = steps.fold(PolicySet::NONE, |steps, step| steps.with(step, true));
        if steps.is_empty() {
            return None;
        }
        let counted = self.prompt_counts().last_count().filter(|count| !count.is_planned)?;
        let sent = self.context.messages.partition_point(|message| message.entry < counted.entry);
        if steps.has(Policy::Prune) && !*has_marks && !self.may_open_gate(sent) {
            steps = steps.without(PolicySet::of(&[Policy::Prune]));
        }
        if self.details.is_none() && steps.uses_features(self.ruleset.id.rules()) {
            self.details = self.clone().load_details().ok()?.details;
        }
        let settings = PolicySettings { enabled: steps, ..self.configured_settings.clone() };
        let gate = self.gate_of_call(self.pruning_configured, &settings.prune, sent, None);
        let at_count = self.plan_of_first(sent, &settings, gate).ok()?;
        let next = self.plan(&settings, gate).ok()?;
        if at_count.is_empty() && next.is_empty() {
            return None;
        }
        Some(SentForms { at_count: at_count.tokens_after, next: next.tokens_after, steps })
    }

    /// Returns the plan for the call that sent the first `count` messages of the context. It knew no later pruning.
    pub(super) fn plan_of_first(
        &self,
        count: usize,
        settings: &PolicySettings,
        gate: Gate,
    ) -> Result<Plan, PlanError> {
        let messages = self.context.messages[..count].to_vec().into();
        let bodies = self.context.odd_bodies.iter().filter(|(at, _)| **at < count);
        let odd_bodies = bodies.map(|(at, body)| (*at, Arc::clone(body))).collect();
        let context =
            Context { messages, odd_bodies, ends_with_answer: false, ..Context::clone(&self.context) };
        let remembered = self.details.as_ref().and_then(|_| self.stored_pruning_before(count).ok());
        self.plan_context(&context, settings, (gate, remembered.as_ref()))
    }

    /// Reads the stored pruning that was in force when the message at a position was written.
    fn stored_pruning_before(&self, at: usize) -> Result<ProjectionSnapshot, BodyError> {
        let path = &self.context.path;
        let written = self.context.messages.get(at).map(|message| message.entry);
        let end = written.map_or(path.len(), |entry| path.partition_point(|ix| *ix < entry));
        read_stored_pruning(&self.source, &self.index, &path[..end], self.ruleset.id.rules())
    }

    /// Returns the plan followed by the steps that the gateway itself takes on every call, as the last count shows.
    pub fn with_own_steps<'a>(&self, plan: &'a Plan) -> Cow<'a, Plan> {
        let own = self.next_prompt.own_steps.without(plan.settings.enabled);
        if own.is_empty() {
            return Cow::Borrowed(plan);
        }
        let enabled = own.iter().fold(plan.settings.enabled, |all, step| all.with(step, true));
        let settings = PolicySettings { enabled, ..plan.settings.clone() };
        let gate = if own.has(Policy::Prune) { Gate::Open { idle_ms: Millis(f64::NAN) } } else { plan.gate };
        self.plan(&settings, gate).map_or(Cow::Borrowed(plan), Cow::Owned)
    }

    /// Returns the plan of the steps that the gateway takes on every call, as the last count shows; `None` if they change
    /// nothing.
    pub fn own_steps_plan(&self) -> Option<Plan> {
        let settings = PolicySettings { enabled: PolicySet::NONE, ..self.configured_settings.clone() };
        let whole = self.plan(&settings, Gate::Off).ok()?;
        let sent = self.with_own_steps(&whole).into_owned();
        (!sent.is_empty()).then_some(sent)
    }

    /// Returns the content of the window in the first call after a plan is carried out: the plan, and the steps that the
    /// gateway takes on every call.
    pub fn next_budget_after(&self, plan: &Plan) -> Budget {
        self.next_prompt.budget_after(&self.context, &self.with_own_steps(plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::session::testing::{call, loaded_session, message, result, transcript, user};
    use crate::session::{CountSource, TokenCount};
    use crate::units::{Moment, Tokens};

    fn answer(prompt: u64, output: u64) -> String {
        let total = prompt + output;
        message(&format!(
            r#"{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","content":[{{"type":"text","text":"ok"}}],"stopReason":"stop","usage":{{"input":{prompt},"output":{output},"cacheRead":0,"cacheWrite":0,"totalTokens":{total}}}}}"#
        ))
    }

    /// A session with a result of 10,000 tokens, of which the guard of a window of 8,000 lets 2,000 through.
    fn guarded(prompt: u64) -> LoadedSession {
        let entries = [
            user("go"),
            answer(1_000, 10),
            user("read it"),
            call("c", "exec", "{}"),
            result("c", "exec", &"x".repeat(40_000), ""),
            answer(prompt, 50),
        ];
        let mut session = loaded_session(&transcript(&entries), 8_000.0);
        session.recount_prompt();
        session
    }

    fn plan(session: &LoadedSession, policies: &[Policy]) -> Plan {
        let settings =
            PolicySettings { enabled: PolicySet::of(policies), ..session.configured_settings.clone() };
        let read = session.clone().load_details().expect("texts");
        read.plan(&settings, Gate::Off).expect("a plan")
    }

    #[test]
    fn a_count_measures_the_results_that_the_guard_let_through() {
        let session = guarded(3_030);
        let prompt = &session.next_prompt;
        assert_eq!(prompt.total, TokenCount { tokens: 3_080, source: CountSource::Measured });
        assert_eq!(prompt.own_steps, PolicySet::of(&[Policy::Guard]));
        assert!((1_900..2_100).contains(&prompt.tokens_of(4)), "{prompt:?}");
        let same = plan(&session, &[Policy::Guard]);
        assert!(same.total_before() > 10_000 && same.total_after() < 2_100);
        assert_eq!(session.prompt_tokens_after(&same), 3_080, "what the guard removed was never counted");
        let nothing = plan(&session, &[]);
        assert_eq!(session.prompt_tokens_after(&nothing), 3_080, "the guard runs on every call");
    }

    #[test]
    fn pruning_after_a_count_is_subtracted_from_it() {
        let marker = r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{"prunedToolResults":[{"key":"tool:c","mode":"soft"}]}}"#;
        let total = |behind: &[&str]| {
            let entries = [
                user("go"),
                call("c", "exec", "{}"),
                result("c", "exec", &"x".repeat(8_000), ""),
                answer(2_030, 10),
            ];
            let behind = behind.iter().map(|entry| (*entry).to_owned());
            let entries: Vec<String> = entries.into_iter().chain([user("on")]).chain(behind).collect();
            let mut session = loaded_session(&transcript(&entries), 200_000.0);
            session.ruleset.id = Ruleset::V2026_9_2;
            session.configured_settings = PolicySettings::built_in(Ruleset::V2026_9_2, Tokens(200_000.0));
            (session.pruning_configured, session.last_cache_touch_ms) = (true, Some(Moment(1.0)));
            session.recount_prompt();
            session.next_prompt.total.tokens
        };
        assert!((2_040..2_060).contains(&total(&[])), "{}", total(&[]));
        assert!((780..900).contains(&total(&[marker])), "{}", total(&[marker]));
    }

    #[test]
    fn a_count_of_whole_messages_says_that_no_guard_ran() {
        let session = guarded(11_030);
        let prompt = &session.next_prompt;
        assert_eq!((prompt.total.tokens, prompt.own_steps), (11_080, PolicySet::NONE));
        assert!(prompt.tokens_of(4) > 9_500, "{prompt:?}");
    }

    #[test]
    fn a_plan_saves_money_for_as_many_tokens_as_it_frees() {
        let price = crate::gateway::models::Price::flat([5.0, 25.0, 0.5, 6.25]);
        let session = LoadedSession { price: Some(price), ..guarded(16_030) };
        let plan = plan(&session, &[Policy::Guard]);
        let freed = session.next_prompt.total.tokens - session.prompt_tokens_after(&plan);
        assert!(freed > plan.total_before() - plan.total_after(), "the provider counts more than chars/4");
        let cost = session.cache_cost(&plan, Moment(f64::MAX)).expect("a price");
        assert!((cost.next_call + freed as f64 / 1e6 * 6.25).abs() < 1e-9, "{cost:?} for {freed}");
    }

    #[test]
    fn counts_within_the_guards_limits_are_whole() {
        let mut entries = vec![user("go")];
        for at in 0..4 {
            let id = format!("c{at}");
            entries.extend([call(&id, "exec", "{}"), result(&id, "exec", &"x".repeat(40_000), "")]);
            entries.push(answer(3_000 - 200 * at, 10));
        }
        let mut session = loaded_session(&transcript(&entries), 8_000.0);
        session.recount_prompt();
        assert!(session.unreliable_counts.is_empty(), "they fall because the guard clears older results");
        assert_eq!(session.next_prompt.total.tokens, 2_410);
    }
}
