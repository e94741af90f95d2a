//! Builds the rows of a transcript view: the active path by turns, side branches folded where they leave it, and
//! compacted entries as one row (store K4, compaction 4.2).

use std::collections::{HashMap, HashSet};

use crate::context::Context;
use crate::ids::EntryIx;
use crate::store::entry::{Entry, EntryKind, Role, StopReason};
use crate::store::index::Index;
use crate::store::measure::CompactChars;
use crate::transcript::Tree;

pub fn build_rows(view: &RowInputs) -> Vec<TranscriptRow> {
    let mut messages = vec![NO_MESSAGE; view.index.entries.len()];
    for (at, message) in view.context.messages.iter().enumerate() {
        messages[message.entry.index()] = at as u32;
    }
    let mut on_path = vec![false; view.index.entries.len()];
    for ix in &view.context.path {
        on_path[ix.index()] = true;
    }
    let mut build = RowBuilder {
        inputs: view,
        message_by_entry: messages,
        on_path,
        rows: Vec::new(),
        folded: false,
        in_turn: false,
    };
    build.push_other_roots();
    build.push_path();
    let mut rows = build.rows;
    close_turns(&mut rows);
    rows
}

/// Marks an entry that is not a message of the context.
const NO_MESSAGE: u32 = u32::MAX;

struct RowBuilder<'a> {
    inputs: &'a RowInputs<'a>,
    /// Message index of each entry, or [`NO_MESSAGE`].
    message_by_entry: Vec<u32>,
    on_path: Vec<bool>,
    rows: Vec<TranscriptRow>,
    /// Inside a folded turn, entries are counted instead of shown.
    folded: bool,
    in_turn: bool,
}

impl RowBuilder<'_> {
    fn message_index(&self, ix: EntryIx) -> Option<usize> {
        Some(self.message_by_entry[ix.index()]).filter(|at| *at != NO_MESSAGE).map(|at| at as usize)
    }

    fn push_path(&mut self) {
        let path = &self.inputs.context.path;
        let from = self.push_compacted(path);
        for ix in &path[from..] {
            // The compaction's summary is the first message; the row of compacted entries already shows it.
            let context = self.inputs.context;
            let shown_above = from > 0 && context.compaction.or(context.reset) == Some(*ix);
            if !shown_above {
                self.push_entry(*ix, 0);
            }
            self.push_forks(*ix);
        }
    }

    /// Adds the row of the entries before the last compaction or reset and returns where the visible path begins.
    fn push_compacted(&mut self, path: &[EntryIx]) -> usize {
        let context = self.inputs.context;
        let Some(boundary) = context.compaction.or(context.reset) else { return 0 };
        // After a summary, or in the case of a reset at index 0, comes the first kept message.
        let summary = self.message_index(boundary);
        let kept = context.messages.get(summary.map_or(0, |at| at + 1)).map(|message| message.entry);
        let at = path.iter().position(|ix| *ix == boundary).unwrap_or(0);
        let first = path[..at].iter().position(|ix| Some(*ix) == kept).unwrap_or(at);
        let open = self.inputs.folds.history;
        self.rows.push(TranscriptRow {
            entry: boundary,
            kind: RowKind::Compacted { entries: first as u32, open },
            depth: 0,
            rail: Rail::None,
            message: summary,
            messages: u32::from(summary.is_some()),
        });
        if open {
            for ix in &path[..first] {
                self.push_entry(*ix, 0);
                self.push_forks(*ix);
            }
        }
        first
    }

    fn push_entry(&mut self, ix: EntryIx, depth: u16) {
        let entry = self.inputs.index.entry(ix);
        let turn = depth == 0 && entry.role() == Some(Role::User);
        if turn {
            self.folded = self.inputs.folds.turns.contains(&ix);
            self.in_turn = true;
        } else if self.folded && depth == 0 {
            self.count_into_turn(ix);
            return;
        }
        if !turn && !self.is_shown(ix, entry) {
            return;
        }
        let message = self.message_index(ix);
        if depth == 0 && message.is_some_and(|at| self.is_shown_by_result(at)) {
            return;
        }
        let calls = message.and_then(|at| at.checked_sub(1)).filter(|at| self.is_shown_by_result(*at));
        let message = calls.filter(|_| depth == 0).or(message);
        self.rows.push(TranscriptRow {
            entry: ix,
            kind: if self.folded && turn { RowKind::Turn { entries: 1 } } else { RowKind::Entry },
            depth,
            rail: self.rail(entry, turn, depth),
            message,
            messages: u32::from(message.is_some()) + u32::from(depth == 0 && calls.is_some()),
        });
    }

    /// Whether a message only calls tools and its result follows. The conversation filter then shows one row, because
    /// the result's title is the call.
    fn is_shown_by_result(&self, at: usize) -> bool {
        let messages = &self.inputs.context.messages;
        let followed = messages.get(at + 1).is_some_and(|next| next.size.role == Role::ToolResult);
        followed
            && self.inputs.filter == Filter::Conversation
            && messages.get(at).is_some_and(|message| is_only_calls(self.inputs.index.entry(message.entry)))
    }

    fn rail(&self, entry: &Entry, turn: bool, depth: u16) -> Rail {
        if turn {
            Rail::Dot
        } else if depth == 0 && !self.in_turn {
            Rail::None
        } else if entry.role() == Some(Role::ToolResult) {
            Rail::Line
        } else {
            Rail::Tick
        }
    }

    fn count_into_turn(&mut self, ix: EntryIx) {
        let in_context = self.message_index(ix).is_some();
        if let Some(row) = self.rows.last_mut()
            && let RowKind::Turn { entries } = &mut row.kind
        {
            *entries += 1;
            row.messages += u32::from(in_context);
        }
    }

    fn is_shown(&self, ix: EntryIx, entry: &Entry) -> bool {
        let is_tool = entry.role() == Some(Role::ToolResult) || is_only_calls(entry);
        match self.inputs.filter {
            Filter::Everything => true,
            Filter::Conversation => is_conversation(entry),
            Filter::NoTools => is_conversation(entry) && !is_tool,
            Filter::Turns => is_failed_call(entry),
            Filter::Labelled => self.inputs.labels.contains_key(&ix),
        }
    }

    /// Adds the branches that leave the path at an entry.
    fn push_forks(&mut self, ix: EntryIx) {
        if self.folded {
            return;
        }
        for child in self.inputs.tree.children(ix) {
            if !self.on_path[child.index()] {
                self.push_branch(*child, 0);
            }
        }
    }

    fn push_other_roots(&mut self) {
        for root in self.inputs.tree.roots() {
            if !self.on_path[root.index()] {
                self.push_branch(*root, 0);
            }
        }
    }

    fn push_branch(&mut self, first: EntryIx, depth: u16) {
        let open = self.inputs.folds.branches.contains(&first);
        let entries = self.inputs.tree.descendant_count(first) as u32 + 1;
        self.rows.push(TranscriptRow {
            entry: first,
            kind: RowKind::Branch { entries, open },
            depth,
            rail: Rail::Fork,
            message: None,
            messages: 0,
        });
        if open {
            self.push_branch_entries(first, depth + 1);
        }
    }

    /// Adds the entries of a branch. The first child continues at the same depth and the others fork off, so a long
    /// chain needs no recursion; nested forks do, but they stay folded until opened.
    fn push_branch_entries(&mut self, first: EntryIx, depth: u16) {
        let mut next = Some(first);
        while let Some(ix) = next {
            self.push_entry(ix, depth);
            let children = self.inputs.tree.children(ix);
            for fork in children.iter().skip(1) {
                self.push_branch(*fork, depth);
            }
            next = children.first().copied();
        }
    }
}

/// Marks the last row on the rail of each turn.
fn close_turns(rows: &mut [TranscriptRow]) {
    for at in 0..rows.len() {
        let ends = rows.get(at + 1).is_none_or(|next| matches!(next.rail, Rail::Dot | Rail::None));
        if ends && matches!(rows[at].rail, Rail::Tick | Rail::Line) {
            rows[at].rail = Rail::End;
        }
    }
}

/// Whether an entry is a message or a summary of messages.
fn is_conversation(entry: &Entry) -> bool {
    matches!(
        entry.kind,
        EntryKind::Message
            | EntryKind::CustomMessage
            | EntryKind::BranchSummary
            | EntryKind::Compaction
            | EntryKind::Reset
            | EntryKind::Unknown
    )
}

/// Whether an assistant message has no text and only calls tools.
pub fn is_only_calls(entry: &Entry) -> bool {
    entry.role() == Some(Role::Assistant)
        && entry.message.is_some_and(|message| message.text_chars == CompactChars::ZERO)
        && entry.tool_calls.0 < entry.tool_calls.1
}

pub fn is_failed_call(entry: &Entry) -> bool {
    entry.message.is_some_and(|message| message.stop_reason == StopReason::Error)
}

// The rows of a transcript view and the options that select them.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// Messages and summaries.
    #[default]
    Conversation,
    /// No tool calls and results.
    NoTools,
    /// Only user turns, and failed calls.
    Turns,
    /// Only labelled entries, and user turns.
    Labelled,
    /// All entries, including the gateway's bookkeeping.
    Everything,
}

impl Filter {
    /// All filters, in the order of cycling.
    pub const ALL: [Self; 5] =
        [Self::Conversation, Self::NoTools, Self::Turns, Self::Labelled, Self::Everything];

    /// The label on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::NoTools => "no tools",
            Self::Turns => "user turns",
            Self::Labelled => "labelled entries",
            Self::Everything => "everything",
        }
    }

    /// Returns the filter `steps` further, wrapping around.
    #[must_use]
    pub fn cycle(self, steps: isize) -> Self {
        let at = Self::ALL.iter().position(|filter| *filter == self).unwrap_or(0) as isize;
        Self::ALL[(at + steps).rem_euclid(Self::ALL.len() as isize) as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    Entry,
    /// A user turn with everything up to the next, folded into one row.
    Turn {
        entries: u32,
    },
    /// The entries before a compaction or reset; the row's entry is the compaction or reset.
    Compacted {
        entries: u32,
        /// Its entries follow as rows.
        open: bool,
    },
    /// A branch that leaves the active path; the row's entry is its first.
    Branch {
        entries: u32,
        /// Its entries follow as rows.
        open: bool,
    },
    /// The line where a planned compaction cuts; the row's entry is the first one kept.
    Cut,
}

/// The symbol to the left of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rail {
    /// Nothing: before the first turn.
    None,
    /// Start of a user turn.
    Dot,
    /// A message of the model: an arm on the rail of its turn.
    Tick,
    /// A tool result: the plain rail of its turn.
    Line,
    /// The last row of its turn.
    End,
    /// A branch leaves.
    Fork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptRow {
    pub entry: EntryIx,
    pub kind: RowKind,
    /// 0 on the active path, more in branches.
    pub depth: u16,
    pub rail: Rail,
    /// Index of the row's first context message.
    pub message: Option<usize>,
    /// Number of context messages: 1 for an entry, more for a folded turn.
    pub messages: u32,
}

/// The folded and opened groups of a view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folds {
    /// User turns that are folded into one row.
    pub turns: HashSet<EntryIx>,
    /// Opened branches, by their first entry.
    pub branches: HashSet<EntryIx>,
    /// Full history: the entries before a compaction are shown.
    pub history: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct RowInputs<'a> {
    pub index: &'a Index,
    pub tree: &'a Tree,
    /// Context of the viewed leaf.
    pub context: &'a Context,
    pub labels: &'a HashMap<EntryIx, String>,
    pub folds: &'a Folds,
    pub filter: Filter,
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::context::build_context;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;
    use crate::transcript::{Leaf, Tree};

    fn message(id: &str, parent: &str, role: &str) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"{role}","content":[{{"type":"text","text":"x"}}]}}}}"#
        )
    }

    fn shown(lines: &[String], folds: &Folds) -> Vec<(String, RowKind, Rail)> {
        let header = r#"{"type":"session","version":3,"id":"s"}"#.to_owned();
        let text = std::iter::once(&header).chain(lines).cloned().collect::<Vec<_>>().join("\n") + "\n";
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let tree = Tree::new(&index);
        let context = build_context(&index, &tree, &Leaf::Own).expect("builds");
        let labels = HashMap::new();
        let view = RowInputs {
            index: &index,
            tree: &tree,
            context: &context,
            labels: &labels,
            folds,
            filter: Filter::Conversation,
        };
        build_rows(&view).iter().map(|row| (index.display_id(row.entry), row.kind, row.rail)).collect()
    }

    fn branched() -> Vec<String> {
        vec![
            message("u", "", "user"),
            message("a", "u", "assistant"),
            message("b", "a", "assistant"),
            message("b2", "b", "toolResult"),
            message("c", "a", "assistant"),
            message("v", "c", "user"),
        ]
    }

    #[test]
    fn a_closed_branch_is_one_row_at_its_fork() {
        let mut folds = Folds::default();
        let closed = shown(&branched(), &folds);
        assert_eq!(closed.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["u", "a", "b", "c", "v"]);
        assert_eq!(closed[2].1, RowKind::Branch { entries: 2, open: false });
        folds.branches.insert(EntryIx(2));
        let open = shown(&branched(), &folds);
        assert_eq!(
            open.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
            ["u", "a", "b", "b", "b2", "c", "v"]
        );
    }

    #[test]
    fn a_folded_turn_counts_its_entries() {
        let folds = Folds { turns: HashSet::from([EntryIx(0)]), ..Folds::default() };
        let rows = shown(&branched(), &folds);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].1, RowKind::Turn { entries: 3 });
    }

    #[test]
    fn the_rail_of_a_turn_ends_before_the_next_one() {
        let rows = shown(&branched(), &Folds::default());
        assert_eq!(
            rows.iter().map(|row| row.2).collect::<Vec<_>>(),
            [Rail::Dot, Rail::Tick, Rail::Fork, Rail::End, Rail::Dot]
        );
    }
}
