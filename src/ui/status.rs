//! The status line: the edited line, otherwise a message for a moment, otherwise the available keys.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::{Action, ScreenKind};
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::line_editor::LineEditor;
use crate::app::message::MessageView;
use crate::app::screens::hint::Hint;
use crate::app::state::{InputPurpose, LineInput, Overlay};
use crate::text;
use crate::ui::glyphs;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{apply_style, put, put_facts, put_facts_right, put_spans};

const MOVE: Hint = (&[Action::Down, Action::Up], "move");
const NEXT_PANE: Hint = (&[Action::NextPane], "next pane");

/// Draws the line; returns the position of the text cursor while a line is edited.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    apply_style(buf, area, theme.background(BackgroundRole::Surface));
    if let Some(prompt) = app.input.as_ref().filter(|prompt| !is_sessions_filter(app, prompt)) {
        return Some(draw_prompt(prompt, theme, area, buf));
    }
    let context = app.key_context();
    let end = area.right().saturating_sub(1);
    let mut right = hints(app, theme, context, right_hints(app));
    right.extend(app.count.map(|count| vec![Span::styled(count.to_string(), theme.bold(Role::Focus))]));
    let start = put_facts_right(buf, area.y, area.x + area.width / 2, end, &right).saturating_sub(3);
    if let Some(toast) = &app.toast {
        let (sign, role) =
            if toast.is_error { (glyphs::REFUSED, Role::Danger) } else { (glyphs::PASSED, Role::User) };
        let x = put(buf, (area.x + 1, area.y), start, sign, theme.style(role));
        let role = if toast.is_error { Role::Danger } else { Role::Text };
        put(buf, (x + 1, area.y), start, &toast.text, theme.style(role));
        return None;
    }
    let left = if app.input.is_some() {
        vec![
            prompt_hint("enter", "open", theme),
            prompt_hint("esc", "clear filter", theme),
            prompt_hint("↑↓", "move", theme),
        ]
    } else {
        hints(app, theme, context, left_hints(app))
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
        InputPurpose::Filter | InputPurpose::Search | InputPurpose::Find => "/",
        InputPurpose::Setting => "value ",
        InputPurpose::Axes => "vary ",
        InputPurpose::Headroom => "leave free ",
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
    let end = put_facts_right(buf, area.y, area.x + area.width / 3, area.right().saturating_sub(1), &words);
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
        put(buf, (x, at.1), end, glyphs::ZONE, theme.style(Role::Focus));
    } else {
        put(buf, (x, at.1), end, after, theme.style(Role::Bright));
    }
    Position { x: x.min(buf.area.right().saturating_sub(1)), y: at.1 }
}

fn left_hints(app: &App) -> Vec<Hint> {
    if let Some(overlay) = app.overlay() {
        return overlay.hints();
    }
    // Without a store there are no panes; the empty state shows the keys instead.
    if app.store_error.is_some() {
        return Vec::new();
    }
    match app.focus {
        Pane::Sessions => vec![MOVE, (&[Action::Open], "open"), (&[Action::Search], "filter"), NEXT_PANE],
        Pane::Transcript => transcript_hints(app),
        Pane::Message if app.zoom => detail_hints(app),
        Pane::Message => vec![
            (&[Action::Down, Action::Up], "scroll"),
            (&[Action::Diff], "diff"),
            (&[Action::Raw], "raw"),
            (&[Action::Wrap], "wrap"),
            (&[Action::Search], "search"),
            (&[Action::Zoom], "whole screen"),
            (&[Action::Copy], "copy"),
            (&[Action::Pager], "open"),
            NEXT_PANE,
        ],
        Pane::Tuning => vec![
            (&[Action::Less, Action::More], "adjust"),
            (&[Action::PreviousStep, Action::NextStep], "policy"),
            (&[Action::ToggleStep], "on/off"),
            (&[Action::Edit], "edit"),
            (&[Action::ToDefault], "default"),
            (&[Action::ToConfig], "config"),
            (&[Action::CopyPatch], "copy patch"),
            (&[Action::Open], "commit…"),
            NEXT_PANE,
        ],
    }
}

/// Hints of a message on the full screen: next message, views, and the way back, which is never the hint that does not
/// fit.
fn detail_hints(app: &App) -> Vec<Hint> {
    let view =
        app.message_screen().map_or(app.message.view, |screen| screen.layout.options.body_options.view);
    let diff = view == MessageView::Diff;
    let changed = app.message.text.as_ref().is_some_and(|text| text.planned_text.is_some());
    let on = |shown: bool, one, other| if shown { one } else { other };
    let mut hints: Vec<Hint> = if app.plan.is_some() {
        vec![(&[Action::NextChange, Action::PreviousChange], "changed")]
    } else {
        vec![(&[Action::NextMessage, Action::PreviousMessage], "message")]
    };
    if app.message.current_match.is_some() {
        hints.push((&[Action::NextMatch, Action::PreviousMatch], "match"));
    }
    if diff {
        hints.push((&[Action::Fold], on(app.message.unfold, "fold", "unfold")));
    }
    if changed {
        hints.push((&[Action::Diff], on(diff, "text", "diff")));
    }
    hints.push((&[Action::Raw], on(view == MessageView::Raw, "text", "raw")));
    hints.push((&[Action::Wrap], on(app.message.wrap, "no wrap", "wrap")));
    hints.push((&[Action::Copy], on(diff, "copy after", "copy")));
    let back = if app.size.0 < 100 { 1 } else { hints.len() };
    hints.insert(back, (&[Action::Back], "back"));
    hints
}

fn transcript_hints(app: &App) -> Vec<Hint> {
    let searching = app.transcript.as_ref().is_some_and(|pane| !pane.query.is_empty());
    let mut hints = vec![MOVE];
    hints.extend(app.screen_behind().and_then(Overlay::kind).map(jump_hint));
    let urgent =
        |hint: &Hint| matches!(hint.0, [Action::Repair | Action::Commit | Action::Show(ScreenKind::Explain)]);
    hints.extend(app.likely_actions().into_iter().filter(urgent));
    hints.extend([(&[Action::Open][..], "open"), (&[Action::Fold], "fold")]);
    hints.push(if searching {
        (&[Action::NextMatch, Action::PreviousMatch], "match")
    } else {
        (&[Action::Search], "search")
    });
    if app.plan.is_some() {
        hints.push((&[Action::NextChange, Action::PreviousChange], "change"));
        hints.push((&[Action::TogglePrune], "end preview"));
    } else {
        hints.push((&[Action::TogglePrune], "preview"));
    }
    hints.push(NEXT_PANE);
    hints
}

/// The way back to the screen that a jump left.
fn jump_hint(kind: ScreenKind) -> Hint {
    let words = match kind {
        ScreenKind::Explain => "back to explain",
        ScreenKind::Timeline => "back to the timeline",
        ScreenKind::Breakdown => "back to the window",
        ScreenKind::Recovery => "back to recovery",
        ScreenKind::Findings => "back to the findings",
        ScreenKind::Estimators => "back to the estimates",
        ScreenKind::Commits => "back to the commits",
        ScreenKind::Branches => "back to the branches",
        ScreenKind::Compare => "back to compare",
        ScreenKind::Steps => "back to the policies",
        ScreenKind::Help | ScreenKind::Palette | ScreenKind::Rule => "back",
    };
    (&[Action::JumpBack], words)
}

fn right_hints(app: &App) -> Vec<Hint> {
    match (app.overlay(), &app.input) {
        (Some(Overlay::Timeline), None) if app.size.0 >= 100 => {
            vec![(&[Action::Show(ScreenKind::Explain)], "explain")]
        }
        (Some(_), _) | (_, Some(_)) => Vec::new(),
        _ if app.zoom && app.focus == Pane::Message => {
            let pager = if app.size.0 < 100 { "open" } else { "open in pager" };
            vec![(&[Action::Search], "search"), (&[Action::Pager], pager)]
        }
        _ => vec![(&[Action::Show(ScreenKind::Palette)], "run"), (&[Action::Quit], "quit")],
    }
}

fn hints<'a>(app: &App, theme: &Theme, context: KeyContext, hints: Vec<Hint>) -> Vec<Vec<Span<'a>>> {
    let spans = |(actions, words): Hint| {
        let keys = keys_text(app, context, actions)?;
        Some(vec![
            Span::styled(keys, theme.bold(Role::Text)),
            Span::styled(format!(" {words}"), theme.style(Role::Muted)),
        ])
    };
    hints.into_iter().filter_map(spans).collect()
}

/// Formats the keys of related actions, as `j/k` or `←→`.
fn keys_text(app: &App, context: KeyContext, actions: &[Action]) -> Option<String> {
    let keymap = &app.options.keymap;
    let bound: Vec<Vec<String>> = actions.iter().map(|action| keymap.keys_for(context, *action)).collect();
    let holds = |at: usize, name: &str| bound.get(at).is_some_and(|keys| keys.iter().any(|key| key == name));
    if holds(0, "left") && holds(1, "right") {
        return Some("←→".to_owned());
    }
    let both = actions.iter().zip(&bound);
    let first: Option<Vec<&str>> = both.map(|(action, keys)| preferred_key(*action, keys)).collect();
    first.map(|keys| keys.join("/"))
}

/// Returns the first key of an action, empty if none is bound.
pub(super) fn first_key(app: &App, context: KeyContext, action: Action) -> String {
    let keys = app.options.keymap.keys_for(context, action);
    preferred_key(action, &keys).unwrap_or_default().to_owned()
}

/// Chooses one of several keys: `n` beside `y`, esc to leave.
fn preferred_key(action: Action, keys: &[String]) -> Option<&str> {
    let wanted = match action {
        Action::No => "n",
        Action::Back => "esc",
        _ => "",
    };
    keys.iter().find(|key| *key == wanted).or(keys.first()).map(String::as_str)
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
        let key = first_key(app, KeyContext::Global, *action);
        if key.is_empty() {
            continue;
        }
        let spans = [
            Span::styled(key, theme.bold(Role::Text)),
            Span::styled(format!(" {words}"), theme.style(Role::Muted)),
        ];
        x = put_spans(buf, (x, at.1), end, &spans) + 3;
    }
}
