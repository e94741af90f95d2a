//! An explanation as JSON (schemaVersion 2).

use super::described::{number, session_value};
use super::ruleset::ruleset_value;
use crate::explain::{
    Advice, CallPoint, Count, Course, Evidence, Explanation, Finding, Guard, Mechanism, Overflow, Part, Whole,
};
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::js::{Object, Value};

/// The schema of `explain`: since 2 the four questions have members of their own.
pub(super) const SCHEMA_VERSION: i32 = 2;

/// Class, confidence and line of the first finding.
pub(super) fn verdict_value(explanation: &Explanation) -> Value {
    Value::from(explanation.verdict().map(|finding| {
        Object::from([
            ("class", Value::from(finding.class.word())),
            ("confidence", Value::from(finding.confidence.word())),
            ("line", Value::from(finding.line.as_str())),
        ])
    }))
}

/// The whole explanation.
pub(super) fn answer(inspection: &Inspection, explanation: &Explanation) -> Object {
    let json = Json { inspection, explanation };
    let list = |values: Vec<Value>| Value::from(values);
    let findings =
        |findings: &[Finding]| list(findings.iter().map(|finding| json.finding(finding)).collect());
    Object::from([
        ("schemaVersion", Value::from(SCHEMA_VERSION)),
        ("session", session_value(&inspection.session)),
        ("ruleset", ruleset_value(&inspection.ruleset)),
        ("overflow", Value::from(explanation.overflowed())),
        ("events", list(explanation.overflows.iter().map(|overflow| json.event(overflow)).collect())),
        ("verdict", verdict_value(explanation)),
        ("course", Value::from(json.course(&explanation.course))),
        ("mechanism", Value::from(explanation.mechanism.as_ref().map(|mechanism| json.mechanism(mechanism)))),
        ("parts", list(explanation.parts.iter().map(part).collect())),
        ("guards", list(explanation.guards.iter().map(|guard| json.guard(guard)).collect())),
        ("counts", list(explanation.counts.iter().map(|count| json.count(count)).collect())),
        ("mismeasured", findings(&explanation.mismeasured)),
        ("aftermath", findings(&explanation.aftermath)),
        ("findings", findings(&explanation.findings)),
        ("advice", list(explanation.advice.iter().map(advice).collect())),
        ("recorded", Value::from(explanation.recorded.map(|whole| whole_value(&whole)))),
        ("tried", Value::from(explanation.tried as u64)),
        ("exhausted", Value::from(explanation.exhausted)),
        ("noSettingHelps", Value::from(explanation.no_setting_helps())),
    ])
}

struct Json<'a> {
    inspection: &'a Inspection,
    explanation: &'a Explanation,
}

impl Json<'_> {
    fn names(&self, entries: &[EntryIx]) -> Value {
        Value::from(entries.iter().map(|ix| Value::from(self.inspection.index.name(*ix))).collect::<Vec<_>>())
    }

    fn event(&self, overflow: &Overflow) -> Value {
        let words = &self.inspection.index.words;
        let model = overflow.model.map(|(provider, id)| {
            Object::from([
                ("provider", Value::from(words.text(provider))),
                ("id", Value::from(words.text(id))),
            ])
        });
        let explained = self.explanation.failure.as_ref().filter(|it| it.overflow.entry == overflow.entry);
        let accepted = explained.and_then(|failure| failure.before).map(|(_, tokens)| tokens);
        Value::from(Object::from([
            ("entry", Value::from(self.inspection.index.name(overflow.entry))),
            ("kind", Value::from(overflow.sign.word())),
            ("time", number(overflow.at)),
            ("model", Value::from(model)),
            ("requested", Value::from(overflow.requested)),
            ("limit", Value::from(overflow.limit)),
            ("reply", Value::from(overflow.reply)),
            ("acceptedBefore", Value::from(accepted)),
            ("recognised", overflow.recognised.map_or(Value::Null, Value::from)),
            ("rule", Value::from(overflow.rule)),
            ("by", Value::from(overflow.who())),
            ("text", Value::from(overflow.text.as_str())),
            ("again", self.names(&overflow.again)),
        ]))
    }

    fn course(&self, course: &Course) -> Object {
        let name = |ix: EntryIx| Value::from(self.inspection.index.name(ix));
        let accepted = course
            .accepted
            .map(|(entry, tokens)| Object::from([("entry", name(entry)), ("tokens", Value::from(tokens))]));
        let call = |call: &CallPoint| {
            Value::from(Object::from([
                ("number", Value::from(call.number as u64)),
                ("entry", name(call.entry)),
                ("time", number(call.at)),
                ("tokens", Value::from(call.tokens)),
                ("exact", Value::from(call.exact)),
                ("refused", Value::from(call.refused)),
                ("compactedBefore", Value::from(call.compacted_before)),
            ]))
        };
        Object::from([
            ("believed", Value::from(course.believed)),
            ("served", Value::from(course.served)),
            ("trigger", Value::from(course.trigger)),
            ("largestAccepted", Value::from(accepted)),
            ("total", Value::from(course.total as u64)),
            ("calls", Value::from(course.calls.iter().map(call).collect::<Vec<_>>())),
        ])
    }

    fn mechanism(&self, mechanism: &Mechanism) -> Object {
        Object::from([
            ("class", Value::from(mechanism.class.word())),
            ("tokens", number(mechanism.tokens.round())),
            ("count", Value::from(mechanism.count as u64)),
            ("entries", self.names(&mechanism.entries)),
        ])
    }

    fn guard(&self, guard: &Guard) -> Value {
        let opens = guard.opens.iter().map(|key| Value::from(*key)).collect::<Vec<_>>();
        Value::from(Object::from([
            ("guard", Value::from(guard.kind.word())),
            ("state", Value::from(guard.state.word())),
            ("why", Value::from(guard.why.as_str())),
            ("dueBy", Value::from(guard.due_by)),
            ("opened", Value::from(opens)),
            ("entry", Value::from(guard.entry.map(|ix| self.inspection.index.name(ix)))),
        ]))
    }

    fn count(&self, count: &Count) -> Value {
        Value::from(Object::from([
            ("who", Value::from(count.who)),
            ("tokens", Value::from(count.tokens)),
            ("exact", Value::from(count.exact)),
            ("what", Value::from(count.what.as_str())),
            ("entry", Value::from(count.entry.map(|ix| self.inspection.index.name(ix)))),
        ]))
    }

    fn finding(&self, finding: &Finding) -> Value {
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
                ("entries", self.names(&evidence.entries)),
            ]))
        };
        let mut numbers = Object::default();
        for (name, value) in &finding.numbers {
            numbers.set(name, number(*value));
        }
        Value::from(Object::from([
            ("class", Value::from(finding.class.word())),
            ("confidence", Value::from(finding.confidence.word())),
            ("text", Value::from(finding.line.as_str())),
            ("rule", Value::from(finding.rule)),
            ("flips", finding.flips.map_or(Value::Null, Value::from)),
            ("evidence", self.names(&seen)),
            ("lines", Value::from(finding.evidence.iter().map(line).collect::<Vec<_>>())),
            ("numbers", Value::from(numbers)),
        ]))
    }
}

fn part(part: &Part) -> Value {
    Value::from(Object::from([
        ("part", Value::from(part.kind.word())),
        ("messages", Value::from(part.count as u64)),
        ("tokens", number(part.tokens.round())),
        ("new", number(part.new.round())),
    ]))
}

fn advice(advice: &Advice) -> Value {
    let mut set = Object::default();
    for change in &advice.changes {
        set.set(&change.key, change.value.clone());
    }
    let commands = advice.commands.iter().map(|line| Value::from(line.as_str())).collect::<Vec<_>>();
    Value::from(Object::from([
        ("set", Value::from(set)),
        ("helps", Value::from(advice.helps)),
        ("hasRoom", Value::from(advice.has_room)),
        ("overflows", Value::from(advice.overflows() as u64)),
        ("peak", Value::from(advice.peak())),
        ("cost", cost(&advice.whole)),
        ("note", Value::from(advice.note.as_str())),
        ("fits", Value::from(advice.fits)),
        ("before", Value::from(advice.before)),
        ("after", Value::from(advice.after)),
        ("compactions", Value::from(advice.whole.compactions as u64)),
        ("limit", Value::from(advice.limit)),
        ("patch", Value::from(advice.patch.as_str())),
        ("commands", Value::from(commands)),
    ]))
}

fn cost(whole: &Whole) -> Value {
    number(whole.cost.unwrap_or(f64::NAN))
}

fn whole_value(whole: &Whole) -> Object {
    Object::from([
        ("overflows", Value::from(whole.overflows as u64)),
        ("peak", Value::from(whole.peak)),
        ("cost", cost(whole)),
        ("compactions", Value::from(whole.compactions as u64)),
    ])
}
