//! Effects → jobs, or what is done at once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::app::compare::{SweepAsked, SweepSaid, swept};
use crate::app::effect::{Effect, Write};
use crate::app::event::Event;
use crate::commit::{SystemClock, SystemDisk, settle};
use crate::explain::explain;
use crate::ids::{EntryIx, SessionKey};
use crate::inspect::breakdown::heavy_blocks;
use crate::inspect::commits::newest_first;
use crate::inspect::compare::compared;
use crate::inspect::estimators::{self, EstimatesError};
use crate::inspect::open::{OpenError, open, open_from};
use crate::inspect::overflow::Overflow;
use crate::inspect::recovery::recovery_of;
use crate::inspect::search::search;
use crate::inspect::summary::SummarySettings;
use crate::inspect::summary_calls::{CallsAsked, SummaryCalls};
use crate::inspect::timeline::{Recording, Timeline};
use crate::inspect::write::{Ask, WriteRequest, prepare, preview, write};
use crate::inspect::{Closer, Inspection, message};
use crate::plan::Plan;
use crate::policy::StepSet;
use crate::replay::Settings;
use crate::runtime::clipboard::{self, TERMINAL_BYTES};
use crate::runtime::clock::system_ms;
use crate::runtime::jobs::{Kind, Said, Throttle};
use crate::runtime::r#loop::Shell;
use crate::runtime::save::save;
use crate::store::archive::archive_of;
use crate::store::session::Session;
use crate::store::survey::Store;
use crate::sweep::Cell;
use crate::ui::highlight;

/// Progress is told at most so often: a screen shows no more.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

impl Shell {
    /// Performs an effect, or gives it to a job.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::List { demo } => self.list(demo),
            Effect::Relist { paths } => self.relisting.ask(paths),
            Effect::Follow(ruleset) => self.library.follow(ruleset),
            Effect::Open { key } => self.open(key),
            Effect::Refresh { inspection } => self.refresh(inspection),
            Effect::LookAtCall { inspection, overflow } => self.look_at_call(inspection, *overflow),
            Effect::ReadExcerpts { inspection, entries } => {
                self.excerpts.ask(&mut self.jobs, inspection, entries);
            }
            Effect::ReadMessage { inspection, entry, plan } => self.read_message(inspection, entry, plan),
            Effect::ReadTexts { inspection } => self.read_texts(inspection),
            Effect::TellCalls { inspection, asked } => self.tell_calls(inspection, asked),
            Effect::ReadBlocks { inspection, entries } => self.read_blocks(inspection, entries),
            Effect::Search { inspection, query, from } => self.search(inspection, query, from),
            Effect::Estimate { inspection } => self.estimate(inspection),
            Effect::StopEstimates => self.jobs.cancel(Kind::Estimates),
            Effect::ReadRecovery { inspection } => self.read_recovery(inspection),
            Effect::Summarise { inspection, plan, agreed } => self.summarise(inspection, plan, agreed),
            Effect::StopSummary => self.stop_summary(),
            Effect::Explain { inspection } => self.explain(inspection),
            Effect::ReadCommits { inspection } => self.read_commits(inspection),
            Effect::CompareBranches { inspection, leaves } => self.compare_branches(inspection, leaves),
            Effect::Repair { path } => self.repair(path),
            Effect::ReadRecording { inspection, steps, known } => {
                self.read_recording(inspection, steps, known);
            }
            Effect::Replay { recording, settings, request } => {
                self.replay(recording, settings.map(|settings| *settings), request);
            }
            Effect::Sweep { recording, asked, request } => self.sweep(recording, *asked, request),
            Effect::StopSweep => self.jobs.cancel(Kind::Sweep),
            Effect::Prepare(write) => self.prepare(write),
            Effect::Write(write) => self.write(write),
            Effect::Copy { text, what } => self.copy(text, what),
            Effect::Page(text) => self.page = Some(text),
            Effect::Save { name, text } => self.save(name, text),
            Effect::Export { format, inspection, plan, made } => self.export(format, inspection, plan, made),
            Effect::SaveScreen { inspection } => self.save_screen(inspection),
            Effect::Mouse(on) => self.mouse(on),
            Effect::TimerAt(ms) => drop(self.timers.insert(ms)),
            Effect::Forget { epoch } => self.excerpts.forget(epoch),
            Effect::Quit => self.quit = true,
        }
    }

    pub(super) fn list(&mut self, demo: bool) {
        let lister = self.library.lister(demo);
        self.jobs.follow(Kind::List, move |ticket| {
            let (began_ms, told) = lister();
            match told {
                Ok((listed, place)) => ticket.say(Said::Listed(Box::new(listed), place, began_ms)),
                Err(refusal) => ticket.send(Event::ListFailed(refusal)),
            }
        });
    }

    fn open(&mut self, key: SessionKey) {
        let Some(store) = self.library.store.clone() else { return };
        let epoch = self.library.next_epoch();
        self.jobs.cancel(Kind::Refresh);
        self.jobs.start(Kind::Open, move |ticket| {
            let mut throttle = Throttle::new(PROGRESS_EVERY);
            let opened = open(&store, &key, None, system_ms(), &mut |done, total| {
                if throttle.passes() {
                    ticket.send(Event::Progress { key: key.clone(), done, total });
                }
                ticket.is_wanted()
            });
            match opened {
                Ok(inspection) => ticket.send(Event::Opened(Box::new(Inspection { epoch, ..inspection }))),
                Err(error) if error.is_stopped() => {}
                Err(error) => ticket.send(Event::OpenFailed { key, error: error.to_string() }),
            }
        });
    }

    fn refresh(&mut self, known: Arc<Inspection>) {
        let Some(store) = self.library.store.clone() else { return };
        let epoch = self.library.next_epoch();
        self.jobs.follow(Kind::Refresh, move |ticket| {
            let key = &known.session.key;
            match open(&store, key, Some(&known), system_ms(), &mut |_, _| ticket.is_wanted()) {
                Ok(inspection) => ticket.send(Event::Opened(Box::new(Inspection { epoch, ..inspection }))),
                Err(error) if error.is_stopped() => {}
                Err(OpenError::NotWritten { .. } | OpenError::Unknown { .. }) => {
                    let path = known.source.path();
                    let name = path.file_name().unwrap_or(path.as_os_str()).display();
                    let archive = archive_of(path, known.index.identity);
                    let archive = archive.as_deref().and_then(Path::file_name).map(|name| name.display());
                    let fate =
                        archive.map_or("is gone".to_owned(), |archive| format!("was put aside as {archive}"));
                    let words = format!("{name} {fate}; what was read of it stays here.");
                    if let Some(last) = read_to_its_end(&store, &known) {
                        ticket.send(Event::Opened(Box::new(Inspection { epoch, ..last })));
                    }
                    ticket.send(Event::RefreshFailed(words));
                }
                Err(error) => ticket.send(Event::RefreshFailed(error.to_string())),
            }
        });
    }

    fn read_recovery(&mut self, inspection: Arc<Inspection>) {
        self.jobs.start(Kind::Recovery, move |ticket| {
            let view = recovery_of(&inspection).map(Arc::new).map_err(|error| error.to_string());
            ticket.send(Event::Recovery { epoch: inspection.epoch, view });
        });
    }

    fn read_commits(&mut self, inspection: Arc<Inspection>) {
        self.jobs.start(Kind::Branches, move |ticket| {
            let view = newest_first(&inspection).map_err(|error| error.to_string());
            ticket.send(Event::Commits { epoch: inspection.epoch, view });
        });
    }

    fn compare_branches(&mut self, inspection: Arc<Inspection>, leaves: [Option<EntryIx>; 2]) {
        self.jobs.start(Kind::Branches, move |ticket| {
            let view = compared(&inspection, leaves).map(Arc::new);
            ticket.send(Event::BranchesCompared { epoch: inspection.epoch, view });
        });
    }

    fn repair(&mut self, path: PathBuf) {
        self.jobs.add(Kind::Write, move |ticket| {
            let told = match settle(&path, 0, &SystemClock, &SystemDisk) {
                Ok(Some(settled)) => Ok(settled.sentence()),
                Ok(None) => Ok("It was settled already.".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            ticket.send(Event::Repaired(told));
        });
    }

    fn look_at_call(&mut self, inspection: Arc<Inspection>, overflow: Overflow) {
        self.jobs.start(Kind::Look, move |ticket| {
            let then = inspection.at_failed_call(&overflow).map(Arc::new);
            ticket.send(Event::LookedAtCall { epoch: inspection.epoch, inspection: then });
        });
    }

    fn explain(&mut self, inspection: Arc<Inspection>) {
        self.jobs.start(Kind::Explain, move |ticket| {
            let view = explain(&inspection).map(Arc::new).map_err(|error| error.to_string());
            ticket.send(Event::Explained { epoch: inspection.epoch, view });
        });
    }

    fn read_recording(&mut self, inspection: Arc<Inspection>, steps: StepSet, known: Option<Arc<Recording>>) {
        self.jobs.follow(Kind::Recording, move |ticket| {
            let epoch = inspection.epoch;
            let recording = Recording::read(inspection, steps, known.as_deref(), &|| ticket.is_wanted());
            let recording = recording.map(|read| read.map(Arc::new)).map_err(|error| error.to_string());
            if let Some(recording) = recording.transpose() {
                ticket.send(Event::Recording { epoch, recording });
            }
        });
    }

    fn replay(&mut self, recording: Arc<Recording>, settings: Option<Settings>, request: u64) {
        self.jobs.follow(Kind::Replay, move |ticket| {
            let timeline = Timeline::new(recording, settings, &|| ticket.is_wanted());
            if let Some(timeline) = timeline.map(Arc::new) {
                ticket.send(Event::Replayed { request, timeline });
            }
        });
    }

    fn sweep(&mut self, recording: Arc<Recording>, asked: SweepAsked, request: u64) {
        self.jobs.start(Kind::Sweep, move |ticket| {
            let throttle = Mutex::new((Throttle::new(PROGRESS_EVERY), Vec::new()));
            // Cells are told in handfuls: a screen shows no more.
            let tell = |at: usize, cell: &Cell| {
                let Ok(mut held) = throttle.lock() else { return };
                let (throttle, cells) = &mut *held;
                cells.push((at, cell.clone()));
                if throttle.passes() {
                    let cells = std::mem::take(cells);
                    ticket.send(Event::Swept { request, said: SweepSaid::Cells(cells) });
                }
            };
            let said = |said| ticket.send(Event::Swept { request, said });
            if let Some(done) = swept(&recording, asked, &|| ticket.is_wanted(), &said, &tell) {
                said(done);
            }
        });
    }

    fn read_message(&mut self, inspection: Arc<Inspection>, entry: EntryIx, plan: Option<Arc<Plan>>) {
        self.jobs.start(Kind::Message, move |ticket| {
            let text = message::read(&inspection, entry, plan.as_deref());
            let text = text.map(Arc::new).map_err(|error| error.to_string());
            ticket.send(Event::Message { epoch: inspection.epoch, entry, text });
            // The message is there before its colours are.
            if highlight::load() {
                ticket.send(Event::Timer);
            }
        });
    }

    fn read_texts(&mut self, inspection: Arc<Inspection>) {
        self.jobs.start(Kind::Texts, move |ticket| {
            let Inspection { source, index, context, .. } = &*inspection;
            let rules = inspection.ruleset.ruleset.rules();
            let read = Closer::read_while(source, index, context, rules, None, &mut || ticket.is_wanted());
            let closer = read.map(|closer| closer.map(Arc::new)).map_err(|error| error.to_string());
            if let Some(closer) = closer.transpose() {
                ticket.send(Event::Texts { subject: inspection.subject(), closer });
            }
        });
    }

    fn tell_calls(&mut self, inspection: Arc<Inspection>, asked: CallsAsked) {
        let Some(store) = self.library.store.clone() else { return };
        let now_ms = self.clock.now_ms() as f64;
        self.jobs.start(Kind::Calls, move |ticket| {
            let rules = inspection.ruleset.ruleset.rules();
            let summary = SummarySettings::of(rules, &store.config.js);
            let told = SummaryCalls::tell(&inspection, &asked, summary, now_ms);
            ticket.send(Event::Calls { asked, told });
        });
    }

    fn read_blocks(&mut self, inspection: Arc<Inspection>, entries: Vec<EntryIx>) {
        self.jobs.start(Kind::Blocks, move |ticket| {
            let blocks = heavy_blocks(&inspection, &entries, &mut || ticket.is_wanted());
            ticket.send(Event::Blocks { epoch: inspection.epoch, blocks });
        });
    }

    fn search(&mut self, inspection: Arc<Inspection>, query: String, from: EntryIx) {
        self.jobs.start(Kind::Search, move |ticket| {
            let found =
                search(&inspection.source, &inspection.index, &query, from, &mut || ticket.is_wanted());
            match found {
                Ok(matches) => ticket.send(Event::Found { epoch: inspection.epoch, query, from, matches }),
                Err(error) => ticket.send(Event::Failed(error.to_string())),
            }
        });
    }

    /// A session that grows steadily must not keep its estimates from ever being there.
    fn estimate(&mut self, inspection: Arc<Inspection>) {
        self.jobs.follow(Kind::Estimates, move |ticket| {
            let mut throttle = Throttle::new(PROGRESS_EVERY);
            let epoch = inspection.epoch;
            let estimates = estimators::read(&inspection, &mut |done, total| {
                if throttle.passes() {
                    ticket.send(Event::Estimating { epoch, done, total });
                }
                ticket.is_wanted()
            });
            let estimates = match estimates {
                Err(EstimatesError::Stopped) => return,
                made => made.map(Arc::new).map_err(|error| error.to_string()),
            };
            ticket.send(Event::Estimated { epoch, estimates });
        });
    }

    fn prepare(&mut self, asked: Write) {
        let now_ms = self.clock.now_ms();
        self.jobs.start(Kind::Prepare, move |ticket| {
            let request = request(&asked, now_ms);
            let shown = prepare(&request).map(|prepared| preview(&request, &prepared, system_ms()));
            ticket.send(Event::Prepared(shown.map_err(|error| error.to_string())));
        });
    }

    fn write(&mut self, asked: Write) {
        let now_ms = self.clock.now_ms();
        self.jobs.add(Kind::Write, move |ticket| {
            let written = write(&request(&asked, now_ms), &SystemClock);
            ticket.send(Event::Written(written.map_err(|error| error.to_string())));
        });
    }

    fn copy(&mut self, text: String, what: &'static str) {
        if text.len() <= TERMINAL_BYTES
            && let Err(error) = self.screen.copy(&text)
        {
            self.tell(Event::Failed(format!("The terminal did not take the text: {error}.")));
            return;
        }
        let env = self.env.clone();
        self.jobs.add(Kind::Outside, move |ticket| {
            ticket.send(match clipboard::copy(&text, what, &env) {
                Ok(said) => Event::Said(said),
                Err(error) => Event::Failed(error),
            });
        });
    }

    fn save(&mut self, name: String, text: String) {
        let folder = self.env.cwd.clone();
        self.jobs.add(Kind::Outside, move |ticket| {
            ticket.send(match save(&folder, &name, &text) {
                Ok(path) => Event::Said(format!("Saved as {}.", path.display())),
                Err(error) => Event::Failed(error),
            });
        });
    }

    fn mouse(&mut self, on: bool) {
        if let Err(error) = self.screen.set_mouse(on) {
            self.tell(Event::Failed(format!("The terminal did not take the mouse: {error}.")));
        }
    }
}

/// What was added to a transcript before it went: it stays readable while it is open here.
fn read_to_its_end(store: &Store, known: &Inspection) -> Option<Inspection> {
    let session = store.sessions.iter().find(|session| session.key == known.session.key)?;
    let session = Session { path: Some(known.source.path().to_path_buf()), ..session.clone() };
    let source = known.source.clone();
    let last = open_from(store, &session, source, Some(known), system_ms(), &mut |_, _| true).ok()?;
    (last.grown_from.is_some() && last.index.end > known.index.end).then_some(last)
}

/// The same request for the preview and for the write.
fn request(asked: &Write, now_ms: i64) -> WriteRequest<'_> {
    let (inspection, ask) = match asked {
        Write::Commit { inspection, plan, made } => {
            let summary = made.as_ref().map(|made| &made.summary);
            (inspection, Ask::Commit { plan, summary })
        }
        Write::Undo { inspection, target } => (inspection, Ask::Undo(target.clone())),
    };
    WriteRequest { inspection, ask, allow_orphan: false, now_ms }
}
