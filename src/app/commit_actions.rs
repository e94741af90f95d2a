//! Commit, undo, copy and save: the actions whose result leaves the program.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::{Effect, PendingWrite};
use crate::app::event::SummaryUpdate;
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::message::MessageView;
use crate::app::screens::write::SummaryStage;
use crate::app::state::{App, Overlay, WriteDialog, WriteStage};
use crate::app::target::Target;
use crate::export::Format;
use crate::ids::EntryIx;
use crate::js::{self, Object, Value};
use crate::plan::{Plan, PolicyEffect};
use crate::policy::Policy;
use crate::session::message::MessageText;
use crate::session::{LoadedSession, ManualChange};
use crate::write::summary::job::SummaryResult;

impl App {
    pub(super) fn undo(&mut self) -> Vec<Effect> {
        let target = self.undo_target();
        target.map(|target| self.open_undo_dialog(target)).unwrap_or_default()
    }

    /// Answers the question of the dialog with yes.
    pub(super) fn confirm(&mut self) -> Vec<Effect> {
        if self.is_summarising() { self.confirm_summary() } else { self.confirm_write() }
    }

    /// Answers the question of the dialog with no.
    pub(super) fn cancel(&mut self) {
        if !self.cancel_summary() {
            self.views.pop();
        }
    }

    /// Opens the dialog for a commit of the shown plan. A commit is for the next call, so that is shown from now on.
    pub(super) fn open_commit_dialog(&mut self, requested_from: Target) -> Vec<Effect> {
        if self.target != Target::NextCall {
            drop(self.show_target(Target::NextCall));
        }
        let Some(session) = self.writable_session() else { return Vec::new() };
        let Some(plan) = self.preview.plan.clone() else {
            let key = self.key_words(KeyContext::Main, Action::TogglePrune);
            self.show_note(format!("nothing to write; press {key} to preview a plan first"));
            return Vec::new();
        };
        if !self.preview.waiting_policies.is_empty() {
            let steps: Vec<&str> = self.preview.waiting_policies.iter().map(Policy::word).collect();
            self.show_note(format!("not yet: still reading the texts for {}", steps.join(", ")));
            return Vec::new();
        }
        if plan.is_empty() {
            let why = match session.describe_closed_gate(plan.gate) {
                Some(why) => {
                    let focus = self.key_words(KeyContext::Main, Action::FocusTuning);
                    let key = self.key_words(KeyContext::Tuning, Action::ToggleGate);
                    format!("{why}; {focus} {key} prunes it anyway")
                }
                None => "no message changes".to_owned(),
            };
            self.show_note(format!("nothing to write for the next call: {why}"));
            return Vec::new();
        }
        let made = self.summary_for(&session, &plan);
        let effects = self.open_write_dialog(PendingWrite::Commit { session, plan, summary: made });
        if let Some(dialog) = self.write_dialog_mut() {
            dialog.requested_from = requested_from;
        }
        effects
    }

    /// Opens the dialog for a change that no policy makes. It is about the open file, whichever call is shown.
    pub(super) fn open_manual_dialog(&mut self, change: ManualChange) -> Vec<Effect> {
        let Some(session) = self.writable_session() else { return Vec::new() };
        self.open_write_dialog(PendingWrite::ByHand { session, change })
    }

    /// Opens the dialog for a change of the message under the cursor, while the transcript is visible.
    pub(super) fn change_by_hand(&mut self, change: impl Fn(EntryIx) -> ManualChange) -> Vec<Effect> {
        let Some(entry) = self.selected_entry().filter(|_| self.overlay().is_none()) else {
            self.show_note("select a message in the transcript first".into());
            return Vec::new();
        };
        self.open_manual_dialog(change(entry))
    }

    /// Returns the open session for a commit; `None` with a toast while an interrupted one must be repaired first.
    fn writable_session(&mut self) -> Option<Arc<LoadedSession>> {
        let Some(session) = self.active_session().cloned() else {
            self.show_note("no session is open".into());
            return None;
        };
        if session.unfinished_commit.as_ref().is_some_and(|found| found.refusal().is_some()) {
            self.notify_unfinished();
            return None;
        }
        Some(session)
    }

    /// Opens the write dialog. It waits while the session is being read again, because a write is checked against the
    /// file that was read. A compaction needs its summary before the check.
    pub(super) fn open_write_dialog(&mut self, write: PendingWrite) -> Vec<Effect> {
        let (stage, effect) = match &write {
            _ if self.opening.is_refreshing => (WriteStage::Waiting, None),
            PendingWrite::Commit { session, plan, summary: None } if plan.compaction.is_some() => {
                let (session, plan) = (Arc::clone(session), Arc::clone(plan));
                let stage = WriteStage::Summarising(SummaryStage::Reading);
                (stage, Some(Effect::Summarise { session, plan, consented: false }))
            }
            _ => (WriteStage::Checking, Some(Effect::PreviewWrite(write.clone()))),
        };
        self.views.push(Overlay::Write(WriteDialog {
            write,
            stage,
            requested_from: Target::NextCall,
            top: 0,
        }));
        effect.into_iter().collect()
    }

    pub(super) fn write_dialog_mut(&mut self) -> Option<&mut WriteDialog> {
        self.views.find_mut(|view| match view {
            Overlay::Write(dialog) => Some(dialog),
            _ => None,
        })
    }

    /// Closes the write dialog; the screen that it was opened from shows again.
    pub(super) fn close_write_dialog(&mut self) {
        self.views.retain(|view| !matches!(view, Overlay::Write(_)));
    }

    /// Repeats a request that waited for the session, for the current file.
    pub(super) fn reopen_write_dialog(&mut self) -> Vec<Effect> {
        let waiting = self.views.find(|view| match view {
            Overlay::Write(dialog) if matches!(dialog.stage, WriteStage::Waiting) => Some(dialog),
            _ => None,
        });
        let Some(WriteDialog { write, requested_from, .. }) = waiting.cloned() else { return Vec::new() };
        self.close_write_dialog();
        let written = write.session();
        let Some(open) = self.active_session().filter(|open| open.item.key == written.item.key) else {
            return Vec::new();
        };
        match write {
            PendingWrite::Commit { .. } => self.open_commit_dialog(requested_from),
            // In a file that was replaced, the entries are others.
            PendingWrite::ByHand { .. } if open.extends_epoch.is_none() => Vec::new(),
            PendingWrite::ByHand { change, .. } => self.open_manual_dialog(change),
            PendingWrite::Undo { target, .. } => self.open_undo_dialog(target),
        }
    }

    fn confirm_write(&mut self) -> Vec<Effect> {
        let Some(dialog) = self.write_dialog_mut() else { return Vec::new() };
        let WriteStage::Confirming(preview) = &dialog.stage else { return Vec::new() };
        let effect = Effect::Write { pending: dialog.write.clone(), read: preview.read.clone() };
        dialog.stage = WriteStage::Writing;
        vec![effect]
    }

    /// Closes every screen and shows the diff of the first changed message; going back leads to the question again.
    pub(super) fn show_first_diff(&mut self) {
        let question = self.write_dialog_mut().map(|dialog| dialog.requested_from);
        self.views.clear();
        let height = self.pane_height(Pane::Transcript);
        let first = self
            .preview
            .plan
            .as_ref()
            .and_then(|plan| plan.fates().iter().position(|fate| fate.fate.is_change()));
        if let (Some(at), Some(pane)) = (first, &mut self.transcript) {
            let entry = pane.session.context.messages[at].entry;
            pane.reveal(entry, height);
        }
        self.message.view = MessageView::Diff;
        self.focus = Pane::Message;
        self.zoom = true;
        self.navigation.returns_to_commit = question;
    }

    pub(super) fn save_plan(&mut self) -> Vec<Effect> {
        let (Some(session), Some(plan)) = (self.active_session(), &self.preview.plan) else {
            return Vec::new();
        };
        let text = plan_json(&session.item.key.0, plan);
        vec![Effect::SaveFile { name: "clawscope-plan.json".into(), text }]
    }

    /// Exports the session with the shown plan, unless that changes nothing.
    pub(super) fn export(&mut self, format: Format) -> Vec<Effect> {
        let Some(session) = self.displayed_session().cloned() else {
            self.show_toast("nothing to export: no session is open".into(), true);
            return Vec::new();
        };
        let plan = self.preview.plan.clone().filter(|plan| !plan.is_empty());
        let made = plan.as_ref().and_then(|plan| self.summary_for(&session, plan));
        self.show_note("exporting…".into());
        vec![Effect::Export { format, session, plan, summary: made }]
    }

    pub(super) fn show_in_pager(&self) -> Vec<Effect> {
        self.text_to_copy().map(Effect::ShowInPager).into_iter().collect()
    }

    pub(super) fn copy_patch(&mut self) -> Vec<Effect> {
        if !self.tuning.has_changes() {
            self.show_note("no changes, so no patch".into());
            return Vec::new();
        }
        let on = self.active_session().is_some_and(|session| session.pruning_configured);
        vec![Effect::Copy { text: self.tuning.patch(on), label: "config patch" }]
    }

    pub(super) fn selected_entry_name(&self) -> Option<String> {
        Some(self.active_session()?.index.display_id(self.selected_entry()?))
    }

    /// The message as text: raw in the raw view, the planned text in the diff.
    pub(super) fn text_to_copy(&self) -> Option<String> {
        let text: &Arc<MessageText> = self.message.text.as_ref()?;
        Some(match self.message.view {
            MessageView::Raw => text.indented_json(),
            MessageView::Diff if text.planned_text.is_some() => text.planned_text.clone().unwrap_or_default(),
            _ => text.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n"),
        })
    }
}

/// One policy of a plan, with totals before and after it.
fn effect_json(effect: &PolicyEffect) -> Value {
    Value::Object(Object::from([
        ("step", Value::from(effect.policy.word())),
        ("messagesBefore", Value::from(effect.messages_before)),
        ("messagesAfter", Value::from(effect.messages_after)),
        ("tokensBefore", Value::from(effect.tokens_before)),
        ("tokensAfter", Value::from(effect.tokens_after)),
    ]))
}

/// Returns a plan as JSON with exact numbers and stable words.
pub fn plan_json(session: &str, plan: &Plan) -> String {
    let number = |number: f64| if number.is_finite() { Value::Number(number) } else { Value::Null };
    let fates = plan.fates().iter().enumerate().map(|(at, fate)| {
        Value::Object(Object::from([
            ("index", Value::from(at)),
            ("fate", Value::from(fate.fate.word())),
            ("reason", Value::from(fate.reason.word())),
            ("before", Value::from(fate.before.whole_chars())),
            ("after", Value::from(fate.after.whole_chars())),
        ]))
    });
    let value = Value::Object(Object::from([
        ("schemaVersion", Value::from(1_i32)),
        ("session", Value::from(session)),
        ("window", number(plan.window.get())),
        ("tokensBefore", Value::from(plan.total_before())),
        ("tokensAfter", Value::from(plan.total_after())),
        ("tokensMade", Value::from(plan.tokens_added)),
        ("steps", Value::Array(plan.effects.iter().map(effect_json).collect())),
        ("fates", Value::Array(fates.collect())),
    ]));
    js::stringify(&value) + "\n"
}

// The summary of a compaction before the commit. The dialog asks for consent when the conversation would leave the
// program, shows the progress call by call, and keeps the summary until the cut changes.

impl App {
    /// Applies the length of the finished summary to its plan, if there is one.
    pub(super) fn with_summary_length(&self, session: &LoadedSession, plan: Plan) -> Plan {
        let made = self.preview.summary.as_ref().filter(|made| made.matches_plan(session, &plan));
        made.and_then(|made| made.apply_to(session, &plan).ok()).unwrap_or(plan)
    }

    /// Returns the finished summary of a plan.
    pub(super) fn summary_for(&self, session: &LoadedSession, plan: &Plan) -> Option<Arc<SummaryResult>> {
        self.preview.summary.clone().filter(|made| made.matches_plan(session, plan))
    }

    /// Whether a summary is offered or in progress.
    pub(super) fn is_summarising(&self) -> bool {
        self.views
            .iter()
            .any(|view| matches!(view, Overlay::Write(WriteDialog { stage: WriteStage::Summarising(_), .. })))
    }

    /// Shows the progress of a summary.
    pub(super) fn on_summary_update(&mut self, message: SummaryUpdate) -> Vec<Effect> {
        let Some(dialog) = self.write_dialog_mut() else { return Vec::new() };
        dialog.stage = match message {
            SummaryUpdate::Offered(offer) => WriteStage::Summarising(SummaryStage::Offered(offer)),
            SummaryUpdate::Calling(progress) => WriteStage::Summarising(SummaryStage::Calling(progress)),
            SummaryUpdate::Failed(why) => WriteStage::SummaryFailed(why),
            SummaryUpdate::Finished(made) => return self.on_summary_finished(made),
        };
        Vec::new()
    }

    /// Opens the commit dialog again, for the plan with the finished summary.
    fn on_summary_finished(&mut self, made: Arc<SummaryResult>) -> Vec<Effect> {
        self.preview.summary = Some(made);
        let requested_from = self.write_dialog_mut().map(|dialog| dialog.requested_from).unwrap_or_default();
        self.close_write_dialog();
        self.replan(false);
        self.open_commit_dialog(requested_from)
    }

    /// Starts the offered summary.
    pub(super) fn confirm_summary(&mut self) -> Vec<Effect> {
        let Some(dialog) = self.write_dialog_mut() else { return Vec::new() };
        let (WriteStage::Summarising(SummaryStage::Offered(_)), PendingWrite::Commit { session, plan, .. }) =
            (&dialog.stage, &dialog.write)
        else {
            return Vec::new();
        };
        let effect =
            Effect::Summarise { session: Arc::clone(session), plan: Arc::clone(plan), consented: true };
        dialog.stage = WriteStage::Summarising(SummaryStage::Reading);
        vec![effect]
    }

    /// Cancels a summary in progress and says so; returns whether one was in progress. An offer is left for the
    /// caller to close.
    pub(super) fn cancel_summary(&mut self) -> bool {
        let Some(dialog) = self.write_dialog_mut() else { return false };
        match &dialog.stage {
            WriteStage::Summarising(SummaryStage::Reading | SummaryStage::Calling(_)) => {
                dialog.stage = WriteStage::SummaryFailed("The summary was cancelled.".to_owned());
                true
            }
            _ => false,
        }
    }
}
