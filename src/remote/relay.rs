//! Prints the output of a command that ran on another machine. It is not trusted: a terminal gets it only as visible
//! text.

use std::io::{self, Seek as _, Write as _};

use tempfile::SpooledTempFile;

use crate::command::output::Output;
use crate::text::relayed::relayed_line;
use crate::text::shell::pasteable;

/// Bytes of an answer that are kept in memory.
const MAX_MEMORY_BYTES: usize = 16 << 20;
/// Bytes of an answer that is kept back: it must not fill the disk.
const MAX_HELD_BYTES: u64 = 4 << 30;
/// Bytes of a line that waits for its end.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The way of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Printed as it arrives.
    Streamed,
    /// Printed when it is complete, so that no program reads half an object.
    Whole,
}

/// The standard output of the other machine.
#[derive(Debug)]
pub(super) struct RemoteStdout {
    delivery: Delivery,
    held: SpooledTempFile,
    bytes: u64,
    /// A line on its way to a terminal.
    line: String,
}

impl RemoteStdout {
    pub(super) fn new(delivery: Delivery) -> Self {
        Self { delivery, held: SpooledTempFile::new(MAX_MEMORY_BYTES), bytes: 0, line: String::new() }
    }

    /// Takes a part of the output.
    pub(super) fn push(&mut self, text: &str, output: &mut Output) -> io::Result<()> {
        match self.delivery {
            Delivery::Whole => {
                self.bytes += text.len() as u64;
                if self.bytes > MAX_HELD_BYTES {
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the answer has more than 4 GB"));
                }
                self.held.write_all(text.as_bytes())
            }
            Delivery::Streamed if output.width().is_none() => {
                output.write_all(text.as_bytes())?;
                output.flush()
            }
            Delivery::Streamed => {
                self.line.push_str(text);
                self.print_lines(output)
            }
        }
    }

    fn print_lines(&mut self, output: &mut Output) -> io::Result<()> {
        let Some(end) = self.line.rfind('\n') else {
            if self.line.len() > MAX_LINE_BYTES {
                write!(output, "{}", relayed_line(&std::mem::take(&mut self.line)))?;
            }
            return Ok(());
        };
        let rest = self.line.split_off(end + 1);
        for line in std::mem::replace(&mut self.line, rest).lines() {
            writeln!(output, "{}", relayed_line(line))?;
        }
        output.flush()
    }

    /// Prints the rest of a complete output.
    pub(super) fn finish(mut self, output: &mut Output) -> io::Result<()> {
        if !self.line.is_empty() {
            write!(output, "{}", relayed_line(&self.line))?;
        }
        self.held.rewind()?;
        if output.width().is_none() {
            io::copy(&mut self.held, output)?;
        } else {
            let text = io::read_to_string(&mut self.held)?;
            output.write_all(pasteable(&text).as_bytes())?;
        }
        output.flush()
    }

    /// Returns the whole output.
    pub(super) fn into_text(mut self) -> io::Result<String> {
        self.held.rewind()?;
        io::read_to_string(&mut self.held)
    }
}

/// Prints a part of the error stream.
pub(super) fn relay_error(text: &str, output: &mut Output) -> io::Result<()> {
    let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => relayed_line(line) + "\n",
        None => relayed_line(line),
    });
    output.write_error(&lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relayed(delivery: Delivery, columns: Option<usize>, parts: &[&str]) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output::new(&mut out, &mut err).with_terminal(columns, true);
        let mut relay = RemoteStdout::new(delivery);
        for part in parts {
            relay.push(part, &mut output).unwrap();
        }
        relay.finish(&mut output).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_pipe_gets_every_byte_and_a_terminal_no_control_sequence() {
        let parts = ["a\u{1b}]0;x", "\u{7}\n\u{1b}[31mred\u{1b}[0m\u{9b}", "2J"];
        for delivery in [Delivery::Streamed, Delivery::Whole] {
            assert_eq!(relayed(delivery, None, &parts), parts.concat());
            let shown = relayed(delivery, Some(80), &parts);
            assert!(!shown.contains(['\u{7}', '\u{9b}']) && !shown.contains("\u{1b}]"), "{shown:?}");
        }
        let shown = relayed(Delivery::Streamed, Some(80), &parts);
        assert!(shown.contains("\u{1b}[31mred\u{1b}[0m"), "{shown:?}");
    }

    #[test]
    fn an_incomplete_object_is_not_printed() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output::new(&mut out, &mut err);
        let mut relay = RemoteStdout::new(Delivery::Whole);
        relay.push("{\"a\":", &mut output).unwrap();
        drop(relay);
        assert!(out.is_empty());
    }
}
