//! The blocks of the explain screen and their selectable rows: the words that layout, text and keys share.

/// A titled block of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainBlock {
    /// The chart of the calls.
    Chart,
    /// The refused call as a bar.
    Call,
    /// The next prompt as a bar, when no call was refused.
    NextPrompt,
    /// The parts of the prompt by size, with the mechanism.
    Parts,
    /// The guards, and why none prevented the overflow.
    Guards,
    /// Token counts by source.
    Counts,
    /// Changes of the branch that end what the verdict found.
    WaysOut,
    /// Changes that would have prevented the overflow.
    Advice,
    /// The other calls that did not fit.
    OtherCalls,
    /// The evidence of the verdict, and the other findings.
    Findings,
    /// The gateway's attempts after the overflow; opens in place.
    Recovery,
    /// Every estimator beside the provider's counts; opens in place.
    Estimators,
}

/// A selectable row. The numbers index the lists of [`Explanation`](crate::report::explain::Explanation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainRow {
    /// The explained call.
    Call,
    /// The mechanism that made the prompt large.
    Mechanism,
    Guard(usize),
    Count(usize),
    WayOut(usize),
    Advice(usize),
    OtherCall(usize),
    /// A finding after the verdict.
    Finding(usize),
    /// A line of evidence of a finding.
    Evidence(usize, usize),
    /// The headline of the recovery.
    Recovery,
    RecoveryStep(usize),
    /// The headline of the estimators.
    Estimators,
    /// An estimator, in the order of [`Estimator::ALL`](crate::report::estimators::Estimator::ALL).
    Estimator(usize),
    /// A counted call with every estimate of it.
    CountedCall(usize),
}
