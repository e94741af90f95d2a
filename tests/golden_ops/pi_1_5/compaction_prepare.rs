//! Op `compaction_prepare`: what a compaction of the projected branch would summarise and keep, and what would follow.

use std::collections::HashMap;

use clawscope::context::system::system_state;
use clawscope::context::{ContextMessage, bodies};
use clawscope::gateway::compaction::pi_compaction;
use clawscope::gateway::ruleset::{PiChange, Ruleset};
use clawscope::ids::{EntryIx, NewIds};
use clawscope::js::{JsString, Object, Throws, Value};
use clawscope::policy::compact::{
    Before, Compacting, CompactionEntry, FileLists, Preparation, after, branch_as, conversation_as,
    projected_branch,
};
use clawscope::store::body;
use clawscope::store::entry::Reading;

use super::super::{CountedIds, Session, digest, number, object, or_throws};
use super::{built, described, estimate};

pub(super) fn answer(mut session: Session) -> Result<Value, Throws> {
    let path = session.tree.branch(&session.index, &session.leaf);
    let read = |ix: EntryIx| body::entry(&session.source, &session.index, ix);
    let index = &session.index;
    let branch = match index.reading {
        Reading::Entries => branch_as(index, &path, read).expect("bodies"),
        Reading::Projected => projected_branch(index, &path)?,
    };
    let before = Before::of(&session.index, &branch, read).expect("bodies");
    let keep = pi_compaction(session.case.get("settings")).keep_recent_tokens;
    let compacting = Compacting { branch: &branch, before: &before, tokens: &HashMap::new() };
    let Some(preparation) = compacting.prepare(Ruleset::of_pi(index.pi).rules(), keep)? else {
        return Ok(object([("prepared", Value::Bool(false))]));
    };
    let material = preparation.material(&branch, read).expect("bodies");
    let lists = material.files.lists();
    let first_kept = session.index.entry(preparation.first_kept).id;
    let text = |messages: &[Value]| {
        or_throws(conversation_as(session.index.pi, messages).map(|text| described(&text)))
    };
    let mut result = Object::from([
        ("prepared", Value::Bool(true)),
        ("firstKeptEntryId", first_kept.map_or(Value::Null, |id| session.index.ids.value(id))),
        ("isSplitTurn", Value::Bool(preparation.is_split_turn())),
        ("tokensBefore", number(preparation.tokens_before)),
        ("previousSummary", material.previous_summary.clone().unwrap_or(Value::Null)),
        ("messagesToSummarize", session.list(&material.history)),
        ("turnPrefixMessages", session.list(&material.turn_prefix)),
        (
            "fileOps",
            object([
                ("read", Value::Array(material.files.read().to_vec())),
                ("written", Value::Array(material.files.written().to_vec())),
                ("edited", Value::Array(material.files.edited().to_vec())),
            ]),
        ),
        ("readFiles", Value::Array(lists.read.clone())),
        ("modifiedFiles", Value::Array(lists.modified.clone())),
        ("fileSection", Value::String(lists.section())),
        ("historyText", text(&material.history)),
        ("turnPrefixText", text(&material.turn_prefix)),
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
) -> Result<Value, Throws> {
    built(session)?;
    let (index, context) = (&session.index, &session.context);
    let mut summary = summary.clone();
    summary.push(&lists.section());
    let now_ms = session.now_ms() as i64;
    let entry = CompactionEntry {
        summary,
        first_kept: preparation.first_kept,
        tokens_before: preparation.tokens_before,
        details: Some(lists),
        from_hook: Some(false),
        checkpoint: system_state(index, &context.messages)?
            .filter(|_| index.pi.has(PiChange::KeepsSystemMessages))
            .map(|state| state.message_at(now_ms)),
    };
    let leaf = context.leaf.expect("a prepared branch has a leaf");
    let id = session.fresh_ids().next_id(0, &|id| index.ids.find(id).is_some());
    let entry = entry.value(index, &id, leaf, now_ms);
    let after = after(index, context, preparation.first_kept, &entry)?;
    let read = |message: &ContextMessage| bodies::message(&session.source, index, message);
    let message = |item: &ContextMessage| digest(&after.message(item, read).expect("bodies"));
    Ok(object([
        ("entry", digest(&entry)),
        ("messages", Value::Array(after.context.messages.iter().map(message).collect())),
        ("projected", or_throws(after.estimate.map(estimate))),
    ]))
}

impl Session {
    /// Ids from behind those that reading a version 1 file took.
    pub(super) fn fresh_ids(&self) -> CountedIds {
        let (to_v2, _) = self.index.migration();
        CountedIds(if to_v2 { self.index.entries.len() as u32 } else { 0 })
    }
}
