//! Simulates the gateway's rewriting of oversized tool results in a session, including its defects (pruning 6.10–6.12):
//! `firstKeptEntryId` is not mapped to the new ids, labels and branch summaries are dropped. Nothing is written here;
//! clawscope's own commit maps ids and keeps labels.

use std::collections::{BTreeSet, HashSet};

use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Object, Value};
use crate::policy::truncate::{
    CutOptions, is_oversized, max_result_chars, sized_result_chars, truncated_message,
};
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;
use crate::transcript::{Leaf, Tree};
use crate::units::{Chars, Moment, Tokens};

/// The gateway's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewriteOutcome {
    Truncated {
        /// Oversized results, including those in which no block was cut.
        count: usize,
    },
    /// The gateway did not rewrite the branch, or failed on the way.
    Failed {
        /// In the gateway's words.
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionRewrite {
    pub outcome: RewriteOutcome,
    /// Entries that the gateway appends to the file, in order. Empty if the file holds no assistant message, although
    /// the gateway reports success then.
    pub appended: Vec<Value>,
    /// Original of each appended entry.
    pub originals: Vec<EntryIx>,
}

impl SessionRewrite {
    fn failed(reason: String) -> Self {
        Self { outcome: RewriteOutcome::Failed { reason }, appended: Vec::new(), originals: Vec::new() }
    }

    /// Returns the appended lines, each with its line end.
    pub fn lines(&self) -> String {
        self.appended.iter().map(|entry| js::stringify(entry) + "\n").collect()
    }
}

/// The session on disk, after the runtime's upgrade of older files.
#[derive(Debug, Clone, Copy)]
pub struct RewriteInput<'a> {
    pub index: &'a Index,
    pub tree: &'a Tree,
    /// In tokens.
    pub window: Tokens,
    /// The clock.
    pub now_ms: Moment,
}

/// Returns the entries that rewriting the session's own branch would append (pruning 6.10, 6.11). `body` reads an entry
/// in the runtime's form.
///
/// # Errors
/// Errors of `body`.
pub fn rewrite<E>(
    session: &RewriteInput<'_>,
    new_ids: &mut dyn IdSource,
    mut body: impl FnMut(EntryIx) -> Result<Value, E>,
) -> Result<SessionRewrite, E> {
    let branch = session.tree.branch(session.index, &Leaf::Own);
    if branch.is_empty() {
        return Ok(SessionRewrite::failed("empty session".into()));
    }
    if let Some(broken) = branch.iter().find(|ix| session.index.entry(**ix).lacks_message) {
        return Ok(SessionRewrite::failed(missing_role_error(&body(*broken)?)));
    }
    let oversized = oversized(session, &branch, &mut body)?;
    let Some(first) = branch.iter().position(|ix| oversized.contains(ix)) else {
        return Ok(SessionRewrite::failed("no oversized tool results".into()));
    };
    let from = body(branch[first])?;
    let parent = from.get("parentId").filter(|parent| js::is_truthy(Some(parent)));
    let known = session.index.entry(branch[first]).parent.and_then(|id| session.tree.find(id));
    if let (Some(parent), None) = (parent, known) {
        let reason = format!("Entry {} not found", js::to_text(Some(parent)).to_string_lossy());
        return Ok(SessionRewrite::failed(reason));
    }
    let parent = parent.cloned().unwrap_or(Value::Null);
    let writes = match append_effect(session.index) {
        AppendEffect::Throws(ix) => return Ok(SessionRewrite::failed(missing_role_error(&body(ix)?))),
        AppendEffect::Written => true,
        AppendEffect::Deferred => false,
    };
    let mut run = RewriteRun {
        session,
        new_ids,
        parent,
        issued_ids: HashSet::new(),
        appended: Vec::new(),
        originals: Vec::new(),
    };
    let mut outcome = RewriteOutcome::Truncated { count: oversized.len() };
    for ix in &branch[first..] {
        let entry = body(*ix)?;
        let limit = oversized.contains(ix).then(|| max_result_chars(session.window));
        if let Err(reason) = run.append(*ix, &entry, limit) {
            outcome = RewriteOutcome::Failed { reason: reason.to_owned() };
            break;
        }
    }
    let (appended, originals) = if writes { (run.appended, run.originals) } else { (Vec::new(), Vec::new()) };
    Ok(SessionRewrite { outcome, appended, originals })
}

/// Returns the oversized tool results of the branch, including those before a compaction (pruning 6.10).
fn oversized<E>(
    session: &RewriteInput<'_>,
    branch: &[EntryIx],
    body: &mut impl FnMut(EntryIx) -> Result<Value, E>,
) -> Result<BTreeSet<EntryIx>, E> {
    let max_chars = max_result_chars(session.window);
    let mut found = BTreeSet::new();
    for ix in branch {
        let entry = session.index.entry(*ix);
        let size =
            entry.message.filter(|size| entry.kind == EntryKind::Message && size.role == Role::ToolResult);
        let Some(size) = size else { continue };
        let over = match sized_result_chars(&size) {
            Some(chars) => chars > max_chars,
            None => is_oversized(body(*ix)?.get("message").unwrap_or(&Value::Null), max_chars),
        };
        if over {
            found.insert(*ix);
        }
    }
    Ok(found)
}

/// Effect of appending an entry: the runtime searches the file for its first assistant message (pruning 6.11a, 6.12).
enum AppendEffect {
    /// Found: the line is written.
    Written,
    /// Not found: the line is never written.
    Deferred,
    /// An entry without a message precedes it, and reading its role fails.
    Throws(EntryIx),
}

fn append_effect(index: &Index) -> AppendEffect {
    for (ix, entry) in index.iter().filter(|(_, entry)| entry.kind == EntryKind::Message) {
        if entry.lacks_message {
            return AppendEffect::Throws(ix);
        }
        if entry.role() == Some(Role::Assistant) {
            return AppendEffect::Written;
        }
    }
    AppendEffect::Deferred
}

/// Returns the exception's text for an entry whose message is absent or null.
fn missing_role_error(entry: &Value) -> String {
    let what = if entry.get("message").is_some() { "null" } else { "undefined" };
    format!("Cannot read properties of {what} (reading 'role')")
}

struct RewriteRun<'a> {
    session: &'a RewriteInput<'a>,
    new_ids: &'a mut dyn IdSource,
    /// Parent of the next entry: any value, `null` at the root.
    parent: Value,
    issued_ids: HashSet<String>,
    appended: Vec<Value>,
    originals: Vec<EntryIx>,
}

/// Key that marks the place of id, parent and time among the copied keys.
const ID_PLACEHOLDER: &str = "id";

impl RewriteRun<'_> {
    /// Appends the copy of an entry, if its kind is copied.
    ///
    /// # Errors
    /// With the gateway's reason, if the copy fails.
    fn append(&mut self, ix: EntryIx, entry: &Value, limit: Option<Chars>) -> Result<(), &'static str> {
        let kind = self.session.index.entry(ix).kind;
        let copy = match kind {
            EntryKind::Message => self.copied_message(entry, limit),
            EntryKind::Compaction => {
                let keys =
                    [ID_PLACEHOLDER, "summary", "firstKeptEntryId", "tokensBefore", "details", "fromHook"];
                self.copied_entry(entry, kind, &keys)
            }
            EntryKind::ThinkingLevelChange => {
                self.copied_entry(entry, kind, &[ID_PLACEHOLDER, "thinkingLevel"])
            }
            EntryKind::ModelChange => {
                self.copied_entry(entry, kind, &[ID_PLACEHOLDER, "provider", "modelId"])
            }
            EntryKind::Custom => self.copied_entry(entry, kind, &["customType", "data", ID_PLACEHOLDER]),
            EntryKind::CustomMessage => self.copied_entry(
                entry,
                kind,
                &["customType", "content", "display", "details", ID_PLACEHOLDER],
            ),
            EntryKind::SessionInfo => match entry.get("name").filter(|name| js::is_truthy(Some(name))) {
                None => return Ok(()),
                Some(Value::String(name)) => {
                    let mut copy = self.copied_entry(entry, kind, &[ID_PLACEHOLDER]);
                    copy.set("name", Value::String(name.trim()));
                    copy
                }
                Some(_) => return Err("name.trim is not a function"),
            },
            EntryKind::BranchSummary
            | EntryKind::Label
            | EntryKind::Reset
            | EntryKind::Leaf
            | EntryKind::Usage
            | EntryKind::ContextEdit
            | EntryKind::Unknown
            | EntryKind::Scalar => return Ok(()),
        };
        self.parent = copy.get("id").cloned().unwrap_or(Value::Null);
        self.appended.push(Value::Object(copy));
        self.originals.push(ix);
        Ok(())
    }

    fn copied_message(&mut self, entry: &Value, limit: Option<Chars>) -> Object {
        let mut copy = self.copied_entry(entry, EntryKind::Message, &[ID_PLACEHOLDER, "message"]);
        let message = entry.get("message");
        let cut = limit.and_then(|limit| truncated_message(message?, limit, &CutOptions::default()));
        if let Some(cut) = cut {
            copy.set("message", cut);
        }
        copy
    }

    /// Returns a new entry with these members in this order; absent ones leave no key.
    fn copied_entry(&mut self, entry: &Value, kind: EntryKind, keys: &[&str]) -> Object {
        let mut copy = Object::default();
        copy.set("type", Value::from(kind.as_str()));
        for key in keys {
            if *key == ID_PLACEHOLDER {
                copy.set("id", Value::from(self.issue_id()));
                copy.set("parentId", self.parent.clone());
                copy.set("timestamp", Value::from(js::iso_text(self.session.now_ms)));
            } else if let Some(value) = entry.get(key) {
                copy.set(key, value.clone());
            }
        }
        copy
    }

    /// Returns an id that neither an entry of the file nor a new one has.
    fn issue_id(&mut self) -> String {
        let RewriteInput { index, tree, .. } = self.session;
        let line = index.line_count + self.appended.len() as u64 + 1;
        let taken = |id: &str| self.issued_ids.contains(id) || tree.find_by_text(index, id).is_some();
        let id = self.new_ids.next_id(line, &taken);
        self.issued_ids.insert(id.clone());
        id
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::store::load::load_bytes;

    const ASSISTANT: &str = r#""type":"message","message":{"role":"assistant","content":[]}"#;
    const SMALL: &str = r#""type":"message","message":{"role":"toolResult","content":[]}"#;

    /// Issues n1, n2, ….
    struct Counted(u32);

    impl IdSource for Counted {
        fn next_id(&mut self, _line: u64, taken: &dyn Fn(&str) -> bool) -> String {
            loop {
                self.0 += 1;
                let id = format!("n{}", self.0);
                if !taken(&id) {
                    return id;
                }
            }
        }
    }

    fn big() -> String {
        let text = "x".repeat(3000);
        format!(
            r#""type":"message","message":{{"role":"toolResult","content":[{{"type":"text","text":"{text}"}}]}}"#
        )
    }

    /// Rewrites a chain of entries e0, e1, … with these members, for a window of 1000 tokens, whose limit is 1200
    /// chars.
    fn rewritten(entries: &[&str]) -> SessionRewrite {
        let mut lines = vec![r#"{"type":"session","version":3,"id":"s"}"#.to_owned()];
        for (at, members) in entries.iter().enumerate() {
            let parent = at.checked_sub(1).map_or("null".into(), |at| format!("\"e{at}\""));
            lines.push(format!(r#"{{"id":"e{at}","parentId":{parent},{members}}}"#));
        }
        let bodies: Vec<Value> = lines[1..].iter().map(|line| js::parse(line).unwrap()).collect();
        let index = load_bytes("t.jsonl", (lines.join("\n") + "\n").as_bytes(), &mut Counted(0));
        let tree = Tree::new(&index);
        let session =
            RewriteInput { index: &index, tree: &tree, window: Tokens(1000.0), now_ms: Moment::ZERO };
        let read = |ix: EntryIx| Ok::<_, Infallible>(bodies[ix.index()].clone());
        rewrite(&session, &mut Counted(0), read).unwrap()
    }

    fn failed(reason: &str) -> SessionRewrite {
        SessionRewrite::failed(reason.to_owned())
    }

    #[test]
    fn the_branch_is_appended_again_from_before_the_first_oversized_result() {
        let rewrite = rewritten(&[ASSISTANT, &big(), ASSISTANT]);
        assert_eq!(rewrite.outcome, RewriteOutcome::Truncated { count: 1 });
        let ids: Vec<_> = rewrite.appended.iter().map(|new| (new.get("id"), new.get("parentId"))).collect();
        let id = |text: &str| Value::from(text);
        assert_eq!(ids, [(Some(&id("n1")), Some(&id("e0"))), (Some(&id("n2")), Some(&id("n1")))]);
        let message = rewrite.appended[0].get("message").unwrap();
        assert_eq!(crate::policy::truncate::result_chars(message), Chars(2217.0));
    }

    #[test]
    fn a_compaction_keeps_an_id_that_is_not_on_the_new_branch_and_labels_are_lost() {
        let compaction = r#""type":"compaction","summary":"s","firstKeptEntryId":"e1","tokensBefore":5"#;
        let label = r#""type":"label","targetId":"e1","label":"here""#;
        let summary = r#""type":"branch_summary","fromId":"e0","summary":"s""#;
        let lines = rewritten(&[ASSISTANT, &big(), compaction, label, summary]).lines();
        assert_eq!(
            lines.lines().nth(1).unwrap(),
            r#"{"type":"compaction","id":"n2","parentId":"n1","timestamp":"1970-01-01T00:00:00.000Z","summary":"s","firstKeptEntryId":"e1","tokensBefore":5}"#
        );
        assert_eq!(lines.lines().count(), 2);
    }

    #[test]
    fn every_entry_kind_has_a_key_order_and_names_are_trimmed() {
        let custom = r#""type":"custom","data":{"a":1e400},"customType":"t""#;
        let named = r#""type":"session_info","name":" n ""#;
        let nameless = r#""type":"session_info","name":"""#;
        let lines = rewritten(&[ASSISTANT, &big(), nameless, custom, named]).lines();
        let lines: Vec<&str> = lines.lines().skip(1).collect();
        let own = |id, parent| {
            format!(r#""id":"{id}","parentId":"{parent}","timestamp":"1970-01-01T00:00:00.000Z""#)
        };
        assert_eq!(
            lines,
            [
                format!(r#"{{"type":"custom","customType":"t","data":{{"a":null}},{}}}"#, own("n2", "n1")),
                format!(r#"{{"type":"session_info",{},"name":"n"}}"#, own("n3", "n2")),
            ]
        );
    }

    #[test]
    fn without_an_assistant_message_success_is_reported_but_no_line_written() {
        let rewrite = rewritten(&[SMALL, &big()]);
        assert_eq!((rewrite.outcome, rewrite.appended), (RewriteOutcome::Truncated { count: 1 }, vec![]));
    }

    #[test]
    fn failures_have_the_gateways_wording() {
        assert_eq!(rewritten(&[]), failed("empty session"));
        assert_eq!(rewritten(&[ASSISTANT, SMALL]), failed("no oversized tool results"));
        let absent = r#""type":"message""#;
        let null = r#""type":"message","message":null"#;
        let reading = |what| failed(&format!("Cannot read properties of {what} (reading 'role')"));
        assert_eq!(rewritten(&[ASSISTANT, absent, &big()]), reading("undefined"));
        assert_eq!(rewritten(&[null, ASSISTANT, &big()]), reading("null"));
    }

    #[test]
    fn a_name_that_is_not_text_fails_after_the_earlier_lines_were_written() {
        let rewrite = rewritten(&[ASSISTANT, &big(), r#""type":"session_info","name":5"#]);
        assert_eq!(rewrite.outcome, RewriteOutcome::Failed { reason: "name.trim is not a function".into() });
        assert_eq!(rewrite.appended.len(), 1);
    }
}
