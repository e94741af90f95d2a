//! Cuts of tool results in gateways from 2026.3.7 to 7.35: the head of a text stays, and its tail if that looks
//! important; a notice follows (releases R32, R34). Lengths are UTF-16 units.

use crate::gateway::ruleset::Ends;
use crate::js::{JsString, Value};
use crate::policy::truncate::replaced_content::{with_content, with_text};
use crate::policy::truncate::suffix::Suffix;
use crate::policy::truncate::v2026_9::{MIDDLE_OMITTED, has_important_tail};
use crate::policy::truncate::weighted_slice::splits_pair;

/// The head ends at a line end beyond this share of its length.
const HEAD_SHARE: f64 = 0.8;
/// The tail starts after a line end within this share of its length.
const TAIL_SHARE: f64 = 0.2;
/// Share of the budget for a tail; the next constant is its largest length, in units.
const TAIL_BUDGET_SHARE: f64 = 0.3;
const MAX_TAIL_UNITS: f64 = 4000.0;

/// Limits `min_keep` to the units that the budget leaves next to the suffix for one lost unit.
fn bounded_min_keep(budget: f64, min_keep: f64, suffix: Suffix<'_>) -> f64 {
    min_keep.min((budget - suffix.len(1.0)).max(0.0)).max(0.0)
}

impl Ends {
    /// Cuts a text to a budget and adds the suffix; `None` if the text fits.
    pub fn cut(self, text: &JsString, budget: f64, min_keep: f64, suffix: Suffix<'_>) -> Option<JsString> {
        let length = text.len() as f64;
        if length <= budget {
            return None;
        }
        let min_keep = if self.bounded { bounded_min_keep(budget, min_keep, suffix) } else { min_keep };
        let room = (budget - suffix.len(length - budget)).max(min_keep);
        let mut kept = self.retained_text(text, room, min_keep);
        loop {
            let end = suffix.text(length - kept.len() as f64);
            let over = kept.len() as f64 + end.len() as f64 - budget;
            if !self.bounded || over <= 0.0 {
                kept.push(&end);
                return Some(kept);
            }
            if kept.is_empty() {
                return Some(self.head(&end, budget));
            }
            kept = self.head(&kept, kept.len() as f64 - over.max(1.0));
        }
    }

    /// Returns head, marker and tail, or only the head.
    fn retained_text(self, text: &JsString, room: f64, min_keep: f64) -> JsString {
        let tail = (room * TAIL_BUDGET_SHARE).floor().min(MAX_TAIL_UNITS);
        let head = room - tail - JsString::from(MIDDLE_OMITTED).len() as f64;
        if !(room > 2.0 * min_keep && head > min_keep && has_important_tail(text)) {
            return self.head(text, line_end(text, room));
        }
        let mut kept = self.head(text, line_end(text, head));
        kept.push_str(MIDDLE_OMITTED);
        kept.push(&self.tail(text, tail));
        kept
    }

    fn head(self, text: &JsString, units: f64) -> JsString {
        let cut = units.max(0.0) as usize;
        let cut = if self.whole_pairs && splits_pair(text, cut) { cut - 1 } else { cut };
        text.slice(0, cut)
    }

    /// Returns the last `units` units, from after a line end near their start.
    fn tail(self, text: &JsString, units: f64) -> JsString {
        let length = text.len();
        let start = length.saturating_sub(units as usize);
        let line = text.units()[start..].iter().position(|unit| *unit == 0x0A);
        let near = line.filter(|at| ((start + at) as f64) < start as f64 + units * TAIL_SHARE);
        let start = near.map_or(start, |at| start + at + 1);
        let start = if self.whole_pairs && splits_pair(text, start) { start + 1 } else { start };
        text.slice(start, length)
    }

    /// Returns the copy of a tool result with each text cut to its share of the limit; `None` if it fits.
    pub fn cut_message(
        self,
        message: &Value,
        limit: f64,
        min_keep: f64,
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
            let share = (limit * (text.len() as f64 / total)).floor();
            let least = min_keep + suffix.len(text.len() as f64 - share);
            let whole = crate::policy::truncate::js_max(least, share);
            let budget = if self.bounded { whole.min(limit).max(1.0) } else { whole };
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
    pub fn chars(self, message: &Value) -> f64 {
        let is_result = message.get("role").is_some_and(|role| role.str_is("toolResult"));
        let blocks = message.get("content").and_then(Value::as_array).filter(|_| is_result);
        blocks
            .unwrap_or_default()
            .iter()
            .filter_map(|block| self.text(block))
            .map(|text| text.len() as f64)
            .sum()
    }
}

/// Returns the end of a head of `units` units: its last line end if that is beyond [`HEAD_SHARE`], otherwise `units`.
fn line_end(text: &JsString, units: f64) -> f64 {
    let line = text.last_index_of_lf(units.max(0.0) as usize).map(|at| at as f64);
    line.filter(|at| *at > units * HEAD_SHARE).unwrap_or(units)
}
