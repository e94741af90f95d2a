//! The mouse: the wheel scrolls the pane below it, a click focuses and selects, a second click opens, a drag moves a
//! slider. With shift, the terminal keeps the event.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::layout::{Border, Pane};
use crate::app::screens::context::{Outcome, ProgramScreen};
use crate::app::sessions::SessionRow;
use crate::app::state::App;
use crate::format::format_number;
use crate::text;

/// Rows per step of the wheel.
const WHEEL_ROWS: isize = 3;

impl App {
    pub(super) fn on_mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        let shift = mouse.modifiers.contains(KeyModifiers::SHIFT);
        if !matches!(mouse.kind, MouseEventKind::Drag(MouseButton::Left)) {
            self.drag.is_on_slider = false;
            self.drag.border = None;
        }
        if shift || self.input.is_some() {
            return Vec::new();
        }
        if mouse.kind == MouseEventKind::Down(MouseButton::Left)
            && let Some(action) = self.hint_at(mouse.column, mouse.row)
        {
            return self.dispatch(action);
        }
        if self.overlay().is_some() {
            return match mouse.kind {
                MouseEventKind::Drag(MouseButton::Left) if self.drag.is_on_slider => {
                    self.drag_setting_strip(mouse.column);
                    Vec::new()
                }
                MouseEventKind::ScrollDown => self.move_cursor(WHEEL_ROWS),
                MouseEventKind::ScrollUp => self.move_cursor(-WHEEL_ROWS),
                MouseEventKind::Down(MouseButton::Left) => self.click_screen(mouse.column, mouse.row),
                _ => Vec::new(),
            };
        }
        if mouse.kind == MouseEventKind::Drag(MouseButton::Left) {
            if let Some(border) = self.drag.border {
                self.move_border(border, mouse.column, mouse.row);
            } else if self.drag.is_on_slider {
                self.drag_slider(mouse.column);
            }
            return Vec::new();
        }
        let layout = self.layout();
        if layout.tabs.contains((mouse.column, mouse.row).into()) {
            return self.click_tab(mouse);
        }
        if mouse.kind == MouseEventKind::Down(MouseButton::Left) {
            self.drag.border = layout.border_at(mouse.column, mouse.row);
            // The policies are in the border of the tuning pane and take clicks.
            if matches!(self.drag.border, Some(Border::Sessions | Border::Message)) {
                return Vec::new();
            }
        }
        let Some((pane, row)) = layout.hit(mouse.column, mouse.row) else { return Vec::new() };
        match mouse.kind {
            MouseEventKind::ScrollDown => self.scroll_pane(pane, WHEEL_ROWS),
            MouseEventKind::ScrollUp => self.scroll_pane(pane, -WHEEL_ROWS),
            MouseEventKind::Down(MouseButton::Left) => self.click(pane, row, mouse.column),
            _ => Vec::new(),
        }
    }

    fn click_screen(&mut self, column: u16, row: u16) -> Vec<Effect> {
        let context = self.screen_context();
        let Some(screen) = self.views.top_mut() else { return Vec::new() };
        match screen.on_click((column, row), &context) {
            Outcome::Program(ProgramScreen::Search) => self.click_hit(column, row),
            Outcome::Program(ProgramScreen::Timeline) => self.click_timeline(column, row),
            Outcome::Program(ProgramScreen::Compare) => self.click_compare(column, row),
            Outcome::Program(ProgramScreen::Problems | ProgramScreen::Help) => Vec::new(),
            outcome => self.follow(outcome),
        }
    }

    /// The tabs have equal widths.
    fn click_tab(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        if mouse.kind == MouseEventKind::Down(MouseButton::Left) {
            let at = usize::from(mouse.column) * Pane::ALL.len() / usize::from(self.size.0.max(1));
            self.focus_pane(Pane::ALL[at.min(3)]);
        }
        Vec::new()
    }

    fn scroll_pane(&mut self, pane: Pane, by: isize) -> Vec<Effect> {
        let height = self.pane_height(pane);
        match pane {
            Pane::Sessions => self.sessions.scroll.scroll_by(by, self.sessions.rows.len(), height),
            Pane::Transcript => {
                if let Some(pane) = &mut self.transcript {
                    pane.scroll.scroll_by(by, pane.rows.len(), height);
                    pane.follow = pane.scroll.cursor + 1 >= pane.rows.len();
                }
            }
            Pane::Message | Pane::Tuning => return self.move_pane_cursor(pane, by),
        }
        Vec::new()
    }

    fn click(&mut self, pane: Pane, row: u16, column: u16) -> Vec<Effect> {
        let focused = self.focus == pane;
        self.focus_pane(pane);
        match pane {
            Pane::Sessions => self.click_session(row, focused),
            Pane::Transcript if self.is_on_unseen_mark(row, column) => self.dispatch(Action::Bottom),
            Pane::Transcript => self.click_row(row, focused),
            Pane::Tuning => self.click_tuning(row, column),
            Pane::Message => Vec::new(),
        }
    }

    fn click_session(&mut self, row: u16, focused: bool) -> Vec<Effect> {
        let Some(line) = usize::from(row).checked_sub(2) else { return Vec::new() };
        let (at, height) = (self.sessions.scroll.top + line, self.pane_height(Pane::Sessions));
        if !matches!(self.sessions.rows.get(at), Some(SessionRow::Item(_))) {
            return Vec::new();
        }
        let again = focused && at == self.sessions.scroll.cursor;
        self.sessions.scroll.move_to(at, self.sessions.rows.len(), height);
        if again {
            return self.dispatch(Action::Open);
        }
        let key = self.sessions.selected().map(|item| item.key.clone());
        key.map(|key| self.open_session(key)).unwrap_or_default()
    }

    /// Whether a click in the transcript pane hits the mark of new rows in its last line.
    fn is_on_unseen_mark(&self, row: u16, column: u16) -> bool {
        let area = self.layout().transcript;
        let mark = self.unseen_mark().map(|words| text::width(&words) as u16);
        mark.is_some_and(|width| row + 1 == area.height && column + width >= area.right())
    }

    /// Returns the mark of new rows below the screen: `3 new ↓`.
    pub fn unseen_mark(&self) -> Option<String> {
        let count = self.transcript.as_ref()?.unseen_rows(self.pane_height(Pane::Transcript));
        (count > 0).then(|| format!(" {} new ↓ ", format_number(count as u64)))
    }

    fn click_row(&mut self, row: u16, focused: bool) -> Vec<Effect> {
        let height = self.pane_height(Pane::Transcript);
        let (Some(line), Some(pane)) = (usize::from(row).checked_sub(1), &mut self.transcript) else {
            return Vec::new();
        };
        let at = pane.scroll.top + line;
        if at >= pane.rows.len() {
            return Vec::new();
        }
        let again = focused && at == pane.scroll.cursor;
        pane.scroll.move_to(at, pane.rows.len(), height);
        pane.follow = at + 1 == pane.rows.len();
        if again { self.dispatch(Action::Open) } else { Vec::new() }
    }

    fn click_tuning(&mut self, row: u16, column: u16) -> Vec<Effect> {
        let layout = self.layout();
        // At full height, the list below the title has the policies.
        if layout.policy_list.is_empty() && layout.tuning.y + row == layout.policies_line().y {
            return self.click_policy(column);
        }
        let list = layout.policy_list;
        if let Some(line) = (layout.tuning.y + row).checked_sub(list.y).filter(|line| *line < list.height) {
            self.click_policy_line(column, line);
            return Vec::new();
        }
        let Some(line) = row.checked_sub(layout.header_rows(Pane::Tuning)).map(usize::from) else {
            return Vec::new();
        };
        let Some(at) = self.tuning.row_at(line) else { return Vec::new() };
        let track = layout.slider_track();
        self.tuning.cursor = at;
        if (track.start..track.end).contains(&column) {
            // A switch toggles once, not with every cell that the pointer passes.
            self.drag.is_on_slider = self.tuning.unit(at).is_some();
            self.drag_slider(column);
        } else {
            self.replan(false);
        }
        Vec::new()
    }

    /// Handles a click on the title's policies: focuses a policy; a click on the focused one toggles it.
    fn click_policy(&mut self, column: u16) -> Vec<Effect> {
        let spots = self.layout().policy_spots(&self.tuning.visible_policies, self.tuning.policy);
        let Some((step, _)) = spots.into_iter().find(|(_, columns)| columns.contains(&column)) else {
            return Vec::new();
        };
        if step == self.tuning.policy {
            self.toggle_policy();
        } else {
            self.focus_policy(step);
        }
        Vec::new()
    }

    /// Moves the focused slider to the pointer, clamped to the track.
    fn drag_slider(&mut self, column: u16) {
        self.drag_slider_on(self.layout().slider_track(), column);
    }

    /// Moves the focused slider to the pointer on a track.
    pub(super) fn drag_slider_on(&mut self, track: std::ops::Range<u16>, column: u16) {
        let last = track.end.saturating_sub(1).max(track.start + 1);
        let share = f64::from(column.clamp(track.start, last) - track.start) / f64::from(last - track.start);
        self.tuning.enable_focused_policy();
        self.tuning.slide_to(self.tuning.cursor, share);
        self.note_moved_setting();
        self.replan(true);
    }
}
