//! Everything that the store knows of a session, field by field.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::hint::{CLOSE, Hint};
use crate::ids::SessionKey;
use crate::report::record::RecordView;
use crate::text;

/// Rows above the fields: the title and a blank.
pub const HEADER_ROWS: u16 = 2;
/// Columns next to the fields.
const MARGIN: u16 = 4;
/// Columns of the names.
const NAME_WIDTH: u16 = 30;

#[derive(Debug, Clone)]
pub struct RecordScreen {
    pub key: SessionKey,
    /// The record, or why it cannot be read; `None` until it is.
    pub view: Option<Result<Arc<RecordView>, EffectError>>,
    /// First visible line.
    pub top: usize,
}

/// A line of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordLine {
    Section(&'static str),
    /// A field; the name is empty where a long value continues.
    Field {
        name: String,
        value: String,
    },
    Blank,
}

impl RecordScreen {
    pub(super) fn open(context: &ScreenContext) -> Result<Self, &'static str> {
        let key = context.selected_session.clone().ok_or("no session is selected")?;
        Ok(Self { key, view: None, top: 0 })
    }

    pub(in crate::app) fn requests(&self) -> Vec<Effect> {
        vec![Effect::ReadRecord { key: self.key.clone() }]
    }

    /// Returns the columns of names on a screen of `columns`.
    pub fn name_width(columns: u16) -> u16 {
        NAME_WIDTH.min(columns * 2 / 5)
    }

    /// Wraps the fields for a screen of `columns`.
    pub fn lines(&self, columns: u16) -> Vec<RecordLine> {
        let Some(Ok(view)) = &self.view else { return Vec::new() };
        let room = usize::from(columns.saturating_sub(MARGIN + Self::name_width(columns))).max(1);
        let mut lines = Vec::new();
        let mut section = "";
        for field in &view.fields {
            if field.section != section {
                lines.extend((!section.is_empty()).then_some(RecordLine::Blank));
                lines.push(RecordLine::Section(field.section));
                section = field.section;
            }
            for (at, value) in text::wrap(&field.value, room).into_iter().enumerate() {
                let name = if at == 0 { field.name.clone() } else { String::new() };
                lines.push(RecordLine::Field { name, value });
            }
        }
        lines
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
        match (action, &self.view) {
            (Action::Copy, Some(Ok(view))) => Outcome::copy(Some(view.text()), "record"),
            _ => Outcome::Ignored,
        }
    }
}
