//! What an explanation is made of: a class, how sure it is, one line, and the evidence behind it.

use crate::ids::EntryIx;

/// What went wrong, as one word. The order is that of [`Class::ALL`]: of two that are equally sure, the one that
/// stands before tells more of the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// An overflow was refused, and nothing that the gateway does about one followed.
    RuntimeFault,
    /// Reserve and what precedes the messages leave no room for any.
    ImpossibleBudget,
    /// A plugin assembles and compacts the context in place of the gateway.
    EngineOwned,
    /// The provider serves a smaller window than the gateway believes.
    WrongWindow,
    /// The call that failed went to another model than those before it.
    ModelSwitch,
    /// A compaction could not be done because there was one just before.
    CompactionRefused,
    /// A summary took longer than the gateway waits.
    CompactionTimeout,
    /// A compaction kept nothing of what it summarised.
    CompactionHollow,
    /// A compaction freed nothing.
    CompactionNoOp,
    /// One tool result was too large.
    SingleResult,
    /// Several results of one turn were too large together.
    ParallelResults,
    /// Images fill the window.
    ImageBloat,
    /// Compactions worked, and the same loop of tools filled the window again.
    ToolLoopTreadmill,
    /// The same job adds to the same session again and again.
    RecurringSessionGrowth,
    /// What precedes the messages takes most of the window.
    FixedOverhead,
    /// The gateway's estimate is far from what the provider counts.
    EstimatorError,
    /// The stored counter says less than the session holds.
    CounterStaleLow,
    /// The stored counter says more than the session holds.
    CounterInflated,
    /// Pruning is configured and never ran.
    PruningInert,
    /// It overflowed, and none of the known patterns is there.
    Unexplained,
    /// Nothing is wrong.
    Healthy,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 21] = [
        Self::RuntimeFault,
        Self::ImpossibleBudget,
        Self::EngineOwned,
        Self::WrongWindow,
        Self::ModelSwitch,
        Self::CompactionRefused,
        Self::CompactionTimeout,
        Self::CompactionHollow,
        Self::CompactionNoOp,
        Self::SingleResult,
        Self::ParallelResults,
        Self::ImageBloat,
        Self::ToolLoopTreadmill,
        Self::RecurringSessionGrowth,
        Self::FixedOverhead,
        Self::EstimatorError,
        Self::CounterStaleLow,
        Self::CounterInflated,
        Self::PruningInert,
        Self::Unexplained,
        Self::Healthy,
    ];

    /// The word in JSON and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::RuntimeFault => "runtime-fault",
            Self::ImpossibleBudget => "impossible-budget",
            Self::EngineOwned => "engine-owned",
            Self::WrongWindow => "wrong-window",
            Self::ModelSwitch => "model-switch",
            Self::CompactionRefused => "compaction-refused",
            Self::CompactionTimeout => "compaction-timeout",
            Self::CompactionHollow => "compaction-hollow",
            Self::CompactionNoOp => "compaction-no-op",
            Self::SingleResult => "single-result",
            Self::ParallelResults => "parallel-results",
            Self::ImageBloat => "image-bloat",
            Self::ToolLoopTreadmill => "tool-loop-treadmill",
            Self::RecurringSessionGrowth => "recurring-session-growth",
            Self::FixedOverhead => "fixed-overhead",
            Self::EstimatorError => "estimator-error",
            Self::CounterStaleLow => "counter-stale-low",
            Self::CounterInflated => "counter-inflated",
            Self::PruningInert => "pruning-inert",
            Self::Unexplained => "unexplained",
            Self::Healthy => "healthy",
        }
    }
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// Counted numbers say so.
    Sure,
    /// Estimates say so, or the numbers leave another reading.
    Likely,
    /// It fits, and something else may too.
    Possible,
}

impl Confidence {
    /// The word in JSON and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
            Self::Possible => "possible",
        }
    }
}

/// One line of evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What is seen, with its numbers.
    pub text: String,
    /// Where: the entries, the first one to go to.
    pub entries: Vec<EntryIx>,
    /// The rule it follows, as `pruning 4.2`; empty where it is only a count.
    pub rule: &'static str,
}

impl Evidence {
    /// A line without an entry or a rule.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), entries: Vec::new(), rule: "" }
    }

    /// The same, seen at these entries.
    #[must_use]
    pub fn at(mut self, entries: impl IntoIterator<Item = EntryIx>) -> Self {
        self.entries.extend(entries);
        self
    }

    /// The same, by a rule.
    #[must_use]
    pub fn by(mut self, rule: &'static str) -> Self {
        self.rule = rule;
        self
    }
}

/// One thing that is wrong, or that nothing is.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What.
    pub class: Class,
    /// How sure.
    pub confidence: Confidence,
    /// The verdict in one line.
    pub line: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// The numbers of the line, for programs: tokens, chars, ms or counts, as the name says.
    pub numbers: Vec<(&'static str, f64)>,
    /// The rule it follows; empty where no rule of the gateway is behind it.
    pub rule: &'static str,
}

impl Finding {
    /// A finding without evidence yet.
    pub fn new(class: Class, confidence: Confidence, line: impl Into<String>) -> Self {
        Self { class, confidence, line: line.into(), evidence: Vec::new(), numbers: Vec::new(), rule: "" }
    }

    /// The same with one more line of evidence.
    #[must_use]
    pub fn seen(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// The same with one more number.
    #[must_use]
    pub fn number(mut self, name: &'static str, value: f64) -> Self {
        self.numbers.push((name, value));
        self
    }

    /// The same, by a rule.
    #[must_use]
    pub fn by(mut self, rule: &'static str) -> Self {
        self.rule = rule;
        self
    }
}
