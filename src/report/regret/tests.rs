//! Stories in which pruning or a compaction takes something away, and something needs it again or does not.

use std::sync::Arc;

use super::*;
use crate::gateway::config::GatewayConfig;
use crate::gateway::models::opus_price;
use crate::js;
use crate::replay::LossCause;
use crate::session::testing::{call, loaded_session, message, result, transcript, user};
use crate::units::Tokens;

/// Prunes every result that is not from the last turn.
const PRUNING: &str = r#"{"agents":{"defaults":{"contextPruning":{"mode":"cache-ttl","ttl":"1s","softTrimRatio":0,"hardClearRatio":0,"minPrunableToolChars":10,"keepLastAssistants":1}}}}"#;
const PATH: &str = r#"{"path":"notes/plan.txt","limit":null}"#;

fn answer(text: &str) -> String {
    message(&format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stopReason":"stop"}}"#
    ))
}

/// A file with an id is read and answered to; then come these entries, from e4 on.
fn story(rest: &[String]) -> Vec<String> {
    let file = format!("The build is 4fa91c2d.\n{}", "filler ".repeat(2_000));
    let mut entries = vec![
        user("read the plan"),
        call("c1", "read", PATH),
        result("c1", "read", &file, ""),
        answer("I read it."),
    ];
    entries.extend_from_slice(rest);
    entries
}

fn regret_under(config: &str, entries: &[String]) -> Regret {
    let session = loaded_session(&transcript(entries), 100_000.0);
    let mut own = GatewayConfig::empty();
    own.js_root = js::parse(config).unwrap();
    let price = Some(opus_price());
    let session = LoadedSession { config: Arc::new(own), price, ..session };
    let inputs = ReplayInputs::read(&session, session.gateway_policies()).unwrap();
    RegretFinder::new(&session, &inputs).recorded().unwrap()
}

fn regret(rest: &[String]) -> Regret {
    regret_under(PRUNING, &story(rest))
}

/// Kind, entry, distance and loss of each need.
fn needs(regret: &Regret) -> Vec<(NeedKind, u32, usize, u32)> {
    let of = |lost: &LostMessage| {
        let loss = lost.loss.entry.0;
        lost.needs.iter().map(move |need| (need.kind, need.entry.0, need.distance, loss)).collect::<Vec<_>>()
    };
    regret.lost.iter().flat_map(of).collect()
}

#[test]
fn clearing_an_unused_result_has_no_regret() {
    let regret = regret(&[user("thanks"), answer("You are welcome.")]);
    let lost: Vec<_> = regret.lost.iter().map(|lost| (lost.loss.entry.0, lost.loss.cause)).collect();
    assert_eq!(lost, [(2, LossCause::Pruned)]);
    assert_eq!(regret.lost[0].tool.as_deref(), Some("read"));
    let totals = regret.totals();
    assert_eq!((totals.lost, totals.needed, totals.tokens, totals.cost), (1, 0, Tokens::ZERO, None));
    assert!(totals.lost_tokens > Tokens(3_000.0), "{totals:?}");
}

#[test]
fn the_same_call_fetches_a_cleared_result_again_and_is_priced() {
    let again = r#"{"limit":null,"path":"./notes/plan.txt "}"#;
    let regret = regret(&[
        user("go on"),
        answer("A moment."),
        user("and now?"),
        call("c2", "read", again).replace(
            "\"stopReason\"",
            "\"provider\":\"anthropic\",\"model\":\"claude-opus-4-6\",\"stopReason\"",
        ),
        result("c2", "read", "The build is 4fa91c2d.", ""),
        answer("Read again."),
    ]);
    assert_eq!(needs(&regret), [(NeedKind::FetchedAgain, 7, 1, 2)]);
    let need = &regret.lost[0].needs[0];
    assert!(need.tokens > Tokens(5.0) && need.cost.is_some_and(|usd| usd > 0.0), "{need:?}");
    assert_eq!(regret.totals().cost, need.cost);
}

#[test]
fn other_calls_and_rewritten_files_are_not_repetitions() {
    let read = |path: &str| call("c2", "read", path);
    let other =
        regret(&[user("go on"), read(r#"{"path":"notes/other.txt"}"#), result("c2", "read", "x", "")]);
    assert_eq!(needs(&other), []);
    let write = call("w1", "write", r#"{"path":"notes/plan.txt","content":"new"}"#);
    let written = regret(&[
        user("change it"),
        write,
        result("w1", "write", "done", ""),
        answer("Written."),
        user("read it"),
        read(PATH),
        result("c2", "read", "new", ""),
    ]);
    assert_eq!(needs(&written), []);
    let make = |id: &str| call(id, "exec", r#"{"command":"make"}"#);
    let built = |between: &[String]| {
        let mut entries =
            vec![user("build"), make("m1"), result("m1", "exec", &"ok ".repeat(500), ""), answer("Built.")];
        entries.extend_from_slice(between);
        entries.extend([user("again"), make("m2"), result("m2", "exec", "ok", "")]);
        needs(&regret_under(PRUNING, &entries)).len()
    };
    let write = call("w1", "write", r#"{"path":"a.c","content":"x"}"#);
    assert_eq!(built(&[]), 1);
    assert_eq!(built(&[user("fix it"), write, result("w1", "write", "done", ""), answer("Fixed.")]), 0);
}

#[test]
fn a_result_that_is_still_in_the_prompt_is_fetched_again_for_another_reason() {
    let entries = story(&[user("go on"), call("c2", "read", PATH), result("c2", "read", "x", "")]);
    let kept = regret_under("{}", &entries);
    assert!(kept.lost.is_empty());
}

#[test]
fn an_id_counts_as_needed_only_if_the_prompt_lacks_it() {
    let quoted = regret(&[user("which build?"), answer("It is 4fa91c2d.")]);
    assert_eq!(needs(&quoted), [(NeedKind::Quoted, 5, 0, 2)]);
    assert_eq!(quoted.lost[0].needs[0].evidence, "4fa91c2d");
    let quoted = regret(&[user("what was 4fa91c2d?"), answer("A build.")]);
    assert_eq!(needs(&quoted), [(NeedKind::AskedAgain, 4, 0, 2)]);
    let mut entries = story(&[user("which build?"), answer("It is 4fa91c2d.")]);
    entries[3] = answer("I read of 4fa91c2d.");
    assert_eq!(needs(&regret_under(PRUNING, &entries)), [], "the first answer still has it");
}

#[test]
fn only_a_summary_that_drops_an_id_has_regret() {
    let compacted = |summary: &str| {
        let compaction = format!(
            r#"{{"type":"compaction","summary":"{summary}","firstKeptEntryId":"e4","tokensBefore":5000}}"#
        );
        let rest =
            [user("go on"), answer("Going on."), compaction, user("which build?"), answer("It is 4fa91c2d.")];
        regret_under("{}", &story(&rest))
    };
    let dropped = compacted("They read a plan.");
    assert!(dropped.lost.iter().all(|lost| lost.loss.cause == LossCause::Summarised));
    assert_eq!(dropped.lost.len(), 4);
    assert_eq!(needs(&dropped), [(NeedKind::Quoted, 8, 0, 2)]);
    assert_eq!(needs(&compacted("They read a plan for 4fa91c2d.")), []);
}
