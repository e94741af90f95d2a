//! Presets side by side: their settings, and the session replayed under each. The first column is the reference; what
//! differs from it is marked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::{dash, left_out, peak, regret};
use crate::app::App;
use crate::app::screens::compare::sides::{SideColumns, table_area, value_under};
use crate::format::{format_age, format_number, format_short_estimate, quantity};
use crate::js::Value;
use crate::policy::settings::{SettingId, find_setting};
use crate::report::cost::format_cost;
use crate::report::sweep::{Side, SideOutcome};
use crate::report::timeline::RecordedSession;
use crate::session::setting_change::SettingChange;
use crate::text;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::tuning::column_text;
use crate::ui::widgets::{apply_style, clear, note, on_title, put, put_right, row_at, title};

/// The sign of the reference.
const REFERENCE: &str = "A";

/// A name, and a value for each side with its role where it does not differ.
struct Line {
    name: String,
    values: Vec<(String, Role)>,
}

pub(in crate::ui) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let from = title(theme, buf, area, "Compare", true);
    let error = app.compare_screen.sweep_state.error.as_ref().or(app.replay_state.error.as_ref());
    if let Some(error) = error {
        return note(theme, "Cannot compare settings", error, area, buf);
    }
    let Some(recording) = &app.replay_state.recording else {
        return note(theme, "Reading…", "", area, buf);
    };
    let (sides, problems) = app.compared_sides(recording);
    let muted = theme.style(Role::Muted);
    let words = quantity(app.presets.len() as u64, "preset");
    on_title(buf, area.y, from, area.right().saturating_sub(1), &[Span::styled(words, muted)]);
    let table =
        Table { app, theme, sides: &sides, columns: app.side_columns(&sides), area: table_area(area) };
    table.draw(recording, &problems, buf);
}

struct Table<'a> {
    app: &'a App,
    theme: &'a Theme,
    sides: &'a [Side],
    columns: SideColumns,
    area: Rect,
}

impl Table<'_> {
    fn draw(&self, recording: &RecordedSession, problems: &[String], buf: &mut Buffer) {
        let area = self.area;
        self.select_column(buf);
        self.names(buf);
        let measures = self.measures();
        let room = area.height.saturating_sub(3 + measures.len() as u16 + problems.len() as u16);
        let mut y = area.y + 1;
        for line in self.settings(recording, usize::from(room)) {
            self.line(&line, y, buf);
            y += 1;
        }
        for x in area.left()..area.right() {
            put(buf, (x, y), area.right(), session_columns::LIGHT, self.theme.style(Role::Faint));
        }
        for line in &measures {
            y += 1;
            if y < area.bottom() {
                self.line(line, y, buf);
            }
        }
        let is_empty = self.app.presets.is_empty();
        let how = "No presets yet: move a setting, then :preset save NAME";
        let same = self.same_next_call(recording).into_iter().chain(is_empty.then(|| how.to_owned()));
        let problems = problems.iter().map(|words| format!("{} {words}", session_columns::ALERT));
        for (y, words) in (y + 2..area.bottom()).zip(same.chain(problems)) {
            put(buf, (area.x + 3, y), area.right().saturating_sub(1), &words, self.theme.style(Role::Warn));
        }
    }

    /// Says why sides with another ttl have the same next call.
    fn same_next_call(&self, recording: &RecordedSession) -> Option<String> {
        let session = &recording.session;
        let touch = session.cache_touch_before(self.app.now_ms)?;
        let ttl_and_tokens = |side: &Side| {
            let side_ttl = value_under(session, &side.changes, SettingId::PruneTtl.spec().key);
            Some((
                column_text(side_ttl.unit, &side_ttl.value?),
                self.app.side_outcome(side)?.next_call_tokens?,
            ))
        };
        let known: Vec<(String, u64)> = self.sides.iter().filter_map(ttl_and_tokens).collect();
        let is_same = |(ttl, tokens): &(String, u64)| known.iter().any(|it| it.0 != *ttl && it.1 == *tokens);
        let age = format_age(touch, self.app.now_ms);
        known.iter().any(is_same).then(|| format!("next call: ttl changes nothing, the last run ended {age}"))
    }

    /// Marks the column of the cursor.
    fn select_column(&self, buf: &mut Buffer) {
        let cursor = self.app.side_cursor(self.sides);
        let Some(place) = self.columns.shown.iter().position(|at| *at == cursor) else { return };
        let columns = self.columns.columns(place);
        let width = columns.end - columns.start;
        let head = Rect { x: self.area.x + columns.start, width, ..row_at(self.area, self.area.y) };
        apply_style(buf, head, self.theme.selection(true));
    }

    fn names(&self, buf: &mut Buffer) {
        let cursor = self.app.side_cursor(self.sides);
        let y = self.area.y;
        for (place, at) in self.columns.shown.iter().enumerate() {
            let columns = self.columns.columns(place);
            let role = if *at == cursor { Role::Focus } else { Role::Bright };
            let name = text::truncate(self.sides[*at].name.label(), usize::from(self.columns.width - 5)).0;
            let mut spans = vec![Span::styled(name, self.theme.bold(role))];
            if *at == 0 {
                spans.insert(0, Span::styled(format!("{REFERENCE} "), self.theme.style(Role::Muted)));
            }
            put_right(buf, y, columns.start + 1, columns.end - 1, &spans);
        }
        let hidden = self.sides.len() - self.columns.shown.len();
        if hidden > 0 {
            let words = format!("{} more →", format_number(hidden));
            put(buf, (self.area.x + 3, y), self.columns.names, &words, self.theme.style(Role::Muted));
        }
    }

    /// The settings that a side changes; as many as fit, then the number of the others.
    fn settings(&self, recording: &RecordedSession, room: usize) -> Vec<Line> {
        let changes = self.sides.iter().flat_map(|side| &side.changes);
        let mut keys: Vec<&str> = changes.map(SettingChange::key).collect();
        keys.sort_unstable();
        keys.dedup();
        let value = |side: &Side, key: &str| {
            let side = value_under(&recording.session, &side.changes, key);
            let word = |value: &Value| find_setting(key)?.zero_word(value).map(str::to_owned);
            let text = |value: Value| word(&value).unwrap_or_else(|| column_text(side.unit, &value));
            let text = side.value.map_or_else(|| "config".to_owned(), text);
            (text, if side.is_set { Role::Text } else { Role::Muted })
        };
        let line = |key: &&str| {
            let values = self.sides.iter().map(|side| value(side, key)).collect();
            Line { name: (*key).to_owned(), values }
        };
        if keys.len() <= room {
            return keys.iter().map(line).collect();
        }
        let shown = room.saturating_sub(1);
        let mut lines: Vec<Line> = keys.iter().take(shown).map(line).collect();
        let name = format!("and {} more", format_number(keys.len() - shown));
        lines.push(Line { name, values: Vec::new() });
        lines
    }

    fn measures(&self) -> Vec<Line> {
        let line = |name: &str, value: &dyn Fn(&SideOutcome) -> (String, Role)| {
            let value = |side: &Side| match self.app.side_outcome(side) {
                Some(outcome) => value(outcome),
                None => ("…".to_owned(), Role::Muted),
            };
            Line { name: name.to_owned(), values: self.sides.iter().map(value).collect() }
        };
        let text = |text: String| (text, Role::Text);
        let is_refused = |side: &Side| self.app.side_outcome(side).is_some_and(|side| side.is_window_refused);
        let refused = |outcome: &SideOutcome| {
            if outcome.is_window_refused {
                ("too small".to_owned(), Role::Danger)
            } else {
                text("accepted".to_owned())
            }
        };
        let overflows = |outcome: &SideOutcome| match outcome.cell.overflows() {
            0 => text("0".to_owned()),
            count => (format!("{} {}", session_columns::ALERT, format_number(count)), Role::Danger),
        };
        let window = self.sides.iter().any(is_refused).then(|| line("window", &refused));
        let measures = vec![
            line("next call", &|side| text(side.next_call_tokens.map_or_else(dash, format_short_estimate))),
            line("peak", &|side| text(peak(&side.cell))),
            line("cost", &|side| text(format_cost(&side.cell.totals.cost_breakdown).unwrap_or_else(dash))),
            line("overflows", &overflows),
            line("compactions", &|side| text(format_number(side.cell.summary_count()))),
            line("freed per call", &|side| text(left_out(&side.cell))),
            line("needed again", &|side| text(regret(&side.cell))),
        ];
        window.into_iter().chain(measures).collect()
    }

    fn line(&self, line: &Line, y: u16, buf: &mut Buffer) {
        let from = self.area.x + 3;
        let room = usize::from(self.columns.names.saturating_sub(5));
        let whole = text::width(&line.name) <= room;
        let name = if whole { &line.name } else { line.name.rsplit('.').next().unwrap_or_default() };
        put(buf, (from, y), self.columns.names, name, self.theme.style(Role::Muted));
        let first = line.values.first().map(|(text, _)| text);
        for (place, at) in self.columns.shown.iter().enumerate() {
            let Some((text, role)) = line.values.get(*at) else { continue };
            let columns = self.columns.columns(place);
            let style = self.style(*role, first.is_some_and(|first| first != text));
            let words = text::truncate(text, usize::from(self.columns.width - 2)).0;
            put_right(buf, y, columns.start + 1, columns.end - 1, &[Span::styled(words, style)]);
        }
    }

    /// The style of a value: one that differs from the reference stands out.
    fn style(&self, role: Role, differs: bool) -> Style {
        match (role, differs) {
            (Role::Danger, _) => self.theme.bold(role),
            (_, true) => self.theme.bold(Role::Plan),
            (role, false) => self.theme.style(role),
        }
    }
}
