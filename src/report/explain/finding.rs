//! What an explanation is made of: a class, how sure it is, one line, and the evidence behind it.

use crate::ids::EntryIx;

/// What went wrong, as one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingClass {
    /// A request was refused for its bytes, not for its tokens.
    BytesLimit,
    /// The provider serves a smaller window than the gateway believes.
    WrongWindow,
    /// The runtime had no usable count of the prompt, so its threshold saw nothing coming.
    CounterStaleLow,
    /// The gateway's estimate is far from what the provider counts.
    EstimatorError,
    /// Pruning is configured, and one of its gates kept it from acting.
    PruningInert,
    /// Reserve and fixed parts leave no room for any message.
    ImpossibleBudget,
    /// A plugin assembles and compacts the context in place of the gateway.
    EngineOwned,
    /// The call went to another model, which takes less.
    ModelSwitch,
    /// One message of the person was too large.
    UserMessage,
    /// One tool result was too large.
    SingleResult,
    /// Several results of one turn were too large together.
    ParallelResults,
    /// Images fill the window.
    ImageBloat,
    /// One run's tool loop filled the window, again and again where it was compacted.
    ToolLoopTreadmill,
    /// System prompt, tools and workspace files take most of the window.
    FixedOverhead,
    /// The same job adds to the same session again and again.
    RecurringSessionGrowth,
    /// The session grew message by message; nothing stands out.
    GradualGrowth,
    /// An overflow was refused, and no recovery followed.
    RuntimeFault,
    /// A compaction could not be done because there was one just before.
    CompactionRefused,
    /// A summary took longer than the gateway waits.
    CompactionTimeout,
    /// A summary holds nothing of what it stands for.
    CompactionHollow,
    /// A compaction freed nothing.
    CompactionNoOp,
    /// Compactions work, and the session is at its trigger again at once.
    CompactionTreadmill,
    /// The next turns do not fit, and no working compaction comes first.
    AtRisk,
    /// The stored counter says more than the session holds.
    CounterInflated,
    /// Nothing is wrong.
    Healthy,
}

impl FindingClass {
    /// Every class.
    pub const ALL: [Self; 25] = [
        Self::BytesLimit,
        Self::WrongWindow,
        Self::CounterStaleLow,
        Self::EstimatorError,
        Self::PruningInert,
        Self::ImpossibleBudget,
        Self::EngineOwned,
        Self::ModelSwitch,
        Self::UserMessage,
        Self::SingleResult,
        Self::ParallelResults,
        Self::ImageBloat,
        Self::ToolLoopTreadmill,
        Self::FixedOverhead,
        Self::RecurringSessionGrowth,
        Self::GradualGrowth,
        Self::RuntimeFault,
        Self::CompactionRefused,
        Self::CompactionTimeout,
        Self::CompactionHollow,
        Self::CompactionNoOp,
        Self::CompactionTreadmill,
        Self::AtRisk,
        Self::CounterInflated,
        Self::Healthy,
    ];

    /// The word in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BytesLimit => "bytes-limit",
            Self::WrongWindow => "wrong-window",
            Self::CounterStaleLow => "counter-stale-low",
            Self::EstimatorError => "estimator-error",
            Self::PruningInert => "pruning-inert",
            Self::ImpossibleBudget => "impossible-budget",
            Self::EngineOwned => "engine-owned",
            Self::ModelSwitch => "model-switch",
            Self::UserMessage => "user-message",
            Self::SingleResult => "single-result",
            Self::ParallelResults => "parallel-results",
            Self::ImageBloat => "image-bloat",
            Self::ToolLoopTreadmill => "tool-loop-treadmill",
            Self::FixedOverhead => "fixed-overhead",
            Self::RecurringSessionGrowth => "recurring-session-growth",
            Self::GradualGrowth => "gradual-growth",
            Self::RuntimeFault => "runtime-fault",
            Self::CompactionRefused => "compaction-refused",
            Self::CompactionTimeout => "compaction-timeout",
            Self::CompactionHollow => "compaction-hollow",
            Self::CompactionNoOp => "compaction-no-op",
            Self::CompactionTreadmill => "compaction-treadmill",
            Self::AtRisk => "at-risk",
            Self::CounterInflated => "counter-inflated",
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
    pub fn as_str(self) -> &'static str {
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
    pub fn with_entries(mut self, entries: impl IntoIterator<Item = EntryIx>) -> Self {
        self.entries.extend(entries);
        self
    }

    /// The same, by a rule.
    #[must_use]
    pub fn with_rule(mut self, rule: &'static str) -> Self {
        self.rule = rule;
        self
    }
}

/// One thing that is wrong, or that nothing is.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What.
    pub class: FindingClass,
    /// How sure.
    pub confidence: Confidence,
    /// The verdict in one line.
    pub headline: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// The numbers of the line, for programs: tokens, chars, ms or counts, as the name says.
    pub numbers: Vec<(&'static str, f64)>,
    /// The rule it follows; empty where no rule of the gateway is behind it.
    pub rule: &'static str,
    /// Every call fits once this is set right, by replay; none where that was not tried.
    pub prevents_overflow: Option<bool>,
}

impl Finding {
    /// A finding without evidence yet.
    pub fn new(class: FindingClass, confidence: Confidence, line: impl Into<String>) -> Self {
        Self {
            class,
            confidence,
            headline: line.into(),
            evidence: Vec::new(),
            numbers: Vec::new(),
            rule: "",
            prevents_overflow: None,
        }
    }

    /// The same with what a replay says of setting it right.
    #[must_use]
    pub fn with_prevents_overflow(mut self, flips: bool) -> Self {
        self.prevents_overflow = Some(flips);
        self
    }

    /// The same with one more line of evidence.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// The same with one more number.
    #[must_use]
    pub fn with_number(mut self, name: &'static str, value: f64) -> Self {
        self.numbers.push((name, value));
        self
    }

    /// The same, by a rule.
    #[must_use]
    pub fn with_rule(mut self, rule: &'static str) -> Self {
        self.rule = rule;
        self
    }
}
