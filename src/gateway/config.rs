//! Loads `openclaw.json`: JSON5, included files, environment, validation, defaults, in the gateway's order (store B).
//!
//! clawscope never writes the file. Like the gateway, it continues with an empty configuration after an error; it
//! keeps the reason in [`GatewayConfig::error`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::defaults::{AppliedDefault, apply_defaults};
use super::env::Environment;
use super::include::SourceFile;
use super::lines::TextPosition;
use super::models::{ListedModel, Listing, ModelList};
use super::per_token::find_per_token_prices;
use super::recorded_window::{ModelUser, RecordedWindow, RecordedWindows};
use super::registry::{Provenance, Registry, RegistryModel};
use super::ruleset::Rules;
use super::schema::Variables;
use super::substitute::{MissingVariable, apply_env_block, load_dotenv, substitute};
use super::validate::{Candidates, FileValues, Refusal, RefusedValue};
use super::window::{
    DEFAULT_WINDOW, KnownWindow, WindowInfo, WindowSource, context_tokens_cap, whole_positive,
};
use super::window_rules::{ModelWindow, window_under};
use super::{include, remote, retired, roster};
use crate::diagnostic::{Diagnostic, Severity};
use crate::js;
use crate::units::Tokens;

pub use super::include::ConfigError;
pub use super::state_dir::normalise_agent_id;

/// A gateway writes its own version to this key whenever it writes its configuration.
const LAST_TOUCHED_VERSION: [&str; 2] = ["meta", "lastTouchedVersion"];

#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The configuration with all defaults; an empty object without a usable file.
    pub root: Value,
    /// `root` with JavaScript numbers and strings, for the rules.
    pub js_root: js::Value,
    /// The main config file, if one exists.
    pub path: Option<PathBuf>,
    /// The reason for which the gateway would run on an empty configuration.
    pub error: Option<ConfigError>,
    /// Problems that leave the configuration usable.
    pub diagnostics: Vec<Diagnostic>,
    /// The time zone of this machine, used as that of the gateway's host; resets depend on it.
    pub time_zone: TimeZone,
    /// The directory that the environment names for recordings of runs (trajectory 2.2).
    pub trajectory_dir: Option<PathBuf>,
    sources: Vec<SourceFile>,
    applied_defaults: Vec<AppliedDefault>,
    /// The models of the agents' own registries, by agent id.
    registries: BTreeMap<String, Registry>,
    /// The models that the store's release lists.
    pub models: ModelList,
    /// The windows that the store's rows record.
    pub recorded_windows: RecordedWindows,
    /// The release that last wrote the file, as it says; known of a file that is refused too.
    pub written_by: Option<String>,
    /// The keys of `agents.entries`, in the order in which they are listed here.
    agent_keys: Vec<String>,
    /// Places in `agents.list` by normalised id; the first of several counts.
    agent_places: HashMap<String, usize>,
    /// The file that the gateway refuses and replaces with an empty configuration.
    pub refused: Option<Arc<RefusedFile>>,
}

/// A file that the gateway refuses, and replaces with an empty configuration.
#[derive(Debug, Clone)]
pub struct RefusedFile {
    /// The configuration with the values of the file.
    pub file: GatewayConfig,
    refusal: Refusal,
}

impl RefusedFile {
    /// Returns the configuration of a gateway that ran with the values of the file, as `proof` shows.
    #[must_use]
    pub fn in_use(&self, proof: &str) -> GatewayConfig {
        let mut config = self.file.clone();
        config.warn_about_refusal(&self.refusal, FileValues::Proved(proof));
        config
    }
}

impl GatewayConfig {
    /// Returns the place of the release that last wrote the file.
    pub fn written_by_place(&self) -> Provenance {
        let (path, line) = self.location(&LAST_TOUCHED_VERSION);
        Provenance::File { path, line, key: LAST_TOUCHED_VERSION.join(".") }
    }

    /// Builds the configuration of a store without a file: empty, without defaults (pruning 3.2).
    pub fn empty() -> Self {
        let root = Value::Object(Map::new());
        Self {
            js_root: (&root).into(),
            root,
            path: None,
            error: None,
            diagnostics: Vec::new(),
            time_zone: TimeZone::UTC,
            trajectory_dir: None,
            sources: Vec::new(),
            applied_defaults: Vec::new(),
            registries: BTreeMap::new(),
            models: ModelList::default(),
            recorded_windows: RecordedWindows::default(),
            written_by: None,
            agent_keys: Vec::new(),
            agent_places: HashMap::new(),
            refused: None,
        }
    }

    /// Loads the file at `path`. Reads `.env` files in the working directory and in `state`.
    pub fn load(path: Option<&Path>, env: &Environment, state: &Path) -> Self {
        let trajectory_dir = env.get("OPENCLAW_TRAJECTORY_DIR").map(|dir| env.resolve(dir));
        let mut config = Self { time_zone: local_time_zone(env), trajectory_dir, ..Self::empty() };
        let Some(path) = path else { return config };
        // A variable or a profile may name a missing file: the gateway then runs on its defaults.
        if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            let next = "the gateway uses its defaults until this file exists";
            config.diagnostics.push(Diagnostic::new(
                path,
                Severity::Note,
                "the configuration file does not exist",
                next,
            ));
            return config;
        }
        config.path = Some(path.to_path_buf());
        match config.read(path, env, state, None) {
            Ok((root, Some(refusal))) if refusal.runs_empty() => {
                let mut file = config.clone();
                file.use_values(root);
                config.run_empty(file, refusal);
            }
            Ok((root, refusal)) => {
                if let Some(refusal) = refusal {
                    config.warn_about_refusal(&refusal, FileValues::Replaced);
                }
                config.use_values(root);
            }
            Err(error) => config.error = Some(error),
        }
        config
    }

    /// Lists what another release than the one that wrote the file would refuse of it.
    pub fn refused_by(&self, release: &str, env: &Environment, state: &Path) -> Vec<Diagnostic> {
        let Some(path) = self.path.as_deref().filter(|_| self.written_by.as_deref() != Some(release)) else {
            return Vec::new();
        };
        let mut asked = Self { path: Some(path.to_path_buf()), ..Self::empty() };
        let refusal = asked.read(path, env, state, Some(release)).ok().and_then(|(_, refusal)| refusal);
        asked.diagnostics.clear();
        if let Some(refusal) = refusal {
            asked.warn_about_refusal(&refusal, FileValues::Asked);
        }
        asked.diagnostics
    }

    fn use_values(&mut self, root: Value) {
        self.js_root = (&root).into();
        self.root = root;
        self.agent_places = self.index_agents();
        let mode = self.location(&["gateway", "mode"]);
        self.diagnostics.extend(remote::remote_diagnostic(&self.js_root, mode));
        self.warn_about_prices();
    }

    /// Runs on an empty configuration, and puts the file aside.
    fn run_empty(&mut self, file: Self, refusal: Refusal) {
        let mut refused = self.refused_values(&refusal, FileValues::Replaced).into_iter();
        self.error = refused.next();
        self.diagnostics.extend(refused.map(|error| Diagnostic::from(&error)));
        self.applied_defaults.clear();
        self.agent_keys.clear();
        self.refused = Some(Arc::new(RefusedFile { file, refusal }));
    }

    /// Warns of the values that the release refuses; those of the file are in use all the same.
    fn warn_about_refusal(&mut self, refusal: &Refusal, values: FileValues<'_>) {
        let warning =
            |error: &ConfigError| Diagnostic { severity: Severity::Warning, ..Diagnostic::from(error) };
        let refused = self.refused_values(refusal, values);
        self.diagnostics.splice(0..0, refused.iter().map(warning));
    }

    fn read(
        &mut self,
        path: &Path,
        env: &Environment,
        state: &Path,
        release: Option<&str>,
    ) -> Result<(Value, Option<Refusal>), ConfigError> {
        let mut env = env.clone();
        for dir in [&env.cwd.clone(), &state.to_path_buf()] {
            load_dotenv(&mut env, &dir.join(".env"));
        }
        let mut root = include::read(path, &mut self.sources)?;
        apply_env_block(&mut env, &root);
        let written_by =
            LAST_TOUCHED_VERSION.iter().try_fold(&root, |value, key| value.get(key)).and_then(Value::as_str);
        self.written_by = written_by.map(str::to_owned);
        let candidates = Candidates::for_file(release.or(self.written_by.as_deref()), holds_database(state));
        let missing = substitute(&mut root, &env);
        let keeps = candidates.first().is_some_and(|schema| schema.variables == Variables::Kept);
        self.report_missing(missing, keeps)?;
        let (mut root, refusal) = self.validated(root, &candidates);
        self.warn_about_main_key(&root);
        self.applied_defaults = apply_defaults(&mut root, &env);
        Ok((root, refusal))
    }

    /// A variable without a value refuses the file in older releases, unless it holds a secret: the gateway's own
    /// environment may have it.
    fn report_missing(&mut self, missing: Vec<MissingVariable>, keeps: bool) -> Result<(), ConfigError> {
        for missing in missing {
            let what = format!("the environment has no value for ${{{}}}", missing.name);
            let next =
                format!("set {}, or write $${{{}}} to mean the literal text", missing.name, missing.name);
            let error = self.error_at(&missing.trail, what, next);
            if !missing.secret && !keeps {
                return Err(error);
            }
            let severity = if missing.secret { Severity::Note } else { Severity::Warning };
            self.diagnostics.push(Diagnostic { severity, ..Diagnostic::from(&error) });
        }
        Ok(())
    }

    /// Returns the file as its release reads it, with its settings at the places that are read here, and its refusal.
    fn validated(&mut self, root: Value, candidates: &Candidates) -> (Value, Option<Refusal>) {
        let verdict = candidates.validate(|schema| {
            let mut root = root.clone();
            let old = retired::migrate(&mut root, schema);
            let lost = if schema.roster { roster::migrate(&mut root) } else { Vec::new() };
            (root, (old, lost))
        });
        let Some((mut root, (old, lost))) = verdict.prepared else { return (root, None) };
        self.agent_keys = roster::entries_to_list(&mut root);
        for (moved, severity) in old
            .into_iter()
            .map(|old| (old, Severity::Note))
            .chain(lost.into_iter().map(|lost| (lost, Severity::Warning)))
        {
            let error = self.error_at(&moved.trail, moved.message, "move or remove the key".to_owned());
            self.diagnostics.push(Diagnostic { severity, ..Diagnostic::from(&error) });
        }
        (root, verdict.refusal)
    }

    /// Lists the values that the release refuses, each at its line.
    fn refused_values(&self, refusal: &Refusal, values: FileValues<'_>) -> Vec<ConfigError> {
        let error = |value: &RefusedValue| {
            self.error_at(&value.trail, value.message.clone(), refusal.consequence(values))
        };
        refusal.issues.iter().map(error).collect()
    }

    fn error_at(&self, trail: &[String], what: String, next: String) -> ConfigError {
        let trail: Vec<&str> = trail.iter().map(String::as_str).collect();
        // A value that is missing is reported at the nearest value around it.
        let places = (0..=trail.len()).rev().map(|end| self.position(&trail[..end]));
        let found = places.into_iter().find(|(_, spot)| spot.is_some());
        let (path, spot) = found.unwrap_or_else(|| (self.path.clone().unwrap_or_default(), None));
        let (line, column) = (spot.map(|spot| spot.line), spot.map(|spot| spot.column));
        ConfigError { path, line, column, message: what, advice: next }
    }

    /// Returns the file and line of a key; among several files, the one whose value is in force.
    fn location(&self, key: &[&str]) -> (PathBuf, Option<u32>) {
        let (path, spot) = self.position(key);
        (path, spot.map(|spot| spot.line))
    }

    fn position(&self, key: &[&str]) -> (PathBuf, Option<TextPosition>) {
        let retired = key.strip_prefix(&["agents", "defaults"]);
        let retired = retired.map(|below| [&[retired::RETIRED_KEY][..], below].concat()).unwrap_or_default();
        let keyed = roster::other_place(key, &self.agent_keys).unwrap_or_default();
        let keyed: Vec<&str> = keyed.iter().map(String::as_str).collect();
        let found = [key, &retired, &keyed].into_iter().find_map(|key| self.positions(key).next());
        let found = found.map(|(path, spot)| (path.to_path_buf(), Some(spot)));
        found.unwrap_or_else(|| (self.path.clone().unwrap_or_default(), None))
    }

    /// Lists every place of a key, the one whose value is in force first.
    fn positions<'a>(&'a self, key: &'a [&str]) -> impl Iterator<Item = (&'a Path, TextPosition)> {
        self.sources.iter().rev().filter_map(move |source| {
            let inner = key.get(source.mount.len()..)?;
            let below = source.mount.iter().zip(key).all(|(a, b)| a == b);
            let spot = below.then(|| source.position(inner))??;
            Some((source.path.as_path(), spot))
        })
    }

    /// Lists every place of a key: the value in force first, then the values that it overrides.
    pub fn provenance_chain(&self, key: &[&str]) -> Vec<Provenance> {
        let of = |(path, spot): (&Path, TextPosition)| Provenance::File {
            path: path.to_path_buf(),
            line: Some(spot.line),
            key: key.join("."),
        };
        self.positions(key).map(of).collect()
    }

    /// Reads the model registries of the agents (store A8).
    pub fn read_registries<'a>(
        &mut self,
        env: &Environment,
        state: &Path,
        agents: impl Iterator<Item = &'a str>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for agent in agents {
            let registry = Registry::read(&self.agent_dir(env, state, agent), diagnostics);
            self.registries.insert(agent.to_owned(), registry);
        }
    }

    /// Reads the registry in an agent directory; pi's is next to its settings (store R6).
    pub fn read_registry(&mut self, agent: &str, agent_dir: &Path, diagnostics: &mut Vec<Diagnostic>) {
        self.registries.insert(agent.to_owned(), Registry::read(agent_dir, diagnostics));
    }

    /// Takes over what was read beside the file: registries, windows of rows, and the release's models.
    pub fn take_surroundings(&mut self, of: &Self) {
        self.registries.clone_from(&of.registries);
        self.recorded_windows.clone_from(&of.recorded_windows);
        self.models = of.models;
    }

    /// Returns the directory of an agent's registry (store A8).
    pub fn agent_dir(&self, env: &Environment, state: &Path, agent: &str) -> PathBuf {
        match self
            .agent_entry(agent)
            .and_then(|entry| entry.get("agentDir")?.as_str())
            .map(str::trim)
            .filter(|dir| !dir.is_empty())
        {
            Some(dir) => env.resolve(dir),
            None => state.join("agents").join(agent).join("agent"),
        }
    }

    pub fn registry_model(
        &self,
        agent: &str,
        provider: &str,
        model: &str,
    ) -> Option<(&Registry, &RegistryModel)> {
        let registry = self.registries.get(agent)?;
        Some((registry, registry.find(provider, model)?))
    }

    /// Returns a model's own window: from the agent's registry, else from a row, else from the release's list, else what the
    /// gateway takes for an unlisted model of a configured provider; `None` if nothing names one.
    pub fn known_window(&self, user: ModelUser<'_>, provider: &str, model: &str) -> Option<KnownWindow> {
        let known = |source| move |tokens| KnownWindow::new(tokens, source);
        let registered = self.registry_model(user.agent, provider, model).map(|(_, model)| model);
        let own = registered.filter(|model| model.has_own_window).map(|model| model.window);
        let recorded = || self.recorded_window(user, provider, model).map(|row| row.tokens);
        let filled_in = || registered.map(|model| model.window).map(known(WindowSource::Default));
        own.map(known(WindowSource::Model))
            .or_else(|| recorded().map(known(WindowSource::Row)))
            .or_else(filled_in)
            .or_else(|| self.listed_window(provider, model))
    }

    /// Looks a model up as the program does: its own list, then the first model of the configured provider.
    fn listed_window(&self, provider: &str, model: &str) -> Option<KnownWindow> {
        let from_list = |found: ListedModel| {
            let source = match found.listing {
                Listing::Listed => WindowSource::Listed,
                Listing::Assumed => WindowSource::Assumed,
            };
            let context_tokens = found.values.context_tokens;
            Some(KnownWindow { context_tokens, ..KnownWindow::new(found.values.window?, source) })
        };
        self.models.find(provider, model).and_then(from_list).or_else(|| {
            let models = self.value(&["models", "providers", provider, "models"])?.as_array()?;
            let window = Tokens(models.first()?.get("contextWindow")?.as_f64()?);
            Some(KnownWindow::new(whole_positive(window)?, WindowSource::Assumed))
        })
    }

    /// Returns the row that knows the window of a model. A row that repeats the configured `contextTokens` says nothing
    /// about the model, nor does one with the gateway's default for a model that no list names.
    pub fn recorded_window(
        &self,
        user: ModelUser<'_>,
        provider: &str,
        model: &str,
    ) -> Option<&RecordedWindow> {
        let cap = context_tokens_cap(&self.js_root);
        let found = self.models.find(provider, model);
        let is_listed = found.is_some_and(|found| found.listing == Listing::Listed);
        self.recorded_windows.find(user.session, (provider, model), |tokens| {
            cap != Some(tokens) && (is_listed || tokens != DEFAULT_WINDOW)
        })
    }

    /// Returns the window of a run on a model under a ruleset (compaction 7.1).
    pub fn window(&self, rules: &Rules, user: ModelUser<'_>, provider: &str, model: &str) -> WindowInfo {
        self.window_from(rules, (provider, model), self.known_window(user, provider, model))
    }

    /// Does the same from the model's own window, if it is known.
    pub fn window_from(
        &self,
        rules: &Rules,
        (provider, model): (&str, &str),
        known: Option<KnownWindow>,
    ) -> WindowInfo {
        let under = |known: Option<KnownWindow>| {
            let own =
                |known: KnownWindow| ModelWindow { tokens: known.context_tokens, window: Some(known.tokens) };
            window_under(rules, &self.js_root, provider, model, known.map(own))
        };
        // Before 2.1 a model's own window precedes the configured one; a window that rows or a list name does not.
        let configured = under(known.filter(|known| known.source == WindowSource::Model));
        let is_configured = configured.model_source == WindowSource::ModelsConfig;
        let window = if is_configured { configured } else { under(known) };
        let named = |source| match known.filter(|_| source == WindowSource::Model) {
            Some(known) => known.source,
            None => source,
        };
        WindowInfo { source: named(window.source), model_source: named(window.model_source), ..window }
    }

    /// Returns the origin of that window.
    pub fn window_provenance(
        &self,
        window: &WindowInfo,
        user: ModelUser<'_>,
        provider: &str,
        model: &str,
    ) -> Provenance {
        match window.source {
            WindowSource::AgentContextTokens => self.provenance(&["agents", "defaults", "contextTokens"]),
            WindowSource::Listed | WindowSource::Assumed => match self.models.find(provider, model) {
                Some(found) => Provenance::Rule { rule: "releases R76", why: found.release.to_string() },
                None => Provenance::Default,
            },
            WindowSource::Row => match self.recorded_window(user, provider, model) {
                Some(row) => {
                    Provenance::Rule { rule: "compaction 7.7", why: format!("row of {}", row.session) }
                }
                None => Provenance::Default,
            },
            WindowSource::Model => match self.registry_model(user.agent, provider, model) {
                Some((registry, model)) => registry.provenance(model),
                None => Provenance::Default,
            },
            WindowSource::Tried | WindowSource::Default | WindowSource::Answered | WindowSource::Stated => {
                Provenance::Default
            }
            WindowSource::ModelsConfig => {
                let list = ["models", "providers", provider, "models"];
                let listed = self.value(&list).and_then(js::Value::as_array).unwrap_or_default();
                let at = listed.iter().position(|entry| entry.get("id").is_some_and(|id| id.str_is(model)));
                let at = at.unwrap_or_default().to_string();
                self.provenance(&[&list[..], &[at.as_str(), "contextWindow"]].concat())
            }
        }
    }

    fn warn_about_prices(&mut self) {
        for price in find_per_token_prices(&self.js_root) {
            let (path, line) = self.location(&price.trail.iter().map(String::as_str).collect::<Vec<_>>());
            let next = "multiply the prices of this model by 1,000,000";
            let finding = Diagnostic::new(path, Severity::Warning, price.message, next);
            self.diagnostics.push(Diagnostic { line: line.map(u64::from), ..finding });
        }
    }

    fn warn_about_main_key(&mut self, root: &Value) {
        let Some(key) = root.pointer("/session/mainKey").filter(|key| key.as_str() != Some("main")) else {
            return;
        };
        let (path, line) = self.location(&["session", "mainKey"]);
        self.diagnostics.push(Diagnostic {
            path,
            line: line.map(u64::from),
            subject: None,
            severity: Severity::Warning,
            message: format!("session.mainKey is {key}, but the gateway always uses \"main\""),
            advice: "remove the key".to_owned(),
        });
    }

    /// Returns the value at a key path as a JavaScript value; an index names an item of a list.
    pub fn value(&self, key: &[&str]) -> Option<&js::Value> {
        key.iter().try_fold(&self.js_root, |value, segment| match value.as_array() {
            Some(items) => items.get(segment.parse::<usize>().ok()?),
            None => value.get(segment),
        })
    }

    /// Returns the origin of the value at a key path; `Default` if the configuration has no such value.
    pub fn provenance(&self, key: &[&str]) -> Provenance {
        let full = key.join(".");
        if let Some(applied) = self.applied_defaults.iter().find(|applied| applied.key == full) {
            return Provenance::Rule { rule: applied.rule, why: applied.reason.clone() };
        }
        if self.value(key).is_none() {
            return Provenance::Default;
        }
        let (path, line) = self.location(key);
        Provenance::File { path, line, key: full }
    }

    /// Lists the defaults that the gateway filled in.
    pub fn applied_defaults(&self) -> &[AppliedDefault] {
        &self.applied_defaults
    }

    /// Lists the configured agent ids: normalised, in order, without duplicates (store A6).
    pub fn agent_ids(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        self.agents()
            .map(|agent| normalise_agent_id(agent.get("id").and_then(Value::as_str).unwrap_or_default()))
            .filter(|id| seen.insert(id.clone()))
            .collect()
    }

    fn index_agents(&self) -> HashMap<String, usize> {
        let mut places = HashMap::new();
        for (at, agent) in self.agent_list().iter().enumerate().filter(|(_, agent)| agent.is_object()) {
            if let Some(id) = agent.get("id").and_then(Value::as_str) {
                places.entry(normalise_agent_id(id)).or_insert(at);
            }
        }
        places
    }

    /// Returns the entry of an agent in `agents.list`, by its normalised id.
    pub(super) fn agent_entry(&self, agent: &str) -> Option<&Value> {
        self.agent_list().get(*self.agent_places.get(agent)?)
    }

    /// Returns the agent that owns session keys without an agent (store A7).
    pub fn default_agent_id(&self) -> String {
        let truthy =
            |agent: &&Value| agent.get("default").is_some_and(|flag| js::is_truthy(Some(&flag.into())));
        let agent = self.agents().find(truthy).or_else(|| self.agents().next());
        normalise_agent_id(
            agent.and_then(|agent| agent.get("id")).and_then(Value::as_str).unwrap_or_default(),
        )
    }

    fn agents(&self) -> impl Iterator<Item = &Value> {
        self.agent_list().iter().filter(|agent| agent.is_object())
    }

    fn agent_list(&self) -> &[Value] {
        self.root.get("agents").and_then(|agents| agents.get("list")?.as_array()).map_or(&[], Vec::as_slice)
    }

    /// Returns the model of an agent without a session's override, as `provider/model` (store B5, C9).
    pub fn default_model(&self, agent: &str) -> Option<&str> {
        self.model_choices(agent).find_map(|model| {
            model
                .as_str()
                .or_else(|| model.get("primary")?.as_str())
                .map(str::trim)
                .filter(|model| !model.is_empty())
        })
    }

    /// Returns the models that are asked after an agent's default one failed, as `provider/model`.
    pub fn fallback_models(&self, agent: &str) -> impl Iterator<Item = &str> {
        let listed = self.model_choices(agent).find_map(|model| model.get("fallbacks")?.as_array());
        listed.into_iter().flatten().filter_map(|model| Some(model.as_str()?.trim()))
    }

    /// Returns the `model` of an agent, then that of all agents.
    fn model_choices(&self, agent: &str) -> impl Iterator<Item = &Value> {
        let places =
            [self.agent_entry(agent), self.root.get("agents").and_then(|agents| agents.get("defaults"))];
        places.into_iter().flatten().filter_map(|entry| entry.get("model"))
    }
}

/// Whether a state dir keeps sessions in databases, as releases do that move the list of agents.
fn holds_database(state: &Path) -> bool {
    let agents = std::fs::read_dir(state.join("agents")).into_iter().flatten().flatten();
    agents.map(|agent| agent.path().join("agent/openclaw-agent.sqlite")).any(|file| file.is_file())
}

/// Returns the time zone that a gateway process on this machine would use: `TZ`, else the system's.
pub fn local_time_zone(env: &Environment) -> TimeZone {
    let named = env.get("TZ").map(|name| name.trim_start_matches(':'));
    named.and_then(|name| TimeZone::get(name).ok()).unwrap_or_else(TimeZone::system)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
