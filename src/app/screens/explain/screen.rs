//! The state of the explain screen: the explanation, its rows and the cursor.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::explain::folded::{FoldedBlock, FoldedReport};
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::doc::{self, Doc};
use crate::ids::EntryIx;
use crate::report::explain::{
    Advice, AdvisedChange, Explanation, Question, WayOut, advice_letter, error_message,
};
use crate::session::LoadedSession;

/// Lines of the page that stay visible around the cursor.
const MARGIN: usize = 2;

#[derive(Debug, Clone)]
pub struct ExplainScreen {
    /// The explanation, or why it failed; `None` while it is being computed.
    pub result: Option<Result<Arc<Explanation>, EffectError>>,
    /// The answers of the explanation.
    docs: Vec<(Question, Doc)>,
    /// The selectable rows.
    pub rows: Vec<ExplainRow>,
    /// The selected row, and the first visible line of the page.
    pub scroll: Scroll,
    pub recovery: FoldedBlock,
    pub estimators: FoldedBlock,
}

impl Default for ExplainScreen {
    fn default() -> Self {
        let estimators = "compare every estimator with the provider's counts (reads every message)";
        Self {
            result: None,
            docs: Vec::new(),
            rows: Vec::new(),
            scroll: Scroll::default(),
            recovery: FoldedBlock::new("reading…"),
            estimators: FoldedBlock::new(estimators),
        }
    }
}

impl ExplainScreen {
    pub fn explanation(&self) -> Option<&Arc<Explanation>> {
        self.result.as_ref()?.as_ref().ok()
    }

    pub(in crate::app) fn is_waiting(&self) -> bool {
        let estimates = self.estimators.is_open && self.estimators.is_awaited();
        self.result.is_none() || self.recovery.is_awaited() || estimates
    }

    /// Returns the change whose patch is shown, with its letter: the selected one, otherwise the first that helps.
    pub fn shown_patch(&self) -> Option<(char, &Advice)> {
        let advice = &self.explanation()?.advice;
        let at = match self.selected() {
            Some(row) if self.advice(row).is_some() => answer_row(row, Question::Advice)?,
            _ => advice.iter().position(|advice| advice.fits_all)?,
        };
        Some((advice_letter(at), advice.get(at)?))
    }

    pub fn selected(&self) -> Option<ExplainRow> {
        self.rows.get(self.scroll.cursor).copied()
    }

    pub fn advice(&self, row: ExplainRow) -> Option<&Advice> {
        self.explanation()?.advice.get(answer_row(row, Question::Advice)?)
    }

    pub fn way_out(&self, row: ExplainRow) -> Option<&WayOut> {
        self.explanation()?.ways_out().get(answer_row(row, Question::WaysOut)?).copied()
    }

    /// Shows an explanation, answered question by question.
    pub(super) fn set_result(
        &mut self,
        result: Result<Arc<Explanation>, EffectError>,
        session: Option<&LoadedSession>,
    ) {
        let docs = result.iter().zip(session).flat_map(|(explanation, session)| {
            Question::ALL.map(|question| (question, explanation.doc(session, question)))
        });
        self.docs = docs.collect();
        self.result = Some(result);
    }

    /// Drops the explanation and its rows until the next one arrives.
    pub(in crate::app) fn forget_result(&mut self) {
        (self.result, self.docs, self.rows) = (None, Vec::new(), Vec::new());
    }

    /// Returns the document of a block on the page; `None` while it is folded, and for a block that is drawn.
    pub fn doc(&self, block: ExplainBlock) -> Option<&Doc> {
        match block {
            ExplainBlock::Answer(question) => {
                self.docs.iter().find(|(own, _)| *own == question).map(|(_, doc)| doc)
            }
            ExplainBlock::Folded(report) => self.folded(report).shown(),
            ExplainBlock::Chart | ExplainBlock::Call | ExplainBlock::NextPrompt => None,
        }
    }

    pub fn folded(&self, report: FoldedReport) -> &FoldedBlock {
        match report {
            FoldedReport::Recovery => &self.recovery,
            FoldedReport::Estimators => &self.estimators,
        }
    }

    pub(super) fn folded_mut(&mut self, report: FoldedReport) -> &mut FoldedBlock {
        match report {
            FoldedReport::Recovery => &mut self.recovery,
            FoldedReport::Estimators => &mut self.estimators,
        }
    }

    fn line(&self, row: ExplainRow) -> Option<&doc::Row> {
        let ExplainRow::Line(block, at) = row else { return None };
        self.doc(block)?.rows().nth(at)
    }

    /// Returns the entry that a row leads to.
    pub fn entry(&self, row: ExplainRow) -> Option<EntryIx> {
        match row {
            ExplainRow::Call => Some(self.explanation()?.failure.as_ref()?.overflow.entry),
            _ => self.line(row)?.entry,
        }
    }

    /// Returns the rule behind the selected row; empty if it has none.
    pub(in crate::app) fn cited_rule(&self) -> &'static str {
        self.selected().and_then(|row| self.line(row)).map_or("", |line| line.rule)
    }

    pub(in crate::app) fn hints(&self) -> Vec<Hint> {
        let command = (&[Action::CopyCommand][..], "copy command");
        let row = self.selected();
        if let Some(advice) = row.and_then(|row| self.advice(row)) {
            let path = (&[Action::CopyCommand][..], "copy path");
            let more = if advice.commands.is_empty() { path } else { command };
            return vec![
                MOVE,
                (&[Action::Open], "try in tuning"),
                (&[Action::Copy], "copy patch"),
                more,
                CLOSE,
            ];
        }
        match row {
            Some(ExplainRow::Headline(report)) => {
                vec![MOVE, fold_hint(self.folded(report).is_open), CLOSE]
            }
            Some(row) if self.way_out(row).is_some() => {
                vec![MOVE, (&[Action::Open], "commit…"), command, CLOSE]
            }
            _ => vec![MOVE, (&[Action::Open], "go to the entry"), (&[Action::Copy], "copy the row"), CLOSE],
        }
    }

    pub(in crate::app) fn on_action(&mut self, action: Action, context: &ScreenContext) -> Outcome {
        if let Some(outcome) = self.fold(action, context) {
            return outcome;
        }
        match action {
            Action::Open => self.open_row(),
            Action::Copy => self.copy_row(),
            Action::CopyPatch => self.shown_patch().map_or(Outcome::Done, |(_, advice)| copy_patch(advice)),
            Action::CopyCommand => self.copy_command(),
            Action::NextPane | Action::PreviousPane => self.go_to_block(action, context.size),
            _ => Outcome::Ignored,
        }
    }

    /// Selects the row of a click; a click on the selected row or on a fold opens it.
    pub(in crate::app) fn on_click(&mut self, (column, row): (u16, u16), context: &ScreenContext) -> Outcome {
        let above = context.body().y + self.headline_rows(context.size);
        let line = row.checked_sub(above).filter(|line| usize::from(*line) < self.page_rows(context.size));
        let Some(line) = line.map(|line| line + self.scroll.top as u16) else { return Outcome::Done };
        let page = self.page(context.size);
        let mut placed = page.blocks.iter().flat_map(|block| &block.rows);
        let hit = placed.find(|placed| placed.area.contains((column, line).into())).map(|placed| placed.row);
        let Some(at) = self.rows.iter().position(|row| Some(*row) == hit) else { return Outcome::Done };
        let again = std::mem::replace(&mut self.scroll.cursor, at) == at;
        if again || matches!(hit, Some(ExplainRow::Headline(_))) {
            return self.on_action(Action::Open, context);
        }
        Outcome::Done
    }

    /// Moves to the first row of the next or the previous block; behind the last one is the first.
    fn go_to_block(&mut self, action: Action, size: (u16, u16)) -> Outcome {
        let is_first = |at: &usize| *at == 0 || self.rows[*at].block() != self.rows[*at - 1].block();
        let firsts: Vec<usize> = (0..self.rows.len()).filter(is_first).collect();
        let now = firsts.partition_point(|first| *first <= self.scroll.cursor).saturating_sub(1);
        let step = if action == Action::NextPane { 1 } else { firsts.len().saturating_sub(1) };
        let to = firsts.get((now + step) % firsts.len().max(1));
        self.scroll.cursor = to.copied().unwrap_or(self.scroll.cursor);
        self.move_by(0, size);
        Outcome::Done
    }

    /// Opens or folds the block under the cursor; `None` if the action does neither.
    fn fold(&mut self, action: Action, context: &ScreenContext) -> Option<Outcome> {
        let row = self.selected()?;
        let (ExplainRow::Headline(report) | ExplainRow::Line(ExplainBlock::Folded(report), _)) = row else {
            return None;
        };
        let head = ExplainRow::Headline(report);
        let is_open = &mut self.folded_mut(report).is_open;
        *is_open = match action {
            Action::Open if row == head => !*is_open,
            Action::Fold => !*is_open,
            Action::Right => true,
            Action::Left => false,
            _ => return None,
        };
        let (row, opened) = if *is_open { (row, row == head) } else { (head, false) };
        let mut outcome = Outcome::Done;
        if report == FoldedReport::Estimators && self.estimators.shown().is_none() {
            self.estimators.ask_again();
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
    fn copy_row(&self) -> Outcome {
        let Some(row) = self.selected() else { return Outcome::Done };
        if let Some(advice) = self.advice(row) {
            return copy_patch(advice);
        }
        if let Some(way) = self.way_out(row) {
            return Outcome::copy(Some(way.command.clone()), "command");
        }
        Outcome::copy(Some(self.row_text(row)), "line")
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
            ExplainRow::Headline(report) => self.folded(report).headline.clone(),
            ExplainRow::Line(..) => self.line(row).map(doc::Row::text).unwrap_or_default(),
            ExplainRow::Call => {
                let failure = self.explanation().and_then(|explanation| explanation.failure.as_ref());
                failure.map(|it| error_message(&it.overflow.shown_text())).unwrap_or_default()
            }
        }
    }
}

/// Copies the patch of a change, and says so if the change does not help.
fn copy_patch(advice: &Advice) -> Outcome {
    let label = if advice.fits_all { "config patch" } else { "config patch (does not help)" };
    Outcome::copy(Some(advice.patch.clone()), label)
}

/// Returns the index of a row in the answer to a question.
fn answer_row(row: ExplainRow, question: Question) -> Option<usize> {
    match row {
        ExplainRow::Line(ExplainBlock::Answer(own), at) if own == question => Some(at),
        _ => None,
    }
}

fn fold_hint(is_open: bool) -> Hint {
    (&[Action::Open], if is_open { "fold" } else { "unfold" })
}

/// A titled block of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainBlock {
    /// The chart of the calls.
    Chart,
    /// The refused call as a bar.
    Call,
    /// The next prompt as a bar, when no call was refused.
    NextPrompt,
    /// A document of the explanation.
    Answer(Question),
    /// A document of another report, which opens in place.
    Folded(FoldedReport),
}

/// A selectable row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainRow {
    /// The explained call.
    Call,
    /// The headline of a report that opens in place.
    Headline(FoldedReport),
    /// A row of a block's document.
    Line(ExplainBlock, usize),
}

impl ExplainRow {
    pub(super) fn block(self) -> ExplainBlock {
        match self {
            Self::Call => ExplainBlock::Call,
            Self::Headline(report) => ExplainBlock::Folded(report),
            Self::Line(block, _) => block,
        }
    }

    /// Returns the row of an answer.
    pub fn of(question: Question, at: usize) -> Self {
        Self::Line(ExplainBlock::Answer(question), at)
    }
}
