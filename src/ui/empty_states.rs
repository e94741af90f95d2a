//! Empty states: a sentence with the state, the reason, and the keys that help.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::{Action, ScreenKind};
use crate::app::transcript::TranscriptPane;
use crate::format::{format_size, quantity};
use crate::session::title::shown_name;
use crate::text;
use crate::ui::session_columns;
use crate::ui::status::draw_offers;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{ThinBar, put, put_right, title};
use crate::units::Bytes;

/// Largest width of the text.
const MAX_WIDTH: u16 = 76;

type Offers<'a> = &'a [(Action, &'a str)];

/// One state: a headline, the reason, and the keys that help.
struct EmptyState<'a> {
    title: &'a str,
    headline: (&'a str, Role),
    reason: &'a str,
    offers: Offers<'a>,
}

impl EmptyState<'_> {
    /// Draws the state over an area, with a title line.
    fn draw(&self, app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
        title(theme, buf, area, self.title, false);
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        self.draw_body(app, theme, body, buf);
    }

    fn draw_body(&self, app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let x = area.x + 3;
        let width = area.width.saturating_sub(5).clamp(2, MAX_WIDTH);
        let end = x + width;
        let mut y = area.y + 1;
        let (what, role) = self.headline;
        for (lines, style) in [(what, theme.bold(role)), (self.reason, theme.style(Role::Text))] {
            for line in text::wrap(lines, usize::from(width)) {
                if y < area.bottom() && !lines.is_empty() {
                    put(buf, (x, y), end, &line, style);
                    y += 1;
                }
            }
        }
        if y + 1 < area.bottom() {
            draw_offers(app, theme, (x, y + 1), area.right(), self.offers, buf);
        }
    }
}

/// Draws the state of an unreadable, unread or empty store; returns whether it drew one.
pub(super) fn draw_store_state(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> bool {
    let state = match (&app.store.error, &app.store.listing) {
        (Some(error), _) => EmptyState {
            title: "No store",
            headline: ("✗ Cannot read the store", Role::Danger),
            reason: error,
            offers: &[(Action::Reload, "reload"), (Action::Demo, "demo store"), (Action::Close, "quit")],
        },
        (None, None) => EmptyState {
            title: "Sessions",
            headline: ("Reading the store…", Role::Muted),
            reason: "",
            offers: &[],
        },
        (None, Some(listing)) if app.sessions.items.is_empty() => {
            let what = format!("No sessions in {}", listing.store_label);
            let why = match listing.agent_count {
                0 => "No agent has a session yet.".to_owned(),
                agents => {
                    format!("{}, but no transcript and no session record.", quantity(agents as u64, "agent"))
                }
            };
            let offers: Offers = &[
                (Action::Reload, "reload"),
                (Action::Demo, "demo store"),
                (Action::Show(ScreenKind::Problems), "problems"),
            ];
            EmptyState { title: "Empty store", headline: (&what, Role::Bright), reason: &why, offers }
                .draw(app, theme, area, buf);
            return true;
        }
        _ => return false,
    };
    state.draw(app, theme, area, buf);
    true
}

pub(super) fn draw_no_transcript(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if let Some((key, error)) = &app.opening.error {
        let what = format!("{} Cannot open {key}", session_columns::REFUSED);
        let state = EmptyState {
            title: "",
            headline: (&what, Role::Danger),
            reason: error,
            offers: &[(Action::Reload, "reload"), (Action::Show(ScreenKind::Problems), "problems")],
        };
        state.draw_body(app, theme, area, buf);
    } else if !draw_opening(app, theme, area, buf) && app.opening.loading.is_none() {
        let open = app.key_words(crate::app::keymap::KeyContext::Sessions, Action::Open);
        let why = format!("Press {open} to open the session under the cursor.");
        EmptyState { title: "", headline: ("No session is open.", Role::Bright), reason: &why, offers: &[] }
            .draw_body(app, theme, area, buf);
    }
}

/// Draws the progress of a slow read; returns whether it drew it.
pub(super) fn draw_opening(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> bool {
    let Some(loading) = app.opening.loading.as_ref().filter(|_| app.is_opening_slowly() && area.height >= 5)
    else {
        return false;
    };
    let name = app.sessions.items.iter().find(|item| item.key == loading.key);
    let name =
        name.map_or(std::borrow::Cow::Borrowed(loading.key.0.as_str()), |item| shown_name(item, app.secrets));
    let (x, y) = (area.x + 3, area.y + 1);
    let end = (x + MAX_WIDTH.min(area.width.saturating_sub(5))).min(area.right());
    put(buf, (x, y), end, &name, theme.bold(Role::Bright));
    let words = if loading.bytes_total > Bytes::ZERO {
        format!("{} of {}", format_size(loading.bytes_read), format_size(loading.bytes_total))
    } else {
        format_size(loading.bytes_read)
    };
    let from = put_right(buf, y + 1, x, end, &[Span::styled(words, theme.style(Role::Muted))]);
    let bar = ThinBar {
        share: loading.bytes_read.get() as f64 / loading.bytes_total.get().max(1) as f64,
        tail: 1.0,
        style: theme.style(Role::Focus),
        tail_style: theme.style(Role::Ghost),
    };
    bar.draw(buf, (x, y + 1), from.saturating_sub(x + 2));
    let words = "It opens once clawscope has read it. You can open another session meanwhile.";
    let lines = text::wrap(words, usize::from(end.saturating_sub(x)).max(2));
    for (y, line) in (y + 3..area.bottom()).zip(&lines) {
        put(buf, (x, y), end, line, theme.style(Role::Text));
    }
    true
}

pub(super) fn draw_no_rows(app: &App, theme: &Theme, pane: &TranscriptPane, area: Rect, buf: &mut Buffer) {
    let index = &pane.session.index;
    let state = if pane.session.context_throws {
        EmptyState {
            title: "",
            headline: ("✗ The gateway cannot build this context", Role::Danger),
            reason: "An entry on the active path has the type message but no message in it. clawscope shows the rest of the file.",
            offers: &[(Action::Show(ScreenKind::Problems), "problems")],
        }
    } else if index.entries.is_empty() {
        EmptyState {
            title: "",
            headline: ("The transcript has no entries yet.", Role::Bright),
            reason: "",
            offers: &[(Action::Reload, "reload")],
        }
    } else {
        EmptyState {
            title: "",
            headline: ("No rows to show.", Role::Bright),
            reason: "The current filter hides every row; ctrl-n selects the next filter.",
            offers: &[],
        }
    };
    state.draw_body(app, theme, area, buf);
}

pub(super) fn draw_too_small(theme: &Theme, area: Rect, buf: &mut Buffer) {
    let words = format!("Terminal too small ({}x{}); clawscope needs 60x20.", area.width, area.height);
    let lines = text::wrap(&words, usize::from(area.width));
    let top = area.y + area.height.saturating_sub(lines.len() as u16) / 2;
    for (y, line) in (top..area.bottom()).zip(&lines) {
        let x = area.x + (area.width.saturating_sub(text::width(line) as u16)) / 2;
        put(buf, (x, y), area.right(), line, theme.style(Role::Text));
    }
}
