//! Removes secrets from everything that leaves the program as a document, and from the short texts of lists and rows.
//! It is pure: texts in, texts out.
//!
//! A document takes two passes. The first reads everything that will be written and learns each secret: by its shape,
//! by the name before it, or by its key. The second replaces every occurrence, even where nothing around it reveals a
//! secret, or where a cut left only its head or tail. The same secret has the same placeholder throughout a document,
//! so a reader still sees which two are equal: `git push https://[redacted:github-token:1]@github.com`. A short text
//! is masked alone under the same rules. Its placeholders have no numbers, because the same number in two rows would
//! mean nothing.

mod clean_texts;
mod known;
mod names;
mod rules;
mod screen;
mod short;
mod views;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub use screen::redact_screen;
pub use short::{SecretDisplay, compile_rules, masked};

use crate::js::{JsString, Object, Value};
use clean_texts::CleanTexts;
use known::KnownSecrets;
use rules::{COMPILED, is_placeholder};
use views::{DecodedView, base64_texts, views};

/// A transparent image of one pixel, which replaces every image: no rule can examine a picture.
const BLANK_IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==";

/// The secrets of a document and their placeholders.
#[derive(Debug, Default)]
pub struct Redactor {
    is_off: bool,
    /// Kind and number of each secret, by its text.
    secrets: BTreeMap<String, (&'static str, usize)>,
    /// The encoded forms of secrets in the texts: escaped, or in base64.
    encoded_forms: BTreeSet<String>,
    counts: BTreeMap<&'static str, usize>,
    /// The compiled search; `None` until a text is redacted after a new secret.
    known: Option<KnownSecrets>,
    removed_images: usize,
    /// Texts without secrets: the second pass need not search them again.
    clean_texts: CleanTexts,
}

impl Redactor {
    pub fn disabled() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    pub fn is_enabled(&self) -> bool {
        !self.is_off
    }

    pub fn counts(&self) -> &BTreeMap<&'static str, usize> {
        &self.counts
    }

    pub fn removed_images(&self) -> usize {
        self.removed_images
    }

    /// Learns the secrets in a text.
    pub fn learn(&mut self, text: &str) {
        if self.is_off {
            return;
        }
        if self.clean_texts.contains(text) {
            return;
        }
        let reported = detect(text, &views(text));
        if reported.is_empty() {
            self.clean_texts.add(text);
        }
        for DetectedSecret { from, to, kind, secret } in reported {
            self.record(&secret, kind);
            if secret != text[from..to] {
                self.encoded_forms.insert(text[from..to].to_owned());
            }
        }
    }

    /// Learns the secrets in every text of a value, and the values of keys that name secrets. Arguments of calls are
    /// often JSON in a string; they are searched as text.
    pub fn learn_value(&mut self, value: &Value) {
        if self.is_off {
            return;
        }
        match value {
            Value::String(text) => self.learn(&text.to_string_lossy()),
            Value::Array(items) => items.iter().for_each(|item| self.learn_value(item)),
            Value::Object(object) => {
                for (key, value) in object.iter().filter(|(key, _)| !is_image_data(object, key)) {
                    self.learn(&key.to_string_lossy());
                    match value {
                        Value::String(text) if names::is_secret_name(key) => {
                            let text = text.to_string_lossy();
                            if !is_placeholder(&text) {
                                self.record(&text, names::NAMED_KIND);
                            }
                        }
                        other => self.learn_value(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn record(&mut self, secret: &str, kind: &'static str) -> usize {
        if let Some((_, number)) = self.secrets.get(secret) {
            return *number;
        }
        let count = self.counts.entry(kind).or_insert(0);
        *count += 1;
        self.secrets.insert(secret.to_owned(), (kind, *count));
        self.known = None;
        *count
    }

    /// The placeholder of a secret; the same text always has the same one.
    fn placeholder(&mut self, secret: &str, kind: &'static str) -> String {
        let number = self.record(secret, kind);
        let kind = self.secrets.get(secret).map_or(kind, |(kind, _)| kind);
        format!("[redacted:{kind}:{number}]")
    }

    /// Replaces the secrets in a text.
    pub fn redact_text<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        if self.is_off || text.is_empty() {
            return Cow::Borrowed(text);
        }
        let places = self.replacements(text);
        if places.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (from, to, placeholder) in places {
            out.push_str(&text[done..from]);
            out.push_str(&placeholder);
            done = to;
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }

    /// The byte ranges of secrets in a text with their placeholders, in order and without overlap.
    fn replacements(&mut self, text: &str) -> Vec<(usize, usize, String)> {
        if self.secrets.is_empty() && self.clean_texts.contains(text) {
            return Vec::new();
        }
        let views = views(text);
        let reported = if self.clean_texts.contains(text) { Vec::new() } else { detect(text, &views) };
        let mut places: Vec<(usize, usize, String)> = Vec::with_capacity(reported.len());
        for DetectedSecret { from, to, kind, secret } in reported {
            // A rule may replace more text than the known secret there, never less.
            let placeholder = self.placeholder(&secret, kind);
            places.push((from, to, placeholder));
        }
        if self.known.is_none() {
            self.known =
                Some(KnownSecrets::new(self.secrets.iter().map(|(text, named)| (text.as_str(), *named))));
        }
        let found = self.known.as_ref().map(|known| find_known(known, text, &views)).unwrap_or_default();
        for (from, to, kind, number) in found {
            if places.iter().all(|place| to <= place.0 || place.1 <= from) {
                places.push((from, to, format!("[redacted:{kind}:{number}]")));
            }
        }
        places.sort_unstable_by_key(|place| place.0);
        places
    }

    /// As [`Self::redact_text`], for JavaScript strings; keeps lone surrogates.
    pub fn redact_js(&mut self, text: &JsString) -> JsString {
        if self.is_off {
            return text.clone();
        }
        let plain = text.to_string_lossy();
        let places = self.replacements(&plain);
        if places.is_empty() {
            return text.clone();
        }
        // A lone surrogate is one unit, and so is its U+FFFD in `plain`.
        let (mut out, mut units, mut bytes) = (JsString::new(), 0, 0);
        for (from, to, placeholder) in places {
            let before = units + plain[bytes..from].encode_utf16().count();
            out.push(&text.slice(units, before));
            out.push_str(&placeholder);
            units = before + plain[from..to].encode_utf16().count();
            bytes = to;
        }
        out.push(&text.slice(units, text.len()));
        out
    }

    /// Replaces the secrets in a value: in texts and keys, and the values of keys that name secrets; replaces images
    /// by a blank one.
    pub fn redact_value(&mut self, value: &Value) -> Value {
        if self.is_off {
            return value.clone();
        }
        match value {
            Value::String(text) => Value::String(self.redact_js(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.redact_value(item)).collect()),
            Value::Object(object) => Value::Object(self.redact_object(object)),
            plain => plain.clone(),
        }
    }

    fn redact_object(&mut self, object: &Object) -> Object {
        let mut out = Object::default();
        for (key, value) in object.iter() {
            let name = self.redact_js(key);
            let value = match value {
                Value::String(text)
                    if names::is_secret_name(key) && !is_placeholder(&text.to_string_lossy()) =>
                {
                    Value::from(self.placeholder(&text.to_string_lossy(), names::NAMED_KIND))
                }
                Value::String(text) if is_image_data(object, key) && !text.is_empty() => {
                    self.removed_images += 1;
                    Value::from(BLANK_IMAGE)
                }
                other => self.redact_value(other),
            };
            out.insert(name, value);
        }
        out
    }
}

/// A detected secret: its bytes in the text, its kind, and its text without escapes.
#[derive(Debug)]
struct DetectedSecret {
    from: usize,
    to: usize,
    kind: &'static str,
    secret: String,
}

/// Detects every secret in a text, also behind escapes and in base64; the results do not overlap.
fn detect(text: &str, views: &[DecodedView]) -> Vec<DetectedSecret> {
    let of = |hit: &rules::Hit, text: &str, (from, to)| DetectedSecret {
        from,
        to,
        kind: hit.kind,
        secret: text[hit.from..hit.to].to_owned(),
    };
    let mut reported: Vec<DetectedSecret> =
        COMPILED.find_hits(text).iter().map(|hit| of(hit, text, (hit.from, hit.to))).collect();
    for view in views {
        for hit in COMPILED.find_hits(&view.text) {
            merge_detected(&mut reported, of(&hit, &view.text, view.original_range(hit.from, hit.to)));
        }
    }
    for (from, to, inner) in base64_texts(text) {
        if let Some(hit) = COMPILED.find_hits(&inner).first() {
            merge_detected(&mut reported, of(hit, &inner, (from, to)));
        }
    }
    reported
}

/// Adds a secret: drops it if another covers it, merges it with those that it overlaps.
fn merge_detected(reported: &mut Vec<DetectedSecret>, mut new: DetectedSecret) {
    if reported.iter().any(|other| other.from <= new.from && new.to <= other.to) {
        return;
    }
    reported.retain(|other| {
        let apart = other.to <= new.from || new.to <= other.from;
        if !apart {
            (new.from, new.to) = (new.from.min(other.from), new.to.max(other.to));
        }
        apart
    });
    reported.push(new);
}

/// Finds the known secrets in a text, also behind escapes and in base64.
fn find_known(known: &KnownSecrets, text: &str, views: &[DecodedView]) -> Vec<known::SecretSpan> {
    if known.is_empty() {
        return Vec::new();
    }
    let mut found = known.find(text);
    let mut add = |new: known::SecretSpan| {
        if found.iter().all(|other| new.1 <= other.0 || other.1 <= new.0) {
            found.push(new);
        }
    };
    for view in views {
        for (from, to, kind, number) in known.find(&view.text) {
            let (from, to) = view.original_range(from, to);
            add((from, to, kind, number));
        }
    }
    for (from, to, inner) in base64_texts(text) {
        if let Some((.., kind, number)) = known.find(&inner).first() {
            add((from, to, kind, *number));
        }
    }
    found
}

fn is_image_data(object: &Object, key: &JsString) -> bool {
    key.eq_str("data") && object.get("type").is_some_and(|kind| kind.str_is("image"))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
