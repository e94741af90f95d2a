//! The effect of opening on the file itself, an oracle of these cases (store J3, L4, store-pi-1.5 C3–C5). The program
//! only reads: it migrates in memory, and leaves the file to the runtime.

use clawscope::gateway::ruleset::PiRelease;
use clawscope::ids::EntryIx;
use clawscope::js::{self, JsException, Value};
use clawscope::store::body;
use clawscope::store::index::OpenStatus;
use clawscope::store::source::Source;

use super::{CountedIds, Session, opened};

/// The first release that completes a last line without an end.
const ENDS_LINES: PiRelease = PiRelease([0, 84, 4]);

/// Returns the effect of opening on the file (store-pi-1.5 C3–C5).
pub(crate) fn opening(session: &Session) -> &'static str {
    let len = session.source.len().expect("a length");
    let (to_v2, to_v3) = session.index.migration_steps();
    if session.index.open_status == OpenStatus::Empty {
        "header-written"
    } else if to_v2 || to_v3 || session.index.version().is_nan() {
        "rewritten"
    } else if session.index.pi_release >= ENDS_LINES
        && len > 0
        && session.source.read_span(len - 1, 1).expect("a byte") != b"\n"
    {
        "newline-added"
    } else {
        "unchanged"
    }
}

/// The file after the runtime opened it: emptied where it has no header, an old one in the form of version 3
/// (store J3, L4).
pub(crate) fn upgraded(bytes: Vec<u8>, ids: &mut CountedIds) -> Result<Vec<u8>, JsException> {
    let source = Source::from_memory("copy", bytes.clone());
    let index = opened(&source, ids)?;
    if index.header.is_none() {
        return Ok(b"{\"type\":\"session\",\"version\":3,\"id\":\"fresh\"}\n".to_vec());
    }
    // A version that is not a number compares false with everything and is still written again (store L1).
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
pub(crate) fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    text.trim_matches(js::is_trimmed).split('\n').filter_map(|line| js::parse(line).ok()).collect()
}
