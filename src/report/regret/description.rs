//! A regret in words, as the command, the screen and the sweep print it.

use super::{Need, NeedKind, RegretTotals};
use crate::format::{
    format_count, format_estimate, format_estimated_usd, format_number, format_short_estimate, quantity,
    round_tokens,
};
use crate::units::Tokens;

impl RegretTotals {
    /// Describes the losses of the prompts, and those that were needed again.
    pub fn describe(&self) -> String {
        if self.lost == 0 {
            return "nothing was cleared, cut or summarised, so nothing was needed again".to_owned();
        }
        let lost = format!(
            "{} cleared, cut or summarised ({} tokens)",
            quantity(self.lost, "message"),
            format_estimate(round_tokens(self.lost_tokens))
        );
        if self.needed == 0 {
            return format!("{lost}; none was needed again, so it cost you nothing");
        }
        let part = |count: usize, kind: NeedKind| {
            (count > 0).then(|| format!("{} {}", format_number(count as u64), kind.label()))
        };
        let parts = [
            part(self.fetched_again, NeedKind::FetchedAgain),
            part(self.quoted, NeedKind::Quoted),
            part(self.asked_again, NeedKind::AskedAgain),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let repeated = match self.cost.map(format_estimated_usd) {
            _ if self.tokens <= Tokens::ZERO => String::new(),
            cost => {
                let cost = cost.map(|cost| format!(", {cost}")).unwrap_or_default();
                format!(" ({} tokens repeated{cost})", format_estimate(round_tokens(self.tokens)))
            }
        };
        let needed = format_count(self.needed as u64, "was", "were");
        format!("{lost}; {needed} needed again: {}{repeated}", parts.join(", "))
    }

    /// Describes the needs in a table cell: `3 · ~8.2k`, or `0` if nothing was needed again.
    pub fn describe_short(&self) -> String {
        let needed = format_number(self.needed as u64);
        if self.tokens <= Tokens::ZERO {
            needed
        } else {
            format!("{needed} · {}", format_short_estimate(round_tokens(self.tokens)))
        }
    }
}

impl Need {
    /// Describes time and price of a need: `fetched again 14 calls later, ~8.2k tokens, ~$0.04`.
    pub fn describe(&self) -> String {
        let words = format!("{} {}", self.kind.label(), self.describe_distance());
        if self.kind != NeedKind::FetchedAgain {
            return words;
        }
        let tokens = format_short_estimate(round_tokens(self.tokens));
        let cost = self.cost.map(|usd| format!(", {}", format_estimated_usd(usd))).unwrap_or_default();
        format!("{words}, {tokens} tokens{cost}")
    }

    /// Describes the calls since the message was lost: `14 calls later`.
    pub fn describe_distance(&self) -> String {
        match self.distance {
            0 => "at once".to_owned(),
            calls => format!("{} later", quantity(calls, "call")),
        }
    }
}
