//! Shared inputs of all sections, and the sections of single parts of the bar.

use super::{Figure, Section, SectionKind, WindowContents};
use crate::context::breakdown::{Breakdown, ToolTotals};
use crate::context::budget::BudgetPart;
use crate::ids::EntryIx;
use crate::session::LoadedSession;

pub(super) struct SectionBuilder<'a> {
    pub(super) session: &'a LoadedSession,
    pub(super) contents: &'a WindowContents,
    pub(super) now: &'a Breakdown,
}

impl SectionBuilder<'_> {
    pub(super) fn part_section(&self, part: BudgetPart, title: &'static str) -> Section {
        let after = self.contents.after.as_ref().map(|after| after.budget.tokens(part));
        let tokens = self.now.budget.tokens(part);
        Section { after, ..Section::new(SectionKind::Part(part), title, Figure::Estimated(tokens)) }
    }

    pub(super) fn entry_at(&self, at: usize) -> Option<EntryIx> {
        self.session.context.messages.get(at).map(|message| message.entry)
    }

    /// Returns the heaviest message of a tool.
    pub(super) fn heaviest_with_tool(&self, tool: &ToolTotals) -> Option<EntryIx> {
        self.entry_at(tool.heaviest)
    }
}
