//! A replay under other settings starts from what the recorded gateway did.

use super::*;

/// Compacts by the rules, but follows the record where it departs from them.
fn following() -> Settings {
    let mut settings = settings(&[Policy::Compact]);
    settings.assumptions.ideal_compaction = false;
    settings
}

fn compactions(script: &Script, settings: &Settings, refused: &[RefusedCall]) -> [(usize, usize); 2] {
    let replay = script.replay(settings, Tokens(4_000.0), refused);
    replay.totals().map(|totals| (totals.overflows, totals.compactions))
}

impl Script {
    fn compacted(self, kept: usize) -> Self {
        self.entry(&format!(
            r#""type":"compaction","summary":"what was said","firstKeptEntryId":"e{kept}","tokensBefore":3000"#
        ))
    }
}

#[test]
fn a_refusal_that_no_compaction_followed_stays_one_under_the_same_settings() {
    for refusals in 1..5 {
        let mut script = Script::default();
        for turn in 0..6 {
            script = script.user().answer(500 * turn, true).result(2_000).answer(500 * turn + 500, false);
        }
        let mut refused = Vec::new();
        for _ in 0..refusals {
            script = script.user().refused("prompt too long");
            refused.push(refused_at(script.entries as u32 - 1, Some(4_500.0), Some(4_000.0)));
        }
        let [recorded, same] = compactions(&script, &following(), &refused);
        assert_eq!((recorded, same), ((refusals, 0), (refusals, 0)));
        let mut earlier = following();
        earlier.policies.compaction.reserve_tokens = Tokens(2_500.0);
        let [_, earlier] = compactions(&script, &earlier, &refused);
        assert!(
            earlier.0 == 0 && earlier.1 > 0,
            "an earlier trigger compacts before the refusals: {earlier:?}"
        );
    }
}

#[test]
fn a_compaction_for_an_unknown_reason_stays() {
    for (turns, kept) in [(3, 4), (5, 8), (8, 2)] {
        let mut script = Script::default();
        for turn in 0..turns {
            script = script.user().answer(100 + turn, false);
        }
        let script = script.compacted(kept).user().answer(90, false);
        assert_eq!(compactions(&script, &following(), &[]), [(0, 1), (0, 1)], "{turns} turns");
        let ideal = settings(&[Policy::Compact]);
        assert_eq!(compactions(&script, &ideal, &[])[1], (0, 0), "no rule asks for it");
    }
}

#[test]
fn compactions_that_always_failed_fail_under_other_settings_too() {
    let grown = (1..=5).fold(Script::default(), |script, turn| script.user().answer(900 * turn, false));
    let under = |reserve| {
        let mut settings = following();
        settings.policies.compaction.reserve_tokens = Tokens(reserve);
        let in_force = super::settings(&[]);
        let in_force = Settings {
            policies: PolicySettings { compaction: following_at(1_000.0), ..in_force.policies },
            ..in_force
        };
        grown.with_session(Tokens(4_000.0), &[], |session| replay(session, &in_force, &settings)).totals()[1]
            .compactions
    };
    assert_eq!(under(2_500.0), 0, "none followed the trigger of 3,000, so none follows one of 1,500");
}

fn following_at(reserve: f64) -> crate::gateway::compaction::CompactionSettings {
    let mut compaction = following().policies.compaction;
    compaction.reserve_tokens = Tokens(reserve);
    compaction
}

#[test]
fn a_compaction_after_the_last_answer_counts() {
    let mut early = following();
    early.policies.compaction.reserve_tokens = Tokens(1_500.0);
    let script = |last: bool| {
        let script = Script::default().user().answer(900, false).user().answer(1_800, false);
        let script = script.user().answer(2_600, !last);
        if last { script } else { script.result(10) }
    };
    let compacted = |script: Script| {
        let replay = script.replay(&early, Tokens(4_000.0), &[]);
        (replay.totals()[1].compactions, replay.simulated.last().expect("a call").compacted_after.is_some())
    };
    assert_eq!(compacted(script(true)), (1, true), "2,610 tokens are above 2,500");
    assert_eq!(compacted(script(false)), (0, false), "the run goes on");
}

#[test]
fn an_answer_above_a_changed_window_is_an_overflow_if_it_ends_its_run() {
    let overflows = |calls: bool, window: f64| {
        let script = Script::default().user().answer(900, false).user().answer(2_600, calls);
        let script = if calls { script.result(10) } else { script };
        let mut changed = following();
        changed.assumptions.runtime_window = Some(Tokens(window));
        script.replay(&changed, Tokens(4_000.0), &[]).totals()[1].overflows
    };
    assert_eq!([overflows(false, 2_599.0), overflows(false, 2_600.0), overflows(true, 2_599.0)], [1, 0, 0]);
}

#[test]
fn a_compaction_after_a_refusal_may_keep_the_refused_answer_alone() {
    // The newest result is larger than what is kept, and the kept part cannot begin with it.
    let script = Script::default().user().answer(500, false).user().answer(900, true).result(8_000);
    let script = script.refused("prompt too long").compacted(5).answer(300, false);
    let refused = [refused_at(5, Some(4_500.0), Some(4_000.0))];
    let mut other = following();
    other.policies.compaction.keep_recent_tokens = Tokens(200.0);
    let replay = script.replay(&other, Tokens(4_000.0), &refused);
    let [_, totals] = replay.totals();
    assert_eq!((totals.overflows, totals.failed, totals.compactions), (1, 0, 1));
}
