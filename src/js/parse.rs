//! Parses JSON text to values, as `JSON.parse` does (store I1a).

use super::scan::{Atom, CharacterSink, Container, Scanner, SyntaxError, Visitor};
use super::string::push_text;
use super::{JsString, Object, Value};

/// Parses one strict JSON text; keeps lone-surrogate escapes, and overflowing numbers become infinite (pruning 0.7).
///
/// Fails if the text is not JSON or nests deeper than [`MAX_DEPTH`](super::MAX_DEPTH). Does not recurse, so it needs
/// the same stack for any text.
pub fn parse(text: &str) -> Result<Value, SyntaxError> {
    let mut scanner = Scanner::new(text);
    let mut builder = Builder { open: Vec::new(), result: Value::Null, units: Vec::new() };
    scanner.value(&mut builder)?;
    scanner.expect_end()?;
    Ok(builder.result)
}

/// Reads the string at the scanner; `units` is a buffer that all strings share.
pub(super) fn read_string(scanner: &mut Scanner<'_>, units: &mut Vec<u16>) -> Result<JsString, SyntaxError> {
    units.clear();
    scanner.string(units)?;
    Ok(JsString::from(units.as_slice().to_vec()))
}

impl CharacterSink for Vec<u16> {
    fn run(&mut self, run: &str) {
        push_text(self, run);
    }

    fn unit(&mut self, unit: u16) {
        self.push(unit);
    }
}

/// A container whose end has not been read yet.
enum OpenContainer {
    Array(Vec<Value>),
    /// The last member has `null` until its value is read.
    Object(Vec<(JsString, Value)>),
}

struct Builder {
    open: Vec<OpenContainer>,
    result: Value,
    units: Vec<u16>,
}

impl Builder {
    fn push_value(&mut self, value: Value) {
        let place = match self.open.last_mut() {
            None => &mut self.result,
            Some(OpenContainer::Array(items)) => return items.push(value),
            Some(OpenContainer::Object(members)) => match members.last_mut() {
                Some((_, place)) => place,
                None => return,
            },
        };
        *place = value;
    }
}

impl Visitor for Builder {
    fn open(&mut self, container: Container, _: usize) {
        self.open.push(match container {
            Container::Array => OpenContainer::Array(Vec::new()),
            Container::Object => OpenContainer::Object(Vec::new()),
        });
    }

    fn close(&mut self, _: Container, _: usize) {
        match self.open.pop() {
            Some(OpenContainer::Array(items)) => self.push_value(Value::Array(items)),
            Some(OpenContainer::Object(members)) => {
                self.push_value(Value::Object(Object::from_members(members)));
            }
            None => {}
        }
    }

    fn key(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        let key = read_string(scanner, &mut self.units)?;
        if let Some(OpenContainer::Object(members)) = self.open.last_mut() {
            members.push((key, Value::Null));
        }
        Ok(())
    }

    fn string(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        let text = read_string(scanner, &mut self.units)?;
        self.push_value(Value::String(text));
        Ok(())
    }

    fn atom(&mut self, atom: Atom<'_>, _: usize, _: usize) {
        self.push_value(match atom {
            Atom::Null => Value::Null,
            Atom::Bool(bool) => Value::Bool(bool),
            // Every JSON number parses in Rust, rounded to the nearest double and infinite on overflow.
            Atom::Number(digits) => Value::Number(digits.parse().unwrap_or(f64::NAN)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::{MAX_DEPTH, stringify, stringify_len, to_text};

    #[test]
    fn numbers_are_doubles_and_may_overflow() {
        for (text, number) in [
            ("0", 0.0),
            ("-12.50e1", -125.0),
            ("1E+2", 100.0),
            ("12345678901234567890", 12_345_678_901_234_567_000.0),
            ("1e400", f64::INFINITY),
            ("-1e400", f64::NEG_INFINITY),
            ("1e-400", 0.0),
        ] {
            assert_eq!(parse(text), Ok(Value::Number(number)), "{text}");
        }
        assert!(parse("-0").unwrap().as_f64().unwrap().is_sign_negative());
    }

    #[test]
    fn escapes_are_decoded_and_lone_surrogates_kept() {
        let text = parse(r#""\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00 \ud83d x\uDE00é""#).unwrap();
        let mut expected: Vec<u16> = "\"\\/\u{8}\u{c}\n\r\té😀 ".encode_utf16().collect();
        expected.push(0xD83D);
        expected.extend(" x".encode_utf16());
        expected.push(0xDE00);
        expected.extend("é".encode_utf16());
        assert_eq!(text, Value::String(expected.into()));
    }

    #[test]
    fn json_white_space_may_surround_values_and_no_other_may() {
        assert_eq!(
            parse(" \t\r\n[ 1 , {\"a\" : null } , [ ] ]\n").map(|v| stringify(&v)).unwrap(),
            r#"[1,{"a":null},[]]"#
        );
        for text in ["\u{A0}1", "1\u{FEFF}", "\u{FEFF}1", "\u{2028}1", "\u{B}1"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_parse_error_names_the_byte_and_the_expected_token() {
        for (text, message) in [
            ("", "expected a value at byte 0"),
            ("  ", "expected a value at byte 2"),
            ("NaN", "expected a value at byte 0"),
            ("nul", "expected a value at byte 0"),
            ("1 2", "expected the end of the text at byte 2"),
            ("01", "expected the end of the text at byte 1"),
            ("1.", "expected a digit at byte 2"),
            (".5", "expected a value at byte 0"),
            ("+1", "expected a value at byte 0"),
            ("-", "expected a digit at byte 1"),
            ("1e+", "expected a digit at byte 3"),
            ("[1,]", "expected a value at byte 3"),
            ("[,1]", "expected a value at byte 1"),
            ("[1 2]", "expected `,` or `]` at byte 3"),
            ("[1}", "expected `,` or `]` at byte 2"),
            ("[", "expected a value at byte 1"),
            ("]", "expected a value at byte 0"),
            (r#"{"a":1,}"#, "expected a string in double quotes at byte 7"),
            (r"{a:1}", "expected a string in double quotes at byte 1"),
            (r#"{"a" 1}"#, "expected `:` at byte 5"),
            (r#"{"a":1"#, "expected `,` or `}` at byte 6"),
            (r#""abc"#, "expected a closing `\"` at byte 4"),
            ("\"a\nb\"", "expected an escape instead of a control character at byte 2"),
            (r#""\x""#, "expected one of `\"\\/bfnrtu` after a backslash at byte 2"),
            (r#""\u12g4""#, "expected four hexadecimal digits at byte 5"),
            (r#""\ué""#, "expected four hexadecimal digits at byte 3"),
            ("\"\\", "expected one of `\"\\/bfnrtu` after a backslash at byte 2"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn the_deepest_value_works_on_a_small_stack_and_one_level_more_is_an_error() {
        let nested =
            |levels: usize, open: &str, close: &str| open.repeat(levels) + "1" + &close.repeat(levels);
        let check = move || {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let text = nested(MAX_DEPTH, open, close);
                let value = parse(&text).unwrap();
                assert_eq!(value.clone(), value);
                assert_eq!(stringify(&value), text);
                assert_eq!(stringify_len(&value), text.len());
                assert!(to_text(Some(&value)).len() < 20);
                let error = parse(&nested(MAX_DEPTH + 1, open, close)).unwrap_err();
                assert_eq!(error, SyntaxError { at: MAX_DEPTH * open.len(), what: "no deeper nesting" });
                assert!(parse(&open.repeat(1_000_000)).is_err());
            }
        };
        std::thread::Builder::new().stack_size(2 << 20).spawn(check).unwrap().join().unwrap();
    }

    #[test]
    fn a_hundred_thousand_repeated_keys_are_read_at_once() {
        let members: Vec<String> = (0..100_000).map(|n| format!("\"k{}\":{n}", n % 50_000)).collect();
        let value = parse(&format!("{{{}}}", members.join(","))).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 50_000);
        assert_eq!(value.get("k7"), Some(&Value::from(50_007)));
    }
}
