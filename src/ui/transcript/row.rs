//! One row of the transcript.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use super::columns;
use super::columns::{Columns, put_number};
use crate::app::App;
use crate::app::regret::RowRegret;
use crate::app::transcript::{TranscriptPane, TranscriptRowTokens};
use crate::context::rows::{Rail, RowKind, TranscriptRow, is_only_calls};
use crate::context::tokens_before::recorded_tokens_before;
use crate::format::{format_number, minute, quantity};
use crate::policy::Fate;
use crate::redact::masked;
use crate::session::message::excerpt::Excerpt;
use crate::store::entry::{EntryKind, Role as Speaker};
use crate::text;
use crate::ui::changed_value::changed_style;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{ThinBar, apply_style, put, put_spans, spans_width};

/// Columns per level of branches, and the deepest level drawn.
const INDENT: u16 = 2;
const MAX_INDENT: u16 = 6;
/// Share of the window from which a message is large.
const LARGE_SHARE: f64 = 0.05;

pub(super) struct RowPainter<'a> {
    pub(super) app: &'a App,
    pub(super) theme: &'a Theme,
    pub(super) pane: &'a TranscriptPane,
    pub(super) columns: &'a Columns,
    pub(super) area: Rect,
}

impl RowPainter<'_> {
    pub(super) fn draw(&self, row: &TranscriptRow, selected: bool, buf: &mut Buffer) {
        let numbers = self.numbers(row);
        self.backgrounds(row, &numbers, selected, buf);
        if row.kind == RowKind::Cut {
            if let Some(cut) = self.pane.compaction_marker {
                columns::draw(&cut, self.theme, self.columns, self.area, buf);
            }
            return;
        }
        self.rail(row, buf);
        if let Some(error) = self.loaded_excerpt(row).and_then(|excerpt| excerpt.error.as_deref()) {
            self.error(row, error, buf);
            self.total(&numbers, selected, buf);
            return;
        }
        let faded = numbers.fate.is_some_and(leaves_prompt);
        self.text(row, faded, selected, buf);
        if row.message.is_some() {
            self.fate(row, &numbers, buf);
            self.tokens(row, &numbers, selected, buf);
            self.bar(row, &numbers, buf);
            self.total(&numbers, selected, buf);
        }
    }

    fn loaded_excerpt(&self, row: &TranscriptRow) -> Option<&Excerpt> {
        self.pane.excerpts.get(&row.entry).map(|excerpt| excerpt.with_secrets(self.app.secrets))
    }

    fn numbers(&self, row: &TranscriptRow) -> TranscriptRowTokens {
        let mut numbers = self.pane.row_tokens(row, self.app.preview.plan.as_deref());
        if let RowKind::Compacted { .. } = row.kind {
            // The number before is the recorded prompt before the compaction.
            let session = &self.pane.session;
            let path = &session.context.path;
            let place = path.iter().position(|ix| *ix == row.entry);
            let before = place.and_then(|place| recorded_tokens_before(&session.index, path, place));
            numbers.before = before.map_or(numbers.after, |before| before.tokens.whole());
            let is_reset = self.pane.session.index.entry(row.entry).kind == EntryKind::Reset;
            numbers.fate = self.app.preview.plan.as_ref().filter(|_| !is_reset).map(|_| Fate::Summarised);
        }
        numbers
    }

    /// Draws cursor, selection, protected zone and the values that the last key changed.
    fn backgrounds(
        &self,
        row: &TranscriptRow,
        numbers: &TranscriptRowTokens,
        selected: bool,
        buf: &mut Buffer,
    ) {
        let (theme, y) = (self.theme, self.area.y);
        let cursor = self.columns.cursor;
        let focused = self.app.focus == crate::app::layout::Pane::Transcript;
        if selected {
            let area = Rect { x: cursor, width: self.area.right().saturating_sub(cursor), ..self.area };
            apply_style(buf, area, theme.selection(focused));
            let role = if focused { Role::Focus } else { Role::Ghost };
            put(buf, (cursor, y), self.area.right(), session_columns::CURSOR, theme.style(role));
        } else if self.pane.new_entries.contains(&row.entry) {
            put(buf, (cursor, y), self.area.right(), session_columns::CURSOR, theme.style(Role::User));
        }
        if numbers.is_protected {
            put(buf, (cursor + 1, y), self.area.right(), session_columns::ZONE, theme.fate(Fate::Protected));
        }
        let range = row.message.map(|first| first..first + row.messages as usize);
        let changed =
            |range: std::ops::Range<usize>| self.app.flash.messages.iter().any(|at| range.contains(at));
        if self.app.is_flashing() && range.is_some_and(changed) {
            let from = if self.columns.sign > 0 { self.columns.sign - 1 } else { self.columns.text_end };
            let area = Rect { x: from, width: self.columns.after_end + 1 - from, ..self.area };
            apply_style(buf, area, changed_style(self.app, theme));
        }
    }

    fn rail(&self, row: &TranscriptRow, buf: &mut Buffer) {
        let (theme, end) = (self.theme, self.columns.text_end);
        let base = (self.columns.cursor + 2, self.area.y);
        let rail = theme.style(Role::Ghost);
        let at = (base.0 + indent(row), base.1);
        if row.depth > 0 {
            put(buf, base, end, session_columns::LINE, rail);
        }
        match (row.kind, row.rail) {
            (RowKind::Compacted { open, .. }, _) => {
                put(
                    buf,
                    at,
                    end,
                    if open { session_columns::OPEN } else { session_columns::FOLDED },
                    theme.style(Role::Muted),
                );
            }
            (RowKind::Turn { .. }, _) => {
                put(buf, at, end, session_columns::FOLDED, theme.style(Role::User));
            }
            (RowKind::Branch { open, .. }, _) => {
                let sign = if open { session_columns::OPEN } else { session_columns::FOLDED };
                let x = put(buf, at, end, session_columns::TICK, rail);
                let x = put(buf, (x, at.1), end, session_columns::DASHES, rail);
                put(buf, (x, at.1), end, sign, theme.style(Role::Muted));
            }
            (RowKind::Entry, Rail::Dot) => {
                put(buf, at, end, session_columns::ON, theme.style(Role::User));
            }
            (RowKind::Entry, Rail::Tick) => {
                put(buf, at, end, session_columns::TICK, rail);
            }
            (RowKind::Entry, Rail::Line) => {
                put(buf, at, end, session_columns::LINE, rail);
            }
            (RowKind::Entry, Rail::End) => {
                put(buf, at, end, session_columns::END, rail);
            }
            (RowKind::Entry, Rail::None | Rail::Fork) | (RowKind::Cut, _) => {}
        }
    }

    fn text_start(&self, row: &TranscriptRow) -> u16 {
        let sign = if matches!(row.kind, RowKind::Branch { .. }) { 2 } else { 0 };
        self.columns.text + indent(row) + sign
    }

    /// Draws the error of a failed call across the columns.
    fn error(&self, row: &TranscriptRow, error: &str, buf: &mut Buffer) {
        let end = if self.columns.total_end > 0 { self.columns.total_end - 7 } else { self.area.right() };
        let at = (self.text_start(row), self.area.y);
        let x = put(buf, at, end, session_columns::ALERT, self.theme.style(Role::Danger));
        put(buf, (x + 1, at.1), end, error, self.theme.style(Role::Danger));
    }

    fn text(&self, row: &TranscriptRow, faded: bool, selected: bool, buf: &mut Buffer) {
        let at = (self.text_start(row), self.area.y);
        let spans = self.words(row, faded, selected);
        let wide = row.message.is_none() && !matches!(row.kind, RowKind::Entry);
        let end = if wide { self.columns.after_end } else { self.columns.text_end };
        // The size of a fold stays visible when its text is truncated.
        let (texts, tail) = match row.kind {
            RowKind::Entry | RowKind::Cut | RowKind::Compacted { .. } => (&spans[..], &[][..]),
            _ => spans.split_at(spans.len() - 1),
        };
        let mut tail = tail.to_vec();
        tail.extend(self.regret(row, end.saturating_sub(at.0)));
        let room = end.saturating_sub(spans_width(&tail)).max(at.0);
        let x = put_spans(buf, at, room, texts);
        put_spans(buf, (x, at.1), end, &tail);
        self.mark_matches(row, texts, at, room, buf);
    }

    /// Returns the mark of a row whose message was needed again, as long as half of the row allows.
    fn regret(&self, row: &TranscriptRow, columns: u16) -> Option<Span<'static>> {
        let sign = session_columns::AGAIN;
        let forms = match self.app.row_regret(row)? {
            RowRegret::One(need) => {
                [format!(" {sign} {}", need.describe()), format!(" {sign} {}", need.describe_distance())]
            }
            RowRegret::Several(count) => {
                [format!(" {sign} {} needed again", format_number(count as u64)), format!(" {sign} {count}")]
            }
        };
        let fits = |words: &String| text::width(words) <= usize::from(columns / 2);
        let words = forms.into_iter().find(fits).unwrap_or_else(|| format!(" {sign}"));
        Some(Span::styled(words, self.theme.style(Role::Warn)))
    }

    /// Returns the words of a row: tool, text and the number of entries in a fold.
    fn words(&self, row: &TranscriptRow, faded: bool, selected: bool) -> Vec<Span<'_>> {
        let theme = self.theme;
        let quiet = theme.style(Role::Muted);
        let entries = |count: u32| quantity(u64::from(count), "entry");
        if let RowKind::Compacted { entries: count, .. } = row.kind {
            let entry = self.pane.session.index.entry(row.entry);
            let what = if entry.kind == EntryKind::Reset { "before the reset" } else { "compacted" };
            let at = minute(entry.time_ms).map(|at| format!(" {at}")).unwrap_or_default();
            return vec![Span::styled(format!("{} · {what}{at}", entries(count)), quiet)];
        }
        let (tool, words) = self.excerpt(row);
        let style = self.text_style(row, faded, selected);
        let mut spans = Vec::new();
        if let Some(label) = self.pane.labels.get(&row.entry) {
            let label = self.app.secrets.apply(label);
            spans.push(Span::styled(format!("[{label}] "), theme.style(Role::Focus)));
        }
        if self.is_call(row) {
            spans.push(Span::styled(format!("{} ", session_columns::ARROW), quiet));
        }
        if let Some(tool) = tool {
            let style = if faded || self.is_call(row) { quiet } else { theme.style(Role::Tool) };
            spans.push(Span::styled(tool, style));
            spans.push(Span::raw(" "));
        }
        if let Some(mark) = self.loaded_excerpt(row).and_then(|excerpt| excerpt.envelope.as_deref()) {
            spans.push(Span::styled(mark, quiet));
            spans.push(Span::raw(" "));
        }
        // Before the words, which the pane cuts.
        if row.kind == RowKind::Entry && self.pane.session.leaks_no_reply(row.entry) {
            spans.push(Span::styled("NO_REPLY shown · ", theme.style(Role::Warn)));
        }
        spans.push(Span::styled(words, style));
        if self.is_no_reply(row) {
            spans.push(Span::styled(" · silent", quiet));
        }
        match row.kind {
            RowKind::Branch { entries: count, .. } | RowKind::Turn { entries: count } => {
                spans.push(Span::styled(format!(" · {}", entries(count)), quiet));
            }
            _ => {}
        }
        spans
    }

    /// Returns tool and text; until they are loaded, data from the index.
    fn excerpt(&self, row: &TranscriptRow) -> (Option<Cow<'_, str>>, Cow<'_, str>) {
        let index = &self.pane.session.index;
        let entry = index.entry(row.entry);
        if let Some(excerpt) = self.loaded_excerpt(row) {
            let nameless = *excerpt == Excerpt::default();
            // Every row has words: an entry without text shows its type.
            let text = if nameless { entry.kind.as_str() } else { excerpt.text.as_str() };
            return (excerpt.tool.as_deref().map(Cow::from), text.into());
        }
        let tool = entry.message.and_then(|message| index.value_text(message.tool_name));
        let word = entry.role().map_or(entry.kind.as_str(), Speaker::as_str);
        match tool {
            Some(tool) => (Some(masked(&tool).into_owned().into()), "…".into()),
            None => (None, format!("{word} …").into()),
        }
    }

    fn text_style(&self, row: &TranscriptRow, faded: bool, selected: bool) -> Style {
        let entry = self.pane.session.index.entry(row.entry);
        let message = entry.role() == Some(Speaker::User);
        let aside = !matches!(row.kind, RowKind::Entry | RowKind::Turn { .. })
            || self.is_call(row)
            || self.is_no_reply(row);
        let bookkeeping = entry.message.is_none();
        match (faded || aside || bookkeeping, selected || message) {
            (true, false) => self.theme.style(Role::Muted),
            (false, true) => self.theme.style(Role::Bright),
            (true, true) | (false, false) => self.theme.style(Role::Text),
        }
    }

    /// Whether the row is a silent answer, which the person never saw.
    fn is_no_reply(&self, row: &TranscriptRow) -> bool {
        let message = self.pane.session.index.entry(row.entry).message;
        row.kind == RowKind::Entry && message.is_some_and(|message| message.is_no_reply)
    }

    fn is_call(&self, row: &TranscriptRow) -> bool {
        row.kind == RowKind::Entry && is_only_calls(self.pane.session.index.entry(row.entry))
    }

    fn mark_matches(&self, row: &TranscriptRow, spans: &[Span], at: (u16, u16), end: u16, buf: &mut Buffer) {
        if self.pane.matches.binary_search(&row.entry).is_err() {
            return;
        }
        let current = self.pane.selected().is_some_and(|selected| selected.entry == row.entry);
        let mut style = changed_style(self.app, self.theme).add_modifier(Modifier::UNDERLINED);
        if current {
            style = style.add_modifier(Modifier::BOLD);
        }
        let line: String = spans.iter().map(|span| text::visible(&span.content).into_owned()).collect();
        for range in self.pane.marked_words.ranges(&line) {
            let x = at.0 + text::width(&line[..range.start]) as u16;
            let width = (text::width(&line[range]) as u16).min(end.saturating_sub(x));
            apply_style(buf, Rect { x, y: at.1, width, height: 1 }, style);
        }
    }

    /// Draws the sign of the fate, its number of messages in a fold, and the tokens before.
    fn fate(&self, row: &TranscriptRow, numbers: &TranscriptRowTokens, buf: &mut Buffer) {
        let Some(fate) = numbers.fate.filter(|_| self.columns.sign > 0) else { return };
        let (theme, y) = (self.theme, self.area.y);
        let sign = fate.sign();
        let x = put(buf, (self.columns.sign, y), self.area.right(), sign, theme.fate(fate));
        if !matches!(row.kind, RowKind::Entry) && row.messages > 1 && fate.is_change() {
            put(buf, (x, y), x + 2, &numbers.fate_count.to_string(), theme.fate(fate));
        }
        if fate.is_change() && numbers.before != numbers.after {
            put_number(
                buf,
                y,
                self.columns.before_end,
                self.columns.estimate(numbers.before),
                theme.style(Role::Muted),
            );
            let arrow = (self.columns.before_end + 1, y);
            put(buf, arrow, self.area.right(), session_columns::ARROW, theme.style(Role::Faint));
        }
    }

    /// Formats the tokens of a row; `refused` for a refused call without a count.
    fn tokens_words(&self, row: &TranscriptRow, numbers: &TranscriptRowTokens) -> String {
        let refused = self.pane.session.overflow_at(row.entry).is_some_and(|it| it.kind.is_refusal());
        let alone = matches!(row.kind, RowKind::Entry) && numbers.after == 0;
        if refused && alone { "refused".to_owned() } else { self.columns.estimate(numbers.after) }
    }

    fn tokens(&self, row: &TranscriptRow, numbers: &TranscriptRowTokens, selected: bool, buf: &mut Buffer) {
        let theme = self.theme;
        let large = numbers.after as f64 >= (self.pane.session.window.model_tokens * LARGE_SHARE).get();
        let style = match numbers.fate.filter(|fate| fate.is_change()) {
            Some(fate) => theme.fate(fate),
            None if large => theme.bold(Role::Bright),
            None if selected => theme.style(Role::Bright),
            None => theme.style(Role::Text),
        };
        put_number(buf, self.area.y, self.columns.after_end, self.tokens_words(row, numbers), style);
    }

    fn bar(&self, row: &TranscriptRow, numbers: &TranscriptRowTokens, buf: &mut Buffer) {
        let (x, width) = self.columns.bar;
        if width == 0 || row.messages == 0 || !matches!(row.kind, RowKind::Entry) {
            return;
        }
        let largest = self.pane.largest.max(1) as f64;
        let entry = self.pane.session.index.entry(row.entry);
        let role = match entry.role() {
            Some(Speaker::ToolResult) => Role::Tool,
            Some(Speaker::Assistant) => Role::Assistant,
            Some(Speaker::User) => Role::User,
            _ => Role::Muted,
        };
        let gone = numbers.after < 50 && numbers.before > numbers.after;
        let bar = ThinBar {
            share: if gone { 0.0 } else { numbers.after as f64 / largest },
            tail: if numbers.before > numbers.after { numbers.before as f64 / largest } else { 0.0 },
            style: self.theme.style(role),
            tail_style: self.theme.style(Role::Ghost),
        };
        bar.draw(buf, (x, self.area.y), width);
    }

    fn total(&self, numbers: &TranscriptRowTokens, selected: bool, buf: &mut Buffer) {
        if self.columns.total_end == 0 || numbers.running_total == 0 {
            return;
        }
        let past = numbers.running_total as f64 > self.pane.session.window.model_tokens.get();
        let role = match (past, selected) {
            (true, _) => Role::Danger,
            (_, true) => Role::Text,
            _ => Role::Muted,
        };
        put_number(
            buf,
            self.area.y,
            self.columns.total_end,
            self.columns.estimate(numbers.running_total),
            self.theme.style(role),
        );
    }
}

fn indent(row: &TranscriptRow) -> u16 {
    INDENT * row.depth.min(MAX_INDENT)
}

/// Whether the text of a message leaves the prompt.
fn leaves_prompt(fate: Fate) -> bool {
    matches!(fate, Fate::Cleared | Fate::Summarised | Fate::Dropped)
}
