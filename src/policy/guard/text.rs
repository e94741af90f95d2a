//! The texts that the guard makes (pruning 6.33–6.35).

use crate::js::JsString;
use crate::policy::features::TextMetrics;
use crate::units::Chars;

/// Replaces a text of which nothing may stay, and follows a cut text.
pub(super) const NOTICE: &str = "[truncated: output exceeded context limit]";
/// Replaces a result to free room; 48 chars.
pub const COMPACTED: &str = "[compacted: tool output removed to free context]";
/// A cut falls on a line end beyond this share of the kept text (pruning 6.34).
const NEWLINE_SHARE: f64 = 0.7;

enum TextCut {
    Whole,
    NoticeOnly,
    At(usize),
}

/// Decides the cut of a text for a limit; `last_line_feed` returns the last one at or before a position.
fn cut_position(
    chars: usize,
    max_chars: Chars,
    last_line_feed: impl FnOnce(usize) -> Option<usize>,
) -> TextCut {
    let body = max_chars - Chars::from_len(suffix().len());
    if chars == 0 {
        TextCut::NoticeOnly
    } else if Chars::from_len(chars) <= max_chars {
        TextCut::Whole
    } else if body <= Chars::ZERO {
        TextCut::NoticeOnly
    } else {
        let newline =
            last_line_feed(body.whole() as usize).filter(|at| Chars::from_len(*at) > body * NEWLINE_SHARE);
        TextCut::At(newline.unwrap_or(body.whole() as usize))
    }
}

fn suffix() -> String {
    format!("\n{NOTICE}")
}

/// Cuts a text to a limit. An empty text also becomes the notice (pruning 6.33, 6.34).
pub(super) fn cut_text(text: &JsString, max_chars: Chars) -> JsString {
    match cut_position(text.len(), max_chars, |at| text.last_index_of_lf(at)) {
        TextCut::Whole => text.clone(),
        TextCut::NoticeOnly => NOTICE.into(),
        TextCut::At(at) => {
            let mut new = text.slice(0, at);
            new.push_str(&suffix());
            new
        }
    }
}

/// `cut_text` for the metrics of a text (pruning 6.34).
pub fn cut_metrics(text: &TextMetrics, max_chars: Chars) -> TextMetrics {
    match cut_position(text.chars, max_chars, |at| text.last_line_feed(at)) {
        TextCut::Whole => text.clone(),
        TextCut::NoticeOnly => TextMetrics::of(&NOTICE.into()),
        TextCut::At(at) => text.cut(at, &TextMetrics::of(&suffix().as_str().into())),
    }
}
