//! Finds the paths at which two entries differ, and removes those that the gateway itself rewrote after the import.

use std::collections::HashMap;

use super::known_rewrites::{is_rewrite, is_same_media};
use crate::js::{JsString, Object, Value};

/// Limit of listed differences.
const MAX_LISTED: usize = 8;

/// One difference between a line and its row. Texts are only measured, because they may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryDifference {
    /// For example `message.content[0].text`.
    pub path: String,
    pub file: ValueSummary,
    pub database: ValueSummary,
    /// Index of the first UTF-16 unit that differs, when both are texts whose content is not shown.
    pub first_difference: Option<usize>,
}

/// Summary of a value that reveals no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSummary {
    /// Absent.
    Nothing,
    /// Length in UTF-16 units.
    Text(usize),
    /// JSON of a number, `true`, `false`, `null`, or of a short id, type, role or timestamp.
    Scalar(String),
    /// Number of items.
    List(usize),
    Object,
}

impl ValueSummary {
    fn from_value(value: Option<&Value>, shows_text: bool) -> Self {
        match value {
            None => Self::Nothing,
            Some(Value::String(text)) if !shows_text || text.len() > 64 => Self::Text(text.len()),
            Some(Value::Array(items)) => Self::List(items.len()),
            Some(Value::Object(_)) => Self::Object,
            Some(plain) => Self::Scalar(crate::js::stringify(plain)),
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EntryDifferences {
    /// Differences that no known repair of the gateway explains.
    pub unexplained: Vec<EntryDifference>,
    /// Number of unexplained differences beyond the limit.
    pub unlisted: usize,
    /// Number of differences that a known repair explains.
    pub explained: usize,
}

impl EntryDifferences {
    /// Compares a line in its imported form with its row.
    pub(super) fn between(line: &Value, row: &Value) -> Self {
        let mut differences = Self::default();
        let media = is_same_media(line, row);
        let mut pairs = vec![(String::new(), Some(line), Some(row))];
        while let Some((path, line_part, row_part)) = pairs.pop() {
            match (line_part, row_part) {
                (Some(Value::Object(a)), Some(Value::Object(b))) => {
                    let start = pairs.len();
                    pairs.extend(members(a, b).map(|(key, a, b)| (member_path(&path, key), a, b)));
                    pairs[start..].reverse();
                }
                (Some(Value::Array(a)), Some(Value::Array(b))) => {
                    let items = (0..a.len().max(b.len())).rev();
                    pairs.extend(items.map(|at| (format!("{path}[{at}]"), a.get(at), b.get(at))));
                }
                (a, b) if a == b => {}
                (a, b) if is_rewrite(&path, a, b, line) || media && is_media_path(&path) => {
                    differences.explained += 1;
                }
                (a, b) => differences.add(path, a, b),
            }
        }
        differences
    }

    fn add(&mut self, path: String, file: Option<&Value>, database: Option<&Value>) {
        if self.unexplained.len() == MAX_LISTED {
            self.unlisted += 1;
            return;
        }
        let shows_text =
            ["id", "parentId", "type", "timestamp", "message.role", "targetId", "firstKeptEntryId"]
                .contains(&path.as_str());
        let from = match (file, database) {
            (Some(Value::String(a)), Some(Value::String(b))) if !shows_text => Some(first_difference(a, b)),
            _ => None,
        };
        self.unexplained.push(EntryDifference {
            path,
            file: ValueSummary::from_value(file, shows_text),
            database: ValueSummary::from_value(database, shows_text),
            first_difference: from,
        });
    }
}

/// Pairs the members of two objects by key; members that only `b` has come first. Looks keys up by hash, so that a
/// hostile object does not cost quadratic time.
fn members<'a>(
    a: &'a Object,
    b: &'a Object,
) -> impl Iterator<Item = (&'a JsString, MemberValue<'a>, MemberValue<'a>)> {
    let (of_a, of_b): (HashMap<_, _>, HashMap<_, _>) = (a.iter().collect(), b.iter().collect());
    let added = b
        .iter()
        .filter(move |(key, _)| !of_a.contains_key(*key))
        .map(|(key, value)| (key, None, Some(value)));
    added.chain(a.iter().map(move |(key, value)| (key, Some(value), of_b.get(key).copied())))
}

type MemberValue<'a> = Option<&'a Value>;

fn first_difference(a: &JsString, b: &JsString) -> usize {
    a.units().iter().zip(b.units()).take_while(|(a, b)| a == b).count()
}

fn is_media_path(path: &str) -> bool {
    let of_message = path.strip_prefix("message.").unwrap_or_default();
    of_message == "__openclaw"
        || ["Media", "media", "__openclaw.media"].iter().any(|it| of_message.starts_with(it))
}

fn member_path(path: &str, key: &JsString) -> String {
    let key = key.to_string_lossy();
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, row: &str) -> EntryDifferences {
        EntryDifferences::between(&crate::js::parse(line).unwrap(), &crate::js::parse(row).unwrap())
    }

    #[test]
    fn places_are_named_and_texts_are_measured_but_not_shown() {
        let found = of(
            r#"{"id":"a","parentId":"p","message":{"role":"user","content":[{"type":"text","text":"abcdef"},1]}}"#,
            r#"{"id":"a","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"abXd"}]},"x":true}"#,
        );
        let places: Vec<_> = found
            .unexplained
            .iter()
            .map(|it| (it.path.as_str(), &it.file, &it.database, it.first_difference))
            .collect();
        let text = |it: &str| ValueSummary::Scalar(it.to_owned());
        assert_eq!(
            places,
            [
                ("x", &ValueSummary::Nothing, &text("true"), None),
                ("parentId", &text("\"p\""), &text("null"), None),
                ("message.content[0].text", &ValueSummary::Text(6), &ValueSummary::Text(4), Some(2)),
                ("message.content[1]", &text("1"), &ValueSummary::Nothing, None),
            ]
        );
    }

    #[test]
    fn key_order_is_not_a_difference_and_long_lists_are_cut() {
        assert_eq!(of(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#), EntryDifferences::default());
        let list = |item: &str| format!("[{}]", vec![item; 30].join(","));
        let found = of(&list("1"), &list("2"));
        assert_eq!((found.unexplained.len(), found.unlisted), (8, 22));
    }

    #[test]
    fn an_object_of_many_members_does_not_cost_the_square_of_its_size() {
        let object = |value: &str| {
            let members: Vec<String> = (0..100_000).map(|at| format!("\"key {at}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let found = of(&object("1"), &object("2"));
        assert_eq!((found.unexplained.len(), found.unlisted), (8, 99_992));
    }

    #[test]
    fn a_repair_of_the_gateway_explains_a_difference() {
        let line = r#"{"type":"message","message":{"role":"user","content":"see","MediaPath":"/a.png","MediaType":"image/png"}}"#;
        let row = r#"{"type":"message","message":{"role":"user","content":"see","__openclaw":{"media":[{"path":"/a.png","contentType":"image/png"}]}}}"#;
        let found = of(line, row);
        assert_eq!((found.unexplained.as_slice(), found.explained), (&[][..], 3));
        assert_eq!(of(line, &row.replace("/a.png", "/b.png")).explained, 0);
        let none = r#"{"type":"message","message":{"role":"user","MediaPaths":[],"MediaStaged":true}}"#;
        let found = of(none, r#"{"type":"message","message":{"role":"user"}}"#);
        assert_eq!((found.unexplained.as_slice(), found.explained), (&[][..], 2));
    }
}
