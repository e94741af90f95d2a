//! The vectors of pruning 5.10 as tests. A word is the chars of a tool result, `u:CHARS` a user message, `a` an
//! assistant message.

use crate::context::{Context, build_context};
use crate::gateway::pruning::{PruneSettings, effective_settings, effective_settings_under};
use crate::gateway::ruleset::Ruleset;
use crate::ids::LineIds;
use crate::js;
use crate::policy::message_list::MessageList;
use crate::policy::prune::{PruneInput, PruneOutcome, prune};
use crate::policy::{Fate, Reason};
use crate::store::index::Index;
use crate::store::load::load_bytes;
use crate::transcript::{Leaf, Tree};
use crate::units::Tokens;

/// Builds one message: `u:CHARS`, `a`, or `CHARS[:TOOL][+image]` for a tool result.
fn message(word: &str) -> String {
    let text = |chars: &str| "x".repeat(chars.parse().expect("a number of chars"));
    if let Some(chars) = word.strip_prefix("u:") {
        return format!(r#"{{"role":"user","content":"{}"}}"#, text(chars));
    }
    if word == "a" {
        return r#"{"role":"assistant","content":[]}"#.to_owned();
    }
    let (word, image) = word.strip_suffix("+image").map_or((word, ""), |word| (word, r#",{"type":"image"}"#));
    let (chars, tool) = word.split_once(':').unwrap_or((word, "exec"));
    let block = format!(r#"{{"type":"text","text":"{}"}}"#, text(chars));
    format!(r#"{{"role":"toolResult","toolName":"{tool}","content":[{block}{image}]}}"#)
}

fn session(list: &str) -> (Index, Context) {
    let mut lines = vec![r#"{"type":"session","version":3,"id":"s"}"#.to_owned()];
    for (at, word) in list.split_whitespace().enumerate() {
        let parent = at.checked_sub(1).map_or(String::new(), |at| format!("e{at}"));
        let message = message(word);
        lines.push(format!(r#"{{"type":"message","id":"e{at}","parentId":"{parent}","message":{message}}}"#));
    }
    let index = load_bytes("t.jsonl", (lines.join("\n") + "\n").as_bytes(), &mut LineIds);
    let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
    (index, context)
}

fn settings(json: &str) -> PruneSettings {
    let raw = js::parse(&format!(r#"{{"mode":"cache-ttl"{json}}}"#)).expect("JSON");
    effective_settings(Some(&raw)).expect("on")
}

fn run(list: &str, json: &str, window: Tokens) -> PruneOutcome {
    let (index, context) = session(list);
    let settings = settings(json);
    let list = MessageList::from_context(&context, None);
    let input =
        PruneInput { list: &list, words: &index.values, settings: &settings, window, needs_names: false };
    prune(&input).expect("does not throw")
}

/// Returns the chars of the tool results after pruning.
fn results(list: &str, json: &str, window: Tokens) -> Vec<u64> {
    let tools: Vec<bool> =
        list.split_whitespace().map(|word| !word.starts_with("u:") && word != "a").collect();
    let outcome = run(list, json, window);
    outcome
        .fates
        .iter()
        .zip(tools)
        .filter(|(_, tool)| *tool)
        .map(|(fate, _)| fate.after.whole_chars().whole())
        .collect()
}

fn many(results: &str, count: usize, tail: &str) -> String {
    format!("u:2 {} {tail}", vec![results; count].join(" "))
}

#[test]
fn results_outside_the_prunable_range_are_kept_and_the_minimum_stops_clearing() {
    assert_eq!(results("5000 u:2 a 5000 a 5000 a a", "", Tokens(1000.0)), [5000, 3086, 5000]);
}

#[test]
fn a_ratio_exactly_at_the_soft_threshold_trims_and_one_char_less_does_not() {
    let json = r#","softTrim":{"maxChars":10,"headChars":1,"tailChars":1}"#;
    assert_eq!(results("u:200 1000 a a a", json, Tokens(1000.0)), [82]);
    assert_eq!(results("u:199 1000 a a a", json, Tokens(1000.0)), [1000]);
}

#[test]
fn clearing_takes_the_oldest_first_and_stops_below_the_ratio() {
    let expected = [vec![33; 4], vec![3086; 16]].concat();
    assert_eq!(results(&many("6000", 20, "a a a"), "", Tokens(25_000.0)), expected);
    let off = r#","hardClear":{"enabled":false}"#;
    assert_eq!(results(&many("6000", 20, "a a a"), off, Tokens(25_000.0)), vec![3086; 20]);
}

#[test]
fn ten_small_results_lose_their_three_oldest() {
    let json = r#","minPrunableToolChars":0"#;
    let expected = [vec![33; 3], vec![2000; 7]].concat();
    assert_eq!(results(&many("2000", 10, "a a a"), json, Tokens(8000.0)), expected);
}

#[test]
fn results_of_a_denied_tool_are_not_pruned() {
    let json = r#","minPrunableToolChars":0,"tools":{"deny":["read"]}"#;
    let list = many("6000:exec 6000:read", 10, "a a a");
    assert_eq!(results(&list, json, Tokens(25_000.0)), [33, 6000].repeat(10));
}

#[test]
fn two_assistants_are_too_few_to_keep_three() {
    let outcome = run(&many("6000", 20, "a a"), "", Tokens(25_000.0));
    assert!(!outcome.has_changes());
    assert_eq!(outcome.fates[1].reason, Reason::TooFewAssistants);
}

#[test]
fn a_result_with_an_image_is_not_pruned() {
    assert_eq!(results("u:2 9000+image 9000 a a a", "", Tokens(10_000.0)), [17_000, 3086]);
}

#[test]
fn the_newest_version_prunes_results_with_images_too() {
    let (index, context) = session("u:2 9000+image 9000 100+image a a a");
    let raw =
        js::parse(r#"{"mode":"cache-ttl","softTrim":{"maxChars":1},"keepLastAssistants":9}"#).expect("JSON");
    let settings = effective_settings_under(Ruleset::V2026_9_6.rules(), Some(&raw)).expect("on");
    let list = MessageList::from_context(&context, None);
    let input = PruneInput {
        list: &list,
        words: &index.values,
        settings: &settings,
        window: Tokens(10_000.0),
        needs_names: false,
    };
    let outcome = prune(&input).expect("does not throw");
    let after: Vec<u64> = outcome.fates[1..4].iter().map(|fate| fate.after.whole_chars().whole()).collect();
    assert_eq!(after, [3086, 3086, 139]);
    assert!(outcome.fates[1..4].iter().all(|fate| fate.fate == Fate::SoftTrimmed));
}

#[test]
fn every_kept_result_has_a_reason() {
    let json = r#","minPrunableToolChars":100000,"tools":{"deny":["read"]}"#;
    let outcome = run("5000 u:2 5000 300 5000:read 5000+image a 5000 a a", json, Tokens(1000.0));
    let reported = |at: usize| (outcome.fates[at].fate, outcome.fates[at].reason);
    assert_eq!(reported(0), (Fate::Protected, Reason::BeforeFirstUser));
    assert_eq!(reported(1), (Fate::Kept, Reason::NotAToolResult));
    assert_eq!(reported(2), (Fate::SoftTrimmed, Reason::SoftTrim));
    assert_eq!(reported(3), (Fate::Kept, Reason::TooFewPrunableChars));
    assert_eq!(reported(4), (Fate::Protected, Reason::ToolDenied));
    assert_eq!(reported(5), (Fate::Protected, Reason::Image));
    assert_eq!(reported(7), (Fate::Protected, Reason::WithinLastAssistants));
}

#[test]
fn a_short_result_below_the_hard_ratio_is_below_the_limit() {
    let outcome = run("u:2 5000 300 a a a", "", Tokens(4000.0));
    assert_eq!(outcome.fates[2].reason, Reason::BelowMaxChars);
}

#[test]
fn a_missing_window_leaves_everything() {
    for window in [f64::NAN, 0.0, -5.0] {
        let outcome = run("u:2 50000 a a a", "", Tokens(window));
        assert_eq!((outcome.has_changes(), outcome.fates[1].reason), (false, Reason::NoWindow));
    }
}
