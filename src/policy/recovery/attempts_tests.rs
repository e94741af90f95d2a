//! Recovery on small branches: which prompts are refused, who recognises the refusal, and how it ends.

use super::*;
use crate::gateway::compaction::{CompactionMode, CompactionSettings};
use crate::gateway::ruleset::Ruleset;
use crate::ids::{EntryIx, LineIds};
use crate::js;
use crate::policy::compact::branch_entries;
use crate::policy::overflow::{Runtime, detect};
use crate::policy::recovery::MessageWeight;
use crate::store::load::load_bytes;
use crate::units::Tokens;

const ANTHROPIC: &str = "prompt is too long: 213462 tokens > 200000 maximum";
const STRICT_ONLY: &str = "request_too_large";

fn message(role: &str, chars: usize) -> String {
    let text = "x".repeat(chars);
    format!(r#""type":"message","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

/// Builds a branch of these lines, each the child of the one before.
fn sized(lines: &[String]) -> Branch {
    let lines: Vec<String> =
        lines.iter().enumerate().map(|(at, line)| format!(r#"{{"id":"e{at}",{line}}}"#)).collect();
    let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.join("\n"));
    let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
    let path: Vec<EntryIx> = index.iter().map(|(ix, _)| ix).collect();
    let body = |ix: EntryIx| Ok::<_, ()>(js::parse(&lines[ix.index()]).expect("test JSON"));
    Branch { entries: branch_entries(&index, &path, body).expect("reads"), ..Branch::default() }
}

/// A window of 1,000 tokens with a reserve of 100; a compaction keeps 100.
fn facts(branch: Branch, error: &str) -> RecoveryInput<'_> {
    RecoveryInput {
        error,
        detection: detect(error, "", Runtime::OpenClaw("2026.3.2")),
        source: ErrorSource::Assistant,
        branch,
        fixed_tokens: Tokens(50.0),
        summary_tokens: Tokens(80.0),
        refused_tokens: None,
        runtime_window: Tokens(1000.0),
        settings: CompactionSettings {
            enabled: true,
            reserve_tokens: Tokens(100.0),
            keep_recent_tokens: Tokens(100.0),
            chat_room: None,
        },
        mode: CompactionMode::Safeguard,
        same_model: true,
        predates_compaction: false,
        has_gateway: true,
        rules: Ruleset::V2026_3_2.rules(),
        result_limit: crate::policy::truncate::max_result_chars(Tokens(1000.0)),
        is_chat: true,
    }
}

/// Names the steps of each attempt.
fn words(recovery: &Recovery) -> Vec<Vec<String>> {
    let word = |policy: &RecoveryStep| match policy {
        RecoveryStep::Refused { .. } => "refused".to_owned(),
        RecoveryStep::Retried => "retried".into(),
        RecoveryStep::Compaction { caller: CompactionCaller::InRun, outcome } => {
            format!("run: {}", outcome.as_str())
        }
        RecoveryStep::Compaction { caller: CompactionCaller::AfterRun, outcome } => {
            format!("gateway: {}", outcome.as_str())
        }
        RecoveryStep::RunAgain => "again".into(),
        RecoveryStep::Truncation { cut, .. } => format!("cut {}", cut.len()),
        RecoveryStep::NothingOversized { .. } => "nothing oversized".into(),
        RecoveryStep::Answered { .. } => "answered".into(),
    };
    recovery.attempts.iter().map(|attempt| attempt.steps.iter().map(word).collect()).collect()
}

fn turns() -> Vec<String> {
    (0..20)
        .flat_map(|_| [message("user", 100), message("assistant", 100)])
        .chain([message("user", 40)])
        .collect()
}

/// One turn: a request and the answers that fill the window.
fn one_turn() -> Vec<String> {
    std::iter::once(message("user", 40)).chain((0..20).map(|_| message("assistant", 220))).collect()
}

/// Adds two refusals, after which a failed compaction leaves one for the gateway to see.
fn refused_twice(mut lines: Vec<String>) -> Vec<String> {
    let refused = r#""type":"message","message":{"role":"assistant","content":[],"stopReason":"error"}"#;
    lines.extend([refused.to_owned(), refused.to_owned()]);
    lines
}

#[test]
fn a_failed_compaction_ends_the_run_with_the_answer_before_unless_two_refusals_came_before() {
    let history = |refusals: usize| {
        let mut lines = refused_twice(one_turn());
        lines.truncate(lines.len() - 2 + refusals);
        predict_recovery(&facts(sized(&lines), ANTHROPIC))
    };
    for refusals in [0, 1] {
        assert_eq!(words(&history(refusals)), [["refused", "run: cancelled"]]);
        assert_eq!(history(refusals).ending, Ending::EarlierAnswer);
    }
    assert_eq!(history(2).attempts.len(), 4);
    let newest = RecoveryInput { rules: Ruleset::V2026_9_6.rules(), ..facts(sized(&one_turn()), ANTHROPIC) };
    assert_ne!(predict_recovery(&newest).ending, Ending::EarlierAnswer, "the gateway compacts after the run");
}

const RESET: Ending = Ending::GaveUp { kind: GiveUpReason::ContextOverflow, reset: true };

#[test]
fn an_overflow_that_the_runtime_sees_is_compacted_inside_the_run() {
    let recovery = predict_recovery(&facts(sized(&turns()), ANTHROPIC));
    assert_eq!(words(&recovery), [["refused", "run: done", "answered"]]);
    assert_eq!(recovery.ending, Ending::Answered);
    let RecoveryStep::Compaction {
        outcome: CompactionOutcome::Done { summarised, kept_tokens, lost, request_kept, .. },
        ..
    } = recovery.attempts[0].steps[1]
    else {
        panic!("compacted")
    };
    // The kept part reaches 100 tokens with the question (10 of the request) and answers of 25.
    assert_eq!((summarised, kept_tokens, lost, request_kept), (36, Tokens(110.0), 0, true));
}

#[test]
fn a_huge_result_at_the_end_is_summarised_with_the_request_it_belongs_to() {
    let mut lines = turns();
    lines.extend([message("assistant", 40), message("toolResult", 4000)]);
    let recovery = predict_recovery(&facts(sized(&lines), ANTHROPIC));
    let RecoveryStep::Compaction {
        outcome: CompactionOutcome::Done { kept_tokens, request_kept, .. }, ..
    } = recovery.attempts[0].steps[1]
    else {
        panic!("compacted: {:?}", words(&recovery))
    };
    // The cut falls on the refusal itself, which has no text.
    assert_eq!((kept_tokens, request_kept), (Tokens::ZERO, false));
}

#[test]
fn one_long_turn_is_cancelled_run_again_thrice_and_given_up() {
    let recovery = predict_recovery(&facts(sized(&refused_twice(one_turn())), ANTHROPIC));
    let again = ["refused", "run: cancelled", "again"];
    let last = ["refused", "run: cancelled", "nothing oversized"];
    assert_eq!(words(&recovery), [again, again, again, last]);
    assert_eq!(recovery.ending, RESET);
    assert!(recovery.ending.reply().is_some_and(|reply| reply.contains("reset our conversation")));
}

#[test]
fn errors_that_only_the_gateway_recognises_are_compacted_by_the_gateway() {
    let recovery = predict_recovery(&facts(sized(&turns()), STRICT_ONLY));
    assert_eq!(words(&recovery), [vec!["refused", "run: notSeen", "gateway: done"], vec!["answered"]]);
}

#[test]
fn errors_that_only_the_runtime_recognises_are_final_if_its_compaction_fails() {
    let recovery = predict_recovery(&facts(sized(&refused_twice(one_turn())), "too many tokens"));
    assert_eq!(words(&recovery), [["refused", "run: cancelled"]]);
    assert_eq!((recovery.ending, recovery.ending.reply()), (Ending::RawError, None));
}

#[test]
fn a_prompt_that_threw_is_never_compacted_inside_the_run() {
    let facts = RecoveryInput { source: ErrorSource::Prompt, ..facts(sized(&turns()), ANTHROPIC) };
    assert_eq!(words(&predict_recovery(&facts)), [vec!["refused", "gateway: done"], vec!["answered"]]);
}

#[test]
fn an_oversized_result_is_cut_once_when_compaction_is_off() {
    // 30% of 1,000 tokens is 1,200 chars; a cut result keeps 2,217 of its 4,000.
    let lines = [message("user", 40), message("assistant", 40), message("toolResult", 4000)];
    let facts = RecoveryInput {
        settings: CompactionSettings { enabled: false, ..SETTINGS },
        ..facts(sized(&lines), STRICT_ONLY)
    };
    let recovery = predict_recovery(&facts);
    assert_eq!(
        words(&recovery)[0],
        ["refused", "run: off", "gateway: cancelled", "cut 1"],
        "{:?}",
        words(&recovery)
    );
    assert_eq!(recovery.ending, Ending::Answered);
}

const SETTINGS: CompactionSettings = CompactionSettings {
    enabled: true,
    reserve_tokens: Tokens(100.0),
    keep_recent_tokens: Tokens(100.0),
    chat_room: None,
};

#[test]
fn the_runtimes_summariser_fails_on_a_history_larger_than_its_window() {
    let mut lines = turns();
    lines.extend((0..30).flat_map(|_| [message("user", 100), message("assistant", 100)]));
    let lines = refused_twice(lines);
    let facts = RecoveryInput { mode: CompactionMode::Default, ..facts(sized(&lines), ANTHROPIC) };
    let recovery = predict_recovery(&facts);
    assert_eq!(words(&recovery)[0], ["refused", "run: summaryTooLarge", "again"]);
    assert_eq!(recovery.attempts.len(), 4);
    assert_eq!(words(&recovery)[3], ["refused", "run: summaryTooLarge", "nothing oversized"]);
    assert_eq!(recovery.ending, RESET);
}

#[test]
fn pi_leaves_the_error_to_the_person_and_other_channels_are_not_reset() {
    let pi = RecoveryInput { has_gateway: false, ..facts(sized(&one_turn()), ANTHROPIC) };
    assert_eq!(predict_recovery(&pi).ending, Ending::LeftToPerson);
    let mut lines = turns();
    lines.extend((0..30).flat_map(|_| [message("user", 100), message("assistant", 100)]));
    let lines = refused_twice(lines);
    let cron =
        RecoveryInput { is_chat: false, mode: CompactionMode::Default, ..facts(sized(&lines), ANTHROPIC) };
    let ending = predict_recovery(&cron).ending;
    assert_eq!(ending, Ending::GaveUp { kind: GiveUpReason::ContextOverflow, reset: false });
    assert!(ending.reply().is_some_and(|reply| reply.starts_with("Context overflow: prompt too large")));
}

#[test]
fn a_transient_error_is_retried_before_anything_else() {
    let text = "500 request_too_large";
    assert_eq!(
        words(&predict_recovery(&facts(sized(&turns()), text)))[0][..3],
        ["refused", "retried", "run: notSeen"]
    );
}

#[test]
fn a_second_compaction_loses_the_messages_that_the_first_kept() {
    let mut lines = turns();
    lines.push(r#""type":"compaction","summary":"so far","firstKeptEntryId":"e36""#.to_owned());
    lines.extend((0..22).flat_map(|_| [message("user", 100), message("assistant", 100)]));
    let branch = Branch { first_kept: Some(36), ..sized(&lines) };
    let recovery = predict_recovery(&facts(branch, ANTHROPIC));
    let lost = recovery.attempts[0].steps.iter().find_map(|policy| match policy {
        RecoveryStep::Compaction { outcome: CompactionOutcome::Done { lost, .. }, .. } => Some(*lost),
        _ => None,
    });
    assert_eq!(lost, Some(5));
}

#[test]
fn an_older_gateway_restarts_its_count_after_truncation() {
    // Nothing can be summarised, and truncation does not free enough.
    let mut lines = vec![message("user", 40), message("assistant", 40)];
    lines.extend((0..12).map(|_| message("toolResult", 4000)));
    let lines = refused_twice(lines);
    let attempts = |truncation_restarts| {
        let release = if truncation_restarts { Ruleset::V2026_2_17 } else { Ruleset::V2026_3_2 };
        let facts = RecoveryInput { rules: release.rules(), ..facts(sized(&lines), ANTHROPIC) };
        predict_recovery(&facts).attempts.len()
    };
    assert_eq!((attempts(false), attempts(true)), (5, 8));
}

#[test]
fn the_loop_has_a_limit_by_the_number_of_profiles() {
    assert_eq!([0, 1, 2, 5, 100].map(loop_limit), [32, 32, 40, 64, 160]);
}

#[test]
fn newer_runtimes_compact_once_in_a_run_and_the_newest_leave_it_to_the_gateway() {
    // The kept part alone exceeds the window, so each compaction leaves too much.
    let mut lines = turns();
    lines.extend((0..4).flat_map(|_| [message("user", 40), message("toolResult", 1150)]));
    let steps = |release: Ruleset| {
        let settings = CompactionSettings { keep_recent_tokens: Tokens(1100.0), ..SETTINGS };
        let facts = RecoveryInput { rules: release.rules(), settings, ..facts(sized(&lines), ANTHROPIC) };
        words(&predict_recovery(&facts)).swap_remove(0)
    };
    assert_eq!(
        steps(Ruleset::V2026_3_11),
        ["refused", "run: done", "refused", "run: repeated", "again"],
        "a completed compaction counts"
    );
    assert_eq!(steps(Ruleset::V2026_3_2)[3], "run: cancelled", "it tries again");
    assert_eq!(steps(Ruleset::V2026_9_6)[..3], ["refused", "run: leftToGateway", "gateway: done"]);
}

#[test]
fn since_4_8_all_results_together_are_cut_too_and_the_rewrite_loses_nothing() {
    let mut lines = vec![message("user", 40), message("assistant", 40)];
    lines.extend((0..6).map(|_| message("toolResult", 900)));
    let last = |release: Ruleset| {
        let rules = release.rules();
        let result_limit = crate::policy::truncate::max_result_chars_under(rules, Tokens(1000.0));
        let settings = CompactionSettings { enabled: false, ..SETTINGS };
        let facts = RecoveryInput { settings, rules, result_limit, ..facts(sized(&lines), STRICT_ONLY) };
        words(&predict_recovery(&facts)).swap_remove(0).pop().unwrap()
    };
    assert_eq!(last(Ruleset::V2026_3_2), "nothing oversized", "no result has 1,200 chars");
    assert_eq!(last(Ruleset::V2026_4_7), "cut 5", "the newest are cut until 1,200 chars are left");
    assert_eq!(last(Ruleset::V2026_2_1), "gateway: cancelled", "no release before 2.12 cuts");
}

#[test]
fn the_beginning_of_a_split_turn_is_summarised_in_a_call_of_its_own() {
    let mut lines: Vec<String> =
        (0..10).flat_map(|_| [message("user", 100), message("assistant", 100)]).collect();
    lines.push(message("user", 40));
    lines.extend((0..12).map(|_| message("assistant", 200)));
    let branch = sized(&lines);
    let both = branch.tokens();
    let input = RecoveryInput { mode: CompactionMode::Default, ..facts(branch, ANTHROPIC) };
    assert!(both > input.runtime_window, "one call for both would be refused: {both:?}");
    assert_eq!(words(&predict_recovery(&input)), [["refused", "run: done", "answered"]]);
}

#[test]
fn a_compaction_that_only_drops_what_an_earlier_one_kept_frees_tokens() {
    let done = |lost: usize, summarised: usize| CompactionOutcome::Done {
        summarised,
        merges_summary: true,
        first_kept: EntryIx(0),
        kept_tokens: Tokens(10.0),
        lost,
        request_kept: true,
    };
    assert!(done(0, 0).frees_nothing());
    assert!(!done(9, 0).frees_nothing() && !done(0, 1).frees_nothing());
}

#[test]
fn a_result_that_the_guard_shortens_is_sent_no_smaller_when_the_file_is_cut() {
    let mut branch = sized(&[message("user", 40), message("assistant", 4_000)]);
    let weight = MessageWeight { factor: 1.0, most: Tokens(300.0) };
    branch.weights.insert(branch.entries[1].entry, weight);
    assert_eq!(branch.tokens(), Tokens(310.0));
    branch.weights.insert(branch.entries[1].entry, MessageWeight { most: Tokens(900.0), ..weight });
    assert_eq!(branch.tokens(), Tokens(910.0), "its own size is 1,000");
}
