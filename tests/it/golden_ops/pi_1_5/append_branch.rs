//! Op `append_branch`: steps of the session object, and the resulting file.

use clawscope::context::{bodies, build_context};
use clawscope::ids::IdSource;
use clawscope::js::{self, JsException, JsString, Value};
use clawscope::store::entry::EntryKind;
use clawscope::store::load::FilePrefix;
use clawscope::store::source::Source;
use clawscope::transcript::{Leaf, Tree};

use super::super::opened_file::opening;
use super::super::{CountedIds, Session, digest, list_of, object, or_throws, throws};
use super::session_object::{CompactionMembers, SessionObject};
use super::{described, index_of};
use crate::support::driver::{append_to, append_to_new};

pub(super) fn answer(session: &Session) -> Result<Value, JsException> {
    let mut ids = session.fresh_ids();
    let leaf = session.tree.leaf(&session.index, &session.leaf);
    let opened = opened_bytes(session);
    let mut appended = SessionObject::new(session.index.clone(), leaf, session.now_ms());
    let steps = session.setting("steps").and_then(Value::as_array).unwrap_or_default();
    let done: Vec<Value> = steps.iter().map(|one| or_throws(step(&mut appended, one, &mut ids))).collect();
    let tail = appended.text().to_owned();
    let (_folder, source, prefix) = written(&opened, &tail);
    let index = index_of(session.index.pi_release, &source, &mut CountedIds(0))?;
    let lines: Vec<Value> = tail.lines().map(|line| js::parse(line).expect("a line")).collect();
    let context = build_context(&index, &Tree::new(&index), &Leaf::Own).map(|context| {
        let messages = bodies::read_messages(&source, &index, &context).expect("bodies");
        Value::Array(messages.iter().map(digest).collect())
    });
    let reopened = index.last().and_then(|ix| index.entry(ix).id).map(|id| index.ids.value(id));
    Ok(object([
        ("opening", Value::from(opening(session))),
        ("steps", Value::Array(done)),
        ("prefixUnchanged", Value::Bool(prefix.is_unchanged_in(&source))),
        ("tail", described(&JsString::from(tail))),
        ("appended", list_of(&session.case, &lines)),
        ("leafId", appended.leaf_id().unwrap_or(Value::Null)),
        ("reopenedLeafId", reopened.unwrap_or(Value::Null)),
        ("context", context.unwrap_or_else(|JsException| throws())),
    ]))
}

/// The file with the tail after it, and its prefix before the append.
fn written(opened: &[u8], tail: &str) -> (tempfile::TempDir, Source, FilePrefix) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("copy.jsonl");
    append_to_new(&path, std::str::from_utf8(opened).expect("text"));
    let before = Source::open(&path).expect("the copy opens");
    let prefix = FilePrefix::read(&before, opened.len() as u64).expect("the prefix");
    append_to(&path, tail);
    (folder, Source::open(&path).expect("the copy opens"), prefix)
}

/// The file as opening leaves it, but for the step of an old one to version 3, which is made again when it is read.
fn opened_bytes(session: &Session) -> Vec<u8> {
    let len = session.source.len().expect("a length");
    let mut bytes = session.source.read_span(0, len as usize).expect("the bytes");
    if bytes.last().is_some_and(|byte| *byte != b'\n') {
        bytes.push(b'\n');
    }
    bytes
}

fn step(appended: &mut SessionObject, step: &Value, ids: &mut dyn IdSource) -> Result<Value, JsException> {
    let json = |key: &str| step.get(key).map(js::stringify);
    let text = |key: &str| step.get(key).and_then(Value::as_str).map(JsString::to_string_lossy);
    let own = |keys: &[&'static str]| keys.iter().map(|key| (*key, json(key))).collect::<Vec<_>>();
    let id = match text("do").expect("a step says what it does").as_str() {
        "branch" => {
            appended.branch(text("id").as_deref())?;
            return Ok(Value::Null);
        }
        "message" => appended.append(EntryKind::Message, &own(&["message"]), ids),
        "thinking_level_change" => {
            appended.append(EntryKind::ThinkingLevelChange, &own(&["thinkingLevel"]), ids)
        }
        "model_change" => appended.append(EntryKind::ModelChange, &own(&["provider", "modelId"]), ids),
        "usage" => appended.append_usage(&own(&["kind", "provider", "model", "usage"]), text("note"), ids),
        "compaction" => {
            let kept = step.get("firstKeptEntryId").filter(|id| !id.is_null());
            let members = CompactionMembers {
                summary: step.get("summary").and_then(Value::as_str).expect("a summary"),
                tokens_before: step.get("tokensBefore"),
                details: step.get("details"),
                usage: step.get("usage"),
                from_hook: step.get("fromHook"),
            };
            appended.append_compaction(kept, members, ids)?
        }
        "custom" => appended.append_custom(EntryKind::Custom, &own(&["customType", "data"]), ids),
        "custom_message" => {
            let keys = ["customType", "content", "display", "details"];
            appended.append_custom(EntryKind::CustomMessage, &own(&keys), ids)
        }
        "session_info" => appended.append_name(&text("name").expect("a name"), ids),
        "label" => appended.append_label(&text("targetId").expect("a target"), text("label"), ids)?,
        "context_edit" => {
            let target = text("targetId").expect("a target");
            appended.append_edit(&target, step.get("replacement").expect("a replacement"), ids)?
        }
        "branch_summary" => {
            let own = own(&["summary", "details", "usage", "fromHook"]);
            appended.append_branch_summary(text("id").as_deref(), &own, ids)?
        }
        other => panic!("unknown step {other}"),
    };
    Ok(Value::from(id))
}
