//! Compares a recorded list of messages with the list rebuilt from the transcript, up to the first difference
//! (trajectory 9).

use std::collections::HashMap;

use super::rebuilt::{Agreement, RebuiltMessage};
use super::recording_match::{Match, RecordingCut, compare};
use super::repairs::{AppliedRepair, apply_repairs};
use crate::ids::EntryIx;
use crate::js::{JsString, Value, number_text, stringify, stringify_len};
use crate::store::trajectory::{ARRAY_CUT, RecordedList};
use crate::units::Chars;

#[derive(Debug, Clone, PartialEq)]
pub struct RecordingComparison {
    /// Messages in the recording.
    pub recorded: usize,
    /// Messages at the start of the run.
    pub at_start: u64,
    /// Messages rebuilt from the transcript.
    pub rebuilt: usize,
    /// Rebuilt messages that are left after the repairs.
    pub repaired: usize,
    /// Repairs applied to the rebuilt list.
    pub repairs: Vec<AppliedRepair>,
    /// Places that the recorder cut.
    pub cuts: Vec<RecordingCut>,
    /// Places that the recorder masked or removed as secrets, as JSON pointers.
    pub redacted: Vec<String>,
    /// Whether the gateway sent the list without its repairs, as it does after it removed an unanswered user message
    /// (R8).
    pub unrepaired: bool,
    /// The first difference; `None` if the lists agree.
    pub difference: Option<Difference>,
}

/// The first position at which two lists differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub position: usize,
    pub recorded: Option<DifferingMessage>,
    pub rebuilt: Option<DifferingMessage>,
    /// JSON pointers within the message to the parts that differ.
    pub paths: Vec<String>,
    /// Positions of messages that only the recording has.
    pub only_recorded: Vec<usize>,
    /// Entries of messages that only the transcript has.
    pub only_rebuilt: Vec<EntryIx>,
}

/// One of two messages that differ.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferingMessage {
    /// The entry; `None` for a recorded message.
    pub entry: Option<EntryIx>,
    pub role: String,
    /// Chars of the message as JSON.
    pub chars: Chars,
}

impl RecordingComparison {
    /// Compares a recorded list with a rebuilt one, both without repairs and with the repairs of this release, and
    /// keeps the better match.
    pub(super) fn new(recorded: &RecordedList, raw: &[RebuiltMessage], release: Option<[u32; 3]>) -> Self {
        let (made, applied) = apply_repairs(raw, recorded, release);
        let raw_fit = Agreement::new(recorded, raw);
        // A list that already agrees needs no repair; of two lists that differ, the closer one explains more.
        let is_raw = raw_fit.is_perfect() || raw_fit > Agreement::new(recorded, &made);
        let unrepaired = is_raw && !applied.is_empty();
        let (list, repairs) = if is_raw { (raw, Vec::new()) } else { (made.as_slice(), applied) };
        let found = match_prefix(recorded, list);
        let is_equal = Agreement::new(recorded, list).is_perfect();
        Self {
            recorded: recorded.items.len(),
            at_start: recorded.total,
            rebuilt: raw.len(),
            repaired: list.len(),
            repairs,
            cuts: found.cuts,
            redacted: found.redacted,
            unrepaired,
            difference: (!is_equal).then(|| Difference::new(recorded, list)),
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
}

/// Collects cuts and redactions in the messages before the first difference.
fn match_prefix(recorded: &RecordedList, list: &[RebuiltMessage]) -> Match {
    let mut all = Match::default();
    for (at, (own, other)) in recorded.items.iter().zip(list).enumerate() {
        let found = compare(own, &other.message, format!("/{at}"));
        if !found.differences.is_empty() {
            return all;
        }
        all.cuts.extend(found.cuts);
        all.redacted.extend(found.redacted);
    }
    if recorded.total > recorded.items.len() as u64 {
        all.cuts
            .push(RecordingCut { path: format!("/{}", recorded.items.len()), reason: ARRAY_CUT.to_owned() });
    }
    all
}

impl Difference {
    fn new(recorded: &RecordedList, list: &[RebuiltMessage]) -> Self {
        let position = Agreement::new(recorded, list).equal;
        let (own, other) = (recorded.items.get(position), list.get(position));
        let found = own.zip(other).map(|(own, other)| compare(own, &other.message, String::new()));
        let mut only = UnmatchedPositions::new(recorded, list, position);
        // A cut recording does not show which messages follow its last one.
        if recorded.total > recorded.items.len() as u64 {
            only.rebuilt.retain(|at| *at <= only.last_common);
        }
        Self {
            position,
            recorded: own.map(|message| DifferingMessage::new(None, message)),
            rebuilt: other.map(|item| DifferingMessage::new(item.entry, &item.message)),
            paths: found.map(|found| found.differences).unwrap_or_default(),
            only_recorded: only.recorded,
            only_rebuilt: only.rebuilt.iter().filter_map(|at| list[*at].entry).collect(),
        }
    }

    /// Whether both sides have the same message in another form.
    pub fn is_same_message(&self) -> bool {
        self.recorded.is_some() && self.rebuilt.is_some() && !self.only_recorded.contains(&self.position)
    }
}

impl DifferingMessage {
    fn new(entry: Option<EntryIx>, message: &Value) -> Self {
        let role = message.get("role").and_then(Value::as_str).map(JsString::to_string_lossy);
        Self { entry, role: role.unwrap_or_default(), chars: Chars::from_len(stringify_len(message)) }
    }
}

/// Positions of messages that only one of two lists has.
struct UnmatchedPositions {
    recorded: Vec<usize>,
    rebuilt: Vec<usize>,
    /// The last rebuilt message that both lists have.
    last_common: usize,
}

impl UnmatchedPositions {
    fn new(recorded: &RecordedList, list: &[RebuiltMessage], from: usize) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, item) in list.iter().enumerate().skip(from).rev() {
            places.entry(message_identity(&item.message)).or_default().push(at);
        }
        let mut only = Self { recorded: Vec::new(), rebuilt: Vec::new(), last_common: 0 };
        for (at, message) in recorded.items.iter().enumerate().skip(from) {
            match places.get_mut(&message_identity(message)).and_then(Vec::pop) {
                Some(place) => only.last_common = only.last_common.max(place),
                None => only.recorded.push(at),
            }
        }
        only.rebuilt = places.into_values().flatten().collect();
        only.rebuilt.sort_unstable();
        only
    }
}

/// Identifies a message by role and time, which repairs keep; by its text if it has no time.
fn message_identity(message: &Value) -> String {
    let role = message.get("role").map(stringify).unwrap_or_default();
    match message.get("timestamp").and_then(Value::as_f64) {
        Some(time) => format!("{role}{}", number_text(time)),
        None => stringify(message),
    }
}
