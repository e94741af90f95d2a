//! A model at an HTTP address, with `OpenAI` chat completions or Anthropic messages. The only part of clawscope
//! that opens a connection, and only where the configuration or an option names it.
//!
//! The request runs on its own thread. A cancellation shuts its connections down, so that the provider stops too.

mod key;
mod wire;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ureq::http::{Response, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

pub use key::{Address, AddressError, ApiKey};

use crate::config::Api;
use crate::policy::compact::SummaryRequest;
use crate::summarize::{Answer, CallError, CancelToken, Summarizer, SummarizerKind, prompt};

/// Limit for the bytes of an answer.
const MAX_ANSWER_BYTES: u64 = 8 << 20;
/// Limit for the bytes read from an error's body.
const MAX_ERROR_BYTES: u64 = 64 << 10;
/// Limit for the chars shown of an error's text.
const ERROR_TEXT_CHARS: usize = 400;
/// Limit for the connection setup.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between checks for a cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A model as summarizer.
#[derive(Debug, Clone)]
pub struct HttpSummarizer {
    api: Api,
    address: Address,
    model: String,
    key: Option<ApiKey>,
    timeout: Duration,
}

impl HttpSummarizer {
    /// Each call, including its answer, may take `timeout`.
    pub fn new(api: Api, address: Address, model: String, key: Option<ApiKey>, timeout: Duration) -> Self {
        Self { api, address, model, key, timeout }
    }

    fn agent(&self) -> Agent {
        let provider = rustls::crypto::ring::default_provider();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(provider.into())
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .user_agent(concat!("clawscope/", env!("CARGO_PKG_VERSION")))
            // A redirect must not carry the key to an address that is not configured.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(self.timeout));
        // Requests to this machine bypass the environment's proxy.
        let config = if self.address.is_local() { config.proxy(None) } else { config };
        config.build().into()
    }

    /// Sends the request and reads the answer on the caller's thread.
    fn exchange(&self, agent: &Agent, body: &str) -> Result<Answer, CallError> {
        let mut post = agent.post(self.address.endpoint(self.api)).header("content-type", "application/json");
        if self.api == Api::Anthropic {
            post = post.header("anthropic-version", wire::ANTHROPIC_VERSION);
        }
        if let Some(key) = &self.key {
            let (name, value) = key.header(self.api);
            post = post.header(name, value);
        }
        let mut response = post.send(body).map_err(|error| self.transport_error(&error))?;
        if !response.status().is_success() {
            return Err(self.status_error(&mut response));
        }
        let text =
            response.body_mut().with_config().limit(MAX_ANSWER_BYTES).lossy_utf8(true).read_to_string();
        let text = text.map_err(|error| self.transport_error(&error))?;
        wire::parse_answer(self.api, &text).map_err(|error| match error {
            wire::ResponseError::Malformed(what) => CallError::transient(self.error_message(&what)),
            wire::ResponseError::Refused(what) => CallError::Refused(self.error_message(&what)),
        })
    }

    /// Converts a failure without a status or without a complete answer.
    fn transport_error(&self, error: &ureq::Error) -> CallError {
        match error {
            ureq::Error::BadUri(_)
            | ureq::Error::Tls(_)
            | ureq::Error::RequireHttpsOnly(_)
            | ureq::Error::Http(_) => CallError::Permanent(self.error_message(&error.to_string())),
            ureq::Error::BodyExceedsLimit(most) => {
                CallError::Refused(self.error_message(&format!("the answer is longer than {most} bytes")))
            }
            ureq::Error::Timeout(_) => CallError::transient(
                self.error_message(&format!("no answer within {} s", self.timeout.as_secs_f64())),
            ),
            _ => CallError::transient(self.error_message(&error.to_string())),
        }
    }

    /// Converts an error status.
    fn status_error(&self, response: &mut Response<Body>) -> CallError {
        let status = response.status();
        let retry_after_ms = response
            .headers()
            .get("retry-after")
            .and_then(|value| wire::retry_after_ms(value.to_str().ok()?));
        let body = response.body_mut().with_config().limit(MAX_ERROR_BYTES).lossy_utf8(true).read_to_string();
        let mut what = format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
        let message = wire::error_text(&body.unwrap_or_default());
        if !message.is_empty() {
            what.push_str(": ");
            what.push_str(&message);
        }
        let reported = self.error_message(what.trim());
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => CallError::Permanent(match &self.key {
                Some(key) => format!("{reported}. Check the key in {}.", key.variable()),
                None => format!(
                    "{reported}. Set key-env under [summarizer] to the environment variable with \
                     the key."
                ),
            }),
            StatusCode::NOT_FOUND | StatusCode::PAYMENT_REQUIRED => {
                CallError::Permanent(format!("{reported}. Check url and model under [summarizer]."))
            }
            _ if status.is_redirection() => CallError::Permanent(format!(
                "{reported}. The server redirects; set url under [summarizer] to the new address."
            )),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT => {
                CallError::Transient { what: reported, retry_after_ms }
            }
            _ if status.is_server_error() => CallError::Transient { what: reported, retry_after_ms },
            _ => CallError::Refused(reported),
        }
    }

    /// Adds the host, removes the key and limits the length.
    fn error_message(&self, what: &str) -> String {
        let what: String = match &self.key {
            Some(key) => key.redact_from(what),
            None => what.to_owned(),
        };
        let mut short: String = what.chars().take(ERROR_TEXT_CHARS).collect();
        if short.len() < what.len() {
            short.push('…');
        }
        format!("{}: {short}", self.address.host())
    }
}

impl Summarizer for HttpSummarizer {
    fn kind(&self) -> SummarizerKind {
        SummarizerKind::Http
    }

    fn summarise(&self, request: &SummaryRequest<'_>, cancel: &CancelToken) -> Result<Answer, CallError> {
        let body =
            wire::request_body(self.api, &self.address, &self.model, &prompt(request)?, request.max_tokens);
        let (agent, own, (sender, receiver)) = (self.agent(), self.clone(), mpsc::channel());
        let running = agent.clone();
        thread::spawn(move || _ = sender.send(own.exchange(&running, &body)));
        loop {
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CallError::transient(
                        self.error_message("the request ended without an answer"),
                    ));
                }
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    agent.shutdown();
                    return Err(CallError::Cancelled);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "http/tests.rs"]
mod tests;
