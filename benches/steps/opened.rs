//! A transcript opened as the program opens it, and its screen without a terminal.

#![allow(
    dead_code,
    clippy::expect_used,
    reason = "each program uses its own part of it, and stops where it cannot begin"
)]

use std::path::Path;
use std::sync::Arc;

use clawscope::app::App;
use clawscope::app::effect::Effect;
use clawscope::app::event::{Event, StoreListing};
use clawscope::app::state::Options;
use clawscope::gateway::env::Environment;
use clawscope::session::list::{SessionListing, list_sessions};
use clawscope::session::loading::open;
use clawscope::session::message::excerpt::read_excerpt;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::session::{LoadedSession, message};
use clawscope::ui::render;
use clawscope::ui::theme::{ColourDepth, Theme};
use clawscope::units::Moment;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Lists a place before any transcript is read.
pub(crate) fn listed(path: &Path) -> SessionListing {
    let place =
        StoreLocation::new(&StoreRequest::Path(path.into()), Environment::default()).expect("a place");
    list_sessions(&place, Moment::ZERO)
}

/// The first session of a place.
pub(crate) fn opened(path: &Path) -> LoadedSession {
    let listed = listed(path);
    let item = listed.items.first().expect("a session");
    open(&listed.store, &item.key, None, Moment::ZERO, &mut |_, _| true).expect("it opens")
}

/// The program on one session: events in, cells out.
pub(crate) struct Screen {
    app: App,
    theme: Theme,
    cells: Buffer,
}

impl Screen {
    pub(crate) fn of(path: &Path) -> Self {
        const SIZE: (u16, u16) = (130, 36);
        let listed = listed(path);
        let session = opened(path);
        let mut screen = Self {
            app: App::new(Options::default(), SIZE),
            theme: Theme::load("dark", ColourDepth::True).expect("a theme"),
            cells: Buffer::empty(Rect { x: 0, y: 0, width: SIZE.0, height: SIZE.1 }),
        };
        screen
            .event(Event::Listed(Box::new(StoreListing { items: listed.items, ..StoreListing::default() })));
        screen.event(Event::Opened(Box::new(session)));
        screen.draw();
        screen
    }

    /// Takes an event and performs its effects on the texts on screen.
    fn event(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            events.extend(self.app.update(event, Moment::ZERO).into_iter().filter_map(perform));
        }
    }

    pub(crate) fn press(&mut self, code: KeyCode) {
        self.event(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        keys.chars().for_each(|key| self.press(KeyCode::Char(key)));
    }

    pub(crate) fn draw(&mut self) {
        self.cells.reset();
        render(&self.app, &self.theme, &mut self.cells);
    }

    /// Returns the characters on screen, so that a check can read them.
    pub(crate) fn text(&self) -> String {
        let width = usize::from(self.cells.area.width);
        let lines = self.cells.content.chunks(width);
        lines.map(|line| line.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
    }
}

fn perform(effect: Effect) -> Option<Event> {
    match effect {
        Effect::ReadExcerpts { session, entries } => {
            let text =
                |entry| (entry, read_excerpt(&session.source, &session.index, entry).unwrap_or_default());
            Some(Event::Excerpts { epoch: session.epoch, items: entries.into_iter().map(text).collect() })
        }
        Effect::ReadMessage { session, entry, plan } => {
            let text = message::read_message(&session, entry, plan.as_deref());
            let text = text.map(Arc::new).map_err(Into::into);
            Some(Event::Message { epoch: session.epoch, entry, text })
        }
        _ => None,
    }
}
