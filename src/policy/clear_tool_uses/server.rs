//! Clearing on Anthropic's servers, which a gateway of 2026.9 requests instead of pruning itself (pruning 7b): whether
//! it requests clearing, and by which parameters. Older versions never request it.
//!
//! clawscope opens no credential. Only the configuration shows whether the key is of a kind that clearing needs;
//! otherwise that stays unknown.

use crate::gateway::eligibility::ModelRoute;
use crate::gateway::tools::ToolFilter;
use crate::js::{self, JsString, Object, Value};
use crate::units::Tokens;

/// Last tool uses that the server keeps.
pub const KEEP_TOOL_USES: usize = 3;
/// Smallest trigger in tokens, and its share of the window.
const TRIGGER_TOKENS: (f64, f64) = (50_000.0, 0.3);
/// Smallest `clear_at_least` in tokens, and its share of the window.
const CLEAR_AT_LEAST_TOKENS: (f64, f64) = (12_500.0, 0.05);
const PUBLIC_HOST: &str = "api.anthropic.com";

/// Credential of the model, according to the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    ApiKey,
    /// Token of a subscription; the gateway requests no clearing.
    OAuth,
    /// The configuration does not name it.
    Unknown,
}

impl CredentialKind {
    /// Returns the kind of Anthropic's credential: that of the first known profile in the order, otherwise that of all
    /// profiles if they agree. Environment variables are not read.
    pub fn from_config(config: &Value) -> Self {
        let auth = |key: &str| config.get("auth").and_then(|auth| auth.get(key));
        let profiles = auth("profiles").and_then(Value::as_object);
        let order = auth("order").and_then(|order| order.get("anthropic")).and_then(Value::as_array);
        let mut named = order.unwrap_or_default().iter().filter_map(Value::as_str);
        if let Some(kind) = named.find_map(|id| Self::from_profile(profiles?.get(&id.to_string_lossy())?)) {
            return kind;
        }
        let mut kinds =
            profiles.into_iter().flat_map(Object::iter).filter_map(|(_, it)| Self::from_profile(it));
        let first = kinds.next();
        first.filter(|first| kinds.all(|kind| kind == *first)).unwrap_or(Self::Unknown)
    }

    /// Returns the kind of a profile; `None` if it is not Anthropic's or its mode is unknown.
    fn from_profile(profile: &Value) -> Option<Self> {
        let is = |key: &str, word: &str| profile.get(key).is_some_and(|value| value.str_is(word));
        match is("provider", "anthropic") {
            true if is("mode", "api_key") => Some(Self::ApiKey),
            true if is("mode", "oauth") || is("mode", "token") => Some(Self::OAuth),
            _ => None,
        }
    }
}

/// Facts that decide whether the gateway requests clearing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerFacts<'a> {
    /// `contextPruning.mode` is `cache-ttl`.
    pub is_mode_on: bool,
    /// API of the model, such as `anthropic-messages`.
    pub api: Option<&'a str>,
    pub provider: &'a str,
    /// Base URL of the model, otherwise that of the environment; `None` for the default endpoint.
    pub base_url: Option<&'a str>,
    pub credential: CredentialKind,
}

impl<'a> ServerFacts<'a> {
    /// Reads the facts from a configuration and the model's route. Without a route, Anthropic's provider gets its own
    /// API and endpoint. Environment variables are not read.
    pub fn from_config(config: &Value, is_mode_on: bool, provider: &'a str, route: &'a ModelRoute) -> Self {
        let own = (provider == "anthropic").then_some("anthropic-messages");
        Self {
            is_mode_on,
            api: route.api.as_deref().or(own),
            provider,
            base_url: route.base_url.as_deref(),
            credential: CredentialKind::from_config(config),
        }
    }
}

/// The gateway's decision to request clearing (pruning 7.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    On,
    /// Requested if the credential is an API key, which clawscope does not open to check.
    OnWithApiKey,
    /// Pruning is off.
    ModeOff,
    /// The provider or the API is another one.
    OtherApi,
    /// The endpoint is not Anthropic's public one.
    OtherEndpoint,
    /// The credential is a token of a subscription.
    OAuth,
}

impl ServerState {
    /// Whether the gateway requests clearing, if it is known.
    pub fn is_on(self) -> bool {
        matches!(self, Self::On | Self::OnWithApiKey)
    }
}

/// Decides whether the gateway requests clearing.
pub fn server_state(facts: &ServerFacts<'_>) -> ServerState {
    let own_api = facts.api.is_some_and(|api| api.eq_ignore_ascii_case("anthropic-messages"));
    match facts.credential {
        _ if !facts.is_mode_on => ServerState::ModeOff,
        _ if !own_api || facts.provider != "anthropic" => ServerState::OtherApi,
        _ if facts.base_url.is_some_and(|url| host_of(url) != Some(PUBLIC_HOST)) => {
            ServerState::OtherEndpoint
        }
        CredentialKind::OAuth => ServerState::OAuth,
        CredentialKind::Unknown => ServerState::OnWithApiKey,
        CredentialKind::ApiKey => ServerState::On,
    }
}

/// Returns the host of a URL, without user and port.
fn host_of(url: &str) -> Option<&str> {
    let rest = url.trim().split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    host.split(':').next().filter(|host| !host.is_empty())
}

/// Parameters of the request for a window.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerClearRequest {
    /// Input tokens above which the server clears.
    pub trigger: Tokens,
    /// Input tokens that the server must free; otherwise it clears nothing.
    pub clear_at_least: Tokens,
    /// Excluded tools, sorted by UTF-16 units (pruning 7.12).
    pub exclude_tools: Vec<JsString>,
}

impl ServerClearRequest {
    /// Builds the request for a window in tokens; a window that is not positive and finite counts as 0. `tools` is
    /// `contextPruning.tools`, `known` the tool names of the call and of its messages (pruning 7.11, 7.12).
    pub fn new<'a>(
        window: Tokens,
        tools: Option<&Value>,
        known: impl IntoIterator<Item = &'a JsString>,
    ) -> Self {
        let window = if window > Tokens::ZERO && window.is_finite() { window.floor() } else { Tokens::ZERO };
        let share = |(least, share): (f64, f64)| (window * share).floor().max(Tokens(least));
        Self {
            trigger: share(TRIGGER_TOKENS),
            clear_at_least: share(CLEAR_AT_LEAST_TOKENS),
            exclude_tools: exclude_tools(tools, known),
        }
    }

    /// Returns the parameters for [`super::clear_list`]; `prompt_tokens` are those before the messages.
    pub fn settings(&self, prompt_tokens: u64) -> ClearSettings {
        ClearSettings {
            trigger: self.trigger.get(),
            clear_at_least: self.clear_at_least.get(),
            keep: KEEP_TOOL_USES as f64,
            exclude_tools: self.exclude_tools.clone(),
            counting: TokenCounting::Model,
            cleared_by: ClearedBy::Server { prompt_tokens },
            ..ClearSettings::default()
        }
    }
}

/// Returns the denied names as written, and every known tool that the lists exclude (pruning 7.12).
fn exclude_tools<'a>(tools: Option<&Value>, known: impl IntoIterator<Item = &'a JsString>) -> Vec<JsString> {
    let filter = ToolFilter::compile(tools);
    let deny = tools.and_then(|tools| tools.get("deny")).and_then(Value::as_array).unwrap_or_default();
    let written = deny.iter().filter(|item| !item.is_null()).map(|item| js::to_text(Some(item)).trim());
    let star = u16::from(b'*');
    let mut excluded: Vec<JsString> =
        written.filter(|name| !name.is_empty() && !name.units().contains(&star)).collect();
    let left_out = |name: &&JsString| !filter.is_prunable(Some(&Value::String((*name).clone())));
    excluded.extend(known.into_iter().filter(left_out).cloned());
    excluded.sort_by(|one, other| one.units().cmp(other.units()));
    excluded.dedup();
    excluded
}

/// Nothing checks these values (pruning 7.1).
#[derive(Debug, Clone, PartialEq)]
pub struct ClearSettings {
    /// Nothing is cleared up to this many tokens.
    pub trigger: f64,
    /// Clearing stops after freeing this many tokens; 0 never stops it early.
    pub clear_at_least: f64,
    /// Last results that stay, an integer; below 0, only that many are cleared, from the oldest on.
    pub keep: f64,
    /// Whether the arguments of a call are cleared with its result.
    pub clear_tool_inputs: bool,
    /// Tools whose results stay.
    pub exclude_tools: Vec<JsString>,
    pub placeholder: JsString,
    pub counting: TokenCounting,
    /// The scale of [`TokenCounting::Model`], fitted to the session.
    pub model_scale: ModelScale,
    pub cleared_by: ClearedBy,
}

/// The model's own count of a session, by the provider's counts so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelScale {
    /// Tokens before the messages: system prompt and tools.
    pub fixed_tokens: u64,
    /// Tokens for each token of chars/4 in messages.
    pub factor: f64,
}

impl Default for ModelScale {
    fn default() -> Self {
        Self { fixed_tokens: 0, factor: 1.0 }
    }
}

/// Counts the tokens of messages for clearing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenCounter {
    pub counting: TokenCounting,
    /// Tokens for each token of chars/4, if the model counts.
    factor: f64,
}

impl TokenCounter {
    /// Returns the tokens of a message by the model's count, from its tokens of chars/4.
    pub fn model_tokens(self, estimate: u64) -> u64 {
        // Exact without a fitted scale, at any size.
        if self.factor == 1.0 { estimate } else { (estimate as f64 * self.factor).round() as u64 }
    }
}

impl ClearSettings {
    /// Returns the tokens that count towards the trigger in addition to the messages.
    pub fn prompt_tokens(&self) -> u64 {
        match (self.cleared_by, self.counting) {
            (ClearedBy::Server { prompt_tokens }, _) => prompt_tokens,
            (ClearedBy::Client, TokenCounting::Model) => self.model_scale.fixed_tokens,
            (ClearedBy::Client, TokenCounting::Approximate) => 0,
        }
    }

    pub fn counter(&self) -> TokenCounter {
        let factor = if self.cleared_by == ClearedBy::Client { self.model_scale.factor } else { 1.0 };
        TokenCounter { counting: self.counting, factor }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClearedBy {
    /// The client, before it sends (pruning 7.1, 7.2).
    #[default]
    Client,
    /// The provider's server, if a gateway of 2026.9 requests it: all but the last and the excluded results, or none if
    /// that frees too little (pruning 7.11). An estimate, because the server counts tokens and words its placeholder in
    /// its own way.
    Server {
        /// Tokens of the prompt before the messages; they count towards the trigger.
        prompt_tokens: u64,
    },
}

/// The counter of tokens (pruning 7.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenCounting {
    /// Code points divided by 4, plus a constant per message; without system prompt and tools (pruning 7.4).
    #[default]
    Approximate,
    /// As the model's provider counts, with system prompt and tools: chars divided by 4 (compaction 1.2–1.9), scaled to
    /// the provider's counts of the session.
    Model,
}

impl TokenCounting {
    /// Returns the word used in settings and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approximate => "approximate",
            Self::Model => "model",
        }
    }
}

impl Default for ClearSettings {
    fn default() -> Self {
        Self {
            trigger: 100_000.0,
            clear_at_least: 0.0,
            keep: 3.0,
            clear_tool_inputs: false,
            exclude_tools: Vec::new(),
            placeholder: "[cleared]".into(),
            counting: TokenCounting::default(),
            model_scale: ModelScale::default(),
            cleared_by: ClearedBy::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(json: &str) -> Value {
        js::parse(json).expect("test JSON")
    }

    fn names(names: &[&str]) -> Vec<JsString> {
        names.iter().map(|name| JsString::from(*name)).collect()
    }

    #[test]
    fn both_numbers_follow_the_window_and_have_a_minimum() {
        let of = |window| {
            let clearing = ServerClearRequest::new(window, None, []);
            (clearing.trigger, clearing.clear_at_least)
        };
        assert_eq!(of(Tokens(1_000_000.0)), (Tokens(300_000.0), Tokens(50_000.0)));
        assert_eq!(of(Tokens(250_000.9)), (Tokens(75_000.0), Tokens(12_500.0)));
        assert_eq!(
            [of(Tokens::ZERO), of(Tokens(-5.0)), of(Tokens(f64::NAN))],
            [(Tokens(50_000.0), Tokens(12_500.0)); 3]
        );
    }

    #[test]
    fn denied_names_are_spared_as_written_and_known_tools_by_the_lists() {
        let known = names(&["read", "Exec", "exec", "browser"]);
        let excluded =
            |json: &str| ServerClearRequest::new(Tokens::ZERO, Some(&tools(json)), &known).exclude_tools;
        assert_eq!(excluded("{}"), names(&[]));
        assert_eq!(excluded(r#"{"allow":[" "],"deny":[""]}"#), names(&[]));
        assert_eq!(
            excluded(r#"{"deny":[" Browser ","ex*"]}"#),
            names(&["Browser", "Exec", "browser", "exec"])
        );
        assert_eq!(excluded(r#"{"allow":["read"]}"#), names(&["Exec", "browser", "exec"]));
        assert_eq!(excluded(r#"{"allow":["*"],"deny":["absent"]}"#), names(&["absent"]));
    }

    #[test]
    fn only_anthropics_endpoint_clears_on_the_server() {
        let facts = ServerFacts {
            is_mode_on: true,
            api: Some("Anthropic-Messages"),
            provider: "anthropic",
            base_url: None,
            credential: CredentialKind::ApiKey,
        };
        let state = |facts| server_state(&facts);
        assert_eq!(state(facts), ServerState::On);
        assert_eq!(
            state(ServerFacts { credential: CredentialKind::Unknown, ..facts }),
            ServerState::OnWithApiKey
        );
        assert_eq!(state(ServerFacts { credential: CredentialKind::OAuth, ..facts }), ServerState::OAuth);
        assert_eq!(state(ServerFacts { is_mode_on: false, ..facts }), ServerState::ModeOff);
        assert_eq!(state(ServerFacts { provider: "openrouter", ..facts }), ServerState::OtherApi);
        assert_eq!(state(ServerFacts { api: None, ..facts }), ServerState::OtherApi);
        let at = |url| state(ServerFacts { base_url: Some(url), ..facts });
        assert_eq!(at("https://api.anthropic.com/v1"), ServerState::On);
        assert_eq!(at("https://api.anthropic.com.evil.test/"), ServerState::OtherEndpoint);
        assert_eq!(at("https://api.anthropic.com@proxy.test:8080/x"), ServerState::OtherEndpoint);
        assert_eq!(at("proxy"), ServerState::OtherEndpoint);
    }
}
