//! Op `truncate_session`: the gateway's own rewriting, on a copy in memory that is opened, rewritten and opened again.

use std::path::Path;

use clawscope::context::{bodies, build_context};
use clawscope::js::{JsException, Object, Value};
use clawscope::policy::truncate::max_result_chars;
use clawscope::policy::truncate::session::{RewriteInput, RewriteOutcome, SessionRewrite, rewrite};
use clawscope::store::body;
use clawscope::store::index::Index;
use clawscope::store::source::Source;
use clawscope::transcript::{Leaf, Tree};
use clawscope::units::{Moment, Tokens};

use super::opened_file::{lines, upgraded};
use super::{CountedIds, digest, list_of, number, object, opened, throws, transcript};

pub(crate) fn answer(case: &Value, root: &Path) -> Result<Value, JsException> {
    let setting = |name: &str| case.get("settings").and_then(|settings| settings.get(name)?.as_f64());
    let window = setting("contextWindow").unwrap_or(f64::NAN);
    let mut ids = CountedIds(0);
    let bytes = std::fs::read(transcript(case, root)).expect("the transcript is read");
    let bytes = upgraded(bytes, &mut ids)?;
    let source = Source::from_memory("copy", bytes.clone());
    let index = opened(&source, &mut ids)?;
    let tree = Tree::new(&index);
    let now_ms = Moment(setting("now").unwrap_or(1_700_000_000_000.0));
    let session = RewriteInput { index: &index, tree: &tree, window: Tokens(window), now_ms };
    let rewritten =
        rewrite(&session, &mut ids, |ix| body::read_entry(&source, &index, ix)).expect("bodies are read");
    let known = lines(&bytes).len();
    let bytes = [bytes, rewritten.lines().into_bytes()].concat();
    let appended: Vec<Value> = lines(&bytes).into_iter().skip(known).collect();
    let source = Source::from_memory("copy", bytes);
    let index = opened(&source, &mut ids)?;
    Ok(object([
        ("result", reported(&rewritten)),
        ("maxChars", number(max_result_chars(Tokens(window)).get())),
        ("appended", list_of(case, &appended)),
        ("leafId", leaf_id(&index)),
        ("context", context(&source, &index)),
    ]))
}

fn reported(rewritten: &SessionRewrite) -> Value {
    let (truncated, count, reason) = match &rewritten.outcome {
        RewriteOutcome::Truncated { count } => (true, *count, None),
        RewriteOutcome::Failed { reason } => (false, 0, Some(reason)),
    };
    let mut result = Object::default();
    result.set("truncated", Value::Bool(truncated));
    result.set("truncatedCount", number(count as f64));
    if let Some(reason) = reason {
        result.set("reason", Value::from(reason.as_str()));
    }
    Value::Object(result)
}

fn leaf_id(index: &Index) -> Value {
    let id = index.last().and_then(|ix| index.entry(ix).id);
    id.map_or(Value::Null, |id| index.ids.value(id))
}

fn context(source: &Source, index: &Index) -> Value {
    let Ok(context) = build_context(index, &Tree::new(index), &Leaf::Own) else { return throws() };
    let messages = bodies::read_messages(source, index, &context).expect("bodies are read");
    Value::Array(messages.iter().map(digest).collect())
}
