//! The rules as data: `assets/redact/` holds names, values, commands and places as patterns, each with samples.
//!
//! A rule may match too much, never too little: a false match costs a word in a report, a missed one leaks a key that must
//! be changed.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::js::{JsString, Object};

/// The evidence that a match needs besides its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Proof {
    /// None: nothing else has this shape.
    Shape,
    /// It must look random, because words contain its first letters.
    Random,
    /// A name before it says that it is a secret: anything but a placeholder counts.
    Named,
    /// A name before it says that it is a secret, in a place where code has expressions: they do not count.
    Unquoted,
    /// The option before it says that it is a secret: anything but a word counts, as in prose about the option.
    Option,
    /// A name is before it, in text that may be prose or code: it must not look like a word, a type or an expression.
    Loose,
}

/// A kind of secret. The secret is the last group that matched, else the whole match.
#[derive(Debug, Deserialize)]
pub(super) struct Rule {
    /// The word in the placeholder.
    pub kind: String,
    pub proof: Proof,
    /// Letters, in any case, without one of which the rule cannot match.
    pub letters: Vec<String>,
    pub pattern: String,
    /// A pattern without which the rule cannot match, where that is found in a fraction of the time.
    #[serde(default)]
    pub needs: String,
    /// Whether its matches begin with the name of a secret: then it is tried only where one is.
    #[serde(skip)]
    pub is_named: bool,
    /// The pattern with [`NAME_MARK`] in place of the name of a secret, which takes most of the time to compile; empty if it
    /// has none.
    #[serde(skip)]
    pub outline: String,
    /// Texts in which the rule finds the secret between « and », which a form or nothing stands for.
    #[cfg(test)]
    pub samples: Vec<String>,
    /// Texts in which the rule finds nothing.
    #[cfg(test)]
    #[serde(default)]
    pub clean: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct RuleFile {
    rule: Vec<Rule>,
}

/// The names of secrets, in patterns and as keys of objects.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Names {
    parts: BTreeMap<String, Part>,
    letters: BTreeMap<String, Vec<String>>,
    pub keys: KeyNames,
    pub placeholders: Placeholders,
}

/// Names of members of objects, in small letters and without `_`, `-` and blanks.
#[derive(Debug, Default, Deserialize)]
pub(super) struct KeyNames {
    pub ends: Vec<String>,
    pub words: Vec<String>,
    pub capitalised: Vec<String>,
    pub harmless: Vec<String>,
    pub pair_names: Vec<String>,
    pub pair_values: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Placeholders {
    pub words: Vec<String>,
}

/// A part of patterns: a pattern, or a list of alternatives.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Part {
    Pattern(String),
    Alternatives(Vec<String>),
}

const FILES: [&str; 4] = [
    include_str!("../../assets/redact/values.toml"),
    include_str!("../../assets/redact/commands.toml"),
    include_str!("../../assets/redact/places.toml"),
    include_str!("../../assets/redact/prose.toml"),
];

/// The part of patterns that matches the name of a secret.
pub(super) const SECRET_NAME: &str = "{secret_name}";

/// Stands for the name of a secret in an outline.
pub(super) const NAME_MARK: &str = "\u{1}";

/// The names; a test checks that the file is read whole.
pub(super) static NAMES: LazyLock<Names> =
    LazyLock::new(|| toml::from_str(include_str!("../../assets/redact/names.toml")).unwrap_or_default());

/// Reads every rule, most specific first: if two match the same range, the first names it. Tokens with a form precede
/// all of these. A test checks that each file is read.
pub(super) fn rules() -> Vec<Rule> {
    let files = FILES.iter().filter_map(|text| toml::from_str::<RuleFile>(text).ok());
    let mut rules: Vec<Rule> = files.flat_map(|file| file.rule).collect();
    for rule in &mut rules {
        let behind_flags = rule.pattern.trim_start_matches("(?i)").trim_start_matches("(?im)");
        rule.is_named = behind_flags.starts_with(SECRET_NAME);
        if rule.pattern.contains(SECRET_NAME) {
            rule.outline = NAMES.expand(&rule.pattern.replace(SECRET_NAME, NAME_MARK));
        }
        rule.pattern = NAMES.expand(&rule.pattern);
        rule.letters = rule.letters.iter().flat_map(|letters| NAMES.letters(letters)).collect();
    }
    rules
}

impl Names {
    /// Puts the parts into a pattern: `{name}`, which no count of repetitions looks like.
    pub(super) fn expand(&self, pattern: &str) -> String {
        let (mut out, mut rest) = (String::new(), pattern);
        while let Some(at) = rest.find('{') {
            let end = rest[at..].find('}').map(|end| at + end);
            let part = end.and_then(|end| Some((end, self.parts.get(&rest[at + 1..end])?)));
            let Some((end, part)) = part else {
                out += &rest[..=at];
                rest = &rest[at + 1..];
                continue;
            };
            out += &rest[..at];
            out += &self.expand(&match part {
                Part::Pattern(pattern) => pattern.clone(),
                Part::Alternatives(parts) => ["(?:", &parts.join("|"), ")"].concat(),
            });
            rest = &rest[end + 1..];
        }
        out + rest
    }

    /// The letters of a list and of the lists in it, or the letters themselves.
    pub(super) fn letters(&self, letters: &str) -> Vec<String> {
        let list = letters.strip_prefix('{').and_then(|name| self.letters.get(name.strip_suffix('}')?));
        match list {
            Some(list) => list.iter().flat_map(|letters| self.letters(letters)).collect(),
            None => vec![letters.to_owned()],
        }
    }
}

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
    /// Whether each of the last keys names a secret: a document repeats few of them tens of thousands of times.
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
