//! The texts the guard makes (pruning 6.33–6.35).

use crate::js::JsString;
use crate::policy::texture::Text;

/// Stands for a text of which nothing may stay, and follows one that was cut.
pub(super) const NOTICE: &str = "[truncated: output exceeded context limit]";
/// Stands for a result that gave way; 48 chars.
pub const COMPACTED: &str = "[compacted: tool output removed to free context]";
/// A line end is preferred when it stands beyond this share of what may stay (pruning 6.34).
const NEWLINE_SHARE: f64 = 0.7;

/// What becomes of a text.
enum Cut {
    Whole,
    NoticeAlone,
    At(usize),
}

/// Where a text of this many chars is cut for a limit; `last_line_feed` finds the last one at or before a position.
fn cut(chars: usize, max_chars: f64, last_line_feed: impl FnOnce(usize) -> Option<usize>) -> Cut {
    let body = max_chars - suffix().len() as f64;
    if chars == 0 {
        Cut::NoticeAlone
    } else if chars as f64 <= max_chars {
        Cut::Whole
    } else if body <= 0.0 {
        Cut::NoticeAlone
    } else {
        let newline = last_line_feed(body as usize).filter(|at| *at as f64 > body * NEWLINE_SHARE);
        Cut::At(newline.unwrap_or(body as usize))
    }
}

fn suffix() -> String {
    format!("\n{NOTICE}")
}

/// A text held to a limit; of an empty one the notice stays, as if something had been there (pruning 6.33, 6.34).
pub(super) fn cut_text(text: &JsString, max_chars: f64) -> JsString {
    match cut(text.len(), max_chars, |at| text.last_index_of_lf(at)) {
        Cut::Whole => text.clone(),
        Cut::NoticeAlone => NOTICE.into(),
        Cut::At(at) => {
            let mut new = text.slice(0, at);
            new.push_str(&suffix());
            new
        }
    }
}

/// The same for a text that is known by its texture (pruning 6.34).
pub fn cut_texture(text: &Text, max_chars: f64) -> Text {
    match cut(text.chars, max_chars, |at| text.last_line_feed(at)) {
        Cut::Whole => text.clone(),
        Cut::NoticeAlone => Text::of(&NOTICE.into()),
        Cut::At(at) => text.cut(at, &Text::of(&suffix().as_str().into())),
    }
}
