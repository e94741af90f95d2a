//! The commits and undos of a session, and which of them are active.

use schemars::JsonSchema;
use serde::Serialize;

use crate::commit::{PolicyRecord, Receipt, ReceiptKind, active_record_ids, receipts};
use crate::doc::{Align, Cell, Doc, Table, Tone};
use crate::format::{format_counted, format_estimate, format_time, quantity};
use crate::ids::{EntryIx, word_in_json};
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::transcript::Leaf;
use crate::units::{Moment, Tokens};

/// The current effect of a commit or an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitStatus {
    /// The active branch contains it.
    InForce,
    /// An undo reverted it.
    Undone,
    /// Another branch is active, and no undo made it so.
    OtherBranch,
}

word_in_json!(CommitStatus, json_name);

impl CommitStatus {
    fn json_name(self) -> &'static str {
        match self {
            Self::InForce => "in force",
            other => other.as_str(),
        }
    }

    /// The words in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InForce => "active",
            Self::Undone => "undone",
            Self::OtherBranch => "on another branch",
        }
    }
}

/// A commit or an undo, from its record in the file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitRecord {
    pub id: String,
    pub kind: ReceiptKind,
    /// ms since 1970; null if unreadable.
    #[schemars(with = "Option<Moment>")]
    pub time: Moment,
    pub in_force: bool,
    #[serde(rename = "state")]
    pub status: CommitStatus,
    /// The leaf before.
    pub from_leaf: String,
    /// The commit that an undo takes back.
    pub undoes: Option<String>,
    /// The program that wrote it.
    pub tool: Option<String>,
    /// The messages before and after, by chars/4.
    pub tokens_before: Option<Tokens>,
    pub tokens_after: Option<Tokens>,
    /// Tokens of the next prompt before and after, as `commit` showed them; scaled to the session for a record of an
    /// earlier version, which has only the messages.
    pub prompt_tokens_before: Option<Tokens>,
    pub prompt_tokens_after: Option<Tokens>,
    pub changed: Vec<ReplacedEntry>,
    #[serde(rename = "steps")]
    pub policies: Vec<PolicyRecord>,
    /// The record in a few words: a commit's policies, or the commit that an undo or a redo is about.
    #[serde(skip)]
    pub summary: String,
    /// Whether the provider counted the prompt before it.
    #[serde(skip)]
    pub is_counted: bool,
    /// The entry of the record.
    #[serde(skip)]
    pub entry: EntryIx,
}

/// An entry and the one that takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplacedEntry {
    from: String,
    to: String,
}

impl From<(String, String)> for ReplacedEntry {
    fn from((from, to): (String, String)) -> Self {
        Self { from, to }
    }
}

/// The commits and undos of a session, oldest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CommitList {
    commits: Vec<CommitRecord>,
}

impl CommitList {
    pub fn read(session: &LoadedSession) -> Result<Self, BodyError> {
        let (index, source) = (&session.index, &session.source);
        let receipts = receipts(index, source)?;
        let in_force = active_record_ids(index, &session.tree, source)?;
        let undone: Vec<&str> = receipts.iter().filter_map(|receipt| receipt.undoes.as_deref()).collect();
        let status = |receipt: &Receipt| {
            if in_force.contains(&receipt.id) {
                CommitStatus::InForce
            } else if undone.contains(&receipt.id.as_str()) {
                CommitStatus::Undone
            } else {
                CommitStatus::OtherBranch
            }
        };
        let texts: Vec<(CommitStatus, String)> =
            receipts.iter().map(|receipt| (status(receipt), summarise(receipt, &receipts))).collect();
        let records = receipts.into_iter().zip(texts);
        let commits =
            records.map(|(receipt, (status, summary))| CommitRecord::new(session, receipt, status, summary));
        Ok(Self { commits: commits.collect() })
    }

    /// Returns the records in the order of the document: newest first.
    pub fn newest_first(&self) -> impl ExactSizeIterator<Item = &CommitRecord> {
        self.commits.iter().rev()
    }

    pub fn doc(&self) -> Doc {
        let mut doc = Doc::new(self.headline());
        let mut table = Table::new(&[
            ("id", Align::Left),
            ("written", Align::Left),
            ("what", Align::Left),
            ("next prompt", Align::Right),
            ("changed", Align::Right),
            ("old leaf", Align::Left),
            ("state", Align::Left),
        ]);
        table.drop_first(&["old leaf", "changed", "written"]);
        for record in self.newest_first() {
            table.push(record.cells());
        }
        if !table.is_empty() {
            doc.table(table);
        }
        doc
    }

    /// Counts commits and undos, and those that are active: `2 commits and 1 undo, 1 active`.
    fn headline(&self) -> String {
        let undos = self.commits.iter().filter(|record| record.kind == ReceiptKind::Undo);
        let is_undo = |id: &str| self.commits.iter().any(|own| own.id == id && own.kind == ReceiptKind::Undo);
        let (redos, undos): (Vec<_>, Vec<_>) =
            undos.partition(|record| record.undoes.as_deref().is_some_and(is_undo));
        let active = self.commits.iter().filter(|record| record.in_force).count();
        let commits = self.commits.len() - undos.len() - redos.len();
        let parts = [(commits, "commit"), (undos.len(), "undo"), (redos.len(), "redo")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, word)| quantity(*count as u64, word)).collect();
        if parts.is_empty() {
            return "No commits in this session".to_owned();
        }
        let words = match parts.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            words => words.join(", "),
        };
        format!("{words}, {active} active")
    }
}

impl CommitRecord {
    fn new(session: &LoadedSession, receipt: Receipt, status: CommitStatus, summary: String) -> Self {
        let (before, after) = prompt_tokens(session, &receipt).unzip();
        Self {
            is_counted: before.is_some_and(|tokens| is_counted(session, &receipt, tokens)),
            in_force: status == CommitStatus::InForce,
            status,
            summary,
            prompt_tokens_before: before,
            prompt_tokens_after: after,
            id: receipt.id,
            kind: receipt.kind,
            time: receipt.time,
            from_leaf: receipt.from_leaf,
            undoes: receipt.undoes,
            tool: receipt.tool,
            tokens_before: receipt.tokens_before,
            tokens_after: receipt.tokens_after,
            changed: receipt.changed.into_iter().map(ReplacedEntry::from).collect(),
            policies: receipt.policies,
            entry: receipt.entry,
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let whole = |tokens: Tokens| tokens.max(Tokens::ZERO).whole();
        let prompts = self.prompt_tokens_before.zip(self.prompt_tokens_after).map(|(before, after)| {
            let before = format_counted(whole(before), self.is_counted);
            format!("{before} → {}", format_estimate(whole(after)))
        });
        let (sign, tone) = if self.in_force { ("●", Tone::Good) } else { ("○", Tone::Dim) };
        let changed = match self.changed.len() {
            0 => String::new(),
            count => quantity(count as u64, "entry"),
        };
        vec![
            self.id.as_str().into(),
            Cell::new(&format_time(self.time), Tone::Dim),
            self.summary.as_str().into(),
            prompts.unwrap_or_default().into(),
            changed.into(),
            Cell::new(&self.from_leaf, Tone::Dim),
            Cell::new(&format!("{sign} {}", self.status.as_str()), tone),
        ]
    }
}

/// Whether the provider counted the prompt before a commit.
fn is_counted(session: &LoadedSession, receipt: &Receipt, tokens: Tokens) -> bool {
    let before = session.at_leaf(Leaf::Id(receipt.from_leaf.clone()));
    let total = before.map(|before| before.next_prompt.total);
    total.is_some_and(|total| !total.is_estimate() && total.tokens == tokens.whole())
}

fn prompt_tokens(session: &LoadedSession, receipt: &Receipt) -> Option<(Tokens, Tokens)> {
    let messages = receipt.tokens_before.zip(receipt.tokens_after);
    let scaled = |(before, after)| (session.prompt_around(before), session.prompt_around(after));
    receipt.prompt_tokens.or_else(|| messages.map(scaled))
}

/// Describes a record in a few words.
fn summarise(receipt: &Receipt, all: &[Receipt]) -> String {
    if receipt.kind == ReceiptKind::Commit {
        return policy_names(receipt).unwrap_or_else(|| "commit".to_owned());
    }
    // An undo of an undo is a redo; the way back to the commit is as long as there are records.
    let (mut word, mut subject) = ("undo", receipt);
    for _ in all {
        let Some(id) = &subject.undoes else { break };
        let Some(undone) = all.iter().find(|other| other.id == *id) else {
            return format!("{word} of {id}");
        };
        if undone.kind == ReceiptKind::Commit {
            let policies = policy_names(undone).map_or_else(String::new, |names| format!(" ({names})"));
            return format!("{word} of {id}{policies}");
        }
        word = if word == "undo" { "redo" } else { "undo" };
        subject = undone;
    }
    word.to_owned()
}

fn policy_names(receipt: &Receipt) -> Option<String> {
    let names: Vec<&str> = receipt.policies.iter().map(|policy| policy.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::js::Value;
    use crate::units::Moment;

    fn receipt(id: &str, undoes: Option<&str>) -> Receipt {
        let policy = PolicyRecord {
            name: "prune".to_owned(),
            settings: Value::Null,
            tokens_before: Tokens(f64::NAN),
            tokens_after: Tokens(f64::NAN),
        };
        Receipt {
            kind: if undoes.is_some() { ReceiptKind::Undo } else { ReceiptKind::Commit },
            entry: EntryIx(0),
            id: id.to_owned(),
            time: Moment(0.0),
            from_leaf: "e".to_owned(),
            undoes: undoes.map(str::to_owned),
            policies: if undoes.is_some() { Vec::new() } else { vec![policy] },
            changed: Vec::new(),
            tokens_before: None,
            tokens_after: None,
            prompt_tokens: None,
            tool: None,
        }
    }

    #[test]
    fn the_messages_of_an_old_record_are_scaled_to_the_session() {
        let mut session = crate::session::testing::loaded_session(
            &crate::session::testing::transcript(&[crate::session::testing::user("12345678")]),
            1e5,
        );
        let messages = receipt("c", None);
        assert_eq!(prompt_tokens(&session, &messages), None);
        let old = Receipt {
            tokens_before: Some(Tokens(2.0)),
            tokens_after: Some(Tokens(1.0)),
            ..receipt("c", None)
        };
        let fixed = Tokens(session.next_prompt.fixed_tokens as f64);
        assert_eq!(prompt_tokens(&session, &old), Some((fixed + Tokens(2.0), fixed + Tokens(1.0))));
        Arc::make_mut(&mut session.next_prompt).fixed_tokens = 500;
        assert_eq!(prompt_tokens(&session, &old), Some((Tokens(502.0), Tokens(501.0))));
        let new = Receipt { prompt_tokens: Some((Tokens(9.0), Tokens(8.0))), ..old };
        assert_eq!(prompt_tokens(&session, &new), Some((Tokens(9.0), Tokens(8.0))));
    }

    #[test]
    fn an_undo_of_an_undo_is_a_redo_of_the_commit() {
        let all = [
            receipt("c", None),
            receipt("u", Some("c")),
            receipt("r", Some("u")),
            receipt("v", Some("r")),
            receipt("x", Some("gone")),
            receipt("y", Some("y")),
        ];
        let words = all.each_ref().map(|one| summarise(one, &all));
        let [commit, undo, redo, again, lost, circle] = words.each_ref().map(String::as_str);
        assert_eq!((commit, undo, redo), ("prune", "undo of c (prune)", "redo of c (prune)"));
        assert_eq!((again, lost), ("undo of c (prune)", "undo of gone"));
        assert!(circle == "undo" || circle == "redo", "{circle}");
    }
}
