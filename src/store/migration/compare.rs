//! Compares one transcript with its import in a database: ids, parents and a digest of each entry.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::rewrites::{Importer, generated_id_prefix, normalize, prompt_text, remove_repairs};
use crate::js::{self, JsString, Object, Value};
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

type Digest = [u8; 32];

/// A line of a file, or a row of a database.
#[derive(Debug)]
struct Entry<'a> {
    /// Id as the gateway indexes it: without white space around it.
    id: Option<String>,
    parent: Option<String>,
    /// Line number, from 1.
    line: u64,
    text: &'a [u8],
    digest: Digest,
    /// Digest without the ids; `None` without a timestamp, because the rest may not be unique.
    body_digest: Option<Digest>,
}

impl<'a> Entry<'a> {
    fn new(line: u64, text: &'a [u8], value: &Value) -> Self {
        let member = |key: &str| value.get(key).and_then(Value::as_str);
        let id = member("id").map(JsString::trim).filter(|id| !id.is_empty());
        let is_timed = member("timestamp").is_some_and(|time| !time.is_blank());
        Self {
            id: id.map(|id| id.to_string_lossy()),
            parent: member("parentId").map(JsString::to_string_lossy),
            line,
            text,
            digest: digest(value, &[]),
            body_digest: is_timed.then(|| digest(value, &["id", "parentId"])),
        }
    }

    /// Returns the text of a user's message.
    fn prompt(&self) -> Option<String> {
        prompt_text(&parse(self.text)?).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Whether this is a prompt with context that a sibling repeats without the context.
    fn was_sent_again(&self, siblings: &[String]) -> bool {
        let prompt = self.prompt().filter(|text| CONTEXT_MARKS.iter().any(|mark| text.contains(mark)));
        prompt.is_some_and(|text| siblings.iter().any(|own| text.contains(own.as_str())))
    }
}

/// Digests an entry with sorted keys, because importers append keys to the entry and to its message.
fn digest(entry: &Value, without: &[&str]) -> Digest {
    fn members(object: &Object) -> Vec<(&JsString, &Value)> {
        let mut members: Vec<_> = object.iter().collect();
        members.sort_by_key(|(key, _)| *key);
        members
    }
    let mut hash = Sha256::new();
    let Some(object) = entry.as_object() else { return Sha256::digest(js::stringify(entry)).into() };
    for (key, value) in members(object) {
        if without.iter().any(|name| key.eq_str(name)) {
            continue;
        }
        hash.update(js::stringify_str(key));
        let message = value.as_object().filter(|_| key.eq_str("message"));
        for (key, value) in message.map(members).unwrap_or_default() {
            hash.update(js::stringify_str(key));
            hash.update(js::stringify(value));
        }
        if message.is_none() {
            hash.update(js::stringify(value));
        }
    }
    hash.finalize().into()
}

/// Parses a line; `None` when it is not JSON.
fn parse(line: &[u8]) -> Option<Value> {
    js::parse(std::str::from_utf8(line).ok()?.trim_matches(js::is_trimmed)).ok()
}

/// Parses a row in the form that imports store.
fn parse_row(line: &[u8]) -> Option<Value> {
    parse(line).map(normalize)
}

/// Numbers the lines of a source that are not blank.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    (1..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty())
}

/// Compares a file with the rows of a session. A file `in_use` may have grown since the import.
///
/// # Errors
/// One of the sides cannot be read.
pub fn compare(session: &str, file: &Source, rows: &Source, in_use: bool) -> io::Result<ImportComparison> {
    let read = |source: &Source| source.read_span(0, source.len()? as usize);
    let (file, rows) = (read(file)?, read(rows)?);
    let stored = lines(&rows).filter_map(|(line, text)| Some(Entry::new(line, text, &parse_row(text)?)));
    let stored: Vec<_> = stored.collect();
    let header = lines(&file).filter_map(|(_, text)| parse(text));
    let header =
        header.into_iter().find(|value| value.get("type").is_some_and(|kind| kind.str_is("session")));
    let version = header.and_then(|header| header.get("version")?.as_f64()).unwrap_or(1.0);
    let prefix = stored.iter().find_map(|row| generated_id_prefix(row.id.as_deref()?)).unwrap_or_default();
    let mut importer = Importer { session, version, id_prefix: prefix, ..Importer::default() };
    let mut comparer = Comparer::new(&stored);
    for (line, text) in lines(&file) {
        let Some(value) = parse(text) else {
            // The writer has not finished a line without a line end.
            if text.as_ptr_range().end < file.as_ptr_range().end {
                comparer.found.unreadable_lines.push(line);
            }
            continue;
        };
        let is_stored = |value: &Value| comparer.by_digest.contains_key(&digest(value, &[]));
        if let Some(value) = importer.import(value, is_stored) {
            comparer.add(Entry::new(line, text, &value), value);
        }
    }
    Ok(comparer.finish(in_use))
}

struct Comparer<'a> {
    stored: &'a [Entry<'a>],
    /// First row of each id.
    by_id: HashMap<&'a str, usize>,
    /// Rows by digest that no line has taken yet.
    by_digest: HashMap<Digest, VecDeque<usize>>,
    lines: Vec<Entry<'a>>,
    /// First line of each id.
    first: HashMap<String, usize>,
    /// Line and row, in line order.
    pairs: Vec<(usize, usize)>,
    /// Lines without a row.
    lost: Vec<usize>,
    found: ImportComparison,
}

impl<'a> Comparer<'a> {
    fn new(stored: &'a [Entry<'a>]) -> Self {
        let (mut by_id, mut by_digest) = (HashMap::new(), HashMap::<_, VecDeque<_>>::new());
        for (at, row) in stored.iter().enumerate() {
            by_digest.entry(row.digest).or_default().push_back(at);
            if let Some(id) = row.id.as_deref() {
                by_id.entry(id).or_insert(at);
            }
        }
        let (lines, first, pairs, lost) = Default::default();
        Self { stored, by_id, by_digest, lines, first, pairs, lost, found: ImportComparison::default() }
    }

    /// Adds a line in its imported form.
    fn add(&mut self, entry: Entry<'a>, value: Value) {
        let at = self.lines.len();
        self.found.counts.entries += 1;
        let earlier = entry.id.as_ref().and_then(|id| self.first.get(id));
        if let Some(earlier) = earlier {
            // The importer keeps only the first line with an id.
            if self.lines[*earlier].digest == entry.digest {
                self.found.counts.left_out += 1;
            } else {
                self.add_fault(&entry, ImportFaultKind::Lost);
            }
        } else if let Some(row) = self.take_row(&entry) {
            self.pairs.push((at, row));
            if self.stored[row].digest == entry.digest {
                self.found.counts.identical += 1;
            } else {
                match find_fault(value, parse_row(self.stored[row].text).unwrap_or(Value::Null)) {
                    Some(kind) => self.add_fault(&entry, kind),
                    None => self.found.counts.rewritten += 1,
                }
            }
        } else {
            self.lost.push(at);
        }
        if let Some(id) = &entry.id {
            self.first.entry(id.clone()).or_insert(at);
        }
        self.lines.push(entry);
    }

    fn take_row(&mut self, line: &Entry<'_>) -> Option<usize> {
        let equal = self.by_digest.get_mut(&line.digest).and_then(VecDeque::pop_front);
        equal.or_else(|| self.by_id.get(line.id.as_deref()?).copied())
    }

    fn add_fault(&mut self, line: &Entry<'_>, kind: ImportFaultKind) {
        self.found.faults.push(ImportFault { kind, entry: line.id.clone(), line: line.line });
    }

    fn finish(mut self, in_use: bool) -> ImportComparison {
        let dead = self.find_dead_branches();
        self.found.counts.left_out += dead.len() as u64;
        let end = self.pairs.last().filter(|_| in_use).map_or(usize::MAX, |(line, _)| line + 1);
        let lost = self.lost.iter().copied().filter(|at| !dead.contains(at));
        let kind = |at| if at >= end { ImportFaultKind::Added } else { ImportFaultKind::Lost };
        let mut faults: Vec<_> = lost.map(|at| (at, kind(at))).collect();
        let doubled = self.find_doubled();
        faults.extend(doubled.into_iter().map(|at| (at, ImportFaultKind::Doubled)));
        faults.extend(find_moved(&self.pairs).into_iter().map(|at| (at, ImportFaultKind::Moved)));
        let lines = std::mem::take(&mut self.lines);
        for (at, kind) in faults {
            self.add_fault(&lines[at], kind);
        }
        self.found.faults.sort_by_key(|fault| fault.line);
        self.found
    }

    /// Returns the lines that a further row repeats: with its id, or with its body under another id. Counts all other
    /// further rows.
    fn find_doubled(&mut self) -> Vec<usize> {
        let taken: HashSet<usize> = self.pairs.iter().map(|(_, row)| *row).collect();
        let bodies = self.pairs.iter().filter_map(|(at, _)| Some((self.lines[*at].body_digest?, *at)));
        let by_body: HashMap<Digest, usize> = bodies.collect();
        let line_of = |row: &Entry<'_>| {
            let same_id = row.id.as_ref().and_then(|id| self.first.get(id));
            same_id.or_else(|| by_body.get(&row.body_digest?)).copied()
        };
        let further: Vec<_> = (0..self.stored.len()).filter(|row| !taken.contains(row)).collect();
        let doubled: Vec<_> = further.iter().filter_map(|row| line_of(&self.stored[*row])).collect();
        self.found.counts.later = (further.len() - doubled.len()) as u64;
        doubled
    }

    /// Returns the lines that the importer of 2026.9 leaves out on purpose: a prompt that the gateway sent again without
    /// the context that it had injected, and everything after it. Nothing in the database descends from them.
    fn find_dead_branches(&self) -> HashSet<usize> {
        let parents: HashSet<_> = self.lost.iter().map(|at| self.lines[*at].parent.as_ref()).collect();
        let present = self.pairs.iter().map(|(at, _)| &self.lines[*at]);
        let mut siblings: HashMap<Option<&String>, Vec<String>> = HashMap::new();
        for line in present.clone().filter(|line| parents.contains(&line.parent.as_ref())) {
            siblings.entry(line.parent.as_ref()).or_default().extend(line.prompt());
        }
        let (mut dead, mut ids) = (HashSet::new(), HashSet::new());
        for at in &self.lost {
            let line = &self.lines[*at];
            let is_below = line.parent.as_ref().is_some_and(|parent| ids.contains(parent));
            if is_below || siblings.get(&line.parent.as_ref()).is_some_and(|own| line.was_sent_again(own)) {
                dead.insert(*at);
                ids.extend(line.id.as_ref());
            }
        }
        let mut parents = present.filter_map(|line| line.parent.as_ref());
        if parents.any(|parent| ids.contains(parent)) { HashSet::new() } else { dead }
    }
}

/// Marks of context that the gateway injected into a prompt.
const CONTEXT_MARKS: [&str; 3] = [
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
    "OpenClaw runtime context (internal):",
    "This context is runtime-generated, not user-authored. Keep internal details private.",
];

/// Compares a line in its imported form with its row; `None` when the gateway's own repairs explain the difference.
fn find_fault(mut line: Value, mut row: Value) -> Option<ImportFaultKind> {
    remove_repairs(&mut line, &mut row);
    let equal = |without: &[&str]| digest(&line, without) == digest(&row, without);
    match () {
        () if equal(&[]) => None,
        () if equal(&["parentId"]) => Some(ImportFaultKind::Reparented),
        () => Some(ImportFaultKind::Changed),
    }
}

/// Returns the lines outside the longest run of pairs with ascending rows: the fewest lines that can have moved.
fn find_moved(pairs: &[(usize, usize)]) -> Vec<usize> {
    // `ends[n]` is the pair that ends the best run of n + 1 pairs; `before` links each pair to the previous one of its
    // run.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (at, (_, row)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *row);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let stays: HashSet<usize> = std::iter::successors(ends.last().copied(), |pair| before[*pair]).collect();
    pairs.iter().enumerate().filter(|(at, _)| !stays.contains(at)).map(|(_, (line, _))| *line).collect()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
