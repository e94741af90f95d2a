//! Transcripts that are swapped, cut, removed and written again while every screen is open. Effects are performed late
//! and their answers arrive later still, so that answers about the old file meet the new one.

use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};
use std::path::Path;

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;

use crate::frames::{dark, drawn};
use crate::support::driver::Driver;
use crate::support::fixture::put;
use crate::support::generate::{Dice, Options, transcript};

/// Keys that open screens, move in them and ask for work. Those that leave the program or change a preset are left out.
const KEYS: [&str; 67] = [
    "1", "2", "3", "4", "z", "esc", "esc", "esc", "<", ">", "j", "k", "j", "k", "ctrl-d", "ctrl-u", "g", "G",
    "enter", "enter", "n", "N", "p", "i", "a", "a", "s", "x", ".", "c", "y", "u", "U", "C", "R", "F", "!",
    "E", "B", "v", "e", "t", "w", "W", "*", "o", "d", "space", "h", "l", "-", "+", "J", "K", "]", "[", "}",
    "{", "ctrl-n", "f", "m", "'", "r", "T", "tab", "alt-c", "@",
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

    fn swap(&mut self, contents: &[Vec<u8>], dice: &mut Dice) {
        let paths: Vec<_> =
            self.driver.app.sessions.items.iter().filter_map(|item| item.path.clone()).collect();
        let open = self.driver.app.displayed_session().and_then(|session| session.item.path.clone());
        let Some(path) = open.or_else(|| paths.first().cloned()) else { return };
        let to = dice.below(contents.len() + 2);
        self.log.push(format!("swap to {to}"));
        match contents.get(to) {
            Some(text) if dice.once_in(2) => put(&path, text),
            Some(text) => replace(&path, text),
            None if to == contents.len() => drop(std::fs::remove_file(&path)),
            None => cut(&path, dice),
        }
        if dice.below(4) > 0 {
            self.event(Event::FilesChanged(vec![path]));
        }
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

#[expect(clippy::print_stderr, reason = "the seed and the last steps are all that a failure needs")]
fn play(seed: u64, session: &str) {
    let mut dice = Dice::new(seed);
    let mut driver = Driver::demo(130, 36);
    driver.go_to(session);
    let own = std::fs::read(driver.path()).expect("the transcript");
    let contents = contents(&own);
    let mut late = Late::new(driver);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..STEPS {
            match dice.below(8) {
                0..3 => late.key(dice.one_of(&KEYS)),
                3 => late.swap(&contents, &mut dice),
                _ => late.progress(&mut dice),
            }
        }
    }));
    if let Err(panic) = result {
        let tail = late.log.split_off(late.log.len().saturating_sub(40)).join("\n");
        eprintln!("seed {seed} on {session}:\n{tail}");
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn files_may_be_swapped_under_every_screen_at_any_time() {
    let times = std::env::var("CLAWSCOPE_FUZZ").ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    for seed in 0..9 * times {
        play(seed, ["telegram:direct:8812", "slack:channel:c07infra", "research:main"][seed as usize % 3]);
    }
}
