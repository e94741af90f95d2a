//! Performs effects, at once or in a job.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::app::effect::{Effect, PendingWrite};
use crate::app::event::Event;
use crate::app::screens::compare::{SweepQuery, SweepUpdate, run_sweep};
use crate::commit::{SystemClock, SystemDisk, recover_commit};
use crate::ids::{EntryIx, SessionKey};
use crate::plan::Plan;
use crate::policy::PolicySet;
use crate::replay::Settings;
use crate::report::breakdown::heavy_blocks;
use crate::report::compare::compare_branches;
use crate::report::estimators;
use crate::report::estimators::EstimatesError;
use crate::report::explain::explain;
use crate::report::recovery::load_recovery;
use crate::report::sweep::Cell;
use crate::report::timeline::{RecordedSession, Timeline};
use crate::runtime::clipboard::{self, MAX_TERMINAL_BYTES};
use crate::runtime::clock::system_now_ms;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::jobs::{JobKind, JobMessage, Throttle};
use crate::runtime::save::save_unique;
use crate::session::loading::{OpenError, open, open_from};
use crate::session::overflow::Overflow;
use crate::session::search::search;
use crate::session::{ContextDetails, LoadedSession, message};
use crate::store::archive::find_archive;
use crate::store::discovery::Store;
use crate::store::session::Session;
use crate::ui::highlight;
use crate::write::commit_list::list_commits_newest_first;
use crate::write::request::{WriteAction, WriteRequest, prepare, preview, write};
use crate::write::summary::SummarySettings;
use crate::write::summary::calls::{SummaryCalls, SummaryCallsRequest};

/// Minimum time between two progress reports: a screen shows no more.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

impl EventLoop {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::ListSessions { demo } => self.list(demo),
            Effect::RefreshListing { paths } => self.relist_queue.enqueue(paths),
            Effect::UseRuleset(ruleset) => self.store_loader.set_ruleset(ruleset),
            Effect::OpenSession { key } => self.open(key),
            Effect::RefreshSession { session } => self.refresh(session),
            Effect::LoadSessionAtCall { session, overflow } => {
                self.open_at_call(session, *overflow);
            }
            Effect::ReadExcerpts { session, entries } => {
                self.excerpt_queue.enqueue(&mut self.jobs, session, entries);
            }
            Effect::ReadMessage { session, entry, plan } => {
                self.read_message(session, entry, plan);
            }
            Effect::LoadDetails { session } => self.load_details(session),
            Effect::PredictSummaryCalls { session, request: requested } => {
                self.predict_summary_calls(session, requested);
            }
            Effect::ReadBlocks { session, entries } => self.read_blocks(session, entries),
            Effect::Search { session, query, from } => self.search(session, query, from),
            Effect::ComputeEstimates { session } => self.estimate(session),
            Effect::StopEstimates => self.jobs.cancel(JobKind::Estimates),
            Effect::ReadRecovery { session } => self.read_recovery(session),
            Effect::Summarise { session, plan, consented: agreed } => {
                self.summarise(session, plan, agreed);
            }
            Effect::StopSummary => self.stop_summary(),
            Effect::Explain { session } => self.explain(session),
            Effect::ReadCommits { session } => self.read_commits(session),
            Effect::CompareBranches { session, leaves } => {
                self.compare_branches(session, leaves);
            }
            Effect::RepairCommit { path } => self.repair(path),
            Effect::ReadRecording { session, policies: steps, previous: known } => {
                self.read_recording(session, steps, known);
            }
            Effect::Replay { recording, settings, request_id: request } => {
                self.replay(recording, settings.map(|settings| *settings), request);
            }
            Effect::Sweep { recording, query: asked, request_id: request } => {
                self.sweep(recording, *asked, request);
            }
            Effect::StopSweep => self.jobs.cancel(JobKind::Sweep),
            Effect::PreviewWrite(write) => self.prepare_write(write),
            Effect::Write(write) => self.write(write),
            Effect::Copy { text, label: what } => self.copy(text, what),
            Effect::ShowInPager(text) => self.pending_page = Some(text),
            Effect::SaveFile { name, text } => self.save(name, text),
            Effect::Export { format, session, plan, summary: made } => {
                self.export(format, session, plan, made);
            }
            Effect::SaveScreen { session } => self.save_screen(session),
            Effect::CaptureMouse(on) => self.set_mouse(on),
            Effect::SetTimer(ms) => drop(self.timers.insert(ms)),
            Effect::DropStale { epoch } => self.excerpt_queue.drop_older(epoch),
            Effect::Quit => self.should_quit = true,
        }
    }

    pub(super) fn list(&mut self, demo: bool) {
        let lister = self.store_loader.list_job(demo);
        self.jobs.start_after_current(JobKind::List, move |ticket| {
            let (began_ms, reported) = lister();
            match reported {
                Ok((listed, place)) => {
                    ticket.send_message(JobMessage::Listed(Box::new(listed), place, began_ms));
                }
                Err(refusal) => ticket.send_event(Event::ListFailed(refusal)),
            }
        });
    }

    fn open(&mut self, key: SessionKey) {
        let Some(store) = self.store_loader.store.clone() else { return };
        let epoch = self.store_loader.next_epoch();
        self.jobs.cancel(JobKind::Refresh);
        self.jobs.start(JobKind::Open, move |ticket| {
            let mut throttle = Throttle::new(PROGRESS_INTERVAL);
            let opened = open(&store, &key, None, system_now_ms(), &mut |done, total| {
                if throttle.try_pass() {
                    ticket.send_event(Event::OpenProgress { key: key.clone(), done, total });
                }
                ticket.is_current()
            });
            match opened {
                Ok(session) => {
                    ticket.send_event(Event::Opened(Box::new(LoadedSession { epoch, ..session })));
                }
                Err(error) if error.is_stopped() => {}
                Err(error) => ticket.send_event(Event::OpenFailed { key, error: error.to_string() }),
            }
        });
    }

    fn refresh(&mut self, known: Arc<LoadedSession>) {
        let Some(store) = self.store_loader.store.clone() else { return };
        let epoch = self.store_loader.next_epoch();
        self.jobs.start_after_current(JobKind::Refresh, move |ticket| {
            let key = &known.item.key;
            match open(&store, key, Some(&known), system_now_ms(), &mut |_, _| ticket.is_current()) {
                Ok(session) => {
                    ticket.send_event(Event::Opened(Box::new(LoadedSession { epoch, ..session })));
                }
                Err(error) if error.is_stopped() => {}
                Err(OpenError::NotWritten { .. } | OpenError::Unknown { .. }) => {
                    let path = known.source.path();
                    let name = path.file_name().unwrap_or(path.as_os_str()).display();
                    let archive = find_archive(path, known.index.identity);
                    let archive = archive.as_deref().and_then(Path::file_name).map(|name| name.display());
                    let fate =
                        archive.map_or("is gone".to_owned(), |archive| format!("was put aside as {archive}"));
                    let words = format!("{name} {fate}; what was read of it stays here.");
                    if let Some(last) = read_remaining(&store, &known) {
                        ticket.send_event(Event::Opened(Box::new(LoadedSession { epoch, ..last })));
                    }
                    ticket.send_event(Event::RefreshFailed(words));
                }
                Err(error) => ticket.send_event(Event::RefreshFailed(error.to_string())),
            }
        });
    }

    fn read_recovery(&mut self, session: Arc<LoadedSession>) {
        self.jobs.start(JobKind::Recovery, move |ticket| {
            let view = load_recovery(&session).map(Arc::new).map_err(|error| error.to_string());
            ticket.send_event(Event::Recovery { epoch: session.epoch, recovery: view });
        });
    }

    fn read_commits(&mut self, session: Arc<LoadedSession>) {
        self.jobs.start(JobKind::Commits, move |ticket| {
            let view = list_commits_newest_first(&session).map_err(|error| error.to_string());
            ticket.send_event(Event::Commits { epoch: session.epoch, commits: view });
        });
    }

    fn compare_branches(&mut self, session: Arc<LoadedSession>, leaves: [Option<EntryIx>; 2]) {
        self.jobs.start(JobKind::Branches, move |ticket| {
            let view = compare_branches(&session, leaves).map(Arc::new);
            ticket.send_event(Event::BranchesCompared { epoch: session.epoch, comparison: view });
        });
    }

    fn repair(&mut self, path: PathBuf) {
        self.jobs.enqueue(JobKind::Write, move |ticket| {
            let reported = match recover_commit(&path, 0, &SystemClock, &SystemDisk) {
                Ok(Some(settled)) => Ok(settled.description()),
                Ok(None) => Ok("It was settled already.".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            ticket.send_event(Event::Repaired(reported));
        });
    }

    fn open_at_call(&mut self, session: Arc<LoadedSession>, overflow: Overflow) {
        self.jobs.start(JobKind::OpenAtCall, move |ticket| {
            let then = session.at_failed_call(&overflow).map(Arc::new);
            ticket.send_event(Event::SessionAtCall { epoch: session.epoch, session: then });
        });
    }

    fn explain(&mut self, session: Arc<LoadedSession>) {
        self.jobs.start(JobKind::Explain, move |ticket| {
            let view = explain(&session).map(Arc::new).map_err(|error| error.to_string());
            ticket.send_event(Event::Explanation { epoch: session.epoch, explanation: view });
        });
    }

    fn read_recording(
        &mut self,
        session: Arc<LoadedSession>,
        steps: PolicySet,
        known: Option<Arc<RecordedSession>>,
    ) {
        self.jobs.start_after_current(JobKind::Recording, move |ticket| {
            let epoch = session.epoch;
            let recording = RecordedSession::read(session, steps, known.as_deref(), &|| ticket.is_current());
            let recording = recording.map(|read| read.map(Arc::new)).map_err(|error| error.to_string());
            if let Some(recording) = recording.transpose() {
                ticket.send_event(Event::Recording { epoch, recording });
            }
        });
    }

    fn replay(&mut self, recording: Arc<RecordedSession>, settings: Option<Settings>, request: u64) {
        self.jobs.start_after_current(JobKind::Replay, move |ticket| {
            let timeline = Timeline::new(recording, settings, &|| ticket.is_current());
            if let Some(timeline) = timeline.map(Arc::new) {
                ticket.send_event(Event::Replayed { request_id: request, timeline });
            }
        });
    }

    fn sweep(&mut self, recording: Arc<RecordedSession>, requested: SweepQuery, request: u64) {
        self.jobs.start(JobKind::Sweep, move |ticket| {
            let throttle = Mutex::new((Throttle::new(PROGRESS_INTERVAL), Vec::new()));
            // Cells are sent in batches: a screen shows no more.
            let tell = |at: usize, cell: &Cell| {
                let Ok(mut held) = throttle.lock() else { return };
                let (throttle, cells) = &mut *held;
                cells.push((at, cell.clone()));
                if throttle.try_pass() {
                    let cells = std::mem::take(cells);
                    ticket
                        .send_event(Event::Sweep { request_id: request, update: SweepUpdate::Cells(cells) });
                }
            };
            let message = |message| ticket.send_event(Event::Sweep { request_id: request, update: message });
            if let Some(done) = run_sweep(&recording, requested, &|| ticket.is_current(), &message, &tell) {
                message(done);
            }
        });
    }

    fn read_message(&mut self, session: Arc<LoadedSession>, entry: EntryIx, plan: Option<Arc<Plan>>) {
        self.jobs.start(JobKind::Message, move |ticket| {
            let text = message::read_message(&session, entry, plan.as_deref());
            let text = text.map(Arc::new).map_err(|error| error.to_string());
            ticket.send_event(Event::Message { epoch: session.epoch, entry, text });
            // The message shows before its syntax colours are loaded.
            if highlight::load() {
                ticket.send_event(Event::Timer);
            }
        });
    }

    fn load_details(&mut self, session: Arc<LoadedSession>) {
        self.jobs.start(JobKind::Details, move |ticket| {
            let LoadedSession { source, index, context, .. } = &*session;
            let rules = session.ruleset.id.rules();
            let read =
                ContextDetails::read_while(source, index, context, rules, None, &mut || ticket.is_current());
            let details = read.map(|details| details.map(Arc::new)).map_err(|error| error.to_string());
            if let Some(closer) = details.transpose() {
                ticket.send_event(Event::Details { subject: session.view_key(), details: closer });
            }
        });
    }

    fn predict_summary_calls(&mut self, session: Arc<LoadedSession>, requested: SummaryCallsRequest) {
        let Some(store) = self.store_loader.store.clone() else { return };
        let now_ms = self.clock.now_ms() as f64;
        self.jobs.start(JobKind::SummaryCalls, move |ticket| {
            let rules = session.ruleset.id.rules();
            let summary = SummarySettings::from_config(rules, &store.config.js_root);
            let reported = SummaryCalls::predict(&session, &requested, summary, now_ms);
            ticket.send_event(Event::SummaryCalls { request: requested, calls: reported });
        });
    }

    fn read_blocks(&mut self, session: Arc<LoadedSession>, entries: Vec<EntryIx>) {
        self.jobs.start(JobKind::Blocks, move |ticket| {
            let blocks = heavy_blocks(&session, &entries, &mut || ticket.is_current());
            ticket.send_event(Event::Blocks { epoch: session.epoch, blocks });
        });
    }

    fn search(&mut self, session: Arc<LoadedSession>, query: String, from: EntryIx) {
        self.jobs.start(JobKind::Search, move |ticket| {
            let found = search(&session.source, &session.index, &query, from, &mut || ticket.is_current());
            match found {
                Ok(matches) => {
                    ticket.send_event(Event::SearchMatches { epoch: session.epoch, query, from, matches });
                }
                Err(error) => ticket.send_event(Event::Failure(error.to_string())),
            }
        });
    }

    /// Runs after the current estimates, as a steadily growing session would otherwise never get any.
    fn estimate(&mut self, session: Arc<LoadedSession>) {
        self.jobs.start_after_current(JobKind::Estimates, move |ticket| {
            let mut throttle = Throttle::new(PROGRESS_INTERVAL);
            let epoch = session.epoch;
            let estimates = estimators::read(&session, &mut |done, total| {
                if throttle.try_pass() {
                    ticket.send_event(Event::EstimateProgress { epoch, done, total });
                }
                ticket.is_current()
            });
            let estimates = match estimates {
                Err(EstimatesError::Stopped) => return,
                made => made.map(Arc::new).map_err(|error| error.to_string()),
            };
            ticket.send_event(Event::Estimates { epoch, estimates });
        });
    }

    fn prepare_write(&mut self, requested: PendingWrite) {
        let now_ms = self.clock.now_ms();
        self.jobs.start(JobKind::PrepareWrite, move |ticket| {
            let request = write_request(&requested, now_ms);
            let shown = prepare(&request).map(|prepared| preview(&request, &prepared, system_now_ms()));
            ticket.send_event(Event::WritePreviewed(shown.map_err(|error| error.to_string())));
        });
    }

    fn write(&mut self, requested: PendingWrite) {
        let now_ms = self.clock.now_ms();
        self.jobs.enqueue(JobKind::Write, move |ticket| {
            let written = write(&write_request(&requested, now_ms), &SystemClock);
            ticket.send_event(Event::Written(written.map_err(|error| error.to_string())));
        });
    }

    fn copy(&mut self, text: String, what: &'static str) {
        if text.len() <= MAX_TERMINAL_BYTES
            && let Err(error) = self.screen.copy_to_clipboard(&text)
        {
            self.dispatch(Event::Failure(format!("The terminal did not take the text: {error}.")));
            return;
        }
        let env = self.env.clone();
        self.jobs.enqueue(JobKind::External, move |ticket| {
            ticket.send_event(match clipboard::copy(&text, what, &env) {
                Ok(message) => Event::Notice(message),
                Err(error) => Event::Failure(error),
            });
        });
    }

    fn save(&mut self, name: String, text: String) {
        let folder = self.env.cwd.clone();
        self.jobs.enqueue(JobKind::External, move |ticket| {
            ticket.send_event(match save_unique(&folder, &name, &text) {
                Ok(path) => Event::Notice(format!("Saved as {}.", path.display())),
                Err(error) => Event::Failure(error),
            });
        });
    }

    fn set_mouse(&mut self, on: bool) {
        if let Err(error) = self.screen.set_mouse(on) {
            self.dispatch(Event::Failure(format!("The terminal did not take the mouse: {error}.")));
        }
    }
}

/// Reads the entries that were added before a transcript was removed or replaced. The file stays readable while it is
/// open here.
fn read_remaining(store: &Store, known: &LoadedSession) -> Option<LoadedSession> {
    let session = store.sessions.iter().find(|session| session.key == known.item.key)?;
    let session = Session { path: Some(known.source.path().to_path_buf()), ..session.clone() };
    let source = known.source.clone();
    let last = open_from(store, &session, source, Some(known), system_now_ms(), &mut |_, _| true).ok()?;
    (last.extends_epoch.is_some() && last.index.end > known.index.end).then_some(last)
}

/// Builds one request for both the preview and the write, so that they cannot differ.
fn write_request(requested: &PendingWrite, now_ms: i64) -> WriteRequest<'_> {
    let (inspection, ask) = match requested {
        PendingWrite::Commit { session, plan, summary: made } => {
            let summary = made.as_ref().map(|made| &made.summary);
            (session, WriteAction::Commit { plan, summary })
        }
        PendingWrite::Undo { session, target } => (session, WriteAction::Undo(target.clone())),
    };
    WriteRequest { session: inspection, action: ask, allow_orphan: false, now_ms }
}
