//! Transcripts: lines, whole files, and files that grow.

use super::checks::transcripts::{file_keeps_its_lines, growth_ends_like_the_whole, line_is_read_or_refused};
use super::{damage, for_each_seed, random_bytes};
use crate::support::generate::{Dice, Options, transcript};

/// A generated transcript, damaged.
fn damaged(dice: &mut Dice) -> Vec<u8> {
    let options = Options { steps: 1 + dice.below(12), ..Options::default() };
    let mut bytes = transcript(dice.below(1000) as u64, &options);
    damage(&mut bytes, dice);
    bytes
}

#[test]
fn any_line_is_read_or_refused() {
    for_each_seed(1500, |dice| {
        let whole = transcript(dice.below(200) as u64, &Options { steps: 2, ..Options::default() });
        let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
        let mut line = lines[dice.below(lines.len())].to_vec();
        if dice.once_in(5) {
            line = random_bytes(dice, 200);
        }
        damage(&mut line, dice);
        line_is_read_or_refused(&line);
    });
}

#[test]
fn no_whole_line_of_a_damaged_file_is_lost() {
    for_each_seed(250, |dice| {
        let bytes = if dice.once_in(10) { random_bytes(dice, 2000) } else { damaged(dice) };
        file_keeps_its_lines(&bytes);
    });
}

#[test]
fn a_damaged_growing_file_equals_reading_it_at_once() {
    for_each_seed(250, |dice| {
        let bytes = damaged(dice);
        growth_ends_like_the_whole(&bytes, dice.below(bytes.len() + 1));
    });
}
