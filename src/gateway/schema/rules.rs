//! The checks that schemas make in code, by the names that the export gives them (`scripts/upstream/refinements.mjs`).
//!
//! A rule that is not known here refuses nothing.

use regex::Regex;
use serde_json::Value;

use super::node::Check;
use super::words::{Issue, Wording};
use crate::gateway::setting_value::parse_duration;
use crate::gateway::state_dir::normalise_agent_id;

/// The longest duration that newer releases take, in milliseconds.
const MAX_DURATION_MS: f64 = 9_007_199_254_740_991.0;

/// Runs a rule over the value that has it.
pub(super) fn check(words: &Wording<'_>, check: &Check, value: &Value) -> Vec<Issue> {
    let at = Place { words, check };
    match check.rule.as_str() {
        "dm" => dm_policy(&at, value),
        "not-both" => at.refuse_if(&[], check.keys.iter().all(|key| has_items(value.get(key)))),
        "any-of" => at.refuse_if(&[], lacks_all(check, value)),
        "ascending" => at.refuse_if(&[], descends(value, &check.keys)),
        "duration" => quantity(&at, value, is_duration),
        "size" => quantity(&at, value, is_byte_size),
        "heartbeat" => heartbeat(&at, value),
        "sandbox-docker" => sandbox_docker(&at, value),
        "sandbox-browser" => at.says(
            &["network"],
            "Sandbox security: browser network mode \"host\" is blocked. Use \"bridge\" or a custom bridge network instead.",
            lower(value.get("network")) == "host",
        ),
        "sandbox-network" => at.says(
            &["browser", "network"],
            "Sandbox security: browser network mode \"container:*\" is blocked by default. Set sandbox.docker.dangerouslyAllowContainerNamespaceJoin=true only when you fully trust this runtime.",
            joins_container(value.pointer("/browser/network"), value.get("docker")),
        ),
        "loop-detection" => loop_detection(&at, value),
        "broadcast-agents" => broadcast_agents(&at, value),
        "known-agents" => known_agents(&at, value),
        "provider-overlay" => provider_overlay(&at, value),
        "positive-duration" => positive_duration(&at, value),
        "discord-activity" => discord_activity(&at, value),
        "irc-nickserv" => at.says(
            &["nickserv", "registerEmail"],
            "channels.irc.nickserv.register=true requires channels.irc.nickserv.registerEmail",
            value.pointer("/nickserv/register") == Some(&Value::Bool(true))
                && lower(value.pointer("/nickserv/registerEmail")).is_empty(),
        ),
        "telegram-secret" => telegram_secret(&at, value),
        "slack-secret" => slack_secret(&at, value),
        "safe-executable" if !check.keys.is_empty() => {
            let first = value.get(0);
            at.refuse_if(&["0"], !first.is_some_and(is_safe_executable))
        }
        name => at.refuse_if(&[], !fits(name, value)),
    }
}

/// Whether a value has the property that a rule without keys asks for.
fn fits(name: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    match name {
        "safe-executable" => is_safe_executable(value),
        "absolute-path" => text.starts_with('/') || text.starts_with("\\\\") || is_drive_path(text),
        "file-secret-id" => is_file_secret_id(text),
        "byte-size" => is_byte_size(text),
        "string" => value.is_string(),
        "http-url" => text.starts_with("http://") || text.starts_with("https://"),
        "relative-module" => is_relative_module(text.trim()),
        "ssh-host" => is_ssh_host(text.trim()),
        "trimmed" => text.trim() == text,
        "not-blank" => !text.trim().is_empty(),
        _ => true,
    }
}

/// A rule at the value that has it.
struct Place<'a> {
    words: &'a Wording<'a>,
    check: &'a Check,
}

impl Place<'_> {
    /// Refuses with the rule's own message.
    fn refuse_if(&self, below: &[&str], refused: bool) -> Vec<Issue> {
        let message = self.check.message.as_deref().unwrap_or("Invalid input");
        self.says(below, message, refused)
    }

    fn says(&self, below: &[&str], message: &str, refused: bool) -> Vec<Issue> {
        if !refused {
            return Vec::new();
        }
        let mut trail = self.words.trail.to_vec();
        trail.extend(below.iter().map(|&step| step.to_owned()));
        let words = Wording { schema: self.words.schema, trail: &trail };
        let check = Check { message: Some(message.to_owned()), ..Check::default() };
        vec![words.failed(&check, String::new())]
    }
}

/// Follows a path with dots; `null` counts as absent, as for `??`.
fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key)).filter(|value| !value.is_null())
}

fn has_items(value: Option<&Value>) -> bool {
    value.and_then(Value::as_array).is_some_and(|items| !items.is_empty())
}

fn lower(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().trim().to_lowercase()
}

fn lacks_all(check: &Check, value: &Value) -> bool {
    let driver = value.get("driver").and_then(Value::as_str).unwrap_or_default();
    let set = |key: &String| crate::js::is_truthy(value.get(key).map(Into::into).as_ref());
    !check.unless.iter().any(|other| other == driver) && !check.keys.iter().any(set)
}

fn descends(value: &Value, keys: &[String]) -> bool {
    let number = |at: usize| value.get(keys.get(at)?)?.as_f64();
    matches!((number(0), number(1)), (Some(low), Some(high)) if high < low)
}

/// Who may write: `open` needs `*`, `allowlist` needs a sender. Keys with `@` are those of each account.
fn dm_policy(at: &Place<'_>, value: &Value) -> Vec<Issue> {
    let check = at.check;
    if !check.keys.iter().any(|key| key.starts_with('@')) {
        return channel_policy(at, value, value, None);
    }
    let mut issues = Vec::new();
    for (id, account) in value.get("accounts").and_then(Value::as_object).into_iter().flatten() {
        let off = check.enabled_only > 0 && account.get("enabled") == Some(&Value::Bool(false));
        if account.is_object() && !off {
            issues.extend(channel_policy(at, value, account, Some(id)));
        }
    }
    issues
}

fn channel_policy(at: &Place<'_>, channel: &Value, account: &Value, id: Option<&str>) -> Vec<Issue> {
    let first = |keys: &[String]| {
        keys.iter()
            .find_map(|key| match key.strip_prefix('@') {
                Some(key) => find(account, key),
                None => find(channel, key),
            })
            .cloned()
    };
    let policy = first(&at.check.keys);
    if policy.as_ref().and_then(Value::as_str) != Some(at.check.variant.as_str()) {
        return Vec::new();
    }
    let allowed: Vec<String> = first(&at.check.allow)
        .and_then(|list| list.as_array().cloned())
        .into_iter()
        .flatten()
        .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned).trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect();
    let enough =
        if at.check.variant == "open" { allowed.iter().any(|item| item == "*") } else { !allowed.is_empty() };
    let nested = at.check.first > 0 && channel.get("allowFrom").is_none();
    let place = match id {
        Some(id) => vec!["accounts", id, "allowFrom"],
        None if nested => vec!["dm", "allowFrom"],
        None => vec!["allowFrom"],
    };
    at.refuse_if(&place, !enough)
}

fn quantity(at: &Place<'_>, value: &Value, is: fn(&str) -> bool) -> Vec<Issue> {
    let mut issues = Vec::new();
    for path in &at.check.keys {
        let Some(found) = find(value, path) else { continue };
        let off = at.check.may_be_off > 0 && *found == Value::Bool(false);
        let text = crate::js::to_text(Some(&found.into())).to_string_lossy();
        let place: Vec<&str> = path.split('.').collect();
        issues.extend(at.refuse_if(&place, !off && !is(text.trim())));
    }
    issues
}

fn is_duration(text: &str) -> bool {
    parse_duration(&text.into()).is_some()
}

fn is_byte_size(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - unit.len()];
    let whole = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = match number.split_once('.') {
        Some((before, after)) => whole(before) && whole(after),
        None => whole(number),
    };
    is_number && ["", "b", "k", "kb", "m", "mb", "g", "gb", "t", "tb"].contains(&unit)
}

fn heartbeat(at: &Place<'_>, value: &Value) -> Vec<Issue> {
    let every = value.get("every").and_then(Value::as_str).filter(|text| !text.is_empty());
    if every.is_none() && at.check.variant == "every" {
        return Vec::new();
    }
    let wrong = every.is_some_and(|text| !is_duration(text));
    let mut issues = at.says(&["every"], "invalid duration (use ms, s, m, h)", wrong);
    for (key, allow_24) in [("start", false), ("end", true)] {
        let time = value.pointer(&format!("/activeHours/{key}")).and_then(Value::as_str).unwrap_or_default();
        if let Some(message) = wrong_time(time, allow_24) {
            issues.extend(at.says(&["activeHours", key], message, true));
        }
    }
    issues
}

fn wrong_time(text: &str, allow_24: bool) -> Option<&'static str> {
    if text.is_empty() {
        return None;
    }
    if !matches("^([01]\\d|2[0-3]|24):([0-5]\\d)$", "", text) {
        return Some("invalid time (use \"HH:MM\" 24h format)");
    }
    match text.strip_prefix("24:") {
        Some("00") if allow_24 => None,
        Some("00") => Some("invalid time (start cannot be 24:00)"),
        Some(_) => Some("invalid time (24:00 is the only allowed 24:xx value)"),
        None => None,
    }
}

fn joins_container(network: Option<&Value>, docker: Option<&Value>) -> bool {
    let allowed = docker.and_then(|docker| docker.get("dangerouslyAllowContainerNamespaceJoin"));
    lower(network).starts_with("container:") && allowed != Some(&Value::Bool(true))
}

fn sandbox_docker(at: &Place<'_>, value: &Value) -> Vec<Issue> {
    let mut issues = Vec::new();
    for (index, bind) in value.get("binds").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let (bind, index) = (bind.as_str().unwrap_or_default().trim(), index.to_string());
        let place = ["binds", index.as_str()];
        let source =
            bind.split_once(':').filter(|(before, _)| !before.is_empty()).map_or(bind, |(before, _)| before);
        if bind.is_empty() {
            issues.extend(at.says(
                &place,
                "Sandbox security: bind mount entry must be a non-empty string.",
                true,
            ));
        } else if !source.trim().starts_with('/') {
            let source = source.trim();
            let message = format!(
                "Sandbox security: bind mount \"{bind}\" uses a non-absolute source path \"{source}\". Only absolute POSIX paths are supported for sandbox binds."
            );
            issues.extend(at.says(&place, &message, true));
        }
    }
    issues.extend(at.says(
        &["network"],
        "Sandbox security: network mode \"host\" is blocked. Use \"bridge\" or \"none\" instead.",
        lower(value.get("network")) == "host",
    ));
    issues.extend(at.says(
        &["network"],
        "Sandbox security: network mode \"container:*\" is blocked by default. Use a custom bridge network, or set dangerouslyAllowContainerNamespaceJoin=true only when you fully trust this runtime.",
        joins_container(value.get("network"), Some(value)),
    ));
    issues.extend(at.says(
        &["seccompProfile"],
        "Sandbox security: seccomp profile \"unconfined\" is blocked. Use a custom seccomp profile file or omit this setting.",
        lower(value.get("seccompProfile")) == "unconfined",
    ));
    issues.extend(at.says(
        &["apparmorProfile"],
        "Sandbox security: apparmor profile \"unconfined\" is blocked. Use a named AppArmor profile or omit this setting.",
        lower(value.get("apparmorProfile")) == "unconfined",
    ));
    issues
}

fn loop_detection(at: &Place<'_>, value: &Value) -> Vec<Issue> {
    let number = |key: &str| value.get(key).and_then(Value::as_f64);
    let reaches = |low: &str, high: &str| matches!((number(low), number(high)), (Some(a), Some(b)) if a >= b);
    let mut issues = at.says(
        &["criticalThreshold"],
        "tools.loopDetection.warningThreshold must be lower than criticalThreshold.",
        reaches("warningThreshold", "criticalThreshold"),
    );
    issues.extend(at.says(
        &["globalCircuitBreakerThreshold"],
        "tools.loopDetection.criticalThreshold must be lower than globalCircuitBreakerThreshold.",
        reaches("criticalThreshold", "globalCircuitBreakerThreshold"),
    ));
    issues
}

fn broadcast_agents(at: &Place<'_>, root: &Value) -> Vec<Issue> {
    let agents = root.pointer("/agents/list").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let known: Vec<&Value> = agents.iter().filter_map(|agent| agent.get("id")).collect();
    let groups = root.get("broadcast").and_then(Value::as_object).filter(|_| !known.is_empty());
    let mut issues = Vec::new();
    for (peer, ids) in groups.into_iter().flatten().filter(|(peer, _)| *peer != "strategy") {
        for (index, id) in ids.as_array().into_iter().flatten().enumerate() {
            let name = id.as_str().unwrap_or_default();
            let message = format!("Unknown agent id \"{name}\" (not in agents.list).");
            let index = index.to_string();
            issues.extend(at.says(&["broadcast", peer, &index], &message, !known.contains(&id)));
        }
    }
    issues
}

/// Bindings, groups and roles name agents that exist; without any, `main` does.
fn known_agents(at: &Place<'_>, root: &Value) -> Vec<Issue> {
    let agents = root.pointer("/agents/entries").and_then(Value::as_object);
    let ids: Vec<&str> = agents.into_iter().flatten().map(|(id, _)| id.as_str()).collect();
    let ids = if ids.is_empty() { vec!["main"] } else { ids };
    let is_known = |id: &str| ids.iter().any(|known| normalise_agent_id(known) == normalise_agent_id(id));
    let refuse = |place: &[&str], id: &str, known: bool| {
        at.says(place, &format!("Unknown agent id \"{id}\" (not in agents.entries)."), !known)
    };
    let mut issues = Vec::new();
    for path in
        ["/agents/defaults/heartbeat/agentId", "/agents/defaults/systemAgent/agentId", "/talk/agentId"]
    {
        if let Some(id) = root.pointer(path).and_then(Value::as_str) {
            issues.extend(refuse(&path[1..].split('/').collect::<Vec<_>>(), id, is_known(id)));
        }
    }
    let bindings = root.get("bindings").and_then(Value::as_array).into_iter().flatten();
    for (index, binding) in bindings.enumerate() {
        if let Some(id) = binding.get("agentId").and_then(Value::as_str) {
            issues.extend(refuse(
                &["bindings", &index.to_string(), "agentId"],
                id,
                id == "main" || is_known(id),
            ));
        }
    }
    let groups = root.get("broadcast").and_then(Value::as_object).into_iter().flatten();
    for (peer, entry) in groups.filter(|(peer, _)| *peer != "strategy") {
        let inner = if entry.is_array() { &[][..] } else { &["agents"][..] };
        let named = entry.as_array().or_else(|| entry.get("agents")?.as_array()).into_iter().flatten();
        for (index, id) in named.enumerate().filter_map(|(index, id)| Some((index.to_string(), id.as_str()?)))
        {
            let place = [&["broadcast", peer.as_str()][..], inner, &[index.as_str()]].concat();
            issues.extend(refuse(&place, id, ids.contains(&id)));
        }
    }
    issues
}

/// A provider that the release does not know needs an address and models.
fn provider_overlay(at: &Place<'_>, providers: &Value) -> Vec<Issue> {
    let known = &at.words.schema.overlays;
    let mut issues = Vec::new();
    let others = providers.as_object().into_iter().flatten();
    for (id, provider) in others.filter(|(id, _)| !known.contains(&id.trim().to_lowercase())) {
        let address = provider.get("baseUrl").and_then(Value::as_str).unwrap_or_default();
        for (key, lacks) in [
            ("baseUrl", address.is_empty()),
            ("models", !provider.get("models").is_some_and(Value::is_array)),
        ] {
            let message = format!(
                "custom model providers must declare {key}; provider overlays without {key} are only supported for bundled providers"
            );
            issues.extend(at.says(&[id, key], &message, lacks && !known.is_empty()));
        }
    }
    issues
}

fn positive_duration(at: &Place<'_>, value: &Value) -> Vec<Issue> {
    let text = crate::js::to_text(Some(&value.into()));
    let message = match parse_duration(&text) {
        // Without a unit it is days here, which only a number beyond all limits shows.
        Some(length) if length.get() <= 0.0 => "duration must be positive (use ms, s, m, h, d), e.g. 30d",
        Some(length) if length.get() < MAX_DURATION_MS => return Vec::new(),
        _ => "invalid duration (use ms, s, m, h, d)",
    };
    at.says(&[], message, true)
}

fn discord_activity(at: &Place<'_>, value: &Value) -> Vec<Issue> {
    let set = |key: &str| !lower(value.get(key)).is_empty();
    let streams = value.get("activityType").and_then(Value::as_f64) == Some(1.0);
    let needs_text = value.get("activityType").is_some() || set("activityUrl");
    [
        (
            "activity",
            "activity is required when activityType or activityUrl is set",
            needs_text && !set("activity"),
        ),
        (
            "activityUrl",
            "activityUrl is required when activityType is 1 (Streaming)",
            streams && !set("activityUrl"),
        ),
        (
            "activityType",
            "activityType must be 1 (Streaming) when activityUrl is set",
            set("activityUrl") && !streams,
        ),
    ]
    .into_iter()
    .flat_map(|(key, words, refused)| at.says(&[key], &format!("channels.discord.{words}"), refused))
    .collect()
}

/// A text that is not blank, or a reference to a secret.
fn has_secret(value: Option<&Value>) -> bool {
    value.is_some_and(|value| value.is_object() || value.as_str().is_some_and(|text| !text.trim().is_empty()))
}

/// The accounts of a channel that are on.
fn accounts(channel: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let all = channel.get("accounts").and_then(Value::as_object).into_iter().flatten();
    all.filter(|(_, account)| account.is_object() && account.get("enabled") != Some(&Value::Bool(false)))
}

fn telegram_secret(at: &Place<'_>, value: &Value) -> Vec<Issue> {
    let base = has_secret(value.get("webhookSecret"));
    let url = |value: &Value| {
        value.get("webhookUrl").and_then(Value::as_str).is_some_and(|url| !url.trim().is_empty())
    };
    let mut issues = at.says(
        &["webhookSecret"],
        "channels.telegram.webhookUrl requires channels.telegram.webhookSecret",
        url(value) && !base,
    );
    for (id, account) in accounts(value) {
        issues.extend(at.says(
            &["accounts", id, "webhookSecret"],
            "channels.telegram.accounts.*.webhookUrl requires channels.telegram.webhookSecret or channels.telegram.accounts.*.webhookSecret",
            url(account) && !base && !has_secret(account.get("webhookSecret")),
        ));
    }
    issues
}

fn slack_secret(at: &Place<'_>, value: &Value) -> Vec<Issue> {
    let mode = |value: &Value| value.get("mode").and_then(Value::as_str).map(str::to_owned);
    let base = has_secret(value.get("signingSecret"));
    let base_mode = mode(value);
    let mut issues = at.says(
        &["signingSecret"],
        "channels.slack.mode=\"http\" requires channels.slack.signingSecret",
        base_mode.as_deref() == Some("http") && !base,
    );
    for (id, account) in accounts(value) {
        let http = mode(account).or_else(|| base_mode.clone()).as_deref() == Some("http");
        issues.extend(at.says(
            &["accounts", id, "signingSecret"],
            "channels.slack.accounts.*.mode=\"http\" requires channels.slack.signingSecret or channels.slack.accounts.*.signingSecret",
            http && !base && !has_secret(account.get("signingSecret")),
        ));
    }
    issues
}

fn is_drive_path(text: &str) -> bool {
    matches("^[A-Za-z]:[\\\\/]", "", text)
}

fn is_safe_executable(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default().trim();
    let unsafe_char = |c: char| ";&|`$<>\r\n\"'\0".contains(c);
    if text.is_empty() || text.contains(unsafe_char) {
        return false;
    }
    let path = text.starts_with(['.', '~']) || text.contains(['/', '\\']);
    path || matches("^[A-Za-z0-9._+-]+$", "", text) && !text.starts_with('-')
}

fn is_file_secret_id(text: &str) -> bool {
    let segments = |rest: &str| rest.split('/').all(|segment| matches("^(?:[^~]|~0|~1)*$", "", segment));
    text == "value" || text.strip_prefix('/').is_some_and(segments)
}

fn is_relative_module(text: &str) -> bool {
    let up = text.split(['/', '\\']).any(|part| part == "..");
    !text.is_empty() && !text.starts_with(['/', '~']) && !text.contains(':') && !up
}

fn is_ssh_host(text: &str) -> bool {
    let (user, host) = text.split_once('@').map_or((None, text), |(user, host)| (Some(user), host));
    let token = |text: &str| matches("^[A-Za-z0-9._-]+$", "", text);
    let bracketed = host.starts_with('[') && host.ends_with(']');
    user.is_none_or(token) && !text.starts_with('-') && !host.starts_with('-') && (token(host) || bracketed)
}

/// Whether a text is an address that `new URL` takes, near enough: a scheme, a colon and something behind it.
pub(super) fn is_url(text: &str) -> bool {
    let text = text.trim();
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let named = matches("^[A-Za-z][A-Za-z0-9+.-]*$", "", scheme);
    let needs_host = ["http", "https", "ws", "wss", "ftp"].contains(&scheme.to_ascii_lowercase().as_str());
    let host = rest.trim_start_matches(['/', '\\']);
    named && !(needs_host && (host.is_empty() || host.starts_with([' ', ':', '?', '#'])))
}

/// Whether a text matches a pattern of JavaScript; one that cannot be read here matches everything.
pub(super) fn matches(pattern: &str, flags: &str, text: &str) -> bool {
    let prefix = if flags.contains('i') { "(?i)" } else { "" };
    let pattern = format!("{prefix}{}", pattern.replace("\\/", "/").replace("\\d", "[0-9]"));
    Regex::new(&pattern).map_or(true, |pattern| pattern.is_match(text))
}

/// Whether a value at an old place is one that the release refuses by name.
pub(super) fn is_legacy(kind: &str, value: &Value) -> bool {
    let has_ttl = |value: &Value| value.get("ttlHours").is_some();
    match kind {
        "any" => true,
        "string" => value.is_string(),
        "ttl" => has_ttl(value),
        "accounts-ttl" => value
            .as_object()
            .is_some_and(|all| all.values().any(|one| one.get("threadBindings").is_some_and(has_ttl))),
        "bind" => {
            let known = ["0.0.0.0", "::", "[::]", "*", "127.0.0.1", "localhost", "::1", "[::1]"];
            value.as_str().is_some_and(|text| known.contains(&text.trim().to_lowercase().as_str()))
        }
        _ => false,
    }
}
