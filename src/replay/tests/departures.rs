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
