use proptest::prelude::*;

use super::*;

/// Builds a session that grows by these chars before each call, on a provider with these tokens per char and 9,000
/// tokens before the messages.
fn session(growths: &[[u64; 3]], factors: [f64; 3]) -> Vec<Sample> {
    let mut chars = ScriptChars::default();
    let mut samples = Vec::new();
    for growth in growths {
        chars += ScriptChars::new(*growth);
        let prompt = (9_000.0 + tokens(&factors, chars, 0)).round();
        samples.push(Sample {
            chars,
            images: 0,
            prompt_tokens: prompt,
            extends_previous: !samples.is_empty(),
        });
    }
    samples
}

const MIXED: [[u64; 3]; 9] = [
    [400, 300, 0],
    [5_000, 200, 300],
    [300, 4_000, 20],
    [900, 900, 400],
    [12_000, 0, 10],
    [100, 6_000, 700],
    [2_000, 1_000, 0],
    [700, 2_500, 900],
    [3_000, 100, 50],
];

fn near(found: f64, wanted: f64, share: f64) -> bool {
    (found - wanted).abs() <= wanted * share
}

#[test]
fn each_script_gets_a_factor_and_the_rest_is_the_fixed_part() {
    let fitted = calibrate(&session(&MIXED, [0.26, 0.72, 0.5])).expect("enough calls");
    for (found, wanted) in fitted.factors.iter().zip([0.26, 0.72, 0.5]) {
        assert!(near(*found, wanted, 0.02), "{fitted:?}");
    }
    assert!(near(fitted.fixed_tokens, 9_000.0, 0.01), "{fitted:?}");
    assert_eq!((fitted.fitted_alone, fitted.growths), ([true; 3], 8));
    assert!(
        fitted.deviation.max < 0.01 && fitted.holdout_error.is_none_or(|ahead| ahead < 0.05),
        "{fitted:?}"
    );
}

#[test]
fn scripts_that_always_occur_together_share_one_factor() {
    let together: Vec<[u64; 3]> = (1..9).map(|at| [at * 700 % 3_100, at * 1_400 % 6_200, 0]).collect();
    let fitted = calibrate(&session(&together, [0.25, 0.7, 0.5])).expect("enough calls");
    assert_eq!(fitted.fitted_alone, [false; 3]);
    assert!(near(fitted.factors[0], (0.25 + 2.0 * 0.7) / 3.0, 0.01), "{fitted:?}");
    assert!(fitted.deviation.max < 0.01);
}

#[test]
fn a_rare_class_has_no_separate_factor() {
    let english: Vec<[u64; 3]> = (1..9).map(|at| [at * 1_700 % 5_000 + 90, at % 2, at % 3]).collect();
    let fitted = calibrate(&session(&english, [0.25, 0.7, 3.0])).expect("enough calls");
    assert_eq!(fitted.fitted_alone, [false; 3]);
    assert!(near(fitted.factors[1], 0.25, 0.02), "{fitted:?}");
}

#[test]
fn too_few_growths_are_an_error() {
    assert_eq!(calibrate(&session(&MIXED[..4], [0.25; 3])), Err(TooFewCalls { growths: 3 }));
    assert_eq!(calibrate(&[]), Err(TooFewCalls { growths: 0 }));
    let mut compacted = session(&MIXED, [0.25; 3]);
    for sample in &mut compacted {
        sample.extends_previous = false;
    }
    assert_eq!(calibrate(&compacted), Err(TooFewCalls { growths: 0 }));
}

#[test]
fn a_call_with_a_prompt_pruned_in_memory_does_not_change_the_fit() {
    let mut samples = session(&MIXED, [0.26, 0.72, 0.5]);
    samples[5].prompt_tokens -= 9_500.0;
    let fitted = calibrate(&samples).expect("enough calls");
    assert!(near(fitted.factors[0], 0.26, 0.05) && near(fitted.factors[1], 0.72, 0.05), "{fitted:?}");
    assert!(near(fitted.fixed_tokens, 9_000.0, 0.03), "{fitted:?}");
}

#[test]
fn the_factors_shrink_if_prompts_are_smaller_than_their_growth() {
    let mut samples = session(&MIXED, [0.26, 0.72, 0.5]);
    for sample in &mut samples {
        sample.prompt_tokens = 0.8 * tokens(&[0.26, 0.72, 0.5], sample.chars, 0);
    }
    let (factors, fixed) = fit_fixed_tokens([0.26, 0.72, 0.5], &samples);
    assert_eq!(fixed, 0.0);
    for (found, wanted) in factors.iter().zip([0.26, 0.72, 0.5]) {
        assert!(near(*found, wanted * 0.8, 1e-9), "{factors:?}");
    }
}

#[test]
fn growth_with_an_image_is_not_fitted() {
    let mut samples = session(&MIXED, [0.26, 0.72, 0.5]);
    for sample in &mut samples[4..] {
        sample.images = 1;
        sample.prompt_tokens += 1_600.0;
    }
    let fitted = calibrate(&samples).expect("enough calls");
    assert_eq!(fitted.growths, 7);
    assert!(near(fitted.factors[0], 0.26, 0.05), "{fitted:?}");
}

proptest! {
    #[test]
    fn factors_are_positive_and_finite_for_any_counts(
        calls in proptest::collection::vec((0_u64..5_000, 0_u64..5_000, 0_u64..500, 0.0_f64..1e6, any::<bool>()), 0..30)
    ) {
        let mut chars = ScriptChars::default();
        let samples: Vec<Sample> = calls
            .into_iter()
            .map(|(ascii, cjk, other, prompt, grown)| {
                chars += ScriptChars::new([ascii, cjk, other]);
                Sample { chars, images: ascii % 7 / 6, prompt_tokens: prompt, extends_previous: grown }
            })
            .collect();
        if let Ok(fitted) = calibrate(&samples) {
            prop_assert!(fitted.factors.iter().all(|factor| *factor > 0.0 && factor.is_finite()), "{fitted:?}");
            prop_assert!(fitted.fixed_tokens >= 0.0 && fitted.fixed_tokens.is_finite());
            prop_assert!(fitted.growths >= MIN_GROWTHS);
        }
    }

    #[test]
    fn a_session_of_one_script_is_fitted_with_its_rate(
        rate in 0.15_f64..1.5, sizes in proptest::collection::vec(50_u64..20_000, 6..40)
    ) {
        let growths: Vec<[u64; 3]> = sizes.iter().map(|size| [*size, 0, 0]).collect();
        let fitted = calibrate(&session(&growths, [rate; 3])).expect("enough calls");
        prop_assert!(near(fitted.factors[0], rate, 0.02), "{fitted:?}");
        prop_assert!(fitted.deviation.max < 0.02);
    }
}
