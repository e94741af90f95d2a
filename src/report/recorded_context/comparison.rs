//! Compares a recorded list of messages with the list rebuilt from the transcript, up to the first difference
//! (trajectory 9).

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::rebuilt::{Agreement, RebuiltMessage};
use super::recording_match::{Match, RecordingCut, compare};
use crate::js::{JsString, Object, Value, number_text, stringify, stringify_len};
use crate::store::scan::is_synthetic;
use crate::store::trajectory::{ARRAY_CUT, RecordedList};
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
    /// The likely cause.
    pub cause: DifferenceCause,
}

/// The likely cause of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceCause {
    /// A plugin assembles the list.
    ContextEngine,
    /// The recording has messages that the transcript lacks.
    TranscriptRewritten,
    /// The recorded list lacks messages from the start of the branch.
    HistoryLimit,
    /// The same message has another form.
    ProviderRepair,
    /// The rules of the gateway's release differ.
    OtherVersion,
}

impl DifferenceCause {
    /// A sentence for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::ContextEngine => "A context-engine plugin made this list.",
            Self::TranscriptRewritten => {
                "The transcript was probably rewritten since: it lacks messages of the recording."
            }
            Self::HistoryLimit => "A history limit probably left out the oldest messages.",
            Self::ProviderRepair => "The gateway probably repaired this message for its provider.",
            Self::OtherVersion => "The gateway's release probably builds this list differently.",
        }
    }
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
        has_engine: bool,
    ) -> Self {
        let (repaired, applied) = apply_repairs(raw, recorded, release);
        let raw_fit = Agreement::new(recorded, raw);
        let is_raw = raw_fit.is_perfect() || raw_fit > Agreement::new(recorded, &repaired);
        let (list, repairs) = if is_raw { (raw, Vec::new()) } else { (repaired.as_slice(), applied) };
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
            difference: (!is_equal).then(|| Difference::new(recorded, list, has_engine)),
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
    fn new(recorded: &RecordedList, list: &[RebuiltMessage], has_engine: bool) -> Self {
        let position = Agreement::new(recorded, list).equal;
        let (own, other) = (recorded.items.get(position), list.get(position));
        let found = own.zip(other).map(|(own, other)| compare(own, &other.message, String::new()));
        let mut only = UnmatchedPositions::new(recorded, list, position);
        // A cut recording does not show which messages follow its last one.
        if recorded.total > recorded.items.len() as u64 {
            only.rebuilt.retain(|at| *at <= only.last_common);
        }
        let paths = found.map(|found| found.differences).unwrap_or_default();
        let is_same = own.is_some() && other.is_some() && !paths.is_empty();
        let cause = match () {
            () if has_engine => DifferenceCause::ContextEngine,
            () if !only.recorded.is_empty() => DifferenceCause::TranscriptRewritten,
            () if is_same && only.rebuilt.is_empty() => DifferenceCause::ProviderRepair,
            () if position == 0 && recorded.total < list.len() as u64 => DifferenceCause::HistoryLimit,
            () => DifferenceCause::OtherVersion,
        };
        Self {
            position,
            recorded: own.map(|message| DifferingMessage::new(None, message)),
            rebuilt: other.map(|item| DifferingMessage::new(item.entry.clone(), &item.message)),
            paths,
            only_recorded: only.recorded,
            only_rebuilt: only.rebuilt.iter().filter_map(|at| list[*at].entry.clone()).collect(),
            cause,
        }
    }
}

impl DifferingMessage {
    fn new(entry: Option<String>, message: &Value) -> Self {
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

// The gateway's repairs of every list before it records it, as recorded runs show them (trajectory 5.2, R1 to R4). Repairs
// that depend on the provider or on settings show as a difference.

/// The text of an answer that failed before it had content.
const FAILED_ANSWER_TEXT: &str = "[assistant turn failed before producing content]";

type Release = [u32; 3];

type Messages = Vec<RebuiltMessage>;

struct Repair {
    name: &'static str,
    description: &'static str,
    /// The last release known to lack it, and the first known to have it.
    releases: (Release, Release),
    /// Returns the number of messages or blocks changed.
    apply: fn(&mut Messages) -> usize,
}

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

const ALL_RELEASES: (Release, Release) = ([0; 3], [0; 3]);

const SANITISER_RELEASES: (Release, Release) = ([2026, 4, 22], [2026, 5, 2]);

const FAILED_ANSWER_RELEASES: (Release, Release) = ([2026, 5, 2], [2026, 5, 28]);

/// In the gateway's order.
const REPAIRS: [Repair; 5] = [
    Repair {
        name: "transcript-only-assistant-dropped",
        description: "delivery copies dropped",
        releases: SANITISER_RELEASES,
        apply: drop_mirrors,
    },
    Repair {
        name: "blank-text-block-removed",
        description: "blank texts removed",
        releases: SANITISER_RELEASES,
        apply: drop_blank_texts,
    },
    Repair {
        name: "assistant-text-made-a-block",
        description: "answers turned into blocks",
        releases: ALL_RELEASES,
        apply: wrap_text_in_blocks,
    },
    Repair {
        name: "tool-result-details-removed",
        description: "details of tool results removed",
        releases: ALL_RELEASES,
        apply: drop_details,
    },
    Repair {
        name: "trailing-failed-assistant-dropped",
        description: "failed answers at the end dropped",
        releases: FAILED_ANSWER_RELEASES,
        apply: drop_failed_answers,
    },
];

/// Repairs a list as the gateway of a release does. A repair that the release may lack is applied if the list then agrees
/// better with the recorded one.
pub(super) fn apply_repairs(
    list: &[RebuiltMessage],
    recorded: &RecordedList,
    release: Option<Release>,
) -> (Messages, Vec<AppliedRepair>) {
    let mut list = list.to_vec();
    let mut applied = Vec::new();
    let has = |since: Release| release.map_or(since == [0; 3], |own| own >= since);
    let (sure, open): (Vec<_>, Vec<_>) = REPAIRS.iter().partition(|repair| has(repair.releases.1));
    let open = open.into_iter().filter(|repair| release.is_none_or(|own| own > repair.releases.0));
    for (repair, is_sure) in sure.into_iter().map(|own| (own, true)).chain(open.map(|own| (own, false))) {
        let mut tried = list.clone();
        let count = (repair.apply)(&mut tried);
        if count > 0 && (is_sure || Agreement::new(recorded, &tried) > Agreement::new(recorded, &list)) {
            list = tried;
            applied.push(AppliedRepair { name: repair.name, description: repair.description, count });
        }
    }
    (list, applied)
}

fn drop_mirrors(list: &mut Messages) -> usize {
    let before = list.len();
    list.retain(|item| !(item.has_role("assistant") && is_synthetic(&*item.message)));
    before - list.len()
}

fn drop_blank_texts(list: &mut Messages) -> usize {
    let is_blank = |block: &Value| {
        let text = block.get("text").and_then(Value::as_str);
        block.get("type").is_some_and(|kind| kind.str_is("text")) && text.is_some_and(JsString::is_blank)
    };
    let answers =
        list.iter_mut().filter(|item| item.has_role("assistant") && !item.blocks().iter().all(is_blank));
    answers.map(|item| item.retain_blocks(|block| !is_blank(block))).sum()
}

fn wrap_text_in_blocks(list: &mut Messages) -> usize {
    let mut count = 0;
    for item in list.iter_mut().filter(|item| item.has_role("assistant")) {
        if let Some(text) = item.message.get("content").and_then(Value::as_str).cloned() {
            let block = Object::from([("type", Value::from("text")), ("text", Value::String(text))]);
            item.set("content", Value::Array(vec![Value::from(block)]));
            count += 1;
        }
    }
    count
}

fn drop_details(list: &mut Messages) -> usize {
    let results = list.iter_mut().filter(|item| item.has_role("toolResult"));
    results.map(|item| usize::from(item.remove("details"))).sum()
}

fn drop_failed_answers(list: &mut Messages) -> usize {
    let failed = |item: &&RebuiltMessage| {
        let is_error = item.message.get("stopReason").is_some_and(|stop| stop.str_is("error"));
        let is_empty = item.message.get("content").is_none_or(|content| match content {
            Value::Array(blocks) => match blocks.as_slice() {
                [] => true,
                [only] => only.get("text").is_some_and(|text| text.str_is(FAILED_ANSWER_TEXT)),
                _ => false,
            },
            other => other.is_null() || other.str_is("") || other.str_is(FAILED_ANSWER_TEXT),
        });
        item.has_role("assistant") && is_error && is_empty
    };
    let count = list.iter().rev().take_while(failed).count();
    list.truncate(list.len() - count);
    count
}
