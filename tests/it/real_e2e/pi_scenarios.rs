//! Scenarios of pi.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::checks::Outcome;
use super::commits::{self, Continued};
use super::mock::{AboveLimit, Behaviour, Failing, Mock, Style};
use super::moment::Moment;
pub(super) use super::pi::PiProgram;
use super::pi::{Launch, Pi};
use super::scenario::{Finished, Model, Place, Session};

/// A pi in a scenario.
struct World {
    program: PiProgram,
    model: Model,
    folder: tempfile::TempDir,
    mock: Mock,
    pi: Pi,
    turns: usize,
    has_triggers: bool,
    is_changed: bool,
    outcome: Outcome,
}

fn launch(model: Model) -> Launch<'static> {
    // Small enough that few turns reach the trigger.
    let compaction = json!({ "enabled": true, "reserveTokens": 3_000, "keepRecentTokens": 2_500 });
    let settings = json!({ "compaction": compaction, "retry": { "maxRetries": 2, "baseDelayMs": 20 },
        "images": { "autoResize": false } });
    Launch { model, settings, session: None, jumps: true }
}

impl World {
    fn new(program: &PiProgram, model: Model, behaviour: Behaviour) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mock = Mock::start(behaviour);
        let pi = Pi::start(program, folder.path(), &mock, &launch(model));
        let outcome = Outcome::default();
        let (program, is_changed) = (program.clone(), !program.changes.is_empty());
        Self { program, model, folder, mock, pi, turns: 0, has_triggers: true, is_changed, outcome }
    }

    /// Asserts that the scenario reached what it is about, unless a change is to prevent it.
    fn assert_sent(&self, text: &str) {
        if !self.is_changed {
            self.mock.assert_sent(text);
        }
    }

    fn say(&mut self, directives: &str) {
        self.say_with(directives, &[]);
    }

    fn say_with(&mut self, directives: &str, images: &[Value]) {
        self.turns += 1;
        self.pi.prompt(&format!("Turn {}.\n{directives}", self.turns), images);
    }

    /// Reads a file of 8,000 chars in each turn, and answers at some length.
    fn grow(&mut self, turns: std::ops::RangeInclusive<usize>) {
        for turn in turns {
            self.say(&format!("#read f{}.txt\n#say 900", (turn - 1) % 8 + 1));
        }
    }

    /// The id of the newest entry of a user.
    fn newest_user(&self) -> String {
        let text = fs::read_to_string(self.pi.transcripts().remove(0)).expect("a transcript");
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let mut users = entries.filter(|entry| entry["message"]["role"] == "user");
        users.next_back().and_then(|entry| Some(entry["id"].as_str()?.to_owned())).expect("a user's entry")
    }

    fn finish(self, scenario: &'static str) -> Finished {
        let session = |path: PathBuf| Session { place: Place::File(path), key: None };
        Finished {
            program: self.program.name,
            scenario: scenario.to_owned(),
            store: self.folder.path().join("agent"),
            sessions: self.pi.transcripts().into_iter().map(session).collect(),
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
        let transcript = self.pi.transcripts().remove(0);
        Moment::now(self.folder.path().join("agent"), transcript.to_string_lossy().into_owned())
    }

    /// Opens the session again: a running pi keeps what it has read.
    fn go_on(&mut self, directives: &str) {
        let session = self.pi.transcripts().remove(0);
        let launch = Launch { session: Some(&session), ..launch(self.model) };
        self.pi = Pi::start(&self.program, self.folder.path(), &self.mock, &launch);
        self.say(directives);
    }
}

/// Commits of each method.
pub(super) fn commits(program: &PiProgram) -> Finished {
    let mut world = World::new(program, Model::of_window(32_000), Behaviour::default());
    world.grow(1..=4);
    let compact = ["--policy", "compact", "--with", "extractive"];
    let clear = ["--policy", "clear", "--set", "clearToolUses.trigger=1000", "--set", "clearToolUses.keep=1"];
    world.outcome = commits::compare(&mut world, &[&compact, &clear]);
    world.has_triggers = false;
    world.finish("commits")
}

/// A server that takes less than pi believes.
fn limited(limit: u64, style: Style) -> Behaviour {
    Behaviour { limit, style, ..Behaviour::default() }
}

pub(super) fn calm(program: &PiProgram) -> Finished {
    let mut world = World::new(program, Model::of_window(32_000), Behaviour::default());
    for turn in
        ["#say 200", "#read small.txt\n#say 200", "#exec ls\n#say 300", "#read f1.txt\n#exec wc -c f1.txt"]
    {
        world.say(turn);
    }
    world.finish("calm")
}

/// Compactions at the threshold.
pub(super) fn growth(program: &PiProgram) -> Finished {
    let mut world = World::new(program, Model::of_window(12_000), Behaviour::default());
    world.grow(1..=9);
    world.assert_sent("of the work so far");
    world.finish("growth")
}

/// A refusal that pi recognises: it compacts and repeats the call.
pub(super) fn refusal(program: &PiProgram) -> Finished {
    refused(program, Model::of_window(32_000), Style::LlamaCpp, "refusal")
}

/// The same through Anthropic's API.
pub(super) fn anthropic(program: &PiProgram) -> Finished {
    refused(program, Model::anthropic(32_000), Style::Anthropic, "anthropic")
}

/// A refusal that pi does not recognise.
pub(super) fn unknown(program: &PiProgram) -> Finished {
    refused(program, Model::of_window(32_000), Style::Unknown, "unknown")
}

/// A refusal without a text.
pub(super) fn no_body(program: &PiProgram) -> Finished {
    refused(program, Model::of_window(32_000), Style::NoBody, "no_body")
}

fn refused(program: &PiProgram, model: Model, style: Style, scenario: &'static str) -> Finished {
    let mut world = World::new(program, model, limited(9_000, style));
    world.grow(1..=2);
    world.say("#exec cat f4.txt f5.txt\n#say 500");
    world.say("#say 300");
    world.grow(6..=7);
    world.finish(scenario)
}

/// The server says so only after its answer has begun.
pub(super) fn late(program: &PiProgram) -> Finished {
    let behaviour = Behaviour { above: AboveLimit::Late, ..limited(9_000, Style::OpenRouter) };
    let mut world = World::new(program, Model::of_window(32_000), behaviour);
    world.grow(1..=5);
    world.finish("late")
}

/// The server cuts the prompt and counts what is left.
pub(super) fn cut(program: &PiProgram) -> Finished {
    let behaviour = Behaviour { above: AboveLimit::Cut, ..limited(6_000, Style::OpenAi) };
    let mut world = World::new(program, Model::of_window(16_000), behaviour);
    world.grow(1..=6);
    world.say("#say 300");
    world.finish("cut")
}

/// The server counts the longest possible answer, too.
pub(super) fn max_tokens(program: &PiProgram) -> Finished {
    let behaviour = Behaviour { counts_reply: true, ..limited(32_000, Style::Vllm) };
    let mut world = World::new(program, Model { max_tokens: 24_000, ..Model::of_window(32_000) }, behaviour);
    world.grow(1..=4);
    world.say("#say 300");
    world.finish("max_tokens")
}

/// A compaction that a person asks for, and a fork in a new file.
pub(super) fn manual(program: &PiProgram) -> Finished {
    let mut world = World::new(program, Model::of_window(32_000), Behaviour::default());
    world.has_triggers = false;
    world.grow(1..=3);
    world.pi.call(json!({ "type": "compact", "customInstructions": "Keep file names." }));
    world.say("#read f6.txt\n#say 400");
    let messages = world.pi.call(json!({ "type": "get_fork_messages" }))["messages"].clone();
    let last = messages.as_array().and_then(|messages| messages.last()).expect("a message");
    world.pi.call(json!({ "type": "fork", "entryId": last["entryId"] }));
    world.say("#say 250");
    world.finish("manual")
}

/// Failures that have nothing to do with the prompt, and retries.
pub(super) fn failures(program: &PiProgram) -> Finished {
    let mut world = World::new(program, Model::of_window(32_000), Behaviour::default());
    world.say("#read f1.txt\n#say 200");
    let fail = |world: &World, status, text, count| {
        world.mock.change(|behaviour| behaviour.fails = Some(Failing { status, text, count }));
    };
    fail(&world, 529, "Overloaded, try again later", 1);
    world.say("#say 200");
    fail(&world, 500, "internal server error", 30);
    world.say("#say 200");
    world.mock.change(|behaviour| behaviour.fails = None);
    world.say("#say 200");
    world.finish("failures")
}

/// The summary of a compaction is refused.
pub(super) fn summary_fails(program: &PiProgram) -> Finished {
    let text = Some("prompt is too long: 30000 tokens > 24000 maximum");
    let behaviour = Behaviour { summary_error: text, ..Behaviour::default() };
    let mut world = World::new(program, Model::of_window(12_000), behaviour);
    world.has_triggers = false;
    world.grow(1..=5);
    world.finish("summary_fails")
}

/// One turn of many calls that grows past the trigger and the limit.
pub(super) fn tool_loop(program: &PiProgram) -> Finished {
    let mut world = World::new(program, Model::of_window(12_000), limited(12_000, Style::OpenAi));
    world.say("#say 200");
    world.say(&format!("{}#say 400", super::reads(7)));
    world.say("#say 300");
    world.finish("tool_loop")
}

/// Thinking before calls and answers, and several calls in one answer; with compactions.
pub(super) fn thinking(program: &PiProgram) -> Finished {
    let model = Model { reasons: true, ..Model::anthropic(12_000) };
    let mut world = World::new(program, model, Behaviour::default());
    for turn in 1..=5 {
        world.say(&format!("#think 1500\n#reads f{turn}.txt small.txt\n#think 900\n#say 600"));
    }
    world.assert_sent("signature");
    world.finish("thinking")
}

/// The same through the API that most servers speak, where the field has another name.
pub(super) fn reasoning(program: &PiProgram) -> Finished {
    let model = Model { reasons: true, ..Model::of_window(12_000) };
    let mut world = World::new(program, model, Behaviour::default());
    for turn in 1..=5 {
        world.say(&format!("#think 1500\n#reads f{turn}.txt small.txt\n#think 900\n#say 600"));
    }
    world.assert_sent("reasoning_content");
    world.finish("reasoning")
}

/// Pictures from a person and from a tool.
pub(super) fn images(program: &PiProgram) -> Finished {
    let mut world = World::new(program, Model::of_window(14_000), Behaviour::default());
    let picture = fs::read(world.folder.path().join("work/dot.png")).expect("a picture");
    let image = json!({ "type": "image", "data": STANDARD.encode(picture), "mimeType": "image/png" });
    for _ in 0..2 {
        world.say_with("#say 300", std::slice::from_ref(&image));
        world.say("#read dot.png\n#say 300");
        world.say("#reads dot.png f1.txt dot.png\n#say 300");
    }
    world.assert_sent("image_url");
    world.finish("images")
}

/// Moves within the file, with and without a summary of the branch that is left.
pub(super) fn tree(program: &PiProgram) -> Finished {
    let mut world = World::new(program, Model::of_window(12_000), Behaviour::default());
    world.grow(1..=2);
    let early = world.newest_user();
    world.grow(3..=3);
    world.pi.command(&format!("/jump {early}"));
    world.say("#say 300");
    let side = world.newest_user();
    world.grow(4..=5);
    world.pi.command(&format!("/jumpsum {side}"));
    world.grow(6..=8);
    world.assert_sent("a branch that this conversation came back from");
    world.finish("tree")
}
