//! Asking for cells, and taking them: the newest request wins, and what an older one still says is dropped.

use std::sync::Arc;

use crate::app::compare::{CompareScreen, Filling, SweepAsked, SweepSaid};
use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::Unit;
use crate::gateway::setting_value::ttl_text;
use crate::ids::Epoch;
use crate::inspect::Inspection;
use crate::inspect::change::{Change, PRUNING};
use crate::inspect::timeline::Recording;
use crate::js::Value;
use crate::policy::Step;
use crate::sweep::Axis;

/// What cells follow from: another one makes them old.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::app) struct Request {
    epoch: Epoch,
    asked: SweepAsked,
}

impl App {
    /// Opens the screen.
    pub(in crate::app) fn open_compare(&mut self) {
        if self.inspection().is_none() {
            self.toast("no session is open".into(), false);
            return;
        }
        self.overlay = Some(Overlay::Compare);
    }

    /// Whether cells are on their way.
    pub(in crate::app) fn is_sweeping(&self) -> bool {
        let Filling { sweep, error, .. } = &self.compare.filling;
        self.compare.asked.is_some() && sweep.is_none() && error.is_none()
    }

    /// Nobody waits for cells any more: what is not whole is forgotten.
    pub(in crate::app) fn stop_sweep(&mut self) {
        self.compare.asked = None;
        self.compare.request += 1;
        self.compare.filling = Filling::default();
    }

    /// Another session is open: what was compared belongs to the one before.
    pub(in crate::app) fn forget_compare(&mut self) {
        let CompareScreen { request, measure, headroom, .. } = self.compare;
        self.compare = CompareScreen { request: request + 1, measure, headroom, ..CompareScreen::default() };
    }

    /// Asks for cells, while their screen is open and they are not those that were asked for last.
    pub(in crate::app) fn want_sweep(&mut self, effects: &mut Vec<Effect>) {
        if !matches!(self.overlay, Some(Overlay::Compare)) {
            return;
        }
        let Some(recording) = self.again.recording.clone() else { return };
        let newest =
            self.inspection().is_some_and(|inspection| inspection.epoch == recording.inspection.epoch);
        if !newest {
            return;
        }
        let asked = self.sweep_asked(&recording);
        let request = Request { epoch: recording.inspection.epoch, asked };
        if self.compare.asked.as_ref() == Some(&request) {
            return;
        }
        let asked = request.asked.clone();
        let known = self.compare.asked.replace(request);
        self.compare.request += 1;
        self.compare.since_ms = self.now_ms;
        // Where only the session grew, or other room is to be left, the map stays what it was until the new one is there.
        let other = |known: &SweepAsked| SweepAsked { headroom: asked.headroom, ..known.clone() } != asked;
        if known.is_none_or(|known| other(&known.asked)) {
            self.compare.before = std::mem::take(&mut self.compare.filling).axes;
        }
        effects.push(Effect::Sweep { recording, asked: Box::new(asked), request: self.compare.request });
    }

    /// What is asked: the settings that a person chose, and what is tuned beside them.
    fn sweep_asked(&self, recording: &Recording) -> SweepAsked {
        let axes = self.compare.chosen.clone();
        let mut base = self.tuned_changes(&recording.inspection);
        base.retain(|change| !axes.iter().flatten().any(|axis| axis.key == change.key));
        let varied = axes.iter().flatten().filter_map(Axis::moved_step);
        let in_force = recording.material.recorded.steps.steps;
        let steps = varied.fold(self.tuned_steps(in_force), |steps, step| steps.with(step, true));
        let window = recording.material.provider_window;
        let headroom = self.compare.headroom.and_then(|amount| amount.tokens(window)).unwrap_or(0.0);
        SweepAsked { axes, base, steps, headroom }
    }

    /// What the tuning pane changes, while it is in force.
    pub(in crate::app) fn tuned_changes(&self, inspection: &Inspection) -> Vec<Change> {
        let tuning = &self.tuning;
        if !tuning.preview {
            return Vec::new();
        }
        let change = |key: String, step, value| Change { key, step, value, origin: Provenance::Tuned };
        let on = tuning.steps.has(Step::Prune);
        let mode = (on != inspection.configured_on).then(|| {
            let word = if on { "cache-ttl" } else { "off" };
            change(format!("{PRUNING}mode"), Some(Step::Prune), Value::from(word))
        });
        let rows = tuning.rows.iter().zip(&tuning.values).enumerate();
        let changed = rows.filter(|(at, _)| tuning.is_changed(*at)).map(|(_, (row, value))| {
            let ms = row.row.control.unit() == Some(Unit::Milliseconds);
            change(row.key(), Some(row.step), if ms { ttl_text(value) } else { value.clone() })
        });
        mode.into_iter().chain(changed).chain(tuning.assumed.iter().cloned()).collect()
    }

    /// Takes what is said of cells.
    pub(in crate::app) fn swept(&mut self, request: u64, said: SweepSaid) {
        if request != self.compare.request {
            return;
        }
        let renewed = self.compare.filling.sweep.is_some();
        match said {
            // A map that is only renewed stays until the whole of the new one is there.
            SweepSaid::Axes(axes) if !renewed => self.compare.take_axes(axes),
            SweepSaid::Cells(cells) if !renewed => {
                for (at, cell) in cells {
                    if let Some(place) = self.compare.filling.cells.get_mut(at) {
                        *place = Some(cell);
                    }
                }
            }
            SweepSaid::Axes(_) | SweepSaid::Cells(_) => {}
            SweepSaid::Done(sweep) => self.compare_done(sweep),
            SweepSaid::Failed(error) => {
                self.compare.filling = Filling { error: Some(error), ..Filling::default() };
            }
        }
    }

    /// All cells are known: the cursor goes to the smallest change, unless the person moved it.
    fn compare_done(&mut self, sweep: Arc<crate::sweep::Sweep>) {
        let screen = &mut self.compare;
        let best = sweep.smallest.unwrap_or(sweep.current);
        let stays = screen.moved && screen.at.len() == sweep.axes.len() && screen.filling.axes == sweep.axes;
        if !stays {
            screen.at = sweep.grid.at(best);
        }
        screen.filling = Filling {
            axes: sweep.axes.clone(),
            grid: Some(sweep.grid.clone()),
            cells: sweep.cells.iter().cloned().map(Some).collect(),
            sweep: Some(sweep),
            error: None,
        };
        self.compare_follow_list();
    }
}
