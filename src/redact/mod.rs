//! Secrets out of everything that leaves the program as a document, and out of the short texts of lists and rows. Pure:
//! texts in, texts out.
//!
//! A document goes in two passes. First everything that will be written is looked through and each secret is learnt: by its shape,
//! by the name that stands before it, by the key it is the value of. Then every place where one stands is replaced, also
//! where nothing around it tells what it is, and where a cut left only its beginning or its end. The same secret has the
//! same placeholder throughout a document, so that it still shows which two are the same. A short text is masked by the same
//! rules on its own, so its placeholders carry no numbers: the same number in two rows would mean nothing.

mod known;
mod names;
mod plain;
mod rules;
mod screen;
mod short;
mod views;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub use screen::redact_screen;
pub use short::{Secrets, load, masked};

use crate::js::{JsString, Object, Value};
use known::Known;
use plain::Plain;
use rules::{COMPILED, is_placeholder};
use views::{View, packed, views};

/// An image of one transparent pixel: no rule can look into a picture.
const BLANK_IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==";

/// The secrets of a document, and what stands for each.
#[derive(Debug, Default)]
pub struct Redactor {
    /// Nothing is replaced.
    off: bool,
    /// Kind and number of each secret, by its text.
    secrets: BTreeMap<String, (&'static str, usize)>,
    /// How secrets are written where that is not as they are: behind escapes, in base64.
    written: BTreeSet<String>,
    /// How many of each kind there are.
    counts: BTreeMap<&'static str, usize>,
    /// What is looked for everywhere; none until the first text is redacted.
    known: Option<Known>,
    /// Images were left out.
    images: usize,
    /// Digests of texts that tell no secret: every text is looked through once to learn and once to replace.
    plain: Plain,
}

impl Redactor {
    /// One that replaces nothing.
    pub fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// Whether it replaces anything.
    pub fn is_on(&self) -> bool {
        !self.off
    }

    /// How many secrets were found, by kind.
    pub fn counts(&self) -> &BTreeMap<&'static str, usize> {
        &self.counts
    }

    /// How many images were replaced.
    pub fn images(&self) -> usize {
        self.images
    }

    /// Looks through a text.
    pub fn learn(&mut self, text: &str) {
        if self.off {
            return;
        }
        if self.plain.has(text) {
            return;
        }
        let told = told(text, &views(text));
        if told.is_empty() {
            self.plain.add(text);
        }
        for Told { from, to, kind, secret } in told {
            self.note(&secret, kind);
            if secret != text[from..to] {
                self.written.insert(text[from..to].to_owned());
            }
        }
    }

    /// Looks through every text of a value, and takes the values of keys that name secrets. Arguments of calls are often
    /// JSON in a text; that is looked through as text.
    pub fn learn_value(&mut self, value: &Value) {
        if self.off {
            return;
        }
        match value {
            Value::String(text) => self.learn(&text.to_string_lossy()),
            Value::Array(items) => items.iter().for_each(|item| self.learn_value(item)),
            Value::Object(object) => {
                for (key, value) in object.iter().filter(|(key, _)| !is_picture(object, key)) {
                    self.learn(&key.to_string_lossy());
                    match value {
                        Value::String(text) if names::is_secret(key) => {
                            let text = text.to_string_lossy();
                            if !is_placeholder(&text) {
                                self.note(&text, names::KIND);
                            }
                        }
                        other => self.learn_value(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn note(&mut self, secret: &str, kind: &'static str) -> usize {
        if let Some((_, number)) = self.secrets.get(secret) {
            return *number;
        }
        let count = self.counts.entry(kind).or_insert(0);
        *count += 1;
        self.secrets.insert(secret.to_owned(), (kind, *count));
        self.known = None;
        *count
    }

    /// What stands for a secret: the same for the same text.
    fn placeholder(&mut self, secret: &str, kind: &'static str) -> String {
        let number = self.note(secret, kind);
        let kind = self.secrets.get(secret).map_or(kind, |(kind, _)| kind);
        format!("[redacted:{kind}:{number}]")
    }

    /// The text without its secrets.
    pub fn text<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        if self.off || text.is_empty() {
            return Cow::Borrowed(text);
        }
        let places = self.places(text);
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

    /// Where secrets stand in a text, as bytes, with what is put there: in order, none over another.
    fn places(&mut self, text: &str) -> Vec<(usize, usize, String)> {
        if self.secrets.is_empty() && self.plain.has(text) {
            return Vec::new();
        }
        let views = views(text);
        let told = if self.plain.has(text) { Vec::new() } else { told(text, &views) };
        let mut places: Vec<(usize, usize, String)> = Vec::with_capacity(told.len());
        for Told { from, to, kind, secret } in told {
            // A rule may take more of a text than the secret that is known to stand there, never less.
            let placeholder = self.placeholder(&secret, kind);
            places.push((from, to, placeholder));
        }
        if self.known.is_none() {
            self.known = Some(Known::new(self.secrets.iter().map(|(text, named)| (text.as_str(), *named))));
        }
        let found = self.known.as_ref().map(|known| known_in(known, text, &views)).unwrap_or_default();
        for (from, to, kind, number) in found {
            if places.iter().all(|place| to <= place.0 || place.1 <= from) {
                places.push((from, to, format!("[redacted:{kind}:{number}]")));
            }
        }
        places.sort_unstable_by_key(|place| place.0);
        places
    }

    /// The same for text of the gateway; halves of surrogate pairs stay what they are.
    pub fn js(&mut self, text: &JsString) -> JsString {
        if self.off {
            return text.clone();
        }
        let plain = text.to_string_lossy();
        let places = self.places(&plain);
        if places.is_empty() {
            return text.clone();
        }
        // A lone half is one unit, and so is what stands for it in `plain`.
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

    /// A value without secrets: texts, keys, the values of keys that name secrets; images are left blank.
    pub fn value(&mut self, value: &Value) -> Value {
        if self.off {
            return value.clone();
        }
        match value {
            Value::String(text) => Value::String(self.js(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect()),
            Value::Object(object) => Value::Object(self.object(object)),
            plain => plain.clone(),
        }
    }

    fn object(&mut self, object: &Object) -> Object {
        let mut out = Object::default();
        for (key, value) in object.iter() {
            let name = self.js(key);
            let value = match value {
                Value::String(text) if names::is_secret(key) && !is_placeholder(&text.to_string_lossy()) => {
                    Value::from(self.placeholder(&text.to_string_lossy(), names::KIND))
                }
                Value::String(text) if is_picture(object, key) && !text.is_empty() => {
                    self.images += 1;
                    Value::from(BLANK_IMAGE)
                }
                other => self.value(other),
            };
            out.insert(name, value);
        }
        out
    }
}

/// A secret that a text tells: its bytes there, its kind, and it itself without escapes.
#[derive(Debug)]
struct Told {
    from: usize,
    to: usize,
    kind: &'static str,
    secret: String,
}

/// Every secret that a text tells, behind escapes and in base64 too; none over another.
fn told(text: &str, views: &[View]) -> Vec<Told> {
    let of = |hit: &rules::Hit, text: &str, (from, to)| Told {
        from,
        to,
        kind: hit.kind,
        secret: text[hit.from..hit.to].to_owned(),
    };
    let mut told: Vec<Told> =
        COMPILED.hits(text).iter().map(|hit| of(hit, text, (hit.from, hit.to))).collect();
    for view in views {
        for hit in COMPILED.hits(&view.text) {
            add(&mut told, of(&hit, &view.text, view.place(hit.from, hit.to)));
        }
    }
    for (from, to, inner) in packed(text) {
        if let Some(hit) = COMPILED.hits(&inner).first() {
            add(&mut told, of(hit, &inner, (from, to)));
        }
    }
    told
}

/// Adds a secret to others: what lies within another is told already, and what reaches beyond one takes it in.
fn add(told: &mut Vec<Told>, mut new: Told) {
    if told.iter().any(|other| other.from <= new.from && new.to <= other.to) {
        return;
    }
    told.retain(|other| {
        let apart = other.to <= new.from || new.to <= other.from;
        if !apart {
            (new.from, new.to) = (new.from.min(other.from), new.to.max(other.to));
        }
        apart
    });
    told.push(new);
}

/// Where known secrets stand, behind escapes and in base64 too.
fn known_in(known: &Known, text: &str, views: &[View]) -> Vec<known::Found> {
    if known.is_empty() {
        return Vec::new();
    }
    let mut found = known.find(text);
    let mut add = |new: known::Found| {
        if found.iter().all(|other| new.1 <= other.0 || other.1 <= new.0) {
            found.push(new);
        }
    };
    for view in views {
        for (from, to, kind, number) in known.find(&view.text) {
            let (from, to) = view.place(from, to);
            add((from, to, kind, number));
        }
    }
    for (from, to, inner) in packed(text) {
        if let Some((.., kind, number)) = known.find(&inner).first() {
            add((from, to, kind, *number));
        }
    }
    found
}

/// Whether a member is the data of an image.
fn is_picture(object: &Object, key: &JsString) -> bool {
    key.eq_str("data") && object.get("type").is_some_and(|kind| kind.str_is("image"))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
