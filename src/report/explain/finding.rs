//! Findings: a class, a confidence, and the values found. Each topic declares its values in the file that finds them;
//! `facts` joins the topics, and `description` makes sentences of them.

use crate::gateway::window::WindowSource;
use crate::ids::EntryIx;
use crate::report::explain::failure::{LimitOrigin, PromptSize};
use crate::session::failing_model::ModelNames;
use crate::units::{Bytes, Tokens};

/// Numbers of a finding for programs: tokens, chars, ms or counts, according to the name.
pub type Numbers = Vec<(&'static str, f64)>;

/// The class of a problem; its name is stable for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingClass {
    /// The newest calls were refused for another reason than their size.
    Refused,
    /// The newest calls failed for a reason that passes.
    Failing,
    /// The provider refused a request for its bytes, not for its tokens.
    BytesLimit,
    /// The prompt fits, but prompt and reserved reply together do not.
    ReplyReserve,
    /// The provider serves a smaller window than the gateway believes.
    WrongWindow,
    /// The provider counted a prompt as many times the window and the text.
    ImplausibleUsage,
    /// The provider counted more tokens than before for the same text.
    CountShift,
    /// The runtime had no usable count of the prompt, so it never reached its threshold.
    CounterStaleLow,
    /// The gateway's estimate is far from the provider's count.
    EstimatorError,
    /// Pruning is configured, but one of its gates kept it from acting.
    PruningInert,
    /// Reserve and fixed parts leave no room for any message.
    ImpossibleBudget,
    /// A plugin assembles and compacts the context instead of the gateway.
    EngineOwned,
    /// The call went to another model with a smaller window.
    ModelSwitch,
    /// One user message was too large.
    UserMessage,
    /// One tool result was too large.
    SingleResult,
    /// Several results of one turn were too large together.
    ParallelResults,
    /// Images fill the window.
    ImageBloat,
    /// The tool loop of one run filled the window, and refilled it after each compaction.
    ToolLoopTreadmill,
    /// System prompt, tools and workspace files take most of the window.
    FixedOverhead,
    /// A repeated job adds to the same session with every run.
    RecurringSessionGrowth,
    /// The session grew message by message; no part stands out.
    GradualGrowth,
    /// The provider refused a prompt, and no recovery followed.
    RuntimeFault,
    /// A compaction ran far below its trigger: not the size of the context started it.
    PrematureCompaction,
    /// The runtime skipped a compaction because another one directly preceded it.
    CompactionRefused,
    /// A summary took longer than the gateway's timeout.
    CompactionTimeout,
    /// A summary has none of the content that it replaces.
    CompactionHollow,
    /// A compaction freed nothing.
    CompactionNoOp,
    /// Compactions work, but the session reaches its trigger again at once.
    CompactionTreadmill,
    /// The next turns do not fit, and no working compaction comes first.
    AtRisk,
    /// The gateway compacts before the next chat turn.
    CompactionDue,
    /// The stored counter exceeds the tokens in the session.
    CounterInflated,
    /// Most of the prompt was copied from a parent session.
    InheritedHistory,
    /// Transcripts continue this one, and no session record names them.
    UnadoptedSuccessor,
    /// The session record and the file name different sessions.
    IdMismatch,
    /// The file ends in a dead end beside a longer branch.
    DeadEndLeaf,
    /// The active branch does not reach the beginning of the conversation.
    UnreachableEntries,
    /// The key had another transcript before a reset.
    EarlierTranscript,
    /// Prompts that the provider's cache should have served are most of the cost.
    CacheMisses,
    /// The prompt fits, although the newest call failed.
    NoOverflow,
    /// No problem found.
    Healthy,
}

impl FindingClass {
    /// The name in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Failing => "failing",
            Self::BytesLimit => "bytes-limit",
            Self::ReplyReserve => "reply-reserve",
            Self::WrongWindow => "wrong-window",
            Self::ImplausibleUsage => "implausible-usage",
            Self::CountShift => "count-shift",
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
            Self::PrematureCompaction => "premature-compaction",
            Self::CompactionRefused => "compaction-refused",
            Self::CompactionTimeout => "compaction-timeout",
            Self::CompactionHollow => "compaction-hollow",
            Self::CompactionNoOp => "compaction-no-op",
            Self::CompactionTreadmill => "compaction-treadmill",
            Self::AtRisk => "at-risk",
            Self::CompactionDue => "compaction-due",
            Self::CounterInflated => "counter-inflated",
            Self::InheritedHistory => "inherited-history",
            Self::UnadoptedSuccessor => "unadopted-successor",
            Self::IdMismatch => "id-mismatch",
            Self::DeadEndLeaf => "dead-end-leaf",
            Self::UnreachableEntries => "unreachable-entries",
            Self::EarlierTranscript => "earlier-transcript",
            Self::CacheMisses => "cache-misses",
            Self::NoOverflow => "no-overflow",
            Self::Healthy => "healthy",
        }
    }
}

/// Confidence in a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// Follows from counted numbers.
    Sure,
    /// Follows from estimates, or from numbers that allow another reading.
    Likely,
    /// Consistent with the numbers, as are other causes.
    Possible,
}

impl Confidence {
    /// The confidence of the same finding on weaker ground.
    #[must_use]
    pub(super) fn lowered(self) -> Self {
        if self == Self::Sure { Self::Likely } else { Self::Possible }
    }

    /// The name in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
            Self::Possible => "possible",
        }
    }
}

/// Something that the verdict rests on, worth naming.
#[derive(Debug, Clone, PartialEq)]
pub enum Ground {
    /// The configuration cannot be read, so the defaults are not those of the recorded calls.
    UnreadableConfig { error: String },
    /// No evidence in the store names the window.
    AssumedWindow {
        /// `provider/model`.
        model: String,
        window: Tokens,
        /// The list of models that names it; otherwise the program guesses.
        list: Option<String>,
    },
    /// The model answered a larger prompt than the window that the gateway believes in.
    SmallerThanAnswered { believed: Tokens, source: WindowSource, answered: Tokens },
    /// `contextTokens` is below the model's window.
    CappedWindow {
        cap: Tokens,
        window: Tokens,
        /// Whether the release compares with the cap before a chat turn.
        moves_preflight: bool,
    },
    /// The refusal is a status without text, and nothing says whether bytes or tokens were too many.
    BareStatus { provider: String, documented: Option<Bytes> },
    /// The words of the refusal are unknown, and the sizes in them fit the prompt.
    UnknownWords { requested: u64, limit: u64 },
    /// A replay with today's settings has other overflows than the record, so that changes are compared with a world
    /// that was not.
    Unreproduced { recorded: usize, replayed: usize },
}

impl Ground {
    /// Whether a verdict on it may be wrong.
    pub(super) fn is_weak(&self) -> bool {
        !matches!(self, Self::SmallerThanAnswered { .. } | Self::CappedWindow { .. })
    }
}

/// A finding with values of type `F`.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<F> {
    pub class: FindingClass,
    pub confidence: Confidence,
    pub facts: F,
    /// The rule behind it; empty if no rule of the gateway applies.
    pub rule: &'static str,
    /// Whether every call of a replay fits after a correction; `None` if no replay was made.
    pub prevents_overflow: Option<bool>,
    /// Set if it heads the answer.
    pub verdict: Option<VerdictFacts>,
    /// The values that the verdict rests on without evidence.
    pub grounds: Vec<Ground>,
}

impl<F> Found<F> {
    /// Creates a finding without a rule or a replay.
    pub(super) fn new(class: FindingClass, confidence: Confidence, facts: F) -> Self {
        Self {
            class,
            confidence,
            facts,
            rule: "",
            prevents_overflow: None,
            verdict: None,
            grounds: Vec::new(),
        }
    }

    /// Sets the rule behind it.
    #[must_use]
    pub(super) fn with_rule(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }

    /// Records whether a replay with the correction has no overflow.
    #[must_use]
    pub(super) fn with_prevents_overflow(self, prevents: bool) -> Self {
        Self { prevents_overflow: Some(prevents), ..self }
    }

    /// Converts the values.
    pub(super) fn map<T>(self, convert: impl FnOnce(F) -> T) -> Found<T> {
        let Self { class, confidence, facts, rule, prevents_overflow, verdict, grounds } = self;
        Found { class, confidence, facts: convert(facts), rule, prevents_overflow, verdict, grounds }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum VerdictFacts {
    /// The verdict of a session in which a call overflowed.
    Overflow(OverflowFacts),
    NoOverflow,
}

/// The overflow behind a verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct OverflowFacts {
    /// Overflows of the session.
    pub count: usize,
    /// Those that the gateway's own check refused, if the failing call is one of them.
    pub by_gateway: usize,
    pub prompt: FailedPrompt,
    pub remark: Option<VerdictRemark>,
}

/// The size of the failing prompt by everyone who counted it.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedPrompt {
    pub entry: EntryIx,
    pub size: PromptSize,
    /// Tokens that fit.
    pub limit: u64,
    pub limit_origin: LimitOrigin,
    /// Tokens of the last accepted prompt.
    pub last_accepted: Option<u64>,
    /// Tokens by the gateway's own estimate.
    pub gateway_estimate: u64,
    /// The model of the call, where the session has another one now.
    pub other_model: Option<ModelNames>,
}

/// A second sentence for the headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictRemark {
    /// The prompt alone fits; these tokens are reserved for the reply.
    ReplyReserved { tokens: u64 },
    /// The message never fits, so it must be split.
    SplitMessage,
    /// Compaction was not due yet.
    CompactionNotDue { missing_tokens: u64, is_estimate: bool },
    /// Compaction was due, but none followed.
    CompactionFailed,
}
