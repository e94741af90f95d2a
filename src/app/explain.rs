//! The explanation over the whole screen: findings with their evidence and what would have helped, as rows with a cursor.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::scroll::Scroll;
use crate::app::state::{App, Overlay};
use crate::explain::{Advice, Evidence, Explanation, Finding};
use crate::ids::EntryIx;
use crate::js::Value;

/// Rows above the list: the title line, and the verdict.
pub const HEAD_ROWS: u16 = 4;
/// Rows below it: a hairline, and the words of the row under the cursor.
pub const FOOT_ROWS: u16 = 5;
/// Header and status line of the program.
const AROUND: u16 = 2;

/// Rows of the bar of the call that failed: the bar, what it is, a blank.
const CALL_ROWS: u16 = 3;

/// Rows between head and foot on a screen of this height.
fn room(height: u16) -> u16 {
    height.saturating_sub(AROUND + HEAD_ROWS + FOOT_ROWS)
}

/// The letter before a change.
pub fn letter(at: usize) -> char {
    char::from(b'a' + (at % 26) as u8)
}

/// What a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainRow {
    /// Another finding than the verdict.
    Finding(usize),
    /// A line of evidence of a finding.
    Evidence(usize, usize),
    /// The head of what was tried.
    AdviceHead,
    /// A change that was tried.
    Advice(usize),
}

/// What is shown.
#[derive(Debug, Clone, Default)]
pub struct ExplainScreen {
    /// The explanation, or why there is none; none while it is being read.
    pub view: Option<Result<Arc<Explanation>, String>>,
    /// The rows of its list.
    pub rows: Vec<ExplainRow>,
    /// Cursor.
    pub scroll: Scroll,
}

/// The rows of an explanation: the evidence of the verdict, which stands above the list, the other findings with theirs,
/// and what was tried.
fn rows(explanation: &Explanation) -> Vec<ExplainRow> {
    let mut rows = Vec::new();
    for (at, finding) in explanation.findings.iter().enumerate() {
        if at > 0 {
            rows.push(ExplainRow::Finding(at));
        }
        rows.extend((0..finding.evidence.len()).map(|line| ExplainRow::Evidence(at, line)));
    }
    if explanation.overflowed() || !explanation.advice.is_empty() {
        rows.push(ExplainRow::AdviceHead);
        rows.extend((0..explanation.advice.len()).map(ExplainRow::Advice));
    }
    rows
}

impl ExplainScreen {
    /// The explanation, once it is there.
    pub fn explanation(&self) -> Option<&Arc<Explanation>> {
        self.view.as_ref()?.as_ref().ok()
    }

    /// Rows of the bar of the call that failed on a screen of this height: none where the list would have to be scrolled for
    /// it.
    pub fn call_rows(&self, height: u16) -> u16 {
        let failed = self.explanation().is_some_and(|explanation| explanation.failure.is_some());
        let fits = self.rows.len() + usize::from(CALL_ROWS) <= usize::from(room(height));
        if failed && fits { CALL_ROWS } else { 0 }
    }

    /// Rows of the list on a screen of this height.
    pub fn list_rows(&self, height: u16) -> usize {
        usize::from(room(height) - self.call_rows(height))
    }

    /// The change whose patch is shown, and its letter: the one under the cursor, else the first that helps.
    pub fn patched(&self) -> Option<(char, &Advice)> {
        let advice = &self.explanation()?.advice;
        let at = match self.selected() {
            Some(ExplainRow::Advice(at)) => at,
            _ => advice.iter().position(|advice| advice.helps)?,
        };
        Some((letter(at), advice.get(at)?))
    }

    /// The row under the cursor.
    pub fn selected(&self) -> Option<ExplainRow> {
        self.rows.get(self.scroll.cursor).copied()
    }

    /// The finding that a row belongs to.
    pub fn finding(&self, row: ExplainRow) -> Option<&Finding> {
        match row {
            ExplainRow::Finding(at) | ExplainRow::Evidence(at, _) => self.explanation()?.findings.get(at),
            ExplainRow::AdviceHead | ExplainRow::Advice(_) => None,
        }
    }

    /// The evidence of a row.
    pub fn evidence(&self, row: ExplainRow) -> Option<&Evidence> {
        let ExplainRow::Evidence(_, line) = row else { return None };
        self.finding(row)?.evidence.get(line)
    }

    /// The change of a row.
    pub fn advice(&self, row: ExplainRow) -> Option<&Advice> {
        let ExplainRow::Advice(at) = row else { return None };
        self.explanation()?.advice.get(at)
    }

    /// The entry that a row leads to: that of its evidence, else the first of its finding.
    pub fn entry(&self, row: ExplainRow) -> Option<EntryIx> {
        match self.evidence(row) {
            Some(evidence) => evidence.entries.first().copied(),
            None => self.finding(row)?.evidence.iter().find_map(|evidence| evidence.entries.first().copied()),
        }
    }

    fn on_advice(&self) -> bool {
        matches!(self.selected(), Some(ExplainRow::Advice(_)))
    }

    /// What enter does here.
    pub fn open_words(&self) -> &'static str {
        if self.on_advice() { "take into tuning" } else { "go to the entry" }
    }

    /// What `y` does here.
    pub fn copy_words(&self) -> &'static str {
        if self.on_advice() { "copy patch" } else { "copy" }
    }

    /// Moves the cursor on a screen of this height.
    pub(super) fn step(&mut self, by: isize, height: u16) {
        let shown = self.list_rows(height);
        self.scroll.step(by, self.rows.len(), shown);
    }

    /// What is copied of the row under the cursor, and what that is: the patch of a change, of the first that helps where
    /// that is asked for, else the words.
    pub(super) fn copied(&self, patch: bool) -> Option<(String, &'static str)> {
        let explanation = self.explanation()?;
        let row = self.selected()?;
        if let Some(advice) = self.advice(row) {
            return Some((advice.patch.clone(), "config patch"));
        }
        if patch {
            let helps = explanation.advice.iter().find(|advice| advice.helps)?;
            return Some((helps.patch.clone(), "config patch"));
        }
        let text = self
            .evidence(row)
            .map(|evidence| &evidence.text)
            .or_else(|| self.finding(row).map(|it| &it.line))?;
        Some((text.clone(), "line"))
    }
}

impl App {
    /// Opens the screen and asks for what it shows.
    pub(super) fn open_explain(&mut self) -> Vec<Effect> {
        if self.inspection().is_none() {
            self.toast("no session is open".into(), false);
            return Vec::new();
        }
        self.overlay = Some(Overlay::Explain(ExplainScreen::default()));
        self.ask_explain()
    }

    /// Asks for the explanation, while its screen is open.
    pub(super) fn ask_explain(&self) -> Vec<Effect> {
        let open = matches!(self.overlay, Some(Overlay::Explain(_)));
        let inspection = self.inspection().filter(|_| open).map(Arc::clone);
        inspection.map(|inspection| Effect::Explain { inspection }).into_iter().collect()
    }

    /// Takes the explanation.
    pub(super) fn explained(&mut self, view: Result<Arc<Explanation>, String>) {
        let height = self.size.1;
        let Some(Overlay::Explain(screen)) = &mut self.overlay else { return };
        screen.rows = view.as_ref().map(|explanation| rows(explanation)).unwrap_or_default();
        screen.view = Some(view);
        screen.step(0, height);
    }

    /// Goes to the entry of the row under the cursor, or takes its change into the tuning pane.
    pub(super) fn leave_explain(&mut self) {
        let Some(Overlay::Explain(screen)) = &self.overlay else { return };
        if let Some(advice) = screen.selected().and_then(|row| screen.advice(row)).cloned() {
            let settings: Vec<(&str, &Value)> =
                advice.changes.iter().map(|change| (change.key.as_str(), &change.tuned)).collect();
            self.take_settings(&settings);
            return;
        }
        let Some(entry) = screen.selected().and_then(|row| screen.entry(row)) else {
            self.toast("no entry is behind this line".into(), false);
            return;
        };
        self.overlay = None;
        self.zoom = false;
        self.focus_on(Pane::Transcript);
        let height = self.height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.follow = false;
            pane.reveal(entry, height);
        }
    }
}
