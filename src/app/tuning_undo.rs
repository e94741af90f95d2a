//! Undo and redo in the tuning pane: records the change of every key and click, and reverts it. Each session has its
//! own steps.

use crossterm::event::MouseEventKind;

use crate::app::effect::Effect;
use crate::app::event::Event;
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::app::tuning::TuningPane;
use crate::app::tuning_history::{TunedValue, TuningState};
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::RulesetChoice;
use crate::policy::settings::SettingId;

impl TuningPane {
    fn state(&self, ruleset: Option<RulesetChoice>) -> TuningState {
        let rows = self.rows.iter().zip(&self.values);
        let value = |(row, value): (&crate::policy::settings::PolicySetting, &_)| {
            TunedValue::new(row.setting.id, value, row.setting.control.unit())
        };
        TuningState {
            values: rows.map(value).collect(),
            policies: self.policies,
            preview: self.preview,
            respect_gates: self.respect_gates,
            assumed_changes: self.assumed_changes.clone(),
            ruleset,
        }
    }

    /// Restores a state, for settings that the release has.
    fn restore(&mut self, state: &TuningState) {
        for (row, value) in self.rows.iter().zip(&mut self.values) {
            let kept = state.values.iter().find(|kept| kept.id == row.setting.id);
            if let Some(kept) = kept.filter(|_| row.setting.control.fixed_reason().is_none()) {
                *value = kept.value.clone();
            }
        }
        self.policies = state.policies;
        self.preview = state.preview;
        self.respect_gates = state.respect_gates;
        self.assumed_changes.clone_from(&state.assumed_changes);
    }

    fn focus_setting(&mut self, id: SettingId) {
        if let Some(at) = self.rows.iter().position(|row| row.setting.id == id) {
            self.focus_policy(self.rows[at].policy);
            self.cursor = at;
        }
    }
}

impl App {
    /// The rules in force, or those that the store is being read under.
    pub(super) fn current_ruleset(&self) -> Option<RulesetChoice> {
        let listed = self.store.listing.as_ref().map(|listing| listing.ruleset.clone());
        self.chosen_ruleset.clone().or(listed)
    }

    /// Whether the rules are those of a release that the person chose, and not the store's own.
    pub fn has_chosen_release(&self) -> bool {
        self.chosen_ruleset.as_ref().is_some_and(|choice| choice.provenance == Provenance::Tuned)
    }

    pub(super) fn tuning_state(&self) -> TuningState {
        self.tuning.state(self.current_ruleset())
    }

    /// Records the change of a key, a click or a paste as an undo step.
    pub(super) fn record_tuning(&mut self, before: TuningState, event: TuningEvent) {
        let moved = self.undo.moved_setting.take();
        let after = self.tuning_state();
        let Some(session) = self.active_session().map(|session| session.item.key.clone()) else { return };
        let history = self.undo.histories.entry(session).or_default();
        if std::mem::take(&mut self.undo.is_undoing) {
        } else if after.differs_from(&before) {
            history.record(before, &after, moved);
        } else if event.ends_move {
            history.end_move();
        }
    }

    /// Undoes the last change of a setting, or redoes the last one that was undone.
    pub(super) fn step_tuning(&mut self, forward: bool) -> Vec<Effect> {
        let now = self.tuning_state();
        let session = self.active_session().map(|session| session.item.key.clone());
        let state = session.and_then(|key| self.undo.histories.get_mut(&key)?.step(forward, now.clone()));
        let Some(state) = state else {
            let words = if forward { "nothing to redo" } else { "no changed setting to undo" };
            self.show_note(words.into());
            return Vec::new();
        };
        self.undo.is_undoing = true;
        self.tuning.restore(&state);
        if let Some(id) = now.only_change(&state) {
            self.tuning.focus_setting(id);
        }
        let height = self.pane_height(Pane::Tuning);
        self.tuning.keep_visible(height);
        self.replan(true);
        let words = if forward {
            format!("Redid: {}", state.describe_against(&now))
        } else {
            format!("Undid: {} again", state.describe_against(&now))
        };
        self.show_toast(words, false);
        match state.ruleset.clone().filter(|_| state.ruleset != now.ruleset) {
            Some(ruleset) => {
                self.undo.restored = Some(state);
                self.use_ruleset(ruleset)
            }
            None => Vec::new(),
        }
    }

    /// Brings back the values of a state whose rules had to be read again first.
    pub(super) fn restore_after_reading(&mut self) {
        if let Some(state) = self.undo.restored.take() {
            self.tuning.restore(&state);
        }
    }

    /// Notes that only the focused slider moves, so that further moves belong to the same step.
    pub(super) fn note_moved_setting(&mut self) {
        let row = self.tuning.focused_row();
        let slider = row.filter(|at| self.tuning.unit(*at).is_some());
        self.undo.moved_setting = slider.and_then(|at| Some(self.tuning.setting(at)?.id));
    }
}

/// The parts of an event that matter for undo.
#[derive(Debug, Clone, Copy)]
pub(super) struct TuningEvent {
    /// Whether the event ends the move of a slider that it does not move on.
    ends_move: bool,
}

impl TuningEvent {
    /// Returns `None` for an event that a person did not cause.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let ends_move = match event {
            Event::Key(_) | Event::Paste(_) => true,
            Event::Mouse(mouse) => !matches!(mouse.kind, MouseEventKind::Moved | MouseEventKind::Drag(_)),
            _ => return None,
        };
        Some(Self { ends_move })
    }
}
