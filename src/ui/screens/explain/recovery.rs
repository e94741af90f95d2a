//! The recovery: the gateway's attempts and steps after an overflow, with tokens, rules and their traces in the
//! transcript. Folded, only the expected end beside the recorded one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::view::View;
use crate::app::screens::explain::ExplainRow;
use crate::app::screens::explain::page::{PlacedBlock, PlacedRow, STEP_TEXT_INDENT, content_columns};
use crate::format::{display_zone_note, format_short, format_short_tokens, quantity, time_of_day};
use crate::report::recovery::{RecoveryRow, RecoveryView, RowKind, RowMark};
use crate::ui::glyphs;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{on_title, put, put_facts, put_right, put_spans, row_at};
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
        let (x, right) = content_columns(area);
        match area.width {
            110.. => Self {
                words_end: x + 52,
                tokens_end: x + 61,
                rule: (x + 64, x + 80),
                recorded: (x + 82, right),
            },
            76.. => Self { words_end: x + 44, tokens_end: x + 53, rule: (0, 0), recorded: (x + 55, right) },
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

pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, after: u16, buf: &mut Buffer) {
    view.fold_line(placed, view.screen.recovery.is_open, buf);
    let Some(recovery) = view.screen.recovery.view() else { return };
    if recovery.earlier_overflows > 0 {
        let words = format!("{} before this one", quantity(recovery.earlier_overflows as u64, "overflow"));
        on_title(buf, placed.area.y, after, content_columns(placed.area).1, &[view.muted(words)]);
    }
    let Some(first) = placed.rows.get(1) else { return };
    let columns = Columns::new(placed.area);
    facts(view, recovery, row_at(placed.area, first.area.y - 2), buf);
    columns.heading(view.theme, recovery.is_recorded(), first.area.y - 1, buf);
    for (at, row) in placed.rows.iter().enumerate().skip(1) {
        let ExplainRow::RecoveryStep(step) = row.row else { continue };
        let Some(expected) = view.screen.step(step) else { continue };
        let next = placed.rows.get(at + 1).and_then(|_| view.screen.step(step + 1));
        RecoveryLine { theme: view.theme, view: recovery, columns: &columns, area: row.area }
            .draw(expected, next, buf);
        let below = Rect { y: row.area.y + 1, height: row.area.height.saturating_sub(1), ..row.area };
        let x = content_columns(row.area).0 + STEP_TEXT_INDENT;
        if below.height > 0 {
            view.lines(&PlacedRow { area: below, ..row.clone() }, x, Role::Muted, buf);
        }
    }
}

/// Draws the settings that decide.
fn facts(view: &View<'_>, recovery: &RecoveryView, row: Rect, buf: &mut Buffer) {
    let session = view.session;
    let named = |name: &str, value: String| {
        vec![view.muted(format!("{name} ")), Span::styled(value, view.theme.style(Role::Text))]
    };
    let round = |tokens: Tokens| format_short(tokens.whole());
    let compaction = &session.configured_settings.compaction;
    let at = time_of_day(recovery.refusal.time_ms, view.app.now_ms);
    let mut facts = Vec::new();
    facts.extend(at.map(|at| vec![view.muted(format!("{at}{}", display_zone_note()))]));
    facts.push(named("window", round(session.window.model_tokens)));
    facts.push(named("compaction", session.limits.compaction_mode.as_str().to_owned()));
    facts.push(named("reserve", round(compaction.reserve_tokens)));
    facts.push(named("keeps", round(compaction.keep_recent_tokens)));
    let (x, end) = content_columns(row);
    put_facts(buf, (x + 2, row.y), end, &facts);
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
        let start = (content_columns(self.area).0 + 2, y);
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
