//! The summary that a plan's compaction is committed with: who writes it, what that takes, and the plan with its real
//! length. Nothing is stored here: a summary that failed, or was not wanted any more, leaves the plan as it was.

use crate::config::SummarizerConfig;
use crate::gateway::env::Environment;
use crate::gateway::ruleset::Ruleset;
use crate::ids::{EntryIx, SessionKey};
use crate::inspect::Inspection;
use crate::inspect::summary::{Compactable, NotCompactable, SummarySettings};
use crate::inspect::write::{Ask, WriteError, WriteRequest, prepare};
use crate::inspect::writer::{Offer, Writer};
use crate::js::Value;
use crate::plan::{MadeSummary, Plan, PlanError};
use crate::policy::StepSettings;
use crate::policy::compact::{Mode, NoSummary, calls_within};
use crate::summarize::{
    Cancel, ChooseError, MadeCall, Progress, Summarizer, Summary, SummaryError, Tokens, choose, run,
};

/// What a summary stands for: as long as this stays the same, so does the summary.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    session: SessionKey,
    ruleset: Ruleset,
    /// Entries of the branch from the compaction before on, up to the cut.
    entries: Vec<EntryIx>,
    /// Where the turn begins that is split, by its place on the branch.
    turn_start: Option<usize>,
    /// The first entry kept, by its id, and its first byte in the file: a rewritten file has another.
    first_kept: (String, u64),
}

impl Cut {
    /// That of a plan; none where it compacts nothing.
    fn of(inspection: &Inspection, plan: &Plan) -> Option<Self> {
        let preparation = plan.compaction.as_ref()?;
        let branch = &inspection.closer.as_ref()?.branch;
        let from = preparation.previous.unwrap_or(preparation.start);
        let part = branch.get(from..preparation.cut.first_kept)?;
        let first_kept = preparation.first_kept;
        Some(Self {
            session: inspection.session.key.clone(),
            ruleset: inspection.ruleset.ruleset,
            entries: part.iter().map(|entry| entry.entry).collect(),
            turn_start: preparation.cut.turn_start,
            first_kept: (inspection.index.name(first_kept), inspection.index.entry(first_kept).offset),
        })
    }
}

/// A summary that was made, with what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// As it is written.
    pub summary: MadeSummary,
    /// Who wrote it.
    pub writer: Writer,
    /// The calls it took.
    pub calls: Vec<MadeCall>,
    /// US dollars they cost, where that is known.
    pub cost: Option<f64>,
    cut: Cut,
}

impl Made {
    /// Whether it stands for what this plan summarises.
    pub fn is_for(&self, inspection: &Inspection, plan: &Plan) -> bool {
        Cut::of(inspection, plan).is_some_and(|cut| cut == self.cut)
    }

    /// The plan with this summary's length in the place of the assumed one. Fails where planning does.
    pub fn plan(&self, inspection: &Inspection, plan: &Plan) -> Result<Plan, PlanError> {
        let settings = StepSettings { summary_tokens: self.summary.tokens(), ..plan.settings.clone() };
        inspection.plan(&settings, plan.gate)
    }

    /// Whether an answer ended at its limit, so that the summary may lack its end.
    pub fn is_cut(&self) -> bool {
        self.calls.iter().any(|call| call.cut)
    }
}

/// Why no summary is made for a plan.
#[derive(Debug, thiserror::Error)]
pub enum MakingError {
    /// The plan compacts nothing, or its texts were not read.
    #[error("the plan has nothing to summarise (compaction 3.1)")]
    NoCompaction,
    /// There is nothing to summarise.
    #[error(transparent)]
    NotCompactable(#[from] NotCompactable),
    /// The settings make no summarizer.
    #[error(transparent)]
    Choose(#[from] ChooseError),
    /// The commit would be refused, whatever the summary says.
    #[error(transparent)]
    Refused(#[from] WriteError),
    /// The calls cannot be told.
    #[error("{}", no_summary_words(.0))]
    NoSummary(NoSummary),
    /// It failed, or was cancelled.
    #[error("{}", summary_error_words(.0))]
    Summary(#[from] SummaryError),
}

/// A summary that is to be made for a plan: the texts are read, and nobody was asked yet.
#[derive(Debug)]
pub struct Making {
    /// What is summarised, and how.
    pub compactable: Compactable,
    /// Who writes it.
    pub writer: Writer,
    summarizer: Box<dyn Summarizer>,
    assumed_tokens: f64,
    cut: Cut,
}

impl Making {
    /// Reads what the plan summarises. `now_ms` is when missing results are invented (compaction 6.3).
    pub fn new(
        inspection: &Inspection,
        plan: &Plan,
        settings: SummarySettings,
        (writer, summarizer): (Writer, Box<dyn Summarizer>),
        now_ms: f64,
    ) -> Result<Self, MakingError> {
        let cut = Cut::of(inspection, plan).ok_or(MakingError::NoCompaction)?;
        let compactable = Compactable::new(inspection, plan.settings.compaction, settings, None, now_ms)?;
        let assumed_tokens = plan.settings.summary_tokens as f64;
        Ok(Self { compactable, writer, summarizer, assumed_tokens, cut })
    }

    /// The same for a commit, by the person's settings: refused where the commit would be, whatever the summary says.
    /// `config` is the store's.
    pub fn for_commit(
        request: &WriteRequest<'_>,
        config: &Value,
        summarizer: &SummarizerConfig,
        env: &Environment,
    ) -> Result<Self, MakingError> {
        let Ask::Commit { plan, .. } = &request.ask else { return Err(MakingError::NoCompaction) };
        let chosen = choose(summarizer.kind, summarizer, env)?;
        refuse_early(request)?;
        let inspection = request.inspection;
        let settings = SummarySettings::of(inspection.ruleset.ruleset.rules(), config);
        let writer = Writer::of(summarizer.kind, summarizer);
        Self::new(inspection, plan, settings, (writer, chosen), request.now_ms as f64)
    }

    /// What it would take. No call is made.
    pub fn offer(&self) -> Result<Offer, MakingError> {
        let job = &self.compactable.job;
        let window = if self.summarizer.takes_any_length() { f64::INFINITY } else { job.window };
        let told = calls_within(job, window, self.assumed_tokens).map_err(MakingError::NoSummary)?;
        let tokens =
            told.calls.iter().map(|call| Tokens { input: call.input_tokens, output: call.output_tokens });
        Ok(Offer {
            cost: self.writer.cost(tokens),
            writer: self.writer.clone(),
            calls: told.calls.len(),
            input_tokens: told.input_tokens(),
            output_tokens: told.output_tokens(),
        })
    }

    /// Makes it, call by call; `progress` is told of every attempt.
    pub fn make(&self, cancel: &Cancel, progress: &mut dyn FnMut(Progress)) -> Result<Made, MakingError> {
        let summary = run(&self.compactable.job, self.summarizer.as_ref(), cancel, progress)?;
        let tokens = summary.calls.iter().map(|call| call.measured.unwrap_or(call.estimated));
        Ok(Made {
            cost: self.writer.cost(tokens),
            summary: self.stored(&summary),
            writer: self.writer.clone(),
            calls: summary.calls,
            cut: self.cut.clone(),
        })
    }

    /// As the runtime would store it: what the safeguard makes counts as an extension's (compaction 3.13, 3.21).
    fn stored(&self, summary: &Summary) -> MadeSummary {
        MadeSummary {
            text: summary.text.clone(),
            details: Some(summary.written.details.clone()),
            from_hook: self.compactable.job.mode == Mode::Safeguard,
        }
    }
}

/// Refuses what would be refused whatever the summary says, so that nobody writes one in vain. Writes nothing.
pub fn refuse_early(request: &WriteRequest<'_>) -> Result<(), WriteError> {
    let Ask::Commit { plan, .. } = &request.ask else { return Ok(()) };
    let stand_in = MadeSummary { text: ".".into(), details: None, from_hook: false };
    let ask = Ask::Commit { plan, summary: Some(&stand_in) };
    prepare(&WriteRequest { ask, ..request.clone() }).map(|_| ())
}

/// Why the gateway, or the runtime, would make no summary.
pub fn no_summary_words(why: &NoSummary) -> String {
    match why {
        NoSummary::Cancelled(reason) => {
            format!("the gateway would cancel this compaction: {} ({})", reason.words(), reason.rule())
        }
        NoSummary::Failed(why) => format!("the runtime would fail to compact: {why}"),
        NoSummary::Ended => "the calls cannot be told".to_owned(),
    }
}

/// Why there is no summary, and what the gateway would store instead.
pub fn summary_error_words(error: &SummaryError) -> String {
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
#[path = "making_tests.rs"]
mod tests;
