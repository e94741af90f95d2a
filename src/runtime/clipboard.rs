//! Copies text to the clipboard: through the terminal, which also works over ssh, and through the desktop's own
//! program if there is one. A text too long for both is saved to a private folder, which is removed at exit.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::format::{format_number, quantity};
use crate::gateway::env::Environment;
use crate::redact::Redactor;
use crate::session::store_location::abbreviate_home;

/// In bytes; terminals silently drop longer texts.
pub(super) const MAX_TERMINAL_BYTES: usize = 100_000;

/// A program and its arguments; it reads the text from standard input.
type Program = (&'static str, &'static [&'static str]);

/// Returns the desktop's programs, in the order to try.
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

/// Returns the names of the desktop's programs, in the order to try.
pub fn clipboard_programs(env: &Environment) -> Vec<&'static str> {
    programs(env).into_iter().map(|(name, _)| name).collect()
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

/// The folder of texts too long for a clipboard. Only the person can open it, and the last owner removes it.
#[derive(Debug, Clone, Default)]
pub(super) struct CopyFolder(Arc<Mutex<Option<TempDir>>>);

impl CopyFolder {
    /// Saves a text as a file that only the person can read.
    fn save(&self, text: &str) -> io::Result<PathBuf> {
        let mut folder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match folder.take() {
            Some(made) => folder.insert(made),
            None => folder.insert(private_folder()?),
        };
        let mut file = tempfile::Builder::new().prefix("copy-").suffix(".txt").tempfile_in(folder.path())?;
        file.write_all(text.as_bytes())?;
        Ok(file.keep()?.1)
    }
}

/// Makes a folder that only the person can open; temporary files in it have mode 0600 already.
fn private_folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o700))
    };
    builder.prefix("clawscope-").tempdir()
}

/// Copies the text with a desktop program, or saves it to a file when it is too long for the terminal; returns the
/// outcome in words. The caller copies it through the terminal first. Blocks on other programs.
pub(super) fn copy(
    text: &str,
    what: &str,
    env: &Environment,
    folder: &CopyFolder,
) -> Result<String, ClipboardError> {
    let piped = programs(env).into_iter().any(|program| pipe_to(program, text).is_ok());
    if piped || text.len() <= MAX_TERMINAL_BYTES {
        let chars = format_number(text.encode_utf16().count() as u64);
        // No terminal says whether it took a text.
        let sent =
            if piped { format!("Copied {what}") } else { format!("Sent {what} to the terminal's clipboard") };
        return Ok(format!("{sent}: {chars} chars{}.", describe_secrets(text)));
    }
    let path =
        folder.save(text).map_err(|source| ClipboardError::NotSaved { what: what.to_owned(), source })?;
    let home = crate::gateway::env::effective_home(env);
    Ok(format!(
        "{what} is too long for the terminal's clipboard ({} bytes{}); until clawscope ends it is in {}.",
        format_number(text.len() as u64),
        describe_secrets(text),
        abbreviate_home(&path, &home)
    ))
}

/// Counts the secrets of a text, which a copy holds in clear: `, with 2 secrets in clear`.
fn describe_secrets(text: &str) -> String {
    let mut redactor = Redactor::default();
    redactor.learn(text);
    match redactor.counts().values().sum::<usize>() {
        0 => String::new(),
        count => format!(", with {} in clear", quantity(count as u64, "secret")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_desktop_a_long_text_becomes_a_private_file_until_the_end() {
        let env = Environment::new([("HOME", "/nowhere")], None, "/".into());
        let folder = CopyFolder::default();
        assert_eq!(
            copy("héllo", "message", &env, &folder).unwrap(),
            "Sent message to the terminal's clipboard: 5 chars."
        );
        let secret = "export GITHUB_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let note = copy(secret, "message", &env, &folder).unwrap();
        assert_eq!(note, "Sent message to the terminal's clipboard: 60 chars, with 1 secret in clear.");
        let long = "x".repeat(MAX_TERMINAL_BYTES + 1);
        let message = copy(&long, "message", &env, &folder).unwrap();
        let path = PathBuf::from(message.rsplit_once(" is in ").unwrap().1.trim_end_matches('.'));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), long);
        assert!(message.contains("100,001 bytes"), "{message}");
        #[cfg(unix)]
        for (path, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode, "{}", path.display());
        }
        drop(folder);
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }

    #[test]
    fn the_clipboard_program_follows_the_desktop() {
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
