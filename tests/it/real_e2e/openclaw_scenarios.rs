//! Scenarios of OpenClaw.

use std::collections::HashSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use super::checks::Outcome;
use super::commits::{self, Continued};
use super::database;
use super::mock::{AboveLimit, Behaviour, Mock, Request, Style};
use super::moment::Moment;
pub(super) use super::openclaw::OpenClawProgram;
use super::openclaw::{OpenClaw, Setup, gateway_config, merge};
use super::scenario::{Finished, Model, Place, Session};

const MAIN: &str = "agent:main:main";

/// What a summary of the server begins with.
const SUMMARY: &str = "of the work so far";

/// A gateway in a scenario.
struct World {
    name: String,
    folder: tempfile::TempDir,
    mock: Mock,
    openclaw: OpenClaw,
    turns: usize,
    has_triggers: bool,
    is_changed: bool,
    /// Whether the release keeps its sessions in a database.
    is_database: bool,
    /// Key and id of the session to go on in, if it is not the first one.
    session: Option<(String, String)>,
    outcome: Outcome,
}

impl World {
    fn new(program: &OpenClawProgram, setup: &Setup, behaviour: Behaviour) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mock = Mock::start(behaviour);
        let openclaw = OpenClaw::start(program, folder.path(), &mock, setup);
        Self {
            name: program.name(),
            folder,
            mock,
            openclaw,
            turns: 0,
            has_triggers: true,
            is_changed: !program.changes.is_empty(),
            is_database: !program.is_older_than(2026, 8),
            session: None,
            outcome: Outcome::default(),
        }
    }

    /// Asserts that the scenario reached what it is about, unless a change is to prevent it.
    fn assert_sent(&self, text: &str) {
        if !self.is_changed {
            self.mock.assert_sent(text);
        }
    }

    fn say(&mut self, directives: &str) {
        self.say_to(directives, &[]);
    }

    fn say_to(&mut self, directives: &str, options: &[&str]) {
        self.turns += 1;
        self.openclaw.prompt(&format!("Turn {}.\n{directives}", self.turns), options);
    }

    fn say_in_chat(&mut self, directives: &str) {
        self.turns += 1;
        self.openclaw.channel_message(&format!("Turn {}.\n{directives}", self.turns), DIRECT);
    }

    /// Answers at length, which no guard shortens.
    fn talk(&mut self, turns: usize) {
        for turn in 0..turns {
            self.say(if turn % 2 == 0 { "#read small.txt\n#say 7000" } else { "#say 7000" });
        }
    }

    /// Ends the program, so that its database is whole.
    fn finish(self, scenario: &'static str, key: &str) -> Finished {
        let store = self.folder.path().join("state");
        drop(self.openclaw);
        let sessions = sessions(&store, key);
        Finished {
            program: self.name,
            scenario: scenario.to_owned(),
            sessions,
            store,
            folder: self.folder,
            requests: self.mock.requests(),
            has_triggers: self.has_triggers,
            outcome: self.outcome,
        }
    }
}

impl Continued for World {
    fn mock(&self) -> &Mock {
        &self.mock
    }

    fn moment(&self) -> Moment {
        let key = self.session.as_ref().map_or(MAIN, |(key, _)| key);
        Moment::now(self.folder.path().join("state"), key.to_owned())
    }

    fn go_on(&mut self, directives: &str) {
        match self.session.clone() {
            Some((_, id)) => self.say_to(directives, &["--session-id", &id]),
            None => self.say(directives),
        }
    }

    fn importer(&mut self) -> Option<PathBuf> {
        self.is_database.then(|| self.openclaw.end_for_command())
    }

    fn go_on_in(&mut self, session: Option<(String, String)>) {
        self.session = session;
    }
}

/// Commits of each method, beside a program that runs.
pub(super) fn commits(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), Behaviour::default());
    for number in 1..=4 {
        world.say(&format!("#read f{number}.txt\n#say 900"));
    }
    let compact = ["--policy", "compact", "--with", "extractive"];
    let prune: &[&str] = if program.is_older_than(2026, 8) {
        &["--policy", "prune", "--set", "contextPruning.softTrimRatio=0.1"]
    } else {
        // The ratio is built in.
        &["--policy", "prune", "--window", "10000", "--set", "contextPruning.mode=cache-ttl"]
    };
    world.outcome = commits::compare(&mut world, &[&compact, prune]);
    world.has_triggers = false;
    world.finish("commits", MAIN)
}

/// Finds a session by its key, in the rows of the files or in the database, and the other sessions of its agent.
fn sessions(store: &Path, key: &str) -> Vec<Session> {
    let folder = store.join("agents/main/sessions");
    let Ok(rows) = fs::read_to_string(folder.join("sessions.json")) else {
        let path = store.join("agents/main/agent/openclaw-agent.sqlite");
        let session = |(id, key)| Session { place: Place::Database(path.clone(), id), key };
        let mut sessions: Vec<Session> = database::sessions(&path).into_iter().map(session).collect();
        sessions.sort_by_key(|session| session.key.as_deref() != Some(key));
        return sessions;
    };
    let rows: Value = serde_json::from_str(&rows).expect("rows");
    let key_of = |path: &Path| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        let is_it = |row: &&(&String, &Value)| row.1["sessionId"] == *name;
        let rows: Vec<(&String, &Value)> = rows.as_object()?.iter().collect();
        rows.iter().find(is_it).map(|(key, _)| (*key).clone())
    };
    let files = fs::read_dir(folder).expect("sessions").map(|item| item.expect("a file").path());
    // An archived one has the time behind its ending.
    let is_transcript = |name: &str| {
        name.contains(".jsonl") && ![".trajectory", ".lock"].iter().any(|other| name.contains(other))
    };
    let transcripts = files.filter(|path| is_transcript(&path.to_string_lossy()));
    let session = |path: PathBuf| Session { key: key_of(&path), place: Place::File(path) };
    let mut sessions: Vec<Session> = transcripts.map(session).collect();
    sessions.sort_by_key(|session| session.key.as_deref() != Some(key));
    sessions
}

/// A gateway with one model, whose compactions start early.
fn setup(program: &OpenClawProgram, model: Model) -> Setup {
    let mut compaction =
        json!({ "mode": "default", "keepRecentTokens": 3_000, "memoryFlush": { "enabled": false } });
    if program.is_older_than(2026, 8) {
        // Since then the reserve is built in: a quarter of a small window.
        merge(&mut compaction, &json!({ "reserveTokens": 4_000, "reserveTokensFloor": 4_000 }));
    }
    Setup {
        release: program.release.clone(),
        models: vec![model],
        defaults: json!({ "compaction": compaction }),
        more: json!({}),
        tools: &["read", "exec"],
    }
}

fn limited(limit: u64, style: Style) -> Behaviour {
    Behaviour { limit, style, ..Behaviour::default() }
}

pub(super) fn calm(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), Behaviour::default());
    for turn in
        ["#say 200", "#read small.txt\n#say 200", "#exec ls\n#say 300", "#read f1.txt\n#exec wc -c f1.txt"]
    {
        world.say(turn);
    }
    world.finish("calm", MAIN)
}

/// Compactions at the threshold.
pub(super) fn talk(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(16_000)), Behaviour::default());
    world.talk(7);
    world.assert_sent(SUMMARY);
    world.finish("talk", MAIN)
}

/// The same with summaries in chunks.
pub(super) fn safeguard(program: &OpenClawProgram) -> Finished {
    let mut setup = setup(program, Model::of_window(16_000));
    setup.defaults["compaction"]["mode"] = json!("safeguard");
    let mut world = World::new(program, &setup, Behaviour::default());
    world.talk(7);
    world.assert_sent(SUMMARY);
    world.finish("safeguard", MAIN)
}

/// Growth by results, which the guard shortens.
pub(super) fn growth(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(16_000)), Behaviour::default());
    for turn in 0..6 {
        world.say(&format!("#read f{}.txt\n#say 900", turn % 8 + 1));
    }
    world.finish("growth", MAIN)
}

/// A refusal that the gateway recognises: it compacts and repeats the call.
pub(super) fn refusal(program: &OpenClawProgram) -> Finished {
    let behaviour = limited(10_000, Style::LlamaCpp);
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), behaviour);
    world.talk(6);
    world.assert_sent(SUMMARY);
    world.finish("refusal", MAIN)
}

/// A refusal that nothing recognises.
pub(super) fn unknown(program: &OpenClawProgram) -> Finished {
    let behaviour = limited(8_000, Style::Unknown);
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), behaviour);
    world.talk(4);
    world.finish("unknown", MAIN)
}

/// The server counts the longest possible answer, too.
pub(super) fn max_tokens(program: &OpenClawProgram) -> Finished {
    let behaviour = Behaviour { counts_reply: true, ..limited(32_000, Style::Vllm) };
    let model = Model { max_tokens: 24_000, ..Model::of_window(32_000) };
    let mut world = World::new(program, &setup(program, model), behaviour);
    world.talk(4);
    world.finish("max_tokens", MAIN)
}

/// The server cuts the prompt and counts what is left.
pub(super) fn cut(program: &OpenClawProgram) -> Finished {
    let behaviour = Behaviour { above: AboveLimit::Cut, ..limited(6_000, Style::OpenAi) };
    let mut world = World::new(program, &setup(program, Model::of_window(16_000)), behaviour);
    world.talk(4);
    world.finish("cut", MAIN)
}

/// One result larger than the window, refused, then shortened in the file.
pub(super) fn single_huge(program: &OpenClawProgram) -> Finished {
    let behaviour = limited(12_000, Style::OpenRouter);
    let mut world = World::new(program, &setup(program, Model::of_window(48_000)), behaviour);
    world.say("#read f1.txt\n#say 300");
    world.say("#exec cat huge.txt\n#say 300");
    world.say("#say 300");
    world.finish("single_huge", MAIN)
}

/// One turn of many calls that grows past the trigger and the limit.
pub(super) fn tool_loop(program: &OpenClawProgram) -> Finished {
    let behaviour = limited(16_000, Style::OpenAi);
    let mut world = World::new(program, &setup(program, Model::of_window(16_000)), behaviour);
    world.say("#say 200");
    world.say(&format!("{}#say 400", super::reads(7)));
    world.say("#say 300");
    world.finish("tool_loop", MAIN)
}

/// Pruning when the cache has gone cold, several times, also in runs of several calls.
pub(super) fn ttl(program: &OpenClawProgram) -> Finished {
    let mut setup = setup(program, Model::anthropic(20_000));
    // Longer than a turn takes: later releases need seconds for one.
    let ttl = if program.is_older_than(2026, 7) { 1 } else { 20 };
    let mut pruning = json!({ "mode": "cache-ttl", "ttl": format!("{ttl}s") });
    if program.is_older_than(2026, 8) {
        // Built in since then.
        let ratios = json!({ "keepLastAssistants": 2, "softTrimRatio": 0.2, "hardClearRatio": 0.4,
            "minPrunableToolChars": 8_000, "softTrim": { "maxChars": 3_000, "headChars": 400, "tailChars": 400 },
            "hardClear": { "enabled": true, "placeholder": "[cleared]" } });
        merge(&mut pruning, &ratios);
    }
    setup.defaults["contextPruning"] = pruning;
    let mut world = World::new(program, &setup, Behaviour::default());
    for number in 1..=4 {
        world.say(&format!("#read f{number}.txt\n#say 400"));
    }
    outlive(ttl);
    world.say("#read f6.txt\n#say 300");
    outlive(ttl);
    world.say("#say 300");
    if !program.is_older_than(2026, 8) {
        // Since then a pruned result stays so, also in a run whose own results are new.
        outlive(ttl);
        world.say("#exec cat f1.txt f2.txt f3.txt\n#read f7.txt\n#say 300");
        outlive(ttl);
        world.say("#say 300");
    }
    world.assert_sent("Tool result trimmed");
    world.finish("ttl", MAIN)
}

/// Lets a ttl of some seconds pass.
#[expect(clippy::disallowed_methods, reason = "the gateway reads the clock")]
fn outlive(ttl: u64) {
    thread::sleep(Duration::from_secs(ttl) + Duration::from_millis(200));
}

/// A direct chat with a limit of its history.
pub(super) fn history(program: &OpenClawProgram) -> Finished {
    let mut setup = setup(program, Model::of_window(32_000));
    setup.more = json!({ "channels": { "telegram": { "enabled": false, "botToken": "0:none", "dmPolicy": "pairing", "dmHistoryLimit": 2 } } });
    let mut world = World::new(program, &setup, Behaviour::default());
    let id = "11111111-2222-4333-8444-555555555555";
    let options: &[&str] = if program.is_older_than(2026, 7) {
        let rows = json!({ DIRECT: { "sessionId": id, "updatedAt": super::now_ms(), "chatType": "direct", "channel": "telegram" } });
        let folder = world.folder.path().join("state/agents/main/sessions");
        fs::create_dir_all(&folder).expect("a folder");
        super::write_file(&folder.join("sessions.json"), rows.to_string().as_bytes());
        &["--session-id", id]
    } else {
        &["--session-key", DIRECT]
    };
    // Since 2026.8 half as many turns again are kept before older ones are dropped.
    let turns = if program.is_older_than(2026, 8) { 4 } else { 6 };
    for turn in 1..=turns {
        world.say_to(&format!("#read small.txt\n#say {}", 200 + turn), options);
    }
    world.finish("history", DIRECT)
}

const DIRECT: &str = "agent:main:telegram:direct:4711";

/// A sub-agent, whose answer comes back into the session. A gateway runs it.
pub(super) fn sub_agent(program: &OpenClawProgram) -> Finished {
    const TASK: &str = "Describe the folder.";
    let mut setup = setup(program, Model::of_window(32_000));
    setup.tools = &["read", "exec", "sessions_spawn"];
    // Taken again by the gateway: it accepts no port of the system's choice.
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    setup.more = gateway_config(port);
    let mut world = World::new(program, &setup, Behaviour::default());
    world.openclaw.start_gateway(port);
    world.openclaw.prompt_through_gateway(&format!("Turn 1.\n#read small.txt\n#spawn {TASK}\n#say 300"));
    let mock = &world.mock;
    world.openclaw.wait_until("the answer of the sub-agent", || is_announced(&mock.requests(), TASK));
    world.openclaw.prompt_through_gateway("Turn 2.\n#say 300");
    world.finish("sub_agent", MAIN)
}

/// Whether the answer to a task was sent to the session that gave it.
fn is_announced(requests: &[Request], task: &str) -> bool {
    let holds =
        |request: &Request, text: &str| request.messages.iter().any(|it| it.to_string().contains(text));
    let child = requests.iter().find(|request| holds(request, task) && !holds(request, "Turn 1."));
    let Some(child) = child else { return false };
    let answer = format!("R{:04} answer", child.number);
    requests.iter().any(|request| holds(request, "Turn 1.") && holds(request, &answer))
}

/// A model that fails, and another with another window that answers instead.
pub(super) fn fallback(program: &OpenClawProgram) -> Finished {
    let other = Model { provider: "other", name: "mock-2", ..Model::of_window(16_000) };
    let mut setup = setup(program, Model::of_window(32_000));
    setup.models.push(other);
    setup.defaults["model"] = json!({ "primary": "mock/mock-1", "fallbacks": ["other/mock-2"] });
    let mut world = World::new(program, &setup, Behaviour::default());
    world.talk(2);
    world.mock.change(|behaviour| behaviour.failing_model = Some("mock-1"));
    world.talk(4);
    world.mock.change(|behaviour| behaviour.failing_model = None);
    world.talk(1);
    let models: HashSet<String> = world.mock.requests().into_iter().map(|request| request.model).collect();
    assert_eq!(models.len(), 2, "the other model answers");
    // Each model has its own.
    world.has_triggers = false;
    world.finish("fallback", MAIN)
}

/// A direct chat that flushes its memory before compactions.
pub(super) fn flush(program: &OpenClawProgram) -> Finished {
    let mut setup = setup(program, Model::of_window(16_000));
    setup.tools = &["read", "exec", "write"];
    setup.defaults["compaction"]["memoryFlush"] = json!({ "enabled": true, "softThresholdTokens": 2_000 });
    let mut world = World::new(program, &setup, Behaviour::default());
    for _ in 0..7 {
        world.say_in_chat("#say 7000");
    }
    if program.is_older_than(2026, 7) {
        // Later releases compact before they would flush.
        world.assert_sent("memory flush");
    }
    world.finish("flush", DIRECT)
}

/// A direct chat that a person starts anew.
pub(super) fn reset(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), Behaviour::default());
    for _ in 0..2 {
        world.say_in_chat("#read small.txt\n#say 300");
        world.openclaw.channel_message("/new", DIRECT);
    }
    world.say_in_chat("#read small.txt\n#say 300");
    world.finish("reset", DIRECT)
}

/// Thinking before calls and answers, and several calls in one answer.
pub(super) fn thinking(program: &OpenClawProgram) -> Finished {
    let model = Model { reasons: true, ..Model::anthropic(32_000) };
    let mut world = World::new(program, &setup(program, model), Behaviour::default());
    for turn in 1..=3 {
        world.say(&format!("#think 1500\n#reads f{turn}.txt small.txt\n#think 900\n#say 600"));
    }
    world.assert_sent("thinking");
    world.finish("thinking", MAIN)
}

/// Pictures that a tool reads.
pub(super) fn images(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), Behaviour::default());
    for _ in 0..2 {
        world.say("#read dot.png\n#say 300");
        world.say("#reads dot.png f1.txt dot.png\n#say 300");
    }
    world.assert_sent("image_url");
    world.finish("images", MAIN)
}
