//! By which rules one session is read: those of its store, or, where only the store of pi said so, those of the pi that
//! wrote the transcript.

use std::sync::Arc;

use crate::context::budget::FixedChars;
use crate::context::system::system_state;
use crate::context::system_report::report;
use crate::gateway::ruleset::{Chosen, Reading};
use crate::ids::LineIds;
use crate::inspect::Inspection;
use crate::store::index::Index;
use crate::store::key::Kind;
use crate::store::load::{LoadError, Progress, load_as};
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use crate::store::session::Session;
use crate::store::source::Source;
use crate::store::survey::Store;
use crate::transcript::writer::mark_of_today;

impl Inspection {
    /// Tells system prompt and tools by the transcript, where it holds them and no run left a report. To be told anew
    /// for another leaf.
    pub(crate) fn tell_prompt(&mut self) {
        let of_transcript = |report: &Arc<SystemPromptReport>| report.source == ReportSource::Transcript;
        if self.index.reading == Reading::Entries
            || self.report.as_ref().is_some_and(|own| !of_transcript(own))
        {
            return;
        }
        let state = system_state(&self.index, &self.context.messages).ok().flatten();
        let report = state.and_then(|state| report(&state));
        self.fixed = report.as_ref().map(FixedChars::new);
        self.report = report.map(Arc::new);
    }
}

/// The rules of a session.
pub(super) fn chosen(store: &Store, session: &Session, index: &Index) -> Chosen {
    // A file that nothing else tells of may be anybody's.
    let alone = session.kind == Kind::File && session.row.is_none();
    store.ruleset.for_transcript(alone, || mark_of_today(index))
}

/// The index as a runtime reads the file; read anew where lines are taken differently. Answers also whether it is
/// another one now.
pub(super) fn read_as(
    source: &Source,
    index: Arc<Index>,
    reading: Reading,
    progress: Progress<'_>,
) -> Result<(Arc<Index>, bool), LoadError> {
    if index.reading == reading {
        return Ok((index, false));
    }
    if index.reads_differently {
        return Ok((Arc::new(load_as(source, reading, &mut LineIds, progress)?), true));
    }
    let mut index = Arc::unwrap_or_clone(index);
    index.reading = reading;
    Ok((Arc::new(index), true))
}
