//! The message pane: the facts of the selected message, the plan's effect on it with the reason, and its text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::message_header::HeaderLine;
use crate::format::format_short_estimate;
use crate::session::message::MessageText;
use crate::text;
use crate::ui::detail::{fact_style, position_span, share_text, title_spans};
use crate::ui::message_body::BodyPainter;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{
    content_left, on_title, put, put_facts, put_facts_right, put_right, put_spans, scrollbar, spans_width,
    title,
};
use crate::ui::{detail, session_columns};

/// Columns of the names of facts.
const NAME_WIDTH: u16 = 8;

/// Draws the message pane. On a wide full screen the facts, and the text before and after, are side by side.
pub fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let screen = app.message_screen();
    if let Some(screen) = screen.as_ref().filter(|screen| app.message.has_side_facts(screen.area)) {
        return detail::draw_side_by_side(app, theme, screen, area, buf);
    }
    // The tabs of the narrowest layout replace the title line.
    if app.layout().tabs.is_empty() {
        let after = title(theme, buf, area, Pane::Message.title(), app.focus == Pane::Message);
        let place = screen.as_ref().map(|screen| position_span(app, theme, screen));
        on_title(buf, area.y, after, area.right(), place.as_slice());
    }
    let Some(screen) = screen else { return without_text(app, theme, area, buf) };
    let inner = inside(area);
    let message = &screen.layout.message;
    for (y, line) in (inner.y..inner.bottom()).zip(&screen.header) {
        head_line(app, theme, message, line, Rect { y, height: 1, ..inner }, buf);
    }
    let head = (screen.header.len() as u16).min(inner.height);
    let rows = (screen.body_rows as u16).min(inner.height - head);
    let body = Rect { y: inner.y + head, height: rows, ..inner };
    BodyPainter::new(app, theme, &screen.layout, screen.body_rows).draw(body, false, buf);
    let track = Rect { x: area.right() - 1, y: body.y, width: 1, height: body.height };
    scrollbar(theme, buf, track, app.message.top, screen.layout.rows());
    if screen.has_footer {
        foot(app, theme, Rect { y: area.bottom() - 1, height: 1, ..inner }, buf);
    }
}

/// Returns the pane below its title, with one blank column at each side.
fn inside(area: Rect) -> Rect {
    let left = (content_left(area) + 1).min(area.right());
    let width = area.right().saturating_sub(1).saturating_sub(left);
    Rect { x: left, y: area.y + 1, width, height: area.height.saturating_sub(1) }
}

/// Draws the reason why the pane has no message; nothing while one loads.
fn without_text(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let inner = inside(area);
    let (what, where_) = match (&app.message.error, app.message.requested) {
        (Some(error), _) => ("Cannot read the message", error.as_str()),
        (None, Some(_)) if app.message.is_reading(app.now_ms) && !app.is_opening_slowly() => {
            ("Reading the message…", "")
        }
        (None, Some(_)) => return,
        (None, None) => ("No message", "Move the cursor in the transcript to read one."),
    };
    let role = if app.message.error.is_some() { Role::Warn } else { Role::Bright };
    put(buf, (inner.x, inner.y), inner.right(), what, theme.style(role));
    let lines = text::wrap(where_, usize::from(inner.width));
    for (y, line) in (inner.y + 1..inner.bottom()).zip(lines) {
        put(buf, (inner.x, y), inner.right(), &line, theme.style(Role::Text));
    }
}

fn head_line(app: &App, theme: &Theme, message: &MessageText, line: &HeaderLine, at: Rect, buf: &mut Buffer) {
    let (start, end) = ((at.x, at.y), at.right());
    match line {
        HeaderLine::Title => {
            put_spans(buf, start, end, &title_spans(theme, message));
        }
        HeaderLine::TitleAndFate => {
            let right = fate_spans(app, theme, message, true);
            let room = end.saturating_sub(spans_width(&right) + 2).max(at.x);
            put_spans(buf, start, room, &title_spans(theme, message));
            put_right(buf, at.y, room, end, &right);
        }
        HeaderLine::Facts => {
            put(buf, start, end, &facts_line(message), theme.style(Role::Muted));
        }
        HeaderLine::Tokens => draw_size(app, theme, message, at, buf),
        HeaderLine::Fate => {
            put_spans(buf, start, end, &fate_spans(app, theme, message, false));
        }
        HeaderLine::Regret(words) => {
            put(buf, start, end, &format!("{} {words}", session_columns::AGAIN), theme.style(Role::Warn));
        }
        HeaderLine::Reason(words, rule) => {
            put(buf, start, end, words, theme.style(Role::Text));
            let rule =
                rule.map(|rule| Span::styled(rule.replace("pruning", "rule"), theme.style(Role::Muted)));
            put_facts_right(buf, at.y, at.x + text::width(words) as u16, end, &[rule.into_iter().collect()]);
        }
        HeaderLine::FactPair(one, two) => {
            let half = at.width.div_ceil(2);
            for (at_x, fact) in [(at.x, Some(*one)), (at.x + half, *two)] {
                let Some(fact) = fact.and_then(|fact| message.facts.get(fact)) else { continue };
                let (name, value) = (fact.0, app.fact_value(message, fact));
                let end = (at_x + half).min(end);
                put(buf, (at_x, at.y), end, name, theme.style(Role::Muted));
                put(
                    buf,
                    (at_x + NAME_WIDTH, at.y),
                    end.saturating_sub(1),
                    &value,
                    fact_style(theme, name, &value),
                );
            }
        }
        HeaderLine::Blank => {}
    }
}

/// Returns kind, chars and time of day, if known.
fn facts_line(message: &MessageText) -> String {
    let kind = message.fact("role").or_else(|| message.fact("type")).unwrap_or("entry");
    let mut facts = vec![if kind == "toolResult" { "result".to_owned() } else { kind.replace('_', " ") }];
    facts.extend(message.fact("chars").map(|chars| format!("{chars} chars")));
    let time = message.fact("at").and_then(|at| at.split_once(' ')).map(|(_, time)| time.to_owned());
    facts.extend(time);
    facts.join(" · ")
}

fn draw_size(app: &App, theme: &Theme, message: &MessageText, at: Rect, buf: &mut Buffer) {
    let muted = |text: String| vec![Span::styled(text, theme.style(Role::Muted))];
    let mut facts = Vec::new();
    if let Some((tokens, share)) = app.message_tokens(message) {
        facts.push(vec![Span::styled(format_short_estimate(tokens), theme.bold(Role::Bright))]);
        facts.push(muted(share.map_or_else(|| "not in the prompt".into(), share_text)));
        let row = app.tokens_with_call().map(format_short_estimate);
        // The row would otherwise seem to contradict the message.
        let row = row.filter(|row| *row != format_short_estimate(tokens));
        facts.extend(row.map(|row| muted(format!("{row} with its call"))));
    }
    if let Some(exit) = message.fact("exit") {
        facts.push(vec![
            Span::styled("exit ", theme.style(Role::Muted)),
            Span::styled(exit.to_owned(), fact_style(theme, "exit", exit)),
        ]);
    }
    put_facts(buf, (at.x, at.y), at.right(), &facts);
}

/// Returns sign and word of the fate, and its effect on the tokens.
fn fate_spans<'a>(app: &App, theme: &Theme, message: &MessageText, short: bool) -> Vec<Span<'a>> {
    let Some(verdict) = app.fate_summary(message) else { return Vec::new() };
    let fate = verdict.fate.fate;
    let style = theme.fate(fate);
    let bold = style.add_modifier(ratatui::style::Modifier::BOLD);
    let mut spans = vec![Span::styled(fate.sign(), bold), Span::raw(" ")];
    if !short {
        spans.extend([Span::styled(fate.word(), bold), Span::raw("   ")]);
    }
    let (before, after) = verdict.tokens;
    spans.push(Span::styled(format_short_estimate(before), theme.style(Role::Muted)));
    if fate.is_change() {
        spans.push(Span::styled(" → ", theme.style(Role::Faint)));
        spans.push(Span::styled(format_short_estimate(after), bold));
    }
    spans
}

/// Draws as many keys of the pane as fit.
fn foot(app: &App, theme: &Theme, at: Rect, buf: &mut Buffer) {
    let names = [
        (Action::Diff, "diff"),
        (Action::Raw, "raw"),
        (Action::Copy, "copy"),
        (Action::Pager, "open"),
        (Action::Wrap, "wrap"),
    ];
    let context = if app.focus == Pane::Message { KeyContext::Message } else { KeyContext::Transcript };
    let key = |(action, words): (Action, &'static str)| {
        let key = app.options.keymap.keys_for(context, action).into_iter().next()?;
        Some(vec![
            Span::styled(key, theme.bold(Role::Text)),
            Span::styled(format!(" {words}"), theme.style(Role::Muted)),
        ])
    };
    let keys: Vec<Vec<Span>> = names.into_iter().filter_map(key).collect();
    put_facts(buf, (at.x, at.y), at.right(), &keys);
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
