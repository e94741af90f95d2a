//! The programs that are required if the real programs are, each in its scenarios.

use std::collections::BTreeSet;

use super::pi_scenarios::PiProgram;
use super::scenario::Finished;
use super::{installed, unexpected};

/// Runs a scenario and compares it. Without the program it was said that it is skipped.
fn check<P>(program: Option<P>, scenario: fn(&P) -> Finished) {
    let Some(program) = program else { return };
    let found = unexpected(scenario(&program));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A scenario by its name.
pub(super) type Scenario<P> = (&'static str, fn(&P) -> Finished);

macro_rules! tests_of {
    ($($scenarios:ident, $program:ident, $find:ident: $($scenario:ident)*; on demand: $($other:ident)*;)*) => {
        $(pub(super) mod $find {
            use super::super::$scenarios::{self, $program};

            pub(in super::super) const ALL: &[super::Scenario<$program>] =
                &[$((stringify!($scenario), $scenarios::$scenario),)* $((stringify!($other), $scenarios::$other)),*];

            $(#[test]
            fn $scenario() {
                super::check(super::installed::$find(), $scenarios::$scenario);
            })*

            $(#[test]
            #[ignore = "on demand: another program runs it each time, and each run takes seconds"]
            fn $other() {
                super::check(super::installed::$find(), $scenarios::$other);
            })*
        })*
    };
}

// Each scenario is required of one program at least; the rest runs on demand, so that the whole suite stays short.
tests_of! {
    pi_scenarios, PiProgram, pi_0_55_3: calm growth refusal anthropic unknown no_body cut max_tokens manual failures
        commits; on demand: late summary_fails tool_loop thinking reasoning images tree;
    pi_scenarios, PiProgram, pi_1_5_2: growth refusal late max_tokens summary_fails tool_loop thinking reasoning images
        tree commits; on demand: calm anthropic unknown no_body cut manual failures;
    openclaw_scenarios, OpenClawProgram, openclaw_2026_3_2: talk refusal max_tokens cut single_huge ttl history fallback
        flush reset sub_agent commits; on demand: calm safeguard growth unknown tool_loop thinking images;
}

#[test]
fn every_pi_runs_the_same_scenarios() {
    let names = |all: &[Scenario<PiProgram>]| all.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>();
    assert_eq!(names(pi_0_55_3::ALL), names(pi_1_5_2::ALL));
}
