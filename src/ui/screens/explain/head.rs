//! The headline: verdict and advice, with the session on the right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::explain::ExplainScreen;
use crate::app::screens::explain::page::WIDE;
use crate::report::explain::{Advice, Explanation, FindingClass};
use crate::session::LoadedSession;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{put, put_facts_right, put_spans, spans_width};

pub(super) fn draw(view: &View<'_>, area: Rect, buf: &mut Buffer) {
    let Some(verdict) = view.explanation.verdict() else { return };
    let head = view.screen.headline(view.app.size);
    let end = area.right().saturating_sub(1);
    let (sign, style) = sign(view, verdict.class);
    let x = put(buf, (area.x + 2, area.y), end, sign, style) + 1;
    let mut y = area.y;
    for line in &head.verdict {
        put(buf, (x, y), end, line, view.theme.bold(Role::Bright));
        y += 1;
    }
    if area.width >= WIDE {
        let class = vec![
            Span::styled(verdict.class.as_str(), view.theme.style(Role::Text)),
            view.muted(format!(" · {}", verdict.confidence.as_str())),
        ];
        put_facts_right(buf, area.y, x, end, &[class]);
    }
    let mut last = x;
    for (at, line) in head.advice.iter().enumerate() {
        let spans = advice(view, line, head.advice.len() == 1);
        last = put_spans(buf, (x, y), end, &spans);
        y += u16::from(at + 1 < head.advice.len());
    }
    if area.width >= WIDE {
        put_facts_right(buf, y, last + 3, end, &session(view));
    }
}

fn sign(view: &View<'_>, class: FindingClass) -> (&'static str, Style) {
    match class {
        FindingClass::Healthy => (session_columns::PASSED, view.theme.style(Role::User)),
        _ if view.explanation.has_overflowed() => (session_columns::ALERT, view.theme.style(Role::Danger)),
        _ => (session_columns::ALERT, view.theme.style(Role::Warn)),
    }
}

/// Highlights keys and values in advice that fits on one line.
fn advice<'a>(view: &View<'_>, line: &'a str, whole: bool) -> Vec<Span<'a>> {
    let plain = view.theme.style(Role::Text);
    let best = view.explanation.advice.first().filter(|best| whole && best.fits_all);
    best.and_then(|best| highlight_changes(view, line, best))
        .unwrap_or_else(|| vec![Span::styled(line, plain)])
}

fn highlight_changes<'a>(view: &View<'_>, line: &'a str, best: &Advice) -> Option<Vec<Span<'a>>> {
    let plain = view.theme.style(Role::Text);
    let mut spans = Vec::new();
    let mut rest = line;
    for change in &best.changes {
        let value = change.describe_after();
        let words =
            [(change.key(), view.theme.style(Role::Bright)), (value.as_str(), view.theme.bold(Role::Plan))];
        for (word, style) in words {
            let (before, after) = rest.split_once(word)?;
            let marked = rest.get(before.len()..before.len() + word.len())?;
            spans.extend([Span::styled(before, plain), Span::styled(marked, style)]);
            rest = after;
        }
    }
    spans.push(Span::styled(rest, plain));
    (spans_width(&spans) > 0).then_some(spans)
}

fn session<'a>(view: &View<'_>) -> Vec<Vec<Span<'a>>> {
    let model = match view.session.provider.as_str() {
        "" => view.session.model.clone(),
        provider => format!("{provider}/{}", view.session.model),
    };
    vec![vec![view.muted(view.session.item.key.0.clone())], vec![view.muted(model)]]
}

pub(super) struct View<'a> {
    pub(super) app: &'a App,
    pub(super) theme: &'a Theme,
    pub(super) screen: &'a ExplainScreen,
    pub(super) explanation: &'a Explanation,
    pub(super) session: &'a LoadedSession,
}

impl View<'_> {
    pub(super) fn muted<'s>(&self, words: impl Into<String>) -> Span<'s> {
        Span::styled(words.into(), self.theme.style(Role::Muted))
    }
}
