//! The address of requests and the key that they carry.

use std::fmt;

use ureq::http::Uri;

use crate::config::Api;
use crate::gateway::env::Environment;

/// A secret from the environment. It is only sent: its `Debug` form and all errors omit it.
#[derive(Clone)]
pub struct ApiKey {
    variable: String,
    secret: String,
}

impl ApiKey {
    /// Reads the key from a variable; `None` if it is unset, blank or not valid in a header.
    pub fn from_env(variable: &str, env: &Environment) -> Option<Self> {
        let secret = env.get(variable).filter(|secret| secret.bytes().all(|byte| byte.is_ascii_graphic()))?;
        Some(Self { variable: variable.to_owned(), secret: secret.to_owned() })
    }

    pub fn variable(&self) -> &str {
        &self.variable
    }

    /// Returns the header that carries the key.
    pub(super) fn header(&self, api: Api) -> (&'static str, String) {
        match api {
            Api::OpenAi => ("authorization", format!("Bearer {}", self.secret)),
            Api::Anthropic => ("x-api-key", self.secret.clone()),
        }
    }

    /// Replaces the secret in a text, in case a server repeats it.
    pub(super) fn redact_from(&self, text: &str) -> String {
        text.replace(&self.secret, "[key]")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("variable", &self.variable).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    base: String,
    host: String,
    is_local: bool,
}

/// A reason to reject an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not `http://` or `https://` with a host, or one with a name and a password.
    #[error("url under [summarizer]: {0:?}: expected https://HOST/PATH")]
    Invalid(String),
    /// A key would cross a network in plain text.
    #[error(
        "url under [summarizer]: {0:?}: clawscope sends a key over http only to this machine. Use https, or \
         remove key-env."
    )]
    Insecure(String),
}

impl Address {
    /// Parses an address. With a key, plain `http` is allowed to this machine only.
    pub fn new(text: &str, with_key: bool) -> Result<Self, AddressError> {
        let odd = || AddressError::Invalid(text.to_owned());
        let base = text.trim().trim_end_matches('/');
        let uri: Uri = base.parse().map_err(|_| odd())?;
        let authority =
            uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(odd)?;
        let here = matches!(authority.host(), "localhost" | "127.0.0.1" | "[::1]");
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if here || !with_key => {}
            Some("http") => return Err(AddressError::Insecure(text.to_owned())),
            _ => return Err(odd()),
        }
        if uri.query().is_some() || base.contains('#') {
            return Err(odd());
        }
        Ok(Self { base: base.to_owned(), host: authority.to_string(), is_local: here })
    }

    /// Host and port, for messages.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the address is this machine.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Returns the full address of a call. Anthropic's base may include its version.
    pub(super) fn endpoint(&self, api: Api) -> String {
        match api {
            Api::OpenAi => format!("{}/chat/completions", self.base),
            Api::Anthropic => format!("{}/v1/messages", self.base.trim_end_matches("/v1")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_only_over_https_or_to_this_machine() {
        for (text, with_key, fits) in [
            ("https://api.example.com/v1/", true, true),
            ("http://127.0.0.1:11434/v1", true, true),
            ("http://localhost:1", true, true),
            ("http://[::1]:8080", true, true),
            ("http://10.0.0.7:8000/v1", false, true),
            ("http://10.0.0.7:8000/v1", true, false),
            ("ftp://x", false, false),
            ("api.example.com", false, false),
            ("https://user:pass@x", false, false),
            ("https://x?key=1", false, false),
            ("", false, false),
        ] {
            assert_eq!(Address::new(text, with_key).is_ok(), fits, "{text} {with_key}");
        }
    }

    #[test]
    fn calls_have_the_paths_of_their_api() {
        let of = |text: &str, api| Address::new(text, false).unwrap().endpoint(api);
        assert_eq!(of("https://x/v1/", Api::OpenAi), "https://x/v1/chat/completions");
        assert_eq!(of("https://x", Api::Anthropic), "https://x/v1/messages");
        assert_eq!(of("https://x/v1", Api::Anthropic), "https://x/v1/messages");
    }

    #[test]
    fn a_key_is_never_reported() {
        let env = Environment::new([("K", " s3cret "), ("BAD", "a\u{e9}"), ("BLANK", " ")], None, "/".into());
        let key = ApiKey::from_env("K", &env).unwrap();
        assert!(!format!("{key:?}").contains("s3cret"));
        assert_eq!(key.redact_from("bad key s3cret!"), "bad key [key]!");
        assert!(["BAD", "BLANK", "NONE"].iter().all(|name| ApiKey::from_env(name, &env).is_none()));
    }
}
