//! What was committed to a session, and two of its branches beside each other.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::branches::{BranchesScreen, COMMITS_HEAD, COMPARE_HEAD, CommitsScreen};
use crate::commit::ReceiptKind;
use crate::inspect::Inspection;
use crate::inspect::commits::{Committed, Force};
use crate::inspect::compare::{Branch, Change, Comparison, Row};
use crate::text;
use crate::ui::theme::{Ground, Role, Theme};
use crate::ui::widgets::number::{counted, estimate, moment};
use crate::ui::widgets::{blank, note, on_title, put, put_right, put_spans, row_of, scrollbar, title};
use crate::ui::{frame_box, glyphs};

/// Columns of an id as pi gives them; with less room for it the number is left out.
const SHORT_ID: u16 = 8;

/// Draws the list of commits over everything between header and status line.
pub(super) fn commits(app: &App, theme: &Theme, screen: &CommitsScreen, area: Rect, buf: &mut Buffer) {
    blank(theme, buf, area);
    let after = title(theme, buf, area, "Commits", true);
    let rows = match &screen.view {
        Some(Ok(rows)) if rows.is_empty() => {
            return note(
                theme,
                "Nothing was committed to this session",
                "c writes a plan as a new branch.",
                area,
                buf,
            );
        }
        Some(Ok(rows)) => rows,
        Some(Err(error)) => return note(theme, "They cannot be told", error, area, buf),
        None => return note(theme, "Reading…", "", area, buf),
    };
    let in_force = rows.iter().filter(|committed| committed.force == Force::InForce).count();
    let words = format!("{in_force} of {} in force", rows.len());
    on_title(
        buf,
        area.y,
        after,
        area.right().saturating_sub(1),
        &[Span::styled(words, theme.style(Role::Muted))],
    );
    let columns = Columns::new(area);
    columns.heading(theme, area.y + 2, buf);
    let list = below(area, COMMITS_HEAD);
    for (y, (at, committed)) in visible(list, rows, screen.scroll.top) {
        let line = row_of(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, line, theme.ground(Ground::Selected));
        }
        columns.row(app, theme, committed, line, buf);
    }
    scrollbar(theme, buf, list, screen.scroll.top, rows.len());
}

fn below(area: Rect, head: u16) -> Rect {
    Rect { y: area.y + head, height: area.height.saturating_sub(head), ..area }
}

fn visible<T>(list: Rect, rows: &[T], top: usize) -> impl Iterator<Item = (u16, (usize, &T))> {
    let top = top.min(rows.len().saturating_sub(usize::from(list.height)));
    (list.y..list.bottom()).zip(rows.iter().enumerate().skip(top))
}

/// Where the columns of commits stand. One of no width is left out.
struct Columns {
    id: u16,
    time: (u16, u16),
    what: (u16, u16),
    tokens: (u16, u16),
    state: (u16, u16),
}

impl Columns {
    fn new(area: Rect) -> Self {
        let (x, right) = (area.x + 2, area.right().saturating_sub(1));
        let state = (right.saturating_sub(18), right);
        let time = if area.width >= 76 { (x + 10, x + 24) } else { (0, 0) };
        let what = time.1.max(x + 9) + 2;
        let tokens = if area.width >= 100 { (state.0 - 21, state.0 - 2) } else { (0, 0) };
        let what_end = if tokens.1 > 0 { tokens.0 } else { state.0 };
        Self { id: x, time, what: (what, what_end.saturating_sub(1)), tokens, state }
    }

    fn heading(&self, theme: &Theme, y: u16, buf: &mut Buffer) {
        let style = theme.style(Role::Muted);
        put(buf, (self.id, y), self.id + 9, "id", style);
        put(buf, (self.time.0, y), self.time.1, "written", style);
        put(buf, (self.what.0, y), self.what.1, "what", style);
        put_right(buf, y, self.tokens.0, self.tokens.1, &[Span::styled("tokens", style)]);
        put(buf, (self.state.0, y), self.state.1, "state", style);
    }

    fn row(&self, app: &App, theme: &Theme, committed: &Committed, line: Rect, buf: &mut Buffer) {
        let (receipt, y) = (&committed.receipt, line.y);
        let text = theme.style(Role::Text);
        put(buf, (self.id, y), self.id + 9, &receipt.id, text);
        let time = moment(receipt.time, app.now_ms).unwrap_or_else(|| glyphs::NONE.to_owned());
        put(buf, (self.time.0, y), self.time.1, &time, theme.style(Role::Muted));
        let changed = match (receipt.kind, receipt.changed.len()) {
            (ReceiptKind::Commit, count @ 1..) => format!(" · {} changed", counted(count as u64, "entry")),
            _ => String::new(),
        };
        let what = [
            Span::styled(committed.words(), text),
            Span::styled(changed, theme.style(Role::Muted)),
            Span::styled(format!(" · left {}", receipt.from_leaf), theme.style(Role::Muted)),
        ];
        put_spans(buf, (self.what.0, y), self.what.1, &what);
        if let (Some(before), Some(after)) = (receipt.tokens_before, receipt.tokens_after) {
            let tokens = [
                Span::styled(estimate(before.max(0.0) as u64), text),
                Span::styled(format!(" {} ", glyphs::ARROW), theme.style(Role::Muted)),
                Span::styled(estimate(after.max(0.0) as u64), theme.style(Role::Plan)),
            ];
            put_right(buf, y, self.tokens.0, self.tokens.1, &tokens);
        }
        let (sign, role) = match committed.force {
            Force::InForce => (glyphs::ON, Role::You),
            Force::Undone | Force::Elsewhere => (glyphs::OFF, Role::Muted),
        };
        let x = put(buf, (self.state.0, y), self.state.1, sign, theme.style(role)) + 1;
        put(buf, (x, y), self.state.1, committed.force.word(), theme.style(role));
    }
}

/// Draws a comparison over everything between header and status line.
pub(super) fn compare(app: &App, theme: &Theme, screen: &BranchesScreen, area: Rect, buf: &mut Buffer) {
    blank(theme, buf, area);
    let after = title(theme, buf, area, "Two branches", true);
    let view = match &screen.view {
        Some(Ok(view)) => view,
        Some(Err(error)) => return note(theme, "They cannot be compared", error, area, buf),
        None => return note(theme, "Reading…", "", area, buf),
    };
    let Some(inspection) = app.inspection() else { return };
    let parting = view.parting.map_or_else(
        || "nothing in common".to_owned(),
        |entry| {
            format!(
                "{} in common, up to {}",
                counted(view.shared as u64, "entry"),
                inspection.index.name(entry)
            )
        },
    );
    on_title(
        buf,
        area.y,
        after,
        area.right().saturating_sub(1),
        &[Span::styled(parting, theme.style(Role::Muted))],
    );
    facts(theme, view, area, buf);
    changes(theme, view, Rect { y: area.y + COMPARE_HEAD - 2, height: 1, ..area }, buf);
    let (list, rows) = (below(area, COMPARE_HEAD), screen.rows());
    for (y, (at, row)) in visible(list, &rows, screen.scroll.top) {
        let line = row_of(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, line, theme.ground(Ground::Selected));
        }
        message(theme, inspection, row, line, buf);
    }
    scrollbar(theme, buf, list, screen.scroll.top, rows.len());
}

/// Columns of a fact's name, and of each branch.
const NAMES: u16 = 26;
const SIDE: u16 = 22;

fn facts(theme: &Theme, view: &Comparison, area: Rect, buf: &mut Buffer) {
    let (x, end) = (area.x + 2, area.right().saturating_sub(1));
    let sides = [("first", &view.first), ("second", &view.second)];
    for ((name, branch), from) in sides.into_iter().zip([x + NAMES, x + NAMES + SIDE]) {
        let to = (from + SIDE - 2).min(end);
        put_right(buf, area.y + 1, from, to, &[Span::styled(name, theme.style(Role::Muted))]);
        for ((_, of), y) in Branch::FACTS.iter().zip(area.y + 2..) {
            put_right(buf, y, from, to, &[Span::styled(of(branch), theme.style(Role::Text))]);
        }
    }
    for ((name, _), y) in Branch::FACTS.iter().zip(area.y + 2..) {
        put(buf, (x, y), x + NAMES, name, theme.style(Role::Muted));
    }
}

/// How many messages changed in which way, on one line.
fn changes(theme: &Theme, view: &Comparison, line: Rect, buf: &mut Buffer) {
    let mut spans = Vec::new();
    for change in Change::ALL {
        let (count, [first, second]) = view.count(change);
        if count == 0 {
            continue;
        }
        if !spans.is_empty() {
            spans.push(Span::raw("   "));
        }
        let tokens = match change {
            Change::Differs => format!(" {} {} {}", estimate(first), glyphs::ARROW, estimate(second)),
            _ => format!(" {}", estimate(first.max(second))),
        };
        let sign = if change == Change::Same { String::new() } else { format!("{} ", change.sign()) };
        spans.push(Span::styled(sign, style(theme, change)));
        spans.push(Span::styled(format!("{count} {}", change.words()), theme.style(Role::Text)));
        spans.push(Span::styled(tokens, theme.style(Role::Muted)));
    }
    put_spans(buf, (line.x + 2, line.y), line.right().saturating_sub(1), &spans);
}

fn style(theme: &Theme, change: Change) -> Style {
    theme.style(match change {
        Change::Same => Role::Muted,
        Change::Differs => Role::Plan,
        Change::OnlyFirst => Role::Warn,
        Change::OnlySecond => Role::You,
    })
}

fn message(theme: &Theme, inspection: &Inspection, row: &Row, line: Rect, buf: &mut Buffer) {
    let (x, end) = (line.x + 2, line.right().saturating_sub(1));
    put(buf, (x, line.y), end, row.change.sign(), style(theme, row.change));
    let after = put(buf, (x + 2, line.y), x + NAMES - 1, row.role.word(), theme.style(Role::Text));
    let tool = row.tool(&inspection.index).unwrap_or_default();
    put(buf, (after + 1, line.y), x + NAMES - 1, &tool, theme.style(Role::Muted));
    let columns = [x + NAMES, x + NAMES + SIDE];
    for ((entry, tokens), from) in row.entries.iter().zip(row.tokens).zip(columns) {
        let to = (from + SIDE - 2).min(end);
        let Some(entry) = entry else { continue };
        // Ids of 2026.9 are as wide as the column: they give way to the number.
        let tokens = estimate(tokens);
        let name_to = to.saturating_sub(text::width(&tokens) as u16 + 2);
        if name_to < from + SHORT_ID {
            put(buf, (from, line.y), to, &inspection.index.name(*entry), theme.style(Role::Muted));
            continue;
        }
        put(buf, (from, line.y), name_to, &inspection.index.name(*entry), theme.style(Role::Muted));
        put_right(buf, line.y, name_to, to, &[Span::styled(tokens, theme.style(Role::Text))]);
    }
}
