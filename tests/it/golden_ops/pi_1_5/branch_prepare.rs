//! Op `branch_prepare`: the summarised messages of an abandoned branch.

use clawscope::ids::EntryIx;
use clawscope::js::{JsException, Value};
use clawscope::policy::compact::conversation_text_for;
use clawscope::store::body;

use super::super::{Session, number, object, or_throws};
use super::branch_summary::{find_left_branch, prepare_branch_summary};
use super::{described, id_of};

/// Tokens of a window that is not known.
const ASSUMED_WINDOW: f64 = 128_000.0;

pub(super) fn answer(session: &Session) -> Result<Value, JsException> {
    let index = &session.index;
    let found = |value: &Value| {
        let id = value.as_str()?.to_string_lossy();
        session.tree.find_by_text(index, &id)
    };
    let from = match session.setting("from") {
        None => index.last(),
        Some(Value::Null) => None,
        Some(id) => found(id),
    };
    let target = session.setting("target").and_then(found).ok_or(JsException)?;
    let left = find_left_branch(&session.index, &session.tree, from, target);
    let budget = budget(session);
    let read = |ix: EntryIx| body::read_entry(&session.source, index, ix);
    let leaving = prepare_branch_summary(index, &left.entries, budget, read).expect("bodies")?;
    let files = &leaving.files;
    let text = conversation_text_for(index.pi_release, &leaving.messages).map(|text| described(&text));
    Ok(object([
        ("commonAncestorId", left.ancestor.map_or(Value::Null, |ix| id_of(index, ix))),
        ("entries", Value::Array(left.entries.iter().map(|ix| id_of(index, *ix)).collect())),
        ("tokenBudget", number(budget)),
        ("totalTokens", number(leaving.total_tokens.get())),
        ("messages", session.list(&leaving.messages)),
        (
            "fileOps",
            object([
                ("read", Value::Array(files.read().to_vec())),
                ("written", Value::Array(files.written().to_vec())),
                ("edited", Value::Array(files.edited().to_vec())),
            ]),
        ),
        ("fileSection", Value::String(files.to_lists().section())),
        ("text", or_throws(text)),
    ]))
}

fn budget(session: &Session) -> f64 {
    let of = |name| session.setting(name).and_then(Value::as_f64);
    of("contextWindow").map_or(0.0, |window| {
        let window = if window == 0.0 { ASSUMED_WINDOW } else { window };
        window - of("reserveTokens").unwrap_or(16_384.0)
    })
}
