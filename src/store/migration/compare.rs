//! Compares one transcript with its import in a database, line by line.
//!
//! The expected row of a line is the line as [`Importer`] would store it. Digests find the rows that differ; only those
//! are read again: the gateway's own repairs may explain them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::Serialize;

use super::importer::Importer;
use super::known_rewrites::{is_media_path, is_rewrite, is_same_media};
use super::line_record::{LineRecord, LineRecords, entry_id, for_each_line};
use super::matching::Matching;
use crate::js;
use crate::js::{JsString, Object, Value};
use crate::store::source::Source;

/// An entry that the import did not preserve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportFault {
    pub kind: ImportFaultKind,
    /// The id.
    pub entry: Option<String>,
    /// Line in the file, from 1.
    pub line: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportFaultKind {
    /// The database lacks the entry; an earlier line may have its id.
    Lost,
    /// The entry follows everything that was imported, in a file still in use: it was written later.
    Added,
    /// The database holds a different entry.
    Changed,
    /// Only the parent differs.
    Reparented,
    /// The database holds the entry twice.
    Doubled,
    /// The entry has another position in the order of entries.
    Moved,
}

/// Numbers of entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryCounts {
    /// Lines that the importer reads as JSON and does not skip, the header included.
    pub entries: u64,
    /// Entries stored exactly as the importer writes them.
    pub identical: u64,
    /// Entries that the gateway's own repairs changed since.
    pub rewritten: u64,
    /// Entries that the importer leaves out on purpose: exact repetitions and dead branches.
    pub left_out: u64,
    /// Rows written after the import.
    pub later: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportComparison {
    #[serde(flatten)]
    pub counts: EntryCounts,
    /// Lines that are not JSON; an import stops at the first.
    pub unreadable_lines: Vec<u64>,
    /// Sorted by line.
    pub faults: Vec<ImportFault>,
}

impl AddAssign for EntryCounts {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.identical += other.identical;
        self.rewritten += other.rewritten;
        self.left_out += other.left_out;
        self.later += other.later;
    }
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
        let counts = EntryCounts {
            entries: lines.len() as u64,
            left_out: (matching.repeated_lines + dead.len()) as u64,
            later: matching.added_rows as u64,
            ..EntryCounts::default()
        };
        let unreadable_lines = self.file_records.unreadable_lines.clone();
        let mut found = ImportComparison { counts, unreadable_lines, faults: Vec::new() };
        let tail = matching.unmatched_tail(lines.len()).filter(|_| in_use).unwrap_or(usize::MAX);
        let lost = matching.lost.iter().filter(|at| !dead.contains(at));
        let lost =
            lost.map(|at| (*at, if *at >= tail { ImportFaultKind::Added } else { ImportFaultKind::Lost }));
        let of = |kind| move |at: &usize| (*at, kind);
        let taken = matching.id_conflicts.iter().map(of(ImportFaultKind::Lost));
        let doubled = matching.duplicated.iter().map(of(ImportFaultKind::Doubled));
        let moved = matching.moved.iter().map(of(ImportFaultKind::Moved));
        let all = lost.chain(taken).chain(doubled).chain(moved);
        found.faults.extend(all.map(|(at, kind)| new_fault(&lines[at], kind)));
        self.add_changes(&matching, &mut found)?;
        found.faults.sort_by_key(|fault| fault.line);
        Ok(found)
    }

    /// Reads the entries with another digest again: the gateway's own repairs may explain the difference.
    fn add_changes(&self, matching: &Matching, found: &mut ImportComparison) -> io::Result<()> {
        let (lines, stored) = (&self.file_records.lines, &self.database_records.lines);
        let differ = |(line, row): &&(usize, usize)| lines[*line].digest != stored[*row].digest;
        let mut changed: HashMap<u64, (usize, usize)> =
            matching.pairs.iter().filter(differ).map(|pair| (lines[pair.0].line, *pair)).collect();
        found.counts.identical = (matching.pairs.len() - changed.len()) as u64;
        let mut importer = Importer::new(self.session, self.version, &self.id_prefix);
        let mut result = Ok(());
        for_each_line(self.file, |line| {
            let imported = line.value().and_then(|value| importer.import_line(value));
            if let Some((value, (at, row))) = imported.zip(changed.remove(&line.number)) {
                match self.read_row(&stored[row]) {
                    Ok(row) => found.add_change(&lines[at], &value, &row),
                    Err(error) => result = Err(error),
                }
            }
            !changed.is_empty() && result.is_ok()
        })?;
        result
    }

    fn read_row(&self, record: &LineRecord) -> io::Result<Value> {
        let bytes = self.rows.read_span(record.offset, record.bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        js::parse(text.trim_matches(js::is_trimmed))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }
}

impl ImportComparison {
    fn add_change(&mut self, line: &LineRecord, imported: &Value, row: &Value) {
        match find_change(imported, row) {
            Change::None => self.counts.identical += 1,
            Change::Repaired => self.counts.rewritten += 1,
            Change::Fault(kind) => self.faults.push(new_fault(line, kind)),
        }
    }
}

fn new_fault(line: &LineRecord, kind: ImportFaultKind) -> ImportFault {
    ImportFault { kind, entry: line.id.clone(), line: line.line }
}

enum Change {
    /// Only the order of members differs.
    None,
    /// The gateway's own repairs explain every difference.
    Repaired,
    Fault(ImportFaultKind),
}

/// Compares a line in its imported form with its row.
fn find_change(line: &Value, row: &Value) -> Change {
    let media = is_same_media(line, row);
    let mut change = Change::None;
    let mut pairs = vec![(String::new(), Some(line), Some(row))];
    while let Some((path, line_part, row_part)) = pairs.pop() {
        match (line_part, row_part) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                pairs.extend(members(a, b).map(|(key, a, b)| (member_path(&path, key), a, b)));
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) => {
                let items = 0..a.len().max(b.len());
                pairs.extend(items.map(|at| (format!("{path}[{at}]"), a.get(at), b.get(at))));
            }
            (a, b) if a == b => {}
            (a, b) if is_rewrite(&path, a, b, line) || media && is_media_path(&path) => {
                if matches!(change, Change::None) {
                    change = Change::Repaired;
                }
            }
            _ if path == "parentId" => change = Change::Fault(ImportFaultKind::Reparented),
            _ => return Change::Fault(ImportFaultKind::Changed),
        }
    }
    change
}

type MemberValue<'a> = Option<&'a Value>;

/// Pairs the members of two objects by key. Looks keys up by hash, so that a hostile object does not cost quadratic time.
fn members<'a>(
    a: &'a Object,
    b: &'a Object,
) -> impl Iterator<Item = (&'a JsString, MemberValue<'a>, MemberValue<'a>)> {
    let (of_a, of_b): (HashMap<_, _>, HashMap<_, _>) = (a.iter().collect(), b.iter().collect());
    let added = b.iter().filter(move |(key, _)| !of_a.contains_key(*key));
    let added = added.map(|(key, value)| (key, None, Some(value)));
    added.chain(a.iter().map(move |(key, value)| (key, Some(value), of_b.get(key).copied())))
}

fn member_path(path: &str, key: &JsString) -> String {
    let key = key.to_string_lossy();
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

// Dead branches that the importer of 2026.9 leaves out on purpose: a prompt that the gateway sent again without the
// context it had injected. The live branch needs nothing from them.

/// Marks of context that the gateway injected into a prompt.
const INJECTED_CONTEXT_MARKS: [&str; 3] = [
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
    "OpenClaw runtime context (internal):",
    "This context is runtime-generated, not user-authored. Keep internal details private.",
];

/// Returns the lost lines of dead branches, from which no imported entry descends; empty when no prompt was rewritten.
pub(super) fn find_dead_branch(
    source: &Source,
    lines: &[LineRecord],
    lost: &[usize],
    present: &[usize],
) -> io::Result<HashSet<usize>> {
    if lost.is_empty() || !has_rewritten_prompt(source, lines, lost)? {
        return Ok(HashSet::new());
    }
    let by_id: HashMap<&str, usize> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((line.id.as_deref()?, at))).collect();
    let mut needed: HashSet<usize> = HashSet::new();
    for start in present {
        let mut at = Some(*start);
        while let Some(line) = at.filter(|line| needed.insert(*line)) {
            at = lines[line].parent.as_deref().and_then(|parent| by_id.get(parent)).copied();
        }
    }
    Ok(lost.iter().copied().filter(|line| !needed.contains(line) && lines[*line].id.is_some()).collect())
}

/// Whether a lost prompt with context has a sibling with the same text and without the context.
fn has_rewritten_prompt(source: &Source, lines: &[LineRecord], lost: &[usize]) -> io::Result<bool> {
    let lost_ids: HashSet<&str> = lost.iter().filter_map(|at| lines[*at].id.as_deref()).collect();
    let parents: HashSet<Option<&str>> = lost.iter().map(|at| lines[*at].parent.as_deref()).collect();
    let (mut with_context, mut plain) = (Vec::new(), Vec::new());
    for_each_line(source, |line| {
        let Some(value) = line.value() else { return true };
        let (Some(id), Some(text)) = (entry_id(&value), prompt_text(&value)) else { return true };
        let parent = value.get("parentId").and_then(Value::as_str).map(JsString::to_string_lossy);
        if lost_ids.contains(id.as_str()) {
            if INJECTED_CONTEXT_MARKS.iter().any(|sign| text.contains(sign)) {
                with_context.push((parent, text));
            }
        } else if parents.contains(&parent.as_deref()) {
            plain.push((parent, text.trim().to_owned()));
        }
        true
    })?;
    let repeats = |(parent, text): &(Option<String>, String)| {
        let mut plain = plain.iter().filter(|(own, visible)| own == parent && !visible.is_empty());
        plain.any(|(_, visible)| text.contains(visible.as_str()))
    };
    Ok(with_context.iter().any(repeats))
}

/// Returns the text of a user message.
fn prompt_text(entry: &Value) -> Option<String> {
    let message = entry.get("message").filter(|it| it.get("role").is_some_and(|role| role.str_is("user")))?;
    match message.get("content")? {
        Value::String(text) => Some(text.to_string_lossy()),
        Value::Array(blocks) => {
            let texts =
                blocks.iter().filter_map(|block| Some(block.get("text")?.as_str()?.to_string_lossy()));
            Some(texts.collect())
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
