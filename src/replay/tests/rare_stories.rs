//! Rarer sessions and combinations of policies, field by field.

use super::stories::{Story, pictures, refused_run, results, summarised, texts, told_all, unpaired};
use super::*;
use crate::gateway::ruleset::Ruleset;
use crate::js::{Object, Value};
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::settings::GuardSettings;
use crate::units::Chars;

fn guarding(budget_share: f64, single_share: f64) -> impl Fn(&mut Settings) {
    move |all| all.policies.guard = GuardSettings { budget_share, single_share }
}

fn limited(turns: f64) -> impl Fn(&mut Settings) {
    move |all| all.policies.history_limit = turns
}

fn clearing(clear_at_least: f64) -> impl Fn(&mut Settings) {
    move |all| {
        all.policies.clear =
            ClearSettings { trigger: 900.0, keep: 1.0, clear_at_least, ..ClearSettings::default() };
    }
}

/// A text of a person that is as long as a result.
fn answered(script: Script, chars: usize) -> Script {
    let text = "y".repeat(chars);
    script.entry(&format!(r#""type":"message","message":{{"role":"user","content":"{text}"}}"#))
}

/// Long texts between results of four runs.
fn wordy() -> Script {
    (0..4_u64).fold(texts(), |script, run| {
        let prompt = 900 + run * 2_400;
        answered(script.after(3), 3_000)
            .answer(prompt, true)
            .result(5_000)
            .answer(prompt + 1_300, true)
            .result(900)
            .answer(prompt + 1_500, false)
    })
}

/// Results with details, each in a separate run.
fn detailed() -> Script {
    (0..4_u64).fold(texts(), |script, run| {
        let script = script.after(7).user().answer(100 + run * 900, true);
        let id = script.entries - 1;
        let text = "z".repeat(2_400);
        let result = format!(
            r#""type":"message","message":{{"role":"toolResult","toolCallId":"c{id}","toolName":"exec","content":[{{"type":"text","text":"{text}"}}],"details":{{"path":"/a/long/path/that/counts","exitCode":0}}}}"#
        );
        script.entry(&result).answer(750 + run * 900, false)
    })
}

/// Unpaired calls and results around a compaction, and a run after it.
fn unpaired_and_summarised() -> Script {
    let script = unpaired()
        .after(1)
        .entry(r#""type":"compaction","summary":"so far","firstKeptEntryId":"e6","tokensBefore":1300"#);
    let script = script.user().answer(800, true).user().answer(900, true).result(1_000).answer(1_100, false);
    script.after(9).user().answer(1_200, false)
}

/// Begins with a result of no call, and a result comes twice.
fn orphaned() -> Script {
    let script = texts().answer(30, true).result(700).user().answer(300, true).result(1_200);
    let again = r#""type":"message","message":{"role":"toolResult","toolCallId":"c3","toolName":"exec","content":[{"type":"text","text":"again"}]}"#;
    let script = script.entry(again).answer(650, false).after(8).user().answer(700, true).result(3_000);
    script.answer(1_400, false).after(8).user().answer(1_500, false)
}

fn denied(tool: &str) -> Value {
    let mut tools = Object::default();
    tools.set("deny", Value::Array(vec![Value::from(tool)]));
    Value::Object(tools)
}

#[test]
fn rare_sessions_are_replayed_field_by_field() {
    use Policy::{Clear, Compact, Guard, History, Images, Prune, Reduce, Repair, Truncate};
    let nobody_says = |story: Story| {
        let refused = vec![refused_at(refused_run().entries as u32 - 3, None, None)];
        Story { refused, ..story }
    };
    let keeping = |tokens: f64| {
        move |all: &mut Settings| {
            all.policies.compaction.reserve_tokens = Tokens(10_000.0) - Tokens(tokens);
            all.policies.compaction.keep_recent_tokens = Tokens(800.0);
        }
    };
    let large_alone = |all: &mut Settings| {
        (all.policies.reduce.all_chars, all.policies.reduce.keeps_sent) = (Chars(1e9), false);
        all.policies.truncate.max_chars = Chars(4_000.0);
    };
    let all_alone = |all: &mut Settings| {
        (all.policies.reduce.all_chars, all.policies.reduce.keeps_sent) = (Chars(12_000.0), false);
    };
    let trimming = |all: &mut Settings| all.policies.prune.soft_trim_ratio = 0.05;
    let stories = vec![
        Story::new("a tool that is not pruned", results(), &[Prune])
            .with(|all| all.policies.prune.tools = denied("exec")),
        Story::new("a tool that is pruned", results(), &[Prune])
            .with(|all| all.policies.prune.tools = denied("read")),
        Story::new("pruned and guarded, a little", wordy(), &[Prune, Guard])
            .with(guarding(0.45, 0.4))
            .with(trimming),
        Story::new("pruned and guarded, more", wordy(), &[Prune, Guard])
            .with(guarding(0.3, 0.12))
            .with(trimming),
        Story::new("guarded long texts", wordy(), &[Guard]).with(guarding(0.4, 0.11)),
        Story::new("guarded long texts 2026.4.1", wordy(), &[Guard])
            .under(Ruleset::V2026_4_1)
            .with(guarding(0.4, 0.11)),
        Story::new("pruned and cleared", results(), &[Prune, Clear]).with(clearing(0.0)),
        Story::new("pruned, with too little to clear", results(), &[Prune, Clear]).with(clearing(50_000.0)),
        Story::new("cleared, guarded and too little", results(), &[Prune, Guard, Clear])
            .with(guarding(0.3, 0.1))
            .with(clearing(4_000.0)),
        Story::new("cleared behind a summary", summarised(), &[Clear, Guard])
            .with(clearing(0.0))
            .with(guarding(0.6, 0.3)),
        Story::new("images and the guard", pictures(), &[Repair, Images, Guard]).with(guarding(0.02, 0.01)),
        Story::new("details", detailed(), &[Repair, Guard]).with(guarding(0.1, 0.04)),
        Story::new("details are cleared", detailed(), &[Repair, Clear, Prune]).with(clearing(0.0)),
        Story::new("one turn, compacted", wordy(), &[History, Compact])
            .with(limited(1.0))
            .with(keeping(4_000.0)),
        Story::new("two turns, then a summary", summarised(), &[Repair, History]).with(limited(1.0)),
        Story::new("two turns, pruned", wordy(), &[Repair, History, Prune, Guard])
            .with(limited(2.0))
            .with(guarding(0.3, 0.12)),
        Story::new("two turns 2026.9.2, pruned", wordy(), &[Repair, History, Prune])
            .under(Ruleset::V2026_9_6)
            .with(limited(2.0)),
        Story::new("unpaired and summarised", unpaired_and_summarised(), &[Repair, Guard])
            .with(guarding(0.05, 0.02)),
        Story::new("unpaired and compacted", unpaired_and_summarised(), &[Repair, Compact])
            .with(keeping(900.0)),
        Story::new("unpaired, one turn", unpaired_and_summarised(), &[Repair, History]).with(limited(1.0)),
        Story::new("orphaned", orphaned(), &[Repair, Prune, Guard]).with(guarding(0.05, 0.02)),
        Story::new("orphaned, one turn, cleared", orphaned(), &[Repair, History, Clear])
            .with(limited(1.0))
            .with(clearing(0.0)),
        Story::new("large results alone", results(), &[Reduce]).under(Ruleset::V2026_5_2).with(large_alone),
        Story::new("only large results", detailed(), &[Reduce])
            .under(Ruleset::V2026_5_2)
            .with(large_alone)
            .with(|all| all.policies.truncate.max_chars = Chars(1_000.0)),
        Story::new("all results alone", results(), &[Reduce, Guard])
            .under(Ruleset::V2026_5_2)
            .with(all_alone),
        Story::new("all results alone, two turns", results(), &[Reduce, History])
            .under(Ruleset::V2026_5_2)
            .with(all_alone)
            .with(limited(1.0)),
        nobody_says(Story::new("a refusal without a number", refused_run(), &[])),
        nobody_says(Story::new("a refusal without a number, compacted", refused_run(), &[Compact])),
        nobody_says(Story::new(
            "a refusal without a number, guarded and truncated",
            refused_run(),
            &[Compact, Guard, Truncate],
        ))
        .under(Ruleset::V2026_3_22)
        .with(guarding(0.5, 0.3)),
    ];
    insta::assert_snapshot!(told_all(&stories));
}

#[test]
fn the_calls_of_a_path_know_their_refusals() {
    let note = |script: Script| {
        script.entry(
            r#""type":"custom","customType":"openclaw:prompt-error","data":{"error":"prompt is too long"}"#,
        )
    };
    let calls = |script: &Script, entries: &[u32]| {
        let refused: Vec<RefusedCall> = entries.iter().map(|entry| refused_at(*entry, None, None)).collect();
        script.replay(&settings(&[]), Tokens(10_000.0), &refused).calls
    };
    let refused = Script::default().user().refused("prompt is too long");
    assert_eq!(calls(&note(refused.clone()), &[1, 2]).len(), 1, "the note is about the refused answer");
    let again = note(refused.clone().user());
    let made = calls(&again, &[1, 3]);
    assert_eq!(made.iter().map(|call| call.entry.0).collect::<Vec<_>>(), [1, 3], "a message came in between");
    assert_eq!(made[0].refused.map(|refused| refused.min_tokens), Some(Tokens::ZERO), "nothing was accepted");
    assert_eq!(
        made.iter().map(|call| (call.opens_run, call.retried)).collect::<Vec<_>>(),
        [(true, false), (true, false)]
    );
    let retried = calls(&refused.clone().answer(700, false), &[1]);
    assert_eq!(retried.iter().map(|call| call.retried).collect::<Vec<_>>(), [true, false]);
    let accepted =
        calls(&Script::default().user().answer(700, false).user().refused("prompt is too long"), &[3]);
    assert_eq!(accepted[1].refused.map(|refused| refused.min_tokens), Some(Tokens(701.0)));
    let plain = calls(&note(Script::default().user()), &[]);
    assert!(plain.is_empty(), "a note of something else is no call");
}
