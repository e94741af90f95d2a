//! The breakdown screen: one row per section or line of the window, with its tokens, its share of the window and a bar.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::breakdown::{BreakdownScreen, FOOTER_ROWS};
use crate::app::wrap::wrap_rows;
use crate::context::budget::BudgetPart;
use crate::format::{format_percent, format_short, format_short_estimate, format_short_tokens};
use crate::report::breakdown::{Figure, Line, Section, SectionKind};
use crate::text;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{ThinBar, clear, on_title, put, put_right, put_spans, row_at, scrollbar, title};
use crate::ui::{frame_box, glyphs};

/// Columns of a number, of a share, and of a number after the plan.
const NUMBER_WIDTH: u16 = 8;
const SHARE_WIDTH: u16 = 5;
const AFTER_WIDTH: u16 = 9;
/// Width from which the title names the basis of the numbers.
const BASIS_WIDTH: u16 = 90;

#[derive(Clone, Copy)]
struct Columns {
    /// Columns of names, including the signs before them.
    label: u16,
    bar: u16,
    /// Shows the number after the plan too.
    plan: bool,
    /// The title line has room for the columns' names, whose `~` stands for all estimates below.
    named: bool,
}

struct RowTokens {
    kind: SectionKind,
    figure: Figure,
    after: Option<u64>,
}

struct View<'a> {
    theme: &'a Theme,
    columns: Columns,
    /// Window in tokens.
    window: u64,
    /// Tokens of the longest bar.
    largest: u64,
}

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &BreakdownScreen, buf: &mut Buffer) {
    let area = app.breakdown_area();
    clear(theme, buf, area);
    let window = app.displayed_session().map_or(0, |session| session.window.model_tokens.whole());
    let columns = columns(area.width, screen.contents.after.is_some());
    heading(theme, screen, (window, columns), area, buf);
    let view = View { theme, columns, window, largest: largest(screen) };
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + FOOTER_ROWS), ..area };
    let top = screen.scroll.top.min(screen.rows.len().saturating_sub(usize::from(list.height)));
    for (y, (at, section, line)) in (list.y..list.bottom()).zip(screen.numbered_rows().skip(top)) {
        let row = row_at(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, row, theme.background(BackgroundRole::Selected));
        }
        match line {
            None => view.section(section, screen.unfolded.contains(&section.kind), row, buf),
            Some(line) => view.line(section, line, row, buf),
        }
    }
    scrollbar(theme, buf, Rect { width: list.width.saturating_sub(1), ..list }, top, screen.rows.len());
    foot(theme, screen, Rect { y: list.bottom(), height: FOOTER_ROWS.min(area.height), ..area }, buf);
}

fn columns(width: u16, plan: bool) -> Columns {
    let named = width >= 80;
    let (label, bar) = match width {
        120.. => (30, 28),
        100..120 => (28, 20),
        80..100 => (26, 12),
        // Narrow screens drop the bars before the names.
        _ => (22, 0),
    };
    Columns { label, bar, plan, named }
}

fn largest(screen: &BreakdownScreen) -> u64 {
    let parts = screen.sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
    parts.filter_map(|section| section.figure.tokens()).max().unwrap_or(0).max(1)
}

fn heading(
    theme: &Theme,
    screen: &BreakdownScreen,
    (window, columns): (u64, Columns),
    area: Rect,
    buf: &mut Buffer,
) {
    let mut from = title(theme, buf, area, "What is in the window", true);
    let muted = theme.style(Role::Muted);
    if columns.named {
        let end = area.x + columns.label + NUMBER_WIDTH;
        on_title(buf, area.y, from, end + 1, &[Span::styled("~tokens", muted)]);
        from = end + 1;
        if columns.plan {
            on_title(buf, area.y, from, end + AFTER_WIDTH + 1, &[Span::styled("~after", muted)]);
            from += AFTER_WIDTH;
        }
    }
    let total = screen.contents.total();
    let mut spans =
        vec![Span::styled(format_short_tokens(total.tokens, !total.is_estimate()), theme.bold(Role::Bright))];
    if let Some(after) = &screen.contents.after {
        spans.push(Span::styled(format!(" {} ", glyphs::ARROW), muted));
        spans.push(Span::styled(format_short_estimate(after.budget.total()), theme.bold(Role::Plan)));
    }
    if window > 0 {
        spans.push(Span::styled(format!(" of {}", format_short(window)), muted));
    }
    if area.width >= BASIS_WIDTH {
        spans.push(Span::styled(format!(" · {}", screen.contents.basis()), muted));
    }
    on_title(buf, area.y, from, area.right().saturating_sub(1), &spans);
}

impl View<'_> {
    fn section(&self, section: &Section, open: bool, row: Rect, buf: &mut Buffer) {
        let theme = self.theme;
        let sign = match (section.lines.is_empty(), open) {
            (true, _) => " ",
            (false, true) => glyphs::OPEN,
            (false, false) => glyphs::FOLDED,
        };
        let end = row.x + self.columns.label;
        put(buf, (row.x + 1, row.y), end, sign, theme.style(Role::Ghost));
        if let SectionKind::Part(part) = section.kind {
            put_spans(buf, (row.x + 3, row.y), end, &[self.letter(part)]);
        }
        put(buf, (row.x + 5, row.y), end, section.title, theme.bold(Role::Bright));
        let tokens = RowTokens { kind: section.kind, figure: section.figure, after: section.after };
        let x = self.numbers(&tokens, theme.bold(Role::Bright), row, buf);
        let x = self.bar(&tokens, x, row, buf);
        self.note(&section.note, section.has_warning, x, row, buf);
    }

    fn line(&self, section: &Section, line: &Line, row: Rect, buf: &mut Buffer) {
        let theme = self.theme;
        let x = row.x + 5 + 2 * u16::from(line.depth);
        let role = if line.has_warning { Role::Warn } else { Role::Text };
        put(buf, (x, row.y), row.x + self.columns.label, &line.label, theme.style(role));
        let tokens = RowTokens { kind: section.kind, figure: line.figure, after: line.after };
        let x = self.numbers(&tokens, theme.style(Role::Text), row, buf);
        let x = self.bar(&tokens, x, row, buf);
        self.note(&line.note, line.has_warning, x, row, buf);
    }

    /// Returns the letter of a part on its colour, as in the bar's legend.
    fn letter<'s>(&self, part: BudgetPart) -> Span<'s> {
        let style = if self.theme.uses_letters() {
            self.theme.bold(Role::Text)
        } else {
            let (background, ink) = self.theme.part_colours(part, false);
            Style::new().fg(ink).bg(background)
        };
        Span::styled(part.letter().to_string(), style)
    }

    /// Draws tokens, tokens after the plan and the share of the window; returns the next column.
    fn numbers(&self, tokens: &RowTokens, style: Style, row: Rect, buf: &mut Buffer) -> u16 {
        let (theme, figure, after) = (self.theme, tokens.figure, tokens.after);
        let from = row.x + self.columns.label;
        let mut end = from + NUMBER_WIDTH;
        put_right(buf, row.y, from, end, &[Span::styled(self.figure(figure), style)]);
        if self.columns.plan {
            let changed = after.filter(|after| figure.tokens() != Some(*after));
            if let Some(after) = changed {
                put(buf, (end + 1, row.y), end + 2, glyphs::ARROW, theme.style(Role::Faint));
                put_right(
                    buf,
                    row.y,
                    end + 2,
                    end + AFTER_WIDTH,
                    &[Span::styled(self.estimate(after), theme.style(Role::Plan))],
                );
            }
            end += AFTER_WIDTH;
        }
        let tokens = after.or(figure.tokens()).filter(|_| figure != Figure::Unknown);
        let share = tokens.filter(|_| self.window > 0);
        let words = share.map_or_else(String::new, |tokens| format_percent(tokens, self.window));
        put_right(buf, row.y, end, end + SHARE_WIDTH, &[Span::styled(words, theme.style(Role::Muted))]);
        end + SHARE_WIDTH
    }

    fn figure(&self, figure: Figure) -> String {
        match figure {
            Figure::Estimated(tokens) => self.estimate(tokens),
            Figure::Measured(tokens) => format_short(tokens),
            Figure::Difference(tokens) => {
                format!("{}{}", if tokens < 0 { "-" } else { "+" }, format_short(tokens.unsigned_abs()))
            }
            Figure::Unknown => glyphs::UNKNOWN.to_owned(),
        }
    }

    fn estimate(&self, tokens: u64) -> String {
        if self.columns.named { format_short(tokens) } else { format_short_estimate(tokens) }
    }

    /// Draws the bar, with the tokens that a plan frees as its tail; returns the next column.
    fn bar(&self, tokens: &RowTokens, x: u16, row: Rect, buf: &mut Buffer) -> u16 {
        let (theme, x) = (self.theme, x + 2);
        if self.columns.bar == 0 {
            return x;
        }
        let style = match tokens.kind {
            SectionKind::Part(part) if !theme.uses_letters() => {
                Style::new().fg(theme.part_colours(part, false).0)
            }
            _ => theme.style(Role::Ghost),
        };
        let share = |tokens: u64| tokens as f64 / self.largest as f64;
        let before = tokens.figure.tokens().unwrap_or(0);
        let bar = ThinBar {
            share: share(tokens.after.unwrap_or(before)),
            tail: tokens.after.map_or(0.0, |_| share(before)),
            style,
            tail_style: theme.style(Role::Ghost),
        };
        // The history may exceed the window, so a share of it would mislead.
        if tokens.kind != SectionKind::History {
            bar.draw(buf, (x, row.y), self.columns.bar);
        }
        x + self.columns.bar + 2
    }

    fn note(&self, note: &str, warns: bool, x: u16, row: Rect, buf: &mut Buffer) {
        let style = self.theme.style(if warns { Role::Warn } else { Role::Muted });
        put(buf, (x, row.y), row.right().saturating_sub(2), note, style);
    }
}

fn foot(theme: &Theme, screen: &BreakdownScreen, area: Rect, buf: &mut Buffer) {
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), glyphs::LIGHT, theme.style(Role::Faint));
    }
    let Some((section, line)) = screen.selected() else { return };
    let (words, note, warns) = line
        .map_or((&section.explanation, &section.note, section.has_warning), |line| {
            (&line.explanation, &line.note, line.has_warning)
        });
    let words = match (words.is_empty(), note.is_empty()) {
        (true, _) => note.clone(),
        (false, false) if section.kind == SectionKind::Heaviest && line.is_some() => {
            format!("{words} · {note}")
        }
        _ => words.clone(),
    };
    let shown = text::visible(&words);
    let room = usize::from(area.width.saturating_sub(3));
    let style = theme.style(if warns { Role::Warn } else { Role::Text });
    let ranges = wrap_rows(&shown, room);
    for (y, at) in (area.y + 1..area.bottom()).zip(0..) {
        let Some(range) = ranges.get(at) else { break };
        let last = y + 1 == area.bottom();
        let text = if last { &shown[range.start..] } else { &shown[range.clone()] };
        put(buf, (area.x + 1, y), area.right() - 2, text, style);
    }
}
