//! Differences that are known. Each is counted: one that is gone, or one more, fails the test, so that this list stays true.

use super::checks::{Check, Outcome};

/// A known difference of a scenario.
struct Exception {
    /// Name and release of the program.
    program: &'static str,
    scenario: &'static str,
    check: Check,
    /// How often it occurs.
    count: usize,
    /// Why the two differ.
    why: &'static str,
}

const BEFORE_CHAT_TURN: &str = "the check before a chat turn has a trigger and a total of its own";
const CUT_NOTE: &str =
    "a result of the run in progress was cut before it was stored, and its note names other chars";
const RETRIED: &str = "the first request to a fallback model says that it is a retry, and nothing stored shows that one follows";
const SUB_AGENTS: &str = "behind the prompt the gateway sends which sub-agents run, and stores nothing of it";
const SUMMARY_LENGTH: &str =
    "no summary shows how long one would be, and prompts with the assumed one are larger than the real ones";
const OTHER_SUMMARY: &str = "the assumed summary is the average of two, shorter than that of a split turn, and the prompt ends just below the limit";
const TURN_END: &str = "a 7.1 store does not say whether the command line took a turn, so the compaction after it is not replayed";
const LOOP_STOPPED: &str =
    "calls that the check inside a tool loop ends are repeated from their prompt, which a replay does not do";
const WINDOW_BLOCKS: &str = "the gateway refuses whole turns, of which a replay counts each call";
const NOT_STORED: &str = "the message that announces a sub-agent's answer is sent and not stored";

/// By program, older releases first.
const EXCEPTIONS: &[Exception] = &[
    known("openclaw 2026.3.2", "max_tokens", Check::Recovery, 1, SUMMARY_LENGTH),
    known("pi 0.55.3", "cut", Check::Advice, 1, SUMMARY_LENGTH),
    known("pi 1.5.2", "refusal", Check::Advice, 1, OTHER_SUMMARY),
    known("pi 1.5.2", "anthropic", Check::Advice, 1, OTHER_SUMMARY),
    known("openclaw 2026.7.1", "flush", Check::Trigger, 4, BEFORE_CHAT_TURN),
    known("openclaw 2026.7.1", "refusal", Check::Advice, 1, WINDOW_BLOCKS),
    known("openclaw 2026.7.1", "cut", Check::Advice, 1, WINDOW_BLOCKS),
    known("openclaw 2026.7.1", "tool_loop", Check::Advice, 3, LOOP_STOPPED),
    known("openclaw 2026.7.1", "images", Check::Advice, 1, TURN_END),
    known("openclaw 2026.7.1", "sub_agent", Check::Messages, 1, NOT_STORED),
    known("openclaw 2026.7.1", "single_huge", Check::Messages, 1, CUT_NOTE),
    known("openclaw 2026.9.6", "sub_agent", Check::Messages, 6, SUB_AGENTS),
    known("openclaw 2026.9.6", "cut", Check::Advice, 1, SUMMARY_LENGTH),
    known("openclaw 2026.9.6", "ttl", Check::Messages, 2, CUT_NOTE),
    known("openclaw 2026.9.6", "fallback", Check::Messages, 5, RETRIED),
    known(
        "openclaw 2026.9.6",
        "safeguard",
        Check::Trigger,
        1,
        "the last turn ends above the trigger, and no check follows",
    ),
];

const fn known(
    program: &'static str,
    scenario: &'static str,
    check: Check,
    count: usize,
    why: &'static str,
) -> Exception {
    Exception { program, scenario, check, count, why }
}

/// The program whose exceptions hold: a release without any of its own behaves as the newest one that has some.
fn known_program(program: &str) -> &str {
    let family = |program: &str| program.split(' ').next().map(str::to_owned);
    let listed = || EXCEPTIONS.iter().map(|exception| exception.program);
    let newest = || listed().rfind(|other| family(other) == family(program));
    if listed().any(|other| other == program) { program } else { newest().unwrap_or(program) }
}

/// Describes, for each check of a store, differences that the list does not have, and those of the list that are gone.
pub(super) fn unexpected(program: &str, scenario: &str, outcome: &Outcome) -> Vec<String> {
    unexpected_in(program, scenario, outcome, |check| check != Check::Advice)
}

/// The same for changes that were run for real.
pub(super) fn unexpected_advice(program: &str, scenario: &str, outcome: &Outcome) -> Vec<String> {
    unexpected_in(program, scenario, outcome, |check| check == Check::Advice)
}

fn unexpected_in(
    program: &str,
    scenario: &str,
    outcome: &Outcome,
    is_wanted: impl Fn(Check) -> bool,
) -> Vec<String> {
    let name = known_program(program);
    let is_it = |it: &&Exception| it.program == name && it.scenario == scenario && is_wanted(it.check);
    let mut checks: Vec<Check> = outcome.differences.iter().map(|difference| difference.check).collect();
    checks.extend(EXCEPTIONS.iter().filter(is_it).map(|exception| exception.check));
    checks.sort_unstable();
    checks.dedup();
    let described = checks.into_iter().filter_map(|check| {
        let listed: Vec<&Exception> =
            EXCEPTIONS.iter().filter(is_it).filter(|it| it.check == check).collect();
        let found = describe(outcome, check, &listed)?;
        Some(format!("{program} {scenario}: {found}"))
    });
    described.collect()
}

/// Most differences of a check have one cause.
const SHOWN: usize = 4;

fn describe(outcome: &Outcome, check: Check, listed: &[&Exception]) -> Option<String> {
    let found = outcome.differences.iter().filter(|difference| difference.check == check);
    let texts: Vec<&str> = found.map(|difference| difference.text.as_str()).collect();
    let expected: usize = listed.iter().map(|exception| exception.count).sum();
    if expected == texts.len() {
        return None;
    }
    let of = outcome.counts.get(&check).copied().unwrap_or_default();
    let why: Vec<&str> = listed.iter().map(|exception| exception.why).collect();
    let shown = texts[..texts.len().min(SHOWN)].join("\n  ");
    Some(format!("{} of {of} {check:?} differ, expected {expected} {why:?}\n  {shown}", texts.len()))
}
