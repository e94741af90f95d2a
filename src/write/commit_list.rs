//! Lists the commits and undos of a session from its file, and determines which are in force.

use std::sync::Arc;

use crate::commit::{Receipt, ReceiptKind, active_record_ids, receipts};
use crate::format::quantity;
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::units::Tokens;

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

impl CommitStatus {
    /// The word in JSON.
    pub fn json_name(self) -> &'static str {
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

#[derive(Debug, Clone, PartialEq)]
pub struct CommitRecord {
    /// The record in the file.
    pub receipt: Receipt,
    pub status: CommitStatus,
    /// The record in a few words: a commit's policies, or the commit that an undo or a redo is about.
    pub summary: String,
    /// Tokens of the next prompt before and after, as the person saw them. A record of an earlier version has only the
    /// messages by chars/4, which are scaled to the session.
    pub prompt_tokens: Option<(Tokens, Tokens)>,
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

/// Counts commits and undos, and those that are active: `2 commits and 1 undo, 1 active`.
pub fn describe_count(records: &[CommitRecord]) -> String {
    let undos = records.iter().filter(|record| record.receipt.kind == ReceiptKind::Undo).count();
    let active = records.iter().filter(|record| record.status == CommitStatus::InForce).count();
    let parts = [(records.len() - undos, "commit"), (undos, "undo")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| quantity(*count as u64, word))
        .collect();
    format!("{}, {active} active", parts.join(" and "))
}

/// Returns every commit and undo of a session, oldest first.
pub fn list_commits(session: &LoadedSession) -> Result<Vec<CommitRecord>, BodyError> {
    let (index, source) = (&session.index, &session.source);
    let receipts = receipts(index, source)?;
    let in_force = active_record_ids(index, &session.tree, source)?;
    let undone: Vec<String> = receipts.iter().filter_map(|receipt| receipt.undoes.clone()).collect();
    let force = |receipt: &Receipt| {
        if in_force.contains(&receipt.id) {
            CommitStatus::InForce
        } else if undone.contains(&receipt.id) {
            CommitStatus::Undone
        } else {
            CommitStatus::OtherBranch
        }
    };
    let summaries: Vec<String> = receipts.iter().map(|receipt| summarise(receipt, &receipts)).collect();
    let records = receipts.into_iter().zip(summaries);
    let record = |(receipt, summary): (Receipt, String)| {
        let prompt_tokens = prompt_tokens(session, &receipt);
        CommitRecord { status: force(&receipt), receipt, summary, prompt_tokens }
    };
    Ok(records.map(record).collect())
}

fn prompt_tokens(session: &LoadedSession, receipt: &Receipt) -> Option<(Tokens, Tokens)> {
    let messages = receipt.tokens_before.zip(receipt.tokens_after);
    let scaled = |(before, after)| (session.prompt_around(before), session.prompt_around(after));
    receipt.prompt_tokens.or_else(|| messages.map(scaled))
}

/// Returns every commit and undo of a session, newest first.
pub fn list_commits_newest_first(session: &LoadedSession) -> Result<Arc<Vec<CommitRecord>>, BodyError> {
    let mut commits = list_commits(session)?;
    commits.reverse();
    Ok(Arc::new(commits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::PolicyRecord;
    use crate::ids::EntryIx;
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
