//! The sessions pane: agents and their sessions, with the fill level and the marks of each.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::legend::SESSION_MARKS;
use crate::app::sessions::{ItemRow, SessionRow};
use crate::app::state::InputPurpose;
use crate::format::{format_amount, format_number, format_short_age, format_short_tokens, quantity};
use crate::gateway::compaction::RESERVE_FLOOR;
use crate::session::SessionItem;
use crate::session::family::JobRuns;
use crate::session::order::SortColumn;
use crate::session::query::MatchedWord;
use crate::session::title::{shown_name, split_envelope};
use crate::text;
use crate::ui::changed_value::changed_style;
use crate::ui::session_columns;
use crate::ui::session_columns::{Column, cell_style, heading, narrow_text};
use crate::ui::status::draw_input;
use crate::ui::theme::{Role, Theme, tone_role};
use crate::ui::widgets::{apply_style, on_title, put, put_right, put_spans, row_at, scrollbar, title};

/// Cells of a session's age, and the width from which a pane with one value has room for it.
const AGE_WIDTH: u16 = 4;
const MIN_WIDTH_WITH_AGE: u16 = 26;
/// Deepest indent of a sub-agent, in steps.
const MAX_INDENT: usize = 4;
/// Chars of an id after a name.
const ID_CHARS: usize = 8;

/// Draws the pane; returns the cursor position while a filter is typed.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let layout = app.layout();
    let focused = app.focus == Pane::Sessions;
    if layout.tabs.is_empty() {
        let from = title(theme, buf, area, Pane::Sessions.title(), focused);
        let count = Span::styled(count_text(app), theme.style(Role::Muted));
        on_title(buf, area.y, from, area.right().saturating_sub(1), &[count]);
    }
    let columns = Column::fitting(area.width, app.sessions.order.column);
    let cursor = filter(app, theme, area, &columns, buf);
    let list = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    if app.sessions.rows.is_empty() && !app.sessions.filter.is_empty() {
        no_match(app, theme, list, buf);
        return cursor;
    }
    let scroll = app.sessions.scroll;
    let rows = app.sessions.rows.iter().enumerate().skip(scroll.top).take(usize::from(list.height));
    for (y, (at, row)) in (list.y..).zip(rows) {
        let line = SessionLine { app, theme, area: row_at(list, y), columns: &columns };
        match row {
            SessionRow::Agent { name, days } => {
                let x = put(buf, (area.x + 1, y), area.right(), name, theme.bold(Role::Muted));
                line.days(days, x + 1, buf);
            }
            SessionRow::Days(days) => line.days(days, area.x + 1, buf),
            SessionRow::Gap => {}
            SessionRow::Item(row) => {
                if let Some(item) = app.sessions.items.get(row.at) {
                    line.draw(item, *row, (at == scroll.cursor, focused), buf);
                }
            }
        }
    }
    cursor
}

/// Counts the sessions, and while a filter is on those that it selects.
fn count_text(app: &App) -> String {
    let all = format_number(app.sessions.items.len() as i64);
    if app.sessions.filter.is_empty() {
        return all;
    }
    format!("{} of {all}", format_number(app.sessions.session_count() as i64))
}

/// Draws the scrollbar. It is on the hairline of the next pane, so it comes after that pane.
pub(super) fn draw_scrollbar(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let list = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    scrollbar(theme, buf, list, app.sessions.scroll.top, app.sessions.rows.len());
}

fn filter(app: &App, theme: &Theme, area: Rect, columns: &[Column], buf: &mut Buffer) -> Option<Position> {
    let at = (area.x + 1, area.y + 1);
    if area.height < 2 {
        return None;
    }
    let key = Span::styled("/", theme.bold(Role::Text));
    let prompt = app.input.as_ref().filter(|prompt| prompt.purpose == InputPurpose::Filter);
    let is_typing = prompt.is_some() || !app.sessions.filter.is_empty();
    let end = headings(app, theme, (row_at(area, at.1), is_typing), columns, buf);
    match prompt {
        Some(prompt) => {
            let x = put_spans(buf, at, end, &[key]);
            Some(draw_input(&prompt.line, theme, (x, at.1), end.saturating_sub(1), buf))
        }
        None if app.sessions.filter.is_empty() => {
            put_spans(buf, at, end, &[key, Span::styled(" filter", theme.style(Role::Muted))]);
            None
        }
        None => {
            let right = end.min(area.right().saturating_sub(1));
            let start = put_right(buf, at.1, at.0, right, &clearing_keys(app, theme));
            let filter = Span::styled(app.sessions.filter.as_str(), theme.bold(Role::Plan));
            put_spans(buf, at, start.saturating_sub(1), &[key, filter]);
            None
        }
    }
}

/// Returns the keys that clear the filter from the focused pane.
fn clearing_keys<'a>(app: &App, theme: &Theme) -> [Span<'a>; 2] {
    let mut keys = app.key_words(KeyContext::Sessions, Action::Back);
    if app.focus != Pane::Sessions {
        keys = format!("{} {keys}", app.key_words(KeyContext::Main, Action::FocusSessions));
    }
    [Span::styled(keys, theme.bold(Role::Text)), Span::styled(" clears", theme.style(Role::Muted))]
}

/// Draws the titles of the columns next to the filter, or in a narrow pane only that of the order, which gives way to a
/// filter; returns where they start.
fn headings(
    app: &App,
    theme: &Theme,
    (area, is_typing): (Rect, bool),
    columns: &[Column],
    buf: &mut Buffer,
) -> u16 {
    let order = app.sessions.order;
    let right = area.right().saturating_sub(1);
    if columns.is_empty() {
        if is_typing {
            return area.right();
        }
        let words = format!("{} {}", order.column.title(), order.arrow());
        return put_right(buf, area.y, area.x + 10, right, &[Span::styled(words, theme.style(Role::Muted))]);
    }
    let spans = Column::spans(columns, right);
    for (column, left, end) in &spans {
        let arrow = column.is_sorted_by(order.column).then(|| order.arrow());
        let title = heading(*column, arrow, theme);
        if column.is_left() {
            put_spans(buf, (*left, area.y), *end, &[title]);
        } else {
            put_right(buf, area.y, *left, *end, &[title]);
        }
    }
    spans.first().map_or(right, |(_, left, _)| left.saturating_sub(1))
}

fn no_match(app: &App, theme: &Theme, list: Rect, buf: &mut Buffer) {
    let words = format!("0 of {} match", quantity(app.sessions.items.len() as u64, "session"));
    for (y, line) in (list.y + 1..list.bottom()).zip(crate::text::wrap(&words, usize::from(list.width - 2))) {
        put(buf, (list.x + 1, y), list.right(), &line, theme.style(Role::Text));
    }
    let spans = [
        Span::styled("esc", theme.bold(Role::Text)),
        Span::styled(" clear filter", theme.style(Role::Muted)),
    ];
    if list.height > 3 {
        put_spans(buf, (list.x + 1, list.y + 3), list.right(), &spans);
    }
}

struct SessionLine<'a> {
    app: &'a App,
    theme: &'a Theme,
    area: Rect,
    columns: &'a [Column],
}

impl SessionLine<'_> {
    /// Draws the heading of some days at the right end, or from `start` in a wide pane.
    fn days(&self, days: &str, start: u16, buf: &mut Buffer) {
        let span = Span::styled(days.to_owned(), self.theme.style(Role::Ghost));
        let end = self.area.right().saturating_sub(1);
        if self.columns.is_empty() {
            put_right(buf, self.area.y, start, end, &[span]);
        } else {
            put_spans(buf, (start.max(self.area.x + 1), self.area.y), end, &[span]);
        }
    }

    fn draw(&self, item: &SessionItem, row: ItemRow, (selected, focused): (bool, bool), buf: &mut Buffer) {
        let (theme, area) = (self.theme, self.area);
        if selected {
            apply_style(buf, area, theme.selection(focused));
            let role = if focused { Role::Focus } else { Role::Ghost };
            put(buf, (area.x, area.y), area.right(), session_columns::CURSOR, theme.style(role));
        }
        if let Some((sign, role)) = session_mark(item) {
            put(buf, (area.x + 1, area.y), area.right(), sign, theme.style(role));
        }
        let end = if self.columns.is_empty() {
            self.draw_value(item, selected, buf)
        } else {
            self.draw_columns(item, selected, buf)
        };
        self.draw_name(item, row, selected, end, buf);
    }

    /// Draws indent, name and details missing in the name, up to column `end`.
    fn draw_name(&self, item: &SessionItem, row: ItemRow, selected: bool, end: u16, buf: &mut Buffer) {
        let (theme, y) = (self.theme, self.area.y);
        let mut x = self.area.x + 3;
        if row.depth > 0 {
            x += (row.depth.min(MAX_INDENT) as u16 - 1) * 2;
            x = put(buf, (x, y), end, session_columns::END, theme.style(Role::Ghost)) + 1;
        }
        let job = self.app.sessions.families.job(row.at, &self.app.sessions.items);
        let job = job.filter(|_| !self.app.sessions.is_flat());
        let hidden = match job {
            Some(job) => Some(self.job_text(job, row)),
            None => (row.hidden > 0).then(|| self.hidden_text(row)),
        };
        let end = match &hidden {
            Some(words) => {
                let from =
                    put_right(buf, y, x, end, &[Span::styled(words.as_str(), theme.style(Role::Muted))]);
                from.saturating_sub(1)
            }
            None => end,
        };
        let name = shown_name(item, self.app.secrets);
        let (mark, words) = split_envelope(&name);
        let start = put(buf, (x, y), end, mark, theme.style(Role::Muted));
        let words = text::truncate_middle(words, usize::from(end.saturating_sub(start)));
        self.put_matched(&words, (start, y), end, self.name_style(item, selected), buf);
        let used = put_width(&name).min(end.saturating_sub(x));
        let aside = self.beside_name(item, &name);
        if !aside.is_empty() && x + used + 1 < end {
            self.put_matched(&aside, (x + used + 1, y), end, theme.style(Role::Ghost), buf);
        }
    }

    /// Returns the text after the name: the id or key that a filter matched, else the agent in an order over all agents.
    fn beside_name(&self, item: &SessionItem, name: &str) -> String {
        let sessions = &self.app.sessions;
        let is_unseen = |word: &&MatchedWord| word.ranges(name).is_empty();
        let unseen: Vec<&MatchedWord> = sessions.words.iter().filter(is_unseen).collect();
        if unseen.iter().any(|word| item.id.to_lowercase().starts_with(&word.text)) {
            return item.id.chars().take(ID_CHARS).collect();
        }
        if unseen.iter().any(|word| !word.ranges(item.short_key()).is_empty()) {
            return item.short_key().to_owned();
        }
        let agents = self.app.store.listing.as_ref().map_or(0, |listing| listing.agent_count);
        if sessions.order.column != SortColumn::Age && agents > 1 {
            item.agent.clone()
        } else {
            String::new()
        }
    }

    fn hidden_text(&self, row: ItemRow) -> String {
        let count = format!("+{}", format_number(row.hidden));
        let rollup = self.app.sessions.rollups.get(row.at);
        let cost = rollup.and_then(|rollup| rollup.usage.cost.total().map(|usd| (usd, rollup.usage.cost)));
        match cost.filter(|_| !self.columns.is_empty()) {
            Some((usd, cost)) => format!("{count}  {} with them", format_amount(usd, cost.is_estimated())),
            None => count,
        }
    }

    /// Describes all runs of a job: count, growth of the prompt, and with room their cost.
    fn job_text(&self, job: JobRuns, row: ItemRow) -> String {
        let growth = job.growth.map(|(tokens, is_estimate)| {
            let sign = if tokens < 0 { "-" } else { "+" };
            format!(" {sign}{}", format_short_tokens(tokens.unsigned_abs(), !is_estimate))
        });
        let growth = growth.unwrap_or_default();
        if self.columns.is_empty() {
            return format!("×{}{growth}", format_number(job.count as u64));
        }
        let cost = self.app.sessions.rollups.get(row.at).map(|rollup| rollup.usage.cost);
        let cost = cost.and_then(|cost| Some(format_amount(cost.total()?, cost.is_estimated())));
        let cost = cost.map(|cost| format!("  {cost} in all")).unwrap_or_default();
        format!("{} {growth}{cost}", quantity(job.count as u64, "run"))
    }

    /// Writes a text with the words of the filter highlighted.
    fn put_matched(&self, text: &str, at: (u16, u16), end: u16, style: Style, buf: &mut Buffer) {
        put(buf, at, end, text, style);
        let matched = changed_style(self.app, self.theme).add_modifier(Modifier::UNDERLINED);
        for range in self.app.sessions.words.iter().flat_map(|word| word.ranges(text)) {
            let (Some(before), Some(hit)) = (text.get(..range.start), text.get(range)) else { continue };
            let x = at.0.saturating_add(put_width(before));
            let width = put_width(hit).min(end.saturating_sub(x));
            apply_style(buf, Rect { x, y: at.1, width, height: 1 }, matched);
        }
    }

    /// Draws the value of a narrow pane; returns where it starts.
    fn draw_value(&self, item: &SessionItem, selected: bool, buf: &mut Buffer) -> u16 {
        let (theme, area, column) = (self.theme, self.area, self.app.sessions.order.column);
        let words = narrow_text(item, column, self.app.now_ms);
        let is_full = matches!(column, SortColumn::Age | SortColumn::Fullness);
        let right = area.right().saturating_sub(put_width(&words).max(4) + 1);
        let mut end = right;
        if let Some(at) = item.updated_ms.filter(|_| is_full && area.width >= MIN_WIDTH_WITH_AGE) {
            let age = [Span::styled(format_short_age(at, self.app.now_ms), theme.style(Role::Ghost))];
            end = right.saturating_sub(AGE_WIDTH + 1);
            put_right(buf, area.y, end, right, &age);
        }
        let style = if is_full { self.level_style(item, selected) } else { theme.style(Role::Muted) };
        put_right(buf, area.y, right, area.right(), &[Span::styled(words, style)]);
        end
    }

    fn draw_columns(&self, item: &SessionItem, selected: bool, buf: &mut Buffer) -> u16 {
        let spans = Column::spans(self.columns, self.area.right().saturating_sub(1));
        let level = self.level_style(item, selected);
        for (column, left, right) in &spans {
            let style = cell_style(*column, item, level, self.theme);
            let cell = Span::styled(column.text(item, self.app.now_ms), style);
            if column.is_left() {
                put_spans(buf, (*left, self.area.y), *right, &[cell]);
            } else {
                put_right(buf, self.area.y, *left, *right, &[cell]);
            }
        }
        spans.first().map_or(self.area.right(), |(_, left, _)| left.saturating_sub(2))
    }

    fn level_style(&self, item: &SessionItem, selected: bool) -> Style {
        match level(item) {
            Role::Text if selected => self.theme.style(Role::Text),
            Role::Text => self.theme.style(Role::Muted),
            Role::Danger => self.theme.bold(Role::Danger),
            level => self.theme.style(level),
        }
    }

    fn name_style(&self, item: &SessionItem, selected: bool) -> Style {
        let open = self.app.displayed_session().is_some_and(|open| open.item.key == item.key);
        match (open || selected, item.is_aside()) {
            (true, _) => self.theme.bold(Role::Bright),
            (_, true) => self.theme.style(Role::Muted),
            _ => self.theme.style(Role::Text),
        }
    }
}

/// Returns the columns that a text takes.
fn put_width(text: &str) -> u16 {
    text::width(&text::visible(text)).min(usize::from(u16::MAX / 2)) as u16
}

/// Returns the sign of the most serious mark of a session.
fn session_mark(item: &SessionItem) -> Option<(&'static str, Role)> {
    let found = SESSION_MARKS.iter().find(|(mark, _)| item.has(*mark));
    found.map(|(_, row)| (row.signs, tone_role(row.tone)))
}

/// Red above the window, amber where the gateway would compact.
fn level(item: &SessionItem) -> Role {
    let Some(counted) = item.tokens else { return Role::Text };
    let compacts = item.window.saturating_sub(RESERVE_FLOOR as u64);
    match counted.tokens {
        tokens if item.window > 0 && tokens > item.window => Role::Danger,
        tokens if compacts > 0 && tokens > compacts => Role::Warn,
        _ => Role::Text,
    }
}
