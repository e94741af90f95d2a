//! Entries of the file that the active branch does not reach: a longer branch beside a dead end, and the part before an
//! entry whose parent is missing (store J10, K1).

use std::collections::HashSet;

use crate::commit::receipt_kind;
use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, ParentKey, Role};
use crate::store::index::Index;
use crate::transcript::{Leaf, Tree};
use crate::units::Moment;

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
pub(super) fn find_hidden_branch(index: &Index, tree: &Tree) -> Option<HiddenBranch> {
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
pub(super) fn find_cut_off(index: &Index, tree: &Tree) -> Option<CutOff> {
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
