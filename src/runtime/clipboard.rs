//! Copies text to the clipboard: through the terminal, which also works over ssh, and through the desktop's own
//! program if there is one. A text too long for both is saved to a file.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::format::format_number;
use crate::gateway::env::Environment;
use crate::session::store_location::abbreviate_home;

/// In bytes; terminals silently drop longer texts.
pub(super) const MAX_TERMINAL_BYTES: usize = 100_000;

/// A program and its arguments; it reads the text from standard input.
type Program = (&'static str, &'static [&'static str]);

/// The desktop's programs, in the order to try.
fn programs(env: &Environment) -> Vec<Program> {
    let mut programs: Vec<Program> = Vec::new();
    if cfg!(target_os = "macos") {
        programs.push(("pbcopy", &[]));
    }
    if env.get("WAYLAND_DISPLAY").is_some() {
        programs.push(("wl-copy", &[]));
    }
    if env.get("DISPLAY").is_some() {
        programs.push(("xclip", &["-selection", "clipboard"]));
        programs.push(("xsel", &["--clipboard", "--input"]));
    }
    programs
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ClipboardError {
    #[error("{what} is too long for the terminal's clipboard, and saving it to a file failed: {source}.")]
    NotSaved {
        /// A noun for the text.
        what: String,
        source: io::Error,
    },
}

/// Copies the text with a desktop program, or saves it to a file when it is too long for the terminal; returns the
/// outcome in words. The caller copies it through the terminal first. Blocks on other programs.
pub(super) fn copy(text: &str, what: &str, env: &Environment) -> Result<String, ClipboardError> {
    let piped = programs(env).into_iter().any(|program| pipe_to(program, text).is_ok());
    if piped || text.len() <= MAX_TERMINAL_BYTES {
        return Ok(format!("Copied {what}: {} chars.", format_number(text.encode_utf16().count() as u64)));
    }
    let path =
        write_temp_file(text).map_err(|source| ClipboardError::NotSaved { what: what.to_owned(), source })?;
    let home = crate::gateway::env::effective_home(env);
    Ok(format!(
        "{what} is too long for the terminal's clipboard ({} bytes); saved to {}.",
        format_number(text.len() as u64),
        abbreviate_home(&path, &home)
    ))
}

/// Writes the text to a program's input; fails when the program is missing or refuses.
fn pipe_to((name, arguments): Program, text: &str) -> io::Result<()> {
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()));
    let ended = child.wait()?;
    written?;
    if ended.success() { Ok(()) } else { Err(io::Error::other(format!("{name} failed"))) }
}

/// Writes a temporary file that only the person can read and that is not deleted.
fn write_temp_file(text: &str) -> io::Result<std::path::PathBuf> {
    let mut file = tempfile::Builder::new().prefix("clawscope-").suffix(".txt").tempfile()?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_desktop_a_long_text_becomes_a_file_and_the_words_say_where() {
        let env = Environment::new([("HOME", "/nowhere")], None, "/".into());
        assert_eq!(copy("héllo", "message", &env).unwrap(), "Copied message: 5 chars.");
        let long = "x".repeat(MAX_TERMINAL_BYTES + 1);
        let message = copy(&long, "message", &env).unwrap();
        let path = message.rsplit_once("saved to ").unwrap().1.trim_end_matches('.');
        assert_eq!(std::fs::read_to_string(path).unwrap(), long);
        assert!(message.contains("100,001 bytes"), "{message}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_desktop_that_is_there_is_requested() {
        let env = |vars: &[(&str, &str)]| Environment::new(vars.iter().copied(), None, "/".into());
        let names =
            |env: &Environment| programs(env).into_iter().map(|program| program.0).collect::<Vec<_>>();
        if !cfg!(target_os = "macos") {
            assert_eq!(names(&env(&[])), [""; 0]);
            assert_eq!(
                names(&env(&[("WAYLAND_DISPLAY", "w"), ("DISPLAY", ":0")])),
                ["wl-copy", "xclip", "xsel"]
            );
        }
        assert!(pipe_to(("clawscope-no-such-program", &[]), "x").is_err());
        assert!(pipe_to(("false", &[]), "x").is_err());
        assert!(pipe_to(("cat", &[]), "x").is_ok());
    }
}
