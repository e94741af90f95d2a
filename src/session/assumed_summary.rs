//! The length that the next summary of a session is assumed to have until it is made (compaction 5.21). Plans, replays,
//! recoveries and the list of settings all assume it.

use crate::format::quantity;
use crate::gateway::registry::Provenance;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::policy::compact::assumed_summary_tokens;
use crate::policy::settings::SettingId;
use crate::session::LoadedSession;
use crate::store::entry::EntryKind;
use crate::units::{Chars, Tokens};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AssumedSummary {
    pub tokens: Tokens,
    /// Whether it is the average of the branch's earlier summaries, not a fixed assumption.
    pub is_average: bool,
}

/// The origin of an average.
pub const EARLIER_SUMMARIES: &str = "average of this session's earlier summaries";

impl AssumedSummary {
    /// Takes the chars of the earlier summaries and the compaction's reserve.
    pub fn new(earlier_chars: &[Chars], reserve_tokens: Tokens) -> Self {
        Self {
            tokens: assumed_summary_tokens(earlier_chars, reserve_tokens),
            is_average: !earlier_chars.is_empty(),
        }
    }

    pub fn description(&self) -> String {
        let tokens = quantity(self.tokens.whole() as f64, "token");
        let origin = if self.is_average { format!(", the {EARLIER_SUMMARIES}") } else { String::new() };
        format!("the summary is assumed to have {tokens}{origin}")
    }
}

impl LoadedSession {
    /// Returns the assumption under the configured reserve.
    pub fn assumed_summary(&self) -> AssumedSummary {
        self.assumed_summary_with(self.configured_settings.compaction.reserve_tokens)
    }

    /// Returns the assumption under another reserve.
    pub fn assumed_summary_with(&self, reserve_tokens: Tokens) -> AssumedSummary {
        let index = &self.index;
        let is_summary = |ix: &EntryIx| index.entry(*ix).kind == EntryKind::Compaction;
        let summaries = self.context.entries_since_reset(index).into_iter().filter(is_summary);
        let chars =
            summaries.filter_map(|ix| index.entry(ix).message).map(|size| size.pi_chars.whole_chars());
        AssumedSummary::new(&chars.filter(|chars| *chars > Chars::ZERO).collect::<Vec<_>>(), reserve_tokens)
    }

    /// Makes the assumption the value in force of `compaction.summaryTokens`.
    pub(super) fn assume_summary_length(&mut self) {
        let assumed = self.assumed_summary();
        self.configured_settings.summary_tokens = assumed.tokens.whole();
        let mut rows = self.setting_rows.iter_mut();
        if let Some(row) = rows.find(|row| row.setting.id == SettingId::SummaryTokens) {
            row.setting.value = Value::from(assumed.tokens.whole());
            if assumed.is_average {
                row.setting.provenance =
                    Provenance::Rule { rule: "compaction 5.21", why: EARLIER_SUMMARIES.to_owned() };
            }
        }
    }
}
