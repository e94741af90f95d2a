//! The text of a rule that a row cites.

use crate::app::action::Action;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::hint::{CLOSE, Hint};
use crate::rulebook::{self, Rule};
use crate::text;

/// Rows above the text: the title and a blank.
pub const HEADER_ROWS: u16 = 2;
/// Columns next to the text.
const MARGIN: u16 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleScreen {
    pub rule: Rule,
    /// First visible line.
    pub top: usize,
}

impl RuleScreen {
    /// Opens the first rule of a citation such as `pruning 5.12` or `releases R35–R38`.
    pub(super) fn open(citation: &str) -> Result<Self, &'static str> {
        let first = citation.split(['–', ',']).next().unwrap_or_default();
        let rule = rulebook::find(first).ok_or("no rule for this row")?;
        Ok(Self { rule, top: 0 })
    }

    /// Wraps the text for a screen of `columns`.
    pub fn lines(&self, columns: u16) -> Vec<String> {
        let width = usize::from(columns.saturating_sub(MARGIN)).max(1);
        rulebook::paragraphs(self.rule.text).iter().flat_map(|line| text::wrap(line, width)).collect()
    }

    pub(super) fn list_rows(context: &ScreenContext) -> usize {
        usize::from(context.body_rows().saturating_sub(HEADER_ROWS))
    }

    pub(super) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        let last = self.lines(context.size.0).len().saturating_sub(Self::list_rows(context));
        self.top = self.top.saturating_add_signed(by).min(last);
    }

    pub(super) fn hints() -> Vec<Hint> {
        vec![(&[Action::Down, Action::Up], "scroll"), (&[Action::Copy], "copy"), CLOSE]
    }

    pub(super) fn on_action(&self, action: Action) -> Outcome {
        match action {
            Action::Copy => Outcome::Copy { text: self.rule.text.to_owned(), label: "rule" },
            _ => Outcome::Ignored,
        }
    }
}
