//! Images and media references that the model has seen, in gateways since 2026.4.5: before the last three answered
//! turns, a text replaces them in the request; the transcript keeps them (pruning 8, row "Legacy images").

use crate::gateway::ruleset::KeptTurns;
use crate::js::{JsString, Value};
use crate::store::entry::Role;
use crate::store::measure::role_of;

const SEEN_IMAGE: &str = "[image data removed - already processed by model]";
/// Scheme of a reference by its address, and the whole beginning of such an address.
const SCHEME: &str = "media";
const INBOUND: &str = "media://inbound/";
const SEEN_REFERENCE: &str = "[media reference removed - already processed by model]";

/// Returns the position of the first turn that keeps its images; `None` if at most `turns.count` turns are answered. A
/// turn starts with a user message, or with the first tool result of a list without its start.
pub fn first_of_last_turns(roles: impl Iterator<Item = Role>, turns: KeptTurns) -> Option<usize> {
    let mut answered = Vec::new();
    let mut turn: Option<(usize, bool)> = None;
    for (at, role) in roles.enumerate() {
        match role {
            Role::User => {
                answered.extend(turn.filter(|(_, is_answered)| *is_answered).map(|(start, _)| start));
                turn = Some((at, false));
            }
            Role::ToolResult => _ = turn.get_or_insert((at, false)),
            Role::Assistant => turn = turn.map(|(start, _)| (start, true)),
            _ => {}
        }
    }
    answered.extend(turn.filter(|(_, is_answered)| *is_answered && turns.open).map(|(start, _)| start));
    let first = answered.len().checked_sub(turns.count).filter(|first| *first > 0)?;
    answered.get(first).copied()
}

/// Returns the copy of a user message or tool result; `None` if nothing is removed. `references` is set for versions
/// that also replace references in texts (releases R51).
pub fn without_media(message: &Value, references: bool) -> Option<Value> {
    if !matches!(role_of(message), Role::User | Role::ToolResult) {
        return None;
    }
    let content = match message.get("content")? {
        Value::String(text) if references => Value::String(without_references(text)?),
        Value::Array(blocks) => {
            let new: Vec<Option<Value>> =
                blocks.iter().map(|block| block_without_media(block, references)).collect();
            if new.iter().all(Option::is_none) {
                return None;
            }
            new.into_iter()
                .zip(blocks)
                .map(|(new, old)| new.unwrap_or_else(|| old.clone()))
                .collect::<Vec<_>>()
                .into()
        }
        _ => return None,
    };
    let mut copy = message.as_object()?.clone();
    copy.set("content", content);
    Some(Value::Object(copy))
}

fn block_without_media(block: &Value, references: bool) -> Option<Value> {
    let object = block.as_object()?;
    let kind = block.get("type")?;
    if kind.str_is("image") {
        let members = [("type", Value::from("text")), ("text", Value::from(SEEN_IMAGE))];
        return Some(Value::Object(members.into_iter().collect()));
    }
    let text = block.get("text")?.as_str().filter(|_| references && kind.str_is("text"))?;
    let text = without_references(text)?;
    let mut copy = object.clone();
    copy.set("text", Value::String(text));
    Some(Value::Object(copy))
}

/// Replaces each reference with a note; `None` if the text has no reference.
fn without_references(text: &JsString) -> Option<JsString> {
    let units = text.units();
    let mut new: Vec<u16> = Vec::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(sign) = next_sign(units, at) {
        at = sign + 1;
        let start = if units[sign] == BRACKET { Some(sign) } else { sign.checked_sub(SCHEME.len()) };
        let Some(start) = start.filter(|start| *start >= copied) else { continue };
        let Some(length) = reference_len(units, start) else { continue };
        new.extend(&units[copied..start]);
        new.extend(SEEN_REFERENCE.encode_utf16());
        copied = start + length;
        at = copied;
    }
    if copied == 0 {
        return None;
    }
    new.extend(&units[copied..]);
    Some(JsString::from(new))
}

const BRACKET: u16 = b'[' as u16;
const COLON: u16 = b':' as u16;
/// Units that are searched together; enough to use the processor's wide registers.
const CHUNK: usize = 64;

/// Returns the next sign that every reference has: the bracket that begins it, or the colon after its scheme. Both are
/// rare, and long texts are searched often.
fn next_sign(units: &[u16], from: usize) -> Option<usize> {
    let is_sign = |unit: &u16| *unit == BRACKET || *unit == COLON;
    let rest = units.get(from..)?;
    let has_none = |chunk: &&[u16]| !chunk.iter().fold(false, |any, unit| any | is_sign(unit));
    let skipped = rest.chunks(CHUNK).take_while(has_none).count() * CHUNK;
    let found = rest.get(skipped..)?.iter().position(is_sign)?;
    Some(from + skipped + found)
}

/// Returns the length of the reference at `at`: `[media attached: …]`, also with `1/2` before the colon, `[Image:
/// source: …]`, or `media://inbound/` with a name.
fn reference_len(units: &[u16], at: usize) -> Option<usize> {
    let rest = &units[at..];
    if let Some(end) = prefix_len(rest, "[media attached") {
        let end = end + counter_len(&rest[end..]);
        return Some(end + bracket_len(&rest[end..])?);
    }
    if let Some(end) = prefix_len(rest, "[image:") {
        let end = end + blank_len(&rest[end..]);
        let end = end + prefix_len(&rest[end..], "source")?;
        return Some(end + bracket_len(&rest[end..])?);
    }
    let joined = at > 0 && is_word(units[at - 1]);
    let end = prefix_len(rest, INBOUND).filter(|_| !joined)?;
    let name = rest[end..]
        .iter()
        .take_while(|unit| !is_blank(**unit) && !b"]/\\".iter().any(|sign| u16::from(*sign) == **unit));
    Some(end + name.count()).filter(|length| *length > end)
}

/// Returns the length of `word` if `units` start with it, in any case of the letters.
fn prefix_len(units: &[u16], word: &str) -> Option<usize> {
    let lower = |unit: u16| u8::try_from(unit).map_or(unit, |byte| u16::from(byte.to_ascii_lowercase()));
    let fits = units.len() >= word.len()
        && units.iter().zip(word.bytes()).all(|(unit, byte)| lower(*unit) == u16::from(byte));
    fits.then_some(word.len())
}

/// Returns the length of a leading ` 1/2`; 0 if there is none.
fn counter_len(units: &[u16]) -> usize {
    let digits = |units: &[u16]| {
        units.iter().take_while(|unit| u8::try_from(**unit).is_ok_and(|byte| byte.is_ascii_digit())).count()
    };
    let white = blank_len(units);
    let first = digits(&units[white..]);
    let slash = white + first;
    let second = if units.get(slash) == Some(&u16::from(b'/')) { digits(&units[slash + 1..]) } else { 0 };
    if white > 0 && first > 0 && second > 0 { slash + 1 + second } else { 0 }
}

/// Returns the length of a colon, at least one unit and the closing bracket.
fn bracket_len(units: &[u16]) -> Option<usize> {
    if units.first() != Some(&u16::from(b':')) {
        return None;
    }
    let end = units.iter().position(|unit| *unit == u16::from(b']'))?;
    (end > 1).then_some(end + 1)
}

fn blank_len(units: &[u16]) -> usize {
    units.iter().take_while(|unit| is_blank(**unit)).count()
}

fn is_blank(unit: u16) -> bool {
    char::from_u32(u32::from(unit)).is_some_and(crate::js::is_trimmed)
}

fn is_word(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn plain(text: &str) -> String {
        without_references(&text.into()).map_or_else(|| text.to_owned(), |new| new.to_string_lossy())
    }

    #[test]
    fn references_in_texts_become_a_note() {
        for text in [
            "[media attached: /tmp/a.png (image/png)]",
            "[Media Attached 1/2: a.png]",
            "[Image: source: /x y.jpg]",
            "[image:source:x]",
            "media://inbound/abc.png",
            "[media attached: ]",
        ] {
            assert_eq!(plain(&format!("see {text} now")), format!("see {SEEN_REFERENCE} now"), "{text}");
        }
        for text in [
            "[media attached]",
            "[media attached:]",
            "[image: x]",
            "media://inbound/",
            "xmedia://inbound/a",
            "[media attached: x",
        ] {
            assert_eq!(plain(text), text);
        }
    }

    fn list(text_features: &str) -> Vec<Value> {
        let message = |letter| {
            let role = match letter {
                'u' => "user",
                'a' => "assistant",
                _ => "toolResult",
            };
            js::parse(&format!(r#"{{"role":"{role}","content":[{{"type":"image","data":"x"}},null,{{"type":"text","text":"t"}}]}}"#)).unwrap()
        };
        text_features.chars().map(message).collect()
    }

    /// Returns the messages that change, with their positions.
    fn without_seen_media(messages: &[Value], turns: KeptTurns) -> Vec<(usize, Value)> {
        let end = first_of_last_turns(messages.iter().map(role_of), turns).unwrap_or(0);
        let older = messages.iter().enumerate().take(end);
        older.filter_map(|(at, message)| Some((at, without_media(message, true)?))).collect()
    }

    const TURNS: KeptTurns = KeptTurns { count: 3, open: true };

    fn changed(text_features: &str) -> Vec<usize> {
        without_seen_media(&list(text_features), TURNS).iter().map(|(at, _)| *at).collect()
    }

    #[test]
    fn the_last_three_answered_turns_and_all_answers_are_kept() {
        assert_eq!(changed("uauaua"), [0_usize; 0]);
        assert_eq!(changed("uarauauaua"), [0, 2]);
        assert_eq!(changed("uauauauauu"), [0]);
        assert_eq!(changed("rauauaua"), [0]);
    }

    #[test]
    fn from_9_3_on_the_current_turn_does_not_count() {
        let changed = |text_features: &str| {
            without_seen_media(&list(text_features), KeptTurns { open: false, ..TURNS }).len()
        };
        assert_eq!(["uauauaua", "uauauauau"].map(changed), [0, 1]);
    }

    #[test]
    fn a_user_turn_without_an_answer_does_not_count() {
        assert_eq!(changed("uuauaua"), [0_usize; 0]);
        assert_eq!(changed("uauuauaua"), [0, 2]);
    }

    #[test]
    fn an_image_becomes_a_text_and_other_blocks_are_kept() {
        let (_, new) = &without_seen_media(&list("uauauaua"), TURNS)[0];
        let text = js::stringify(new);
        let image = r#"{"type":"text","text":"[image data removed - already processed by model]"}"#;
        assert_eq!(
            text,
            format!(r#"{{"role":"user","content":[{image},null,{{"type":"text","text":"t"}}]}}"#)
        );
    }
}
