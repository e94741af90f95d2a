//! Lines of programs, people and accidents.

use super::said::KINDS;
use crate::support::generate::Dice;

/// Characters that a text may contain. Bytes, as not all of them are characters.
const PIECES: [&[u8]; 34] = [
    b"plain words, and more of them ",
    b"x",
    b"0123456789abcdef0123456789abcdef",
    br"\n",
    br#"\""#,
    br"\\",
    br"\/",
    br"\b\f\r\t",
    br"\u0041",
    br"\u000a",
    br"\u0000",
    br"\u001F",
    br"\u0022\u005c",
    br"\u2028",
    br"\ud83d\ude00",
    br"\uD83D\uDE00",
    br"\ud83d",
    br"\uDE00",
    br"\ude00\ud83d",
    br"\ud83d\ud83d\ude00",
    br"\ud83d\n\ude00",
    br"\uD83Dx",
    "é".as_bytes(),
    "漢字".as_bytes(),
    "😀".as_bytes(),
    "\u{7f}\u{80}".as_bytes(),
    "\u{2028}\u{feff}\u{ffff}".as_bytes(),
    "\\ud83d😀\\ude00".as_bytes(),
    b"\xFF",
    b"\xC3",
    b"\xE2\x82",
    b"\xED\xA0\xBD\xED\xB8\x80",
    b"\xF0\x9F\x98",
    b"\xC0\x80",
];

/// Numbers in every form that JSON has.
const NUMBERS: [&str; 30] = [
    "0",
    "-0",
    "1",
    "-1",
    "42",
    "1.0",
    "1.50",
    "-0.0",
    "1e3",
    "1E+3",
    "1e-7",
    "0.000001",
    "0.0000001",
    "2.5e-5",
    "0.1",
    "0.30000000000000004",
    "9007199254740993",
    "123456789012345",
    "1234567890123456",
    "123456789012345678901234567890",
    "100000000000000000000",
    "1000000000000000000000",
    "1e21",
    "1e400",
    "-1e400",
    "1e-400",
    "5e-324",
    "1.7976931348623157e308",
    "0e0",
    "123456789.123456789",
];

/// Names of members that no rule reads, and of some that rules read elsewhere.
const KEYS: [&str; 10] = ["x", "", "0", "17", "type", "content", "text", "length", "__proto__", "é"];

/// Members of an object, each with its value as written.
type Members = Vec<(&'static str, Vec<u8>)>;

/// One line, without its end: most are whole.
pub(crate) fn line(dice: &mut Dice) -> Vec<u8> {
    let mut pen = Pen { spaced: dice.once_in(8), dice };
    let line = match pen.dice.below(30) {
        0..14 => pen.message(),
        14..24 => pen.entry(),
        24 => pen.value(5),
        25 => pen.scalar(),
        26 => br#"{"type":"session","id":"again"}"#.to_vec(),
        27 => pen.dice.one_of(&[&b""[..], b" ", b"\r", "\u{3000}\u{feff}".as_bytes(), b"\x0b\x0c"]).to_vec(),
        _ => pen.hurt(),
    };
    if pen.dice.once_in(6) { [&line[..], b"\r"].concat() } else { line }
}

/// Returns a line with a text longer than a reader's block.
pub(crate) fn long(dice: &mut Dice) -> Vec<u8> {
    let mut pen = Pen { spaced: false, dice };
    let border = *pen.dice.one_of(&[&(64 << 10), &(1 << 20), &(2 << 20)]);
    let most = border - 300 + pen.dice.below(600);
    let mut text = b"\"".to_vec();
    while text.len() < most {
        text.extend(pen.piece());
        let plain = pen.dice.below(9_000);
        text.extend(std::iter::repeat_n(b'x', plain.min(most.saturating_sub(text.len()))));
    }
    text.push(b'"');
    let block = pen.object(vec![("type", b"\"text\"".to_vec()), ("text", text)]);
    let role = if pen.dice.once_in(2) { "toolResult" } else { "user" };
    let content = [b"[", &block[..], b"]"].concat();
    let message = pen.object(vec![("role", quoted(role)), ("content", content)]);
    let id = pen.id();
    pen.object(vec![("type", quoted("message")), ("id", id), ("message", message)])
}

fn quoted(text: &str) -> Vec<u8> {
    format!("\"{text}\"").into_bytes()
}

struct Pen<'a> {
    dice: &'a mut Dice,
    /// White space between the parts.
    spaced: bool,
}

impl Pen<'_> {
    fn piece(&mut self) -> &'static [u8] {
        PIECES[self.dice.below(PIECES.len())]
    }

    fn text(&mut self) -> Vec<u8> {
        let mut text = b"\"".to_vec();
        for _ in 0..self.dice.below(6) {
            text.extend(self.piece());
            if self.dice.once_in(3) {
                // So that the next text begins at any place of a block.
                text.extend(std::iter::repeat_n(b'y', self.dice.below(130)));
            }
        }
        text.push(b'"');
        text
    }

    fn number(&mut self) -> Vec<u8> {
        if self.dice.once_in(3) {
            let [whole, part] = [1_000_000, 1_000_000_000].map(|sides| self.dice.below(sides));
            let form = self.dice.below(4);
            return match form {
                0 => whole.to_string(),
                1 => format!("{whole}.{part}"),
                2 => format!("-{whole}{part}"),
                _ => format!("{whole}.{part}e{}", self.dice.below(640) as i64 - 320),
            }
            .into_bytes();
        }
        NUMBERS[self.dice.below(NUMBERS.len())].into()
    }

    fn scalar(&mut self) -> Vec<u8> {
        match self.dice.below(8) {
            0 => b"null".to_vec(),
            1 => b"true".to_vec(),
            2 => b"false".to_vec(),
            3 => b"\"\"".to_vec(),
            4 | 5 => self.number(),
            _ => self.text(),
        }
    }

    /// Returns any value, nested up to this depth.
    fn value(&mut self, depth: usize) -> Vec<u8> {
        match self.dice.below(12) {
            0..3 if depth > 0 => {
                let items: Vec<Vec<u8>> = (0..self.dice.below(5)).map(|_| self.value(depth - 1)).collect();
                self.list(&items)
            }
            3..6 if depth > 0 => {
                let many = if self.dice.once_in(12) { 40 } else { 5 };
                let members = (0..self.dice.below(many))
                    .map(|_| (KEYS[self.dice.below(KEYS.len())], self.value(depth - 1)))
                    .collect();
                self.object(members)
            }
            6 if self.dice.once_in(6) => {
                let deep = self.dice.below(120);
                ["[".repeat(deep), "1".to_owned(), "]".repeat(deep)].concat().into_bytes()
            }
            _ => self.scalar(),
        }
    }

    fn space(&mut self) -> &'static [u8] {
        if self.spaced { self.dice.one_of(&[&b" "[..], b"", b"\t", b"  \r "]) } else { b"" }
    }

    fn list(&mut self, items: &[Vec<u8>]) -> Vec<u8> {
        let mut list = b"[".to_vec();
        for (at, item) in items.iter().enumerate() {
            list.extend(if at > 0 { &b","[..] } else { b"" });
            list.extend(self.space());
            list.extend(item);
            list.extend(self.space());
        }
        list.push(b']');
        list
    }

    /// Members in any order, some of them twice, some keys with escapes, some with unknown neighbours.
    fn object(&mut self, mut members: Members) -> Vec<u8> {
        if self.dice.once_in(5) {
            let key = KEYS[self.dice.below(KEYS.len())];
            // A member that rules read would be lost.
            if !members.iter().any(|(known, _)| *known == key) {
                let value = self.value(2);
                members.push((key, value));
            }
        }
        if self.dice.once_in(12) && !members.is_empty() {
            let (key, value) = (members[self.dice.below(members.len())].0, self.value(1));
            members.insert(self.dice.below(members.len()), (key, value));
        }
        if self.dice.once_in(3) {
            for at in (1..members.len()).rev() {
                members.swap(at, self.dice.below(at + 1));
            }
        }
        let mut object = b"{".to_vec();
        for (at, (key, value)) in members.iter().enumerate() {
            object.extend(if at > 0 { &b","[..] } else { b"" });
            object.extend(self.space());
            object.extend(self.key(key));
            object.extend(self.space());
            object.push(b':');
            object.extend(self.space());
            object.extend(value);
            object.extend(self.space());
        }
        object.push(b'}');
        object
    }

    fn key(&mut self, key: &str) -> Vec<u8> {
        if !self.dice.once_in(20) || key.is_empty() {
            return quoted(key);
        }
        let escaped = self.dice.below(key.chars().count());
        let char = |(at, char): (usize, char)| {
            if at == escaped { format!("\\u{:04x}", char as u32) } else { char.to_string() }
        };
        quoted(&key.chars().enumerate().map(char).collect::<String>())
    }

    /// Returns one of these words, sometimes with an escape, sometimes another value.
    fn word(&mut self, words: &[&str]) -> Vec<u8> {
        match self.dice.below(24) {
            0 => self.scalar(),
            1 => {
                let word = self.dice.one_of(words);
                let (first, rest) = word.split_at(1);
                format!("\"\\u{:04X}{rest}\"", first.as_bytes()[0]).into_bytes()
            }
            _ => quoted(self.dice.one_of(words)),
        }
    }

    fn id(&mut self) -> Vec<u8> {
        match self.dice.below(16) {
            0 => self.value(1),
            _ => quoted(&format!("{:08x}", self.dice.below(20))),
        }
    }

    fn time(&mut self) -> Vec<u8> {
        let seconds = self.dice.below(60);
        let zone = if self.dice.once_in(9) { "\\u005A" } else { "Z" };
        quoted(&format!("2026-11-19T13:00:{seconds:02}.{:03}{zone}", self.dice.below(1000)))
    }

    fn usage(&mut self) -> Vec<u8> {
        if self.dice.once_in(12) {
            return self.value(1);
        }
        let mut members = Members::new();
        for name in ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] {
            if !self.dice.once_in(8) {
                let value = if self.dice.once_in(8) { self.scalar() } else { self.number() };
                members.push((name, value));
            }
        }
        let total = self.number();
        let cost = self.object(vec![("total", total)]);
        members.push(("cost", cost));
        self.object(members)
    }

    fn block(&mut self) -> Vec<u8> {
        let members = match self.dice.below(16) {
            0..6 => vec![("type", self.word(&["text"])), ("text", self.body())],
            6..8 => {
                vec![
                    ("type", self.word(&["thinking"])),
                    ("thinking", self.body()),
                    ("thinkingSignature", self.text()),
                ]
            }
            8..12 => self.call(),
            12 | 13 => {
                vec![
                    ("type", self.word(&["image"])),
                    ("data", self.text()),
                    ("mimeType", quoted("image/png")),
                ]
            }
            14 => vec![("type", self.word(&["text", "thinking", "toolCall"]))],
            _ => return self.value(2),
        };
        self.object(members)
    }

    fn call(&mut self) -> Members {
        let arguments = if self.dice.once_in(10) {
            self.value(4)
        } else {
            let (path, limit, more) = (self.text(), self.number(), self.value(3));
            self.object(vec![("path", path), ("limit", limit), ("more", more)])
        };
        vec![
            ("type", quoted("toolCall")),
            ("id", self.id()),
            ("name", self.word(&["exec", "read"])),
            ("arguments", arguments),
        ]
    }

    /// The text of a block: rarely something else.
    fn body(&mut self) -> Vec<u8> {
        match self.dice.below(30) {
            0 => self.value(2),
            1 => self
                .dice
                .one_of(&[&br#""NO_REPLY""#[..], br#""NO\u005FREPLY\n""#, br#"" NO_REPLY""#])
                .to_vec(),
            _ => self.text(),
        }
    }

    fn content(&mut self) -> Vec<u8> {
        match self.dice.below(10) {
            0 | 1 => self.text(),
            2 if self.dice.once_in(3) => self.value(2),
            _ => {
                let blocks: Vec<Vec<u8>> = (0..self.dice.below(4)).map(|_| self.block()).collect();
                self.list(&blocks)
            }
        }
    }

    fn message(&mut self) -> Vec<u8> {
        let roles = [
            "user",
            "assistant",
            "assistant",
            "toolResult",
            "toolResult",
            "bashExecution",
            "custom",
            "system",
            "hookMessage",
        ];
        let role = self.word(&roles);
        let mut members = vec![("role", role)];
        let mut say = |pen: &mut Self, times: usize, name: &'static str, value: fn(&mut Self) -> Vec<u8>| {
            if pen.dice.below(8) < times {
                members.push((name, value(pen)));
            }
        };
        say(self, 7, "content", Self::content);
        say(self, 6, "usage", Self::usage);
        say(self, 5, "stopReason", |pen| pen.word(&["stop", "toolUse", "error", "aborted", "length"]));
        say(self, 5, "toolName", |pen| pen.word(&["exec", "read"]));
        say(self, 5, "toolCallId", Self::id);
        say(self, 3, "isError", Self::scalar);
        say(self, 1, "excludeFromContext", Self::scalar);
        say(self, 2, "provider", |pen| pen.word(&["anthropic"]));
        say(self, 2, "model", |pen| pen.word(&["claude-opus-4-5"]));
        say(self, 2, "command", Self::body);
        say(self, 2, "output", Self::body);
        say(self, 1, "sections", |pen| pen.value(2));
        say(self, 1, "toolsAdded", |pen| pen.value(3));
        say(self, 2, "details", |pen| pen.value(3));
        let message = if self.dice.once_in(40) { self.value(1) } else { self.object(members) };
        let (id, parent, time) = (self.id(), self.id(), self.time());
        let kind = self.word(&["message"]);
        let members =
            vec![("type", kind), ("id", id), ("parentId", parent), ("timestamp", time), ("message", message)];
        let drop = self.dice.below(60);
        self.object(
            members.into_iter().enumerate().filter(|(at, _)| *at != drop).map(|(_, member)| member).collect(),
        )
    }

    /// Any entry that is not a message.
    fn entry(&mut self) -> Vec<u8> {
        let known = KINDS.into_iter().filter(|kind| *kind != "message");
        let kinds: Vec<&str> = known.chain(["of_the_future"]).collect();
        let mut members = vec![("type", self.word(&kinds)), ("id", self.id()), ("timestamp", self.time())];
        let names = ["parentId", "firstKeptEntryId", "targetId", "fromId"];
        for name in names.into_iter().filter(|_| !self.dice.once_in(3)).collect::<Vec<_>>() {
            members.push((name, self.id()));
        }
        for name in [
            "thinkingLevel",
            "provider",
            "modelId",
            "name",
            "label",
            "customType",
            "kind",
            "reason",
            "summary",
        ] {
            if self.dice.once_in(2) {
                members.push((name, self.body()));
            }
        }
        members.push(("tokensBefore", self.number()));
        let at = self.scalar();
        members.push(("data", self.object(vec![("timestamp", at)])));
        for (name, value) in [("usage", Self::usage as fn(&mut Self) -> Vec<u8>), ("content", Self::content)]
        {
            if self.dice.once_in(2) {
                members.push((name, value(self)));
            }
        }
        if self.dice.once_in(4) {
            members.push(("appendMode", self.word(&["side"])));
        }
        self.object(members)
    }

    /// Returns a damaged line.
    fn hurt(&mut self) -> Vec<u8> {
        let mut line = if self.dice.once_in(2) { self.message() } else { self.entry() };
        let at = self.dice.below(line.len());
        let bytes =
            [b'\0', b'"', b'\\', b'{', b'}', b']', b',', b':', b'\n', b'\r', b' ', b'0', b'\x1f', b'\xFF'];
        let byte = bytes[self.dice.below(bytes.len())];
        match self.dice.below(8) {
            0 => line.truncate(at),
            1 => line[at] = byte,
            2 => line.insert(at, byte),
            3 => drop(line.remove(at)),
            4 => line.insert(0, byte),
            5 => line.push(byte),
            6 => line.splice(0..0, *b"\xEF\xBB\xBF").for_each(drop),
            _ => line.extend("\u{a0}".as_bytes()),
        }
        line
    }
}
