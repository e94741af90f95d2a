//! The digest of a message: its data for counting, pairing and comparing in clearing, without its texts (pruning 7.2,
//! 7.4).

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::context::llm::to_llm;
use crate::js::{JsException, JsString, Json, Object, SharedStrings, Value};
use crate::policy::clear_tool_uses::message::{
    Block, ClearableCall, Content, Message, call_and_tool_name, parse_message,
};
use crate::policy::clear_tool_uses::python::{code_points, list_len, object_len, text_len};
use crate::store::entry::Role;
use crate::store::measure::role_of;
use crate::units::Chars;

/// Chars of `{}`.
const NO_ARGUMENTS_CHARS: Chars = Chars(2.0);

#[derive(Debug, Clone, PartialEq)]
pub enum MessageDigest {
    /// From the person, a summary, an extension or a shell command.
    Human { content: ContentSize },
    Ai {
        /// Hash of its texts.
        text: ValueHash,
        /// Code points of its texts.
        code_points: usize,
        calls: Vec<CallDigest>,
    },
    Tool {
        content: ContentSize,
        /// Id of the call that the result answers; may be empty.
        call: JsString,
        name: Option<JsString>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentSize {
    /// Code points of all texts.
    pub code_points: usize,
    /// Number of images.
    pub images: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallDigest {
    pub id: JsString,
    pub name: JsString,
    /// Equal for arguments that Python finds equal.
    pub arguments: ValueHash,
    /// Code points of the arguments in Python's form.
    pub python_len: usize,
    /// Chars of the arguments as JSON.
    pub json_chars: Chars,
}

impl MessageDigest {
    /// Builds the digest of a message of a context; `None` if no model receives it.
    pub fn from_message<'a>(message: impl Json<'a>) -> Result<Option<Self>, JsException> {
        let sent = match role_of(message) {
            Role::User | Role::Assistant | Role::ToolResult => {
                return Ok(Some(Self::new(&parse_message(message)?)));
            }
            _ => to_llm(&message.to_cow())?,
        };
        sent.map(|message| Ok(Self::new(&parse_message(&message)?))).transpose()
    }

    /// Builds the digest of a tool result from the code points and images of its content.
    pub fn from_result<'a>(
        message: impl Json<'a>,
        (code_points, images): (usize, usize),
    ) -> Result<Self, JsException> {
        let (call, name) = call_and_tool_name(message)?;
        Ok(Self::Tool { content: ContentSize { code_points, images }, call, name })
    }

    /// Builds the digest of a message in the form that a model receives.
    pub fn new(message: &Message) -> Self {
        let said = |content| {
            let (code_points, images) = content_size(content);
            ContentSize { code_points, images }
        };
        match message {
            Message::Human { content } => Self::Human { content: said(content) },
            Message::Ai { text, calls, .. } => Self::Ai {
                text: ValueHash::from_text(text),
                code_points: code_points(text),
                calls: calls.iter().map(CallDigest::from_call).collect(),
            },
            Message::Tool { content, call, name, .. } => {
                Self::Tool { content: said(content), call: call.clone(), name: name.clone() }
            }
        }
    }

    /// Lets its ids and names share their memory with those of other messages.
    pub fn share_strings(&mut self, strings: &mut SharedStrings) {
        match self {
            Self::Human { .. } => {}
            Self::Ai { calls, .. } => {
                for CallDigest { id, name, .. } in calls {
                    strings.share(id);
                    strings.share(name);
                }
            }
            Self::Tool { call, name, .. } => {
                std::iter::once(call).chain(name).for_each(|text| strings.share(text));
            }
        }
    }

    /// Whether Python finds two replies equal. `True` equals 1 there, so the lengths may differ.
    pub fn is_equal_reply(&self, other: &Self) -> bool {
        let (Self::Ai { text, calls, .. }, Self::Ai { text: other, calls: others, .. }) = (self, other)
        else {
            return false;
        };
        let equal = |(a, b): (&CallDigest, &CallDigest)| {
            a.id == b.id && a.name == b.name && a.arguments == b.arguments
        };
        text == other && calls.len() == others.len() && calls.iter().zip(others).all(equal)
    }

    /// Returns the approximate tokens (pruning 7.4).
    pub fn tokens(&self) -> usize {
        let (chars, images) = match self {
            Self::Human { content } => (content.code_points + "user".len(), content.images),
            Self::Ai { code_points, calls, .. } => {
                let calls = calls_repr_len(calls.iter().map(|call| (&call.id, &call.name, call.python_len)));
                (code_points + calls + "assistant".len(), 0)
            }
            Self::Tool { content, call, name } => {
                let name = name.as_ref().map_or(0, code_points);
                (content.code_points + code_points(call) + name + "tool".len(), content.images)
            }
        };
        code_point_tokens(chars) + TOKENS_PER_MESSAGE + images * TOKENS_PER_IMAGE
    }

    #[must_use]
    pub fn with_content(mut self, code_points: usize, images: usize) -> Self {
        if let Self::Tool { content, .. } = &mut self {
            *content = ContentSize { code_points, images };
        }
        self
    }

    /// Empties the arguments of the calls with this id. Returns the chars of JSON that this frees.
    pub fn clear_arguments(&mut self, id: &JsString) -> Chars {
        let Self::Ai { calls, .. } = self else { return Chars::ZERO };
        let mut gone = Chars::ZERO;
        for call in calls.iter_mut().filter(|call| call.id == *id) {
            gone += call.json_chars - NO_ARGUMENTS_CHARS;
            *call = CallDigest::new(&call.id, &call.name, &Object::default());
        }
        gone
    }
}

impl CallDigest {
    fn from_call(call: &ClearableCall) -> Self {
        Self::new(&call.id, &call.name, &call.arguments)
    }

    fn new(id: &JsString, name: &JsString, arguments: &Object) -> Self {
        Self {
            id: id.clone(),
            name: name.clone(),
            arguments: ValueHash::from_arguments(arguments),
            python_len: object_len(arguments),
            json_chars: Chars::from_len(crate::js::stringify_len(&Value::Object(arguments.clone()))),
        }
    }
}

// `LangChain`'s approximate token counter: code points divided by 4, rounded up for each message (pruning 7.4, the
// newer form of 7.4a).

/// Code points per token.
const CHARS_PER_TOKEN: usize = 4;

/// Added for every message.
const TOKENS_PER_MESSAGE: usize = 3;

const TOKENS_PER_IMAGE: usize = 85;

fn code_point_tokens(code_points: usize) -> usize {
    code_points.div_ceil(CHARS_PER_TOKEN)
}

/// Returns the code points of the texts, and the number of images.
fn content_size(content: &Content) -> (usize, usize) {
    match content {
        Content::Text(text) => (code_points(text), 0),
        Content::Blocks(blocks) => blocks.iter().fold((0, 0), |(chars, images), block| match block {
            Block::Text(text) => (chars + code_points(text), images),
            Block::Image { .. } => (chars, images + 1),
        }),
    }
}

/// Returns the length of Python's `repr` of the calls, each with its id, name and length of the arguments; 0 for no
/// calls (pruning 7.4b).
fn calls_repr_len<'a>(calls: impl ExactSizeIterator<Item = (&'a JsString, &'a JsString, usize)>) -> usize {
    if calls.len() == 0 {
        return 0;
    }
    let member = |key: &str, value: usize| text_len(&JsString::from(key)) + ": ".len() + value;
    list_len(calls.map(|(id, name, arguments)| {
        let members = [
            member("name", text_len(name)),
            member("args", arguments),
            member("id", text_len(id)),
            member("type", text_len(&JsString::from("tool_call"))),
        ];
        list_len(members.into_iter())
    }))
}

/// 128 bits, so that different values with the same hash do not occur in practice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueHash(u64, u64);

impl ValueHash {
    fn hash_with(write: impl Fn(&mut DefaultHasher)) -> Self {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(seed);
            write(&mut hasher);
            hasher.finish()
        };
        Self(half(0), half(1))
    }

    pub(super) fn from_text(text: &JsString) -> Self {
        Self::hash_with(|hasher| text.hash(hasher))
    }

    /// Hashes arguments; arguments that Python finds equal have the same hash.
    pub(super) fn from_arguments(arguments: &Object) -> Self {
        Self::hash_with(|hasher| hash_object(hasher, arguments))
    }
}

/// Sorts the keys first, because Python ignores their order.
fn hash_object(hasher: &mut DefaultHasher, object: &Object) {
    let mut members: Vec<(&JsString, &Value)> = object.iter().collect();
    members.sort_by_key(|(key, _)| *key);
    hasher.write_u8(b'{');
    hasher.write_usize(members.len());
    for (key, value) in members {
        key.hash(hasher);
        hash_value(hasher, value);
    }
}

/// `true` hashes as 1, −0 as 0, and a number that JSON cannot write as null.
fn hash_value(hasher: &mut DefaultHasher, value: &Value) {
    let number = |hasher: &mut DefaultHasher, number: f64| {
        hasher.write_u8(b'0');
        hasher.write_u64((number + 0.0).to_bits());
    };
    match value {
        Value::Bool(bool) => number(hasher, f64::from(u8::from(*bool))),
        Value::Number(finite) if finite.is_finite() => number(hasher, *finite),
        Value::Null | Value::Number(_) => hasher.write_u8(b'n'),
        Value::String(text) => {
            hasher.write_u8(b'"');
            text.hash(hasher);
        }
        Value::Array(items) => {
            hasher.write_u8(b'[');
            hasher.write_usize(items.len());
            for item in items {
                hash_value(hasher, item);
            }
        }
        Value::Object(object) => hash_object(hasher, object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn tokens(json: &str) -> usize {
        MessageDigest::from_message(&js::parse(json).unwrap()).unwrap().unwrap().tokens()
    }

    #[test]
    fn the_vectors_of_7_4() {
        assert_eq!(tokens(r#"{"role":"user","content":"abcd"}"#), 5);
        assert_eq!(tokens(r#"{"role":"user","content":""}"#), 4);
        assert_eq!(tokens(r#"{"role":"user","content":[]}"#), 4);
        let result = r#"{"role":"toolResult","toolCallId":"c1","toolName":"f","content":"hello"}"#;
        assert_eq!(tokens(result), 6);
        let image = r#"{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","data":"x"}]}"#;
        assert_eq!(tokens(image), 90);
        for text in ["漢漢漢漢漢", "😀😀😀😀😀"] {
            assert_eq!(tokens(&format!(r#"{{"role":"user","content":"{text}"}}"#)), 6);
        }
    }

    #[test]
    fn calls_count_with_the_length_of_their_python_form() {
        let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{"x":1,"s":"it's"}}]}"#;
        assert_eq!(tokens(call), 25);
        assert_eq!(tokens(r#"{"role":"assistant","content":[]}"#), 6);
    }

    #[test]
    fn cleared_arguments_are_those_of_an_empty_call() {
        let call = |arguments: &str| {
            let json = format!(
                r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"f","arguments":{arguments}}}]}}"#
            );
            MessageDigest::from_message(&js::parse(&json).unwrap()).unwrap().unwrap()
        };
        let mut digest = call(r#"{"x":"yz"}"#);
        assert_eq!(digest.clear_arguments(&"d".into()), Chars(0.0));
        assert_eq!(digest.clear_arguments(&"c".into()), Chars(8.0));
        assert_eq!(digest, call("{}"));
    }
}

#[cfg(test)]
mod value_hash_tests {
    use super::*;
    use crate::js;

    fn object(json: &str) -> Object {
        js::parse(json).unwrap().as_object().unwrap().clone()
    }

    /// The classes follow Python's `==`: the order of keys does not matter, `True` is 1, and a number without a
    /// value is `None`.
    #[test]
    fn arguments_equal_in_python_have_one_digest() {
        let all = [
            ('a', r#"{"a":1,"b":[2]}"#),
            ('a', r#"{"b":[2.0],"a":true}"#),
            ('b', r#"{"a":1,"b":[2,2]}"#),
            ('c', r#"{"a":-0,"b":null}"#),
            ('c', r#"{"a":false,"b":1e400}"#),
            ('d', r#"{"a":"0","b":null}"#),
            ('e', r#"{"a":"0","b":{}}"#),
            ('f', r#"{"a":"0","b":[]}"#),
            ('g', r#"{"a":null,"b":null}"#),
            ('h', r#"{"a":1,"c":[2]}"#),
            ('i', "{}"),
        ];
        let hash = |json| ValueHash::from_arguments(&object(json));
        for (class, a) in all {
            for (other, b) in all {
                assert_eq!(hash(a) == hash(b), class == other, "{a} {b}");
            }
        }
    }
}
