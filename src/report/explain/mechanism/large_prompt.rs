//! The finding about the part that made the prompt too large.

use std::collections::HashMap;

use crate::ids::EntryIx;
use crate::js::Value;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::compactions::message_text;
use crate::report::explain::failure::{Failure, LimitOrigin, PromptSize};
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::store::entry::Role;
use crate::transcript::envelope::unwrap_message;
use crate::units::{Chars, Tokens};

/// Share of the prompt outside all messages above which the finding is about it.
const MIN_UNSEEN_SHARE: f64 = 0.3;

/// A mechanism, and the prompt that it made too large.
#[derive(Debug, Clone, PartialEq)]
pub struct LargePrompt {
    pub mechanism: Mechanism,
    pub size: PromptSize,
    /// Tokens that fit.
    pub limit: u64,
    pub limit_origin: LimitOrigin,
    /// Tokens before the messages.
    pub fixed_tokens: u64,
    /// Tokens that are in no message of the transcript.
    pub unseen_tokens: u64,
    /// The model that the call went to.
    pub model: Option<String>,
    /// Counted tokens per token that the last accepted call and the messages since lead to expect.
    pub counted_more: Option<f64>,
    /// The tool of the first result; secrets are masked.
    pub tool: Option<String>,
    /// The role of the first message of the part.
    pub role: Option<Role>,
    /// Whether the configuration gives heartbeats a session of their own.
    pub is_isolated: bool,
    /// The largest limit of chars per tool result under which the prompt fits, and the number of results that it cuts.
    pub result_limit: Option<(Chars, usize)>,
}

/// The fit of a single message into the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFit {
    /// The message alone exceeds the limit.
    NeverFits,
    /// The message and the fixed parts exceed the limit.
    NeverFitsWithFixedParts,
    /// The message fits without earlier ones.
    FitsAlone,
}

impl LargePrompt {
    fn new(case: &OverflowCase<'_>, failure: &Failure, mechanism: &Mechanism) -> Self {
        let results =
            [FindingClass::SingleResult, FindingClass::ParallelResults, FindingClass::ToolLoopTreadmill];
        let is_result = mechanism.class == FindingClass::SingleResult;
        let shown = mechanism.entries.first().filter(|_| is_result);
        let seen = failure.fixed_tokens + (failure.weights.iter().sum::<Tokens>()).whole();
        Self {
            mechanism: mechanism.clone(),
            size: failure.prompt_size(),
            limit: failure.limit,
            limit_origin: failure.limit_origin(),
            fixed_tokens: failure.fixed_tokens,
            unseen_tokens: failure.prompt_tokens.saturating_sub(seen),
            counted_more: failure
                .expected_tokens()
                .filter(|expected| failure.is_measured && *expected > 0)
                .map(|expected| failure.prompt_tokens as f64 / expected as f64),
            model: failure.model.and_then(|(_, id)| case.session.index.values.text(id)),
            role: mechanism.entries.first().and_then(|entry| case.session.index.entry(*entry).role()),
            is_isolated: isolates_heartbeats(case),
            tool: shown.map(|entry| case.tool_name(*entry)),
            result_limit: largest_fitting_limit(failure).filter(|_| results.contains(&mechanism.class)),
        }
    }

    /// Returns the fit of the mechanism's part as a single message.
    pub fn message_fit(&self) -> MessageFit {
        let (tokens, limit) = (self.mechanism.tokens, Tokens(self.limit as f64));
        if tokens > limit {
            MessageFit::NeverFits
        } else if tokens + Tokens(self.fixed_tokens as f64) > limit {
            MessageFit::NeverFitsWithFixedParts
        } else {
            MessageFit::FitsAlone
        }
    }

    /// Whether a large share of the prompt is in no message.
    pub fn is_mostly_unseen(&self) -> bool {
        self.unseen_tokens as f64 >= MIN_UNSEEN_SHARE * self.size.tokens as f64
    }

    pub(in crate::report::explain) fn numbers(&self) -> Numbers {
        let mut numbers = vec![
            ("tokens", self.mechanism.tokens.get().round()),
            ("count", self.mechanism.count as f64),
            ("requested", self.size.tokens as f64),
            ("limit", self.limit as f64),
            ("over", self.size.tokens.saturating_sub(self.limit) as f64),
        ];
        numbers.extend(self.result_limit.map(|(chars, _)| ("capChars", chars.get())));
        numbers
    }
}

/// Whether `heartbeat.isolatedSession` is on.
fn isolates_heartbeats(case: &OverflowCase<'_>) -> bool {
    let key = ["agents", "defaults", "heartbeat", "isolatedSession"];
    case.session.config.value(&key) == Some(&Value::Bool(true))
}

/// Builds the finding of a mechanism.
pub(in crate::report::explain) fn mechanism_finding(
    case: &OverflowCase<'_>,
    failure: &Failure,
    mechanism: &Mechanism,
) -> Found<LargePrompt> {
    let confidence = match mechanism.class {
        FindingClass::GradualGrowth => Confidence::Possible,
        FindingClass::CountShift => Confidence::Likely,
        _ if failure.is_measured => Confidence::Sure,
        _ => Confidence::Likely,
    };
    Found::new(mechanism.class, confidence, LargePrompt::new(case, failure, mechanism))
        .with_rule("compaction 8.8")
}

// The largest limit of chars per tool result under which the failing prompt fits. The limit cuts every longer result
// in the prompt, not only the newest.

/// A result cut below this many chars is useless.
const MIN_LIMIT_CHARS: Chars = Chars(200.0);

/// Returns that limit in chars and the number of results that it cuts; `None` if the prompt fits, or if no limit frees
/// enough.
pub(in crate::report::explain) fn largest_fitting_limit(failure: &Failure) -> Option<(Chars, usize)> {
    let messages = failure.session.context.messages.iter().enumerate();
    let results: Vec<(Chars, f64)> = messages
        .filter(|(_, message)| message.size.role == Role::ToolResult)
        .map(|(at, message)| (message.size.text_chars.get(), failure.weights[at].get()))
        .filter(|(chars, _)| *chars > MIN_LIMIT_CHARS)
        .collect();
    let over = failure.excess_tokens() as f64;
    let over = if over > 0.0 { over + failure.uncounted_margin() as f64 } else { over };
    let freed = |cap: Chars| -> f64 {
        results
            .iter()
            .filter(|(chars, _)| *chars > cap)
            .map(|(chars, tokens)| tokens * (1.0 - cap / *chars))
            .sum()
    };
    let (mut low, mut high) =
        (MIN_LIMIT_CHARS, results.iter().map(|(chars, _)| *chars).fold(MIN_LIMIT_CHARS, Chars::max));
    if over <= 0.0 || freed(low) < over {
        return None;
    }
    while high - low > Chars(1.0) {
        let middle = Chars(f64::midpoint(low.get(), high.get()));
        if freed(middle) >= over { low = middle } else { high = middle }
    }
    let cut = results.iter().filter(|(chars, _)| *chars > low).count();
    Some((low.floor(), cut))
}

/// The reason why the call was too large.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanism {
    pub class: FindingClass,
    /// Tokens of the part in the provider's count.
    pub tokens: Tokens,
    /// Number of messages, results, images or runs in the part.
    pub count: usize,
    /// The entries that show it; a screen jumps to the first.
    pub entries: Vec<EntryIx>,
}

// Detects a job that repeats in one session, so that every run pays for all runs before it. Only equal texts count,
// after dates, times and ids are removed; equal length proves nothing.

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
    use super::*;
    use crate::report::explain::testing::with_failure;

    /// The limit for results of these chars and tokens in a prompt that is this much too large.
    fn limit_for(results: &[(u32, f64)], over: u64) -> Option<(u64, usize)> {
        let sizes: Vec<String> = results.iter().map(|(_, tokens)| format!("r:{tokens}")).collect();
        with_failure(&format!("u:9 a:9 {}", sizes.join(" ")), 1_000 + over, 0, |_, failure| {
            let mut failure = failure.clone();
            let context = std::sync::Arc::make_mut(&mut failure.session.context);
            for (message, (chars, _)) in context.messages[2..].iter_mut().zip(results) {
                message.size.text_chars = Chars::from(*chars).into();
            }
            largest_fitting_limit(&failure).map(|(chars, cut)| (chars.whole(), cut))
        })
    }

    #[test]
    fn results_are_cut_just_as_far_as_the_prompt_is_too_large() {
        let one = limit_for(&[(4_000, 1_000.0)], 250).expect("a limit");
        assert!((2_999..=3_000).contains(&one.0) && one.1 == 1, "a quarter of 4,000 chars goes: {one:?}");
        let longest = limit_for(&[(4_000, 1_000.0), (2_000, 500.0)], 250).expect("a limit");
        assert_eq!(longest, one, "the shorter one stays whole");
        let both = limit_for(&[(4_000, 1_000.0), (2_000, 500.0)], 900).expect("a limit");
        assert!((1_199..=1_200).contains(&both.0) && both.1 == 2, "{both:?}");
    }

    #[test]
    fn a_prompt_that_nobody_counted_is_cut_well_below_the_limit() {
        let limit = |counts: (Option<u64>, bool)| {
            with_failure("u:9 a:9 r:1000", 1_001, 0, |_, failure| {
                let mut failure = failure.clone();
                (failure.overflow.requested, failure.is_measured) = counts;
                failure.last_counted = None;
                let context = std::sync::Arc::make_mut(&mut failure.session.context);
                context.messages[2].size.text_chars = Chars(4_000.0).into();
                assert_eq!(failure.prompt_size().is_lower_bound, counts.0.is_none());
                largest_fitting_limit(&failure).map(|(chars, _)| chars.whole())
            })
        };
        let counted = limit((Some(1_001), true)).expect("a limit");
        assert!((3_995..=3_996).contains(&counted), "one token of 1,000 goes: {counted}");
        let uncounted = limit((None, false)).expect("a limit");
        assert!((1_995..=1_996).contains(&uncounted), "half of what nobody counted goes too: {uncounted}");
    }

    #[test]
    fn no_limit_is_proposed_that_is_too_small_or_not_needed() {
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 950), Some((200, 1)), "200 chars of 4,000 stay");
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 951), None);
        assert_eq!(limit_for(&[(200, 500.0)], 10), None, "a result this short is useless when cut");
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 0), None, "the prompt fits");
    }
}

#[cfg(test)]
mod recurring_tests {
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
