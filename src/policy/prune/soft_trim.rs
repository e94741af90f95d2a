//! The texts that pruning makes: head, tail and note of a trimmed result, and the placeholder of a cleared one (pruning
//! 5.7, 5.10).

use crate::gateway::pruning::SoftTrim;
use crate::gateway::ruleset::ImageResults;
use crate::js::{self, JsException, JsString, Object, Value};
use crate::policy::features::{ContentBlock, ContentFeatures, ResultContent, TextMetrics};
use crate::store::entry::ToolResultSize;
use crate::store::measure::{blocks, is_block_type};
use crate::units::Chars;

/// Separates head and tail.
const GAP: &str = "\n...\n";

/// Replaces an image of a trimmed result, in versions that trim results with images (pruning 8.1).
const IMAGE_MARKER: &str = "[image removed during context pruning]";

/// Returns the joined chars of a result as trimming counts them: with a line for each image, if the version replaces
/// images (pruning 8.1).
#[inline]
pub fn trimmable_chars(settings: &SoftTrim, size: &ToolResultSize) -> Chars {
    if settings.images == ImageResults::Skipped || size.images == 0 {
        return size.joined_chars;
    }
    let images = f64::from(size.images);
    let joins = if size.text_blocks > 0 { images } else { images - 1.0 };
    size.joined_chars + Chars::from_len(IMAGE_MARKER.len()) * images + Chars(joins)
}

/// Words of the note after a trimmed result; the lengths of head, tail and result are between them.
const NOTE: [&str; 4] =
    ["\n\n[Tool result trimmed: kept first ", " chars and last ", " chars of ", " chars.]"];

fn note(settings: &SoftTrim, joined_chars: Chars) -> String {
    let [first, last, of, end] = NOTE;
    let [head, tail, joined] =
        [settings.head_chars, settings.tail_chars, joined_chars].map(|chars| js::number_text(chars.get()));
    format!("{first}{head}{last}{tail}{of}{joined}{end}")
}

/// Returns the number of chars in JavaScript's text of a number.
#[inline]
fn number_chars(number: Chars) -> usize {
    let number = number.get();
    let whole = number as u64;
    if whole as f64 == number && (1..1_000_000_000_000_000).contains(&whole) {
        return whole.ilog10() as usize + 1;
    }
    formatted_number_chars(number)
}

#[cold]
fn formatted_number_chars(number: f64) -> usize {
    js::number_text(number).len()
}

/// Computes the length of trimmed results from sizes alone; a preview does this for every result.
#[derive(Debug, Clone, Copy)]
pub struct SoftTrimmer<'a> {
    settings: &'a SoftTrim,
    /// Chars of the gap and of the note without the length of the result.
    fixed_chars: usize,
}

impl<'a> SoftTrimmer<'a> {
    pub fn new(settings: &'a SoftTrim) -> Self {
        let words = NOTE.iter().map(|words| words.len()).sum::<usize>();
        let numbers = number_chars(settings.head_chars) + number_chars(settings.tail_chars);
        Self { settings, fixed_chars: GAP.len() + words + numbers }
    }

    /// Returns the chars of a candidate after trimming; `None` if it stays unchanged. Undefined for results with texts
    /// that are not strings.
    #[inline]
    pub fn chars_after(&self, size: &ToolResultSize) -> Option<Chars> {
        let joined = trimmable_chars(self.settings, size);
        if is_trimmed(self.settings, joined) {
            return Some(self.trimmed_chars(joined));
        }
        // Not trimmed: only the images are replaced.
        (size.images > 0).then_some(joined)
    }

    #[inline]
    fn trimmed_chars(&self, joined_chars: Chars) -> Chars {
        let SoftTrim { head_chars, tail_chars, .. } = self.settings;
        *head_chars + *tail_chars + Chars::from_len(self.fixed_chars + number_chars(joined_chars))
    }
}

/// Whether a result of this joined length is trimmed: it is longer than the limit, and than head and tail together.
/// True for NaN (pruning 5.4, 5.7).
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN length passes both tests, as it does upstream")]
#[inline]
pub(super) fn is_trimmed(settings: &SoftTrim, joined_chars: Chars) -> bool {
    !(joined_chars <= settings.max_chars) && !(settings.head_chars + settings.tail_chars >= joined_chars)
}

/// Whether a result is over the limit but covered by head and tail.
pub(super) fn is_covered(settings: &SoftTrim, joined_chars: Chars) -> bool {
    joined_chars > settings.max_chars && settings.head_chars + settings.tail_chars >= joined_chars
}

/// Returns the metrics of the joined text as trimming reads it: with a line for each image, if the version replaces
/// images.
pub(in crate::policy) fn joined_metrics(settings: &SoftTrim, features: &ContentFeatures) -> TextMetrics {
    let ResultContent::Blocks(blocks) = &features.content else { return TextMetrics::joined([]) };
    if settings.images == ImageResults::Skipped {
        return TextMetrics::joined(features.texts());
    }
    let marker = TextMetrics::of(&IMAGE_MARKER.into());
    TextMetrics::joined(blocks.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text),
        ContentBlock::Image => Some(&marker),
        ContentBlock::Other { .. } => None,
    }))
}

/// Returns the metrics of a trimmed result from those of its joined text. If only images are replaced, they are the
/// same.
pub(in crate::policy) fn trimmed_metrics(settings: &SoftTrim, joined: &TextMetrics) -> TextMetrics {
    if !is_trimmed(settings, Chars::from_len(joined.chars)) {
        return joined.clone();
    }
    let head = joined.cut(settings.head_chars.whole() as usize, &TextMetrics::of(&GAP.into()));
    let tail = joined.tail(settings.tail_chars.whole() as usize);
    let note = TextMetrics::of(&note(settings, Chars::from_len(joined.chars)).as_str().into());
    head.cut(head.chars, &tail.cut(tail.chars, &note))
}

/// Returns the trimmed copy of a tool result; `None` if it is not trimmed. A malformed text block counts as its JSON in
/// versions that read it so (pruning 8.1, releases R14).
///
/// # Errors
/// If head or tail of a text that is not a string cannot be taken.
pub fn soft_trimmed_message(message: &Value, settings: &SoftTrim) -> Result<Option<Value>, JsException> {
    let reads_odd = matches!(settings.images, ImageResults::Replaced { odd_texts: true, .. });
    let plain = reads_odd.then(|| with_plain_texts(message));
    let message = plain.as_ref().unwrap_or(message);
    let marker = Value::from(IMAGE_MARKER);
    let (mut parts, mut has_image) = (Vec::new(), false);
    for block in blocks(message.get("content"))? {
        if is_block_type(block, "image")? {
            if settings.images == ImageResults::Skipped {
                return Ok(None);
            }
            has_image = true;
            parts.push(&marker);
        }
        if is_block_type(block, "text")? {
            parts.push(block.get("text").ok_or(JsException)?);
        }
    }
    let joined_chars = joined_chars(&parts)?;
    if is_trimmed(settings, joined_chars) {
        return Ok(Some(with_text(message, head_tail_and_note(&parts, settings, joined_chars)?)));
    }
    // Short enough, but the images are replaced.
    Ok(if has_image { Some(with_text(message, head(&parts, joined_chars)?)) } else { None })
}

/// Replaces malformed text blocks with text blocks that hold their JSON, and drops nulls.
fn with_plain_texts(message: &Value) -> Value {
    let Some(blocks) = message.get("content").and_then(Value::as_array) else { return message.clone() };
    let plain = |block: &Value| {
        let is_text = block.get("type").is_some_and(|kind| kind.str_is("text"));
        match block {
            Value::Object(object)
                if is_text && block.get("text").is_none_or(|text| text.as_str().is_none()) =>
            {
                let mut object = object.clone();
                object.set("text", Value::from(js::stringify(block)));
                Value::Object(object)
            }
            _ => block.clone(),
        }
    };
    let blocks = blocks.iter().filter(|block| !block.is_null()).map(plain).collect();
    let mut copy = message.as_object().cloned().unwrap_or_default();
    copy.set("content", Value::Array(blocks));
    Value::Object(copy)
}

/// Builds head, tail and note. In versions that keep surrogate pairs whole, half a pair is dropped, so the text is up
/// to two chars shorter than [`SoftTrimmer`] predicts.
fn head_tail_and_note(
    parts: &[&Value],
    settings: &SoftTrim,
    joined_chars: Chars,
) -> Result<JsString, JsException> {
    let (mut head, mut tail) = (head(parts, settings.head_chars)?, tail(parts, settings.tail_chars)?);
    if let ImageResults::Replaced { whole_pairs: true, .. } = settings.images {
        let half =
            |unit: Option<&u16>, first: u16| unit.is_some_and(|unit| (first..first + 0x400).contains(unit));
        head = head.slice(0, head.len() - usize::from(half(head.units().last(), 0xD800)));
        tail = tail.slice(usize::from(half(tail.units().first(), 0xDC00)), tail.len());
    }
    head.push_str(GAP);
    head.push(&tail);
    head.push_str(&note(settings, joined_chars));
    Ok(head)
}

pub fn cleared_message(message: &Value, placeholder: &JsString) -> Value {
    with_text(message, placeholder.clone())
}

/// Returns a copy whose content is a single text block; other keys keep their order (pruning 0.5).
fn with_text(message: &Value, text: JsString) -> Value {
    let mut block = Object::default();
    block.set("type", Value::from("text"));
    block.set("text", Value::String(text));
    let mut copy = message.as_object().cloned().unwrap_or_default();
    copy.set("content", Value::Array(vec![Value::Object(block)]));
    Value::Object(copy)
}

fn joined_chars(parts: &[&Value]) -> Result<Chars, JsException> {
    let joins = Chars::from_len(parts.len().saturating_sub(1));
    parts.iter().try_fold(Chars::ZERO, |sum, part| Ok(sum + length(part)?)).map(|sum| sum + joins)
}

fn length(part: &Value) -> Result<Chars, JsException> {
    js::length_of(Some(part)).map(Chars)
}

/// Takes the first chars of the joined parts. Walks part by part, so that malformed parts beyond the head do not fail.
fn head(parts: &[&Value], chars: Chars) -> Result<JsString, JsException> {
    let mut left = chars;
    let mut text = JsString::default();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 && left > Chars::ZERO {
            text.push_str("\n");
            left -= Chars(1.0);
        }
        if left <= Chars::ZERO {
            break;
        }
        let length = length(part)?;
        if length <= left {
            text.push(&js::to_text(Some(part)));
            left -= length;
        } else {
            text.push(&slice(part, 0, left.whole() as usize)?);
            break;
        }
    }
    Ok(text)
}

fn tail(parts: &[&Value], chars: Chars) -> Result<JsString, JsException> {
    let mut left = chars;
    let mut pieces = Vec::new();
    for (at, part) in parts.iter().enumerate().rev() {
        if left <= Chars::ZERO {
            break;
        }
        let length = length(part)?;
        if length <= left {
            pieces.push(js::to_text(Some(part)));
            left -= length;
        } else {
            let length = length.whole() as usize;
            pieces.push(slice(part, length.saturating_sub(left.whole() as usize), length)?);
            break;
        }
        if left > Chars::ZERO && at > 0 {
            pieces.push(JsString::from("\n"));
            left -= Chars(1.0);
        }
    }
    let mut text = JsString::default();
    pieces.iter().rev().for_each(|piece| text.push(piece));
    Ok(text)
}

/// Slices a string, or an array turned into a string; every other value fails.
fn slice(part: &Value, from: usize, to: usize) -> Result<JsString, JsException> {
    match part {
        Value::String(text) => Ok(text.slice(from, to)),
        Value::Array(items) => {
            let (from, to) = (from.min(items.len()), to.min(items.len()));
            Ok(js::to_text(Some(&Value::Array(items[from..to].to_vec()))))
        }
        _ => Err(JsException),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::scan::measure_message;

    /// Trims a result of these parts with a limit of 5 and removes the note.
    fn trimmed(parts: &[&str], head_chars: f64, tail_chars: f64) -> Option<Vec<u16>> {
        let blocks = parts.iter().map(|part| {
            let mut block = Object::default();
            block.set("type", Value::from("text"));
            block.set("text", Value::from(*part));
            Value::Object(block)
        });
        let mut message = Object::default();
        message.set("content", Value::Array(blocks.collect()));
        let settings = SoftTrim {
            max_chars: Chars(5.0),
            head_chars: Chars(head_chars),
            tail_chars: Chars(tail_chars),
            images: ImageResults::Skipped,
        };
        let new = soft_trimmed_message(&Value::Object(message), &settings).expect("strings do not throw")?;
        let text = new.get("content")?.as_array()?.first()?.get("text")?.as_str()?.clone();
        let joined: f64 = parts.iter().map(|part| part.encode_utf16().count() as f64).sum::<f64>()
            + parts.len().saturating_sub(1) as f64;
        assert_eq!(
            Chars::from_len(text.len()),
            SoftTrimmer::new(&settings).trimmed_chars(Chars(joined)),
            "predicted size"
        );
        Some(text.slice(0, text.len() - note(&settings, Chars(joined)).len()).units().to_vec())
    }

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn the_note_has_its_predicted_length() {
        let soft_trim = crate::gateway::pruning::PruneSettings::default().soft_trim;
        let settings = SoftTrim { head_chars: Chars(1_500.0), tail_chars: Chars(0.5), ..soft_trim };
        for chars in [0.0, 1.0, 9.0, 10.0, 99_999.0, 1e15, 1e21, f64::NAN, -7.0, 4_000.25] {
            let reported = SoftTrimmer::new(&settings).trimmed_chars(Chars(chars))
                - Chars(1_500.5)
                - Chars::from_len(GAP.len());
            assert_eq!(reported, Chars::from_len(note(&settings, Chars(chars)).len()), "{chars}");
        }
    }

    #[test]
    fn heads_and_tails_of_joined_parts_are_cut_as_the_vectors_of_5_7_say() {
        assert_eq!(trimmed(&["abcdefghij"], 2.0, 2.0), Some(units("ab\n...\nij")));
        assert_eq!(trimmed(&["abcde"], 1.0, 1.0), None);
        assert_eq!(trimmed(&["abcdef"], 3.0, 3.0), None);
        assert_eq!(trimmed(&["abcdef"], 3.0, 2.0), Some(units("abc\n...\nef")));
        assert_eq!(trimmed(&["abc", "def", "ghi"], 3.0, 3.0), Some(units("abc\n...\nghi")));
        assert_eq!(trimmed(&["abc", "def", "ghi"], 4.0, 4.0), Some(units("abc\n\n...\n\nghi")));
        assert_eq!(trimmed(&["abc", "def", "ghi"], 5.0, 5.0), Some(units("abc\nd\n...\nf\nghi")));
        assert_eq!(trimmed(&["", "", "abcdefgh", "", ""], 3.0, 3.0), Some(units("\n\na\n...\nh\n\n")));
        assert_eq!(trimmed(&["abcdef"], 0.0, 0.0), Some(units("\n...\n")));
    }

    const WITH_IMAGES: &str = r#"{"role":"toolResult","content":[{"type":"text","text":"abc"},{"type":"image"},{"type":"text","text":"😀😀"}]}"#;

    fn newest(json: &str, max_chars: f64, head_chars: f64, tail_chars: f64) -> String {
        let message = js::parse(json).unwrap();
        let settings = SoftTrim {
            max_chars: Chars(max_chars),
            head_chars: Chars(head_chars),
            tail_chars: Chars(tail_chars),
            images: ImageResults::Replaced { odd_texts: true, whole_pairs: true },
        };
        let size = measure_message(&message).size.tool_result_size();
        let new = soft_trimmed_message(&message, &settings).unwrap().expect("it has an image");
        let text =
            new.get("content").unwrap().as_array().unwrap()[0].get("text").unwrap().as_str().unwrap().clone();
        let joined = trimmable_chars(&settings, &size);
        let predicted = if is_trimmed(&settings, joined) {
            SoftTrimmer::new(&settings).trimmed_chars(joined)
        } else {
            joined
        };
        assert!(
            (predicted - Chars(2.0)..=predicted).contains(&Chars::from_len(text.len())),
            "{predicted:?} {}",
            text.len()
        );
        text.to_string_lossy()
    }

    #[test]
    fn with_replaced_images_a_short_result_becomes_its_text_and_a_long_one_is_trimmed() {
        let whole = "abc\n[image removed during context pruning]\n😀😀";
        assert_eq!(newest(WITH_IMAGES, 4000.0, 1500.0, 1500.0), whole);
        assert!(
            newest(WITH_IMAGES, 10.0, 5.0, 3.0)
                .starts_with("abc\n[\n...\n😀\n\n[Tool result trimmed: kept first 5")
        );
        let alone = r#"{"role":"toolResult","content":[{"type":"image"},{"type":"image"}]}"#;
        assert_eq!(newest(alone, 4000.0, 1500.0, 1500.0).lines().count(), 2);
    }

    #[test]
    fn a_cut_may_split_a_surrogate_pair() {
        let cut = trimmed(&["a😀bcdefgh😀z"], 2.0, 2.0).expect("trimmed");
        assert_eq!(cut[..2], [u16::from(b'a'), 0xD83D]);
        assert_eq!(cut[cut.len() - 2..], [0xDE00, u16::from(b'z')]);
    }
}
