//! The cut of one text: its head up to a line end near the limit, and a suffix (pruning 6.3, 6.4).

use crate::gateway::ruleset::Notice;
use crate::js::JsString;
use crate::policy::features::TextMetrics;
use crate::policy::truncate::limits::MIN_KEEP_CHARS;
use crate::policy::truncate::suffix::{SUFFIX, Suffix};
use crate::units::Chars;

/// The head ends at a line end beyond this share of the chars it may keep (pruning 6.4).
const NEWLINE_SHARE: f64 = 0.8;

#[derive(Debug, Clone, PartialEq)]
pub struct CutOptions {
    pub suffix: JsString,
    /// Chars that every text keeps at any budget; may be negative or a fraction.
    pub min_keep_chars: Chars,
}

impl Default for CutOptions {
    fn default() -> Self {
        Self { suffix: SUFFIX.into(), min_keep_chars: MIN_KEEP_CHARS }
    }
}

impl CutOptions {
    /// Returns the suffix if a caller changed it, otherwise the notice of a version that counts the missing chars.
    pub(super) fn suffix_or(&self, notice: Notice) -> Suffix<'_> {
        if self.suffix == SUFFIX { Suffix::Standard(notice) } else { Suffix::Fixed(&self.suffix) }
    }
}

/// Cuts a text of more than `budget` chars and adds the suffix; `None` if it fits (pruning 6.4).
///
/// The head ends at the last line feed within the chars it may keep, if that is beyond 0.8 of them; the line feed is
/// dropped. If the minimum is more than the text, the suffix makes it longer. A surrogate pair may be split.
pub fn truncated_text(text: &JsString, budget: Chars, cut: &CutOptions) -> Option<JsString> {
    let end = cut_end(text.len(), budget, cut, |at| text.last_index_of_lf(at))?;
    let mut new = text.slice(0, end);
    new.push(&cut.suffix);
    Some(new)
}

/// [`truncated_text`] for the metrics of a text.
pub(super) fn truncated_metrics(text: &TextMetrics, budget: Chars, cut: &CutOptions) -> Option<TextMetrics> {
    let end = cut_end(text.chars, budget, cut, |at| text.last_line_feed(at))?;
    Some(text.cut(end, &TextMetrics::of(&cut.suffix)))
}

/// Returns the number of chars that stay; `None` if the text fits. `last_line_feed` returns the last one at or before a
/// position.
fn cut_end(
    chars: usize,
    budget: Chars,
    cut: &CutOptions,
    last_line_feed: impl FnOnce(usize) -> Option<usize>,
) -> Option<usize> {
    if Chars::from_len(chars) <= budget {
        return None;
    }
    let keep = js_max(cut.min_keep_chars, budget - Chars::from_len(cut.suffix.len()));
    // Below 0 only index 0 is searched, with NaN the whole text.
    let at_most = if keep.is_nan() { usize::MAX } else { keep.whole() as usize };
    let newline = last_line_feed(at_most).map_or(Chars(-1.0), Chars::from_len);
    Some(js_index(chars, if newline > keep * NEWLINE_SHARE { newline } else { keep }))
}

/// Returns the greater number; NaN if one is NaN, unlike `f64::max`.
pub(crate) fn js_max(a: Chars, b: Chars) -> Chars {
    if a.is_nan() || b.is_nan() { Chars::NAN } else { a.max(b) }
}

/// Returns the index of a cut as JavaScript's `slice` reads it: without its fraction, and from the end if negative.
fn js_index(chars: usize, cut: Chars) -> usize {
    let whole = cut.get().trunc();
    if whole < 0.0 { (chars as f64 + whole) as usize } else { whole as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts with a suffix of one char, so that `keep` chars may stay.
    fn cut(text: &str, keep: f64) -> Option<String> {
        let cut = CutOptions { suffix: "!".into(), min_keep_chars: Chars(f64::NEG_INFINITY) };
        truncated_text(&text.into(), Chars(keep + 1.0), &cut).map(|text| text.to_string_lossy())
    }

    /// Returns the chars kept of a text of 40 with a line feed at `newline`.
    fn kept(newline: usize, keep: f64) -> usize {
        let text = format!("{}\n{}", "x".repeat(newline), "x".repeat(39 - newline));
        cut(&text, keep).expect("it is over the budget").len() - 1
    }

    #[test]
    fn the_suffix_has_217_chars() {
        assert_eq!(CutOptions::default().suffix.len(), 217);
    }

    #[test]
    fn a_text_is_cut_at_a_line_end_beyond_eight_tenths() {
        assert_eq!([8, 9, 10, 11].map(|newline| kept(newline, 10.0)), [10, 9, 10, 10]);
        assert_eq!([12, 13].map(|newline| kept(newline, 15.0)), [15, 13]);
    }

    #[test]
    fn a_text_of_exactly_the_budget_is_not_cut() {
        assert_eq!(cut("12345", 4.0), None);
        assert_eq!(cut("123456", 4.0).as_deref(), Some("1234!"));
    }

    #[test]
    fn the_minimum_to_keep_may_make_a_text_longer() {
        let cut = CutOptions { suffix: "[cut]".into(), min_keep_chars: Chars(50.0) };
        assert_eq!(truncated_text(&"1234567".into(), Chars(6.0), &cut).unwrap(), "1234567[cut]");
    }

    #[test]
    fn a_negative_keep_counts_from_the_end_and_a_fraction_is_dropped() {
        assert_eq!(cut("12345", -1.0).as_deref(), Some("1234!"));
        assert_eq!(cut("12345", -0.5).as_deref(), Some("!"));
        assert_eq!(cut("123456", 2.9).as_deref(), Some("12!"));
    }

    #[test]
    fn below_0_a_missing_line_feed_counts_as_index_minus_1() {
        assert_eq!(cut("12345", -9.0).as_deref(), Some("1234!"));
        assert_eq!(cut("\n2345", -9.0).as_deref(), Some("!"));
        assert_eq!(cut("1\n345", -9.0).as_deref(), Some("1\n34!"));
    }

    #[test]
    fn a_nan_budget_leaves_only_the_suffix() {
        assert_eq!(cut("a\nb", f64::NAN).as_deref(), Some("!"));
    }

    #[test]
    fn a_surrogate_pair_may_be_split() {
        let cut = CutOptions { suffix: JsString::new(), min_keep_chars: Chars(0.0) };
        assert_eq!(
            truncated_text(&"😀😀".into(), Chars(3.0), &cut).unwrap().units(),
            [0xD83D, 0xDE00, 0xD83D]
        );
    }
}
