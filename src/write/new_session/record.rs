//! The record of a new session: a row of `sessions.json`, in the form of the gateway's own fork.

use crate::commit::{
    ExpectedMessage, PlannedCompaction, PreparedCommit, Refusal, TranscriptInput, TranscriptStatus,
};
use crate::context::build_context;
use crate::ids::{EntryIx, LineIds, SessionKey};
use crate::js::{self, Object, Value};
use crate::plan::EntryChange;
use crate::policy::Policy;
use crate::session::{LoadedSession, ManualChange};
use crate::store::index::Index;
use crate::store::load::load_for_release;
use crate::store::source::Source;
use crate::store::sqlite::{session_labels, stored_record};
use crate::transcript::{Leaf, Tree};
use crate::units::Moment;
use crate::write::error::WriteError;
use crate::write::new_session::import_steps::GatewayPlace;
use crate::write::requested_change::{RequestedChange, WriteAction, WriteRequest};

/// Choices of a person that a fork takes over (sqlite J8).
const INHERITED: [&str; 13] = [
    "providerOverride",
    "modelOverride",
    "modelOverrideSource",
    "agentRuntimeOverride",
    "contextWindow",
    "thinkingLevel",
    "fastMode",
    "toolOverrides",
    "verboseLevel",
    "reasoningLevel",
    "elevatedLevel",
    "authProfileOverride",
    "authProfileOverrideSource",
];
/// Those that a fork leaves out while the gateway itself has switched the model after failures.
const MODEL_CHOICES: [&str; 4] =
    ["providerOverride", "modelOverride", "modelOverrideSource", "agentRuntimeOverride"];

/// Names and record of a new session.
pub(super) struct SessionDraft {
    pub key: SessionKey,
    pub id: String,
    pub title: String,
    record: Object,
    cwd: Option<String>,
    /// Id of the old session.
    parent: String,
    now_ms: Moment,
}

impl SessionDraft {
    /// Names the session and reads what it inherits. An unreadable record leaves the gateway's defaults in force.
    pub(super) fn new(
        request: &WriteRequest<'_>,
        place: &GatewayPlace,
        prepared: &PreparedCommit,
        id: String,
    ) -> Self {
        let session = request.session;
        let stored = stored_record(&place.database, &session.item.key.0).ok().flatten();
        let labels = session_labels(&place.database).unwrap_or_default();
        let title = unused_label(&format!("{} {}", session.item.title, done_word(&request.action)), &labels);
        let mut record = Object::from([
            ("sessionId", Value::from(id.as_str())),
            ("sessionFile", Value::from(file_name(&id).as_str())),
            ("updatedAt", Value::Number(request.now_ms.whole() as f64)),
            ("sessionStartedAt", Value::Number(request.now_ms.whole() as f64)),
            ("label", Value::from(title.as_str())),
            ("parentSessionKey", Value::from(session.item.key.0.as_str())),
            ("forkSource", fork_source(session, prepared)),
        ]);
        for (name, value) in stored.iter().flat_map(inherited) {
            record.set(name, value);
        }
        Self {
            key: SessionKey(format!("agent:{}:dashboard:{id}", place.agent)),
            title,
            record,
            cwd: session.index.header.as_ref().and_then(|header| header.cwd.clone()),
            parent: session.item.id.clone(),
            now_ms: request.now_ms,
            id,
        }
    }

    /// Returns the first line of the transcript.
    pub(super) fn header(&self) -> Value {
        Value::from(Object::from([
            ("type", Value::from("session")),
            ("version", Value::Number(TRANSCRIPT_VERSION)),
            ("id", Value::from(self.id.as_str())),
            ("timestamp", Value::from(js::iso_text(self.now_ms))),
            ("cwd", Value::from(self.cwd.clone().unwrap_or_else(|| "/".to_owned()))),
            // Its calls are those of the old session, and count once.
            ("parentSession", Value::from(self.parent.as_str())),
        ]))
    }

    /// Returns the content of `sessions.json`.
    pub(super) fn records(&self) -> Value {
        let mut records = Object::default();
        records.set(self.key.0.as_str(), Value::Object(self.record.clone()));
        Value::Object(records)
    }
}

/// Name of the transcript of a session.
pub(super) fn file_name(id: &str) -> String {
    format!("{id}.jsonl")
}

fn fork_source(session: &LoadedSession, prepared: &PreparedCommit) -> Value {
    Value::from(Object::from([
        ("sessionKey", Value::from(session.item.key.0.as_str())),
        ("sessionId", Value::from(session.item.id.as_str())),
        ("entryId", Value::from(prepared.from_leaf.as_str())),
    ]))
}

/// Returns the choices that a fork takes over.
fn inherited(record: &Value) -> Vec<(&'static str, Value)> {
    let is_fallback = record.get("modelOverrideFallbackOriginModel").is_some()
        && !record.get("modelOverrideSource").is_some_and(|source| source.str_is("user"));
    let stays = |name: &&str| !(is_fallback && MODEL_CHOICES.contains(name));
    let value = |name: &'static str| Some((name, record.get(name)?.clone()));
    INHERITED.into_iter().filter(stays).filter_map(value).collect()
}

/// The word for what a change does to a session.
fn done_word(action: &WriteAction<'_>) -> &'static str {
    match action {
        WriteAction::Commit { plan, .. } => {
            let changed: Vec<Policy> =
                plan.effects.iter().filter(|effect| effect.changed).map(|effect| effect.policy).collect();
            match changed.as_slice() {
                changed if changed.contains(&Policy::Compact) => "compacted",
                [Policy::Prune] => "pruned",
                _ => "trimmed",
            }
        }
        WriteAction::ByHand(ManualChange::Drop(_)) => "shortened",
        WriteAction::ByHand(ManualChange::Branch(_)) | WriteAction::Undo(_) => "branch",
    }
}

/// Adds a number to a label that another session has: commands find sessions by their label.
fn unused_label(label: &str, used: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{label} {number}"));
    let mut names = std::iter::once(label.to_owned()).chain(numbered);
    names.find(|name| !used.contains(name)).unwrap_or_else(|| label.to_owned())
}

/// A header of the version that the importer reads without changes (sqlite E6).
const TRANSCRIPT_VERSION: f64 = 3.0;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(json: &str) -> Vec<&'static str> {
        inherited(&js::parse(json).unwrap()).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn choices_of_a_person_are_inherited_and_the_models_of_a_fallback_are_not() {
        let chosen =
            r#"{"modelOverride":"m","modelOverrideSource":"user","thinkingLevel":"high","totalTokens":9}"#;
        assert_eq!(names(chosen), ["modelOverride", "modelOverrideSource", "thinkingLevel"]);
        let fallback = r#"{"modelOverride":"m","modelOverrideSource":"auto",
            "modelOverrideFallbackOriginModel":"n","thinkingLevel":"high"}"#;
        assert_eq!(names(fallback), ["thinkingLevel"]);
    }

    #[test]
    fn a_label_in_use_gets_the_next_free_number() {
        let used = ["main pruned".to_owned(), "main pruned 2".to_owned()];
        assert_eq!(unused_label("main pruned", &used), "main pruned 3");
        assert_eq!(unused_label("main compacted", &used), "main compacted");
    }
}
