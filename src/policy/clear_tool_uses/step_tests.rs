//! Clearing from digests, on messages as a transcript holds them.

use super::*;
use crate::js::{Object, Value};
use crate::policy::testing::{ListFixture, calls, result};

fn eager() -> ClearSettings {
    ClearSettings { trigger: 1.0, keep: 0.0, ..ClearSettings::default() }
}

/// Returns the messages after clearing and the reason for each fate, and asserts that the numbers are theirs.
fn cleared<T: AsRef<str>>(messages: &[T], settings: &ClearSettings) -> (Vec<Value>, Vec<Reason>) {
    let messages = ListFixture::of(messages);
    let mut list = messages.list();
    let (fates, numbers) = clear_list(&mut list, settings).expect("these messages are sent");
    let made = messages.check(&list);
    if settings.counting == TokenCounting::Approximate {
        assert_eq!((numbers.tokens_before, numbers.tokens_after), (tokens(&messages.bodies), tokens(&made)));
    }
    (made, fates.iter().map(|fate| fate.reason).collect())
}

fn tokens(messages: &[Value]) -> u64 {
    let tokens =
        |message| MessageDigest::from_message(message).expect("it is sent").expect("it is sent").tokens();
    messages.iter().map(|message| tokens(message) as u64).sum()
}

fn three() -> [String; 7] {
    let text = "x".repeat(40);
    let user = r#"{"role":"user","content":"x"}"#.to_owned();
    let result = |id| result(id, &text);
    [user, calls(&["1"]), result("1"), calls(&["2"]), result("2"), calls(&["3"]), result("3")]
}

fn reasons(settings: &ClearSettings) -> [Reason; 3] {
    let reasons = cleared(&three(), settings).1;
    [reasons[2], reasons[4], reasons[6]]
}

#[test]
fn old_uses_are_cleared_and_the_last_are_kept() {
    use Reason::{BelowTrigger, ClearedAtLeast, ClearedUse, ExcludedTool, KeptUse};
    assert_eq!(reasons(&ClearSettings { keep: 1.0, ..eager() }), [ClearedUse, ClearedUse, KeptUse]);
    assert_eq!(reasons(&ClearSettings::default()), [BelowTrigger; 3]);
    let enough = ClearSettings { clear_at_least: 5.0, ..eager() };
    assert_eq!(reasons(&enough), [ClearedUse, ClearedAtLeast, ClearedAtLeast]);
    assert_eq!(reasons(&ClearSettings { exclude_tools: vec!["exec".into()], ..eager() }), [ExcludedTool; 3]);
}

#[test]
fn a_negative_keep_clears_that_many_and_a_fraction_throws() {
    use Reason::{ClearedAtLeast, ClearedUse};
    assert_eq!(
        reasons(&ClearSettings { keep: -1.0, ..eager() }),
        [ClearedUse, Reason::KeptUse, Reason::KeptUse]
    );
    let messages = ListFixture::of(&three());
    let half = clear_list(&mut messages.list(), &ClearSettings { keep: 1.5, ..eager() });
    assert_eq!(half.map(|_| ()), Err(JsException));
    // A result of 40 chars has 15 tokens with its name, the placeholder 7: the second reaches 16.
    let enough = ClearSettings { clear_at_least: 16.0, ..eager() };
    assert_eq!(reasons(&enough), [ClearedUse, ClearedUse, ClearedAtLeast]);
}

#[test]
fn clearing_starts_above_the_trigger() {
    let trigger = tokens(&ListFixture::of(&three()).bodies) as f64;
    let first = |trigger| reasons(&ClearSettings { trigger, ..eager() })[0];
    assert_eq!([first(trigger), first(trigger - 1.0)], [Reason::BelowTrigger, Reason::ClearedUse]);
}

#[test]
fn a_result_is_cleared_only_under_the_reply_that_called_it() {
    use Reason::{ClearedUse, UncalledResult, Untouched};
    let text = "x".repeat(40);
    let messages = [result("1", &text), calls(&["1"]), result("1", &text), calls(&["2"]), result("1", &text)];
    let expected = [UncalledResult, Untouched, ClearedUse, Untouched, UncalledResult];
    assert_eq!(cleared(&messages, &eager()).1, expected);
}

#[test]
fn a_cleared_result_is_one_text_block_without_details() {
    let (made, _) = cleared(&three(), &eager());
    let expected = r#"{"role":"toolResult","toolCallId":"1","toolName":"exec","content":[{"type":"text","text":"[cleared]"}]}"#;
    assert_eq!(crate::js::stringify(&made[2]), expected);
}

#[test]
fn arguments_are_cleared_in_the_first_equal_answer() {
    let settings = ClearSettings { clear_tool_inputs: true, ..eager() };
    let (made, reasons) = cleared(&three(), &settings);
    assert_eq!(reasons[1], Reason::InputsCleared);
    let block = &made[1].get("content").and_then(Value::as_array).expect("blocks")[0];
    assert_eq!(block.get("arguments"), Some(&Value::Object(Object::default())));
    let twice = [calls(&["1"]), calls(&["1"]), result("1", "a"), result("2", "b")];
    let (_, reasons) = cleared(&twice, &settings);
    assert_eq!(
        reasons,
        [Reason::InputsCleared, Reason::Untouched, Reason::ClearedUse, Reason::UncalledResult]
    );
}

#[test]
fn the_model_counts_chars_over_4() {
    // Three results of 40 chars, three calls with 20 chars of name and arguments: 10 + 5 tokens each; and 1 of the
    // user.
    let model = |trigger| ClearSettings { trigger, counting: TokenCounting::Model, ..eager() };
    assert_eq!(reasons(&model(45.0))[0], Reason::ClearedUse);
    assert_eq!(reasons(&model(46.0))[0], Reason::BelowTrigger);
    let messages = three();
    let messages = ListFixture::of(&messages);
    let (_, numbers) = clear_list(&mut messages.list(), &model(1.0)).expect("sent");
    let placeholder = "[cleared]".len().div_ceil(4) as u64;
    assert_eq!(numbers.tokens_before - numbers.tokens_after, 3 * (10 - placeholder));
}

#[test]
fn a_message_that_cannot_be_sent_throws_and_one_that_is_not_does_not_count() {
    let unsent = r#"{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true}"#;
    let messages = ListFixture::of(&[unsent, &result("1", "a")]);
    let before = clear_list(&mut messages.list(), &eager()).map(|(_, numbers)| numbers.tokens_before);
    let alone = ListFixture::of(&[result("1", "a")]);
    assert_eq!(before, clear_list(&mut alone.list(), &eager()).map(|(_, numbers)| numbers.tokens_before));
    let odd = ListFixture::of(&[r#"{"role":"user","content":[{"type":"text"}]}"#]);
    assert!(clear_list(&mut odd.list(), &eager()).is_err());
}

#[test]
fn of_replies_equal_only_in_python_the_first_is_edited() {
    let reply = |number: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"f","arguments":{{"n":{number}}}}}]}}"#
        )
    };
    let settings = ClearSettings { clear_tool_inputs: true, ..eager() };
    let (_, reasons) = cleared(&[reply("1"), reply("true"), result("c", "text")], &settings);
    assert_eq!(reasons, [Reason::InputsCleared, Reason::Untouched, Reason::ClearedUse]);
}
