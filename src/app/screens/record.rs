//! Everything that the store knows of a session, field by field.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::doc_page::{DocPage, PageSize};
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::doc::{Doc, Row};
use crate::ids::SessionKey;

#[derive(Debug, Clone)]
pub struct RecordScreen {
    pub key: SessionKey,
    /// The record, or why it cannot be read; `None` until it is.
    pub page: Option<Result<DocPage, EffectError>>,
}

impl RecordScreen {
    pub(super) fn open(context: &ScreenContext) -> Result<Self, &'static str> {
        let key = context.selected_session.clone().ok_or("no session is selected")?;
        Ok(Self { key, page: None })
    }

    pub(in crate::app) fn requests(&self) -> Vec<Effect> {
        vec![Effect::ReadRecord { key: self.key.clone() }]
    }

    pub(in crate::app) fn page_size(context: &ScreenContext) -> PageSize {
        PageSize::new(context.body())
    }

    /// Shows the record as it is now; keeps the cursor.
    pub(in crate::app) fn set_doc(&mut self, doc: Result<Doc, EffectError>, size: PageSize) {
        let mut page = self.page.take().and_then(Result::ok).unwrap_or_default();
        self.page = Some(doc.map(|doc| {
            page.set_doc(doc, size);
            page
        }));
    }

    pub(super) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        if let Some(Ok(page)) = &mut self.page {
            page.move_by(by, Self::page_size(context));
        }
    }

    pub(super) fn hints() -> Vec<Hint> {
        vec![MOVE, (&[Action::Copy], "copy"), CLOSE]
    }

    pub(super) fn on_action(&self, action: Action) -> Outcome {
        match (action, &self.page) {
            (Action::Copy, Some(Ok(page))) => Outcome::copy(page.row().map(Row::value), "value"),
            _ => Outcome::Ignored,
        }
    }

    /// Selects the row of a click.
    pub(super) fn on_click(&mut self, row: u16, context: &ScreenContext) -> Outcome {
        let line = usize::from(row).checked_sub(usize::from(context.body().y) + 1);
        if let (Some(Ok(page)), Some(line)) = (&mut self.page, line) {
            page.select_line(line, Self::page_size(context));
        }
        Outcome::Done
    }
}
