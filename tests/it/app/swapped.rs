//! Transcripts and databases that are swapped, cut, removed and written again, in terminals of changing size, while every
//! screen is open. Effects are performed late
//! and their answers arrive later still, so that answers about the old file meet the new one.

use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};
use std::path::{Path, PathBuf};

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;

use crate::frames::{dark, drawn};
use crate::support::driver::Driver;
use crate::support::fixture::{database_of, put, state_2026_8_1};
use crate::support::generate::{Dice, Options, transcript};

/// Keys that open screens, move in them and ask for work. Those that leave the program or change a preset are left out.
const KEYS: [&str; 64] = [
    "1", "2", "3", "4", "z", "esc", "esc", "esc", "<", ">", "j", "k", "j", "k", "ctrl-d", "ctrl-u", "g", "G",
    "enter", "enter", "n", "N", "p", "i", "a", "a", "x", ".", "c", "y", "u", "b", "e", "t", "w", "o", "d",
    "space", "h", "l", "-", "+", "J", "K", "]", "[", "}", "{", "m", "'", "r", "tab", "alt-c", "v s", "v w",
    "v d", "v !", "v r", "v f", "v h", "v t", "v *", "v p", ":reload",
];

/// Steps of one case.
const STEPS: usize = 160;

/// The effects of one kind that wait, and the answers that have not arrived. Each kind keeps its order, as jobs do.
#[derive(Default)]
struct Lane {
    effects: VecDeque<Effect>,
    answers: VecDeque<Event>,
}

struct Late {
    driver: Driver,
    lanes: Vec<(Discriminant<Effect>, Lane)>,
    log: Vec<String>,
}

impl Late {
    fn new(driver: Driver) -> Self {
        Self { driver, lanes: Vec::new(), log: Vec::new() }
    }

    fn queue(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let kind = discriminant(&effect);
            if !self.lanes.iter().any(|(known, _)| *known == kind) {
                self.lanes.push((kind, Lane::default()));
            }
            let lane = self.lanes.iter_mut().find(|(known, _)| *known == kind).expect("it was added");
            lane.1.effects.push_back(effect);
        }
    }

    fn event(&mut self, event: Event) {
        let effects = self.driver.effects(event);
        self.queue(effects);
        drawn(&self.driver.app, &dark());
    }

    fn key(&mut self, key: &str) {
        self.log.push(format!("key {key}"));
        let effects = self.driver.key_effects(key);
        self.queue(effects);
        drawn(&self.driver.app, &dark());
    }

    /// Performs the oldest effect of some kind, or lets its oldest answer arrive.
    fn progress(&mut self, dice: &mut Dice) {
        self.lanes.retain(|(_, lane)| !lane.effects.is_empty() || !lane.answers.is_empty());
        if self.lanes.is_empty() {
            return;
        }
        let at = dice.below(self.lanes.len());
        let lane = &mut self.lanes[at].1;
        let performs = lane.answers.is_empty() || dice.once_in(2);
        let next = if performs { lane.effects.pop_front() } else { None };
        if let Some(effect) = next {
            self.log.push(format!("perform {}", first_word(&format!("{effect:?}"))));
            let answers = match effect {
                Effect::Explain { .. } => self.driver.performed(effect),
                effect => self.driver.events_of(effect),
            };
            self.lanes[at].1.answers.extend(answers);
        } else if let Some(answer) = lane.answers.pop_front() {
            self.log.push(format!("answer {}", first_word(&format!("{answer:?}"))));
            self.event(answer);
        }
    }

    /// Changes the files under the program, and mostly lets it notice.
    fn swap(&mut self, files: &Files, dice: &mut Dice) {
        let path = match files {
            Files::Transcript(contents) => self.swap_transcript(contents, dice),
            Files::Database { path, original } => {
                self.log.push(format!("database: {}", swap_database(path, original, dice)));
                Some(path.clone())
            }
        };
        if let Some(path) = path.filter(|_| dice.below(4) > 0) {
            self.event(Event::FilesChanged(vec![path]));
        }
    }

    fn swap_transcript(&mut self, contents: &[Vec<u8>], dice: &mut Dice) -> Option<PathBuf> {
        let paths: Vec<_> =
            self.driver.app.sessions.items.iter().filter_map(|item| item.path.clone()).collect();
        let open = self.driver.app.displayed_session().and_then(|session| session.item.path.clone());
        let path = open.or_else(|| paths.first().cloned())?;
        let to = dice.below(contents.len() + 2);
        self.log.push(format!("swap to {to}"));
        match contents.get(to) {
            Some(text) if dice.once_in(2) => put(&path, text),
            Some(text) => replace(&path, text),
            None if to == contents.len() => drop(std::fs::remove_file(&path)),
            None => cut(&path, dice),
        }
        Some(path)
    }

    fn resize(&mut self, dice: &mut Dice) {
        let (width, height) =
            ([30, 59, 60, 80, 100, 130, 250][dice.below(7)], [5, 12, 24, 36, 90][dice.below(5)]);
        self.log.push(format!("resize {width}x{height}"));
        self.event(Event::Resize { width, height });
    }
}

fn first_word(text: &str) -> &str {
    text.split(|character: char| !character.is_alphanumeric()).next().unwrap_or(text)
}

/// Puts another file into the place of this one.
fn replace(path: &Path, text: &[u8]) {
    let beside = path.with_extension("new");
    put(&beside, text);
    std::fs::rename(&beside, path).expect("renames");
}

/// Cuts the file somewhere, perhaps within a line.
fn cut(path: &Path, dice: &mut Dice) {
    let Ok(file) = std::fs::OpenOptions::new().write(true).open(path) else { return };
    let len = file.metadata().expect("a size").len() as usize;
    file.set_len(dice.below(len + 1) as u64).expect("cuts");
}

/// The open transcript, parts of it, and others.
fn contents(own: &[u8]) -> Vec<Vec<u8>> {
    let lines: Vec<&[u8]> = own.split_inclusive(|byte| *byte == b'\n').collect();
    let first = |count: usize| lines[..count.min(lines.len())].concat();
    let other = |seed, steps| transcript(seed, &Options { steps, ..Options::default() });
    vec![own.to_vec(), first(lines.len() / 2), first(3), first(1), Vec::new(), other(1, 2), other(2, 60)]
}

/// The files that change, with what may come in their place.
enum Files {
    Transcript(Vec<Vec<u8>>),
    Database { path: PathBuf, original: Vec<u8> },
}

/// Changes of a database that its gateway, or a person, may make. Each may fail, where another one damaged the file.
const CHANGES: [&str; 8] = [
    "INSERT INTO transcript_events (session_id, seq, event_json, created_at)
       SELECT session_id, max(seq) + 1, '{\"type\":\"custom\"}', 1 FROM transcript_events GROUP BY session_id",
    "DELETE FROM transcript_events WHERE seq > 2;
     UPDATE transcript_rewrite_watermarks SET generation = lower(hex(randomblob(16)))",
    "DELETE FROM transcript_events WHERE seq % 2 = 1",
    "UPDATE transcript_events SET event_json = replace(event_json, 'a', 'b') WHERE seq > 0;
     UPDATE transcript_rewrite_watermarks SET generation = lower(hex(randomblob(16)))",
    "DELETE FROM session_nodes WHERE session_key IN (SELECT min(session_key) FROM session_nodes)",
    "UPDATE session_nodes SET entry_json = '[]', updated_at = updated_at + 1",
    "ALTER TABLE session_nodes ADD COLUMN later TEXT",
    "DROP TABLE transcript_rewrite_watermarks",
];

/// Returns a word for the change.
fn swap_database(path: &Path, original: &[u8], dice: &mut Dice) -> String {
    let at = dice.below(CHANGES.len() + 5);
    if let Some(sql) = CHANGES.get(at) {
        let connection = rusqlite::Connection::open(path).expect("opens");
        let done = connection.execute_batch(sql);
        return format!("change {at}: {done:?}");
    }
    for end in ["-wal", "-shm"] {
        drop(std::fs::remove_file(format!("{}{end}", path.display())));
    }
    match at - CHANGES.len() {
        0 => drop(std::fs::remove_file(path)),
        1 => cut(path, dice),
        2 => put(path, original),
        _ => replace(path, original),
    }
    format!("file {at}")
}

/// A chain of entries, with a short branch at every thousandth.
fn deep_transcript(depth: usize) -> String {
    let mut text =
        r#"{"type":"session","version":3,"id":"deep","timestamp":"2026-03-05T10:00:00.000Z","cwd":"/w"}"#
            .to_owned();
    let mut parent = "null".to_owned();
    for at in 0..depth {
        let message = match at % 2 {
            0 => r#"{"role":"user","content":"and then?"}"#,
            _ => {
                r#"{"role":"assistant","content":[{"type":"text","text":"so"}],"provider":"anthropic","model":"claude-opus-4-5","stopReason":"stop","usage":{"input":900,"output":5,"totalTokens":905}}"#
            }
        };
        let mut add = |id: &str| {
            text.extend([
                r#"
{"type":"message","id":""#,
                id,
                r#"","parentId":"#,
                &parent,
                r#","timestamp":"2026-03-05T10:00:01.000Z","message":"#,
                message,
                "}",
            ]);
        };
        if at % 1_000 == 999 {
            add(&format!("side{at}"));
        }
        add(&format!("e{at}"));
        parent = format!("\"e{at}\"");
    }
    text + "\n"
}

fn play_demo(seed: u64) {
    let session = ["telegram:direct:8812", "slack:channel:c07infra", "research:main"][seed as usize % 3];
    let mut driver = Driver::demo(130, 36);
    driver.go_to(session);
    let own = std::fs::read(driver.path()).expect("the transcript");
    let files = Files::Transcript(contents(&own));
    play(seed, session, driver, &files, STEPS);
}

/// Plays on a tree that is as deep as transcripts get.
fn play_deep(seed: u64) {
    let dir = tempfile::tempdir().expect("a folder");
    let own = deep_transcript(10_000);
    let path = dir.path().join("agents/main/sessions/deep.jsonl");
    put(&path, &own);
    put(&path.with_file_name("sessions.json"), r#"{"agent:main:main":{"sessionId":"deep"}}"#);
    let half = own.as_bytes()[..own.len() / 2].to_vec();
    let files = Files::Transcript(vec![own.into_bytes(), half, Vec::new()]);
    play(seed, "deep", Driver::on(dir, 130, 36), &files, STEPS / 8);
}

fn play_database(seed: u64) {
    let dir = state_2026_8_1();
    let path = database_of(dir.path());
    let original = std::fs::read(&path).expect("the database");
    let driver = Driver::on(dir, 130, 36);
    assert!(!driver.app.sessions.items.is_empty(), "the database lists its sessions");
    play(seed, "database", driver, &Files::Database { path, original }, STEPS);
}

#[expect(clippy::print_stderr, reason = "the seed and the last steps are all that a failure needs")]
fn play(seed: u64, name: &str, driver: Driver, files: &Files, steps: usize) {
    let mut dice = Dice::new(seed);
    let mut late = Late::new(driver);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..steps {
            match dice.below(16) {
                0..6 => late.key(dice.one_of(&KEYS)),
                6..8 => late.swap(files, &mut dice),
                8 => late.resize(&mut dice),
                _ => late.progress(&mut dice),
            }
        }
    }));
    if let Err(panic) = result {
        let tail = late.log.split_off(late.log.len().saturating_sub(40)).join("\n");
        eprintln!("seed {seed} on {name}:\n{tail}");
        std::panic::resume_unwind(panic);
    }
}

/// How often each case is played; `CLAWSCOPE_FUZZ` raises it.
fn times() -> u64 {
    std::env::var("CLAWSCOPE_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn files_may_be_swapped_under_every_screen_at_any_time() {
    (0..9 * times()).for_each(play_demo);
}

#[test]
fn a_tree_of_10_000_entries_may_be_swapped_under_every_screen() {
    (0..times()).for_each(play_deep);
}

#[test]
fn a_database_may_change_under_every_screen_at_any_time() {
    (0..6 * times()).for_each(play_database);
}
