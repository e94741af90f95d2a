//! Everything that a store knows of a session besides its transcript: the record with its toggles, overrides and
//! counters, fields unknown to clawscope too, with secrets masked.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;

use crate::doc::{Align, Cell, Doc, Table, Tone};
use crate::format::{
    format_age, format_amount, format_displayed_timestamp, format_number, format_short_tokens, format_size,
    quantity,
};
use crate::js::{self, Object, Value};
use crate::redact::Redactor;
use crate::session::family::Rollup;
use crate::session::lineage::Lineage;
use crate::store::session::{Flag, Session};
use crate::store::session_records::SessionRecord;
use crate::units::Moment;

/// Chars of a value that are shown.
const MAX_VALUE_CHARS: usize = 2_000;
/// Objects inside objects that are shown field by field.
const MAX_DEPTH: usize = 4;
/// A number from here on is a time in ms, if its name says so: 2001.
const FIRST_TIME_MS: f64 = 1e12;

/// The sections of record fields, and the fields of each (store C5, sqlite D).
static SECTIONS: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    let lines = include_str!("../../assets/record-sections.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (name, fields) = line.split_once(':').map_or((None, line), |(name, rest)| (Some(name), rest));
        sections.extend(name.map(|name| (name, Vec::new())));
        if let Some((_, own)) = sections.last_mut() {
            own.extend(fields.split_whitespace());
        }
    }
    sections
});

/// The section of fields that no other one has.
const OTHER_SECTION: &str = "Other fields";

/// One fact about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordField {
    pub section: &'static str,
    /// The name in the record, as `origin.label`.
    pub name: String,
    pub value: String,
}

/// The record of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordView {
    pub title: String,
    /// In order of their sections.
    pub fields: Vec<RecordField>,
    /// The record as stored, without skills and prompt report; `None` for a session without a record.
    pub record: Option<Value>,
}

impl RecordView {
    /// Collects the facts and masks their secrets. `now_ms` is for ages.
    pub fn new(session: &Session, now_ms: Moment) -> Self {
        let raw = session.record.as_ref().map(SessionRecord::raw);
        let mut redactor = Redactor::default();
        if let Some(raw) = &raw {
            redactor.learn_value(raw);
        }
        redactor.learn(&session.title);
        let record = raw.as_ref().map(|raw| redactor.redact_value(raw));
        let mut fields = own_fields(session, now_ms);
        if let Some(Value::Object(members)) = &record {
            fields.extend(record_fields(members, now_ms));
        }
        Self { title: redactor.redact_text(&session.title).into_owned(), fields, record }
    }

    pub fn doc(&self) -> Doc {
        let mut doc = Doc::new(self.title.clone());
        for section in self.fields.chunk_by(|one, next| one.section == next.section) {
            doc.gap();
            doc.say(Tone::Strong, section[0].section);
            let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
            for field in section {
                let name = Cell::new(&field.name, Tone::Dim).after_sign("  ", Tone::Plain);
                table.push(vec![name, field.value.as_str().into()]);
            }
            doc.table(table);
        }
        doc
    }
}

/// Lists the other files of the conversation, for the sections of a record. Reads the file before a reset to count its
/// messages.
pub fn lineage_fields(lineage: &Lineage) -> Vec<RecordField> {
    let field = |name: &str, value: String| RecordField { section: "Lineage", name: name.to_owned(), value };
    let messages = |count: usize| quantity(count as u64, "message");
    let mut fields = Vec::new();
    if let Some(before) = &lineage.predecessor {
        let count = before.count_messages().map(|count| format!(" · {}", messages(count)));
        let reset = before.reset_ms.and_then(format_displayed_timestamp).map(|at| format!(" · reset {at}"));
        let value = format!("{}{}{}", before.name(), count.unwrap_or_default(), reset.unwrap_or_default());
        fields.push(field("predecessor", value));
    }
    if let Some(copied) = &lineage.inherited {
        let value = format!(
            "{} of {} copied from {}",
            format_number(copied.messages as u64),
            messages(copied.of),
            copied.parent
        );
        fields.push(field("inherited", value));
    }
    for next in &lineage.continuations {
        let name = next.path.file_name().unwrap_or_default().to_string_lossy();
        fields.push(field("successor", format!("{name} · not named by this record")));
    }
    if let Some(other) = &lineage.id_mismatch {
        fields.push(field("id in the file", format!("{} · the record names {}", other.file, other.record)));
    }
    fields
}

/// Describes the usage of a session with those that it started; `None` if it started none.
pub fn describe_rollup(rollup: &Rollup) -> Option<String> {
    let Rollup { descendants, uncounted, usage } = rollup;
    if *descendants == 0 {
        return None;
    }
    let mut words = format!("with {}", quantity(*descendants, "sub-agent"));
    if let Some(usd) = usage.cost.total() {
        words = format!("{words} {}", format_amount(usd, usage.cost.is_estimated()));
    }
    let tokens = format_short_tokens(usage.tokens, true);
    let calls = quantity(usage.calls, "call");
    let unread =
        if *uncounted > 0 { format!(", {} not read", format_number(*uncounted)) } else { String::new() };
    Some(format!("{words}, {tokens} tokens in {calls}{unread}"))
}

fn own_fields(session: &Session, now_ms: Moment) -> Vec<RecordField> {
    let path = session.path.as_ref().map(|path| path.display().to_string());
    let flags: Vec<&str> = session.flags.iter().map(|flag| flag.as_str()).collect();
    let size = (!session.has_flag(Flag::Missing)).then(|| format_size(session.bytes));
    let database = session.location.database().map(|path| path.display().to_string());
    let parent = session.record.as_ref().and_then(crate::store::session_records::SessionRecord::parent);
    let no_record = session.record.is_none().then(|| "none in this store".to_owned());
    let facts = [
        ("key", Some(session.key.0.clone())),
        ("agent", Some(session.agent.clone())),
        ("kind", Some(session.kind.as_str().to_owned())),
        ("id", Some(session.id.clone())),
        ("started by", parent),
        ("transcript", path),
        ("database", database),
        ("size", size),
        ("changed", session.updated_ms().and_then(|ms| time_text(ms, now_ms))),
        ("working folder", session.cwd.clone()),
        ("marks", Some(flags.join(", ")).filter(|flags| !flags.is_empty())),
        ("record", no_record),
    ];
    let field = |(name, value): (&str, Option<String>)| {
        Some(RecordField { section: "Session", name: name.to_owned(), value: value? })
    };
    facts.into_iter().filter_map(field).collect()
}

fn record_fields(members: &Object, now_ms: Moment) -> Vec<RecordField> {
    let section =
        |name: &str| SECTIONS.iter().position(|(_, names)| names.contains(&name)).unwrap_or(SECTIONS.len());
    let mut sorted: Vec<(usize, String, &Value)> = members
        .iter()
        .map(|(name, value)| (section(&name.to_string_lossy()), name.to_string_lossy(), value))
        .collect();
    // A stable sort keeps the order of the record within a section.
    sorted.sort_by_key(|(section, ..)| *section);
    let mut fields = Vec::new();
    for (section, name, value) in sorted {
        let section = SECTIONS.get(section).map_or(OTHER_SECTION, |(name, _)| *name);
        push_fields(section, name, value, (MAX_DEPTH, now_ms), &mut fields);
    }
    fields
}

/// Adds a value, or each member of an object under its own name.
fn push_fields(
    section: &'static str,
    name: String,
    value: &Value,
    (depth, now_ms): (usize, Moment),
    fields: &mut Vec<RecordField>,
) {
    if let Value::Object(members) = value
        && depth > 0
        && members.iter().next().is_some()
    {
        for (member, value) in members.iter() {
            let name = format!("{name}.{}", member.to_string_lossy());
            push_fields(section, name, value, (depth - 1, now_ms), fields);
        }
        return;
    }
    let value = value_text(&name, value, now_ms);
    fields.push(RecordField { section, name, value });
}

fn value_text(name: &str, value: &Value, now_ms: Moment) -> String {
    let text = match value {
        Value::String(text) => text.to_string_lossy(),
        Value::Number(number) if is_time(name, *number) => {
            time_text(Moment(*number), now_ms).unwrap_or_else(|| js::stringify(value))
        }
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            format_number(*number as i64)
        }
        value => js::stringify(value),
    };
    if text.chars().count() <= MAX_VALUE_CHARS {
        return text;
    }
    text.chars().take(MAX_VALUE_CHARS).chain(['…']).collect()
}

fn is_time(name: &str, number: f64) -> bool {
    number >= FIRST_TIME_MS && ["At", "Timestamp", "Ms", "time"].iter().any(|end| name.ends_with(end))
}

fn time_text(at: Moment, now_ms: Moment) -> Option<String> {
    let (time, age) = (format_displayed_timestamp(at)?, format_age(at.to_whole(), now_ms));
    // An old time has no age but its date again.
    Some(if age.ends_with(" ago") { format!("{time} · {age}") } else { time })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Vec<String> {
        let Ok(Value::Object(members)) = js::parse(json) else { panic!("an object") };
        let line = |field: &RecordField| format!("{}/{}={}", field.section, field.name, field.value);
        record_fields(&members, Moment(1_772_755_200_000.0)).iter().map(line).collect()
    }

    #[test]
    fn known_fields_are_grouped_and_unknown_ones_are_shown_too() {
        let json = r#"{"zzz":[1,null],"compactionCount":12345,"sendPolicy":"deny","origin":{"label":"x","deep":{"y":true}},
            "memoryFlushAt":1772755140000,"queueCap":20,"empty":{}}"#;
        assert_eq!(
            fields(json),
            [
                "Chat/origin.label=x",
                "Chat/origin.deep.y=true",
                "Toggles and policies/sendPolicy=deny",
                "Toggles and policies/queueCap=20",
                "Counters/compactionCount=12,345",
                "Counters/memoryFlushAt=2026-03-05 23:59:00Z · 1m ago",
                "Other fields/zzz=[1,null]",
                "Other fields/empty={}",
            ]
        );
    }

    #[test]
    fn a_long_value_and_deep_objects_end() {
        let json =
            format!(r#"{{"a":"{}","b":{}1{}}}"#, "x".repeat(9_000), r#"{"n":"#.repeat(9), "}".repeat(9));
        let lines = fields(&json);
        assert!(lines[0].chars().count() < MAX_VALUE_CHARS + 30 && lines[0].ends_with('…'));
        assert_eq!(lines[1], format!("Other fields/b.n.n.n.n={}1{}", r#"{"n":"#.repeat(5), "}".repeat(5)));
    }

    #[test]
    fn the_family_total_counts_unread_sessions() {
        assert_eq!(describe_rollup(&Rollup::default()), None);
        let mut rollup = Rollup { descendants: 3, uncounted: 1, ..Rollup::default() };
        rollup.usage.tokens = 412_000;
        rollup.usage.calls = 9;
        rollup.usage.cost.listed = Some(1.2);
        rollup.usage.cost.unrecorded_calls = 9;
        let expected = "with 3 sub-agents ~$1.20, 412k tokens in 9 calls, 1 not read";
        assert_eq!(describe_rollup(&rollup).as_deref(), Some(expected));
    }
}
