//! Heads and tails of a text by weighted length, without splitting a surrogate pair (pruning 8, row "Surrogates at
//! cuts"; 8.5).

use crate::context::tokens::weighted::{is_uniform, weighted_units};
use crate::js::JsString;

/// Returns the longest head of at most this weighted length.
pub(in crate::policy) fn head(text: &JsString, max: f64, unit: f64) -> JsString {
    let cut = longest(text.len(), fits(text, max, unit, |units, count| &units[..count]));
    text.slice(0, if splits_pair(text, cut) { cut - 1 } else { cut })
}

/// Returns the longest tail of at most this weighted length.
pub(in crate::policy) fn tail(text: &JsString, max: f64, unit: f64) -> JsString {
    let all = text.len();
    let cut = all - longest(all, fits(text, max, unit, |units, count| &units[units.len() - count..]));
    text.slice(if splits_pair(text, cut) { cut + 1 } else { cut }, all)
}

/// Returns a test whether a part of `count` units is within a weighted length. Most texts are plain, so their units are
/// weighed by multiplication.
fn fits(
    text: &JsString,
    max: f64,
    unit: f64,
    part: impl for<'t> Fn(&'t [u16], usize) -> &'t [u16],
) -> impl Fn(usize) -> bool {
    let units = text.units();
    let is_plain = is_uniform(units);
    move |count| {
        let length = if is_plain { count as f64 * unit } else { weighted_units(part(units, count), unit) };
        length <= max
    }
}

pub(super) fn last_line_feed(text: &JsString) -> Option<usize> {
    text.last_index_of_lf(text.len())
}

/// Returns the greatest number of units that fits. Bisection works, because more units never weigh less, except for
/// half a pair.
fn longest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

/// Whether `at` is between the two halves of a surrogate pair.
pub(super) fn splits_pair(text: &JsString, at: usize) -> bool {
    let units = text.units();
    let is = |at: Option<usize>, from: u16| {
        at.and_then(|at| units.get(at)).is_some_and(|unit| (from..from + 0x400).contains(unit))
    };
    is(at.checked_sub(1), 0xD800) && is(Some(at), 0xDC00)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_tails_count_by_weight() {
        let text = JsString::from("ab你好cd");
        assert_eq!(head(&text, 6.0, 1.0), "ab你");
        assert_eq!(head(&text, 9.0, 1.0), "ab你");
        assert_eq!(tail(&text, 6.0, 1.0), "好cd");
        assert_eq!((head(&text, 0.0, 1.0), tail(&text, -1.0, 1.0)), (JsString::new(), JsString::new()));
        assert_eq!(head(&text, 1e9, 1.0), text);
    }

    #[test]
    fn half_a_pair_is_dropped() {
        let text = JsString::from("a😀b😀");
        assert_eq!(head(&text, 2.0, 1.0), "a");
        assert_eq!(head(&text, 3.0, 1.0), "a😀");
        assert_eq!(tail(&text, 1.0, 1.0), "");
        assert_eq!(tail(&text, 4.0, 1.0), "b😀");
    }
}
