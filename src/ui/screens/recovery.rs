//! The recovery screen: the gateway's attempts and steps after an overflow, with tokens, rules and their traces in the
//! transcript.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::recovery::{FOOTER_ROWS, HEADER_ROWS, RecoveryScreen};
use crate::format::{display_zone_note, format_short, format_short_tokens, quantity, time_of_day};
use crate::policy::recovery::ErrorSource;
use crate::report::recovery::{RecoveryRow, RecoveryView, RowKind, RowMark};
use crate::text;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{
    clear, note, on_title, put, put_facts, put_right, put_spans, row_at, scrollbar, title,
};
use crate::ui::{frame_box, glyphs};
use crate::units::Tokens;

/// Positions of the columns; hidden ones have width 0.
struct Columns {
    words_end: u16,
    tokens_end: u16,
    rule: (u16, u16),
    recorded: (u16, u16),
}

impl Columns {
    fn new(area: Rect) -> Self {
        let (x, right) = (area.x, area.right().saturating_sub(1));
        match area.width {
            110.. => Self {
                words_end: x + 54,
                tokens_end: x + 63,
                rule: (x + 66, x + 82),
                recorded: (x + 84, right),
            },
            76.. => Self { words_end: x + 46, tokens_end: x + 55, rule: (0, 0), recorded: (x + 57, right) },
            // Only the sign of the recorded column.
            _ => Self {
                words_end: right.saturating_sub(12),
                tokens_end: right.saturating_sub(3),
                rule: (0, 0),
                recorded: (right.saturating_sub(1), right),
            },
        }
    }
}

impl Columns {
    /// Draws the names of the columns that have room for one.
    fn heading(&self, theme: &Theme, happened: bool, y: u16, buf: &mut Buffer) {
        let style = theme.style(Role::Muted);
        let tokens = [Span::styled("tokens", style)];
        put_right(buf, y, self.words_end.saturating_sub(8), self.tokens_end, &tokens);
        put(buf, (self.rule.0, y), self.rule.1, "rule", style);
        let (from, to) = self.recorded;
        if happened && to - from > 8 {
            put(buf, (from, y), to, "recorded", style);
        }
    }
}

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &RecoveryScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let after = title(theme, buf, area, "Recovery", true);
    let view = match &screen.result {
        Some(Ok(view)) => view,
        Some(Err(error)) => return note(theme, "Cannot predict the recovery", &error.to_string(), area, buf),
        None => return note(theme, "Reading…", "", area, buf),
    };
    earlier(theme, view, (after, area.y), area.right().saturating_sub(1), buf);
    head(app, theme, view, area, buf);
    let list = Rect {
        y: area.y + HEADER_ROWS,
        height: area.height.saturating_sub(HEADER_ROWS + FOOTER_ROWS),
        ..area
    };
    let top = screen.scroll.top.min(view.rows.len().saturating_sub(usize::from(list.height)));
    let columns = Columns::new(area);
    columns.heading(theme, view.is_recorded(), list.y.saturating_sub(1), buf);
    for (y, (at, row)) in (list.y..list.bottom()).zip(view.rows.iter().enumerate().skip(top)) {
        let line = row_at(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, line, theme.background(BackgroundRole::Selected));
        }
        RecoveryLine { theme, view, columns: &columns, area: line }.draw(row, view.rows.get(at + 1), buf);
    }
    scrollbar(theme, buf, list, top, view.rows.len());
    if let Some(row) = screen.selected() {
        foot(theme, row, Rect { y: list.bottom(), height: FOOTER_ROWS, ..area }, buf);
    }
}

fn earlier(theme: &Theme, view: &RecoveryView, at: (u16, u16), end: u16, buf: &mut Buffer) {
    if view.earlier_overflows > 0 {
        let words = format!("{} before this one", quantity(view.earlier_overflows as u64, "overflow"));
        on_title(buf, at.1, at.0, end, &[Span::styled(words, theme.style(Role::Muted))]);
    }
}

/// Draws the words of the refusal and the settings that decide.
fn head(app: &App, theme: &Theme, view: &RecoveryView, area: Rect, buf: &mut Buffer) {
    let (x, end) = (area.x + 2, area.right().saturating_sub(1));
    let refusal = &view.refusal;
    let text = refusal.shown_text();
    let (words, style) = match (refusal.entry, refusal.source) {
        (None, _) => ("No overflow is recorded. If the next call overflowed:", theme.bold(Role::Bright)),
        (_, ErrorSource::Silent) => (ErrorSource::Silent.label(), theme.style(Role::Danger)),
        _ => (text.as_ref(), theme.style(Role::Danger)),
    };
    let x_words =
        if view.is_recorded() { put(buf, (x, area.y + 1), end, glyphs::ALERT, style) + 1 } else { x };
    put(buf, (x_words, area.y + 1), end, words, style);
    let Some(session) = app.displayed_session() else { return };
    let muted = |text: String| vec![Span::styled(text, theme.style(Role::Muted))];
    let named = |name: &str, value: String| {
        vec![
            Span::styled(format!("{name} "), theme.style(Role::Muted)),
            Span::styled(value, theme.style(Role::Text)),
        ]
    };
    let round = |tokens: Tokens| format_short(tokens.whole());
    let mut facts = Vec::new();
    facts.extend(
        time_of_day(refusal.time_ms, app.now_ms).map(|at| muted(format!("{at}{}", display_zone_note()))),
    );
    facts.push(named("window", round(session.window.model_tokens)));
    facts.push(named("compaction", session.limits.compaction_mode.as_str().to_owned()));
    facts.push(named("reserve", round(session.configured_settings.compaction.reserve_tokens)));
    facts.push(named("keeps", round(session.configured_settings.compaction.keep_recent_tokens)));
    put_facts(buf, (x, area.y + 2), end, &facts);
}

struct RecoveryLine<'a> {
    theme: &'a Theme,
    view: &'a RecoveryView,
    columns: &'a Columns,
    area: Rect,
}

impl RecoveryLine<'_> {
    fn draw(&self, row: &RecoveryRow, next: Option<&RecoveryRow>, buf: &mut Buffer) {
        let (theme, y) = (self.theme, self.area.y);
        let start = (self.area.x + 2, y);
        if matches!(row.kind, RowKind::Attempt(_)) {
            put(buf, start, self.columns.words_end, &row.label, theme.bold(Role::Bright));
            return;
        }
        let last = next.is_none_or(|next| next.kind != RowKind::Step);
        let rail = match row.kind {
            RowKind::Step if last => glyphs::END,
            RowKind::Step => glyphs::TICK,
            _ => " ",
        };
        let x = put(buf, start, self.columns.words_end, rail, theme.style(Role::Ghost)) + 1;
        let x = put(buf, (x, y), self.columns.words_end, row.mark.glyph(), self.style(row)) + 1;
        let words =
            if row.kind == RowKind::Ending { theme.bold(Role::Bright) } else { self.words_style(row) };
        put(buf, (x, y), self.columns.words_end, &row.label, words);
        self.tokens(row, buf);
        let (from, to) = self.columns.rule;
        put(buf, (from, y), to, row.rule, theme.style(Role::Muted));
        self.recorded(row, buf);
    }

    fn style(&self, row: &RecoveryRow) -> Style {
        self.theme.style(match row.mark {
            RowMark::Refused => Role::Danger,
            RowMark::Failed => Role::Warn,
            RowMark::Done => Role::User,
            RowMark::Continued => Role::Focus,
            RowMark::Neutral => Role::Muted,
        })
    }

    fn words_style(&self, row: &RecoveryRow) -> Style {
        self.theme.style(if row.mark == RowMark::Neutral { Role::Muted } else { Role::Text })
    }

    /// Draws the tokens of the prompt, without `~` if the provider counted them.
    fn tokens(&self, row: &RecoveryRow, buf: &mut Buffer) {
        let Some(tokens) = row.tokens else { return };
        let measured = row.mark == RowMark::Refused && self.view.refusal.tokens == Some(tokens);
        let words = format_short_tokens(tokens, measured);
        let span = Span::styled(words, self.theme.style(Role::Text));
        put_right(buf, self.area.y, self.columns.words_end, self.columns.tokens_end, &[span]);
    }

    /// Draws the recorded event; on narrow screens only its sign.
    fn recorded(&self, row: &RecoveryRow, buf: &mut Buffer) {
        if !self.view.is_recorded() {
            return;
        }
        let (from, to) = self.columns.recorded;
        let theme = self.theme;
        let spans = match &row.observed {
            Some(_) if to - from < 2 => vec![Span::styled(glyphs::ON, theme.style(Role::User))],
            Some(words) => vec![Span::styled(words.as_str(), theme.style(Role::Text))],
            None if to - from < 2 => vec![Span::styled(glyphs::OFF, theme.style(Role::Muted))],
            None => vec![Span::styled(glyphs::UNKNOWN, theme.style(Role::Muted))],
        };
        put_spans(buf, (from, self.area.y), to, &spans);
    }
}

/// Draws the explanation of the selected row, with its rule on the hairline.
fn foot(theme: &Theme, row: &RecoveryRow, area: Rect, buf: &mut Buffer) {
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), glyphs::LIGHT, theme.style(Role::Faint));
    }
    if !row.rule.is_empty() {
        let rule = [Span::styled(row.rule, theme.style(Role::Muted))];
        on_title(buf, area.y, area.x, area.right().saturating_sub(1), &rule);
    }
    let recorded = row.observed.as_ref().map(|words| format!(" Recorded: {words}.")).unwrap_or_default();
    let lines =
        text::wrap(&format!("{}{recorded}", row.explanation), usize::from(area.width.saturating_sub(4)));
    for (y, line) in (area.y + 1..area.bottom()).zip(lines) {
        put(buf, (area.x + 2, y), area.right().saturating_sub(1), &line, theme.style(Role::Text));
    }
}
