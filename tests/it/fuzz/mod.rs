//! Damaged and hostile input for every reader: no panic, no loss, bounded time. Each case follows from its seed, so that
//! a failure is the same on every machine; `CLAWSCOPE_FUZZ=1000` runs a thousand times as many seeds, for hours by hand.
//! The checks are those of `cargo fuzz`; a forged journal has a separate test (`crash/forged.rs`).

#[path = "../../fuzz/src/checks/mod.rs"]
#[allow(unreachable_pub, reason = "public in the crate of the targets")]
pub(crate) mod checks;
mod documents;
mod settings;
mod stores;
mod transcripts;

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::support::generate::Dice;

/// Longest time of one case, in a debug build on a busy machine.
const CASE_DEADLINE: Duration = Duration::from_secs(10);

/// The seeds of a target that runs `usual` cases.
fn seeds(usual: u64) -> Range<u64> {
    let times = std::env::var("CLAWSCOPE_FUZZ").ok().and_then(|text| text.parse::<u64>().ok());
    0..usual * times.unwrap_or(1)
}

/// Runs a case for each seed; names the seed of one that panics or takes too long.
#[expect(clippy::print_stderr, reason = "a seed is all that a failure needs")]
fn for_each_seed(usual: u64, case: impl Fn(&mut Dice)) {
    for seed in seeds(usual) {
        let start = Instant::now();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(&mut Dice::new(seed))));
        if let Err(panic) = result {
            eprintln!("this was seed {seed}");
            std::panic::resume_unwind(panic);
        }
        assert!(start.elapsed() < CASE_DEADLINE, "seed {seed} took {:?}", start.elapsed());
    }
}

/// Bytes with a meaning for one of the readers.
const TOKENS: [&str; 28] = [
    "\n",
    "\r\n",
    "\0",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "null",
    "-1",
    "1e999",
    "999999999999999999999",
    "\\ud83d",
    "\u{feff}",
    "\u{2028}",
    "\u{1b}[2J",
    "\"id\":\"e1\"",
    "\"parentId\":\"e1\"",
    "\"type\":\"compaction\"",
    "\"type\":\"session\",\"version\":2",
    "\"__proto__\"",
    "\"$include\":\"./openclaw.json\"",
    "${HOME}",
    "../../",
    "[[x]]",
];

/// Damages bytes in one to four places.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let end = bytes.len().min(at + 1 + dice.below(64));
        match dice.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = [0, 0xFF, 0x80, b'\n', b'"'][dice.below(5)],
            2 => drop(bytes.drain(at..end)),
            3 => {
                let copy = bytes[at..end].to_vec();
                let to = dice.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            4 if dice.once_in(4) => bytes.truncate(at),
            5 => {
                let nested = ["[", "{\"a\":"][dice.below(2)].repeat(1 << dice.below(14));
                bytes.splice(at..at, nested.into_bytes());
            }
            _ => {
                let token = dice.one_of(&TOKENS);
                bytes.splice(at..at, token.bytes());
            }
        }
    }
}

fn random_bytes(dice: &mut Dice, most: usize) -> Vec<u8> {
    (0..dice.below(most)).map(|_| dice.below(256) as u8).collect()
}
