//! Converts the branch of a 2026.9 session to entries that a file-era runtime reads to the same context.
//!
//! Entries are re-chained, and everything that runtime does not know is dropped: leaf rows and resets (sqlite J5).

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::entries_since_reset;
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::redact::SecretDisplay;
use crate::session::LoadedSession;
use crate::session::message::excerpt::read_excerpt;
use crate::store::body::{self, BodyError};
use crate::store::entry::EntryKind;
use crate::store::intern::IdIx;
use crate::transcript::Leaf;

impl LoadedSession {
    /// Returns the entries from the root to the leaf in view, each with the previous one as its parent.
    ///
    /// After a reset they begin with the entries that the reset kept, preceded by the last name, model and thinking
    /// level before it. Resets and messages that are never sent are dropped, so that a file-era runtime builds the same
    /// context. Without resets the result is the path.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn branch_entries(&self) -> Result<Vec<Value>, BodyError> {
        let (index, tree) = (&*self.index, &*self.tree);
        let Some(leaf) = tree.leaf(index, &self.leaf) else { return Ok(Vec::new()) };
        let path = tree.path_to(index, leaf);
        let part = entries_since_reset(index, tree, &path);
        let before: HashSet<EntryIx> = part.iter().copied().collect();
        let mut chosen =
            if tree.has_resets() { effective_settings_entries(self, &path, &before) } else { Vec::new() };
        let stays = |ix: &EntryIx| {
            let entry = index.entry(*ix);
            !(tree.has_resets()
                && (entry.kind == EntryKind::Reset || entry.is_excluded && !is_in_context(self, *ix)))
        };
        chosen.extend(part.iter().copied().filter(stays));
        self.rechained(&path, &chosen)
    }

    /// Reads the chosen entries, sets each parent to the previous entry and repairs each compaction's first kept entry.
    fn rechained(&self, path: &[EntryIx], chosen: &[EntryIx]) -> Result<Vec<Value>, BodyError> {
        let stays: HashSet<EntryIx> = chosen.iter().copied().collect();
        let mut lines: Vec<Value> = Vec::with_capacity(chosen.len());
        for ix in chosen {
            let value = body::read_entry(&self.source, &self.index, *ix)?;
            let Value::Object(mut object) = value else { continue };
            let parent = lines.last().and_then(|line| line.get("id")).cloned();
            object.set("parentId", parent.unwrap_or(Value::Null));
            object.remove("appendMode");
            if self.index.entry(*ix).kind == EntryKind::Compaction {
                self.retarget_first_kept(&mut object, *ix, path, &stays);
            }
            lines.push(Value::Object(object));
        }
        Ok(lines)
    }

    /// Points a compaction at the next entry that is exported, when the one it names is dropped.
    fn retarget_first_kept(
        &self,
        object: &mut Object,
        compaction: EntryIx,
        path: &[EntryIx],
        stays: &HashSet<EntryIx>,
    ) {
        let named: Option<IdIx> = self.index.entry(compaction).reference;
        let at = path.iter().position(|ix| named.is_some() && self.index.entry(*ix).id == named);
        let next = at.and_then(|at| path[at..].iter().find(|ix| stays.contains(ix)));
        if let Some(id) = next.and_then(|ix| self.index.entry(*ix).id) {
            object.set("firstKeptEntryId", self.index.ids.value(id));
        }
    }
}

/// Whether a message is in the context. A message that a reset kept is, even when it is marked as never sent.
fn is_in_context(session: &LoadedSession, ix: EntryIx) -> bool {
    session.context.position(ix).is_some()
}

/// Returns the last name, model and thinking level before the exported part: the runtime takes them from the whole path
/// (sqlite G3).
fn effective_settings_entries(
    session: &LoadedSession,
    path: &[EntryIx],
    left: &HashSet<EntryIx>,
) -> Vec<EntryIx> {
    let kinds = [EntryKind::SessionInfo, EntryKind::ModelChange, EntryKind::ThinkingLevelChange];
    let last = |kind| {
        let is = |ix: &&EntryIx| session.index.entry(**ix).kind == kind && !left.contains(ix);
        path.iter().rev().find(is).copied()
    };
    let mut found: Vec<EntryIx> = kinds.into_iter().filter_map(last).collect();
    found.sort_unstable();
    found
}

// Lists a transcript's branches as a gateway does: the end of each, its message count and its last words (sqlite F9,
// J4).

/// A branch, as the gateway's branch list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BranchTip {
    /// The last entry of the branch.
    pub leaf: String,
    /// Whether this is the session's active branch.
    pub active: bool,
    /// Number of `message` entries from the root to the leaf.
    pub messages: u64,
    /// The last words of the branch.
    pub headline: String,
}

impl LoadedSession {
    /// Returns every branch: the active one first, then newest first.
    pub fn branch_tips(&self, secrets: SecretDisplay) -> Vec<BranchTip> {
        let own = self.tree.leaf(&self.index, &Leaf::Own);
        let tip = |leaf: EntryIx| {
            let path = self.tree.path_to(&self.index, leaf);
            let is_message = |ix: &&EntryIx| self.index.entry(**ix).kind == EntryKind::Message;
            let last = path.iter().rev().find(is_message);
            let words = last.and_then(|ix| read_excerpt(&self.source, &self.index, *ix).ok());
            BranchTip {
                leaf: self.index.display_id(leaf),
                active: own == Some(leaf),
                messages: path.iter().filter(is_message).count() as u64,
                headline: words
                    .map(|words| words.with_secrets(secrets).text_with_envelope())
                    .unwrap_or_default(),
            }
        };
        self.tree.tips(&self.index).into_iter().map(tip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::build_context;
    use crate::gateway::ruleset::Ruleset;
    use crate::ids::LineIds;
    use crate::js;
    use crate::session::testing::loaded_session;
    use crate::store::load::load_bytes;
    use crate::transcript::{Leaf, Tree};

    const HEADER: &str = r#"{"type":"session","version":4,"id":"s"}"#;

    fn message(id: &str, parent: &str, rest: &str) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"user","content":"{id}"{rest}}}}}"#
        )
    }

    /// Loads the session under the rules of 2026.9.
    fn session(lines: &[String]) -> LoadedSession {
        let text =
            std::iter::once(HEADER.to_owned()).chain(lines.iter().cloned()).collect::<Vec<_>>().join("\n")
                + "\n";
        let mut session = loaded_session(&text, 200_000.0);
        session.ruleset.id = Ruleset::V2026_9_6;
        let tree = Tree::under(Ruleset::V2026_9_6.rules(), &session.index);
        session.context = std::sync::Arc::new(build_context(&session.index, &tree, &Leaf::Own).unwrap());
        session.tree = std::sync::Arc::new(tree);
        session
    }

    /// Returns the context ids that the file era builds from the exported lines, and the ids of the context here.
    fn contexts(session: &LoadedSession) -> (Vec<String>, Vec<String>) {
        let lines: Vec<String> = session.branch_entries().unwrap().iter().map(js::stringify).collect();
        let text = format!("{}\n{}\n", HEADER.replace('4', "3"), lines.join("\n"));
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let read = build_context(&index, &Tree::new(&index), &Leaf::Own).unwrap();
        let there = read.messages.iter().map(|message| index.display_id(message.entry)).collect();
        let here =
            session.context.messages.iter().map(|message| session.index.display_id(message.entry)).collect();
        (there, here)
    }

    #[test]
    fn the_file_era_builds_the_same_context() {
        let reset = |parent: &str, kept: &str| {
            format!(r#"{{"type":"reset","id":"r","parentId":"{parent}","reason":"new"{kept}}}"#)
        };
        let leaf = r#"{"type":"leaf","id":"l","parentId":"c","targetId":"b"}"#.to_owned();
        let hidden = message("h", "b", r#","excludeFromContext":true"#);
        let compaction =
            r#"{"type":"compaction","id":"k","parentId":"h","summary":"s","firstKeptEntryId":"h"}"#
                .to_owned();
        let (a, b, c) = (message("a", "x", ""), message("b", "a", ""), message("c", "b", ""));
        let cases = [
            vec![a.clone(), b.clone(), c.clone(), leaf.clone(), message("d", "b", "")],
            vec![a.clone(), b.clone(), reset("b", ""), message("d", "r", "")],
            vec![a.clone(), b.clone(), c, reset("c", r#","firstKeptEntryId":"b""#), message("d", "r", "")],
            vec![a, b, hidden, compaction, message("d", "k", "")],
        ];
        for lines in cases {
            let (there, here) = contexts(&session(&lines));
            assert!(!here.is_empty());
            assert_eq!(there, here, "{lines:#?}");
        }
    }

    #[test]
    fn settings_in_force_are_copied_to_the_new_branch() {
        let model =
            r#"{"type":"model_change","id":"m","parentId":"a","provider":"p","modelId":"one"}"#.to_owned();
        let lines = [
            message("a", "x", ""),
            model,
            r#"{"type":"reset","id":"r","parentId":"m"}"#.to_owned(),
            message("d", "r", ""),
        ];
        let entries = session(&lines).branch_entries().unwrap();
        let ids: Vec<_> = entries
            .iter()
            .map(|entry| entry.get("id").unwrap().as_str().unwrap().to_string_lossy())
            .collect();
        assert_eq!(ids, ["m", "d"]);
        assert_eq!(entries[0].get("parentId"), Some(&Value::Null));
    }
}
