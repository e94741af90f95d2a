//! Cuts of tool results in gateways from 2026.3.7 to 7.35: the head of a text stays, and its tail if that looks
//! important; a notice follows (releases R32, R34). Lengths are UTF-16 units.

use crate::gateway::ruleset::HeadTailCut;
use crate::js::{JsString, Value};
use crate::policy::truncate::replaced_content::{with_content, with_text};
use crate::policy::truncate::v2026_9::{MIDDLE_OMITTED, Suffix, has_important_tail};
use crate::policy::truncate::weighted_slice::splits_pair;
use crate::units::Chars;

/// The head ends at a line end beyond this share of its length.
const HEAD_SHARE: f64 = 0.8;
/// The tail starts after a line end within this share of its length.
const TAIL_SHARE: f64 = 0.2;
/// Share of the budget for a tail; the next constant is its largest length, in units.
const TAIL_BUDGET_SHARE: f64 = 0.3;
const MAX_TAIL_UNITS: Chars = Chars(4000.0);

/// Limits `min_keep` to the units that the budget leaves next to the suffix for one lost unit.
fn bounded_min_keep(budget: Chars, min_keep: Chars, suffix: Suffix<'_>) -> Chars {
    min_keep.min((budget - suffix.len(Chars(1.0))).max(Chars::ZERO)).max(Chars::ZERO)
}

impl HeadTailCut {
    /// Cuts a text to a budget and adds the suffix; `None` if the text fits.
    pub fn cut(
        self,
        text: &JsString,
        budget: Chars,
        min_keep: Chars,
        suffix: Suffix<'_>,
    ) -> Option<JsString> {
        let length = Chars::from_len(text.len());
        if length <= budget {
            return None;
        }
        let min_keep = if self.bounded { bounded_min_keep(budget, min_keep, suffix) } else { min_keep };
        let room = (budget - suffix.len(length - budget)).max(min_keep);
        let mut kept = self.retained_text(text, room, min_keep);
        loop {
            let end = suffix.text(length - Chars::from_len(kept.len()));
            let over = Chars::from_len(kept.len()) + Chars::from_len(end.len()) - budget;
            if !self.bounded || over <= Chars::ZERO {
                kept.push(&end);
                return Some(kept);
            }
            if kept.is_empty() {
                return Some(self.head(&end, budget));
            }
            kept = self.head(&kept, Chars::from_len(kept.len()) - over.max(Chars(1.0)));
        }
    }

    /// Returns head, marker and tail, or only the head.
    fn retained_text(self, text: &JsString, room: Chars, min_keep: Chars) -> JsString {
        let tail = (room * TAIL_BUDGET_SHARE).floor().min(MAX_TAIL_UNITS);
        let head = room - tail - Chars::from_len(JsString::from(MIDDLE_OMITTED).len());
        if !(room > min_keep * 2.0 && head > min_keep && has_important_tail(text)) {
            return self.head(text, line_end(text, room));
        }
        let mut kept = self.head(text, line_end(text, head));
        kept.push_str(MIDDLE_OMITTED);
        kept.push(&self.tail(text, tail));
        kept
    }

    fn head(self, text: &JsString, units: Chars) -> JsString {
        let cut = units.whole() as usize;
        let cut = if self.whole_pairs && splits_pair(text, cut) { cut - 1 } else { cut };
        text.slice(0, cut)
    }

    /// Returns the last `units` units, from after a line end near their start.
    fn tail(self, text: &JsString, units: Chars) -> JsString {
        let length = text.len();
        let start = length.saturating_sub(units.whole() as usize);
        let line = text.units()[start..].iter().position(|unit| *unit == 0x0A);
        let near = line.filter(|at| ((start + at) as f64) < start as f64 + (units * TAIL_SHARE).get());
        let start = near.map_or(start, |at| start + at + 1);
        let start = if self.whole_pairs && splits_pair(text, start) { start + 1 } else { start };
        text.slice(start, length)
    }

    /// Returns the copy of a tool result with each text cut to its share of the limit; `None` if it fits.
    pub fn cut_message(
        self,
        message: &Value,
        limit: Chars,
        min_keep: Chars,
        suffix: Suffix<'_>,
    ) -> Option<Value> {
        let blocks = message.get("content")?.as_array()?;
        let total = self.chars(message);
        if total <= limit {
            return None;
        }
        let min_keep = if self.bounded { bounded_min_keep(limit, min_keep, suffix) } else { min_keep };
        let new = blocks.iter().map(|block| {
            let Some(text) = self.text(block) else { return block.clone() };
            let share = (limit * (Chars::from_len(text.len()) / total)).floor();
            let least = min_keep + suffix.len(Chars::from_len(text.len()) - share);
            let whole = crate::policy::truncate::js_max(least, share);
            let budget = if self.bounded { whole.min(limit).max(Chars(1.0)) } else { whole };
            with_text(block, self.cut(text, budget, min_keep, suffix))
        });
        Some(with_content(message, new.collect()))
    }

    /// Returns the text of a block whose type counts.
    pub(super) fn text(self, block: &Value) -> Option<&JsString> {
        let kind = block.get("type")?;
        let counts = kind.str_is("text") || self.result_blocks && kind.str_is("toolResult");
        block.get("text")?.as_str().filter(|_| counts)
    }

    /// Returns the units of a tool result's texts; 0 for every other message, and for a content that is not a list.
    pub fn chars(self, message: &Value) -> Chars {
        let is_result = message.get("role").is_some_and(|role| role.str_is("toolResult"));
        let blocks = message.get("content").and_then(Value::as_array).filter(|_| is_result);
        blocks
            .unwrap_or_default()
            .iter()
            .filter_map(|block| self.text(block))
            .map(|text| Chars::from_len(text.len()))
            .sum()
    }
}

/// Returns the end of a head of `units` units: its last line end if that is beyond [`HEAD_SHARE`], otherwise `units`.
fn line_end(text: &JsString, units: Chars) -> Chars {
    let line = text.last_index_of_lf(units.whole() as usize).map(Chars::from_len);
    line.filter(|at| *at > units * HEAD_SHARE).unwrap_or(units)
}
