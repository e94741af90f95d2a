//! Measures the time of a frame: `cargo bench --bench screen`.
//!
//! Presses the same keys over a session of 1,350 entries (a transcript of 10 MB) and one of 136,000 (a gigabyte). Their
//! texts are short: no frame reads a text that is out of sight. Then measures growth of a loaded session, and a body
//! from the file to the cells.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot begin stops there")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clawscope::app::App;
use clawscope::app::event::{Event, StoreListing};
use clawscope::app::state::Options;
use clawscope::gateway::env::Environment;
use clawscope::session::list::{SessionListing, list_sessions};
use clawscope::session::loading::open;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::session::{LoadedSession, message};
use clawscope::ui;
use clawscope::ui::theme::{ColourDepth, Theme};
use clawscope::units::Moment;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divan::Bencher;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Entries of a transcript of 10 MB, and of one of a gigabyte.
const ENTRIES: [usize; 2] = [1_350, 136_000];
/// Chars of a result: a typical one, the largest of a hundred, the largest that tools return.
const CHARS: [usize; 3] = [8_000, 100_000, 400_000];
const SIZE: (u16, u16) = (140, 40);

fn main() {
    divan::main();
}

/// A line of a conversation: a question, a call and its result in turn, a compaction after each 1,400.
fn line(at: usize, chars: usize) -> String {
    let message = match at % 3 {
        0 => r#"{"role":"user","content":"go on, and look at the next file"}"#.to_owned(),
        1 => format!(
            r#"{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","stopReason":"toolUse","usage":{{"input":900,"output":60,"cacheRead":40000,"cacheWrite":0,"totalTokens":40960}},"content":[{{"type":"toolCall","id":"c{at}","name":"exec","arguments":{{"command":"cat src/{at}.rs"}}}}]}}"#
        ),
        _ => format!(
            r#"{{"role":"toolResult","toolCallId":"c{}","toolName":"exec","content":[{{"type":"text","text":"{}"}}]}}"#,
            at - 1,
            "let answer = 42; // of it all\\n".repeat(chars / 30 + 1)
        ),
    };
    let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
    let place = format!(r#""id":"e{at}","parentId":{parent},"timestamp":"2026-02-21T04:00:00.000Z""#);
    if at % 1_400 == 1_399 {
        return format!(
            r#"{{"type":"compaction",{place},"summary":"so far","firstKeptEntryId":"e{}","tokensBefore":9}}"#,
            at - 100
        );
    }
    format!(r#"{{"type":"message",{place},"message":{message}}}"#)
}

/// A session on disk, opened.
struct Opened {
    folder: PathBuf,
    path: PathBuf,
    listed: SessionListing,
    session: LoadedSession,
}

impl Opened {
    fn new(entries: usize, chars: usize) -> Self {
        let folder =
            std::env::temp_dir().join(format!("clawscope-screen-{}-{entries}-{chars}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("session.jsonl");
        let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
        for at in 0..entries {
            let _ = writeln!(text, "{}", line(at, chars));
        }
        let mut file = std::fs::File::create(&path).expect("a file");
        file.write_all(text.as_ref()).expect("room");
        let place =
            StoreLocation::new(&StoreRequest::Path(path.clone()), Environment::default()).expect("a place");
        let listed = list_sessions(&place, Moment::ZERO);
        let session = open(&listed.store, &listed.items[0].key, None, Moment::ZERO, &mut |_, _| true)
            .expect("it opens");
        Self { folder, path, listed, session }
    }

    fn app(&self) -> App {
        let mut app = App::new(Options::default(), SIZE);
        let listing = StoreListing {
            items: self.listed.items.clone(),
            store_label: "bench".into(),
            ..StoreListing::default()
        };
        let _ = app.update(Event::Listed(Box::new(listing)), Moment::ZERO);
        let _ = app.update(Event::Opened(Box::new(self.session.clone())), Moment::ZERO);
        app
    }

    fn again(&self) -> LoadedSession {
        let key = &self.listed.items[0].key;
        open(&self.listed.store, key, Some(&self.session), Moment::ZERO, &mut |_, _| true).expect("it opens")
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Keys one after the other, each with the frame that follows.
struct Screen {
    app: App,
    theme: Theme,
    buf: Buffer,
}

impl Screen {
    fn new(app: App) -> Self {
        let theme = Theme::load("dark", ColourDepth::True).expect("a theme");
        Self { app, theme, buf: Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1)) }
    }

    fn event(&mut self, event: Event) {
        let _ = self.app.update(event, Moment(1.0));
        self.buf.reset();
        let _ = ui::render(&self.app, &self.theme, &mut self.buf);
    }

    fn press(&mut self, key: KeyCode) {
        self.event(Event::Key(KeyEvent::new(key, KeyModifiers::NONE)));
    }
}

fn keys(bencher: Bencher<'_, '_>, entries: usize, before: &[char], keys: &[KeyCode]) {
    let opened = Opened::new(entries, 60);
    let mut screen = Screen::new(opened.app());
    for key in before {
        screen.press(KeyCode::Char(*key));
    }
    let mut turn = keys.iter().cycle();
    bencher.bench_local(move || screen.press(*turn.next().unwrap()));
}

#[divan::bench(args = ENTRIES)]
fn up_and_down(bencher: Bencher<'_, '_>, entries: usize) {
    keys(bencher, entries, &[], &[KeyCode::Char('k'), KeyCode::Char('j')]);
}

/// Unfolds everything: every entry has a row.
#[divan::bench(args = ENTRIES)]
fn to_the_ends_of_all_rows(bencher: Bencher<'_, '_>, entries: usize) {
    keys(bencher, entries, &['+'], &[KeyCode::Char('g'), KeyCode::Char('G')]);
}

#[divan::bench(args = ENTRIES)]
fn a_page_up_and_down(bencher: Bencher<'_, '_>, entries: usize) {
    keys(bencher, entries, &[], &[KeyCode::PageUp, KeyCode::PageDown]);
}

#[divan::bench(args = ENTRIES, sample_count = 20)]
fn folding_all_turns_and_unfolding_them(bencher: Bencher<'_, '_>, entries: usize) {
    keys(bencher, entries, &[], &[KeyCode::Char('-'), KeyCode::Char('+')]);
}

/// Moves the first threshold to and fro under a preview.
#[divan::bench(args = ENTRIES)]
fn a_threshold(bencher: Bencher<'_, '_>, entries: usize) {
    keys(bencher, entries, &['p', '4'], &[KeyCode::Right, KeyCode::Left]);
}

/// One more line in the file, from reading it to the frame that shows it.
#[divan::bench(args = ENTRIES, sample_count = 20)]
fn a_line_is_appended(bencher: Bencher<'_, '_>, entries: usize) {
    let opened = Opened::new(entries, 60);
    let mut file = std::fs::OpenOptions::new().append(true).open(&opened.path).expect("the file");
    writeln!(file, "{}", line(entries, 60)).expect("room");
    let mut screen = Screen::new(opened.app());
    bencher.bench_local(|| screen.event(Event::Opened(Box::new(opened.again()))));
}

/// The row under the cursor, as a person opens it: read, wrapped, coloured where it is in sight, drawn.
#[divan::bench(args = CHARS)]
fn a_body(bencher: Bencher<'_, '_>, chars: usize) {
    let opened = Opened::new(3, chars);
    let mut screen = Screen::new(opened.app());
    let entry = screen.app.selected_entry().expect("a row");
    let _ = ui::highlight::load();
    bencher.bench_local(|| {
        let text = message::read_message(&opened.session, entry, None).map(Arc::new).map_err(Into::into);
        screen.event(Event::Message { epoch: opened.session.epoch, entry, text });
    });
}
