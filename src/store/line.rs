//! One line of a transcript: which of its ends the runtime trims, whether it is blank, and its value.

use crate::js::{self, JsString};
use crate::store::index::{Index, OpenStatus};

/// Ends of a line to trim, as the runtime trims the whole text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trim {
    None,
    Start,
    End,
    /// The last line is also the first.
    Both,
}

impl Trim {
    /// Returns the trim for the last line of a file.
    pub(super) fn for_last_line(index: &Index) -> Self {
        if index.open_status == OpenStatus::Empty { Self::Both } else { Self::End }
    }

    pub(super) fn trims_start(self) -> bool {
        matches!(self, Self::Start | Self::Both)
    }

    pub(super) fn trims_end(self) -> bool {
        matches!(self, Self::End | Self::Both)
    }
}

/// Parses one line as the runtime does: invalid UTF-8 becomes U+FFFD (store I1a).
pub(crate) fn parse_line(bytes: &[u8], trim: Trim) -> Result<js::Value, js::SyntaxError> {
    let text = js::utf8_lossy(bytes);
    let mut text: &str = &text;
    if trim.trims_start() {
        text = text.trim_start_matches(js::is_trimmed);
    }
    if trim.trims_end() {
        text = text.trim_end_matches(js::is_trimmed);
    }
    if text.len() > js::MAX_LINE_VALUES {
        js::Outline::default().read(text)?;
    }
    js::parse(text)
}

/// Whether the line is empty after the ECMAScript trim (pruning 0.3).
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    match bytes.first() {
        None => true,
        Some(b'{') => false,
        Some(_) => JsString::from(&*js::utf8_lossy(bytes)).is_blank(),
    }
}
