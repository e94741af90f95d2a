//! The ops of the golden cases, each answered through the library's ordinary functions.

mod chunks;
mod clear_tool_uses;
mod compaction_prepare;
mod context;
mod estimates;
mod history_limit;
mod history_share;
mod opened_file;
mod overflow_match;
mod overflowed_answer;
mod pi_1_5;
mod prune;
mod releases;
mod repair;
mod tokens;
mod truncate;
mod truncate_session;
mod window;

use std::path::{Path, PathBuf};

use clawscope::context::{Context, build_context};
use clawscope::gateway::ruleset::PiRelease;
use clawscope::ids::IdSource;
use clawscope::js::{self, JsException, JsString, Object, Value};
use clawscope::policy::repair::RepairRules;
use clawscope::store::index::{Index, OpenStatus};
use clawscope::store::load::load;
use clawscope::store::source::Source;
use clawscope::transcript::{Leaf, Tree};
use clawscope::units::Moment;
use sha2::{Digest, Sha256};

/// The ruleset that these ops follow.
const REFERENCE: &str = "openclaw-2026.3.2";
/// The ruleset that the ops of [`pi_1_5`] follow.
const PI_1_5: &str = "pi-1.5.2";

/// The answer to a case; `None` where the op or the ruleset is not built.
pub(crate) fn answer(ruleset: &str, op: &str, case: &Value, root: &Path) -> Option<Value> {
    let result = match op {
        op if ruleset == PI_1_5 => pi_1_5::answer(PiRelease::NEWEST, op, case, root)?,
        _ if ruleset != REFERENCE => releases::answer(ruleset, op, case, root)?,
        "context" => on_session(case, root).map(|session| context::answer(&session)),
        "tokens" => on_session(case, root).map(|session| tokens::answer(&session)),
        "prune" => on_session(case, root).map(|session| prune::answer(&session)),
        "compaction_prepare" => {
            open_session(case, root).and_then(|session| compaction_prepare::answer(&session))
        }
        "chunks" => on_session(case, root).map(|session| chunks::answer(&session)),
        "history_share" => on_session(case, root).and_then(|session| history_share::answer(&session)),
        "repair" => on_session(case, root).map(|session| repair::answer(&session, RepairRules::default())),
        "history_limit" => on_session(case, root).map(|session| history_limit::answer(&session)),
        "truncate" => on_session(case, root).map(|session| truncate::answer(&session)),
        "truncate_session" => truncate_session::answer(case, root),
        "overflow_match" => overflow_match::answer(case, root),
        "clear_tool_uses" => on_session(case, root).and_then(|session| clear_tool_uses::answer(&session)),
        "window" => Ok(window::answer(case)),
        _ => return None,
    };
    Some(object([("op", Value::from(op)), ("result", result.unwrap_or_else(|JsException| throws()))]))
}

/// The answer to a case of a release of pi; `None` where the op is not built.
pub(crate) fn answer_of_pi(pi: PiRelease, op: &str, case: &Value, root: &Path) -> Option<Value> {
    let result = pi_1_5::answer(pi, op, case, root)?;
    Some(object([("op", Value::from(op)), ("result", result.unwrap_or_else(|JsException| throws()))]))
}

/// A case's session, opened as the runtime opens it, with the context for its leaf.
pub(crate) struct Session {
    pub(crate) case: Value,
    pub(crate) source: Source,
    pub(crate) index: Index,
    pub(crate) tree: Tree,
    pub(crate) leaf: Leaf,
    pub(crate) context: Context,
}

impl Session {
    pub(crate) fn setting(&self, name: &str) -> Option<&Value> {
        self.case.get("settings").and_then(|settings| settings.get(name))
    }

    pub(crate) fn now_ms(&self) -> Moment {
        Moment(self.setting("now").and_then(Value::as_f64).unwrap_or(1_700_000_000_000.0))
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        clawscope::context::bodies::read_messages(&self.source, &self.index, &self.context).expect("bodies")
    }

    /// Builds a list of messages, full or as digests, as the case requests.
    pub(crate) fn list(&self, messages: &[Value]) -> Value {
        list_of(&self.case, messages)
    }
}

pub(crate) fn list_of(case: &Value, messages: &[Value]) -> Value {
    let full = case.get("output").is_some_and(|output| output.str_is("full"));
    let item = |message: &Value| if full { message.clone() } else { digest(message) };
    Value::Array(messages.iter().map(item).collect())
}

/// Counts ids up: g0000001, g0000002, …
struct CountedIds(u32);

impl IdSource for CountedIds {
    fn next_id(&mut self, _line: u64, taken: &dyn Fn(&str) -> bool) -> String {
        loop {
            self.0 += 1;
            let id = format!("g{:07}", self.0);
            if !taken(&id) {
                return id;
            }
        }
    }
}

fn on_session(case: &Value, root: &Path) -> Result<Session, JsException> {
    let mut session = open_session(case, root)?;
    session.context = build_context(&session.index, &session.tree, &session.leaf)?;
    Ok(session)
}

/// Opens a case's session without its context.
fn open_session(case: &Value, root: &Path) -> Result<Session, JsException> {
    let source = Source::open(&transcript(case, root)).expect("the transcript opens");
    let index = opened(&source, &mut CountedIds(0))?;
    let leaf = match case.get("leaf") {
        None => Leaf::Own,
        Some(Value::String(id)) => Leaf::Id(id.to_string_lossy()),
        Some(_) => Leaf::Before,
    };
    let tree = Tree::new(&index);
    Ok(Session { case: case.clone(), source, index, tree, leaf, context: Context::default() })
}

fn transcript(case: &Value, root: &Path) -> PathBuf {
    let path = case.get("transcript").and_then(Value::as_str).expect("the case names a transcript");
    root.join(path.to_string_lossy())
}

/// A transcript as the runtime opens it; one without a header is emptied (store J3).
fn opened(source: &Source, new_ids: &mut CountedIds) -> Result<Index, JsException> {
    let index = load(source, new_ids, &mut |_, _| true).expect("the transcript is read");
    match index.open_status {
        OpenStatus::Throws { .. } => Err(JsException),
        OpenStatus::NoHeader => Ok(Index::new(source.path())),
        OpenStatus::Opens | OpenStatus::Empty => Ok(index),
    }
}

/// `{"throws": true}`.
pub(crate) fn throws() -> Value {
    object([("throws", Value::Bool(true))])
}

pub(crate) fn or_throws<T: Into<Value>>(value: Result<T, JsException>) -> Value {
    value.map_or_else(|JsException| throws(), Into::into)
}

pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut object = Object::default();
    for (key, value) in members {
        object.set(key, value);
    }
    Value::Object(object)
}

/// NaN and infinities are `null` in answers.
pub(crate) fn number(number: f64) -> Value {
    if number.is_finite() { Value::Number(number) } else { Value::Null }
}

/// Kind, bytes and hash of a message's canonical JSON.
pub(crate) fn digest(message: &Value) -> Value {
    let text = canonical(message);
    let hash = Sha256::digest(text.as_bytes());
    let hex = hash.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let mut digest = Object::default();
    let kind = ["role", "type"].iter().find_map(|key| message.get(key)?.as_str());
    if let Some(kind) = kind {
        digest.set("kind", Value::String(kind.clone()));
    }
    digest.set("bytes", Value::Number(text.len() as f64));
    digest.set("sha256", Value::from(hex.as_str()));
    Value::Object(digest)
}

/// Canonical JSON: keys sorted by UTF-16 units, no white space.
pub(crate) fn canonical(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        Value::Object(object) => {
            let mut members: Vec<(&JsString, &Value)> = object.iter().collect();
            members.sort_by(|a, b| a.0.cmp(b.0));
            let member = |(key, value): (&JsString, &Value)| {
                format!("{}:{}", js::stringify_str(key), canonical(value))
            };
            format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
        }
        other => js::stringify(other),
    }
}
