//! The size-first index of one transcript: what is known of every entry without its body, in file
//! order, with what was odd about the file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Finding, Severity};
use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::ids::{EntryIx, NewIds};
use crate::js::{self, Value};
use crate::store::entry::{Call, Entry, EntryKind, Reading, Replacement, Usage};
use crate::store::grown::Grown;
use crate::store::header::Header;
use crate::store::intern::{IdIx, Ids, WordIx, Words};
use crate::store::scan::{Kept, Scanned, ScannedMessage, scan};

/// How the real runtime would take the file when it opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It opens.
    Fine,
    /// No line could be read.
    Empty,
    /// The first line that parses is no header: the runtime would empty the file (store J3). Read here in
    /// recovery: the tree is built without a header, and nothing is ever written.
    NoHeader,
    /// A line is `null`, or a bare scalar in a version 1 file: the runtime cannot open it (store J6, L2a).
    Throws {
        /// The line, counted from 1.
        line: u64,
    },
}

/// What identifies an open file: replaced files differ in it (store Q2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileIdentity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// The first and the last bytes of what was read.
pub type Ends = (Box<[u8]>, Box<[u8]>);

/// Everything known of a transcript without its bodies.
#[derive(Debug, Clone)]
pub struct Index {
    /// Where it was read from.
    pub path: Arc<Path>,
    /// How the runtime it belongs to reads it.
    pub reading: Reading,
    /// The release of pi that it is read as.
    pub pi: PiRelease,
    /// It holds lines that the two readings take differently: it must be read anew to change between them.
    pub reads_differently: bool,
    /// How the runtime would take it.
    pub standing: Standing,
    /// Its header, unless it has none.
    pub header: Option<Header>,
    /// Its entries in file order; the header and its duplicates are none (store J8).
    pub entries: Grown<Entry>,
    /// Those that are no part of the talk: see [`Index::asides`].
    asides: Grown<EntryIx>,
    /// Ids of entries and calls.
    pub ids: Ids,
    /// Tool names, models, custom types, labels, names.
    pub words: Words,
    /// Tool calls, grouped by entry.
    pub calls: Vec<Call>,
    /// Messages whose sizes do not tell what trimming makes of them, and leaf rows.
    pub odd: HashMap<EntryIx, Arc<Value>>,
    /// What a projection asks for beside sizes: edits, system messages, checkpoints.
    pub kept: HashMap<EntryIx, Kept>,
    /// The usage of failed and aborted answers, and of work beside the conversation: `usage` entries, summaries, nested calls of tools (store-pi-1.5
    /// B12).
    pub beside: HashMap<EntryIx, Usage>,
    /// What was odd about the file.
    pub findings: Vec<Finding>,
    /// Lines that hold something and could not be read.
    pub bad_lines: u64,
    /// Bytes read into entries; growth is read from here.
    pub end: u64,
    /// Bytes after `end`: a last line without its end that does not parse yet (store J7).
    pub pending: u64,
    /// The last entry's line has no end yet (store J7).
    pub unterminated: bool,
    /// Lines read.
    pub lines: u64,
    /// Which file it was.
    pub identity: FileIdentity,
    /// The first and the last bytes before `end`: a file that kept them has grown, any other was rewritten.
    pub ends: Ends,
    /// Headers and entries by line, for the indexes of version 1 (store L2); empty for later versions.
    positions: Vec<Option<EntryIx>>,
}

/// Findings kept one by one; more are counted in the last one.
const FINDINGS_KEPT: u64 = 50;

impl Index {
    /// An index of nothing, to push lines into.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into().into(),
            reading: Reading::default(),
            pi: PiRelease::default(),
            reads_differently: false,
            standing: Standing::Empty,
            header: None,
            entries: Grown::default(),
            asides: Grown::default(),
            ids: Ids::default(),
            words: Words::default(),
            calls: Vec::new(),
            odd: HashMap::new(),
            kept: HashMap::new(),
            beside: HashMap::new(),
            findings: Vec::new(),
            bad_lines: 0,
            end: 0,
            pending: 0,
            unterminated: false,
            lines: 0,
            identity: FileIdentity::default(),
            ends: (Box::default(), Box::default()),
            positions: Vec::new(),
        }
    }

    /// The entry at an index.
    pub fn entry(&self, ix: EntryIx) -> &Entry {
        &self.entries[ix.at()]
    }

    /// Every entry with its index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (EntryIx, &Entry)> {
        self.entries.iter().enumerate().map(|(at, entry)| (EntryIx(at as u32), entry))
    }

    /// The entries that are no message of the person, the model or a tool, in file order: names, labels, touches, compactions
    /// and the like, and system messages. They are few, and looked for each time a line was added.
    pub fn asides(&self) -> impl DoubleEndedIterator<Item = (EntryIx, &Entry)> {
        self.asides.iter().map(|ix| (*ix, self.entry(*ix)))
    }

    /// The id of an entry for people and JSON; entries without one are named by their line.
    pub fn name(&self, ix: EntryIx) -> String {
        let entry = self.entry(ix);
        entry.id.map_or_else(|| format!("line {}", entry.line), |id| self.ids.text(id).to_owned())
    }

    /// The active leaf: the last entry in file order, of any type (store K1).
    pub fn last(&self) -> Option<EntryIx> {
        self.entries.len().checked_sub(1).map(|at| EntryIx(at as u32))
    }

    /// The tool calls of the entries before one, the nearest first.
    pub fn calls_before(&self, ix: EntryIx) -> impl Iterator<Item = &Call> {
        let end = self.calls.partition_point(|call| call.entry < ix);
        self.calls[..end].iter().rev()
    }

    /// The tool calls of an entry.
    pub fn calls_of(&self, ix: EntryIx) -> &[Call] {
        let (from, to) = self.entry(ix).calls;
        &self.calls[from as usize..to as usize]
    }

    /// The file's version as JavaScript compares it; 3 when there is no header.
    pub fn version(&self) -> f64 {
        self.header.as_ref().map_or(3.0, |header| header.version)
    }

    /// Whether the file is migrated in memory, step by step (store L1): to version 2, to version 3.
    pub fn migration(&self) -> (bool, bool) {
        (self.version() < 2.0, self.version() < 3.0)
    }

    /// Whether any entry holds an assistant message; without one the runtime may erase what is
    /// appended (store M5).
    pub fn has_assistant(&self) -> bool {
        use crate::store::entry::Role;
        self.entries.iter().any(|entry| entry.role() == Some(Role::Assistant))
    }

    /// Whether any entry holds a message of a user or of the assistant.
    pub fn has_turn(&self) -> bool {
        use crate::store::entry::Role;
        self.entries.iter().any(|entry| matches!(entry.role(), Some(Role::User | Role::Assistant)))
    }

    /// Notes something about the file.
    pub fn find(&mut self, severity: Severity, line: Option<u64>, what: String, next: &str) {
        let mut finding = Finding::new(self.path.to_path_buf(), severity, what, next);
        finding.line = line;
        self.findings.push(finding);
    }

    /// Notes a line that could not be read.
    pub fn push_bad(&mut self, line: u64, bytes: usize, why: js::SyntaxError) {
        self.bad_lines += 1;
        if self.bad_lines <= FINDINGS_KEPT {
            let (what, next) = if why.is_too_deep() {
                let what = format!("nests deeper than {} levels, {bytes} bytes", js::MAX_DEPTH);
                (
                    what,
                    "The line is left out here, but the runtime may read it: the real tree can be another.",
                )
            } else {
                let next = "The line is left out, as the runtime does; the tree is whole without it.";
                (format!("not JSON, {bytes} bytes: {why}"), next)
            };
            self.find(Severity::Warning, Some(line), what, next);
        } else if self.bad_lines == FINDINGS_KEPT + 1 {
            let next = "Look at the file itself: it may be no transcript.";
            self.find(Severity::Warning, Some(line), "more lines could not be read".into(), next);
        }
    }

    /// Everything that was found, with what the end of the file looks like now (store J7).
    pub fn all_findings(&self) -> Vec<Finding> {
        let note = |line, what: String, next: &str| {
            let mut finding = Finding::new(self.path.to_path_buf(), Severity::Note, what, next);
            finding.line = line;
            finding
        };
        let writer = "A writer is probably in the middle of a line; it is read again when it grows.";
        let mut findings = self.findings.clone();
        if self.unterminated {
            findings.push(note(Some(self.lines), "the last line has no line end".into(), writer));
        } else if self.pending > 0 {
            let what = format!("{} bytes after the last line end are not JSON yet", self.pending);
            findings.push(note(Some(self.lines + 1), what, writer));
        }
        if self.standing == Standing::Empty {
            findings.push(note(None, "empty".into(), "There is nothing to read yet."));
        }
        findings
    }

    /// What an edit puts in the place of its target; none of other entries.
    pub fn replacement(&self, edit: EntryIx) -> Option<&Replacement> {
        match self.kept.get(&edit)? {
            Kept::Edit(replacement) => Some(replacement),
            _ => None,
        }
    }

    /// The system message that an entry is, or carries as a compaction.
    pub fn system_message(&self, ix: EntryIx) -> Option<&Arc<Value>> {
        match self.kept.get(&ix)? {
            Kept::Checkpoint(message) => Some(message),
            Kept::Message(message) => {
                (self.entry(ix).role() == Some(crate::store::entry::Role::System)).then_some(message)
            }
            Kept::Edit(_) => None,
        }
    }

    /// Takes the next line as it was parsed.
    pub fn push(&mut self, value: &Value, place: Place, new_ids: &mut dyn NewIds) {
        if self.standing == Standing::Empty && !self.drops(!js::truthy(Some(value))) {
            self.open(value, place.line);
        }
        let (_, to_v3) = self.migration();
        self.take(scan(value, to_v3), b"", place, new_ids);
    }

    /// Takes the next line as it was scanned; `text` is what its names stand in. The first one is [pushed](Self::push).
    pub(crate) fn take(&mut self, scanned: Scanned, text: &[u8], place: Place, new_ids: &mut dyn NewIds) {
        self.reads_differently |= scanned.falsy;
        if self.drops(scanned.falsy) {
            return;
        }
        if scanned.null {
            self.throws(place.line, "the line is `null`");
            return;
        }
        let (to_v2, _) = self.migration();
        if scanned.kind == Some(EntryKind::Scalar) && to_v2 && !scanned.array {
            self.throws(place.line, "a bare value in a version 1 file");
        }
        let ix = scanned.kind.map(|kind| self.push_entry(kind, scanned, text, place));
        if to_v2 {
            self.positions.push(ix.map(|(ix, _)| ix));
            if let Some((ix, kept_index)) = ix {
                self.migrate(ix, kept_index, place.line, new_ids);
            }
        }
    }

    /// Whether a falsy line is a line of junk (store-pi-1.5 C2).
    fn drops(&self, falsy: bool) -> bool {
        falsy && self.pi.has(PiChange::ReadsLines)
    }

    /// Takes what is read for what a release of pi makes of it.
    pub fn set_pi(&mut self, pi: PiRelease) {
        self.pi = pi;
        self.reading = pi.reading();
    }

    fn throws(&mut self, line: u64, what: &str) {
        if self.standing == Standing::Fine || self.standing == Standing::Empty {
            self.standing = Standing::Throws { line };
        }
        let next = "The runtime cannot open this file; remove the line in a copy. Nothing is written here.";
        self.find(Severity::Error, Some(line), what.to_owned(), next);
    }

    /// The first line that parses decides whether the file is a session (store J2, J3).
    fn open(&mut self, value: &Value, line: u64) {
        match Header::of(value) {
            Some(header) => {
                self.header = Some(header);
                self.standing = Standing::Fine;
            }
            None if value.is_null() => {}
            None => {
                self.standing = Standing::NoHeader;
                let next = "A runtime refuses this file, pi before 0.80.3 would empty it on opening: copy it first. Read here without a header; never written.";
                self.find(Severity::Error, Some(line), "no session header".into(), next);
            }
        }
    }

    fn push_entry(
        &mut self,
        kind: EntryKind,
        scanned: Scanned,
        text: &[u8],
        place: Place,
    ) -> (EntryIx, Option<f64>) {
        let ix = EntryIx(self.entries.len() as u32);
        let calls_from = self.calls.len() as u32;
        let kept_index = scanned.kept_index;
        let message = scanned.message.as_ref().map(|message| self.intern_message(ix, message, text));
        let entry = Entry {
            kind,
            id: self.ids.of_name(&scanned.id, text),
            null_id: scanned.id.is_null(),
            parent: self.ids.of_name(&scanned.parent, text),
            link: scanned.link,
            offset: place.offset,
            bytes: place.bytes,
            line: place.line,
            time: scanned.time,
            reference: self.ids.of_name(&scanned.reference, text),
            word: self.words.of_name(&scanned.word, text),
            model: scanned.model.map(|(provider, model)| {
                (self.words.of_name(&provider, text), self.words.of_name(&model, text))
            }),
            number: scanned.number,
            no_message: scanned.no_message,
            excluded: scanned.excluded,
            message,
            calls: (calls_from, self.calls.len() as u32),
        };
        if let Some(body) = scanned.body {
            self.odd.insert(ix, Arc::new(body));
        }
        self.kept.extend(scanned.kept.map(|kept| (ix, kept)));
        self.beside.extend(scanned.beside.map(|usage| (ix, usage)));
        if entry.is_aside() {
            self.asides.push(ix);
        }
        self.entries.push(entry);
        (ix, kept_index)
    }

    fn intern_message(
        &mut self,
        ix: EntryIx,
        message: &ScannedMessage,
        text: &[u8],
    ) -> crate::store::entry::MessageSize {
        for call in &message.calls {
            let call = Call {
                entry: ix,
                id: self.ids.of_name(&call.id, text),
                name: self.words.of_name(&call.name, text),
                chars: call.chars,
            };
            self.calls.push(call);
        }
        let mut size = message.size;
        size.tool = self.words.of_name(&message.tool, text);
        size.call = self.ids.of_name(&message.call, text);
        size
    }

    /// The step from version 1 to 2, in memory only (store L2, L2a, L5).
    fn migrate(&mut self, ix: EntryIx, kept_index: Option<f64>, line: u64, new_ids: &mut dyn NewIds) {
        let ids = &self.ids;
        let text = new_ids.next_id(line, &|text| ids.find(text).is_some());
        let id = self.ids.of_text(&text);
        let parent = ix.at().checked_sub(1).and_then(|before| self.entries[before].id);
        // It was added just now.
        let Some(entry) = self.entries.last_mut() else { return };
        entry.id = Some(id);
        entry.null_id = false;
        entry.parent = parent;
        let kept = kept_index.filter(|_| entry.kind == EntryKind::Compaction).and_then(|at| self.kept_at(at));
        if let Some(entry) = self.entries.last_mut() {
            entry.reference = kept.or(entry.reference);
        }
    }

    fn kept_at(&self, at: f64) -> Option<IdIx> {
        let whole = at >= 0.0 && at.fract() == 0.0 && at < self.positions.len() as f64;
        let ix = self.positions.get(at as usize).copied().flatten().filter(|_| whole)?;
        self.entries[ix.at()].id
    }

    /// Takes back the last entry, when its line had no end and grew (store J7).
    pub fn pop_unterminated(&mut self) {
        if !self.unterminated {
            return;
        }
        self.unterminated = false;
        if let Some(entry) = self.entries.pop() {
            self.calls.truncate(entry.calls.0 as usize);
            self.positions.pop();
            let ix = EntryIx(self.entries.len() as u32);
            if entry.is_aside() {
                self.asides.pop();
            }
            self.odd.remove(&ix);
            self.kept.remove(&ix);
            self.beside.remove(&ix);
            self.end = entry.offset;
            self.lines = entry.line - 1;
        }
    }

    /// The word of an entry as text.
    pub fn word_text(&self, word: WordIx) -> Option<String> {
        self.words.text(word)
    }
}

/// Where a line stands.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// First byte.
    pub offset: u64,
    /// Bytes without the line end.
    pub bytes: u32,
    /// Line, counted from 1.
    pub line: u64,
}
