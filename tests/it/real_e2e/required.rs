//! The programs that are required if the real programs are, each in its scenarios.

use super::scenario::Finished;
use super::{installed, unexpected};

/// Runs a scenario and compares it. Without the program it was said that it is skipped.
fn check<P>(program: Option<P>, scenario: fn(&P) -> Finished) {
    let Some(program) = program else { return };
    let found = unexpected(scenario(&program));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

macro_rules! tests_of {
    ($($scenarios:ident, $find:ident: $($scenario:ident)*;)*) => {
        $(mod $find {
            $(#[test]
            fn $scenario() {
                super::check(super::installed::$find(), super::super::$scenarios::$scenario);
            })*
        })*
    };
}

tests_of! {
    pi_scenarios, pi_0_55_3: calm growth refusal anthropic unknown no_body late cut max_tokens manual failures summary_fails
        tool_loop thinking reasoning images tree commits;
    pi_scenarios, pi_1_5_2: calm growth refusal anthropic unknown no_body late cut max_tokens manual failures summary_fails
        tool_loop thinking reasoning images tree commits;
    openclaw_scenarios, openclaw_2026_3_2: calm talk growth refusal unknown max_tokens cut single_huge tool_loop ttl history
        thinking images commits;
}
