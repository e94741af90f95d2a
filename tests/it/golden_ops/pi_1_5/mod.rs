//! The ops of the cases of pi, each answered through the library's ordinary functions.

mod append_branch;
mod automatic_compaction;
mod branch_prepare;
mod branch_summary;
mod compaction_check;
mod compaction_prepare;
mod context;
mod overflow_match;
mod session_object;
mod tokens;

use std::path::Path;

use clawscope::context::{Context, build_context};
use clawscope::gateway::ruleset::PiRelease;
use clawscope::ids::EntryIx;
use clawscope::js::{self, JsException, JsString, Value};
use clawscope::policy::overflow::Runtime;
use clawscope::store::index::{Index, OpenStatus};
use clawscope::store::load::load_for_release;
use clawscope::store::source::Source;
use clawscope::transcript::{Leaf, Tree};
use sha2::{Digest, Sha256};

use super::overflowed_answer::AnswerJudge;
use super::{CountedIds, Session, number, object, transcript};

/// The runtime whose detectors these cases use.
const NEWEST_RUNTIME: Runtime<'_> = Runtime::Pi("1.5.2");

/// Judges answers as that runtime does, with a window of this many tokens.
fn judge(window: Option<f64>) -> AnswerJudge<'static> {
    AnswerJudge { runtime: NEWEST_RUNTIME, window, counts_length: true }
}

/// The answer to a case; `None` where the op is not built.
pub(super) fn answer(
    pi: PiRelease,
    op: &str,
    case: &Value,
    root: &Path,
) -> Option<Result<Value, JsException>> {
    Some(match op {
        "context" => opened(pi, case, root).and_then(context::answer),
        "tokens" => moved(pi, case, root).and_then(tokens::answer),
        "compaction_prepare" => moved(pi, case, root).and_then(compaction_prepare::answer),
        "compaction_check" => moved(pi, case, root).and_then(compaction_check::answer),
        "branch_prepare" => opened(pi, case, root).and_then(|session| branch_prepare::answer(&session)),
        "append_branch" => opened(pi, case, root).and_then(|session| append_branch::answer(&session)),
        "overflow_match" => overflow_match::answer(pi, case, root),
        _ => return None,
    })
}

/// A case's session as a release of pi opens it; the case's leaf is that of its context.
fn opened(pi: PiRelease, case: &Value, root: &Path) -> Result<Session, JsException> {
    let source = Source::open(&transcript(case, root)).expect("the transcript opens");
    let index = index_of(pi, &source, &mut CountedIds(0))?;
    let (tree, leaf) = (Tree::new(&index), leaf_of(case));
    Ok(Session { case: case.clone(), source, index, tree, leaf, context: Context::default() })
}

fn leaf_of(case: &Value) -> Leaf {
    match case.get("leaf") {
        None => Leaf::Own,
        Some(Value::String(id)) => Leaf::Id(id.to_string_lossy()),
        Some(_) => Leaf::Before,
    }
}

/// The branch of the case's leaf, which is empty for an unknown one, whatever the session's own leaf is.
fn branch_of(session: &Session) -> Vec<EntryIx> {
    session.tree.branch(&session.index, &leaf_of(&session.case))
}

/// The same with the session's own leaf moved to the case's; an unknown one does not move it.
fn moved(pi: PiRelease, case: &Value, root: &Path) -> Result<Session, JsException> {
    let mut session = opened(pi, case, root)?;
    if let Leaf::Id(id) = &session.leaf
        && session.tree.find_by_text(&session.index, id).is_none()
    {
        session.leaf = Leaf::Own;
    }
    Ok(session)
}

fn built(session: &mut Session) -> Result<(), JsException> {
    session.context = build_context(&session.index, &session.tree, &session.leaf)?;
    Ok(())
}

/// A file that is not a session is refused; an empty one is begun (store-pi-1.5 C3).
fn index_of(pi: PiRelease, source: &Source, ids: &mut CountedIds) -> Result<Index, JsException> {
    let index = load_for_release(source, pi, ids, &mut |_, _| true).expect("the transcript is read");
    match index.open_status {
        OpenStatus::Throws { .. } | OpenStatus::NoHeader => Err(JsException),
        OpenStatus::Empty if !source.is_empty().expect("a length") => Err(JsException),
        OpenStatus::Opens | OpenStatus::Empty => Ok(index),
    }
}

/// A text by its chars and the hash of its JSON form.
fn described(text: &JsString) -> Value {
    let hash = Sha256::digest(js::stringify_str(text).as_bytes());
    let hex = hash.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    object([("chars", number(text.len() as f64)), ("sha256", Value::from(hex.as_str()))])
}

fn id_of(index: &Index, ix: EntryIx) -> Value {
    index.entry(ix).id.map_or(Value::Null, |id| index.ids.value(id))
}
