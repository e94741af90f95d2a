//! Made-up secrets in the places where transcripts hold them, in every disguise. A sample of all combinations runs by
//! default; an ignored test runs all of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

use super::rules::rules;
use super::tokens::tokens;
use super::{Redactor, masked};
use crate::js::{self, Object, Value};

const HEX: &str = "0123456789abcdef";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

pub(super) struct Random(pub u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn letters(&mut self, count: usize, alphabet: &str) -> String {
        (0..count).map(|_| char::from(alphabet.as_bytes()[self.below(alphabet.len())])).collect()
    }

    /// Makes a token of its form: `ghp_<W36>`.
    fn token(&mut self, form: &str) -> String {
        let mut out = String::new();
        let mut rest = form;
        while let Some((before, tail)) = rest.split_once('<') {
            let (class, tail) = tail.split_once('>').expect("a class");
            let count: usize = class[1..].parse().expect("a count");
            let alphabet = match &class[..1] {
                "H" => HEX,
                "U" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                "L" => "abcdefghijkmnopqrstuvwxyz023456789",
                "D" => "123456789",
                _ => WORD,
            };
            out += before;
            out += &self.letters(count, alphabet);
            rest = tail;
        }
        out + rest
    }

    /// Puts a made-up secret between the marks of a sample. Returns the text and the secret.
    pub(super) fn fill(&mut self, sample: &str) -> (String, String) {
        let (before, rest) = sample.split_once('«').expect("a mark");
        let (form, after) = rest.split_once('»').expect("a mark");
        let secret = self.token(if form.is_empty() { "<W9>-<H9>" } else { form });
        (format!("{before}{secret}{after}"), secret)
    }
}

/// Places of a token; `@` is the token.
const TOKEN_PLACES: [&str; 10] = [
    "I use @ for it, as said.",
    "x@",
    "KEY_@ y",
    "fn f() { call(\"@\") }",
    "| name | @ |",
    "2026-01-01T10:00:00Z INFO got @, done",
    "{\"a\": [\"@\"]}",
    "(@)",
    "日本語@日本語",
    "line one\n@\nline three",
];

/// Disguises that keep a text in one piece.
const WHOLE: [fn(&str) -> String; 10] = [
    |text| text.to_owned(),
    |text| js::stringify(&Value::from(text)),
    |text| js::stringify(&Value::from(js::stringify(&Value::from(text)))),
    percent,
    |text| percent(&percent(text)),
    |text| text.chars().map(|char| format!("&#{};", u32::from(char))).collect::<Vec<_>>().concat(),
    |text| {
        text.chars()
            .map(|char| if char.is_ascii() { format!("\\x{:02x}", u32::from(char)) } else { char.into() })
            .collect::<Vec<_>>()
            .concat()
    },
    |text| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat(),
    |text| text.replace(' ', "\u{1b}[0m \u{1b}[31m"),
    |text| text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat(),
];

/// Disguises in base64, which hide the words too.
const PACKED: [fn(&str) -> String; 4] = [
    |text| STANDARD.encode(format!("note:\n{text}")),
    |text| STANDARD.encode(text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
    |text| STANDARD.encode(STANDARD.encode(format!("note:\n{text}"))),
    |text| wrapped(&STANDARD.encode(format!("note:\n{text}\n{}", "and more words ".repeat(8))), 76, "> "),
];

/// Disguises that break the token itself.
const BROKEN: [fn(&str) -> String; 10] = [
    |key| wrapped(key, key.len() * 3 / 5, "a/b.rs:12:"),
    |key| wrapped(key, key.len() * 3 / 5, "> "),
    |key| wrapped(key, key.len() * 3 / 5, "# "),
    |key| wrapped(key, key.len() * 3 / 5, " * "),
    |key| wrapped(key, key.len() * 3 / 5, "2026-01-01T10:00:00.123Z "),
    |key| wrapped(key, key.len() * 3 / 5, "+"),
    |key| wrapped(key, key.len() * 3 / 5, "| "),
    |key| format!("{}\u{1b}[1m{}", &key[..7], &key[7..]),
    |key| format!("{}\u{200b}{}", &key[..7], &key[7..]),
    |key| format!("\"{}\" + \"{}\"", &key[..key.len() / 2], &key[key.len() / 2..]),
];

fn percent(text: &str) -> String {
    let one = |byte: u8| {
        if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(one).collect()
}

fn wrapped(text: &str, width: usize, prefix: &str) -> String {
    let lines: Vec<String> = text
        .as_bytes()
        .chunks(width)
        .map(|line| format!("{prefix}{}", String::from_utf8_lossy(line)))
        .collect();
    lines.join("\n")
}

/// The part of a text in base64 that holds the secret: lines of other words may stay.
fn packed_part(said: &str, text: &str, disguise: usize) -> String {
    if disguise < 3 {
        return text.to_owned();
    }
    let own = STANDARD.encode(format!("note:\n{said}"));
    wrapped(&own[..(own.len() - 8).min(70)], 76, "> ")
}

/// Ways out of the program.
const FORMATS: [fn(&str) -> String; 6] = [
    |text| masked(text).into_owned(),
    |text| {
        let mut redactor = Redactor::default();
        redactor.learn(text);
        redactor.redact_text(text).into_owned()
    },
    |text| through(&Value::from(Object::from([("text", Value::from(text))]))),
    |text| {
        through(&Value::from(Object::from([("arguments", Value::from(js::stringify(&Value::from(text))))])))
    },
    |text| {
        let block = |text: &str| {
            Value::from(Object::from([("type", Value::from("text")), ("text", Value::from(text))]))
        };
        let middle = text.floor_char_boundary(text.len() / 5);
        through(&Value::Array(vec![block("first!\n"), block(&text[..middle]), block(&text[middle..])]))
    },
    |text| {
        through(&Value::from(Object::from([
            ("details", Value::Array(vec![Value::from(text)])),
            (text_key(text), Value::Null),
        ])))
    },
];

fn text_key(text: &str) -> &str {
    text
}

fn through(value: &Value) -> String {
    let mut redactor = Redactor::default();
    redactor.learn_value(value);
    let mut out = String::new();
    flatten(&redactor.redact_value(value), &mut out);
    out
}

fn flatten(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => *out += &text.to_string_lossy(),
        Value::Array(items) => items.iter().for_each(|item| flatten(item, out)),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            *out += &key.to_string_lossy();
            flatten(value, out);
        }),
        _ => {}
    }
    out.push('\n');
}

/// Whether a piece of a disguised secret is left, as long as twelve of its characters in this disguise.
fn leaks(out: &str, disguised: &str, window: usize) -> bool {
    let words =
        disguised.split(|char: char| !(char.is_ascii_alphanumeric() || "-_.%&#;\\+/=".contains(char)));
    words.filter(|word| word.len() >= window).any(|word| {
        let chars: Vec<char> = word.chars().collect();
        chars.windows(window).any(|window| out.contains(&window.iter().collect::<String>()))
    })
}

struct Run {
    all: bool,
    random: Random,
    tried: usize,
    leaked: Vec<String>,
}

impl Run {
    fn is_chosen(&mut self, one_in: usize) -> bool {
        self.all || self.random.below(one_in) == 0
    }

    fn check(&mut self, text: &str, (disguised, secret): (&str, &str), name: &str) {
        let window = (12 * disguised.len() / secret.len().max(1)).max(12);
        let formats = if self.all {
            0..FORMATS.len()
        } else {
            let at = self.random.below(FORMATS.len());
            at..at + 1
        };
        for at in formats {
            self.tried += 1;
            let out = FORMATS[at](text);
            if leaks(&out, disguised, window) {
                self.leaked.push(format!("{name}, format {at}: {text:?}\n  -> {out:?}"));
            }
        }
    }
}

#[test]
fn no_secret_leaks_from_a_sample_of_places_and_disguises() {
    no_secret_leaks(false);
}

/// Minutes in a debug build: for a change of the rules.
#[test]
#[ignore = "takes minutes: cargo test --release --lib redact::corpus -- --ignored"]
fn no_secret_leaks_from_any_place_in_any_disguise() {
    no_secret_leaks(true);
}

fn no_secret_leaks(all: bool) {
    let mut run = Run { all, random: Random(0x5eed), tried: 0, leaked: Vec::new() };
    for token in tokens().filter(|token| !token.sample.is_empty()) {
        let whole = run.random.token(token.sample);
        let found = Regex::new(token.pattern).unwrap().captures(&whole);
        let found = found.unwrap_or_else(|| panic!("{} does not match {whole}", token.pattern));
        let secret = found.iter().skip(1).flatten().last().unwrap_or(found.get(0).unwrap()).as_str();
        let key_start = secret.len() == whole.len();
        for (at, place) in TOKEN_PLACES.iter().enumerate() {
            let said = place.replace('@', &whole);
            for (disguise, change) in WHOLE.iter().enumerate() {
                if run.is_chosen(50) {
                    run.check(
                        &change(&said),
                        (&change(secret), secret),
                        &format!("{} place {at} whole {disguise}", token.kind),
                    );
                }
            }
            for (disguise, change) in PACKED.iter().enumerate() {
                if run.is_chosen(50) {
                    let text = change(&said);
                    let hidden = packed_part(&said, &text, disguise);
                    run.check(
                        &text,
                        (&hidden, &hidden),
                        &format!("{} place {at} packed {disguise}", token.kind),
                    );
                }
            }
        }
        for (disguise, change) in BROKEN.iter().enumerate() {
            if key_start && whole.len() >= 30 && run.is_chosen(6) {
                let text = format!("it is\n{}\n\nend", change(&whole));
                let halves = whole.split_at(if disguise < 7 { whole.len() * 3 / 5 } else { whole.len() / 2 });
                run.check(
                    &text,
                    (&format!("{} {}", halves.0, halves.1), &whole),
                    &format!("{} broken {disguise}", token.kind),
                );
            }
        }
    }
    for (at, sample) in rules().iter().flat_map(|rule| &rule.samples).enumerate() {
        let (said, secret) = run.random.fill(sample);
        for (disguise, change) in WHOLE.iter().enumerate() {
            if run.is_chosen(5) {
                run.check(
                    &change(&said),
                    (&change(&secret), &secret),
                    &format!("named {at} whole {disguise}"),
                );
            }
        }
        for (disguise, change) in PACKED.iter().enumerate() {
            // UTF-16 of another script has no zeros by which it is known.
            if (disguise != 1 || said.is_ascii()) && run.is_chosen(5) {
                let text = change(&said);
                let hidden = packed_part(&said, &text, disguise);
                run.check(&text, (&hidden, &hidden), &format!("named {at} packed {disguise}"));
            }
        }
    }
    let shown: Vec<&String> = run.leaked.iter().take(if run.all { 400 } else { 60 }).collect();
    eprintln!("{} texts, {} leaks", run.tried, run.leaked.len());
    assert!(run.leaked.is_empty(), "{} of {} leak: {shown:#?}", run.leaked.len(), run.tried);
}
