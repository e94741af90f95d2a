//! The lines of a recording: what stands before `data` is kept, `data` is read again where someone asks.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::attempt::Attempt;
use super::find::Place;
use super::rows::{each_row, row};
use super::text;
use crate::js::{self, Value};
use memchr::memmem;

/// Longer recordings are none: the recorder stops at 50 MiB.
const MAX_BYTES: u64 = 64 << 20;
/// Bytes of a line in which its type stands.
const HEAD_BYTES: usize = 1024;
/// The schema that every line names.
pub(super) const SCHEMA: &str = "openclaw-trajectory";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `session.started`, `context.compiled`, …; unknown ones are kept.
    pub kind: String,
    /// From 1.
    pub line: u64,
    /// ISO time, as written.
    pub time: String,
    /// The run.
    pub run: String,
    /// The session.
    pub session: String,
    /// Provider of the run.
    pub provider: Option<String>,
    /// Model of the run.
    pub model: Option<String>,
    /// Place in the file's own count.
    pub source_seq: Option<u64>,
    at: u64,
    bytes: usize,
}

/// A recording, indexed.
#[derive(Debug)]
pub struct Recording {
    /// Where it is.
    pub place: Place,
    /// Its lines, in their order.
    pub events: Vec<Event>,
    /// Lines that are no event, from 1; the last one may be half written.
    pub bad_lines: Vec<u64>,
}

impl Recording {
    /// Reads the lines of a recording.
    pub fn read(place: &Place) -> io::Result<Self> {
        Self::read_where(place, |_| true)
    }

    /// Reads the lines of one kind alone: a recording is several times as long as its transcript.
    pub(super) fn read_kind(place: &Place, kind: &str) -> io::Result<Self> {
        let mark = format!("\"type\":\"{kind}\"");
        Self::read_where(place, |line| {
            memmem::find(&line[..line.len().min(HEAD_BYTES)], mark.as_bytes()).is_some()
        })
    }

    fn read_where(place: &Place, is_wanted: impl Fn(&[u8]) -> bool) -> io::Result<Self> {
        let mut recording = Self { place: place.clone(), events: Vec::new(), bad_lines: Vec::new() };
        let mut add = |line: u64, at: u64, bytes: &[u8]| {
            if !bytes.iter().all(u8::is_ascii_whitespace) && is_wanted(bytes) {
                match event(&String::from_utf8_lossy(bytes), line, at, bytes.len()) {
                    Some(event) => recording.events.push(event),
                    None => recording.bad_lines.push(line),
                }
            }
        };
        match place {
            Place::File(path) => each_line(path, add)?,
            Place::Rows(database, session) => each_row(database, session, |seq, bytes| {
                let seq = u64::try_from(seq).unwrap_or(0);
                add(seq.saturating_add(1), seq, bytes);
            })?,
        }
        Ok(recording)
    }

    /// Attempts in the order in which they began: a run may have several, and two runs may interleave (trajectory 1.2, 8.2).
    pub fn attempts(&self) -> Vec<Attempt> {
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut open: HashMap<&str, usize> = HashMap::new();
        for (at, event) in self.events.iter().enumerate().filter(|(_, event)| !event.run.is_empty()) {
            let known = open.get(event.run.as_str()).copied().filter(|_| event.kind != "session.started");
            let attempt = known.unwrap_or_else(|| {
                attempts.push(Attempt::new(event));
                open.insert(&event.run, attempts.len() - 1);
                attempts.len() - 1
            });
            attempts[attempt].events.push(at);
        }
        attempts
    }

    /// The `data` of an event; none where the recording changed meanwhile.
    pub fn data(&self, event: &Event) -> Option<Value> {
        let bytes = match &self.place {
            Place::File(path) => span(path, event.at, event.bytes)?,
            Place::Rows(database, session) => row(database, session, i64::try_from(event.at).ok()?)?,
        };
        let line = js::parse(String::from_utf8_lossy(&bytes).trim()).ok()?;
        line.get("data").cloned()
    }
}

/// Hands over each line of a file: its number from 1, its place and its bytes.
fn each_line(path: &Path, mut take: impl FnMut(u64, u64, &[u8])) -> io::Result<()> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    let mut reader = BufReader::new(file.take(MAX_BYTES));
    let (mut bytes, mut at, mut line) = (Vec::new(), 0_u64, 0);
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        line += 1;
        take(line, at, &bytes);
        at += bytes.len() as u64;
        bytes.clear();
    }
    Ok(())
}

fn span(path: &Path, at: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(at)).ok()?;
    let mut span = Vec::with_capacity(bytes);
    file.take(bytes as u64).read_to_end(&mut span).ok()?;
    Some(span)
}

/// The event of a line; `data` is checked and skipped.
fn event(line: &str, number: u64, at: u64, bytes: usize) -> Option<Event> {
    let line = line.trim();
    let fields = js::fields(line).ok()?;
    let value = |name: &str| {
        let field = fields.iter().rfind(|field| field.key.eq_str(name))?;
        js::parse(&line[field.value.clone()]).ok()
    };
    let text = |name: &str| text(value(name).as_ref());
    text("traceSchema").filter(|schema| schema == SCHEMA)?;
    Some(Event {
        kind: text("type")?,
        line: number,
        time: text("ts").unwrap_or_default(),
        run: text("runId").unwrap_or_default(),
        session: text("sessionId").unwrap_or_default(),
        provider: text("provider"),
        model: text("modelId"),
        source_seq: super::whole(value("sourceSeq").as_ref()),
        at,
        bytes,
    })
}
