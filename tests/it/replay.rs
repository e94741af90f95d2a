//! A replay in one pass equals making every call again from its own context.

use clawscope::context::tokens::chars4::estimate_or_zero;
use clawscope::context::{Context, build_context};
use clawscope::gateway::pruning::{PruneSettings, SoftTrim};
use clawscope::ids::EntryIx;
use clawscope::plan::{Plan, PlanInput};
use clawscope::policy::clear_tool_uses::ClearSettings;
use clawscope::policy::message_list::MessageOrigin;
use clawscope::policy::preflight::FixedPressure;
use clawscope::policy::prune::Gate;
use clawscope::policy::settings::GuardSettings;
use clawscope::policy::{Policy, PolicySet, PolicySettings};
use clawscope::replay::{Assumptions, ModelCall, Replay, Settings};
use clawscope::session::replay_inputs::ReplayInputs;
use clawscope::session::{ContextDetails, LoadedSession};
use clawscope::store::entry::{EntryKind, Role};
use clawscope::transcript::Leaf;
use proptest::prelude::*;

use crate::support::generate::{Options, transcript};
use crate::support::inspected::inspected;
use crate::support::session::Session;
use clawscope::units::{Chars, Millis, Tokens};

/// Settings that change short sessions, without the policies.
fn settings(steps: &[Policy], window: f64) -> Settings {
    let steps = PolicySettings {
        enabled: PolicySet::of(steps),
        history_limit: 2.0,
        guard: GuardSettings { budget_share: 0.6, single_share: 0.2 },
        clear: ClearSettings { trigger: 120.0, keep: 1.0, ..ClearSettings::default() },
        ..PolicySettings::pruning_only(PruneSettings {
            ttl_ms: Millis(60_000.0),
            keep_last_assistants: 1.0,
            soft_trim_ratio: 0.1,
            hard_clear_ratio: 0.4,
            min_prunable_tool_chars: Chars(10.0),
            soft_trim: SoftTrim {
                max_chars: Chars(60.0),
                head_chars: Chars(10.0),
                tail_chars: Chars(10.0),
                ..PruneSettings::default().soft_trim
            },
            ..PruneSettings::default()
        })
    };
    Settings {
        policies: steps,
        prune_on: true,
        window: Tokens(window),
        guard_window: Tokens(window),
        assumptions: Assumptions::default(),
    }
}

fn opened(seed: u64, options: &Options) -> (Session, LoadedSession, ReplayInputs) {
    let session = Session::new(&transcript(seed, options));
    let loaded = inspected(&session.path);
    let all = Policy::ALL.into_iter().fold(PolicySet::NONE, |policies, policy| policies.with(policy, true));
    let inputs = ReplayInputs::read(&loaded, all).expect("reads").without_calibration();
    (session, loaded, inputs)
}

/// Returns the context of the transcript before an entry of the path.
fn context_before(session: &LoadedSession, place: usize) -> Context {
    let Some(before) = place.checked_sub(1) else { return Context::default() };
    let leaf = Leaf::Id(session.index.display_id(session.context.path[before]));
    build_context(&session.index, &session.tree, &leaf).expect("builds")
}

fn planned(session: &LoadedSession, context: &Context, settings: &Settings, gate: Gate) -> Plan {
    let details =
        ContextDetails::read(&session.source, &session.index, context, settings.policies.ruleset.rules())
            .expect("reads");
    Plan::new(&PlanInput {
        index: &session.index,
        context,
        branch: Some(details.compaction_input()),
        remembered: None,
        features: Some(&details.features),
        settings: &settings.policies,
        window: settings.window,
        guard_window: settings.guard_window,
        gate,
        drops_thinking: false,
        is_responses_api: false,
        fixed_pressure: FixedPressure::default(),
    })
    .expect("is planned")
}

fn total(session: &LoadedSession, messages: u64) -> Tokens {
    Tokens((session.fixed_tokens() + messages) as f64)
}

fn estimate(context: &Context) -> u64 {
    context.messages.iter().map(|message| estimate_or_zero(&message.size)).sum()
}

/// Returns the start of a call's run: the first user message since the previous call.
fn run_start(session: &LoadedSession, calls: &[ModelCall], at: usize) -> usize {
    let path = &session.context.path;
    let opens = (0..=at).rev().find(|at| calls[*at].opens_run).expect("the first call opens a run");
    let from = opens.checked_sub(1).map_or(0, |before| calls[before].path_index);
    let speaks = |ix: EntryIx| {
        let entry = session.index.entry(ix);
        entry.becomes_message() && !matches!(entry.role(), Some(Role::Assistant | Role::ToolResult))
    };
    (from..calls[opens].path_index).find(|place| speaks(path[*place])).unwrap_or(calls[opens].path_index)
}

fn replayed(session: &LoadedSession, inputs: &ReplayInputs, settings: &Settings) -> Replay {
    let recorded = self::settings(&[], settings.window.get());
    inputs.clone().with_recorded_settings(recorded).replay(session, settings)
}

/// Sessions with a user message before the first call, as in every real one.
fn options() -> Options {
    Options { steps: 24, unknown: false, ..Options::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn without_policies_every_call_is_sent_its_recorded_context(seed in any::<u64>()) {
        let (_session, session, inputs) = opened(seed, &options());
        let replay = replayed(&session, &inputs, &settings(&[], 300.0));
        for (at, call) in replay.calls.iter().enumerate() {
            let context = context_before(&session, call.path_index);
            prop_assert_eq!(replay.recorded[at].tokens, total(&session, estimate(&context)));
            prop_assert_eq!(replay.recorded[at].messages, context.messages.len());
            prop_assert_eq!(&replay.simulated[at].tokens, &replay.recorded[at].tokens);
            prop_assert_eq!(replay.simulated[at].cost, replay.recorded[at].cost);
        }
    }

    #[test]
    fn policies_per_call_match_a_plan_of_its_context(seed in any::<u64>(), window in 100_u32..2_000) {
        let (_session, session, inputs) = opened(seed, &options());
        for policies in [&[Policy::Prune][..], &[Policy::Guard], &[Policy::Clear], &[Policy::Prune, Policy::Guard, Policy::Clear]] {
            let settings = settings(policies, f64::from(window));
            let replay = replayed(&session, &inputs, &settings);
            for (at, call) in replay.calls.iter().enumerate() {
                let simulated = &replay.simulated[at];
                let plan = planned(&session, &context_before(&session, call.path_index), &settings, simulated.gate);
                prop_assert_eq!(simulated.tokens, total(&session, plan.total_after()), "{:?} #{}", policies, at);
            }
        }
    }

    #[test]
    fn policies_per_run_match_a_plan_of_its_history(seed in any::<u64>()) {
        let (_session, session, inputs) = opened(seed, &options());
        for policies in [&[Policy::History][..], &[Policy::Repair], &[Policy::Images], &[Policy::Repair, Policy::History, Policy::Images]] {
            let settings = settings(policies, 1_000.0);
            let replay = replayed(&session, &inputs, &settings);
            for (at, call) in replay.calls.iter().enumerate() {
                let start = run_start(&session, &replay.calls, at);
                let since = &session.context.path[start..call.path_index];
                let kind = |ix: &EntryIx| session.index.entry(*ix).kind;
                if since.iter().any(|ix| kind(ix) == EntryKind::Compaction) {
                    // The list is rebuilt from the transcript (compaction 2.15).
                    let context = context_before(&session, call.path_index);
                    prop_assert_eq!(replay.simulated[at].tokens, total(&session, estimate(&context)));
                    continue;
                }
                let history = context_before(&session, start);
                // A plan takes messages behind the last answer for the running turn, which its limit leaves alone.
                let repaired = self::settings(&[Policy::Repair], 1_000.0);
                let repaired = planned(&session, &history, &repaired, Gate::Off);
                let is_answer = |at: u32| history.messages[at as usize].size.role == Role::Assistant;
                let has_ended = repaired
                    .messages
                    .last()
                    .is_none_or(|last| matches!(last.origin, MessageOrigin::Context(at) if is_answer(at)));
                if policies.contains(&Policy::History) && !has_ended {
                    continue;
                }
                let plan = planned(&session, &history, &settings, Gate::Off);
                let sizes = since.iter().map(|ix| session.index.entry(*ix));
                let sizes = sizes.filter(|entry| entry.becomes_message()).filter_map(|entry| entry.message);
                let new: u64 = sizes.map(|size| estimate_or_zero(&size)).sum();
                let expected = total(&session, plan.total_after() + new);
                prop_assert_eq!(replay.simulated[at].tokens, expected, "{:?} #{} of {}", policies, at, seed);
            }
        }
    }

    #[test]
    fn a_simulated_compaction_keeps_every_number_finite_and_every_call(seed in any::<u64>(), window in 200_u32..40_000) {
        let (_session, session, inputs) = opened(seed, &options());
        let mut settings = settings(&Policy::ALL, f64::from(window));
        settings.policies.compaction.keep_recent_tokens = Tokens(40.0);
        // Of a window of 200 000, so that counts of up to 90 000 pass the threshold now and then.
        settings.policies.compaction.reserve_tokens = Tokens(150_000.0);
        settings.policies.summary_tokens = 20;
        let replay = replayed(&session, &inputs, &settings);
        prop_assert_eq!(replay.simulated.len(), replay.calls.len());
        let mut cost = 0.0;
        for call in replay.simulated.iter() {
            prop_assert!(call.tokens.is_finite() && call.tokens >= Tokens::ZERO && call.expected.is_finite());
            let parts = call.split.read + call.split.write + call.split.input;
            prop_assert!(call.failed || call.is_measured || (parts - call.expected).abs() < Tokens(1e-6));
            prop_assert!(call.total_cost >= cost);
            cost = call.total_cost;
        }
    }
}

/// The properties above test something only if policies act: here each of them does, several times.
#[test]
fn the_generated_sessions_give_every_step_something_to_do() {
    let mut acted = [0_u32; 5];
    for seed in 0..6 {
        let (_session, session, inputs) = opened(seed, &options());
        let policies = [Policy::History, Policy::Prune, Policy::Guard, Policy::Clear];
        let replay = replayed(&session, &inputs, &settings(&policies, 300.0));
        for call in replay.simulated.iter() {
            let done =
                [call.history_trim, call.pruned, call.guarded, call.cleared].map(|done| done.has_changes());
            acted.iter_mut().zip(done).for_each(|(count, done)| *count += u32::from(done));
        }
        let mut compacting = settings(&[Policy::Compact], 4_000.0);
        compacting.policies.compaction.keep_recent_tokens = Tokens(40.0);
        compacting.policies.compaction.reserve_tokens = Tokens(150_000.0);
        let replay = replayed(&session, &inputs, &compacting);
        acted[4] += replay.simulated.iter().filter(|call| call.compacted.is_some()).count() as u32;
    }
    assert!(acted.iter().all(|count| *count >= 3), "{acted:?}");
}
