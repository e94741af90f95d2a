//! A commit and its undo, which the real program goes on from: its next turn sends what was promised.

use serde_json::Value;

use super::checks::{Check, Outcome};
use super::mock::{Kind, Mock};
use super::moment::Moment;
use super::sent::{difference, plain, sent, told};

/// A program with a session that it can go on with.
pub(super) trait Continued {
    fn mock(&self) -> &Mock;
    /// The session as clawscope opens it now.
    fn moment(&self) -> Moment;
    /// Sends one more message.
    fn go_on(&mut self, directives: &str);
}

/// Commits under each list of options, goes on, takes the commit back and goes on again.
pub(super) fn compare(world: &mut impl Continued, commits: &[&[&str]]) -> Outcome {
    let mut outcome = Outcome::default();
    for options in commits {
        let words = [&["commit"], *options, &["--apply"]].concat();
        compare_next(world, &words, &mut outcome);
        compare_next(world, &["undo", "--apply"], &mut outcome);
    }
    outcome
}

/// Writes, then compares the promise with the next request.
fn compare_next(world: &mut impl Continued, words: &[&str], outcome: &mut Outcome) {
    let moment = world.moment();
    let found = write(&moment, words).and_then(|()| promised(&moment)).map(|promised| {
        let known = world.mock().requests().len();
        world.go_on("#say 150");
        let requests = world.mock().requests();
        let next = requests[known..].iter().find(|request| request.kind == Kind::Chat).expect("a request");
        let mut real = sent(&next.messages);
        // The new message.
        real.pop();
        // What the program adds on sending is compared with the requests.
        difference(&plain(&real), &plain(&told(&promised)))
    });
    let found = found.unwrap_or_else(Some);
    outcome.add(Check::NextTurn, found.map(|found| format!("after {words:?}: {found}")));
}

fn write(moment: &Moment, words: &[&str]) -> Result<(), String> {
    let answer = moment.ask(words)?;
    if answer.get("error").is_some() { Err(answer.to_string()) } else { Ok(()) }
}

fn promised(moment: &Moment) -> Result<Vec<Value>, String> {
    let answer = moment.ask(&["simulate", "--policy", "gateway", "--messages", "--gates"])?;
    answer["messages"].as_array().cloned().ok_or_else(|| format!("no messages: {answer}"))
}
