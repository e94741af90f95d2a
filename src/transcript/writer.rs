//! Which runtime wrote a transcript, as far as it tells (store-pi-1.5, table at the top).

use crate::store::entry::{Entry, EntryKind, Role};
use crate::store::index::Index;
use crate::store::scan::Kept;

/// What tells that today's pi wrote a transcript, in words; none where nothing does, which proves nothing.
pub fn mark_of_today(index: &Index) -> Option<String> {
    let told = index.asides().find_map(|(ix, entry)| {
        let what = mark_of(entry, index.kept.get(&ix))?;
        Some(format!("line {} is {what}, which only today's pi writes", entry.line))
    });
    let header = index.header.as_ref().filter(|header| is_uuid_7(&header.id));
    told.or_else(|| header.map(|_| "its id is a UUID of version 7, as pi gives since 0.67".to_owned()))
}

fn mark_of(entry: &Entry, kept: Option<&Kept>) -> Option<&'static str> {
    match (entry.kind, kept) {
        (EntryKind::ContextEdit, _) => Some("a context_edit"),
        (EntryKind::Usage, _) => Some("a usage entry"),
        (EntryKind::Compaction, Some(Kept::Checkpoint(_))) => Some("a compaction with a systemMessage"),
        (EntryKind::Message, _) if entry.role() == Some(Role::System) => Some("a system message"),
        _ => None,
    }
}

/// `xxxxxxxx-xxxx-7xxx-xxxx-xxxxxxxxxxxx`.
fn is_uuid_7(id: &str) -> bool {
    let is_place = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        14 => byte == b'7',
        _ => byte.is_ascii_hexdigit(),
    };
    id.len() == 36 && id.bytes().enumerate().all(is_place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    fn mark(id: &str, line: &str) -> Option<String> {
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\"}}\n{line}\n");
        mark_of_today(&load_bytes("t.jsonl", text.as_bytes(), &mut LineIds))
    }

    #[test]
    fn what_only_todays_pi_writes_tells_it() {
        for line in [
            r#"{"type":"context_edit","id":"a","targetId":"b","replacement":null}"#,
            r#"{"type":"usage","id":"a","kind":"cache_warm"}"#,
            r#"{"type":"message","id":"a","message":{"role":"system","content":""}}"#,
            r#"{"type":"compaction","id":"a","summary":"s","systemMessage":{"role":"system","content":""}}"#,
        ] {
            assert!(mark("s", line).is_some_and(|why| why.starts_with("line 2 is a")), "{line}");
        }
        let user = r#"{"type":"message","id":"a","message":{"role":"user","content":""}}"#;
        assert!(mark("019acff0-65e9-7dcc-a629-f857ee0478a9", user).is_some_and(|why| why.contains("UUID")));
        assert_eq!(mark("019acff0-65e9-4dcc-a629-f857ee0478a9", user), None);
        assert_eq!(mark("s", user), None);
    }
}
