//! Why a session overflowed: the verdict, the call that failed, what it rests on, and what would have helped.

mod call;
mod patch;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::explain::{ExplainRow, ExplainScreen, FOOT_ROWS, HEAD_ROWS, letter};
use crate::explain::{Advice, Class, Evidence, Explanation, Whole};
use crate::inspect::Inspection;
use crate::inspect::words::difference;
use crate::text;
use crate::ui::theme::{Ground, Role, Theme};
use crate::ui::widgets::number::{estimate, round_thousands};
use crate::ui::widgets::{
    ThinBar, blank, note, on_title, put, put_right, put_spans, row_of, scrollbar, title,
};
use crate::ui::{frame_box, glyphs};

/// From this width on rules and entries have columns of their own.
const WIDE: u16 = 100;
/// Columns of the tokens of the call, `~182.8k of 200k`.
const CALL: u16 = 15;
/// Columns of the bar of a change.
const BAR: u16 = 12;

/// Draws the screen over everything between header and status line.
pub(super) fn draw(app: &App, theme: &Theme, screen: &ExplainScreen, area: Rect, buf: &mut Buffer) {
    blank(theme, buf, area);
    let after = title(theme, buf, area, "Explain", true);
    let explanation = match &screen.view {
        Some(Ok(explanation)) => explanation,
        Some(Err(error)) => return note(theme, "It cannot be explained", error, area, buf),
        None => return note(theme, "Reading…", "", area, buf),
    };
    let Some(inspection) = app.inspection() else { return };
    head(theme, explanation, after, area, buf);
    let bar = screen.call_rows(app.size.1);
    if let Some(failure) = explanation.failure.as_ref().filter(|_| bar > 0) {
        call::draw(theme, failure, Rect { y: area.y + HEAD_ROWS, height: bar, ..area }, buf);
    }
    let above = HEAD_ROWS + bar;
    let list = Rect { y: area.y + above, height: area.height.saturating_sub(above + FOOT_ROWS), ..area };
    let top = screen.scroll.top.min(screen.rows.len().saturating_sub(usize::from(list.height)));
    for (y, (at, row)) in (list.y..list.bottom()).zip(screen.rows.iter().enumerate().skip(top)) {
        let line = row_of(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, line, theme.ground(Ground::Selected));
        }
        Line { theme, screen, inspection, explanation, area: line }.draw(*row, buf);
    }
    scrollbar(theme, buf, list, top, screen.rows.len());
    let left = (screen.rows.len() as u16).min(list.height);
    let free = Rect { y: list.y + left, height: list.height - left, ..list };
    if let Some((letter, advice)) = screen.patched() {
        patch::draw(app, theme, (letter, advice), free, buf);
    }
    foot(theme, screen, Rect { y: list.bottom(), height: FOOT_ROWS, ..area }, buf);
}

/// The verdict, over as many rows as there are, and its class on the title line.
fn head(theme: &Theme, explanation: &Explanation, after: u16, area: Rect, buf: &mut Buffer) {
    let Some(verdict) = explanation.verdict() else { return };
    let end = area.right().saturating_sub(1);
    let class = [
        Span::styled(verdict.class.word(), theme.style(Role::Text)),
        Span::styled(format!(" · {}", verdict.confidence.word()), theme.style(Role::Muted)),
    ];
    on_title(buf, area.y, after, end, &class);
    let (sign, style) = match verdict.class {
        Class::Healthy => (glyphs::PASSED, theme.style(Role::You)),
        _ if explanation.overflowed() => (glyphs::ALERT, theme.style(Role::Danger)),
        _ => (glyphs::ALERT, theme.style(Role::Warn)),
    };
    let x = put(buf, (area.x + 2, area.y + 1), end, sign, style) + 1;
    let lines = text::wrap(&verdict.line, usize::from(end.saturating_sub(x)));
    let rows = usize::from(HEAD_ROWS - 1);
    for (at, (y, line)) in (area.y + 1..area.y + HEAD_ROWS).zip(&lines).enumerate() {
        // What does not fit is told whole at the foot, where the cursor begins.
        let more = at + 1 == rows && lines.len() > rows;
        let line = if more { format!("{line}…") } else { line.clone() };
        put(
            buf,
            (x, y),
            end,
            &line,
            if at == 0 { theme.bold(Role::Bright) } else { theme.style(Role::Text) },
        );
    }
}

/// What stands at the foot on the head of the changes.
const TRIED: &str = "Each change was tried on the call that failed, as it was then, and then on every call of the session. \
     An answer that never came is paid for where its call fits.";
const TRIED_AHEAD: &str = "Each change was tried on the next call, and on every call that was made.";

struct Line<'a> {
    theme: &'a Theme,
    screen: &'a ExplainScreen,
    inspection: &'a Inspection,
    explanation: &'a Explanation,
    area: Rect,
}

impl Line<'_> {
    fn draw(&self, row: ExplainRow, buf: &mut Buffer) {
        match row {
            ExplainRow::Finding(_) => self.finding(row, buf),
            ExplainRow::Evidence(_, line) => {
                if let Some(evidence) = self.screen.evidence(row) {
                    self.evidence(line + 1, evidence, buf);
                }
            }
            ExplainRow::AdviceHead => self.advice_head(buf),
            ExplainRow::Advice(at) => {
                if let Some(advice) = self.screen.advice(row) {
                    self.advice(at, advice, buf);
                }
            }
        }
    }

    fn end(&self) -> u16 {
        self.area.right().saturating_sub(1)
    }

    fn finding(&self, row: ExplainRow, buf: &mut Buffer) {
        let Some(finding) = self.screen.finding(row) else { return };
        let y = self.area.y;
        let class = format!("{} · {} ", finding.class.word(), finding.confidence.word());
        let x = put(buf, (self.area.x + 2, y), self.end(), &class, self.theme.bold(Role::Bright)) + 1;
        put(buf, (x, y), self.end(), &finding.line, self.theme.style(Role::Muted));
    }

    fn evidence(&self, number: usize, evidence: &Evidence, buf: &mut Buffer) {
        let (theme, y) = (self.theme, self.area.y);
        let mut end = self.end();
        if let Some(first) = evidence.entries.first() {
            let more = evidence.entries.len() - 1;
            let name =
                if self.area.width >= WIDE { self.inspection.index.name(*first) } else { String::new() };
            let others = if more > 0 && !name.is_empty() { format!(" +{more}") } else { String::new() };
            let words = format!("{} {name}{others}", glyphs::ARROW);
            let from = if self.area.width >= WIDE { end.saturating_sub(18) } else { end.saturating_sub(2) };
            put(buf, (from, y), end, &words, theme.style(Role::Focus));
            end = from.saturating_sub(1);
        } else if self.area.width >= WIDE {
            end = end.saturating_sub(19);
        }
        if self.area.width >= WIDE {
            let rule = [Span::styled(evidence.rule, theme.style(Role::Muted))];
            let from = put_right(buf, y, end.saturating_sub(18), end.saturating_sub(2), &rule);
            end = from.min(end.saturating_sub(18)).saturating_sub(1);
        }
        let x = self.area.x + 2;
        put(buf, (x, y), end, &format!("{number:>2}"), theme.style(Role::Muted));
        put(buf, (x + 4, y), end, &evidence.text, theme.style(Role::Text));
    }

    fn advice_head(&self, buf: &mut Buffer) {
        let (helps, words) = self.explanation.advice_head();
        let role = if helps { Role::Focus } else { Role::Warn };
        let x = put(buf, (self.area.x + 2, self.area.y), self.end(), &words, self.theme.bold(role)) + 2;
        if self.area.width >= WIDE && !self.explanation.advice.is_empty() {
            let muted = self.theme.style(Role::Muted);
            let y = self.area.y;
            let [call, over, peak, cost] = columns(self.end());
            let heads = [(call, "the call"), (over, "over"), (peak, "peak"), (cost, "cost")];
            for (end, head) in heads {
                put_right(buf, y, x, end, &[Span::styled(head, muted)]);
            }
        }
    }

    /// What the call and the whole session come to; where that begins.
    fn whole(&self, advice: &Advice, style: Style, buf: &mut Buffer) -> u16 {
        let (theme, y) = (self.theme, self.area.y);
        let [call, over, peak, cost] = columns(self.end());
        let column = |buf: &mut Buffer, end: u16, text: String, style: Style| {
            put_right(buf, y, self.area.x, end, &[Span::styled(text, style)]);
        };
        {
            let whole = advice.whole;
            let overflows = advice.overflows();
            let bad = if overflows > 0 { theme.style(Role::Danger) } else { theme.style(Role::Text) };
            column(buf, over, overflows.to_string(), bad);
            column(buf, peak, estimate(advice.peak()), theme.style(Role::Text));
            column(buf, cost, self.cost_change(whole), theme.style(Role::Text));
        }
        let after = [
            Span::styled(estimate(advice.after), style),
            Span::styled(format!(" of {}", round_thousands(advice.limit)), theme.style(Role::Muted)),
        ];
        // Bars stand one below the other, whatever numbers follow them.
        let end = put_right(buf, y, self.area.x + 20, call, &after).min(call.saturating_sub(CALL));
        let end = end.saturating_sub(2);
        let from = end.saturating_sub(BAR);
        let share = advice.after as f64 / advice.limit.max(1) as f64;
        ThinBar { share, tail: 1.0, style, tail_style: theme.style(Role::Ghost) }.draw(buf, (from, y), BAR);
        from
    }

    /// By how much all calls would cost more or less.
    fn cost_change(&self, whole: Whole) -> String {
        let before = self.explanation.recorded.and_then(|recorded| recorded.cost);
        match (whole.cost, before) {
            (Some(cost), Some(before)) => difference(cost - before),
            _ => "-".to_owned(),
        }
    }

    fn advice(&self, at: usize, advice: &Advice, buf: &mut Buffer) {
        let (theme, y) = (self.theme, self.area.y);
        let (sign, style): (&str, Style) = if advice.helps {
            (glyphs::PASSED, theme.style(Role::Plan))
        } else {
            (glyphs::REFUSED, theme.style(Role::Danger))
        };
        let from = if self.area.width >= WIDE {
            self.whole(advice, style, buf)
        } else {
            let after = [
                Span::styled(estimate(advice.after), style),
                Span::styled(format!(" of {}", round_thousands(advice.limit)), theme.style(Role::Muted)),
            ];
            put_right(buf, y, self.area.x + 20, self.end(), &after)
        };
        let letter = letter(at);
        let head = [
            Span::styled(format!(" {letter} "), theme.style(Role::Muted)),
            Span::styled(sign, style),
            Span::styled(" ", Style::new()),
            Span::styled(advice.words(), theme.style(if advice.helps { Role::Bright } else { Role::Text })),
        ];
        put_spans(buf, (self.area.x + 2, y), from.saturating_sub(1), &head);
    }
}

/// Where the columns of a change end: the call, then what the whole session comes to.
fn columns(end: u16) -> [u16; 4] {
    [end.saturating_sub(29), end.saturating_sub(22), end.saturating_sub(12), end]
}

/// The words of the row under the cursor in full; its rule on the hairline.
fn foot(theme: &Theme, screen: &ExplainScreen, area: Rect, buf: &mut Buffer) {
    let Some(explanation) = screen.explanation() else { return };
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), glyphs::LIGHT, theme.style(Role::Faint));
    }
    let Some(row) = screen.selected() else { return };
    let (words, rule) = match (screen.advice(row), screen.evidence(row), screen.finding(row)) {
        (Some(advice), _, _) => (advice_words(explanation, advice), ""),
        (_, Some(evidence), _) => (evidence.text.clone(), evidence.rule),
        (_, _, Some(finding)) => (finding.line.clone(), finding.rule),
        _ if explanation.overflowed() => (TRIED.to_owned(), ""),
        _ => (TRIED_AHEAD.to_owned(), ""),
    };
    if !rule.is_empty() {
        let rule = [Span::styled(rule, theme.style(Role::Muted))];
        on_title(buf, area.y, area.x, area.right().saturating_sub(1), &rule);
    }
    let lines = text::wrap(&words, usize::from(area.width.saturating_sub(4)));
    for (y, line) in (area.y + 1..area.bottom()).zip(lines) {
        put(buf, (area.x + 2, y), area.right().saturating_sub(1), &line, theme.style(Role::Text));
    }
}

/// The note of a change, what the whole session comes to, and how it is made.
fn advice_words(explanation: &Explanation, advice: &Advice) -> String {
    let how = match advice.commands.as_slice() {
        [] => format!("The patch is for {}.", advice.file_name()),
        commands => commands.join("; "),
    };
    let whole = format!("{}. ", advice.over_all_words(explanation.recorded));
    format!("{}. {whole}{how}", advice.note)
}
