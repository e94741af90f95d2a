//! The grounds of a verdict in words.

use crate::format::{format_number, format_size, quantity};
use crate::report::explain::description::evidence::Evidence;
use crate::report::explain::finding::Ground;

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
