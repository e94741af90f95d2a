//! The sentences that only the verdict has: how often the session overflowed, and the size of the failing prompt.

use crate::format::{format_number, format_short_tokens};
use crate::report::explain::description::grounds::Evidence;
use crate::report::explain::failure::LimitOrigin;
use crate::report::explain::finding::{FailedPrompt, OverflowFacts, VerdictFacts, VerdictRemark};

/// The longest headline, in chars.
const MAX_HEADLINE_CHARS: usize = 100;

impl VerdictFacts {
    /// Turns the line of a finding into the headline of the answer.
    pub(super) fn headline(&self, line: &str) -> String {
        match self {
            Self::Overflow(overflow) => overflow.headline(line),
            Self::NoOverflow => shorten(&capitalise(line)),
        }
    }

    /// Describes the observations that precede those of the finding.
    pub(super) fn evidence(&self) -> Option<Evidence> {
        match self {
            Self::Overflow(overflow) => Some(overflow.prompt.evidence()),
            Self::NoOverflow => None,
        }
    }
}

impl OverflowFacts {
    /// Builds `Overflowed 2x: …. Compaction was …`, with the second sentence if it fits.
    fn headline(&self, line: &str) -> String {
        let head = match (self.by_gateway, self.count) {
            (1, 1) => "Refused by the gateway".to_owned(),
            (_, 1) => "Overflowed".to_owned(),
            (0, count) => format!("Overflowed {count}x"),
            (own, count) if own == count => format!("Refused {count}x by the gateway"),
            (_, count) => format!("Overflowed {count}x, at last refused by the gateway"),
        };
        let first = format!("{head}: {line}.");
        let remark = self.remark.map(|remark| format!(" {}", remark.description())).unwrap_or_default();
        let both = format!("{first}{remark}");
        let shown = if both.chars().count() <= MAX_HEADLINE_CHARS { both } else { first };
        shorten(&shown)
    }
}

impl VerdictRemark {
    /// Says what to do about a message that never fits, or why compaction did not help.
    fn description(self) -> String {
        match self {
            Self::ReplyReserved { tokens } => {
                format!("The reply reserves {} more.", format_number(tokens))
            }
            Self::SplitMessage => "Send it in parts or as a file.".to_owned(),
            Self::CompactionNotDue { missing_tokens, is_estimate } => {
                let tokens = format_short_tokens(missing_tokens, !is_estimate);
                format!("Compaction was still {tokens} away.")
            }
            Self::CompactionFailed => "Compaction was due and failed.".to_owned(),
        }
    }
}

impl FailedPrompt {
    /// Describes the refused tokens, the source of the limit, and the gateway's own estimate.
    fn evidence(&self) -> Evidence {
        let accepted = self
            .last_accepted
            .map(|tokens| format!("; last accepted: {}", format_number(tokens)))
            .unwrap_or_default();
        let model = self.other_model.as_ref();
        let model = model.map(|(host, id)| format!("; the call went to {host}/{id}")).unwrap_or_default();
        let text = format!(
            "{} tokens, limit {} ({}){accepted}; the gateway estimated ~{}{model}",
            self.size.description(),
            format_number(self.limit),
            self.limit_origin.description(),
            format_number(self.gateway_estimate),
        );
        Evidence::new(text).with_entries([self.entry]).with_rule("compaction 8.8")
    }
}

impl LimitOrigin {
    fn description(self) -> String {
        match self {
            Self::Stated { by } => format!("according to {by}"),
            Self::GatewayBudget => "the gateway's budget: the window minus the reserve".to_owned(),
            Self::AssumedWindow => "the window that the gateway assumes".to_owned(),
            Self::Inferred => "inferred from the calls that were accepted or refused".to_owned(),
        }
    }
}

fn shorten(line: &str) -> String {
    if line.chars().count() <= MAX_HEADLINE_CHARS {
        return line.to_owned();
    }
    line.chars().take(MAX_HEADLINE_CHARS - 1).chain(['…']).collect()
}

fn capitalise(line: &str) -> String {
    let mut chars = line.chars();
    let first = chars.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}", chars.as_str())
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
