//! Differences that are known. Each is counted: one that is gone, or one more, fails the test, so that this list stays true.

use super::checks::{Check, Outcome};

/// A known difference of a scenario.
struct Exception {
    /// Name and release of the program.
    program: &'static str,
    /// `None` for all of them.
    scenario: Option<&'static str>,
    check: Check,
    /// How often it occurs; `None` for at least once.
    count: Option<usize>,
    /// Why the two differ.
    why: &'static str,
}

const NO_OVERFLOW_SEEN: &str = "a failed compaction in the run takes the failed answer with it: the gateway sees no overflow and ends the run";

const REPLY_COUNTED: &str = "the server's limit holds prompt and reply together, and `recovery` expects the compacted prompt to be refused again";

const AFTER_EACH_TURN: &str =
    "a turn of the command line ends with a check that counts summarised messages, too";
const FAILED_TURN: &str = "a failed answer is sent as text before the next one";
const CUT_NOTE: &str = "a cut result is two chars shorter";
const ASKED_TO_CONTINUE: &str =
    "after a compaction for an overflow, a message that asks to continue is sent and not stored";
const NO_THINKING: &str = "thinking is dropped where the request does not think";
const OTHER_IDS: &str =
    "marks of pruned results name calls by ids without `_`, results of the run in progress have the whole id";
const PICTURES: &str = "pictures of results are sent in a message whose text `sent.rs` does not know";
const RETRIED: &str = "a message to the next model says that it is a retry, which is not stored";
const NO_LIMIT: &str =
    "the history limit of a direct chat is not applied where the command line names its key";
const NO_REFUSAL: &str = "a refusal leaves no answer in the database";
const NOT_STORED: &str = "the message that announces a sub-agent's answer is sent and not stored";
const OWN_REPLY: &str =
    "the gateway stores its own reply to an overflow as an answer, with the usage of the whole run";
const TIME: &str = "the gateway sends the time with each message, and since 2026.9 a line about the run";

/// By program, older releases first.
const EXCEPTIONS: &[Exception] = &[
    known("openclaw 2026.3.2", "single_huge", Check::Recovery, 2, NO_OVERFLOW_SEEN),
    known("openclaw 2026.3.2", "max_tokens", Check::Recovery, 1, REPLY_COUNTED),
    everywhere("openclaw 2026.7.1", Check::AddedText, TIME),
    known("openclaw 2026.7.1", "talk", Check::Trigger, 2, AFTER_EACH_TURN),
    known("openclaw 2026.7.1", "safeguard", Check::Trigger, 2, AFTER_EACH_TURN),
    known("openclaw 2026.7.1", "growth", Check::Trigger, 1, AFTER_EACH_TURN),
    known("openclaw 2026.7.1", "tool_loop", Check::Trigger, 1, AFTER_EACH_TURN),
    known("openclaw 2026.7.1", "ttl", Check::Trigger, 4, AFTER_EACH_TURN),
    known("openclaw 2026.7.1", "images", Check::Trigger, 1, AFTER_EACH_TURN),
    known("openclaw 2026.7.1", "flush", Check::Trigger, 4, AFTER_EACH_TURN),
    known("openclaw 2026.7.1", "sub_agent", Check::Messages, 2, NOT_STORED),
    known("openclaw 2026.7.1", "refusal", Check::Messages, 1, FAILED_TURN),
    known("openclaw 2026.7.1", "fallback", Check::Messages, 9, FAILED_TURN),
    known("openclaw 2026.7.1", "single_huge", Check::Messages, 1, CUT_NOTE),
    known("openclaw 2026.7.1", "thinking", Check::Messages, 4, NO_THINKING),
    known("openclaw 2026.7.1", "tool_loop", Check::Row, 2, OWN_REPLY),
    everywhere("openclaw 2026.9.6", Check::AddedText, TIME),
    known("openclaw 2026.9.6", "refusal", Check::Messages, 1, ASKED_TO_CONTINUE),
    known("openclaw 2026.9.6", "tool_loop", Check::Messages, 1, ASKED_TO_CONTINUE),
    known("openclaw 2026.9.6", "thinking", Check::Messages, 4, NO_THINKING),
    known("openclaw 2026.9.6", "ttl", Check::Messages, 2, OTHER_IDS),
    known("openclaw 2026.9.6", "images", Check::Messages, 7, PICTURES),
    known("openclaw 2026.9.6", "fallback", Check::Messages, 8, RETRIED),
    known("openclaw 2026.9.6", "fallback", Check::NoEntry, 1, NO_REFUSAL),
    known("openclaw 2026.9.6", "history", Check::Messages, 2, NO_LIMIT),
    known("openclaw 2026.9.6", "refusal", Check::NoEntry, 1, NO_REFUSAL),
    known("openclaw 2026.9.6", "tool_loop", Check::NoEntry, 1, NO_REFUSAL),
    known("openclaw 2026.9.6", "single_huge", Check::Messages, 1, CUT_NOTE),
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
    Exception { program, scenario: Some(scenario), check, count: Some(count), why }
}

/// A difference of every scenario.
const fn everywhere(program: &'static str, check: Check, why: &'static str) -> Exception {
    Exception { program, scenario: None, check, count: None, why }
}

/// The program whose exceptions hold: a release without any of its own behaves as the newest one that has some.
fn known_program(program: &str) -> &str {
    let family = |program: &str| program.split(' ').next().map(str::to_owned);
    let listed = || EXCEPTIONS.iter().map(|exception| exception.program);
    let newest = || listed().rfind(|other| family(other) == family(program));
    if listed().any(|other| other == program) { program } else { newest().unwrap_or(program) }
}

/// Describes, for each check, differences that the list does not have, and those of the list that are gone.
pub(super) fn unexpected(program: &str, scenario: &str, outcome: &Outcome) -> Vec<String> {
    let name = known_program(program);
    let is_it = |it: &&Exception| it.program == name && it.scenario.is_none_or(|own| own == scenario);
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
    let exactly: Option<usize> = listed.iter().map(|exception| exception.count).sum();
    if exactly.map_or(!texts.is_empty(), |count| count == texts.len()) {
        return None;
    }
    let of = outcome.counts.get(&check).copied().unwrap_or_default();
    let expected = exactly.map_or_else(|| "some".to_owned(), |count| count.to_string());
    let why: Vec<&str> = listed.iter().map(|exception| exception.why).collect();
    let shown = texts[..texts.len().min(SHOWN)].join("\n  ");
    Some(format!("{} of {of} {check:?} differ, expected {expected} {why:?}\n  {shown}", texts.len()))
}
