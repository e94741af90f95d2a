//! Op `compaction_prepare`: the summarised and the kept messages of a compaction of the projected branch, and the
//! context after it.

use std::collections::HashMap;

use clawscope::context::system::replay_system_messages;
use clawscope::context::{ContextMessage, bodies};
use clawscope::gateway::compaction::pi_compaction;
use clawscope::gateway::ruleset::{PiChange, Ruleset};
use clawscope::ids::{EntryIx, IdSource};
use clawscope::js::{JsException, JsString, Object, Value};
use clawscope::policy::compact::{
    CompactionEntry, CompactionInput, FileLists, Preparation, PreviousCompaction, branch_entries_for_runtime,
    context_after, conversation_text_for, projected_branch_entries,
};
use clawscope::store::body;
use clawscope::store::entry::ReadMode;

use super::super::estimates::{tokens_before, written};
use super::super::{CountedIds, Session, digest, object, or_throws};
use super::{branch_of, built, described};

pub(super) fn answer(mut session: Session) -> Result<Value, JsException> {
    let path = branch_of(&session);
    let read = |ix: EntryIx| body::read_entry(&session.source, &session.index, ix);
    let index = &session.index;
    let branch = match index.reading {
        ReadMode::Entries => branch_entries_for_runtime(index, &path, read).expect("bodies"),
        ReadMode::Projected => projected_branch_entries(index, &path)?,
    };
    let before = PreviousCompaction::read(&session.index, &branch, read).expect("bodies");
    let keep = pi_compaction(session.case.get("settings")).keep_recent_tokens;
    let compacting = CompactionInput { branch: &branch, previous: &before, weighted_tokens: &HashMap::new() };
    let Some(preparation) = compacting.prepare(Ruleset::for_pi(index.pi_release).rules(), keep)? else {
        return Ok(object([("prepared", Value::Bool(false))]));
    };
    let inputs = preparation.read_texts(&branch, read).expect("bodies");
    let lists = inputs.files.to_lists();
    let first_kept = session.index.entry(preparation.first_kept).id;
    let text = |messages: &[Value]| {
        or_throws(conversation_text_for(session.index.pi_release, messages).map(|text| described(&text)))
    };
    let mut result = Object::from([
        ("prepared", Value::Bool(true)),
        ("firstKeptEntryId", first_kept.map_or(Value::Null, |id| session.index.ids.value(id))),
        ("isSplitTurn", Value::Bool(preparation.is_split_turn())),
        ("tokensBefore", tokens_before(&session, preparation.tokens_before)?),
        ("previousSummary", inputs.previous_summary.clone().unwrap_or(Value::Null)),
        ("messagesToSummarize", session.list(&inputs.history)),
        ("turnPrefixMessages", session.list(&inputs.turn_prefix)),
        (
            "fileOps",
            object([
                ("read", Value::Array(inputs.files.read().to_vec())),
                ("written", Value::Array(inputs.files.written().to_vec())),
                ("edited", Value::Array(inputs.files.edited().to_vec())),
            ]),
        ),
        ("readFiles", Value::Array(lists.read.clone())),
        ("modifiedFiles", Value::Array(lists.modified.clone())),
        ("fileSection", Value::String(lists.section())),
        ("historyText", text(&inputs.history)),
        ("turnPrefixText", text(&inputs.turn_prefix)),
    ]);
    if let Some(summary) = session.setting("summary").and_then(Value::as_str).cloned() {
        result.set("after", or_throws(following(&mut session, &preparation, &summary, lists)));
    }
    Ok(Value::Object(result))
}

fn following(
    session: &mut Session,
    preparation: &Preparation,
    summary: &JsString,
    lists: FileLists,
) -> Result<Value, JsException> {
    built(session)?;
    let (index, context) = (&session.index, &session.context);
    let mut summary = summary.clone();
    summary.push(&lists.section());
    let now_ms = session.now_ms();
    let entry = CompactionEntry {
        summary,
        first_kept: preparation.first_kept,
        tokens_before: preparation.tokens_before,
        details: Some(lists),
        from_hook: Some(false),
        checkpoint: replay_system_messages(index, &context.messages)?
            .filter(|_| index.pi_release.has(PiChange::KeepsSystemMessages))
            .map(|state| state.message_at(now_ms)),
    };
    let leaf = context.leaf.expect("a prepared branch has a leaf");
    let id = session.fresh_ids().next_id(0, &|id| index.ids.find(id).is_some());
    let entry = entry.to_json(index, &id, leaf, now_ms);
    let after = context_after(index, context, preparation.first_kept, &entry)?;
    let read = |message: &ContextMessage| bodies::read_message(&session.source, index, message);
    let message = |item: &ContextMessage| after.message(item, read).expect("bodies");
    let messages: Vec<Value> = after.context.messages.iter().map(message).collect();
    Ok(object([
        ("entry", digest(&entry)),
        ("messages", Value::Array(messages.iter().map(digest).collect())),
        ("projected", or_throws(after.estimate.map(|estimate| written(&messages, estimate)))),
    ]))
}

impl Session {
    /// Returns ids after those that reading a version 1 file took.
    pub(super) fn fresh_ids(&self) -> CountedIds {
        let (to_v2, _) = self.index.migration_steps();
        CountedIds(if to_v2 { self.index.entries.len() as u32 } else { 0 })
    }
}
