//! The grounds of a verdict in words.

use crate::format::{format_number, format_short, format_size, quantity, round_tokens};
use crate::ids::EntryIx;
use crate::report::cache_ledger::{MissCause, format_extra_cost};
use crate::report::explain::facts::{CacheMisses, CauseOfMisses};
use crate::report::explain::finding::Ground;
use crate::report::explain::premature::{PrematureCause, PrematureCompactions};

impl Ground {
    pub(super) fn evidence(&self) -> Evidence {
        match self {
            Self::UnreadableConfig { error } => Evidence::new(format!(
                "the configuration cannot be read, so the defaults are assumed and every number here may be \
                 off: {error}"
            )),
            Self::Unreproduced { recorded, replayed } => Evidence::new(format!(
                "a replay with today's settings has {} where {} {} recorded: the changes below are compared with it",
                quantity(*replayed, "overflow"),
                recorded,
                if *recorded == 1 { "was" } else { "were" }
            )),
            Self::BareStatus { provider, documented: Some(limit) } => Evidence::new(format!(
                "the refusal is a status without text; {provider} documents requests of at most {}",
                format_size(*limit)
            ))
            .with_rule("overflow-texts 5.1"),
            Self::BareStatus { provider, documented: None } => Evidence::new(format!(
                "the refusal is a status without text, and no limit in bytes is known of {provider}: it may be for bytes \
                 or for tokens"
            ))
            .with_rule("overflow-texts 5.1"),
            Self::UnknownWords { requested, limit } => Evidence::new(format!(
                "clawscope does not know the words of the refusal; {} in them is the size of this prompt, so {} is taken \
                 for the limit",
                format_number(*requested),
                format_number(*limit)
            ))
            .with_rule("releases R78"),
            Self::AssumedWindow { model, window, list: Some(list) } => Evidence::new(format!(
                "nothing in the store names the window of {model}; {} is from the model list of {list}",
                format_number(window.whole())
            ))
            .with_rule("releases R76"),
            Self::AssumedWindow { model, window, list: None } => Evidence::new(format!(
                "the window of {model} is unknown: no setting, row, answer or list names it; the gateway \
                 would assume {}",
                format_number(window.whole())
            ))
            .with_rule("compaction 7.3"),
            Self::SmallerThanAnswered { believed, source, answered } => Evidence::new(format!(
                "the gateway believes {} ({}), but the provider answered a prompt of {}: it serves more",
                format_number(believed.whole()),
                source.label(),
                format_number(answered.whole())
            )),
            Self::CappedWindow { cap, window, moves_preflight } => Evidence::new(format!(
                "contextTokens {} limits pruning{}; the runtime's own trigger follows the window of {}",
                format_number(cap.whole()),
                if *moves_preflight {
                    ", tool results and the compaction before a chat turn"
                } else {
                    " and tool results"
                },
                format_number(window.whole())
            ))
            .with_rule("compaction 2.8"),
        }
    }
}

/// One observation in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The observation, with its numbers.
    pub text: String,
    /// The entries that show it; a screen jumps to the first.
    pub entries: Vec<EntryIx>,
    /// The rule behind it, such as `pruning 4.2`; empty for a plain count.
    pub rule: &'static str,
}

impl Evidence {
    /// Creates a line without entries or a rule.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), entries: Vec::new(), rule: "" }
    }

    /// Sets the entries that show it.
    #[must_use]
    pub(super) fn with_entries(self, entries: impl IntoIterator<Item = EntryIx>) -> Self {
        Self { entries: entries.into_iter().collect(), ..self }
    }

    /// Sets the rule behind it.
    #[must_use]
    pub(super) fn with_rule(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }
}

/// The values of a finding that can be put into words.
pub(in crate::report::explain) trait Described {
    /// Describes the problem in one line.
    fn headline(&self) -> String;

    /// Describes the observations behind it.
    fn evidence(&self) -> Vec<Evidence>;

    /// Says what to do, as a sentence, where the values tell it and no setting was tried.
    fn step(&self) -> Option<String> {
        None
    }
}

impl Described for CacheMisses {
    fn headline(&self) -> String {
        let extra = self.totals.describe_extra_cost().unwrap_or_default();
        let cause = match self.worst_cause {
            MissCause::Pause => "long pauses",
            cause => cause.label(),
        };
        format!("Cache misses are most of the cost of all branches: {extra}. Main cause: {cause}.")
    }

    fn evidence(&self) -> Vec<Evidence> {
        self.causes.iter().map(describe_cause).collect()
    }
}

fn describe_cause(cause: &CauseOfMisses) -> Evidence {
    let cost = format_extra_cost(&cause.count.cost).map(|cost| format!(", {cost}")).unwrap_or_default();
    let text = format!(
        "{}: {}, {} tokens not read{cost}",
        cause.cause.label(),
        quantity(cause.count.calls, "call"),
        format_number(round_tokens(cause.count.tokens))
    );
    Evidence::new(text).with_entries(cause.entries.iter().copied())
}

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
