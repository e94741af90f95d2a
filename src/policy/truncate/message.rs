//! Truncation of one tool result: its text blocks share the limit in proportion to their lengths (pruning 6.5, 6.6,
//! 6.8).

use crate::gateway::ruleset::{Notice, Truncation};
use crate::js::{JsString, Value};
use crate::policy::features::{ContentBlock, ResultContent, TextMetrics};
use crate::policy::truncate::v2026_9::{SUFFIX, Suffix, WeightedCutOptions, truncated_result};
use crate::store::entry::{MessageSize, Role};
use crate::units::{Chars, Tokens};

/// Returns the chars of the text blocks that hold strings, without joiners; 0 for every message that is not a tool result,
/// and for a content that is not a list (pruning 6.5).
pub fn result_chars(message: &Value) -> Chars {
    let blocks = message.get("content").and_then(Value::as_array).filter(|_| is_result(message));
    blocks.unwrap_or_default().iter().filter_map(block_text).map(|text| Chars::from_len(text.len())).sum()
}

/// [`result_chars`] from sizes; `None` if a text is not a string, because sizes do not count it.
pub fn sized_result_chars(size: &MessageSize) -> Option<Chars> {
    match size.role {
        Role::ToolResult if size.needs_body => None,
        Role::ToolResult => Some(size.joined_chars - Chars::from(size.text_blocks.saturating_sub(1))),
        _ => Some(Chars::ZERO),
    }
}

/// Whether a message is a tool result over the limit; true for every tool result if the limit is negative (pruning
/// 6.8).
pub fn is_oversized(message: &Value, max_chars: Chars) -> bool {
    is_result(message) && result_chars(message) > max_chars
}

/// Returns the copy of a tool result with each text block cut to its share of the limit; `None` if the content is no
/// list or fits (pruning 6.6).
///
/// No block is cut below `min_keep_chars` plus the suffix, so that all blocks together may exceed the limit. A message
/// over the limit is a copy even if no block was cut. Other keys and blocks stay unchanged.
pub fn truncated_message(message: &Value, max_chars: Chars, cut: &CutOptions) -> Option<Value> {
    truncated_message_by(Truncation::Head { floor_has_suffix: true }, message, max_chars, cut)
}

/// [`truncated_message`] in a version: the one before the reference does not add the suffix to the minimum of a block;
/// later ones keep tails and have their own suffix (pruning 8, row "Truncation").
pub fn truncated_message_by(
    truncation: Truncation,
    message: &Value,
    max_chars: Chars,
    cut: &CutOptions,
) -> Option<Value> {
    match truncation {
        Truncation::Head { .. } => {
            truncated_with_min_budget(message, max_chars, cut, min_budget(truncation, cut))
        }
        Truncation::HeadAndTail => {
            let manner = WeightedCutOptions {
                suffix: cut.suffix_or(Notice::CountAndAdvice),
                ..WeightedCutOptions::NORMAL
            };
            truncated_result(message, max_chars, cut.min_keep_chars, manner)
        }
        Truncation::Ends(ends) => {
            ends.cut_message(message, max_chars, cut.min_keep_chars, cut.suffix_or(ends.notice))
        }
        Truncation::None => None,
    }
}

/// Returns the chars below which no block's share of the limit falls (pruning 6.6; 8, row "Truncation").
pub fn min_budget(truncation: Truncation, cut: &CutOptions) -> Chars {
    match truncation {
        Truncation::Head { floor_has_suffix: true } => cut.min_keep_chars + Chars::from_len(cut.suffix.len()),
        _ => cut.min_keep_chars,
    }
}

/// Cuts each text block to its share of the limit, but to no budget below `least`.
fn truncated_with_min_budget(
    message: &Value,
    max_chars: Chars,
    cut: &CutOptions,
    least: Chars,
) -> Option<Value> {
    let blocks = message.get("content")?.as_array()?;
    let total = result_chars(message);
    if total <= max_chars {
        return None;
    }
    let budget = |text: &JsString| js_max(least, (max_chars * (Chars::from_len(text.len()) / total)).floor());
    let new = blocks.iter().map(|block| truncated_block(block, budget, cut)).collect();
    let mut copy = message.as_object()?.clone();
    copy.set("content", Value::Array(new));
    Some(Value::Object(copy))
}

fn truncated_block(block: &Value, budget: impl Fn(&JsString) -> Chars, cut: &CutOptions) -> Value {
    let mut copy = block.clone();
    let new = block_text(block).and_then(|text| truncated_text(text, budget(text), cut));
    if let (Some(new), Value::Object(object)) = (new, &mut copy) {
        object.set("text", Value::String(new));
    }
    copy
}

/// [`truncated_message_by`] for features. `None` for rules that may keep a tail: those need the body.
pub(crate) fn truncated_content(
    truncation: Truncation,
    content: &ResultContent,
    max_chars: Chars,
    cut: &CutOptions,
) -> Option<ResultContent> {
    let (ResultContent::Blocks(blocks), Truncation::Head { .. }) = (content, truncation) else { return None };
    let total = content.texts().fold(Chars::ZERO, |sum, text| sum + Chars::from_len(text.chars));
    if total <= max_chars {
        return None;
    }
    let least = min_budget(truncation, cut);
    let text = |text: &TextMetrics| {
        let budget = js_max(least, (max_chars * (Chars::from_len(text.chars) / total)).floor());
        truncated_metrics(text, budget, cut).unwrap_or_else(|| text.clone())
    };
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text(known) => ContentBlock::Text(text(known)),
        other => other.clone(),
    };
    Some(ResultContent::Blocks(blocks.iter().map(block).collect()))
}

fn is_result(message: &Value) -> bool {
    message.get("role").is_some_and(|role| role.str_is("toolResult"))
}

/// Returns the text of a text block, if it is a string.
fn block_text(block: &Value) -> Option<&JsString> {
    block.get("text")?.as_str().filter(|_| block.get("type").is_some_and(|kind| kind.str_is("text")))
}

// The cut of one text: its head up to a line end near the limit, and a suffix (pruning 6.3, 6.4).

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
fn truncated_metrics(text: &TextMetrics, budget: Chars, cut: &CutOptions) -> Option<TextMetrics> {
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

// The built-in limits of one tool result. The settings and every version of the cut use them, so this file knows
// neither (pruning 6.1, 6.2, 8.3).

/// Share of the window that one tool result may take (pruning 6.1).
pub const WINDOW_SHARE: f64 = 0.3;
/// Chars that one tool result may have under any window (pruning 6.1).
pub const HARD_MAX_CHARS: Chars = Chars(400_000.0);
/// Chars that every cut text keeps at least (pruning 6.1).
pub const MIN_KEEP_CHARS: Chars = Chars(2000.0);
/// Chars per token of the limit (pruning 6.2).
pub(in crate::policy) const CHARS_PER_TOKEN: f64 = 4.0;
/// Limit of one result, in chars, if the window is unknown.
pub const UNKNOWN_WINDOW_CHARS: Chars = Chars(16_000.0);

/// Returns the largest limit of one result in chars, for a window in tokens.
pub fn result_chars_cap(tokens: Tokens) -> Chars {
    match tokens.get() {
        tokens if tokens.is_nan() => UNKNOWN_WINDOW_CHARS,
        ..100_000.0 => Chars(16_000.0),
        ..200_000.0 => Chars(32_000.0),
        _ => Chars(64_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js;
    use crate::store::scan::measure_message;

    fn result(blocks: &str) -> Value {
        js::parse(&format!(r#"{{"role":"toolResult","isError":false,"content":{blocks},"x":1}}"#)).unwrap()
    }

    fn texts(chars: &[usize]) -> Value {
        let block = |chars: &usize| format!(r#"{{"type":"text","text":"{}"}}"#, "x".repeat(*chars));
        result(&format!("[{}]", chars.iter().map(block).collect::<Vec<_>>().join(",")))
    }

    /// Returns the chars of each block after truncation.
    fn truncated(chars: &[usize], max_chars: f64) -> Option<Vec<usize>> {
        let new = truncated_message(&texts(chars), Chars(max_chars), &CutOptions::default())?;
        let blocks = new.get("content")?.as_array()?.iter();
        Some(blocks.map(|block| block.get("text").unwrap().as_str().unwrap().len()).collect())
    }

    #[test]
    fn blocks_share_the_limit_by_their_lengths() {
        assert_eq!(truncated(&[9000, 1000, 1], 5000.0), Some(vec![4499, 1000, 1]));
        assert_eq!(truncated(&[5000], 5000.0), None);
    }

    #[test]
    fn the_version_before_cuts_blocks_of_more_than_2000_chars_and_makes_them_longer() {
        let under = |ruleset: Ruleset| {
            let message = texts(&[2100; 10]);
            let by = ruleset.rules().truncation;
            let new = truncated_message_by(by, &message, Chars(5000.0), &CutOptions::default()).unwrap();
            result_chars(&new) / 10.0
        };
        assert_eq!((under(Ruleset::V2026_3_2), under(Ruleset::V2026_2_17)), (Chars(2100.0), Chars(2217.0)));
        assert!(under(Ruleset::V2026_9_6) <= Chars(500.0));
    }

    #[test]
    fn every_block_keeps_2217_chars_so_that_all_may_exceed_the_limit() {
        assert_eq!(truncated(&[3000; 10], 5000.0), Some(vec![2217; 10]));
    }

    #[test]
    fn a_message_over_the_limit_is_a_copy_even_when_no_block_is_cut() {
        assert_eq!(truncated(&[1000, 1000], 1500.0), Some(vec![1000, 1000]));
    }

    #[test]
    fn a_negative_limit_turns_empty_blocks_into_the_suffix() {
        assert_eq!(truncated(&[0], -4.0), Some(vec![217]));
        assert!(
            is_oversized(&result("\"text\""), Chars(-4.0)) && !is_oversized(&result("\"text\""), Chars(0.0))
        );
        assert_eq!(truncated_message(&result("\"text\""), Chars(-4.0), &CutOptions::default()), None);
    }

    #[test]
    fn other_blocks_are_unchanged_and_keys_keep_their_order() {
        let odd = result(
            r#"[null,5,{"type":"text","text":7},{"type":"image"},{"a":1,"text":"yyyy","type":"text","b":2}]"#,
        );
        let cut = CutOptions { suffix: "!".into(), min_keep_chars: Chars(0.0) };
        let new = truncated_message(&odd, Chars(2.0), &cut).unwrap();
        assert_eq!(
            js::stringify(&new),
            r#"{"role":"toolResult","isError":false,"content":[null,5,{"type":"text","text":7},{"type":"image"},{"a":1,"text":"y!","type":"text","b":2}],"x":1}"#
        );
    }

    #[test]
    fn sizes_give_the_same_length_as_the_text() {
        for message in [
            texts(&[5, 0, 7]),
            texts(&[]),
            result("\"text\""),
            result("null"),
            result(r#"[{"type":"image"}]"#),
        ] {
            assert_eq!(sized_result_chars(&measure_message(&message).size), Some(result_chars(&message)));
        }
        assert_eq!(sized_result_chars(&measure_message(&result(r#"[{"type":"text","text":7}]"#)).size), None);
    }
}

#[cfg(test)]
mod text_tests {
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
