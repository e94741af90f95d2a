//! Writes to a session that grows meanwhile. Programs append without the lock (store H10), so a commit that was refused
//! only for growth reads the new lines and tries again: at most as often as there are pauses, and only while the plan
//! still holds. A file that was rewritten, truncated or replaced is refused.

use crate::commit::{
    BranchRequest, Clock, CommitError, PreparedCommit, RandomIds, ReadPrefix, Refusal, TranscriptInput,
    TranscriptStatus, UndoRequest, WriteResult,
};
use crate::context::{Context, ContextMessage, build_context};
use crate::format::quantity;
use crate::ids::LineIds;
use crate::session::{LoadedSession, ManualChange, Mark};
use crate::store::index::Index;
use crate::store::load::{FileChange, refresh};
use crate::store::source::Source;
use crate::store::sqlite::database_of;
use crate::transcript::{Leaf, Tree};
use crate::units::Millis;
use crate::write::commit_record::{TOOL_VERSION, manual_provenance};
use crate::write::error::WriteError;
use crate::write::new_session::NewSession;
use crate::write::requested_change::{RequestedChange, WriteAction, WriteRequest};

/// Pauses before each new try. They grow, so that a burst of entries can end; the sum is what a person waits at most.
pub const RETRY_PAUSES_MS: [Millis; 8] = [
    Millis(2.0),
    Millis(5.0),
    Millis(11.0),
    Millis(23.0),
    Millis(47.0),
    Millis(95.0),
    Millis(191.0),
    Millis(383.0),
];

/// A pause ends within this time after the session grew.
const LOOK_MS: Millis = Millis(2.0);

/// The growth of a session while it was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Growth {
    /// Entries added since the plan was made.
    pub entries: usize,
    /// Tries after the first.
    pub retries: usize,
}

impl Growth {
    /// Describes the growth for the answer; `None` if the first try succeeded.
    pub fn describe(&self) -> Option<String> {
        (self.retries > 0).then(|| {
            format!(
                "the session grew by {} while committing; retried {}",
                quantity(self.entries, "entry"),
                quantity(self.retries, "time")
            )
        })
    }
}

/// The transcript of a session that grew after its plan was made.
#[derive(Debug)]
struct GrownTranscript {
    source: Source,
    index: Index,
    tree: Tree,
}

/// Index, tree and bytes of a transcript.
type Grown<'a> = (&'a Index, &'a Tree, &'a Source);

/// A write that is repeated when the session grows.
#[derive(Debug)]
pub struct GrowingWrite<'a> {
    request: WriteRequest<'a>,
    /// The bytes that the plan was made from; without them nothing is repeated.
    read: Option<ReadPrefix>,
    pauses_ms: &'a [Millis],
    grown: Option<GrownTranscript>,
    retries: usize,
}

impl<'a> GrowingWrite<'a> {
    /// `read` is the part of the file that the plan was made from, hashed when it was read. `pauses_ms` holds the pause
    /// before each new try.
    pub fn new(request: WriteRequest<'a>, read: Option<ReadPrefix>, pauses_ms: &'a [Millis]) -> Self {
        Self { request, read, pauses_ms, grown: None, retries: 0 }
    }

    pub fn request(&self) -> &WriteRequest<'a> {
        &self.request
    }

    pub fn growth(&self) -> Growth {
        let before = self.request.session.index.entries.len();
        let now = self.grown.as_ref().map_or(before, |grown| grown.index.entries.len());
        Growth { entries: now.saturating_sub(before), retries: self.retries }
    }

    /// Prepares the entries to append to the current session. Writes nothing.
    pub fn prepare(&mut self, clock: &dyn Clock) -> Result<PreparedCommit, WriteError> {
        self.repeat(clock, prepare_on)
    }

    /// Appends. Starts with `prepared`, if there is one, and prepares again when the session has grown since. Returns
    /// the result.
    pub fn write(
        &mut self,
        mut prepared: Option<PreparedCommit>,
        clock: &dyn Clock,
    ) -> Result<(PreparedCommit, WriteResult), WriteError> {
        self.repeat(clock, |request, grown| {
            let prepared = prepared.take().map_or_else(|| prepare_on(request, grown), Ok)?;
            let written = crate::commit::write(&prepared, Millis::ZERO, clock)?;
            Ok((prepared, written))
        })
    }

    fn repeat<T>(
        &mut self,
        clock: &dyn Clock,
        mut attempt: impl FnMut(&WriteRequest<'_>, Option<Grown<'_>>) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        loop {
            let grown = self.grown.as_ref().map(|grown| (&grown.index, &grown.tree, &grown.source));
            let error = match attempt(&self.request, grown) {
                Err(error) if may_be_growth(&error) => error,
                other => return other,
            };
            let Some(read) = &self.read else { return Err(error) };
            let Some(pause) = self.pauses_ms.get(self.retries) else { return Err(self.give_up(error)) };
            self.wait(*pause, clock);
            self.grown = Some(read_growth(&self.request, read)?);
            self.retries += 1;
        }
    }

    /// Waits `pause_ms`, or until the session grows: a steady writer leaves its longest gap right after an entry.
    fn wait(&self, pause_ms: Millis, clock: &dyn Clock) {
        let bytes = || self.request.session.source.len().ok();
        let (before, mut left) = (bytes(), pause_ms);
        while left > Millis::ZERO && bytes() == before {
            let step = left.min(LOOK_MS);
            clock.pause(step);
            left -= step;
        }
    }

    /// A file that did not grow has another fault, such as a last line without an end.
    fn give_up(&self, error: WriteError) -> WriteError {
        let Growth { entries, retries } = self.growth();
        if entries == 0 {
            return error;
        }
        let path = self.request.session.source.path().to_path_buf();
        Refusal::KeepsGrowing { path, entries, tries: retries + 1 }.into()
    }
}

fn may_be_growth(error: &WriteError) -> bool {
    let (WriteError::Refused(refusal) | WriteError::Commit(CommitError::Refused(refusal))) = error else {
        return false;
    };
    matches!(refusal, Refusal::FileChanged { .. } | Refusal::UnterminatedLine { .. })
}

/// Reads the lines that were added, and checks that the plan holds for them too.
fn read_growth(request: &WriteRequest<'_>, read: &ReadPrefix) -> Result<GrownTranscript, WriteError> {
    let session = request.session;
    let path = || session.source.path().to_path_buf();
    let unreadable = |source| Refusal::Unreadable { path: path(), source };
    let source = Source::open(session.source.path()).map_err(unreadable)?;
    if let Some(what) = read.difference(&source).map_err(unreadable)? {
        return Err(Refusal::FileChanged { path: path(), what }.into());
    }
    let index = match refresh(&session.index, &source, &mut LineIds, &mut |_, _| true) {
        Ok(FileChange::Unchanged) => Index::clone(&session.index),
        Ok(FileChange::Grown(index)) => *index,
        _ => return Err(Refusal::FileChanged { path: path(), what: "the file was rewritten" }.into()),
    };
    let tree = Tree::under(session.ruleset.id.rules(), &index);
    let after = build_context(&index, &tree, &Leaf::Own).map_err(|_| Refusal::NoContext { path: path() })?;
    if let Some(what) = why_outdated(request, &after) {
        let entries = index.entries.len().saturating_sub(session.index.entries.len());
        return Err(Refusal::PlanOutdated { path: path(), entries, what }.into());
    }
    Ok(GrownTranscript { source, index, tree })
}

fn why_outdated(request: &WriteRequest<'_>, after: &Context) -> Option<&'static str> {
    let LoadedSession { context: before, .. } = request.session;
    let messages_follow = after.messages.len() > before.messages.len();
    let undo_leaves_more = matches!(request.action, WriteAction::Undo(_)) && messages_follow;
    context_change(before, after).or(undo_leaves_more.then_some("the undo would leave new messages behind"))
}

/// Describes changes of a context other than new messages at its end. A plan changes messages by their position,
/// so it holds as long as the old context begins the new one.
fn context_change(before: &Context, after: &Context) -> Option<&'static str> {
    let source = |message: &ContextMessage| (message.entry, message.content_source);
    let keeps_messages = after.messages.len() >= before.messages.len()
        && after.messages.iter().zip(before.messages.iter()).all(|(new, old)| source(new) == source(old));
    if !after.path.starts_with(&before.path) {
        Some("another branch became active")
    } else if after.compaction != before.compaction {
        Some("it was compacted")
    } else if after.reset != before.reset {
        Some("it was reset")
    } else if !keeps_messages {
        Some("messages of its context changed")
    } else {
        None
    }
}

/// Prepares the entries to append. Writes nothing.
pub fn prepare(request: &WriteRequest<'_>) -> Result<PreparedCommit, WriteError> {
    prepare_on(request, None)
}

/// Prepares the plan for its session, or for the transcript that this has grown to.
pub(super) fn prepare_on(
    request: &WriteRequest<'_>,
    grown: Option<(&Index, &Tree, &Source)>,
) -> Result<PreparedCommit, WriteError> {
    let session = request.session;
    if is_in_database(session) {
        return Ok(NewSession::prepare(request)?.prepared);
    }
    let (status, allow_orphan) = (session_standing(session), request.allow_orphan);
    let (index, tree, source) = grown.unwrap_or((&session.index, &session.tree, &session.source));
    let transcript = TranscriptInput { index, tree, source, status, allow_orphan };
    let new_ids = &mut RandomIds::default();
    match &request.action {
        WriteAction::Undo(target) => {
            let undo = UndoRequest {
                transcript,
                target: target.clone(),
                tool: TOOL_VERSION.to_owned(),
                now_ms: request.now_ms,
            };
            Ok(crate::commit::prepare_undo(&undo, new_ids)?)
        }
        WriteAction::ByHand(change @ ManualChange::Branch(leaf)) => {
            let provenance = manual_provenance(session, change);
            let branch = BranchRequest { transcript, leaf: *leaf, provenance, now_ms: request.now_ms };
            Ok(crate::commit::prepare_branch(&branch, new_ids)?)
        }
        WriteAction::ByHand(ManualChange::Drop(_)) | WriteAction::Commit { .. } => {
            let change = RequestedChange::of(request)?;
            let leaf = &session.leaf;
            Ok(crate::commit::prepare(&change.into_request(transcript, leaf, request.now_ms), new_ids)?)
        }
    }
}

/// Whether the entries are in a database, to which only its gateway writes (sqlite J3).
pub fn is_in_database(session: &LoadedSession) -> bool {
    database_of(session.source.path()).is_some() && session_standing(session) != TranscriptStatus::Archive
}

fn session_standing(loaded: &LoadedSession) -> TranscriptStatus {
    let session = &loaded.item;
    // No program reads a file any more once its entries are in a database.
    let put_away = [Mark::Reset, Mark::Deleted, Mark::Backup, Mark::Imported];
    if put_away.into_iter().any(|mark| session.has(mark)) {
        TranscriptStatus::Archive
    } else if session.has(Mark::Orphan) || session.has(Mark::NotImported) {
        TranscriptStatus::Orphan
    } else {
        TranscriptStatus::Referenced
    }
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;
