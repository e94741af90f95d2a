//! Resolves labels and the session's name over the whole file (store K8, K9).

use std::collections::HashMap;

use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::js::{JsException, JsString, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::transcript::Tree;

/// Returns the label of each labelled entry. The last value on any branch wins; an empty one clears the label.
pub fn resolve_labels(index: &Index, tree: &Tree) -> HashMap<EntryIx, String> {
    let mut labels = HashMap::new();
    for (_, entry) in index.auxiliary_entries().filter(|(_, entry)| entry.kind == EntryKind::Label) {
        let Some(target) = entry.reference.and_then(|id| tree.find(id)) else { continue };
        match index.values.text(entry.payload).filter(|text| !text.is_empty()) {
            Some(text) => labels.insert(target, text),
            None => labels.remove(&target),
        };
    }
    labels
}

/// Returns the session's name: the last non-empty one on any branch. In newer runtimes an empty last name clears it
/// (store-pi-1.5 B6).
pub fn session_name(index: &Index) -> Option<String> {
    if index.pi_release.has(PiChange::ClearsNames) {
        return last_session_name(index).ok().flatten().map(|name| name.to_string_lossy());
    }
    let names = index.auxiliary_entries().rev().filter(|(_, entry)| entry.kind == EntryKind::SessionInfo);
    names.filter_map(|(_, entry)| index.values.text(entry.payload)).find(|name| !name.trim().is_empty())
}

/// Returns the last name in the file, trimmed; `None` when it is absent or blank. Errors when it is not a text.
pub fn last_session_name(index: &Index) -> Result<Option<JsString>, JsException> {
    let last = index.auxiliary_entries().rev().find(|(_, entry)| entry.kind == EntryKind::SessionInfo);
    match last.and_then(|(_, entry)| index.values.value(entry.payload)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.trim()).filter(|name| !name.is_empty())),
        Some(_) => Err(JsException),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    #[test]
    fn a_session_name_keeps_half_a_surrogate_pair() {
        let text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"session_info\",\"id\":\"a\",\"parentId\":null,\"name\":\" x\\ud83d \"}\n";
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let name = last_session_name(&index).unwrap().unwrap();
        assert_eq!(crate::js::stringify(&Value::String(name)), "\"x\\ud83d\"");
    }
}
