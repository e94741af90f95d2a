//! Whose history a transcript holds, and whether it is all there: the parent that it was copied from, the files before
//! and after it under the same key, and the entries of its own file that the active branch does not reach.

mod inherited;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::commit::receipt_kind;
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::store::archive::{ArchiveReason, parse_archive_name};
use crate::store::discovery::Store;
use crate::store::entry::{EntryKind, ParentKey, Role};
use crate::store::index::Index;
use crate::store::load::load;
use crate::store::session::{Flag, Session};
use crate::store::session_builder::read_header;
use crate::transcript::{Leaf, Tree};
use crate::units::{Millis, Moment};

pub use inherited::{Inherited, inherited_calls};

/// The lineage of one session. Each part is absent where nothing is odd.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lineage {
    /// The record names another session id than the file.
    pub id_mismatch: Option<IdMismatch>,
    /// The history was copied from another session.
    pub inherited: Option<Inherited>,
    /// The file that held the conversation before a reset.
    pub predecessor: Option<Predecessor>,
    /// Transcripts that continue this one and that no record names, oldest first.
    pub continuations: Vec<Continuation>,
    /// A longer branch that a dead end at the file's end hides.
    pub hidden_branch: Option<HiddenBranch>,
    /// The active branch begins at an entry whose parent is not in the file.
    pub cut_off: Option<CutOff>,
}

impl Lineage {
    /// Finds the lineage of a session from its record, its file and the other sessions of the store.
    pub(super) fn new(store: &Store, session: &Session, index: &Index, tree: &Tree) -> Self {
        Self {
            id_mismatch: find_id_mismatch(session, index),
            inherited: Inherited::find(session, index),
            predecessor: find_predecessor(store, session, index),
            continuations: find_continuations(store, session, index),
            ..Self::within_file(index, tree)
        }
    }

    /// Finds the parts that the transcript itself shows.
    pub(super) fn within_file(index: &Index, tree: &Tree) -> Self {
        Self {
            hidden_branch: find_hidden_branch(index, tree),
            cut_off: find_cut_off(index, tree),
            ..Self::default()
        }
    }
}

// Entries of the file that the active branch does not reach: a longer branch beside a dead end, and the part before an
// entry whose parent is missing (store J10, K1).

/// The longer branch beside a dead end.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenBranch {
    /// The active leaf, which ends the dead end.
    pub dead_end: EntryIx,
    /// The last entry of the hidden branch.
    pub leaf: EntryIx,
    /// Time of that entry; NaN if unknown.
    pub last_ms: Moment,
    /// Messages of the hidden branch from the root on.
    pub messages: usize,
    /// Messages of the active branch.
    pub active_messages: usize,
}

/// The part of the file before the active branch.
#[derive(Debug, Clone, PartialEq)]
pub struct CutOff {
    /// The first entry of the active branch.
    pub root: EntryIx,
    /// Its parent, which the file does not have; `None` if it names no parent.
    pub parent: Option<String>,
    /// Entries of the file that name a missing parent.
    pub breaks: usize,
    /// Earlier entries of this file that the branch cannot reach.
    pub entries: usize,
    /// The messages among them. Without any, the beginning is in no line of the file.
    pub messages: usize,
    /// The last message among them.
    pub last_before: Option<EntryIx>,
}

/// Whether an entry continues the conversation; a dead end has none.
fn is_conversation(index: &Index, ix: EntryIx) -> bool {
    let entry = index.entry(ix);
    let is_synthetic = entry.message.is_some_and(|size| size.is_synthetic);
    let is_compaction = entry.kind == EntryKind::Compaction;
    is_compaction || entry.becomes_message() && !is_synthetic
}

fn count_messages(index: &Index, path: &[EntryIx]) -> usize {
    path.iter().filter(|ix| index.entry(**ix).kind == EntryKind::Message).count()
}

/// Finds the branch that a dead end hides: the active branch ends in entries without a conversation, and the entry
/// before them was answered elsewhere.
fn find_hidden_branch(index: &Index, tree: &Tree) -> Option<HiddenBranch> {
    let dead_end = tree.leaf(index, &Leaf::Own)?;
    if is_conversation(index, dead_end) {
        return None;
    }
    let path = tree.path_to(index, dead_end);
    let live = path.iter().rposition(|ix| is_conversation(index, *ix));
    let dead = &path[live.map_or(0, |at| at + 1)..];
    // A commit or an undo chose this branch.
    if dead.iter().any(|ix| receipt_kind(index, *ix).is_some()) {
        return None;
    }
    let on_path: HashSet<EntryIx> = path.iter().copied().collect();
    let forks = path.get(live?..)?.iter().flat_map(|ix| tree.children(*ix));
    let beside: Vec<EntryIx> = forks.copied().filter(|ix| !on_path.contains(ix)).collect();
    let active_messages = count_messages(index, &path);
    let messages_to = |leaf: EntryIx| count_messages(index, &tree.path_to(index, leaf));
    let leaf = newest_answered_tip(index, tree, beside).or_else(|| {
        let tip = interrupted_tip((index, tree), dead_end, &on_path);
        tip.filter(|leaf| messages_to(*leaf) > active_messages)
    })?;
    Some(HiddenBranch {
        dead_end,
        leaf,
        last_ms: index.entry(leaf).time_ms,
        messages: messages_to(leaf),
        active_messages,
    })
}

/// Returns the last entry of the conversation before the dead end in the file, if the path leaves it out: a program took
/// an older branch up again without a message.
fn interrupted_tip(
    (index, tree): (&Index, &Tree),
    dead_end: EntryIx,
    on_path: &HashSet<EntryIx>,
) -> Option<EntryIx> {
    let before = index.iter().map(|(ix, _)| ix).take_while(|ix| *ix < dead_end);
    let newest = before.filter(|ix| is_conversation(index, *ix)).last()?;
    let mut own = tree.path_to(index, newest).into_iter().filter(|ix| !on_path.contains(ix));
    own.any(|ix| index.entry(ix).is_model_call()).then_some(newest)
}

/// Returns the last entry in file order below these, if a model answered there.
fn newest_answered_tip(index: &Index, tree: &Tree, mut open: Vec<EntryIx>) -> Option<EntryIx> {
    let (mut newest, mut answered) = (None, false);
    let mut seen = HashSet::new();
    while let Some(ix) = open.pop() {
        if !seen.insert(ix) {
            continue;
        }
        answered |= index.entry(ix).is_model_call();
        if is_conversation(index, ix) {
            newest = newest.max(Some(ix));
        }
        open.extend(tree.children(ix));
    }
    newest.filter(|_| answered)
}

/// Finds the break at the start of the active branch.
fn find_cut_off(index: &Index, tree: &Tree) -> Option<CutOff> {
    let leaf = tree.leaf(index, &Leaf::Own)?;
    let path = tree.path_to(index, leaf);
    let root = *path.first()?;
    let parent = missing_parent(index, tree, root);
    let is_chosen = || path.iter().any(|ix| receipt_kind(index, *ix).is_some());
    if parent.is_none() && (!starts_amid(index, root) || is_chosen()) {
        return None;
    }
    let mut unreached: HashSet<EntryIx> = HashSet::new();
    let mut open: Vec<EntryIx> = tree.roots().iter().copied().filter(|ix| *ix < root).collect();
    while let Some(ix) = open.pop() {
        if unreached.insert(ix) {
            open.extend(tree.children(ix));
        }
    }
    let breaks = tree.roots().iter().filter(|ix| missing_parent(index, tree, **ix).is_some()).count();
    let before: Vec<EntryIx> = unreached.into_iter().filter(|ix| *ix < root).collect();
    let messages = count_messages(index, &before);
    let is_message = |ix: &EntryIx| index.entry(*ix).kind == EntryKind::Message;
    let last_before = before.iter().copied().filter(is_message).max();
    let found = CutOff { root, parent, breaks, entries: before.len(), messages, last_before };
    (found.parent.is_some() || messages > 0).then_some(found)
}

/// Returns the parent that an entry names and that the file does not have.
pub(in crate::session) fn missing_parent(index: &Index, tree: &Tree, ix: EntryIx) -> Option<String> {
    let id = index.entry(ix).parent.filter(|id| tree.find(*id).is_none() && index.ids.is_truthy(*id))?;
    Some(index.ids.text(id).to_owned())
}

/// Whether an entry that names no parent cannot be the start of a conversation: a program appended an answer or a result
/// without its place in the tree.
fn starts_amid(index: &Index, root: EntryIx) -> bool {
    let entry = index.entry(root);
    let names_none = !matches!(entry.link.parent, ParentKey::Usable);
    root > EntryIx(0) && names_none && matches!(entry.role(), Some(Role::Assistant | Role::ToolResult))
}

// Other files of the same session key: the transcript before a reset, those that continue this one, and a record that
// names another session than the file.

/// Longest time between a reset's archive and the file that follows it.
const MAX_RESET_DELAY_MS: Millis = Millis(60_000.0);

/// A record and its file that name different sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdMismatch {
    /// The id in the session record.
    pub record: String,
    /// The id in the file's header.
    pub file: String,
}

/// The transcript that the key named before a reset.
#[derive(Debug, Clone, PartialEq)]
pub struct Predecessor {
    pub path: PathBuf,
    /// Time of the reset; `None` if the name does not say.
    pub reset_ms: Option<Moment>,
    /// Whether the session record names it. Otherwise only the times match.
    pub named_by_record: bool,
    session: Box<Session>,
}

impl Predecessor {
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Reads the file and counts its messages; `None` if it cannot be read.
    pub fn count_messages(&self) -> Option<usize> {
        let source = self.session.location.open(&self.path, None).ok()?;
        let index = load(&source, &mut crate::ids::LineIds, &mut |_, _| true).ok()?;
        Some(index.iter().filter(|(_, entry)| entry.kind == EntryKind::Message).count())
    }
}

/// A transcript that names this one as its parent and that no record names.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuation {
    pub path: PathBuf,
    pub id: String,
    /// The time at which it began; NaN if unknown.
    pub started_ms: Moment,
}

/// Compares the record's session id with that in the file's header.
fn find_id_mismatch(session: &Session, index: &Index) -> Option<IdMismatch> {
    let record = session.record.as_ref()?.session_id.clone().filter(|id| !id.is_empty())?;
    let file = index.header.as_ref()?.id.clone();
    // A database finds the transcript by its id, and a file with the record's id in its name was made for it.
    let name = session.path.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let is_own = session.location.database().is_some() || name.contains(&record);
    let differs = !is_own && !file.is_empty() && file != record;
    differs.then_some(IdMismatch { record, file })
}

/// Returns the ids that the record lists as earlier sessions of the same key.
fn earlier_ids(session: &Session) -> Vec<String> {
    let Some(record) = &session.record else { return Vec::new() };
    let text = |value: &Value| value.as_str().map(JsString::to_string_lossy);
    let family = record.member("usageFamilySessionIds");
    let family = family.as_ref().and_then(Value::as_array).unwrap_or_default();
    let previous = record.member("previousSessionId");
    let ids = family.iter().filter_map(text).chain(previous.as_ref().and_then(text));
    ids.filter(|id| *id != session.id).collect()
}

/// Finds the newest transcript of the same agent that the record names as an earlier one, else the archive of a reset
/// at the moment when this file began.
fn find_predecessor(store: &Store, session: &Session, index: &Index) -> Option<Predecessor> {
    session.record.as_ref()?;
    let started = index.header.as_ref().map_or(Moment(f64::NAN), |header| header.started_ms);
    let ids = earlier_ids(session);
    let others = || {
        let same = store.unrecorded(&session.agent);
        same.filter(|other| other.path.is_some() && other.path != session.path)
    };
    let found = |other: &Session, named_by_record: bool| {
        let path = other.path.clone()?;
        let reset_ms = archive_time(&path);
        Some(Predecessor { reset_ms, named_by_record, session: Box::new(other.clone()), path })
    };
    let named = || others().filter(|other| ids.contains(&other.id));
    let newest = || named().max_by(|a, b| order_ms(a).total_cmp(&order_ms(b)));
    if let Some(other) = (!ids.is_empty()).then(newest).flatten() {
        return found(other, true);
    }
    let is_reset = |other: &&Session| other.has_flag(Flag::Archived(ArchiveReason::Reset));
    let is_near = |other: &&Session| {
        let at = other.path.as_deref().and_then(archive_time);
        at.is_some_and(|at| (started - at).get().abs() <= MAX_RESET_DELAY_MS.get())
    };
    let mut near = others().filter(is_reset).filter(is_near);
    let other = near.next()?;
    near.next().is_none().then(|| found(other, false)).flatten()
}

fn archive_time(path: &Path) -> Option<Moment> {
    parse_archive_name(path.file_name()?.to_str()?)?.time_ms
}

fn order_ms(session: &Session) -> Moment {
    session.path.as_deref().and_then(archive_time).or(session.modified_ms).unwrap_or(Moment(f64::NAN))
}

/// Finds the orphans that name this session's file, or its id, as their parent.
fn find_continuations(store: &Store, session: &Session, index: &Index) -> Vec<Continuation> {
    let Some(own) = session.path.as_deref().filter(|_| session.record.is_some()) else { return Vec::new() };
    let id = index.header.as_ref().map_or(session.id.as_str(), |header| header.id.as_str());
    let name = own.file_name();
    let is_own =
        |parent: &str| parent == id || Path::new(parent) == own || Path::new(parent).file_name() == name;
    let orphans = store
        .unrecorded(&session.agent)
        .filter(|other| other.has_flag(Flag::Orphan) && other.parent_session.as_deref().is_some_and(is_own));
    let mut found: Vec<Continuation> = orphans
        .filter_map(|other| {
            let path = other.path.clone()?;
            let started = read_header(&path).map_or(Moment(f64::NAN), |header| header.started_ms);
            Some(Continuation { id: other.id.clone(), started_ms: started, path })
        })
        .collect();
    found.sort_by(|a, b| a.started_ms.total_cmp(&b.started_ms));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::loaded_session;

    fn line(id: &str, parent: Option<&str>, rest: &str) -> String {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        format!(r#"{{"id":"{id}","parentId":{parent},"timestamp":"2026-09-15T09:00:30.000Z",{rest}}}"#)
    }

    fn message(id: &str, parent: Option<&str>, role: &str) -> String {
        line(
            id,
            parent,
            &format!(r#""type":"message","message":{{"role":"{role}","content":[],"stopReason":"stop"}}"#),
        )
    }

    fn custom(id: &str, parent: &str, kind: &str) -> String {
        line(id, Some(parent), &format!(r#""type":"custom","customType":"{kind}","data":{{}}"#))
    }

    fn lineage(lines: &[String]) -> (Option<HiddenBranch>, Option<CutOff>) {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-09-15T09:00:00.000Z"}"#;
        let session = loaded_session(&format!("{header}\n{}\n", lines.join("\n")), 200_000.0);
        let lineage = session.lineage.as_ref().clone();
        (lineage.hidden_branch, lineage.cut_off)
    }

    /// Three messages; then an entry of an extension after the first.
    fn dead_end(kind: &str, last_role: &str) -> Vec<String> {
        vec![
            message("a", None, "user"),
            message("b", Some("a"), last_role),
            message("c", Some("b"), "user"),
            custom("x", "a", kind),
        ]
    }

    #[test]
    fn a_dead_end_hides_the_branch_that_was_answered() {
        let found = lineage(&dead_end("session_exit", "assistant")).0.expect("a hidden branch");
        assert_eq!((found.dead_end, found.leaf), (EntryIx(3), EntryIx(2)));
        assert_eq!((found.messages, found.active_messages), (3, 1));
    }

    #[test]
    fn a_branch_that_someone_chose_or_continued_is_no_dead_end() {
        assert_eq!(lineage(&dead_end("clawscope.undo", "assistant")).0, None, "an undo chose it");
        assert_eq!(lineage(&dead_end("session_exit", "user")).0, None, "nobody answered the other branch");
        let mut continued = dead_end("session_exit", "assistant");
        continued.push(message("d", Some("x"), "user"));
        assert_eq!(lineage(&continued).0, None, "the person wrote on");
        assert_eq!(lineage(&continued[..3]).0, None);
    }

    #[test]
    fn a_stray_entry_on_an_older_branch_hides_the_one_that_went_on() {
        let mut lines = dead_end("session_exit", "assistant")[..3].to_vec();
        lines.insert(1, message("o", Some("a"), "user"));
        lines.push(custom("x", "o", "session_exit"));
        let found = lineage(&lines).0.expect("a hidden branch");
        assert_eq!((found.dead_end, found.leaf), (EntryIx(4), EntryIx(3)));
        assert_eq!((found.messages, found.active_messages), (3, 2));
    }

    #[test]
    fn messages_before_a_missing_parent_are_counted() {
        let lines = [
            message("a", None, "user"),
            message("b", Some("a"), "assistant"),
            line("m", Some("gone"), r#""type":"model_change","provider":"p","modelId":"m""#),
            message("c", Some("m"), "user"),
        ];
        let found = lineage(&lines).1.expect("a break");
        assert_eq!((found.root, found.parent.as_deref()), (EntryIx(2), Some("gone")));
        assert_eq!(
            (found.entries, found.messages, found.breaks, found.last_before),
            (2, 2, 1, Some(EntryIx(1)))
        );
        let cut = lineage(&lines[2..]).1.expect("a file that starts in the middle");
        assert_eq!((cut.messages, cut.last_before), (0, None));
        assert_eq!(lineage(&lines[..2]).1, None);
    }

    #[test]
    fn an_answer_without_a_parent_is_a_break_and_a_second_first_message_is_none() {
        let first = [message("a", None, "user"), message("b", Some("a"), "assistant")];
        let answer = [&first[..], &[message("c", None, "assistant")]].concat();
        assert_eq!(lineage(&answer).1.map(|found| found.messages), Some(2));
        let again = [&first[..], &[message("c", None, "user")]].concat();
        assert_eq!(lineage(&again).1, None, "the person started over");
    }
}
