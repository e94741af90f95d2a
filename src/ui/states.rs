//! What is said where there is nothing to show: what, where and why, and what can be done now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::transcript::TranscriptPane;
use crate::inspect::title::shown_name;
use crate::text;
use crate::ui::glyphs;
use crate::ui::status::{first_key, offered};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::number::{bytes, counted};
use crate::ui::widgets::{ThinBar, put, put_right, title};

/// How long a reading takes before its progress shows, ms.
const PATIENCE_MS: i64 = 150;
/// Words are never wider.
const WIDEST: u16 = 76;

type Offers<'a> = &'a [(Action, &'a str)];

/// A state: one sentence that says what, more that say where and why, then keys.
struct State<'a> {
    title: &'a str,
    what: (&'a str, Role),
    why: &'a str,
    offers: Offers<'a>,
}

impl State<'_> {
    /// Over a whole area, with a title line.
    fn whole(&self, app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
        title(theme, buf, area, self.title, false);
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        self.body(app, theme, body, buf);
    }

    fn body(&self, app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let x = area.x + 3;
        let width = area.width.saturating_sub(5).clamp(2, WIDEST);
        let end = x + width;
        let mut y = area.y + 1;
        let (what, role) = self.what;
        for (lines, style) in [(what, theme.bold(role)), (self.why, theme.style(Role::Text))] {
            for line in text::wrap(lines, usize::from(width)) {
                if y < area.bottom() && !lines.is_empty() {
                    put(buf, (x, y), end, &line, style);
                    y += 1;
                }
            }
        }
        if y + 1 < area.bottom() {
            offered(app, theme, (x, y + 1), area.right(), self.offers, buf);
        }
    }
}

/// Draws a state of the whole store; answers whether there is one.
pub(super) fn store(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> bool {
    let state = match (&app.store_error, &app.listing) {
        (Some(error), _) => State {
            title: "No store",
            what: ("✗ The store could not be read", Role::Danger),
            why: error,
            offers: &[(Action::Reload, "read again"), (Action::Demo, "demo store"), (Action::Quit, "quit")],
        },
        (None, None) => {
            State { title: "Sessions", what: ("Reading the store…", Role::Muted), why: "", offers: &[] }
        }
        (None, Some(listing)) if app.sessions.items.is_empty() => {
            let what = format!("No sessions in {}", listing.place);
            let why = match listing.agents {
                0 => "There is no agent with sessions in it yet.".to_owned(),
                agents => {
                    format!("{} and not one transcript or session row.", counted(agents as u64, "agent"))
                }
            };
            let offers: Offers = &[
                (Action::Reload, "read again"),
                (Action::Demo, "demo store"),
                (Action::Findings, "what was found"),
            ];
            State { title: "Empty store", what: (&what, Role::Bright), why: &why, offers }
                .whole(app, theme, area, buf);
            return true;
        }
        _ => return false,
    };
    state.whole(app, theme, area, buf);
    true
}

/// What the transcript pane says without a transcript.
pub(super) fn no_transcript(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if let Some((key, error)) = &app.open_error {
        let what = format!("{} {key} could not be opened", glyphs::REFUSED);
        let state = State {
            title: "",
            what: (&what, Role::Danger),
            why: error,
            offers: &[(Action::Reload, "read again"), (Action::Findings, "what was found")],
        };
        state.body(app, theme, area, buf);
    } else if !opening(app, theme, area, buf) && app.loading.is_none() {
        let open = first_key(app, crate::app::keymap::Context::Sessions, Action::Open);
        let why = format!("{open} opens the one under the cursor of the sessions.");
        State { title: "", what: ("No session is open.", Role::Bright), why: &why, offers: &[] }
            .body(app, theme, area, buf);
    }
}

/// Whether a reading takes so long that its progress shows.
pub(super) fn is_opening(app: &App) -> bool {
    app.loading.as_ref().is_some_and(|loading| app.now_ms - loading.since_ms >= PATIENCE_MS)
}

/// The progress of a reading that takes a while; answers whether it was drawn.
pub(super) fn opening(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> bool {
    let Some(loading) = app.loading.as_ref().filter(|_| is_opening(app) && area.height >= 5) else {
        return false;
    };
    let name = app.sessions.items.iter().find(|item| item.key == loading.key);
    let name =
        name.map_or(std::borrow::Cow::Borrowed(loading.key.0.as_str()), |item| shown_name(item, app.secrets));
    let (x, y) = (area.x + 3, area.y + 1);
    let end = (x + WIDEST.min(area.width.saturating_sub(5))).min(area.right());
    put(buf, (x, y), end, &name, theme.bold(Role::Bright));
    let words = if loading.total > 0 {
        format!("{} of {}", bytes(loading.done), bytes(loading.total))
    } else {
        bytes(loading.done)
    };
    let from = put_right(buf, y + 1, x, end, &[Span::styled(words, theme.style(Role::Muted))]);
    let bar = ThinBar {
        share: loading.done as f64 / loading.total.max(1) as f64,
        tail: 1.0,
        style: theme.style(Role::Focus),
        tail_style: theme.style(Role::Ghost),
    };
    bar.draw(buf, (x, y + 1), from.saturating_sub(x + 2));
    let words = "It opens when it is read; another session can be chosen.";
    let lines = text::wrap(words, usize::from(end.saturating_sub(x)).max(2));
    for (y, line) in (y + 3..area.bottom()).zip(&lines) {
        put(buf, (x, y), end, line, theme.style(Role::Text));
    }
    true
}

/// An open session of which nothing is shown.
pub(super) fn no_rows(app: &App, theme: &Theme, pane: &TranscriptPane, area: Rect, buf: &mut Buffer) {
    let index = &pane.inspection.index;
    let state = if pane.inspection.context_throws {
        State {
            title: "",
            what: ("✗ The runtime cannot build this context", Role::Danger),
            why: "An entry on the active path is a message without a message in it. The file is shown as far as it can be read.",
            offers: &[(Action::Findings, "what was found")],
        }
    } else if index.entries.is_empty() {
        State {
            title: "",
            what: ("The transcript has no entries yet.", Role::Bright),
            why: "",
            offers: &[(Action::Reload, "read again")],
        }
    } else {
        State {
            title: "",
            what: ("No entry is shown.", Role::Bright),
            why: "The rows in force leave everything out; ctrl-o shows others.",
            offers: &[],
        }
    };
    state.body(app, theme, area, buf);
}

/// The one sentence of a terminal that is too small.
pub(super) fn too_small(theme: &Theme, area: Rect, buf: &mut Buffer) {
    let words = format!("60x20 is the least that clawscope needs; this is {}x{}.", area.width, area.height);
    let lines = text::wrap(&words, usize::from(area.width));
    let top = area.y + area.height.saturating_sub(lines.len() as u16) / 2;
    for (y, line) in (top..area.bottom()).zip(&lines) {
        let x = area.x + (area.width.saturating_sub(text::width(line) as u16)) / 2;
        put(buf, (x, y), area.right(), line, theme.style(Role::Text));
    }
}
