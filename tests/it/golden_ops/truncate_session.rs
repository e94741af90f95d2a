//! Op `truncate_session`: the gateway's own rewriting, on a copy in memory that is opened, rewritten and opened again.

use std::path::Path;

use clawscope::context::{bodies, build_context};
use clawscope::ids::EntryIx;
use clawscope::js::{self, JsException, Object, Value};
use clawscope::policy::truncate::max_result_chars;
use clawscope::policy::truncate::session::{RewriteInput, RewriteOutcome, SessionRewrite, rewrite};
use clawscope::store::body;
use clawscope::store::index::Index;
use clawscope::store::source::Source;
use clawscope::transcript::{Leaf, Tree};

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
    let now_ms = setting("now").unwrap_or(1_700_000_000_000.0) as i64;
    let session = RewriteInput { index: &index, tree: &tree, window, now_ms };
    let rewritten =
        rewrite(&session, &mut ids, |ix| body::read_entry(&source, &index, ix)).expect("bodies are read");
    let known = lines(&bytes).len();
    let bytes = [bytes, rewritten.lines().into_bytes()].concat();
    let appended: Vec<Value> = lines(&bytes).into_iter().skip(known).collect();
    let source = Source::from_memory("copy", bytes);
    let index = opened(&source, &mut ids)?;
    Ok(object([
        ("result", reported(&rewritten)),
        ("maxChars", number(max_result_chars(window))),
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

/// The file after the runtime opened it: emptied where it has no header, an old one in the form of version 3
/// (store J3, L4).
fn upgraded(bytes: Vec<u8>, ids: &mut CountedIds) -> Result<Vec<u8>, JsException> {
    let source = Source::from_memory("copy", bytes.clone());
    let index = opened(&source, ids)?;
    if index.header.is_none() {
        return Ok(b"{\"type\":\"session\",\"version\":3,\"id\":\"fresh\"}\n".to_vec());
    }
    // A version that is no number compares false with everything and is written again all the same (store L1).
    if index.version() >= 3.0 {
        return Ok(bytes);
    }
    let mut entries = (0..index.entries.len() as u32).map(EntryIx);
    let mut text = String::new();
    for mut line in lines(&bytes) {
        match line.as_object_mut().filter(|line| line.get("type").is_some_and(|kind| kind.str_is("session")))
        {
            Some(header) if index.version() < 3.0 => header.set("version", Value::from(3)),
            Some(_) => {}
            None => {
                let ix = entries.next().expect("every line but a header is an entry");
                line = body::read_entry(&source, &index, ix).expect("bodies are read");
            }
        }
        text += &js::stringify(&line);
        text.push('\n');
    }
    Ok(text.into_bytes())
}

/// Every line that parses, headers included, as the runtime reads a file (store I1a).
fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    text.trim_matches(js::is_trimmed).split('\n').filter_map(|line| js::parse(line).ok()).collect()
}
