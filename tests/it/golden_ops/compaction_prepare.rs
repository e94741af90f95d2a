//! Op `compaction_prepare`: the summarised and the kept messages of a compaction, and the context after it.

use clawscope::context::tokens::estimate_context;
use clawscope::context::{ContextMessage, bodies, build_context};
use clawscope::gateway::compaction::pi_compaction;
use clawscope::gateway::ruleset::PiRelease;
use clawscope::ids::EntryIx;
use clawscope::js::{self, JsException, JsString, Object, Value};
use clawscope::policy::compact::{
    CompactionEntry, FileLists, Preparation, branch_entries, conversation_text_for, prepare,
};
use clawscope::store::body;
use sha2::{Digest, Sha256};

use super::estimates::{tokens_before, written};
use super::{Session, digest, number, object, or_throws};

pub(crate) fn answer(session: &Session) -> Result<Value, JsException> {
    let path = session.tree.branch(&session.index, &session.leaf);
    let read = |ix: EntryIx| body::read_entry(&session.source, &session.index, ix);
    let branch = branch_entries(&session.index, &path, read).expect("bodies");
    let keep = pi_compaction(session.case.get("settings")).keep_recent_tokens;
    let Some(preparation) = prepare(&branch, keep)? else {
        return Ok(object([("prepared", Value::Bool(false))]));
    };
    let inputs = preparation.read_texts(&branch, read).expect("bodies");
    let lists = inputs.files.to_lists();
    let first_kept = session.index.entry(preparation.first_kept).id;
    let text = |messages: &[Value]| {
        or_throws(conversation_text_for(PiRelease::OLDEST, messages).map(|text| described(&text)))
    };
    let mut result = Object::from([
        ("prepared", Value::Bool(true)),
        ("firstKeptEntryId", first_kept.map_or(Value::Null, |id| session.index.ids.value(id))),
        ("isSplitTurn", Value::Bool(preparation.is_split_turn())),
        ("tokensBefore", tokens_before(session, preparation.tokens_before)?),
        ("previousSummary", Value::from(inputs.previous_summary.clone())),
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
    if let Some(summary) = session.setting("summary").and_then(Value::as_str) {
        result.set("after", or_throws(context_after(session, &preparation, summary, lists)));
    }
    Ok(Value::Object(result))
}

/// A text by its chars and the hash of its JSON form.
fn described(text: &JsString) -> Value {
    let hash = Sha256::digest(js::stringify_str(text).as_bytes());
    let hex = hash.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    object([("chars", number(text.len() as f64)), ("sha256", Value::from(hex.as_str()))])
}

fn context_after(
    session: &Session,
    preparation: &Preparation,
    summary: &JsString,
    lists: FileLists,
) -> Result<Value, JsException> {
    let context = build_context(&session.index, &session.tree, &session.leaf)?;
    let mut summary = summary.clone();
    summary.push(&lists.section());
    let entry = CompactionEntry {
        summary,
        first_kept: preparation.first_kept,
        tokens_before: preparation.tokens_before,
        details: Some(lists),
        from_hook: None,
        checkpoint: None,
    };
    let leaf = context.leaf.expect("a prepared branch has a leaf");
    let entry = entry.to_json(&session.index, "n", leaf, session.now_ms());
    let after =
        clawscope::policy::compact::context_after(&session.index, &context, preparation.first_kept, &entry)?;
    let read = |message: &ContextMessage| bodies::read_message(&session.source, &session.index, message);
    let message = |item: &ContextMessage| after.message(item, read).expect("bodies");
    let messages: Vec<Value> = after.context.messages.iter().map(message).collect();
    let estimate = estimate_context(&after.context.messages);
    Ok(object([
        ("messages", Value::Array(messages.iter().map(digest).collect())),
        ("estimate", or_throws(estimate.map(|estimate| written(&messages, estimate)))),
    ]))
}
