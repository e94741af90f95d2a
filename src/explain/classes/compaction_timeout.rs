//! Summaries that take longer than the gateway waits for them.

use crate::explain::case::{Case, OtherError};
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{count, exact};
use crate::ids::EntryIx;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let late: Vec<&OtherError> = case.errors.iter().filter(|error| is_late(&error.text)).collect();
    let last = late.last()?;
    let written = case.compactions.len();
    let tried = late.len() + written;
    let line = format!(
        "{} of {} failed because the summary came too late; the context stays as large as it is - give the summary a faster model, or less at a time",
        exact(late.len() as u64),
        count(tried, "compaction"),
    );
    // None was written since, so nothing made up for it.
    let last_word = case.compactions.iter().all(|it| it.entry < last.entry);
    let confidence = if last_word { Confidence::Sure } else { Confidence::Possible };
    let entries: Vec<EntryIx> = late.iter().map(|error| error.entry).collect();
    let words: String = last.text.chars().take(160).collect();
    Some(
        Finding::new(Class::CompactionTimeout, confidence, line)
            .by("compaction 8.13")
            .seen(Evidence::new(format!("the last one said: {words}")).at(entries).by("compaction 8.13"))
            .number("failed", late.len() as f64)
            .number("written", written as f64),
    )
}

/// Whether the words tell of a compaction that ran out of time.
fn is_late(text: &str) -> bool {
    let text = text.to_lowercase();
    let compaction = ["compact", "summariz", "summaris"].iter().any(|word| text.contains(word));
    compaction && ["timed out", "timeout", "time out"].iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::is_late;

    #[test]
    fn only_a_compaction_out_of_time_is_one() {
        assert!(is_late("Compaction timed out") && is_late("Summarization failed: request timeout"));
        assert!(!is_late("request timed out") && !is_late("Auto-compaction failed: overloaded"));
    }
}
