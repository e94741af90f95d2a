//! Builds a new line from an old one: unchanged parts are copied from the old text digit for digit and key for key;
//! only named members are replaced (store P7).

use crate::ids::EntryIx;
use crate::js::{self, JsString, SyntaxError, Value};
use crate::store::index::Index;

#[derive(Debug)]
pub(super) struct MemberEdit {
    pub key: &'static str,
    /// The new value as JSON.
    pub json: String,
}

impl MemberEdit {
    pub(super) fn text(key: &'static str, text: &str) -> Self {
        Self { key, json: text_json(text) }
    }
}

pub(super) fn text_json(text: &str) -> String {
    js::stringify_str(&JsString::from(text))
}

/// Returns the id of an entry as it is in the file; null without one.
pub(super) fn id_value(index: &Index, ix: EntryIx) -> Value {
    index.entry(ix).id.map_or(Value::Null, |id| index.ids.value(id))
}

/// Replaces members of the object in `text` in place and makes it compact. Absent members are not added.
pub(super) fn replace_members(text: &str, edits: &[MemberEdit]) -> Result<String, SyntaxError> {
    let mut json = ObjectWriter::default();
    for field in js::fields(text)? {
        match edits.iter().find(|edit| field.key.eq_str(edit.key)) {
            Some(edit) => json.push(&field.key, &edit.json),
            None => json.push(&field.key, &js::compact(&text[field.value])?),
        }
    }
    Ok(json.finish())
}

/// Returns the text of a member's value. Of repeated keys the last counts, as in the runtime.
pub(super) fn member_text<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>, SyntaxError> {
    let fields = js::fields(text)?;
    Ok(fields.into_iter().rev().find(|field| field.key.eq_str(key)).map(|field| &text[field.value]))
}

/// Replaces an object's `content`, or appends it.
pub(super) fn with_content(text: &str, content: &Value) -> Result<String, SyntaxError> {
    let json = js::stringify(content);
    if member_text(text, "content")?.is_some() {
        return replace_members(text, &[MemberEdit { key: "content", json }]);
    }
    let mut members = ObjectWriter::default();
    for field in js::fields(text)? {
        members.push(&field.key, &js::compact(&text[field.value])?);
    }
    members.push(&JsString::from("content"), &json);
    Ok(members.finish())
}

/// Removes every occurrence of a member.
pub(super) fn without_member(text: &str, key: &str) -> Result<String, SyntaxError> {
    let mut members = ObjectWriter::default();
    for field in js::fields(text)?.into_iter().filter(|field| !field.key.eq_str(key)) {
        members.push(&field.key, &js::compact(&text[field.value])?);
    }
    Ok(members.finish())
}

#[derive(Default)]
struct ObjectWriter(String);

impl ObjectWriter {
    fn push(&mut self, key: &JsString, json: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&js::stringify_str(key));
        self.0.push(':');
        self.0.push_str(json);
    }

    fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

/// Encodes a line of our own: members in the given order, `None` members omitted (store I4).
pub(super) fn encode_line(members: &[(&str, Option<String>)]) -> String {
    let mut json = ObjectWriter::default();
    for (key, value) in members {
        if let Some(value) = value {
            json.push(&JsString::from(*key), value);
        }
    }
    json.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editing_members_keeps_the_others_byte_for_byte() {
        let text = r#" { "z": 1.50, "id":"a", "9":12345678901234567890, "x": {"b": -0, "a":[ 1E400 ]}, "u":"\u0041\ud800" }"#;
        let json = replace_members(text, &[MemberEdit::text("id", "n\"1")]).unwrap();
        assert_eq!(
            json,
            r#"{"z":1.50,"id":"n\"1","9":12345678901234567890,"x":{"b":-0,"a":[1E400]},"u":"A\ud800"}"#
        );
    }

    #[test]
    fn a_repeated_key_is_replaced_everywhere_and_a_missing_one_is_not_added() {
        let json = replace_members(
            r#"{"id":1,"x":2,"id":3}"#,
            &[MemberEdit::text("id", "n"), MemberEdit::text("y", "")],
        );
        assert_eq!(json.unwrap(), r#"{"id":"n","x":2,"id":"n"}"#);
        assert_eq!(member_text(r#"{"id":1,"id":3}"#, "id").unwrap(), Some("3"));
    }

    #[test]
    fn content_is_replaced_in_place_or_added_at_the_end() {
        let new = Value::from("new");
        assert_eq!(with_content(r#"{"content":[],"a":1.0}"#, &new).unwrap(), r#"{"content":"new","a":1.0}"#);
        assert_eq!(with_content(r#"{ "a":1.0 }"#, &new).unwrap(), r#"{"a":1.0,"content":"new"}"#);
        assert_eq!(with_content("{}", &new).unwrap(), r#"{"content":"new"}"#);
    }

    #[test]
    fn removing_a_member_keeps_the_order_of_the_others() {
        let json = without_member(r#"{"a":1.0, "details":{"n":1},"b":[ ],"details":2}"#, "details").unwrap();
        assert_eq!(json, r#"{"a":1.0,"b":[]}"#);
        assert_eq!(without_member(r#"{"details":{}}"#, "details").unwrap(), "{}");
    }

    #[test]
    fn absent_members_leave_no_key() {
        assert_eq!(
            encode_line(&[("a", Some("1".into())), ("b", None), ("c", Some("{}".into()))]),
            r#"{"a":1,"c":{}}"#
        );
        assert_eq!(encode_line(&[]), "{}");
    }
}
