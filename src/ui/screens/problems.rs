//! The diagnostics of the store and of the open session, with file and line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::scroll::Scroll;
use crate::diagnostic::{Diagnostic, Severity};
use crate::format::quantity;
use crate::session::Mark;
use crate::text;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{clear, on_title, put, put_spans, row_at, scrollbar, title};
use crate::ui::{frame_box, glyphs};

/// Rows below the list: a hairline, and the advice for the selected diagnostic.
const ADVICE_ROWS: u16 = 2;

pub(in crate::ui) fn draw(app: &App, theme: &Theme, scroll: Scroll, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let from = title(theme, buf, area, "Problems", true);
    let count = app.diagnostics().count();
    let count_span = [Span::styled(count.to_string(), theme.style(Role::Muted))];
    on_title(buf, area.y, from, area.right().saturating_sub(1), &count_span);
    if count == 0 {
        put(
            buf,
            (area.x + 3, area.y + 2),
            area.right(),
            "No problems in the open session.",
            theme.bold(Role::Bright),
        );
        put(buf, (area.x + 3, area.y + 3), area.right(), &no_diagnostics_text(app), theme.style(Role::Text));
        return;
    }
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + ADVICE_ROWS), ..area };
    let top = scroll.top.min(count.saturating_sub(usize::from(list.height)));
    for (y, (at, finding)) in (list.y..list.bottom()).zip(app.diagnostics().enumerate().skip(top)) {
        if at == scroll.cursor {
            frame_box::selected(theme, buf, row_at(list, y), theme.background(BackgroundRole::Selected));
        }
        line(theme, finding, row_at(list, y), buf);
    }
    scrollbar(theme, buf, list, top, count);
    if let Some(finding) = app.diagnostics().nth(scroll.cursor) {
        advice(theme, finding, Rect { y: list.bottom(), height: ADVICE_ROWS, ..area }, buf);
    }
}

/// Describes a session without diagnostics; unreadable lines are still mentioned.
fn no_diagnostics_text(app: &App) -> String {
    let bad = app.displayed_session().map_or(0, |session| session.index.bad_lines);
    let damaged = app.sessions.items.iter().filter(|item| item.has(Mark::Damaged));
    match (bad, damaged.count() as u64) {
        (0, 0) => "`clawscope doctor` looks at every transcript.".to_owned(),
        (0, damaged) => format!(
            "The list marks {} as damaged: `clawscope doctor` lists the problems of every transcript.",
            quantity(damaged, "session")
        ),
        (bad, _) => format!("{} of the open session cannot be read.", quantity(bad, "line")),
    }
}

fn line(theme: &Theme, finding: &Diagnostic, row: Rect, buf: &mut Buffer) {
    let (sign, role) = match finding.severity {
        Severity::Error => (glyphs::REFUSED, Role::Danger),
        Severity::Warning => ("!", Role::Warn),
        Severity::Note => ("·", Role::Muted),
    };
    let name = finding.path.file_name().unwrap_or(finding.path.as_os_str()).to_string_lossy();
    let mut place = name.into_owned();
    if let Some(line) = finding.line {
        place = format!("{place}:{line}");
    }
    if let Some(entry) = &finding.subject {
        place = format!("{place} {entry}");
    }
    let end = row.right().saturating_sub(2);
    let x = put(buf, (row.x + 1, row.y), end, sign, theme.style(role)) + 1;
    let third = x + (end.saturating_sub(x)) / 3;
    let spans = [Span::styled(place, theme.style(Role::Text))];
    let x = put_spans(buf, (x, row.y), third, &spans);
    put(buf, (x + 2, row.y), end, &finding.message, theme.style(role));
}

fn advice(theme: &Theme, finding: &Diagnostic, area: Rect, buf: &mut Buffer) {
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), glyphs::LIGHT, theme.style(Role::Faint));
    }
    let room = usize::from(area.width.saturating_sub(2));
    let (words, _) = text::truncate(&finding.advice, room);
    put(buf, (area.x + 1, area.y + 1), area.right(), &words, theme.style(Role::Text));
}
