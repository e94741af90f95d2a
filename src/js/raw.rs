//! Splits and rewrites JSON text without building values: numbers keep their digits, and repeated keys stay. Commits
//! use this for lines that move from one file to another, because `1.0` must not become `1`.

use std::ops::Range;

use super::JsString;
use super::parse::read_string;
use super::scan::{Atom, CharacterSink, Container, Scanner, SyntaxError, Visitor};
use super::stringify::{push_char, push_hex};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The unescaped key.
    pub key: JsString,
    /// The byte range of the value in the text, without surrounding white space.
    pub value: Range<usize>,
}

/// Returns the members of the object in `object_text`, in file order, including repeated keys. Fails where
/// [`parse`](super::parse) does, and if the text is not an object.
pub fn fields(object_text: &str) -> Result<Vec<Field>, SyntaxError> {
    let mut scanner = Scanner::new(object_text);
    scanner.skip_space();
    if !scanner.eat(b'{') {
        return Err(scanner.expected("`{`"));
    }
    scanner.enter();
    scanner.skip_space();
    let mut fields = Vec::new();
    if !scanner.eat(b'}') {
        read_members(&mut scanner, &mut fields)?;
    }
    scanner.expect_end()?;
    Ok(fields)
}

/// Reads members up to the closing brace.
fn read_members(scanner: &mut Scanner<'_>, fields: &mut Vec<Field>) -> Result<(), SyntaxError> {
    let mut units = Vec::new();
    loop {
        scanner.skip_space();
        let key = read_string(scanner, &mut units)?;
        scanner.expect_colon()?;
        scanner.skip_space();
        let start = scanner.at();
        scanner.value(&mut Validator)?;
        fields.push(Field { key, value: start..scanner.at() });
        scanner.skip_space();
        if scanner.eat(b'}') {
            return Ok(());
        }
        if !scanner.eat(b',') {
            return Err(scanner.expected("`,` or `}`"));
        }
    }
}

/// Removes the white space between tokens: escapes strings as `JSON.stringify` does, and keeps the digits of numbers
/// and the order and repetition of keys. Fails where [`parse`](super::parse) does.
pub fn compact(text: &str) -> Result<String, SyntaxError> {
    let mut scanner = Scanner::new(text);
    let mut writer = Writer { json: String::with_capacity(text.len()) };
    scanner.value(&mut writer)?;
    scanner.expect_end()?;
    Ok(writer.json)
}

/// Validates without keeping anything.
struct Validator;

impl Visitor for Validator {
    fn open(&mut self, _: Container, _: usize) {}

    fn close(&mut self, _: Container, _: usize) {}

    fn key(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        scanner.length().map(drop)
    }

    fn string(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        scanner.length().map(drop)
    }

    fn atom(&mut self, _: Atom<'_>, _: usize, _: usize) {}
}

struct Writer {
    json: String,
}

impl Writer {
    /// Writes a comma, unless the next value is the first in its container or follows a key.
    fn push_comma(&mut self) {
        if !matches!(self.json.as_bytes().last(), None | Some(b'[' | b'{' | b':')) {
            self.json.push(',');
        }
    }

    fn quoted(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        self.push_comma();
        self.json.push('"');
        let mut escaped = Reescaper { json: &mut self.json, high: None };
        scanner.string(&mut escaped)?;
        escaped.flush();
        self.json.push('"');
        Ok(())
    }
}

impl Visitor for Writer {
    fn open(&mut self, container: Container, _: usize) {
        self.push_comma();
        self.json.push(match container {
            Container::Array => '[',
            Container::Object => '{',
        });
    }

    fn close(&mut self, container: Container, _: usize) {
        self.json.push(match container {
            Container::Array => ']',
            Container::Object => '}',
        });
    }

    fn key(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        self.quoted(scanner)?;
        self.json.push(':');
        Ok(())
    }

    fn string(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        self.quoted(scanner)
    }

    fn atom(&mut self, atom: Atom<'_>, _: usize, _: usize) {
        self.push_comma();
        self.json.push_str(match atom {
            Atom::Null => "null",
            Atom::Bool(true) => "true",
            Atom::Bool(false) => "false",
            Atom::Number(digits) => digits,
        });
    }
}

/// Escapes a string again while it is read.
struct Reescaper<'a> {
    json: &'a mut String,
    /// An escaped high surrogate, which the next unit may complete.
    high: Option<u16>,
}

impl Reescaper<'_> {
    fn flush(&mut self) {
        if let Some(high) = self.high.take() {
            push_hex(self.json, high);
        }
    }
}

impl CharacterSink for Reescaper<'_> {
    fn run(&mut self, run: &str) {
        self.flush();
        self.json.push_str(run);
    }

    fn unit(&mut self, unit: u16) {
        if let Some(high) = self.high
            && let Some(Ok(char)) = char::decode_utf16([high, unit]).next()
        {
            self.high = None;
            self.json.push(char);
            return;
        }
        self.flush();
        match char::from_u32(unit.into()) {
            Some(char) => push_char(self.json, char),
            None if unit < 0xDC00 => self.high = Some(unit),
            None => push_hex(self.json, unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, &str)> {
        let fields = fields(text).unwrap();
        fields.into_iter().map(|field| (field.key.to_string_lossy(), &text[field.value])).collect()
    }

    #[test]
    fn fields_are_in_file_order_with_their_text_unchanged() {
        let text = " { \"b\" : 1.50 ,\"1\":[ 1, {\"x\":2} ] , \"\\u0062\":\"\\u0041}\", \"c\":{} }\n";
        let expected = [("b", "1.50"), ("1", "[ 1, {\"x\":2} ]"), ("b", "\"\\u0041}\""), ("c", "{}")];
        assert_eq!(pairs(text), expected.map(|(key, value)| (key.to_owned(), value)));
        assert_eq!(pairs("{ }"), []);
    }

    #[test]
    fn fields_of_anything_but_one_object_are_an_error() {
        for (text, message) in [
            ("[]", "expected `{` at byte 0"),
            ("", "expected `{` at byte 0"),
            ("{}{}", "expected the end of the text at byte 2"),
            (r#"{"a":1,}"#, "expected a string in double quotes at byte 7"),
            (r#"{"a":}"#, "expected a value at byte 5"),
            (r#"{"a":1"#, "expected `,` or `}` at byte 6"),
            (r#"{"a":[1}"#, "expected `,` or `]` at byte 7"),
        ] {
            assert_eq!(fields(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn fields_nest_exactly_as_deep_as_parsed_text() {
        let nested = |levels: usize| "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels);
        assert!(fields(&nested(super::super::MAX_DEPTH)).is_ok());
        assert!(fields(&nested(super::super::MAX_DEPTH + 1)).is_err());
    }

    #[test]
    fn compact_text_keeps_digits_order_and_repeated_keys() {
        let text = " { \"b\" : [ 1.50 , -0 , 1E400, true , null,[ ] , { } ], \"1\": 12345678901234567890 , \"b\":false }";
        let compacted = r#"{"b":[1.50,-0,1E400,true,null,[],{}],"1":12345678901234567890,"b":false}"#;
        assert_eq!(compact(text).unwrap(), compacted);
        assert_eq!(compact(compacted).unwrap(), compacted);
        assert!(compact("{\"a\" 1}").is_err() && compact("1 1").is_err());
    }

    #[test]
    fn compact_text_escapes_strings_as_stringify_does() {
        let text = r#"["\u0041\/\u00e9\u000a\u000B\u0022\u005c\u007f", "\uD83D\uDE00", "\ud83d\ud83d\ude00", "\uD83Dé", "\ude00\ud83d", "\ud83d\n"]"#;
        let compacted = "[\"A/é\\n\\u000b\\\"\\\\\u{7f}\",\"😀\",\"\\ud83d😀\",\"\\ud83dé\",\"\\ude00\\ud83d\",\"\\ud83d\\n\"]";
        assert_eq!(compact(text).unwrap(), compacted);
    }
}
