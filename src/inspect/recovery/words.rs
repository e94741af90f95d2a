//! The words of a recovery, with the numbers the rules compared.

use std::fmt::Write as _;

use crate::context::before_compaction::known_before;
use crate::gateway::compaction::CompactionMode;
use crate::inspect::Inspection;
use crate::inspect::recovery::{Recorded, Refusal};
use crate::inspect::words::{counted, grouped, moment, of};
use crate::policy::compact::max_summary_tokens;
use crate::policy::overflow::{gateway, is_overflow_as, pi};
use crate::policy::recovery::{Asked, Compacted, Ending, ErrorKind, ErrorSource, MAX_ATTEMPTS, Step};

/// A few words for a step, and the sentences that explain it.
pub(super) fn step(inspection: &Inspection, step: &Step) -> (String, String) {
    match step {
        Step::Refused { .. } => (
            "the prompt is refused".into(),
            "Estimated, and scaled so that the prompt that was refused does not fit.".into(),
        ),
        Step::Retried => (
            "asked again up to 3 times".into(),
            "The runtime takes the words for a passing trouble and waits 2, 4 and 8 seconds before it asks again.".into(),
        ),
        Step::Compaction { by, outcome } => compaction(inspection, *by, *outcome),
        Step::RunAgain => (
            "the gateway runs the prompt again".into(),
            format!(
                "A compaction of the run counts, even one that was cancelled or failed, so the gateway makes none of its own; at most {MAX_ATTEMPTS} times."
            ),
        ),
        Step::Truncation { limit, cut, loses_kept } => truncation(*limit, cut.len(), *loses_kept),
        Step::NothingOversized { limit, largest } => (
            "no tool result is oversized".into(),
            format!(
                "A result may have {}, 30 % of the window; the largest has {}.",
                of(*limit, "char"),
                counted(*largest)
            ),
        ),
        Step::Answered { .. } => (
            "the prompt fits".into(),
            format!(
                "As estimated, with a summary of {} at most. The run goes on.",
                of(max_summary_tokens(inspection.configured.compaction.reserve_tokens).max(0.0), "token")
            ),
        ),
    }
}

fn compaction(inspection: &Inspection, by: Asked, outcome: Compacted) -> (String, String) {
    let who = match by {
        Asked::InRun => "in the run",
        Asked::Explicitly => "by the gateway",
    };
    let (words, why): (String, String) = match outcome {
        Compacted::Off => (format!("no compaction {who}: switched off"), "compaction.enabled of the runtime is false.".into()),
        Compacted::NotSeen => (
            format!("no compaction {who}: not seen"),
            "The runtime's own list of texts does not have these words, so it takes them for any other error.".into(),
        ),
        Compacted::OtherModel => (
            format!("no compaction {who}: other model"),
            "The refused call was made with another model than the session has now.".into(),
        ),
        Compacted::TooOld => (
            format!("no compaction {who}: too old"),
            "The refused call is older than the latest compaction.".into(),
        ),
        Compacted::Already => (
            format!("compaction {who}: already compacted"),
            "The branch ends in a compaction: there is nothing behind it to summarise.".into(),
        ),
        Compacted::Nothing => (
            format!("compaction {who}: nothing to compact"),
            "There is no entry with an id to begin the kept part with.".into(),
        ),
        Compacted::Cancelled => (
            format!("compaction {who}: cancelled"),
            "The part to summarise holds no message of user, assistant or tool: one long turn is its own prefix, and the safeguard refuses it.".into(),
        ),
        Compacted::Throws => (
            format!("compaction {who}: fails"),
            "A message of the branch has a shape that the runtime cannot measure.".into(),
        ),
        Compacted::SummaryTooLarge { tokens } => (
            format!("compaction {who}: its own call is too large"),
            format!(
                "The runtime's summariser sends the whole history in one call: ~{} do not fit either. compaction.mode safeguard would send it in chunks.",
                of(tokens.round(), "token")
            ),
        ),
        Compacted::Done { summarised: 0, kept_tokens, .. } => (
            format!("compacted {who}: nothing to summarise"),
            keeps_all(inspection, kept_tokens),
        ),
        Compacted::Done { summarised, kept_tokens, lost, request_kept, .. } => {
            (format!("compacted {who}: {} summarised", counted(summarised as f64)), done(inspection, kept_tokens, lost, request_kept))
        }
    };
    (words, why)
}

/// A compaction that summarises no message is written all the same, and frees nothing.
fn keeps_all(inspection: &Inspection, kept_tokens: f64) -> String {
    format!(
        "All ~{} are among the newest ones that keepRecentTokens {} keeps: the compaction frees nothing.",
        of(kept_tokens, "token"),
        counted(inspection.configured.compaction.keep_recent_tokens)
    )
}

fn done(inspection: &Inspection, kept_tokens: f64, lost: usize, request_kept: bool) -> String {
    let how = match inspection.upkeep.mode {
        CompactionMode::Safeguard => "in chunks, by the safeguard",
        CompactionMode::Default => "in one call, by the runtime",
    };
    let mut why = format!(
        "Messages summarised {how}. ~{} stay of the newest ones; keepRecentTokens is {}.",
        of(kept_tokens, "token"),
        counted(inspection.configured.compaction.keep_recent_tokens)
    );
    if !request_kept {
        why.push_str(" What was asked last is in the summary only.");
    }
    if lost > 0 {
        let were = if lost == 1 { "was" } else { "were" };
        _ = write!(
            why,
            " {} that the compaction before had kept {were} neither summarised nor kept: lost (compaction 3.3).",
            of(lost as f64, "message")
        );
    }
    why
}

fn truncation(limit: f64, cut: usize, loses_kept: bool) -> (String, String) {
    let mut why = format!(
        "Each over {} is cut to about that. The branch is written again from before the first one; this is done once.",
        of(limit, "char")
    );
    if loses_kept {
        why.push_str(" The copied compaction names an id of the old branch: what it had kept is lost.");
    }
    (format!("{} cut in the file", of(cut as f64, "tool result")), why)
}

/// Words and reply of an ending.
pub(super) fn ending(ending: Ending) -> (String, String) {
    let words = match ending {
        Ending::Answered => "answered",
        Ending::RawError => "the error itself is the reply",
        Ending::LeftToPerson => "the error stays in the session",
        Ending::GaveUp { reset: true, .. } => "given up: the chat starts afresh",
        Ending::GaveUp { kind: ErrorKind::CompactionFailure, .. } => "given up: a compaction failed",
        Ending::GaveUp { .. } => "given up: the prompt is too large",
    };
    let why = match ending {
        Ending::Answered => "Nothing of this is told to the person.".to_owned(),
        Ending::RawError => {
            "The gateway's detector does not take the words for an overflow, so it tries nothing.".to_owned()
        }
        Ending::LeftToPerson => "pi tries nothing else; a person compacts, or starts anew.".to_owned(),
        Ending::GaveUp { .. } => {
            format!("The person reads: {}", ending.reply().unwrap_or_default().replace("\n\n", " "))
        }
    };
    (words.to_owned(), why)
}

/// What was said, and who takes it for an overflow.
pub(super) fn refusal(inspection: &Inspection, refusal: &Refusal) -> String {
    if refusal.source == ErrorSource::Silent {
        return format!(
            "No error: the answer took in more than the window of {}.",
            counted(inspection.upkeep.runtime_window)
        );
    }
    let text = &refusal.text;
    let seen = |by: bool, who: &'static str| by.then_some(who);
    let reading = inspection.ruleset.ruleset.rules().reading;
    let is_pi = inspection.ruleset.ruleset.is_pi();
    let by: Vec<&str> = [
        seen(is_pi && is_overflow_as(reading, text), "pi"),
        seen(!is_pi && pi::is_overflow(text), "the runtime"),
        seen(!is_pi && gateway::is_likely_overflow(text), "the gateway's loop"),
        seen(!is_pi && gateway::is_overflow(text), "the chat"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let by = if by.is_empty() { "nobody".to_owned() } else { by.join(", ") };
    let said = if refusal.entry.is_some() { "It said" } else { "As this provider says it" };
    format!("{said}: {text} — taken for an overflow by {by}.")
}

/// What the transcript shows.
pub(super) fn recorded(inspection: &Inspection, recorded: &Recorded) -> String {
    let index = &inspection.index;
    let entry = recorded.entry().map(|ix| index.entry(ix));
    let at = entry.and_then(|entry| moment(entry.time)).and_then(|at| Some(at.get(11..16)?.to_owned()));
    let what = match recorded {
        Recorded::Refused(refusal) => match refusal.tokens {
            Some(tokens) => format!("refused at {}", grouped(tokens)),
            None => "refused".to_owned(),
        },
        Recorded::Failed { .. } => "another error".to_owned(),
        Recorded::Compacted { entry } => {
            let path = &inspection.context.path;
            let place = path.iter().position(|ix| ix == entry);
            let before = place.and_then(|place| known_before(index, path, place));
            let file = index.entry(*entry).number;
            match before.map(|before| before.tokens).or(Some(file).filter(|tokens| tokens.is_finite())) {
                Some(before) => format!("compacted, {} before", counted(before)),
                None => "compacted".into(),
            }
        }
        Recorded::Prompted { .. } => "prompted again".to_owned(),
        Recorded::Rewritten { .. } => "written again, cut".to_owned(),
        Recorded::Answered { .. } => "answered".to_owned(),
    };
    at.map_or(what.clone(), |at| format!("{at} {what}"))
}
