//! The values of any finding. Each topic declares its own next to the rules that find them.

use crate::report::explain::aftermath::Aftermath;
use crate::report::explain::cache_misses::CacheMisses;
use crate::report::explain::engine::EngineOwned;
use crate::report::explain::estimator::EstimatorError;
use crate::report::explain::finding::{Found, Numbers};
use crate::report::explain::guards::PruningInert;
use crate::report::explain::lineage::LineageFacts;
use crate::report::explain::mechanism::LargePrompt;
use crate::report::explain::mismeasured::Mismeasured;
use crate::report::explain::outlook::Outlook;
use crate::report::explain::stored_counter::StoredCounter;
use crate::report::explain::unanswered::UnansweredCalls;
use crate::report::explain::way_out::WayOut;

/// A finding of any topic.
pub type Finding = Found<Facts>;

#[derive(Debug, Clone, PartialEq)]
pub enum Facts {
    LargePrompt(LargePrompt),
    PruningInert(PruningInert),
    EngineOwned(EngineOwned),
    Mismeasured(Mismeasured),
    EstimatorError(EstimatorError),
    StoredCounter(StoredCounter),
    Aftermath(Aftermath),
    Outlook(Outlook),
    Lineage(LineageFacts),
    CacheMisses(CacheMisses),
    Unanswered(UnansweredCalls),
}

impl Finding {
    /// Returns the changes of the branch that end what was found, the smallest first.
    pub fn ways_out(&self) -> &[WayOut] {
        match &self.facts {
            Facts::Unanswered(facts) => &facts.ways_out,
            Facts::Lineage(facts) => facts.way_out().map_or(&[], std::slice::from_ref),
            Facts::LargePrompt(_)
            | Facts::PruningInert(_)
            | Facts::EngineOwned(_)
            | Facts::Mismeasured(_)
            | Facts::EstimatorError(_)
            | Facts::StoredCounter(_)
            | Facts::Aftermath(_)
            | Facts::Outlook(_)
            | Facts::CacheMisses(_) => &[],
        }
    }

    /// Returns the numbers for programs.
    pub fn numbers(&self) -> Numbers {
        match &self.facts {
            Facts::LargePrompt(facts) => facts.numbers(),
            Facts::Mismeasured(facts) => facts.numbers(),
            Facts::EstimatorError(facts) => facts.numbers(),
            Facts::StoredCounter(facts) => facts.numbers(),
            Facts::Aftermath(facts) => facts.numbers(),
            Facts::Outlook(facts) => facts.numbers(),
            Facts::Unanswered(facts) => facts.numbers(),
            Facts::Lineage(facts) => facts.numbers(),
            Facts::PruningInert(_) | Facts::EngineOwned(_) | Facts::CacheMisses(_) => Numbers::new(),
        }
    }
}
