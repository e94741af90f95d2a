//! Committed plans of several policies: the context read back is the previewed one, and changes that only work in
//! memory are refused.

use clawscope::commit::{Refusal, receipts};
use clawscope::gateway::ruleset::Ruleset;
use clawscope::js::Value;
use clawscope::plan::{CompactionSummary, Plan};
use clawscope::policy::edit::{Edit, single_text_size};
use clawscope::policy::message_list::{MessageChange, MessageOrigin};
use clawscope::policy::repair::{MissingResult, PairedCall, RepairRules};
use clawscope::policy::{Policy, PolicySet};
use clawscope::write::request::{CheckStatus, WriteError};

use super::{ANSWER, CALL, RESULT, USER, lines};
use crate::support::generate::{Options, transcript};
use crate::support::inspected::{checks, committed, inspected, plain, planned, previewed, summary, undone};
use crate::support::session::Session;
use clawscope::units::{Chars, Tokens};

fn contexts(session: &Session) -> Vec<String> {
    session.context().iter().map(|json| plain(json)).collect()
}

/// Writes a plan of these policies to generated sessions and undoes it; returns the number of written plans.
fn write_all(policies: &[Policy]) -> usize {
    let mut written = 0;
    for seed in 0..12 {
        let session = Session::new(&transcript(seed, &Options::default()));
        let (before, old) = (contexts(&session), session.bytes());
        let loaded = inspected(&session.path);
        let plan = planned(&loaded, policies, 150.0);
        let made = plan.compaction.is_some().then(summary);
        let leaf = match committed(&loaded, &plan, made.as_ref()) {
            Ok(leaf) => leaf,
            Err(WriteError::Refused(Refusal::NothingToWrite { .. } | Refusal::Unpaired { .. })) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        written += 1;
        let session = session.reload();
        assert!(session.bytes().starts_with(&old), "seed {seed}: the old bytes changed");
        assert_eq!(contexts(&session), previewed(&loaded, &plan, made.as_ref()), "seed {seed}");
        assert_eq!(session.index.display_id(session.index.last().unwrap()), leaf);
        undone(&inspected(&session.path));
        assert_eq!(contexts(&session.reload()), before, "seed {seed}: undo");
    }
    written
}

#[test]
fn a_commit_reads_back_as_previewed() {
    for policies in
        [&[Policy::Compact][..], &[Policy::Prune], &[Policy::Compact, Policy::Prune, Policy::Images]]
    {
        let written = write_all(policies);
        assert!(written > 4, "{policies:?}: only {written} of 12 sessions had something to write");
    }
}

/// Plans these policies over a short session, and returns the reason that the plan is not written.
fn refused(policies: &[Policy], made: Option<&CompactionSummary>, change: impl Fn(&mut Plan)) -> String {
    let session = Session::new(&lines(&[USER, CALL, RESULT, ANSWER, NEXT, LAST]));
    let before = session.bytes();
    let loaded = inspected(&session.path);
    let mut plan = planned(&loaded, policies, 1.0);
    change(&mut plan);
    let error = committed(&loaded, &plan, made).expect_err("it cannot be written");
    assert!(error.is_refusal() && error.to_string().starts_with(&session.path.display().to_string()));
    assert_eq!(session.bytes(), before);
    error.to_string()
}

const NEXT: &str = r#"{"type":"message","id":"u2","parentId":"a2","timestamp":"2026-02-21T05:00:05.000Z","message":{"role":"user","content":"and now?"}}"#;
const LAST: &str = r#"{"type":"message","id":"a3","parentId":"u2","timestamp":"2026-02-21T05:00:06.000Z","message":{"role":"assistant","content":[{"type":"text","text":"later"}],"stopReason":"stop"}}"#;

#[test]
fn a_compaction_without_a_summary_changes_no_file() {
    let words = refused(&[Policy::Compact], None, |_| {});
    assert!(words.contains("has no summary yet"), "{words}");
    let empty = CompactionSummary { text: "".into(), ..summary() };
    let words = refused(&[Policy::Compact], Some(&empty), |_| {});
    assert!(words.contains("the summary is empty"), "{words}");
}

#[test]
fn messages_left_out_by_the_history_limit_are_never_written() {
    let words = refused(&[Policy::History], None, |_| {});
    assert!(words.contains("drops 4 messages") && words.contains("`history`"), "{words}");
    assert!(words.contains("openclaw.json") && !words.contains("repair"), "{words}");
    // Nor is a summary that the limit would remove again (compaction 4.10).
    let made = summary();
    let words = refused(&[Policy::Compact], Some(&made), |plan| plan.messages.truncate(0));
    assert!(words.contains("drops"), "{words}");
}

#[test]
fn moved_and_invented_results_are_never_written() {
    let words = refused(&[Policy::Images], None, |plan| plan.messages.swap(0, 1));
    assert!(words.contains("moves 1 message; the runtime does that in memory"), "{words}");
    assert!(words.contains("`repair` runs in the gateway"), "{words}");
    let words = refused(&[Policy::Images], None, |plan| {
        let call = PairedCall { id: "c9".into(), name: Some("read".into()) };
        let missing = MissingResult::for_call(&call, RepairRules::default());
        plan.messages.last_mut().unwrap().origin = MessageOrigin::Missing(std::sync::Arc::new(missing));
    });
    assert!(words.contains("drops 1 message, adds 1 message"), "{words}");
}

/// A session with a result of 9000 chars before a compaction that keeps it, and a label on the last answer.
fn compacted() -> Session {
    let long = RESULT.replace("\"long\"", &format!("\"{}\"", "x".repeat(9000)));
    let compaction = r#"{"type":"compaction","id":"k1","parentId":"a3","timestamp":"2026-02-21T05:00:07.000Z","summary":"s","firstKeptEntryId":"a1","tokensBefore":9}"#;
    let label = r#"{"type":"label","id":"l1","parentId":"k1","timestamp":"2026-02-21T05:00:09.000Z","targetId":"a3","label":"here"}"#;
    let more = NEXT.replace("u2", "u3").replace("\"a2\"", "\"l1\"");
    Session::new(&lines(&[USER, CALL, &long, ANSWER, NEXT, LAST, compaction, label, &more]))
}

#[test]
fn checks_for_cut_results_show_the_losses_of_the_gateways_rewrite() {
    let session = compacted();
    let mut loaded = inspected(&session.path);
    loaded.ruleset.id = Ruleset::V2026_3_2;
    loaded.window.tokens = Tokens(1000.0);
    let mut plan = planned(&loaded, &[Policy::Prune], 1.0);
    let gone = Edit::Placeholder(std::sync::Arc::new("[gone]".into()));
    let size = single_text_size(&loaded.context.messages[2].size, Chars(6.0));
    plan.messages[2].change = Some(MessageChange::full(size, vec![gone], None));
    let reported = |plan: &Plan| -> Option<(CheckStatus, String)> {
        let checks = checks(&loaded, plan, None);
        checks.into_iter().find(|(_, words)| words.contains("own rewrite"))
    };
    assert_eq!(reported(&plan), None, "nothing is cut in the transcript");
    plan.settings.enabled = PolicySet::of(&[Policy::Truncate]);
    let (check, words) = reported(&plan).expect("a reason");
    assert_eq!(check, CheckStatus::Passed);
    // The call is before the first cut, so the part kept from there on stays; only the label is lost.
    assert_eq!(words, "The gateway's own rewrite would lose 1 label; a commit keeps all of it.");
}

#[test]
fn the_checks_report_messages_kept_by_the_last_compaction_and_now_lost() {
    let session = compacted();
    let loaded = inspected(&session.path);
    let plan = planned(&loaded, &[Policy::Compact], 1.0);
    let checks = checks(&loaded, &plan, Some(&summary()));
    let lost = checks.iter().find(|(_, words)| words.contains("that the last compaction kept"));
    assert!(
        lost.is_some_and(|(check, words)| *check == CheckStatus::Warning && words.starts_with("5 messages"))
    );
}

#[test]
fn the_receipt_lists_every_active_policy_and_the_real_summary_length() {
    let long = RESULT.replace("\"long\"", &format!("\"{}\"", "x".repeat(9000)));
    let session = Session::new(&lines(&[USER, ANSWER_1, USER_2, CALL_2, &long, ANSWER, NEXT, LAST]));
    let loaded = inspected(&session.path);
    let plan = planned(&loaded, &[Policy::Compact, Policy::Images, Policy::Prune], 2258.0);
    let made = summary();
    committed(&loaded, &plan, Some(&made)).unwrap();
    let session = session.reload();
    let receipts = receipts(&session.index, &session.source).unwrap();
    let policies: Vec<&str> = receipts[0].policies.iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(policies, ["compact", "prune"], "images changed nothing");
    let [compact, prune] = &receipts[0].policies[..] else { panic!() };
    assert_eq!(compact.settings.get("keepRecentTokens").and_then(Value::as_f64), Some(2258.0));
    assert!(prune.settings.get("softTrim").is_some());
    assert_eq!(compact.tokens_before, Tokens(plan.total_before() as f64));
    assert_eq!(
        (compact.tokens_after, Some(prune.tokens_after)),
        (prune.tokens_before, receipts[0].tokens_after)
    );
    let after = inspected(&session.path);
    let estimated: u64 = after.budget().message_tokens();
    assert_eq!(
        prune.tokens_after,
        Tokens(estimated as f64),
        "as the branch is estimated when it is read back"
    );
}

#[test]
fn details_that_are_not_written_do_not_shift_the_check_of_sizes() {
    let long = RESULT.replace("\"long\"", &format!("\"{}\"", "x".repeat(9000)));
    let long = long.replace("\"r1\"", "\"r2\"").replace("\"c1\"", "\"c2\"").replace("\"a1\"", "\"a4\"");
    let call = CALL.replace("\"c1\"", "\"c2\"").replace("\"a1\"", "\"a4\"").replace("\"u1\"", "\"r1\"");
    let answer = ANSWER.replace("\"r1\"", "\"r2\"");
    let session = Session::new(&lines(&[USER, CALL, RESULT, &call, &long, &answer, NEXT, LAST]));
    let loaded = inspected(&session.path);
    let plan = planned(&loaded, &[Policy::Repair, Policy::Prune], 1.0);
    assert_eq!(
        plan.rewritten().map(|(at, _)| at).collect::<Vec<_>>(),
        [4],
        "the first result loses details only"
    );
    committed(&loaded, &plan, None).unwrap();
}

#[test]
fn the_receipt_names_the_window_of_the_guard() {
    let long = RESULT.replace("\"long\"", &format!("\"{}\"", "x".repeat(9000)));
    let session = Session::new(&lines(&[USER, CALL, &long, ANSWER]));
    let mut loaded = inspected(&session.path);
    (loaded.window.tokens, loaded.window.model_tokens) = (Tokens(1000.0), Tokens(4000.0));
    let plan = planned(&loaded, &[Policy::Guard], 1.0);
    committed(&loaded, &plan, None).unwrap();
    let session = session.reload();
    let record = &receipts(&session.index, &session.source).unwrap()[0].policies[0];
    assert_eq!(record.name, "guard");
    assert_eq!(record.settings.get("window").and_then(Value::as_f64), Some(4000.0));
}

const ANSWER_1: &str = r#"{"type":"message","id":"a0","parentId":"u1","timestamp":"2026-02-21T05:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"first"}],"stopReason":"stop"}}"#;
const USER_2: &str = r#"{"type":"message","id":"u5","parentId":"a0","timestamp":"2026-02-21T05:00:02.000Z","message":{"role":"user","content":"read more"}}"#;
const CALL_2: &str = r#"{"type":"message","id":"a1","parentId":"u5","timestamp":"2026-02-21T05:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}],"stopReason":"toolUse"}}"#;
