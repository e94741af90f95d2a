//! What clawscope says about a store, against what the program did.

use std::collections::{HashMap, HashSet};
use std::fs;

use serde_json::Value;

use super::mock::{Kind, Request, answer_number};
use super::moment::Moment;
use super::scenario::{Finished, Place, cost};
use super::sent::{Message, difference, sent, told};
use super::{database, recovery};

/// The part of a report that a difference was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Check {
    /// The messages of a request.
    Messages,
    /// A request without an entry in the transcript.
    NoEntry,
    /// Whether a compaction follows a run.
    Trigger,
    /// The steps after a refusal.
    Recovery,
    /// Calls, tokens, compactions or cost of the list of sessions.
    Row,
    /// The prompt that was promised for the next turn.
    NextTurn,
    /// Overflows and compactions under a change that was run for real.
    Advice,
}

/// A check that failed.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) check: Check,
    pub(super) text: String,
}

/// Everything that was compared, and the differences.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) counts: HashMap<Check, usize>,
    pub(super) differences: Vec<Difference>,
}

impl Outcome {
    /// Counts a comparison; `difference` describes it if it failed.
    pub(super) fn add(&mut self, check: Check, difference: Option<String>) {
        *self.counts.entry(check).or_default() += 1;
        self.differences.extend(difference.map(|text| Difference { check, text }));
    }
}

/// Compares all of a finished scenario.
pub(super) fn compare(finished: &mut Finished) {
    let mut outcome = std::mem::take(&mut finished.outcome);
    let history = History::read(finished);
    compare_requests(finished, &history, &mut outcome);
    compare_triggers(finished, &history, &mut outcome);
    compare_row(finished, &history, &mut outcome);
    recovery::compare(finished, &history, &mut outcome);
    finished.outcome = outcome;
}

/// The entries of the sessions, and those that requests became.
pub(super) struct History {
    /// By session.
    pub(super) entries: Vec<Vec<Value>>,
    /// The session and the entry of each chat request, by its number.
    pub(super) answers: HashMap<usize, (usize, Value)>,
}

impl History {
    pub(super) fn read(finished: &Finished) -> Self {
        let entries: Vec<Vec<Value>> =
            finished.sessions.iter().map(|session| entries_of(&session.place)).collect();
        let mut answers = HashMap::new();
        for (session, entries) in entries.iter().enumerate() {
            for (number, entry) in self::answers(finished, entries) {
                answers.entry(number).or_insert((session, entry));
            }
        }
        Self { entries, answers }
    }

    /// The entry that a request became. A refusal since 2026.8 leaves none: then that which followed it, a compaction
    /// or the answer to another attempt.
    fn answered_or_next(&self, request: &Request) -> Option<(usize, &Value)> {
        let own = self.answers.get(&request.number).map(|(session, entry)| (*session, entry));
        let follows = |entry: &&Value| {
            let is_written = entry["type"] == "compaction" || entry["message"]["role"] == "assistant";
            is_written && time_of(entry).is_some_and(|time| time >= request.at_ms)
        };
        own.or_else(|| Some((0, self.entries[0].iter().find(follows)?)))
    }
}

/// Milliseconds since 1970 at which an entry was written.
fn time_of(entry: &Value) -> Option<u64> {
    let time: jiff::Timestamp = entry["timestamp"].as_str()?.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

fn entries_of(place: &Place) -> Vec<Value> {
    match place {
        Place::Database(path, session) => database::entries(path, session),
        Place::File(path) => {
            let text = fs::read_to_string(path).expect("a transcript");
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        }
    }
}

/// Finds the entry of each request: an answer names its request, refusals have the order of their requests.
fn answers(finished: &Finished, entries: &[Value]) -> HashMap<usize, Value> {
    let (mut answers, mut failed, mut seen) = (HashMap::new(), Vec::new(), HashSet::new());
    for entry in entries.iter().filter(|entry| entry["message"]["role"] == "assistant") {
        let message = &entry["message"];
        if let Some(number) = answered(message) {
            answers.entry(number).or_insert_with(|| entry.clone());
        } else if message["stopReason"] == "error" && seen.insert(message["timestamp"].to_string()) {
            // A branch that the program wrote again copies its failed answers.
            failed.push(entry);
        }
    }
    let refused = finished.requests.iter().filter(|it| it.kind == Kind::Chat && !it.is_answered());
    answers.extend(refused.zip(failed).map(|(request, entry)| (request.number, entry.clone())));
    answers
}

/// The request that an assistant's message answers.
pub(super) fn answered(message: &Value) -> Option<usize> {
    let texts = message["content"].as_array()?.iter().filter_map(|block| block["text"].as_str());
    answer_number(&texts.collect::<String>())
}

fn compare_requests(finished: &Finished, history: &History, outcome: &mut Outcome) {
    for request in finished.requests.iter().filter(|request| request.kind == Kind::Chat) {
        let number = request.number;
        let Some((session, entry)) = history.answered_or_next(request) else {
            outcome.add(Check::NoEntry, Some(format!("request {number} of status {}", request.status)));
            continue;
        };
        let leaf = entry["parentId"].as_str().expect("a parent");
        let moment = Moment::at(finished, &finished.sessions[session], leaf, request.at_ms);
        let told = simulated(&moment, leaf, request);
        let found = told.map_or_else(Some, |told| difference(&sent(&request.messages), &told));
        let described =
            |found| format!("request {number} of {} tokens, {}: {found}", request.tokens, request.status);
        outcome.add(Check::Messages, found.map(described));
    }
}

/// The messages that the program would send now, with all that it does on the way.
fn simulated(moment: &Moment, leaf: &str, request: &Request) -> Result<Vec<Message>, String> {
    let now = request.at_ms.to_string();
    let words = ["simulate", "--policy", "gateway", "--messages", "--gates", "--now", &now, "--leaf", leaf];
    told(&moment.ask(&words)?)
}

/// After each run, a compaction follows where the context is above the trigger, and only there.
fn compare_triggers(finished: &Finished, history: &History, outcome: &mut Outcome) {
    if !finished.has_triggers {
        return;
    }
    let explained = Moment::last(finished).ask(&["explain"]).expect("an explanation");
    let Some(trigger) = explained["course"]["trigger"].as_f64() else { return };
    for entry in &history.entries[0] {
        let message = &entry["message"];
        let (Some(number), true) = (answered(message), message["stopReason"] == "stop") else { continue };
        let id = entry["id"].as_str().expect("an id");
        let time = message["timestamp"].as_u64().expect("a time");
        let moment = Moment::at(finished, finished.main(), id, time);
        let context = moment.ask(&["context", "--leaf", id]).expect("a context");
        let tokens = context["estimate"]["tokens"].as_f64().expect("an estimate");
        let is_due = due_by_gateway(&moment, id, &context).unwrap_or(tokens > trigger);
        let is_done = is_compacted_after(&history.entries[0], id);
        let found = format!("after request {number}: {tokens} tokens of {trigger}, compacted: {is_done}");
        outcome.add(Check::Trigger, (is_due != is_done).then_some(found));
    }
}

/// Whether the gateway's own checks compact, in releases where that after a turn of the command line counts more than the
/// context: this one, or the one before the next prompt. The trigger of such a release is that of chats.
fn due_by_gateway(moment: &Moment, id: &str, context: &Value) -> Option<bool> {
    let after_turn = context["turnEnd"]["compacts"].as_bool()?;
    let checked = || {
        let answer = moment.ask(&["simulate", "--policy", "check", "--leaf", id]).expect("a simulation");
        answer["check"]["route"] != "fits"
    };
    Some(after_turn || checked())
}

/// Whether a compaction comes before the next message.
fn is_compacted_after(entries: &[Value], id: &str) -> bool {
    let child = |id: &str| entries.iter().find(|entry| entry["parentId"] == id);
    let mut next = child(id);
    while let Some(entry) = next {
        match entry["type"].as_str() {
            Some("compaction") => return true,
            Some("message") => return false,
            _ => next = child(entry["id"].as_str().expect("an id")),
        }
    }
    false
}

/// The list of sessions counts what the model server counted. A summary counts where the program stores its usage, as one
/// call for each entry.
fn compare_row(finished: &Finished, history: &History, outcome: &mut Outcome) {
    let listed = Moment::last(finished).sessions().expect("the sessions");
    // The importer keeps the transcript that it took in.
    let is_own =
        |row: &&Value| !row["flags"].as_array().is_some_and(|flags| flags.contains(&"imported".into()));
    let rows: Vec<&Value> = listed["sessions"].as_array().expect("sessions").iter().filter(is_own).collect();
    let sum = |of: &dyn Fn(&Value) -> &Value| rows.iter().filter_map(|row| of(row).as_f64()).sum::<f64>();
    let entries = || history.entries.iter().flatten();
    let has_usage = |entry: &&Value| entry["type"] != "message" && entry.get("usage").is_some();
    // A fork copies entries.
    let summaries =
        entries().filter(has_usage).map(|entry| entry["id"].as_str()).collect::<HashSet<_>>().len();
    let counts = |request: &&Request| match request.kind {
        Kind::Chat => history.answers.contains_key(&request.number),
        Kind::Summary => summaries > 0,
    };
    let answered = finished.requests.iter().filter(counts).filter(|request| request.is_answered());
    let chats = answered.clone().filter(|request| request.kind == Kind::Chat).count();
    let compactions = gateway_compactions(finished)
        .unwrap_or_else(|| entries().filter(|entry| entry["type"] == "compaction").count() as f64);
    let mut same = |what: &str, told: f64, real: f64| {
        let is_same = (told - real).abs() < 5e-6;
        outcome.add(Check::Row, (!is_same).then(|| format!("{what} {told}, really {real}")));
    };
    same("calls", sum(&|row| &row["usage"]["calls"]), (chats + summaries) as f64);
    same("cost", sum(&|row| &row["usage"]["cost"]), cost(answered));
    same("compactions", sum(&|row| &row["compactions"]), compactions);
}

/// The gateway's own counts, which include compactions that left nothing in the transcript.
fn gateway_compactions(finished: &Finished) -> Option<f64> {
    let text = fs::read_to_string(finished.store.join("agents/main/sessions/sessions.json")).ok()?;
    let rows: Value = serde_json::from_str(&text).ok()?;
    rows.as_object()?
        .values()
        .filter_map(|row| row["compactionCount"].as_f64())
        .reduce(|sum, count| sum + count)
}
