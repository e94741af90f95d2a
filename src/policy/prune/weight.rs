//! The chars of a text as the pruner and the prompt check count them: UTF-16 units, and more for scripts that need more
//! tokens (releases R12; pruning 8.5).

use crate::context::tokens::script::code_points;
use crate::context::tokens::weighted::{NORMAL_WEIGHT, weighted_length};
use crate::gateway::ruleset::PruneWeight;
use crate::js::JsString;
use crate::units::Chars;

/// Each of these code points adds 3 chars.
const HEAVY: [(u32, u32); 4] = [(0x2E80, 0xA4FF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F)];
/// Wide forms that also add 3 chars since 2026.7.1. releases.md has one table from 3.31 to 7.35; the program of 7.1
/// differs from it.
const WIDE: [(u32, u32); 2] = [(0xFF01, 0xFF60), (0xFFE0, 0xFFE6)];
/// Code points of two units that count as one, if the text has a heavy or wide one.
const HALVED: (u32, u32) = (0x20000, 0x2FBFF);

pub fn weighted_chars(weight: PruneWeight, text: &JsString) -> Chars {
    match weight {
        PruneWeight::Units => Chars::from_len(text.len()),
        PruneWeight::Blocks { wide } => cjk_length(text, wide),
        PruneWeight::Table => weighted_length(text, NORMAL_WEIGHT),
    }
}

/// Counts by the blocks of Chinese, Japanese and Korean.
fn cjk_length(text: &JsString, wide: bool) -> Chars {
    let units = text.units();
    let plain = Chars::from_len(units.len());
    if units.iter().all(|unit| *unit < 0x2E80) {
        return plain;
    }
    let is_in = |ranges: &[(u32, u32)], point: u32| {
        ranges.iter().any(|(first, last)| (*first..=*last).contains(&point))
    };
    let is_heavy = |point: &u32| is_in(&HEAVY, *point) || wide && is_in(&WIDE, *point);
    let heavy = code_points(units).filter(is_heavy).count() as f64;
    if heavy == 0.0 {
        return plain;
    }
    let halved = code_points(units).filter(|point| (HALVED.0..=HALVED.1).contains(point)).count() as f64;
    plain - Chars(halved) + Chars(3.0 * heavy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_the_blocks_weigh_four() {
        let lengths = |wide| {
            ["你好", "あ", "한", "𠀀", "｡", "！", "￥", "😀", "é", "⺀"]
                .map(|text| cjk_length(&text.into(), wide).get())
        };
        assert_eq!(lengths(false), [8.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0, 2.0, 1.0, 4.0]);
        assert_eq!(lengths(true), [8.0, 4.0, 4.0, 4.0, 1.0, 4.0, 4.0, 2.0, 1.0, 4.0]);
    }

    #[test]
    fn a_surrogate_pair_above_the_cjk_blocks_loses_a_unit_next_to_a_heavy_character() {
        assert_eq!(cjk_length(&"\u{2FA20}".into(), false), Chars(2.0));
        assert_eq!(cjk_length(&"\u{2FA20}你".into(), false), Chars(5.0));
    }
}
