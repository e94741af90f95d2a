//! The reported entries of a transcript. Files are rewritten while `watch` runs: repaired, migrated, or emptied and
//! filled again (store J13, L4, M5). An entry of the new file is reported only if the old file did not have it.
//!
//! For example, after `a b c` the rewritten file `a b d` reports `d` only; a second `b` after it is new again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ids::EntryIx;
use crate::store::index::Index;

/// Occurrences of an entry in the current file, and how many were reported.
#[derive(Debug, Clone, Copy, Default)]
struct EntryCount {
    occurrences: u32,
    reported: u32,
}

/// The reported entries of one path, across all files that were at it.
#[derive(Debug, Default)]
pub(super) struct SeenEntries {
    counts: HashMap<u64, EntryCount>,
    /// Ids in the first file are synthetic, and a migration replaces them (store L2), so compare contents.
    by_content: Option<bool>,
}

impl SeenEntries {
    /// Starts over at the beginning of the file.
    pub(super) fn restart(&mut self) {
        self.counts.values_mut().for_each(|count| count.occurrences = 0);
    }

    /// Marks an entry as reported.
    pub(super) fn mark_seen(&mut self, index: &Index, ix: EntryIx) {
        let count = self.count(index, ix);
        count.occurrences += 1;
        count.reported = count.reported.max(count.occurrences);
    }

    /// Marks an entry as reported; returns whether it was new. Two equal lines are two entries (store J9, M4).
    pub(super) fn mark_if_new(&mut self, index: &Index, ix: EntryIx) -> bool {
        let before = self.count(index, ix).reported;
        self.mark_seen(index, ix);
        self.count(index, ix).reported > before
    }

    fn count(&mut self, index: &Index, ix: EntryIx) -> &mut EntryCount {
        let by_content = *self.by_content.get_or_insert_with(|| index.migration_steps().0);
        self.counts.entry(fingerprint(index, ix, by_content)).or_default()
    }
}

/// Identifies an entry by its id, otherwise by values that a rewrite keeps.
fn fingerprint(index: &Index, ix: EntryIx, by_content: bool) -> u64 {
    let entry = index.entry(ix);
    let mut hasher = DefaultHasher::new();
    if let Some(id) = entry.id.filter(|_| !by_content) {
        index.ids.text(id).hash(&mut hasher);
    } else {
        let size = entry.message.map(|size| (size.role.as_str(), size.pi_chars.whole_chars().whole()));
        (entry.kind.as_str(), entry.time_ms.get().to_bits(), size).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s"}"#;

    fn entry(id: &str) -> String {
        format!(r#"{{"type":"custom","id":"{id}","parentId":null,"timestamp":"2026-03-05T10:00:00.000Z"}}"#)
    }

    fn news(reported: &mut SeenEntries, lines: &[String], from: usize) -> Vec<String> {
        let index = load_bytes("t.jsonl", (lines.join("\n") + "\n").as_bytes(), &mut LineIds);
        let entries = index.iter().skip(from).map(|(ix, _)| ix);
        entries.filter(|ix| reported.mark_if_new(&index, *ix)).map(|ix| index.display_id(ix)).collect()
    }

    #[test]
    fn a_rewrite_reports_only_new_entries_even_in_several_parts() {
        let mut reported = SeenEntries::default();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(entry);
        let header = HEADER.to_owned();
        assert_eq!(
            news(&mut reported, &[header.clone(), a.clone(), b.clone(), c.clone()], 0),
            ["a", "b", "c"]
        );
        reported.restart();
        assert!(news(&mut reported, &[header.clone(), a.clone()], 0).is_empty(), "the beginning of it");
        assert_eq!(news(&mut reported, &[header, a, b, d], 1), ["d"], "its end");
    }

    #[test]
    fn a_line_that_is_added_twice_is_reported_twice() {
        let mut reported = SeenEntries::default();
        let [a, b] = ["a", "b"].map(entry);
        let header = HEADER.to_owned();
        assert_eq!(news(&mut reported, &[header.clone(), a.clone()], 0), ["a"]);
        let lines = [header.clone(), a.clone(), header, a, b];
        assert_eq!(news(&mut reported, &lines, 1), ["a", "b"]);
        reported.restart();
        assert!(news(&mut reported, &lines, 0).is_empty());
    }

    #[test]
    fn a_migration_that_adds_ids_reports_no_old_entry_again() {
        let mut reported = SeenEntries::default();
        let first = r#"{"type":"message","timestamp":"2026-03-05T10:00:00.000Z","message":{"role":"user","content":"x"}}"#;
        let old = [r#"{"type":"session","id":"s"}"#.to_owned(), first.to_owned()];
        assert_eq!(news(&mut reported, &old, 0), ["v1-2"]);
        reported.restart();
        let migrated = first.replace(r#""type""#, r#""id":"00000001","parentId":null,"type""#);
        let new = [HEADER.to_owned(), migrated, entry("fresh")];
        assert_eq!(news(&mut reported, &new, 0), ["fresh"]);
    }
}
