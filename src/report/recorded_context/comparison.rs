//! Compares a recorded list of messages with the list rebuilt from the transcript, up to the first difference
//! (trajectory 9).

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::recording_match::{RebuiltMessage, RecordingCut, agreement, compare, match_prefix};
use super::repairs::{AppliedRepair, apply_repairs};
use crate::format::{format_count, format_number};
use crate::js::{JsString, Value, number_text, stringify, stringify_len};
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
