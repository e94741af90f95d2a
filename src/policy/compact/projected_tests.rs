//! Tests for the cut of a projected branch.

use super::*;
use crate::gateway::ruleset::{PiRelease, ReadMode};
use crate::ids::{EntryIx, LineIds};
use crate::policy::compact::branch::{projected_branch_entries, system_tokens};
use crate::store::load::load_for_release;
use crate::store::source::Source;
use crate::units::Tokens;

/// Cuts a branch of these lines: the history, the turn prefix and the first kept entry.
fn cut(lines: &[&str], keep: f64) -> Option<(Vec<usize>, Vec<usize>, usize)> {
    let lines: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| format!(r#"{{"id":"e{at}","parentId":"e{}",{line}}}"#, at.wrapping_sub(1)))
        .collect();
    let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.join("\n"));
    let source = Source::from_memory("t.jsonl", text.into_bytes());
    let index =
        load_for_release(&source, ReadMode::Projected, &mut LineIds, &mut |_, _| true).expect("loads");
    let path: Vec<EntryIx> = index.iter().map(|(ix, _)| ix).collect();
    let branch = projected_branch_entries(&index, &path).expect("projects");
    let prepared =
        prepare_projected(&branch, system_tokens(&index, &branch), Tokens(keep)).expect("measurable")?;
    let places = |range: std::ops::Range<usize>| {
        range
            .filter(|at| is_summarised(PiRelease::NEWEST, &branch[*at]))
            .map(|at| branch[at].entry.index())
            .collect()
    };
    Some((places(prepared.history()), places(prepared.turn_prefix()), prepared.first_kept.index()))
}

const SYSTEM: &str = r#""type":"message","message":{"role":"system","content":"12345678"}"#;
const USER: &str = r#""type":"message","message":{"role":"user","content":"12345678"}"#;
const SAID: &str =
    r#""type":"message","message":{"role":"assistant","content":[{"type":"text","text":"12345678"}]}"#;

#[test]
fn previously_kept_messages_are_summarised_and_system_messages_never_are() {
    let compaction = r#""type":"compaction","summary":"s","firstKeptEntryId":"e1""#;
    let lines = [SYSTEM, USER, SAID, compaction, SYSTEM, USER, SAID, USER];
    assert_eq!(cut(&lines, 2.0), Some((vec![1, 2, 5, 6], vec![], 7)));
    assert_eq!(cut(&lines[..4], 0.0), None);
}

#[test]
fn an_oversized_tail_uses_the_last_cut_and_a_short_branch_has_none() {
    let result = r#""type":"message","message":{"role":"toolResult","toolCallId":"c","content":"12345678901234567890"}"#;
    assert_eq!(cut(&[USER, SAID, USER, SAID, result], 5.0), Some((vec![0, 1], vec![2], 3)));
    assert_eq!(cut(&[USER, SAID], 1e9), None);
}

#[test]
fn an_answer_that_a_recovery_left_out_takes_its_request_with_it() {
    let failed = r#""type":"message","message":{"role":"assistant","stopReason":"error","content":[]}"#;
    let gone = r#""type":"context_edit","targetId":"e3","replacement":null"#;
    assert_eq!(cut(&[USER, SAID, USER, failed, gone], 2.0), Some((vec![0, 1], vec![2], 3)));
    let other = r#""type":"context_edit","targetId":"e0","replacement":{"content":"x"}"#;
    assert_eq!(cut(&[USER, SAID, USER, failed, gone, other], 2.0), Some((vec![0, 1], vec![], 2)));
}
