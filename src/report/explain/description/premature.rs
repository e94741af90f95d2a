//! Compactions far below their trigger, in words.

use crate::format::{format_number, format_short, quantity};
use crate::report::explain::description::evidence::{Described, Evidence};
use crate::report::explain::premature::{PrematureCause, PrematureCompactions};

impl Described for PrematureCompactions {
    fn headline(&self) -> String {
        let times = if self.entries.len() > 1 { format!(" {}x", self.entries.len()) } else { String::new() };
        let (tokens, trigger) = (format_short(self.tokens), format_short(self.trigger));
        let cause = match &self.cause {
            PrematureCause::Error { .. } => "the gateway took an error for an overflow".to_owned(),
            PrematureCause::ByteGuard { .. } => "the file exceeds maxActiveTranscriptBytes".to_owned(),
            PrematureCause::StoredCounter(stored) => {
                format!("the stored counter says {}", format_number(stored.whole()))
            }
            PrematureCause::Unexplained { .. } => "not the size of the prompt started it".to_owned(),
        };
        format!("compacted{times} at {tokens}, far below the trigger {trigger}: {cause}")
    }

    fn evidence(&self) -> Vec<Evidence> {
        let size = format!(
            "the context had at most {} tokens; compaction starts above {}",
            format_number(self.tokens),
            format_number(self.trigger)
        );
        let size = Evidence::new(size).with_entries(self.entries.iter().copied()).with_rule("compaction 2.7");
        let flushed = format!(
            "a memory flush ran before {} of {}",
            format_number(self.flushed as u64),
            quantity(self.entries.len(), "compaction")
        );
        let flushed = Evidence::new(flushed).with_rule("compaction 9.1");
        std::iter::once(size).chain(self.cause.evidence()).chain([flushed]).collect()
    }

    fn step(&self) -> Option<String> {
        let step = match self.cause {
            PrematureCause::Error { .. } => {
                "Look for the cause at the provider: no setting for tokens helps."
            }
            PrematureCause::ByteGuard { .. } => {
                "Raise or remove compaction.maxActiveTranscriptBytes, and check that the session record names the newest file."
            }
            PrematureCause::StoredCounter(_) => "/new starts with a counter of 0.",
            PrematureCause::Unexplained { .. } => return None,
        };
        Some(step.to_owned())
    }
}

impl PrematureCause {
    fn evidence(&self) -> Vec<Evidence> {
        match self {
            Self::Error { entry, text } => vec![
                Evidence::new(format!("the provider answered “{text}”, which says nothing about size"))
                    .with_entries([*entry]),
            ],
            Self::ByteGuard { limit, file } => vec![
                Evidence::new(format!(
                    "compaction.maxActiveTranscriptBytes allows {} bytes; the file has {}",
                    format_number(limit.get()),
                    format_number(file.get())
                ))
                .with_rule("compaction 12"),
            ],
            Self::StoredCounter(stored) => vec![Evidence::new(format!(
                "the session record counts {} tokens, more than any prompt had",
                format_number(stored.whole())
            ))],
            Self::Unexplained { limit: None, .. } => {
                vec![Evidence::new(
                    "nothing in the store says what started them: a person, a plugin or a client",
                )]
            }
            Self::Unexplained { limit: Some(limit), file } => vec![Evidence::new(format!(
                "compaction.maxActiveTranscriptBytes allows {} bytes; this file has {}, so look at its successors",
                format_number(limit.get()),
                format_number(file.get())
            ))],
        }
    }
}
