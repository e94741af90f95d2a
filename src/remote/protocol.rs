//! The protocol between two clawscopes: JSON, one message a line, each line with a limit.
//!
//! Both sides send a greeting first. The person's side then sends one request; after it, the input of a screen. The
//! serving side answers with output or with messages of the screen, and ends with the exit code.

use std::io::{self, BufRead, Read as _, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::runtime::remote_screen::{PersonMessage, ScreenMessage};

/// The version of the protocol. Only equal versions talk to each other.
pub(super) const PROTOCOL: u32 = 1;
/// Limit of a line that the person's side reads, bytes.
pub(super) const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// Limit of a line that the serving side reads, bytes: a request carries settings files.
pub(super) const MAX_REQUEST_BYTES: u64 = 64 << 20;
/// Output of a login shell before the greeting that is ignored, bytes.
pub(super) const MAX_NOISE_BYTES: usize = 1 << 16;
/// Output in one message, bytes.
pub(super) const MAX_CHUNK_BYTES: usize = 1 << 17;

/// The first message of each side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Greeting {
    /// The protocol's version. The name marks the line among the output of a login shell.
    pub(super) clawscope_protocol: u32,
    /// The version of the program.
    pub(super) version: String,
}

impl Greeting {
    pub(super) fn own() -> Self {
        Self { clawscope_protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// A message of the person's side after the greeting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Question {
    Run(Box<Request>),
    Screen(PersonMessage),
}

/// A command line to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Request {
    /// The command line with the paths of the serving machine, after the program's name.
    pub(super) words: Vec<String>,
    /// The command line as the person typed it, for hints, after the program's name.
    pub(super) typed: Vec<String>,
    /// Columns of the person's terminal; `None` without one.
    pub(super) columns: Option<usize>,
    pub(super) colour: bool,
    /// Whether the standard output becomes a file, so that no terminal reads it.
    pub(super) to_file: bool,
    /// The zone of displayed times.
    pub(super) zone: Option<String>,
    /// The variables of the person that concern the display; all others are those of the serving machine.
    pub(super) variables: Vec<(String, Option<String>)>,
    pub(super) settings_folder: Option<PathBuf>,
    /// The person's settings files.
    pub(super) files: Vec<(PathBuf, String)>,
    /// The person's terminal, for a command line that opens the screen.
    pub(super) screen: Option<ScreenRequest>,
}

/// The terminal of a screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScreenRequest {
    pub(super) width: u16,
    pub(super) height: u16,
    /// The built-in theme that fits the terminal.
    pub(super) theme: String,
    /// The name that the person has for the serving machine.
    pub(super) machine: String,
    /// `ssh://HOST`, if that is the person's way to the serving machine.
    pub(super) address: Option<String>,
    /// The command of `--via`, if that is the person's way.
    pub(super) via: Option<String>,
}

/// A message of the serving side after the greeting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Answer {
    /// A part of the standard output.
    Out(String),
    /// A part of the standard output, packed ([`super::packed`]).
    Packed(String),
    /// A part of the error stream.
    Err(String),
    Screen(ScreenMessage),
    /// The last message: the exit code.
    End(u8),
}

/// Writes a message as one line.
pub(super) fn send(to: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads a line of at most `limit` bytes without its line end; `None` at the end of the link, which is also a line that
/// was cut off.
///
/// # Errors
/// The system's, or [`io::ErrorKind::InvalidData`] for a longer line.
pub(super) fn read_line(from: &mut dyn BufRead, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    from.take(limit + 1).read_until(b'\n', &mut line)?;
    if line.pop_if(|byte| *byte == b'\n').is_some() {
        return Ok(Some(line));
    }
    if line.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message of more than {limit} bytes"),
        ));
    }
    Ok(None)
}

/// Reads a message; `None` at the end of the link.
///
/// # Errors
/// Like [`read_line`], but fails with [`io::ErrorKind::InvalidData`] for anything but a message.
pub(super) fn receive<T: DeserializeOwned>(from: &mut dyn BufRead, limit: u64) -> io::Result<Option<T>> {
    let Some(line) = read_line(from, limit)? else { return Ok(None) };
    let parsed = serde_json::from_slice(&line);
    parsed.map(Some).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a line that is no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_limit_and_one_that_was_cut_off_is_the_end() {
        let read = |bytes: &[u8], limit| read_line(&mut &bytes[..], limit);
        assert_eq!(read(b"abc\nd", 3).unwrap(), Some(b"abc".to_vec()));
        assert_eq!(read(b"abc", 3).unwrap(), None);
        assert_eq!(read(b"", 3).unwrap(), None);
        assert_eq!(read(b"abcd\n", 3).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn messages_survive_the_link_and_unknown_ones_are_refused() {
        let request = Request { words: vec!["tree".into(), "a\nb\u{1b}".into()], ..Request::default() };
        let mut line = Vec::new();
        send(&mut line, &Question::Run(Box::new(request.clone()))).unwrap();
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        let read: Option<Question> = receive(&mut &line[..], 1000).unwrap();
        assert_eq!(read, Some(Question::Run(Box::new(request))));
        for hostile in ["{\"exec\":\"id\"}\n", "[]\n", "\n", "{\"end\":300}\n", "{\"out\":1}\n", "\u{0}\n"] {
            assert!(receive::<Answer>(&mut hostile.as_bytes(), 1000).is_err(), "{hostile:?}");
        }
    }
}
