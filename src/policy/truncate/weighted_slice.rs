//! Heads and tails of a text by weighted length, without splitting a surrogate pair (pruning 8, row "Surrogates at
//! cuts"; 8.5).

use crate::context::tokens::weighted::{CHUNK, is_uniform, surplus};
use crate::js::JsString;
use crate::units::Chars;

/// Returns the longest head of at most this weighted length.
pub(in crate::policy) fn head(text: &JsString, max: Chars, unit: f64) -> JsString {
    let mut length = WeightedLength::new(max, unit);
    for chunk in text.units().chunks(CHUNK) {
        if !length.take(chunk, chunk.iter(), |high, low| [high, low]) {
            break;
        }
    }
    let cut = length.count;
    text.slice(0, if splits_pair(text, cut) { cut - 1 } else { cut })
}

/// Returns the longest tail of at most this weighted length.
pub(in crate::policy) fn tail(text: &JsString, max: Chars, unit: f64) -> JsString {
    let mut length = WeightedLength::new(max, unit);
    for chunk in text.units().rchunks(CHUNK) {
        if !length.take(chunk, chunk.iter().rev(), |low, high| [high, low]) {
            break;
        }
    }
    let cut = text.len() - length.count;
    text.slice(if splits_pair(text, cut) { cut + 1 } else { cut }, text.len())
}

/// Counts the first units that are together within a weighted length. More units never weigh less, so the count ends at
/// the first that is too much.
struct WeightedLength {
    max: Chars,
    /// Weight of a plain unit.
    plain: f64,
    length: Chars,
    count: usize,
    /// The last half of a pair that is not complete.
    half: Option<u16>,
}

impl WeightedLength {
    fn new(max: Chars, plain: f64) -> Self {
        Self { max, plain, length: Chars::ZERO, count: 0, half: None }
    }

    /// Takes the next units, in the order of `units`; returns false if not all fit. `in_order` puts two neighbours in
    /// the order of the text.
    fn take<'t>(
        &mut self,
        chunk: &[u16],
        units: impl Iterator<Item = &'t u16>,
        in_order: impl Fn(u16, u16) -> [u16; 2],
    ) -> bool {
        let all = self.length + Chars::from_len(chunk.len()) * self.plain;
        if all <= self.max && is_uniform(chunk) {
            (self.length, self.half) = (all, None);
            self.count += chunk.len();
            return true;
        }
        for unit in units.copied() {
            let length =
                self.length + Chars(self.plain) + surplus(self.character(unit, &in_order), self.plain);
            if self.max.is_nan() || length > self.max {
                return false;
            }
            self.length = length;
            self.count += 1;
        }
        true
    }

    /// Returns the character that a unit completes; for any half of a pair that half itself. The first half weighs as a
    /// plain unit, the second has the rest of the character's weight.
    fn character(&mut self, unit: u16, in_order: impl Fn(u16, u16) -> [u16; 2]) -> u32 {
        let half = self.half.take();
        if char::from_u32(unit.into()).is_some() {
            return unit.into();
        }
        let pair = half.and_then(|half| char::decode_utf16(in_order(half, unit)).next()?.ok());
        self.half = Some(unit).filter(|_| pair.is_none());
        pair.map_or(unit.into(), u32::from)
    }
}

pub(super) fn last_line_feed(text: &JsString) -> Option<usize> {
    text.last_index_of_lf(text.len())
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
        assert_eq!(head(&text, Chars(6.0), 1.0), "ab你");
        assert_eq!(head(&text, Chars(9.0), 1.0), "ab你");
        assert_eq!(tail(&text, Chars(6.0), 1.0), "好cd");
        assert_eq!(
            (head(&text, Chars(0.0), 1.0), tail(&text, Chars(-1.0), 1.0)),
            (JsString::new(), JsString::new())
        );
        assert_eq!(head(&text, Chars(1e9), 1.0), text);
    }

    #[test]
    fn half_a_pair_is_dropped() {
        let text = JsString::from("a😀b😀");
        assert_eq!(head(&text, Chars(2.0), 1.0), "a");
        assert_eq!(head(&text, Chars(3.0), 1.0), "a😀");
        assert_eq!(tail(&text, Chars(1.0), 1.0), "");
        assert_eq!(tail(&text, Chars(4.0), 1.0), "b😀");
    }
}
