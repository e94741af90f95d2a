//! The window contents screen: foldable sections, a cursor, and a way from a line to its message.

use std::collections::BTreeSet;
use std::sync::Arc;

use ratatui::layout::Rect;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::scroll::Scroll;
use crate::app::state::{App, Overlay};
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
    fn refresh(&mut self, session: &LoadedSession, plan: Option<&Plan>, height: usize) {
        self.contents = WindowContents::new(session, plan);
        self.blocks.clear();
        self.rebuild_sections(session, height);
    }

    fn add_blocks(&mut self, blocks: HeavyBlocks, session: &LoadedSession, height: usize) {
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

    fn row(&self, (section, line): (usize, Option<usize>)) -> (&Section, Option<&Line>) {
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
            Figure::Estimated(tokens) => format!("~{tokens} tokens"),
            Figure::Measured(tokens) => format!("{tokens} tokens"),
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

impl App {
    pub fn breakdown_area(&self) -> Rect {
        self.layout().below_bars(self.size)
    }

    pub fn breakdown_rows(&self) -> usize {
        usize::from(self.breakdown_area().height.saturating_sub(1 + FOOTER_ROWS))
    }

    pub(super) fn open_breakdown(&mut self) -> Vec<Effect> {
        let Some(session) = self.displayed_session().cloned() else {
            self.show_toast("no session is open".into(), false);
            return Vec::new();
        };
        let screen = BreakdownScreen::new(&session, self.plan.as_deref());
        let effects = request_blocks(&screen, session);
        self.overlay = Some(Overlay::Breakdown(Box::new(screen)));
        effects
    }

    pub(super) fn close_breakdown_without_session(&mut self) {
        if self.transcript.is_none() && matches!(self.overlay, Some(Overlay::Breakdown(_))) {
            self.overlay = None;
        }
    }

    /// Refreshes the screen after the session was read again or another one was opened.
    pub(super) fn refresh_breakdown(&mut self) -> Vec<Effect> {
        let height = self.breakdown_rows();
        let (Some(session), plan) = (self.displayed_session().cloned(), self.plan.clone()) else {
            return Vec::new();
        };
        let Some(Overlay::Breakdown(screen)) = &mut self.overlay else { return Vec::new() };
        screen.refresh(&session, plan.as_deref(), height);
        request_blocks(screen, session)
    }

    pub(super) fn on_blocks(&mut self, blocks: HeavyBlocks) {
        let height = self.breakdown_rows();
        let Some(session) = self.displayed_session().cloned() else { return };
        if let Some(Overlay::Breakdown(screen)) = &mut self.overlay {
            screen.add_blocks(blocks, &session, height);
        }
    }

    pub(super) fn fold_breakdown(&mut self, action: Action) {
        let height = self.breakdown_rows();
        let Some(Overlay::Breakdown(screen)) = &mut self.overlay else { return };
        match action {
            Action::FoldAll => screen.fold_all(false, height),
            Action::UnfoldAll => screen.fold_all(true, height),
            Action::Collapse => screen.fold(Some(false), height),
            Action::Expand => screen.fold(Some(true), height),
            _ => screen.fold(None, height),
        }
    }

    /// Moves to the message of the selected line; toggles the fold of any other row.
    pub(super) fn open_breakdown_row(&mut self) {
        let Some(Overlay::Breakdown(screen)) = &self.overlay else { return };
        let Some(entry) = screen.selected().and_then(|(_, line)| line?.entry) else {
            self.fold_breakdown(Action::Fold);
            return;
        };
        self.go_to_entry(entry);
    }

    /// Handles a click: selects a row; a click on the selected row opens it.
    pub(super) fn click_breakdown(&mut self, row: u16) -> Vec<Effect> {
        let (area, height) = (self.breakdown_area(), self.breakdown_rows());
        let Some(Overlay::Breakdown(screen)) = &mut self.overlay else { return Vec::new() };
        let line = usize::from(row).checked_sub(usize::from(area.y) + 1).filter(|line| *line < height);
        let Some(at) = line.map(|line| screen.scroll.top + line).filter(|at| *at < screen.rows.len()) else {
            return Vec::new();
        };
        if at == screen.scroll.cursor {
            self.open_breakdown_row();
        } else {
            screen.scroll.move_to(at, screen.rows.len(), height);
        }
        Vec::new()
    }
}

fn request_blocks(screen: &BreakdownScreen, loaded: Arc<LoadedSession>) -> Vec<Effect> {
    let entries = screen.contents.heaviest_entries();
    if entries.is_empty() { Vec::new() } else { vec![Effect::ReadBlocks { session: loaded, entries }] }
}
