//! Configurations as people have them, each with the values in force and where they come from (store B): includes, cycles,
//! variables, old names, filled-in defaults, refused files.

use std::fs;
use std::path::Path;

use clawscope::diagnostic::Diagnostic;
use clawscope::gateway::config::GatewayConfig;
use clawscope::gateway::effective::{list_settings, overridden_text};
use clawscope::gateway::env::Environment;
use clawscope::gateway::recorded_window::ModelUser;
use clawscope::gateway::registry::Provenance;
use clawscope::gateway::ruleset::Ruleset;
use clawscope::gateway::state_dir::{config_path, state_dir};
use clawscope::js;
use clawscope::units::Tokens;

/// A configuration and its effective values.
#[derive(Default)]
struct Case {
    name: &'static str,
    /// Files below a separate folder. `s` is the state dir, `home` the home, `cwd` the working directory.
    files: &'static [(&'static str, &'static str)],
    vars: &'static [(&'static str, &'static str)],
    /// Key, value as JSON, origin and the overridden origin.
    has: &'static [(&'static str, &'static str, &'static str)],
    /// Place and part of the error for a configuration that the gateway refuses.
    error: &'static str,
    /// Parts of the other diagnostics.
    finds: &'static [&'static str],
}

const MODE: &str = "agents.defaults.contextPruning.mode";
const TTL: &str = "agents.defaults.contextPruning.ttl";
const SOFT: &str = "agents.defaults.contextPruning.softTrimRatio";
const COMPACTS: &str = "agents.defaults.compaction.mode";
const FILLED: &str = "compaction default: the configuration sets no compaction mode";
const BY_KEY: &str = "smart default: the environment sets ANTHROPIC_API_KEY";

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "no file at all", files: &[("s/x", "")],
        has: &[(COMPACTS, "\"default\"", "default"), ("session.scope", "\"per-sender\"", "default"), ("session.reset.atHour", "4", "default")], ..C },
    Case { name: "an empty object", files: &[("s/openclaw.json", "{}")],
        has: &[(COMPACTS, "\"safeguard\"", FILLED), (MODE, "null", "default"), ("session.dmScope", "\"main\"", "default")], ..C },
    Case { name: "comments, quotes, commas, hexadecimal", files: &[("s/openclaw.json", "// c\n{ 'session': { scope: \"global\", /* x */\n parentForkMaxTokens: 0x10, }, }")],
        has: &[("session.scope", "\"global\"", "s/openclaw.json:2"), ("session.parentForkMaxTokens", "16", "s/openclaw.json:3")], ..C },
    Case { name: "a byte order mark", files: &[("s/openclaw.json", "\u{feff}{ session: { scope: 'global' } }")],
        has: &[("session.scope", "\"global\"", "s/openclaw.json:1")], ..C },
    Case { name: "of a repeated key the last counts", files: &[("s/openclaw.json", "{ session: { scope: 'global' },\n session: { scope: 'per-sender' } }")],
        has: &[("session.scope", "\"per-sender\"", "s/openclaw.json:2")], ..C },
    Case { name: "main key is always main", files: &[("s/openclaw.json", "{ session: { mainKey: 'home' } }")],
        has: &[("session.mainKey", "\"main\"", "main key: the gateway always uses \"main\" over s/openclaw.json:1")], finds: &["the gateway always uses \"main\""], ..C },
    // Includes.
    Case { name: "an include below its siblings", files: &[("s/openclaw.json", "{ $include: 'a.json',\n session: { scope: 'global' } }"), ("s/a.json", "{ session: { scope: 'per-sender',\n dmScope: 'per-peer' } }")],
        has: &[("session.scope", "\"global\"", "s/openclaw.json:2 over s/a.json:1"), ("session.dmScope", "\"per-peer\"", "s/a.json:2")], ..C },
    Case { name: "several includes from left to right", files: &[("s/openclaw.json", "{ $include: ['a.json', 'b.json'] }"), ("s/a.json", "{ session: { scope: 'global', dmScope: 'main' } }"), ("s/b.json", "\n{ session: { dmScope: 'per-peer' } }")],
        has: &[("session.scope", "\"global\"", "s/a.json:1"), ("session.dmScope", "\"per-peer\"", "s/b.json:2 over s/a.json:1")], ..C },
    Case { name: "an include deep inside", files: &[("s/openclaw.json", "{ agents: { defaults: {\n contextPruning: { $include: 'p/prune.json5', softTrimRatio: 0.25 } } } }"), ("s/p/prune.json5", "{\n mode: 'cache-ttl', softTrimRatio: 0.1,\n ttl: '10m' }")],
        has: &[(SOFT, "0.25", "s/openclaw.json:2 over s/p/prune.json5:2"), (TTL, "\"10m\"", "s/p/prune.json5:3"), (MODE, "\"cache-ttl\"", "s/p/prune.json5:2")], ..C },
    Case { name: "an include that includes, relative to itself", files: &[("s/openclaw.json", "{ $include: 'd/a.json' }"), ("s/d/a.json", "{ $include: 'b.json' }"), ("s/d/b.json", "{ session: {\n\n scope: 'global' } }")],
        has: &[("session.scope", "\"global\"", "s/d/b.json:3")], ..C },
    Case { name: "lists are joined", files: &[("s/openclaw.json", "{ $include: 'a.json', session: { resetTriggers: ['/c'] } }"), ("s/a.json", "{ session: { resetTriggers: ['/a', '/b'] } }")],
        has: &[("session.resetTriggers", "[\"/a\",\"/b\",\"/c\"]", "s/openclaw.json:1 over s/a.json:1")], ..C },
    Case { name: "a whole value from a file", files: &[("s/openclaw.json", "{ session: { resetTriggers: { $include: 'list.json' } } }"), ("s/list.json", "['/anew']")],
        has: &[("session.resetTriggers", "[\"/anew\"]", "s/openclaw.json:1")], ..C },
    Case { name: "keys of the prototype are left out", files: &[("s/openclaw.json", "{ $include: 'a.json', session: { '__proto__': { scope: 'global' }, 'constructor': 1 } }"), ("s/a.json", "{ session: {} }")],
        has: &[("session.scope", "\"per-sender\"", "default")], ..C },
    Case { name: "a circle of two", files: &[("s/openclaw.json", "{\n $include: 'a.json' }"), ("s/a.json", "{\n  $include: 'openclaw.json' }")], error: "s/a.json:2:3: ", ..C },
    Case { name: "an include of itself", files: &[("s/openclaw.json", "{ $include: './openclaw.json' }")], error: "s/openclaw.json:1:3: ", ..C },
    Case { name: "an include that is not there", files: &[("s/openclaw.json", "{\n agents: { $include: 'gone.json' } }")], error: "s/openclaw.json:2:12: ", ..C },
    Case { name: "an include from outside", files: &[("s/openclaw.json", "{ $include: '../x.json' }"), ("x.json", "{}")], error: "s/openclaw.json:1:3: ", ..C },
    Case { name: "an include that is a number", files: &[("s/openclaw.json", "{ $include: 5 }")], error: "s/openclaw.json:1:3: ", ..C },
    Case { name: "keys beside an included list", files: &[("s/openclaw.json", "{ session: { $include: 'l.json', scope: 'global' } }"), ("s/l.json", "[]")], error: "s/openclaw.json:1:14: $include has keys beside it", ..C },
    Case { name: "a broken included file", files: &[("s/openclaw.json", "{ $include: 'a.json' }"), ("s/a.json", "{ x: 1,\n y: @ }")], error: "s/a.json:2:5: ", ..C },
    // Variables.
    Case { name: "a variable of the environment", files: &[("s/openclaw.json", "{ session: { store: '${DIR}/{agentId}.json' } }")], vars: &[("DIR", "/data")],
        has: &[("session.store", "\"/data/{agentId}.json\"", "s/openclaw.json:1")], ..C },
    Case { name: "a variable of .env, the working directory's first", files: &[("s/openclaw.json", "{ session: { store: '${A}-${B}' } }"), ("s/.env", "A=state\nB=state"), ("cwd/.env", "A=cwd")],
        has: &[("session.store", "\"cwd-state\"", "s/openclaw.json:1")], ..C },
    Case { name: "a variable of the configuration's own block", files: &[("s/openclaw.json", "{ env: { A: 'one', vars: { B: 'two' } }, session: { store: '${A}-${B}' } }")],
        has: &[("session.store", "\"one-two\"", "s/openclaw.json:1")], ..C },
    Case { name: "the environment goes over the block", files: &[("s/openclaw.json", "{ env: { A: 'block' }, session: { store: '${A}' } }")], vars: &[("A", "own")],
        has: &[("session.store", "\"own\"", "s/openclaw.json:1")], ..C },
    Case { name: "a dollar that is doubled, and names in lower case", files: &[("s/openclaw.json", "{ session: { store: '$${A} ${a}' } }")],
        has: &[("session.store", "\"${A} ${a}\"", "s/openclaw.json:1")], ..C },
    Case { name: "a variable in an included file", files: &[("s/openclaw.json", "{ $include: 'a.json' }"), ("s/a.json", "{ session: {\n store: '${A}' } }")], vars: &[("A", "x")],
        has: &[("session.store", "\"x\"", "s/a.json:2")], ..C },
    Case { name: "a variable without a value", files: &[("s/openclaw.json", "{ session: {\n   store: '${NOPE}/x' } }")], error: "s/openclaw.json:2:4: the environment has no value for ${NOPE}", ..C },
    Case { name: "an empty variable", files: &[("s/openclaw.json", "{ session: { store: '${EMPTY}' } }")], vars: &[("EMPTY", "")], error: "s/openclaw.json:1:14: the environment has no value for ${EMPTY}", ..C },
    Case { name: "a variable without a value in an included file", files: &[("s/openclaw.json", "{ $include: 'a.json' }"), ("s/a.json", "{\n session: { store: '${NOPE}' } }")], error: "s/a.json:2:13: the environment has no value for ${NOPE}", ..C },
    Case { name: "a secret's variable is neither needed nor taken in", files: &[("s/openclaw.json", "{ gateway: { auth: { token: '${TOKEN}' } }, session: { scope: 'global' } }")],
        has: &[("gateway.auth.token", "\"${TOKEN}\"", "s/openclaw.json:1"), ("session.scope", "\"global\"", "s/openclaw.json:1")], finds: &["the environment has no value for ${TOKEN}"], ..C },
    // Old names and places.
    Case { name: "an old name of the file", files: &[("s/clawdbot.json", "{ session: { scope: 'global' } }")],
        has: &[("session.scope", "\"global\"", "s/clawdbot.json:1")], ..C },
    Case { name: "of several names the newest", files: &[("s/moltbot.json", "{ session: { scope: 'global' } }"), ("s/moldbot.json", "{ session: { dmScope: 'per-peer' } }")],
        has: &[("session.dmScope", "\"per-peer\"", "s/moldbot.json:1"), ("session.scope", "\"per-sender\"", "default")], ..C },
    Case { name: "an old file elsewhere is used where the state dir has none", files: &[("s/x", ""), ("home/.moltbot/moltbot.json", "{ session: { scope: 'global' } }")],
        has: &[("session.scope", "\"global\"", "home/.moltbot/moltbot.json:1")], ..C },
    Case { name: "a variable names the file", files: &[("s/openclaw.json", "{}"), ("cwd/own.json", "{ session: { scope: 'global' } }")], vars: &[("OPENCLAW_CONFIG_PATH", "own.json")],
        has: &[("session.scope", "\"global\"", "cwd/own.json:1")], ..C },
    Case { name: "an old variable names a file that is not there", files: &[("s/openclaw.json", "{ session: { scope: 'global' } }")], vars: &[("CLAWDBOT_CONFIG_PATH", "gone.json")],
        has: &[("session.scope", "\"per-sender\"", "default")], finds: &["the configuration file does not exist"], ..C },
    Case { name: "the old key of idle resets", files: &[("s/openclaw.json", "{ session: { idleMinutes: 90 } }")],
        has: &[("session.idleMinutes", "90", "s/openclaw.json:1"), ("session.reset.mode", "\"daily\"", "default")], ..C },
    // Filled-in defaults.
    Case { name: "an API key in the environment switches pruning on", files: &[("s/openclaw.json", "{}")], vars: &[("ANTHROPIC_API_KEY", "k")],
        has: &[(MODE, "\"cache-ttl\"", BY_KEY), (TTL, "\"1h\"", BY_KEY), ("agents.defaults.heartbeat.every", "\"30m\"", BY_KEY)], ..C },
    Case { name: "a token in .env does, too", files: &[("s/openclaw.json", "{}"), ("s/.env", "ANTHROPIC_OAUTH_TOKEN=t")],
        has: &[(MODE, "\"cache-ttl\"", "smart default: the environment sets ANTHROPIC_OAUTH_TOKEN"), ("agents.defaults.heartbeat.every", "\"1h\"", "smart default: the environment sets ANTHROPIC_OAUTH_TOKEN")], ..C },
    Case { name: "a profile by its order", files: &[("s/openclaw.json", "{ auth: { profiles: { a: { provider: 'anthropic', mode: 'oauth' } }, order: { anthropic: ['a'] } } }")],
        has: &[(MODE, "\"cache-ttl\"", "smart default: auth.order.anthropic names a")], ..C },
    Case { name: "profiles that agree", files: &[("s/openclaw.json", "{ auth: { profiles: { a: { provider: 'anthropic', mode: 'api_key' }, b: { provider: 'openai', mode: 'api_key' } } } }")],
        has: &[(MODE, "\"cache-ttl\"", "smart default: auth.profiles has an API key for anthropic")], ..C },
    Case { name: "another provider's key switches nothing on", files: &[("s/openclaw.json", "{}")], vars: &[("OPENAI_API_KEY", "k")], has: &[(MODE, "null", "default")], ..C },
    Case { name: "a mode that is set stays, and brings no ttl", files: &[("s/openclaw.json", "{ agents: { defaults: { contextPruning: { mode: 'off' } } } }")], vars: &[("ANTHROPIC_API_KEY", "k")],
        has: &[(MODE, "\"off\"", "s/openclaw.json:1"), (TTL, "null", "default")], ..C },
    Case { name: "a ttl that is set stays", files: &[("s/openclaw.json", "{ agents: { defaults: { contextPruning: {\n ttl: '5m' } } } }")], vars: &[("ANTHROPIC_API_KEY", "k")],
        has: &[(MODE, "\"cache-ttl\"", BY_KEY), (TTL, "\"5m\"", "s/openclaw.json:2")], ..C },
    Case { name: "a compaction mode that is set stays", files: &[("s/openclaw.json", "{ agents: { defaults: { compaction: { mode: 'default' } } } }")],
        has: &[(COMPACTS, "\"default\"", "s/openclaw.json:1")], ..C },
    Case { name: "a listed model without a window gets one", files: &[("s/openclaw.json", "{ models: { providers: { p: { models: [{ id: 'm' }, { id: 'n', contextWindow: 5000, maxTokens: 9000 }] } } } }")],
        has: &[("models.providers.p.models.0.contextWindow", "200000", "model default: the listed model has no window"), ("models.providers.p.models.0.maxTokens", "8192", "model default: the listed model has no maxTokens"), ("models.providers.p.models.1.maxTokens", "5000", "model default: an answer cannot exceed the window")], ..C },
    // Channels and agents.
    Case { name: "limits of channels and of people", files: &[("s/openclaw.json", "{ channels: { telegram: { historyLimit: 20,\n dms: { '8812.5': { historyLimit: 3 } } },\n slack: { dmHistoryLimit: 9 } } }")],
        has: &[("channels.telegram.historyLimit", "20", "s/openclaw.json:1"), ("channels.telegram.dms.8812.5.historyLimit", "3", "s/openclaw.json:2"), ("channels.slack.dmHistoryLimit", "9", "s/openclaw.json:3")], ..C },
    Case { name: "a remote gateway", files: &[("s/openclaw.json", "{ gateway: { mode: 'remote', remote: { url: 'wss://u:p@gw.example:1/x', token: 't' } } }")],
        has: &[("gateway.mode", "\"remote\"", "s/openclaw.json:1")], finds: &["ssh -t gw.example clawscope"], ..C },
    // Files that the gateway refuses.
    Case { name: "a sign that is none", files: &[("s/openclaw.json", "{\n session: {\n  scope: @\n")], error: "s/openclaw.json:3:10: expected value", ..C },
    Case { name: "an object that never ends", files: &[("s/openclaw.json", "{ a: [1,\n")], error: "s/openclaw.json:", ..C },
    Case { name: "an empty file", files: &[("s/openclaw.json", "")], error: "s/openclaw.json:", ..C },
    Case { name: "a list at the top", files: &[("s/openclaw.json", "[]")], error: "s/openclaw.json: <root>: Invalid input: expected object, received array", ..C },
    Case { name: "a folder in the place of the file", files: &[("s/openclaw.json/x", "")], error: "s/openclaw.json: not a regular file", ..C },
    Case { name: "a mode that is none", files: &[("s/openclaw.json", "{ agents: { defaults: {\n  contextPruning: {\n    mode: 'sometimes' } } } }")], error: "s/openclaw.json:3:5: agents.defaults.contextPruning.mode: Invalid input (allowed: \"off\", \"cache-ttl\")", ..C },
    Case { name: "a number out of bounds in an included file", files: &[("s/openclaw.json", "{ $include: 'a.json' }"), ("s/a.json", "{ agents: { defaults: { contextPruning: {\n softTrimRatio: 2 } } } }")], error: "s/a.json:2:2: agents.defaults.contextPruning.softTrimRatio: Too big: expected number to be <=1", ..C },
    Case { name: "a key that does not exist", files: &[("s/openclaw.json", "{ agents: { defaults: { compaction: {\n\treserve: 1 } } } }")], error: "s/openclaw.json:2:2: agents.defaults.compaction: Unrecognized key: \"reserve\"", ..C },
    Case { name: "a scope that is none", files: &[("s/openclaw.json", "{ session: { scope: 'all' } }")], error: "s/openclaw.json:1:14: session.scope: Invalid input (allowed: \"per-sender\", \"global\")", ..C },
    Case { name: "a text in the place of a number", files: &[("s/openclaw.json", "{ agents: { defaults: { compaction: { reserveTokens: '5' } } } }")], error: "s/openclaw.json:1:39: agents.defaults.compaction.reserveTokens: Invalid input: expected number, received string", ..C },
];

/// The defaults of a case.
const C: Case = Case { name: "", files: &[], vars: &[], has: &[], error: "", finds: &[] };

/// Shortens a path or a text by its folder.
fn short(text: &str, dir: &Path) -> String {
    text.replace(&format!("{}/", dir.display()), "")
}

fn load(case: &Case, dir: &Path) -> GatewayConfig {
    for (name, text) in case.files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
            .unwrap();
    }
    fs::create_dir_all(dir.join("cwd")).unwrap();
    let own = [("HOME", dir.join("home")), ("OPENCLAW_STATE_DIR", dir.join("s"))];
    let own = own.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string()));
    let vars = case.vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let env = Environment::new(own.chain(vars), None, dir.join("cwd"));
    let state = state_dir(&env).path;
    GatewayConfig::load(config_path(&env, &state).as_deref(), &env, &state)
}

/// Value and origin of a key: from the table of settings if it has the key, else from the configuration itself.
fn reported(config: &GatewayConfig, key: &str, dir: &Path) -> (String, String) {
    if let Some(row) = list_settings(config).into_iter().find(|row| row.key == key) {
        let from = format!("{} {}", row.provenance, overridden_text(&row.overridden));
        return (js::stringify(&row.value), short(from.trim_end(), dir));
    }
    let path: Vec<&str> = key.split('.').collect();
    let from = config.provenance(&path);
    let file = matches!(from, Provenance::File { .. });
    let over = if file { config.provenance_chain(&path).into_iter().skip(1).collect() } else { Vec::new() };
    let value = config.value(&path).map_or_else(|| "null".to_owned(), js::stringify);
    (value, short(format!("{from} {}", overridden_text(&over)).trim_end(), dir))
}

/// Returns every deviation from the case.
fn wrong(case: &Case) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    let config = load(case, &dir);
    let mut wrong = Vec::new();
    let error = config.error.as_ref().map(|error| short(&error.to_string(), &dir)).unwrap_or_default();
    if case.error.is_empty() != error.is_empty() || !error.starts_with(case.error) {
        wrong.push(format!("error: expected {:?}, found {error:?}", case.error));
    }
    if !case.error.is_empty()
        && (config.value(&[]).is_none_or(|root| js::stringify(root) != "{}")
            || !config.applied_defaults().is_empty())
    {
        wrong.push("a refused configuration is empty, and nothing is filled in".to_owned());
    }
    for (key, value, from) in case.has {
        let found = reported(&config, key, &dir);
        if found != ((*value).to_owned(), (*from).to_owned()) {
            wrong
                .push(format!("{key}: expected {value} from {from:?}, found {} from {:?}", found.0, found.1));
        }
    }
    let findings: Vec<String> = config.diagnostics.iter().map(Diagnostic::to_string).collect();
    let message = |part: &&str| findings.iter().any(|finding| finding.contains(*part));
    if findings.len() != case.finds.len() || !case.finds.iter().all(message) {
        wrong.push(format!("findings: expected {:?}, found {findings:?}", case.finds));
    }
    wrong.into_iter().map(|what| format!("{}: {what}", case.name)).collect()
}

#[test]
fn every_configuration_resolves_as_in_the_gateway() {
    let wrong: Vec<String> = CASES.iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(CASES.len() >= 40);
    println!("{} configurations", CASES.len());
}

#[test]
fn the_window_is_reported_with_its_origin() {
    let rules = Ruleset::V2026_3_2.rules();
    let registry = "{\"providers\":{\"local\":{\"apiKey\":\"x\",\"models\":[{\"id\":\"m\",\n\"contextWindow\":65536}]}}}";
    let files: &'static [(&str, &str)] = Box::leak(Box::new([
        (
            "s/openclaw.json",
            "{ models: { providers: { p: { models: [{ id: 'listed',\n contextWindow: 50000 }] } } },\n agents: { defaults: { contextTokens: 60000 }, list: [{ id: 'ops', agentDir: '~/ops' }, { id: 'main' }] } }",
        ),
        ("s/agents/main/agent/models.json", registry),
        (
            "home/ops/models.json",
            "{\"providers\":{\"local\":{\"models\":[{\"id\":\"m\",\"contextWindow\":9000}]}}}",
        ),
        ("s/agents/main/agent/auth-profiles.json", "{ never opened"),
    ]));
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().canonicalize().unwrap();
    let mut config = load(&Case { files, ..C }, &dir);
    let env = Environment::new([("HOME", dir.join("home").display().to_string())], None, dir.clone());
    let mut findings = Vec::new();
    config.read_registries(&env, &dir.join("s"), ["main", "ops"].into_iter(), &mut findings);
    assert_eq!(findings, []);
    let user = |agent| ModelUser { agent, session: "" };
    let reported = |agent: &'static str, provider: &str, model: &str| {
        let window = config.window(rules, user(agent), provider, model);
        let from = config.window_provenance(&window, user(agent), provider, model).to_string();
        (window.tokens, window.source.name(), short(&from, &dir))
    };
    assert_eq!(
        reported("main", "p", "listed"),
        (Tokens(50_000.0), "modelsConfig", "s/openclaw.json:2".to_owned())
    );
    assert_eq!(
        reported("main", "local", "m"),
        (Tokens(60_000.0), "agentContextTokens", "s/openclaw.json:3".to_owned())
    );
    assert_eq!(
        reported("ops", "local", "m"),
        (Tokens(9_000.0), "model", "home/ops/models.json:1".to_owned())
    );
    assert_eq!(reported("main", "x", "y").1, "agentContextTokens");
    let mut uncapped = config.clone();
    uncapped.js_root = js::parse("{}").unwrap();
    let window = uncapped.window(rules, user("main"), "local", "m");
    let from = uncapped.window_provenance(&window, user("main"), "local", "m").to_string();
    assert_eq!(
        (window.tokens, short(&from, &dir)),
        (Tokens(65_536.0), "s/agents/main/agent/models.json:2".to_owned())
    );
    let window = uncapped.window(rules, user("main"), "openai", "gpt-5.2");
    assert!(
        uncapped
            .window_provenance(&window, user("main"), "openai", "gpt-5.2")
            .to_string()
            .starts_with("releases R76: pi-ai ")
    );
}
