//! Why a session overflowed, or will, and which settings would have prevented it: findings with their evidence, the surest
//! first, and advice that was tried on the failing call and on the whole session.
//!
//! Nothing here decides a rule. The classes look at what was read once of a session ([`explain`]), and every number says
//! whether it was counted by the provider or estimated by the gateway's rules.

pub mod advice;
mod batch;
mod by_hand;
mod calls;
mod case;
mod classes;
mod compactions;
pub mod errors;
mod failure;
pub mod finding;
mod gates;
mod simulate;
mod words;

pub use advice::{Advice, Change, Whole};
pub use errors::{Kind, Overflow};
pub use failure::Failure;
pub use finding::{Class, Confidence, Evidence, Finding};

use crate::inspect::Inspection;
use crate::store::body::BodyError;
use case::Case;

/// Everything that is said of one session.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The calls that did not fit, in the order of the file.
    pub overflows: Vec<Overflow>,
    /// The last of them, as it was.
    pub failure: Option<Failure>,
    /// What is wrong, the surest cause first; one that nothing is, else. Never empty.
    pub findings: Vec<Finding>,
    /// What would have helped, and what would not; what helps first.
    pub advice: Vec<Advice>,
    /// The whole session as it was, beside which the advice stands; none where nothing was tried.
    pub recorded: Option<Whole>,
}

impl Explanation {
    /// Whether a call did not fit.
    pub fn overflowed(&self) -> bool {
        !self.overflows.is_empty()
    }

    /// The first finding: the verdict.
    pub fn verdict(&self) -> Option<&Finding> {
        self.findings.first()
    }

    /// What stands above the advice, and whether something would have helped.
    pub fn advice_head(&self) -> (bool, String) {
        let helps = self.advice.iter().any(|advice| advice.helps);
        let tried = words::count(self.advice.len(), "change");
        let head = match (self.overflowed(), helps, self.advice.len()) {
            (true, true, _) => "What would have helped, the fewest changes first".to_owned(),
            (true, false, 0) => "No setting would have helped".to_owned(),
            (true, false, _) => format!("No setting would have helped: {tried} tried"),
            (false, true, _) => "What makes room, the fewest changes first".to_owned(),
            (false, false, _) => format!("No setting makes much room: {tried} tried"),
        };
        (helps, head)
    }

    /// Whether a call did not fit and none of the settings tried would have helped.
    pub fn no_setting_helps(&self) -> bool {
        self.overflowed() && !self.advice.iter().any(|advice| advice.helps)
    }
}

/// Explains a session. Reads the bodies of failed calls, of compactions, and of some messages where estimates are far off.
/// `now_ms` is when the next call would be made, ms since the epoch.
///
/// # Errors
/// When an entry cannot be read again.
pub fn explain(inspection: &Inspection, now_ms: f64) -> Result<Explanation, BodyError> {
    let case = Case::read(inspection, now_ms)?;
    let findings = classes::findings(&case);
    let advice::Tries { advice, recorded } = advice::advise(&case, &findings)?;
    Ok(Explanation { overflows: case.overflows, failure: case.failure, findings, advice, recorded })
}
