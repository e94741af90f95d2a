//! Shows a text in the person's own pager.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::gateway::env::Environment;
use crate::text::visible;

/// Shows a text in `$PAGER`, or in `less`. The caller must restore the terminal first. Control characters become
/// visible signs, as text from a transcript must not control the terminal.
pub(super) fn show(text: &str, env: &Environment) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new()?;
    for line in text.lines() {
        writeln!(file, "{}", visible(line))?;
    }
    let mut command = pager_command(env.get("PAGER"));
    let ended = command.stdin(Stdio::from(crate::files::open(file.path())?)).status()?;
    // Leaving a pager with ctrl-c is not an error.
    match ended.code() {
        Some(127) => Err(io::Error::new(io::ErrorKind::NotFound, "no such program")),
        _ => Ok(()),
    }
}

/// Builds the command; `$PAGER` is a command line for the shell by convention.
pub(super) fn pager_command(pager: Option<&str>) -> Command {
    let mut command = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    let fallback = if cfg!(windows) { "more" } else { "less" };
    command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(pager.unwrap_or(fallback));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pager: &str) -> Environment {
        Environment::new([("PAGER", pager)], None, "/".into())
    }

    #[test]
    fn the_pager_gets_the_lines_with_control_characters_as_signs() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        show("one\n\u{1b}[31mtwo\n", &env(&format!("cat > {}", out.display()))).unwrap();
        let read = std::fs::read_to_string(out).unwrap();
        assert!(
            read.starts_with("one\n") && read.contains("[31mtwo") && !read.contains('\u{1b}'),
            "{read:?}"
        );
    }

    #[test]
    fn a_missing_pager_is_an_error_and_a_failing_one_is_not() {
        assert!(show("x", &env("clawscope-no-such-pager 2>/dev/null")).is_err());
        assert!(show("x", &env("exit 2")).is_ok());
    }
}
