//! Performs the effects that read or write sessions: an effect in, events out, without terminal and without threads. The
//! event loop runs it in background jobs; tests run it at once.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::app::effect::{Effect, PendingWrite};
use crate::app::effect_error::EffectError;
use crate::app::event::{Event, SummaryUpdate};
use crate::app::regret::FoundRegret;
use crate::app::screens::compare::{SweepQuery, SweepUpdate, run_sweep};
use crate::app::screens::explain::FoldedReport;
use crate::app::screens::problems::ProblemsUpdate;
use crate::app::screens::search::StoreSearchUpdate;
use crate::commit::{Clock, SystemDisk, recover_commit};
use crate::config::SummarizerConfig;
use crate::config::presets::{Preset, delete_preset, list_presets, preset_names, write_preset};
use crate::format::quantity;
use crate::gateway::env::Environment;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::plan::Plan;
use crate::replay::Settings;
use crate::report::breakdown::heavy_blocks;
use crate::report::commits::CommitList;
use crate::report::compare::compare_branches;
use crate::report::estimators::{self, EstimatesError};
use crate::report::explain::explain;
use crate::report::record::RecordView;
use crate::report::recovery::load_recovery;
use crate::report::regret::{RegretFinder, RegretTexts};
use crate::report::sweep::Cell;
use crate::report::timeline::{RecordedSession, Timeline};
use crate::runtime::jobs::Throttle;
use crate::session::loading::{OpenError, open, open_from};
use crate::session::message::excerpt::read_context_excerpt;
use crate::session::message::read_message;
use crate::session::search::{SearchQuery, search, search_store};
use crate::session::store_problems::find_problems;
use crate::session::{ContextDetails, LoadedSession};
use crate::store::archive::find_archive;
use crate::store::body::BodyError;
use crate::store::discovery::Store;
use crate::store::session::Session;
use crate::summarize::CancelToken;
use crate::units::{Millis, Moment};
use crate::write::request::{WriteAction, WriteRequest, preview, write};
use crate::write::summary::SummarySettings;
use crate::write::summary::job::{SummaryCalls, SummaryCallsRequest, SummaryJob, SummaryJobError};

/// Minimum time between two progress reports: a screen shows no more.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

/// The store, clocks and services that effects need.
#[expect(missing_debug_implementations, reason = "a clock has no state to show")]
pub struct Inputs {
    /// The listed store.
    pub store: Option<Arc<Store>>,
    /// The epoch of a session that is read; `None` counts on from the previous one.
    pub epoch: Option<Epoch>,
    /// The time of the state machine; the demo has its own.
    pub now_ms: Moment,
    /// The clock that decides about locks.
    pub clock: Box<dyn Clock + Send>,
    pub env: Environment,
    /// The writer of summaries.
    pub summarizer: SummarizerConfig,
    /// Stops a summary.
    pub cancel: CancelToken,
}

/// The receiver of the events.
#[expect(missing_debug_implementations, reason = "functions have no state to show")]
pub struct Listener<'a> {
    /// Whether the answer is still wanted.
    pub is_wanted: &'a (dyn Fn() -> bool + Sync),
    pub send: &'a (dyn Fn(Event) + Sync),
}

/// Performs an effect and sends every event that answers it. Effects on the terminal, the list of sessions, files of the
/// person and running jobs are the caller's.
#[expect(clippy::too_many_lines, reason = "one arm per effect, so that none is forgotten")]
pub fn perform(effect: Effect, inputs: &Inputs, listener: &Listener<'_>) {
    let is_wanted = listener.is_wanted;
    let event = match effect {
        Effect::OpenSession { key } => return open_session(key, inputs, listener),
        Effect::RefreshSession { session } => return refresh(&session, inputs, listener),
        Effect::LoadSessionAtCall { session, overflow } => Event::SessionAtCall {
            epoch: session.epoch,
            session: session.at_failed_call(&overflow).map(Arc::new),
        },
        Effect::ReadExcerpts { session, entries } => read_excerpts(&session, &entries),
        Effect::ReadMessage { session, entry, plan } => {
            let text = read_message(&session, entry, plan.as_deref());
            Event::Message { epoch: session.epoch, entry, text: shared(text) }
        }
        Effect::LoadDetails { session } => return load_details(&session, listener),
        Effect::PredictSummaryCalls { session, request } => match predict_calls(&session, request, inputs) {
            Some(event) => event,
            None => return,
        },
        Effect::ReadBlocks { session, entries } => Event::Blocks {
            epoch: session.epoch,
            blocks: heavy_blocks(&session, &entries, &mut || is_wanted()),
        },
        Effect::Search { session, query, from } => {
            match search(&session.source, &session.index, &query, from, &mut || is_wanted()) {
                Ok(matches) => Event::SearchMatches { epoch: session.epoch, query, from, matches },
                Err(error) => Event::Failure(error.to_string()),
            }
        }
        Effect::SearchStore { query, request_id } => {
            return search_every_session(&query, request_id, inputs, listener);
        }
        Effect::FindProblems { request_id } => return find_store_problems(request_id, inputs, listener),
        Effect::ComputeEstimates { session } => return estimate(&session, listener),
        Effect::ReadRecovery { session } => {
            let doc = shared(load_recovery(&session).map(|view| view.doc(&session)));
            Event::FoldedReport { epoch: session.epoch, report: FoldedReport::Recovery, doc }
        }
        Effect::Summarise { session, plan, consented } => {
            return summarise(&session, &plan, consented, inputs, listener);
        }
        Effect::Explain { session } => {
            Event::Explanation { epoch: session.epoch, explanation: shared(explain(&session)) }
        }
        Effect::ReadCommits { session } => {
            Event::Commits { epoch: session.epoch, commits: shared(CommitList::read(&session)) }
        }
        Effect::ReadRecord { key } => read_record(key, inputs),
        Effect::CompareBranches { session, leaves } => Event::BranchesCompared {
            epoch: session.epoch,
            comparison: shared(compare_branches(&session, leaves)),
        },
        Effect::RepairCommit { path } => Event::Repaired(repair(&path, inputs)),
        Effect::ReadRecording { session, policies, previous } => {
            let epoch = session.epoch;
            let read = RecordedSession::read(session, policies, previous.as_deref(), &|| is_wanted());
            let Some(recording) = read.transpose() else { return };
            Event::Recording { epoch, recording: shared(recording) }
        }
        Effect::Replay { recording, settings, request_id } => {
            let timeline = Timeline::new(recording, settings.map(|settings| *settings), &|| is_wanted());
            let Some(timeline) = timeline.map(Arc::new) else { return };
            Event::Replayed { request_id, timeline }
        }
        Effect::FindRegret { recording, settings, known, request_id } => {
            let epoch = recording.session.epoch;
            let found = find_regret(&recording, settings.as_deref(), known);
            Event::Regret { epoch, request_id, found: shared(found) }
        }
        Effect::Sweep { recording, query, request_id } => {
            return run_cells(&recording, *query, request_id, inputs.now_ms, listener);
        }
        Effect::PreviewWrite(pending) => {
            let request = write_request(&pending, inputs.now_ms);
            let shown = preview(&request, inputs.clock.now_ms());
            Event::WritePreviewed(shown.map_err(EffectError::from))
        }
        Effect::Write { pending, read } => {
            let request = write_request(&pending, inputs.now_ms);
            let written = write(&request, read.as_ref(), &*inputs.clock, &inputs.env);
            Event::Written(written.map_err(EffectError::from))
        }
        Effect::ReadPresets => Event::Presets(list_presets(&inputs.env)),
        Effect::SavePreset(preset) => {
            (listener.send)(save_preset(&inputs.env, &preset));
            Event::Presets(list_presets(&inputs.env))
        }
        Effect::DeletePreset(name) => {
            let deleted = delete_preset(&inputs.env, &name);
            (listener.send)(match deleted {
                Ok(()) => Event::Notice(format!("Deleted preset {name}.")),
                Err(error) => Event::Failure(error.to_string()),
            });
            Event::Presets(list_presets(&inputs.env))
        }
        Effect::ListSessions { .. }
        | Effect::RefreshListing { .. }
        | Effect::UseRuleset(_)
        | Effect::StopStoreSearch
        | Effect::StopProblems
        | Effect::StopEstimates
        | Effect::RememberIntroduction
        | Effect::StopSummary
        | Effect::StopSweep
        | Effect::Copy { .. }
        | Effect::ShowInPager(_)
        | Effect::RunCommand { .. }
        | Effect::SaveFile { .. }
        | Effect::Export { .. }
        | Effect::SaveScreen { .. }
        | Effect::Alert(_)
        | Effect::ShowUtc(_)
        | Effect::CaptureMouse(_)
        | Effect::SetTimer(_)
        | Effect::DropStale { .. }
        | Effect::Quit => return,
    };
    (listener.send)(event);
}

fn find_regret(
    recording: &RecordedSession,
    settings: Option<&Settings>,
    known: Option<Arc<RegretTexts>>,
) -> Result<FoundRegret, BodyError> {
    let finder = RegretFinder::extending(&recording.session, &recording.inputs, known);
    let regret = settings.map_or_else(|| finder.recorded(), |settings| finder.simulated(settings))?;
    Ok(FoundRegret { regret, texts: finder.into_texts() })
}

/// Writes a preset and says where, and whether it replaced another.
fn save_preset(env: &Environment, preset: &Preset) -> Event {
    let known = preset_names(env).contains(&preset.name);
    match write_preset(env, preset) {
        Ok(path) => {
            let done = if known { "Replaced" } else { "Saved" };
            let settings = quantity(preset.values.len() as u64, "setting");
            Event::Notice(format!("{done} preset {} ({settings}) in {}.", preset.name, path.display()))
        }
        Err(error) => Event::Failure(error.to_string()),
    }
}

fn shared<T, E: Into<EffectError>>(read: Result<T, E>) -> Result<Arc<T>, EffectError> {
    read.map(Arc::new).map_err(Into::into)
}

fn read_record(key: SessionKey, inputs: &Inputs) -> Event {
    let sessions = inputs.store.iter().flat_map(|store| &store.sessions);
    let session = sessions.into_iter().find(|session| session.key == key);
    let doc = session.map(|session| RecordView::new(session, inputs.now_ms).doc());
    Event::Record { key, doc: doc.ok_or(EffectError::SessionGone) }
}

/// Reads excerpts of entries. A failed excerpt leaves its row without text; opening the message shows why.
pub(super) fn read_excerpts(session: &LoadedSession, entries: &[EntryIx]) -> Event {
    let items =
        entries.iter().filter_map(|entry| Some((*entry, read_context_excerpt(session, *entry).ok()?)));
    Event::Excerpts { epoch: session.epoch, items: items.collect() }
}

fn open_session(key: SessionKey, inputs: &Inputs, listener: &Listener<'_>) {
    let Some(store) = &inputs.store else { return };
    let mut throttle = Throttle::new(PROGRESS_INTERVAL);
    let opened = open(store, &key, None, inputs.clock.now_ms(), &mut |done, total| {
        if throttle.try_pass() {
            (listener.send)(Event::OpenProgress { key: key.clone(), done, total });
        }
        (listener.is_wanted)()
    });
    match opened {
        Ok(session) => (listener.send)(inputs.opened(session)),
        Err(error) if error.is_stopped() => {}
        Err(error) => (listener.send)(Event::OpenFailed { key, error: error.to_string() }),
    }
}

fn refresh(known: &LoadedSession, inputs: &Inputs, listener: &Listener<'_>) {
    let Some(store) = &inputs.store else { return };
    let now_ms = inputs.clock.now_ms();
    match open(store, &known.item.key, Some(known), now_ms, &mut |_, _| (listener.is_wanted)()) {
        Ok(session) => (listener.send)(inputs.opened(session)),
        Err(error) if error.is_stopped() => {}
        Err(OpenError::NotWritten { .. } | OpenError::Lost { .. } | OpenError::Unknown { .. }) => {
            let path = known.source.path();
            let name = path.file_name().unwrap_or(path.as_os_str()).display();
            let archive = find_archive(path, known.index.identity);
            let archive = archive.as_deref().and_then(Path::file_name).map(|name| name.display());
            let fate =
                archive.map_or("was deleted".to_owned(), |archive| format!("was archived as {archive}"));
            let words = format!("{name} {fate}; clawscope still shows what it read.");
            if let Some(last) = read_remaining(store, known, now_ms) {
                (listener.send)(inputs.opened(last));
            }
            (listener.send)(Event::RefreshFailed(words));
        }
        Err(error) => (listener.send)(Event::RefreshFailed(error.to_string())),
    }
}

impl Inputs {
    fn opened(&self, session: LoadedSession) -> Event {
        let epoch = self.epoch.unwrap_or(session.epoch);
        let (entries, bytes) = (session.index.entries.len(), session.index.end);
        let grew = session.extends_epoch.is_some();
        tracing::info!(entries, bytes, grew, "session loaded");
        Event::Opened(Box::new(LoadedSession { epoch, ..session }))
    }
}

/// Reads the entries that were added before a transcript was removed or replaced. The file stays readable while it is
/// open here.
fn read_remaining(store: &Store, known: &LoadedSession, now_ms: Moment) -> Option<LoadedSession> {
    let session = store.sessions.iter().find(|session| session.key == known.item.key)?;
    let session = Session { path: Some(known.source.path().to_path_buf()), ..session.clone() };
    let last =
        open_from(store, &session, known.source.clone(), Some(known), now_ms, &mut |_, _| true).ok()?;
    (last.extends_epoch.is_some() && last.index.end > known.index.end).then_some(last)
}

fn load_details(session: &LoadedSession, listener: &Listener<'_>) {
    let LoadedSession { source, index, context, .. } = session;
    let rules = session.ruleset.id.rules();
    let read =
        ContextDetails::read_while(source, index, context, rules, None, &mut || (listener.is_wanted)());
    if let Some(details) = read.transpose() {
        (listener.send)(Event::Details { subject: session.view_key(), details: shared(details) });
    }
}

fn predict_calls(session: &LoadedSession, request: SummaryCallsRequest, inputs: &Inputs) -> Option<Event> {
    let config = &inputs.store.as_ref()?.config.js_root;
    let summary = SummarySettings::from_config(session.ruleset.id.rules(), config);
    let calls = SummaryCalls::predict(session, &request, summary, inputs.now_ms);
    Some(Event::SummaryCalls { request, calls: calls.map_err(EffectError::from) })
}

/// The most counted calls on the page: the newest ones.
const MAX_COUNTED_CALLS: usize = 100;

fn estimate(session: &LoadedSession, listener: &Listener<'_>) {
    let mut throttle = Throttle::new(PROGRESS_INTERVAL);
    let epoch = session.epoch;
    let estimates = estimators::read(session, &mut |done, total| {
        if throttle.try_pass() {
            (listener.send)(Event::EstimateProgress { epoch, done, total });
        }
        (listener.is_wanted)()
    });
    if !matches!(estimates, Err(EstimatesError::Stopped)) {
        let doc = shared(estimates.map(|estimates| estimates.doc(session, MAX_COUNTED_CALLS)));
        (listener.send)(Event::FoldedReport { epoch, report: FoldedReport::Estimators, doc });
    }
}

/// Writes the summary of a plan's compaction, or only estimates it while the person has not agreed to send the
/// conversation out of the program.
fn summarise(session: &LoadedSession, plan: &Plan, agreed: bool, inputs: &Inputs, listener: &Listener<'_>) {
    let Some(store) = &inputs.store else { return };
    let say = |update| (listener.send)(Event::Summary { epoch: session.epoch, update });
    let action = WriteAction::Commit { plan, summary: None };
    let request = WriteRequest { session, action, allow_orphan: false, now_ms: inputs.now_ms };
    let job = SummaryJob::for_commit(&request, &store.config.js_root, &inputs.summarizer);
    let update = job.and_then(|job| summarise_or_offer(&job, agreed, &inputs.cancel, &say));
    say(update.unwrap_or_else(|error| SummaryUpdate::Failed(error.to_string())));
}

fn summarise_or_offer(
    job: &SummaryJob,
    agreed: bool,
    cancel: &CancelToken,
    say: &dyn Fn(SummaryUpdate),
) -> Result<SummaryUpdate, SummaryJobError> {
    if job.writer.is_external() && !agreed {
        return job.estimate().map(SummaryUpdate::Offered);
    }
    let mut progress = |progress| say(SummaryUpdate::Calling(progress));
    job.run(cancel, &mut progress).map(|summary| SummaryUpdate::Finished(Arc::new(summary)))
}

fn repair(path: &Path, inputs: &Inputs) -> Result<String, EffectError> {
    match recover_commit(path, Millis::ZERO, &*inputs.clock, &SystemDisk) {
        Ok(Some(settled)) => Ok(settled.description()),
        Ok(None) => Ok("It was already repaired.".to_owned()),
        Err(error) => Err(error.into()),
    }
}

/// Searches the store. Sessions are sent in batches: a screen shows no more.
fn search_every_session(query: &str, request_id: u64, inputs: &Inputs, listener: &Listener<'_>) {
    let Some(store) = &inputs.store else { return };
    let batch = Mutex::new((Throttle::new(PROGRESS_INTERVAL), Vec::new()));
    let say = |update| (listener.send)(Event::StoreSearch { request_id, update });
    let totals = search_store(store, &SearchQuery::new(query), listener.is_wanted, &|session| {
        let Ok(mut batch) = batch.lock() else { return };
        let (throttle, sessions) = &mut *batch;
        sessions.push(session);
        if throttle.try_pass() {
            say(StoreSearchUpdate::Found(std::mem::take(sessions)));
        }
    });
    let Some(totals) = totals else { return };
    if let Ok((_, sessions)) = batch.into_inner() {
        say(StoreSearchUpdate::Found(sessions));
    }
    say(StoreSearchUpdate::Finished(totals));
}

/// Reads every transcript for its problems. They are sent in batches: a screen shows no more.
fn find_store_problems(request_id: u64, inputs: &Inputs, listener: &Listener<'_>) {
    let Some(store) = &inputs.store else { return };
    let say = |update| (listener.send)(Event::Problems { request_id, update });
    let (mut throttle, mut batch) = (Throttle::new(PROGRESS_INTERVAL), Vec::new());
    let is_complete = find_problems(store, inputs.now_ms, listener.is_wanted, &mut |session| {
        batch.push(session);
        if throttle.try_pass() {
            say(ProblemsUpdate::Found(std::mem::take(&mut batch)));
        }
    });
    if is_complete {
        say(ProblemsUpdate::Found(batch));
        say(ProblemsUpdate::Finished);
    }
}

/// Runs a sweep. Cells are sent in batches: a screen shows no more.
fn run_cells(
    recording: &RecordedSession,
    query: SweepQuery,
    request_id: u64,
    now_ms: Moment,
    listener: &Listener<'_>,
) {
    let batch = Mutex::new((Throttle::new(PROGRESS_INTERVAL), Vec::new()));
    let say = |update| (listener.send)(Event::Sweep { request_id, update });
    let on_cell = |at: usize, cell: &Cell| {
        let Ok(mut batch) = batch.lock() else { return };
        let (throttle, cells) = &mut *batch;
        cells.push((at, cell.clone()));
        if throttle.try_pass() {
            say(SweepUpdate::Cells(std::mem::take(cells)));
        }
    };
    if let Some(done) = run_sweep(recording, query, now_ms, &|| (listener.is_wanted)(), &say, &on_cell) {
        say(done);
    }
}

/// Builds one request for both the preview and the write, so that they cannot differ.
fn write_request(pending: &PendingWrite, now_ms: Moment) -> WriteRequest<'_> {
    let (session, action) = match pending {
        PendingWrite::Commit { session, plan, summary } => {
            let summary = summary.as_ref().map(|made| &made.summary);
            (session, WriteAction::Commit { plan, summary })
        }
        PendingWrite::ByHand { session, change } => (session, WriteAction::ByHand(change)),
        PendingWrite::Undo { session, target } => (session, WriteAction::Undo(target.clone())),
    };
    WriteRequest { session, action, allow_orphan: false, now_ms }
}
