//! Op `context`: leaf, path, model and messages of a session.

use clawscope::context::llm::to_llm;
use clawscope::ids::EntryIx;
use clawscope::js::{JsException, Object, Value};
use clawscope::store::intern::ValueIx;

use super::{Session, digest, object, throws};

pub(crate) fn answer(session: &Session) -> Value {
    let (index, context) = (&session.index, &session.context);
    let id = |ix: EntryIx| index.entry(ix).id.map_or(Value::Null, |id| index.ids.value(id));
    let path = session.tree.branch(index, &session.leaf);
    let messages = session.messages();
    let llm: Result<Vec<Option<Value>>, JsException> = messages.iter().map(to_llm).collect();
    let llm = llm.map_or_else(
        |JsException| throws(),
        |sent| Value::Array(sent.iter().flatten().map(digest).collect()),
    );
    let thinking = context.thinking_level.map_or(Value::from("off"), |word| word_or_null(session, word));
    object([
        ("entries", Value::Number(index.entries.len() as f64)),
        ("leafId", index.last().map_or(Value::Null, id)),
        ("path", Value::Array(path.into_iter().map(id).collect())),
        ("thinkingLevel", thinking),
        ("model", model(session)),
        ("messages", session.list(&messages)),
        ("llm", llm),
    ])
}

fn word_or_null(session: &Session, word: ValueIx) -> Value {
    session.index.values.value(word).cloned().unwrap_or(Value::Null)
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
