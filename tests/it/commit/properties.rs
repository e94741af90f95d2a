//! For any transcript and any changed results: the old bytes stay, the context read back
//! is the planned one, ids are unique, parents exist, labels follow, and undo brings the old context back.

use std::collections::HashSet;

use clawscope::commit::{PlannedCompaction, Refusal, SystemClock, UndoTarget, write};
use clawscope::ids::EntryIx;
use clawscope::js::{self, Value};
use clawscope::plan::EntryChange;
use clawscope::store::entry::EntryKind;
use clawscope::units::Millis;
use proptest::prelude::*;

use super::branch::labels_in_force;
use crate::support::generate::{Dice, Options, transcript};
use crate::support::inspected::plain;
use crate::support::session::Session;

/// Some of the results on the active path, with shorter texts; lone surrogates among them.
fn changes(session: &Session, dice: &mut Dice) -> Vec<EntryChange> {
    let results = session.results();
    let mut chosen: Vec<EntryIx> = results.iter().copied().filter(|_| dice.once_in(2)).collect();
    if chosen.is_empty() {
        chosen = results;
    }
    chosen
        .into_iter()
        .map(|ix| session.replace(ix, dice.one_of(&["", "cut ... here", "😀\n\u{2028}"])))
        .collect()
}

fn values(bytes: &[u8]) -> Vec<Value> {
    String::from_utf8_lossy(bytes).lines().map(|line| js::parse(line).unwrap()).collect()
}

/// Asserts that the ids of all entries differ, and that every named parent exists.
fn ids_and_parents_hold(bytes: &[u8], old_lines: usize) {
    let values = values(bytes);
    let mut ids = HashSet::new();
    for value in &values[1..] {
        let id = js::stringify(value.get("id").unwrap());
        assert!(ids.insert(id.clone()), "{id} twice");
    }
    for value in &values[old_lines..] {
        let parent = value.get("parentId").unwrap();
        assert!(parent.is_null() || ids.contains(&js::stringify(parent)), "{value:?}");
    }
}

/// The context with the changes put into the old one, in plain terms, and after a compaction its kept part:
/// the messages of the path from the first kept entry on, after the summary. Timestamps of messages that are built
/// from entries, and ids they name, may differ.
fn put_into(
    session: &Session,
    changes: &[EntryChange],
    compaction: Option<&PlannedCompaction>,
) -> Vec<String> {
    let context =
        clawscope::context::build_context(&session.index, &session.tree, &clawscope::transcript::Leaf::Own)
            .unwrap();
    let change =
        |ix| changes.iter().find(|change| change.entry == ix).map(|change| js::stringify(&change.message));
    let kept = compaction.map(|compaction| {
        let from = context.path.iter().position(|ix| *ix == compaction.first_kept).unwrap();
        context.path[from..].iter().copied().collect::<HashSet<_>>()
    });
    let stays =
        |ix: &EntryIx| kept.as_ref().is_none_or(|kept| kept.contains(ix) && Some(*ix) != context.compaction);
    let summary = compaction.map(|compaction| {
        let (text, tokens) = (
            js::stringify_str(&compaction.summary),
            js::stringify(&Value::Number(compaction.tokens_before.get())),
        );
        format!(r#"{{"role":"compactionSummary","summary":{text},"tokensBefore":{tokens}}}"#)
    });
    let old = session.context();
    let messages = context.messages.iter().zip(old).filter(|(message, _)| stays(&message.entry));
    let messages = messages.map(|(message, old)| change(message.entry).unwrap_or(old));
    summary.into_iter().chain(messages).map(|json| plain(&json)).collect()
}

/// The content of a commit: edits, a compaction that keeps about this many tokens, or both.
#[derive(Debug, Clone, Copy, PartialEq)]
enum WriteKind {
    Edits,
    Compaction(f64),
    Both(f64),
}

fn commit_and_undo(seed: u64, options: &Options, requested: WriteKind) {
    let bytes = transcript(seed, options);
    let session = Session::new(&bytes);
    let compaction = match requested {
        WriteKind::Edits => None,
        WriteKind::Compaction(keep) | WriteKind::Both(keep) => {
            session.compaction(keep, "So far \u{1F600}.\n\n- all")
        }
    };
    let changes = match requested {
        WriteKind::Compaction(_) => Vec::new(),
        _ => changes(&session, &mut Dice::new(seed ^ 0xC1A5)),
    };
    if changes.is_empty() && compaction.is_none() {
        return;
    }
    let (before, old_entries) = (session.context(), session.index.entries.len());
    let wanted = put_into(&session, &changes, compaction.as_ref());
    let copies = !changes.is_empty();
    // Usage of model work outside the conversation is not copied.
    let path = session.tree.path_to(&session.index, session.index.last().unwrap());
    let mut kinds = path.iter().rev().map(|ix| session.index.entry(*ix).kind);
    let ends_in_compaction =
        compaction.is_some() || kinds.find(|kind| *kind != EntryKind::Usage) == Some(EntryKind::Compaction);
    let prepared = match session.prepare_with(changes, compaction) {
        Ok(prepared) => prepared,
        // A cut between a call and a result much later (store P5).
        Err(Refusal::Unpaired { .. }) if requested != WriteKind::Edits => return,
        Err(refusal) => panic!("seed {seed}: {refusal}"),
    };
    assert_eq!(prepared.lines.iter().any(|line| line.copy_of.is_some()), copies, "seed {seed}");
    let planned = session.planned(&prepared);
    let written =
        write(&prepared, Millis::ZERO, &SystemClock).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!((&written.receipt.id, &written.leaf), (&prepared.record_id, &prepared.leaf));
    assert_eq!(prepared.record_id == prepared.leaf, !ends_in_compaction, "seed {seed}: what ends the branch");
    let session = session.reload();
    let after = session.bytes();
    assert!(after.starts_with(&bytes), "seed {seed}: the old bytes changed");
    assert_eq!(after.len() as u64, written.offset + written.bytes.get());
    assert_eq!(session.context(), planned, "seed {seed}");
    assert_eq!(planned.iter().map(|json| plain(json)).collect::<Vec<_>>(), wanted, "seed {seed}");
    ids_and_parents_hold(&after, values(&bytes).len());
    let (old_labels, labels) = (labels_in_force(&bytes), labels_in_force(&after));
    for (ix, _) in session.index.iter().take(old_entries) {
        let id = session.index.display_id(ix);
        assert_eq!(labels.get(&id), old_labels.get(&id), "seed {seed}, label of {id}");
    }
    for line in &prepared.lines {
        if let Some(old) = line.copy_of.map(|ix| session.index.display_id(ix)) {
            assert_eq!(labels.get(&line.id), old_labels.get(&old), "seed {seed}, label of the copy of {old}");
        }
    }
    let undo = session.prepare_undo(UndoTarget::LastCommit).unwrap();
    write(&undo, Millis::ZERO, &SystemClock).unwrap();
    let session = session.reload();
    assert!(session.bytes().starts_with(&after));
    assert_eq!(session.context(), before, "seed {seed}: undo");
    ids_and_parents_hold(&session.bytes(), values(&bytes).len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_commit_only_appends_and_reads_back_as_planned(seed: u64, steps in 0_usize..24) {
        commit_and_undo(seed, &Options { steps, ..Options::default() }, WriteKind::Edits);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_compaction_only_appends_with_and_without_edits(seed: u64, steps in 0_usize..24, keep in 1_u32..600) {
        let options = Options { steps, ..Options::default() };
        commit_and_undo(seed, &options, WriteKind::Compaction(f64::from(keep)));
        commit_and_undo(seed, &options, WriteKind::Both(f64::from(keep)));
    }
}

#[test]
fn a_commit_on_a_thousand_entries_only_appends_and_reads_back() {
    let options = Options { steps: 300, result_pieces: 8, ..Options::default() };
    commit_and_undo(7, &options, WriteKind::Edits);
    commit_and_undo(7, &options, WriteKind::Both(20_000.0));
}

#[test]
fn generated_transcripts_hold_everything_they_promise() {
    let text: String =
        (0..40).map(|seed| String::from_utf8(transcript(seed, &Options::default())).unwrap()).collect();
    for part in [
        "\"type\":\"label\"",
        "\"type\":\"compaction\"",
        "\"type\":\"branch_summary\"",
        "\"fromId\":\"root\"",
        "\"type\":\"custom\"",
        "\"type\":\"custom_message\"",
        "\"type\":\"model_change\"",
        "\"type\":\"session_info\"",
        "\"type\":\"thinking_level_change\"",
        "\"type\":\"image\"",
        "\\ud83d ",
        "from_the_future",
        "context_edit",
        "\"type\":\"usage\"",
        "\"role\":\"bashExecution\"",
        "12345678901234567890",
        "\"type\": \"message\"",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(transcript(3, &Options::default()), transcript(3, &Options::default()));
}
