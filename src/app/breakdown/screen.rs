//! The state of the window contents screen: its sections, folds and cursor.

use std::collections::BTreeSet;

use crate::app::scroll::Scroll;
use crate::format::{format_estimate, format_number};
use crate::plan::Plan;
use crate::report::breakdown::{Figure, HeavyBlocks, Line, Section, SectionKind, WindowContents, sections};
use crate::session::LoadedSession;

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
    pub fn new(inspection: &LoadedSession, plan: Option<&Plan>) -> Self {
        let contents = WindowContents::new(inspection, plan);
        let blocks = HeavyBlocks::new();
        let sections = sections(inspection, &contents, &blocks);
        let parts = sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
        let largest = parts.max_by_key(|section| section.figure.tokens()).map(|section| section.kind);
        let open = largest.into_iter().chain([SectionKind::Heaviest]).collect();
        let mut screen =
            Self { contents, blocks, sections, unfolded: open, rows: Vec::new(), scroll: Scroll::default() };
        screen.rebuild_rows(0);
        screen
    }

    /// Shows a new reading or another plan; keeps folds and cursor.
    pub(super) fn refresh(&mut self, inspection: &LoadedSession, plan: Option<&Plan>, height: usize) {
        self.contents = WindowContents::new(inspection, plan);
        self.blocks.clear();
        self.rebuild_sections(inspection, height);
    }

    pub(super) fn add_blocks(&mut self, blocks: HeavyBlocks, inspection: &LoadedSession, height: usize) {
        self.blocks.extend(blocks);
        self.rebuild_sections(inspection, height);
    }

    /// Rebuilds the sections; the cursor stays on the line with its name.
    fn rebuild_sections(&mut self, inspection: &LoadedSession, height: usize) {
        let name =
            |(section, line): (&Section, Option<&Line>)| (section.kind, line.map(|line| line.label.clone()));
        let (at, was) = (self.scroll.cursor, self.selected().map(name));
        self.sections = sections(inspection, &self.contents, &self.blocks);
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
    pub(super) fn fold(&mut self, open: Option<bool>, height: usize) {
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

    pub(super) fn fold_all(&mut self, open: bool, height: usize) {
        let at = self.rows.get(self.scroll.cursor).map_or(0, |row| row.0);
        self.unfolded =
            if open { self.sections.iter().map(|section| section.kind).collect() } else { BTreeSet::new() };
        self.rebuild_rows(height);
        let row = self.rows.iter().position(|row| *row == (at, None)).unwrap_or(0);
        self.scroll.move_to(row, self.rows.len(), height);
    }
}
