//! Matches the lines of a transcript with the rows of its import, only by ids and digests.
//!
//! For example, a row with the id of a line but another digest is a changed entry; a second row with the same body
//! under another id is a duplicate.

use std::collections::{HashMap, HashSet, VecDeque};

use super::line_record::{Digest, LineRecord};

/// Result of the matching. Numbers are indices into the two lists.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matching {
    /// Line and row, in line order.
    pub pairs: Vec<(usize, usize)>,
    /// Lines without a row.
    pub lost: Vec<usize>,
    /// Lines with the id of an earlier line but another content: the importer keeps only the first.
    pub id_conflicts: Vec<usize>,
    /// Number of lines that repeat an earlier one exactly: the importer drops them.
    pub repeated_lines: usize,
    /// Lines with a further row of the same content.
    pub duplicated: Vec<usize>,
    /// Lines whose row is out of order with those of their neighbours.
    pub moved: Vec<usize>,
    /// Number of rows that match no line: written after the import.
    pub added_rows: usize,
}

impl Matching {
    pub(super) fn new(lines: &[LineRecord], rows: &[LineRecord]) -> Self {
        let mut matching = Self::default();
        let mut free = UnmatchedRows::new(rows);
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(id) = line.id.as_deref() {
                if let Some(&earlier) = first.get(id) {
                    if lines[earlier].digest == line.digest {
                        matching.repeated_lines += 1;
                    } else {
                        matching.id_conflicts.push(at);
                    }
                    continue;
                }
                first.insert(id, at);
            }
            match free.take_match(line) {
                Some(row) => matching.pairs.push((at, row)),
                None => matching.lost.push(at),
            }
        }
        matching.find_duplicated(lines, rows);
        matching.moved = find_moved(&matching.pairs);
        matching
    }

    /// Finds unmatched rows that repeat a line: with its id, or with its body under another id.
    fn find_duplicated(&mut self, lines: &[LineRecord], rows: &[LineRecord]) {
        let matched: HashSet<usize> = self.pairs.iter().map(|(_, row)| *row).collect();
        let by_id: HashMap<&str, usize> =
            lines.iter().enumerate().rev().filter_map(|(at, line)| Some((line.id.as_deref()?, at))).collect();
        let present = self.pairs.iter().map(|(at, _)| *at);
        let by_body: HashMap<Digest, usize> =
            present.filter_map(|at| Some((lines[at].body_digest?, at))).collect();
        for (_, row) in rows.iter().enumerate().filter(|(at, _)| !matched.contains(at)) {
            let same_id = row.id.as_deref().and_then(|id| by_id.get(id));
            match same_id.or_else(|| by_body.get(&row.body_digest?)) {
                Some(line) => self.duplicated.push(*line),
                None => self.added_rows += 1,
            }
        }
    }

    /// Returns the index of the first line after the last line with a row; `None` when the last line has one.
    pub(super) fn unmatched_tail(&self, lines: usize) -> Option<usize> {
        let behind = self.pairs.last().map_or(0, |(line, _)| line + 1);
        (behind > 0 && behind < lines && self.lost.contains(&behind)).then_some(behind)
    }
}

/// Rows not matched yet.
struct UnmatchedRows<'a> {
    all: &'a [LineRecord],
    by_id: HashMap<&'a str, Vec<usize>>,
    /// Rows without an id, by digest.
    without_id: HashMap<Digest, VecDeque<usize>>,
}

impl<'a> UnmatchedRows<'a> {
    fn new(rows: &'a [LineRecord]) -> Self {
        let mut free = Self { all: rows, by_id: HashMap::new(), without_id: HashMap::new() };
        for (at, row) in rows.iter().enumerate() {
            match row.id.as_deref() {
                Some(id) => free.by_id.entry(id).or_default().push(at),
                None => free.without_id.entry(row.digest).or_default().push_back(at),
            }
        }
        free
    }

    /// Takes the row of a line: among several with its id one with the same digest, else the first.
    fn take_match(&mut self, line: &LineRecord) -> Option<usize> {
        let Some(id) = line.id.as_deref() else {
            return self.without_id.get_mut(&line.digest).and_then(VecDeque::pop_front);
        };
        let own = self.by_id.get(id)?;
        own.iter().find(|row| self.all[**row].digest == line.digest).or(own.first()).copied()
    }
}

/// Returns the lines outside the longest run of pairs with ascending rows: the fewest lines that can have moved.
fn find_moved(pairs: &[(usize, usize)]) -> Vec<usize> {
    // `ends[n]` is the pair that ends the best run of n + 1 pairs; `before` links each pair to the previous one of its
    // run.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) =
        (Vec::new(), Vec::with_capacity(pairs.len()));
    for (at, (_, row)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *row);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut stays = HashSet::new();
    let mut at = ends.last().copied();
    while let Some(pair) = at {
        stays.insert(pair);
        at = before[pair];
    }
    pairs.iter().enumerate().filter(|(at, _)| !stays.contains(at)).map(|(_, (line, _))| *line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, text: u8) -> LineRecord {
        let (whole, body) = ([text; 16], Some([text; 16]));
        let id = (!id.is_empty()).then(|| id.to_owned());
        LineRecord { id, parent: None, line: 0, offset: 0, bytes: 0, digest: whole, body_digest: body }
    }

    fn records(list: &[(&str, u8)]) -> Vec<LineRecord> {
        list.iter().map(|(id, text)| record(id, *text)).collect()
    }

    #[test]
    fn every_line_matches_its_row_and_later_rows_are_additions() {
        let (lines, rows) = (records(&[("a", 1), ("b", 2)]), records(&[("a", 1), ("b", 2), ("c", 3)]));
        let matching = Matching::new(&lines, &rows);
        assert_eq!(matching, Matching { pairs: vec![(0, 0), (1, 1)], added_rows: 1, ..Matching::default() });
    }

    #[test]
    fn lost_doubled_and_moved_lines_are_distinguished() {
        let lines = records(&[("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)]);
        let rows = records(&[("a", 1), ("d", 4), ("c", 3), ("x", 3), ("e", 5), ("e", 5)]);
        let matching = Matching::new(&lines, &rows);
        assert_eq!(matching.lost, [1]);
        assert_eq!(matching.duplicated, [2, 4]);
        assert_eq!(matching.moved.len(), 1);
        assert_eq!(matching.unmatched_tail(5), None);
    }

    #[test]
    fn of_lines_with_one_id_the_first_counts() {
        let lines = records(&[("a", 1), ("a", 1), ("a", 2)]);
        let matching = Matching::new(&lines, &records(&[("a", 1)]));
        assert_eq!(
            (matching.repeated_lines, matching.id_conflicts.as_slice(), matching.lost.len()),
            (1, &[2][..], 0)
        );
    }

    #[test]
    fn lines_without_ids_are_matched_by_content() {
        let lines = records(&[("", 1), ("", 1), ("", 2)]);
        let matching = Matching::new(&lines, &records(&[("", 1), ("", 2)]));
        assert_eq!((matching.pairs, matching.lost), (vec![(0, 0), (2, 1)], vec![1]));
    }

    #[test]
    fn the_tail_begins_after_the_last_matched_line() {
        let lines = records(&[("a", 1), ("b", 2), ("c", 3)]);
        let tail = |rows: &[(&str, u8)]| Matching::new(&lines, &records(rows)).unmatched_tail(3);
        assert_eq!([tail(&[("a", 1)]), tail(&[("a", 1), ("c", 3)]), tail(&[])], [Some(1), None, None]);
    }
}
