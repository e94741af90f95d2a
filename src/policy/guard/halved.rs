//! The texts that the guard makes from 2026.4.5 to 7.35: a result over its limit keeps half of that in units, as each unit
//! counts two; one that gives way to the budget of all is trimmed before it is left out (releases R42, R43).

use crate::gateway::ruleset::{Ends, Notice};
use crate::js::{JsString, Value};
use crate::policy::guard::estimate::GuardSize;
use crate::policy::guard::message::{joined_text, with_text};
use crate::policy::guard::text::{COMPACTED, NOTICE, cut_text};
use crate::policy::truncate::Suffix;

/// Follows a result that was trimmed for the budget of all.
const TRIMMED: &str = "\n[compacted: tool output trimmed to free context]";
/// Units that a trimmed result keeps at least, and its least budget.
const MIN_TRIMMED_UNITS: f64 = 96.0;
/// A result gives way down to this, as the guard counts it.
const MIN_COUNTED_CHARS: f64 = 192.0;
/// A line end is preferred when it stands beyond this share of what may stay.
const NEWLINE_SHARE: f64 = 0.7;

/// A result held to its limit; `notice` counts what is missing, where the version does that.
pub fn halved_message(message: &Value, single: f64, notice: Option<Notice>) -> Value {
    let text = joined_text(message.get("content"));
    let room = (single / 2.0).floor();
    let new = if text.is_empty() {
        empty_result_text(message, single, notice)
    } else if room <= 0.0 {
        notice.map_or_else(|| NOTICE.into(), |notice| notice.text(text.len() as f64))
    } else if text.len() as f64 <= room {
        text
    } else {
        notice.map_or_else(|| cut_text(&text, room), |notice| cut_with_count(&text, room, notice))
    };
    with_text(message, new)
}

/// What stands for a result without text.
fn empty_result_text(message: &Value, single: f64, notice: Option<Notice>) -> JsString {
    let counted = GuardSize::of(message).chars.value().unwrap_or(0.0);
    let lost = ((counted - single).max(1.0) / 2.0).floor();
    notice.map_or_else(|| NOTICE.into(), |notice| notice.text(lost))
}

/// A head with a notice behind it that counts what is missing; together they have room.
fn cut_with_count(text: &JsString, room: f64, notice: Notice) -> JsString {
    let length = text.len() as f64;
    let body = (0..4).fold(room, |body, _| (room - notice.text(length - body).len() as f64).max(0.0));
    let line = text.last_index_of_lf(body as usize).filter(|at| *at as f64 > body * NEWLINE_SHARE);
    let cut = line.unwrap_or(body as usize);
    let mut new = text.slice(0, cut);
    new.push(&notice.text((text.len() - cut) as f64));
    new
}

/// A result that gives way to the budget of all so far that it counts `most` at most; none where that is not less than
/// before, and a placeholder is to stand for it.
pub fn trimmed_message(message: &Value, ends: Ends, most: f64) -> Option<Value> {
    let text = joined_text(message.get("content"));
    let room = (most / 2.0).floor();
    if text.is_empty() || room <= COMPACTED.len() as f64 {
        return None;
    }
    let suffix = JsString::from(TRIMMED);
    let cut = ends.cut(&text, room.max(MIN_TRIMMED_UNITS), MIN_TRIMMED_UNITS, Suffix::Fixed(&suffix));
    let new = with_text(message, cut.unwrap_or(text));
    let counted = |message: &Value| GuardSize::of(message).chars.value().unwrap_or(f64::NAN);
    (counted(&new) < counted(message)).then_some(new)
}

/// What a result of so many counted chars may keep, where so many are still needed.
pub(super) fn max_retained_chars(counted: f64, needed: f64) -> f64 {
    (counted - needed).max(MIN_COUNTED_CHARS)
}
