//! Explanations in words, as the commands and the screen print them. The files next to this folder only fill in values.

mod advice;
mod aftermath;
mod document;
mod grounds;
mod guards;
mod large_prompt;
mod lineage;
mod mismeasured;
mod outlook;
mod unanswered;
mod verdict;

use crate::report::explain::facts::{Facts, Finding};
use crate::report::explain::finding::{Ground, VerdictFacts};

pub use document::{Question, advice_letter, error_message};
#[cfg(test)]
pub(super) use grounds::Described;
pub use grounds::Evidence;

impl Finding {
    /// Describes the finding in one line; the verdict also says whether a call overflowed.
    pub fn headline(&self) -> String {
        let line = self.facts.described().headline();
        let line = self.verdict.as_ref().map_or_else(|| line.clone(), |verdict| verdict.headline(&line));
        let is_unread = self.grounds.iter().any(|ground| matches!(ground, Ground::UnreadableConfig { .. }));
        if is_unread { format!("{line} (configuration unreadable)") } else { line }
    }

    /// Describes the observations behind the finding.
    pub fn evidence(&self) -> Vec<Evidence> {
        let size = self.verdict.as_ref().and_then(VerdictFacts::evidence);
        let grounds = self.grounds.iter().map(Ground::evidence);
        // The step of the verdict is the answer's second line.
        let step = self.step().filter(|_| self.verdict.is_none()).map(Evidence::new);
        size.into_iter().chain(self.facts.described().evidence()).chain(grounds).chain(step).collect()
    }

    /// Says what to do about it, without a setting.
    pub(super) fn step(&self) -> Option<String> {
        self.facts.described().step()
    }
}

impl Facts {
    fn described(&self) -> &dyn grounds::Described {
        match self {
            Self::LargePrompt(facts) => facts,
            Self::PruningInert(facts) => facts,
            Self::EngineOwned(facts) => facts,
            Self::Mismeasured(facts) => facts,
            Self::EstimatorError(facts) => facts,
            Self::StoredCounter(facts) => facts,
            Self::Aftermath(facts) => facts,
            Self::Outlook(facts) => facts,
            Self::Lineage(facts) => facts,
            Self::CacheMisses(facts) => facts,
            Self::Unanswered(facts) => facts,
        }
    }
}
