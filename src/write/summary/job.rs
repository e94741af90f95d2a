//! Makes the summary with which a plan's compaction is committed: its writer, its calls, and the plan with its real
//! length.
//!
//! Nothing is stored here: a summary that failed or was cancelled leaves the plan unchanged.

use crate::config::SummarizerConfig;
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::ruleset::Ruleset;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::js::Value;
use crate::plan::{CompactionSummary, Plan, PlanError};
use crate::policy::PolicySettings;
use crate::policy::compact::{NoSummary, SummaryMode, predict_calls, predict_calls_within};
use crate::session::LoadedSession;
use crate::summarize::command::CommandSummarizer;
use crate::summarize::extractive::ExtractiveSummarizer;
use crate::summarize::{
    CancelToken, Summarizer, SummarizerKind, Summary, SummaryCallRecord, SummaryError, SummaryProgress, run,
};
use crate::units::{Moment, Tokens};
use crate::write::request::{WriteAction, WriteError, WriteRequest, prepare};
use crate::write::summary::{NotCompactable, PreparedCompaction, SummarySettings};

/// The part of the session that a summary covers. The summary is valid as long as this is unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SummaryScope {
    session: SessionKey,
    ruleset: Ruleset,
    /// The previous compaction, and the entries that are summarised up to the cut.
    entries: Vec<EntryIx>,
    /// Start of the turn that the cut splits, as an index into the branch.
    turn_start: Option<usize>,
    /// Id and byte offset of the first kept entry. A rewritten file has another offset.
    first_kept: (String, u64),
}

impl SummaryScope {
    /// Returns `None` if the plan compacts nothing or its texts were not read.
    fn from_plan(loaded: &LoadedSession, plan: &Plan) -> Option<Self> {
        let preparation = plan.compaction.as_ref()?;
        let branch = &loaded.details.as_ref()?.branch;
        // Newer gateways cut again inside the part that the previous compaction kept, which precedes its entry.
        let previous = preparation.previous_compaction.and_then(|at| branch.get(at));
        let part = branch.get(preparation.start..preparation.cut.first_kept)?;
        let first_kept = preparation.first_kept;
        Some(Self {
            session: loaded.item.key.clone(),
            ruleset: loaded.ruleset.id,
            entries: previous.into_iter().chain(part).map(|entry| entry.entry).collect(),
            turn_start: preparation.cut.turn_start,
            first_kept: (loaded.index.display_id(first_kept), loaded.index.entry(first_kept).offset),
        })
    }
}

/// A finished summary and its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryResult {
    /// The summary in the form that is written.
    pub summary: CompactionSummary,
    pub writer: SummaryWriter,
    pub calls: Vec<SummaryCallRecord>,
    scope: SummaryScope,
}

impl SummaryResult {
    /// Whether the summary covers exactly the part that this plan summarises.
    pub fn matches_plan(&self, session: &LoadedSession, plan: &Plan) -> bool {
        SummaryScope::from_plan(session, plan).is_some_and(|cut| cut == self.scope)
    }

    /// Returns the plan with this summary's length instead of the assumed one. Fails if planning does.
    pub fn apply_to(&self, session: &LoadedSession, plan: &Plan) -> Result<Plan, PlanError> {
        let settings = PolicySettings { summary_tokens: self.summary.tokens(), ..plan.settings.clone() };
        session.plan(&settings, plan.gate)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SummaryJobError {
    /// The plan compacts nothing, or its texts were not read.
    #[error("the plan has nothing to summarise")]
    NoCompaction,
    /// There is nothing to summarise.
    #[error(transparent)]
    NotCompactable(#[from] NotCompactable),
    /// The settings name no program.
    #[error(transparent)]
    NoProgram(#[from] NoProgram),
    /// The commit would be refused with any summary.
    #[error(transparent)]
    Refused(#[from] WriteError),
    /// The gateway would cancel or fail, so its calls cannot be predicted.
    #[error("{}", describe_no_summary(.0))]
    NoSummary(NoSummary),
    /// A call failed, or the job was cancelled.
    #[error("{}", describe_summary_error(.0))]
    Summary(#[from] SummaryError),
}

/// A summary to be made: the texts are read, and no call was made yet.
#[derive(Debug)]
pub struct SummaryJob {
    /// The cut, and the texts to summarise.
    pub compactable: PreparedCompaction,
    pub writer: SummaryWriter,
    summarizer: Box<dyn Summarizer>,
    assumed_tokens: Tokens,
    scope: SummaryScope,
}

impl SummaryJob {
    /// Reads the texts that the plan summarises. `now_ms` is the timestamp of stubs for missing results
    /// (compaction 6.3).
    pub fn new(
        session: &LoadedSession,
        plan: &Plan,
        settings: SummarySettings,
        (writer, summarizer): (SummaryWriter, Box<dyn Summarizer>),
        now_ms: Moment,
    ) -> Result<Self, SummaryJobError> {
        let cut = SummaryScope::from_plan(session, plan).ok_or(SummaryJobError::NoCompaction)?;
        let compactable = PreparedCompaction::new(session, plan.settings.compaction, settings, None, now_ms)?;
        let assumed_tokens = plan.settings.summary_tokens as f64;
        Ok(Self { compactable, writer, summarizer, assumed_tokens: Tokens(assumed_tokens), scope: cut })
    }

    /// Prepares the summary of a commit by the person's settings. Refuses commits that would be refused with any
    /// summary. `config` is the store's.
    pub fn for_commit(
        request: &WriteRequest<'_>,
        config: &Value,
        summarizer: &SummarizerConfig,
    ) -> Result<Self, SummaryJobError> {
        let WriteAction::Commit { plan, .. } = &request.action else {
            return Err(SummaryJobError::NoCompaction);
        };
        let chosen = build_summarizer(summarizer.kind, summarizer)?;
        check_writable(request)?;
        let session = request.session;
        let settings = SummarySettings::from_config(session.ruleset.id.rules(), config);
        let writer = SummaryWriter::from_config(summarizer.kind, summarizer);
        Self::new(session, plan, settings, (writer, chosen), request.now_ms)
    }

    /// Estimates calls and tokens. Makes no call.
    pub fn estimate(&self) -> Result<SummaryEstimate, SummaryJobError> {
        let job = &self.compactable.job;
        let window = if self.summarizer.accepts_any_length() { f64::INFINITY } else { job.window.get() };
        let reported = predict_calls_within(job, Tokens(window), self.assumed_tokens)
            .map_err(SummaryJobError::NoSummary)?;
        Ok(SummaryEstimate {
            calls: reported.calls.len(),
            input_tokens: reported.input_tokens(),
            output_tokens: reported.output_tokens(),
        })
    }

    /// Makes the summary, call by call, and reports every attempt to `progress`.
    pub fn run(
        &self,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(SummaryProgress),
    ) -> Result<SummaryResult, SummaryJobError> {
        let summary = run(&self.compactable.job, self.summarizer.as_ref(), cancel, progress)?;
        Ok(SummaryResult {
            summary: self.to_stored(&summary),
            writer: self.writer.clone(),
            calls: summary.calls,
            scope: self.scope.clone(),
        })
    }

    /// Converts to the form that the runtime stores: a safeguard's summary counts as an extension's (compaction 3.13,
    /// 3.21).
    fn to_stored(&self, summary: &Summary) -> CompactionSummary {
        CompactionSummary {
            text: summary.text.clone(),
            details: Some(summary.written.details.clone()),
            from_hook: self.compactable.job.mode == SummaryMode::Safeguard,
        }
    }
}

/// Refuses commits that would be refused with any summary, so that none is made in vain. Writes nothing.
pub fn check_writable(request: &WriteRequest<'_>) -> Result<(), WriteError> {
    let WriteAction::Commit { plan, .. } = &request.action else { return Ok(()) };
    let stand_in = CompactionSummary { text: ".".into(), details: None, from_hook: false };
    let ask = WriteAction::Commit { plan, summary: Some(&stand_in) };
    prepare(&WriteRequest { action: ask, ..request.clone() }).map(|_| ())
}

/// Explains why the gateway or the runtime would make no summary.
pub fn describe_no_summary(why: &NoSummary) -> String {
    match why {
        NoSummary::Cancelled(reason) => {
            format!("the gateway would cancel this compaction: {} ({})", reason.description(), reason.rule())
        }
        NoSummary::Failed(why) => format!("the runtime would fail to compact: {why}"),
        NoSummary::Aborted => "cannot predict the calls".to_owned(),
    }
}

/// Explains why there is no summary, and the text that the gateway would store instead.
pub fn describe_summary_error(error: &SummaryError) -> String {
    match error {
        SummaryError::Failed { why, gateway_stores: Some(text) } => format!(
            "no summary: {why}\nNothing was written. The gateway would replace the history with: {}",
            text.to_string_lossy()
        ),
        SummaryError::Failed { why, .. } => format!("no summary: {why}"),
        other => other.to_string(),
    }
}

/// The input of a prediction; an answer for another input is outdated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SummaryCallsRequest {
    pub epoch: Epoch,
    /// Reserve and kept part, in tokens.
    pub compaction: CompactionSettings,
    /// Assumed tokens of each answer.
    pub summary_tokens: u64,
}

/// The calls of a summary when every one succeeds. Tokens are estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SummaryCalls {
    /// Number of calls.
    pub calls: u64,
    pub input_tokens: u64,
    pub largest_input: u64,
    /// Assumed tokens of all answers.
    pub output_tokens: u64,
    /// USD; `None` without a price for the model.
    pub cost: Option<f64>,
}

impl SummaryCalls {
    /// Predicts the calls; reads every text to summarise. The error says why the gateway would make no summary.
    pub fn predict(
        session: &LoadedSession,
        requested: &SummaryCallsRequest,
        summary: SummarySettings,
        now_ms: Moment,
    ) -> Result<Self, SummaryJobError> {
        let compactable = PreparedCompaction::new(session, requested.compaction, summary, None, now_ms);
        let job = compactable?.job;
        let reported = predict_calls(&job, Tokens(requested.summary_tokens as f64))
            .map_err(SummaryJobError::NoSummary)?;
        Ok(Self {
            calls: reported.calls.len() as u64,
            input_tokens: reported.input_tokens(),
            largest_input: reported.calls.iter().map(|call| call.input_tokens).max().unwrap_or(0),
            output_tokens: reported.output_tokens(),
            cost: session.price.as_ref().map(|price| reported.cost(price)),
        })
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryWriter {
    pub kind: SummarizerKind,
    /// The program; `None` if clawscope writes the summary itself or the settings name none.
    pub name: Option<String>,
}

impl SummaryWriter {
    pub fn from_config(kind: SummarizerKind, config: &SummarizerConfig) -> Self {
        let name = match kind {
            SummarizerKind::Extractive => None,
            SummarizerKind::Command => config.command.first().cloned(),
        };
        Self { kind, name }
    }

    /// Returns the program with its kind, or the kind alone: `ollama (command)`, `extractive`.
    pub fn label(&self) -> String {
        let kind = self.kind.as_str();
        self.name.as_ref().map_or_else(|| kind.to_owned(), |name| format!("{name} ({kind})"))
    }

    /// Whether the conversation may leave clawscope, so that a person must confirm first.
    pub fn is_external(&self) -> bool {
        self.kind != SummarizerKind::Extractive
    }
}

/// The kind `command` without a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "summarizer command: no program is configured. Set command = [\"PROGRAM\", \"ARGUMENT\"] under [summarizer] in \
     config.toml."
)]
pub struct NoProgram;

/// Builds a summarizer of this kind.
pub fn build_summarizer(
    kind: SummarizerKind,
    config: &SummarizerConfig,
) -> Result<Box<dyn Summarizer>, NoProgram> {
    match kind {
        SummarizerKind::Extractive => Ok(Box::new(ExtractiveSummarizer)),
        SummarizerKind::Command => {
            let (program, arguments) = config.command.split_first().ok_or(NoProgram)?;
            Ok(Box::new(CommandSummarizer::new(program.clone(), arguments.to_vec(), config.timeout)))
        }
    }
}

/// The calls and tokens of a summary before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryEstimate {
    /// Calls, if each succeeds.
    pub calls: usize,
    /// Estimated tokens of all inputs.
    pub input_tokens: u64,
    /// Assumed tokens of all answers.
    pub output_tokens: u64,
}

#[cfg(test)]
mod calls_tests {
    use super::*;
    use crate::gateway::models::Price;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::Value;
    use crate::session::testing::{loaded_session, message, transcript, user};

    fn reported(turns: usize, keep_recent_tokens: Tokens) -> Result<SummaryCalls, SummaryJobError> {
        let answer =
            format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(4_000));
        let entries: Vec<String> = (0..turns).flat_map(|_| [user("go"), message(&answer)]).collect();
        let mut session = loaded_session(&transcript(&entries), 200_000.0);
        session.price = Some(Price::flat([5.0, 25.0, 0.5, 6.25]));
        let compaction = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
        let requested = SummaryCallsRequest { epoch: session.epoch, compaction, summary_tokens: 500 };
        SummaryCalls::predict(
            &session,
            &requested,
            SummarySettings::from_config(Ruleset::V2026_3_2.rules(), &Value::Null),
            Moment::ZERO,
        )
    }

    #[test]
    fn one_call_summarises_the_messages_before_the_cut() {
        // An answer has 1,000 tokens and its question one: the last turn is kept.
        let reported = reported(6, Tokens(1_001.0)).expect("calls");
        assert_eq!((reported.calls, reported.output_tokens), (1, 500));
        assert!(reported.input_tokens > 4_000 && reported.largest_input == reported.input_tokens);
        let cost = (reported.input_tokens as f64 * 6.25 + 500.0 * 25.0) / 1e6;
        assert_eq!(reported.cost, Some(cost));
    }

    #[test]
    fn a_turn_that_the_cut_splits_takes_a_separate_call() {
        let reported = reported(6, Tokens(1_500.0)).expect("calls");
        assert_eq!((reported.calls, reported.output_tokens), (2, 1_000));
        assert!(reported.largest_input < reported.input_tokens);
    }

    #[test]
    fn a_session_too_short_to_compact_names_the_reason() {
        assert!(
            reported(0, Tokens(1_001.0)).expect_err("nothing").to_string().starts_with("Nothing to compact")
        );
    }
}

#[cfg(test)]
mod writer_tests {
    use super::*;

    #[test]
    fn without_settings_only_the_extractive_one_works() {
        let config = SummarizerConfig::default();
        let chosen = |kind| build_summarizer(kind, &config).map(|summarizer| summarizer.kind());
        assert_eq!(chosen(SummarizerKind::Extractive), Ok(SummarizerKind::Extractive));
        assert_eq!(chosen(SummarizerKind::Command), Err(NoProgram));
    }
}
