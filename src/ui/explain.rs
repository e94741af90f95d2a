//! Why a session overflowed: the verdict, what it rests on, and what would have helped.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::explain::{ExplainRow, ExplainScreen, FOOT_ROWS, HEAD_ROWS};
use crate::explain::{Advice, Class, Evidence, Explanation};
use crate::inspect::Inspection;
use crate::text;
use crate::ui::theme::{Ground, Role, Theme};
use crate::ui::widgets::number::{counted, estimate, round_thousands};
use crate::ui::widgets::{
    ThinBar, blank, note, on_title, put, put_right, put_spans, row_of, scrollbar, title,
};
use crate::ui::{frame_box, glyphs};

/// From this width on rules and entries have columns of their own.
const WIDE: u16 = 100;
/// Columns of the bar of a change.
const BAR: u16 = 16;

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
    let list =
        Rect { y: area.y + HEAD_ROWS, height: area.height.saturating_sub(HEAD_ROWS + FOOT_ROWS), ..area };
    let top = screen.scroll.top.min(screen.rows.len().saturating_sub(usize::from(list.height)));
    for (y, (at, row)) in (list.y..list.bottom()).zip(screen.rows.iter().enumerate().skip(top)) {
        let line = row_of(list, y);
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, line, theme.ground(Ground::Selected));
        }
        Line { theme, screen, inspection, explanation, area: line }.draw(*row, buf);
    }
    scrollbar(theme, buf, list, top, screen.rows.len());
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
        let words = match (self.explanation.no_setting_helps(), self.explanation.advice.len()) {
            (true, 0) => "No setting would have helped".to_owned(),
            (true, tried) => {
                format!("No setting would have helped: {} tried", counted(tried as u64, "change"))
            }
            (false, _) => "What would have helped, the fewest changes first".to_owned(),
        };
        put(buf, (self.area.x + 2, self.area.y), self.end(), &words, self.theme.bold(Role::Focus));
    }

    fn advice(&self, at: usize, advice: &Advice, buf: &mut Buffer) {
        let (theme, y) = (self.theme, self.area.y);
        let (sign, style): (&str, Style) = if advice.helps {
            (glyphs::PASSED, theme.style(Role::Plan))
        } else {
            (glyphs::REFUSED, theme.style(Role::Danger))
        };
        let mut end = self.end();
        if self.area.width >= WIDE {
            let share = advice.after as f64 / advice.limit.max(1) as f64;
            let bar = ThinBar { share, tail: 1.0, style, tail_style: theme.style(Role::Ghost) };
            bar.draw(buf, (end.saturating_sub(BAR), y), BAR);
            end = end.saturating_sub(BAR + 2);
        }
        let after = [
            Span::styled(estimate(advice.after), style),
            Span::styled(format!(" of {}", round_thousands(advice.limit)), theme.style(Role::Muted)),
        ];
        let from = put_right(buf, y, self.area.x + 20, end, &after);
        let letter = char::from(b'a' + (at % 26) as u8);
        let head = [
            Span::styled(format!(" {letter} "), theme.style(Role::Muted)),
            Span::styled(sign, style),
            Span::styled(" ", Style::new()),
            Span::styled(advice.words(), theme.style(if advice.helps { Role::Bright } else { Role::Text })),
        ];
        put_spans(buf, (self.area.x + 2, y), from.saturating_sub(1), &head);
    }
}

/// The words of the row under the cursor in full; its rule on the hairline.
fn foot(theme: &Theme, screen: &ExplainScreen, area: Rect, buf: &mut Buffer) {
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), glyphs::LIGHT, theme.style(Role::Faint));
    }
    let Some(row) = screen.selected() else { return };
    let (words, rule) = match (screen.advice(row), screen.evidence(row), screen.finding(row)) {
        (Some(advice), _, _) => (advice_words(advice), ""),
        (_, Some(evidence), _) => (evidence.text.clone(), evidence.rule),
        (_, _, Some(finding)) => (finding.line.clone(), finding.rule),
        _ => ("Each change was tried on the call that failed, as it was then.".to_owned(), ""),
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

/// The note of a change, and how it is made.
fn advice_words(advice: &Advice) -> String {
    let how = match advice.commands.as_slice() {
        [] => "The patch is for openclaw.json.".to_owned(),
        commands => commands.join("; "),
    };
    format!("{} \u{2014} {how}", advice.note)
}
