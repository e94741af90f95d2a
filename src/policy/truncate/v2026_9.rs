//! Truncation of tool results in gateways since 2026.8.1: a limit that depends on the size of the window (so since
//! 2026.5.28), head and tail of a text, one budget for all results (pruning 8.3). Lengths are weighted chars (pruning
//! 8.5).

use std::borrow::Cow;

use crate::context::tokens::weighted::{GUARD_WEIGHT, NORMAL_WEIGHT, weighted_length};
use crate::gateway::ruleset::Notice;
use crate::js::{JsString, Value};
use crate::policy::truncate::replaced_content::{with_content, with_text as with_block_text};
use crate::policy::truncate::weighted_slice::{head, last_line_feed, tail};
use crate::units::Chars;

pub use crate::policy::truncate::message::{UNKNOWN_WINDOW_CHARS, result_chars_cap};

/// Chars that results keep until the model has answered them.
pub const FRESH_MIN_KEEP: Chars = Chars(2000.0);
/// Units at the end of a text that are searched for an important word.
const TAIL_SCAN_UNITS: usize = 2000;
/// Largest tail in chars; the next constant is its share of the budget.
const MAX_TAIL_CHARS: Chars = Chars(4000.0);
const TAIL_SHARE: f64 = 0.3;
/// Separates head and tail.
pub(super) const MIDDLE_OMITTED: &str = "\n\n⚠️ [... middle content omitted — showing head and tail ...]\n\n";
/// Replaces a result that does not fit the budget of all results.
pub(super) const ELIDED: &str =
    "[tool result elided: aggregate tool-result budget exceeded; rerun the command if the output is needed]";
/// Words that make the end of a text worth keeping.
const IMPORTANT_WORDS: [&str; 15] = [
    "error",
    "exception",
    "failed",
    "fatal",
    "traceback",
    "panic",
    "stack trace",
    "errno",
    "exit code",
    "total",
    "summary",
    "result",
    "complete",
    "finished",
    "done",
];

#[derive(Debug, Clone, Copy)]
pub struct WeightedCutOptions<'a> {
    /// Weight of a plain char.
    pub unit: f64,
    pub suffix: Suffix<'a>,
}

impl WeightedCutOptions<'static> {
    /// For prompts and for the recovery.
    pub const NORMAL: Self = Self { unit: NORMAL_WEIGHT, suffix: Suffix::Standard(Notice::CountAndAdvice) };
    /// For the guard of every call.
    pub const GUARD: Self = Self { unit: GUARD_WEIGHT, ..Self::NORMAL };
}

impl WeightedCutOptions<'_> {
    fn length(self, text: &JsString) -> Chars {
        weighted_length(text, self.unit)
    }

    /// Returns the suffix for `lost` missing units.
    fn notice(&self, lost: usize) -> Cow<'_, JsString> {
        self.suffix.text(Chars::from_len(lost.max(1)))
    }
}

/// Cuts a text to a weighted length and adds the notice; `None` if it fits. The tail stays too if it looks important
/// and there is room. No surrogate pair is split.
pub fn truncated_text(
    text: &JsString,
    max: Chars,
    min_keep: Chars,
    manner: WeightedCutOptions<'_>,
) -> Option<JsString> {
    let unit = manner.unit;
    if Chars::from_len(text.len()) <= max && manner.length(text) <= max {
        return None;
    }
    let min_keep = bounded_min_keep(max, min_keep, manner);
    // The gateway sizes the notice by the units that a cut without notice would lose.
    let lost = text.len() - head(text, max, unit).len();
    let room = (max - manner.length(&manner.notice(lost))).max(min_keep);
    let mut kept = retained_part(text, room, min_keep, unit);
    loop {
        let end = manner.notice(text.len().saturating_sub(kept.len()));
        let end_length = manner.length(&end);
        if end_length >= max {
            return Some(head(&manner.notice(text.len()), max, unit));
        }
        let next = head(&kept, max - end_length, unit);
        let is_done = next.len() == kept.len();
        kept = next;
        if is_done {
            kept.push(&end);
            return Some(if manner.length(&kept) <= max { kept } else { head(&kept, max, unit) });
        }
    }
}

/// Limits `min_keep` to the length that the shortest notice leaves.
fn bounded_min_keep(max: Chars, min_keep: Chars, manner: WeightedCutOptions<'_>) -> Chars {
    min_keep.min((max - manner.length(&manner.notice(1))).max(Chars::ZERO)).max(Chars::ZERO)
}

/// Returns head, marker and tail, or only the head.
fn retained_part(text: &JsString, budget: Chars, min_keep: Chars, unit: f64) -> JsString {
    let middle = JsString::from(MIDDLE_OMITTED);
    let tail_budget = (budget * TAIL_SHARE).floor().min(MAX_TAIL_CHARS);
    let head_budget = budget - tail_budget - weighted_length(&middle, unit);
    if budget > min_keep * 2.0 && head_budget > min_keep && has_important_tail(text) {
        let mut first = head_to_line(text, head_budget, unit);
        let last = tail_from_line(text, tail_budget, unit);
        if first.len() + last.len() < text.len() {
            first.push(&middle);
            first.push(&last);
            return first;
        }
    }
    head_to_line(text, budget, unit)
}

/// Returns the head of a text, up to its last line end if that is beyond 0.8 of it.
fn head_to_line(text: &JsString, budget: Chars, unit: f64) -> JsString {
    let cut = head(text, budget, unit);
    match last_line_feed(&cut) {
        Some(at) if at as f64 > cut.len() as f64 * 0.8 => cut.slice(0, at),
        _ => cut,
    }
}

/// Returns the tail of a text, from after its first line end if that is within the first 0.2 of it.
fn tail_from_line(text: &JsString, budget: Chars, unit: f64) -> JsString {
    let cut = tail(text, budget, unit);
    match cut.units().iter().position(|unit| *unit == 0x0A) {
        Some(at) if (at as f64) < cut.len() as f64 * 0.2 => cut.slice(at + 1, cut.len()),
        _ => cut,
    }
}

/// Whether the end of a text has a word about failure or outcome, or closes an object.
pub(super) fn has_important_tail(text: &JsString) -> bool {
    let end = text.slice(text.len().saturating_sub(TAIL_SCAN_UNITS), text.len());
    if end.trim().units().last() == Some(&u16::from(b'}')) {
        return true;
    }
    let end = end.to_string_lossy().to_ascii_lowercase();
    IMPORTANT_WORDS.iter().any(|word| has_word(&end, word))
}

/// Whether a text has `word` without an ASCII letter, digit or underscore on either side.
fn has_word(text: &str, word: &str) -> bool {
    let joins = |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric() || char == '_');
    text.match_indices(word).any(|(at, found)| {
        !joins(text[..at].chars().next_back()) && !joins(text[at + found.len()..].chars().next())
    })
}

/// Returns the text of a `text` or `toolResult` block, if it is a string.
fn block_text(block: &Value) -> Option<&JsString> {
    let counts = block.get("type").is_some_and(|kind| kind.str_is("text") || kind.str_is("toolResult"));
    block.get("text")?.as_str().filter(|_| counts)
}

fn blocks(message: &Value) -> &[Value] {
    let is_result = message.get("role").is_some_and(|role| role.str_is("toolResult"));
    message.get("content").and_then(Value::as_array).filter(|_| is_result).unwrap_or_default()
}

/// Returns the weighted chars of a tool result's texts; 0 for every other message.
pub fn result_chars(message: &Value, unit: f64) -> Chars {
    blocks(message).iter().filter_map(block_text).map(|text| weighted_length(text, unit)).sum()
}

/// Returns the copy of a tool result within a limit; `None` if it fits. Blocks of at most `min_keep` chars stay whole
/// if they and the notices of the others fit; the others share the rest in proportion to their lengths.
pub fn truncated_result(
    message: &Value,
    max: Chars,
    min_keep: Chars,
    manner: WeightedCutOptions<'_>,
) -> Option<Value> {
    let total = result_chars(message, manner.unit);
    if total <= max {
        return None;
    }
    let min_keep = bounded_min_keep(max, min_keep, manner);
    let shares: Vec<BlockShare> =
        blocks(message).iter().map(|block| BlockShare::of(block, min_keep, manner)).collect();
    let sum = |of: &dyn Fn(&BlockShare) -> Chars| shares.iter().map(of).sum::<Chars>();
    let small = sum(&|share| if share.is_small { share.chars } else { Chars::ZERO });
    let notices_of_large = sum(&|share| if share.is_small { Chars::ZERO } else { share.notice });
    let keeps_small = small + notices_of_large <= max;
    let room = if keeps_small { max - small } else { max };
    let notices = if keeps_small { notices_of_large } else { sum(&|share| share.notice) };
    let to_share = if keeps_small { total - small } else { total };
    let scale = if notices > Chars::ZERO { (room / notices).min(1.0) } else { 0.0 };
    let rest = (room - notices).max(Chars::ZERO);
    let new = blocks(message).iter().zip(&shares).map(|(block, share)| {
        let Some(text) = block_text(block) else { return block.clone() };
        if keeps_small && share.is_small {
            return block.clone();
        }
        let part = if to_share > Chars::ZERO { share.chars / to_share } else { 0.0 };
        let budget = (share.notice * scale + rest * part).floor();
        with_block_text(block, truncated_text(text, budget, (min_keep * part).floor(), manner))
    });
    Some(with_content(message, new.collect()))
}

struct BlockShare {
    /// 0 for a block without text.
    chars: Chars,
    /// Chars of the longest notice for this block.
    notice: Chars,
    /// Short enough to stay whole, if possible.
    is_small: bool,
}

impl BlockShare {
    fn of(block: &Value, min_keep: Chars, manner: WeightedCutOptions<'_>) -> Self {
        let Some(text) = block_text(block).filter(|text| !text.is_empty()) else {
            return Self { chars: Chars::ZERO, notice: Chars::ZERO, is_small: false };
        };
        Self {
            chars: manner.length(text),
            notice: manner.length(&manner.notice(text.len())),
            is_small: Chars::from_len(text.len()) <= min_keep
                && weighted_length(text, NORMAL_WEIGHT) <= min_keep,
        }
    }
}

// The text after a cut text, which says that a part is missing; every version of the cut adds one (pruning 6.3,
// releases R32).

/// Suffix of a cut text; 217 chars (pruning 6.3).
pub(super) const SUFFIX: &str = "\n\n⚠️ [Content truncated — original was too large for the model's context window. The content above is a partial view. If you need more, request specific sections or use offset/limit parameters to read smaller chunks.]";

impl Notice {
    /// Returns the notice for `lost` missing units.
    pub(in crate::policy) fn text(self, lost: Chars) -> JsString {
        let lost = crate::js::number_text(lost.max(Chars(1.0)).get());
        match self {
            Self::Partial => SUFFIX.into(),
            Self::Count => format!("[... {lost} more characters truncated]").as_str().into(),
            Self::CountAndAdvice => {
                format!("[... {lost} more characters truncated; rerun with narrower args if needed]")
                    .as_str()
                    .into()
            }
        }
    }
}

/// Text after a cut text.
#[derive(Debug, Clone, Copy)]
pub enum Suffix<'a> {
    /// Built from the number of lost units.
    Generated(fn(Chars) -> JsString),
    /// The version's notice.
    Standard(Notice),
    /// Fixed text, for tests and for the guard.
    Fixed(&'a JsString),
}

impl<'a> Suffix<'a> {
    /// Returns the suffix for `lost` missing units.
    pub(super) fn text(self, lost: Chars) -> Cow<'a, JsString> {
        match self {
            Self::Generated(text) => Cow::Owned(text(lost)),
            Self::Standard(notice) => Cow::Owned(notice.text(lost)),
            Self::Fixed(text) => Cow::Borrowed(text),
        }
    }

    pub(super) fn len(self, lost: Chars) -> Chars {
        Chars::from_len(self.text(lost).len())
    }
}

#[cfg(test)]
#[path = "v2026_9_tests.rs"]
mod tests;
