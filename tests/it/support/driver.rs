//! The program without a terminal: the pure state, and a driver that performs its effects at once.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use clawscope::app::App;
use clawscope::app::effect::Effect;
use clawscope::app::event::{Event, StoreListing};
use clawscope::app::state::Options;
use clawscope::app::target::Target;
use clawscope::commit::Clock;
use clawscope::config::SummarizerConfig;
use clawscope::export::{ExportRequest, Format, export, file_name};
use clawscope::gateway::env::Environment;
use clawscope::gateway::ruleset::RulesetChoice;
use clawscope::ids::Epoch;
use clawscope::plan::Plan;
use clawscope::report::explain::Explanation;
use clawscope::runtime::perform::{Inputs, Listener, perform};
use clawscope::session::list::list_sessions_with;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::session::{LoadedSession, SessionViewKey, load_item};
use clawscope::store::demo;
use clawscope::store::discovery::Store;
use clawscope::summarize::CancelToken;
use clawscope::units::{Millis, Moment};
use clawscope::write::summary::job::{SummaryResult, SummaryWriter};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A clock that does not move: tests must not wait.
struct Still(Moment);

impl Clock for Still {
    fn now_ms(&self) -> Moment {
        self.0
    }

    fn pause(&self, _: Millis) {}
}

/// The program on a separate store.
pub(crate) struct Driver {
    pub(crate) app: App,
    pub(crate) now_ms: Moment,
    pub(crate) quit: bool,
    /// The clipboard contents, oldest first.
    pub(crate) copied: Vec<String>,
    /// The saved files: name and text.
    pub(crate) saved: Vec<(String, String)>,
    /// The home with the presets; without one, nothing is saved.
    pub(crate) home: Option<PathBuf>,
    /// The folder of the store.
    _dir: tempfile::TempDir,
    place: StoreLocation,
    store: Option<Arc<Store>>,
    /// The rules chosen on the screen.
    requested_ruleset: Option<RulesetChoice>,
    /// The program or model that writes summaries.
    summarizer: SummarizerConfig,
    /// The waiting request while cells are paused, as if they took long.
    pending_sweep: Option<u64>,
    /// The epoch of the last reading, as the program counts them.
    epoch: Epoch,
    explanation: Option<(SessionViewKey, Arc<Explanation>)>,
}

impl Driver {
    /// Opens a fresh copy of the demo store at its first session.
    pub(crate) fn demo(width: u16, height: u16) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        write_demo(dir.path());
        Self::on(dir, width, height)
    }

    /// Opens the embedded demo store as the program does, and counts its sessions.
    #[allow(dead_code, reason = "the screenshots use it")]
    pub(crate) fn embedded(width: u16, height: u16) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut driver = Self::at(&StoreRequest::Demo, dir, width, height);
        let store = driver.store.clone().expect("a listed store");
        let counted = |session| load_item(&store, session, demo::NOW_MS, &mut |_, _| true).ok();
        driver.event(Event::ItemsCounted(store.sessions.iter().filter_map(counted).collect()));
        driver
    }

    /// Opens the store in a folder.
    pub(crate) fn on(dir: tempfile::TempDir, width: u16, height: u16) -> Self {
        let place = StoreRequest::Path(dir.path().to_owned());
        Self::at(&place, dir, width, height)
    }

    /// On a store that another value owns.
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
            home: None,
            _dir: dir,
            place,
            store: None,
            requested_ruleset: None,
            summarizer: SummarizerConfig::default(),
            pending_sweep: None,
            epoch: Epoch::default(),
            explanation: None,
        };
        let effects = driver.app.start(false);
        driver.perform(effects);
        driver
    }

    /// Presses keys: words are key names or single characters, `text:…` types a text, and `plan` toggles the preview of
    /// the next call as if it pruned, also where it starts on the failed call.
    pub(crate) fn press(&mut self, keys: &str) {
        for word in keys.split(' ').filter(|word| !word.is_empty()) {
            if let Some(text) = word.strip_prefix("text:") {
                text.chars().for_each(|character| self.key(KeyCode::Char(character), KeyModifiers::NONE));
            } else if word.len() > 1 && word.starts_with(':') {
                // Runs an action by its name.
                word.chars().for_each(|character| self.key(KeyCode::Char(character), KeyModifiers::NONE));
                self.key(KeyCode::Enter, KeyModifiers::NONE);
            } else if word == "plan" {
                self.app.tuning.respect_gates = false;
                self.press("p");
                if self.app.tuning.preview && self.app.target == Target::FailedCall {
                    self.press("a");
                }
            } else {
                let (code, modifiers) = named(word);
                self.key(code, modifiers);
            }
        }
    }

    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.event(Event::Key(KeyEvent::new(code, modifiers)));
    }

    /// Sends one event and performs its effects.
    pub(crate) fn event(&mut self, event: Event) {
        let effects = self.app.update(event, self.now_ms);
        self.perform(effects);
    }

    /// Sends one event and returns its effects, not performed yet.
    pub(crate) fn effects(&mut self, event: Event) -> Vec<Effect> {
        self.app.update(event, self.now_ms)
    }

    /// Presses keys and returns the effects of the last one, not performed yet.
    pub(crate) fn key_effects(&mut self, keys: &str) -> Vec<Effect> {
        let (first, key) = match keys.strip_prefix(':') {
            Some(name) if !name.is_empty() => (format!(": text:{name}"), "enter"),
            _ => keys.rsplit_once(' ').map_or((String::new(), keys), |(first, key)| (first.to_owned(), key)),
        };
        self.press(&first);
        let (code, modifiers) = named(key);
        self.effects(Event::Key(KeyEvent::new(code, modifiers)))
    }

    pub(crate) fn perform(&mut self, effects: Vec<Effect>) {
        let mut queue: VecDeque<Effect> = effects.into();
        while let Some(effect) = queue.pop_front() {
            for event in self.events_of(effect) {
                queue.extend(self.app.update(event, self.now_ms));
            }
        }
    }

    /// Pauses sweeps requested from now on.
    pub(crate) fn pause_sweeps(&mut self) {
        self.pending_sweep = Some(0);
    }

    /// Returns the last request for cells while they are paused.
    pub(crate) fn last_sweep(&self) -> u64 {
        self.pending_sweep.expect("sweeps are paused")
    }

    /// Performs an effect. Those on sessions run as in the program; those on the terminal and
    /// its surroundings are recorded.
    pub(crate) fn events_of(&mut self, effect: Effect) -> Vec<Event> {
        match effect {
            Effect::ListSessions { .. } | Effect::RefreshListing { .. } => vec![self.list()],
            Effect::UseRuleset(ruleset) => {
                if let Some(store) = &mut self.store {
                    Arc::make_mut(store).ruleset = ruleset.clone();
                }
                self.requested_ruleset = Some(ruleset);
                Vec::new()
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
            Effect::Sweep { request_id, .. } if self.pending_sweep.is_some() => {
                self.pending_sweep = Some(request_id);
                Vec::new()
            }
            Effect::Explain { session } => self.explained(session),
            effect => self.performed(effect),
        }
    }

    /// Performs an effect with the program's own code.
    pub(crate) fn performed(&mut self, effect: Effect) -> Vec<Event> {
        self.epoch = self.epoch.next();
        let is_read = matches!(effect, Effect::OpenSession { .. } | Effect::RefreshSession { .. });
        let path = std::env::var("PATH").unwrap_or_default();
        let home = self.home.iter().map(|home| ("HOME", home.to_str().expect("a path")));
        let inputs = Inputs {
            store: self.store.clone(),
            epoch: is_read.then_some(self.epoch),
            now_ms: self.now_ms,
            clock: Box::new(Still(self.now_ms)),
            env: Environment::new(home.chain([("PATH", path.as_str())]), None, PathBuf::from("/")),
            summarizer: self.summarizer.clone(),
            cancel: CancelToken::new(),
        };
        let events = Mutex::new(Vec::new());
        let listener =
            Listener { is_wanted: &|| true, send: &|event| events.lock().expect("not poisoned").push(event) };
        perform(effect, &inputs, &listener);
        events.into_inner().expect("not poisoned")
    }

    /// Explains a session; cached, because it takes long and gives the same result.
    fn explained(&mut self, session: Arc<LoadedSession>) -> Vec<Event> {
        let (subject, epoch) = (session.view_key(), session.epoch);
        if let Some((known, explanation)) = &self.explanation
            && *known == subject
        {
            return vec![Event::Explanation { epoch, explanation: Ok(Arc::clone(explanation)) }];
        }
        let events = self.performed(Effect::Explain { session });
        if let [Event::Explanation { explanation: Ok(explanation), .. }] = &events[..] {
            self.explanation = Some((subject, Arc::clone(explanation)));
        }
        events
    }

    fn export(
        &mut self,
        format: Format,
        session: &LoadedSession,
        plan: Option<&Plan>,
        made: Option<&SummaryResult>,
    ) -> Vec<Event> {
        let plan = plan.map(|plan| (plan, made.map(|made| &made.summary)));
        let wanted = ExportRequest {
            session,
            plan,
            now_ms: self.now_ms,
            redact: true,
            personal: false,
            shape_only: false,
        };
        match export(&wanted, format) {
            Ok(exported) => {
                self.saved.push((file_name(&session.item, format.extension()), exported.text));
                Vec::new()
            }
            Err(error) => vec![Event::Failure(error.to_string())],
        }
    }

    /// Sets the writer of summaries from now on.
    pub(crate) fn summarize_by(&mut self, config: SummarizerConfig) {
        self.app.options.summarizer = SummaryWriter::from_config(config.kind, &config);
        self.summarizer = config;
    }

    fn list(&mut self) -> Event {
        let listed = list_sessions_with(&self.place, self.requested_ruleset.as_ref(), self.now_ms);
        self.store = Some(Arc::clone(&listed.store));
        Event::Listed(Box::new(StoreListing {
            store_label: listed.name.clone(),
            store_path: Some(listed.store.state_dir.clone()),
            ruleset: listed.store.ruleset.clone(),
            agent_count: listed.store.agents.len(),
            items: listed.items,
            diagnostics: listed.diagnostics,
            config_error: listed.store.config.error.as_ref().map(ToString::to_string),
            demo: listed.is_demo,
            missing_store: listed.missing_store.clone(),
        }))
    }

    /// The open session's transcript file.
    pub(crate) fn path(&self) -> PathBuf {
        self.app.displayed_session().expect("a session").item.path.clone().expect("a path")
    }

    /// Opens the session whose key ends so.
    pub(crate) fn go_to(&mut self, key_end: &str) {
        let items = &self.app.sessions.items;
        let item = items.iter().find(|item| item.key.0.ends_with(key_end)).expect("such a session");
        let key = item.key.0.clone();
        self.event(Event::Paste(key));
    }

    /// Rewrites every line of the open transcript, as another program might, and lets the program notice.
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
pub(crate) fn write_demo(dir: &Path) {
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
    let prefixes =
        [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)];
    for (prefix, modifier) in prefixes {
        if let Some(rest) = word.strip_prefix(prefix) {
            return (named(rest).0, modifier);
        }
    }
    let code = match word {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "backspace" => KeyCode::Backspace,
        "delete" => KeyCode::Delete,
        "space" => KeyCode::Char(' '),
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        _ => {
            let mut characters = word.chars();
            let character = characters.next().expect("a key");
            assert!(characters.next().is_none(), "no key named {word}");
            KeyCode::Char(character)
        }
    };
    (code, KeyModifiers::NONE)
}

/// Writes a new file.
pub(crate) fn append_to_new(path: &Path, text: &str) {
    use std::io::Write as _;
    let mut file = std::fs::File::create_new(path).expect("a new file");
    file.write_all(text.as_bytes()).expect("writes");
}
