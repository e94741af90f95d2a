//! Op `context`: the projected messages, the effect of opening on the file, and the system state.

use clawscope::context::llm::to_llm;
use clawscope::context::projection::project;
use clawscope::context::system::replay_system_messages;
use clawscope::gateway::ruleset::{PiChange, PiRelease};
use clawscope::js::{JsException, Object, Value};
use clawscope::store::entry::Role;
use clawscope::store::index::Index;
use clawscope::store::intern::ValueIx;
use clawscope::store::measure::role_of;
use clawscope::transcript::tree;

use super::super::opened_file::opening;
use super::super::{Session, digest, number, object, or_throws, throws};
use super::{built, described, id_of};

pub(super) fn answer(mut session: Session) -> Result<Value, JsException> {
    let opening = opening(&session);
    built(&mut session)?;
    let (index, context) = (&session.index, &session.context);
    let path = session.tree.branch(index, &session.leaf);
    let messages = session.messages();
    let llm: Result<Vec<Option<Value>>, JsException> =
        messages.iter().map(|message| to_llm_for(index.pi_release, message)).collect();
    let llm = llm.map_or_else(
        |JsException| throws(),
        |sent| Value::Array(sent.iter().flatten().map(digest).collect()),
    );
    let sources = project(index, &context.path)?.entries;
    let source = |(ix, count)| Value::Array(vec![id_of(index, ix), number(f64::from(count))]);
    let thinking = context.thinking_level.map_or(Value::from("off"), |word| word_or_null(index, word));
    Ok(object([
        ("entries", number(index.entries.len() as f64)),
        ("leafId", index.last().map_or(Value::Null, |ix| id_of(index, ix))),
        ("path", Value::Array(path.into_iter().map(|ix| id_of(index, ix)).collect())),
        ("name", name(index)),
        ("opening", Value::from(opening)),
        ("thinkingLevel", thinking),
        ("model", model(&session)),
        ("system", or_throws(system(&session))),
        ("sources", Value::Array(sources.into_iter().map(source).collect())),
        ("messages", session.list(&messages)),
        ("llm", llm),
    ]))
}

/// Oracle of store-pi-1.5 D9: pi sends system messages on where a session keeps them. clawscope reads them apart, by
/// `replay_system_messages`, and never needs the list that is sent.
fn to_llm_for(pi: PiRelease, message: &Value) -> Result<Option<Value>, JsException> {
    let passes = pi.has(PiChange::KeepsSystemMessages) && role_of(message) == Role::System;
    if passes { Ok(Some(message.clone())) } else { to_llm(message) }
}

fn name(index: &Index) -> Value {
    if !index.pi_release.has(PiChange::ClearsNames) {
        return tree::session_name(index).map_or(Value::Null, |name| Value::from(name.as_str()));
    }
    or_throws(tree::last_session_name(index).map(|name| name.map_or(Value::Null, Value::String)))
}

fn system(session: &Session) -> Result<Value, JsException> {
    let Some(state) = replay_system_messages(&session.index, &session.context.messages)? else {
        return Ok(Value::Null);
    };
    let sections = state.sections().map(|(name, _)| Value::String(name.clone()));
    let tools = state.tools().map(|tool| tool.get("name").cloned().unwrap_or(Value::Null));
    Ok(object([
        ("prompt", described(&state.prompt())),
        ("sections", Value::Array(sections.collect())),
        ("tools", Value::Array(tools.collect())),
    ]))
}

fn word_or_null(index: &Index, word: ValueIx) -> Value {
    index.values.value(word).cloned().unwrap_or(Value::Null)
}

fn model(session: &Session) -> Value {
    let Some((provider, model)) = session.context.model else { return Value::Null };
    let mut object = Object::default();
    for (key, word) in [("provider", provider), ("modelId", model)] {
        if let Some(value) = session.index.values.value(word) {
            object.set(key, value.clone());
        }
    }
    Value::Object(object)
}
