//! Replaces a character by another of the same kind, so that every size that the rules count stays, and the names of an
//! object by names that stay distinct.

use std::collections::{HashMap, HashSet};

use crate::context::tokens::script::Script;
use crate::context::tokens::weighted::{NORMAL_WEIGHT, weighted_length};
use crate::js::{JsString, Object, Value};

/// Replacements for letters and digits: the first one with equal traits is used.
const STAND_INS: [char; 14] = ['x', 'X', '1', 'é', '中', '가', '㐀', 'Ａ', 'ｱ', 'ˇ', '𝐱', '𠀀', '𖿠', '𛀀'];

/// Returns a replacement of the same kind, script, weight and length.
pub(super) fn stand_in(char: char) -> char {
    match char {
        'a'..='z' => return 'x',
        'A'..='Z' => return 'X',
        '0'..='9' => return '1',
        _ if !char.is_alphanumeric() => return char,
        _ => {}
    }
    STAND_INS.into_iter().skip(3).find(|other| char_traits(*other) == char_traits(char)).unwrap_or(char)
}

/// All that the rules count of a character.
fn char_traits(char: char) -> (Script, u64, usize) {
    let text = JsString::from(char.encode_utf8(&mut [0; 4]) as &str);
    (
        Script::from_code_point(u32::from(char)),
        weighted_length(&text, NORMAL_WEIGHT).get().to_bits(),
        text.len(),
    )
}

/// Replaces the names and values of an object; a member without a new value goes. Names with the same stand-in get different
/// ones, so that the object keeps all members.
pub(super) fn map_members(
    object: &Object,
    name: impl Fn(&JsString) -> JsString,
    of: impl Fn(&str, &Value) -> Option<Value>,
) -> Value {
    let mut taken: HashSet<JsString> = object.iter().map(|(key, _)| key.clone()).collect();
    let mut turns = HashMap::new();
    let members = object.iter().filter_map(|(key, value)| {
        let value = of(&key.to_string_lossy(), value)?;
        let shown = name(key);
        if shown == *key {
            return Some((shown, value));
        }
        let turn = turns.entry(shown.clone()).or_insert(0);
        loop {
            match varied(&shown, *turn) {
                Some(other) if taken.insert(other.clone()) => return Some((other, value)),
                Some(_) => *turn += 1,
                None => return Some((shown, value)),
            }
        }
    });
    Value::Object(members.collect())
}

/// Returns the `turn`th name of the same length and kinds: its letters and digits counted up from the end.
fn varied(name: &JsString, mut turn: u32) -> Option<JsString> {
    if turn == 0 {
        return Some(name.clone());
    }
    let mut chars: Vec<char> = name.to_string_lossy().chars().collect();
    for char in chars.iter_mut().rev() {
        let (first, count) = match *char {
            'a'..='z' => ('a', 26),
            'A'..='Z' => ('A', 26),
            '0'..='9' => ('0', 10),
            other if other.is_alphanumeric() => (other, 4),
            _ => continue,
        };
        let step = (u32::from(*char) - u32::from(first) + turn) % count;
        let next = char::from_u32(u32::from(first) + step).filter(|next| next.is_alphanumeric());
        *char = next.filter(|next| char_traits(*next) == char_traits(*char)).unwrap_or(*char);
        turn /= count;
        if turn == 0 {
            break;
        }
    }
    (turn == 0).then(|| JsString::from(chars.into_iter().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::{parse, stringify};

    #[test]
    fn an_object_keeps_all_members_and_none_of_their_names() {
        let numbers = (1_000..2_500).map(|at| format!("\"+49 {at}\":1")).collect::<Vec<_>>().join(",");
        let text = format!(r#"{{"мама":1,"папа":2,"Анна":3,"北京":4,"上海":5,"mei":6,"leo":7,{numbers}}}"#);
        let object = parse(&text).unwrap();
        let masked =
            |key: &JsString| JsString::from(key.to_string_lossy().chars().map(stand_in).collect::<String>());
        let out = map_members(object.as_object().unwrap(), masked, |_, value| Some(value.clone()));
        assert_eq!(out.as_object().unwrap().len(), 1_507);
        assert_eq!(stringify(&out).chars().count(), text.chars().count());
        for name in ["мама", "папа", "Анна", "北京", "上海", "mei", "leo", "+49 2222"] {
            assert!(!out.as_object().unwrap().contains(name), "{name}");
        }
    }
}
