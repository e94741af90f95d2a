//! Whatever a transcript holds and whichever results change: the old bytes stay, the context read back
//! is the planned one, ids are unique, parents exist, labels follow, and undo brings the old context back.

use std::collections::HashSet;

use clawscope::commit::{SystemClock, UndoTarget, write};
use clawscope::ids::EntryIx;
use clawscope::js::{self, Value};
use clawscope::plan::EntryChange;
use proptest::prelude::*;

use crate::branch::labels_in_force;
use crate::generate::{Dice, Options, transcript};
use crate::session::Session;

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

/// Ids of all entries, which must differ, and every parent that one of them names must be there.
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

/// The context with the changes put into the old one, in plain terms: timestamps of messages that are
/// built from entries, and ids they name, may differ.
fn put_into(session: &Session, changes: &[EntryChange]) -> Vec<String> {
    let context =
        clawscope::context::build(&session.index, &session.tree, &clawscope::transcript::Leaf::Own).unwrap();
    let change =
        |ix| changes.iter().find(|change| change.entry == ix).map(|change| js::stringify(&change.message));
    let old = session.context();
    context
        .messages
        .iter()
        .zip(old)
        .map(|(message, old)| change(message.entry).unwrap_or(old))
        .map(|json| plain(&json))
        .collect()
}

fn plain(json: &str) -> String {
    let mut value = js::parse(json).unwrap();
    let built = ["custom", "branchSummary", "compactionSummary"];
    if built.iter().any(|role| value.get("role").is_some_and(|value| value.str_is(role)))
        && let Some(object) = value.as_object_mut()
    {
        object.remove("timestamp");
        object.remove("fromId");
    }
    js::stringify(&value)
}

fn commit_and_undo(seed: u64, options: &Options) {
    let bytes = transcript(seed, options);
    let session = Session::new(&bytes);
    let changes = changes(&session, &mut Dice::new(seed ^ 0xC1A5));
    if changes.is_empty() {
        return;
    }
    let (before, old_entries) = (session.context(), session.index.entries.len());
    let wanted = put_into(&session, &changes);
    let prepared = session.prepare(changes).unwrap_or_else(|refusal| panic!("seed {seed}: {refusal}"));
    let planned = session.planned(&prepared);
    let written = write(&prepared, 0, &SystemClock).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!(written.receipt.id, prepared.leaf);
    let session = session.reload();
    let after = session.bytes();
    assert!(after.starts_with(&bytes), "seed {seed}: the old bytes changed");
    assert_eq!(after.len() as u64, written.offset + written.bytes);
    assert_eq!(session.context(), planned, "seed {seed}");
    assert_eq!(planned.iter().map(|json| plain(json)).collect::<Vec<_>>(), wanted, "seed {seed}");
    ids_and_parents_hold(&after, values(&bytes).len());
    let (old_labels, labels) = (labels_in_force(&bytes), labels_in_force(&after));
    for (ix, _) in session.index.iter().take(old_entries) {
        let id = session.index.name(ix);
        assert_eq!(labels.get(&id), old_labels.get(&id), "seed {seed}, label of {id}");
    }
    for line in &prepared.lines {
        if let Some(old) = line.copy_of.map(|ix| session.index.name(ix)) {
            assert_eq!(labels.get(&line.id), old_labels.get(&old), "seed {seed}, label of the copy of {old}");
        }
    }
    let undo = session.prepare_undo(UndoTarget::LastCommit).unwrap();
    write(&undo, 0, &SystemClock).unwrap();
    let session = session.reload();
    assert!(session.bytes().starts_with(&after));
    assert_eq!(session.context(), before, "seed {seed}: undo");
    ids_and_parents_hold(&session.bytes(), values(&bytes).len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_commit_only_appends_and_reads_back_as_planned(seed: u64, steps in 0_usize..24) {
        commit_and_undo(seed, &Options { steps, ..Options::default() });
    }
}

#[test]
fn the_same_holds_for_a_long_transcript_with_a_thousand_entries() {
    commit_and_undo(7, &Options { steps: 300, result_pieces: 8, ..Options::default() });
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
