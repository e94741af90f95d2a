//! A compaction whose summary holds nothing of what it stands for.

use crate::explain::case::Case;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{count, exact};

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let hollow: Vec<(usize, _)> =
        case.compactions.iter().enumerate().filter(|(_, compaction)| compaction.hollow).collect();
    let (number, last) = *hollow.last()?;
    let index = &case.inspection.index;
    let from = last.first_summarised.map_or_else(|| "its beginning".to_owned(), |ix| index.name(ix));
    let parent = case.inspection.tree.parent(last.entry);
    let before = parent.map_or_else(
        || "before the compaction".to_owned(),
        |ix| format!("entry {}, right before it", index.name(ix)),
    );
    let several = match hollow.len() {
        1 => String::new(),
        several => format!(" ({} of {} are)", several, case.compactions.len()),
    };
    let line = format!(
        "Compaction #{} kept no content{several}: its summary is an empty form of {} chars; the history from entry {from} on is gone from the context but still on disk - branch from {before}",
        number + 1,
        exact(last.summary_chars as u64),
    );
    // One of long ago is a loss, but not what fails now.
    let newest = number + 1 == case.compactions.len();
    let confidence = if newest || case.failure.is_none() { Confidence::Sure } else { Confidence::Possible };
    let text = format!(
        "{} of the context became {}",
        count(last.messages.0, "message"),
        count(last.messages.1, "message")
    );
    Some(
        Finding::new(Class::CompactionHollow, confidence, line)
            .by("compaction 5.14")
            .seen(Evidence::new(text).at([last.entry]).by("compaction 5.14"))
            .seen(Evidence::new("the first entry that was summarised").at(last.first_summarised))
            .seen(Evidence::new("the last entry before it: a branch from here has everything").at(parent))
            .number("hollow", hollow.len() as f64)
            .number("compactions", case.compactions.len() as f64)
            .number("summaryChars", last.summary_chars as f64),
    )
}
