//! Finds the line of a key in a JSON5 text. The parser returns values without positions, and provenance needs the
//! line.

/// The maximum nesting of a configuration, far above any real one; the parser recurses, so it needs a limit.
pub const MAX_DEPTH: usize = 200;

/// A position in a text: line and column from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    pub line: u32,
    pub column: u32,
}

/// Returns the line (from 1) of the key or array item at `path`; an index names an item. The last of several equal
/// keys counts, as its value does. `None` if there is no such key, or if the text before it is not JSON5.
pub fn key_line(text: &str, path: &[&str]) -> Option<u32> {
    key_position(text, path).map(|place| place.line)
}

/// Like [`key_line`], but with the column.
pub fn key_position(text: &str, path: &[&str]) -> Option<TextPosition> {
    let mut found = None;
    for_each_position(text, |at, spot| {
        if at.equals(path) {
            found = Some(spot);
        }
    });
    found
}

/// Calls `visit` for every key and array item of a text, in text order.
pub fn for_each_position(text: &str, mut visit: impl FnMut(KeyPath<'_>, TextPosition)) {
    let mut stack: Vec<ContainerState> = Vec::new();
    scan_tokens(text, |token, line| {
        match token {
            Token::Open(container) => {
                begin_value(&stack, line, &mut visit);
                stack.push(ContainerState::new(container));
            }
            Token::Close => drop(stack.pop()),
            Token::Comma => {
                if let Some(place) = stack.last_mut() {
                    place.advance();
                }
            }
            Token::Colon => {
                if let Some(ContainerState::Object { after_colon, .. }) = stack.last_mut() {
                    *after_colon = true;
                }
            }
            Token::Scalar(text) => scalar(&mut stack, &text, line, &mut visit),
        }
        true
    });
}

/// The keys and indices that lead to a key or an item.
#[derive(Clone, Copy)]
pub struct KeyPath<'a>(&'a [ContainerState]);

impl std::fmt::Debug for KeyPath<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("At").field(&self.0.len()).finish()
    }
}

impl KeyPath<'_> {
    /// The number of keys and indices from the root.
    pub fn depth(self) -> usize {
        self.0.len()
    }

    /// Returns the key at `step`; `None` for an index.
    pub fn key(&self, step: usize) -> Option<&str> {
        match self.0.get(step)? {
            ContainerState::Object { key, .. } => key.as_deref(),
            ContainerState::Array { .. } => None,
        }
    }

    /// Returns the index at `step`; `None` for a key.
    pub fn index(self, step: usize) -> Option<usize> {
        match self.0.get(step)? {
            ContainerState::Array { index } => Some(*index),
            ContainerState::Object { .. } => None,
        }
    }

    fn equals(self, path: &[&str]) -> bool {
        self.0.len() == path.len() && self.0.iter().zip(path).all(|(place, segment)| place.is_at(segment))
    }
}

/// Returns the deepest nesting of brackets outside strings and comments; stops counting above [`MAX_DEPTH`].
pub fn nesting_depth(text: &str) -> usize {
    let (mut now, mut deepest) = (0_usize, 0);
    scan_tokens(text, |token, _| {
        match token {
            Token::Open(_) => now += 1,
            Token::Close => now = now.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(now);
        deepest <= MAX_DEPTH
    });
    deepest
}

#[derive(Clone, Copy)]
enum Container {
    Object,
    Array,
}

enum Token {
    Open(Container),
    Close,
    Comma,
    Colon,
    /// The contents of a string, or a bare word.
    Scalar(String),
}

enum ContainerState {
    Object { key: Option<String>, after_colon: bool },
    Array { index: usize },
}

impl ContainerState {
    fn new(container: Container) -> Self {
        match container {
            Container::Object => Self::Object { key: None, after_colon: false },
            Container::Array => Self::Array { index: 0 },
        }
    }

    fn advance(&mut self) {
        match self {
            Self::Object { key, after_colon } => (*key, *after_colon) = (None, false),
            Self::Array { index } => *index += 1,
        }
    }

    fn is_at(&self, segment: &str) -> bool {
        match self {
            Self::Object { key, .. } => key.as_deref() == Some(segment),
            Self::Array { index } => segment.parse() == Ok(*index),
        }
    }
}

/// An array item is where its value begins.
fn begin_value(
    stack: &[ContainerState],
    line: TextPosition,
    visit: &mut impl FnMut(KeyPath<'_>, TextPosition),
) {
    if matches!(stack.last(), Some(ContainerState::Array { .. })) {
        visit(KeyPath(stack), line);
    }
}

/// A scalar before the colon is a key, elsewhere a value.
fn scalar(
    stack: &mut [ContainerState],
    text: &str,
    line: TextPosition,
    visit: &mut impl FnMut(KeyPath<'_>, TextPosition),
) {
    if let Some(ContainerState::Object { key, after_colon: false }) = stack.last_mut() {
        *key = Some(text.to_owned());
        visit(KeyPath(stack), line);
    } else {
        begin_value(stack, line, visit);
    }
}

/// Calls `visit` for each token and its position until `visit` returns false.
fn scan_tokens(text: &str, mut visit: impl FnMut(Token, TextPosition) -> bool) {
    let mut cursor = Cursor { rest: text, line: 1, column: 1 };
    while let Some(c) = cursor.rest.chars().next() {
        let line = TextPosition { line: cursor.line, column: cursor.column };
        let token = match c {
            '{' => Some(cursor.single(Token::Open(Container::Object))),
            '[' => Some(cursor.single(Token::Open(Container::Array))),
            '}' | ']' => Some(cursor.single(Token::Close)),
            ',' => Some(cursor.single(Token::Comma)),
            ':' => Some(cursor.single(Token::Colon)),
            '"' | '\'' => Some(Token::Scalar(cursor.quoted(c))),
            '/' => {
                cursor.comment();
                None
            }
            c if c.is_whitespace() || c == '\u{feff}' => {
                cursor.skip(c.len_utf8());
                None
            }
            _ => Some(Token::Scalar(cursor.word())),
        };
        if token.is_some_and(|token| !visit(token, line)) {
            return;
        }
    }
}

struct Cursor<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

impl Cursor<'_> {
    /// Moves on and counts lines; CR LF is a single line end.
    fn skip(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        let breaks = passed.bytes().filter(|&b| b == b'\n').count();
        let lone = passed.bytes().zip(passed.bytes().skip(1).map(Some).chain([rest.bytes().next()]));
        let lone_returns = lone.filter(|&(b, next)| b == b'\r' && next != Some(b'\n')).count();
        self.line += (breaks + lone_returns) as u32;
        let last = passed.rfind(['\n', '\r']).map(|at| &passed[at + 1..]);
        self.column = match last {
            Some(after) => 1 + after.chars().count() as u32,
            None => self.column + passed.chars().count() as u32,
        };
        self.rest = rest;
    }

    fn single(&mut self, token: Token) -> Token {
        self.skip(1);
        token
    }

    fn comment(&mut self) {
        let end = if self.rest.starts_with("//") {
            self.rest.find(['\n', '\r', '\u{2028}', '\u{2029}'])
        } else if self.rest.starts_with("/*") {
            self.rest[2..].find("*/").map(|at| at + 4)
        } else {
            Some(1)
        };
        self.skip(end.unwrap_or(self.rest.len()));
    }

    /// Decodes only the escapes that keys use in practice.
    fn quoted(&mut self, quote: char) -> String {
        let mut out = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                end = at + 1;
                break;
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            match chars.next() {
                Some((_, 'u')) => out.extend(unicode_escape(&mut chars)),
                Some((_, 'n')) => out.push('\n'),
                Some((_, 't')) => out.push('\t'),
                Some((_, '\n' | '\r')) | None => {}
                Some((_, other)) => out.push(other),
            }
        }
        self.skip(end);
        out
    }

    fn word(&mut self) -> String {
        let stop = |c: char| c.is_whitespace() || "{}[],:\"'/".contains(c);
        let end = self.rest.find(stop).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        self.skip(end);
        word
    }
}

fn unicode_escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    let digits: String = chars.take(4).map(|(_, c)| c).collect();
    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// a comment { with: [brackets\n{\n  agents: {\n    /* two\n lines */ 'defaults': {\n      \"contextPruning\": { mode: 'off', // }\n        ttl: \"1h\" },\r\n      list: [\n        { id: 'a' },\n        'x:{', 7,\n      ],\n    },\n  },\n  agents2: 1, agents2: {\n    ttl: 2,\n  },\n}\n";

    #[test]
    fn keys_are_found_through_comments_quotes_and_arrays() {
        for (path, line) in [
            (&["agents"][..], Some(3)),
            (&["agents", "defaults"], Some(5)),
            (&["agents", "defaults", "contextPruning", "mode"], Some(6)),
            (&["agents", "defaults", "contextPruning", "ttl"], Some(7)),
            (&["agents", "defaults", "list", "0", "id"], Some(9)),
            (&["agents", "defaults", "list", "1"], Some(10)),
            (&["agents", "defaults", "list", "2"], Some(10)),
            (&["agents", "defaults", "list", "3"], None),
            (&["agents", "ttl"], None),
            (&["agents2"], Some(14)),
            (&["agents2", "ttl"], Some(15)),
            (&["mode"], None),
        ] {
            assert_eq!(key_line(TEXT, path), line, "{path:?}");
        }
    }

    #[test]
    fn columns_count_characters_from_one() {
        let place =
            |path: &[&str]| key_position("{ é: 1,\n\t'b': [ 2,  {} ] }", path).map(|at| (at.line, at.column));
        assert_eq!(place(&["é"]), Some((1, 3)));
        assert_eq!(place(&["b"]), Some((2, 2)));
        assert_eq!((place(&["b", "0"]), place(&["b", "1"])), (Some((2, 9)), Some((2, 13))));
    }

    #[test]
    fn the_last_of_a_repeated_key_counts() {
        assert_eq!(key_line("{a:1,\n\na:2}", &["a"]), Some(3));
    }

    #[test]
    fn escaped_keys_are_decoded() {
        assert_eq!(key_line("{\n\"t\\u0074l\": 1}", &["ttl"]), Some(2));
        assert_eq!(key_line("{\n'it\\'s': 1}", &["it's"]), Some(2));
    }

    #[test]
    fn depth_counts_brackets_outside_strings_and_comments() {
        assert_eq!(nesting_depth("{a:[{}], b:'[[[[' /* [[[[ */}"), 3);
        assert_eq!(nesting_depth(""), 0);
        assert_eq!(nesting_depth(&"[".repeat(1_000_000)), MAX_DEPTH + 1);
    }

    #[test]
    fn broken_text_ends_the_walk_without_an_error() {
        for text in ["{a:'", "{a:/*", "]]]}}", "{\"\\u12", "{\"\\", ",,,:::", "\u{feff}{"] {
            assert_eq!(key_line(text, &["nowhere"]), None);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_stops_the_walk_or_panics(text in "[{}\\[\\],:'\"/*\\\\u0-9a-z\r\n é\u{2028}]{0,60}") {
            key_line(&text, &["a", "0"]);
            assert!(nesting_depth(&text) <= text.len());
        }

        #[test]
        fn a_key_is_found_on_the_line_it_was_written_on(before in 0_usize..5, inner in 0_usize..5) {
            let text = format!("{{{}a:{}{{ /* b: */ b: 1 }}}}", "\n".repeat(before), "\r\n".repeat(inner));
            assert_eq!(key_line(&text, &["a"]), Some(1 + before as u32));
            assert_eq!(key_line(&text, &["a", "b"]), Some(1 + (before + inner) as u32));
        }
    }
}
