use super::*;
use std::io::Write;

struct Files {
    dir: tempfile::TempDir,
}

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn load_with(&self, vars: &[(&str, &str)]) -> GatewayConfig {
        let env = Environment::new(vars.iter().copied(), None, self.path("cwd"));
        GatewayConfig::load(Some(&self.path("openclaw.json")), &env, self.dir.path())
    }

    fn load(&self) -> GatewayConfig {
        self.load_with(&[])
    }
}

fn one(text: &str) -> GatewayConfig {
    Files::new(&[("openclaw.json", text)]).load()
}

#[track_caller]
fn at<'a>(config: &'a GatewayConfig, pointer: &str) -> &'a Value {
    assert_eq!(config.error, None);
    config.root.pointer(pointer).unwrap_or(&Value::Null)
}

#[test]
fn json5_is_read() {
    let config = one("// c\n{ session: { scope: 'global', }, channels: { 'x': [1, .5, 0x10,], /* y */ } }");
    assert_eq!(at(&config, "/session/scope"), "global");
    assert_eq!(at(&config, "/channels/x").to_string(), "[1,0.5,16]");
}

#[test]
fn no_file_is_an_empty_configuration_without_defaults() {
    let config = GatewayConfig::load(None, &Environment::default(), Path::new("/"));
    assert_eq!((config.root, config.error), (Value::Object(Map::new()), None));
}

#[test]
fn a_broken_file_is_empty_with_an_error_at_its_line() {
    let config = one("{\n  session: {\n    scope: @\n");
    let error = config.error.unwrap();
    assert_eq!((error.line, error.column, error.message.as_str()), (Some(3), Some(12), "expected value"));
    assert!(error.to_string().contains("openclaw.json:3:12: expected value ("), "{error}");
    assert_eq!(config.root, Value::Object(Map::new()));
    let unterminated = one("{\n a: [1,\n").error.unwrap();
    assert_eq!(unterminated.line, Some(2));
}

#[test]
fn hostile_nesting_is_an_error_not_a_crash() {
    let error = one(&"[".repeat(500_000)).error.unwrap();
    assert_eq!(error.message, "nested deeper than 200 levels");
    let deepest = format!("{}1{}", "{a:".repeat(200), "}".repeat(200));
    assert_eq!(one(&deepest).error.unwrap().message, "<root>: Unrecognized key: \"a\"");
}

#[test]
fn a_directory_is_an_error_and_a_missing_named_file_only_a_note() {
    let files = Files::new(&[("openclaw.json/x", "")]);
    assert_eq!(files.load().error.unwrap().message, "not a regular file");
    let missing = Files::new(&[]).load();
    assert_eq!((missing.error, missing.path), (None, None));
    assert_eq!(missing.diagnostics[0].severity, Severity::Note);
}

#[test]
fn a_file_without_an_object_is_reported_without_an_empty_key() {
    assert_eq!(one("[]").error.unwrap().message, "<root>: Invalid input: expected object, received array");
}

#[test]
fn included_files_merge_below_their_siblings() {
    let files = Files::new(&[
        (
            "openclaw.json",
            "{ channels: { $include: ['a.json5', 'sub/b.json5'], list: ['own'], deep: { c: 3 }, n: { $include: 'n.json' } } }",
        ),
        ("a.json5", "{ list: ['a'], deep: { a: 1, c: 1 }, only: 'a', __proto__: { p: 1 } }"),
        ("sub/b.json5", "{ list: ['b'], deep: { b: { $include: './c.json5' } }, only: 'b' }"),
        ("sub/c.json5", "'from c'"),
        ("n.json", "{ ttl: 1 }"),
    ]);
    let config = files.load();
    assert_eq!(at(&config, "/channels/list").to_string(), r#"["a","b","own"]"#);
    assert_eq!(at(&config, "/channels/deep").to_string(), r#"{"a":1,"c":3,"b":"from c"}"#);
    assert_eq!(at(&config, "/channels/only"), "b");
    assert_eq!(at(&config, "/channels/n/ttl"), 1);
}

#[test]
fn includes_outside_the_folder_and_circular_includes_are_errors() {
    let outside = Files::new(&[("state/openclaw.json", "{\n $include: '../x.json' }"), ("x.json", "{}")]);
    let env = Environment::default();
    let config = GatewayConfig::load(Some(&outside.path("state/openclaw.json")), &env, outside.dir.path());
    let error = config.error.unwrap();
    assert!(error.message.contains("is outside") && error.line == Some(2), "{error}");
    for (name, text, what) in [
        ("cycle", "{ a: { $include: 'openclaw.json' } }", "includes itself"),
        ("missing", "{ a: { $include: 'gone.json' } }", "cannot read the file"),
        ("number", "{ $include: 5 }", "must be a string or a list"),
        ("beside", "{ $include: 'list.json', b: 1 }", "not an object"),
        ("broken", "{ $include: 'broken.json' }", "the file ends inside an object"),
    ] {
        let files = Files::new(&[("openclaw.json", text), ("list.json", "[1]"), ("broken.json", "{ x ")]);
        let error = files.load().error.unwrap();
        assert!(error.message.contains(what), "{name}: {error}");
    }
}

#[test]
fn includes_nest_up_to_ten_levels() {
    let chain = |count: usize| {
        let mut files = vec![("openclaw.json".to_owned(), "{ $include: 'f1.json' }".to_owned())];
        for i in 1..count {
            files.push((format!("f{i}.json"), format!("{{ $include: 'f{}.json' }}", i + 1)));
        }
        files.push((format!("f{count}.json"), "{ channels: { end: 1 } }".to_owned()));
        let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        Files::new(&files).load()
    };
    assert_eq!(at(&chain(10), "/channels/end"), 1);
    assert!(chain(11).error.unwrap().message.contains("more than 10 levels deep"));
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_directory_is_not_followed() {
    let files = Files::new(&[("state/openclaw.json", "{ $include: 'link.json' }"), ("x.json", "{}")]);
    std::os::unix::fs::symlink(files.path("x.json"), files.path("state/link.json")).unwrap();
    let config = GatewayConfig::load(
        Some(&files.path("state/openclaw.json")),
        &Environment::default(),
        Path::new("/"),
    );
    assert!(config.error.unwrap().message.contains("is outside"));
}

#[test]
fn variables_come_from_the_environment_then_dotenv_then_the_env_block() {
    let files = Files::new(&[
        (
            "openclaw.json",
            "{ env: { C: 'block', vars: { B: 'block' } }, session: { store: '${A}-${B}-${C}' } }",
        ),
        ("cwd/.env", "A=cwd\n"),
        (".env", "A=state\nB=state\n"),
    ]);
    assert_eq!(at(&files.load(), "/session/store"), "cwd-state-block");
    assert_eq!(at(&files.load_with(&[("A", "own")]), "/session/store"), "own-state-block");
}

#[test]
fn a_variable_without_a_value_spoils_the_configuration_unless_it_is_a_secret() {
    let error = one("{\n session: {\n  store: '${NOPE}/x' } }").error.unwrap();
    assert_eq!(error.line, Some(3));
    assert!(error.message.contains("${NOPE}"), "{error}");
    let config = one("{\n models: { providers: { p: { baseUrl: 'x', models: [], apiKey: '${NOPE}' } } } }");
    assert_eq!(at(&config, "/models/providers/p/apiKey"), "${NOPE}");
    assert_eq!((config.diagnostics.len(), config.diagnostics[0].line), (1, Some(2)));
}

#[test]
fn a_value_the_gateway_refuses_spoils_the_configuration() {
    let config = one("{ agents: { defaults: {\n contextPruning: {\n mode: 'sometimes' } } } }");
    let error = config.error.unwrap();
    assert_eq!(error.line, Some(3));
    assert_eq!(
        error.message,
        "agents.defaults.contextPruning.mode: Invalid input (allowed: \"off\", \"cache-ttl\")"
    );
    assert!(
        error.advice.starts_with("openclaw 2026.3.2 refuses the whole file and runs on an empty"),
        "{error}"
    );
    assert_eq!(config.root, Value::Object(Map::new()));
}

#[test]
fn every_value_that_is_refused_is_reported_at_its_line() {
    let config = one(
        "{\n meta: { lastTouchedVersion: '2026.9.6' },\n agents: { list: [{\n id: 'main', zz: 1 }],\n defaults: { contextTokens: 5,\n unknown: 1 } } }",
    );
    let found = |at: usize| (config.diagnostics[at].line, config.diagnostics[at].message.as_str());
    assert_eq!(found(0), (Some(6), "agents.defaults: Unrecognized key: \"unknown\""));
    assert_eq!(found(1), (Some(4), "agents.entries.main: Unrecognized key: \"zz\""));
    let advice = &config.diagnostics[0].advice;
    assert!(advice.starts_with("openclaw 2026.9.6 does not start with this file"), "{advice}");
    assert_eq!((config.error, config.written_by.as_deref()), (None, Some("2026.9.6")));
}

#[test]
fn a_release_that_moves_agents_and_budgets_says_so_and_its_agents_are_listed() {
    let config = one(
        "{ meta: { lastTouchedVersion: '2026.9.6' },\n agents: { entries: { main: { model: 'a/b' }, dev: {} },\n defaults: { contextTokens: 5 } } }",
    );
    assert_eq!(config.agent_ids(), ["main", "dev"]);
    assert_eq!(config.default_model("main"), Some("a/b"));
    assert_eq!(at(&config, "/agents/defaults/contextTokens"), &Value::Null);
    assert_eq!((config.diagnostics.len(), config.diagnostics[0].line), (1, Some(3)));
}

#[test]
fn a_file_that_names_no_release_is_refused_only_where_every_release_would_refuse_it() {
    assert_eq!(
        one("{ agents: { defaults: { compaction: { midTurnPrecheck: { enabled: true } } } } }").error,
        None
    );
    let error = one("{ agents: { defaults: { compaction: { zz: 1 } } } }").error.unwrap();
    assert!(error.advice.starts_with("openclaw 2026.3.2 refuses"), "{}", error.advice);
}

#[test]
fn a_release_that_is_newer_than_every_known_one_may_have_other_keys() {
    let text = |key: &str| {
        format!("{{ meta: {{ lastTouchedVersion: '2030.1.1' }}, agents: {{ defaults: {{ {key} }} }} }}")
    };
    assert_eq!(one(&text("zz: 1")).error, None);
    let refused = one(&text("contextPruning: { ttl: 5 }"));
    let advice = &refused.diagnostics[0].advice;
    assert!(advice.starts_with("by the schema of openclaw@2026.9.6 of 2026-"), "{advice}");
}

#[test]
fn newer_releases_keep_a_variable_without_a_value() {
    let config = one("{ meta: { lastTouchedVersion: '2026.3.7' },\n session: { store: '${NOPE}' } }");
    assert_eq!(at(&config, "/session/store"), "${NOPE}");
    assert_eq!((config.diagnostics[0].severity, config.diagnostics[0].line), (Severity::Warning, Some(2)));
}

#[test]
fn main_key_is_ignored_with_a_warning() {
    let config = one("{ session: { mainKey: 'home' } }");
    assert_eq!(config.diagnostics.len(), 1);
    assert!(one("{ session: { mainKey: 'main' } }").diagnostics.is_empty());
}

#[test]
fn provenance_names_the_deciding_file_and_line() {
    let files = Files::new(&[
        (
            "openclaw.json",
            "{\n agents: {\n  $include: 'agents.json',\n  defaults: { contextPruning: {\n   softTrimRatio: 0.2 } } } }",
        ),
        ("agents.json", "{ defaults: { contextPruning: {\n softTrimRatio: 0.1,\n hardClearRatio: 0.4 } } }"),
    ]);
    let config = files.load_with(&[("ANTHROPIC_API_KEY", "k")]);
    let place = |key: &str| {
        let path = ["agents", "defaults", "contextPruning", key];
        match config.provenance(&path) {
            Provenance::File { path, line, .. } => {
                format!("{}:{line:?}", path.file_name().unwrap().to_string_lossy())
            }
            other => other.to_string(),
        }
    };
    assert_eq!(place("softTrimRatio"), "openclaw.json:Some(5)");
    assert_eq!(place("hardClearRatio"), "agents.json:Some(3)");
    assert_eq!(place("ttl"), "smart default: the environment sets ANTHROPIC_API_KEY");
    assert_eq!(place("keepLastAssistants"), "default");
}

#[test]
fn agents_are_listed_normalised_and_the_default_is_found() {
    let config = one(
        "{ agents: { list: [{ id: 'Ops' }, { id: 'A b', default: true, model: { primary: ' x/y ' } }, { id: 'ops' }] , defaults: { model: 'p/m' } } }",
    );
    assert_eq!(config.agent_ids(), ["ops", "a-b"]);
    assert_eq!(config.default_agent_id(), "a-b");
    assert_eq!((config.default_model("a-b"), config.default_model("ops")), (Some("x/y"), Some("p/m")));
    assert_eq!(one("{ agents: { list: [{ id: 'ops' }] } }").default_agent_id(), "ops");
    assert_eq!(one("{}").default_agent_id(), "main");
}

#[test]
fn another_release_may_refuse_what_the_one_of_the_file_accepts() {
    let asked = |text: &str, release: &str| {
        let files = Files::new(&[("openclaw.json", text)]);
        let config = files.load();
        assert_eq!((config.error.as_ref(), config.diagnostics.len()), (None, 0), "{text}");
        let env = Environment::default();
        let found = config.refused_by(release, &env, files.dir.path());
        found.into_iter().map(|found| format!("{}: {}", found.message, found.advice)).collect::<Vec<_>>()
    };
    let old =
        "{meta:{lastTouchedVersion:'2026.3.2'},agents:{defaults:{compaction:{reserveTokensFloor:20000}}}}";
    let found = asked(old, "2026.9.6");
    assert!(
        matches!(&found[..], [one] if one.contains("reserveTokensFloor") && one.contains("openclaw 2026.9.6 would not start with this file")),
        "{found:?}"
    );
    for release in ["2026.3.2", "2026.5.28", "pi-1.5.2"] {
        assert_eq!(asked(old, release), [""; 0], "{release}");
    }
    let new = "{meta:{lastTouchedVersion:'2026.9.6'},agents:{entries:{main:{}}}}";
    let found = asked(new, "2026.3.2");
    assert!(found[0].contains("would refuse the whole file and run on an empty configuration"), "{found:?}");
}
