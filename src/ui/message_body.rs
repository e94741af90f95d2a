//! The text of a message: line numbers, signs, colours and marks where text leaves the prompt. Only visible rows are
//! laid out.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, Weak};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::app::App;
use crate::app::message::MessagePane;
use crate::app::message_body::{BodyLine, ContentKind, LineTone, TextLine};
use crate::app::message_layout::{MessageLayout, occurrences};
use crate::format::format_number;
use crate::policy::Fate;
use crate::text;
use crate::text::sgr::SgrStyle;
use crate::ui::highlight::{self, Spans};
use crate::ui::session_columns;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{apply_style, put, put_spans, spans_width};
use crate::units::Chars;

/// Bytes of a line that are searched for a word of failure.
const SEVERITY_SCAN_BYTES: usize = 400;
/// Words that tools print with errors.
const FAILURE_WORDS: [&str; 14] = [
    "error:",
    "Error:",
    "ERROR",
    "error[",
    "Error [",
    "errors:",
    "FAILED",
    "FAIL:",
    "fatal:",
    "panicked at",
    "Traceback (",
    "Exception:",
    "undefined reference",
    "command not found",
];
/// Words that tools print with warnings.
const WARNING_WORDS: [&str; 4] = ["warning:", "Warning:", "WARN", "warning["];

/// Bytes from which a line is long, so that its layout is cached between frames.
const LONG_LINE_BYTES: usize = 4_096;

/// A line of a message without control characters, and its wrapped rows.
#[derive(Debug)]
struct LineLayout {
    visible: String,
    rows: Vec<Range<usize>>,
    /// Byte ranges that match the search, in order.
    matches: Vec<Range<usize>>,
    /// The bytes that leave the prompt.
    removed: Range<usize>,
    /// The end of an argument's name.
    key_end: Option<usize>,
    /// Byte ranges with the styles of a program's output, in order.
    colours: Vec<(Range<usize>, Style)>,
}

impl LineLayout {
    /// Returns the matches that a row shows; a long line has any number of them.
    fn matches_in(&self, row: &Range<usize>) -> impl Iterator<Item = &Range<usize>> {
        let first = self.matches.partition_point(|found| found.end <= row.start);
        self.matches[first..].iter().take_while(|found| found.start < row.end)
    }
}

/// Cached layouts of long lines: a frame shows at most the ends of two on each side.
const MAX_CACHED_LINES: usize = 4;

/// A cached layout: message, line with side and hidden columns, search text, layout.
type CachedLine = (Weak<MessageLayout>, (usize, bool, usize), String, Arc<LineLayout>);

thread_local! {
    /// The last used is the last.
    static LONG_LINES: RefCell<Vec<CachedLine>> = const { RefCell::new(Vec::new()) };
    #[cfg(test)]
    pub(super) static LAID_OUT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Draws the rows of a message from the scroll position on, or their right side.
#[derive(Debug)]
pub(super) struct BodyPainter<'a> {
    theme: &'a Theme,
    shown: &'a Arc<MessageLayout>,
    /// The pane, which knows the search and the columns hidden on the left.
    pane: &'a MessagePane,
    /// The fate under the plan, which colours the marks.
    fate: Option<Fate>,
    unfold_key: Option<String>,
    top: usize,
    first_line: usize,
    colours: Vec<[Spans; 2]>,
}

impl<'a> BodyPainter<'a> {
    /// Prepares the visible rows of an area of height `rows`.
    pub(super) fn new(app: &'a App, theme: &'a Theme, shown: &'a Arc<MessageLayout>, rows: usize) -> Self {
        let top = app.message.top.min(shown.rows().saturating_sub(1));
        let line = |row: usize| shown.line_at(row).map_or(shown.body.lines.len(), |(line, _)| line);
        let lines = line(top)..(line(top + rows.max(1) - 1) + 1).min(shown.body.lines.len()).max(line(top));
        let keys = &app.options.keymap;
        let fold = crate::app::action::Action::Fold;
        Self {
            theme,
            shown,
            pane: &app.message,
            fate: shown.message.fate.map(|fate| fate.fate),
            unfold_key: keys.keys_for(crate::app::keymap::KeyContext::Message, fold).first().cloned(),
            top,
            first_line: lines.start,
            colours: highlight::spans(shown, lines),
        }
    }

    pub(super) fn draw(&self, area: Rect, right: bool, buf: &mut Buffer) {
        let mut laid_out: Option<(usize, Arc<LineLayout>)> = None;
        for y in 0..area.height {
            let row = self.top + usize::from(y);
            let Some((line, sub)) = self.shown.line_at(row) else { break };
            let at = Rect { y: area.y + y, height: 1, ..area };
            let piece = match &self.shown.body.lines[line] {
                BodyLine::Single(piece) => Some(piece),
                BodyLine::SideBySide(one, two) => if right { two } else { one }.as_ref(),
                _ => None,
            };
            if let Some(piece) = piece {
                // A line of megabytes fills the screen with its rows, so wrap it once.
                if laid_out.as_ref().is_none_or(|(of, _)| *of != line) {
                    laid_out = Some((line, self.line_layout(piece, (line, right, self.pane.left_of(row)))));
                }
                if let Some((_, laid_out)) = &laid_out {
                    self.piece(piece, laid_out, (row, line, sub), right, at, buf);
                }
                continue;
            }
            match &self.shown.body.lines[line] {
                BodyLine::SideBySide(..) => self.hatch(at, buf),
                BodyLine::Heading(name, words) => self.heading(name, words, at, buf),
                BodyLine::RemovedChars(chars) => self.cut(*chars, at, buf),
                BodyLine::FoldedLines(_) if right => self.hatch(at, buf),
                BodyLine::FoldedLines(lines) => self.fold(*lines, at, buf),
                BodyLine::End => self.end(at, buf),
                BodyLine::Single(_) | BodyLine::Blank => {}
            }
        }
    }

    /// Lays out a line once for all its rows; long lines are cached between frames.
    fn line_layout(&self, piece: &TextLine, (line, right, left): (usize, bool, usize)) -> Arc<LineLayout> {
        if piece.range.len() < LONG_LINE_BYTES {
            return Arc::new(self.lay_out(piece, right, left));
        }
        LONG_LINES.with_borrow_mut(|cached| {
            let known = cached.iter().position(|(of, at, query, _)| {
                std::ptr::eq(of.as_ptr(), Arc::as_ptr(self.shown))
                    && *at == (line, right, left)
                    && *query == self.pane.query
            });
            let entry = known.map_or_else(
                || {
                    let (of, query) = (Arc::downgrade(self.shown), self.pane.query.clone());
                    (of, (line, right, left), query, Arc::new(self.lay_out(piece, right, left)))
                },
                |at| cached.remove(at),
            );
            let layout = Arc::clone(&entry.3);
            if cached.len() == MAX_CACHED_LINES {
                cached.remove(0);
            }
            cached.push(entry);
            layout
        })
    }

    fn lay_out(&self, piece: &TextLine, right: bool, left: usize) -> LineLayout {
        #[cfg(test)]
        LAID_OUT.set(LAID_OUT.get() + 1);
        let (visible, rows) = self.shown.text_line_rows(piece, right, left);
        let matches = occurrences(&visible, &self.pane.query);
        let to_visible = |at: usize| self.shown.body.visible_before(piece, at).len();
        let removed = match &piece.removed_range {
            none if none.is_empty() => 0..0,
            range => to_visible(range.start)..to_visible(range.end),
        };
        let is_argument = self.shown.body.texts[piece.text_index].kind == ContentKind::Arguments;
        let key_end = if is_argument { key_end(&visible) } else { None };
        let colours =
            if piece.tone == LineTone::Plain { self.colours(piece, visible.len()) } else { Vec::new() };
        LineLayout { visible, rows, matches, removed, key_end, colours }
    }

    /// Returns the styles that a program gave to its output.
    fn colours(&self, piece: &TextLine, end: usize) -> Vec<(Range<usize>, Style)> {
        let starts = self.shown.body.colours(piece);
        let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([end]);
        let ranges = starts
            .iter()
            .zip(ends)
            .filter(|((start, style), end)| start < end && *style != SgrStyle::default());
        ranges.map(|((start, style), end)| (*start..end, self.theme.sgr(*style))).collect()
    }

    fn gutter(&self) -> u16 {
        self.shown.gutter() as u16
    }

    fn heading(&self, name: &str, words: &str, at: Rect, buf: &mut Buffer) {
        let style =
            if name == "error" { self.theme.bold(Role::Danger) } else { self.theme.style(Role::Tool) };
        let name = if name.is_empty() { "—" } else { name };
        let spans =
            [Span::styled(name, style), Span::raw("   "), Span::styled(words, self.theme.style(Role::Muted))];
        put_spans(buf, (at.x, at.y), at.right(), &spans);
    }

    fn mark(&self) -> Style {
        self.fate.map_or_else(|| self.theme.style(Role::Warn), |fate| self.theme.fate(fate))
    }

    fn cut(&self, chars: Chars, at: Rect, buf: &mut Buffer) {
        apply_style(buf, at, self.theme.background(BackgroundRole::Surface));
        let words = if chars == Chars(1.0) {
            "char removed from the prompt"
        } else {
            "chars removed from the prompt"
        };
        let text = format!("⋯ {} {words} ⋯", format_number(chars));
        let width = text::width(&text) as u16;
        let x = at.x + at.width.saturating_sub(width) / 2;
        put(buf, (x, at.y), at.right(), &text, self.mark());
    }

    fn fold(&self, lines: usize, at: Rect, buf: &mut Buffer) {
        apply_style(buf, at, self.theme.background(BackgroundRole::Removed));
        let words = if lines == 1 { "line" } else { "lines" };
        let key = self.unfold_key.as_ref().map(|key| format!("   press {key} to show")).unwrap_or_default();
        let short = format!("⋯ {} more {words} ⋯", format_number(lines as u64));
        let long = format!("⋯ {} more {words}{key} ⋯", format_number(lines as u64));
        let x = at.x + self.gutter();
        let fits = text::width(&long) <= usize::from(at.right().saturating_sub(x));
        put(buf, (x, at.y), at.right(), if fits { &long } else { &short }, self.mark());
    }

    fn end(&self, at: Rect, buf: &mut Buffer) {
        let what = self.shown.message.fact("role").map_or("entry", |role| match role {
            "toolResult" => "result",
            _ => "message",
        });
        let text = format!("end of {what}");
        put(buf, (at.x + self.gutter(), at.y), at.right(), &text, self.theme.style(Role::Muted));
    }

    fn hatch(&self, at: Rect, buf: &mut Buffer) {
        let style = match self.theme.background(BackgroundRole::Hatch).bg {
            Some(colour) => Style::new().fg(colour),
            // Without colour the missing lines stay blank.
            None => return,
        };
        for x in at.x + self.gutter()..at.right() {
            put(buf, (x, at.y), at.right(), session_columns::FREED, style);
        }
    }

    fn piece(
        &self,
        piece: &TextLine,
        laid_out: &LineLayout,
        (row, line, sub): (usize, usize, usize),
        right: bool,
        at: Rect,
        buf: &mut Buffer,
    ) {
        let background = match piece.tone {
            LineTone::Removed => Some(BackgroundRole::Removed),
            LineTone::Added => Some(BackgroundRole::Added),
            _ => None,
        };
        if let Some(background) = background.filter(|_| self.shown.body.has_signs) {
            apply_style(buf, at, self.theme.background(background));
        }
        if sub == 0 {
            self.number(piece, at, buf);
        }
        let LineLayout { visible, rows, .. } = laid_out;
        let Some(part) = rows.get(sub).cloned() else { return };
        let patches = self.patches(piece, laid_out, (row, line, &part), right);
        let x = at.x + self.gutter();
        let columns = usize::from(at.right().saturating_sub(x));
        let base = self.style(piece, visible);
        let left = self.pane.left_of(row);
        let is_cut = left > 0 && !self.shown.wraps(piece) && !part.is_empty();
        let (part, x) = if is_cut {
            // The sign takes the place of the first column.
            let skipped = text::skip_columns(&visible[part.clone()], left + 1);
            let style = base.patch(self.theme.style(Role::Muted));
            (part.start + skipped..part.end, put(buf, (x, at.y), x + 1, session_columns::CUT, style))
        } else {
            (part, x)
        };
        let columns = columns.saturating_sub(usize::from(is_cut));
        let line = StyledRow { visible, row: part, patches: &patches, base };
        let next = line.write((x, at.y), columns, buf);
        if sub + 1 == rows.len() {
            self.after(piece, next, at, buf);
        }
    }

    /// Draws the sign of a changed line and its number.
    fn number(&self, piece: &TextLine, at: Rect, buf: &mut Buffer) {
        let end = at.x + self.gutter();
        if self.shown.body.has_signs {
            let (sign, role) = match piece.tone {
                LineTone::Removed => ("-", Role::Warn),
                LineTone::Added => ("+", Role::Plan),
                _ => (" ", Role::Text),
            };
            put(buf, (at.x, at.y), end, sign, self.theme.style(role));
        }
        let Some(number) = piece.number else { return };
        let text = number.to_string();
        let role = if piece.tone == LineTone::Removed { Role::Muted } else { Role::Ghost };
        let x = end.saturating_sub(2 + text.len() as u16).max(at.x);
        put(buf, (x, at.y), end, &text, self.theme.style(role));
    }

    fn style(&self, piece: &TextLine, visible: &str) -> Style {
        let text = &self.shown.body.texts[piece.text_index];
        let is_coloured = !text.colours.is_empty();
        let role = match (piece.tone, &text.kind) {
            (LineTone::Removed | LineTone::Faded, _) => Role::Muted,
            (LineTone::Added, _) => Role::Plan,
            (_, ContentKind::Error) => Role::Danger,
            (_, ContentKind::Thinking) => Role::Muted,
            (_, ContentKind::Output { path: None }) if !is_coloured => severity(visible),
            _ => Role::Text,
        };
        self.theme.style(role)
    }

    /// Returns the styles inside a row: code, text that leaves the prompt, search matches.
    fn patches(
        &self,
        piece: &TextLine,
        laid_out: &LineLayout,
        (row, line, part): (usize, usize, &Range<usize>),
        right: bool,
    ) -> Vec<(Range<usize>, Style)> {
        let mut patches = Vec::new();
        if piece.tone == LineTone::Plain {
            let colours = self.colours.get(line.wrapping_sub(self.first_line));
            let spans = colours.map_or(&[][..], |sides| &sides[usize::from(right)]);
            patches.extend(spans.iter().map(|(range, role)| (range.clone(), self.theme.style(*role))));
        }
        let first = laid_out.colours.partition_point(|(range, _)| range.end <= part.start);
        let own = laid_out.colours[first..].iter().take_while(|(range, _)| range.start < part.end);
        patches.extend(own.cloned());
        if let Some(colon) = laid_out.key_end {
            patches.push((0..colon, self.theme.style(Role::Muted)));
        }
        if !piece.removed_range.is_empty() {
            let style = self.theme.style(Role::Muted).patch(self.theme.background(BackgroundRole::Removed));
            patches.push((laid_out.removed.clone(), style));
        }
        let hot = self.theme.background(BackgroundRole::Hot).add_modifier(Modifier::UNDERLINED);
        let is_current = self.pane.current_match.is_some_and(|found| found.row == row);
        let current = if is_current { hot.add_modifier(Modifier::BOLD) } else { hot };
        patches.extend(laid_out.matches_in(part).map(|range| (range.clone(), current)));
        patches
    }

    /// Draws the note after a line whose text the plan cuts.
    fn after(&self, piece: &TextLine, x: u16, at: Rect, buf: &mut Buffer) {
        let Some(chars) = piece.cut_after_chars else { return };
        let spans = [
            Span::styled(" │ ", self.theme.style(Role::Text)),
            Span::styled(format!("cut at char {}", format_number(chars)), self.theme.style(Role::Muted)),
        ];
        let x = x.min(at.right().saturating_sub(spans_width(&spans)));
        put_spans(buf, (x.max(at.x + self.gutter()), at.y), at.right(), &spans);
    }
}

struct StyledRow<'a> {
    visible: &'a str,
    row: Range<usize>,
    patches: &'a [(Range<usize>, Style)],
    base: Style,
}

impl StyledRow<'_> {
    /// Draws the row, truncated to its columns; returns the next column.
    fn write(&self, (x, y): (u16, u16), columns: usize, buf: &mut Buffer) -> u16 {
        let (shown, used) = text::truncate(&self.visible[self.row.clone()], columns);
        let end = x + columns as u16;
        let mut edges: Vec<usize> = vec![0, shown.len()];
        let moved = self.patches.iter().filter_map(|(range, style)| {
            let from = range.start.max(self.row.start).checked_sub(self.row.start)?;
            // In a truncated row the ellipsis has the style of the text that it replaces.
            let to = range.end.min(self.row.end).checked_sub(self.row.start)?;
            let to = if shown.is_char_boundary(to) { to } else { shown.len() };
            (from < to && shown.is_char_boundary(from)).then_some((from..to, *style))
        });
        let moved: Vec<_> = moved.collect();
        edges.extend(moved.iter().flat_map(|(range, _)| [range.start, range.end]));
        edges.retain(|edge| shown.is_char_boundary(*edge));
        edges.sort_unstable();
        edges.dedup();
        let mut at = x;
        for pair in edges.windows(2) {
            let inside = moved.iter().filter(|(range, _)| range.start <= pair[0] && pair[1] <= range.end);
            let style = inside.fold(self.base, |style, (_, patch)| style.patch(*patch));
            at = put(buf, (at, y), end, &shown[pair[0]..pair[1]], style);
        }
        x + used as u16
    }
}

/// Colours a line of output that mentions a failure or a warning.
fn severity(line: &str) -> Role {
    let start = crate::app::message_body::truncate_bytes(line, SEVERITY_SCAN_BYTES);
    if FAILURE_WORDS.iter().any(|word| start.contains(word)) {
        Role::Danger
    } else if WARNING_WORDS.iter().any(|word| start.contains(word)) {
        Role::Warn
    } else {
        Role::Text
    }
}

/// Returns the end of an argument's name: the colon after one word at the start of a line.
fn key_end(line: &str) -> Option<usize> {
    let colon = line.find(':')?;
    let one_word = !line[..colon].is_empty() && !line[..colon].contains(' ');
    (one_word && matches!(line.as_bytes().get(colon + 1), None | Some(b' '))).then_some(colon + 1)
}
