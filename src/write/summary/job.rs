//! Makes the summary with which a plan's compaction is committed: its writer, its calls, and the plan with its real
//! length.
//!
//! Nothing is stored here: a summary that failed or was cancelled leaves the plan unchanged.

use crate::config::SummarizerConfig;
use crate::gateway::ruleset::Ruleset;
use crate::ids::{EntryIx, SessionKey};
use crate::js::Value;
use crate::plan::{CompactionSummary, Plan, PlanError};
use crate::policy::PolicySettings;
use crate::policy::compact::{NoSummary, SummaryMode, predict_calls_within};
use crate::session::LoadedSession;
use crate::summarize::{
    CancelToken, Summarizer, Summary, SummaryCallRecord, SummaryError, SummaryProgress, run,
};
use crate::units::{Moment, Tokens};
use crate::write::request::{WriteAction, WriteError, WriteRequest, prepare};
use crate::write::summary::writer::{NoProgram, SummaryEstimate, SummaryWriter, build_summarizer};
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

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
