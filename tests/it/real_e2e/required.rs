//! The programs that are required if the real programs are, each in its scenarios.

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
    ($($scenarios:ident, $program:ident, $find:ident: $($scenario:ident)*;)*) => {
        $(pub(super) mod $find {
            use super::super::$scenarios::{self, $program};

            pub(in super::super) const ALL: &[super::Scenario<$program>] =
                &[$((stringify!($scenario), $scenarios::$scenario)),*];

            $(#[test]
            fn $scenario() {
                super::check(super::installed::$find(), $scenarios::$scenario);
            })*
        })*
    };
}

tests_of! {
    pi_scenarios, PiProgram, pi_0_55_3: calm growth refusal anthropic unknown no_body late cut max_tokens manual failures
        summary_fails tool_loop thinking reasoning images tree commits;
    pi_scenarios, PiProgram, pi_1_5_2: calm growth refusal anthropic unknown no_body late cut max_tokens manual failures
        summary_fails tool_loop thinking reasoning images tree commits;
    openclaw_scenarios, OpenClawProgram, openclaw_2026_3_2: calm talk safeguard growth refusal unknown max_tokens cut
        single_huge tool_loop ttl history thinking images sub_agent fallback flush reset commits;
}

#[test]
fn every_pi_runs_the_same_scenarios() {
    let names = |all: &[Scenario<PiProgram>]| all.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(names(pi_0_55_3::ALL), names(pi_1_5_2::ALL));
}
