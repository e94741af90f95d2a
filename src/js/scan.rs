//! Reads JSON text piece by piece and tells a visitor what it finds. Parsing, compacting and cutting
//! out fields are visitors, so all of them accept exactly the same texts: strict JSON as `JSON.parse`
//! takes it, with lone-surrogate escapes and overflowing numbers (store I1a, pruning 0.7).

use super::length::{Length, length};

/// Arrays and objects may be nested this deep in one text.
pub const MAX_DEPTH: usize = 4096;

/// Why a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {what} at byte {at}")]
pub struct SyntaxError {
    /// Byte offset in the text, from 0; its length where the text ended too early.
    pub at: usize,
    /// What should have stood there.
    pub what: &'static str,
}

/// What the scanner expects where a text nests deeper than [`MAX_DEPTH`].
const TOO_DEEP: &str = "no deeper nesting";

impl SyntaxError {
    /// The text may be JSON all the same: it only nests deeper than [`MAX_DEPTH`], which the real parser reads.
    pub fn is_too_deep(&self) -> bool {
        self.what == TOO_DEEP
    }
}

/// What holds other values.
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
    /// Its digits as they stand.
    Number(&'a str),
}

/// What is done with the pieces of a value, in file order.
pub(super) trait Visitor {
    /// The byte at which it opens.
    fn open(&mut self, container: Container, at: usize);
    /// The byte after its end.
    fn close(&mut self, container: Container, end: usize);
    /// The scanner stands at the opening quote; read on with [`Scanner::string`].
    fn key(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError>;
    /// As `key`, for a string that is a value.
    fn string(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError>;
    /// Its first byte, and the byte after its last.
    fn atom(&mut self, atom: Atom<'_>, start: usize, end: usize);
}

/// What is done with the pieces of a string.
pub trait CharacterSink {
    /// Characters that stand for themselves; neither quotes, backslashes nor control characters.
    fn run(&mut self, run: &str);
    /// What one escape stands for; may be half a surrogate pair.
    fn unit(&mut self, unit: u16);
}

/// Pieces of a string that only need to be right.
pub(super) struct DiscardedCharacters;

impl CharacterSink for DiscardedCharacters {
    fn run(&mut self, _: &str) {}

    fn unit(&mut self, _: u16) {}
}

/// A place in a JSON text.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    max_depth: usize,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, max_depth: MAX_DEPTH }
    }

    /// Byte offset of the next byte.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// The whole text.
    pub(super) const fn text(&self) -> &'a str {
        self.text
    }

    pub(super) const fn expected(&self, what: &'static str) -> SyntaxError {
        SyntaxError { at: self.at, what }
    }

    /// Values read from here on lie inside a container the caller has opened itself.
    pub(super) const fn enter(&mut self) {
        self.max_depth -= 1;
    }

    /// Steps over the white space of JSON, which is less than that of JavaScript.
    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Steps over `byte` if it is the next one.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Nothing but white space may follow.
    pub(super) fn expect_end(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.expected("the end of the text")) }
    }

    /// Reads one value with all it holds. The stack of open containers is on the heap.
    pub(super) fn value<V: Visitor>(&mut self, visitor: &mut V) -> Result<(), SyntaxError> {
        let mut open = Vec::new();
        loop {
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

    /// Closes every container that ends here; whether another value follows.
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

    /// The key and colon in front of a value, inside an object.
    fn begin_item<V: Visitor>(&mut self, container: Container, visitor: &mut V) -> Result<(), SyntaxError> {
        if container == Container::Array {
            return Ok(());
        }
        visitor.key(self)?;
        self.expect_colon()
    }

    /// Steps over the colon after a key.
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

    /// Counts a string from its opening to its closing quote.
    #[inline]
    pub(super) fn length(&mut self) -> Result<Length, SyntaxError> {
        let length = if self.peek() == Some(b'"') { length(self.text, self.at + 1) } else { None };
        let Some(length) = length else { return Err(self.string_error()) };
        self.at = length.end as usize;
        Ok(length)
    }

    /// What is wrong with a string is told where it is read.
    #[cold]
    fn string_error(&mut self) -> SyntaxError {
        let read = self.string(&mut DiscardedCharacters);
        read.err().unwrap_or_else(|| self.expected("a string that can be counted"))
    }

    /// Steps to the next quote or backslash.
    fn run<C: CharacterSink>(&mut self, characters: &mut C) -> Result<(), SyntaxError> {
        let rest = &self.text[self.at..];
        let Some(length) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) else {
            return Err(SyntaxError { at: self.text.len(), what: "a closing `\"`" });
        };
        let run = &rest[..length];
        // The least byte first: that runs without branches, and nearly no run holds a control character.
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

    /// Reads what follows a backslash.
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
