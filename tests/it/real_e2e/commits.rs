//! A commit and its undo, which the real program goes on from: its next turn sends what was promised.

use std::path::PathBuf;

use serde_json::Value;

use super::checks::{Check, Outcome};
use super::mock::{Kind, Mock};
use super::moment::Moment;
use super::sent::{Message, difference, sent, told};

/// A program with a session that it can go on with.
pub(super) trait Continued {
    fn mock(&self) -> &Mock;
    /// The session as clawscope opens it now.
    fn moment(&self) -> Moment;
    /// Sends one more message.
    fn go_on(&mut self, directives: &str);
    /// Ends a program that keeps its sessions in a database, and returns the folder of its command, which imports a
    /// commit; `None` where a commit is written in place.
    fn importer(&mut self) -> Option<PathBuf> {
        None
    }
    /// Goes on in a session with this key and id from now on; `None` for the first one.
    fn go_on_in(&mut self, _session: Option<(String, String)>) {}
}

/// Commits under each list of options, goes on, takes the commit back and goes on again.
pub(super) fn compare(world: &mut impl Continued, commits: &[&[&str]]) -> Outcome {
    let mut outcome = Outcome::default();
    for options in commits {
        let words = [&["commit"], *options, &["--apply"]].concat();
        match world.importer() {
            Some(programs) => compare_imported(world, &words, programs, &mut outcome),
            None => {
                for words in [&words[..], &["undo", "--apply"]] {
                    let found = write(&world.moment(), words).and_then(|_| next_difference(world));
                    note(words, found, &mut outcome);
                }
            }
        }
    }
    outcome
}

/// Commits to a new session and goes on there, then in the old one.
fn compare_imported(world: &mut impl Continued, words: &[&str], programs: PathBuf, outcome: &mut Outcome) {
    let words = [words, &["--run"]].concat();
    let moment = world.moment().with_programs(programs);
    let found = write(&moment, &words).and_then(|answer| {
        let text = |name: &str| answer["import"][name].as_str().map(str::to_owned);
        let session = text("key").zip(text("sessionId")).ok_or_else(|| format!("not imported: {answer}"))?;
        world.go_on_in(Some(session));
        next_difference(world)
    });
    note(&words, found, outcome);
    world.go_on_in(None);
    let found = next_difference(world);
    note(&["the old session"], found, outcome);
}

fn note(words: &[&str], found: Result<Option<String>, String>, outcome: &mut Outcome) {
    let found = found.unwrap_or_else(Some);
    outcome.add(Check::NextTurn, found.map(|found| format!("after {words:?}: {found}")));
}

/// Compares the promise with the next request.
fn next_difference(world: &mut impl Continued) -> Result<Option<String>, String> {
    let promised = promised(&world.moment())?;
    let known = world.mock().requests().len();
    world.go_on("#say 150");
    let requests = world.mock().requests();
    let next = requests[known..].iter().find(|request| request.kind == Kind::Chat).expect("a request");
    let mut real = sent(&next.messages);
    // The new message.
    real.pop();
    Ok(difference(&real, &promised))
}

fn write(moment: &Moment, words: &[&str]) -> Result<Value, String> {
    let answer = moment.ask(words)?;
    if answer.get("error").is_some() { Err(answer.to_string()) } else { Ok(answer) }
}

fn promised(moment: &Moment) -> Result<Vec<Message>, String> {
    told(&moment.ask(&["simulate", "--policy", "gateway", "--messages", "--gates"])?)
}
