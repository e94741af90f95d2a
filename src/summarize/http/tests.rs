//! The client against a local server: its requests, its reading of every kind of answer, and its cancellation.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::*;
use crate::gateway::env::Environment;
use crate::gateway::ruleset::PiRelease;
use crate::policy::compact::testing::{job, users};
use crate::policy::compact::{SummaryForm, SummaryPurpose};
use crate::summarize::{CallTokens, SummaryError, SummaryProgress, run};
use crate::units::{Millis, Tokens};

const SECRET: &str = "sk-test-s3cret";
const GOOD: &str = r#"{"choices":[{"message":{"content":"a summary"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#;

/// The server's reaction to a request.
#[derive(Clone)]
enum Reply {
    /// Answers with a status line, further headers and a body.
    Send(&'static str, &'static str, &'static str),
    /// Sends part of an answer and closes.
    Cut,
    /// Waits until the client disconnects.
    Hang,
}

fn ok(body: &'static str) -> Reply {
    Reply::Send("200 OK", "", body)
}

/// A server that sends its replies in order and repeats the last one.
struct Server {
    url: String,
    /// Head and body of each request.
    requests: Arc<Mutex<Vec<(String, String)>>>,
    /// Times at which a client disconnected while the server hung.
    left: mpsc::Receiver<Instant>,
}

impl Server {
    fn new(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (requests, (sender, left)) = (Arc::new(Mutex::new(Vec::new())), mpsc::channel());
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let reply = replies[at.min(replies.len() - 1)].clone();
                let mut stream = stream.unwrap();
                let request = read_request(&mut stream);
                seen.lock().unwrap().push(request);
                if reply_to(&mut stream, &reply) && sender.send(Instant::now()).is_err() {
                    break;
                }
            }
        });
        Self { url, requests, left }
    }

    fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn request(&self, at: usize) -> (String, serde_json::Value) {
        let (head, body) = self.requests.lock().unwrap()[at].clone();
        (head.to_lowercase(), serde_json::from_str(&body).unwrap())
    }

    fn client(&self, api: Api, timeout: Duration) -> HttpSummarizer {
        let env = Environment::new([("KEY", SECRET)], None, "/".into());
        let address = Address::new(&self.url, true).unwrap();
        HttpSummarizer::new(api, address, "model-1".to_owned(), ApiKey::from_env("KEY", &env), timeout)
    }

    fn send(&self, api: Api) -> Result<Answer, CallError> {
        self.send_within(api, Duration::from_secs(20))
    }

    fn send_within(&self, api: Api, timeout: Duration) -> Result<Answer, CallError> {
        let messages = users(1, 40);
        self.client(api, timeout).summarise(&request(&messages), &CancelToken::new())
    }
}

fn request(messages: &[crate::js::Value]) -> SummaryRequest<'_> {
    SummaryRequest {
        purpose: SummaryPurpose::History,
        form: SummaryForm::Checkpoint,
        is_merge: false,
        pi: PiRelease::OLDEST,
        messages,
        previous_summary: None,
        focus: None,
        max_tokens: Tokens(16_000.0),
    }
}

fn read_request(stream: &mut TcpStream) -> (String, String) {
    let (mut reader, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            break;
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

/// Sends a reply; returns true if it hung until the client disconnected.
fn reply_to(stream: &mut TcpStream, reply: &Reply) -> bool {
    match reply {
        Reply::Send(status, headers, body) => {
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            _ = stream.write_all(text.as_bytes());
            false
        }
        Reply::Cut => {
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{\"choices\":[");
            false
        }
        Reply::Hang => {
            let mut rest = [0; 1];
            // Nothing more comes: the read ends with the connection.
            _ = stream.read(&mut rest);
            true
        }
    }
}

fn passing(result: Result<Answer, CallError>) -> (String, Option<Millis>) {
    match result {
        Err(CallError::Transient { what, retry_after_ms }) => (what, retry_after_ms),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_openai_call_has_its_key_model_and_prompt() {
    let server = Server::new(vec![ok(GOOD)]);
    let answer = server.send(Api::OpenAi).unwrap();
    let measured = Some(CallTokens { input: 9, output: 3 });
    assert_eq!(answer, Answer { text: "a summary".to_owned(), measured, truncated: false });
    let (head, body) = server.request(0);
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: bearer {SECRET}")), "{head}");
    assert_eq!((&body["model"], &body["max_tokens"]), (&"model-1".into(), &16_000.into()));
    assert!(body["messages"][1]["content"].as_str().unwrap().starts_with("<conversation>\n[User]: xxx"));
}

#[test]
fn an_anthropic_call_has_anthropics_headers() {
    let server =
        Server::new(vec![ok(r#"{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}"#)]);
    assert_eq!(server.send(Api::Anthropic).unwrap().text, "a");
    let (head, body) = server.request(0);
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    assert!(
        head.contains(&format!("x-api-key: {SECRET}")) && head.contains("anthropic-version: 2023-06-01"),
        "{head}"
    );
    assert_eq!(body["max_tokens"], 16_000);
}

#[test]
fn transient_errors_are_distinguished_from_refusals() {
    let server = Server::new(vec![Reply::Send(
        "429 Too Many Requests",
        "retry-after: 2\r\n",
        r#"{"error":{"message":"slow down"}}"#,
    )]);
    let (what, wait) = passing(server.send(Api::OpenAi));
    assert!(what.contains("429 Too Many Requests: slow down"), "{what}");
    assert_eq!(wait, Some(Millis(2000.0)));
    let server = Server::new(vec![Reply::Send("500 Internal Server Error", "", "<h1>oops</h1>")]);
    assert!(passing(server.send(Api::OpenAi)).0.contains("500 Internal Server Error: <h1>oops</h1>"));
    let server = Server::new(vec![Reply::Send(
        "400 Bad Request",
        "",
        r#"{"error":{"message":"prompt is too long"}}"#,
    )]);
    assert!(
        matches!(server.send(Api::OpenAi), Err(CallError::Refused(what)) if what.contains("prompt is too long"))
    );
}

#[test]
fn a_wrong_key_fails_permanently_and_only_its_variable_is_shown() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-test-s3cret"}}"#;
    let server = Server::new(vec![Reply::Send("401 Unauthorized", "", body)]);
    let Err(CallError::Permanent(what)) = server.send(Api::OpenAi) else { panic!("hopeless") };
    assert!(what.contains("[key]") && what.contains("Check the key in KEY."), "{what}");
    assert!(
        !what.contains(SECRET)
            && !format!("{:?}", server.client(Api::OpenAi, POLL_INTERVAL)).contains(SECRET)
    );
}

#[test]
fn a_key_does_not_follow_a_redirect() {
    let target = Server::new(vec![ok(GOOD)]);
    let location: &'static str = format!("location: {}/chat/completions\r\n", target.url).leak();
    let server = Server::new(vec![Reply::Send("307 Temporary Redirect", location, "")]);
    assert!(matches!(server.send(Api::OpenAi), Err(CallError::Permanent(what)) if what.contains("307")));
    assert_eq!(target.count(), 0);
}

#[test]
fn a_broken_connection_and_a_non_json_answer_are_transient() {
    passing(Server::new(vec![Reply::Cut]).send(Api::OpenAi));
    let (what, _) = passing(Server::new(vec![ok("<html>")]).send(Api::OpenAi));
    assert!(what.contains("not JSON"), "{what}");
    // The port is closed again.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let gone = HttpSummarizer::new(
        Api::OpenAi,
        Address::new(&url, false).unwrap(),
        "m".to_owned(),
        None,
        CONNECT_TIMEOUT,
    );
    passing(gone.summarise(&request(&users(1, 4)), &CancelToken::new()));
}

#[test]
fn a_slow_server_times_out() {
    let server = Server::new(vec![Reply::Hang]);
    let begun = Instant::now();
    let (what, _) = passing(server.send_within(Api::OpenAi, Duration::from_millis(300)));
    assert!(what.contains("no answer within 0.3 s"), "{what}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_cancelled_call_closes_its_connection() {
    let server = Server::new(vec![Reply::Hang]);
    let (client, cancel) = (server.client(Api::OpenAi, Duration::from_mins(1)), CancelToken::new());
    let other = cancel.clone();
    let asking = thread::spawn(move || client.summarise(&request(&users(1, 4)), &other));
    let begun = Instant::now();
    while server.count() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the request did not come");
        CancelToken::new().wait(POLL_INTERVAL);
    }
    cancel.cancel();
    assert_eq!(asking.join().unwrap(), Err(CallError::Cancelled));
    server.left.recv_timeout(Duration::from_secs(10)).expect("the provider sees that nobody waits any more");
}

#[test]
fn a_summary_waits_for_retry_after_and_continues() {
    let busy = Reply::Send("429 Too Many Requests", "retry-after: 0.7\r\n", "");
    let server = Server::new(vec![busy, ok(GOOD)]);
    let mut waits = Vec::new();
    let mut progress = |progress: SummaryProgress| waits.push(progress.wait_ms);
    let client = server.client(Api::OpenAi, Duration::from_secs(20));
    let summary = run(&job(users(3, 40)), &client, &CancelToken::new(), &mut progress).unwrap();
    assert_eq!((summary.text.to_string_lossy().as_str(), server.count()), ("a summary", 2));
    assert_eq!((summary.calls.len(), summary.calls[0].attempts), (1, 2));
    assert!(waits[1] >= Millis(700.0), "{waits:?}");
}

#[test]
fn a_summary_from_a_server_that_only_fails_is_an_error_after_two_rounds() {
    let server = Server::new(vec![Reply::Send("503 Service Unavailable", "", "")]);
    let client = server.client(Api::OpenAi, Duration::from_secs(20));
    let failed = run(&job(users(2, 40)), &client, &CancelToken::new(), &mut |_| {});
    assert!(matches!(failed, Err(SummaryError::Failed { gateway_stores: Some(_), .. })), "{failed:?}");
    assert_eq!(server.count(), 6);
}
