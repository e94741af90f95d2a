//! The size-first index of one transcript: every entry without its body, in file order, and the file's diagnostics.
//!
//! An [`Entry`] has a fixed size, and ids and repeated values are interned, so the index is much smaller than the file.
//! Growth is appended to the same index ([`super::load::refresh`]); bodies are read on demand.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Severity};
use crate::format::format_count;
use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::store::entry::{Entry, EntryKind, ReadMode, Replacement, ToolCall, Usage};
use crate::store::intern::{IdIx, IdTable, ValueIx, ValueTable};
use crate::store::limits::{self, MAX_LINE_BYTES};
use crate::store::scan::{ProjectionData, ScannedLine, ScannedMessage, scan};
use crate::store::session_builder::Header;
use crate::store::shared_vec::SharedVec;
use crate::units::Bytes;

pub use crate::store::file_identity::FileIdentity;

/// Result of opening the file in the real runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenStatus {
    Opens,
    /// No line could be read.
    Empty,
    /// The first line that parses is not a header: a runtime refuses the file, and pi before 0.80.3 would empty it
    /// (store J3). clawscope reads it in recovery mode: it builds the tree without a header and never writes the file.
    NoHeader,
    /// A line is `null`, or a bare scalar in a version 1 file: the runtime cannot open the file (store J6, L2a).
    Throws {
        /// Line number, counted from 1.
        line: u64,
    },
}

/// The first and the last bytes of the indexed range.
pub type EdgeBytes = (Box<[u8]>, Box<[u8]>);

/// Index of a transcript: everything except bodies.
#[derive(Debug, Clone)]
pub struct Index {
    pub path: Arc<Path>,
    /// Reading mode of the runtime that owns the file.
    pub reading: ReadMode,
    /// Release of pi whose rules apply.
    pub pi_release: PiRelease,
    /// Whether some lines differ between the two reading modes, so that a change of mode needs a full read.
    pub depends_on_reading: bool,
    pub open_status: OpenStatus,
    pub header: Option<Header>,
    /// Entries in file order, without the header and its duplicates (store J8).
    pub entries: SharedVec<Entry>,
    /// See [`Index::auxiliary_entries`].
    auxiliary_entries: SharedVec<EntryIx>,
    /// Ids of entries and calls.
    pub ids: IdTable,
    /// Tool names, models, custom types, labels, names.
    pub values: ValueTable,
    /// Tool calls, grouped by entry in file order.
    pub tool_calls: Vec<ToolCall>,
    /// Bodies of leaf rows, and of messages that trimming cannot decide from sizes.
    pub retained_bodies: HashMap<EntryIx, Arc<Value>>,
    /// Edits, system messages and checkpoints, which a projection needs in full.
    pub projection_data: HashMap<EntryIx, ProjectionData>,
    /// Usage of failed and aborted replies and of work outside the conversation: `usage` entries, summaries, nested
    /// calls of tools (store-pi-1.5 B12).
    pub unanchored_usage: HashMap<EntryIx, Usage>,
    pub diagnostics: Vec<Diagnostic>,
    /// Number of lines that are neither blank nor readable.
    pub bad_lines: u64,
    /// Byte offset after the last indexed line; growth is read from here.
    pub end: u64,
    /// Bytes after `end`: a last line without a line end that does not parse yet (store J7).
    pub pending_bytes: Bytes,
    /// Whether the last entry's line has no line end yet (store J7).
    pub is_unterminated: bool,
    /// The last entry was read only because the runtime trims the end of the file: its line is broken once more follows.
    pub depends_on_end: bool,
    pub line_count: u64,
    pub identity: FileIdentity,
    /// The first and the last bytes before `end`: a file that still has them has grown, any other was rewritten.
    pub edge_bytes: EdgeBytes,
    /// Headers and entries by line, for the entry indexes of version 1 (store L2); empty for later versions.
    entries_by_line: Vec<Option<EntryIx>>,
}

/// Limit of diagnostics for bad lines; one more says that there are further ones.
const MAX_DIAGNOSTICS: u64 = 50;

impl Index {
    /// Creates an empty index.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into().into(),
            reading: ReadMode::default(),
            pi_release: PiRelease::default(),
            depends_on_reading: false,
            open_status: OpenStatus::Empty,
            header: None,
            entries: SharedVec::default(),
            auxiliary_entries: SharedVec::default(),
            ids: IdTable::default(),
            values: ValueTable::default(),
            tool_calls: Vec::new(),
            retained_bodies: HashMap::new(),
            projection_data: HashMap::new(),
            unanchored_usage: HashMap::new(),
            diagnostics: Vec::new(),
            bad_lines: 0,
            end: 0,
            pending_bytes: Bytes::ZERO,
            is_unterminated: false,
            depends_on_end: false,
            line_count: 0,
            identity: FileIdentity::default(),
            edge_bytes: (Box::default(), Box::default()),
            entries_by_line: Vec::new(),
        }
    }

    pub fn entry(&self, ix: EntryIx) -> &Entry {
        &self.entries[ix.index()]
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (EntryIx, &Entry)> {
        self.entries.iter().enumerate().map(|(at, entry)| (EntryIx(at as u32), entry))
    }

    /// Returns the entries that are not messages of the person, the model or a tool, in file order: names, labels,
    /// compactions and the like, and system messages. They are few, and every refresh searches them.
    pub fn auxiliary_entries(&self) -> impl DoubleEndedIterator<Item = (EntryIx, &Entry)> {
        self.auxiliary_entries.iter().map(|ix| (*ix, self.entry(*ix)))
    }

    /// Returns the id for screen and JSON; an entry without one is named by its line.
    pub fn display_id(&self, ix: EntryIx) -> String {
        let entry = self.entry(ix);
        entry.id.map_or_else(|| format!("line {}", entry.line), |id| self.ids.text(id).to_owned())
    }

    /// Returns the active leaf: the last entry in file order, of any type (store K1).
    pub fn last(&self) -> Option<EntryIx> {
        self.entries.len().checked_sub(1).map(|at| EntryIx(at as u32))
    }

    /// Returns the tool calls of all earlier entries, nearest first.
    pub fn tool_calls_before(&self, ix: EntryIx) -> impl Iterator<Item = &ToolCall> {
        let end = self.tool_calls.partition_point(|call| call.entry < ix);
        self.tool_calls[..end].iter().rev()
    }

    pub fn tool_calls_of(&self, ix: EntryIx) -> &[ToolCall] {
        let (from, to) = self.entry(ix).tool_calls;
        &self.tool_calls[from as usize..to as usize]
    }

    /// Returns the file's version as JavaScript compares it; 3 without a header.
    pub fn version(&self) -> f64 {
        self.header.as_ref().map_or(3.0, |header| header.version)
    }

    /// Returns whether the file is migrated in memory to version 2 and to version 3 (store L1).
    pub fn migration_steps(&self) -> (bool, bool) {
        (self.version() < 2.0, self.version() < 3.0)
    }

    /// Whether any entry holds an assistant message; without one the runtime may erase appended entries (store M5).
    pub fn has_assistant(&self) -> bool {
        use crate::store::entry::Role;
        self.entries.iter().any(|entry| entry.role() == Some(Role::Assistant))
    }

    /// Whether any entry holds a message of a user or of the assistant.
    pub fn has_turn(&self) -> bool {
        use crate::store::entry::Role;
        self.entries.iter().any(|entry| matches!(entry.role(), Some(Role::User | Role::Assistant)))
    }

    pub fn add_diagnostic(&mut self, severity: Severity, line: Option<u64>, what: String, next: &str) {
        let mut finding = Diagnostic::new(self.path.to_path_buf(), severity, what, next);
        finding.line = line;
        self.diagnostics.push(finding);
    }

    /// Returns the size of the file when it was read: the indexed lines and what follows them.
    pub fn file_bytes(&self) -> Bytes {
        Bytes(self.end) + self.pending_bytes
    }

    /// Records a line that could not be read.
    pub fn record_bad_line(&mut self, line: u64, bytes: Bytes, why: js::SyntaxError) {
        self.bad_lines += 1;
        if self.bad_lines <= MAX_DIAGNOSTICS {
            let (what, next) = if let Some(limit) = limits::exceeded_by(why) {
                let what = format!("{limit} ({})", format_count(bytes.get(), "byte", "bytes"));
                (what, "clawscope skips the line, but the runtime may read it, so the real tree may differ.")
            } else {
                let next = "clawscope skips the line, as the runtime does; the tree is complete without it.";
                (format!("not JSON ({}): {why}", format_count(bytes.get(), "byte", "bytes")), next)
            };
            self.add_diagnostic(Severity::Warning, Some(line), what, next);
        } else if self.bad_lines == MAX_DIAGNOSTICS + 1 {
            let next = "Check the file: it may not be a transcript.";
            self.add_diagnostic(
                Severity::Warning,
                Some(line),
                "clawscope could not read more lines".into(),
                next,
            );
        }
    }

    /// Records that a line was not read because it or the transcript exceeds a limit.
    pub(crate) fn record_limit(&mut self, line: u64, what: String) {
        self.bad_lines += 1;
        if self.bad_lines <= MAX_DIAGNOSTICS {
            let next = "clawscope skips the line, but the runtime may read it, so the real tree may differ.";
            self.add_diagnostic(Severity::Warning, Some(line), what, next);
        }
    }

    /// Returns all diagnostics, with those for the current end of the file (store J7).
    pub fn all_diagnostics(&self) -> Vec<Diagnostic> {
        let note = |line, what: String, next: &str| {
            let mut finding = Diagnostic::new(self.path.to_path_buf(), Severity::Note, what, next);
            finding.line = line;
            finding
        };
        let writer = "A program is probably still writing the line; clawscope reads it again when the file \
             grows.";
        let mut diagnostics = self.diagnostics.clone();
        if self.is_unterminated {
            diagnostics.push(note(Some(self.line_count), "the last line has no line break".into(), writer));
        } else if self.pending_bytes > MAX_LINE_BYTES {
            let what = limits::overlong_line(self.pending_bytes);
            diagnostics.push(note(Some(self.line_count + 1), what, "clawscope skips the line."));
        } else if self.pending_bytes > Bytes::ZERO {
            let what = format!("{} bytes after the last line break are not JSON yet", self.pending_bytes);
            diagnostics.push(note(Some(self.line_count + 1), what, writer));
        }
        if self.open_status == OpenStatus::Empty && self.pending_bytes == Bytes::ZERO {
            diagnostics.push(note(None, "empty".into(), "Nothing to read yet."));
        }
        diagnostics
    }

    /// Returns the replacement of a `context_edit`; `None` for other entries.
    pub fn replacement(&self, edit: EntryIx) -> Option<&Replacement> {
        match self.projection_data.get(&edit)? {
            ProjectionData::Edit(replacement) => Some(replacement),
            _ => None,
        }
    }

    /// Returns the system message that the entry is, or that it carries as a compaction.
    pub fn system_message(&self, ix: EntryIx) -> Option<&Arc<Value>> {
        match self.projection_data.get(&ix)? {
            ProjectionData::Checkpoint(message) => Some(message),
            ProjectionData::Message(message) => {
                (self.entry(ix).role() == Some(crate::store::entry::Role::System)).then_some(message)
            }
            ProjectionData::Edit(_) => None,
        }
    }

    /// Appends the next line from its parsed value.
    pub fn push_parsed(&mut self, value: &Value, place: LinePosition, new_ids: &mut dyn IdSource) {
        if self.open_status == OpenStatus::Empty && !self.is_junk(!js::is_truthy(Some(value))) {
            self.parse_first_line(value, place.line);
        }
        let (_, to_v3) = self.migration_steps();
        self.push_scanned(scan(value, to_v3), b"", place, new_ids);
    }

    /// Appends a scanned line; `text` holds the bytes that its spans refer to. The first line must go through
    /// [`Index::push_parsed`].
    pub(crate) fn push_scanned(
        &mut self,
        scanned: ScannedLine,
        text: &[u8],
        place: LinePosition,
        new_ids: &mut dyn IdSource,
    ) {
        self.depends_on_reading |= scanned.is_falsy;
        if self.is_junk(scanned.is_falsy) {
            return;
        }
        if scanned.is_null {
            self.mark_throws(place.line, "the line contains `null`");
            return;
        }
        let (to_v2, _) = self.migration_steps();
        if scanned.kind == Some(EntryKind::Scalar) && to_v2 && !scanned.is_array {
            self.mark_throws(place.line, "the line is a bare value, not an object, in a version 1 file");
        }
        let ix = scanned.kind.map(|kind| self.push_entry(kind, scanned, text, place));
        if to_v2 {
            self.entries_by_line.push(ix.map(|(ix, _)| ix));
            if let Some((ix, kept_index)) = ix {
                self.migrate_to_v2(ix, kept_index, place.line, new_ids);
            }
        }
    }

    /// Whether a falsy line counts as junk (store-pi-1.5 C2).
    fn is_junk(&self, falsy: bool) -> bool {
        falsy && self.pi_release.has(PiChange::ReadsLines)
    }

    /// Sets the release of pi whose rules apply to the lines that follow.
    pub fn set_pi_release(&mut self, pi: PiRelease) {
        self.pi_release = pi;
        self.reading = pi.reading();
    }

    fn mark_throws(&mut self, line: u64, what: &str) {
        if self.open_status == OpenStatus::Opens || self.open_status == OpenStatus::Empty {
            self.open_status = OpenStatus::Throws { line };
        }
        let next = "The runtime cannot open this file; remove the line in a copy. clawscope never writes to \
             it.";
        self.add_diagnostic(Severity::Error, Some(line), what.to_owned(), next);
    }

    /// Reads the header: the first line that parses decides whether the file is a session (store J2, J3).
    fn parse_first_line(&mut self, value: &Value, line: u64) {
        match Header::from_value(value) {
            Some(header) => {
                self.header = Some(header);
                self.open_status = OpenStatus::Opens;
            }
            None if value.is_null() => {}
            None => {
                self.open_status = OpenStatus::NoHeader;
                let next = "Copy the file before you open it: a runtime refuses it, and pi before 0.80.3 \
                     empties it. clawscope only reads it.";
                self.add_diagnostic(Severity::Error, Some(line), "no session header".into(), next);
            }
        }
    }

    fn push_entry(
        &mut self,
        kind: EntryKind,
        scanned: ScannedLine,
        text: &[u8],
        place: LinePosition,
    ) -> (EntryIx, Option<f64>) {
        let ix = EntryIx(self.entries.len() as u32);
        let calls_from = self.tool_calls.len() as u32;
        let kept_index = scanned.first_kept_index;
        let message = scanned.message.as_ref().map(|message| self.intern_message(ix, message, text));
        let entry = Entry {
            kind,
            id: self.ids.intern_scanned(&scanned.id, text),
            has_null_id: scanned.id.is_null(),
            parent: self.ids.intern_scanned(&scanned.parent, text),
            link: scanned.link,
            offset: place.offset,
            bytes: place.bytes.get() as u32,
            line: place.line,
            time_ms: scanned.time_ms,
            reference: self.ids.intern_scanned(&scanned.reference, text),
            payload: self.values.intern_scanned(&scanned.payload, text),
            model: scanned.model.map(|(provider, model)| {
                (self.values.intern_scanned(&provider, text), self.values.intern_scanned(&model, text))
            }),
            payload_number: scanned.payload_number,
            lacks_message: scanned.lacks_message,
            is_excluded: scanned.is_excluded,
            message,
            tool_calls: (calls_from, self.tool_calls.len() as u32),
        };
        if let Some(body) = scanned.retained_body {
            self.retained_bodies.insert(ix, Arc::new(body));
        }
        self.projection_data.extend(scanned.projection_data.map(|kept| (ix, kept)));
        self.unanchored_usage.extend(scanned.unanchored_usage.map(|usage| (ix, usage)));
        if entry.is_auxiliary() {
            self.auxiliary_entries.push(ix);
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
        for call in &message.tool_calls {
            let call = ToolCall {
                entry: ix,
                id: self.ids.intern_scanned(&call.id, text),
                name: self.values.intern_scanned(&call.name, text),
                chars: call.chars,
            };
            self.tool_calls.push(call);
        }
        let mut size = message.size;
        size.tool_name = self.values.intern_scanned(&message.tool_name, text);
        size.call_id = self.ids.intern_scanned(&message.call_id, text);
        size
    }

    /// Migrates the new entry from version 1 to 2, in memory only (store L2, L2a, L5).
    fn migrate_to_v2(&mut self, ix: EntryIx, kept_index: Option<f64>, line: u64, new_ids: &mut dyn IdSource) {
        let ids = &self.ids;
        let text = new_ids.next_id(line, &|text| ids.find(text).is_some());
        let id = self.ids.intern_text(&text);
        let parent = ix.index().checked_sub(1).and_then(|before| self.entries[before].id);
        // `push_entry` added it just now.
        let Some(entry) = self.entries.last_mut() else { return };
        entry.id = Some(id);
        entry.has_null_id = false;
        entry.parent = parent;
        let kept =
            kept_index.filter(|_| entry.kind == EntryKind::Compaction).and_then(|at| self.first_kept_id(at));
        if let Some(entry) = self.entries.last_mut() {
            entry.reference = kept.or(entry.reference);
        }
    }

    fn first_kept_id(&self, at: f64) -> Option<IdIx> {
        let whole = at >= 0.0 && at.fract() == 0.0 && at < self.entries_by_line.len() as f64;
        let ix = self.entries_by_line.get(at as usize).copied().flatten().filter(|_| whole)?;
        self.entries[ix.index()].id
    }

    /// Removes the last entry of a file that grew when its line had no line end (store J7), or is another one now.
    pub fn pop_unfinished(&mut self) {
        if !self.is_unterminated && !self.depends_on_end {
            return;
        }
        self.is_unterminated = false;
        self.depends_on_end = false;
        if let Some(entry) = self.entries.pop() {
            self.tool_calls.truncate(entry.tool_calls.0 as usize);
            self.entries_by_line.pop();
            let ix = EntryIx(self.entries.len() as u32);
            if entry.is_auxiliary() {
                self.auxiliary_entries.pop();
            }
            self.retained_bodies.remove(&ix);
            self.projection_data.remove(&ix);
            self.unanchored_usage.remove(&ix);
            self.end = entry.offset;
            self.line_count = entry.line - 1;
        }
    }

    /// Returns the value as text; `None` when it is not a string.
    pub fn value_text(&self, word: ValueIx) -> Option<String> {
        self.values.text(word)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct LinePosition {
    /// Byte offset of the line.
    pub offset: u64,
    /// Bytes without the line end.
    pub bytes: Bytes,
    /// Line number, counted from 1.
    pub line: u64,
}
