//! Whether the recorded context is the one that clawscope builds, in one sentence for people and for JSON.

use crate::format::{format_count, format_number};
use crate::report::recorded_context::{RecordedContext, RecordingComparison, RunOutcome};

pub(super) fn describe_verdict(recorded: &RecordedContext) -> String {
    let run = match recorded {
        RecordedContext::NoRecording => return "No recording of this session was found.".to_owned(),
        RecordedContext::Unreadable(path) => {
            return format!("The recording is elsewhere: {}", path.display());
        }
        RecordedContext::NoRun => return "The recording contains no run of this session.".to_owned(),
        RecordedContext::Run(run) => run,
    };
    match &run.outcome {
        RunOutcome::NotCompiled => "The run ended before its context was built.".to_owned(),
        RunOutcome::LineTruncated(cut) => {
            let size = cut.bytes.map(|bytes| format!(": its line had {} bytes", format_number(bytes)));
            let limit = cut.limit.map(|limit| format!(" and the limit is {}", format_number(limit)));
            let rest = cut.recovered_messages.as_ref().map(|list| {
                format!(
                    ". The prompt that was sent began with {}",
                    format_count(list.total, "message", "messages")
                )
            });
            let parts = [size, limit, rest].into_iter().flatten().collect::<String>();
            format!("The recorder dropped the whole context{parts}.")
        }
        RunOutcome::NoMessageList => {
            "This run recorded no messages: they were dropped, or its harness records none.".to_owned()
        }
        RunOutcome::NoLeaf(id) => {
            format!("Different: the transcript has no entry {id}; the branch was rewritten since.")
        }
        RunOutcome::Compared(all) => describe_comparison(all),
    }
}

fn describe_comparison(all: &RecordingComparison) -> String {
    let recorded = format_count(all.recorded as u64, "message", "messages");
    let scope = if all.at_start > all.recorded as u64 {
        format!("{recorded} recorded of {} at the start", format_number(all.at_start))
    } else {
        format!("{recorded} recorded")
    };
    let verdict = all.verdict();
    let mut chars = verdict.chars();
    let first = chars.next().map(|char| char.to_ascii_uppercase());
    let verdict: String = first.into_iter().chain(chars).collect();
    format!("{verdict} · {scope} · {} rebuilt", format_number(all.rebuilt as u64))
}
