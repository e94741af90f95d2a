//! Verified facts about the guard, each checked on features and on messages.

use super::step::GuardLimits;
use super::text::cut_text;
use super::*;
use crate::gateway::ruleset::{Rules, Ruleset};
use crate::js::{self, JsString, Value};
use crate::policy::guard_2026_9::{counted_chars, fitted_result};
use crate::policy::reason::Reason;
use crate::policy::settings::GuardSettings;
use crate::policy::testing::{ListFixture, calls, result};
use crate::units::{Chars, Tokens};

fn reference() -> &'static Rules {
    Ruleset::V2026_3_2.rules()
}
const NOTICE: &str = "[truncated: output exceeded context limit]";
/// In tokens; its limits are 1024 chars for one result and 3072 for all messages.
const SMALL: f64 = 1024.0;

fn cut(text: &str, max_chars: f64) -> String {
    cut_text(&text.into(), Chars(max_chars)).to_string_lossy()
}

fn chars(message: &Value) -> Chars {
    GuardSize::of(message).chars.value().expect("it can be counted")
}

/// Returns the messages after the guard with the reasons, and asserts that its numbers are those of the messages.
fn guarded<T: AsRef<str>>(messages: &[T], window: Tokens) -> (Vec<Value>, Vec<Reason>) {
    let settings = GuardSettings::default();
    let messages = ListFixture::of(messages);
    let mut list = messages.list();
    let (fates, numbers) =
        guard_list(&mut list, reference(), window, &settings).expect("they can be counted");
    let made = messages.check(&list);
    let numbers = numbers.expect("the reference has a guard");
    assert_eq!(numbers.after, made.iter().map(chars).sum::<Chars>());
    (made, fates.iter().map(|fate| fate.reason).collect())
}

fn reasons<T: AsRef<str>>(messages: &[T], window: Tokens) -> Vec<Reason> {
    guarded(messages, window).1
}

#[test]
fn limits_are_three_quarters_and_half_of_the_window_and_1024_at_least() {
    let limits = |window| {
        let limits = GuardLimits::new(window, &GuardSettings::default());
        (limits.budget.get(), limits.single.get())
    };
    assert_eq!(limits(Tokens(200_000.0)), (600_000.0, 200_000.0));
    assert_eq!(limits(Tokens(f64::NAN)), (600_000.0, 200_000.0));
    assert_eq!(limits(Tokens::ZERO), (1024.0, 1024.0));
    assert_eq!(limits(Tokens(1000.9)), (3000.0, 1024.0));
    let shares = GuardSettings { budget_share: 0.5, single_share: 0.1 };
    assert_eq!(
        GuardLimits::new(Tokens(10_000.0), &shares),
        GuardLimits { budget: Chars(20_000.0), single: Chars(2000.0), stop: None }
    );
}

#[test]
fn a_cut_leaves_room_for_the_notice() {
    let text = "x".repeat(100);
    assert_eq!(cut(&text, 100.0), text);
    assert_eq!(cut(&text, 0.0), NOTICE);
    assert_eq!(cut(&text, 43.0), NOTICE);
    assert_eq!(cut(&text, 44.0), format!("x\n{NOTICE}"));
    assert_eq!(cut("", 100.0), NOTICE);
}

#[test]
fn a_result_is_cut_at_a_line_end_beyond_seven_tenths() {
    let kept = |newline: usize| {
        let text = format!("{}\n{}", "x".repeat(newline), "x".repeat(100));
        cut(&text, 53.0).find("\n[").expect("it has the notice")
    };
    assert_eq!([7, 8, 9, 10].map(kept), [10, 8, 9, 10]);
    for text in ["a\nb".repeat(40), "x".repeat(100), format!("{}\n{}", "x".repeat(48), "y".repeat(60))] {
        let text = JsString::from(text.as_str());
        for max in [40.0, 44.0, 60.0, 90.0, 1000.0] {
            let reported = cut_metrics(&crate::policy::features::TextMetrics::of(&text), Chars(max));
            assert_eq!(
                reported,
                crate::policy::features::TextMetrics::of(&cut_text(&text, Chars(max))),
                "{max}"
            );
        }
    }
}

#[test]
fn a_result_counts_double_with_its_details_and_other_roles_count_256() {
    let chars = |json: &str| chars(&js::parse(json).expect("JSON"));
    assert_eq!(chars(&result("c", "ab")), Chars(2.0 * (2.0 + 7.0)));
    assert_eq!(chars(r#"{"role":"toolResult","content":"abc","details":"de"}"#), Chars(10.0));
    assert_eq!(
        chars(r#"{"role":"toolResult","content":[{"type":"image"},"ab",{"a":1}]}"#),
        Chars(2.0 * 8009.0)
    );
    assert_eq!(
        chars(r#"{"role":"user","content":[{"type":"text","text":"ab"},{"type":"image"}]}"#),
        Chars(8002.0)
    );
    assert_eq!(chars(r#"{"role":"assistant","content":"ab"}"#), Chars(0.0));
    assert_eq!(chars(&calls(&["c"])), Chars(16.0));
    let thought =
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"abc","x":1},{"a":1},"ab"]}"#;
    assert_eq!(chars(thought), Chars(3.0 + 7.0));
    let others = [r#"{"role":"custom","content":"a"}"#, "5", "null"].map(chars);
    assert_eq!(others, [256.0, 0.0, 0.0].map(Chars));
}

#[test]
fn a_text_over_half_of_the_limit_is_kept_whole_but_loses_its_details() {
    let (made, reasons) = guarded(&[result("c", &"x".repeat(600))], Tokens(SMALL));
    assert_eq!(reasons, [Reason::GuardCut]);
    assert!(made[0].get("details").is_none());
    assert_eq!(
        made[0].get("content"),
        ListFixture::of(&[result("c", &"x".repeat(600))]).bodies[0].get("content")
    );
}

#[test]
fn a_longer_text_is_cut_to_the_limit_and_string_content_is_still_a_string() {
    let long = "x".repeat(2000);
    let (made, _) =
        guarded(&[format!(r#"{{"role":"toolResult","content":"{long}","isError":true}}"#)], Tokens(SMALL));
    let text = made[0].get("content").and_then(Value::as_str).expect("a string").to_string_lossy();
    assert_eq!((text.len(), text.ends_with(NOTICE)), (1024, true));
    let image = r#"{"role":"toolResult","content":[{"type":"image"}]}"#;
    let (made, _) = guarded(&[image], Tokens(SMALL));
    assert_eq!(
        js::stringify(&made[0]),
        format!(r#"{{"role":"toolResult","content":[{{"type":"text","text":"{NOTICE}"}}]}}"#)
    );
}

#[test]
fn the_oldest_results_are_replaced_until_the_budget_is_met() {
    let texts = [result("a", &"x".repeat(400)), result("b", &"x".repeat(400)), result("c", &"x".repeat(400))];
    let user = format!(r#"{{"role":"user","content":"{}"}}"#, "y".repeat(1200));
    let messages = [&texts[0], &texts[1], &user, &texts[2]];
    assert_eq!(
        reasons(&messages, Tokens(SMALL)),
        [Reason::GuardCompacted, Reason::WithinGuard, Reason::Untouched, Reason::WithinGuard]
    );
}

#[test]
fn results_of_25_to_48_chars_are_replaced_although_they_grow() {
    let user = format!(r#"{{"role":"user","content":"{}"}}"#, "y".repeat(4000));
    let plain = |chars: usize| format!(r#"{{"role":"toolResult","content":"{}"}}"#, "x".repeat(chars));
    let (made, reasons) = guarded(&[plain(24), plain(25), plain(48), user], Tokens(SMALL));
    assert_eq!(reasons[..3], [Reason::TooSmallToCompact, Reason::GuardCompacted, Reason::GuardCompacted]);
    assert!(made[1].get("content").is_some_and(|content| content.str_is(COMPACTED)));
}

#[test]
fn a_message_with_role_tool_or_type_tool_result_is_a_result() {
    let long = "x".repeat(1100);
    let tool = format!(r#"{{"role":"tool","content":"{long}"}}"#);
    let typed =
        format!(r#"{{"type":"toolResult","role":"user","content":[{{"type":"text","text":"{long}"}}]}}"#);
    assert_eq!(reasons(&[tool, typed], Tokens(SMALL)), [Reason::GuardCut, Reason::GuardCut]);
}

#[test]
fn a_numeric_text_passes_every_limit_and_an_absent_one_fails() {
    let odd =
        |text: &str| format!(r#"{{"role":"toolResult","content":[{{"type":"text"{text}}}],"details":"d"}}"#);
    let messages = ListFixture::of(&[odd(r#","text":7"#), result("c", "a text")]);
    let mut list = messages.list();
    let (fates, _) = guard_list(&mut list, reference(), Tokens(SMALL), &GuardSettings::default())
        .expect("NaN is a number");
    assert_eq!([fates[0].reason, fates[1].reason], [Reason::GuardCut, Reason::WithinGuard]);
    let made = r#"{"role":"toolResult","content":[{"type":"text","text":"7"}]}"#;
    assert_eq!(js::stringify(&messages.check(&list)[0]), made);
    let absent = ListFixture::of(&[odd("")]);
    assert!(guard_list(&mut absent.list(), reference(), Tokens(SMALL), &GuardSettings::default()).is_err());
}

/// Returns the reasons of the 2026.9 guard, and asserts that it fits exactly the results over its limit.
fn fitted<T: AsRef<str>>(messages: &[T], window: Tokens) -> Vec<Reason> {
    let rules = Ruleset::V2026_9_6.rules();
    let messages = ListFixture::under(Ruleset::V2026_9_6, messages);
    let mut list = messages.list();
    let (fates, numbers) =
        guard_list(&mut list, rules, window, &GuardSettings::default()).expect("never throws");
    let made = messages.check(&list);
    let limits = numbers.expect("this version has a guard").limits;
    let fitted = |message: &Value| {
        let is_over = counted_chars(message) > limits.single;
        is_over.then(|| fitted_result(message, limits.single)).flatten()
    };
    let expected = messages.bodies.iter().map(|message| fitted(message).unwrap_or_else(|| message.clone()));
    assert_eq!(made, expected.collect::<Vec<_>>());
    assert!(limits.budget == Chars::INFINITY);
    fates.iter().map(|fate| fate.reason).collect()
}

#[test]
fn the_newest_version_gives_a_result_half_the_window_at_double_weight_and_1024_at_least() {
    let single = |tokens| {
        let rules = Ruleset::V2026_9_6.rules();
        GuardLimits::under(rules, Tokens(tokens), &GuardSettings::default()).expect("a guard").single.get()
    };
    assert_eq!(
        [200_000.9, 2000.0, 100.0, 0.0, f64::NAN].map(single),
        [200_000.0, 2000.0, 1024.0, 1024.0, 1024.0]
    );
}

#[test]
fn the_newest_version_limits_each_result_and_keeps_images_that_fit() {
    let many = vec![result("c", &"x".repeat(500)); 20];
    let reasons = fitted(&many, Tokens(SMALL));
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| *reason == Reason::WithinGuard));
    let image = r#",{"type":"image","data":"x"}"#;
    let seen = format!(
        r#"{{"role":"toolResult","content":[{{"type":"text","text":"{}"}}{}]}}"#,
        "x".repeat(20_000),
        image.repeat(3)
    );
    assert_eq!(fitted(&[&seen], Tokens(40_000.0)), [Reason::GuardFitted]);
    assert_eq!(
        fitted(&[result("c", "short"), result("d", &"你".repeat(300))], Tokens(SMALL)),
        [Reason::WithinGuard, Reason::GuardFitted]
    );
    let string = format!(r#"{{"role":"toolResult","content":"{}"}}"#, "x".repeat(9000));
    assert_eq!(fitted(&[string], Tokens(f64::NAN)), [Reason::GuardFitted]);
}

#[test]
fn a_runtime_without_a_guard_has_that_reason() {
    let messages = ListFixture::of(&[result("c", &"x".repeat(5000)), calls(&["d"])]);
    let mut list = messages.list();
    let rules = Ruleset::Pi0_55.rules();
    let (fates, numbers) =
        guard_list(&mut list, rules, Tokens(SMALL), &GuardSettings::default()).expect("never throws");
    let reasons: Vec<Reason> = fates.iter().map(|fate| fate.reason).collect();
    assert_eq!((reasons, numbers), (vec![Reason::NoGuard, Reason::Untouched], None));
    assert_eq!(messages.check(&list), messages.bodies);
}
