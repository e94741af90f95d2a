//! Outlines JSON text: the positions of its values and the lengths of its strings, without building either. A line of
//! a transcript is mostly text that is never shown but that every policy counts.

use std::borrow::Cow;
use std::ops::Range;

use super::json::{Json, JsonKind};
use super::length::Length;
use super::scan::{Atom, CharacterSink, Container, Scanner, SyntaxError, Visitor};
use super::stringify::{number_text, stringify_len};
use super::{JsString, Value, parse};

/// The outline of one text; it reuses its memory for the next one.
#[derive(Debug, Default)]
pub struct Outline {
    nodes: Vec<Node>,
    /// Containers whose end has not been read yet.
    open: Vec<u32>,
}

/// A value, or the key of a member directly before its value.
#[derive(Debug, Clone, Copy)]
struct Node {
    kind: NodeKind,
    /// Distinguishes most strings without a comparison.
    fingerprint: u16,
    /// First byte in the text.
    start: u32,
    /// Byte after the last.
    end: u32,
    /// The node after this one and its contents.
    next: u32,
    /// UTF-16 units of a string; items or members of a container.
    count: u32,
    /// UTF-16 units of the JSON text of a string, quotes included.
    json: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeKind {
    Null,
    Bool(bool),
    Number,
    PlainText,
    EscapedText,
    Array,
    Object,
}

#[derive(Debug, Clone, Copy)]
pub struct OutlinedValue<'a> {
    text: &'a str,
    nodes: &'a [Node],
    at: usize,
}

impl Outline {
    /// Frees the space that one huge text needed.
    pub(crate) fn shrink(&mut self) {
        const KEPT_NODES: usize = 1 << 14;
        self.nodes.clear();
        self.nodes.shrink_to(KEPT_NODES);
    }

    /// Outlines a text, which must be shorter than 4 GiB. Accepts and refuses the same texts as
    /// [`parse()`](super::parse()), except that it refuses more than [`MAX_LINE_VALUES`](super::MAX_LINE_VALUES).
    pub fn read<'a>(&'a mut self, text: &'a str) -> Result<OutlinedValue<'a>, SyntaxError> {
        self.nodes.clear();
        self.open.clear();
        let mut scanner = Scanner::new(text);
        scanner.limit_values();
        scanner.value(&mut Builder { outline: self })?;
        scanner.expect_end()?;
        Ok(OutlinedValue { text, nodes: &self.nodes, at: 0 })
    }
}

struct Builder<'a> {
    outline: &'a mut Outline,
}

impl Builder<'_> {
    /// Adds a node and counts it in its container, unless it is a key.
    fn add(&mut self, node: Node, counts: bool) {
        if counts && let Some(open) = self.outline.open.last() {
            self.outline.nodes[*open as usize].count += 1;
        }
        self.outline.nodes.push(node);
    }

    fn text(&mut self, scanner: &mut Scanner<'_>, counts: bool) -> Result<(), SyntaxError> {
        let start = scanner.at() as u32;
        let Length { end, units, json, escapes } = scanner.length()?;
        let what = if escapes > 0 { NodeKind::EscapedText } else { NodeKind::PlainText };
        let next = self.outline.nodes.len() as u32 + 1;
        let mark = fingerprint(&scanner.text().as_bytes()[start as usize + 1..end as usize - 1]);
        self.add(Node { kind: what, fingerprint: mark, start, end, next, count: units, json }, counts);
        Ok(())
    }
}

impl Visitor for Builder<'_> {
    fn open(&mut self, container: Container, at: usize) {
        let what = if container == Container::Array { NodeKind::Array } else { NodeKind::Object };
        let own = self.outline.nodes.len() as u32;
        self.add(
            Node { kind: what, fingerprint: 0, start: at as u32, end: 0, next: 0, count: 0, json: 0 },
            true,
        );
        self.outline.open.push(own);
    }

    fn close(&mut self, _: Container, end: usize) {
        let next = self.outline.nodes.len() as u32;
        if let Some(open) = self.outline.open.pop() {
            let node = &mut self.outline.nodes[open as usize];
            (node.end, node.next) = (end as u32, next);
        }
    }

    fn key(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        self.text(scanner, false)
    }

    fn string(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        self.text(scanner, true)
    }

    fn atom(&mut self, atom: Atom<'_>, start: usize, end: usize) {
        let what = match atom {
            Atom::Null => NodeKind::Null,
            Atom::Bool(bool) => NodeKind::Bool(bool),
            Atom::Number(_) => NodeKind::Number,
        };
        let next = self.outline.nodes.len() as u32 + 1;
        let node = Node {
            kind: what,
            fingerprint: 0,
            start: start as u32,
            end: end as u32,
            next,
            count: 0,
            json: 0,
        };
        self.add(node, true);
    }
}

/// Hashes the length and the outer bytes of a string: keys are looked up by name often, and few keys of an object
/// agree in these.
fn fingerprint(text: &[u8]) -> u16 {
    let outer = text.first().map_or(0, |first| first.wrapping_mul(31)) ^ text.last().copied().unwrap_or(0);
    (text.len() as u16) << 8 | u16::from(outer)
}

impl<'a> OutlinedValue<'a> {
    fn node(self) -> Node {
        self.nodes[self.at]
    }

    /// The JSON text of the value.
    fn raw(self) -> &'a str {
        let Node { start, end, .. } = self.node();
        &self.text[start as usize..end as usize]
    }

    /// Returns a string without escapes, without its quotes.
    pub fn as_plain_text(self) -> Option<&'a str> {
        let Node { kind: what, start, end, .. } = self.node();
        (what == NodeKind::PlainText).then(|| &self.text[start as usize + 1..end as usize - 1])
    }

    /// The contents of a container, keys before their values; nothing for any other value.
    fn children(self) -> Siblings<'a> {
        let node = self.node();
        let container = matches!(node.kind, NodeKind::Array | NodeKind::Object);
        Siblings {
            from: Self { at: self.at + 1, ..self },
            end: if container { node.next as usize } else { 0 },
        }
    }

    /// Keys and values of an object; nothing for any other value.
    fn members(self) -> impl Iterator<Item = (Self, Self)> {
        let Node { kind: what, next, .. } = self.node();
        let end = if what == NodeKind::Object { next as usize } else { 0 };
        let mut rest = Siblings { from: Self { at: self.at + 1, ..self }, end };
        std::iter::from_fn(move || Some((rest.next()?, rest.next()?)))
    }

    fn is_text(self, text: &str) -> bool {
        let Node { kind: what, start, end, .. } = self.node();
        match what {
            NodeKind::PlainText => {
                self.text.as_bytes().get(start as usize + 1..end as usize - 1) == Some(text.as_bytes())
            }
            NodeKind::EscapedText => self.to_value().str_is(text),
            _ => false,
        }
    }
}

struct Siblings<'a> {
    from: OutlinedValue<'a>,
    end: usize,
}

impl<'a> Iterator for Siblings<'a> {
    type Item = OutlinedValue<'a>;

    fn next(&mut self) -> Option<OutlinedValue<'a>> {
        let at = self.from;
        if at.at >= self.end {
            return None;
        }
        self.from.at = at.node().next as usize;
        Some(at)
    }
}

impl<'a> Json<'a> for OutlinedValue<'a> {
    fn kind(self) -> JsonKind {
        let node = self.node();
        match node.kind {
            NodeKind::Null => JsonKind::Null,
            NodeKind::Bool(bool) => JsonKind::Bool(bool),
            NodeKind::Number => JsonKind::Number(self.raw().parse().unwrap_or(f64::NAN)),
            NodeKind::PlainText | NodeKind::EscapedText => JsonKind::String(node.count as usize),
            NodeKind::Array => JsonKind::Array(node.count as usize),
            NodeKind::Object => JsonKind::Object,
        }
    }

    fn get(self, key: &str) -> Option<Self> {
        let Node { kind: NodeKind::Object, next: end, .. } = self.nodes[self.at] else { return None };
        let sought = fingerprint(key.as_bytes());
        let (mut found, mut at) = (None, self.at + 1);
        while at < end as usize {
            let name = &self.nodes[at];
            if name.fingerprint == sought || name.kind == NodeKind::EscapedText {
                // The last value of a repeated key counts.
                found = if (Self { at, ..self }).is_text(key) { Some(at + 1) } else { found };
            }
            at = self.nodes[at + 1].next as usize;
        }
        found.map(|at| Self { at, ..self })
    }

    fn items(self) -> Option<impl Iterator<Item = Self>> {
        (self.node().kind == NodeKind::Array).then(|| self.children())
    }

    fn text(self) -> Option<Cow<'a, str>> {
        match self.node().kind {
            NodeKind::PlainText => self.as_plain_text().map(Cow::Borrowed),
            NodeKind::EscapedText => self.to_value().as_str().map(|text| Cow::Owned(text.to_string_lossy())),
            _ => None,
        }
    }

    fn span(self) -> Option<Range<u32>> {
        let Node { kind: what, start, end, .. } = self.node();
        (what == NodeKind::PlainText).then_some(start..end)
    }

    fn str_is(self, text: &str) -> bool {
        self.is_text(text)
    }

    fn json_len(self) -> usize {
        let node = self.node();
        match node.kind {
            NodeKind::Null | NodeKind::Bool(_) => self.raw().len(),
            NodeKind::Number => number_units(self.raw()),
            NodeKind::PlainText | NodeKind::EscapedText => node.json as usize,
            NodeKind::Array | NodeKind::Object => container_units(self),
        }
    }

    fn to_value(self) -> Value {
        // An outlined text is always JSON.
        parse(self.raw()).unwrap_or(Value::Null)
    }

    fn to_js_string(self) -> Option<JsString> {
        match self.node().kind {
            NodeKind::PlainText => self.as_plain_text().map(JsString::from),
            NodeKind::EscapedText => match self.to_value() {
                Value::String(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    fn visit_characters(self, characters: &mut impl CharacterSink) {
        match (self.node().kind, self.as_plain_text()) {
            (_, Some("")) => {}
            (_, Some(plain)) => characters.run(plain),
            // The outline accepted this string.
            (NodeKind::EscapedText, _) => drop(Scanner::new(self.raw()).string(characters)),
            _ => {}
        }
    }
}

/// UTF-16 units of a number as JavaScript writes it.
fn number_units(digits: &str) -> usize {
    let whole = digits.len() <= 15 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole {
        return digits.len();
    }
    let number: f64 = digits.parse().unwrap_or(f64::NAN);
    if number.is_finite() { number_text(number).len() } else { "null".len() }
}

/// UTF-16 units of a container: its contents, and the commas and colons between. Counts in a single pass; an object
/// with repeated keys is built and measured as a value.
fn container_units(container: OutlinedValue<'_>) -> usize {
    let node = container.node();
    let end = node.next as usize;
    let mut units = 0;
    for at in container.at..end {
        let inner = OutlinedValue { at, ..container };
        units += match inner.node().kind {
            NodeKind::Array => 2 + (inner.node().count as usize).saturating_sub(1),
            // A comma between members, a colon in each.
            NodeKind::Object if has_repeated_key(inner) => return stringify_len(&container.to_value()),
            NodeKind::Object => 2 + (2 * inner.node().count as usize).saturating_sub(1),
            _ => inner.json_len(),
        };
    }
    units
}

/// Larger objects are measured as values: a hostile one must not cost the square of its size.
const MAX_COMPARED_MEMBERS: u32 = 24;

/// Whether two keys may be equal; keys with escapes always may.
fn has_repeated_key(object: OutlinedValue<'_>) -> bool {
    if object.node().count > MAX_COMPARED_MEMBERS {
        return true;
    }
    let mut seen = 0;
    object.members().any(|(key, _)| {
        seen += 1;
        key.as_plain_text().is_none_or(|name| {
            object.members().take(seen - 1).any(|(earlier, _)| earlier.as_plain_text() == Some(name))
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::js::{is_truthy, stringify};

    /// Checks that a value and its outline give the same answers.
    fn agree(value: &Value, outlined: OutlinedValue<'_>) {
        assert_eq!(format!("{:?}", value.kind()), format!("{:?}", outlined.kind()));
        assert_eq!((value.json_len(), value), (outlined.json_len(), &outlined.to_value()));
        assert_eq!((value.text(), is_truthy(Some(value))), (outlined.text(), outlined.is_truthy()));
        if let Some(items) = value.as_array() {
            let own: Vec<OutlinedValue<'_>> = outlined.items().unwrap().collect();
            assert_eq!(own.len(), items.len());
            items.iter().zip(own).for_each(|(value, outlined)| agree(value, outlined));
        }
        for (key, member) in value.as_object().into_iter().flat_map(crate::js::Object::iter) {
            if let Ok(key) = String::from_utf16(key.units()) {
                agree(member, outlined.get(&key).unwrap());
            }
        }
    }

    fn check(text: &str) {
        let mut outline = Outline::default();
        match (parse(text), outline.read(text)) {
            (Ok(value), Ok(outlined)) => agree(&value, outlined),
            (Err(one), Err(other)) => assert_eq!(one, other),
            (one, other) => panic!("{text}: {one:?} but {other:?}"),
        }
    }

    #[test]
    fn an_outline_agrees_with_the_parsed_value() {
        for text in [
            r#"{"a":1,"b":[1.50,-0,1e400,"x\ny","é😀","\ud83d\ude00","\ud83d","\udc00\ud83d","\u0041\/"],"a":{"c":[]},"":null}"#,
            " [ ] ",
            r#"{"\u0061":1,"a":2}"#,
            r#"[true,false,null,"",{}]"#,
            r#"{"1":1,"0":{"x":[[],[[]]]}}"#,
            "[1,]",
            "{",
            "\"\u{1}\"",
        ] {
            check(text);
        }
    }

    #[test]
    fn many_members_and_repeated_keys_are_counted_as_written() {
        let members: Vec<String> = (0..60).map(|n| format!("\"k{}\":{n}", n % 40)).collect();
        check(&format!("{{{}}}", members.join(",")));
    }

    fn json() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("a".to_owned()),
            Just("\\n".into()),
            Just("\\u0007".into()),
            Just("\\ud83d".into()),
            Just("\\ude00".into()),
            Just("漢".into()),
            Just("😀".into()),
            Just("\\\\".into()),
            Just("\\/".into()),
        ];
        // Most are short; some extend over several blocks.
        let text = prop_oneof![
            8 => proptest::collection::vec(part.clone(), 0..6),
            1 => proptest::collection::vec(part, 40..150),
        ];
        let text = text.prop_map(|parts| format!("\"{}\"", parts.concat()));
        let leaf = prop_oneof![
            text.clone(),
            Just("null".to_owned()),
            Just("true".to_owned()),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| format!("{n:?}")),
            any::<i64>().prop_map(|n| n.to_string()),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6)
                    .prop_map(|items| format!("[{}]", items.join(", "))),
                proptest::collection::vec((text.clone(), inner), 0..6).prop_map(|members| {
                    let members: Vec<String> =
                        members.iter().map(|(key, value)| format!("{key} :{value}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn outlining_any_json_agrees_with_parsing(text in json(), cut in 0_usize..400) {
            check(&text);
            check(&stringify(&parse(&text).unwrap()));
            let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            check(&text[..cut]);
        }
    }
}
