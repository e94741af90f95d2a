//! Converts keys, mouse and pastes to events of the state machine.

use std::time::Duration;
use std::{io, thread};

use crossterm::event::{
    Event as TerminalEvent, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind,
};
use futures_util::StreamExt;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::app::event::Event;

/// Time that [`Input::stop`] gives the thread that reads.
const STOP_WAIT: Duration = Duration::from_millis(300);

/// Reads the terminal in a separate thread, until stopped. After an unfinished sequence, the terminal library blocks until
/// the rest arrives, and the screen must not wait for that.
#[derive(Debug)]
pub(super) struct Input {
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
    receiver: UnboundedReceiver<TerminalEvent>,
    late_response: LateResponse,
}

impl Input {
    /// Starts to read. `unanswered`: the terminal may still answer a query, and that answer is not typing.
    ///
    /// # Errors
    /// The system starts no thread.
    pub(super) fn start(unanswered: bool) -> io::Result<Self> {
        let (sender, receiver) = unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let runtime = Builder::new_current_thread().build()?;
        thread::Builder::new().name("input".to_owned()).spawn(move || {
            runtime.block_on(forward(&sender, stopped));
            // Nobody waits for the end unless the input is stopped.
            drop(end);
        })?;
        let late_response = LateResponse { is_expected: unanswered, is_inside: false };
        Ok(Self { stop, ended, receiver, late_response })
    }

    /// Stops reading, so that another program may read. Inside an unfinished sequence the thread reads on, because nothing
    /// can interrupt its read.
    pub(super) async fn stop(self) {
        drop(self.stop);
        // After the time limit the thread is blocked in a read, and waiting longer would freeze the screen.
        drop(timeout(STOP_WAIT, self.ended).await);
    }

    /// Returns the next event; `None` when the terminal is closed.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.receiver.recv().await?;
            if let Some(event) = self.convert(event) {
                return Some(event);
            }
        }
    }

    /// Returns an event that is ready.
    pub(super) fn try_next(&mut self) -> Option<Event> {
        while let Ok(event) = self.receiver.try_recv() {
            if let Some(event) = self.convert(event) {
                return Some(event);
            }
        }
        None
    }

    fn convert(&mut self, event: TerminalEvent) -> Option<Event> {
        if self.late_response.consumes(&event) { None } else { from_terminal_event(event) }
    }
}

/// Passes on what the terminal sends, until it is closed or `stopped` is dropped.
async fn forward(sender: &UnboundedSender<TerminalEvent>, mut stopped: oneshot::Receiver<()>) {
    let mut stream = EventStream::new();
    loop {
        let event = tokio::select! {
            biased;
            _ = &mut stopped => return,
            event = stream.next() => event,
        };
        let Some(Ok(event)) = event else { return };
        if sender.send(event).is_err() {
            return;
        }
    }
}

/// Converts an event; ignores key releases and movements without a button.
fn from_terminal_event(event: TerminalEvent) -> Option<Event> {
    match event {
        TerminalEvent::Key(key) if key.kind != KeyEventKind::Release => Some(Event::Key(key)),
        TerminalEvent::Mouse(mouse) if mouse.kind != MouseEventKind::Moved => Some(Event::Mouse(mouse)),
        TerminalEvent::Paste(text) => Some(Event::Paste(text)),
        TerminalEvent::Resize(width, height) => Some(Event::Resize { width, height }),
        _ => None,
    }
}

/// Filters a late answer to the background query. The terminal library delivers it as typed keys, `alt-]` and then
/// text up to BEL or ST, which must not act as keys.
#[derive(Debug, Clone, Copy)]
struct LateResponse {
    is_expected: bool,
    is_inside: bool,
}

impl LateResponse {
    fn consumes(&mut self, event: &TerminalEvent) -> bool {
        let TerminalEvent::Key(key) = event else { return false };
        let with = |code, modifiers| key.code == KeyCode::Char(code) && key.modifiers == modifiers;
        if !self.is_inside {
            self.is_inside = self.is_expected && with(']', KeyModifiers::ALT);
            self.is_expected &= !self.is_inside;
            return self.is_inside;
        }
        let ends = with('g', KeyModifiers::CONTROL) || with('\\', KeyModifiers::ALT);
        let is_text = matches!(key.code, KeyCode::Char(_)) && !key.modifiers.contains(KeyModifiers::CONTROL);
        self.is_inside = !ends && is_text;
        ends || is_text
    }
}

/// Returns ctrl-c as a key: the system delivers it as a signal (see [`super::terminal_modes`]).
pub(super) fn interrupt_key() -> Event {
    Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL))
}

/// Whether the key is ctrl-z: in raw mode it is a plain key and no signal.
pub(super) fn is_suspend_key(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    cfg!(unix) && key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL
}

#[cfg(test)]
mod tests {
    use crossterm::event::MouseEvent;

    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> TerminalEvent {
        TerminalEvent::Key(KeyEvent::new(code, modifiers))
    }

    fn swallowed(answer: &mut LateResponse, keys: &[(char, KeyModifiers)]) -> Vec<bool> {
        keys.iter().map(|(char, with)| answer.consumes(&key(KeyCode::Char(*char), *with))).collect()
    }

    #[test]
    fn a_late_terminal_response_is_swallowed_and_later_keys_are_not() {
        let none = KeyModifiers::NONE;
        let keys = [
            ('j', none),
            (']', KeyModifiers::ALT),
            ('1', none),
            ('q', none),
            ('g', KeyModifiers::CONTROL),
            ('q', none),
            (']', KeyModifiers::ALT),
        ];
        let mut answer = LateResponse { is_expected: true, is_inside: false };
        assert_eq!(swallowed(&mut answer, &keys), [false, true, true, true, true, false, false]);
        let mut nothing_asked = LateResponse { is_expected: false, is_inside: false };
        assert_eq!(swallowed(&mut nothing_asked, &keys), [false; 7]);
    }

    #[test]
    fn ctrl_c_ends_a_late_terminal_response_without_an_end() {
        let keys = [(']', KeyModifiers::ALT), ('1', KeyModifiers::NONE), ('c', KeyModifiers::CONTROL)];
        let mut answer = LateResponse { is_expected: true, is_inside: false };
        assert_eq!(swallowed(&mut answer, &keys), [true, true, false]);
    }

    #[test]
    fn mouse_movements_and_key_releases_are_ignored() {
        let moved =
            MouseEvent { kind: MouseEventKind::Moved, column: 1, row: 1, modifiers: KeyModifiers::NONE };
        assert!(from_terminal_event(TerminalEvent::Mouse(moved)).is_none());
        let mut released = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        released.kind = KeyEventKind::Release;
        assert!(from_terminal_event(TerminalEvent::Key(released)).is_none());
        assert!(from_terminal_event(TerminalEvent::FocusGained).is_none());
        assert!(matches!(from_terminal_event(TerminalEvent::Paste("x".into())), Some(Event::Paste(_))));
    }
}
