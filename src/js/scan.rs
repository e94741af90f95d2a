//! Scans JSON text token by token and passes each token to a visitor. The parser, the compactor and the field
//! splitter are visitors, so all of them accept exactly the same texts: strict JSON as in `JSON.parse`, with
//! lone-surrogate escapes and overflowing numbers (store I1a, pruning 0.7).

use super::length::{Length, length};

pub const MAX_DEPTH: usize = 4096;

/// The reason for which a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {what} at byte {at}")]
pub struct SyntaxError {
    /// Byte offset in the text, from 0; the length of a text that ends too early.
    pub at: usize,
    pub what: &'static str,
}

/// The expectation where a text nests deeper than [`MAX_DEPTH`].
const TOO_DEEP: &str = "no deeper nesting";
/// The expectation where a line holds more than [`MAX_LINE_VALUES`].
const TOO_MANY_VALUES: &str = "no more values";
/// Maximum number of values in one line of a transcript: each costs memory, even with few bytes.
pub const MAX_LINE_VALUES: usize = 1 << 20;

impl SyntaxError {
    /// Whether the text only nests deeper than [`MAX_DEPTH`]; the real parser might still accept it.
    pub fn is_too_deep(&self) -> bool {
        self.what == TOO_DEEP
    }

    /// Whether the text only holds more than [`MAX_LINE_VALUES`]; the real parser might still accept it.
    pub fn has_too_many_values(&self) -> bool {
        self.what == TOO_MANY_VALUES
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Array,
    Object,
}

impl Container {
    const fn closer(self) -> u8 {
        match self {
            Self::Array => b']',
            Self::Object => b'}',
        }
    }

    const fn after_value(self) -> &'static str {
        match self {
            Self::Array => "`,` or `]`",
            Self::Object => "`,` or `}`",
        }
    }
}

/// A value that is neither a string nor a container.
#[derive(Debug, Clone, Copy)]
pub(super) enum Atom<'a> {
    Null,
    Bool(bool),
    /// The digits exactly as written.
    Number(&'a str),
}

/// Receives the tokens of a value in file order.
pub(super) trait Visitor {
    /// `at` is the byte of the opening bracket.
    fn open(&mut self, container: Container, at: usize);
    /// `end` is the byte after the closing bracket.
    fn close(&mut self, container: Container, end: usize);
    /// The scanner is at the opening quote; [`Scanner::string`] reads the key.
    fn key(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError>;
    /// As `key`, for a string that is a value.
    fn string(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError>;
    /// `end` is the byte after the last one.
    fn atom(&mut self, atom: Atom<'_>, start: usize, end: usize);
}

/// Receives the parts of a string.
pub trait CharacterSink {
    /// Unescaped characters; no quotes, backslashes or control characters.
    fn run(&mut self, run: &str);
    /// The unit of one escape, possibly half a surrogate pair.
    fn unit(&mut self, unit: u16);
}

/// Discards the parts of a string that only needs validating.
pub(super) struct DiscardedCharacters;

impl CharacterSink for DiscardedCharacters {
    fn run(&mut self, _: &str) {}

    fn unit(&mut self, _: u16) {}
}

#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    max_depth: usize,
    max_values: usize,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, max_depth: MAX_DEPTH, max_values: usize::MAX }
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn text(&self) -> &'a str {
        self.text
    }

    pub(super) const fn expected(&self, what: &'static str) -> SyntaxError {
        SyntaxError { at: self.at, what }
    }

    /// Lowers the depth limit by one, for values inside a container that the caller opened itself.
    pub(super) const fn enter(&mut self) {
        self.max_depth -= 1;
    }

    /// Refuses more than [`MAX_LINE_VALUES`].
    pub(super) const fn limit_values(&mut self) {
        self.max_values = MAX_LINE_VALUES;
    }

    /// Skips JSON white space, which is a subset of JavaScript's.
    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Skips `byte` if it is the next one.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Fails if anything but white space follows.
    pub(super) fn expect_end(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.expected("the end of the text")) }
    }

    /// Reads one value and everything in it. The stack of open containers is on the heap.
    pub(super) fn value<V: Visitor>(&mut self, visitor: &mut V) -> Result<(), SyntaxError> {
        let mut open = Vec::new();
        let mut left = self.max_values;
        loop {
            left = left.checked_sub(1).ok_or_else(|| self.expected(TOO_MANY_VALUES))?;
            self.skip_space();
            match self.opening() {
                None => self.scalar(visitor)?,
                Some(_) if open.len() == self.max_depth => {
                    return Err(self.expected(TOO_DEEP));
                }
                Some(container) => {
                    self.at += 1;
                    open.push(container);
                    visitor.open(container, self.at - 1);
                    self.skip_space();
                    if !self.eat(container.closer()) {
                        self.begin_item(container, visitor)?;
                        continue;
                    }
                    open.pop();
                    visitor.close(container, self.at);
                }
            }
            if !self.after_value(&mut open, visitor)? {
                return Ok(());
            }
        }
    }

    /// Closes every container that ends here; returns whether another value follows.
    fn after_value<V: Visitor>(
        &mut self,
        open: &mut Vec<Container>,
        visitor: &mut V,
    ) -> Result<bool, SyntaxError> {
        while let Some(&container) = open.last() {
            self.skip_space();
            if self.eat(b',') {
                self.skip_space();
                self.begin_item(container, visitor)?;
                return Ok(true);
            }
            if !self.eat(container.closer()) {
                return Err(self.expected(container.after_value()));
            }
            open.pop();
            visitor.close(container, self.at);
        }
        Ok(false)
    }

    /// Reads the key and colon before a value of an object.
    fn begin_item<V: Visitor>(&mut self, container: Container, visitor: &mut V) -> Result<(), SyntaxError> {
        if container == Container::Array {
            return Ok(());
        }
        visitor.key(self)?;
        self.expect_colon()
    }

    pub(super) fn expect_colon(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        if self.eat(b':') { Ok(()) } else { Err(self.expected("`:`")) }
    }

    fn opening(&self) -> Option<Container> {
        match self.peek()? {
            b'[' => Some(Container::Array),
            b'{' => Some(Container::Object),
            _ => None,
        }
    }

    fn scalar<V: Visitor>(&mut self, visitor: &mut V) -> Result<(), SyntaxError> {
        let start = self.at;
        let atom = match self.peek() {
            Some(b'"') => return visitor.string(self),
            Some(b'-' | b'0'..=b'9') => Atom::Number(self.number()?),
            Some(b'n') => self.literal("null", Atom::Null)?,
            Some(b't') => self.literal("true", Atom::Bool(true))?,
            Some(b'f') => self.literal("false", Atom::Bool(false))?,
            _ => return Err(self.expected("a value")),
        };
        visitor.atom(atom, start, self.at);
        Ok(())
    }

    fn literal(&mut self, name: &'static str, atom: Atom<'a>) -> Result<Atom<'a>, SyntaxError> {
        if !self.text[self.at..].starts_with(name) {
            return Err(self.expected("a value"));
        }
        self.at += name.len();
        Ok(atom)
    }

    fn number(&mut self) -> Result<&'a str, SyntaxError> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        if count == 0 { Err(self.expected("a digit")) } else { Ok(()) }
    }

    /// Reads a string from its opening to its closing quote.
    pub(super) fn string<C: CharacterSink>(&mut self, characters: &mut C) -> Result<(), SyntaxError> {
        if !self.eat(b'"') {
            return Err(self.expected("a string in double quotes"));
        }
        loop {
            self.run(characters)?;
            if self.eat(b'"') {
                return Ok(());
            }
            self.at += 1;
            characters.unit(self.escape()?);
        }
    }

    /// Measures a string from its opening to its closing quote.
    #[inline]
    pub(super) fn length(&mut self) -> Result<Length, SyntaxError> {
        let length = if self.peek() == Some(b'"') { length(self.text, self.at + 1) } else { None };
        let Some(length) = length else { return Err(self.string_error()) };
        self.at = length.end as usize;
        Ok(length)
    }

    /// Reads the string again to find its error, which measuring does not report.
    #[cold]
    fn string_error(&mut self) -> SyntaxError {
        let read = self.string(&mut DiscardedCharacters);
        read.err().unwrap_or_else(|| self.expected("a string that can be counted"))
    }

    /// Advances to the next quote or backslash.
    fn run<C: CharacterSink>(&mut self, characters: &mut C) -> Result<(), SyntaxError> {
        let rest = &self.text[self.at..];
        let Some(length) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) else {
            return Err(SyntaxError { at: self.text.len(), what: "a closing `\"`" });
        };
        let run = &rest[..length];
        // Finds the minimum byte first: that has no branches, and nearly no run contains a control character.
        if run.bytes().fold(u8::MAX, u8::min) < b' ' {
            self.at += run.bytes().position(|byte| byte < b' ').unwrap_or(0);
            return Err(self.expected("an escape instead of a control character"));
        }
        if length > 0 {
            characters.run(run);
        }
        self.at += length;
        Ok(())
    }

    fn escape(&mut self) -> Result<u16, SyntaxError> {
        let unit = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => u16::from(byte),
            Some(b'b') => 0x08,
            Some(b't') => 0x09,
            Some(b'n') => 0x0A,
            Some(b'f') => 0x0C,
            Some(b'r') => 0x0D,
            Some(b'u') => return self.hex_escape(),
            _ => return Err(self.expected("one of `\"\\/bfnrtu` after a backslash")),
        };
        self.at += 1;
        Ok(unit)
    }

    fn hex_escape(&mut self) -> Result<u16, SyntaxError> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.expected("four hexadecimal digits")) };
            unit = unit << 4 | digit as u16;
            self.at += 1;
        }
        Ok(unit)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
