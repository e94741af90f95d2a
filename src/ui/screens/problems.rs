//! The problems of the store and of its sessions, with file and line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::problems::StoreProblems;
use crate::app::scroll::Scroll;
use crate::diagnostic::{Diagnostic, Severity};
use crate::format::{format_number, quantity};
use crate::ids::SessionKey;
use crate::session::SessionItem;
use crate::session::title::shown_name;
use crate::text;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{clear, on_title, put, row_at, scrollbar, title};
use crate::ui::{frame_box, session_columns};

/// Rows below the list: a hairline, the place of the selected problem, and its advice on two lines.
const ADVICE_ROWS: u16 = 4;
/// The most columns of a session's name.
const NAME_COLUMNS: u16 = 28;

pub(in crate::ui) fn draw(app: &App, theme: &Theme, scroll: Scroll, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let from = title(theme, buf, area, "Problems", true);
    let count = app.problems().count();
    let about = [
        Span::styled(progress(&app.problems), theme.style(Role::Muted)),
        Span::styled(format_number(count as u64), theme.style(Role::Bright)),
    ];
    on_title(buf, area.y, from, area.right().saturating_sub(1), &about);
    if count == 0 {
        let words = if app.problems.is_running { "No problems so far." } else { "No problems in the store." };
        put(buf, (area.x + 3, area.y + 2), area.right(), words, theme.bold(Role::Bright));
        let more = "`clawscope doctor` also prints the settings in force.";
        put(buf, (area.x + 3, area.y + 3), area.right(), more, theme.style(Role::Text));
        return;
    }
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + ADVICE_ROWS), ..area };
    let top = scroll.top.min(count.saturating_sub(usize::from(list.height)));
    for (y, (at, finding)) in (list.y..list.bottom()).zip(app.problems().enumerate().skip(top)) {
        if at == scroll.cursor {
            frame_box::selected(theme, buf, row_at(list, y), theme.background(BackgroundRole::Selected));
        }
        line(app, theme, finding, row_at(list, y), buf);
    }
    scrollbar(theme, buf, list, top, count);
    if let Some((finding, session)) = app.problems().nth(scroll.cursor) {
        let own = session.and_then(|key| session_item(app, key)).and_then(|item| item.path.as_ref());
        let is_transcript = own == Some(&finding.path);
        advice(theme, finding, is_transcript, Rect { y: list.bottom(), height: ADVICE_ROWS, ..area }, buf);
    }
}

/// Says how many transcripts were read.
fn progress(problems: &StoreProblems) -> String {
    let read = quantity(problems.read as u64, "transcript");
    match (problems.is_complete, problems.is_running) {
        (true, _) => format!("in {read}  "),
        (false, true) => format!("reading, {read} so far  "),
        (false, false) => String::new(),
    }
}

fn line(
    app: &App,
    theme: &Theme,
    (finding, session): (&Diagnostic, Option<&SessionKey>),
    row: Rect,
    buf: &mut Buffer,
) {
    let (sign, role) = match finding.severity {
        Severity::Error => (session_columns::ALERT, Role::Danger),
        Severity::Warning => ("!", Role::Warn),
        Severity::Note => ("·", Role::Muted),
    };
    let item = session.and_then(|key| session_item(app, key));
    let name = item.map_or_else(|| file_name(finding), |item| shown_name(item, app.secrets).into_owned());
    let end = row.right().saturating_sub(2);
    let x = put(buf, (row.x + 1, row.y), end, sign, theme.style(role)) + 1;
    let column = (end.saturating_sub(x) / 4).min(NAME_COLUMNS);
    put(
        buf,
        (x, row.y),
        x + column,
        &text::truncate_middle(&name, usize::from(column)),
        theme.style(Role::Text),
    );
    put(buf, (x + column + 2, row.y), end, &finding.message, theme.style(role));
}

fn file_name(finding: &Diagnostic) -> String {
    finding.path.file_name().unwrap_or(finding.path.as_os_str()).to_string_lossy().into_owned()
}

fn session_item<'a>(app: &'a App, key: &SessionKey) -> Option<&'a SessionItem> {
    app.sessions.items.iter().find(|item| item.key == *key)
}

/// Returns the file with line and entry. The row names the session of a transcript; any other file needs its folder.
fn place(finding: &Diagnostic, is_transcript: bool) -> String {
    let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    let subject = finding.subject.as_ref().map(|subject| format!("  {subject}")).unwrap_or_default();
    let file = if is_transcript { file_name(finding) } else { finding.path.display().to_string() };
    [file, line, subject].concat()
}

fn advice(theme: &Theme, finding: &Diagnostic, is_transcript: bool, area: Rect, buf: &mut Buffer) {
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), session_columns::LIGHT, theme.style(Role::Faint));
    }
    let room = usize::from(area.width.saturating_sub(2));
    let place = text::truncate_middle(&place(finding, is_transcript), room);
    put(buf, (area.x + 1, area.y + 1), area.right(), &place, theme.style(Role::Muted));
    let lines = text::wrap(&finding.advice, room.max(2));
    for (y, words) in (area.y + 2..area.bottom()).zip(lines) {
        put(buf, (area.x + 1, y), area.right(), &words, theme.style(Role::Text));
    }
}
