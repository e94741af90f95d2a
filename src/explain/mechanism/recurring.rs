//! The same job run in one session again and again: every run pays for all runs before it. Only texts that are really the
//! same count; an equal length proves nothing.

use std::collections::HashMap;

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::finding::Class;
use crate::explain::mechanism::Mechanism;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::store::body;

/// Runs below which nothing recurs.
const LEAST_RUNS: usize = 5;
/// Share of the person's messages that must be the same.
const SAME: f64 = 0.6;
/// Letters below which messages are the same by chance.
const LEAST_LETTERS: usize = 16;
/// Names that dates are written with.
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
/// Messages that are compared, the newest first.
const MOST: usize = 400;

pub(super) fn recurring(case: &Case<'_>, failure: &Failure) -> Option<Mechanism> {
    let asked = case.asked();
    let mut by_text: HashMap<String, Vec<EntryIx>> = HashMap::new();
    let compared = asked.len().min(MOST);
    for ix in asked.into_iter().rev().take(MOST) {
        let text = text(case, ix).map(|text| normalised(&text)).unwrap_or_default();
        if text.len() >= LEAST_LETTERS {
            by_text.entry(text).or_default().push(ix);
        }
    }
    let same = by_text.into_values().max_by_key(Vec::len)?;
    let recurs = same.len() >= LEAST_RUNS && same.len() as f64 >= SAME * compared as f64;
    recurs.then(|| Mechanism {
        class: Class::RecurringSessionGrowth,
        tokens: failure.requested.saturating_sub(failure.fixed) as f64,
        count: same.len(),
        entries: same,
    })
}

fn text(case: &Case<'_>, ix: EntryIx) -> Option<String> {
    let message = body::message(&case.inspection.source, &case.inspection.index, ix).ok()??;
    let content = message.get("content")?;
    let blocks = content.as_array().unwrap_or_default().iter().filter_map(|block| block.get("text"));
    let texts = std::iter::once(content).chain(blocks).filter_map(Value::as_str);
    Some(texts.map(|text| text.to_string_lossy()).collect::<Vec<_>>().join(" "))
}

/// Words of letters alone, in lower case and without the names of days and months: what stamps and counts every run anew is
/// left out.
fn normalised(text: &str) -> String {
    let words = text.split(|char: char| !char.is_alphabetic()).filter(|word| !word.is_empty());
    let words = words.map(str::to_lowercase).filter(|word| !is_of_date(word));
    words.collect::<Vec<_>>().join(" ")
}

fn is_of_date(word: &str) -> bool {
    let named = DAYS_AND_MONTHS.iter().any(|name| word == *name || word == &name[..3]);
    named || ["am", "pm", "utc", "gmt", "t", "z"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::normalised;

    #[test]
    fn dates_and_numbers_do_not_make_another_job() {
        let one = normalised("[cron:4 digest] Summarise the night. Time: 2026-03-01 07:00");
        assert_eq!(one, normalised("[cron:4 digest] Summarise the night. Time: 2026-03-02 07:00"));
        assert_ne!(one, normalised("[cron:4 digest] Summarise the day. Time: 2026-03-02 07:00"));
    }
}
