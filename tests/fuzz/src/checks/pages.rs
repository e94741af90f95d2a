//! Exported pages: for any texts of a session, a browser sees only the elements that the program writes.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use clawscope::export::{ExportRequest, Format, export};
use clawscope::gateway::env::Environment;
use clawscope::session::LoadedSession;
use clawscope::session::list::list_sessions;
use clawscope::session::loading::open;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::units::Moment;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use serde_json::json;

const NOW_MS: Moment = Moment(1_772_700_000_000.0);

fn opened(path: &Path) -> LoadedSession {
    let place = StoreLocation::new(&StoreRequest::Path(path.to_path_buf()), Environment::default()).unwrap();
    let listed = list_sessions(&place, NOW_MS);
    let [item] = &listed.items[..] else { panic!("{:?}", listed.items) };
    let session = open(&listed.store, &item.key, None, NOW_MS, &mut |_, _| true).unwrap();
    session.load_details().unwrap()
}

/// A session whose every free text is hostile.
fn page(mut word: impl FnMut() -> String) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
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
    let session = opened(&path);
    let request = ExportRequest {
        session: &session,
        plan: None,
        now_ms: NOW_MS,
        redact: true,
        personal: false,
        shape_only: false,
    };
    export(&request, Format::Html).unwrap().text
}

/// Collects the elements of a page as a browser sees them.
#[derive(Debug, Default)]
pub struct Seen {
    pub scripts: Cell<usize>,
    pub styles: Cell<usize>,
    pub faults: RefCell<Vec<String>>,
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
pub fn read(page: &str) -> Seen {
    let tokenizer = Tokenizer::new(Seen::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(page.into());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink
}

/// Checks a page whose texts are these words, in turn.
pub fn page_of_words_is_harmless(word: impl FnMut() -> String) {
    let seen = read(&page(word));
    assert_eq!(*seen.faults.borrow(), Vec::<String>::new());
    assert_eq!((seen.scripts.get(), seen.styles.get()), (1, 1));
}

/// Checks a page whose texts are these bytes, separated by form feeds.
#[allow(dead_code, reason = "for the target; the tests choose words")]
pub fn page_has_the_programs_elements_alone(bytes: &[u8]) {
    let words: Vec<String> = super::parts(bytes).collect();
    let mut words = words.iter().cycle();
    page_of_words_is_harmless(|| words.next().cloned().unwrap_or_default());
}
