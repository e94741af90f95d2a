//! Stores with one damaged file.

use std::fs;
use std::path::Path;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::checks::stores::{ARCHIVE, CONFIG, INCLUDED, LISTED, RECORDS, State};
use super::{damage, for_each_seed, random_bytes};
use crate::support::generate::{Dice, Options, transcript};

fn damaged(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    if dice.once_in(12) {
        return random_bytes(dice, 400);
    }
    let mut bytes = bytes.to_vec();
    damage(&mut bytes, dice);
    bytes
}

#[test]
fn transcripts_are_listed_with_any_sessions_json() {
    let state = State::new();
    for_each_seed(60, |dice| state.survives(RECORDS, &damaged(LISTED.as_bytes(), dice)));
}

#[test]
fn sessions_are_listed_with_any_configuration_and_includes() {
    let state = State::new();
    for_each_seed(60, |dice| {
        let (mut config, mut included) = (CONFIG.as_bytes().to_vec(), INCLUDED.as_bytes().to_vec());
        let part = if dice.once_in(2) { &mut config } else { &mut included };
        *part = damaged(part, dice);
        state.survives_configuration(&[config, included, b"{}".to_vec()].join(&b'\x0C'));
    });
}

#[test]
fn other_sessions_are_listed_next_to_any_archive() {
    let state = State::new();
    let whole = transcript(9, &Options { steps: 8, ..Options::default() });
    let packed = compress_to_vec(whole.as_slice(), CompressionLevel::Fastest);
    state.survives(ARCHIVE, &packed);
    for_each_seed(60, |dice| state.survives(ARCHIVE, &damaged(&packed, dice)));
}

#[test]
fn other_sessions_are_listed_next_to_any_transcript() {
    let state = State::new();
    for_each_seed(60, |dice| {
        let bytes = transcript(dice.below(300) as u64, &Options { steps: 5, ..Options::default() });
        state.survives("agents/main/sessions/other.jsonl", &damaged(&bytes, dice));
    });
}

/// Changes a header field, a page or a few bytes of the real database, or removes its end.
#[test]
fn any_database_is_read_or_reported() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-2026.9.6");
    let real = fs::read(fixture.join("openclaw-agent.sqlite")).unwrap();
    let state = State::new();
    let findings = std::cell::Cell::new(0);
    for_each_seed(24, |dice| {
        let mut bytes = real.clone();
        for _ in 0..=dice.below(6) {
            let at = match dice.below(3) {
                0 => dice.below(100),
                1 => dice.below(bytes.len() / 4096) * 4096 + dice.below(16),
                _ => dice.below(bytes.len()),
            };
            bytes[at] = dice.below(256) as u8;
        }
        if dice.once_in(4) {
            bytes.truncate(dice.below(bytes.len()));
        }
        findings.set(findings.get() + usize::from(state.leaves_database(&bytes)));
    });
    assert!(findings.get() > 3, "damage is named");
}
