//! A replay under the settings in force equals the record: tokens within the error of the fit that is shown, cost to
//! the cent.

use clawscope::policy::PolicySet;
use clawscope::session::replay_inputs::ReplayInputs;
use proptest::prelude::*;

use super::made::{Made, words};
use super::on_store::Read;

/// A session whose provider counts this many chars as a token.
fn session(
    turns: &[(usize, Vec<usize>, usize)],
    chars_per_token: f64,
    fixed: f64,
    cached: bool,
    priced: bool,
) -> Made {
    let mut made = Made::new();
    (made.chars_per_token, made.fixed, made.cached, made.priced) = (chars_per_token, fixed, cached, priced);
    for (number, (requested, results, answer)) in turns.iter().enumerate() {
        made.user(&words(40 + requested + number % 7));
        for chars in results {
            made.step("exec", &[*chars]);
        }
        made.answer(*answer);
        made.wait(1.0);
    }
    made
}

fn turns() -> impl Strategy<Value = Vec<(usize, Vec<usize>, usize)>> {
    prop::collection::vec(
        (1_usize..2_000, prop::collection::vec(200_usize..9_000, 1..4), 40_usize..2_000),
        4..12,
    )
}

fn replayed(read: &Read) -> (ReplayInputs, clawscope::replay::Replay) {
    let inputs = ReplayInputs::read(read, PolicySet::NONE).expect("reads");
    let replay = inputs.replay(read, &inputs.recorded_settings.clone());
    (inputs, replay)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn tokens_of_each_call_are_within_the_error_that_is_shown(
        turns in turns(), chars_per_token in 2.2_f64..5.0, fixed in 2_000.0_f64..40_000.0,
    ) {
        let read = session(&turns, chars_per_token, fixed, false, false).read(200_000);
        let (inputs, replay) = replayed(&read);
        let shown = inputs.fit_error.expect("calls enough for a fit");
        let errors: Vec<f64> = replay
            .calls
            .iter()
            .zip(replay.recorded.iter())
            .filter_map(|(call, sent)| Some((sent.tokens / call.measured_tokens()? - 1.0).abs()))
            .collect();
        prop_assert_eq!(errors.len(), replay.calls.len());
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        prop_assert!(mean <= shown + 0.002, "{mean} shown as {shown}");
        prop_assert!(errors.iter().all(|error| *error <= 0.05 + shown), "{errors:?}");
        prop_assert_eq!(&replay.recorded.iter().map(|it| it.expected).collect::<Vec<_>>(),
            &replay.calls.iter().filter_map(clawscope::replay::ModelCall::measured_tokens).collect::<Vec<_>>());
    }

    #[test]
    fn cost_is_that_of_the_record_to_the_cent(
        turns in turns(), cached in any::<bool>(), priced in any::<bool>(),
    ) {
        let made = session(&turns, 4.0, 9_000.0, cached, priced);
        let read = made.read(200_000);
        let (_, replay) = replayed(&read);
        let [recorded, simulated] = replay.totals();
        for total in [recorded, simulated] {
            let cost = total.cost.expect("Opus has a price");
            prop_assert!((cost - made.paid()).abs() < 0.005, "{cost} for {}", made.paid());
            prop_assert_eq!((total.overflows, total.compactions, total.measured_calls), (0, 0, replay.calls.len()));
        }
        // The explanation uses the same numbers.
        let message = read.said();
        if let Some(whole) = message.recorded {
            prop_assert!((whole.cost.expect("a price") - made.paid()).abs() < 0.005);
        }
    }
}
