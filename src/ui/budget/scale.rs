//! The line below the bars: name and value of each threshold, as close to its mark as space permits.
//!
//! A label has several forms, and a shorter one is tried before the label is dropped: `soft trim ~98k`, `soft ~98k`, `~98k`,
//! then none.

use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::format::format_short_tokens;
use crate::session::budget_marks::{Threshold, ThresholdMark};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{put, put_spans, spans_width};

pub(super) struct Scale<'a, F> {
    pub(super) theme: &'a Theme,
    pub(super) y: u16,
    /// First column of the bar, and the column after its last.
    pub(super) columns: (u16, u16),
    /// First column that labels may use.
    pub(super) start: u16,
    /// Tokens that the whole bar represents.
    pub(super) full: u64,
    /// Labels the zero end of the bar.
    pub(super) zero: bool,
    /// Decides whether a threshold shows its name.
    pub(super) is_named: F,
}

/// A label: the column of its mark, and its forms from the longest to the shortest.
struct Label<'s> {
    at: u16,
    forms: Vec<Vec<Span<'s>>>,
}

impl<F: Fn(Threshold) -> bool> Scale<'_, F> {
    /// Draws the labels from left to right, and the window's label at the right end. Labels that collide move along
    /// their mark, then drop the name, then disappear; the window drops its name before another label disappears.
    pub(super) fn draw(&self, marks: &[ThresholdMark], buf: &mut Buffer) {
        // The flush mark is too close to the compaction mark for a label; the legend mentions it.
        let labelled = |mark: &&ThresholdMark| mark.tokens > 0 && mark.threshold != Threshold::Flush;
        let mut labels: Vec<Label> =
            marks.iter().filter(labelled).flat_map(|mark| self.labels(mark)).collect();
        labels.sort_by_key(|label| label.at);
        let at_end = |label: &Label| label.at + 1 >= self.columns.1;
        let last = labels.split_off(labels.iter().position(at_end).unwrap_or(labels.len()));
        let long = self.arrange(&labels, &last, 0);
        let placed = if long.len() < labels.len() + last.len() {
            let short = self.arrange(&labels, &last, 1);
            if short.len() > long.len() { short } else { long }
        } else {
            long
        };
        if self.zero && placed.iter().all(|(x, _)| *x > self.start + 1) {
            put(buf, (self.start, self.y), self.columns.1, "0", self.theme.style(Role::Muted));
        }
        for (x, form) in placed {
            put_spans(buf, (x, self.y), self.columns.1 + 1, form);
        }
    }

    /// Places the labels at the end of the bar from the right, the others from the left.
    fn arrange<'l, 's>(
        &self,
        labels: &'l [Label<'s>],
        last: &'l [Label<'s>],
        short: usize,
    ) -> Vec<(u16, &'l [Span<'s>])> {
        let mut placed = Vec::new();
        let mut right = self.columns.1 + 1;
        for label in last.iter().rev() {
            let forms = label.forms.get(short..).filter(|forms| !forms.is_empty()).unwrap_or(&label.forms);
            if let Some(form) = forms.iter().find(|form| self.start + spans_width(form) <= right) {
                let x = right - spans_width(form);
                placed.push((x, form.as_slice()));
                right = x.saturating_sub(1);
            }
        }
        let mut left = self.start;
        for label in labels {
            if let Some((x, form)) = place(label, left, right) {
                placed.push((x, form));
                left = x + spans_width(form) + 2;
            }
        }
        placed
    }

    fn column(&self, tokens: u64) -> u16 {
        let width = f64::from(self.columns.1 - self.columns.0);
        self.columns.0 + ((tokens as f64 / self.full as f64).min(1.0) * width) as u16
    }

    fn labels<'s>(&self, mark: &ThresholdMark) -> Vec<Label<'s>> {
        let muted = self.theme.style(Role::Muted);
        let value_style = match mark.threshold {
            _ if mark.configured_tokens.is_some() => self.theme.style(Role::Plan),
            Threshold::Compact => self.theme.style(Role::Warn),
            Threshold::Window if mark.tokens < self.full => self.theme.style(Role::Danger),
            _ => self.theme.style(Role::Text),
        };
        let value = value(mark, value_style);
        let named =
            |name: &str, value: &Span<'s>| vec![Span::styled(format!("{name} "), muted), value.clone()];
        let mut forms = vec![vec![value.clone()]];
        if (self.is_named)(mark.threshold) {
            let label = mark.threshold.label();
            forms.insert(0, named(label, &value));
            forms.splice(0..0, mark.threshold.long_label().map(|label| named(label, &value)));
        }
        let mut labels = vec![Label { at: self.column(mark.tokens), forms }];
        if let Some(was) = mark.configured_tokens {
            let old = Span::styled(format_short_tokens(was, mark.threshold.is_exact()), muted);
            labels.push(Label { at: self.column(was), forms: vec![named("was", &old)] });
        }
        labels
    }
}

/// Places a label so that it ends at its mark, or as near as possible; it must touch the mark.
fn place<'l, 's>(label: &'l Label<'s>, left: u16, right: u16) -> Option<(u16, &'l [Span<'s>])> {
    label.forms.iter().find_map(|form| {
        let width = spans_width(form);
        let wanted = (label.at + 1).saturating_sub(width).max(left);
        let x = wanted.min(right.saturating_sub(width));
        let touches = (x..=x + width).contains(&label.at);
        (x >= left && touches).then_some((x, form.as_slice()))
    })
}

fn value<'s>(mark: &ThresholdMark, style: Style) -> Span<'s> {
    Span::styled(format_short_tokens(mark.tokens, mark.threshold.is_exact()), style)
}
