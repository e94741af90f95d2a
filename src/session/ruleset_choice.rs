//! Chooses the ruleset of one session: its store's, unless the transcript shows which pi release wrote it and the
//! store's choice leaves that open.

use std::sync::Arc;

use crate::context::budget::FixedChars;
use crate::context::system::{replay_system_messages, report_from_state};
use crate::context::{Context, build_context};
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::{PiChange, PiRelease, Ruleset, RulesetChoice};
use crate::ids::LineIds;
use crate::session::LoadedSession;
use crate::session::workspace_estimate::estimate_chars;
use crate::store::discovery::Store;
use crate::store::index::{Index, OpenStatus};
use crate::store::key::SessionKind;
use crate::store::load::{LoadError, ProgressFn, load_for_release};
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use crate::store::session::Session;
use crate::store::session_records::SessionRecord;
use crate::store::source::Source;
use crate::store::trajectory::last_prompt_report;
use crate::transcript::writer::pi_mark;
use crate::transcript::{Leaf, Tree};

impl LoadedSession {
    /// Reads the sizes of system prompt and tools when no run left a report: from the transcript if its pi release
    /// keeps system messages, else from the gateway's recording. Call it again after a change of leaf.
    pub(crate) fn load_prompt_report(&mut self) {
        let tells = self.index.pi_release.has(PiChange::KeepsSystemMessages);
        if self.prompt_report.is_none() && !tells {
            self.set_prompt_report(recorded_report(&self.source, &self.index, &self.config));
            return;
        }
        let of_transcript = |report: &Arc<SystemPromptReport>| report.source == ReportSource::Transcript;
        if !tells || self.prompt_report.as_ref().is_some_and(|own| !of_transcript(own)) {
            return;
        }
        self.set_prompt_report(transcript_report(&self.index, &self.context));
    }

    pub(crate) fn set_prompt_report(&mut self, report: Option<SystemPromptReport>) {
        self.fixed_chars = report.as_ref().map(FixedChars::new);
        self.prompt_report = report.map(Arc::new);
    }
}

/// Reads the sizes of the system prompt from the gateway's recording of the session's newest run.
fn recorded_report(source: &Source, index: &Index, config: &GatewayConfig) -> Option<SystemPromptReport> {
    let session = index.header.as_ref().map(|header| header.id.as_str());
    last_prompt_report(source, session.unwrap_or_default(), config.trajectory_dir.as_deref())
}

/// Reads system prompt and tools from the transcript's system messages.
fn transcript_report(index: &Index, context: &Context) -> Option<SystemPromptReport> {
    let state = replay_system_messages(index, &context.messages).ok().flatten();
    state.and_then(|state| report_from_state(&state))
}

/// Returns the chars before the messages: from the session record's report, else from the transcript or the gateway's
/// recording, as in [`LoadedSession::load_prompt_report`], else estimated from the workspace.
pub(super) fn fixed_chars(
    (store, session): (&Store, &Session),
    ruleset: Ruleset,
    (source, index): (&Source, &Index),
    context: &Context,
) -> Option<FixedChars> {
    let (row, config) = (session.record.as_ref(), &store.config);
    let own = row.and_then(SessionRecord::prompt_report);
    let left = own.as_ref().is_some_and(|own| own.source != ReportSource::Transcript);
    let tells = index.pi_release.has(PiChange::KeepsSystemMessages);
    let report = match own {
        None if !tells => recorded_report(source, index, config),
        own if !tells || left => own,
        _ => transcript_report(index, context),
    };
    match report {
        Some(report) => Some(FixedChars::new(&report)),
        None if ruleset.is_pi() => None,
        None => estimate_chars(store, session),
    }
}

/// Builds the context at the session's own leaf. Also returns whether the runtime throws there.
pub(super) fn own_context(index: &Index, tree: &Tree) -> (Context, bool) {
    let built = match index.open_status {
        OpenStatus::Throws { .. } => None,
        _ => build_context(index, tree, &Leaf::Own).ok(),
    };
    let throws = built.is_none();
    (built.unwrap_or_default(), throws)
}

pub(super) fn choose_ruleset(store: &Store, session: &Session, index: &Index) -> RulesetChoice {
    // A loose file that no store describes may come from any program.
    let is_unnamed = matches!(session.kind, SessionKind::File | SessionKind::Orphan | SessionKind::Archive);
    let alone = is_unnamed && session.record.is_none() && !store.is_gateway();
    store.ruleset.for_transcript(alone, || pi_mark(index))
}

/// Returns the index as a pi release reads the file, and whether it is a new one. The file is read again only if the
/// releases split lines differently.
pub(super) fn reread_as(
    source: &Source,
    index: Arc<Index>,
    pi: PiRelease,
    progress: ProgressFn<'_>,
) -> Result<(Arc<Index>, bool), LoadError> {
    if index.pi_release == pi {
        return Ok((index, false));
    }
    if index.depends_on_reading && index.pi_release.has(PiChange::ReadsLines) != pi.has(PiChange::ReadsLines)
    {
        return Ok((Arc::new(load_for_release(source, pi, &mut LineIds, progress)?), true));
    }
    let mut index = Arc::unwrap_or_clone(index);
    index.set_pi_release(pi);
    Ok((Arc::new(index), true))
}
