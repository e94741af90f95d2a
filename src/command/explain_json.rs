//! JSON of `explain` (schemaVersion 2).

use super::ruleset::ruleset_json;
use super::session_output::{number_value, session_json};
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::report::explain::{
    Advice, CallHistory, CallPoint, Evidence, Explanation, Finding, GuardReport, Mechanism, Overflow,
    PromptCount, PromptPart, ReplaySummary,
};
use crate::session::LoadedSession;

/// Version 2 gave each of the four questions its own member.
pub(super) const SCHEMA_VERSION: i32 = 2;

/// Returns class, confidence and line of the first finding.
pub(super) fn verdict_value(explanation: &Explanation) -> Value {
    Value::from(explanation.verdict().map(|finding| {
        Object::from([
            ("class", Value::from(finding.class.as_str())),
            ("confidence", Value::from(finding.confidence.as_str())),
            ("line", Value::from(finding.headline.as_str())),
        ])
    }))
}

pub(super) fn report_json(inspection: &LoadedSession, explanation: &Explanation) -> Object {
    let json = ExplanationJson { inspection, explanation };
    let list = |values: Vec<Value>| Value::from(values);
    let findings =
        |findings: &[Finding]| list(findings.iter().map(|finding| json.finding_value(finding)).collect());
    Object::from([
        ("schemaVersion", Value::from(SCHEMA_VERSION)),
        ("session", session_json(&inspection.item)),
        ("ruleset", ruleset_json(&inspection.ruleset)),
        ("overflow", Value::from(explanation.has_overflowed())),
        (
            "events",
            list(explanation.overflows.iter().map(|overflow| json.overflow_value(overflow)).collect()),
        ),
        ("verdict", verdict_value(explanation)),
        ("course", Value::from(json.course_object(&explanation.course))),
        (
            "mechanism",
            Value::from(explanation.mechanism.as_ref().map(|mechanism| json.mechanism_object(mechanism))),
        ),
        ("parts", list(explanation.parts.iter().map(part_value).collect())),
        ("guards", list(explanation.guards.iter().map(|guard| json.guard_value(guard)).collect())),
        ("counts", list(explanation.counts.iter().map(|count| json.count_value(count)).collect())),
        ("mismeasured", findings(&explanation.mismeasured)),
        ("aftermath", findings(&explanation.aftermath)),
        ("findings", findings(&explanation.findings)),
        ("advice", list(explanation.advice.iter().map(advice_value).collect())),
        ("recorded", Value::from(explanation.recorded.map(|whole| whole_value(&whole)))),
        ("tried", Value::from(explanation.tried_count as u64)),
        ("exhausted", Value::from(explanation.is_exhausted)),
        ("noSettingHelps", Value::from(explanation.no_setting_helps())),
    ])
}

struct ExplanationJson<'a> {
    inspection: &'a LoadedSession,
    explanation: &'a Explanation,
}

impl ExplanationJson<'_> {
    fn entry_names(&self, entries: &[EntryIx]) -> Value {
        Value::from(
            entries.iter().map(|ix| Value::from(self.inspection.index.display_id(*ix))).collect::<Vec<_>>(),
        )
    }

    fn overflow_value(&self, overflow: &Overflow) -> Value {
        let words = &self.inspection.index.values;
        let model = overflow.model.map(|(provider, id)| {
            Object::from([
                ("provider", Value::from(words.text(provider))),
                ("id", Value::from(words.text(id))),
            ])
        });
        let explained = self.explanation.failure.as_ref().filter(|it| it.overflow.entry == overflow.entry);
        let accepted = explained.and_then(|failure| failure.last_counted).map(|(_, tokens)| tokens);
        Value::from(Object::from([
            ("entry", Value::from(self.inspection.index.display_id(overflow.entry))),
            ("kind", Value::from(overflow.kind.as_str())),
            ("time", number_value(overflow.time_ms)),
            ("model", Value::from(model)),
            ("requested", Value::from(overflow.requested)),
            ("limit", Value::from(overflow.limit)),
            ("reply", Value::from(overflow.reply_reserve)),
            ("acceptedBefore", Value::from(accepted)),
            ("recognised", overflow.recognised.map_or(Value::Null, Value::from)),
            ("rule", Value::from(overflow.rule)),
            ("by", Value::from(overflow.limit_source())),
            ("text", Value::from(overflow.text.as_str())),
            ("again", self.entry_names(&overflow.duplicates)),
        ]))
    }

    fn course_object(&self, course: &CallHistory) -> Object {
        let name = |ix: EntryIx| Value::from(self.inspection.index.display_id(ix));
        let accepted = course
            .largest_accepted
            .map(|(entry, tokens)| Object::from([("entry", name(entry)), ("tokens", Value::from(tokens))]));
        let call = |call: &CallPoint| {
            Value::from(Object::from([
                ("number", Value::from(call.number as u64)),
                ("entry", name(call.entry)),
                ("time", number_value(call.at_ms)),
                ("tokens", Value::from(call.tokens)),
                ("exact", Value::from(call.is_measured)),
                ("refused", Value::from(call.is_refused)),
                ("compactedBefore", Value::from(call.compacted_before)),
            ]))
        };
        Object::from([
            ("believed", Value::from(course.believed_window)),
            ("served", Value::from(course.served_limit)),
            ("trigger", Value::from(course.trigger)),
            ("largestAccepted", Value::from(accepted)),
            ("total", Value::from(course.total as u64)),
            ("calls", Value::from(course.calls.iter().map(call).collect::<Vec<_>>())),
        ])
    }

    fn mechanism_object(&self, mechanism: &Mechanism) -> Object {
        Object::from([
            ("class", Value::from(mechanism.class.as_str())),
            ("tokens", number_value(mechanism.tokens.round())),
            ("count", Value::from(mechanism.count as u64)),
            ("entries", self.entry_names(&mechanism.entries)),
        ])
    }

    fn guard_value(&self, guard: &GuardReport) -> Value {
        let opens = guard.opening_keys.iter().map(|key| Value::from(*key)).collect::<Vec<_>>();
        Value::from(Object::from([
            ("guard", Value::from(guard.kind.as_str())),
            ("state", Value::from(guard.state.as_str())),
            ("why", Value::from(guard.why.as_str())),
            ("dueBy", Value::from(guard.missing_tokens)),
            ("opened", Value::from(opens)),
            ("entry", Value::from(guard.entry.map(|ix| self.inspection.index.display_id(ix)))),
        ]))
    }

    fn count_value(&self, count: &PromptCount) -> Value {
        Value::from(Object::from([
            ("who", Value::from(count.counted_by)),
            ("tokens", Value::from(count.tokens)),
            ("exact", Value::from(count.is_measured)),
            ("what", Value::from(count.note.as_str())),
            ("entry", Value::from(count.entry.map(|ix| self.inspection.index.display_id(ix)))),
        ]))
    }

    fn finding_value(&self, finding: &Finding) -> Value {
        let mut seen: Vec<EntryIx> = Vec::new();
        for entry in finding.evidence.iter().flat_map(|evidence| &evidence.entries) {
            if !seen.contains(entry) {
                seen.push(*entry);
            }
        }
        let line = |evidence: &Evidence| {
            Value::from(Object::from([
                ("text", Value::from(evidence.text.as_str())),
                ("rule", Value::from(evidence.rule)),
                ("entries", self.entry_names(&evidence.entries)),
            ]))
        };
        let mut numbers = Object::default();
        for (name, value) in &finding.numbers {
            numbers.set(name, number_value(*value));
        }
        Value::from(Object::from([
            ("class", Value::from(finding.class.as_str())),
            ("confidence", Value::from(finding.confidence.as_str())),
            ("text", Value::from(finding.headline.as_str())),
            ("rule", Value::from(finding.rule)),
            ("flips", finding.prevents_overflow.map_or(Value::Null, Value::from)),
            ("evidence", self.entry_names(&seen)),
            ("lines", Value::from(finding.evidence.iter().map(line).collect::<Vec<_>>())),
            ("numbers", Value::from(numbers)),
        ]))
    }
}

fn part_value(part: &PromptPart) -> Value {
    Value::from(Object::from([
        ("part", Value::from(part.kind.as_str())),
        ("messages", Value::from(part.count as u64)),
        ("tokens", number_value(part.tokens.round())),
        ("new", number_value(part.new_tokens.round())),
    ]))
}

fn advice_value(advice: &Advice) -> Value {
    let mut set = Object::default();
    for change in &advice.changes {
        set.set(change.key(), change.value.clone());
    }
    let commands = advice.commands.iter().map(|line| Value::from(line.as_str())).collect::<Vec<_>>();
    Value::from(Object::from([
        ("set", Value::from(set)),
        ("helps", Value::from(advice.fits_all)),
        ("hasRoom", Value::from(advice.has_room)),
        ("overflows", Value::from(advice.overflows() as u64)),
        ("peak", Value::from(advice.peak())),
        ("cost", cost_value(&advice.whole)),
        ("note", Value::from(advice.note.as_str())),
        ("fits", Value::from(advice.fits)),
        ("before", Value::from(advice.tokens_before)),
        ("after", Value::from(advice.tokens_after)),
        ("compactions", Value::from(advice.whole.compactions as u64)),
        ("limit", Value::from(advice.limit)),
        ("patch", Value::from(advice.patch.as_str())),
        ("commands", Value::from(commands)),
    ]))
}

fn cost_value(whole: &ReplaySummary) -> Value {
    number_value(whole.cost.unwrap_or(f64::NAN))
}

fn whole_value(whole: &ReplaySummary) -> Object {
    Object::from([
        ("overflows", Value::from(whole.overflows as u64)),
        ("peak", Value::from(whole.peak_tokens)),
        ("cost", cost_value(whole)),
        ("compactions", Value::from(whole.compactions as u64)),
    ])
}
