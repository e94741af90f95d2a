//! Compares one transcript with its import in a database, line by line.
//!
//! The expected row of a line is the line as [`Importer`] would store it. Digests find the rows that differ; only those
//! are read again to list the differences.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use super::dead_branches::find_dead_branch;
use super::differences::{EntryDifference, EntryDifferences};
use super::importer::Importer;
use super::line_record::{LineRecord, LineRecords, for_each_line};
use super::matching::Matching;
use crate::js::{self, Value};
use crate::store::source::Source;

/// Something that the import did not preserve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFault {
    pub entry_id: Option<String>,
    /// Line number in the file, from 1.
    pub line: u64,
    pub kind: ImportFaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportFaultKind {
    /// The database lacks the entry.
    Lost,
    /// The database lacks the entry because an earlier line has the same id.
    IdTaken {
        /// Line that has the id.
        taken_by_line: u64,
    },
    /// The entry follows everything that was imported, in a file still in use: it was written later.
    Added,
    /// The database holds a different entry.
    Changed {
        differences: Vec<EntryDifference>,
        /// Number of further differences.
        unlisted: usize,
    },
    /// The parent differs.
    Reparented { file: Option<String>, database: Option<String> },
    /// The database holds the entry twice.
    Duplicated {
        /// Id of the second copy.
        duplicate_id: Option<String>,
    },
    /// The entry has another position in the order of entries.
    Moved,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportComparison {
    /// Number of lines that the importer reads as JSON and does not skip, the header included.
    pub entries: u64,
    /// Entries stored exactly as the importer writes them.
    pub identical: u64,
    /// Entries that the gateway's own repairs changed since.
    pub rewritten: u64,
    /// Entries that the importer leaves out on purpose: exact repetitions and dead branches.
    pub skipped: u64,
    /// Rows written after the import.
    pub added_rows: u64,
    /// Lines that are not JSON; an import stops at the first.
    pub unreadable_lines: Vec<u64>,
    /// Sorted by line.
    pub faults: Vec<ImportFault>,
}

struct Comparer<'a> {
    session: &'a str,
    file: &'a Source,
    rows: &'a Source,
    version: f64,
    id_prefix: String,
    file_records: LineRecords,
    database_records: LineRecords,
}

/// Compares a file with the rows of a session. A file `in_use` may have grown since the import.
pub(super) fn compare(
    session: &str,
    file: &Source,
    rows: &Source,
    in_use: bool,
) -> io::Result<ImportComparison> {
    let stored = LineRecords::read(rows, Some)?;
    let prefix = stored.generated_id_prefix().unwrap_or_else(|| "0".repeat(16));
    let version = read_version(file)?;
    let mut importer = Importer::new(session, version, &prefix);
    let lines = LineRecords::read(file, |value| importer.import_line(value))?;
    let sides = Comparer {
        session,
        file,
        rows,
        version,
        id_prefix: prefix,
        file_records: lines,
        database_records: stored,
    };
    sides.compare(in_use)
}

/// Returns the version in a file's header, as the importer reads it; 1 without a header.
fn read_version(file: &Source) -> io::Result<f64> {
    let mut version = 1.0;
    for_each_line(file, |line| {
        let header = line.value().filter(|it| it.get("type").is_some_and(|kind| kind.str_is("session")));
        if let Some(named) = header.as_ref().and_then(|header| header.get("version")).and_then(Value::as_f64)
        {
            version = named;
        }
        header.is_none()
    })?;
    Ok(version)
}

impl Comparer<'_> {
    fn compare(self, in_use: bool) -> io::Result<ImportComparison> {
        let (lines, stored) = (&self.file_records.lines, &self.database_records.lines);
        let matching = Matching::new(lines, stored);
        let present: Vec<usize> = matching.pairs.iter().map(|(line, _)| *line).collect();
        let dead = find_dead_branch(self.file, lines, &matching.lost, &present)?;
        let mut found = ImportComparison {
            entries: lines.len() as u64,
            skipped: (matching.repeated_lines + dead.len()) as u64,
            added_rows: matching.added_rows as u64,
            unreadable_lines: self.file_records.unreadable_lines.clone(),
            ..ImportComparison::default()
        };
        let tail = matching.unmatched_tail(lines.len()).filter(|_| in_use).unwrap_or(usize::MAX);
        for at in matching.lost.iter().filter(|at| !dead.contains(at)) {
            let kind = if *at >= tail { ImportFaultKind::Added } else { ImportFaultKind::Lost };
            found.faults.push(new_fault(&lines[*at], kind));
        }
        for (at, by) in &matching.id_conflicts {
            found
                .faults
                .push(new_fault(&lines[*at], ImportFaultKind::IdTaken { taken_by_line: lines[*by].line }));
        }
        for (at, row) in &matching.duplicated {
            let again = stored[*row].id.clone();
            found.faults.push(new_fault(&lines[*at], ImportFaultKind::Duplicated { duplicate_id: again }));
        }
        let moved = matching.moved.iter().map(|at| new_fault(&lines[*at], ImportFaultKind::Moved));
        found.faults.extend(moved);
        self.add_changes(&matching, &mut found)?;
        found.faults.sort_by_key(|fault| fault.line);
        Ok(found)
    }

    /// Reads the differing entries again and records their differences.
    fn add_changes(&self, matching: &Matching, found: &mut ImportComparison) -> io::Result<()> {
        let (lines, stored) = (&self.file_records.lines, &self.database_records.lines);
        let differ = |(line, row): &&(usize, usize)| lines[*line].digest != stored[*row].digest;
        let changed: HashMap<u64, (usize, usize)> =
            matching.pairs.iter().filter(differ).map(|pair| (lines[pair.0].line, *pair)).collect();
        found.identical = (matching.pairs.len() - changed.len()) as u64;
        if changed.is_empty() {
            return Ok(());
        }
        let mut importer = Importer::new(self.session, self.version, &self.id_prefix);
        let mut differences: BTreeMap<u64, io::Result<EntryDifferences>> = BTreeMap::new();
        for_each_line(self.file, |line| {
            let imported = line.value().and_then(|value| importer.import_line(value));
            if let Some((value, (_, row))) = imported.zip(changed.get(&line.number)) {
                let row = self.read_row(&stored[*row]).map(|row| EntryDifferences::between(&value, &row));
                differences.insert(line.number, row);
            }
            differences.len() < changed.len()
        })?;
        for (line, differences) in differences {
            let (at, row) = changed[&line];
            found.add_change(&lines[at], &stored[row], differences?);
        }
        Ok(())
    }

    fn read_row(&self, record: &LineRecord) -> io::Result<Value> {
        let bytes = self.rows.read_span(record.offset, record.bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        js::parse(text.trim_matches(js::is_trimmed))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }
}

impl ImportComparison {
    fn add_change(&mut self, line: &LineRecord, row: &LineRecord, differences: EntryDifferences) {
        let EntryDifferences { unexplained, unlisted: more, explained } = differences;
        match unexplained.as_slice() {
            [] if explained == 0 => self.identical += 1,
            [] => self.rewritten += 1,
            [one] if one.path == "parentId" && more == 0 => {
                let kind =
                    ImportFaultKind::Reparented { file: line.parent.clone(), database: row.parent.clone() };
                self.faults.push(new_fault(line, kind));
            }
            _ => self
                .faults
                .push(new_fault(line, ImportFaultKind::Changed { differences: unexplained, unlisted: more })),
        }
    }

    /// Counts the faults per word of [`ImportFaultKind::NAMES`], zeros included.
    pub fn fault_counts(&self) -> Vec<(&'static str, u64)> {
        let count =
            |kind: &&'static str| self.faults.iter().filter(|fault| fault.kind.as_str() == *kind).count();
        ImportFaultKind::NAMES.iter().map(|kind| (*kind, count(kind) as u64)).collect()
    }

    /// Returns the number of entries with faults; one entry may have several.
    pub fn faulty_entries(&self) -> usize {
        self.faults.iter().map(|fault| fault.line).collect::<HashSet<_>>().len()
    }
}

impl ImportFaultKind {
    /// Words for all kinds. [`ImportFaultKind::IdTaken`] counts as lost.
    pub const NAMES: [&'static str; 6] = ["lost", "added", "changed", "reparented", "doubled", "moved"];

    /// Returns the word for JSON and counts.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Lost | Self::IdTaken { .. } => "lost",
            Self::Added => "added",
            Self::Changed { .. } => "changed",
            Self::Reparented { .. } => "reparented",
            Self::Duplicated { .. } => "doubled",
            Self::Moved => "moved",
        }
    }
}

fn new_fault(line: &LineRecord, kind: ImportFaultKind) -> ImportFault {
    ImportFault { entry_id: line.id.clone(), line: line.line, kind }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
