//! A session file in a separate folder, read as the program reads it, and questions about it.

use std::cell::Cell;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clawscope::commit::{
    Clock, CommitMethod, CommitProvenance, CommitRequest, PlannedCompaction, PolicyRecord, PreparedCommit,
    RandomIds, Refusal, TranscriptInput, TranscriptStatus, UndoRequest, UndoTarget, prepare, prepare_undo,
};
use clawscope::context::{bodies, build_context};
use clawscope::gateway::ruleset::{ReadMode, Ruleset};
use clawscope::ids::{EntryIx, LineIds};
use clawscope::js::{self, Object, Value};
use clawscope::plan::EntryChange;
use clawscope::policy::compact::{self, branch_entries};
use clawscope::store::entry::Role;
use clawscope::store::index::Index;
use clawscope::store::load::{FileChange, load_for_release, refresh};
use clawscope::store::source::Source;
use clawscope::transcript::{Leaf, Tree};
use clawscope::units::{Millis, Moment, Tokens};

/// 2026-02-25, a time after everything in the generated transcripts.
pub(crate) const NOW: Moment = Moment(1_772_000_000_000.0);

/// A clock that only moves when a caller waits.
#[derive(Debug)]
pub(crate) struct TestClock(pub(crate) Cell<Moment>);

impl Default for TestClock {
    fn default() -> Self {
        Self(Cell::new(NOW))
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> Moment {
        self.0.get()
    }

    fn pause(&self, duration: Millis) {
        self.0.set(self.0.get() + duration);
    }
}

fn tree_of(index: &Index) -> Tree {
    match index.reading {
        ReadMode::Entries => Tree::new(index),
        ReadMode::Projected => Tree::under(Ruleset::Pi1_5.rules(), index),
    }
}

/// A session file and its loaded form.
#[derive(Debug)]
pub(crate) struct Session {
    folder: Option<tempfile::TempDir>,
    pub(crate) path: PathBuf,
    pub(crate) index: Index,
    pub(crate) tree: Tree,
    pub(crate) source: Source,
    reading: ReadMode,
}

impl Session {
    /// Writes the bytes to a new file and reads it.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session.jsonl");
        fs::File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("the session file");
        Self::read(Some(folder), path, ReadMode::Entries)
    }

    /// Reads an existing file.
    pub(crate) fn at(path: &Path) -> Self {
        Self::read(None, path.to_path_buf(), ReadMode::Entries)
    }

    /// Reads it as today's pi does, which supports edits.
    pub(crate) fn of_today(path: &Path) -> Self {
        Self::read(None, path.to_path_buf(), ReadMode::Projected)
    }

    fn read(folder: Option<tempfile::TempDir>, path: PathBuf, reading: ReadMode) -> Self {
        let source = Source::open(&path).expect("the session opens");
        let index =
            load_for_release(&source, reading, &mut LineIds, &mut |_, _| true).expect("the session loads");
        let tree = tree_of(&index);
        Self { folder, path, index, tree, source, reading }
    }

    /// The same file read again from its beginning.
    #[must_use]
    pub(crate) fn reload(self) -> Self {
        Self::read(self.folder, self.path, self.reading)
    }

    /// Reads the lines added to the file.
    pub(crate) fn grow(&mut self) {
        match refresh(&self.index, &self.source, &mut LineIds, &mut |_, _| true).expect("the session reads") {
            FileChange::Unchanged => return,
            FileChange::Grown(index) | FileChange::Replaced(index) => self.index = *index,
        }
        self.tree = tree_of(&self.index);
    }

    /// The bytes on disk.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).expect("the session file")
    }

    pub(crate) fn transcript(&self) -> TranscriptInput<'_> {
        TranscriptInput {
            index: &self.index,
            tree: &self.tree,
            source: &self.source,
            status: TranscriptStatus::Referenced,
            allow_orphan: false,
        }
    }

    /// The context of the active leaf, each message as canonical JSON.
    pub(crate) fn context(&self) -> Vec<String> {
        let context = build_context(&self.index, &self.tree, &Leaf::Own).expect("a context");
        let messages = bodies::read_messages(&self.source, &self.index, &context).expect("its messages");
        messages.iter().map(js::stringify).collect()
    }

    /// The tool results of the active path.
    pub(crate) fn results(&self) -> Vec<EntryIx> {
        let path = self.tree.branch(&self.index, &Leaf::Own);
        path.into_iter().filter(|ix| self.index.entry(*ix).role() == Some(Role::ToolResult)).collect()
    }

    /// A change that clears the content of a message.
    pub(crate) fn clear(&self, entry: EntryIx) -> EntryChange {
        self.replace(entry, "[Old tool result content cleared]")
    }

    /// A change that gives a message one text.
    pub(crate) fn replace(&self, entry: EntryIx, text: &str) -> EntryChange {
        let message = clawscope::store::body::read_message(&self.source, &self.index, entry);
        let mut message = message.expect("the entry reads").expect("a message");
        let block = Object::from([("type", "text"), ("text", text)]);
        let object = message.as_object_mut().expect("an object");
        object.set("content", Value::Array(vec![Value::Object(block)]));
        EntryChange { entry, message }
    }

    /// Returns a compaction that keeps about this many tokens; `None` when there is nothing to prepare.
    pub(crate) fn compaction(&self, keep_tokens: f64, summary: &str) -> Option<PlannedCompaction> {
        let path = self.tree.branch(&self.index, &Leaf::Own);
        let body = |ix| clawscope::store::body::read_entry(&self.source, &self.index, ix);
        let branch = branch_entries(&self.index, &path, body).expect("the branch reads");
        let preparation = compact::prepare(&branch, Tokens(keep_tokens)).expect("measurable")?;
        let files = preparation.read_texts(&branch, body).expect("the branch reads").files;
        Some(PlannedCompaction {
            summary: summary.into(),
            first_kept: preparation.first_kept,
            tokens_before: preparation.tokens_before,
            details: Some(files.to_lists()),
            from_hook: false,
        })
    }

    /// Prepares changes and a compaction after them.
    pub(crate) fn prepare_with(
        &self,
        changes: Vec<EntryChange>,
        compaction: Option<PlannedCompaction>,
    ) -> Result<PreparedCommit, Refusal> {
        let request = CommitRequest { compaction, ..self.request(changes) };
        prepare(&request, &mut RandomIds::default())
    }

    pub(crate) fn request(&self, changes: Vec<EntryChange>) -> CommitRequest<'_> {
        CommitRequest {
            transcript: self.transcript(),
            leaf: &Leaf::Own,
            changes,
            omitted: Vec::new(),
            method: match self.reading {
                ReadMode::Entries => CommitMethod::Branch,
                ReadMode::Projected => CommitMethod::Edits,
            },
            compaction: None,
            provenance: CommitProvenance {
                policies: vec![PolicyRecord {
                    name: "prune".into(),
                    settings: Object::from([("softTrimRatio", 0.3)]).into(),
                    tokens_before: Tokens(1000.0),
                    tokens_after: Tokens(900.0),
                }],
                tokens_before: 1000,
                tokens_after: 900,
                prompt_tokens: (1_000, 900),
                tool: "clawscope 0.1.0".into(),
            },
            now_ms: NOW,
        }
    }

    pub(crate) fn prepare(&self, changes: Vec<EntryChange>) -> Result<PreparedCommit, Refusal> {
        prepare(&self.request(changes), &mut RandomIds::default())
    }

    pub(crate) fn prepare_undo(&self, target: UndoTarget) -> Result<PreparedCommit, Refusal> {
        let request = UndoRequest {
            transcript: self.transcript(),
            target,
            tool: "clawscope 0.1.0".into(),
            now_ms: NOW,
        };
        prepare_undo(&request, &mut RandomIds::default())
    }

    /// Returns the planned context of a prepared commit, as canonical JSON.
    pub(crate) fn planned(&self, prepared: &PreparedCommit) -> Vec<String> {
        let json = prepared.messages.iter().map(|message| message.json(&self.source, &self.index));
        json.collect::<Result<_, _>>().expect("the planned messages")
    }
}
