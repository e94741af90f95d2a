//! Asking for cells, and taking them: the newest request wins, and what an older one still says is dropped.

use std::sync::Arc;

use crate::app::compare::{CompareScreen, SweepQuery, SweepState, SweepUpdate};
use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::Unit;
use crate::gateway::setting_value::ttl_text;
use crate::ids::Epoch;
use crate::inspect::LoadedSession;
use crate::inspect::setting_change::{PRUNING_PREFIX, SettingChange};
use crate::inspect::timeline::RecordedSession;
use crate::js::Value;
use crate::policy::Policy;
use crate::sweep::Axis;

/// What cells follow from: another one makes them old.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::app) struct SweepKey {
    epoch: Epoch,
    query: SweepQuery,
}

impl App {
    /// Opens the screen.
    pub(in crate::app) fn open_compare(&mut self) {
        if self.displayed_session().is_none() {
            self.show_toast("no session is open".into(), false);
            return;
        }
        self.overlay = Some(Overlay::Compare);
    }

    /// Whether cells are on their way.
    pub(in crate::app) fn is_sweeping(&self) -> bool {
        let SweepState { sweep, error, .. } = &self.compare_screen.sweep_state;
        self.compare_screen.sweep_key.is_some() && sweep.is_none() && error.is_none()
    }

    /// Nobody waits for cells any more: what is not whole is forgotten.
    pub(in crate::app) fn stop_sweep(&mut self) {
        self.compare_screen.sweep_key = None;
        self.compare_screen.request_id += 1;
        self.compare_screen.sweep_state = SweepState::default();
    }

    /// Another session is open: what was compared belongs to the one before.
    pub(in crate::app) fn reset_compare(&mut self) {
        let CompareScreen { request_id: request, metric: measure, headroom, .. } = self.compare_screen;
        self.compare_screen =
            CompareScreen { request_id: request + 1, metric: measure, headroom, ..CompareScreen::default() };
    }

    /// Asks for cells, while their screen is open and they are not those that were asked for last.
    pub(in crate::app) fn request_sweep(&mut self, effects: &mut Vec<Effect>) {
        if !matches!(self.overlay, Some(Overlay::Compare)) {
            return;
        }
        let Some(recording) = self.replay_state.recording.clone() else { return };
        let newest =
            self.displayed_session().is_some_and(|inspection| inspection.epoch == recording.session.epoch);
        if !newest {
            return;
        }
        let asked = self.sweep_query(&recording);
        let request = SweepKey { epoch: recording.session.epoch, query: asked };
        if self.compare_screen.sweep_key.as_ref() == Some(&request) {
            return;
        }
        let asked = request.query.clone();
        let known = self.compare_screen.sweep_key.replace(request);
        self.compare_screen.request_id += 1;
        self.compare_screen.requested_ms = self.now_ms;
        // Where only the session grew, or other room is to be left, the map stays what it was until the new one is there.
        let other = |known: &SweepQuery| SweepQuery { headroom: asked.headroom, ..known.clone() } != asked;
        if known.is_none_or(|known| other(&known.query)) {
            self.compare_screen.previous_axes = std::mem::take(&mut self.compare_screen.sweep_state).axes;
        }
        effects.push(Effect::Sweep {
            recording,
            query: Box::new(asked),
            request_id: self.compare_screen.request_id,
        });
    }

    /// What is asked: the settings that a person chose, and what is tuned beside them.
    fn sweep_query(&self, recording: &RecordedSession) -> SweepQuery {
        let axes = self.compare_screen.chosen_axes.clone();
        let mut base = self.tuned_changes(&recording.session);
        base.retain(|change| !axes.iter().flatten().any(|axis| axis.key == change.key));
        let varied = axes.iter().flatten().filter_map(Axis::affected_policy);
        let in_force = recording.inputs.recorded_settings.policies.enabled;
        let steps = varied.fold(self.tuned_policies(in_force), |steps, step| steps.with(step, true));
        let window = recording.inputs.provider_window;
        let headroom = self.compare_screen.headroom.and_then(|amount| amount.tokens(window)).unwrap_or(0.0);
        SweepQuery { axes, base_changes: base, policies: steps, headroom }
    }

    /// What the tuning pane changes, while it is in force.
    pub(in crate::app) fn tuned_changes(&self, inspection: &LoadedSession) -> Vec<SettingChange> {
        let tuning = &self.tuning;
        if !tuning.preview {
            return Vec::new();
        }
        let change =
            |key: String, step, value| SettingChange { key, policy: step, value, origin: Provenance::Tuned };
        let on = tuning.policies.has(Policy::Prune);
        let mode = (on != inspection.pruning_configured).then(|| {
            let word = if on { "cache-ttl" } else { "off" };
            change(format!("{PRUNING_PREFIX}mode"), Some(Policy::Prune), Value::from(word))
        });
        let rows = tuning.rows.iter().zip(&tuning.values).enumerate();
        let changed = rows.filter(|(at, _)| tuning.is_changed(*at)).map(|(_, (row, value))| {
            let ms = row.setting.control.unit() == Some(Unit::Milliseconds);
            change(row.key(), Some(row.policy), if ms { ttl_text(value) } else { value.clone() })
        });
        mode.into_iter().chain(changed).chain(tuning.assumed_changes.iter().cloned()).collect()
    }

    /// Takes what is said of cells.
    pub(in crate::app) fn on_sweep_update(&mut self, request: u64, said: SweepUpdate) {
        if request != self.compare_screen.request_id {
            return;
        }
        let renewed = self.compare_screen.sweep_state.sweep.is_some();
        match said {
            // A map that is only renewed stays until the whole of the new one is there.
            SweepUpdate::Axes(axes) if !renewed => self.compare_screen.set_axes(axes),
            SweepUpdate::Cells(cells) if !renewed => {
                for (at, cell) in cells {
                    if let Some(place) = self.compare_screen.sweep_state.cells.get_mut(at) {
                        *place = Some(cell);
                    }
                }
            }
            SweepUpdate::Axes(_) | SweepUpdate::Cells(_) => {}
            SweepUpdate::Finished(sweep) => self.on_sweep_finished(sweep),
            SweepUpdate::Failed(error) => {
                self.compare_screen.sweep_state = SweepState { error: Some(error), ..SweepState::default() };
            }
        }
    }

    /// All cells are known: the cursor goes to the smallest change, unless the person moved it.
    fn on_sweep_finished(&mut self, sweep: Arc<crate::sweep::Sweep>) {
        let screen = &mut self.compare_screen;
        let best = sweep.smallest_fitting.unwrap_or(sweep.current);
        let stays = screen.cursor_moved
            && screen.point.len() == sweep.axes.len()
            && screen.sweep_state.axes == sweep.axes;
        if !stays {
            screen.point = sweep.grid.points_of(best);
        }
        screen.sweep_state = SweepState {
            axes: sweep.axes.clone(),
            grid: Some(sweep.grid.clone()),
            cells: sweep.cells.iter().cloned().map(Some).collect(),
            sweep: Some(sweep),
            error: None,
        };
        self.sync_compare_list();
    }
}
