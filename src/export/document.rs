//! What a document tells of a session, before it has a form: every entry with its place in the tree, its sizes, its fate under
//! a plan, and its text without secrets.

use std::collections::{BTreeMap, HashSet};

use crate::context::bodies::entry_message;
use crate::context::budget::BudgetPart;
use crate::context::system::replay_system_messages;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::tokens::{ContextEstimate, estimate_context};
use crate::export::shape;
use crate::ids::EntryIx;
use crate::inspect::LoadedSession;
use crate::inspect::message::{TextPart, parts_of_entry, parts_of_message};
use crate::inspect::tool::tool_of;
use crate::js::Value;
use crate::plan::{self, CompactionSummary, Plan, PolicyEffect};
use crate::policy::Fate;
use crate::policy::message_list::MessageOrigin;
use crate::redact::Redactor;
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Role};
use crate::transcript::drawing_order::drawing_order;
use crate::transcript::labels::{resolve_labels, session_name};

/// What is to be told.
#[derive(Debug, Clone, Copy)]
pub struct ExportRequest<'a> {
    /// The session, at the leaf looked at.
    pub session: &'a LoadedSession,
    /// A plan over it, and the summary that was made for its compaction.
    pub plan: Option<(&'a Plan, Option<&'a CompactionSummary>)>,
    /// When it is told, ms since 1970.
    pub now_ms: i64,
    /// Secrets are replaced, and images left out.
    pub redact: bool,
    /// Every word is replaced by another of the same shape.
    pub shape_only: bool,
}

impl ExportRequest<'_> {
    /// What replaces its secrets, every entry of the transcript looked through: one that is told on one branch may stand
    /// bare on another. Words that are replaced hide none.
    pub fn redactor(&self) -> Result<Redactor, BodyError> {
        if !self.redact || self.shape_only {
            return Ok(Redactor::disabled());
        }
        let LoadedSession { source, index, item: session, .. } = self.session;
        let mut redactor = Redactor::default();
        redactor.learn(&session.title);
        for (ix, _) in index.iter() {
            redactor.learn_value(&body::read_entry(source, index, ix)?);
        }
        Ok(redactor)
    }
}

/// A session as a document tells it.
#[derive(Debug)]
pub struct Document {
    /// Its key.
    pub key: String,
    /// Its agent.
    pub agent: String,
    /// Its id.
    pub id: String,
    /// Its name, or what stands for one.
    pub title: String,
    /// The transcript.
    pub path: String,
    /// Provider of the next call.
    pub provider: String,
    /// Model of the next call.
    pub model: String,
    /// The rules it is read by.
    pub ruleset: String,
    /// Tokens of the window; none where it is not known.
    pub window: Option<u64>,
    /// Where the window is told.
    pub window_source: &'static str,
    /// Estimated tokens of each part of the prompt.
    pub budget: Vec<(&'static str, u64)>,
    /// The prompt as the runtime counts it; none where it fails.
    pub estimate: Option<ContextEstimate>,
    /// The entry the context ends at.
    pub leaf: Option<String>,
    /// When it was told, ms since 1970.
    pub now_ms: i64,
    /// Words were replaced.
    pub shape_only: bool,
    /// Secrets replaced, by kind; none where nothing was looked for.
    pub redacted: Option<BTreeMap<&'static str, usize>>,
    /// Images left out.
    pub removed_images: usize,
    /// What was found in the transcript.
    pub diagnostics: Vec<String>,
    /// The plan.
    pub plan: Option<ExportedPlan>,
    /// Every entry, in the order of the tree.
    pub entries: Vec<DocumentEntry>,
}

/// A plan as a document tells it.
#[derive(Debug)]
pub struct ExportedPlan {
    /// The steps that take part.
    pub policies: Vec<PolicyEffect>,
    /// Estimated tokens of the messages before.
    pub tokens_before: u64,
    /// Estimated tokens of the messages after.
    pub tokens_after: u64,
    /// Messages that it makes: a summary, invented results; each with the position it stands before.
    pub new_messages: Vec<(usize, Value)>,
}

/// One entry.
#[derive(Debug)]
pub struct DocumentEntry {
    /// Its name.
    pub id: String,
    /// Its parent's name.
    pub parent: Option<String>,
    /// Its line in the file.
    pub line: u64,
    /// Branches it is away from the trunk.
    pub depth: usize,
    /// The first of a branch.
    pub starts_branch: bool,
    /// It stands on the path to the leaf.
    pub is_active: bool,
    /// It is that leaf.
    pub is_leaf: bool,
    /// Its type.
    pub kind: EntryKind,
    /// Who speaks.
    pub role: Option<Role>,
    /// The tool it is about.
    pub tool: Option<String>,
    /// Estimated tokens of its message.
    pub tokens: Option<u64>,
    /// Chars of its message as pi counts them.
    pub chars: Option<u64>,
    /// When, ms since 1970; NaN where that cannot be read.
    pub time: f64,
    /// Its label.
    pub label: Option<String>,
    /// Its position in the context.
    pub position: Option<usize>,
    /// What becomes of it under the plan.
    pub fate: Option<ExportedFate>,
    /// The entry itself.
    pub value: Value,
    /// Its message under the plan, where that differs.
    pub planned_message: Option<Value>,
}

/// What becomes of a message under a plan.
#[derive(Debug, Clone, Copy)]
pub struct ExportedFate {
    /// What.
    pub fate: Fate,
    /// Why.
    pub reason: &'static str,
    /// By which rule.
    pub rule: &'static str,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
}

impl DocumentEntry {
    /// Its parts as text.
    pub fn parts(&self) -> Vec<TextPart> {
        parts_of_entry(&self.value, self.kind, self.role)
    }

    /// Its parts under the plan, where they differ.
    pub fn parts_after(&self) -> Option<Vec<TextPart>> {
        self.planned_message.as_ref().map(|message| parts_of_message(message, self.role))
    }

    /// Who or what it is, in a word or two.
    pub fn kind_text(&self) -> String {
        match self.role.filter(|_| self.kind == EntryKind::Message) {
            Some(role) => role.as_str().to_owned(),
            None => self.kind.as_str().replace('_', " "),
        }
    }
}

impl Document {
    /// Reads every entry again and puts the document together.
    pub fn build(wanted: &ExportRequest<'_>) -> Result<Self, BodyError> {
        let mut out = Sanitizer { redactor: wanted.redactor()?, shape_only: wanted.shape_only };
        let inspection = wanted.session;
        let nodes = entries(wanted, &mut out)?;
        let plan = wanted.plan.map(|(plan, made)| exported_plan(wanted, plan, made, &mut out));
        let LoadedSession { item: session, index, window, .. } = inspection;
        let budget = inspection.budget();
        let title = session_name(index).unwrap_or_else(|| session.title.clone());
        let path = inspection.source.path().display().to_string();
        let findings = inspection.diagnostics().iter().map(ToString::to_string).collect::<Vec<_>>();
        Ok(Self {
            key: out.text(&session.key.0),
            agent: session.agent.clone(),
            id: session.id.clone(),
            title: out.text(&title),
            path: out.text(&path),
            provider: inspection.provider.clone(),
            model: inspection.model.clone(),
            ruleset: inspection.ruleset.id.display_name().to_owned(),
            window: (window.tokens.is_finite() && window.tokens > 0.0).then_some(window.tokens as u64),
            window_source: window.source.name(),
            budget: BudgetPart::ALL.iter().map(|part| (part.name(), budget.tokens(*part))).collect(),
            estimate: estimate_context(&inspection.context.messages).ok(),
            leaf: inspection.context.leaf.map(|leaf| index.display_id(leaf)),
            now_ms: wanted.now_ms,
            shape_only: wanted.shape_only,
            diagnostics: findings.iter().map(|finding| out.text(finding)).collect(),
            redacted: out.redactor.is_enabled().then(|| out.redactor.counts().clone()),
            removed_images: out.redactor.removed_images(),
            plan,
            entries: nodes,
        })
    }

    /// Prompt tokens of all parts together.
    pub fn total_tokens(&self) -> u64 {
        self.budget.iter().map(|(_, tokens)| tokens).sum()
    }
}

/// What is done to everything that goes out.
struct Sanitizer {
    redactor: Redactor,
    shape_only: bool,
}

impl Sanitizer {
    fn text(&mut self, text: &str) -> String {
        if self.shape_only { shape::plain_text(text) } else { self.redactor.redact_text(text).into_owned() }
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
            id: index.display_id(ix),
            parent: tree.parent(ix).map(|parent| index.display_id(parent)),
            line: entry.line,
            depth: place.depth,
            starts_branch: place.starts_branch,
            is_active: active.contains(&ix),
            is_leaf: leaf == Some(ix),
            kind: entry.kind,
            role: entry.role(),
            tool: size.and_then(|size| tool_of(index, ix, &size)),
            tokens: size.map(|size| estimate_or_zero(&size)),
            chars: size.and_then(|size| size.pi_chars.value().ok()).map(|chars| chars as u64),
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
        reason: fate.reason.word(),
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
    let ExportRequest { session: inspection, now_ms, .. } = *wanted;
    let mut messages = Vec::new();
    let mut next = 0;
    for item in &plan.messages {
        match &item.origin {
            MessageOrigin::Context(at) => next = *at as usize + 1,
            MessageOrigin::Summary => {
                let message = plan::summary_message(plan, made, now_ms as f64);
                messages.push((next, out.message(&message)));
            }
            MessageOrigin::Checkpoint => {
                let state =
                    replay_system_messages(&inspection.index, &inspection.context.messages).ok().flatten();
                messages.extend(state.map(|state| (next, out.message(&state.message_at(now_ms)))));
            }
            MessageOrigin::Missing(missing) => {
                messages.push((next, out.message(&missing.message(now_ms as f64))));
            }
        }
    }
    ExportedPlan {
        policies: plan.effects.clone(),
        tokens_before: plan.total_before(),
        tokens_after: plan.total_after(),
        new_messages: messages,
    }
}
