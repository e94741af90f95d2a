//! The status line: the edited line, otherwise a message for a moment, otherwise the available keys.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::KeyContext;
use crate::app::line_editor::LineEditor;
use crate::app::state::{InputPurpose, LineInput, Overlay, ToastKind};
use crate::app::status_hints::ShownHint;
use crate::text;
use crate::ui::session_columns;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{apply_style, put, put_facts, put_facts_right, put_spans};

/// The fewest columns of a typed text beside the reason why it is refused.
const MIN_INPUT: u16 = 8;

/// Draws the line; returns the position of the text cursor while a line is edited.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    apply_style(buf, area, theme.background(BackgroundRole::Surface));
    let elsewhere =
        |prompt: &LineInput| is_sessions_filter(app, prompt) || prompt.purpose == InputPurpose::StoreSearch;
    if let Some(prompt) = app.input.as_ref().filter(|prompt| !elsewhere(prompt)) {
        return Some(draw_prompt(prompt, theme, area, buf));
    }
    let end = area.right().saturating_sub(1);
    let mut right: Vec<Vec<Span>> = app.right_hints().iter().map(|hint| hint_spans(hint, theme)).collect();
    right.extend(app.count.map(|count| vec![Span::styled(count.to_string(), theme.bold(Role::Focus))]));
    let start = put_facts_right(buf, area.y, area.x + area.width / 2, end, &right).saturating_sub(3);
    // A question keeps its keys: what an alert says is on the screen behind it, too.
    let is_question = matches!(app.overlay(), Some(Overlay::Write(_)));
    if let Some(toast) = app.toast.as_ref().filter(|toast| !is_question || toast.kind != ToastKind::Alert) {
        let (sign, role, text_role) = match toast.kind {
            ToastKind::Done => (session_columns::PASSED, Role::User, Role::Text),
            ToastKind::Note => ("", Role::Text, Role::Text),
            ToastKind::Alert => (session_columns::ALERT, Role::Warn, Role::Warn),
            ToastKind::Refused => (session_columns::REFUSED, Role::Danger, Role::Danger),
        };
        let x = put(buf, (area.x + 1, area.y), start, sign, theme.style(role));
        let x = if sign.is_empty() { x } else { x + 1 };
        put(buf, (x, area.y), start, &toast.text, theme.style(text_role));
        return None;
    }
    let left = if let Some(problem) = app.input.as_ref().and_then(|input| input.error.as_deref()) {
        vec![vec![Span::styled(problem, theme.style(Role::Warn))]]
    } else if app.input.as_ref().is_some_and(|input| input.purpose == InputPurpose::StoreSearch) {
        vec![
            prompt_hint("enter", "go to the hits", theme),
            prompt_hint("↑↓", "move", theme),
            prompt_hint("ctrl-u", "clear", theme),
            prompt_hint("esc", "back", theme),
        ]
    } else if app.input.is_some() {
        vec![
            prompt_hint("enter", "open", theme),
            prompt_hint("esc", "clear filter", theme),
            prompt_hint("↑↓", "move", theme),
        ]
    } else {
        app.left_hints().iter().map(|hint| hint_spans(hint, theme)).collect()
    };
    put_facts(buf, (area.x + 1, area.y), start, &left);
    None
}

/// Whether the sessions pane shows the filter being typed.
pub(super) fn is_sessions_filter(app: &App, prompt: &LineInput) -> bool {
    prompt.purpose == InputPurpose::Filter && !app.layout().sessions.is_empty()
}

fn draw_prompt(prompt: &LineInput, theme: &Theme, area: Rect, buf: &mut Buffer) -> Position {
    let lead = match prompt.purpose {
        InputPurpose::Filter | InputPurpose::Search | InputPurpose::Find | InputPurpose::StoreSearch => "/",
        InputPurpose::Setting => "value ",
        InputPurpose::Axes => "vary ",
        InputPurpose::Headroom => "headroom ",
    };
    let x = put(buf, (area.x + 1, area.y), area.right(), lead, theme.bold(Role::Muted));
    let words = match (&prompt.error, prompt.purpose) {
        (Some(complaint), _) => vec![vec![Span::styled(complaint.as_str(), theme.style(Role::Warn))]],
        (None, InputPurpose::Axes | InputPurpose::Headroom) => {
            vec![prompt_hint("enter", "compare", theme), prompt_hint("esc", "cancel", theme)]
        }
        (None, InputPurpose::Setting) => {
            vec![prompt_hint("enter", "set", theme), prompt_hint("esc", "cancel", theme)]
        }
        (None, _) => vec![prompt_hint("enter", "search", theme), prompt_hint("esc", "cancel", theme)],
    };
    // What is wrong with the typed text matters more than room for more of it.
    let from = if prompt.error.is_some() { x + MIN_INPUT } else { area.x + area.width / 3 };
    let end = put_facts_right(buf, area.y, from, area.right().saturating_sub(1), &words);
    draw_input(&prompt.line, theme, (x, area.y), end.saturating_sub(2), buf)
}

fn prompt_hint<'a>(key: &'a str, words: &'a str, theme: &Theme) -> Vec<Span<'a>> {
    vec![
        Span::styled(key, theme.bold(Role::Text)),
        Span::raw(" "),
        Span::styled(words, theme.style(Role::Muted)),
    ]
}

/// Draws the edited text with its cursor visible; returns the cursor position.
pub(super) fn draw_input(
    line: &LineEditor,
    theme: &Theme,
    at: (u16, u16),
    end: u16,
    buf: &mut Buffer,
) -> Position {
    let (before, after) = line.split();
    let room = usize::from(end.saturating_sub(at.0 + 1)).max(1);
    // Hide the start of the text rather than the cursor.
    let hidden = text::width(before).saturating_sub(room);
    let before = text::visible(before);
    let shown = if hidden > 0 { &before[text::skip_columns(&before, hidden)..] } else { &before };
    let x = put(buf, at, end, shown, theme.style(Role::Bright));
    if after.is_empty() {
        put(buf, (x, at.1), end, session_columns::ZONE, theme.style(Role::Focus));
    } else {
        put(buf, (x, at.1), end, after, theme.style(Role::Bright));
    }
    Position { x: x.min(buf.area.right().saturating_sub(1)), y: at.1 }
}

fn hint_spans<'a>(hint: &ShownHint, theme: &Theme) -> Vec<Span<'a>> {
    vec![
        Span::styled(hint.keys.clone(), theme.bold(Role::Text)),
        Span::styled(format!(" {}", hint.words), theme.style(Role::Muted)),
    ]
}

/// Draws the keys that a state offers, as `D demo store`.
pub(super) fn draw_offers(
    app: &App,
    theme: &Theme,
    at: (u16, u16),
    end: u16,
    offers: &[(Action, &str)],
    buf: &mut Buffer,
) {
    let mut x = at.0;
    for (action, words) in offers {
        let key = app.key_words(KeyContext::Global, *action);
        let spans = [
            Span::styled(key, theme.bold(Role::Text)),
            Span::styled(format!(" {words}"), theme.style(Role::Muted)),
        ];
        x = put_spans(buf, (x, at.1), end, &spans) + 3;
    }
}
