//! By which rules one session is read: those of its store, or, where only the store of pi said so, those of the pi that
//! wrote the transcript.

use std::sync::Arc;

use crate::context::budget::FixedChars;
use crate::context::system::system_state;
use crate::context::system_report::report;
use crate::context::{Context, build};
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::{Chosen, PiChange, PiRelease};
use crate::ids::LineIds;
use crate::inspect::Inspection;
use crate::store::index::{Index, Standing};
use crate::store::key::Kind;
use crate::store::load::{LoadError, Progress, load_as};
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use crate::store::rows::Row;
use crate::store::session::Session;
use crate::store::source::Source;
use crate::store::survey::Store;
use crate::store::trajectory::last_report;
use crate::transcript::writer::pi_mark;
use crate::transcript::{Leaf, Tree};

impl Inspection {
    /// Tells system prompt and tools by the transcript, where it holds them and no run left a report. To be told anew
    /// for another leaf.
    pub(crate) fn tell_prompt(&mut self) {
        let tells = self.index.pi.has(PiChange::KeepsSystemMessages);
        if self.report.is_none() && !tells {
            let report = recorded(&self.source, &self.index, &self.config);
            self.fixed = report.as_ref().map(FixedChars::new);
            self.report = report.map(Arc::new);
            return;
        }
        let of_transcript = |report: &Arc<SystemPromptReport>| report.source == ReportSource::Transcript;
        if !tells || self.report.as_ref().is_some_and(|own| !of_transcript(own)) {
            return;
        }
        let report = report_of(&self.index, &self.context);
        self.fixed = report.as_ref().map(FixedChars::new);
        self.report = report.map(Arc::new);
    }
}

/// Sizes of the system prompt by the gateway's recording of the session's newest run.
fn recorded(source: &Source, index: &Index, config: &GatewayConfig) -> Option<SystemPromptReport> {
    let session = index.header.as_ref().map(|header| header.id.as_str());
    last_report(source, session.unwrap_or_default(), config.trajectory_dir.as_deref())
}

/// System prompt and tools as the transcript itself tells them.
fn report_of(index: &Index, context: &Context) -> Option<SystemPromptReport> {
    let state = system_state(index, &context.messages).ok().flatten();
    state.and_then(|state| report(&state))
}

/// What precedes the messages of a session: as its last run left it in the row, else as the transcript tells it.
pub(super) fn fixed_of(
    row: Option<&Row>,
    (source, index): (&Source, &Index),
    context: &Context,
    config: &GatewayConfig,
) -> Option<FixedChars> {
    let own = row.and_then(Row::prompt_report);
    let left = own.as_ref().is_some_and(|own| own.source != ReportSource::Transcript);
    let tells = index.pi.has(PiChange::KeepsSystemMessages);
    let report = match own {
        None if !tells => recorded(source, index, config),
        own if !tells || left => own,
        _ => report_of(index, context),
    };
    report.as_ref().map(FixedChars::new)
}

/// The context at a session's own leaf, and whether the runtime throws where it builds that.
pub(super) fn context_of(index: &Index, tree: &Tree) -> (Context, bool) {
    let built = match index.standing {
        Standing::Throws { .. } => None,
        _ => build(index, tree, &Leaf::Own).ok(),
    };
    let throws = built.is_none();
    (built.unwrap_or_default(), throws)
}

/// The rules of a session.
pub(super) fn chosen(store: &Store, session: &Session, index: &Index) -> Chosen {
    // A file that nothing else tells of may be anybody's.
    let is_unnamed = matches!(session.kind, Kind::File | Kind::Orphan | Kind::Archive);
    let alone = is_unnamed && session.row.is_none() && !store.is_of_gateway();
    store.ruleset.for_transcript(alone, || pi_mark(index))
}

/// The index as a runtime reads the file; read anew where lines are taken differently. Answers also whether it is
/// another one now.
pub(super) fn read_as(
    source: &Source,
    index: Arc<Index>,
    pi: PiRelease,
    progress: Progress<'_>,
) -> Result<(Arc<Index>, bool), LoadError> {
    if index.pi == pi {
        return Ok((index, false));
    }
    if index.reads_differently && index.pi.has(PiChange::ReadsLines) != pi.has(PiChange::ReadsLines) {
        return Ok((Arc::new(load_as(source, pi, &mut LineIds, progress)?), true));
    }
    let mut index = Arc::unwrap_or_clone(index);
    index.set_pi(pi);
    Ok((Arc::new(index), true))
}
