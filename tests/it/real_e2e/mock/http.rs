//! One HTTP request for each connection: the end of an answer is the end of the connection.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use super::Reply;

/// A request of a client.
pub(super) struct Incoming {
    pub(super) path: String,
    pub(super) body: Value,
}

/// Reads a request; `None` if the client hung up, or if its body is not JSON.
pub(super) fn read(stream: &mut TcpStream) -> io::Result<Option<Incoming>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let Some(path) = line.split(' ').nth(1).map(str::to_owned) else { return Ok(None) };
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    let body = if bytes.is_empty() { Some(Value::Null) } else { serde_json::from_slice(&bytes).ok() };
    Ok(body.map(|body| Incoming { path, body }))
}

pub(super) fn write(stream: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    let (status, kind, body) = match reply {
        Reply::Json(status, body) => (*status, "application/json", body.to_string()),
        Reply::Empty(status) => (*status, "application/json", String::new()),
        Reply::Events(events) => (200, "text/event-stream", events.concat()),
    };
    write!(stream, "HTTP/1.1 {status} Mock\r\ncontent-type: {kind}\r\n")?;
    // The client libraries would otherwise repeat a failed request themselves, after pauses, and no program would see it.
    write!(stream, "x-should-retry: false\r\n")?;
    write!(stream, "content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())?;
    stream.flush()
}
