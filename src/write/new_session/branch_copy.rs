//! The branch in view as a transcript of its own, in memory: the ordinary commit is prepared on it.

use crate::commit::{
    ExpectedMessage, PlannedCompaction, PreparedCommit, Refusal, TranscriptInput, TranscriptStatus,
};
use crate::context::build_context;
use crate::ids::{EntryIx, LineIds};
use crate::js::{self, Value};
use crate::plan::EntryChange;
use crate::session::LoadedSession;
use crate::store::index::Index;
use crate::store::load::load_for_release;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
use crate::write::error::WriteError;
use crate::write::requested_change::RequestedChange;

/// A header of the version that the importer reads without changes (sqlite E6).
pub(super) const TRANSCRIPT_VERSION: f64 = 3.0;

pub(super) struct BranchCopy<'a> {
    session: &'a LoadedSession,
    lines: Vec<String>,
    ids: Vec<String>,
    index: Index,
    tree: Tree,
    source: Source,
}

impl<'a> BranchCopy<'a> {
    /// Copies the branch and checks that it gives the same context.
    pub(super) fn read(session: &'a LoadedSession) -> Result<Self, WriteError> {
        let path = session.source.path();
        let entries = session.branch_entries()?;
        let id = |entry: &Value| entry.get("id").and_then(Value::as_str).map(js::JsString::to_string_lossy);
        let ids = entries.iter().map(|entry| id(entry).unwrap_or_default()).collect();
        let lines: Vec<String> = entries.iter().map(js::stringify).collect();
        let header = format!(r#"{{"type":"session","version":{TRANSCRIPT_VERSION},"id":"copy"}}"#);
        let text = format!("{header}\n{}\n", lines.join("\n"));
        let source = Source::from_memory(path, text.into_bytes());
        let unreadable = |error: String| Refusal::Unreadable {
            path: path.to_path_buf(),
            source: std::io::Error::other(error),
        };
        let index = load_for_release(&source, session.index.pi_release, &mut LineIds, &mut |_, _| true)
            .map_err(|error| unreadable(error.to_string()))?;
        let tree = Tree::under(session.ruleset.id.rules(), &index);
        let copy = Self { session, lines, ids, index, tree, source };
        copy.check_context()?;
        Ok(copy)
    }

    fn check_context(&self) -> Result<(), Refusal> {
        let path = || self.session.source.path().to_path_buf();
        let context = build_context(&self.index, &self.tree, &Leaf::Own);
        let context = context.map_err(|_| Refusal::NoContext { path: path() })?;
        let there: Vec<EntryIx> = context.messages.iter().map(|message| message.entry).collect();
        let here = self.session.context.messages.iter().map(|message| self.entry(message.entry));
        let differs = here.zip(&there).position(|(here, there)| here != Some(*there));
        let count = self.session.context.messages.len();
        let differs = differs.or((count != there.len()).then_some(count.min(there.len())));
        differs.map_or(Ok(()), |at| Err(Refusal::NotAsPlanned { path: path(), at: at + 1 }))
    }

    pub(super) fn transcript(&self) -> TranscriptInput<'_> {
        TranscriptInput {
            index: &self.index,
            tree: &self.tree,
            source: &self.source,
            status: TranscriptStatus::Referenced,
            allow_orphan: false,
        }
    }

    /// Returns the entry of the copy.
    fn entry(&self, ix: EntryIx) -> Option<EntryIx> {
        self.tree.find_by_text(&self.index, &self.session.index.display_id(ix))
    }

    fn required(&self, ix: EntryIx) -> Result<EntryIx, Refusal> {
        let refusal = || Refusal::NotOnPath {
            path: self.session.source.path().to_path_buf(),
            entry: self.session.index.display_id(ix),
        };
        self.entry(ix).ok_or_else(refusal)
    }

    /// Returns the changes for the entries of the copy.
    pub(super) fn translated(&self, change: RequestedChange) -> Result<RequestedChange, Refusal> {
        let moved = |change: EntryChange| Ok(EntryChange { entry: self.required(change.entry)?, ..change });
        let compaction = change.compaction.map(|planned| {
            Ok(PlannedCompaction { first_kept: self.required(planned.first_kept)?, ..planned })
        });
        Ok(RequestedChange {
            changes: change.changes.into_iter().map(moved).collect::<Result<_, Refusal>>()?,
            omitted: change.omitted.into_iter().map(|ix| self.required(ix)).collect::<Result<_, _>>()?,
            compaction: compaction.transpose()?,
            ..change
        })
    }

    /// Returns the messages that a commit to the copy promises, as canonical JSON.
    pub(super) fn expected_messages(&self, prepared: &PreparedCommit) -> Result<Vec<String>, WriteError> {
        let json = |message: &ExpectedMessage| message.json(&self.source, &self.index);
        Ok(prepared.messages.iter().map(json).collect::<Result<_, _>>()?)
    }

    /// Returns the lines from the start to the entry with this id; none without an id.
    pub(super) fn lines_up_to(&self, id: Option<&str>) -> impl Iterator<Item = &str> {
        let end = id.and_then(|id| self.ids.iter().position(|own| own == id)).map_or(0, |at| at + 1);
        self.lines[..end].iter().map(String::as_str)
    }
}
