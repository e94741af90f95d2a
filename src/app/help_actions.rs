//! Opening and moving the help, which shows the program's own keys.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::screens::Overlay;
use crate::app::screens::help::{
    HelpArea, HelpDocument, HelpLayout, HelpLine, HelpScreen, HelpSource, HelpSubject,
};
use crate::app::state::App;
use crate::app::target::Target;

impl App {
    /// Creates the help for the pane or screen that gets the keys now.
    pub(super) fn new_help(&self) -> HelpScreen {
        let subject = match self.overlay() {
            None => HelpSubject::Pane(self.focus),
            Some(screen) => screen.kind().map_or(HelpSubject::Dialog, HelpSubject::Screen),
        };
        HelpScreen::new(subject, self.key_context())
    }

    pub(super) fn help_mut(&mut self) -> Option<&mut HelpScreen> {
        match self.views.top_mut() {
            Some(Overlay::Help(screen)) => Some(screen),
            _ => None,
        }
    }

    /// The rows of the help at the current size.
    pub fn help_layout(&self, screen: &HelpScreen) -> HelpLayout {
        let blocked = |action| self.blocked_reason(action);
        let source =
            HelpSource { keymap: &self.options.keymap, commands: &self.options.commands, blocked: &blocked };
        source.layout(screen, HelpArea::new(self.size))
    }

    /// The reason that an action has no effect now; empty when it has one.
    pub(super) fn blocked_reason(&self, action: Action) -> &'static str {
        let searching = self.transcript.as_ref().is_some_and(|pane| !pane.query.is_empty());
        let found = searching || (self.focus == Pane::Message && !self.message.query.is_empty());
        let needs_session = matches!(
            action,
            Action::Undo
                | Action::Repair
                | Action::Commit
                | Action::SavePlan
                | Action::NextChange
                | Action::PreviousChange
        );
        match action {
            _ if needs_session && self.active_session().is_none() => "no session is open",
            Action::SavePlan if self.preview.plan.is_none() => "no plan to save",
            Action::NextChange | Action::PreviousChange if !self.changes_something() => {
                "no message has changed yet"
            }
            // The plan of a past call says nothing of the next one, which a commit is for.
            Action::Commit if self.target == Target::NextCall && !self.changes_something() => {
                "the plan has no changes"
            }
            Action::CopyCommand if !self.views.iter().any(|view| matches!(view, Overlay::Explain(_))) => {
                "only explain has a command to copy"
            }
            Action::NextMatch | Action::PreviousMatch => match self.overlay() {
                Some(Overlay::Timeline) if self.failed_overflow().is_none() => "no call overflowed",
                None if !found => "no search is active",
                _ => "",
            },
            _ => "",
        }
    }

    /// Moves the cursor of a list, or scrolls a page.
    pub(super) fn move_in_help(&mut self, by: isize) {
        let rows = HelpArea::new(self.size).rows;
        let Some(Overlay::Help(screen)) = self.overlay() else { return };
        let lines = self.help_layout(screen);
        let is_list = screen.is_list();
        let Some(screen) = self.help_mut() else { return };
        let len = lines.rows();
        if !is_list {
            let last = len.saturating_sub(rows);
            screen.scroll.top = screen.scroll.top.saturating_add_signed(by).min(last);
            return;
        }
        screen.scroll.move_by(by, len, rows);
        skip_headings(screen, &lines, by, rows);
    }

    /// Opens the document under the cursor.
    pub(super) fn open_in_help(&mut self) {
        let Some(Overlay::Help(screen)) = self.overlay() else { return };
        let lines = self.help_layout(screen);
        let document = match lines.columns.first().and_then(|column| column.get(screen.scroll.cursor)) {
            Some(HelpLine::Entry(entry)) if screen.is_list() => entry.opens,
            _ => None,
        };
        if let (Some(document), Some(screen)) = (document, self.help_mut()) {
            screen.open_document(document);
        }
    }

    /// Opens the help at the rule behind the selected row.
    pub(super) fn show_rule(&mut self) -> Vec<Effect> {
        let citation = self.overlay().map_or_else(|| self.cited_rule(), Overlay::cited_rule);
        match HelpDocument::cited(citation) {
            Some(rule) => self.views.push(Overlay::Help(Box::new(self.new_help().with_document(rule)))),
            None => self.show_note("no rule for this row".to_owned()),
        }
        Vec::new()
    }
}

/// Moves the cursor from a heading to the next entry.
fn skip_headings(screen: &mut HelpScreen, lines: &HelpLayout, by: isize, rows: usize) {
    let Some(column) = lines.columns.first() else { return };
    let is_entry = |line: &HelpLine| matches!(line, HelpLine::Entry(_));
    let at = screen.scroll.cursor.min(column.len());
    let (before, after) = column.split_at(at);
    let (up, down) = (before.iter().rposition(is_entry), after.iter().position(is_entry).map(|row| row + at));
    let to = if by < 0 && down != Some(at) { up.or(down) } else { down.or(up) };
    if let Some(row) = to {
        screen.scroll.move_to(row, column.len(), rows);
    }
}
