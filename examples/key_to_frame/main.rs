//! Measures the time from a key press to its frame on one transcript:
//! `cargo run --release --example key_to_frame -- FILE.jsonl`.
//!
//! Prints medians in ms over many key presses, with drawing but without the terminal's time.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clawscope::app::App;
use clawscope::app::event::{Event, StoreListing};
use clawscope::app::state::Options;
use clawscope::gateway::env::Environment;
use clawscope::session::list::list_sessions;
use clawscope::session::loading::open;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::ui::render;
use clawscope::ui::theme::{ColourDepth, Theme};
use clawscope::units::Moment;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const SIZE: (u16, u16) = (130, 36);
const PRESSES: usize = 41;

fn main() -> Result<()> {
    let file: PathBuf = std::env::args_os().nth(1).context("one argument is needed: a transcript")?.into();
    let began = Instant::now();
    let mut app = opened(file)?;
    let messages = app.displayed_session().map_or(0, |session| session.context.messages.len());
    let entries = app.displayed_session().map_or(0, |session| session.index.entries.len());
    say(&format!("opened in {:.1} ms: {entries} entries, {messages} messages", ms(began)))?;
    let theme = Theme::load("dark", ColourDepth::True)?;
    let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width: SIZE.0, height: SIZE.1 });
    for (what, keys) in [("cursor", "kj"), ("fold", "  "), ("filter", "pp"), ("slider", "hl")] {
        if what == "slider" {
            for key in "i4jjj".chars() {
                press(&mut app, key);
            }
        }
        let mut times: Vec<f64> = keys
            .chars()
            .cycle()
            .take(PRESSES)
            .map(|key| {
                let began = Instant::now();
                press(&mut app, key);
                buffer.reset();
                render(&app, &theme, &mut buffer);
                ms(began)
            })
            .collect();
        times.sort_by(f64::total_cmp);
        say(&format!("{what:8} median {:.2} ms, slowest {:.2} ms", times[PRESSES / 2], times[PRESSES - 1]))?;
    }
    Ok(())
}

fn opened(file: PathBuf) -> Result<App> {
    let place = StoreLocation::new(&StoreRequest::Path(file), Environment::from_process())?;
    let listed = list_sessions(&place, Moment::ZERO);
    let key = listed.items.first().context("no session there")?.key.clone();
    let session = open(&listed.store, &key, None, Moment::ZERO, &mut |_, _| true)?;
    let mut app = App::new(Options::default(), SIZE);
    app.update(
        Event::Listed(Box::new(StoreListing { items: listed.items, ..StoreListing::default() })),
        Moment::ZERO,
    );
    app.update(Event::Opened(Box::new(session)), Moment::ZERO);
    Ok(app)
}

fn press(app: &mut App, key: char) {
    app.update(Event::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)), Moment::ZERO);
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

fn say(line: &str) -> Result<()> {
    use std::io::Write as _;
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
