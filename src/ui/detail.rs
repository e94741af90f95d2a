//! A message on the full screen. From 100 columns on its facts, and the text before and after, are side by side; on
//! narrower screens they are stacked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::app::App;
use crate::app::diff::count_chars;
use crate::app::message::{FACTS_COLUMNS, MessageScreen, MessageView};
use crate::app::message_header::FateSummary;
use crate::format::{format_number, format_short_estimate, whole_percent};
use crate::policy::Fate;
use crate::session::message::MessageText;
use crate::text;
use crate::ui::message_body::BodyPainter;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{on_title, put, put_spans, scrollbar, title};
use crate::units::Chars;

/// Columns of the names of facts.
const NAME_WIDTH: u16 = 8;
/// Largest number of title rows.
const TITLE_ROWS: usize = 3;

/// Draws the facts next to the text, or next to both sides of a text that the plan changes.
pub(super) fn draw_side_by_side(
    app: &App,
    theme: &Theme,
    screen: &MessageScreen,
    area: Rect,
    buf: &mut Buffer,
) {
    let text = &screen.layout.message;
    let facts = Rect { width: (FACTS_COLUMNS as u16).min(area.width), ..area };
    let kind = if text.fact("role") == Some("toolResult") { "Result" } else { "Message" };
    let after = title(theme, buf, facts, kind, false);
    if app.message.current_match.is_some() && screen.layout.body.side_by_side {
        on_title(buf, facts.y, after, facts.right(), &[position_span(app, theme, screen)]);
    }
    facts_column(app, theme, text, facts, buf);
    let rest = Rect { x: facts.right(), width: area.width - facts.width, ..area };
    let painter = BodyPainter::new(app, theme, &screen.layout, screen.body_rows);
    let verdict = app.fate_summary(text);
    let chars = format_number(count_chars(&text.joined_text()));
    if screen.layout.body.side_by_side {
        let left = Rect { width: rest.width - rest.width / 2, ..rest };
        let right = Rect { x: left.right(), width: rest.width / 2, ..rest };
        let tokens = verdict.as_ref().map_or((0, 0), |verdict| verdict.tokens);
        let after = format_number(text.planned_text.as_deref().map_or(Chars::ZERO, count_chars));
        column(theme, left, ("Before", false), &side_facts(theme, &chars, tokens.0), buf);
        column(theme, right, ("After", true), &side_facts(theme, &after, tokens.1), buf);
        for (area, is_right) in [(left, false), (right, true)] {
            painter.draw(text_area(area, screen), is_right, buf);
            let track = Rect { x: area.right() - 1, width: 1, ..text_area(area, screen) };
            scrollbar(theme, buf, track, app.message.top, screen.layout.rows());
        }
        return;
    }
    let name = match screen.layout.options.body_options.view {
        MessageView::Raw => "Raw",
        _ if text.planned_text.is_some() => "Under the plan",
        _ => "Text",
    };
    column(theme, rest, (name, true), &[position_span(app, theme, screen)], buf);
    painter.draw(text_area(rest, screen), false, buf);
    let track = Rect { x: rest.right() - 1, width: 1, ..text_area(rest, screen) };
    scrollbar(theme, buf, track, app.message.top, screen.layout.rows());
}

fn column(
    theme: &Theme,
    area: Rect,
    (name, focused): (&str, bool),
    right: &[ratatui::text::Span],
    buf: &mut Buffer,
) {
    let after = title(theme, buf, area, name, focused);
    on_title(buf, area.y, after, area.right().saturating_sub(1), right);
}

/// Returns the area below the title and a blank row, between the hairline and the scrollbar.
fn text_area(area: Rect, screen: &MessageScreen) -> Rect {
    let head = screen.header.len() as u16;
    let height = area.height.saturating_sub(1 + head).min(screen.body_rows as u16);
    Rect { x: area.x + 2, y: area.y + 1 + head, width: area.width.saturating_sub(3), height }
}

struct Column<'a> {
    area: Rect,
    y: u16,
    buf: &'a mut Buffer,
}

impl Column<'_> {
    fn lines(&mut self, words: &str, style: Style, most: usize) {
        for line in text::wrap(words, usize::from(self.area.width)).into_iter().take(most) {
            if self.y >= self.area.bottom() {
                return;
            }
            put(self.buf, (self.area.x, self.y), self.area.right(), &line, style);
            self.y += 1;
        }
    }

    fn fact(&mut self, theme: &Theme, name: &str, value: &str, style: Style) {
        let width = self.area.width.saturating_sub(NAME_WIDTH);
        let lines = text::wrap(value, usize::from(width));
        for (at, line) in lines.into_iter().take(2).enumerate() {
            if self.y >= self.area.bottom() {
                return;
            }
            if at == 0 {
                put(
                    self.buf,
                    (self.area.x, self.y),
                    self.area.x + NAME_WIDTH - 1,
                    name,
                    theme.style(Role::Muted),
                );
            }
            put(self.buf, (self.area.x + NAME_WIDTH, self.y), self.area.right(), &line, style);
            self.y += 1;
        }
    }
}

fn facts_column(app: &App, theme: &Theme, message: &MessageText, area: Rect, buf: &mut Buffer) {
    let inner = Rect {
        x: area.x + 2,
        y: area.y + 2,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    };
    let mut column = Column { area: inner, y: inner.y, buf };
    column_title(theme, message, &mut column);
    if let Some(verdict) = app.fate_summary(message) {
        let window = app.displayed_session().map_or(0, |session| session.window.model_tokens.whole());
        column_verdict(app, theme, &verdict, window, &mut column);
    }
    if let Some(regret) = app.regret_of(message) {
        column.fact(theme, session_columns::AGAIN, &regret, theme.style(Role::Warn));
    }
    for fact in &message.facts {
        let value = app.fact_value(message, fact);
        column.fact(theme, fact.0, &value, fact_style(theme, fact.0, &value));
    }
    if app.preview.plan.is_none()
        && let Some((_, Some(share))) = app.message_tokens(message)
    {
        column.fact(theme, "share", &share_text(share), theme.style(Role::Text));
    }
}

fn column_title(theme: &Theme, message: &MessageText, column: &mut Column) {
    match &message.title {
        (Some(_), words) => {
            let spans = title_spans(theme, message);
            put_spans(column.buf, (column.area.x, column.y), column.area.right(), &spans[..1]);
            column.y += 1;
            if !words.is_empty() {
                column.lines(words, theme.bold(Role::Bright), TITLE_ROWS);
            }
        }
        (None, words) => column.lines(words, theme.bold(Role::Bright), TITLE_ROWS),
    }
    column.y += 1;
}

fn column_verdict(app: &App, theme: &Theme, verdict: &FateSummary, window: u64, column: &mut Column) {
    let fate = verdict.fate.fate;
    let style = theme.fate(fate).add_modifier(Modifier::BOLD);
    column.lines(&format!("{} {}", fate.sign(), fate.word()), style, 1);
    column.y += 1;
    for sentence in &verdict.reasons {
        column.lines(sentence, theme.style(Role::Text), 6);
    }
    column.y += 1;
    let text = theme.style(Role::Text);
    column.fact(theme, "rule", verdict.fate.reason.rule(), text);
    if let Some(plan) = app.preview.plan.as_ref().filter(|_| fate == Fate::SoftTrimmed) {
        let trim = &plan.settings.prune.soft_trim;
        column.fact(theme, "head", &format!("{} chars", format_number(trim.head_chars)), text);
        column.fact(theme, "tail", &format!("{} chars", format_number(trim.tail_chars)), text);
    }
    if fate.is_change() {
        let (before, after) = verdict.tokens;
        column.fact(theme, "frees", &saving_text(before, after, window), theme.style(Role::Plan));
    }
    column.y += 1;
}

/// Returns the current match and the number of matches, otherwise the page and the number of pages.
pub(super) fn position_span<'a>(app: &App, theme: &Theme, screen: &MessageScreen) -> Span<'a> {
    let style = theme.style(Role::Muted);
    if let Some(found) = app.message.current_match {
        return Span::styled(format!("match {} of {}", found.index + 1, found.count), style);
    }
    let height = screen.body_rows.max(1);
    let pages = screen.layout.rows().div_ceil(height).max(1);
    let last = app.message.top + height >= screen.layout.rows();
    let page = if last { pages } else { app.message.top / height + 1 };
    Span::styled(format!("{page}/{pages}"), style)
}

/// Styles a fact: links to other entries are blue, failures red.
pub(super) fn fact_style(theme: &Theme, name: &str, value: &str) -> ratatui::style::Style {
    match name {
        "call" if value.starts_with(session_columns::ARROW) => theme.style(Role::Focus),
        "error" => theme.style(Role::Danger),
        "exit" if value != "0" => theme.style(Role::Danger),
        _ if value.starts_with(session_columns::UNKNOWN) => theme.style(Role::Muted),
        _ => theme.style(Role::Text),
    }
}

/// Returns the tool in its colour with its arguments, or a title in bold.
pub(super) fn title_spans<'a>(theme: &Theme, message: &'a MessageText) -> Vec<Span<'a>> {
    let (tool, words) = &message.title;
    let words = Span::styled(words.as_str(), theme.bold(Role::Bright));
    match tool {
        Some(tool) => vec![Span::styled(tool.as_str(), theme.bold(Role::Tool)), Span::raw("  "), words],
        None => vec![words],
    }
}

/// Formats a share of the next prompt in whole percent.
pub(super) fn share_text(share: u64) -> String {
    if share == 0 { "<1% of the prompt".into() } else { format!("{share}% of the prompt") }
}

/// Returns chars and tokens of one side, for its title line.
fn side_facts<'a>(theme: &Theme, chars: &str, tokens: u64) -> Vec<Span<'a>> {
    vec![
        Span::styled(format!("{chars} chars"), theme.style(Role::Muted)),
        Span::raw("   "),
        Span::styled(format_short_estimate(tokens), theme.style(Role::Muted)),
    ]
}

/// Formats the tokens saved, and their share of the window.
fn saving_text(before: u64, after: u64, window: u64) -> String {
    let saved = before.saturating_sub(after);
    let share = whole_percent(saved, window).filter(|share| *share > 0);
    let share = share.map(|share| format!("  {share}%")).unwrap_or_default();
    if after > before {
        format!("adds {}", format_short_estimate(after - before))
    } else {
        format!("{}{share}", format_short_estimate(saved))
    }
}
