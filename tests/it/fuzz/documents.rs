//! What is handed on: no secret, and a page in which every text stays a text.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Write as _;

use clawscope::export::{ExportRequest, Format, export};
use clawscope::redact::Redactor;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use serde_json::json;

use super::for_each_seed;
use crate::support::generate::Dice;
use crate::support::inspected::inspected;
use crate::support::secrets::{Sample, samples};
use crate::support::session::NOW;

const WORDS: [&str; 12] = [
    "plain words",
    "漢字",
    "😀",
    "$ cargo test",
    "--flag",
    "path/to/file.rs:12:",
    "> quoted",
    "\u{1b}[31mred\u{1b}[0m",
    "| a | b |",
    "```",
    "2026-02-21T05:00:00Z",
    "error: x",
];
const SEPARATORS: [&str; 4] = [" ", "\n", "\n\n", "\t"];

#[test]
fn no_secret_survives_among_any_words() {
    // One is a secret only in a document that also holds the key it is a line of.
    let (samples, in_company): (Vec<Sample>, Vec<Sample>) = samples().into_iter().partition(|sample| {
        let mut redactor = Redactor::default();
        redactor.learn(&sample.text);
        !redactor.redact_text(&sample.text).contains(&sample.secret)
    });
    assert_eq!(in_company.iter().map(|sample| sample.name).collect::<Vec<_>>(), ["private key by a line"]);
    for_each_seed(250, |dice| {
        let sample = &samples[dice.below(samples.len())];
        let mut text = String::new();
        for part in 0..3 {
            for _ in 0..dice.below(6) {
                text += dice.one_of(&WORDS);
                text += dice.one_of(&SEPARATORS);
            }
            if part < 2 {
                text += &sample.text;
                text += dice.one_of(&["\n", "\n\n"]);
            }
        }
        let mut redactor = Redactor::default();
        redactor.learn(&text);
        let once = redactor.redact_text(&text).into_owned();
        assert!(!once.contains(&sample.secret), "{}: {once}", sample.name);
        let mut other = Redactor::default();
        other.learn(&once);
        assert!(!other.redact_text(&once).contains(&sample.secret), "{}", sample.name);
    });
}

const HOSTILE: [&str; 22] = [
    "<script>alert(1)</script>",
    "</script>",
    "</style>",
    "</title>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "\"",
    "'",
    ">",
    "<",
    "&lt;",
    "&#x3c;img&#62;",
    "<img src=x onerror=alert(1)>",
    "\" onload=\"x",
    "javascript:x",
    "\0",
    "\u{feff}",
    "\u{2028}",
    "<svg/onload=x>",
    "</textarea><base href=//x>",
];

fn hostile(dice: &mut Dice) -> String {
    (0..=dice.below(5)).map(|_| if dice.once_in(4) { "word " } else { dice.one_of(&HOSTILE) }).collect()
}

/// A session whose every free text is hostile.
fn page(dice: &mut Dice) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut word = || hostile(dice);
    let time = "2026-02-21T05:00:01.000Z";
    let lines = [
        json!({"type": "session", "version": 3, "id": word(), "timestamp": time, "cwd": word()}),
        json!({"type": "session_info", "id": "n", "parentId": null, "timestamp": time, "name": word()}),
        json!({"type": "message", "id": "u", "parentId": "n", "timestamp": time,
               "message": {"role": "user", "content": word()}}),
        json!({"type": "message", "id": "a", "parentId": "u", "timestamp": time, "message": {
            "role": "assistant", "provider": word(), "model": word(), "stopReason": "error", "errorMessage": word(),
            "content": [{"type": "thinking", "thinking": word()}, {"type": "text", "text": word()},
                        {"type": "toolCall", "id": word(), "name": word(), "arguments": {word(): word()}}]}}),
        json!({"type": "message", "id": "r", "parentId": "a", "timestamp": time, "message": {
            "role": "toolResult", "toolCallId": "c", "toolName": word(), "isError": true,
            "content": [{"type": "text", "text": word()}, {"type": "image", "mimeType": word(), "data": word()}]}}),
        json!({"type": "custom_message", "id": "x", "parentId": "r", "timestamp": time, "customType": word(),
               "content": word(), "display": true}),
        json!({"type": "label", "id": "l", "parentId": "x", "timestamp": time, "targetId": "u", "label": word()}),
        json!({"type": word(), "id": "z", "parentId": "l", "timestamp": time, word(): word()}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n") + "\n";
    File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    let session = inspected(&path);
    let request = ExportRequest {
        session: &session,
        plan: None,
        now_ms: NOW,
        redact: true,
        personal: false,
        shape_only: false,
    };
    export(&request, Format::Html).unwrap().text
}

/// Collects what a browser makes of a page.
#[derive(Default)]
struct Seen {
    scripts: Cell<usize>,
    styles: Cell<usize>,
    faults: RefCell<Vec<String>>,
}

/// Elements that a page may have; none of them loads or runs anything but `script` and `style`, which are counted.
const ELEMENTS: [&str; 40] = [
    "html", "head", "meta", "title", "style", "body", "header", "div", "h1", "h2", "h3", "input", "button",
    "span", "select", "option", "main", "dl", "dt", "dd", "p", "i", "b", "em", "strong", "code", "pre",
    "section", "article", "details", "summary", "table", "tr", "td", "th", "a", "ul", "li", "small",
    "script",
];
const ATTRIBUTES: [&str; 20] = [
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "id",
    "class",
    "type",
    "placeholder",
    "aria-label",
    "title",
    "role",
    "value",
    "style",
    "open",
    "colspan",
    "hidden",
    "for",
    "selected",
    "href",
];

impl TokenSink for Seen {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        let name = &*tag.name;
        if !ELEMENTS.contains(&name) {
            self.faults.borrow_mut().push(format!("line {line}: <{name}>"));
        }
        for attribute in &tag.attrs {
            let key = &*attribute.name.local;
            let leads_away = key == "href" && !attribute.value.starts_with('#');
            if leads_away || !(ATTRIBUTES.contains(&key) || key.starts_with("data-")) {
                self.faults.borrow_mut().push(format!("line {line}: <{name} {key}={:?}>", attribute.value));
            }
        }
        match (tag.kind, name) {
            (TagKind::StartTag, "script") => {
                self.scripts.set(self.scripts.get() + 1);
                TokenSinkResult::RawData(RawKind::ScriptData)
            }
            (TagKind::StartTag, "style") => {
                self.styles.set(self.styles.get() + 1);
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            (TagKind::StartTag, "title") => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

/// Reads a page as a browser does.
fn read(page: &str) -> Seen {
    let tokenizer = Tokenizer::new(Seen::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(page.into());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink
}

#[test]
fn an_element_or_attribute_that_a_text_brings_is_noticed() {
    for text in HOSTILE.into_iter().filter(|text| text.contains('=') && text.contains('<')) {
        let seen = read(&format!("<p>{text}</p>"));
        assert!(!seen.faults.borrow().is_empty(), "{text}");
    }
    assert!(!read("<p title=\"\" onload=\"x\">").faults.borrow().is_empty());
    assert!(!read("<a href=\"javascript:x\">").faults.borrow().is_empty());
    assert_eq!(read("<script>a</script><script>b</script>").scripts.get(), 2);
}

#[test]
fn a_page_of_any_texts_has_the_programs_elements_alone() {
    for_each_seed(25, |dice| {
        let seen = read(&page(dice));
        assert_eq!(*seen.faults.borrow(), Vec::<String>::new());
        assert_eq!((seen.scripts.get(), seen.styles.get()), (1, 1));
    });
}
