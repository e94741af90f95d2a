//! The check before a prompt: its routes, and a record without the action that the check requested.

use super::*;
use crate::gateway::compaction::ChatRoom;
use crate::policy::preflight::Route;
use crate::units::Tokens;

/// Two runs; the second prompt has about 8,000 tokens by chars, too many with a margin of one fifth.
fn full() -> Script {
    let first = Script::default().user().answer(2, true).result(32_000).answer(5_100, false);
    first.after(1).user().answer(5_200, false)
}

/// Compaction and the check under a ruleset: a window of 10,000, of which 1,000 stay free.
fn checking(ruleset: Ruleset, steps: &[Policy]) -> Settings {
    let all = settings(steps);
    Settings { policies: PolicySettings { ruleset, ..all.policies }, ..all }
}

#[test]
fn a_prompt_that_does_not_fit_is_compacted_before_it_is_sent() {
    let policies = [Policy::Check, Policy::Compact];
    let replay = full().replay(&checking(Ruleset::V2026_4_7, &policies), Tokens(200_000.0), &[]);
    let [first, in_loop, second] = &replay.simulated[..] else { panic!("three calls") };
    assert_eq!([first.checked, in_loop.checked], [Some(Route::Fits), None], "the check precedes a run");
    assert_eq!(second.checked, Some(Route::Compact));
    assert!(second.compacted.as_ref().is_some_and(|done| !done.by_overflow));
    assert!(second.tokens < replay.recorded[2].tokens / 2.0);
    let without = full().replay(&checking(Ruleset::V2026_3_2, &policies), Tokens(200_000.0), &[]);
    assert!(without.simulated.iter().all(|call| call.checked.is_none() && call.compacted.is_none()));
}

/// Two runs; the second begins with a message of 6,000 tokens.
fn with_long_message() -> Script {
    let long = "x".repeat(24_000);
    let message = format!(r#""type":"message","message":{{"role":"user","content":"{long}"}}"#);
    let read = Script { has_texts: true, ..Script::default() };
    let first = read.user().answer(2, true).result(4_000).answer(5_100, false);
    first.after(1).entry(&message).answer(9_900, false)
}

#[test]
fn a_check_that_is_only_a_diagnostic_compacts_nothing_before_a_run() {
    let script = with_long_message();
    let last = |ruleset| {
        let settings = checking(ruleset, &[Policy::Check, Policy::Compact]);
        let replay = script.replay(&settings, Tokens(200_000.0), &[]);
        let call = replay.simulated.last().expect("three calls").clone();
        (call.checked, call.compacted.is_some())
    };
    assert_eq!(last(Ruleset::V2026_7_1), (Some(Route::Compact), true));
    assert_eq!(last(Ruleset::V2026_8_1), (Some(Route::Compact), false));
    assert_eq!(last(Ruleset::V2026_9_6), (Some(Route::Compact), false));
}

#[test]
fn a_prompt_that_the_check_still_finds_too_large_is_refused() {
    let refused = |ruleset, window: f64| {
        let under = |window: f64| {
            let policies = checking(ruleset, &[Policy::Check, Policy::Compact]);
            Settings { window: Tokens(window), ..policies }
        };
        let replay = with_long_message().with_session(Tokens(200_000.0), &[], |session| {
            replay(session, &under(100_000.0), &under(window))
        });
        replay.simulated.last().expect("three calls").failed
    };
    // The new message alone is larger than what such a window has for the prompt.
    assert!(refused(Ruleset::V2026_7_1, 5_000.0));
    assert!(!refused(Ruleset::V2026_7_1, 50_000.0));
    assert!(!refused(Ruleset::V2026_9_6, 5_000.0), "the check is a diagnostic");
    assert!(!refused(Ruleset::V2026_6_11, 5_000.0), "a release that was not run");
}

#[test]
fn a_compaction_that_was_due_but_never_recorded_did_not_happen() {
    let checking = |policies: &[Policy]| checking(Ruleset::V2026_4_7, policies);
    let replay = full().with_session(Tokens(200_000.0), &[], |session| {
        replay(session, &checking(&[Policy::Check]), &checking(&[Policy::Check, Policy::Compact]))
    });
    assert_eq!(replay.recorded[2].checked, Some(Route::Compact));
    assert!(replay.simulated.iter().all(|call| call.compacted.is_none()));
}

#[test]
fn the_check_repeats_inside_a_tool_loop_if_configured() {
    let mut mid_turn = checking(Ruleset::V2026_5_2, &[Policy::Check, Policy::Compact]);
    mid_turn.policies.check.mid_turn = true;
    let replay = full().replay(&mid_turn, Tokens(200_000.0), &[]);
    let checked: Vec<_> = replay.simulated.iter().map(|call| call.checked).collect();
    assert_eq!(checked[..2], [Some(Route::Fits), Some(Route::Compact)]);
}

/// Two runs; the last prompt has 8,500 tokens, its answer 10.
fn near_threshold() -> Script {
    let first = Script::default().user().answer(2, true).result(20_000).answer(8_500, false);
    first.after(1).user().answer(8_600, false)
}

/// Compaction under a ruleset for a chat whose gateway leaves `free` tokens of a window of 10,000 before a turn.
fn before_turns(ruleset: Ruleset, free: f64) -> Settings {
    let mut all = checking(ruleset, &[Policy::Compact]);
    let room = ChatRoom { free: Tokens(free), window: None, min_threshold: Tokens::ZERO };
    all.policies.compaction.chat_room = Some(room);
    all
}

fn compacted(settings: &Settings) -> Vec<bool> {
    let replay = near_threshold().replay(settings, Tokens(200_000.0), &[]);
    replay.simulated.iter().map(|call| call.compacted.is_some()).collect()
}

#[test]
fn a_chat_turn_is_compacted_first_if_the_stored_total_reaches_the_threshold() {
    // The stored prompt, its answer and the message "go on" make 8,512 tokens; the runtime compacts only above 9,000.
    assert_eq!(compacted(&before_turns(Ruleset::V2026_7_1, 1_488.0)), [false, false, true]);
    assert_eq!(compacted(&before_turns(Ruleset::V2026_7_1, 1_487.0)), [false; 3]);
    let by_prompt = |free| compacted(&before_turns(Ruleset::V2026_5_22, free));
    assert_eq!(by_prompt(1_500.0), [false, false, true], "2026.5.22 compares the stored prompt alone");
    assert_eq!(by_prompt(1_499.0), [false; 3]);
    let always_fresh = Ruleset::V2026_5_2;
    assert_eq!(compacted(&before_turns(always_fresh, 1_500.0)), [false; 3]);
}

#[test]
fn a_release_without_the_check_compacts_only_by_the_runtimes_own() {
    assert_eq!(compacted(&checking(Ruleset::V2026_3_2, &[Policy::Compact])), [false; 3]);
    assert_eq!(compacted(&before_turns(Ruleset::V2026_3_2, 1_500.0)), [false; 3]);
}
