//! Our own records in a session file: each commit and undo with time and settings. They are custom entries, which no
//! runtime sends to a model (store K6).
//!
//! Version 1 of a commit's `data` had one policy, as `policy` and `settings`; version 2 has every policy that changed
//! something, as `steps`. Both are read.

use std::collections::HashSet;

use crate::commit::copy::{encode_line, text_json};
use crate::commit::request::{CommitProvenance, PolicyRecord};
use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::store::body::{self, BodyError};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
use crate::units::{Moment, Tokens};

/// `customType` of a commit's record.
pub(super) const COMMIT_TYPE: &str = "clawscope.commit";
/// `customType` of an undo's record.
pub(super) const UNDO_TYPE: &str = "clawscope.undo";
/// Version of a commit's `data`.
const COMMIT_VERSION: &str = "2";
/// Version of an undo's `data`.
const UNDO_VERSION: &str = "1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptKind {
    /// A plan became a branch.
    Commit,
    /// An earlier branch became active again.
    Undo,
}

impl ReceiptKind {
    /// The word used on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Undo => "undo",
        }
    }
}

crate::ids::word_in_json!(ReceiptKind, as_str);

/// One commit or undo, from its record in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    pub kind: ReceiptKind,
    pub entry: EntryIx,
    /// The id of the record: the new leaf, or its parent where a compaction ends the branch.
    pub id: String,
    /// Time of writing; NaN if unreadable.
    pub time: Moment,
    /// The leaf that was left: undoing returns to it.
    pub from_leaf: String,
    /// The undone record; `None` for a commit.
    pub undoes: Option<String>,
    /// The policies that changed something, in order; empty for an undo.
    pub policies: Vec<PolicyRecord>,
    /// Ids of each changed entry and its copy.
    pub changed: Vec<(String, String)>,
    /// Estimated tokens of the context before.
    pub tokens_before: Option<Tokens>,
    /// Estimated tokens of the context after.
    pub tokens_after: Option<Tokens>,
    /// Tokens of the next prompt before and after; `None` in records of earlier versions.
    pub prompt_tokens: Option<(Tokens, Tokens)>,
    /// The program that wrote it.
    pub tool: Option<String>,
}

/// Returns the records of a file, in file order. A record that a later commit copied still names its first leaf and is
/// not repeated.
pub fn receipts(index: &Index, source: &Source) -> Result<Vec<Receipt>, BodyError> {
    let ours = index.iter().filter(|(ix, _)| receipt_kind(index, *ix).is_some());
    let read = ours.filter_map(|(ix, _)| read_receipt(index, source, ix).transpose());
    read.collect()
}

/// Returns the ids of the active branch's records, newest first, including copied ones.
pub fn active_record_ids(index: &Index, tree: &Tree, source: &Source) -> Result<Vec<String>, BodyError> {
    let path = tree.branch(index, &Leaf::Own);
    let named = path.iter().rev().filter_map(|ix| record_id_at(index, source, *ix).transpose());
    named.collect()
}

/// Returns the id of the record at an entry, even if the entry is a copy of it.
pub(super) fn record_id_at(index: &Index, source: &Source, ix: EntryIx) -> Result<Option<String>, BodyError> {
    if receipt_kind(index, ix).is_none() {
        return Ok(None);
    }
    let value = body::read_entry(source, index, ix)?;
    let leaf = value.get("data").and_then(|data| data.get("leaf")).and_then(Value::as_str);
    Ok(leaf.map(js::JsString::to_string_lossy))
}

/// Returns the kind of a record from its entry's type.
pub fn receipt_kind(index: &Index, ix: EntryIx) -> Option<ReceiptKind> {
    let entry = index.entry(ix);
    if entry.kind != EntryKind::Custom {
        return None;
    }
    let name = index.values.value(entry.payload)?;
    let is = |text| name.str_is(text);
    if is(COMMIT_TYPE) { Some(ReceiptKind::Commit) } else { is(UNDO_TYPE).then_some(ReceiptKind::Undo) }
}

/// Returns the entries that clawscope wrote: each record, the copies right before it, and a compaction right behind it, which all
/// have its time.
pub fn own_entries(index: &Index, tree: &Tree) -> HashSet<EntryIx> {
    let mut own = HashSet::new();
    for (record, entry) in index.iter().filter(|(ix, _)| receipt_kind(index, *ix).is_some()) {
        let is_same = |ix: &EntryIx| index.entry(*ix).time_ms == entry.time_ms;
        let follows = |ix: EntryIx| tree.parent(ix).filter(|parent| parent.index() + 1 == ix.index());
        own.extend(std::iter::successors(Some(record), |ix| follows(*ix).filter(is_same)));
        let next = EntryIx(record.0 + 1);
        let is_next = |ix: &EntryIx| is_same(ix) && tree.parent(*ix) == Some(record);
        own.extend(Some(next).filter(|ix| ix.index() < index.entries.len()).filter(is_next));
    }
    own
}

/// Returns the record at an entry; `None` for a copy or an entry of another program.
///
/// # Errors
/// When the entry cannot be read again.
pub fn read_receipt(index: &Index, source: &Source, ix: EntryIx) -> Result<Option<Receipt>, BodyError> {
    let Some(kind) = receipt_kind(index, ix) else { return Ok(None) };
    let value = body::read_entry(source, index, ix)?;
    Ok(receipt_of(kind, ix, &value, index.entry(ix).time_ms))
}

/// Returns the tokens of the prompt that a commit left, from its record at an entry.
pub fn committed_prompt(index: &Index, source: &Source, ix: EntryIx) -> Option<Tokens> {
    let receipt = read_receipt(index, source, ix).ok()??;
    receipt.prompt_tokens.map(|(_, after)| after).filter(|_| receipt.kind == ReceiptKind::Commit)
}

fn receipt_of(kind: ReceiptKind, entry: EntryIx, value: &Value, time: Moment) -> Option<Receipt> {
    let data = value.get("data")?;
    let text = |name| data.get(name).and_then(Value::as_str).map(js::JsString::to_string_lossy);
    let number = |name| data.get(name).and_then(Value::as_f64);
    let id = value.get("id").and_then(Value::as_str)?.to_string_lossy();
    if text("leaf")? != id {
        return None;
    }
    Some(Receipt {
        kind,
        entry,
        id,
        time,
        from_leaf: text("fromLeaf")?,
        undoes: text("undoes"),
        policies: policies_of(data),
        changed: changed_of(data),
        tokens_before: number("tokensBefore").map(Tokens),
        tokens_after: number("tokensAfter").map(Tokens),
        prompt_tokens: number("promptBefore").zip(number("promptAfter")).map(|(a, b)| (Tokens(a), Tokens(b))),
        tool: text("tool"),
    })
}

/// Returns the policies of a record; version 1 has one.
fn policies_of(data: &Value) -> Vec<PolicyRecord> {
    let step = |item: &Value| {
        let number = |name| item.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
        Some(PolicyRecord {
            name: item.get("policy")?.as_str()?.to_string_lossy(),
            settings: item.get("settings").cloned().unwrap_or(Value::Null),
            tokens_before: Tokens(number("tokensBefore")),
            tokens_after: Tokens(number("tokensAfter")),
        })
    };
    match data.get("steps").and_then(Value::as_array) {
        Some(items) => items.iter().filter_map(step).collect(),
        None => step(data).into_iter().collect(),
    }
}

fn changed_of(data: &Value) -> Vec<(String, String)> {
    let items = data.get("changed").and_then(Value::as_array).unwrap_or_default();
    let text = |item: &Value, name| Some(item.get(name)?.as_str()?.to_string_lossy());
    items.iter().filter_map(|item| Some((text(item, "from")?, text(item, "to")?))).collect()
}

/// Encodes a commit's record (key order of custom entries: store I4).
pub(super) fn commit_line(
    id: &str,
    parent: &Value,
    time: &str,
    from_leaf: &Value,
    changed: &[(String, String)],
    provenance: &CommitProvenance,
) -> String {
    let pair = |(from, to): &(String, String)| {
        encode_line(&[("from", Some(text_json(from))), ("to", Some(text_json(to)))])
    };
    let changed: Vec<String> = changed.iter().map(pair).collect();
    let steps: Vec<String> = provenance.policies.iter().map(policy_json).collect();
    let data = encode_line(&[
        ("version", Some(COMMIT_VERSION.to_owned())),
        ("steps", Some(format!("[{}]", steps.join(",")))),
        ("fromLeaf", Some(js::stringify(from_leaf))),
        ("leaf", Some(text_json(id))),
        ("changed", Some(format!("[{}]", changed.join(",")))),
        ("tokensBefore", Some(provenance.tokens_before.to_string())),
        ("tokensAfter", Some(provenance.tokens_after.to_string())),
        ("promptBefore", Some(provenance.prompt_tokens.0.to_string())),
        ("promptAfter", Some(provenance.prompt_tokens.1.to_string())),
        ("tool", Some(text_json(&provenance.tool))),
    ]);
    record_line(COMMIT_TYPE, data, id, js::stringify(parent), time)
}

fn policy_json(step: &PolicyRecord) -> String {
    encode_line(&[
        ("policy", Some(text_json(&step.name))),
        ("settings", Some(js::stringify(&step.settings))),
        ("tokensBefore", Some(js::stringify(&Value::Number(step.tokens_before.get())))),
        ("tokensAfter", Some(js::stringify(&Value::Number(step.tokens_after.get())))),
    ])
}

/// Encodes an undo's record. Its parent is the leaf that becomes active again.
pub(super) fn undo_line(
    id: &str,
    parent: &Value,
    time: &str,
    from_leaf: &Value,
    undoes: &str,
    tool: &str,
) -> String {
    let data = encode_line(&[
        ("version", Some(UNDO_VERSION.to_owned())),
        ("undoes", Some(text_json(undoes))),
        ("fromLeaf", Some(js::stringify(from_leaf))),
        ("leaf", Some(text_json(id))),
        ("tool", Some(text_json(tool))),
    ]);
    record_line(UNDO_TYPE, data, id, js::stringify(parent), time)
}

fn record_line(custom_type: &str, data: String, id: &str, parent_json: String, time: &str) -> String {
    encode_line(&[
        ("type", Some(text_json("custom"))),
        ("customType", Some(text_json(custom_type))),
        ("data", Some(data)),
        ("id", Some(text_json(id))),
        ("parentId", Some(parent_json)),
        ("timestamp", Some(text_json(time))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provenance() -> CommitProvenance {
        let step = PolicyRecord {
            name: "prune".to_owned(),
            settings: js::parse(r#"{"ttl":"5m"}"#).unwrap(),
            tokens_before: Tokens(900.0),
            tokens_after: Tokens(700.5),
        };
        CommitProvenance {
            policies: vec![step],
            tokens_before: 900,
            tokens_after: 700,
            prompt_tokens: (1_200, 950),
            tool: "clawscope 9".into(),
        }
    }

    fn read(kind: ReceiptKind, line: &str) -> Receipt {
        receipt_of(kind, EntryIx(7), &js::parse(line).unwrap(), Moment(5.0)).expect("a record")
    }

    #[test]
    fn the_receipt_of_a_commit_is_one_custom_entry_that_reads_back() {
        let changed = [("e1".to_owned(), "n1".to_owned()), ("e3".to_owned(), "n3".to_owned())];
        let line = commit_line(
            "r1",
            &"n3".into(),
            "2026-02-21T05:00:00.000Z",
            &"e4".into(),
            &changed,
            &provenance(),
        );
        assert_eq!(
            line,
            r#"{"type":"custom","customType":"clawscope.commit","data":{"version":2,"steps":[{"policy":"prune","settings":{"ttl":"5m"},"tokensBefore":900,"tokensAfter":700.5}],"fromLeaf":"e4","leaf":"r1","changed":[{"from":"e1","to":"n1"},{"from":"e3","to":"n3"}],"tokensBefore":900,"tokensAfter":700,"promptBefore":1200,"promptAfter":950,"tool":"clawscope 9"},"id":"r1","parentId":"n3","timestamp":"2026-02-21T05:00:00.000Z"}"#
        );
        let receipt = Receipt {
            kind: ReceiptKind::Commit,
            entry: EntryIx(7),
            id: "r1".to_owned(),
            time: Moment(5.0),
            from_leaf: "e4".to_owned(),
            undoes: None,
            policies: provenance().policies,
            changed: changed.to_vec(),
            tokens_before: Some(Tokens(900.0)),
            tokens_after: Some(Tokens(700.0)),
            prompt_tokens: Some((Tokens(1_200.0), Tokens(950.0))),
            tool: Some("clawscope 9".to_owned()),
        };
        assert_eq!(read(ReceiptKind::Commit, &line), receipt);
        let copied = line.replace(r#""id":"r1""#, r#""id":"c1""#);
        assert_eq!(
            receipt_of(ReceiptKind::Commit, EntryIx(7), &js::parse(&copied).unwrap(), Moment(5.0)),
            None
        );
    }

    #[test]
    fn a_record_of_the_first_version_has_its_one_policy() {
        let line = r#"{"id":"r1","data":{"version":1,"policy":"prune","settings":{"ttl":"5m"},"fromLeaf":"e4","leaf":"r1"}}"#;
        let [policy] = &read(ReceiptKind::Commit, line).policies[..] else { panic!("one policy") };
        assert_eq!((policy.name.as_str(), &policy.settings), ("prune", &provenance().policies[0].settings));
        assert!(policy.tokens_before.is_nan() && policy.tokens_after.is_nan());
    }

    #[test]
    fn the_receipt_of_an_undo_names_the_undone_commit() {
        let line =
            undo_line("r2", &Value::Null, "2026-02-21T05:00:00.000Z", &"n3".into(), "r1", "clawscope 9");
        assert_eq!(
            line,
            r#"{"type":"custom","customType":"clawscope.undo","data":{"version":1,"undoes":"r1","fromLeaf":"n3","leaf":"r2","tool":"clawscope 9"},"id":"r2","parentId":null,"timestamp":"2026-02-21T05:00:00.000Z"}"#
        );
        let receipt = read(ReceiptKind::Undo, &line);
        assert_eq!((receipt.undoes.as_deref(), receipt.from_leaf.as_str()), (Some("r1"), "n3"));
        assert!(receipt.policies.is_empty() && receipt.changed.is_empty() && receipt.tokens_before.is_none());
        assert_eq!([ReceiptKind::Commit, ReceiptKind::Undo].map(ReceiptKind::as_str), ["commit", "undo"]);
    }
}
