//! A model server on the loopback without a model. It speaks the APIs of two providers, streaming or
//! not; directives in the newest user message say what it answers (`script.rs`), and [`Behaviour`] what it refuses.
//!
//! The log holds every request with its messages. Each answer starts with the request's number, such as `R0007 `, so that
//! the entry of an answer names the request that it answered.

mod count;
mod http;
mod refusal;
mod script;
mod wire;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use refusal::Style;
pub(crate) use script::answer_number;

/// How the server treats requests.
#[derive(Debug, Clone)]
pub(crate) struct Behaviour {
    /// The largest accepted prompt in tokens; 0: any.
    pub(crate) limit: u64,
    /// What happens above the limit.
    pub(crate) above: AboveLimit,
    /// The text of a refusal.
    pub(crate) style: Style,
    /// Whether the requested answer counts towards the limit.
    pub(crate) counts_reply: bool,
    /// Chars of each summary.
    pub(crate) summary_chars: usize,
    /// Refuses summaries with this text.
    pub(crate) summary_error: Option<&'static str>,
    /// Fails the next requests.
    pub(crate) fails: Option<Failing>,
    /// A model that answers nothing.
    pub(crate) failing_model: Option<&'static str>,
}

/// Failures that have nothing to do with the prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failing {
    pub(crate) status: u16,
    pub(crate) text: &'static str,
    /// Requests that still fail.
    pub(crate) count: usize,
}

/// How a server reacts to a prompt above its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AboveLimit {
    /// Refuses with an HTTP status.
    Refuse,
    /// Answers, and counts only the limit: it cut the prompt.
    Cut,
    /// Starts to stream, then sends the error.
    Late,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            limit: 0,
            above: AboveLimit::Refuse,
            style: Style::OpenAi,
            counts_reply: false,
            summary_chars: 900,
            summary_error: None,
            fails: None,
            failing_model: None,
        }
    }
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Kind {
    Chat,
    Summary,
}

/// Tokens that the server counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// Not read from the cache.
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
}

impl Usage {
    pub(crate) fn prompt(self) -> u64 {
        self.input + self.cached
    }
}

/// A request and what became of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    /// From 1.
    pub(crate) number: usize,
    /// Milliseconds since 1970.
    pub(crate) at_ms: u64,
    pub(crate) kind: Kind,
    pub(crate) model: String,
    /// As they were sent, the system prompt first.
    pub(crate) messages: Vec<Value>,
    /// Of the whole prompt with the tools.
    pub(crate) tokens: u64,
    pub(crate) status: u16,
    /// Whether it was refused for its size.
    pub(crate) is_above_limit: bool,
    /// What the answer counted; `None` for a request that failed.
    pub(crate) usage: Option<Usage>,
}

impl Request {
    pub(crate) fn is_answered(&self) -> bool {
        self.usage.is_some()
    }
}

#[derive(Default)]
struct State {
    behaviour: Behaviour,
    requests: Vec<Request>,
    /// The messages of the last request of each kind: their common prefix is what a cache holds.
    previous: HashMap<Kind, Vec<Value>>,
}

struct Shared {
    state: Mutex<State>,
    is_stopped: AtomicBool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A running server; it ends with this value.
pub(crate) struct Mock {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Mock {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Mutex::new(State { behaviour, ..State::default() });
        let shared = Arc::new(Shared { state, is_stopped: AtomicBool::new(false) });
        let serving = Arc::clone(&shared);
        thread::spawn(move || serve(&listener, &serving));
        Self { address, shared }
    }

    /// The address that clients are configured with.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.shared.state().behaviour);
    }

    /// Asserts that some request held a text: the scenario reached what it is about.
    pub(crate) fn assert_sent(&self, text: &str) {
        let holds = |message: &Value| message.to_string().contains(text);
        assert!(
            self.requests().iter().any(|request| request.messages.iter().any(holds)),
            "{text:?} was never sent"
        );
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        _ = TcpStream::connect(self.address);
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_stopped.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A client that hangs up is not a failure of the server.
        thread::spawn(move || _ = answer(stream, &shared));
    }
}

/// What to send back.
enum Reply {
    Json(u16, Value),
    Empty(u16),
    Events(Vec<String>),
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let Some(request) = http::read(&mut stream)? else { return Ok(()) };
    let path = request.path.split('?').next().unwrap_or_default();
    let reply = match path {
        _ if path.ends_with("/chat/completions") => decide(&request.body, wire::Api::OpenAi, shared),
        _ if path.ends_with("/messages") => decide(&request.body, wire::Api::Anthropic, shared),
        _ if path.ends_with("/models") => Reply::Json(200, json!({ "object": "list", "data": [] })),
        _ => Reply::Json(404, json!({ "error": { "message": format!("no such path {path}") } })),
    };
    http::write(&mut stream, &reply)
}

/// Counts a request, answers or refuses it, and logs it.
fn decide(body: &Value, api: wire::Api, shared: &Shared) -> Reply {
    let mut state = shared.state();
    let kind = if count::is_summary(body) { Kind::Summary } else { Kind::Chat };
    let messages = count::all_messages(body);
    let tokens = count::tokens(body);
    let (mut counted, mut cached) = (tokens, cached_prefix(&mut state, kind, &messages));
    let number = state.requests.len() + 1;
    let streams = body["stream"] == json!(true);
    let refusal = refusal::of(&mut state.behaviour, body, kind, tokens);
    if refusal.is_none() && state.behaviour.limit > 0 && tokens > state.behaviour.limit {
        (counted, cached) = (state.behaviour.limit, 0);
    }
    let answer = script::answer(body, kind, number, state.behaviour.summary_chars);
    let usage = Usage {
        input: counted - cached.min(counted),
        cached: cached.min(counted),
        output: count::of_chars(answer.chars()),
    };
    let status = refusal.as_ref().map_or(200, |refusal| refusal.status);
    let usage_logged = refusal.is_none().then_some(usage);
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    state.requests.push(Request {
        number,
        at_ms: super::now_ms(),
        kind,
        model,
        messages,
        tokens,
        status,
        is_above_limit: refusal.as_ref().is_some_and(|refusal| refusal.is_for_size),
        usage: usage_logged,
    });
    match refusal {
        Some(refusal) => refusal.reply(streams && state.behaviour.above == AboveLimit::Late),
        None => wire::reply(api, &answer, usage, streams, number, &body["model"]),
    }
}

/// Tokens that a cache keeps together.
const BLOCK: u64 = 64;

/// Tokens of the messages that the previous request of this kind started with, in whole blocks.
fn cached_prefix(state: &mut State, kind: Kind, messages: &[Value]) -> u64 {
    let previous = state.previous.insert(kind, messages.to_vec()).unwrap_or_default();
    let same = previous.iter().zip(messages).take_while(|(old, new)| old == new).count();
    count::of_chars(messages[..same].iter().map(count::chars_of_message).sum()) / BLOCK * BLOCK
}
