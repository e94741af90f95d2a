//! A timeline in sentences, for those who do not look at curves: what both lanes come to, their course from turn to turn,
//! pauses and cost.

use super::{Gap, Lane, Timeline};
use crate::inspect::cost::{amount, cost_short, cost_words};
use crate::inspect::words::{grouped, moment, span};
use crate::policy::Step;
use crate::replay::{Call, CallReplay, Compacting};

/// A prompt that is smaller than the one before by so much of the window is a turn of the course.
const FALL: f64 = 0.05;
/// Turns of a lane that are told; of more than that the first and the last ones.
const TURNS: usize = 16;
/// Pauses that are told, the longest.
const PAUSES: usize = 5;

/// One turn of a lane's course, at a call.
#[derive(Debug, Clone, PartialEq)]
struct Turn {
    call: usize,
    words: String,
}

impl Timeline {
    /// The timeline in sentences, one to a line. Numbers are exact; `~` marks an estimate.
    pub fn sentences(&self) -> Vec<String> {
        let (Some(first), Some(last)) = (self.calls().first(), self.calls().last()) else {
            return vec!["No call is recorded on this path.".to_owned()];
        };
        let mut lines = vec![format!("{}, {}.", count(self.len(), "call"), period(first, last))];
        lines.push(self.limits());
        for lane in self.shown() {
            lines.push(self.summary(*lane));
            lines.extend(self.course(*lane));
        }
        lines.push(self.pauses());
        lines
    }

    /// What prompts are held against.
    fn limits(&self) -> String {
        let mut marks = self.thresholds();
        marks.sort_by_key(|mark| std::cmp::Reverse(mark.at));
        let words = marks.iter().map(|mark| format!("{} {}", mark.threshold.word(), grouped(mark.at)));
        let thresholds = format!("Thresholds in prompt tokens: {}.", words.collect::<Vec<_>>().join(", "));
        let believed = self.inspection().upkeep.runtime_window;
        match self.window().filter(|window| *window > believed) {
            Some(window) => format!(
                "{thresholds} Prompts of up to {} were answered; the gateway believes {}, and takes the last answer of a run above that for an overflow.",
                grouped(window as u64),
                grouped(believed as u64)
            ),
            None => thresholds,
        }
    }

    /// What a lane comes to.
    fn summary(&self, lane: Lane) -> String {
        let total = &self.totals[lane as usize];
        let mut words = match lane {
            Lane::Recorded => "Recorded".to_owned(),
            Lane::Simulated => {
                let settings = self.settings(lane);
                let acts = |step: &Step| *step != Step::Prune || settings.prune_on;
                let steps: Vec<&str> = settings.steps.steps.iter().filter(acts).map(Step::word).collect();
                format!("Simulated with {}", steps.join(", "))
            }
        };
        if let Some(call) = total.answered.1 {
            words = format!("{words}: the largest answered prompt is {}", self.prompt(lane, call));
        }
        if let Some(call) = total.refused.1.filter(|_| total.refused.0 > total.answered.0) {
            words = format!("{words}, refused was one of {}", self.prompt(lane, call));
        }
        let overflows = match total.overflows {
            0 => "every prompt fits".to_owned(),
            1 => "1 prompt does not fit".to_owned(),
            more => format!("{} prompts do not fit", grouped(more as u64)),
        };
        let cost = match lane {
            Lane::Recorded => cost_words(self.spent(lane)),
            Lane::Simulated => cost_short(self.spent(lane)),
        };
        let cost = cost.map_or("no price is known".to_owned(), |cost| format!("cost {cost}"));
        let dearest = self.dearest(lane).map_or(String::new(), |(call, usd)| {
            let estimated = self.lane(lane)[call].recorded_cost.is_none_or(|usd| usd <= 0.0);
            format!(", call #{call} most with {}", amount(usd, estimated))
        });
        let compactions = match total.compactions {
            0 => "no compaction".to_owned(),
            some => count(some, "compaction"),
        };
        format!("{words}; {overflows}; {compactions}; {cost}{dearest}.")
    }

    /// The call that costs most.
    fn dearest(&self, lane: Lane) -> Option<(usize, f64)> {
        let costs = self.lane(lane).iter().enumerate().filter_map(|(at, call)| Some((at, call.cost?)));
        costs.max_by(|one, other| one.1.total_cmp(&other.1)).filter(|(_, cost)| *cost > 0.0)
    }

    /// The prompt of a call, and its share of the window.
    fn prompt(&self, lane: Lane, call: usize) -> String {
        let own = &self.lane(lane)[call];
        let share = self.window().map(|window| format!(" ({:.0}%)", own.expected / window * 100.0));
        format!("{}{} at call #{call}", tokens(own), share.unwrap_or_default())
    }

    /// The course of a lane: where it begins, each fall and overflow, where it ends.
    fn course(&self, lane: Lane) -> Vec<String> {
        let turns = self.turns(lane);
        let tell = |turn: &Turn| {
            let when = self.calls().get(turn.call).and_then(|call| moment(call.started)).unwrap_or_default();
            format!("  #{} {when}: {}.", turn.call, turn.words)
        };
        let left_out = turns.len().saturating_sub(TURNS);
        if left_out == 0 {
            return turns.iter().map(tell).collect();
        }
        let (head, tail) = (TURNS / 2, turns.len() - TURNS / 2);
        let mut lines: Vec<String> = turns[..head].iter().map(tell).collect();
        lines.push(format!("  … {} left out …", count(left_out, "turn")));
        lines.extend(turns[tail..].iter().map(tell));
        lines
    }

    fn turns(&self, lane: Lane) -> Vec<Turn> {
        let calls = self.lane(lane);
        let least = self.window().unwrap_or_else(|| self.peak()) * FALL;
        let mut turns = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| calls[before].expected);
            let fell = before.is_some_and(|before| before - call.expected > least);
            let ends = at == 0 || at + 1 == calls.len();
            if ends || fell || call.overflow || call.compacted.is_some() {
                turns.push(Turn { call: at, words: turn_words(call, before) });
            }
        }
        turns
    }

    /// The pauses that count, the longest first.
    fn pauses(&self) -> String {
        let least = span(self.least_gap());
        let mut gaps: Vec<Gap> = self.gaps().collect();
        gaps.sort_by(|one, other| other.ms.total_cmp(&one.ms));
        if gaps.is_empty() {
            return format!("No pause is as long as {least}.");
        }
        let told = gaps.iter().take(PAUSES).map(|gap| format!("{} before call #{}", span(gap.ms), gap.call));
        let more = if gaps.len() > PAUSES { ", and shorter ones" } else { "" };
        let words = told.collect::<Vec<_>>().join(", ");
        let prunes = match (self.ttl().is_finite(), gaps.iter().filter(|gap| gap.prunes).count()) {
            (false, _) => String::new(),
            (true, 0) => format!(" None is as long as the ttl of pruning, {}.", span(self.ttl())),
            (true, some) => {
                format!(" {} as long as the ttl of pruning, {}.", grouped(some as u64), span(self.ttl()))
            }
        };
        format!("{} of {least} or longer: {words}{more}.{prunes}", count(gaps.len(), "pause"))
    }
}

/// What a turn is: the prompt, and why it is smaller or does not fit.
fn turn_words(call: &CallReplay, before: Option<f64>) -> String {
    let mut words = tokens(call);
    let mut add = |there: bool, text: String| {
        if there {
            words.push_str(", ");
            words.push_str(&text);
        }
    };
    if let Some(done) = call.compacted {
        let why = if done.by_overflow { "compacted after an overflow" } else { "compacted" };
        add(true, format!("{why} from {}", before_words(call, &done)));
    } else if let Some(before) = before.filter(|before| *before > call.expected) {
        add(true, format!("down from {}", grouped(before.round() as u64)));
    }
    add(call.truncated.is_some(), "large results cut".to_owned());
    add(call.cleared() > 0, format!("{} cleared", count(call.cleared() as usize, "message")));
    add(call.trimmed() > 0, format!("{} trimmed", count(call.trimmed() as usize, "message")));
    add(call.overflow, if call.is_sized() { "does not fit" } else { "refused" }.to_owned());
    add(call.failed, "no answer".to_owned());
    if let Some(done) = call.compacted_after {
        add(true, format!("compacted behind it from {}", before_words(call, &done)));
    }
    words
}

/// Tokens before a compaction.
fn before_words(call: &CallReplay, done: &Compacting) -> String {
    let before = done.before_tokens(call.expected);
    sized(before.tokens, before.estimated)
}

/// Tokens of a prompt, with `~` where a rule estimated them.
fn tokens(call: &CallReplay) -> String {
    if !call.is_sized() {
        return "a prompt of unknown size".to_owned();
    }
    sized(call.expected, call.is_estimate())
}

fn sized(tokens: f64, estimated: bool) -> String {
    let sign = if estimated { "~" } else { "" };
    format!("{sign}{} tokens", grouped(tokens.max(0.0).round() as u64))
}

fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

fn period(first: &Call, last: &Call) -> String {
    let at = |call: &Call| moment(call.started).unwrap_or_else(|| "an unknown time".to_owned());
    format!("{} to {}", at(first), at(last))
}
