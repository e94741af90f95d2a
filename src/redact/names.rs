//! The keys of configurations, requests and arguments whose values are always secrets.

use std::cell::RefCell;
use std::collections::HashMap;

use super::rules::NAMES;
use crate::js::{JsString, Object};

/// The kind of a secret that only its key reveals.
pub(super) const NAMED_KIND: &str = "value";
/// The kind of a provider's seal on its own thinking or text. It is masked, but nobody's secret.
pub const SIGNATURE_KIND: &str = "signature";
/// The keys of such a seal.
const SIGNATURES: [&str; 4] = ["thinkingSignature", "textSignature", "thoughtSignature", "thought_signature"];

/// Returns the kind of the values of a key that names a secret.
pub(super) fn kind(key: &JsString) -> &'static str {
    if SIGNATURES.iter().any(|known| key.eq_str(known)) { SIGNATURE_KIND } else { NAMED_KIND }
}

/// Whether its name, or the name next to it, makes a member of an object a secret.
pub(super) fn is_secret_member(object: &Object, key: &JsString) -> bool {
    let is_value =
        || NAMES.keys.pair_values.iter().any(|value| key.eq_str(value)) || ends_in(key, &["value"]);
    let is_pair_name = |name: &JsString| {
        NAMES.keys.pair_names.iter().any(|known| name.eq_str(known)) || ends_in(name, &["name", "key"])
    };
    let mut names =
        object.iter().filter(|(name, _)| is_pair_name(name)).filter_map(|(_, name)| name.as_str());
    is_secret_name(key) || is_value() && names.any(is_secret_name)
}

/// Whether a name ends so in any case, as `ParameterValue` does.
fn ends_in(name: &JsString, ends: &[&str]) -> bool {
    let is_end = |end: &&str| {
        let tail = name.len().checked_sub(end.len()).map(|from| &name.units()[from..]);
        let is_same =
            |(unit, byte): (&u16, u8)| u8::try_from(*unit).is_ok_and(|unit| unit.eq_ignore_ascii_case(&byte));
        tail.is_some_and(|tail| tail.iter().zip(end.bytes()).all(is_same))
    };
    name.len() <= 64 && ends.iter().any(is_end)
}

/// Whether a member of an object below a secret name is its value.
pub(super) fn is_value_name(key: &JsString) -> bool {
    NAMES.keys.pair_values.iter().any(|value| key.eq_str(value)) || is_secret_name(key)
}

/// Whether the head of a column names a secret: `password`, `API key`, `初始密码`.
pub(super) fn is_secret_head(head: &str) -> bool {
    is_secret_name(&JsString::from(head))
}

thread_local! {
    /// What is known of the last keys: a document repeats few of them tens of thousands of times.
    static KNOWN_KEYS: RefCell<HashMap<Box<[u16]>, bool>> = RefCell::default();
}

/// Keys that a thread remembers.
const MAX_KNOWN_KEYS: usize = 256;

/// Whether a key names a secret: by its end, or as a whole word.
pub(super) fn is_secret_name(key: &JsString) -> bool {
    if key.len() > 64 {
        return false;
    }
    KNOWN_KEYS.with_borrow_mut(|known| {
        if let Some(is_secret) = known.get(key.units()) {
            return *is_secret;
        }
        if known.len() >= MAX_KNOWN_KEYS {
            known.clear();
        }
        let is_secret = names_secret(&key.to_string_lossy());
        known.insert(key.units().into(), is_secret);
        is_secret
    })
}

fn names_secret(key: &str) -> bool {
    let names = &NAMES.keys;
    let lower = if key.is_ascii() { key.to_ascii_lowercase() } else { key.to_lowercase() };
    let name: String = lower.split(['_', '-', ' ']).collect();
    let word = |word: &str| {
        lower == word || lower.strip_suffix(word).is_some_and(|rest| rest.ends_with(['_', '-', '.', ' ']))
    };
    // `smtpPass`, but not `bypass`.
    let is_camel = names.capitalised.iter().any(|end| {
        key.strip_suffix(end.as_str()).is_some_and(|rest| rest.ends_with(|char: char| char.is_lowercase()))
    });
    if is_camel || names.words.iter().any(|name| word(name)) {
        return true;
    }
    names.ends.iter().any(|end| name.ends_with(end)) && !names.harmless.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_shows() {
        for name in [
            "password",
            "botToken",
            "API_KEY",
            "x-api-key",
            "client_secret",
            "gateway.auth.token",
            "appSecret",
            "smtpPass",
        ] {
            assert!(is_secret_name(&name.into()), "{name}");
        }
        for name in [
            "totalTokens",
            "tokens",
            "key",
            "nextPageToken",
            "sessionKey",
            "publicKey",
            "text",
            "bypass",
            "Pass3",
        ] {
            assert!(!is_secret_name(&name.into()), "{name}");
        }
    }
}
