//! Requests sweeps and receives their cells. The newest request wins; updates of older ones are dropped.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::screens::compare::{CompareScreen, SweepQuery, SweepState, SweepUpdate};
use crate::app::state::{App, Overlay};
use crate::gateway::registry::Provenance;
use crate::gateway::setting_value::{Unit, ttl_text};
use crate::ids::Epoch;
use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::policy::{Policy, PolicySet};
use crate::report::sweep::Axis;
use crate::report::timeline::RecordedSession;
use crate::session::LoadedSession;
use crate::session::setting_change::SettingChange;
use crate::units::Tokens;

/// The inputs of a sweep: a change of them makes its cells stale.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::app) struct SweepKey {
    epoch: Epoch,
    query: SweepQuery,
}

impl App {
    /// Whether a sweep is running.
    pub(in crate::app) fn is_sweeping(&self) -> bool {
        let SweepState { sweep, sides, error, .. } = &self.compare_screen.sweep_state;
        let is_done = sweep.is_some() || sides.is_some() || error.is_some();
        self.compare_screen.sweep_key.is_some() && !is_done
    }

    /// Stops the sweep; drops its cells, finished or not.
    pub(in crate::app) fn stop_sweep(&mut self) {
        self.compare_screen.sweep_key = None;
        self.compare_screen.request_id += 1;
        self.compare_screen.sweep_state = SweepState::default();
    }

    /// Forgets the cells of the previous session; keeps metric and headroom.
    pub(in crate::app) fn reset_compare(&mut self) {
        let CompareScreen { request_id: request, metric: measure, headroom, .. } = self.compare_screen;
        self.compare_screen =
            CompareScreen { request_id: request + 1, metric: measure, headroom, ..CompareScreen::default() };
    }

    /// Whether the screen is open, perhaps below another.
    pub(in crate::app) fn is_comparing(&self) -> bool {
        self.views.iter().any(|view| matches!(view, Overlay::Compare))
    }

    /// Requests a sweep if the screen is visible and the inputs changed. A covered map catches up when it shows again.
    pub(in crate::app) fn request_sweep(&mut self, effects: &mut Vec<Effect>) {
        if !matches!(self.page(), Some(Overlay::Compare)) {
            return;
        }
        let Some(recording) = self.replay_state.recording.clone() else { return };
        let newest = self.displayed_session().is_some_and(|session| session.epoch == recording.session.epoch);
        if !newest {
            return;
        }
        let requested = self.sweep_query(&recording);
        let request = SweepKey { epoch: recording.session.epoch, query: requested };
        if self.compare_screen.sweep_key.as_ref() == Some(&request) {
            return;
        }
        let requested = request.query.clone();
        let known = self.compare_screen.sweep_key.replace(request);
        self.compare_screen.request_id += 1;
        self.compare_screen.requested_ms = self.now_ms;
        // If only the session grew or the headroom changed, the old map stays until the new one is complete.
        let other =
            |known: &SweepQuery| SweepQuery { headroom: requested.headroom, ..known.clone() } != requested;
        if known.is_none_or(|known| other(&known.query)) {
            self.compare_screen.previous_axes = std::mem::take(&mut self.compare_screen.sweep_state).axes;
        }
        effects.push(Effect::Sweep {
            recording,
            query: Box::new(requested),
            request_id: self.compare_screen.request_id,
        });
    }

    /// Returns the sweep of the chosen axes, with the tuned changes of all other settings, or the comparison of presets.
    fn sweep_query(&self, recording: &RecordedSession) -> SweepQuery {
        if self.compare_screen.sides.is_some() {
            let mut sides = self.compared_sides(recording).0;
            // Another reference is another order of the same sides.
            sides.sort_by(|one, other| one.name.cmp(&other.name));
            let (base_changes, policies, headroom) = (Vec::new(), PolicySet::NONE, Tokens::ZERO);
            return SweepQuery { axes: None, base_changes, policies, headroom, sides };
        }
        let axes = self.compare_screen.chosen_axes.clone();
        let mut base = self.tuned_changes(&recording.session);
        base.retain(|change| !axes.iter().flatten().any(|axis| axis.id == change.id));
        let varied = axes.iter().flatten().filter_map(Axis::affected_policy);
        let in_force = recording.inputs.recorded_settings.policies.enabled;
        let steps = varied.fold(self.tuned_policies(in_force), |steps, step| steps.with(step, true));
        let window = recording.inputs.provider_window;
        let headroom =
            self.compare_screen.headroom.and_then(|amount| amount.tokens(window)).unwrap_or(Tokens::ZERO);
        SweepQuery { axes, base_changes: base, policies: steps, headroom, sides: Vec::new() }
    }

    /// Returns the varied settings as `sweep --vary` takes them; `None` where the session chooses them.
    pub(in crate::app) fn axis_texts(&self) -> Vec<String> {
        let axes = self.compare_screen.chosen_axes.iter().flatten();
        let points = |axis: &Axis| {
            let set = axis.points.iter().filter(|point| point.value.is_some());
            set.map(|point| point.text.replace(' ', "")).collect::<Vec<_>>().join(",")
        };
        axes.map(|axis| format!("{}={}", axis.key(), points(axis))).collect()
    }

    /// Returns the changes of the tuning pane, while its plan is shown.
    pub(in crate::app) fn tuned_changes(&self, session: &LoadedSession) -> Vec<SettingChange> {
        if self.tuning.preview { self.changed_settings(session) } else { Vec::new() }
    }

    /// Returns the changes of the tuning pane, in the form that the configuration holds.
    pub(in crate::app) fn changed_settings(&self, session: &LoadedSession) -> Vec<SettingChange> {
        let tuning = &self.tuning;
        let change = |id, value| SettingChange { id, value, origin: Provenance::Tuned, model: None };
        let on = tuning.policies.has(Policy::Prune);
        let mode = (on != session.pruning_configured).then(|| {
            let word = if on { "cache-ttl" } else { "off" };
            change(SettingId::PruneMode, Value::from(word))
        });
        let rows = tuning.rows.iter().zip(&tuning.values).enumerate();
        let changed = rows.filter(|(at, _)| tuning.is_changed(*at)).map(|(_, (row, value))| {
            let ms = row.setting.control.unit() == Some(Unit::Milliseconds);
            change(row.setting.id, if ms { ttl_text(value) } else { value.clone() })
        });
        mode.into_iter().chain(changed).chain(tuning.assumed_changes.iter().cloned()).collect()
    }

    /// Shows the progress of a sweep.
    pub(in crate::app) fn on_sweep_update(&mut self, message: SweepUpdate) {
        let renewed = self.compare_screen.sweep_state.sweep.is_some();
        match message {
            // A finished map stays until the new one is complete.
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
            SweepUpdate::Sides(sides) => {
                self.compare_screen.sweep_state = SweepState { sides: Some(sides), ..SweepState::default() };
            }
            SweepUpdate::Failed(error) => {
                self.compare_screen.sweep_state = SweepState { error: Some(error), ..SweepState::default() };
            }
        }
    }

    /// Shows the finished sweep; the cursor moves to the smallest change unless the person moved it.
    fn on_sweep_finished(&mut self, sweep: Arc<crate::report::sweep::Sweep>) {
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
            ..SweepState::default()
        };
        self.sync_compare_list();
    }
}
