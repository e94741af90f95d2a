//! Texts of a recovery, with the numbers that the rules compared.

use std::fmt::Write as _;

use crate::context::tokens_before::recorded_tokens_before;
use crate::format::{format_number, minute, quantity};
use crate::gateway::compaction::CompactionMode;
use crate::policy::recovery::{
    CompactionCaller, CompactionOutcome, Ending, ErrorSource, GiveUpReason, MAX_ATTEMPTS, RecoveryStep,
};
use crate::report::recovery::{RecoveryEvent, RefusedCall};
use crate::session::LoadedSession;
use crate::units::{Chars, Tokens};

/// Returns a short label and the explanation of a step.
pub(super) fn describe_step(session: &LoadedSession, policy: &RecoveryStep) -> (String, String) {
    match policy {
        RecoveryStep::Refused { .. } => (
            "the prompt is refused".into(),
            "An estimate that assumes that the refused prompt was just above the limit.".into(),
        ),
        RecoveryStep::Retried => (
            "retried up to 3 times".into(),
            "The runtime treats this as a temporary error and retries after 2, 4 and 8 seconds.".into(),
        ),
        RecoveryStep::Compaction { caller: by, outcome } => describe_compaction(session, *by, *outcome),
        RecoveryStep::RunAgain => (
            "the gateway runs the prompt again".into(),
            format!(
                "The run has already compacted, or tried to, so the gateway only runs the prompt again, at most {MAX_ATTEMPTS} times."
            ),
        ),
        RecoveryStep::Truncation { limit, cut, loses_kept } => {
            describe_truncation(*limit, cut.len(), *loses_kept)
        }
        RecoveryStep::NothingOversized { limit, largest } => (
            "no tool result is oversized".into(),
            format!(
                "The limit for a result is {}; the largest has {}.",
                quantity(*limit, "char"),
                format_number(*largest)
            ),
        ),
        RecoveryStep::Answered { .. } => (
            "the prompt fits".into(),
            format!("An estimate; {}. The run continues.", session.assumed_summary().description()),
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
        CompactionOutcome::Off => (format!("no compaction {who}: turned off"), "compaction.enabled is false in the runtime's settings.".into()),
        CompactionOutcome::NotRecognised => (
            format!("no compaction {who}: not recognised"),
            "The runtime's list of overflow messages does not contain this text, so it handles it as an ordinary error.".into(),
        ),
        CompactionOutcome::OtherModel => (
            format!("no compaction {who}: other model"),
            "The refused call used another model than the session uses now.".into(),
        ),
        CompactionOutcome::TooOld => (
            format!("no compaction {who}: too old"),
            "The refused call is older than the latest compaction.".into(),
        ),
        CompactionOutcome::LeftToGateway => (
            format!("no compaction {who}: left to the gateway"),
            "The runtime of this release leaves overflows to the gateway, which compacts after the run.".into(),
        ),
        CompactionOutcome::Repeated => (
            format!("no second compaction {who}"),
            "The runtime compacts after a refusal once in a run; a second refusal ends the run.".into(),
        ),
        CompactionOutcome::AlreadyCompacted => (
            format!("compaction {who}: already compacted"),
            "The branch ends with a compaction, so there is nothing after it to summarise.".into(),
        ),
        CompactionOutcome::NothingToCompact => (
            format!("compaction {who}: nothing to compact"),
            "The kept part must start at an entry with an id, and there is no such entry.".into(),
        ),
        CompactionOutcome::Cancelled { turns } => {
            (format!("compaction {who}: cancelled"), describe_cancelled(session, turns))
        }
        CompactionOutcome::Throws => (
            format!("compaction {who}: fails"),
            "The runtime cannot measure one message of the branch.".into(),
        ),
        CompactionOutcome::SummaryTooLarge { tokens } => {
            (format!("compaction {who}: the summary call is too large"), describe_large_summary_call(session, tokens))
        }
        CompactionOutcome::Done { kept_tokens, .. } if outcome.frees_nothing() => (
            format!("compacted {who}: nothing to summarise"),
            describe_nothing_summarized(session, kept_tokens),
        ),
        CompactionOutcome::Done { merges_summary, kept_tokens, lost, request_kept, .. } => {
            let summarised = format_number(outcome.summarised_messages() as f64);
            (
                format!("compacted {who}: {summarised} summarised"),
                describe_compacted(session, kept_tokens, lost, (request_kept, merges_summary)),
            )
        }
    };
    (words, why)
}

fn describe_large_summary_call(session: &LoadedSession, tokens: Tokens) -> String {
    let tokens = quantity(tokens.get().round(), "token");
    let mut why = format!("The runtime summarises the history in one call, and ~{tokens} do not fit either.");
    if session.limits.is_gateway_run {
        why.push_str(" compaction.mode safeguard would send it in chunks.");
    }
    why
}

fn describe_cancelled(session: &LoadedSession, turns: usize) -> String {
    let keep = format_number(session.configured_settings.compaction.keep_recent_tokens);
    let kept = match turns {
        0 | 1 => "the branch is one long turn".to_owned(),
        turns => format!("keepRecentTokens {keep} keeps all {}", quantity(turns as f64, "turn")),
    };
    format!(
        "The part to summarise would have no user, assistant or tool message: {kept}. The safeguard then cancels."
    )
}

/// A compaction that summarises no message is still written, and frees nothing.
fn describe_nothing_summarized(session: &LoadedSession, kept_tokens: Tokens) -> String {
    format!(
        "keepRecentTokens {1} keeps all ~{0}, so the compaction frees nothing.",
        quantity(kept_tokens, "token"),
        format_number(session.configured_settings.compaction.keep_recent_tokens)
    )
}

fn describe_compacted(
    session: &LoadedSession,
    kept_tokens: Tokens,
    lost: usize,
    (request_kept, merges_summary): (bool, bool),
) -> String {
    let how = match session.limits.compaction_mode {
        CompactionMode::Safeguard => "in chunks, by the safeguard",
        CompactionMode::Default => "in one call, by the runtime",
    };
    let mut why = format!(
        "Summarised {how}{}. The newest ~{} stay; keepRecentTokens is {}.",
        if merges_summary { ", the earlier summary included" } else { "" },
        quantity(kept_tokens, "token"),
        format_number(session.configured_settings.compaction.keep_recent_tokens)
    );
    if !request_kept {
        why.push_str(" Your last request is only in the summary.");
    }
    if lost > 0 {
        let were = if lost == 1 { "was" } else { "were" };
        _ = write!(
            why,
            " {} that the previous compaction had kept {were} neither summarised nor kept: lost.",
            quantity(lost as f64, "message")
        );
    }
    why
}

fn describe_truncation(limit: Chars, cut: usize, loses_kept: bool) -> (String, String) {
    let mut why = format!(
        "Results over {} are cut, and the branch is rewritten from before the first one. This happens only once.",
        quantity(limit, "char")
    );
    if loses_kept {
        why.push_str(" The copied compaction refers to an id of the old branch, so the messages that it kept are lost.");
    }
    (format!("{} cut in the file", quantity(cut as f64, "tool result")), why)
}

/// Returns the label and the reply of an ending.
pub(super) fn describe_ending(ending: Ending) -> (String, String) {
    let words = match ending {
        Ending::Answered => "the run goes on",
        Ending::RawError => "the error itself is the reply",
        Ending::EarlierAnswer => "the run ends with the answer before",
        Ending::LeftToPerson => "the error stays in the session",
        Ending::GaveUp { reset: true, .. } => "given up: the chat starts a new session",
        Ending::GaveUp { kind: GiveUpReason::CompactionFailure, .. } => "given up: a compaction failed",
        Ending::GaveUp { .. } => "given up: the prompt is too large",
    };
    let why = match ending {
        Ending::Answered => "The chat shows only the answer.".to_owned(),
        Ending::RawError => {
            "The gateway does not recognise this text as an overflow, so it tries nothing.".to_owned()
        }
        Ending::EarlierAnswer => {
            "The compaction took the refused answer out of the run before it failed, so the gateway finds the answer \
             before it and sees no overflow."
                .to_owned()
        }
        Ending::LeftToPerson => "pi tries nothing else; compact yourself or start a new session.".to_owned(),
        Ending::GaveUp { .. } => {
            format!("The chat shows: {}", ending.reply().unwrap_or_default().replace("\n\n", " "))
        }
    };
    (words.to_owned(), why)
}

/// Describes the error text, and which components recognise it as an overflow.
pub(super) fn describe_refused_call(session: &LoadedSession, refusal: &RefusedCall) -> String {
    if refusal.source == ErrorSource::Silent {
        return format!(
            "No error: the prompt of the answer exceeds the window of {}.",
            format_number(session.limits.runtime_window)
        );
    }
    let text = refusal.shown_text();
    let seen = |by: bool, who: &'static str| by.then_some(who);
    let is_pi = session.ruleset.id.is_pi();
    let detection = refusal.detection;
    let by: Vec<&str> = [
        seen(detection.in_run, if is_pi { "pi" } else { "the runtime" }),
        seen(detection.likely, "the gateway loop"),
        seen(detection.overflow, "the chat"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let by = if by.is_empty() { "nobody".to_owned() } else { join_with_and(&by) };
    if text.is_empty() {
        return format!("The gateway kept no error; the compaction after it shows one. Recognised by {by}.");
    }
    let message = if refusal.entry.is_some() { "The error" } else { "This provider's text" };
    format!("{message}: {text} — recognised as an overflow by {by}.")
}

fn join_with_and(names: &[&str]) -> String {
    match names {
        [first @ .., before, last] if !first.is_empty() => {
            format!("{}, {before} and {last}", first.join(", "))
        }
        _ => names.join(" and "),
    }
}

/// Describes an event of the transcript.
pub(super) fn describe_event(session: &LoadedSession, recorded: &RecoveryEvent) -> String {
    let index = &session.index;
    let entry = recorded.entry().map(|ix| index.entry(ix));
    let at = entry.and_then(|entry| minute(entry.time_ms));
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
            match before
                .map(|before| before.tokens)
                .or(Some(Tokens(file)).filter(|tokens| tokens.is_finite()))
            {
                Some(before) => format!("compacted, {} before", format_number(before)),
                None => "compacted".into(),
            }
        }
        RecoveryEvent::Prompted { .. } => "prompted again".to_owned(),
        RecoveryEvent::Rewritten { .. } => "rewritten with cut results".to_owned(),
        RecoveryEvent::Answered { .. } => "answered".to_owned(),
    };
    at.map_or(what.clone(), |at| format!("{at} {what}"))
}
