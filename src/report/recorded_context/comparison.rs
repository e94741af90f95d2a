//! Compares a recorded list of messages with the list rebuilt from the transcript, up to the first difference
//! (trajectory 9).

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::recording_match::{RebuiltMessage, RecordingCut, agreement, compare, match_prefix};
use crate::format::{format_count, format_number};
use crate::js::{JsString, Object, Value, number_text, stringify, stringify_len};
use crate::store::scan::is_synthetic;
use crate::store::trajectory::RecordedList;
use crate::units::{Chars, serialize_whole};

/// Both lists at the start of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordingComparison {
    /// Messages in the recording.
    pub recorded: usize,
    /// Messages at the start of the run.
    pub at_start: u64,
    /// Messages rebuilt from the transcript.
    pub rebuilt: usize,
    /// Rebuilt messages after the repairs.
    pub repaired: usize,
    /// Repairs of the gateway that the rebuilt list needed.
    pub repairs: Vec<AppliedRepair>,
    /// Places that the recorder cut.
    pub cuts: Vec<RecordingCut>,
    /// Places that the recorder masked or removed as secrets.
    pub redacted: Vec<String>,
    /// Whether the run's configuration lets a plugin assemble the list.
    pub context_engine: bool,
    /// The first difference; null if the lists agree.
    pub difference: Option<Difference>,
}

/// The first position at which two lists differ.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Index of the message in the list.
    pub position: usize,
    pub recorded: Option<DifferingMessage>,
    pub rebuilt: Option<DifferingMessage>,
    /// Paths within the message that differ.
    pub paths: Vec<String>,
    /// Positions of messages that only the recording has.
    pub only_recorded: Vec<usize>,
    /// Entries of messages that only the transcript has.
    pub only_rebuilt: Vec<String>,
}

/// One of two messages that differ.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DifferingMessage {
    /// The entry; null for a recorded message.
    pub entry: Option<String>,
    pub role: String,
    /// Chars of the message as JSON.
    #[schemars(with = "u64")]
    #[serde(serialize_with = "serialize_whole")]
    pub chars: Chars,
}

impl RecordingComparison {
    /// Compares a recorded list with a rebuilt one, both as it is and with the repairs of this release, and keeps the
    /// better match: the gateway sends some lists without repairs (R8).
    pub(super) fn new(
        recorded: &RecordedList,
        raw: &[RebuiltMessage],
        release: Option<[u32; 3]>,
        context_engine: bool,
    ) -> Self {
        let (repaired, applied) = apply_repairs(raw, recorded, release);
        let raw_fit = agreement(recorded, raw);
        let is_raw = raw_fit.1 || raw_fit > agreement(recorded, &repaired);
        let (list, repairs) = if is_raw { (raw, Vec::new()) } else { (repaired.as_slice(), applied) };
        let ((equal, is_equal), found) = match_prefix(recorded, list);
        Self {
            recorded: recorded.items.len(),
            at_start: recorded.total,
            rebuilt: raw.len(),
            repaired: list.len(),
            repairs,
            cuts: found.cuts,
            redacted: found.redacted,
            context_engine,
            difference: (!is_equal).then(|| Difference::new(recorded, list, equal)),
        }
    }

    /// Returns the verdict in a few words.
    pub fn verdict(&self) -> String {
        if self.difference.is_some() {
            return "different".to_owned();
        }
        let reasons = [
            (!self.repairs.is_empty(), "repairs"),
            (!self.cuts.is_empty(), "recorder cuts"),
            (!self.redacted.is_empty(), "redaction"),
        ];
        let reasons: Vec<&str> =
            reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect();
        match reasons.as_slice() {
            [] => "equal".to_owned(),
            [only] => format!("equal after {only}"),
            [first @ .., last] => format!("equal after {} and {last}", first.join(", ")),
        }
    }

    /// Returns the verdict with the numbers of messages.
    pub(super) fn describe(&self) -> String {
        let recorded = format_count(self.recorded as u64, "message", "messages");
        let is_cut = self.at_start > self.recorded as u64;
        let of = is_cut.then(|| format!(" of {} at the start", format_number(self.at_start)));
        let mut verdict = self.verdict();
        verdict[..1].make_ascii_uppercase();
        let rebuilt = format_number(self.rebuilt as u64);
        format!("{verdict} · {recorded} recorded{} · {rebuilt} rebuilt", of.unwrap_or_default())
    }
}

impl Difference {
    fn new(recorded: &RecordedList, list: &[RebuiltMessage], position: usize) -> Self {
        let (own, other) = (recorded.items.get(position), list.get(position));
        let found = own.zip(other).map(|(own, other)| compare(own, &other.message, String::new()));
        let paths = found.map(|found| found.differences).unwrap_or_default();
        let own_ids: Vec<_> = recorded.items.iter().map(message_identity).collect();
        let other_ids: Vec<_> = list.iter().map(|item| message_identity(&item.message)).collect();
        let only_recorded = only_in(&own_ids, &other_ids, position);
        let mut only_rebuilt = only_in(&other_ids, &own_ids, position);
        // A cut recording does not show which messages follow its last one.
        if recorded.total > recorded.items.len() as u64 {
            let last_common = other_ids.iter().rposition(|id| own_ids.contains(id)).unwrap_or(0);
            only_rebuilt.retain(|at| *at <= last_common);
        }
        Self {
            position,
            recorded: own.map(|message| DifferingMessage::new(None, message)),
            rebuilt: other.map(|item| DifferingMessage::new(Some(item.entry.clone()), &item.message)),
            paths,
            only_recorded,
            only_rebuilt: only_rebuilt.into_iter().map(|at| list[at].entry.clone()).collect(),
        }
    }
}

impl DifferingMessage {
    fn new(entry: Option<String>, message: &Value) -> Self {
        let role = message.get("role").and_then(Value::as_str).map(JsString::to_string_lossy);
        Self { entry, role: role.unwrap_or_default(), chars: Chars::from_len(stringify_len(message)) }
    }
}

/// Returns the positions from `from` on of the messages that the other list lacks.
fn only_in(own: &[String], other: &[String], from: usize) -> Vec<usize> {
    let other: HashSet<&String> = other.iter().collect();
    (from..own.len()).filter(|at| !other.contains(&own[*at])).collect()
}

/// Identifies a message by role and time, which repairs keep; by its text if it has no time.
fn message_identity(message: &Value) -> String {
    let role = message.get("role").map(stringify).unwrap_or_default();
    match message.get("timestamp").and_then(Value::as_f64) {
        Some(time) => format!("{role}{}", number_text(time)),
        None => stringify(message),
    }
}

// The gateway's repairs of every list before it records it, as recorded runs show them (trajectory 5.2, R1 to R4).
// Repairs that depend on the provider or on settings show as a difference.

/// A repair that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedRepair {
    /// The name for scripts.
    pub name: &'static str,
    #[serde(skip)]
    pub description: &'static str,
    /// Number of messages or blocks changed.
    pub count: usize,
}

type Release = [u32; 3];

type Messages = Vec<RebuiltMessage>;

/// Name, description, the last release known to lack the repair, and the first known to have it. The function returns the
/// number of messages or blocks changed.
type Repair = (&'static str, &'static str, Release, Release, fn(&mut Messages) -> usize);

const ALL: Release = [0; 3];

/// In the gateway's order.
#[rustfmt::skip]
const REPAIRS: [Repair; 5] = [
    ("transcript-only-assistant-dropped", "delivery copies dropped", [2026, 4, 22], [2026, 5, 2], drop_mirrors),
    ("blank-text-block-removed", "blank texts removed", [2026, 4, 22], [2026, 5, 2], drop_blank_texts),
    ("assistant-text-made-a-block", "answers turned into blocks", ALL, ALL, wrap_text_in_blocks),
    ("tool-result-details-removed", "details of tool results removed", ALL, ALL, drop_details),
    ("trailing-failed-assistant-dropped", "failed answers at the end dropped", [2026, 5, 2], [2026, 5, 28], drop_failed_answers),
];

/// The text of an answer that failed before it had content.
const FAILED_ANSWER_TEXT: &str = "[assistant turn failed before producing content]";

/// Repairs a list as the gateway of a release does. A repair that the release may lack is applied if the list then agrees
/// better with the recorded one.
fn apply_repairs(
    list: &[RebuiltMessage],
    recorded: &RecordedList,
    release: Option<Release>,
) -> (Messages, Vec<AppliedRepair>) {
    let (mut list, mut applied) = (list.to_vec(), Vec::new());
    let is_sure = |repair: &Repair| release.map_or(repair.3 == ALL, |own| own >= repair.3);
    let (sure, open): (Vec<&Repair>, Vec<&Repair>) = REPAIRS.iter().partition(|repair| is_sure(repair));
    let open = open.into_iter().filter(|repair| release.is_none_or(|own| own > repair.2));
    for repair in sure.into_iter().chain(open) {
        let (name, description, .., apply) = *repair;
        let mut tried = list.clone();
        let count = apply(&mut tried);
        if count > 0 && (is_sure(repair) || agreement(recorded, &tried) > agreement(recorded, &list)) {
            list = tried;
            applied.push(AppliedRepair { name, description, count });
        }
    }
    (list, applied)
}

/// Returns the objects of all messages with a role.
fn with_role<'a>(list: &'a mut [RebuiltMessage], role: &'a str) -> impl Iterator<Item = &'a mut Object> {
    let own = list.iter_mut().filter(move |item| item.has_role(role));
    own.filter_map(|item| item.message.as_object_mut())
}

fn drop_mirrors(list: &mut Messages) -> usize {
    let before = list.len();
    list.retain(|item| !(item.has_role("assistant") && is_synthetic(&item.message)));
    before - list.len()
}

fn drop_blank_texts(list: &mut Messages) -> usize {
    let is_blank = |block: &Value| {
        let text = block.get("text").and_then(Value::as_str);
        block.get("type").is_some_and(|kind| kind.str_is("text")) && text.is_some_and(JsString::is_blank)
    };
    let mut count = 0;
    for message in with_role(list, "assistant") {
        let Some(Value::Array(blocks)) = message.get_mut("content") else { continue };
        if !blocks.iter().all(is_blank) {
            let before = blocks.len();
            blocks.retain(|block| !is_blank(block));
            count += before - blocks.len();
        }
    }
    count
}

fn wrap_text_in_blocks(list: &mut Messages) -> usize {
    let mut count = 0;
    for content in with_role(list, "assistant").filter_map(|message| message.get_mut("content")) {
        if let Value::String(text) = content {
            let block = Object::from([("type", Value::from("text")), ("text", Value::from(text.clone()))]);
            *content = Value::from(vec![Value::from(block)]);
            count += 1;
        }
    }
    count
}

fn drop_details(list: &mut Messages) -> usize {
    with_role(list, "toolResult").filter_map(|message| message.remove("details")).count()
}

fn drop_failed_answers(list: &mut Messages) -> usize {
    let failed = |item: &&RebuiltMessage| {
        let is_error = item.message.get("stopReason").is_some_and(|stop| stop.str_is("error"));
        let is_failure = |text: &Value| text.str_is(FAILED_ANSWER_TEXT);
        let is_empty = item.message.get("content").is_none_or(|content| match content {
            Value::Array(blocks) => match blocks.as_slice() {
                [] => true,
                [only] => only.get("text").is_some_and(is_failure),
                _ => false,
            },
            other => other.is_null() || other.str_is("") || is_failure(other),
        });
        item.has_role("assistant") && is_error && is_empty
    };
    let count = list.iter().rev().take_while(failed).count();
    list.truncate(list.len() - count);
    count
}
