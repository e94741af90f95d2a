//! The state of the window contents screen: its sections, folds and cursor.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::format::{format_estimate, format_number};
use crate::plan::Plan;
use crate::report::breakdown::{Figure, HeavyBlocks, Line, Section, SectionKind, WindowContents, sections};
use crate::session::LoadedSession;

/// Rows below the list: a hairline, and two for a sentence about the selected row.
pub const FOOTER_ROWS: u16 = 3;

#[derive(Debug, Clone)]
pub struct BreakdownScreen {
    pub contents: WindowContents,
    /// The heaviest blocks read so far.
    pub blocks: HeavyBlocks,
    pub sections: Vec<Section>,
    pub unfolded: BTreeSet<SectionKind>,
    /// All rows: the index of a section, and of a line in it unless the row is the section itself.
    pub rows: Vec<(usize, Option<usize>)>,
    pub scroll: Scroll,
}

impl BreakdownScreen {
    /// Shows the window of a session, with its largest part and the heaviest messages unfolded.
    pub fn new(session: &LoadedSession, plan: Option<&Plan>) -> Self {
        let contents = WindowContents::new(session, plan);
        let blocks = HeavyBlocks::new();
        let sections = sections(session, &contents, &blocks);
        let parts = sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
        let largest = parts.max_by_key(|section| section.figure.tokens()).map(|section| section.kind);
        let open = largest.into_iter().chain([SectionKind::Heaviest]).collect();
        let mut screen =
            Self { contents, blocks, sections, unfolded: open, rows: Vec::new(), scroll: Scroll::default() };
        screen.rebuild_rows(0);
        screen
    }

    /// Shows a new reading or another plan; keeps folds and cursor.
    pub(in crate::app) fn refresh(&mut self, context: &ScreenContext) {
        let Some(session) = &context.session else { return };
        self.contents = WindowContents::new(session, context.plan.as_deref());
        self.blocks.clear();
        self.rebuild_sections(session, Self::list_rows(context));
    }

    pub(in crate::app) fn list_rows(context: &ScreenContext) -> usize {
        usize::from(context.layout.below_bars(context.size).height.saturating_sub(1 + FOOTER_ROWS))
    }

    pub(in crate::app) fn requests(&self, session: Arc<LoadedSession>) -> Vec<Effect> {
        let entries = self.contents.heaviest_entries();
        if entries.is_empty() { Vec::new() } else { vec![Effect::ReadBlocks { session, entries }] }
    }

    pub(in crate::app) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        self.scroll.move_by(by, self.rows.len(), Self::list_rows(context));
    }

    pub(in crate::app) fn hints(&self) -> Vec<Hint> {
        let leads = self.selected().is_some_and(|(_, line)| line.is_some_and(|line| line.entry.is_some()));
        vec![
            MOVE,
            (&[Action::Open], if leads { "go to the entry" } else { "fold" }),
            (&[Action::More, Action::Less], "all"),
            (&[Action::Copy], "copy"),
            CLOSE,
        ]
    }

    pub(in crate::app) fn on_action(&mut self, action: Action, context: &ScreenContext) -> Outcome {
        let height = Self::list_rows(context);
        match action {
            Action::Open => return self.open_row(height),
            Action::Copy => return Outcome::copy(self.row_text(), "line"),
            Action::Fold => self.fold(None, height),
            Action::Less => self.fold_all(false, height),
            Action::More => self.fold_all(true, height),
            Action::Left => self.fold(Some(false), height),
            Action::Right => self.fold(Some(true), height),
            _ => return Outcome::Ignored,
        }
        Outcome::Done
    }

    /// Moves to the message of the selected line; toggles the fold of any other row.
    fn open_row(&mut self, height: usize) -> Outcome {
        if let Some(entry) = self.selected().and_then(|(_, line)| line?.entry) {
            return Outcome::GoTo(entry);
        }
        self.fold(None, height);
        Outcome::Done
    }

    /// Handles a click: selects a row; a click on the selected row opens it.
    pub(in crate::app) fn on_click(&mut self, row: u16, context: &ScreenContext) -> Outcome {
        let (area, height) = (context.layout.below_bars(context.size), Self::list_rows(context));
        let line = usize::from(row).checked_sub(usize::from(area.y) + 1).filter(|line| *line < height);
        let Some(at) = line.map(|line| self.scroll.top + line).filter(|at| *at < self.rows.len()) else {
            return Outcome::Done;
        };
        if at == self.scroll.cursor {
            return self.open_row(height);
        }
        self.scroll.move_to(at, self.rows.len(), height);
        Outcome::Done
    }

    pub(super) fn add_blocks(&mut self, blocks: HeavyBlocks, session: &LoadedSession, height: usize) {
        self.blocks.extend(blocks);
        self.rebuild_sections(session, height);
    }

    /// Rebuilds the sections; the cursor stays on the line with its name.
    fn rebuild_sections(&mut self, session: &LoadedSession, height: usize) {
        let name =
            |(section, line): (&Section, Option<&Line>)| (section.kind, line.map(|line| line.label.clone()));
        let (at, was) = (self.scroll.cursor, self.selected().map(name));
        self.sections = sections(session, &self.contents, &self.blocks);
        self.rebuild_rows(height);
        let is = |row: &(usize, Option<usize>)| Some(name(self.row(*row))) == was;
        // Several lines may share a name, so the cursor moves only if its row has another name now.
        let there = self.rows.get(at).is_some_and(is);
        if let Some(row) = self.rows.iter().position(is).filter(|_| !there) {
            self.scroll.move_to(row, self.rows.len(), height);
        }
    }

    fn rebuild_rows(&mut self, height: usize) {
        self.rows.clear();
        for (at, section) in self.sections.iter().enumerate() {
            self.rows.push((at, None));
            if self.unfolded.contains(&section.kind) {
                self.rows.extend((0..section.lines.len()).map(|line| (at, Some(line))));
            }
        }
        self.scroll.move_to(self.scroll.cursor, self.rows.len(), height);
    }

    pub(super) fn row(&self, (section, line): (usize, Option<usize>)) -> (&Section, Option<&Line>) {
        let section = &self.sections[section];
        (section, line.and_then(|line| section.lines.get(line)))
    }

    pub fn selected(&self) -> Option<(&Section, Option<&Line>)> {
        self.rows.get(self.scroll.cursor).map(|row| self.row(*row))
    }

    /// Every row with its index.
    pub fn numbered_rows(&self) -> impl Iterator<Item = (usize, &Section, Option<&Line>)> {
        self.rows.iter().enumerate().map(|(at, row)| {
            let (section, line) = self.row(*row);
            (at, section, line)
        })
    }

    /// The selected row as a line of text with exact numbers.
    pub fn row_text(&self) -> Option<String> {
        let (section, line) = self.selected()?;
        let (name, figure, note) = line.map_or((section.title, section.figure, &section.note), |line| {
            (&line.label, line.figure, &line.note)
        });
        let tokens = match figure {
            Figure::Estimated(tokens) => format!("{} tokens", format_estimate(tokens)),
            Figure::Measured(tokens) => format!("{} tokens", format_number(tokens)),
            Figure::Difference(tokens) => format!("{tokens:+} tokens"),
            Figure::Unknown => "—".to_owned(),
        };
        let words = [name.to_owned(), tokens, note.clone()];
        Some(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("  "))
    }

    /// Folds (`Some(false)`), unfolds or toggles (`None`) the section of the cursor; after folding, the cursor is on
    /// the section's own row.
    fn fold(&mut self, open: Option<bool>, height: usize) {
        let Some((section, _)) = self.rows.get(self.scroll.cursor).copied() else { return };
        let kind = self.sections[section].kind;
        if open.unwrap_or(!self.unfolded.contains(&kind)) {
            self.unfolded.insert(kind);
        } else {
            self.unfolded.remove(&kind);
            self.scroll.cursor = self.rows.iter().position(|row| *row == (section, None)).unwrap_or(0);
        }
        self.rebuild_rows(height);
    }

    fn fold_all(&mut self, open: bool, height: usize) {
        let at = self.rows.get(self.scroll.cursor).map_or(0, |row| row.0);
        self.unfolded =
            if open { self.sections.iter().map(|section| section.kind).collect() } else { BTreeSet::new() };
        self.rebuild_rows(height);
        let row = self.rows.iter().position(|row| *row == (at, None)).unwrap_or(0);
        self.scroll.move_to(row, self.rows.len(), height);
    }
}
