//! The content of an exported session before it has a format: every entry with its place in the tree, its sizes, its
//! fate under a plan, and its text without secrets.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::context::bodies::entry_message;
use crate::context::budget::BudgetPart;
use crate::context::system::replay_system_messages;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::export::{runtime_words, shape};
use crate::ids::EntryIx;
use crate::js::{Members, Value, iso_text};
use crate::plan::{self, CompactionSummary, Plan, PolicyEffect};
use crate::policy::Fate;
use crate::policy::message_list::MessageOrigin;
use crate::policy::reason::Reason;
use crate::redact::{Redactor, SIGNATURE_KIND};
use crate::session::message::{TextPart, parts_of_entry, parts_of_message};
use crate::session::tool::tool_of;
use crate::session::{CountSource, LoadedSession};
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;
use crate::transcript::drawing_order::drawing_order;
use crate::transcript::tree::{resolve_labels, session_name};
use crate::units::{Chars, Moment, Tokens};

/// Entries that are in memory together while secrets are learnt.
const LEARNT_TOGETHER: usize = 128;

#[derive(Debug, Clone, Copy)]
pub struct ExportRequest<'a> {
    /// The session at the selected leaf.
    pub session: &'a LoadedSession,
    /// A plan for it, and the summary made for the plan's compaction.
    pub plan: Option<(&'a Plan, Option<&'a CompactionSummary>)>,
    /// Time of the export.
    pub now_ms: Moment,
    /// Replaces secrets and omits images.
    pub redact: bool,
    /// Replaces personal data too.
    pub personal: bool,
    /// Replaces every word with another of the same shape.
    pub shape_only: bool,
}

impl ExportRequest<'_> {
    /// Creates the redactor. It first learns from every entry of the transcript, because a secret that is labelled on
    /// one branch may appear without its label on another. A disabled redactor is enough where all words are replaced.
    pub fn redactor(&self) -> Result<Redactor, BodyError> {
        if !self.redact || self.shape_only {
            return Ok(Redactor::disabled());
        }
        let LoadedSession { source, index, item: session, .. } = self.session;
        let mut redactor = Redactor::default().with_personal(self.personal);
        redactor.learn(&session.title);
        let entries: Vec<EntryIx> = index.iter().map(|(ix, _)| ix).collect();
        for part in entries.chunks(LEARNT_TOGETHER) {
            let read = part.iter().map(|ix| body::read_entry(source, index, *ix));
            redactor.learn_values(&read.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(redactor)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    pub session: ExportedSession,
    /// Provider of the next call.
    pub provider: String,
    /// Model of the next call.
    pub model: String,
    /// Name of the ruleset.
    pub ruleset: String,
    pub window: ExportedWindow,
    /// Whether the provider counted the prompt, so that only its parts are estimates.
    #[serde(skip)]
    pub is_prompt_measured: bool,
    /// Tokens of the prompt by part, and `total`.
    #[serde(serialize_with = "with_total")]
    #[schemars(with = "Members<u64>")]
    pub budget: Vec<(&'static str, u64)>,
    /// The runtime's own estimate of the context; null where the runtime would fail.
    pub tokens: Option<Tokens>,
    /// The entry that the context ends at.
    pub leaf: Option<String>,
    /// ISO 8601.
    #[serde(rename = "exportedAt", serialize_with = "as_iso_text")]
    #[schemars(with = "String")]
    pub now_ms: Moment,
    /// Whether every word is replaced by another of the same shape.
    pub shape_only: bool,
    /// The removed secrets and images; null if redaction is off.
    pub redacted: Option<Redactions>,
    pub plan: Option<ExportedPlan>,
    /// Every entry, in tree order.
    pub entries: Vec<DocumentEntry>,
    /// Diagnostics of the session.
    #[serde(rename = "findings")]
    pub diagnostics: Vec<String>,
}

fn with_total<S: Serializer>(parts: &[(&str, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    let total = parts.iter().map(|(_, tokens)| tokens).sum();
    serializer.collect_map(parts.iter().copied().chain([("total", total)]))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn as_iso_text<S: Serializer>(moment: &Moment, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&iso_text(*moment))
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedSession {
    /// The routing key.
    pub key: String,
    pub agent: String,
    /// The id of the transcript.
    pub id: String,
    /// The session's name, or the store's title without one.
    pub title: String,
    pub path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedWindow {
    pub tokens: Option<u64>,
    pub source: &'static str,
    /// The origin of the window in words.
    #[serde(skip)]
    pub origin: String,
}

/// The secrets, signatures and images that a document left out.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Redactions {
    /// Number of secrets, by kind.
    pub secrets: BTreeMap<&'static str, usize>,
    /// Number of a provider's signatures, which are no secrets.
    pub signatures: usize,
    pub images: usize,
}

impl Redactions {
    /// Returns `None` if the redaction is off.
    pub(super) fn of(redactor: &Redactor) -> Option<Self> {
        let mut secrets = redactor.is_enabled().then(|| redactor.counts().clone())?;
        let signatures = secrets.remove(SIGNATURE_KIND).unwrap_or_default();
        Some(Self { secrets, signatures, images: redactor.removed_images() })
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedPlan {
    /// Estimated tokens of the messages before.
    pub tokens_before: u64,
    /// Estimated tokens of the messages after.
    pub tokens_after: u64,
    /// The policies that ran.
    #[serde(rename = "steps")]
    pub policies: Vec<ExportedPolicy>,
    /// Messages that the plan creates.
    #[serde(rename = "made")]
    pub new_messages: Vec<NewMessage>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedPolicy {
    /// The policy.
    pub step: &'static str,
    #[serde(flatten)]
    pub effect: PolicyEffect,
}

/// A summary, a checkpoint or an invented result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewMessage {
    /// Position of the next message.
    pub before: usize,
    pub message: Value,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentEntry {
    #[serde(rename = "entry")]
    pub id: String,
    pub parent: Option<String>,
    /// Line in the file, from 1.
    pub line: u64,
    /// Number of branches between it and the trunk.
    pub depth: usize,
    /// The entry is the first of a branch.
    #[serde(skip)]
    pub starts_branch: bool,
    /// Whether it is on the path to the leaf.
    #[serde(rename = "active")]
    pub is_active: bool,
    #[serde(rename = "leaf")]
    pub is_leaf: bool,
    /// Its position in the context.
    #[serde(rename = "context")]
    pub position: Option<usize>,
    #[serde(rename = "type")]
    pub kind: EntryKind,
    pub role: Option<Role>,
    /// The tool that it calls or answers.
    pub tool: Option<String>,
    /// Tokens of its message.
    pub tokens: Option<u64>,
    /// Chars of its message as pi counts them.
    pub chars: Option<u64>,
    /// ms since 1970.
    #[schemars(with = "Option<f64>")]
    pub time: Moment,
    pub label: Option<String>,
    pub fate: Option<ExportedFate>,
    /// The entry itself.
    pub value: Value,
    /// Its message under the plan, if that differs.
    #[serde(rename = "after")]
    pub planned_message: Option<Value>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedFate {
    pub fate: Fate,
    pub reason: Reason,
    pub rule: &'static str,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
}

impl DocumentEntry {
    /// Returns its parts as text.
    pub fn parts(&self) -> Vec<TextPart> {
        parts_of_entry(&self.value, self.kind, self.role)
    }

    /// Returns its parts under the plan, if they differ.
    pub fn parts_after(&self) -> Option<Vec<TextPart>> {
        self.planned_message.as_ref().map(|message| parts_of_message(message, self.role))
    }

    /// Returns its role or type in a word or two.
    pub fn kind_text(&self) -> String {
        match self.role.filter(|_| self.kind == EntryKind::Message) {
            Some(role) => role.as_str().to_owned(),
            None => self.kind.as_str().replace('_', " "),
        }
    }
}

impl Document {
    /// Reads every entry again and builds the document.
    pub fn build(wanted: &ExportRequest<'_>) -> Result<Self, BodyError> {
        let mut out = Sanitizer { redactor: wanted.redactor()?, shape_only: wanted.shape_only };
        let loaded = wanted.session;
        let nodes = entries(wanted, &mut out)?;
        let plan = wanted.plan.map(|(plan, made)| exported_plan(wanted, plan, made, &mut out));
        let LoadedSession { item: session, index, window, .. } = loaded;
        let budget = loaded.next_prompt.budget(&loaded.context);
        let title = session_name(index).unwrap_or_else(|| session.title.clone());
        let path = loaded.source.path().display().to_string();
        let diagnostics = loaded.diagnostics().iter().map(ToString::to_string).collect::<Vec<_>>();
        Ok(Self {
            session: ExportedSession {
                key: out.text(&session.key.0),
                agent: out.name(&session.agent),
                id: out.name(&session.id),
                title: out.text(&title),
                path: out.text(&path),
            },
            provider: out.name(&loaded.provider),
            model: out.name(&loaded.model),
            ruleset: loaded.ruleset.id.display_name().to_owned(),
            window: ExportedWindow {
                tokens: (window.model_tokens.is_finite() && window.model_tokens > Tokens::ZERO)
                    .then_some(window.model_tokens.whole()),
                source: window.model_source.name(),
                origin: window.origin(),
            },
            is_prompt_measured: loaded.next_prompt.total.source == CountSource::Measured,
            budget: BudgetPart::ALL.iter().map(|part| (part.name(), budget.tokens(*part))).collect(),
            tokens: loaded.runtime_estimate().ok().map(|estimate| estimate.tokens),
            leaf: loaded.context.leaf.map(|leaf| out.name(&index.display_id(leaf))),
            now_ms: wanted.now_ms,
            shape_only: wanted.shape_only,
            diagnostics: diagnostics.iter().map(|finding| out.text(finding)).collect(),
            redacted: Redactions::of(&out.redactor),
            plan,
            entries: nodes,
        })
    }

    /// Returns the prompt tokens of all parts.
    pub fn total_tokens(&self) -> u64 {
        self.budget.iter().map(|(_, tokens)| tokens).sum()
    }
}

/// Removes secrets or words from everything that leaves.
struct Sanitizer {
    redactor: Redactor,
    shape_only: bool,
}

impl Sanitizer {
    fn text(&mut self, text: &str) -> String {
        if self.shape_only { shape::plain_text(text) } else { self.redactor.redact_text(text).into_owned() }
    }

    /// Returns a name by the runtime; a crafted one may be a secret or free text.
    fn name(&mut self, name: &str) -> String {
        if self.shape_only {
            runtime_words::name_text(name)
        } else {
            self.redactor.redact_text(name).into_owned()
        }
    }

    /// Returns the id of an entry, or its line.
    fn id(&mut self, index: &Index, ix: EntryIx) -> String {
        let id = index.display_id(ix);
        if index.entry(ix).id.is_some() { self.name(&id) } else { id }
    }

    fn entry(&mut self, value: &Value) -> Value {
        if self.shape_only { shape::entry(value) } else { self.redactor.redact_value(value) }
    }

    fn message(&mut self, value: &Value) -> Value {
        if self.shape_only { shape::message(value) } else { self.redactor.redact_value(value) }
    }
}

fn entries(wanted: &ExportRequest<'_>, out: &mut Sanitizer) -> Result<Vec<DocumentEntry>, BodyError> {
    let LoadedSession { source, index, tree, leaf, context, .. } = wanted.session;
    let leaf = tree.leaf(index, leaf);
    let active: HashSet<EntryIx> =
        leaf.map(|leaf| tree.path_to(index, leaf)).unwrap_or_default().into_iter().collect();
    let labels = resolve_labels(index, tree);
    let positions: BTreeMap<EntryIx, usize> =
        context.messages.iter().enumerate().map(|(at, message)| (message.entry, at)).collect();
    let mut nodes = Vec::with_capacity(index.entries.len());
    for place in drawing_order(tree, &active) {
        let ix = place.entry;
        let entry = index.entry(ix);
        let value = body::read_entry(source, index, ix)?;
        let position = positions.get(&ix).copied();
        let planned = wanted.plan.map(|(plan, _)| plan).zip(position);
        let after = planned.filter(|(plan, at)| !plan.edits_at(*at).is_empty());
        let after = after.map(|(plan, at)| plan::message_after(&entry_message(&value, entry.kind), at, plan));
        let size = entry.message;
        nodes.push(DocumentEntry {
            id: out.id(index, ix),
            parent: tree.parent(ix).map(|parent| out.id(index, parent)),
            line: entry.line,
            depth: place.depth,
            starts_branch: place.starts_branch,
            is_active: active.contains(&ix),
            is_leaf: leaf == Some(ix),
            kind: entry.kind,
            role: entry.role(),
            tool: size.and_then(|size| tool_of(index, ix, &size)).map(|tool| out.name(&tool)),
            tokens: size.map(|size| estimate_or_zero(&size)),
            chars: size.and_then(|size| size.pi_chars.value().ok()).map(Chars::whole),
            time: entry.time_ms,
            label: labels.get(&ix).map(|label| out.text(label)),
            position,
            fate: planned.and_then(|(plan, at)| exported_fate(plan, at)),
            planned_message: after.map(|message| out.message(&message)),
            value: out.entry(&value),
        });
    }
    Ok(nodes)
}

fn exported_fate(plan: &Plan, at: usize) -> Option<ExportedFate> {
    let fate = plan.fates().get(at)?;
    Some(ExportedFate {
        fate: fate.fate,
        reason: fate.reason,
        rule: fate.reason.rule(),
        tokens_before: *plan.tokens_before.get(at)?,
        tokens_after: *plan.tokens_after.get(at)?,
    })
}

fn exported_plan(
    wanted: &ExportRequest<'_>,
    plan: &Plan,
    made: Option<&CompactionSummary>,
    out: &mut Sanitizer,
) -> ExportedPlan {
    let ExportRequest { session: loaded, now_ms, .. } = *wanted;
    let mut messages = Vec::new();
    let mut add = |before, message| messages.push(NewMessage { before, message });
    let mut next = 0;
    for item in &plan.messages {
        match &item.origin {
            MessageOrigin::Context(at) => next = *at as usize + 1,
            MessageOrigin::Summary => {
                let message = plan::summary_message(plan, made, now_ms);
                add(next, out.message(&message));
            }
            MessageOrigin::Checkpoint => {
                let state = replay_system_messages(&loaded.index, &loaded.context.messages).ok().flatten();
                if let Some(state) = state {
                    add(next, out.message(&state.message_at(now_ms)));
                }
            }
            MessageOrigin::Missing(missing) => {
                add(next, out.message(&missing.message(now_ms)));
            }
        }
    }
    let policy =
        |effect: &PolicyEffect| ExportedPolicy { step: effect.policy.word(), effect: effect.clone() };
    ExportedPlan {
        policies: plan.effects.iter().map(policy).collect(),
        tokens_before: plan.total_before(),
        tokens_after: plan.total_after(),
        new_messages: messages,
    }
}
