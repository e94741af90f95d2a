//! Decides whether a gateway ran with a configuration that its release refuses (releases R77).
//!
//! A release that refuses a file runs on an empty configuration. But a file may have been broken after the gateway read
//! it, and then the sessions show values that only this file has: a model, a window, the marks of pruning. The newest
//! session that tells decides. For example, a row of `dashscope/qwen-made-max` proves a file that defines `dashscope`.

use std::sync::Arc;

use memchr::memmem;

use super::contents::Store;
use super::key::SessionKind;
use super::model::ModelRef;
use super::session::Session;
use crate::diagnostic::Diagnostic;
use crate::files;
use crate::format::format_number;
use crate::gateway::config::GatewayConfig;
use crate::gateway::models::Price;
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::ruleset::Rules;
use crate::js::{self, JsString, Value};
use crate::units::{Moment, Tokens};

/// The models that releases run without a configuration: up to 2026.2.3, and later. A row may be of either.
const DEFAULT_MODELS: [&str; 2] = ["anthropic/claude-opus-4-5", "anthropic/claude-opus-4-6"];

/// The marks that pruning leaves, in the words of both names of the program (pruning 4.3).
const MARKS: [&[u8]; 2] = [b"\"openclaw.cache-ttl\"", b"\"clawdbot.cache-ttl\""];

/// The longest transcript that is searched, in bytes.
const LONGEST_TRANSCRIPT: u64 = 64 << 20;

/// The newest answers of a transcript whose prices are compared.
const PRICED_ANSWERS: usize = 20;

/// The configuration of a run, as the store shows it.
#[derive(Debug, Clone, PartialEq)]
enum Ran {
    /// With the file; says what shows it.
    WithFile(String),
    OnDefaults,
}

/// The last run of a session, as its row records it.
#[derive(Debug, Clone)]
struct Run<'a> {
    agent: &'a str,
    model: ModelRef,
    /// Window in tokens.
    window: Option<Tokens>,
    /// Whether a person or a job chose the model.
    is_chosen: bool,
}

impl<'a> Run<'a> {
    fn of(session: &'a Session) -> Option<Self> {
        let row = session.record.as_ref()?;
        let model = ModelRef::parse(&format!("{}/{}", row.provider.as_deref()?, row.model.as_deref()?));
        let names_own = [SessionKind::Cron, SessionKind::Hook, SessionKind::Subagent].contains(&session.kind);
        let is_chosen = names_own || row.member("modelOverride").is_some_and(|name| name.as_str().is_some());
        Some(Self { agent: &session.agent, model, window: row.context_tokens, is_chosen })
    }
}

impl Store {
    /// Uses the values of a refused file where the sessions ran with them.
    pub(super) fn use_refused_file_if_proved(&mut self) {
        let Some(aside) = self.config.refused.clone() else { return };
        let old = Arc::clone(&self.config);
        let mut file = aside.file.clone();
        file.models = old.models;
        let Some(proof) = proof(&file, self.ruleset.id.rules(), &self.sessions) else { return };
        let mut config = aside.in_use(&proof);
        config.take_surroundings(&old);
        let is_replaced = |found: &Diagnostic| {
            old.diagnostics.contains(found)
                || old.error.as_ref().map(Diagnostic::from).as_ref() == Some(found)
        };
        let others = self.diagnostics.iter().filter(|found| !is_replaced(found));
        self.diagnostics = config.diagnostics.iter().chain(others).cloned().collect();
        self.config = Arc::new(config);
    }
}

/// Returns what shows that the gateway ran with the file.
fn proof(file: &GatewayConfig, rules: &Rules, sessions: &[Session]) -> Option<String> {
    let mut newest_first: Vec<&Session> = sessions.iter().collect();
    let age = |session: &Session| session.updated_ms().unwrap_or(Moment::ZERO);
    newest_first.sort_by(|a, b| age(b).total_cmp(&age(a)));
    newest_first.into_iter().find_map(|session| ran(file, rules, session)).and_then(|ran| match ran {
        Ran::WithFile(proof) => Some(proof),
        Ran::OnDefaults => None,
    })
}

fn ran(file: &GatewayConfig, rules: &Rules, session: &Session) -> Option<Ran> {
    let run = Run::of(session);
    let by_row = run.and_then(|run| ran_model(file, &run).or_else(|| ran_window(file, rules, &run)));
    let shown = by_row.or_else(|| ran_transcript(file, session))?;
    Some(match shown {
        Ran::WithFile(what) => Ran::WithFile(format!("{} has {what}", session.key.0)),
        Ran::OnDefaults => Ran::OnDefaults,
    })
}

/// Judges by the model: one that only the file defines, or that only the file makes the default.
fn ran_model(file: &GatewayConfig, run: &Run<'_>) -> Option<Ran> {
    let ModelRef { provider, model } = &run.model;
    let name = format!("{provider}/{model}");
    if defined_model(file, provider, model).is_some() && file.models.find(provider, model).is_none() {
        return Some(Ran::WithFile(format!("{name}, which only this file defines")));
    }
    let listed = file.default_model(run.agent).into_iter().chain(file.fallback_models(run.agent));
    let named: Vec<ModelRef> = listed.map(ModelRef::parse).collect();
    if run.is_chosen || named.is_empty() {
        return None;
    }
    match (named.contains(&run.model), DEFAULT_MODELS.contains(&name.as_str())) {
        (true, false) => Some(Ran::WithFile(format!("{name}, which only this file chooses"))),
        (false, true) => Some(Ran::OnDefaults),
        _ => None,
    }
}

/// Judges by the window that the gateway recorded: the file's, or the one without a file.
fn ran_window(file: &GatewayConfig, rules: &Rules, run: &Run<'_>) -> Option<Ran> {
    let recorded = run.window?;
    let user = ModelUser { agent: run.agent, session: "" };
    let window =
        |config: &GatewayConfig| config.window(rules, user, &run.model.provider, &run.model.model).tokens;
    let mut defaults = GatewayConfig::empty();
    defaults.models = file.models;
    let (with_file, without) = (window(file), window(&defaults));
    match (recorded == with_file, recorded == without) {
        (true, false) => Some(Ran::WithFile(format!(
            "a window of {} tokens, which only this file gives",
            format_number(recorded)
        ))),
        (false, true) => Some(Ran::OnDefaults),
        _ => None,
    }
}

/// Judges by the transcript: the newest price that tells, else the marks of pruning.
fn ran_transcript(file: &GatewayConfig, session: &Session) -> Option<Ran> {
    if session.location.database().is_some() {
        return None;
    }
    let bytes = files::read(session.path.as_deref()?, LONGEST_TRANSCRIPT).ok()?;
    let answers =
        bytes.split(|byte| *byte == b'\n').rev().filter(|line| memmem::find(line, b"\"cost\"").is_some());
    let priced = answers.filter_map(|line| js::parse(str::from_utf8(line).ok()?).ok());
    priced
        .take(PRICED_ANSWERS)
        .find_map(|entry| ran_price(file, entry.get("message")?))
        .or_else(|| ran_pruning(file, &bytes))
}

/// Judges by the cost of an answer, which the gateway computes from the file's price, or from the listed one.
fn ran_price(file: &GatewayConfig, answer: &Value) -> Option<Ran> {
    let text = |name: &str| answer.get(name)?.as_str().map(JsString::to_string_lossy);
    let (provider, model) = (text("provider")?, text("model")?);
    let usage = answer.get("usage")?;
    let recorded = usage.get("cost")?.get("total")?.as_f64().filter(|usd| *usd > 0.0)?;
    let number = |name: &str| usage.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let tokens = [number("input"), number("output"), number("cacheRead"), number("cacheWrite")];
    let is_recorded = |price: Price| {
        let price = price.at(tokens[0] + tokens[2] + tokens[3]);
        let rates = [price.input, price.output, price.cache_read, price.cache_write];
        let usd: f64 = rates.iter().zip(tokens).map(|(rate, tokens)| rate * tokens / 1e6).sum();
        (usd - recorded).abs() <= recorded * 1e-6
    };
    let is_of_file = is_recorded(Price::from_cost(defined_model(file, &provider, &model)?.get("cost")?)?);
    let is_listed = is_recorded(file.models.find(&provider, &model)?.values.price?);
    match (is_of_file, is_listed) {
        (true, false) => Some(Ran::WithFile(format!(
            "answers at the price of {provider}/{model} that only this file gives"
        ))),
        (false, true) => Some(Ran::OnDefaults),
        _ => None,
    }
}

/// Judges by the marks of pruning, which is off without a file.
fn ran_pruning(file: &GatewayConfig, transcript: &[u8]) -> Option<Ran> {
    let mode = file.value(&["agents", "defaults", "contextPruning", "mode"])?;
    let is_marked = MARKS.iter().any(|mark| memmem::find(transcript, mark).is_some());
    let is_shown = mode.str_is("cache-ttl") && is_marked;
    is_shown.then(|| Ran::WithFile("the marks of pruning, which only this file switches on".to_owned()))
}

/// Returns a model as the file defines it.
fn defined_model<'a>(file: &'a GatewayConfig, provider: &str, model: &str) -> Option<&'a Value> {
    let list = file.value(&["models", "providers", provider, "models"])?.as_array()?;
    list.iter().find(|entry| entry.get("id").is_some_and(|id| id.str_is(model)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::discovery::discover;
    use super::*;
    use crate::gateway::env::Environment;

    const OWN_PROVIDER: &str = r#""models":{"providers":{"lab":{"baseUrl":"http://x/v1","models":[{"id":"m","name":"m","contextWindow":32768}]}}}"#;

    /// Lists a store of `release` with these rows, whose file has a refused value and these members of
    /// `agents.defaults` and of the file.
    fn store(release: &str, defaults: &str, members: &str, rows: &str, transcript: &str) -> Store {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        };
        let members = if members.is_empty() { String::new() } else { format!(",{members}") };
        put(
            "openclaw.json",
            &format!(
                r#"{{"meta":{{"lastTouchedVersion":"{release}"}},"agents":{{"defaults":{{"bootstrapMaxChars":0{defaults}}}}}{members}}}"#
            ),
        );
        put("agents/main/sessions/sessions.json", rows);
        put("agents/main/sessions/a.jsonl", transcript);
        discover(Some(dir.path()), &Environment::new([("HOME", "/nowhere")], None, "/".into()))
    }

    fn row(provider: &str, model: &str, more: &str) -> String {
        format!(
            r#"{{"agent:main:main":{{"sessionId":"a","updatedAt":5,"modelProvider":"{provider}","model":"{model}"{more}}}}}"#
        )
    }

    /// Whether the values of the file hold; checks that the refusal is reported in both cases.
    fn holds(store: &Store) -> bool {
        let (root, error) = (&store.config.root, &store.config.error);
        assert_eq!(error.is_some(), *root == serde_json::json!({}), "{error:?}");
        let chosen = store.ruleset.provenance_text();
        assert!(
            chosen.ends_with("meta.lastTouchedVersion"),
            "the file names its release, also refused: {chosen}"
        );
        let advice = store.diagnostics.iter().filter(|found| found.message.contains("bootstrapMaxChars"));
        let advice: Vec<&str> = advice.map(|found| found.advice.as_str()).collect();
        assert!(
            matches!(advice[..], [one] if one.contains("refuses the whole file and runs on an empty configuration")),
            "{advice:?}"
        );
        assert_eq!(error.is_none(), advice[0].contains("the sessions ran with its values"), "{advice:?}");
        error.is_none()
    }

    #[test]
    fn a_model_that_only_the_file_defines_or_chooses_proves_it() {
        let chooses =
            |model: &str| format!(r#","model":{{"primary":"{model}","fallbacks":["openai/gpt-5.2"]}}"#);
        for release in ["2026.1.24", "2026.2.12", "2026.3.2"] {
            let of = |defaults: &str, members: &str, row: String| {
                holds(&store(release, defaults, members, &row, ""))
            };
            assert!(of("", OWN_PROVIDER, row("lab", "m", "")), "{release}: a provider of its own");
            let chosen = row("lab", "m", r#","modelOverride":"m""#);
            assert!(of("", OWN_PROVIDER, chosen), "{release}: whoever chose it");
            let sonnet = chooses("anthropic/claude-sonnet-4-5");
            assert!(of(&sonnet, "", row("anthropic", "claude-sonnet-4-5", "")), "{release}: the default");
            assert!(of(&sonnet, "", row("openai", "gpt-5.2", "")), "{release}: a fallback");
            let chosen = row("anthropic", "claude-sonnet-4-5", r#","modelOverride":"claude-sonnet-4-5""#);
            assert!(!of(&sonnet, "", chosen), "{release}: a person chose it");
            assert!(
                !of(&sonnet, "", row("anthropic", "claude-opus-4-6", "")),
                "{release}: the program's own"
            );
            let opus = chooses("anthropic/claude-opus-4-5");
            assert!(
                !of(&opus, "", row("anthropic", "claude-opus-4-5", "")),
                "{release}: either may choose it"
            );
            assert!(!of(&sonnet, "", "{}".to_owned()), "{release}: no row");
        }
    }

    #[test]
    fn a_window_or_the_marks_of_pruning_prove_it() {
        let cap = r#","contextTokens":64000"#;
        let opus =
            |tokens: u32| row("anthropic", "claude-opus-4-6", &format!(r#","contextTokens":{tokens}"#));
        let of = |defaults: &str, row: &str, transcript: &str| {
            holds(&store("2026.2.12", defaults, "", row, transcript))
        };
        assert!(of(cap, &opus(64_000), ""));
        assert!(!of(cap, &opus(200_000), ""));
        assert!(!of(cap, &opus(50_000), ""));
        let pruning = r#","contextPruning":{"mode":"cache-ttl"}"#;
        let mark = r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{"timestamp":1}}"#;
        let silent = row("anthropic", "claude-opus-4-6", "");
        assert!(of(pruning, &silent, mark));
        assert!(!of(pruning, &silent, ""));
        assert!(!of("", &silent, mark), "another file switched it on");
    }

    #[test]
    fn the_price_of_an_answer_tells_whose_it_is() {
        let members = r#""models":{"providers":{"anthropic":{"baseUrl":"http://x","models":[{"id":"claude-opus-4-5","name":"o",
            "cost":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75}}]}}}"#;
        let silent = row("anthropic", "claude-opus-4-5", "");
        let of = |usd: f64| {
            let answer = format!(
                r#"{{"type":"message","message":{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-5","usage":{{"input":18000,"output":100,"cost":{{"total":{usd}}}}}}}}}"#
            );
            holds(&store("2026.2.2", "", members, &silent, &answer))
        };
        assert!(of(0.0555), "the file's 3 and 15 dollars");
        assert!(!of(0.0925), "the listed 5 and 25 dollars");
        assert!(!of(0.01), "neither");
    }

    #[test]
    fn the_newest_session_that_tells_decides() {
        let rows = |lab: u32, own: u32| {
            format!(
                r#"{{"agent:main:a":{{"sessionId":"a","updatedAt":{lab},"modelProvider":"lab","model":"m"}},
                "agent:main:b":{{"sessionId":"b","updatedAt":{own},"modelProvider":"anthropic","model":"claude-opus-4-6"}},
                "agent:main:c":{{"sessionId":"c","updatedAt":99}}}}"#
            )
        };
        let of = |rows: String| {
            holds(&store("2026.3.1", r#","model":{"primary":"lab/m"}"#, OWN_PROVIDER, &rows, ""))
        };
        assert!(of(rows(9, 5)));
        assert!(!of(rows(5, 9)));
    }

    #[test]
    fn a_gateway_that_stops_at_a_refused_file_never_ran_without_it() {
        let found = store("2026.3.7", "", "", "{}", "");
        assert_eq!((&found.config.error, found.config.refused.is_none()), (&None, true));
        assert_eq!(found.config.root["agents"]["defaults"]["bootstrapMaxChars"], 0);
    }
}
