//! Scenarios of OpenClaw.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::checks::Outcome;
use super::commits::{self, Continued};
use super::mock::{AboveLimit, Behaviour, Mock, Style};
use super::moment::Moment;
use super::openclaw::{OpenClaw, OpenClawProgram, Setup};
use super::scenario::{Finished, Model, Place, Session};

const MAIN: &str = "agent:main:main";

/// A gateway in a scenario.
struct World {
    name: String,
    folder: tempfile::TempDir,
    mock: Mock,
    openclaw: OpenClaw,
    turns: usize,
    has_triggers: bool,
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
            outcome: Outcome::default(),
        }
    }

    fn say(&mut self, directives: &str) {
        self.say_to(directives, &[]);
    }

    fn say_to(&mut self, directives: &str, options: &[&str]) {
        self.turns += 1;
        self.openclaw.prompt(&format!("Turn {}.\n{directives}", self.turns), options);
    }

    /// Answers at length, which no guard shortens.
    fn talk(&mut self, turns: usize) {
        for turn in 0..turns {
            self.say(if turn % 2 == 0 { "#read small.txt\n#say 7000" } else { "#say 7000" });
        }
    }

    /// Ends the program, so that its database is whole.
    fn finish(self, scenario: &'static str, keys: &[&str]) -> Finished {
        let store = self.folder.path().join("state");
        drop(self.openclaw);
        let sessions = keys.iter().map(|key| session(&store, key)).collect();
        Finished {
            program: self.name,
            scenario,
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
        Moment::now(self.folder.path().join("state"), MAIN.to_owned())
    }

    fn go_on(&mut self, directives: &str) {
        self.say(directives);
    }
}

/// Commits of each method, beside a program that runs.
pub(super) fn commits(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), Behaviour::default());
    for number in 1..=4 {
        world.say(&format!("#read f{number}.txt\n#say 900"));
    }
    let compact = ["--policy", "compact", "--with", "extractive"];
    let prune = ["--policy", "prune", "--set", "contextPruning.softTrimRatio=0.1"];
    world.outcome = commits::compare(&mut world, &[&compact, &prune]);
    world.has_triggers = false;
    world.finish("commits", &[MAIN])
}

/// Finds a session by its key: in the rows of the files, or in the database.
fn session(store: &std::path::Path, key: &str) -> Session {
    let database = store.join("agents/main/agent/openclaw-agent.sqlite");
    let rows = fs::read_to_string(store.join("agents/main/sessions/sessions.json"));
    let file = || -> Option<PathBuf> {
        let rows: Value = serde_json::from_str(&rows.ok()?).ok()?;
        let id = rows[key]["sessionId"].as_str()?;
        let path = store.join(format!("agents/main/sessions/{id}.jsonl"));
        path.exists().then_some(path)
    };
    let place = file().map_or_else(|| Place::Database(database), Place::File);
    Session { place, key: Some(key.to_owned()) }
}

/// A gateway with one model, whose compactions start early.
fn setup(program: &OpenClawProgram, model: Model) -> Setup {
    let reserve = if program.is_older_than(2026, 8) {
        json!({ "reserveTokens": 4_000, "reserveTokensFloor": 4_000 })
    } else {
        // Since then the reserve is built in: a quarter of a small window.
        json!({})
    };
    let mut compaction =
        json!({ "mode": "default", "keepRecentTokens": 3_000, "memoryFlush": { "enabled": false } });
    for (key, value) in reserve.as_object().into_iter().flatten() {
        compaction[key] = value.clone();
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
    world.finish("calm", &[MAIN])
}

/// Compactions at the threshold.
pub(super) fn talk(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(16_000)), Behaviour::default());
    world.talk(7);
    world.finish("talk", &[MAIN])
}

/// Growth by results, which the guard shortens.
pub(super) fn growth(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(16_000)), Behaviour::default());
    for turn in 0..6 {
        world.say(&format!("#read f{}.txt\n#say 900", turn % 8 + 1));
    }
    world.finish("growth", &[MAIN])
}

/// A refusal that the gateway recognises: it compacts and repeats the call.
pub(super) fn refusal(program: &OpenClawProgram) -> Finished {
    let behaviour = limited(10_000, Style::LlamaCpp);
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), behaviour);
    world.talk(6);
    world.finish("refusal", &[MAIN])
}

/// A refusal that nothing recognises.
pub(super) fn unknown(program: &OpenClawProgram) -> Finished {
    let behaviour = limited(8_000, Style::Unknown);
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), behaviour);
    world.talk(4);
    world.finish("unknown", &[MAIN])
}

/// The server counts the longest possible answer, too.
pub(super) fn max_tokens(program: &OpenClawProgram) -> Finished {
    let behaviour = Behaviour { counts_reply: true, ..limited(32_000, Style::Vllm) };
    let model = Model { max_tokens: 24_000, ..Model::of_window(32_000) };
    let mut world = World::new(program, &setup(program, model), behaviour);
    world.talk(4);
    world.finish("max_tokens", &[MAIN])
}

/// The server cuts the prompt and counts what is left.
pub(super) fn cut(program: &OpenClawProgram) -> Finished {
    let behaviour = Behaviour { above: AboveLimit::Cut, ..limited(6_000, Style::OpenAi) };
    let mut world = World::new(program, &setup(program, Model::of_window(16_000)), behaviour);
    world.talk(4);
    world.finish("cut", &[MAIN])
}

/// One result larger than the window, refused, then shortened in the file.
pub(super) fn single_huge(program: &OpenClawProgram) -> Finished {
    let behaviour = limited(12_000, Style::OpenRouter);
    let mut world = World::new(program, &setup(program, Model::of_window(48_000)), behaviour);
    world.say("#read f1.txt\n#say 300");
    world.say("#exec cat huge.txt\n#say 300");
    world.say("#say 300");
    world.finish("single_huge", &[MAIN])
}

/// One turn of many calls that grows past the trigger and the limit.
pub(super) fn tool_loop(program: &OpenClawProgram) -> Finished {
    let behaviour = limited(16_000, Style::OpenAi);
    let mut world = World::new(program, &setup(program, Model::of_window(16_000)), behaviour);
    world.say("#say 200");
    world.say(&format!("{}#say 400", super::reads(7)));
    world.say("#say 300");
    world.finish("tool_loop", &[MAIN])
}

/// Pruning when the cache has gone cold, several times, also in runs of several calls.
pub(super) fn ttl(program: &OpenClawProgram) -> Finished {
    let mut setup = setup(program, Model::anthropic(20_000));
    let mut pruning = json!({ "mode": "cache-ttl", "ttl": "1s" });
    if program.is_older_than(2026, 8) {
        pruning = json!({ "mode": "cache-ttl", "ttl": "1s", "keepLastAssistants": 2, "softTrimRatio": 0.2,
            "hardClearRatio": 0.4, "minPrunableToolChars": 8_000,
            "softTrim": { "maxChars": 3_000, "headChars": 400, "tailChars": 400 },
            "hardClear": { "enabled": true, "placeholder": "[cleared]" } });
    }
    setup.defaults["contextPruning"] = pruning;
    let mut world = World::new(program, &setup, Behaviour::default());
    for number in 1..=4 {
        world.say(&format!("#read f{number}.txt\n#say 400"));
    }
    outlive_ttl();
    world.say("#read f6.txt\n#say 300");
    outlive_ttl();
    world.say("#say 300");
    world.finish("ttl", &[MAIN])
}

/// Lets a ttl of a second pass.
#[expect(clippy::disallowed_methods, reason = "the gateway reads the clock")]
fn outlive_ttl() {
    thread::sleep(Duration::from_millis(1_200));
}

/// A direct chat with a limit of its history.
pub(super) fn history(program: &OpenClawProgram) -> Finished {
    const KEY: &str = "agent:main:telegram:direct:4711";
    let mut setup = setup(program, Model::of_window(32_000));
    setup.more = json!({ "channels": { "telegram": { "enabled": false, "botToken": "0:none", "dmPolicy": "pairing", "dmHistoryLimit": 2 } } });
    let mut world = World::new(program, &setup, Behaviour::default());
    let id = "11111111-2222-4333-8444-555555555555";
    let options: &[&str] = if program.is_older_than(2026, 7) {
        let rows = json!({ KEY: { "sessionId": id, "updatedAt": super::now_ms(), "chatType": "direct", "channel": "telegram" } });
        let folder = world.folder.path().join("state/agents/main/sessions");
        fs::create_dir_all(&folder).expect("a folder");
        super::write_file(&folder.join("sessions.json"), rows.to_string().as_bytes());
        &["--session-id", id]
    } else {
        &["--session-key", KEY]
    };
    for turn in 1..=4 {
        world.say_to(&format!("#read small.txt\n#say {}", 200 + turn), options);
    }
    world.finish("history", &[KEY])
}

/// Thinking before calls and answers, and several calls in one answer.
pub(super) fn thinking(program: &OpenClawProgram) -> Finished {
    let model = Model { reasons: true, ..Model::anthropic(32_000) };
    let mut world = World::new(program, &setup(program, model), Behaviour::default());
    for turn in 1..=3 {
        world.say(&format!("#think 1500\n#reads f{turn}.txt small.txt\n#think 900\n#say 600"));
    }
    world.finish("thinking", &[MAIN])
}

/// Pictures that a tool reads.
pub(super) fn images(program: &OpenClawProgram) -> Finished {
    let mut world = World::new(program, &setup(program, Model::of_window(32_000)), Behaviour::default());
    for _ in 0..2 {
        world.say("#read dot.png\n#say 300");
        world.say("#reads dot.png f1.txt dot.png\n#say 300");
    }
    world.finish("images", &[MAIN])
}
