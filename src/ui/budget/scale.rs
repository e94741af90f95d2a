//! The line under the bars: the names and values of the thresholds, each touching its mark.

use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::inspect::budget_marks::{Threshold, ThresholdMark};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::number::{round_thousands, thousands};
use crate::ui::widgets::{put, put_spans, spans_width};

/// Where labels may stand.
pub(super) struct Scale<'a, F> {
    pub(super) theme: &'a Theme,
    pub(super) y: u16,
    /// First column of the bar, and the one after its last.
    pub(super) columns: (u16, u16),
    /// First column that is free for labels.
    pub(super) start: u16,
    /// Tokens the whole bar stands for.
    pub(super) full: u64,
    /// Say where 0 is.
    pub(super) zero: bool,
    /// Which thresholds say their name.
    pub(super) named: F,
}

/// A label: its mark's column, and its forms from the longest to the shortest.
struct Label<'s> {
    at: u16,
    forms: Vec<Vec<Span<'s>>>,
}

impl<F: Fn(Threshold) -> bool> Scale<'_, F> {
    /// Draws the labels from left to right; the window has its place at the right end. Labels that
    /// collide move to the other side of their mark, then drop the name, then go.
    pub(super) fn draw(&self, marks: &[ThresholdMark], buf: &mut Buffer) {
        let mut labels: Vec<Label> =
            marks.iter().filter(|mark| mark.at > 0).flat_map(|mark| self.labels(mark)).collect();
        labels.sort_by_key(|label| label.at);
        let mut right = self.columns.1 + 1;
        if let Some(at) = labels.iter().position(|label| label.at + 1 >= self.columns.1) {
            let last = labels.split_off(at);
            for label in last.iter().rev() {
                right = self.last(label, right, buf);
            }
        }
        let mut left = self.start;
        if self.zero {
            left = put(buf, (left, self.y), right, "0", self.theme.style(Role::Muted)) + 1;
        }
        for label in &labels {
            left = self.place(label, left, right, buf);
        }
    }

    /// A label at the right end of the bar; answers the column that those before it must end before.
    fn last(&self, label: &Label, right: u16, buf: &mut Buffer) -> u16 {
        let fits = label.forms.iter().find(|form| self.start + spans_width(form) <= right);
        let Some(form) = fits else { return right };
        let x = right - spans_width(form);
        put_spans(buf, (x, self.y), right, form);
        x.saturating_sub(1)
    }

    /// Answers the column after the label, with a gap.
    fn place(&self, label: &Label, left: u16, right: u16, buf: &mut Buffer) -> u16 {
        for form in &label.forms {
            let width = spans_width(form);
            // Ending at the mark, else as near as there is room: it must touch its mark.
            let wanted = (label.at + 1).saturating_sub(width).max(left);
            let x = wanted.min(right.saturating_sub(width));
            let touches = (x..=x + width).contains(&label.at);
            if x >= left && touches {
                return put_spans(buf, (x, self.y), right, form) + 2;
            }
        }
        left
    }

    fn column(&self, tokens: u64) -> u16 {
        let width = f64::from(self.columns.1 - self.columns.0);
        self.columns.0 + ((tokens as f64 / self.full as f64).min(1.0) * width) as u16
    }

    fn labels<'s>(&self, mark: &ThresholdMark) -> Vec<Label<'s>> {
        let muted = self.theme.style(Role::Muted);
        let value_style = match mark.threshold {
            _ if mark.was.is_some() => self.theme.style(Role::Plan),
            Threshold::Compact => self.theme.style(Role::Warn),
            Threshold::Window if mark.at < self.full => self.theme.style(Role::Danger),
            _ => self.theme.style(Role::Text),
        };
        let value = value(mark, value_style);
        let forms = |name: &'static str, value: &Span<'s>, named: bool| {
            let mut forms = vec![vec![value.clone()]];
            if named {
                forms.insert(0, vec![Span::styled(format!("{name} "), muted), value.clone()]);
            }
            forms
        };
        let named = (self.named)(mark.threshold);
        let mut labels =
            vec![Label { at: self.column(mark.at), forms: forms(mark.threshold.word(), &value, named) }];
        if let Some(was) = mark.was {
            let old = Span::styled(thousands(was), muted);
            let mut forms = forms("was", &old, true);
            forms.truncate(1);
            labels.push(Label { at: self.column(was), forms });
        }
        labels
    }
}

fn value<'s>(mark: &ThresholdMark, style: Style) -> Span<'s> {
    let round = matches!(mark.threshold, Threshold::Compact | Threshold::Window);
    Span::styled(if round { round_thousands(mark.at) } else { thousands(mark.at) }, style)
}
