//! Compares one transcript with its import in a database, line by line.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use super::dead::dead;
use super::differs::{Difference, Differences};
use super::importer::Importer;
use super::matching::Matching;
use super::record::{Record, Records, each_line};
use crate::js::{self, Value};
use crate::store::source::Source;

/// Something that the import did not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The entry.
    pub entry: Option<String>,
    /// Its line in the file, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub kind: FaultKind,
}

/// What can be wrong with an imported entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// The database does not have it.
    Lost,
    /// The database does not have it, as an earlier line has the same id.
    IdTaken {
        /// The line that has it.
        by: u64,
    },
    /// It stands behind everything that was imported, in a file that is still in use: it came later.
    Added,
    /// The database has something else.
    Changed {
        /// Where they differ.
        places: Vec<Difference>,
        /// Further places.
        more: usize,
    },
    /// It hangs on another entry.
    Reparented {
        /// Its parent in the file.
        file: Option<String>,
        /// Its parent in the database.
        database: Option<String>,
    },
    /// The database has it again.
    Doubled {
        /// The id of the second one.
        again: Option<String>,
    },
    /// It stands elsewhere in the order of entries.
    Moved,
}

/// The comparison of one transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Lines of the file that hold something, its header included.
    pub entries: u64,
    /// Those that the database has as the importer writes them.
    pub identical: u64,
    /// Those that the gateway's own repairs changed since.
    pub rewritten: u64,
    /// Those that the importer leaves out on purpose: exact repetitions and dead branches.
    pub left_out: u64,
    /// Rows that came after the import.
    pub later: u64,
    /// Lines that are no JSON: an import stops at the first.
    pub unreadable: Vec<u64>,
    /// In the order of lines.
    pub faults: Vec<Fault>,
}

/// A file beside its rows.
struct Sides<'a> {
    session: &'a str,
    file: &'a Source,
    rows: &'a Source,
    version: f64,
    prefix: String,
    lines: Records,
    stored: Records,
}

/// Compares a file with the rows of a session. A file `in_use` may have grown since it was imported.
pub(super) fn compare(session: &str, file: &Source, rows: &Source, in_use: bool) -> io::Result<Comparison> {
    let stored = Records::read(rows, Some)?;
    let prefix = stored.made_prefix().unwrap_or_else(|| "0".repeat(16));
    let version = version(file)?;
    let mut importer = Importer::new(session, version, &prefix);
    let lines = Records::read(file, |value| importer.take(value))?;
    let sides = Sides { session, file, rows, version, prefix, lines, stored };
    sides.compare(in_use)
}

/// The version that a file's header names, as the importer reads it.
fn version(file: &Source) -> io::Result<f64> {
    let mut version = 1.0;
    each_line(file, |line| {
        let header = line.value().filter(|it| it.get("type").is_some_and(|kind| kind.str_is("session")));
        if let Some(named) = header.as_ref().and_then(|header| header.get("version")).and_then(Value::as_f64)
        {
            version = named;
        }
        header.is_none()
    })?;
    Ok(version)
}

impl Sides<'_> {
    fn compare(self, in_use: bool) -> io::Result<Comparison> {
        let (lines, stored) = (&self.lines.all, &self.stored.all);
        let matching = Matching::of(lines, stored);
        let present: Vec<usize> = matching.pairs.iter().map(|(line, _)| *line).collect();
        let dead = dead(self.file, lines, &matching.lost, &present)?;
        let mut found = Comparison {
            entries: lines.len() as u64,
            left_out: (matching.repeated + dead.len()) as u64,
            later: matching.later as u64,
            unreadable: self.lines.unreadable.clone(),
            ..Comparison::default()
        };
        let tail = matching.tail(lines.len()).filter(|_| in_use).unwrap_or(usize::MAX);
        for at in matching.lost.iter().filter(|at| !dead.contains(at)) {
            let kind = if *at >= tail { FaultKind::Added } else { FaultKind::Lost };
            found.faults.push(fault(&lines[*at], kind));
        }
        for (at, by) in &matching.taken {
            found.faults.push(fault(&lines[*at], FaultKind::IdTaken { by: lines[*by].line }));
        }
        for (at, row) in &matching.doubled {
            let again = stored[*row].id.clone();
            found.faults.push(fault(&lines[*at], FaultKind::Doubled { again }));
        }
        let moved = matching.moved.iter().map(|at| fault(&lines[*at], FaultKind::Moved));
        found.faults.extend(moved);
        self.add_changes(&matching, &mut found)?;
        found.faults.sort_by_key(|fault| fault.line);
        Ok(found)
    }

    /// Reads again what differs, and says how.
    fn add_changes(&self, matching: &Matching, found: &mut Comparison) -> io::Result<()> {
        let (lines, stored) = (&self.lines.all, &self.stored.all);
        let differ = |(line, row): &&(usize, usize)| lines[*line].whole != stored[*row].whole;
        let changed: HashMap<u64, (usize, usize)> =
            matching.pairs.iter().filter(differ).map(|pair| (lines[pair.0].line, *pair)).collect();
        found.identical = (matching.pairs.len() - changed.len()) as u64;
        if changed.is_empty() {
            return Ok(());
        }
        let mut importer = Importer::new(self.session, self.version, &self.prefix);
        let mut differences: BTreeMap<u64, io::Result<Differences>> = BTreeMap::new();
        each_line(self.file, |line| {
            let imported = line.value().and_then(|value| importer.take(value));
            if let Some((value, (_, row))) = imported.zip(changed.get(&line.number)) {
                let row = self.row(&stored[*row]).map(|row| Differences::of(&value, &row));
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

    fn row(&self, record: &Record) -> io::Result<Value> {
        let bytes = self.rows.read_span(record.offset, record.bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        js::parse(text.trim_matches(js::is_trimmed))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }
}

impl Comparison {
    fn add_change(&mut self, line: &Record, row: &Record, differences: Differences) {
        let Differences { unexplained, more, explained } = differences;
        match unexplained.as_slice() {
            [] if explained == 0 => self.identical += 1,
            [] => self.rewritten += 1,
            [one] if one.path == "parentId" && more == 0 => {
                let kind = FaultKind::Reparented { file: line.parent.clone(), database: row.parent.clone() };
                self.faults.push(fault(line, kind));
            }
            _ => self.faults.push(fault(line, FaultKind::Changed { places: unexplained, more })),
        }
    }

    /// Faults by the word for their kind, every kind named.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let count =
            |kind: &&'static str| self.faults.iter().filter(|fault| fault.kind.word() == *kind).count();
        FaultKind::WORDS.iter().map(|kind| (*kind, count(kind) as u64)).collect()
    }

    /// Entries that have a fault; one may have several.
    pub fn faulty(&self) -> usize {
        self.faults.iter().map(|fault| fault.line).collect::<HashSet<_>>().len()
    }
}

impl FaultKind {
    /// The words for all kinds. An id that is taken is one way to be lost.
    pub const WORDS: [&'static str; 6] = ["lost", "added", "changed", "reparented", "doubled", "moved"];

    /// The word for it, in JSON and in counts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Lost | Self::IdTaken { .. } => "lost",
            Self::Added => "added",
            Self::Changed { .. } => "changed",
            Self::Reparented { .. } => "reparented",
            Self::Doubled { .. } => "doubled",
            Self::Moved => "moved",
        }
    }
}

fn fault(line: &Record, kind: FaultKind) -> Fault {
    Fault { entry: line.id.clone(), line: line.line, kind }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
