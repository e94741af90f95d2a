use super::*;
use crate::gateway::ruleset::{Aggregate, Ruleset};
use crate::js;
use crate::policy::truncate::max_result_chars_under;
use crate::units::{Chars, Tokens};
use proptest::prelude::*;

fn result(texts: &[&str]) -> Value {
    let block = |text: &&str| format!(r#"{{"type":"text","text":{}}}"#, js::stringify_str(&(*text).into()));
    let blocks = texts.iter().map(block).collect::<Vec<_>>().join(",");
    js::parse(&format!(
        r#"{{"role":"toolResult","content":[{blocks},{{"type":"image"}}],"details":{{"a":1}}}}"#
    ))
    .unwrap()
}

fn texts(message: &Value) -> Vec<String> {
    blocks(message).iter().filter_map(block_text).map(JsString::to_string_lossy).collect()
}

fn cut(text: &str, max: f64) -> String {
    truncated_text(&text.into(), Chars(max), Chars::ZERO, WeightedCutOptions::NORMAL)
        .expect("it is too long")
        .to_string_lossy()
}

#[test]
fn the_limit_is_three_tenths_of_the_window_up_to_a_cap_by_its_size() {
    for (tokens, chars, together) in [
        (10_000.0, 12_000.0, 48_000.0),
        (99_999.0, 16_000.0, 199_998.0),
        (100_000.0, 32_000.0, 200_000.0),
        (199_999.0, 32_000.0, 399_998.0),
        (200_000.0, 64_000.0, 400_000.0),
        (1e6, 64_000.0, 2e6),
        (f64::NAN, 16_000.0, 64_000.0),
        (0.0, 0.0, 0.0),
    ] {
        let limit = max_result_chars_under(Ruleset::V2026_9_6.rules(), Tokens(tokens));
        let all = Aggregate::Weighted.budget(Tokens(tokens), limit, true);
        assert_eq!((limit, all), (Chars(chars), Chars(together)), "{tokens}");
    }
}

#[test]
fn a_cut_text_keeps_its_head_and_counts_the_removed_chars() {
    let text = "x".repeat(1000);
    let new = cut(&text, 200.0);
    assert!(
        new.starts_with("xxxx")
            && new.ends_with("more characters truncated; rerun with narrower args if needed]")
    );
    let kept = new.find('[').unwrap();
    assert!(new.contains(&format!("[... {} more", 1000 - kept)), "{new}");
    assert_eq!(
        truncated_text(&text.as_str().into(), Chars(1000.0), Chars::ZERO, WeightedCutOptions::NORMAL),
        None
    );
}

#[test]
fn a_head_ends_with_a_line_beyond_eight_tenths() {
    let line = format!("{}\n{}", "x".repeat(110), "y".repeat(900));
    assert!(cut(&line, 200.0).starts_with(&format!("{}[...", "x".repeat(110))));
    let early = format!("{}\n{}", "x".repeat(50), "y".repeat(900));
    assert!(cut(&early, 200.0).contains("\nyyy"));
}

#[test]
fn an_end_with_an_error_is_kept() {
    let text = format!("{}\nerror: no such file", "x".repeat(5000));
    let new = cut(&text, 1000.0);
    assert!(
        new.contains("middle content omitted — showing head and tail")
            && new.contains("\nerror: no such file[...")
    );
    let words = format!("{} terrors and undone", "x".repeat(5000));
    assert!(!cut(&words, 1000.0).contains("middle content"));
    let object = format!("{}}}\n", "x".repeat(5000));
    assert!(cut(&object, 1000.0).contains("middle content"));
}

#[test]
fn fewer_heavy_characters_fit() {
    let count = |text: &str| cut(text, 400.0).chars().take_while(|char| *char != '[').count();
    assert_eq!(count(&"x".repeat(4000)), 4 * count(&"你".repeat(4000)));
}

#[test]
fn small_blocks_are_kept_whole_if_they_fit_and_large_ones_share_the_rest() {
    let message = result(&[&"a".repeat(300), &"b".repeat(6000), &"c".repeat(3000)]);
    let new = truncated_result(&message, Chars(5000.0), Chars(400.0), WeightedCutOptions::NORMAL).unwrap();
    let lengths: Vec<usize> = texts(&new).iter().map(String::len).collect();
    assert_eq!(lengths[0], 300);
    assert!(lengths[1] > 2 * lengths[2] - 100 && lengths.iter().sum::<usize>() <= 5000, "{lengths:?}");
    let shared = truncated_result(&message, Chars(400.0), Chars(400.0), WeightedCutOptions::NORMAL).unwrap();
    assert!(texts(&shared)[0].len() < 300);
    assert_eq!(truncated_result(&message, Chars(9300.0), Chars::ZERO, WeightedCutOptions::NORMAL), None);
}

proptest! {
    #[test]
    fn truncated_text_fits(text in "[a-z\\n你😀㐀}]{0,600}", max in 0.0..700.0f64, keep in 0.0..300.0f64, guard: bool) {
        let manner = if guard { WeightedCutOptions::GUARD } else { WeightedCutOptions::NORMAL };
        let unit = manner.unit;
        let text = JsString::from(text.as_str());
        match truncated_text(&text, Chars(max), Chars(keep), manner) {
            None => prop_assert!(weighted_length(&text, unit) <= Chars(max)),
            Some(new) => {
                prop_assert!(weighted_length(&new, unit) <= Chars(max));
                prop_assert_eq!(String::from_utf16(new.units()).is_ok(), true);
            }
        }
    }
}
