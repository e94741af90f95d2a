//! The program without a terminal: the pure state, and a driver that performs its effects at once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use clawscope::app::App;
use clawscope::app::effect::{Effect, PendingWrite};
use clawscope::app::event::{Event, StoreListing, SummaryUpdate};
use clawscope::app::screens::compare::{SweepQuery, SweepUpdate, run_sweep};
use clawscope::app::state::Options;
use clawscope::commit::{Clock, SystemDisk, recover_commit};
use clawscope::config::SummarizerConfig;
use clawscope::export::{ExportRequest, Format, export, file_name};
use clawscope::gateway::env::Environment;
use clawscope::gateway::ruleset::RulesetChoice;
use clawscope::plan::Plan;
use clawscope::report::breakdown::heavy_blocks;
use clawscope::report::compare::compare_branches;
use clawscope::report::estimators;
use clawscope::report::explain::{Explanation, explain};
use clawscope::report::recovery::load_recovery;
use clawscope::report::sweep::Cell;
use clawscope::report::timeline::{RecordedSession, Timeline};
use clawscope::session::ContextDetails;
use clawscope::session::list::list_sessions_with;
use clawscope::session::loading::open;
use clawscope::session::message;
use clawscope::session::message::excerpt::read_excerpt;
use clawscope::session::search::search;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::session::{LoadedSession, SessionViewKey};
use clawscope::store::demo;
use clawscope::store::discovery::Store;
use clawscope::summarize::CancelToken;
use clawscope::write::commit_list::list_commits_newest_first;
use clawscope::write::request::{WriteAction, WriteRequest, prepare, preview, write};
use clawscope::write::summary::SummarySettings;
use clawscope::write::summary::calls::SummaryCalls;
use clawscope::write::summary::job::{SummaryJob, SummaryResult};
use clawscope::write::summary::writer::SummaryWriter;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A clock that stands still: tests must not wait.
struct Still(i64);

impl Clock for Still {
    fn now_ms(&self) -> i64 {
        self.0
    }

    fn pause(&self, _ms: u64) {}
}

/// The program on a store of its own.
pub(crate) struct Driver {
    pub(crate) app: App,
    pub(crate) now_ms: i64,
    pub(crate) quit: bool,
    /// What was put on the clipboard, oldest first.
    pub(crate) copied: Vec<String>,
    /// What was saved: name and text.
    pub(crate) saved: Vec<(String, String)>,
    /// The folder of the store.
    _dir: tempfile::TempDir,
    place: StoreLocation,
    store: Option<Arc<Store>>,
    /// The rules chosen on the screen.
    asked: Option<RulesetChoice>,
    /// Who writes summaries.
    summarizer: SummarizerConfig,
    /// Cells are not made, as if they took long; the request that waits.
    held_sweeps: Option<u64>,
    explanation: Option<(SessionViewKey, Arc<Explanation>)>,
}

impl Driver {
    /// On a fresh copy of the demo store, its first session open.
    pub(crate) fn demo(width: u16, height: u16) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        write_demo(dir.path());
        Self::on(dir, width, height)
    }

    /// On the embedded demo store as the program itself opens it.
    pub(crate) fn embedded(width: u16, height: u16) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        Self::at(&StoreRequest::Demo, dir, width, height)
    }

    /// On the store in a folder.
    pub(crate) fn on(dir: tempfile::TempDir, width: u16, height: u16) -> Self {
        let place = StoreRequest::Path(dir.path().to_owned());
        Self::at(&place, dir, width, height)
    }

    /// On a store that somebody else keeps.
    pub(crate) fn at_path(path: &Path, width: u16, height: u16) -> Self {
        Self::at(&StoreRequest::Path(path.to_owned()), tempfile::tempdir().expect("a folder"), width, height)
    }

    fn at(place: &StoreRequest, dir: tempfile::TempDir, width: u16, height: u16) -> Self {
        let env = Environment::new([("HOME", "/nonexistent"), ("TZ", "UTC")], None, PathBuf::from("/"));
        let place = StoreLocation::new(place, env).expect("a place");
        let app = App::new(Options::default(), (width, height));
        let mut driver = Self {
            app,
            now_ms: demo::NOW_MS,
            quit: false,
            copied: Vec::new(),
            saved: Vec::new(),
            _dir: dir,
            place,
            store: None,
            asked: None,
            summarizer: SummarizerConfig::default(),
            held_sweeps: None,
            explanation: None,
        };
        let effects = driver.app.start(false);
        driver.perform(effects);
        driver
    }

    /// Presses keys: words are key names or single characters, `text:…` types a text.
    pub(crate) fn press(&mut self, keys: &str) {
        for word in keys.split(' ').filter(|word| !word.is_empty()) {
            if let Some(text) = word.strip_prefix("text:") {
                text.chars().for_each(|character| self.key(KeyCode::Char(character), KeyModifiers::NONE));
            } else {
                let (code, modifiers) = named(word);
                self.key(code, modifiers);
            }
        }
    }

    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.event(Event::Key(KeyEvent::new(code, modifiers)));
    }

    /// Sends one event and performs what follows from it.
    pub(crate) fn event(&mut self, event: Event) {
        let effects = self.app.update(event, self.now_ms);
        self.perform(effects);
    }

    /// Sends one event and hands back what it asks for, not performed yet.
    #[allow(dead_code, reason = "other programs use the rest")]
    pub(crate) fn held(&mut self, event: Event) -> Vec<Effect> {
        self.app.update(event, self.now_ms)
    }

    /// Presses one key and hands back what it asks for, not performed yet.
    #[allow(dead_code, reason = "other programs use the rest")]
    pub(crate) fn held_key(&mut self, key: &str) -> Vec<Effect> {
        let (code, modifiers) = named(key);
        self.held(Event::Key(KeyEvent::new(code, modifiers)))
    }

    pub(crate) fn perform(&mut self, effects: Vec<Effect>) {
        let mut queue: VecDeque<Effect> = effects.into();
        while let Some(effect) = queue.pop_front() {
            for event in self.events_of(effect) {
                queue.extend(self.app.update(event, self.now_ms));
            }
        }
    }

    /// From now on cells are asked for in vain.
    #[allow(dead_code, reason = "other programs use the rest")]
    pub(crate) fn hold_sweeps(&mut self) {
        self.held_sweeps = Some(0);
    }

    /// The request for cells that was made last, while they are held.
    #[allow(dead_code, reason = "other programs use the rest")]
    pub(crate) fn last_sweep(&self) -> u64 {
        self.held_sweeps.expect("sweeps are held")
    }

    fn sweep(&mut self, recording: &RecordedSession, requested: SweepQuery, request: u64) -> Vec<Event> {
        if let Some(held) = &mut self.held_sweeps {
            *held = request;
            return Vec::new();
        }
        let message = RefCell::new(Vec::new());
        let cells = Mutex::new(Vec::new());
        let tell = |at: usize, cell: &Cell| cells.lock().expect("told").push((at, cell.clone()));
        let done = run_sweep(recording, requested, &|| true, &|axes| message.borrow_mut().push(axes), &tell);
        let mut message = message.into_inner();
        message.push(SweepUpdate::Cells(cells.into_inner().expect("told")));
        message.extend(done);
        message.into_iter().map(|message| Event::Sweep { request_id: request, update: message }).collect()
    }

    fn events_of(&mut self, effect: Effect) -> Vec<Event> {
        match effect {
            Effect::ListSessions { .. } | Effect::RefreshListing { .. } => vec![self.list()],
            Effect::UseRuleset(ruleset) => {
                if let Some(store) = &mut self.store {
                    Arc::make_mut(store).ruleset = ruleset.clone();
                }
                self.asked = Some(ruleset);
                Vec::new()
            }
            Effect::OpenSession { key } => vec![self.open(&key, None)],
            Effect::RefreshSession { session } => {
                vec![self.open(&session.item.key, Some(&session))]
            }
            Effect::LoadSessionAtCall { session: inspection, overflow } => {
                let then = inspection.at_failed_call(&overflow).map(Arc::new);
                vec![Event::SessionAtCall { epoch: inspection.epoch, session: then }]
            }
            Effect::ReadExcerpts { session, entries } => {
                let text =
                    |entry| (entry, read_excerpt(&session.source, &session.index, entry).unwrap_or_default());
                let items = entries.into_iter().map(text).collect();
                vec![Event::Excerpts { epoch: session.epoch, items }]
            }
            Effect::ReadMessage { session, entry, plan } => {
                let text = message::read_message(&session, entry, plan.as_deref());
                let text = text.map(Arc::new).map_err(|error| error.to_string());
                vec![Event::Message { epoch: session.epoch, entry, text }]
            }
            Effect::LoadDetails { session } => {
                let (source, index, context) = (&session.source, &session.index, &session.context);
                let details = ContextDetails::read(source, index, context, session.ruleset.id.rules());
                let details = details.map(Arc::new).map_err(|error| error.to_string());
                vec![Event::Details { subject: session.view_key(), details }]
            }
            Effect::PredictSummaryCalls { session, request: requested } => {
                let config = &self.store.as_ref().expect("a store").config.js_root;
                let summary = SummarySettings::from_config(session.ruleset.id.rules(), config);
                let reported = SummaryCalls::predict(&session, &requested, summary, self.now_ms as f64);
                vec![Event::SummaryCalls { request: requested, calls: reported }]
            }
            Effect::ReadBlocks { session, entries } => {
                let blocks = heavy_blocks(&session, &entries, &mut || true);
                vec![Event::Blocks { epoch: session.epoch, blocks }]
            }
            Effect::Search { session, query, from } => {
                let (source, index) = (&session.source, &session.index);
                let matches = search(source, index, &query, from, &mut || true).expect("search");
                vec![Event::SearchMatches { epoch: session.epoch, query, from, matches }]
            }
            Effect::ComputeEstimates { session } => {
                let estimates = estimators::read(&session, &mut |_, _| true);
                let estimates = estimates.map(Arc::new).map_err(|error| error.to_string());
                vec![Event::Estimates { epoch: session.epoch, estimates }]
            }
            Effect::PreviewWrite(what) => {
                let request = self.request(&what);
                let shown = prepare(&request).map(|prepared| preview(&request, &prepared, self.now_ms));
                vec![Event::WritePreviewed(shown.map_err(|error| error.to_string()))]
            }
            Effect::Write(what) => {
                let written = write(&self.request(&what), &Still(self.now_ms));
                vec![Event::Written(written.map_err(|error| error.to_string()))]
            }
            Effect::Copy { text, .. } => {
                self.copied.push(text);
                Vec::new()
            }
            Effect::SaveFile { name, text } => {
                self.saved.push((name, text));
                Vec::new()
            }
            Effect::Export { format, session, plan, summary: made } => {
                self.export(format, &session, plan.as_deref(), made.as_deref())
            }
            Effect::Quit => {
                self.quit = true;
                Vec::new()
            }
            question => self.answers(question),
        }
    }

    /// What is asked of a whole session, and what nobody waits for here.
    fn answers(&mut self, question: Effect) -> Vec<Event> {
        match question {
            Effect::ReadRecovery { session } => {
                let view = load_recovery(&session).map(Arc::new).map_err(|error| error.to_string());
                vec![Event::Recovery { epoch: session.epoch, recovery: view }]
            }
            Effect::Summarise { session, plan, consented: agreed } => self.summary(&session, &plan, agreed),
            Effect::Explain { session } => {
                let view = self.explained(&session);
                vec![Event::Explanation { epoch: session.epoch, explanation: view }]
            }
            Effect::ReadCommits { session } => {
                let view = list_commits_newest_first(&session).map_err(|error| error.to_string());
                vec![Event::Commits { epoch: session.epoch, commits: view }]
            }
            Effect::CompareBranches { session, leaves } => {
                let view = compare_branches(&session, leaves).map(Arc::new);
                vec![Event::BranchesCompared { epoch: session.epoch, comparison: view }]
            }
            Effect::RepairCommit { path } => {
                let settled = recover_commit(&path, 0, &Still(self.now_ms), &SystemDisk);
                let reported = settled.map(|settled| settled.expect("a journal").description());
                vec![Event::Repaired(reported.map_err(|error| error.to_string()))]
            }
            Effect::ReadRecording { session, policies: steps, previous: known } => {
                let epoch = session.epoch;
                let read = RecordedSession::read(session, steps, known.as_deref(), &|| true)
                    .map(|read| read.map(Arc::new));
                let recording = read.map_err(|error| error.to_string()).transpose().expect("wanted");
                vec![Event::Recording { epoch, recording }]
            }
            Effect::Replay { recording, settings, request_id: request } => {
                let timeline = Timeline::new(recording, settings.map(|settings| *settings), &|| true);
                vec![Event::Replayed { request_id: request, timeline: Arc::new(timeline.expect("wanted")) }]
            }
            Effect::Sweep { recording, query: asked, request_id: request } => {
                self.sweep(&recording, *asked, request)
            }
            _ => Vec::new(),
        }
    }

    /// An explanation takes long, and the same reading has the same one.
    fn explained(&mut self, session: &LoadedSession) -> Result<Arc<Explanation>, String> {
        let subject = session.view_key();
        if let Some((known, explanation)) = &self.explanation
            && *known == subject
        {
            return Ok(Arc::clone(explanation));
        }
        let explanation = explain(session).map(Arc::new).map_err(|error| error.to_string())?;
        self.explanation = Some((subject, Arc::clone(&explanation)));
        Ok(explanation)
    }

    fn export(
        &mut self,
        format: Format,
        inspection: &LoadedSession,
        plan: Option<&Plan>,
        made: Option<&SummaryResult>,
    ) -> Vec<Event> {
        let plan = plan.map(|plan| (plan, made.map(|made| &made.summary)));
        let wanted =
            ExportRequest { session: inspection, plan, now_ms: self.now_ms, redact: true, shape_only: false };
        match export(&wanted, format) {
            Ok(exported) => {
                self.saved.push((file_name(&inspection.item, format.extension()), exported.text));
                Vec::new()
            }
            Err(error) => vec![Event::Failure(error.to_string())],
        }
    }

    /// Everything that is said of a summary, in the order it is said.
    fn summary(&self, inspection: &LoadedSession, plan: &Plan, agreed: bool) -> Vec<Event> {
        let mut message = Vec::new();
        let ask = WriteAction::Commit { plan, summary: None };
        let request =
            WriteRequest { session: inspection, action: ask, allow_orphan: false, now_ms: self.now_ms };
        let config = &self.store.as_ref().expect("a store").config.js_root;
        let path = std::env::var("PATH").unwrap_or_default();
        let env = Environment::new([("PATH", path.as_str())], None, PathBuf::from("/"));
        let last = SummaryJob::for_commit(&request, config, &self.summarizer, &env).and_then(|making| {
            if making.writer.is_external() && !agreed {
                return making.estimate().map(SummaryUpdate::Offered);
            }
            let mut progress = |progress| message.push(SummaryUpdate::Calling(progress));
            making.run(&CancelToken::new(), &mut progress).map(|made| SummaryUpdate::Finished(Arc::new(made)))
        });
        message.push(last.unwrap_or_else(|error| SummaryUpdate::Failed(error.to_string())));
        message
            .into_iter()
            .map(|message| Event::Summary { epoch: inspection.epoch, update: message })
            .collect()
    }

    /// Has summaries written by these settings from now on.
    #[allow(dead_code, reason = "other programs use the rest")]
    pub(crate) fn summarize_by(&mut self, config: SummarizerConfig) {
        self.app.options.summarizer = SummaryWriter::from_config(config.kind, &config);
        self.summarizer = config;
    }

    fn request<'a>(&self, what: &'a PendingWrite) -> WriteRequest<'a> {
        let (inspection, ask) = match what {
            PendingWrite::Commit { session, plan, summary: made } => {
                (session, WriteAction::Commit { plan, summary: made.as_ref().map(|made| &made.summary) })
            }
            PendingWrite::Undo { session, target } => (session, WriteAction::Undo(target.clone())),
        };
        WriteRequest { session: inspection, action: ask, allow_orphan: false, now_ms: self.now_ms }
    }

    fn list(&mut self) -> Event {
        let listed = list_sessions_with(&self.place, self.asked.as_ref(), self.now_ms);
        self.store = Some(Arc::clone(&listed.store));
        Event::Listed(Box::new(StoreListing {
            store_label: listed.name.clone(),
            ruleset: listed.store.ruleset.clone(),
            agent_count: listed.store.agents.len(),
            items: listed.items,
            findings: listed.diagnostics,
            config_error: listed.store.config.error.as_ref().map(ToString::to_string),
            demo: listed.is_demo,
        }))
    }

    fn open(&mut self, key: &clawscope::ids::SessionKey, previous: Option<&LoadedSession>) -> Event {
        let store = self.store.clone().expect("listed before opened");
        match open(&store, key, previous, self.now_ms, &mut |_, _| true) {
            Ok(session) => Event::Opened(Box::new(session)),
            Err(error) => Event::OpenFailed { key: key.clone(), error: error.to_string() },
        }
    }

    /// The open session's transcript file.
    pub(crate) fn path(&self) -> PathBuf {
        self.app.displayed_session().expect("a session").item.path.clone().expect("a path")
    }

    /// Goes to the session whose key ends so.
    pub(crate) fn go_to(&mut self, key_end: &str) {
        let items = &self.app.sessions.items;
        let item = items.iter().find(|item| item.key.0.ends_with(key_end)).expect("such a session");
        let key = item.key.0.clone();
        self.event(Event::Paste(key));
    }

    /// Rewrites every line of the open transcript, as another program might, and lets the program notice.
    #[allow(dead_code, reason = "not every test program rewrites one")]
    pub(crate) fn rewrite(&mut self, line: fn(serde_json::Value) -> serde_json::Value) {
        let path = self.path();
        let text = std::fs::read_to_string(&path).expect("the transcript");
        let lines =
            text.lines().map(|text| line(serde_json::from_str(text).expect("JSON")).to_string() + "\n");
        let text: String = lines.collect();
        let mut file = std::fs::File::create(&path).expect("a file");
        std::io::Write::write_all(&mut file, text.as_bytes()).expect("writes");
        self.event(Event::FilesChanged(vec![path]));
    }

    /// Appends bytes to the open transcript and lets the program notice.
    pub(crate) fn append(&mut self, text: &str) {
        let path = self.path();
        append_to(&path, text);
        self.event(Event::FilesChanged(vec![path]));
    }
}

/// The demo store, generated once for all tests.
fn write_demo(dir: &Path) {
    static FILES: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    for (name, bytes) in FILES.get_or_init(demo::files) {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let mut file = std::fs::File::create(path).expect("a file");
        std::io::Write::write_all(&mut file, bytes).expect("writes");
    }
}

/// Appends to a file, as another process would.
pub(crate) fn append_to(path: &Path, text: &str) {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("the transcript");
    file.write_all(text.as_bytes()).expect("appends");
}

fn named(word: &str) -> (KeyCode, KeyModifiers) {
    let code = match word {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        _ => {
            let (word, modifiers) = word
                .strip_prefix("ctrl-")
                .map_or((word, KeyModifiers::NONE), |rest| (rest, KeyModifiers::CONTROL));
            let mut characters = word.chars();
            let character = characters.next().expect("a key");
            assert!(characters.next().is_none(), "no key named {word}");
            return (KeyCode::Char(character), modifiers);
        }
    };
    (code, KeyModifiers::NONE)
}

/// Writes a new file.
#[allow(dead_code, reason = "not every test program makes a store of its own")]
pub(crate) fn append_to_new(path: &Path, text: &str) {
    use std::io::Write as _;
    let mut file = std::fs::File::create_new(path).expect("a new file");
    file.write_all(text.as_bytes()).expect("writes");
}
