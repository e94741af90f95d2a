//! Reads the models in an agent's `models.json` (store A8, B7), which the runtime uses for models that the
//! configuration does not list. clawscope does not keep the keys and addresses in that file.

use std::collections::HashMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::lines;
use super::models::Price;
use super::window::whole_positive;
use crate::diagnostic::{Diagnostic, Severity};
use crate::files;
use crate::js::{self, JsString, Value};
use crate::units::Tokens;

/// The window of a listed model without one, in tokens.
const DEFAULT_LISTED_WINDOW: Tokens = Tokens(128_000.0);
/// The maximum size of a registry in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registry {
    pub path: PathBuf,
    /// Models in file order.
    pub models: Vec<RegistryModel>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RegistryModel {
    pub provider: String,
    pub id: String,
    /// The window in tokens.
    pub window: Tokens,
    /// Whether the file names the window; otherwise it is the runtime's default.
    pub has_own_window: bool,
    /// The most tokens of a reply that the runtime requests; `None` if the file names none.
    pub max_tokens: Option<Tokens>,
    /// The list price; `None` unless input and output are both listed.
    pub price: Option<Price>,
    /// The line of the window, else of the model; from 1.
    pub line: Option<u32>,
}

impl Registry {
    /// Reads `models.json` of an agent directory. A missing file lists no models; an unreadable one adds a
    /// diagnostic.
    pub fn read(agent_dir: &Path, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let path = agent_dir.join("models.json");
        let none = Self { path: path.clone(), models: Vec::new() };
        let text = match files::read_text(&path, MAX_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => return none,
            read => read.map_err(|error| error.to_string()),
        };
        let parsed = text.and_then(|text| Ok((js::parse(&text).map_err(|error| error.to_string())?, text)));
        match parsed {
            Ok((value, text)) => Self { models: models(&value, &text), path },
            Err(error) => {
                let next = "correct the file; until then clawscope takes its models from the built-in \
                     list";
                diagnostics.push(Diagnostic::new(
                    &path,
                    Severity::Warning,
                    format!("cannot read the file: {error}"),
                    next,
                ));
                none
            }
        }
    }

    /// Returns the last entry for a provider's model.
    pub fn find(&self, provider: &str, model: &str) -> Option<&RegistryModel> {
        self.models.iter().rev().find(|own| own.provider == provider && own.id == model)
    }

    /// The origin of the model's window.
    pub fn provenance(&self, model: &RegistryModel) -> Provenance {
        let key = format!("providers.{}.models: {}", model.provider, model.id);
        Provenance::File { path: self.path.clone(), line: model.line, key }
    }
}

fn models(value: &Value, text: &str) -> Vec<RegistryModel> {
    let providers = value.get("providers").and_then(Value::as_object);
    let lines = ModelLines::from_text(text);
    let mut found = Vec::new();
    for (provider, entry) in providers.into_iter().flat_map(js::Object::iter) {
        let provider = provider.to_string_lossy();
        let listed = entry.get("models").and_then(Value::as_array).unwrap_or_default();
        for (at, model) in listed.iter().enumerate() {
            let Some(id) = model.get("id").and_then(Value::as_str).map(JsString::to_string_lossy) else {
                continue;
            };
            let tokens =
                |key: &str| model.get(key).and_then(Value::as_f64).map(Tokens).and_then(whole_positive);
            let own = tokens("contextWindow");
            found.push(RegistryModel {
                line: lines.line(&provider, at),
                provider: provider.clone(),
                id,
                window: own.unwrap_or(DEFAULT_LISTED_WINDOW),
                has_own_window: own.is_some(),
                max_tokens: tokens("maxTokens"),
                price: model.get("cost").and_then(Price::from_cost),
            });
        }
    }
    found
}

/// Lines of models and of their windows, found in a single pass because a registry lists thousands.
#[derive(Default)]
struct ModelLines {
    models: HashMap<(String, usize), u32>,
    windows: HashMap<(String, usize), u32>,
}

impl ModelLines {
    fn from_text(text: &str) -> Self {
        let mut lines = Self::default();
        lines::for_each_position(text, |at, spot| {
            let is_model = at.key(0) == Some("providers") && at.key(2) == Some("models");
            let model = at.key(1).zip(at.index(3)).filter(|_| is_model);
            let Some((provider, index)) = model else { return };
            let model = (provider.to_owned(), index);
            match (at.depth(), at.key(4)) {
                (4, _) => drop(lines.models.insert(model, spot.line)),
                (5, Some("contextWindow")) => drop(lines.windows.insert(model, spot.line)),
                _ => {}
            }
        });
        lines
    }

    /// The line of a model's window, else of the model.
    fn line(&self, provider: &str, index: usize) -> Option<u32> {
        let model = (provider.to_owned(), index);
        self.windows.get(&model).or_else(|| self.models.get(&model)).copied()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    Default,
    /// Built in and not configurable in this version; the text gives the release since which.
    Fixed(&'static str),
    File {
        /// The file that holds the key, possibly an included one.
        path: PathBuf,
        /// The line from 1; `None` for keys that only a merge produced.
        line: Option<u32>,
        /// The full key, such as `agents.defaults.contextPruning.ttl`.
        key: String,
    },
    /// Filled in by a rule of the gateway while loading.
    Rule {
        rule: &'static str,
        why: String,
    },
    Flag,
    /// Changed on the screen.
    Tuned,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Fixed(why) => f.write_str(why),
            Self::File { path, line: Some(line), .. } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None, .. } => write!(f, "{}", path.display()),
            Self::Rule { rule, why } => write!(f, "{rule}: {why}"),
            Self::Flag => f.write_str("command line"),
            Self::Tuned => f.write_str("tuned"),
        }
    }
}

impl serde::Serialize for Provenance {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

crate::units::schema_of!(Provenance, String);

/// A value, its value without any configuration, and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    pub value: T,
    pub default: T,
    pub provenance: Provenance,
}

impl<T> Setting<T> {
    /// Gives value and default a unit.
    pub fn map<U>(self, unit: impl Fn(T) -> U) -> Setting<U> {
        Setting { value: unit(self.value), default: unit(self.default), provenance: self.provenance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Registry, Vec<Diagnostic>) {
        let dir = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(dir.path().join("models.json")).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let mut diagnostics = Vec::new();
        (Registry::read(dir.path(), &mut diagnostics), diagnostics)
    }

    #[test]
    fn models_are_listed_with_window_price_and_line() {
        let (registry, diagnostics) = read(
            "{\"providers\":{\"local\":{\"apiKey\":\"k\",\"models\":[\n{\"id\":\"a\",\n\"contextWindow\":32768,\n\"cost\":{\"input\":1,\"output\":2}},\n{\"id\":\"b\"},{\"contextWindow\":5},null]},\"odd\":null}}",
        );
        assert_eq!(diagnostics, []);
        let seen: Vec<_> = registry.models.iter().map(|m| (m.id.as_str(), m.window, m.line)).collect();
        assert_eq!(seen, [("a", Tokens(32_768.0), Some(3)), ("b", Tokens(128_000.0), Some(5))]);
        assert_eq!(registry.find("local", "a").unwrap().price.unwrap().output, 2.0);
        assert!(registry.find("other", "a").is_none());
        assert!(!format!("{registry:?}").contains("\"k\""));
    }

    #[test]
    fn a_missing_registry_is_empty_and_a_broken_one_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let mut diagnostics = Vec::new();
        assert_eq!(Registry::read(dir.path(), &mut diagnostics).models, []);
        assert_eq!(diagnostics, []);
        let (registry, diagnostics) = read("{\"providers\":");
        assert!(registry.models.is_empty() && diagnostics.len() == 1);
    }
}
