//! Runs a command of the person: in the background, or in the terminal.

use std::io::{self, PipeReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::app::effect::ProgramRun;
use crate::app::event::Event;
use crate::config::RowVariable;
use crate::text;

/// Bytes of the output that are kept: only the last line is shown.
const MAX_TAIL_BYTES: usize = 4096;

/// Columns of the last line in a toast.
const MAX_LINE_COLUMNS: usize = 120;

/// Wait for output after the program's end. A background process of it may keep the pipe open forever.
const OUTPUT_WAIT: Duration = Duration::from_millis(300);

/// The exit status of a program, and the end of its output.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) status: ExitStatus,
    tail: Vec<u8>,
}

/// Runs a program in the background and waits for its end.
pub(super) fn run(program: &ProgramRun, folder: &Path) -> io::Result<Outcome> {
    let (reader, writer) = io::pipe()?;
    let mut command = command(program, folder)?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    // Quitting with ctrl-c must not end a program in the background.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    // The command holds the writing ends of the pipe.
    drop(command);
    let (sender, pieces) = channel();
    std::thread::spawn(move || read_pieces(reader, &sender));
    let status = child.wait()?;
    let mut tail = Vec::new();
    while let Ok(piece) = pieces.recv_timeout(OUTPUT_WAIT) {
        tail.extend(piece);
        tail.drain(..tail.len().saturating_sub(MAX_TAIL_BYTES));
    }
    Ok(Outcome { status, tail })
}

/// Runs a program in the terminal, which the caller restored, and waits for its end.
pub(super) fn run_in_terminal(program: &ProgramRun, folder: &Path) -> io::Result<Outcome> {
    let status = command(program, folder)?.status()?;
    Ok(Outcome { status, tail: Vec::new() })
}

fn command(program: &ProgramRun, folder: &Path) -> io::Result<Command> {
    let (name, arguments) = program.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(name);
    command.args(arguments).current_dir(folder);
    // A variable that the row lacks may come from another clawscope above this one.
    for variable in RowVariable::ALL {
        command.env_remove(variable.name());
    }
    command.envs(program.variables.iter().map(|(variable, value)| (variable.name(), value)));
    Ok(command)
}

/// Sends the output on piece by piece until the program and all that it started have closed it.
fn read_pieces(mut reader: PipeReader, pieces: &Sender<Vec<u8>>) {
    let mut buffer = [0; MAX_TAIL_BYTES];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        // Without a receiver the output is not shown, but the program must still be able to write it.
        drop(pieces.send(buffer[..count].to_vec()));
    }
}

/// Describes how a program ended, with the last line of its output.
pub(super) fn outcome_event(name: &str, outcome: io::Result<Outcome>) -> Event {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            return Event::Failure(format!("{name} did not run: {error}. Check its command in config.toml."));
        }
    };
    let line = outcome.last_line();
    let end = match outcome.status.code() {
        Some(0) if line.is_empty() => return Event::Notice(format!("{name}: done")),
        Some(0) => return Event::Notice(format!("{name}: {line}")),
        Some(code) => format!("ended with exit code {code}"),
        None => "was ended by a signal".to_owned(),
    };
    let separator = if line.is_empty() { "" } else { ": " };
    Event::Failure(format!("{name} {end}{separator}{line}"))
}

impl Outcome {
    fn last_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.tail);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        text::truncate(line, MAX_LINE_COLUMNS).0
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn event(words: &[&str]) -> Event {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let variables = vec![(RowVariable::Key, "a b; $(id)".to_owned())];
        let program = ProgramRun { name: "List".to_owned(), words, variables };
        outcome_event("List", run(&program, Path::new("/")))
    }

    fn script(code: &str) -> Event {
        event(&["sh", "-c", code])
    }

    #[test]
    fn the_last_line_of_either_output_is_shown_and_control_characters_are_signs() {
        let notice = |event| match event {
            Event::Notice(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(notice(script("echo one; echo two >&2; echo")), "List: two");
        assert_eq!(notice(script("true")), "List: done");
        assert_eq!(
            notice(script("printf '%s' \"$CLAWSCOPE_KEY$CLAWSCOPE_FILE\"")),
            "List: a b; $(id)",
            "a value is never code"
        );
        let hostile = notice(script("printf 'x\\033]0;t\\007y'"));
        assert!(hostile.starts_with("List: x") && !hostile.contains(char::is_control), "{hostile:?}");
        let long = notice(script("head -c 1000000 /dev/zero | tr '\\0' x"));
        assert!(long.len() < 500, "{}", long.len());
    }

    #[test]
    fn a_program_that_fails_is_reported_with_its_code_and_its_last_words() {
        let failure = |event| match event {
            Event::Failure(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            failure(script("echo no such file >&2; exit 3")),
            "List ended with exit code 3: no such file"
        );
        assert_eq!(failure(script("kill -9 $$")), "List was ended by a signal");
        let missing = failure(event(&["clawscope-no-such-program"]));
        assert!(missing.contains("did not run") && missing.contains("config.toml"), "{missing}");
    }

    #[test]
    fn a_background_process_that_keeps_the_output_open_does_not_delay_the_result() {
        let Event::Notice(text) = script("sleep 30 & echo started") else { panic!("a notice") };
        assert_eq!(text, "List: started");
    }
}
