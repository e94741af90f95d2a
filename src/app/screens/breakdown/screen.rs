//! The state of the window contents screen.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::doc_page::{DocPage, PageSize};
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::plan::Plan;
use crate::report::breakdown::{HeavyBlocks, Section, SectionKind, WindowContents, sections};
use crate::session::LoadedSession;

/// Rows below the list: a hairline, and two for a sentence about the selected row.
pub const FOOTER_ROWS: u16 = 3;

#[derive(Debug, Clone)]
pub struct BreakdownScreen {
    pub contents: WindowContents,
    /// The heaviest blocks read so far.
    pub blocks: HeavyBlocks,
    pub sections: Vec<Section>,
    pub page: DocPage,
}

impl BreakdownScreen {
    /// Shows the window of a session, with its largest part and the heaviest messages unfolded.
    pub fn new(session: &LoadedSession, plan: Option<&Plan>) -> Self {
        let contents = WindowContents::new(session, plan);
        let blocks = HeavyBlocks::new();
        let sections = sections(session, &contents, &blocks);
        let parts = sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
        let largest = parts.max_by_key(|section| section.figure.tokens()).map(|section| section.kind);
        let is_folded =
            |section: &&Section| section.kind != SectionKind::Heaviest && Some(section.kind) != largest;
        let folded = sections.iter().filter(is_folded).map(|section| section.title.to_owned()).collect();
        let doc = contents.doc(session, &sections, usize::MAX);
        Self { contents, blocks, sections, page: DocPage { doc, folded, ..DocPage::default() } }
    }

    /// Shows a new reading or another plan; keeps folds and cursor.
    pub(in crate::app) fn refresh(&mut self, context: &ScreenContext) {
        let Some(session) = &context.session else { return };
        self.contents = WindowContents::new(session, context.plan.as_deref());
        self.blocks.clear();
        self.rebuild(session, Self::page_size(context));
    }

    pub(super) fn add_blocks(&mut self, blocks: HeavyBlocks, session: &LoadedSession, size: PageSize) {
        self.blocks.extend(blocks);
        self.rebuild(session, size);
    }

    fn rebuild(&mut self, session: &LoadedSession, size: PageSize) {
        self.sections = sections(session, &self.contents, &self.blocks);
        self.page.set_doc(self.contents.doc(session, &self.sections, usize::MAX), size);
    }

    pub(in crate::app) fn page_size(context: &ScreenContext) -> PageSize {
        let area = context.layout.below_bars(context.size);
        PageSize::new(Rect { height: area.height.saturating_sub(FOOTER_ROWS), ..area })
    }

    pub(in crate::app) fn requests(&self, session: Arc<LoadedSession>) -> Vec<Effect> {
        let entries = self.contents.heaviest_entries();
        if entries.is_empty() { Vec::new() } else { vec![Effect::ReadBlocks { session, entries }] }
    }

    pub(in crate::app) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        self.page.move_by(by, Self::page_size(context));
    }

    pub(in crate::app) fn hints(&self) -> Vec<Hint> {
        let leads = self.page.row().is_some_and(|row| row.entry.is_some());
        vec![
            MOVE,
            (&[Action::Open], if leads { "go to the entry" } else { "fold" }),
            (&[Action::More, Action::Less], "all"),
            (&[Action::Copy], "copy"),
            CLOSE,
        ]
    }

    pub(in crate::app) fn on_action(&mut self, action: Action, context: &ScreenContext) -> Outcome {
        self.page.on_action(action, Self::page_size(context))
    }

    /// Handles a click: selects a row; a click on the selected row opens it.
    pub(in crate::app) fn on_click(&mut self, row: u16, context: &ScreenContext) -> Outcome {
        let area = context.layout.below_bars(context.size);
        let line = usize::from(row).checked_sub(usize::from(area.y) + 1);
        line.map_or(Outcome::Done, |line| self.page.on_click(line, Self::page_size(context)))
    }
}
