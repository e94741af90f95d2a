//! Texts of a recovery, with the numbers that the rules compared.

use std::fmt::Write as _;

use crate::context::tokens_before::recorded_tokens_before;
use crate::format::{format_number, format_timestamp, quantity};
use crate::gateway::compaction::CompactionMode;
use crate::policy::compact::max_summary_tokens;
use crate::policy::overflow::{gateway, is_overflow_for, pi};
use crate::policy::recovery::{
    CompactionCaller, CompactionOutcome, Ending, ErrorSource, GiveUpReason, MAX_ATTEMPTS, RecoveryStep,
};
use crate::report::recovery::{RecoveryEvent, RefusedCall};
use crate::session::LoadedSession;

/// Returns a short label and the explanation of a step.
pub(super) fn describe_step(session: &LoadedSession, policy: &RecoveryStep) -> (String, String) {
    match policy {
        RecoveryStep::Refused { .. } => (
            "the prompt is refused".into(),
            "Estimated, and scaled so that the prompt that was refused does not fit.".into(),
        ),
        RecoveryStep::Retried => (
            "asked again up to 3 times".into(),
            "The runtime takes the words for a passing trouble and waits 2, 4 and 8 seconds before it asks again.".into(),
        ),
        RecoveryStep::Compaction { caller: by, outcome } => describe_compaction(session, *by, *outcome),
        RecoveryStep::RunAgain => (
            "the gateway runs the prompt again".into(),
            format!(
                "A compaction of the run counts, even one that was cancelled or failed, so the gateway makes none of its own; at most {MAX_ATTEMPTS} times."
            ),
        ),
        RecoveryStep::Truncation { limit, cut, loses_kept } => describe_truncation(*limit, cut.len(), *loses_kept),
        RecoveryStep::NothingOversized { limit, largest } => (
            "no tool result is oversized".into(),
            format!(
                "A result may have {}, 30 % of the window; the largest has {}.",
                quantity(*limit, "char"),
                format_number(*largest)
            ),
        ),
        RecoveryStep::Answered { .. } => (
            "the prompt fits".into(),
            format!(
                "As estimated, with a summary of {} at most. The run goes on.",
                quantity(max_summary_tokens(session.configured_settings.compaction.reserve_tokens).max(0.0), "token")
            ),
        ),
    }
}

fn describe_compaction(
    session: &LoadedSession,
    by: CompactionCaller,
    outcome: CompactionOutcome,
) -> (String, String) {
    let who = match by {
        CompactionCaller::InRun => "in the run",
        CompactionCaller::AfterRun => "by the gateway",
    };
    let (words, why): (String, String) = match outcome {
        CompactionOutcome::Off => (format!("no compaction {who}: switched off"), "compaction.enabled of the runtime is false.".into()),
        CompactionOutcome::NotRecognised => (
            format!("no compaction {who}: not seen"),
            "The runtime's own list of texts does not have these words, so it takes them for any other error.".into(),
        ),
        CompactionOutcome::OtherModel => (
            format!("no compaction {who}: other model"),
            "The refused call was made with another model than the session has now.".into(),
        ),
        CompactionOutcome::TooOld => (
            format!("no compaction {who}: too old"),
            "The refused call is older than the latest compaction.".into(),
        ),
        CompactionOutcome::AlreadyCompacted => (
            format!("compaction {who}: already compacted"),
            "The branch ends in a compaction: there is nothing behind it to summarise.".into(),
        ),
        CompactionOutcome::NothingToCompact => (
            format!("compaction {who}: nothing to compact"),
            "There is no entry with an id to begin the kept part with.".into(),
        ),
        CompactionOutcome::Cancelled => (
            format!("compaction {who}: cancelled"),
            "The part to summarise holds no message of user, assistant or tool: one long turn is its own prefix, and the safeguard refuses it.".into(),
        ),
        CompactionOutcome::Throws => (
            format!("compaction {who}: fails"),
            "A message of the branch has a shape that the runtime cannot measure.".into(),
        ),
        CompactionOutcome::SummaryTooLarge { tokens } => (
            format!("compaction {who}: its own call is too large"),
            format!(
                "The runtime's summariser sends the whole history in one call: ~{} do not fit either. compaction.mode safeguard would send it in chunks.",
                quantity(tokens.round(), "token")
            ),
        ),
        CompactionOutcome::Done { summarised: 0, kept_tokens, .. } => (
            format!("compacted {who}: nothing to summarise"),
            describe_nothing_summarized(session, kept_tokens),
        ),
        CompactionOutcome::Done { summarised, kept_tokens, lost, request_kept, .. } => {
            (format!("compacted {who}: {} summarised", format_number(summarised as f64)), describe_compacted(session, kept_tokens, lost, request_kept))
        }
    };
    (words, why)
}

/// A compaction that summarises no message is still written, and frees nothing.
fn describe_nothing_summarized(session: &LoadedSession, kept_tokens: f64) -> String {
    format!(
        "All ~{} are among the newest ones that keepRecentTokens {} keeps: the compaction frees nothing.",
        quantity(kept_tokens, "token"),
        format_number(session.configured_settings.compaction.keep_recent_tokens)
    )
}

fn describe_compacted(session: &LoadedSession, kept_tokens: f64, lost: usize, request_kept: bool) -> String {
    let how = match session.limits.compaction_mode {
        CompactionMode::Safeguard => "in chunks, by the safeguard",
        CompactionMode::Default => "in one call, by the runtime",
    };
    let mut why = format!(
        "Messages summarised {how}. ~{} stay of the newest ones; keepRecentTokens is {}.",
        quantity(kept_tokens, "token"),
        format_number(session.configured_settings.compaction.keep_recent_tokens)
    );
    if !request_kept {
        why.push_str(" What was asked last is in the summary only.");
    }
    if lost > 0 {
        let were = if lost == 1 { "was" } else { "were" };
        _ = write!(
            why,
            " {} that the compaction before had kept {were} neither summarised nor kept: lost (compaction 3.3).",
            quantity(lost as f64, "message")
        );
    }
    why
}

fn describe_truncation(limit: f64, cut: usize, loses_kept: bool) -> (String, String) {
    let mut why = format!(
        "Each over {} is cut to about that. The branch is written again from before the first one; this is done once.",
        quantity(limit, "char")
    );
    if loses_kept {
        why.push_str(" The copied compaction names an id of the old branch: what it had kept is lost.");
    }
    (format!("{} cut in the file", quantity(cut as f64, "tool result")), why)
}

/// Returns the label and the reply of an ending.
pub(super) fn describe_ending(ending: Ending) -> (String, String) {
    let words = match ending {
        Ending::Answered => "answered",
        Ending::RawError => "the error itself is the reply",
        Ending::LeftToPerson => "the error stays in the session",
        Ending::GaveUp { reset: true, .. } => "given up: the chat starts afresh",
        Ending::GaveUp { kind: GiveUpReason::CompactionFailure, .. } => "given up: a compaction failed",
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

/// Describes the error text, and which components recognise it as an overflow.
pub(super) fn describe_refused_call(session: &LoadedSession, refusal: &RefusedCall) -> String {
    if refusal.source == ErrorSource::Silent {
        return format!(
            "No error: the answer took in more than the window of {}.",
            format_number(session.limits.runtime_window)
        );
    }
    let text = &refusal.text;
    let seen = |by: bool, who: &'static str| by.then_some(who);
    let reading = session.ruleset.id.rules().read_mode;
    let is_pi = session.ruleset.id.is_pi();
    let by: Vec<&str> = [
        seen(is_pi && is_overflow_for(reading, text), "pi"),
        seen(!is_pi && pi::is_overflow(text), "the runtime"),
        seen(!is_pi && gateway::is_likely_overflow(text), "the gateway's loop"),
        seen(!is_pi && gateway::is_overflow(text), "the chat"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let by = if by.is_empty() { "nobody".to_owned() } else { by.join(", ") };
    let message = if refusal.entry.is_some() { "It said" } else { "As this provider says it" };
    format!("{message}: {text} — taken for an overflow by {by}.")
}

/// Describes an event of the transcript.
pub(super) fn describe_event(session: &LoadedSession, recorded: &RecoveryEvent) -> String {
    let index = &session.index;
    let entry = recorded.entry().map(|ix| index.entry(ix));
    let at = entry
        .and_then(|entry| format_timestamp(entry.time_ms))
        .and_then(|at| Some(at.get(11..16)?.to_owned()));
    let what = match recorded {
        RecoveryEvent::Refused(refusal) => match refusal.tokens {
            Some(tokens) => format!("refused at {}", format_number(tokens)),
            None => "refused".to_owned(),
        },
        RecoveryEvent::Failed { .. } => "another error".to_owned(),
        RecoveryEvent::Compacted { entry } => {
            let path = &session.context.path;
            let place = path.iter().position(|ix| ix == entry);
            let before = place.and_then(|place| recorded_tokens_before(index, path, place));
            let file = index.entry(*entry).payload_number;
            match before.map(|before| before.tokens).or(Some(file).filter(|tokens| tokens.is_finite())) {
                Some(before) => format!("compacted, {} before", format_number(before)),
                None => "compacted".into(),
            }
        }
        RecoveryEvent::Prompted { .. } => "prompted again".to_owned(),
        RecoveryEvent::Rewritten { .. } => "written again, cut".to_owned(),
        RecoveryEvent::Answered { .. } => "answered".to_owned(),
    };
    at.map_or(what.clone(), |at| format!("{at} {what}"))
}
