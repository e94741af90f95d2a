//! The state of the explain screen: the explanation, its rows and the cursor.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::explain::block::ExplainRow;
use crate::app::screens::explain::estimators::{EstimatesState, EstimatorsBlock};
use crate::app::screens::explain::recovery::{RecoveryBlock, step_text};
use crate::app::screens::explain::wording;
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::ids::EntryIx;
use crate::report::estimators::Estimator;
use crate::report::explain::{Advice, AdvisedChange, Evidence, Explanation, Finding, WayOut};
use crate::report::recovery::RecoveryRow;
use crate::session::LoadedSession;

/// Lines of the page that stay visible around the cursor.
const MARGIN: usize = 2;

/// The letter that labels a change.
pub fn advice_letter(at: usize) -> char {
    char::from(b'a' + (at % 26) as u8)
}

#[derive(Debug, Clone, Default)]
pub struct ExplainScreen {
    /// The explanation, or why it failed; `None` while it is being computed.
    pub result: Option<Result<Arc<Explanation>, EffectError>>,
    /// The selectable rows.
    pub rows: Vec<ExplainRow>,
    /// The selected row, and the first visible line of the page.
    pub scroll: Scroll,
    pub recovery: RecoveryBlock,
    pub estimators: EstimatorsBlock,
}

impl ExplainScreen {
    pub fn explanation(&self) -> Option<&Arc<Explanation>> {
        self.result.as_ref()?.as_ref().ok()
    }

    pub(in crate::app) fn is_waiting(&self) -> bool {
        self.result.is_none() || self.recovery.result.is_none() || self.estimators.is_reading()
    }

    /// Returns the change whose patch is shown, with its letter: the selected one, otherwise the first that helps.
    pub fn shown_patch(&self) -> Option<(char, &Advice)> {
        let advice = &self.explanation()?.advice;
        let at = match self.selected() {
            Some(ExplainRow::Advice(at)) => at,
            _ => advice.iter().position(|advice| advice.fits_all)?,
        };
        Some((advice_letter(at), advice.get(at)?))
    }

    pub fn selected(&self) -> Option<ExplainRow> {
        self.rows.get(self.scroll.cursor).copied()
    }

    /// Returns the finding of a row.
    pub fn finding(&self, row: ExplainRow) -> Option<&Finding> {
        match row {
            ExplainRow::Finding(at) | ExplainRow::Evidence(at, _) => self.explanation()?.findings.get(at),
            _ => None,
        }
    }

    pub fn evidence(&self, row: ExplainRow) -> Option<Evidence> {
        let ExplainRow::Evidence(_, line) = row else { return None };
        self.finding(row)?.evidence().into_iter().nth(line)
    }

    pub fn advice(&self, row: ExplainRow) -> Option<&Advice> {
        let ExplainRow::Advice(at) = row else { return None };
        self.explanation()?.advice.get(at)
    }

    /// Returns a step of the open recovery.
    pub fn step(&self, at: usize) -> Option<&RecoveryRow> {
        self.recovery.rows().get(at)
    }

    pub fn way_out(&self, row: ExplainRow) -> Option<&WayOut> {
        let ExplainRow::WayOut(at) = row else { return None };
        self.explanation()?.ways_out().get(at).copied()
    }

    /// Returns the entry that a row leads to.
    pub fn entry(&self, row: ExplainRow) -> Option<EntryIx> {
        let explanation = self.explanation()?;
        match row {
            ExplainRow::Call => Some(explanation.failure.as_ref()?.overflow.entry),
            ExplainRow::Mechanism => explanation.mechanism.as_ref()?.entries.first().copied(),
            ExplainRow::Guard(at) => explanation.guards.get(at)?.entry,
            ExplainRow::Count(at) => explanation.counts.get(at)?.entry,
            ExplainRow::OtherCall(at) => Some(explanation.overflows.get(at)?.entry),
            ExplainRow::RecoveryStep(at) => self.step(at)?.entry,
            ExplainRow::CountedCall(at) => Some(self.estimators.calls().get(at)?.entry),
            ExplainRow::WayOut(_)
            | ExplainRow::Advice(_)
            | ExplainRow::Recovery
            | ExplainRow::Estimators
            | ExplainRow::Estimator(_) => None,
            ExplainRow::Evidence(..) => self.evidence(row)?.entries.first().copied(),
            ExplainRow::Finding(_) => {
                self.finding(row)?.evidence().into_iter().flat_map(|evidence| evidence.entries).next()
            }
        }
    }

    /// Returns the rule behind the selected row; empty if it has none.
    pub(in crate::app) fn cited_rule(&self) -> &'static str {
        let (Some(explanation), Some(row)) = (self.explanation(), self.selected()) else { return "" };
        let own = match row {
            ExplainRow::Guard(at) => explanation.guards.get(at).map(|guard| guard.rule),
            ExplainRow::RecoveryStep(at) => self.step(at).map(|step| step.rule),
            _ => self.evidence(row).map(|evidence| evidence.rule).filter(|rule| !rule.is_empty()),
        };
        own.or(self.finding(row).map(|finding| finding.rule)).unwrap_or_default()
    }

    pub(in crate::app) fn hints(&self) -> Vec<Hint> {
        let command = (&[Action::CopyCommand][..], "copy command");
        match self.selected() {
            Some(row @ ExplainRow::Advice(_)) => {
                let has_command = self.advice(row).is_some_and(|advice| !advice.commands.is_empty());
                let more = if has_command { command } else { (&[Action::CopyCommand][..], "copy path") };
                vec![MOVE, (&[Action::Open], "try in tuning"), (&[Action::Copy], "copy patch"), more, CLOSE]
            }
            Some(ExplainRow::Recovery) => vec![MOVE, fold_hint(self.recovery.is_open), CLOSE],
            Some(ExplainRow::Estimators) => vec![MOVE, fold_hint(self.estimators.is_open), CLOSE],
            Some(ExplainRow::WayOut(_)) => vec![MOVE, (&[Action::Open], "commit…"), command, CLOSE],
            _ => vec![MOVE, (&[Action::Open], "go to the entry"), (&[Action::Copy], "copy"), CLOSE],
        }
    }

    pub(in crate::app) fn on_action(&mut self, action: Action, context: &ScreenContext) -> Outcome {
        if let Some(outcome) = self.fold(action, context) {
            return outcome;
        }
        match action {
            Action::Open => self.open_row(),
            Action::Copy => self.copy_row(context.active_session.as_deref()),
            Action::CopyPatch => {
                Outcome::copy(self.shown_patch().map(|it| it.1.patch.clone()), "config patch")
            }
            Action::CopyCommand => self.copy_command(),
            _ => Outcome::Ignored,
        }
    }

    /// Opens or folds the block under the cursor; `None` if the action does neither.
    fn fold(&mut self, action: Action, context: &ScreenContext) -> Option<Outcome> {
        let row = self.selected()?;
        let (head, is_open) = match row {
            ExplainRow::Recovery | ExplainRow::RecoveryStep(_) => {
                (ExplainRow::Recovery, &mut self.recovery.is_open)
            }
            ExplainRow::Estimators | ExplainRow::Estimator(_) | ExplainRow::CountedCall(_) => {
                (ExplainRow::Estimators, &mut self.estimators.is_open)
            }
            _ => return None,
        };
        *is_open = match action {
            Action::Open if row == head => !*is_open,
            Action::Fold => !*is_open,
            Action::Right => true,
            Action::Left => false,
            _ => return None,
        };
        let (row, opened) = if *is_open { (row, row == head) } else { (head, false) };
        let mut outcome = Outcome::Done;
        if self.estimators.is_open && self.estimators.estimates().is_none() {
            self.estimators.state = EstimatesState::default();
            outcome = Outcome::Request(self.estimate_request(context).into_iter().collect());
        }
        if opened {
            // The title of an opened block moves to the top, as its rows are below it.
            self.scroll.top = usize::MAX;
        }
        self.list_rows(Some(row), context.size);
        Some(outcome)
    }

    /// Returns the request for the estimates while their block is open.
    pub(in crate::app) fn estimate_request(&self, context: &ScreenContext) -> Option<Effect> {
        let session = context.active_session.clone().filter(|_| self.estimators.is_open)?;
        Some(Effect::ComputeEstimates { session })
    }

    /// Moves to the entry of the selected row, applies its change to the tuning pane, or asks whether to write it.
    fn open_row(&self) -> Outcome {
        if let Some(way) = self.selected().and_then(|row| self.way_out(row)) {
            return Outcome::ByHand(way.change.clone());
        }
        if let Some(advice) = self.selected().and_then(|row| self.advice(row)) {
            let change = |change: &AdvisedChange| (change.id, change.setting_value.clone());
            return Outcome::Apply(advice.changes.iter().map(change).collect());
        }
        let entry = self.selected().and_then(|row| self.entry(row));
        entry.map_or(Outcome::Say("no entry for this line"), Outcome::GoTo)
    }

    pub(in crate::app) fn move_by(&mut self, by: isize, size: (u16, u16)) {
        let last = self.rows.len().saturating_sub(1);
        self.scroll.cursor = self.scroll.cursor.saturating_add_signed(by).min(last);
        self.keep_visible(size);
    }

    /// Scrolls so that the selected row is visible.
    fn keep_visible(&mut self, size: (u16, u16)) {
        let (page, shown) = (self.page(size), self.page_rows(size));
        let placed = self.selected().and_then(|row| page.row(row)).map(|placed| placed.area);
        let area = placed.unwrap_or_default();
        let margin = MARGIN.min(shown.saturating_sub(usize::from(area.height)) / 2);
        // A title and perhaps a chart are above the first row.
        let fits = usize::from(area.bottom()) <= shown;
        let first = self.scroll.cursor == 0 && fits;
        let highest = if first { 0 } else { usize::from(area.y).saturating_sub(margin) };
        let lowest = (usize::from(area.bottom()) + margin).saturating_sub(shown);
        self.scroll.top = self.scroll.top.clamp(lowest.min(highest), highest);
        self.scroll.top = self.scroll.top.min(usize::from(page.height).saturating_sub(shown));
    }

    /// Copies the patch of a change, the command of a way out, or the text of another row.
    fn copy_row(&self, session: Option<&LoadedSession>) -> Outcome {
        let Some(row) = self.selected() else { return Outcome::Done };
        if let Some(advice) = self.advice(row) {
            return Outcome::copy(Some(advice.patch.clone()), "config patch");
        }
        if let Some(way) = self.way_out(row) {
            return Outcome::copy(Some(way.command.clone()), "command");
        }
        let call = match row {
            ExplainRow::CountedCall(at) => self.estimators.calls().get(at),
            _ => None,
        };
        let call = call.map(|call| EstimatorsBlock::call_text(call, session));
        Outcome::copy(call.or_else(|| Some(self.row_text(row))), "line")
    }

    /// Copies the command that makes the shown change. No command sets a value of pi, so its file is copied instead.
    fn copy_command(&self) -> Outcome {
        if let Some(way) = self.selected().and_then(|row| self.way_out(row)) {
            return Outcome::copy(Some(way.command.clone()), "command");
        }
        let Some((_, advice)) = self.shown_patch() else { return Outcome::Say("no change to copy") };
        if !advice.commands.is_empty() {
            return Outcome::copy(Some(advice.commands.join("\n")), "command");
        }
        match advice.changes.iter().find_map(|change| change.file.as_deref()) {
            Some(file) => Outcome::copy(Some(file.display().to_string()), "path of the settings file"),
            None => Outcome::Say("no command sets this; copy the patch"),
        }
    }

    /// The whole text of a row.
    pub fn row_text(&self, row: ExplainRow) -> String {
        match row {
            ExplainRow::Recovery => self.recovery.headline(),
            ExplainRow::RecoveryStep(at) => {
                self.step(at).map(|step| format!("{}: {}", step.label, step_text(step))).unwrap_or_default()
            }
            ExplainRow::Estimators => self.estimators.headline(),
            ExplainRow::Estimator(at) => self.estimators.estimator_text(Estimator::ALL[at]),
            row => self.explanation().map(|it| wording::row_text(it, row)).unwrap_or_default(),
        }
    }
}

fn fold_hint(is_open: bool) -> Hint {
    (&[Action::Open], if is_open { "fold" } else { "unfold" })
}
