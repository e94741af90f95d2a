//! The entries of a branch as compaction looks at them (compaction 3.10).

use crate::context::bodies::message_of;
use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::store::entry::{EntryKind, MessageSize, Role};
use crate::store::index::Index;
use crate::store::scan::size_message;

/// One entry of a branch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BranchEntry {
    /// The entry.
    pub entry: EntryIx,
    /// Its type.
    pub kind: EntryKind,
    /// It can be named as the first one kept: it has an id.
    pub named: bool,
    /// Sizes of the message it contributes, where it does. Branch summaries do so even without a text.
    pub message: Option<MessageSize>,
    /// A `message` entry whose message is absent or null.
    pub no_message: bool,
}

impl BranchEntry {
    /// The role of a `message` entry's message.
    pub fn role(&self) -> Option<Role> {
        self.message.filter(|_| self.kind == EntryKind::Message).map(|message| message.role)
    }
}

/// The entries of a path, root first. `body` reads an entry; it is asked only for branch summaries
/// without a text, of which the index keeps no sizes.
pub fn branch<E>(
    index: &Index,
    path: &[EntryIx],
    body: impl Fn(EntryIx) -> Result<Value, E>,
) -> Result<Vec<BranchEntry>, E> {
    let entry = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        let message = match (entry.kind, entry.message) {
            (EntryKind::BranchSummary, None) => Some(size_message(&message_of(&body(*ix)?, entry.kind)).size),
            (_, message) => message.map(|size| size.read_as(index.reading)),
        };
        let id = entry.id.map(|id| index.ids.value(id));
        Ok(BranchEntry {
            entry: *ix,
            kind: entry.kind,
            named: js::truthy(id.as_ref()),
            message,
            no_message: entry.no_message,
        })
    };
    path.iter().map(entry).collect()
}

/// The message an entry contributes to what is summarised (compaction 3.10, 3.10c).
pub fn message_in_branch(entry: &Value, kind: EntryKind) -> Option<Value> {
    match kind {
        EntryKind::Message => Some(message_of(entry, kind)).filter(|message| js::truthy(Some(message))),
        EntryKind::CustomMessage | EntryKind::BranchSummary | EntryKind::Compaction => {
            Some(message_of(entry, kind))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::js::Throws;
    use crate::store::load::load_bytes;

    /// The pi chars of a branch summary with this `summary` member.
    fn chars(summary: &str) -> Result<f64, Throws> {
        let line = format!(r#"{{"type":"branch_summary","id":"a"{summary}}}"#);
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{line}\n");
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let body = |_| Ok::<_, ()>(js::parse(&line).expect("test JSON"));
        let branch = branch(&index, &[EntryIx(0)], body).expect("reads");
        branch[0].message.expect("contributes").pi_chars.get()
    }

    #[test]
    fn a_branch_summary_without_text_contributes_all_the_same_and_one_without_summary_throws() {
        assert_eq!(chars(r#","summary":"abc""#), Ok(3.0));
        assert_eq!(chars(r#","summary":"""#), Ok(0.0));
        assert!(chars(r#","summary":0"#).is_ok_and(f64::is_nan));
        assert_eq!(chars(""), Err(Throws));
    }

    #[test]
    fn a_falsy_message_contributes_nothing() {
        let entry = |message: &str| js::parse(&format!(r#"{{"message":{message}}}"#)).expect("test JSON");
        assert_eq!(message_in_branch(&entry("\"\""), EntryKind::Message), None);
        assert_eq!(message_in_branch(&entry("5"), EntryKind::Message), Some(Value::from(5)));
        assert_eq!(message_in_branch(&entry("{}"), EntryKind::Label), None);
    }
}
