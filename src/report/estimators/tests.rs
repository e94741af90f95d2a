use super::*;
use crate::context::build_context;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::session::testing::{entry_ix, loaded_session, message, quoted, result, transcript, user};
use crate::store::demo;
use crate::transcript::Leaf;
use crate::units::Bytes;

fn answer(text: &str, prompt: u64) -> String {
    let usage = format!(
        r#"{{"input":{prompt},"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}"#,
        prompt + 10
    );
    message(&format!(
        r#"{{"role":"assistant","timestamp":{prompt},"content":[{{"type":"text","text":{}}}],"usage":{usage},"stopReason":"stop"}}"#,
        quoted(text)
    ))
}

fn estimates(entries: &[String]) -> Estimates {
    read(&loaded_session(&transcript(entries), 200_000.0), &mut |_, _| true).expect("memory is readable")
}

fn said(numbers: &TokenEstimates) -> [Option<u64>; 5] {
    Estimator::ALL.map(|estimator| numbers.get(estimator))
}

#[test]
fn every_estimator_shows_the_prompt_of_each_call_without_its_answer() {
    let estimates =
        estimates(&[user("你好你好"), answer("abcd", 40), user("12345678"), answer("x", 60), user("9")]);
    assert_eq!(
        estimates.calls.iter().map(|call| (call.entry, call.measured)).collect::<Vec<_>>(),
        [(entry_ix(1), 40), (entry_ix(3), 60)]
    );
    // Each has 1 token by chars/4 and 4 by weight; two calls are too few for a fit.
    assert_eq!(said(&estimates.calls[0].estimates)[..4], [Some(1), Some(1), Some(4), Some(1)]);
    assert_eq!(said(&estimates.calls[1].estimates)[..4], [Some(4), Some(4), Some(7), Some(50 + 2)]);
    assert_eq!(said(&estimates.next_prompt)[..4], [Some(6), Some(5), Some(9), Some(70 + 1)]);
    assert_eq!(estimates.calibration, Err(TooFewCalls { growths: 1 }));
    assert_eq!((estimates.next_prompt.get(Estimator::Calibrated), estimates.fixed_tokens), (None, None));
    assert_eq!(estimates.deviation(Estimator::Pi).map(|pi| (pi.count, pi.max)), Some((2, 39.0 / 40.0)));
}

#[test]
fn calls_before_a_compaction_are_estimated_with_their_context_then() {
    let compaction =
        r#"{"type":"compaction","summary":"ssssssss","firstKeptEntryId":"e2","tokensBefore":100}"#.to_owned();
    let estimates = estimates(&[
        user(&"a".repeat(400)),
        answer(&"b".repeat(40), 120),
        user("cccc"),
        answer("dddd", 140),
        compaction,
        user("eeee"),
        answer("f", 40),
        user("gggg"),
    ]);
    let pi: Vec<Option<u64>> = estimates.calls.iter().map(|call| call.estimates.get(Estimator::Pi)).collect();
    assert_eq!(pi, [Some(100), Some(100 + 10 + 1), Some(2 + 1 + 1 + 1)]);
    // A count from before the compaction does not describe the first prompt after it.
    let usage: Vec<Option<u64>> =
        estimates.calls.iter().map(|call| call.estimates.get(Estimator::Usage)).collect();
    assert_eq!(usage, [Some(100), Some(131), None]);
    assert_eq!(estimates.next_prompt.get(Estimator::Usage), Some(51));
    assert!(!estimates.calls.is_empty() && estimates.calls.iter().all(|call| !call.shrunk));
}

#[test]
fn a_prompt_that_shrank_under_a_growing_context_is_listed_and_not_counted() {
    let mut entries = Vec::new();
    for (round, prompt) in [1_000, 2_000, 1_200, 3_000].into_iter().enumerate() {
        entries.push(user(&"x".repeat(4_000)));
        entries.push(answer(&format!("{round}"), prompt));
    }
    let estimates = estimates(&entries);
    assert_eq!(
        estimates.calls.iter().map(|call| call.shrunk).collect::<Vec<_>>(),
        [false, false, true, false]
    );
    assert_eq!(estimates.deviation(Estimator::Pi).map(|pi| pi.count), Some(3));
    assert_eq!(estimates.last_reliable_call().map(|call| call.measured), Some(3_000));
}

#[test]
fn a_copied_answer_does_not_count_if_its_original_is_on_another_branch() {
    let mut lines: Vec<String> = transcript(&[user("aaaa"), answer("bb", 500), user("cc"), answer("d", 700)])
        .lines()
        .map(str::to_owned)
        .collect();
    for (id, parent, line) in [("f1", "e0", 2), ("f2", "f1", 3), ("f3", "f2", 4)] {
        let own = format!("\"e{}\",\"parentId\":\"e{}\"", line - 1, line - 2);
        lines.push(lines[line].replace(&own, &format!("\"{id}\",\"parentId\":\"{parent}\"")));
    }
    let text = lines.join("\n") + "\n";
    let copied = loaded_session(&text, 200_000.0);
    let copy = read(&copied, &mut |_, _| true).expect("readable");
    assert_eq!((copy.calls.len(), copy.copies), (0, 2));
    let mut original = loaded_session(&text, 200_000.0);
    let built = build_context(&original.index, &original.tree, &Leaf::Id("e3".into())).expect("builds");
    original.context = std::sync::Arc::new(built);
    let original = read(&original, &mut |_, _| true).expect("readable");
    assert_eq!((original.calls.len(), original.copies), (2, 0));
}

#[test]
fn reading_can_be_stopped() {
    let long = "y".repeat(3 << 20);
    let entries = [user(&long), answer(&long, 9), result("c", "read", &long, "")];
    let session = loaded_session(&transcript(&entries), 200_000.0);
    let mut seen = Vec::new();
    let stopped = read(&session, &mut |done, total| {
        seen.push((done, total));
        seen.len() < 2
    });
    assert!(matches!(stopped, Err(EstimatesError::Stopped)));
    assert!(seen.len() == 2 && seen[1].0 > Bytes(0) && seen[1].0 < seen[1].1, "{seen:?}");
}

/// Transcripts of the demo store.
fn demos() -> impl Iterator<Item = LoadedSession> {
    let transcripts =
        demo::files().into_iter().filter(|(path, _)| path.extension().is_some_and(|it| it == "jsonl"));
    transcripts.map(|(_, bytes)| loaded_session(&String::from_utf8_lossy(&bytes), 200_000.0))
}

#[test]
fn one_walk_gives_the_same_contexts_as_building_each() {
    let mut calls = 0;
    for session in demos() {
        let weights = message_weights::weigh_path(&session, &mut |_, _| true).expect("memory is readable");
        for prompt in walk::walk_path(&session, &weights).calls {
            let parent = session.tree.parent(prompt.entry);
            let leaf = parent.map_or(Leaf::Before, |parent| Leaf::Id(session.index.display_id(parent)));
            let context = build_context(&session.index, &session.tree, &leaf).expect("builds");
            let sum: u64 = context.messages.iter().map(|message| estimate_or_zero(&message.size)).sum();
            assert_eq!(prompt.weights.pi, sum, "{}", session.index.display_id(prompt.entry));
            assert_eq!(prompt.boundary, context.compaction);
            calls += 1;
        }
    }
    assert!(calls > 500, "{calls} calls");
}

#[test]
fn a_fit_is_always_closer_than_chars_over_four() {
    let mut fitted = 0;
    for session in demos() {
        let estimates = read(&session, &mut |_, _| true).expect("memory is readable");
        let (Ok(fit), Some(pi)) = (&estimates.calibration, estimates.deviation(Estimator::Pi)) else {
            continue;
        };
        let weights = message_weights::weigh_path(&session, &mut |_, _| true).expect("readable");
        let calls = walk::walk_path(&session, &weights).calls;
        assert_eq!(calibrate(&calibration_samples(&calls)).as_ref(), Ok(fit));
        let fit = estimates.deviation(Estimator::Calibrated).expect("a number for every call");
        assert!(fit.mean <= pi.mean && fit.mean < 0.1, "{fit:?} {pi:?}");
        fitted += 1;
    }
    assert!(fitted >= 5, "{fitted} sessions");
}
