//! The recovery of a session: what the gateway would try after its last overflow, or if the next call overflowed,
//! and what the transcript shows of it (compaction 8.8–8.20).

mod recorded;
mod refusal;
mod rows;
mod words;

pub use recorded::Recorded;
pub use refusal::Refusal;
pub use rows::{RecoveryRow, RowKind, Sign};

use crate::context::since_reset;
use crate::gateway::ruleset::{Compaction, PiChange, Ruleset};
use crate::inspect::Inspection;
use crate::policy::compact::branch;
use crate::policy::recovery::{self, Branch, ErrorSource, Facts};
use crate::policy::truncate::max_result_chars_under;
use crate::store::body::{self, BodyError};
use crate::store::entry::EntryKind;

/// Everything about one recovery.
#[derive(Debug, Clone)]
pub struct RecoveryView {
    /// The refused call; what would be said of the next one where none was refused.
    pub refusal: Refusal,
    /// What would be tried.
    pub expected: recovery::Recovery,
    /// What the transcript shows from the refusal on, in its order.
    pub recorded: Vec<Recorded>,
    /// Overflows of the file that have nothing to do with this one.
    pub earlier: usize,
    /// Both side by side.
    pub rows: Vec<RecoveryRow>,
}

/// Rules that a recovery is followed by where those of the session's own version are other ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LentRules {
    /// Whose they are.
    pub of: Ruleset,
    /// What the session's own version does otherwise, in a sentence.
    pub why: &'static str,
}

/// What stands in for the rules of `ruleset`; none where recoveries are followed by its own.
pub fn lent_rules(ruleset: Ruleset) -> Option<LentRules> {
    let compaction = ruleset.rules().compaction;
    match ruleset {
        _ if compaction == Compaction::FromFirstKept => Some(LentRules {
            of: Ruleset::V2026_3_2,
            why: "compactions are followed by the rules of 2026.3.2, which 2026.8.1 has changed in part; the limit of a result is its own",
        }),
        _ if compaction == Compaction::AfterPrevious && (!ruleset.is_pi() || ruleset == Ruleset::Pi0_55) => {
            None
        }
        gateway if !gateway.is_pi() => Some(LentRules {
            of: Ruleset::V2026_3_2,
            why: "compactions are followed by the rules of 2026.3.2; since 2026.3.31 a compaction starts at what the one before it kept",
        }),
        pi => Some(LentRules {
            of: Ruleset::Pi0_55,
            why: if pi.rules().pi.has(PiChange::Projects) {
                "compactions are followed by the rules of pi-0.55; pi since 0.87 takes the refused answer out by a context_edit, tries once more and refuses a second recovery"
            } else {
                "compactions are followed by the rules of pi-0.55; pi since 0.56.3 tries once more and refuses a second recovery"
            },
        }),
    }
}

/// The recovery of a session. Reads the bodies of failed calls, and of the few entries behind them.
///
/// # Errors
/// When an entry cannot be read again.
pub fn recovery_of(inspection: &Inspection) -> Result<RecoveryView, BodyError> {
    let (found, earlier) = refusal::last(inspection);
    let is_recorded = found.is_some();
    let refusal = found.unwrap_or_else(|| Refusal::of_next_call(inspection));
    let path = match refusal.entry {
        Some(entry) => {
            let mut path = inspection.tree.walk(&inspection.index, entry);
            path.pop();
            path
        }
        None => inspection.context.path.clone(),
    };
    let index = &inspection.index;
    let path = since_reset(index, &inspection.tree, &path);
    let entries = branch(index, &path, |ix| body::entry(&inspection.source, index, ix))?;
    let compaction = entries.iter().rposition(|entry| entry.kind == EntryKind::Compaction);
    let kept = compaction.and_then(|at| index.entry(path[at]).reference);
    let kept_from = compaction
        .zip(kept)
        .and_then(|(at, kept)| path[..at].iter().position(|ix| index.entry(*ix).id == Some(kept)));
    let compacted_at = compaction.map(|at| index.entry(path[at]).time);
    let upkeep = &inspection.upkeep;
    let rules = inspection.ruleset.ruleset.rules();
    let expected = recovery::recovery(&Facts {
        error: &refusal.text,
        source: refusal.source,
        branch: Branch { entries, kept_from },
        fixed_tokens: inspection.fixed_tokens() as f64,
        refused_tokens: refusal.tokens.map(|tokens| tokens as f64),
        window: inspection.window.tokens,
        runtime_window: refusal.limit.map_or(upkeep.runtime_window, |limit| limit as f64),
        settings: inspection.configured.compaction,
        mode: upkeep.mode,
        same_model: true,
        before_compaction: compacted_at.is_some_and(|at| refusal.at < at),
        gateway: upkeep.gateway,
        result_limit: max_result_chars_under(rules, inspection.window.tokens),
        max_attempts: rules.recovery.attempts,
        truncation_restarts: rules.recovery.truncation_restarts,
        chat: upkeep.chat,
    });
    let recorded = if is_recorded { recorded::of(inspection, &refusal)? } else { Vec::new() };
    let rows = rows::rows(inspection, &refusal, &expected, &recorded);
    Ok(RecoveryView { refusal, expected, recorded, earlier, rows })
}

impl RecoveryView {
    /// Whether a call of the transcript was refused, and not only thought of.
    pub fn happened(&self) -> bool {
        self.refusal.entry.is_some()
    }
}

impl ErrorSource {
    /// Where the words stand, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Prompt => "before the model was asked",
            Self::Assistant => "as the answer",
            Self::Silent => "without a word: the answer took in more than the window",
        }
    }
}

#[cfg(test)]
mod tests;
