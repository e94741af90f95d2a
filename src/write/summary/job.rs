//! The summary that a plan's compaction is committed with: who writes it, what that takes, and the plan with its real
//! length. Nothing is stored here: a summary that failed, or was not wanted any more, leaves the plan as it was.

use crate::config::SummarizerConfig;
use crate::gateway::env::Environment;
use crate::gateway::ruleset::Ruleset;
use crate::ids::{EntryIx, SessionKey};
use crate::js::Value;
use crate::plan::{CompactionSummary, Plan, PlanError};
use crate::policy::PolicySettings;
use crate::policy::compact::{NoSummary, SummaryMode, predict_calls_within};
use crate::session::LoadedSession;
use crate::summarize::{
    CallTokens, CancelToken, Summarizer, SummarizerError, Summary, SummaryCallRecord, SummaryError,
    SummaryProgress, build_summarizer, run,
};
use crate::write::request::{WriteAction, WriteError, WriteRequest, prepare};
use crate::write::summary::writer::{SummaryEstimate, SummaryWriter};
use crate::write::summary::{NotCompactable, PreparedCompaction, SummarySettings};

/// What a summary stands for: as long as this stays the same, so does the summary.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SummaryScope {
    session: SessionKey,
    ruleset: Ruleset,
    /// Entries of the branch from the compaction before on, up to the cut.
    entries: Vec<EntryIx>,
    /// Where the turn begins that is split, by its place on the branch.
    turn_start: Option<usize>,
    /// The first entry kept, by its id, and its first byte in the file: a rewritten file has another.
    first_kept: (String, u64),
}

impl SummaryScope {
    /// That of a plan; none where it compacts nothing.
    fn from_plan(loaded: &LoadedSession, plan: &Plan) -> Option<Self> {
        let preparation = plan.compaction.as_ref()?;
        let branch = &loaded.details.as_ref()?.branch;
        let from = preparation.previous_compaction.unwrap_or(preparation.start);
        let part = branch.get(from..preparation.cut.first_kept)?;
        let first_kept = preparation.first_kept;
        Some(Self {
            session: loaded.item.key.clone(),
            ruleset: loaded.ruleset.id,
            entries: part.iter().map(|entry| entry.entry).collect(),
            turn_start: preparation.cut.turn_start,
            first_kept: (loaded.index.display_id(first_kept), loaded.index.entry(first_kept).offset),
        })
    }
}

/// A summary that was made, with what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryResult {
    /// As it is written.
    pub summary: CompactionSummary,
    /// Who wrote it.
    pub writer: SummaryWriter,
    /// The calls it took.
    pub calls: Vec<SummaryCallRecord>,
    /// US dollars they cost, where that is known.
    pub cost: Option<f64>,
    scope: SummaryScope,
}

impl SummaryResult {
    /// Whether it stands for what this plan summarises.
    pub fn matches_plan(&self, session: &LoadedSession, plan: &Plan) -> bool {
        SummaryScope::from_plan(session, plan).is_some_and(|cut| cut == self.scope)
    }

    /// The plan with this summary's length in the place of the assumed one. Fails where planning does.
    pub fn apply_to(&self, session: &LoadedSession, plan: &Plan) -> Result<Plan, PlanError> {
        let settings = PolicySettings { summary_tokens: self.summary.tokens(), ..plan.settings.clone() };
        session.plan(&settings, plan.gate)
    }

    /// Whether an answer ended at its limit, so that the summary may lack its end.
    pub fn is_truncated(&self) -> bool {
        self.calls.iter().any(|call| call.truncated)
    }
}

/// Why no summary is made for a plan.
#[derive(Debug, thiserror::Error)]
pub enum SummaryJobError {
    /// The plan compacts nothing, or its texts were not read.
    #[error("the plan has nothing to summarise (compaction 3.1)")]
    NoCompaction,
    /// There is nothing to summarise.
    #[error(transparent)]
    NotCompactable(#[from] NotCompactable),
    /// The settings make no summarizer.
    #[error(transparent)]
    Choose(#[from] SummarizerError),
    /// The commit would be refused, whatever the summary says.
    #[error(transparent)]
    Refused(#[from] WriteError),
    /// The calls cannot be told.
    #[error("{}", describe_no_summary(.0))]
    NoSummary(NoSummary),
    /// It failed, or was cancelled.
    #[error("{}", describe_summary_error(.0))]
    Summary(#[from] SummaryError),
}

/// A summary that is to be made for a plan: the texts are read, and nobody was asked yet.
#[derive(Debug)]
pub struct SummaryJob {
    /// What is summarised, and how.
    pub compactable: PreparedCompaction,
    /// Who writes it.
    pub writer: SummaryWriter,
    summarizer: Box<dyn Summarizer>,
    assumed_tokens: f64,
    scope: SummaryScope,
}

impl SummaryJob {
    /// Reads what the plan summarises. `now_ms` is when missing results are invented (compaction 6.3).
    pub fn new(
        session: &LoadedSession,
        plan: &Plan,
        settings: SummarySettings,
        (writer, summarizer): (SummaryWriter, Box<dyn Summarizer>),
        now_ms: f64,
    ) -> Result<Self, SummaryJobError> {
        let cut = SummaryScope::from_plan(session, plan).ok_or(SummaryJobError::NoCompaction)?;
        let compactable = PreparedCompaction::new(session, plan.settings.compaction, settings, None, now_ms)?;
        let assumed_tokens = plan.settings.summary_tokens as f64;
        Ok(Self { compactable, writer, summarizer, assumed_tokens, scope: cut })
    }

    /// The same for a commit, by the person's settings: refused where the commit would be, whatever the summary says.
    /// `config` is the store's.
    pub fn for_commit(
        request: &WriteRequest<'_>,
        config: &Value,
        summarizer: &SummarizerConfig,
        env: &Environment,
    ) -> Result<Self, SummaryJobError> {
        let WriteAction::Commit { plan, .. } = &request.action else {
            return Err(SummaryJobError::NoCompaction);
        };
        let chosen = build_summarizer(summarizer.kind, summarizer, env)?;
        check_writable(request)?;
        let session = request.session;
        let settings = SummarySettings::from_config(session.ruleset.id.rules(), config);
        let writer = SummaryWriter::from_config(summarizer.kind, summarizer);
        Self::new(session, plan, settings, (writer, chosen), request.now_ms as f64)
    }

    /// What it would take. No call is made.
    pub fn estimate(&self) -> Result<SummaryEstimate, SummaryJobError> {
        let job = &self.compactable.job;
        let window = if self.summarizer.accepts_any_length() { f64::INFINITY } else { job.window };
        let reported =
            predict_calls_within(job, window, self.assumed_tokens).map_err(SummaryJobError::NoSummary)?;
        let tokens = reported
            .calls
            .iter()
            .map(|call| CallTokens { input: call.input_tokens, output: call.output_tokens });
        Ok(SummaryEstimate {
            cost: self.writer.cost(tokens),
            writer: self.writer.clone(),
            calls: reported.calls.len(),
            input_tokens: reported.input_tokens(),
            output_tokens: reported.output_tokens(),
        })
    }

    /// Makes it, call by call; `progress` is told of every attempt.
    pub fn run(
        &self,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(SummaryProgress),
    ) -> Result<SummaryResult, SummaryJobError> {
        let summary = run(&self.compactable.job, self.summarizer.as_ref(), cancel, progress)?;
        let tokens = summary.calls.iter().map(|call| call.measured.unwrap_or(call.estimated));
        Ok(SummaryResult {
            cost: self.writer.cost(tokens),
            summary: self.to_stored(&summary),
            writer: self.writer.clone(),
            calls: summary.calls,
            scope: self.scope.clone(),
        })
    }

    /// As the runtime would store it: what the safeguard makes counts as an extension's (compaction 3.13, 3.21).
    fn to_stored(&self, summary: &Summary) -> CompactionSummary {
        CompactionSummary {
            text: summary.text.clone(),
            details: Some(summary.written.details.clone()),
            from_hook: self.compactable.job.mode == SummaryMode::Safeguard,
        }
    }
}

/// Refuses what would be refused whatever the summary says, so that nobody writes one in vain. Writes nothing.
pub fn check_writable(request: &WriteRequest<'_>) -> Result<(), WriteError> {
    let WriteAction::Commit { plan, .. } = &request.action else { return Ok(()) };
    let stand_in = CompactionSummary { text: ".".into(), details: None, from_hook: false };
    let ask = WriteAction::Commit { plan, summary: Some(&stand_in) };
    prepare(&WriteRequest { action: ask, ..request.clone() }).map(|_| ())
}

/// Why the gateway, or the runtime, would make no summary.
pub fn describe_no_summary(why: &NoSummary) -> String {
    match why {
        NoSummary::Cancelled(reason) => {
            format!("the gateway would cancel this compaction: {} ({})", reason.description(), reason.rule())
        }
        NoSummary::Failed(why) => format!("the runtime would fail to compact: {why}"),
        NoSummary::Aborted => "the calls cannot be told".to_owned(),
    }
}

/// Why there is no summary, and what the gateway would store instead.
pub fn describe_summary_error(error: &SummaryError) -> String {
    match error {
        SummaryError::Failed { why, gateway_stores: Some(text) } => format!(
            "no summary: {why}\nNothing was written. The gateway would put this in the place of the history: {}",
            text.to_string_lossy()
        ),
        SummaryError::Failed { why, .. } => format!("no summary: {why}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
