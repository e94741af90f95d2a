//! Runs a command on a copy of a store: where the other machine has no clawscope, or where the person wants a copy.

use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use clap::Parser as _;

use super::arguments::{RemoteCommand, program_line};
use super::copy::{CopyError, StoreCopy, copy_store};
use super::transport::{STOPPED, StopRequest};
use crate::app::copied_store::CopiedStore;
use crate::cli::{Cli, Command};
use crate::command::environment::Invocation;
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::command::screen;
use crate::format::{format_count, format_size};
use crate::runtime::interruptible;
use crate::text::visible;
use crate::{command, runtime};

/// Time that a signal leaves a command to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the command on a copy; returns the exit code.
///
/// # Errors
/// The store cannot be copied, or the command needs the store itself.
pub(super) fn run(
    remote: &RemoteCommand,
    cli: &Cli,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<u8, Failure> {
    let name = remote.host.name();
    let why = if remote.wants_copy { "" } else { "clawscope is not installed there, and " };
    if let Some(reason) = cli.command.as_ref().and_then(reason_against_a_copy) {
        return Err(Failure::refused(format!(
            "{name}: {why}a copy of the store {reason}. Install clawscope there, and leave out --copy."
        )));
    }
    let copy = match copy(remote) {
        Err(CopyError::Stopped) => return Ok(STOPPED),
        copied => copied
            .map_err(|error| Failure::unreadable(format!("{name}: {why}{}", describe(&error, remote))))?,
    };
    let lead = if remote.wants_copy {
        format!("{name}: this is")
    } else {
        format!("{name} has no clawscope, so this is")
    };
    output.note(&format!(
        "note: {lead} a copy of {}: {}, {}. It does not follow changes.",
        copy.root,
        format_count(copy.unpacked.files, "file", "files"),
        format_size(copy.unpacked.bytes)
    ))?;
    let words = words_here(remote, cli, &copy)?;
    if cli.command.is_none() {
        return run_screen(&words, invocation, remote, &copy);
    }
    let folder = copy.folder().to_path_buf();
    let (running, ended) = channel::<()>();
    interruptible(
        move || end_without_copy(&folder, &ended),
        || {
            let _running = running;
            run_command(remote, cli, (&words, &copy), invocation, output)
        },
    )?
}

/// The reason that a command needs the store itself.
fn reason_against_a_copy(command: &Command) -> Option<&'static str> {
    match command {
        Command::Commit(args) if args.write.apply => {
            Some("would keep the commit only until the command ends")
        }
        Command::Undo(args) if args.write.apply => Some("would keep the undo only until the command ends"),
        Command::Doctor(args) if args.repair => Some("would keep the repair only until the command ends"),
        Command::Watch(_) => Some("does not grow"),
        // Its rows name their store, so each copy would count as another store.
        Command::Export(args) if args.is_dataset() => {
            Some("has another path each time, and a dataset tells stores apart by it")
        }
        _ => None,
    }
}

/// Copies the store; a signal stops it.
fn copy(remote: &RemoteCommand) -> Result<StoreCopy, CopyError> {
    let request = Arc::new(StopRequest::default());
    let own = Arc::clone(&request);
    let work = || copy_store(&remote.host, remote.path.as_deref(), remote.limits, &request);
    interruptible(move || own.make(), work).map_err(CopyError::Signals)?
}

fn describe(error: &CopyError, remote: &RemoteCommand) -> String {
    let CopyError::Reached(limit) = error else { return error.to_string() };
    let (reached, option) = remote.limits.describe(*limit);
    format!(
        "the store is {reached}, the limit of a copy; the copy was removed. Name a part of the store, such as one agent's \
         folder or one transcript, or raise the limit with {option}"
    )
}

/// Ends the program at a signal, unless the command ends by itself; the copy is removed first.
#[expect(
    clippy::disallowed_methods,
    reason = "the command cannot be interrupted, and holds neither terminal nor lock"
)]
fn end_without_copy(folder: &Path, ended: &Receiver<()>) {
    if ended.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
        // What cannot be removed is left to the system.
        _ = std::fs::remove_dir_all(folder);
        std::process::exit(i32::from(STOPPED));
    }
}

fn run_command(
    remote: &RemoteCommand,
    cli: &Cli,
    (words, copy): (&[String], &StoreCopy),
    invocation: &Invocation,
    output: &mut Output,
) -> Result<u8, Failure> {
    let typed = program_line(&remote.typed);
    let (columns, colour) = (output.width(), output.has_colour());
    let there = if cli.is_json() { json_text(&copy.root) } else { visible(&copy.root).into_owned() };
    let here = copy.folder().to_string_lossy().into_owned();
    let mut errors = Vec::new();
    let mut out = PathWriter::new(&mut *output, &here, &there);
    let mut err = PathWriter::new(&mut errors, &here, &there);
    let code = {
        let mut own = Output::new(&mut out, &mut err).with_terminal(columns, colour);
        command::main_as(&program_line(words), &typed, invocation, &mut own)
    };
    err.finish()?;
    out.finish()?;
    output.write_error(&String::from_utf8_lossy(&errors))?;
    Ok(code)
}

/// Returns the command line for the copy.
fn words_here(remote: &RemoteCommand, cli: &Cli, copy: &StoreCopy) -> Result<Vec<String>, Failure> {
    let here = copy.path().to_string_lossy().into_owned();
    let mut words = match &remote.path {
        Some(path) => remote.words.iter().map(|word| replaced(word, path, &here)).collect(),
        None => [vec!["--store".to_owned(), here], remote.words.clone()].concat(),
    };
    if let Some(config) = cli.store.config.as_deref().and_then(Path::to_str) {
        let own = copy.path_of(config).ok_or_else(|| {
            Failure::usage(format!("--config {config}: not in the copy of {}. Leave it out.", copy.root))
        })?;
        words = words.iter().map(|word| replaced(word, config, &own.to_string_lossy())).collect();
    }
    Ok(words)
}

/// Replaces a word, or the value after `=` in it.
fn replaced(word: &str, old: &str, new: &str) -> String {
    match word.strip_suffix(old) {
        Some(lead) if lead.is_empty() || lead.starts_with("--") && lead.ends_with('=') => {
            format!("{lead}{new}")
        }
        _ => word.to_owned(),
    }
}

/// Returns a text as JSON writes it between quotes.
fn json_text(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn run_screen(
    words: &[String],
    invocation: &Invocation,
    remote: &RemoteCommand,
    copy: &StoreCopy,
) -> Result<u8, Failure> {
    let machine = remote.host.name();
    let cli = Cli::try_parse_from(program_line(words)).map_err(|error| Failure::usage(error.to_string()))?;
    let (place, mut options) = screen::prepare(&cli, invocation)?;
    options.read_only = Some(format!(
        "This screen shows a copy of a store on {machine}, so it only reads. To write, run clawscope there."
    ));
    let (here, there) = (copy.folder().to_path_buf(), PathBuf::from(&copy.root));
    options.app.copied_store = Some(CopiedStore { machine, way: remote.host.option(), here, there });
    runtime::run(place, options).map_err(|error| Failure::unreadable(format!("{error:#}")))?;
    Ok(0)
}

// Output of a command on a copy, with the paths of the other machine in place of those of the copy.

/// Replaces one text by another in everything that is written.
pub(super) struct PathWriter<'a> {
    to: &'a mut dyn Write,
    old: Vec<u8>,
    new: Vec<u8>,
    /// Bytes that may begin the old text.
    held: Vec<u8>,
}

impl<'a> PathWriter<'a> {
    /// Creates a writer; `old` must not be empty.
    pub(super) fn new(to: &'a mut dyn Write, old: &str, new: &str) -> Self {
        Self { to, old: old.as_bytes().to_vec(), new: new.as_bytes().to_vec(), held: Vec::new() }
    }

    /// Writes the buffered rest.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.to.write_all(&held)?;
        self.to.flush()
    }
}

impl Write for PathWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&self.held[from..], &self.old) {
            self.to.write_all(&self.held[from..from + at])?;
            self.to.write_all(&self.new)?;
            from += at + self.old.len();
        }
        let rest = &self.held[from..];
        let longest = rest.len().min(self.old.len() - 1);
        let keep = (0..=longest).rev().find(|keep| self.old.starts_with(&rest[rest.len() - keep..]));
        let end = self.held.len() - keep.unwrap_or(0);
        self.to.write_all(&self.held[from..end])?;
        self.held.drain(..end);
        Ok(bytes.len())
    }

    /// Keeps the end of the text back, because it may be half of a path.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_is_replaced() {
        let replaced = |word| replaced(word, "/srv/x", "/tmp/c");
        assert_eq!(replaced("/srv/x"), "/tmp/c");
        assert_eq!(replaced("--store=/srv/x"), "--store=/tmp/c");
        assert_eq!(replaced("a/srv/x"), "a/srv/x");
        assert_eq!(json_text("/a\"b\\"), "/a\\\"b\\\\");
    }
}

#[cfg(test)]
mod path_writer_tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_path_is_replaced_even_across_split_writes(text in "(/tmp/aab|/tmp|/|a|b|t|m|p){0,30}", cuts in prop::collection::vec(0_usize..60, 0..6)) {
            let mut out = Vec::new();
            let mut writer = PathWriter::new(&mut out, "/tmp/aab", "/srv/x");
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            cuts.push(text.len());
            let mut from = 0;
            for cut in cuts {
                writer.write_all(&text.as_bytes()[from..cut]).unwrap();
                from = cut;
            }
            writer.finish().unwrap();
            prop_assert_eq!(String::from_utf8(out).unwrap(), text.replace("/tmp/aab", "/srv/x"));
        }
    }
}
