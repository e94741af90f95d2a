//! The messages between a screen's program and its viewer on another machine.

use crossterm::event::{KeyEvent, MouseEvent};
use serde::{Deserialize, Serialize};

use crate::ids::SessionKey;
use crate::session::fullness_alert::FullnessAlert;
use crate::units::Moment;

/// A message of the program to the viewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ScreenMessage {
    /// The cells that changed. The viewer answers with [`PersonMessage::Drawn`].
    Frame(FrameMessage),
    /// Captures the mouse, or leaves it to the terminal.
    CaptureMouse(bool),
    /// A piece of the text of the next message, which completes it.
    Piece(String),
    /// Copies text to the clipboard.
    Copy {
        text: String,
        /// A noun for the text.
        label: String,
    },
    /// Shows a text in the pager.
    Page { text: String },
    /// Saves a text to a new file in the working directory of the viewer.
    Save { name: String, text: String },
    /// Raises an alert outside the screen.
    Alert(AlertMessage),
}

/// A message that no clawscope sends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidMessage {
    /// `limit` in bytes.
    #[error("it sent a text of more than {} MB", limit >> 20)]
    LongText { limit: usize },
    #[error("it sent a run without a style")]
    NoStyle,
    #[error("it sent an unknown colour")]
    Colour,
    #[error("it sent an unknown modifier")]
    Modifier,
}

/// Changed cells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FrameMessage {
    /// Whether all other cells become empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clear: bool,
    /// The styles that the runs use.
    pub styles: Vec<RunStyle>,
    pub runs: Vec<Run>,
    /// The place of the cursor, if it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<(u16, u16)>,
}

/// Cells of one row with one style: column, row, index of the style, and their text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run(pub u16, pub u16, pub usize, pub String);

/// Foreground, background and underline colour by name, and the bits of the modifiers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunStyle(pub String, pub String, pub String, pub u16);

/// A session that crossed a share of its window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AlertMessage {
    key: String,
    tokens: u64,
    is_estimate: bool,
    window: u64,
    level: f64,
    at_ms: i64,
}

impl From<&FullnessAlert> for AlertMessage {
    fn from(alert: &FullnessAlert) -> Self {
        let FullnessAlert { key, tokens, is_estimate, window, level, at_ms } = alert.clone();
        Self { key: key.0, tokens, is_estimate, window, level, at_ms: at_ms.whole() }
    }
}

impl From<AlertMessage> for FullnessAlert {
    fn from(alert: AlertMessage) -> Self {
        let AlertMessage { key, tokens, is_estimate, window, level, at_ms } = alert;
        Self { key: SessionKey(key), tokens, is_estimate, window, level, at_ms: Moment::from_whole(at_ms) }
    }
}

/// A message of the viewer to the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum PersonMessage {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize {
        width: u16,
        height: u16,
    },
    /// A frame is on the terminal.
    Drawn,
    /// A success for the status line.
    Notice(String),
    /// A failure for the status line.
    Failure(String),
}
