//! Detects a job that repeats in one session, so that every run pays for all runs before it. Only equal texts count,
//! after dates, times and ids are removed; equal length proves nothing.

use std::collections::HashMap;

use crate::ids::EntryIx;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::compactions::message_text;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::FindingClass;
use crate::report::explain::mechanism::cause::Mechanism;
use crate::store::entry::Role;
use crate::transcript::envelope::unwrap_message;
use crate::units::Tokens;

/// Fewer runs do not count as recurring.
const MIN_RUNS: usize = 5;
/// Share of the user messages that must be equal, or of the messages' tokens that their runs must take.
const MIN_SAME_SHARE: f64 = 0.6;
const MIN_TOKEN_SHARE: f64 = 0.5;
/// Messages shorter than this, in bytes, are equal by chance.
const MIN_LETTERS: usize = 16;
/// Names in dates.
const DAYS_AND_MONTHS: [&str; 19] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Number of messages to compare, the newest first.
const MAX_MESSAGES: usize = 400;

pub(super) fn detect_recurring(case: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    let requested = case.user_messages();
    let mut by_text: HashMap<String, Vec<EntryIx>> = HashMap::new();
    let compared = requested.len().min(MAX_MESSAGES);
    for ix in requested.into_iter().rev().take(MAX_MESSAGES) {
        let job = message_text(case.session, ix).and_then(|text| job_key(&text));
        if let Some(job) = job {
            by_text.entry(job).or_default().push(ix);
        }
    }
    let same = by_text.into_values().max_by_key(Vec::len)?;
    let most = same.len() as f64 >= MIN_SAME_SHARE * compared as f64;
    let recurs = same.len() >= MIN_RUNS && (most || token_share(failure, &same) >= MIN_TOKEN_SHARE);
    recurs.then(|| Mechanism {
        class: FindingClass::RecurringSessionGrowth,
        tokens: Tokens(failure.prompt_tokens.saturating_sub(failure.fixed_tokens) as f64),
        count: same.len(),
        entries: same,
    })
}

/// Returns the share of the messages' tokens in the runs that these messages opened.
fn token_share(failure: &Failure, opened: &[EntryIx]) -> f64 {
    let mut is_own = false;
    let (mut own, mut all) = (Tokens::ZERO, Tokens::ZERO);
    for (message, weight) in failure.session.context.messages.iter().zip(&failure.weights) {
        if message.size.role == Role::User {
            is_own = opened.contains(&message.entry);
        }
        own += if is_own { *weight } else { Tokens::ZERO };
        all += *weight;
    }
    own / all
}

/// Returns the words by which the runs of one job are equal: the gateway's mark of a heartbeat or a cron job, whatever
/// was reported in it, otherwise the whole text. `None` if it is too short to be equal but by chance.
fn job_key(text: &str) -> Option<String> {
    let marks = unwrap_message(text).marks;
    let job = marks.into_iter().find(|mark| mark == "heartbeat" || mark.starts_with("cron "));
    job.or_else(|| Some(normalise(text)).filter(|text| text.len() >= MIN_LETTERS))
}

/// Returns the user's own words in lower case, without the parts that differ in every run: dates, times and ids.
fn normalise(text: &str) -> String {
    let opened = unwrap_message(text);
    let words: Vec<String> = opened.text.split_whitespace().map(str::to_lowercase).collect();
    let is_stamp = |at: usize| {
        let near = at.checked_sub(1).into_iter().chain([at, at + 1]);
        let dated = near.filter_map(|at| words.get(at)).any(|word| is_date_word(word));
        is_date_word(&words[at])
            || is_stamp(&words[at])
            || dated && words[at].starts_with(|char: char| char.is_ascii_digit())
    };
    let kept = (0..words.len()).filter(|at| !is_stamp(*at)).map(|at| words[at].as_str());
    opened.marks.iter().map(String::as_str).chain(kept).collect::<Vec<_>>().join(" ")
}

/// Whether a word is a name in dates.
fn is_date_word(word: &str) -> bool {
    let word = word.trim_matches(|char: char| !char.is_alphabetic());
    let named = DAYS_AND_MONTHS.iter().any(|name| word == *name || word == &name[..3]);
    named || ["am", "pm", "utc", "gmt"].contains(&word)
}

/// Whether a word is a time, a date or an id: digits with punctuation, a year, or a long word with digits.
fn is_stamp(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let signs = word.trim_matches(|char: char| !char.is_alphanumeric()).contains([':', '-', '/']);
    digits > 0 && (signs || digits >= 4 || word.len() >= 8)
}

#[cfg(test)]
mod tests {
    use super::{job_key, normalise};

    #[test]
    fn a_heartbeat_and_a_cron_job_are_one_job_whatever_they_report() {
        let beat = "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.";
        assert_eq!(job_key(beat).as_deref(), Some("heartbeat"));
        let cron = |words: &str| job_key(&format!("[cron:4f2a nightly] {words}"));
        assert_eq!(cron("Fasse die Nacht zusammen"), cron("夜のまとめ"));
        assert_ne!(cron("Sum up"), job_key("[cron:9b1c weekly] Sum up"));
        assert_eq!(job_key("go on"), None, "short texts are equal by chance");
    }

    #[test]
    fn dates_and_numbers_do_not_make_another_job() {
        let one = normalise("[cron:4 digest] Summarise the night. Time: 2026-03-01 07:00");
        assert_eq!(one, normalise("[cron:4 digest] Summarise the night. Time: 2026-03-02 07:00"));
        assert_ne!(one, normalise("[cron:4 digest] Summarise the day. Time: 2026-03-02 07:00"));
        let sent_sizes =
            |day: &str| normalise(&format!("Check the mail.\nCurrent time: {day} 6, 2026 — 07:13 AM (UTC)"));
        assert_eq!(sent_sizes("Friday, March"), sent_sizes("Monday, April"));
        assert_ne!(normalise("and what about part 3 of it"), normalise("and what about part 4 of it"));
        assert_eq!(
            normalise("Look at run abcdefg1 now"),
            normalise("Look at run bcdefgh2 now"),
            "ids of 8 letters"
        );
        assert_ne!(normalise("Look at item abcdef1 now"), normalise("Look at item bcdefg2 now"));
        assert_eq!(normalise("Report 2026 now"), normalise("Report 2027 now"));
        assert_eq!(normalise("on March 6 sum up"), "on sum up", "a number behind a date word");
        assert_eq!(normalise("on 6 March sum up"), "on sum up", "a number before a date word");
        assert_eq!(normalise("6 items by March or so 7"), "6 items by or so 7", "numbers further away");
        assert_ne!(normalise("Report 202 now"), normalise("Report 203 now"));
    }
}
