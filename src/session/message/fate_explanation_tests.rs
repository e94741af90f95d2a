//! Checks that the sentences of every reason show their numbers.

use super::*;
use crate::gateway::pruning::PruneSettings;
use crate::js;
use crate::policy::PolicySettings;
use crate::session::LoadedSession;
use crate::session::testing::{
    call, entry_ix, loaded_session, message, prune_plan, result, transcript, user,
};
use crate::units::{Chars, Millis, Tokens};

fn session(window: Tokens) -> LoadedSession {
    let long = "x".repeat(5_000);
    let image = r#"{"role":"toolResult","toolCallId":"i","toolName":"shot","content":[{"type":"image","data":"QQ==","mimeType":"image/png"}]}"#;
    loaded_session(
        &transcript(&[
            result("c0", "exec", "before anyone spoke", ""),
            user("go"),
            result("c1", "exec", &long, ""),
            result("c2", "exec", "short", ""),
            message(image),
            result("c3", "browser", &long, ""),
            call("c4", "exec", "{}"),
            call("c5", "exec", "{}"),
            call("c6", "exec", "{}"),
            result("c6", "exec", "new", ""),
        ]),
        window.get(),
    )
}

/// Returns the sentences for an entry, with plain spaces.
fn says(session: &LoadedSession, plan: &Plan, entry: usize) -> Vec<String> {
    let position = session.context.position(entry_ix(entry)).expect("part of the context");
    let size = session.context.messages[position].size;
    explain_fate(&plan.fates()[position], plan, &size)
}

#[track_caller]
fn check(settings: &PruneSettings, entry: usize, expected: &[&str]) {
    let session = session(Tokens(10_000.0));
    assert_eq!(says(&session, &prune_plan(&session, settings), entry), expected);
}

fn settings() -> PruneSettings {
    PruneSettings { min_prunable_tool_chars: Chars(0.0), ..PruneSettings::default() }
}

#[test]
fn protected_results_name_the_rule_that_protects_them() {
    check(&settings(), 0, &["Before the first user message: protected by position.", "pruning 5.3"]);
    check(&settings(), 1, &["Only tool results are ever pruned.", "pruning 5.12"]);
    check(&settings(), 4, &["It contains 1 image: results with images are never pruned.", "pruning 5.6"]);
    let mut newest = settings();
    newest.soft_trim.images =
        crate::gateway::ruleset::ImageResults::Replaced { odd_texts: true, whole_pairs: true };
    let session = session(Tokens(10_000.0));
    let lines = says(&session, &prune_plan(&session, &newest), 4);
    assert!(lines[0].ends_with("A text line replaces each image."), "{lines:?}");
    check(&settings(), 9, &["Within the last 3 assistants: protected by position.", "pruning 5.2"]);
    let deny = js::parse(r#"{"deny":["browser"]}"#).unwrap();
    let denied = PruneSettings { tools: deny, ..settings() };
    check(&denied, 5, &["contextPruning.tools excludes this tool.", "pruning 3.5"]);
}

#[test]
fn a_trimmed_result_names_limit_position_and_ratio() {
    let lines = [
        "Over 4,000 chars, before the last 3 assistants. Keeps the first and last 1,500 chars.",
        "Ratio 0.45 is above softTrimRatio 0.30.",
        "pruning 5.7",
    ];
    check(&settings(), 2, &lines);
    let mut uneven = settings();
    uneven.soft_trim.head_chars = Chars(1_000.0);
    uneven.keep_last_assistants = 1.0;
    let first = "Over 4,000 chars, before the last assistant. Keeps the first 1,000 and last 1,500 chars.";
    check(&uneven, 2, &[first, lines[1], lines[2]]);
}

#[test]
fn a_cleared_result_names_the_ratio_after_trimming() {
    let hard = PruneSettings { hard_clear_ratio: 0.3, ..settings() };
    let lines = [
        "Among the oldest results, before the last 3 assistants. A placeholder of 33 chars replaces it.",
        "Ratio 0.36 is above hardClearRatio 0.30.",
        "pruning 5.10",
    ];
    check(&hard, 2, &lines);
}

#[test]
fn a_spared_candidate_names_the_reason_with_numbers() {
    let short = "It has 5 chars, within softTrim.maxChars 4,000.";
    check(&settings(), 3, &[short, "Ratio 0.36 is below hardClearRatio 0.50.", "pruning 5.7"]);
    let mut off = PruneSettings { hard_clear_ratio: 0.3, ..settings() };
    off.hard_clear.enabled = false;
    check(&off, 3, &[short, "Clearing is off: hardClear.enabled is false.", "pruning 5.8"]);
    let few = PruneSettings { hard_clear_ratio: 0.3, ..PruneSettings::default() };
    check(
        &few,
        3,
        &[
            short,
            "Nothing to clear: prunable results have 6,177 chars, below minPrunableToolChars 50,000.",
            "pruning 5.9",
        ],
    );
    let enough = PruneSettings { hard_clear_ratio: 0.3, ..settings() };
    let sentence = "Clearing older results was enough: ratio 0.28 is below hardClearRatio 0.30.";
    check(&enough, 3, &[short, sentence, "pruning 5.10"]);
    let mut covered = settings();
    covered.soft_trim.head_chars = Chars(3_000.0);
    covered.soft_trim.tail_chars = Chars(2_000.0);
    let sentence =
        "It has 5,000 chars, more than 4,000, but the first 3,000 and last 2,000 chars cover them all.";
    check(&covered, 2, &[sentence, "pruning 5.7"]);
}

#[test]
fn every_result_names_the_reason_that_stops_the_whole_policy() {
    let roomy = session(Tokens(200_000.0));
    let lines = says(&roomy, &prune_plan(&roomy, &settings()), 2);
    assert_eq!(lines, ["Ratio 0.02 is below softTrimRatio 0.30.", "pruning 5.5"]);
    let nowhere = session(Tokens(f64::NAN));
    let lines = says(&nowhere, &prune_plan(&nowhere, &settings()), 2);
    assert_eq!(lines, ["The context window is unknown, so nothing is pruned.", "pruning 5.1"]);
    let keep = PruneSettings { keep_last_assistants: 9.0, ..settings() };
    check(&keep, 2, &["Fewer than 9 assistant messages, so nothing is pruned yet.", "pruning 5.2"]);
}

#[test]
fn a_closed_gate_is_explained_with_its_times() {
    let session = session(Tokens(10_000.0));
    let gates = [
        (Gate::Off, "Pruning is off: contextPruning.mode is not cache-ttl.", "pruning 3.3"),
        (Gate::NotEligible, "The gateway does not prune for this provider and model.", "pruning 3.6"),
        (Gate::NoPruner, "This release never prunes, with any configuration.", "pruning 8"),
        (
            Gate::NeverTouched,
            "No run has recorded a cache touch yet, so pruning does not start.",
            "pruning 4.2",
        ),
        (Gate::NoTtl, "Pruning is off: contextPruning.ttl is 0.", "pruning 4.2"),
        (
            Gate::Warm { idle_ms: Millis(720_000.0), ttl_ms: Millis(3_600_000.0) },
            "Cache warm: 12m of 1h passed.",
            "pruning 4.2",
        ),
        (
            Gate::Warm { idle_ms: Millis(-60_000.0), ttl_ms: Millis(300_000.0) },
            "Cache warm: last touched 1m in the future, ttl 5m.",
            "pruning 4.2",
        ),
    ];
    for (gate, sentence, rule) in gates {
        let plan = session.plan(&PolicySettings::pruning_only(settings()), gate).unwrap();
        assert_eq!(says(&session, &plan, 2), [sentence, rule], "{gate:?}");
    }
}
