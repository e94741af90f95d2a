//! Long texts in pieces, because a line of the link has a limit.

use super::message::{InvalidMessage, ScreenMessage};

/// Bytes of one piece.
const MAX_PIECE_BYTES: usize = 1 << 16;
/// Bytes of a text in all its pieces.
const MAX_TEXT_BYTES: usize = 256 << 20;

/// Splits a text at character boundaries; the last piece may be empty.
pub(super) fn split(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while rest.len() > MAX_PIECE_BYTES {
        let (piece, next) = rest.split_at(rest.floor_char_boundary(MAX_PIECE_BYTES));
        pieces.push(piece);
        rest = next;
    }
    pieces.push(rest);
    pieces
}

/// Collects the pieces of a text.
#[derive(Debug, Default)]
pub(super) struct Pieces(String);

impl Pieces {
    /// Completes the text of a message with the pieces before it; `None` for a piece, and an error when a text is too long.
    pub(super) fn accept(&mut self, message: ScreenMessage) -> Result<Option<ScreenMessage>, InvalidMessage> {
        let whole = |held: &mut Self, text: String| {
            let mut whole = std::mem::take(&mut held.0);
            whole.push_str(&text);
            whole
        };
        Ok(Some(match message {
            ScreenMessage::Piece(text) => {
                if self.0.len() + text.len() > MAX_TEXT_BYTES {
                    return Err(InvalidMessage::LongText { limit: MAX_TEXT_BYTES });
                }
                self.0.push_str(&text);
                return Ok(None);
            }
            ScreenMessage::Copy { text, label } => ScreenMessage::Copy { text: whole(self, text), label },
            ScreenMessage::Page { text } => ScreenMessage::Page { text: whole(self, text) },
            ScreenMessage::Save { name, text } => ScreenMessage::Save { name, text: whole(self, text) },
            other => other,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_arrives_completely() {
        let text = "aé漢🦀".repeat(50_000);
        let split = split(&text);
        assert!(split.len() > 5 && split.iter().all(|piece| piece.len() <= MAX_PIECE_BYTES));
        let mut pieces = Pieces::default();
        let (last, first) = split.split_last().unwrap();
        for piece in first {
            assert_eq!(pieces.accept(ScreenMessage::Piece((*piece).to_owned())), Ok(None));
        }
        let page = pieces.accept(ScreenMessage::Page { text: (*last).to_owned() });
        assert_eq!(page, Ok(Some(ScreenMessage::Page { text })));
    }

    #[test]
    fn a_text_without_an_end_is_refused() {
        let mut pieces = Pieces(" ".repeat(MAX_TEXT_BYTES));
        let refused = pieces.accept(ScreenMessage::Piece("x".into())).unwrap_err();
        assert_eq!(refused.to_string(), "it sent a text of more than 256 MB");
    }
}
