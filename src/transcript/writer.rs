//! Detects the runtime that wrote a transcript, if the file shows it (store-pi-1.5, table at the top).

use crate::gateway::ruleset::{PiChange, PiMark, PiRelease, Ruleset};
use crate::store::entry::{Entry, EntryKind, Role};
use crate::store::index::Index;
use crate::store::scan::ProjectionData;

/// Type of the custom entries that hold a virtual model's state.
const VIRTUAL_MODEL: &str = "pi.virtual-model-state";

/// First releases that write marks which only pi writes.
const UUID_7_SINCE: PiRelease = PiRelease([0, 67, 1]);
const SYSTEM_MESSAGES_SINCE: PiRelease = PiChange::KeepsSystemMessages.since();
const EDITS_SINCE: PiRelease = PiChange::Projects.since();
const VIRTUAL_MODELS_SINCE: PiRelease = PiChange::CountsNestedCalls.since();

/// Returns the mark of the newest pi release that wrote to the transcript. `None` proves nothing: the file then has no
/// mark.
pub fn pi_mark(index: &Index) -> Option<PiMark> {
    let marks = index.auxiliary_entries().filter_map(|(ix, entry)| {
        let (since, what) = entry_mark(entry, index, index.projection_data.get(&ix))?;
        Some((since, entry.line, what))
    });
    let newest = marks.max_by_key(|(since, line, _)| (*since, std::cmp::Reverse(*line)));
    if let Some((since, line, what)) = newest {
        let why = format!("line {line} is {what}, which pi has written since {}", format_minor(since));
        // The file may come from an even newer release.
        return Some(PiMark { since, ruleset: Ruleset::Pi1_5, reason: why });
    }
    let header = index.header.as_ref().filter(|header| is_uuid_7(&header.id));
    header.map(|_| uuid_7_mark(index.has_assistant()))
}

/// Returns the mark of a version 7 id. A pi that keeps system messages writes one before the first answer.
fn uuid_7_mark(has_answer: bool) -> PiMark {
    let id = format!("its id is a version 7 UUID, which pi has used since {}", format_minor(UUID_7_SINCE));
    let (ruleset, why) = if has_answer {
        let before = format_minor(SYSTEM_MESSAGES_SINCE);
        (
            Ruleset::Pi0_84_4,
            format!(
                "{id}, and it has answers without a system message, so pi before {before} \
             wrote it"
            ),
        )
    } else {
        (Ruleset::Pi1_5, id)
    };
    PiMark { since: UUID_7_SINCE, ruleset, reason: why }
}

fn format_minor(PiRelease([major, minor, _]): PiRelease) -> String {
    format!("{major}.{minor}")
}

fn entry_mark(
    entry: &Entry,
    index: &Index,
    kept: Option<&ProjectionData>,
) -> Option<(PiRelease, &'static str)> {
    match (entry.kind, kept) {
        (EntryKind::Custom, _) => {
            let name = index.values.value(entry.payload).is_some_and(|word| word.str_is(VIRTUAL_MODEL));
            name.then_some((VIRTUAL_MODELS_SINCE, "the state of a virtual model"))
        }
        (EntryKind::ContextEdit, _) => Some((EDITS_SINCE, "a context_edit")),
        (EntryKind::Compaction, _) if entry.id.is_some() && entry.reference == entry.id => {
            Some((EDITS_SINCE, "a compaction that keeps no entries"))
        }
        (EntryKind::Usage, _) => Some((SYSTEM_MESSAGES_SINCE, "a usage entry")),
        (EntryKind::Compaction, Some(ProjectionData::Checkpoint(_))) => {
            Some((SYSTEM_MESSAGES_SINCE, "a compaction with a systemMessage"))
        }
        (EntryKind::Message, _) if entry.role() == Some(Role::System) => {
            Some((SYSTEM_MESSAGES_SINCE, "a system message"))
        }
        _ => None,
    }
}

/// Whether an id has the form `xxxxxxxx-xxxx-7xxx-xxxx-xxxxxxxxxxxx`.
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

    fn mark(id: &str, lines: &[&str]) -> Option<PiMark> {
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\"}}\n{}\n", lines.join("\n"));
        pi_mark(&load_bytes("t.jsonl", text.as_bytes(), &mut LineIds))
    }

    const UUID_7: &str = "019acff0-65e9-7dcc-a629-f857ee0478a9";
    const USER: &str = r#"{"type":"message","id":"u","message":{"role":"user","content":""}}"#;
    const ANSWER: &str = r#"{"type":"message","id":"v","message":{"role":"assistant","content":[]}}"#;
    const SYSTEM: &str = r#"{"type":"message","id":"a","message":{"role":"system","content":""}}"#;
    const EDIT: &str = r#"{"type":"context_edit","id":"b","targetId":"u","replacement":null}"#;

    #[test]
    fn an_entry_shows_the_first_pi_that_writes_it() {
        for (line, since) in [
            (EDIT, [0, 87, 0]),
            (r#"{"type":"usage","id":"a","kind":"cache_warm"}"#, [0, 86, 0]),
            (SYSTEM, [0, 86, 0]),
            (
                r#"{"type":"compaction","id":"a","summary":"s","systemMessage":{"role":"system","content":""}}"#,
                [0, 86, 0],
            ),
            (r#"{"type":"compaction","id":"a","summary":"s","firstKeptEntryId":"a"}"#, [0, 87, 0]),
            (r#"{"type":"custom","id":"a","customType":"pi.virtual-model-state","data":{}}"#, [0, 99, 0]),
        ] {
            let mark = mark("s", &[line]).unwrap();
            assert_eq!((mark.since, mark.ruleset), (PiRelease(since), Ruleset::Pi1_5), "{line}");
            assert!(mark.reason.starts_with("line 2 is "), "{}", mark.reason);
        }
        assert_eq!(mark("s", &[USER, ANSWER]), None);
    }

    #[test]
    fn the_newest_mark_counts() {
        let why = mark("s", &[SYSTEM, USER, EDIT]).unwrap().reason;
        assert_eq!(why, "line 4 is a context_edit, which pi has written since 0.87");
    }

    #[test]
    fn a_header_id_reveals_a_pi_without_system_messages_after_the_first_answer() {
        assert_eq!(mark(UUID_7, &[USER]).unwrap().ruleset, Ruleset::Pi1_5);
        assert_eq!(mark(UUID_7, &[USER, ANSWER]).unwrap().ruleset, Ruleset::Pi0_84_4);
        assert_eq!(mark(UUID_7, &[SYSTEM, USER, ANSWER]).unwrap().ruleset, Ruleset::Pi1_5);
        assert_eq!(mark("019acff0-65e9-4dcc-a629-f857ee0478a9", &[USER, ANSWER]), None);
    }
}
