//! Commit, undo, copying and saving: what leaves the program.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::{Effect, Write};
use crate::app::layout::Pane;
use crate::app::message::MessageView;
use crate::app::state::{App, Overlay, WriteDialog, WriteStage};
use crate::app::summary::Summarising;
use crate::app::target::Target;
use crate::export::Format;
use crate::inspect::Inspection;
use crate::inspect::message::MessageText;
use crate::js::{self, Object, Value};
use crate::plan::{Plan, StepEffect};
use crate::policy::Step;
use crate::store::sqlite::database_of;

/// What is said first where no plan can be written.
fn nothing_to(inspection: &Inspection) -> &'static str {
    match database_of(inspection.source.path()) {
        Some(_) => "nothing is ever written into a gateway's database",
        None => "nothing to write",
    }
}

impl App {
    pub(super) fn write_action(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Commit => self.ask_commit(),
            Action::Undo => {
                let target = self.undo_target();
                target.map(|target| self.ask_undo_of(target)).unwrap_or_default()
            }
            Action::Yes if self.is_summarising() => self.agree_to_summary(),
            Action::Yes => self.confirm(),
            Action::No => {
                if !self.refuse_summary() {
                    self.overlay = None;
                }
                Vec::new()
            }
            Action::SavePlan => self.save_plan(),
            Action::ExportHtml => self.export(Format::Html),
            Action::ExportMarkdown => self.export(Format::Markdown),
            Action::ExportJson => self.export(Format::Json),
            Action::ExportPi => self.export(Format::Pi),
            Action::SaveScreen => vec![Effect::SaveScreen { inspection: self.inspection().cloned() }],
            _ => Vec::new(),
        }
    }

    pub(super) fn ask_commit(&mut self) -> Vec<Effect> {
        if self.target != Target::NextCall {
            let words = "only the next call can be committed: a shows it";
            self.toast(words.into(), true);
            return Vec::new();
        }
        let Some(inspection) = self.own_session().cloned() else { return Vec::new() };
        if inspection.unfinished.as_ref().is_some_and(|found| found.refusal().is_some()) {
            self.tell_unfinished();
            return Vec::new();
        }
        let Some(plan) = self.plan.clone() else {
            self.toast(format!("{}: p shows a plan first", nothing_to(&inspection)), false);
            return Vec::new();
        };
        if !self.waiting.is_empty() {
            let steps: Vec<&str> = self.waiting.iter().map(Step::word).collect();
            self.toast(format!("not yet: the texts for {} are not read", steps.join(", ")), false);
            return Vec::new();
        }
        if plan.is_empty() {
            let why =
                plan.gate.reason().map_or("no message changes", |_| "the gate is shut; i looks past it");
            self.toast(format!("{}: {why}", nothing_to(&inspection)), false);
            return Vec::new();
        }
        let made = self.made_for(&inspection, &plan);
        self.ask(Write::Commit { inspection, plan, made })
    }

    /// Opens the dialog. While the session is being read again that comes first: a write is only made to
    /// the file that was read. A compaction needs its summary before anything can be checked.
    pub(super) fn ask(&mut self, write: Write) -> Vec<Effect> {
        let (stage, effect) = match &write {
            _ if self.rereading => (WriteStage::Waiting, None),
            Write::Commit { inspection, plan, made: None } if plan.compaction.is_some() => {
                let (inspection, plan) = (Arc::clone(inspection), Arc::clone(plan));
                let stage = WriteStage::Summarising(Summarising::Reading);
                (stage, Some(Effect::Summarise { inspection, plan, agreed: false }))
            }
            _ => (WriteStage::Checking, Some(Effect::Prepare(write.clone()))),
        };
        self.overlay = Some(Overlay::Write(WriteDialog { write, stage, top: 0 }));
        effect.into_iter().collect()
    }

    /// Asks again what waited for the session to be read, about what stands there now.
    pub(super) fn ask_again(&mut self) -> Vec<Effect> {
        let Some(Overlay::Write(WriteDialog { write, stage: WriteStage::Waiting, .. })) = &self.overlay
        else {
            return Vec::new();
        };
        let (Write::Commit { inspection: asked, .. } | Write::Undo { inspection: asked, .. }) = write;
        let same = self.own_session().is_some_and(|open| open.session.key == asked.session.key);
        let undo = match write {
            Write::Undo { target, .. } => Some(target.clone()),
            Write::Commit { .. } => None,
        };
        self.overlay = None;
        match (same, undo) {
            (false, _) => Vec::new(),
            (true, Some(target)) => self.ask_undo_of(target),
            (true, None) => self.ask_commit(),
        }
    }

    fn confirm(&mut self) -> Vec<Effect> {
        let Some(Overlay::Write(dialog)) = &mut self.overlay else { return Vec::new() };
        if !matches!(dialog.stage, WriteStage::Asking(_)) {
            return Vec::new();
        }
        dialog.stage = WriteStage::Writing;
        vec![Effect::Write(dialog.write.clone())]
    }

    /// From the dialog to the first changed message, before and after.
    pub(super) fn diff_from_dialog(&mut self) {
        self.overlay = None;
        let height = self.height(Pane::Transcript);
        let first =
            self.plan.as_ref().and_then(|plan| plan.fates().iter().position(|fate| fate.fate.changes()));
        if let (Some(at), Some(pane)) = (first, &mut self.transcript) {
            let entry = pane.inspection.context.messages[at].entry;
            pane.reveal(entry, height);
        }
        self.message.view = MessageView::Diff;
        self.focus = Pane::Message;
        self.zoom = true;
    }

    fn save_plan(&mut self) -> Vec<Effect> {
        let (Some(inspection), Some(plan)) = (self.own_session(), &self.plan) else { return Vec::new() };
        let text = plan_json(&inspection.session.key.0, plan);
        vec![Effect::Save { name: "clawscope-plan.json".into(), text }]
    }

    /// The session with the plan that is shown; a plan that changes nothing is none.
    fn export(&mut self, format: Format) -> Vec<Effect> {
        let Some(inspection) = self.inspection().cloned() else {
            self.toast("nothing to export: no session is open".into(), true);
            return Vec::new();
        };
        let plan = self.plan.clone().filter(|plan| !plan.is_empty());
        let made = plan.as_ref().and_then(|plan| self.made_for(&inspection, plan));
        self.toast("exporting…".into(), false);
        vec![Effect::Export { format, inspection, plan, made }]
    }

    pub(super) fn copy_action(&mut self, action: Action) -> Vec<Effect> {
        let copy = |text: Option<String>, what| {
            text.filter(|text| !text.is_empty()).map(|text| Effect::Copy { text, what }).into_iter().collect()
        };
        let session = self.sessions.selected().filter(|_| self.focus == Pane::Sessions);
        if let (Some(Overlay::Findings { scroll }), Action::Copy) = (&self.overlay, action) {
            return copy(self.findings().nth(scroll.cursor).map(ToString::to_string), "finding");
        }
        if let (Some(Overlay::Estimators(_)), Action::Copy) = (&self.overlay, action) {
            return copy(self.call_text(), "call");
        }
        if let (Some(Overlay::Timeline), Action::Copy) = (&self.overlay, action) {
            return copy(self.timeline_text(), "timeline");
        }
        if let (Some(Overlay::Breakdown(screen)), Action::Copy) = (&self.overlay, action) {
            return copy(screen.row_text(), "line");
        }
        if let (Some(Overlay::Explain(screen)), Action::Copy | Action::CopyPatch) = (&self.overlay, action) {
            let copied = screen.copied(action == Action::CopyPatch);
            return copied.map(|(text, what)| Effect::Copy { text, what }).into_iter().collect();
        }
        if matches!(self.overlay, Some(Overlay::Compare))
            && matches!(action, Action::Copy | Action::CopyPatch)
        {
            return self.copy_cell();
        }
        match action {
            Action::Copy => match session {
                Some(item) => copy(Some(item.key.0.clone()), "session key"),
                None => copy(self.message_text(), "message"),
            },
            Action::CopyPath => {
                let open = self.own_session().map(|inspection| &inspection.session);
                let path = session.or(open).and_then(|item| item.path.as_ref());
                copy(path.map(|path| path.display().to_string()), "path")
            }
            Action::CopyId => match session {
                Some(item) => copy(Some(item.id.clone()), "session id"),
                None => copy(self.selected_name(), "entry id"),
            },
            Action::CopyPatch => self.copy_patch(),
            Action::Pager => self.message_text().map(Effect::Page).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn copy_patch(&mut self) -> Vec<Effect> {
        if !self.tuning.any_changed() {
            self.toast("nothing changed: no patch".into(), false);
            return Vec::new();
        }
        let on = self.own_session().is_some_and(|inspection| inspection.configured_on);
        vec![Effect::Copy { text: self.tuning.patch(on), what: "config patch" }]
    }

    fn selected_name(&self) -> Option<String> {
        Some(self.own_session()?.index.name(self.selected_entry()?))
    }

    /// The message as text: raw while raw is shown, the text after the plan while the diff is.
    fn message_text(&self) -> Option<String> {
        let text: &Arc<MessageText> = self.message.text.as_ref()?;
        Some(match self.message.view {
            MessageView::Raw => text.raw(),
            MessageView::Diff if text.after.is_some() => text.after.clone().unwrap_or_default(),
            _ => text.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n"),
        })
    }
}

/// One step of a plan: what it was given and what it left.
fn step_json(effect: &StepEffect) -> Value {
    Value::Object(Object::from([
        ("step", Value::from(effect.step.word())),
        ("messagesBefore", Value::from(effect.messages_before)),
        ("messagesAfter", Value::from(effect.messages_after)),
        ("tokensBefore", Value::from(effect.tokens_before)),
        ("tokensAfter", Value::from(effect.tokens_after)),
    ]))
}

/// A plan as JSON: exact numbers, stable words.
pub fn plan_json(session: &str, plan: &Plan) -> String {
    let number = |number: f64| if number.is_finite() { Value::Number(number) } else { Value::Null };
    let fates = plan.fates().iter().enumerate().map(|(at, fate)| {
        Value::Object(Object::from([
            ("index", Value::from(at)),
            ("fate", Value::from(fate.fate.word())),
            ("reason", Value::from(fate.reason.word())),
            ("before", Value::from(fate.before.chars())),
            ("after", Value::from(fate.after.chars())),
        ]))
    });
    let value = Value::Object(Object::from([
        ("schemaVersion", Value::from(1_i32)),
        ("session", Value::from(session)),
        ("window", number(plan.window)),
        ("tokensBefore", Value::from(plan.total_before())),
        ("tokensAfter", Value::from(plan.total_after())),
        ("tokensMade", Value::from(plan.tokens_made)),
        ("steps", Value::Array(plan.effects.iter().map(step_json).collect())),
        ("fates", Value::Array(fates.collect())),
    ]));
    js::stringify(&value) + "\n"
}
