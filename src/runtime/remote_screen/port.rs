//! The link of a running screen to its viewer on another machine.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

use super::message::{FrameMessage, ScreenMessage};
use super::pieces::split;
use crate::app::effect::Effect;
use crate::text::shell::pasteable;

/// Frames on their way. One more is drawn only when the viewer has drawn one, so that a slow link shows the newest state
/// instead of a queue of old ones.
const MAX_FRAMES_IN_FLIGHT: u32 = 2;

type Sender = dyn Fn(ScreenMessage) -> io::Result<()> + Send + Sync;

/// Sends the messages of a screen.
#[derive(Clone)]
pub struct RemotePort {
    sender: Arc<Sender>,
    in_flight: Arc<AtomicU32>,
    drawn: Arc<Notify>,
}

impl fmt::Debug for RemotePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemotePort").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

impl RemotePort {
    pub fn new(send: impl Fn(ScreenMessage) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { sender: Arc::new(send), in_flight: Arc::default(), drawn: Arc::default() }
    }

    /// The viewer has drawn a frame.
    pub fn on_drawn(&self) {
        // A viewer that reports more than it got is not to be believed.
        let fewer = |count: u32| count.checked_sub(1);
        if self.in_flight.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer).is_ok() {
            self.drawn.notify_one();
        }
    }

    /// Whether another frame may be sent.
    pub(in crate::runtime) fn is_ready(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) < MAX_FRAMES_IN_FLIGHT
    }

    /// Waits until the viewer has drawn a frame.
    pub(in crate::runtime) async fn wait_drawn(&self) {
        self.drawn.notified().await;
    }

    pub(in crate::runtime) fn send_frame(&self, frame: FrameMessage) -> io::Result<()> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        (self.sender)(ScreenMessage::Frame(frame))
    }

    /// Saves a text to a new file of the viewer, which reports the outcome.
    pub(in crate::runtime) fn save(&self, name: &str, text: &str) {
        let name = name.to_owned();
        self.send_text(text, |text| ScreenMessage::Save { name, text });
    }

    /// Lets the viewer perform an effect on its terminal and its machine; returns any other effect.
    pub(in crate::runtime) fn forward(&self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Copy { text, label } => {
                let label = label.to_owned();
                self.send_text(&pasteable(&text), |text| ScreenMessage::Copy { text, label });
            }
            Effect::ShowInPager(text) => self.send_text(&text, |text| ScreenMessage::Page { text }),
            Effect::SaveFile { name, text } => self.save(&name, &text),
            Effect::Alert(alert) => self.send(ScreenMessage::Alert((&alert).into())),
            Effect::CaptureMouse(on) => self.send(ScreenMessage::CaptureMouse(on)),
            other => return Some(other),
        }
        None
    }

    fn send_text(&self, text: &str, message: impl FnOnce(String) -> ScreenMessage) {
        let pieces = split(text);
        let (last, first) = pieces.split_last().map_or(("", &[][..]), |(last, first)| (*last, first));
        for piece in first {
            self.send(ScreenMessage::Piece((*piece).to_owned()));
        }
        self.send(message(last.to_owned()));
    }

    fn send(&self, message: ScreenMessage) {
        // A link that ended is reported by the next frame.
        drop((self.sender)(message));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn port() -> (RemotePort, Arc<Mutex<Vec<ScreenMessage>>>) {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&sent);
        let port = RemotePort::new(move |message| {
            own.lock().unwrap().push(message);
            Ok(())
        });
        (port, sent)
    }

    #[test]
    fn frames_wait_for_a_slow_viewer() {
        let (port, _) = port();
        for _ in 0..MAX_FRAMES_IN_FLIGHT {
            assert!(port.is_ready());
            port.send_frame(FrameMessage::default()).unwrap();
        }
        assert!(!port.is_ready());
        port.on_drawn();
        assert!(port.is_ready());
        for _ in 0..9 {
            port.on_drawn();
        }
        assert_eq!(port.in_flight.load(Ordering::Acquire), 0);
    }

    #[test]
    fn only_effects_for_the_person_go_to_the_viewer() {
        let (port, sent) = port();
        assert!(port.forward(Effect::Quit).is_some());
        assert!(port.forward(Effect::Copy { text: "a\u{1b}b".into(), label: "id" }).is_none());
        let sent = sent.lock().unwrap();
        assert_eq!(*sent, [ScreenMessage::Copy { text: "a␛b".into(), label: "id".into() }]);
    }
}
