//! Findings about compactions and about the time after a refusal, in words.

use crate::format::{format_duration, format_estimate, format_number, quantity};
use crate::report::explain::aftermath::Aftermath;
use crate::report::explain::description::grounds::{Described, Evidence};

impl Described for Aftermath {
    fn headline(&self) -> String {
        match self {
            Self::RefusedAgain { id, .. } => format!("refused again right after compaction {id}"),
            Self::SummaryRefused { refusals, .. } => format!(
                "{} refused: the call that writes the summary is too large",
                quantity(refusals.len(), "compaction")
            ),
            Self::SummaryTimeout { failures, .. } => {
                format!("{} timed out", quantity(failures.len(), "compaction"))
            }
            Self::HollowSummary { number, .. } => {
                format!("compaction #{number} summarised nothing: its summary is empty")
            }
            Self::FreedNothing { number, turn_end: None, .. } => {
                format!("compaction #{number} freed nothing")
            }
            Self::FreedNothing { number, turn_end: Some(_), .. } => {
                format!("compaction #{number} freed nothing: this release counts summarised messages again")
            }
            Self::Premature(facts) => facts.headline(),
            Self::Stuck { idle_ms, .. } => {
                format!("the gateway did nothing about the refusal for {}", format_duration(*idle_ms))
            }
            Self::Moved { successor: Some(successor), .. } => {
                format!("key {} moved to session {} without a compaction", successor.key.0, successor.id)
            }
            Self::Moved { successor: None, .. } => "no session key points here since the refusal".to_owned(),
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        match self {
            Self::RefusedAgain { compaction, refusal, .. } => vec![
                Evidence::new("the branch ends with this compaction, so a second one has nothing to summarise")
                    .with_entries([*compaction])
                    .with_rule("compaction 3.1"),
                Evidence::new("the refusal after it").with_entries([*refusal]),
            ],
            Self::SummaryRefused { refusals, parent } => vec![
                Evidence::new(
                    "every retry exceeds the same window; compaction.mode safeguard sends the history in chunks",
                )
                .with_entries(refusals.iter().copied()),
                Evidence::new("branch from here to keep everything").with_entries(*parent),
            ],
            Self::SummaryTimeout { failures, error, .. } => vec![
                Evidence::new(error.as_str())
                    .with_entries(failures.iter().copied())
                    .with_rule("compaction 8.13"),
            ],
            Self::HollowSummary {
                compaction,
                messages: (before, after),
                first_summarised,
                parent,
                is_flushed,
                ..
            } => {
                let flush = if *is_flushed { "a memory flush ran" } else { "no memory flush ran" };
                let (before, after) = (quantity(*before, "message"), quantity(*after, "message"));
                vec![
                    Evidence::new(format!("{before} became {after}; the old branch still has all of them"))
                        .with_entries([*compaction])
                        .with_rule("compaction 5.14"),
                    Evidence::new(format!("{flush} before it")).with_rule("compaction 9.1"),
                    Evidence::new("the first entry it summarised").with_entries(*first_summarised),
                    Evidence::new("branch from here to get everything back").with_entries(*parent),
                ]
            }
            Self::FreedNothing { entries, estimated: (before, after), turn_end, .. } => {
                let (before, after) = (format_number(*before), format_number(*after));
                let why = turn_end.map(|check| {
                    let words = format!(
                        "after a turn of `openclaw agent` it counts {} of all {}, also of summarised ones; its budget is {}",
                        format_estimate(check.estimate.whole()),
                        quantity(check.messages, "message"),
                        format_number(check.budget.whole())
                    );
                    Evidence::new(words).with_rule("releases R73")
                });
                let freed = Evidence::new(format!("~{before} tokens before, ~{after} after"))
                    .with_entries(entries.iter().copied())
                    .with_rule("compaction 3.6");
                [freed].into_iter().chain(why).collect()
            }
            Self::Premature(facts) => facts.evidence(),
            Self::Stuck { refusal, is_recovered, .. } => {
                let missing = if *is_recovered {
                    "no compaction followed this refusal in that time"
                } else {
                    "no compaction entry follows this refusal"
                };
                vec![Evidence::new(missing).with_entries([*refusal]).with_rule("compaction 8.12")]
            }
            Self::Moved { entries, leaf, .. } => {
                let entries = quantity(*entries, "entry");
                let intact = format!("this branch of {entries} is intact; you can fork it here");
                vec![Evidence::new(intact).with_entries(*leaf)]
            }
        }
    }

    fn step(&self) -> Option<String> {
        match self {
            Self::Premature(facts) => facts.step(),
            Self::FreedNothing { turn_end: Some(_), .. } => Some(
                "Update to 2026.8.1 or later, or start a new session (/new): settings do not end it."
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EntryIx;
    use crate::units::Millis;

    #[test]
    fn a_refusal_that_a_late_compaction_answered_is_not_said_to_have_none() {
        let said = |is_recovered: bool| {
            let stuck = Aftermath::Stuck { refusal: EntryIx(3), idle_ms: Millis(1_200_000.0), is_recovered };
            assert_eq!(stuck.headline(), "the gateway did nothing about the refusal for 20m");
            stuck.evidence().remove(0).text
        };
        assert_eq!(said(false), "no compaction entry follows this refusal");
        assert_eq!(said(true), "no compaction followed this refusal in that time");
    }
}
