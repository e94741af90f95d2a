//! The results from prefix sums must equal those of the policies on the message list to the last bit: counts, tokens,
//! first changed message, and cache reads.

use std::sync::Arc;

use super::*;
use crate::gateway::ruleset::Ruleset;
use crate::policy::clear_tool_uses::{ClearSettings, ClearedBy, ModelScale, TokenCounting};
use crate::policy::settings::GuardSettings;
use crate::replay::base::ReplayBase;
use crate::replay::trace::Trace;
use crate::units::Tokens;

/// A pseudo-random generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }
}

/// Runs of a few calls each, some after an idle time, with results of any size; some answer no call.
fn script(seed: u64) -> Script {
    let mut dice = Dice(seed);
    let mut script = Script::default();
    for run in 0..12 {
        script = script.after([1, 1, 7][dice.below(3) as usize]).user();
        for _ in 0..dice.below(6) {
            let lost = dice.below(9) == 0;
            script = script.answer(900 + run, true);
            if lost {
                script = script.user();
            }
            script = script.result([3, 40, 400, 3_000][dice.below(4) as usize]);
        }
        script = script.answer(1_000 + run, false);
    }
    script
}

fn features_of(script: &Script, ruleset: Ruleset) -> Vec<Option<Arc<ContentFeatures>>> {
    let message = |line: &str| js::parse(line).expect("JSON").get("message").cloned();
    let features = |line: &str| Some(Arc::new(ContentFeatures::of_under(ruleset.rules(), &message(line)?)));
    script.text.lines().map(features).collect()
}

fn clearings() -> [ClearSettings; 8] {
    let plain = || ClearSettings { trigger: 600.0, keep: 2.0, ..ClearSettings::default() };
    let server = |clear_at_least: f64| ClearSettings {
        cleared_by: ClearedBy::Server { prompt_tokens: 300 },
        clear_at_least,
        ..plain()
    };
    [
        plain(),
        ClearSettings { clear_at_least: 500.0, ..plain() },
        ClearSettings { clear_at_least: 90.0, counting: TokenCounting::Model, keep: 0.0, ..plain() },
        ClearSettings {
            counting: TokenCounting::Model,
            model_scale: ModelScale { fixed_tokens: 40, factor: 1.7 },
            ..plain()
        },
        server(0.0),
        server(900.0),
        ClearSettings { keep: -4.0, ..plain() },
        ClearSettings { placeholder: "cleared, as it was long ago".into(), clear_at_least: 40.0, ..plain() },
    ]
}

/// Replays each call; `long` forces the slow path over the message list.
fn trace(
    session: &ReplaySession<'_>,
    settings: &Settings,
    record: &RecordedTrace,
    long: bool,
) -> Vec<CallReplay> {
    let base = ReplayBase::new(session);
    let mut trace = Trace::new(session, &base, settings, true);
    trace.has_context_edits = long;
    let mut place = 0;
    let mut made = Vec::new();
    for (call, recorded) in record.calls.iter().zip(record.trace.iter()) {
        (place..call.path_index).for_each(|place| trace.push_entry(place));
        place = call.path_index;
        made.push(trace.replay_call(call, Some(recorded)));
    }
    made
}

/// One version for each variant of pruning and guard.
const RULESETS: [Ruleset; 7] = [
    Ruleset::V2026_2_17,
    Ruleset::V2026_3_2,
    Ruleset::V2026_9_6,
    Ruleset::V2026_3_22,
    Ruleset::V2026_4_1,
    Ruleset::V2026_4_5,
    Ruleset::V2026_4_7,
];

#[test]
fn running_sums_agree_with_the_message_list_of_every_call() {
    let mut acted = [0; 3];
    let policies = [
        &[Policy::Clear][..],
        &[Policy::Guard, Policy::Clear],
        &[Policy::Prune, Policy::Clear],
        &[Policy::Repair, Policy::Images, Policy::Prune, Policy::Guard, Policy::Clear],
        &[Policy::Repair, Policy::History, Policy::Prune, Policy::Guard],
    ];
    for seed in 0..7 {
        let script = script(seed);
        let ruleset = RULESETS[seed as usize % RULESETS.len()];
        let all_features = features_of(&script, ruleset);
        let weights: Vec<Tokens> =
            (0..all_features.len()).map(|at| Tokens(7.3 + (at % 13) as f64 * 91.7)).collect();
        script.with_session(Tokens(20_000.0), &[], |session| {
            let fit = Calibrated { fixed: Tokens(123.4), weights: &weights };
            let calibrated = Some(fit).filter(|_| seed % 2 == 0);
            let session = ReplaySession { features: Some(&all_features), calibrated, ..*session };
            let record = recorded_trace(&session, &settings(&[]), &|| true).expect("wanted");
            for (policies, clear) in
                policies.iter().flat_map(|policies| clearings().map(|clear| (*policies, clear)))
            {
                let mut settings = settings(policies);
                settings.policies.ruleset = ruleset;
                settings.policies.history_limit = 7.0;
                settings.policies.guard = GuardSettings { budget_share: 0.3, single_share: 0.05 };
                settings.policies.clear = clear;
                let [short, long] = [false, true].map(|long| trace(&session, &settings, &record, long));
                for (at, (short, long)) in short.iter().zip(&long).enumerate() {
                    assert_eq!(short, long, "#{at} of {seed} under {:?}", settings.policies);
                    let done = [short.pruned, short.guarded, short.cleared];
                    acted
                        .iter_mut()
                        .zip(done)
                        .for_each(|(acted, done)| *acted += u32::from(done.has_changes()));
                }
            }
        });
    }
    assert!(acted.iter().all(|count| *count > 20), "{acted:?}");
}
