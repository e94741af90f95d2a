//! Masks the short texts of lists and rows one by one.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use super::compiled::COMPILED;
use super::detection::{DetectedSecret, detect, find_known};
use super::known::KnownSecrets;
use super::lines::views;
use super::spans::Spans;
use crate::js::{Object, Value};

/// The display of secrets in lists and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SecretDisplay {
    /// A placeholder replaces each secret.
    #[default]
    Hidden,
    Shown,
}

impl SecretDisplay {
    /// Returns the text as the setting shows it.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Hidden => masked(text),
            Self::Shown => Cow::Borrowed(text),
        }
    }
}

/// Builds the prefilters of all rules, so that no frame waits for them; each pattern compiles for the first text that
/// needs it.
pub fn compile_rules() {
    LazyLock::force(&COMPILED);
}

/// Replaces each secret with `[redacted:kind]`.
pub fn masked(text: &str) -> Cow<'_, str> {
    let views = views(text);
    let found = detect(text, &views);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let secrets: HashSet<(&str, &'static str)> =
        found.iter().map(|DetectedSecret { secret, kind, .. }| (secret.as_str(), *kind)).collect();
    let known = KnownSecrets::new(secrets.into_iter().map(|(secret, kind)| (secret, (kind, 0))));
    let mut places: Spans<&str> = Spans::default();
    for reported in &found {
        places.add_if_free(reported.from, reported.to, reported.kind);
    }
    for (from, to, kind, _) in find_known(&known, text, &views) {
        places.add_if_free(from, to, kind);
    }
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (from, to, kind) in places.into_ranges() {
        out.push_str(&text[done..from]);
        out.push_str("[redacted:");
        out.push_str(kind);
        out.push(']');
        done = to;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Masks each text of a value, such as a setting's.
pub fn masked_value(value: &Value) -> Value {
    match value {
        Value::String(text) => match masked(&text.to_string_lossy()) {
            Cow::Owned(masked) => Value::from(masked.as_str()),
            Cow::Borrowed(_) => value.clone(),
        },
        Value::Array(items) => Value::Array(items.iter().map(masked_value).collect()),
        Value::Object(object) => {
            let mut out = Object::default();
            for (key, value) in object.iter() {
                out.insert(key.clone(), masked_value(value));
            }
            Value::Object(out)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_occurrence_of_a_secret_is_replaced_by_its_kind() {
        let key = "sk-ant-api03-Zx81Kq92Lm37Vb64Nc55";
        assert_eq!(
            masked(&format!("use {key}, not AKIAABCDEFGHIJKLMNOP")),
            "use [redacted:anthropic-key], not [redacted:aws-key-id]"
        );
        assert_eq!(
            masked("password=tall9-orange then tall9-orange"),
            "password=[redacted:value] then [redacted:value]"
        );
        assert_eq!(SecretDisplay::Shown.apply(key), key);
        assert_eq!(SecretDisplay::default().apply(key), "[redacted:anthropic-key]");
    }

    #[test]
    fn a_text_without_secrets_is_not_copied() {
        assert!(matches!(masked("why is the token count 200000?"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn any_text_is_masked_once(text in "\\PC{0,120}") {
            let once = masked(&text).into_owned();
            prop_assert_eq!(masked(&once), once.as_str());
        }
    }
}
