//! Removes secrets from everything that leaves the program as a document, and from the short texts of lists and rows.
//! It is pure: texts in, texts out.
//!
//! A document takes two passes. The first reads everything that will be written and learns each secret: by its shape,
//! by the name before it, or by its key. The second replaces every occurrence, even where nothing around it reveals a
//! secret, or where a cut left only its head or tail. The same secret has the same placeholder throughout a document,
//! so a reader still sees which two are equal: `git push https://[redacted:github-token:1]@github.com`. A short text
//! is masked separately under the same rules. Its placeholders have no numbers, because the same number in two rows would
//! mean nothing.

mod compiled;
mod detection;
mod escapes;
mod keys;
mod known;
mod lines;
mod personal;
mod proof;
mod rules;
mod screen;
mod short;
mod spans;
mod tables;
mod tokens;
mod view;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use rayon::prelude::*;

use crate::js::{JsString, Object, Value};
use compiled::COMPILED;
use detection::{DetectedSecret, Piece, detect, find_known, joined, pieces};
use known::KnownSecrets;
use lines::views;
use personal::detect_personal;
use proof::is_placeholder;
use spans::Spans;

pub use rules::SIGNATURE_KIND;
pub use screen::redact_screen;
pub use short::{SecretDisplay, compile_rules, masked, masked_value};

/// A transparent image of one pixel, which replaces every image: no rule can examine a picture.
const BLANK_IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==";

/// Bytes of texts among which names of secrets are all but certain.
const LONG_TEXTS: usize = 64 << 10;

/// The secrets of a document and their placeholders.
#[derive(Debug, Default)]
pub struct Redactor {
    is_off: bool,
    /// Whether personal data is masked too.
    masks_personal: bool,
    /// Kind and number of each secret, by its text.
    secrets: BTreeMap<String, (&'static str, usize)>,
    /// The encoded forms of secrets in the texts: escaped, or in base64.
    encoded_forms: BTreeSet<String>,
    counts: BTreeMap<&'static str, usize>,
    /// The compiled search; `None` until a text is redacted after a new secret.
    known: Option<KnownSecrets>,
    removed_images: usize,
    seen_texts: SeenTexts,
}

impl Redactor {
    pub fn disabled() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Masks personal data too: e-mail addresses, phone numbers, and the numbers of cards and bank accounts.
    #[must_use]
    pub fn with_personal(self, masks_personal: bool) -> Self {
        Self { masks_personal, ..self }
    }

    /// Detects the secrets to mask in a text.
    fn detect(&mut self, text: &str) -> Arc<[DetectedSecret]> {
        self.seen_texts.detected(text, || detect_secrets(text, self.masks_personal))
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
        for DetectedSecret { from, to, kind, secret } in &*self.detect(text) {
            self.record(secret, kind);
            if *secret != text[*from..*to] {
                self.encoded_forms.insert(text[*from..*to].to_owned());
            }
        }
    }

    /// Learns the secrets of values, whose texts are read side by side.
    pub fn learn_values(&mut self, values: &[Value]) {
        if self.is_off {
            return;
        }
        let mut texts = HashSet::new();
        for value in values {
            collect_texts(value, false, &mut texts);
        }
        let texts: Vec<String> = texts.into_iter().collect();
        if texts.iter().map(String::len).sum::<usize>() >= LONG_TEXTS {
            COMPILED.compile_names();
        }
        self.seen_texts.detect_all(&texts, |text| detect_secrets(text, self.masks_personal));
        for value in values {
            self.learn_value(value);
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
            Value::Array(items) => {
                for (.., kind, secret) in self.detect_across(items).into_iter().flatten() {
                    self.record(&secret, kind);
                }
                for item in items {
                    self.learn_value(item);
                }
            }
            Value::Object(object) => {
                for (key, value) in object.iter().filter(|(key, _)| !is_image_data(object, key)) {
                    self.learn(&key.to_string_lossy());
                    if rules::is_secret_member(object, key) {
                        self.learn_named(value, rules::kind(key));
                    } else {
                        self.learn_value(value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Learns the value of a name: a text, texts in a list, or the members of an object that hold a value.
    fn learn_named(&mut self, value: &Value, kind: &'static str) {
        match value {
            Value::String(text) => {
                let text = text.to_string_lossy();
                if !is_placeholder(&text) {
                    self.record(&text, kind);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn_named(item, kind)),
            Value::Object(object) => {
                for (_, value) in object.iter().filter(|(key, _)| rules::is_value_name(key)) {
                    self.learn_named(value, kind);
                }
                self.learn_value(value);
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
        for (from, to, placeholder) in places.into_ranges() {
            out.push_str(&text[done..from]);
            out.push_str(&placeholder);
            done = to;
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }

    /// The byte ranges of secrets in a text with their placeholders.
    fn replacements(&mut self, text: &str) -> Spans<String> {
        let mut places = Spans::default();
        for DetectedSecret { from, to, kind, secret } in &*self.detect(text) {
            // A rule may replace more text than the known secret there, never less.
            places.add_if_free(*from, *to, self.placeholder(secret, kind));
        }
        if self.secrets.is_empty() {
            return places;
        }
        let secrets = &self.secrets;
        let known = self.known.get_or_insert_with(|| {
            KnownSecrets::new(secrets.iter().map(|(text, named)| (text.as_str(), *named)))
        });
        for (from, to, kind, number) in find_known(known, text, &views(text)) {
            places.add_if_free(from, to, format!("[redacted:{kind}:{number}]"));
        }
        places
    }

    /// Like [`Self::redact_text`], for JavaScript strings; keeps lone surrogates.
    pub fn redact_js(&mut self, text: &JsString) -> JsString {
        self.redact_pieces(text, &[])
    }

    /// Replaces the secrets in a text, and the pieces of secrets that continue in a neighbouring text.
    fn redact_pieces(&mut self, text: &JsString, pieces: &[Piece]) -> JsString {
        if self.is_off {
            return text.clone();
        }
        let plain = text.to_string_lossy();
        let mut places = self.replacements(&plain);
        for (from, to, kind, secret) in pieces {
            places.replace(*from, *to, self.placeholder(secret, kind));
        }
        if places.is_empty() {
            return text.clone();
        }
        // A lone surrogate is one unit, and so is its U+FFFD in `plain`.
        let (mut out, mut units, mut bytes) = (JsString::new(), 0, 0);
        for (from, to, placeholder) in places.into_ranges() {
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
            Value::Array(items) => Value::Array(self.redact_array(items)),
            Value::Object(object) => Value::Object(self.redact_object(object)),
            plain => plain.clone(),
        }
    }

    /// Detects secrets in neighbouring text blocks of which one continues in the next.
    fn detect_across(&mut self, items: &[Value]) -> Vec<Vec<Piece>> {
        let texts = block_texts(items);
        joined(&texts).map(|all| pieces(&texts, &self.detect(&all))).unwrap_or_default()
    }

    fn redact_array(&mut self, items: &[Value]) -> Vec<Value> {
        let pieces = self.detect_across(items);
        let mut redacted: Vec<Value> = items.iter().map(|item| self.redact_value(item)).collect();
        for (at, pieces) in pieces.iter().enumerate().filter(|(_, pieces)| !pieces.is_empty()) {
            if let Some(text) = items[at].get("text").and_then(Value::as_str)
                && let Some(object) = redacted[at].as_object_mut()
            {
                object.set("text", Value::String(self.redact_pieces(text, pieces)));
            }
        }
        redacted
    }

    fn redact_object(&mut self, object: &Object) -> Object {
        let mut out = Object::default();
        for (key, value) in object.iter() {
            let name = self.redact_js(key);
            let value = match value {
                Value::String(text) if is_image_data(object, key) && !text.is_empty() => {
                    self.removed_images += 1;
                    Value::from(BLANK_IMAGE)
                }
                value if rules::is_secret_member(object, key) => self.redact_named(value, rules::kind(key)),
                other => self.redact_value(other),
            };
            out.insert(name, value);
        }
        out
    }

    /// Replaces the value of a name: a text, texts in a list, or the members of an object that hold a value.
    fn redact_named(&mut self, value: &Value, kind: &'static str) -> Value {
        match value {
            Value::String(text) if !is_placeholder(&text.to_string_lossy()) => {
                Value::from(self.placeholder(&text.to_string_lossy(), kind))
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.redact_named(item, kind)).collect())
            }
            Value::Object(object) => {
                let mut out = self.redact_object(object);
                for (key, value) in object.iter().filter(|(key, _)| rules::is_value_name(key)) {
                    out.insert(key.clone(), self.redact_named(value, kind));
                }
                Value::Object(out)
            }
            other => self.redact_value(other),
        }
    }
}

/// Detects the secrets in a text, and personal data if it is asked for.
fn detect_secrets(text: &str, masks_personal: bool) -> Vec<DetectedSecret> {
    let views = views(text);
    let secrets = detect(text, &views);
    if !masks_personal {
        return secrets;
    }
    let mut found: Spans<DetectedSecret> = Spans::default();
    for one in secrets.into_iter().chain(detect_personal(text, &views)) {
        found.add_if_free(one.from, one.to, one);
    }
    found.into_ranges().map(|(.., one)| one).collect()
}

/// Collects the texts of a value in which secrets are looked for. A text below the name of a secret, such as the signature
/// of a thought, is a secret as a whole and not searched.
fn collect_texts(value: &Value, is_named: bool, texts: &mut HashSet<String>) {
    match value {
        Value::String(_) if is_named => {}
        Value::String(text) => {
            texts.insert(text.to_string_lossy());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, is_named, texts)),
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| !is_image_data(object, key)) {
                texts.insert(key.to_string_lossy());
                collect_texts(value, rules::is_secret_member(object, key), texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The texts of neighbouring text blocks; an empty text for any other item.
fn block_texts(items: &[Value]) -> Vec<String> {
    let text = |item: &Value| item.get("text").and_then(Value::as_str).map(JsString::to_string_lossy);
    let texts: Vec<String> = items.iter().map(|item| text(item).unwrap_or_default()).collect();
    if texts.iter().filter(|text| !text.is_empty()).count() < 2 { Vec::new() } else { texts }
}

fn is_image_data(object: &Object, key: &JsString) -> bool {
    key.eq_str("data") && object.get("type").is_some_and(|kind| kind.str_is("image"))
}

// Remembers what was detected in each text by the text's digest, so that the second pass need not search it again. The
// keys of the digests are random for each document: no one can craft a text with the digest of a clean one.

/// Digests have 128 bits, so two texts of one document do not collide by chance.
#[derive(Debug, Default)]
struct SeenTexts {
    keys: (RandomState, RandomState),
    detected: HashMap<(u64, u64), Arc<[DetectedSecret]>>,
}

impl SeenTexts {
    /// Remembers what a function detects in each of these texts, which it reads side by side.
    fn detect_all(&mut self, texts: &[String], detect: impl Fn(&str) -> Vec<DetectedSecret> + Sync) {
        let detected: Vec<_> =
            texts.par_iter().map(|text| (self.digest(text), detect(text).into())).collect();
        self.detected.extend(detected);
    }

    fn digest(&self, text: &str) -> (u64, u64) {
        (self.keys.0.hash_one(text), self.keys.1.hash_one(text))
    }

    /// The secrets of a text: those of the last time, else what a function detects.
    fn detected(
        &mut self,
        text: &str,
        detect: impl FnOnce() -> Vec<DetectedSecret>,
    ) -> Arc<[DetectedSecret]> {
        let digest = self.digest(text);
        Arc::clone(self.detected.entry(digest).or_insert_with(|| detect().into()))
    }
}

#[cfg(test)]
mod corpus;

#[cfg(test)]
mod coverage;

#[cfg(test)]
mod disguises;

#[cfg(test)]
mod false_mask_tests;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
