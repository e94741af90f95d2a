//! The guard of every call in gateways since 2026.8.1: holds each tool result to a share of the window, cuts texts and
//! drops surplus images (pruning 8.7). It counts two chars for each plain char.

use crate::context::tokens::weighted::{GUARD_WEIGHT, weighted_length};
use crate::gateway::ruleset::Notice;
use crate::js::{self, JsString, Value};
use crate::policy::truncate::MIN_KEEP_CHARS;
use crate::policy::truncate::replaced_content::with_content;
use crate::policy::truncate::v2026_9::{WeightedCutOptions, truncated_result, truncated_text};
use crate::units::Chars;

/// Weighted chars of an image.
const IMAGE_CHARS: Chars = Chars(16_000.0);

/// Returns the weighted chars of a tool result; 0 for every other message.
pub fn counted_chars(message: &Value) -> Chars {
    if !message.get("role").is_some_and(|role| role.str_is("toolResult")) {
        return Chars::ZERO;
    }
    match message.get("content") {
        Some(Value::String(text)) => weighted_length(text, GUARD_WEIGHT),
        Some(Value::Array(blocks)) => blocks_chars(blocks),
        _ => Chars::ZERO,
    }
}

fn blocks_chars<'a>(blocks: impl IntoIterator<Item = &'a Value>) -> Chars {
    let chars = |block: &Value| match (block_text(block), block) {
        (Some(text), _) => weighted_length(text, GUARD_WEIGHT),
        _ if is_image(block) => IMAGE_CHARS,
        (None, Value::String(text)) => Chars::from_len(text.len()) * 2.0,
        _ => Chars::from_len(js::stringify_len(block)) * 2.0,
    };
    blocks.into_iter().map(chars).sum()
}

fn block_text(block: &Value) -> Option<&JsString> {
    block.get("type").filter(|kind| kind.str_is("text")).and_then(|_| block.get("text")?.as_str())
}

fn is_image(block: &Value) -> bool {
    block.get("type").is_some_and(|kind| kind.str_is("image"))
}

/// Returns the copy of a tool result that is over `limit`: the leading images that fit stay, the texts share the rest,
/// the details are removed. If the blocks of other kinds leave the texts too little room, those blocks are replaced by
/// a note. `None` for a message without content.
pub fn fitted_result(message: &Value, limit: Chars) -> Option<Value> {
    let blocks = match message.get("content")? {
        Value::Array(blocks) => blocks,
        Value::String(text) => {
            let text = truncated_text(text, limit, Chars::ZERO, WeightedCutOptions::GUARD)?;
            let mut new = message.as_object()?.clone();
            new.set("content", Value::String(text));
            new.remove("details");
            return Some(Value::Object(new));
        }
        _ => return None,
    };
    let images = blocks.iter().filter(|block| is_image(block)).count();
    let most = images.min((limit / IMAGE_CHARS).floor() as usize);
    for kept in (0..=most).rev() {
        let stays = with_images(blocks, kept);
        let note = (images > kept).then(|| omitted_images_note(images - kept, kept == 0));
        let fitted = with_limited_texts(message, &stays, note, limit);
        let content = fitted.get("content").and_then(Value::as_array).unwrap_or_default();
        let is_empty = |block: &Value| block_text(block).is_none_or(JsString::is_empty);
        let lost = stays.iter().zip(content).any(|(old, new)| !is_empty(old) && is_empty(new));
        if !lost && counted_chars(&fitted) <= limit {
            return Some(fitted);
        }
    }
    let (texts, others): (Vec<&Value>, Vec<&Value>) =
        blocks.iter().partition(|block| block_text(block).is_some());
    let texts: Vec<Value> = texts.into_iter().cloned().collect();
    let gone = (blocks_chars(others) / 2.0).floor().max(Chars(1.0));
    let note = if images > 0 { omitted_images_note(images, true) } else { Notice::CountAndAdvice.text(gone) };
    Some(with_limited_texts(message, &texts, Some(note), limit))
}

/// Returns a copy with `blocks` and then `note`; the texts share the limit that the other blocks leave.
fn with_limited_texts(message: &Value, blocks: &[Value], note: Option<JsString>, limit: Chars) -> Value {
    let note = note.map(|note| {
        let members = [("type", Value::from("text")), ("text", Value::String(note))];
        Value::Object(members.into_iter().collect())
    });
    let taken = blocks_chars(blocks.iter().filter(|block| block_text(block).is_none()).chain(&note));
    let kept = with_content(message, blocks.to_vec());
    let room = (limit - taken).max(Chars::ZERO);
    let mut new = truncated_result(&kept, room, MIN_KEEP_CHARS, WeightedCutOptions::GUARD).unwrap_or(kept);
    let mut content = new.get("content").and_then(Value::as_array).unwrap_or_default().to_vec();
    content.extend(note);
    new = with_content(&new, content);
    if let Value::Object(object) = &mut new {
        object.remove("details");
    }
    new
}

/// Returns the blocks without the images after the first `kept`.
fn with_images(blocks: &[Value], kept: usize) -> Vec<Value> {
    let mut left = kept;
    let stays = |block: &&Value| {
        if !is_image(block) {
            return true;
        }
        let stays = left > 0;
        left -= usize::from(stays);
        stays
    };
    blocks.iter().filter(stays).cloned().collect()
}

fn omitted_images_note(count: usize, none_fits: bool) -> JsString {
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

    /// Returns the copy of a message that is over a limit, as the guard of a list makes it.
    fn guarded_result(message: &Value, limit: f64) -> Option<Value> {
        if counted_chars(message) > Chars(limit) { fitted_result(message, Chars(limit)) } else { None }
    }

    fn content(message: &Value) -> (usize, Vec<String>) {
        let blocks = message.get("content").unwrap().as_array().unwrap();
        let texts = blocks.iter().filter_map(|block| Some(block.get("text")?.as_str()?.to_string_lossy()));
        (blocks.iter().filter(|block| is_image(block)).count(), texts.collect())
    }

    #[test]
    fn a_result_within_the_limit_keeps_its_details() {
        assert_eq!(guarded_result(&result(1000, 0), 2000.0), None);
        assert_eq!(guarded_result(&result(0, 1), 16_000.0), None);
        assert_eq!(guarded_result(&js::parse(r#"{"role":"user","content":[]}"#).unwrap(), 1.0), None);
    }

    #[test]
    fn a_text_over_the_limit_is_cut_and_its_details_are_removed() {
        let new = guarded_result(&result(1001, 0), 2000.0).unwrap();
        let (_, texts) = content(&new);
        assert!(texts[0].ends_with("rerun with narrower args if needed]"));
        assert!(weighted_length(&texts[0].as_str().into(), GUARD_WEIGHT) <= Chars(2000.0));
        assert!(new.get("details").is_none() && new.get("toolName").is_some());
    }

    #[test]
    fn a_content_that_is_a_text_is_cut_as_one() {
        let text = format!(r#"{{"role":"toolResult","content":"{}","details":{{}}}}"#, "x".repeat(1001));
        let new = guarded_result(&js::parse(&text).unwrap(), 2000.0).unwrap();
        let text = new.get("content").and_then(Value::as_str).unwrap();
        assert!(text.to_string_lossy().ends_with("rerun with narrower args if needed]"));
        assert!(weighted_length(text, GUARD_WEIGHT) <= Chars(2000.0) && new.get("details").is_none());
    }

    #[test]
    fn other_blocks_that_leave_no_room_for_text_are_removed() {
        let text = format!(
            r#"{{"role":"toolResult","content":[{{"type":"text","text":"abc"}},{{"type":"resource","data":"{}"}}]}}"#,
            "x".repeat(2000)
        );
        let (_, texts) = content(&guarded_result(&js::parse(&text).unwrap(), 2000.0).unwrap());
        assert_eq!(texts.len(), 2);
        assert!(
            texts[0] == "abc" && texts[1].starts_with("[... 2029 more characters truncated"),
            "{texts:?}"
        );
    }

    #[test]
    fn images_that_fit_are_kept_and_the_rest_is_counted() {
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
