//! The branches of a session: its commits, and two branches side by side.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::branches::{BranchesScreen, COMMITS_HEADER_ROWS, COMPARE_HEADER_ROWS, Comparison};
use crate::commit::ReceiptKind;
use crate::format::{format_short, format_short_estimate, quantity, time_of_day};
use crate::report::compare::{BranchComparison, ComparedBranch, ComparedMessage, MessageChange};
use crate::session::LoadedSession;
use crate::text;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{clear, note, on_title, put, put_right, put_spans, row_at, scrollbar, title};
use crate::ui::{frame_box, session_columns};
use crate::write::commit_list::{CommitRecord, CommitStatus, describe_count};

/// Columns of one of pi's ids; a narrower column omits the number.
const SHORT_ID: u16 = 8;

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &BranchesScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    match &screen.comparison {
        Some(comparison) => draw_comparison(app, theme, comparison, area, buf),
        None => draw_commits(app, theme, screen, area, buf),
    }
}

fn draw_commits(app: &App, theme: &Theme, screen: &BranchesScreen, area: Rect, buf: &mut Buffer) {
    let after = title(theme, buf, area, "Branches", true);
    let rows = match &screen.commits {
        Some(Ok(rows)) if rows.is_empty() => {
            return note(theme, "No commits in this session", "c writes a plan as a new branch.", area, buf);
        }
        Some(Ok(rows)) => rows,
        Some(Err(error)) => return note(theme, "Cannot list the commits", &error.to_string(), area, buf),
        None => return note(theme, "Reading…", "", area, buf),
    };
    on_title(
        buf,
        area.y,
        after,
        area.right().saturating_sub(1),
        &[Span::styled(describe_count(rows), theme.style(Role::Muted))],
    );
    let columns = Columns::new(area);
    columns.heading(theme, area.y + 2, buf);
    let list = below(area, COMMITS_HEADER_ROWS);
    for (y, (at, committed)) in visible_rows(list, rows, screen.scroll.top) {
        let line = row_at(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, line, theme.background(BackgroundRole::Selected));
        }
        columns.row(app, theme, committed, line, buf);
    }
    scrollbar(theme, buf, list, screen.scroll.top, rows.len());
}

fn below(area: Rect, head: u16) -> Rect {
    Rect { y: area.y + head, height: area.height.saturating_sub(head), ..area }
}

fn visible_rows<T>(list: Rect, rows: &[T], top: usize) -> impl Iterator<Item = (u16, (usize, &T))> {
    let top = top.min(rows.len().saturating_sub(usize::from(list.height)));
    (list.y..list.bottom()).zip(rows.iter().enumerate().skip(top))
}

/// Positions of the commit columns; omitted ones have width 0.
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
        put_right(buf, y, self.tokens.0, self.tokens.1, &[Span::styled("~next prompt", style)]);
        put(buf, (self.state.0, y), self.state.1, "state", style);
    }

    fn row(&self, app: &App, theme: &Theme, committed: &CommitRecord, line: Rect, buf: &mut Buffer) {
        let (receipt, y) = (&committed.receipt, line.y);
        let text = theme.style(Role::Text);
        put(buf, (self.id, y), self.id + 9, &receipt.id, text);
        let time =
            time_of_day(receipt.time, app.now_ms).unwrap_or_else(|| session_columns::UNKNOWN.to_owned());
        put(buf, (self.time.0, y), self.time.1, &time, theme.style(Role::Muted));
        let changed = match (receipt.kind, receipt.changed.len()) {
            (ReceiptKind::Commit, count @ 1..) => format!(" · {} changed", quantity(count as u64, "entry")),
            _ => String::new(),
        };
        let what = [
            Span::styled(committed.summary.as_str(), text),
            Span::styled(changed, theme.style(Role::Muted)),
            Span::styled(format!(" · old leaf {}", receipt.from_leaf), theme.style(Role::Muted)),
        ];
        put_spans(buf, (self.what.0, y), self.what.1, &what);
        if let Some((before, after)) = committed.prompt_tokens {
            let tokens = [
                Span::styled(format_short(before.whole()), text),
                Span::styled(format!(" {} ", session_columns::ARROW), theme.style(Role::Muted)),
                Span::styled(format_short(after.whole()), theme.style(Role::Plan)),
            ];
            put_right(buf, y, self.tokens.0, self.tokens.1, &tokens);
        }
        let (sign, role) = match committed.status {
            CommitStatus::InForce => (session_columns::ON, Role::User),
            CommitStatus::Undone | CommitStatus::OtherBranch => (session_columns::OFF, Role::Muted),
        };
        let x = put(buf, (self.state.0, y), self.state.1, sign, theme.style(role)) + 1;
        put(buf, (x, y), self.state.1, committed.status.as_str(), theme.style(role));
    }
}

fn draw_comparison(app: &App, theme: &Theme, screen: &Comparison, area: Rect, buf: &mut Buffer) {
    let after = title(theme, buf, area, "Two branches", true);
    let view = match &screen.result {
        Some(Ok(view)) => view,
        Some(Err(error)) => return note(theme, "Cannot compare the branches", &error.to_string(), area, buf),
        None => return note(theme, "Reading…", "", area, buf),
    };
    let Some(session) = app.displayed_session() else { return };
    let parting = view.describe_fork(&session.index);
    on_title(
        buf,
        area.y,
        after,
        area.right().saturating_sub(1),
        &[Span::styled(parting, theme.style(Role::Muted))],
    );
    facts(theme, view, area, buf);
    changes(theme, view, Rect { y: area.y + COMPARE_HEADER_ROWS - 2, height: 1, ..area }, buf);
    message_heads(theme, row_at(area, area.y + COMPARE_HEADER_ROWS - 1), buf);
    let (list, rows) = (below(area, COMPARE_HEADER_ROWS), screen.rows());
    for (y, (at, row)) in visible_rows(list, &rows, screen.scroll.top) {
        let line = row_at(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, line, theme.background(BackgroundRole::Selected));
        }
        message(theme, session, row, line, buf);
    }
    scrollbar(theme, buf, list, screen.scroll.top, rows.len());
}

/// Columns of a fact's name, and of each branch.
const NAME_WIDTH: u16 = 26;
const SIDE_WIDTH: u16 = 22;

fn facts(theme: &Theme, view: &BranchComparison, area: Rect, buf: &mut Buffer) {
    let (x, end) = (area.x + 2, area.right().saturating_sub(1));
    let sides = [("first", &view.first), ("second", &view.second)];
    for ((name, branch), from) in sides.into_iter().zip([x + NAME_WIDTH, x + NAME_WIDTH + SIDE_WIDTH]) {
        let to = (from + SIDE_WIDTH - 2).min(end);
        put_right(buf, area.y + 1, from, to, &[Span::styled(name, theme.style(Role::Muted))]);
        for ((_, of), y) in ComparedBranch::FACTS.iter().zip(area.y + 2..) {
            put_right(buf, y, from, to, &[Span::styled(of(branch), theme.style(Role::Text))]);
        }
    }
    for ((name, _), y) in ComparedBranch::FACTS.iter().zip(area.y + 2..) {
        put(buf, (x, y), x + NAME_WIDTH, name, theme.style(Role::Muted));
    }
}

/// Draws the number of changed messages per kind of change on one line.
fn changes(theme: &Theme, view: &BranchComparison, line: Rect, buf: &mut Buffer) {
    let mut spans = Vec::new();
    for change in MessageChange::ALL {
        let (count, [first, second]) = view.count(change);
        if count == 0 {
            continue;
        }
        if !spans.is_empty() {
            spans.push(Span::raw("   "));
        }
        let tokens = match change {
            MessageChange::Changed => format!(
                " {} {} {}",
                format_short_estimate(first),
                session_columns::ARROW,
                format_short_estimate(second)
            ),
            _ => format!(" {}", format_short_estimate(first.max(second))),
        };
        let sign =
            if change == MessageChange::Identical { String::new() } else { format!("{} ", change.sign()) };
        spans.push(Span::styled(sign, style(theme, change)));
        spans.push(Span::styled(format!("{count} {}", change.label()), theme.style(Role::Text)));
        spans.push(Span::styled(tokens, theme.style(Role::Muted)));
    }
    put_spans(buf, (line.x + 2, line.y), line.right().saturating_sub(1), &spans);
}

fn style(theme: &Theme, change: MessageChange) -> Style {
    theme.style(match change {
        MessageChange::Identical => Role::Muted,
        MessageChange::Changed => Role::Plan,
        MessageChange::OnlyFirst => Role::Warn,
        MessageChange::OnlySecond => Role::User,
    })
}

/// Draws the heads of the columns of the messages.
fn message_heads(theme: &Theme, line: Rect, buf: &mut Buffer) {
    let style = theme.style(Role::Muted);
    let (x, end) = (line.x + 2, line.right().saturating_sub(1));
    put(buf, (x + 2, line.y), end, "message", style);
    for from in [x + NAME_WIDTH, x + NAME_WIDTH + SIDE_WIDTH] {
        put(buf, (from, line.y), end, "entry", style);
        let to = from + SIDE_WIDTH - 2;
        if to <= end {
            put_right(buf, line.y, from, to, &[Span::styled("~tokens", style)]);
        }
    }
}

fn message(theme: &Theme, session: &LoadedSession, row: &ComparedMessage, line: Rect, buf: &mut Buffer) {
    let (x, end) = (line.x + 2, line.right().saturating_sub(1));
    put(buf, (x, line.y), end, row.change.sign(), style(theme, row.change));
    let after = put(buf, (x + 2, line.y), x + NAME_WIDTH - 1, row.role.as_str(), theme.style(Role::Text));
    let tool = row.tool(&session.index).unwrap_or_default();
    put(buf, (after + 1, line.y), x + NAME_WIDTH - 1, &tool, theme.style(Role::Muted));
    let columns = [x + NAME_WIDTH, x + NAME_WIDTH + SIDE_WIDTH];
    for ((entry, tokens), from) in row.entries.iter().zip(row.tokens).zip(columns) {
        let to = (from + SIDE_WIDTH - 2).min(end);
        let Some(entry) = entry else { continue };
        // Ids of 2026.9 fill the column: shorten them before the number.
        let tokens = format_short(tokens);
        let name_to = to.saturating_sub(text::width(&tokens) as u16 + 2);
        if name_to < from + SHORT_ID {
            put(buf, (from, line.y), to, &session.index.display_id(*entry), theme.style(Role::Muted));
            continue;
        }
        put(buf, (from, line.y), name_to, &session.index.display_id(*entry), theme.style(Role::Muted));
        put_right(buf, line.y, name_to, to, &[Span::styled(tokens, theme.style(Role::Text))]);
    }
}
