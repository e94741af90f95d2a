//! The guard of every call in gateways of 2026.9: each tool result held to a share of the window, texts cut and surplus
//! images left out (pruning 8.7). Chars of texts weigh double here.

use crate::context::tokens::weighted::{GUARD, weighted_length};
use crate::js::{JsString, Value};
use crate::policy::truncate::v2026_9::{other_block_chars, result_chars, truncated_result, with_content};

/// Least that one result may have.
const LEAST_CHARS: f64 = 1024.0;
/// What an image counts.
const IMAGE_CHARS: f64 = 16_000.0;

/// Chars that one result may have for a window in tokens.
pub fn guard_chars(tokens: f64) -> f64 {
    let tokens = if tokens.is_nan() { 1.0 } else { tokens.floor().max(1.0) };
    (tokens * 2.0 * 0.5).floor().max(LEAST_CHARS)
}

/// The copy of a tool result that a window in tokens leaves room for; none when it has room as it is, or is no
/// tool result.
pub fn guarded_result(message: &Value, tokens: f64) -> Option<Value> {
    let limit = guard_chars(tokens);
    if counted_chars(message) <= limit { None } else { fitted_result(message, limit) }
}

/// Chars of a tool result as this guard counts them; 0 for every other message, and for a content that is no list.
pub fn counted_chars(message: &Value) -> f64 {
    let images = blocks(message).iter().filter(|block| is_image(block)).count();
    result_chars(message, GUARD) + others_chars(message) + images as f64 * IMAGE_CHARS
}

/// The blocks of a tool result.
fn blocks(message: &Value) -> &[Value] {
    let is_result = message.get("role").is_some_and(|role| role.str_is("toolResult"));
    message.get("content").and_then(Value::as_array).filter(|_| is_result).unwrap_or_default()
}

/// Chars of the blocks that are neither text nor image.
fn others_chars(message: &Value) -> f64 {
    blocks(message).iter().filter_map(other_block_chars).map(|chars| chars * 2.0).sum()
}

/// The copy of a tool result that is over a limit: the leading images that fit stay, its texts share what is left, its
/// details go. None for a message without blocks.
pub fn fitted_result(message: &Value, limit: f64) -> Option<Value> {
    let images = blocks(message).iter().filter(|block| is_image(block)).count();
    let others = others_chars(message);
    if blocks(message).is_empty() {
        return None;
    }
    let kept = images.min((limit / IMAGE_CHARS).floor() as usize);
    let note = (images > kept).then(|| omitted(images - kept, kept == 0));
    let note_chars = note.as_ref().map_or(0.0, |note| weighted_length(note, GUARD));
    let room = (limit - others - note_chars - kept as f64 * IMAGE_CHARS).max(0.0);
    let cut = truncated_result(message, room, 0.0, GUARD);
    let mut new = cut.unwrap_or_else(|| message.clone());
    let content = new.get("content").and_then(Value::as_array).unwrap_or_default();
    new = with_content(&new, with_images(content, kept, note));
    if let Value::Object(object) = &mut new {
        object.remove("details");
    }
    Some(new)
}

fn is_image(block: &Value) -> bool {
    block.get("type").is_some_and(|kind| kind.str_is("image"))
}

/// The blocks with so many of the leading images, and the note about the others behind them.
fn with_images(blocks: &[Value], kept: usize, note: Option<JsString>) -> Vec<Value> {
    let mut left = kept;
    let stays = |block: &&Value| {
        if !is_image(block) {
            return true;
        }
        let stays = left > 0;
        left -= usize::from(stays);
        stays
    };
    let mut new: Vec<Value> = blocks.iter().filter(stays).cloned().collect();
    new.extend(note.map(|note| {
        let members = [("type", Value::from("text")), ("text", Value::String(note))];
        Value::Object(members.into_iter().collect())
    }));
    new
}

/// The note about images that are left out.
fn omitted(count: usize, none_fits: bool) -> JsString {
    let images = if count == 1 { "image" } else { "images" };
    let none = if none_fits { "; no images fit the context limit" } else { "" };
    format!("[{count} {images} omitted from context{none}; rerun with fewer images]").as_str().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn result(chars: usize, images: usize) -> Value {
        let image = r#",{"type":"image","data":"x"}"#.repeat(images);
        let text = "x".repeat(chars);
        js::parse(&format!(
            r#"{{"role":"toolResult","toolName":"exec","content":[{{"type":"text","text":"{text}"}}{image}],"details":{{"big":1}}}}"#
        ))
        .unwrap()
    }

    fn content(message: &Value) -> (usize, Vec<String>) {
        let blocks = message.get("content").unwrap().as_array().unwrap();
        let texts = blocks.iter().filter_map(|block| Some(block.get("text")?.as_str()?.to_string_lossy()));
        (blocks.iter().filter(|block| is_image(block)).count(), texts.collect())
    }

    #[test]
    fn a_result_may_have_half_the_window_at_double_weight_and_1024_at_least() {
        assert_eq!(
            [200_000.9, 2000.0, 100.0, 0.0, f64::NAN].map(guard_chars),
            [200_000.0, 2000.0, 1024.0, 1024.0, 1024.0]
        );
    }

    #[test]
    fn what_has_room_stays_details_and_all() {
        assert_eq!(guarded_result(&result(1000, 0), 2000.0), None);
        assert_eq!(guarded_result(&result(0, 1), 16_000.0), None);
        assert_eq!(guarded_result(&js::parse(r#"{"role":"user","content":[]}"#).unwrap(), 1.0), None);
    }

    #[test]
    fn a_text_over_the_limit_is_cut_and_details_go() {
        let new = guarded_result(&result(1001, 0), 2000.0).unwrap();
        let (_, texts) = content(&new);
        assert!(texts[0].ends_with("rerun with narrower args if needed]"));
        assert!(weighted_length(&texts[0].as_str().into(), GUARD) <= 2000.0);
        assert!(new.get("details").is_none() && new.get("toolName").is_some());
    }

    #[test]
    fn as_many_images_stay_as_fit_and_the_others_are_counted() {
        let (images, texts) = content(&guarded_result(&result(10, 5), 40_000.0).unwrap());
        assert_eq!((images, texts.len()), (2, 2));
        assert_eq!(texts[1], "[3 images omitted from context; rerun with fewer images]");
        let (images, texts) = content(&guarded_result(&result(10, 1), 2000.0).unwrap());
        assert_eq!(images, 0);
        assert_eq!(
            texts[1],
            "[1 image omitted from context; no images fit the context limit; rerun with fewer images]"
        );
    }
}
