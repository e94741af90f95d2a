//! What a document tells of a session, before it has a form: every entry with its place in the tree, its sizes, its fate under
//! a plan, and its text without secrets.

use std::collections::{BTreeMap, HashSet};

use crate::context::bodies::message_of;
use crate::context::budget::Part;
use crate::context::system::system_state;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::tokens::{ContextEstimate, estimate_context};
use crate::export::shape;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::message::{TextPart, parts_of_entry, parts_of_message};
use crate::inspect::tool::tool_of;
use crate::js::Value;
use crate::plan::{self, MadeSummary, Plan, StepEffect};
use crate::policy::Fate;
use crate::policy::list::From;
use crate::redact::Redactor;
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Role};
use crate::transcript::drawn::drawn;
use crate::transcript::labels::{labels, name};

/// What is to be told.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The session, at the leaf looked at.
    pub inspection: &'a Inspection,
    /// A plan over it, and the summary that was made for its compaction.
    pub plan: Option<(&'a Plan, Option<&'a MadeSummary>)>,
    /// When it is told, ms since 1970.
    pub now_ms: i64,
    /// Secrets are replaced, and images left out.
    pub redact: bool,
    /// Every word is replaced by another of the same shape.
    pub shape_only: bool,
}

impl Wanted<'_> {
    /// What replaces its secrets, every entry of the transcript looked through: one that is told on one branch may stand
    /// bare on another. Words that are replaced hide none.
    pub fn redactor(&self) -> Result<Redactor, BodyError> {
        if !self.redact || self.shape_only {
            return Ok(Redactor::off());
        }
        let Inspection { source, index, session, .. } = self.inspection;
        let mut redactor = Redactor::default();
        redactor.learn(&session.title);
        for (ix, _) in index.iter() {
            redactor.learn_value(&body::entry(source, index, ix)?);
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
    pub images: usize,
    /// What was found in the transcript.
    pub findings: Vec<String>,
    /// The plan.
    pub plan: Option<PlanTold>,
    /// Every entry, in the order of the tree.
    pub nodes: Vec<Node>,
}

/// A plan as a document tells it.
#[derive(Debug)]
pub struct PlanTold {
    /// The steps that take part.
    pub steps: Vec<StepEffect>,
    /// Estimated tokens of the messages before.
    pub before: u64,
    /// Estimated tokens of the messages after.
    pub after: u64,
    /// Messages that it makes: a summary, invented results; each with the position it stands before.
    pub made: Vec<(usize, Value)>,
}

/// One entry.
#[derive(Debug)]
pub struct Node {
    /// Its name.
    pub entry: String,
    /// Its parent's name.
    pub parent: Option<String>,
    /// Its line in the file.
    pub line: u64,
    /// Branches it is away from the trunk.
    pub depth: usize,
    /// The first of a branch.
    pub forks: bool,
    /// It stands on the path to the leaf.
    pub active: bool,
    /// It is that leaf.
    pub leaf: bool,
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
    pub fate: Option<FateTold>,
    /// The entry itself.
    pub value: Value,
    /// Its message under the plan, where that differs.
    pub after: Option<Value>,
}

/// What becomes of a message under a plan.
#[derive(Debug, Clone, Copy)]
pub struct FateTold {
    /// What.
    pub fate: Fate,
    /// Why.
    pub reason: &'static str,
    /// By which rule.
    pub rule: &'static str,
    /// Estimated tokens before.
    pub before: u64,
    /// Estimated tokens after.
    pub after: u64,
}

impl Node {
    /// Its parts as text.
    pub fn parts(&self) -> Vec<TextPart> {
        parts_of_entry(&self.value, self.kind, self.role)
    }

    /// Its parts under the plan, where they differ.
    pub fn parts_after(&self) -> Option<Vec<TextPart>> {
        self.after.as_ref().map(|message| parts_of_message(message, self.role))
    }

    /// Who or what it is, in a word or two.
    pub fn what(&self) -> String {
        match self.role.filter(|_| self.kind == EntryKind::Message) {
            Some(role) => role.word().to_owned(),
            None => self.kind.word().replace('_', " "),
        }
    }
}

impl Document {
    /// Reads every entry again and puts the document together.
    pub fn of(wanted: &Wanted<'_>) -> Result<Self, BodyError> {
        let mut out = Outward { redactor: wanted.redactor()?, shape_only: wanted.shape_only };
        let inspection = wanted.inspection;
        let nodes = nodes(wanted, &mut out)?;
        let plan = wanted.plan.map(|(plan, made)| plan_told(wanted, plan, made, &mut out));
        let Inspection { session, index, window, .. } = inspection;
        let budget = inspection.budget();
        let title = name(index).unwrap_or_else(|| session.title.clone());
        let path = inspection.source.path().display().to_string();
        let findings = inspection.findings().iter().map(ToString::to_string).collect::<Vec<_>>();
        Ok(Self {
            key: out.text(&session.key.0),
            agent: session.agent.clone(),
            id: session.id.clone(),
            title: out.text(&title),
            path: out.text(&path),
            provider: inspection.provider.clone(),
            model: inspection.model.clone(),
            ruleset: inspection.ruleset.ruleset.name().to_owned(),
            window: (window.tokens.is_finite() && window.tokens > 0.0).then_some(window.tokens as u64),
            window_source: window.source.name(),
            budget: Part::ALL.iter().map(|part| (part.name(), budget.tokens(*part))).collect(),
            estimate: estimate_context(&inspection.context.messages).ok(),
            leaf: inspection.context.leaf.map(|leaf| index.name(leaf)),
            now_ms: wanted.now_ms,
            shape_only: wanted.shape_only,
            findings: findings.iter().map(|finding| out.text(finding)).collect(),
            redacted: out.redactor.is_on().then(|| out.redactor.counts().clone()),
            images: out.redactor.images(),
            plan,
            nodes,
        })
    }

    /// Prompt tokens of all parts together.
    pub fn total(&self) -> u64 {
        self.budget.iter().map(|(_, tokens)| tokens).sum()
    }
}

/// What is done to everything that goes out.
struct Outward {
    redactor: Redactor,
    shape_only: bool,
}

impl Outward {
    fn text(&mut self, text: &str) -> String {
        if self.shape_only { shape::plain(text) } else { self.redactor.text(text).into_owned() }
    }

    fn entry(&mut self, value: &Value) -> Value {
        if self.shape_only { shape::entry(value) } else { self.redactor.value(value) }
    }

    fn message(&mut self, value: &Value) -> Value {
        if self.shape_only { shape::message(value) } else { self.redactor.value(value) }
    }
}

fn nodes(wanted: &Wanted<'_>, out: &mut Outward) -> Result<Vec<Node>, BodyError> {
    let Inspection { source, index, tree, leaf, context, .. } = wanted.inspection;
    let leaf = tree.leaf(index, leaf);
    let active: HashSet<EntryIx> =
        leaf.map(|leaf| tree.walk(index, leaf)).unwrap_or_default().into_iter().collect();
    let labels = labels(index, tree);
    let positions: BTreeMap<EntryIx, usize> =
        context.messages.iter().enumerate().map(|(at, message)| (message.entry, at)).collect();
    let mut nodes = Vec::with_capacity(index.entries.len());
    for place in drawn(tree, &active) {
        let ix = place.entry;
        let entry = index.entry(ix);
        let value = body::entry(source, index, ix)?;
        let position = positions.get(&ix).copied();
        let planned = wanted.plan.map(|(plan, _)| plan).zip(position);
        let after = planned.filter(|(plan, at)| !plan.edits(*at).is_empty());
        let after = after.map(|(plan, at)| plan::after(&message_of(&value, entry.kind), at, plan));
        let size = entry.message;
        nodes.push(Node {
            entry: index.name(ix),
            parent: tree.parent(ix).map(|parent| index.name(parent)),
            line: entry.line,
            depth: place.depth,
            forks: place.forks,
            active: active.contains(&ix),
            leaf: leaf == Some(ix),
            kind: entry.kind,
            role: entry.role(),
            tool: size.and_then(|size| tool_of(index, ix, &size)),
            tokens: size.map(|size| estimate_or_zero(&size)),
            chars: size.and_then(|size| size.pi_chars.get().ok()).map(|chars| chars as u64),
            time: entry.time,
            label: labels.get(&ix).map(|label| out.text(label)),
            position,
            fate: planned.and_then(|(plan, at)| fate_told(plan, at)),
            after: after.map(|message| out.message(&message)),
            value: out.entry(&value),
        });
    }
    Ok(nodes)
}

fn fate_told(plan: &Plan, at: usize) -> Option<FateTold> {
    let fate = plan.fates().get(at)?;
    Some(FateTold {
        fate: fate.fate,
        reason: fate.reason.word(),
        rule: fate.reason.rule(),
        before: *plan.tokens_before.get(at)?,
        after: *plan.tokens_after.get(at)?,
    })
}

fn plan_told(wanted: &Wanted<'_>, plan: &Plan, made: Option<&MadeSummary>, out: &mut Outward) -> PlanTold {
    let Wanted { inspection, now_ms, .. } = *wanted;
    let mut messages = Vec::new();
    let mut next = 0;
    for item in &plan.items {
        match &item.from {
            From::Context(at) => next = *at as usize + 1,
            From::Summary => {
                let message = plan::summary_message(plan, made, now_ms as f64);
                messages.push((next, out.message(&message)));
            }
            From::Checkpoint => {
                let state = system_state(&inspection.index, &inspection.context.messages).ok().flatten();
                messages.extend(state.map(|state| (next, out.message(&state.message_at(now_ms)))));
            }
            From::Missing(missing) => messages.push((next, out.message(&missing.message(now_ms as f64)))),
        }
    }
    PlanTold {
        steps: plan.effects.clone(),
        before: plan.total_before(),
        after: plan.total_after(),
        made: messages,
    }
}
