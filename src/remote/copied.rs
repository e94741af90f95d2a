//! Runs a command on a copy of a store, where the other machine has no clawscope.

use std::io::Write;
use std::path::Path;

use clap::Parser as _;

use super::arguments::{RemoteCommand, program_line};
use super::copy::{StoreCopy, copy_store};
use super::path_writer::PathWriter;
use crate::app::remote_store::RemoteStore;
use crate::cli::{Cli, Command};
use crate::command::environment::Invocation;
use crate::command::failure::Failure;
use crate::command::{self, output::Output, screen};
use crate::format::{format_count, format_size};
use crate::runtime;
use crate::text::visible;

/// Runs the command on a copy; returns the exit code.
///
/// # Errors
/// The store cannot be copied, or the command needs a live store.
pub(super) fn run(
    remote: &RemoteCommand,
    cli: &Cli,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<u8, Failure> {
    let name = remote.host.name();
    if matches!(cli.command, Some(Command::Watch(_))) {
        return Err(Failure::unreadable(format!(
            "{name}: clawscope is not installed there, and a copy of the store does not grow. Install it there to follow \
             the store."
        )));
    }
    let copy = copy_store(&remote.host, remote.path.as_deref()).map_err(|reason| {
        Failure::unreadable(format!("{name}: clawscope is not installed there, and {reason}"))
    })?;
    output.note(&format!(
        "note: {name} has no clawscope, so this is a copy of {}: {}, {}. It does not follow changes.",
        copy.root,
        format_count(copy.unpacked.files, "file", "files"),
        format_size(copy.unpacked.bytes)
    ))?;
    let words = words_here(remote, cli, &copy)?;
    if cli.command.is_none() {
        return run_screen(&words, invocation, remote, &copy);
    }
    let typed = program_line(&remote.typed);
    let (columns, colour) = (output.width(), output.has_colour());
    let there = if cli.is_json() { json_text(&copy.root) } else { visible(&copy.root).into_owned() };
    let here = copy.folder().to_string_lossy().into_owned();
    let (mut document, mut errors) = (Vec::new(), Vec::new());
    let is_file = remote.out.is_some();
    let target: &mut dyn Write = if is_file { &mut document } else { &mut *output };
    let mut out = PathWriter::new(target, &here, &there);
    let mut err = PathWriter::new(&mut errors, &here, &there);
    let code = {
        let mut own =
            Output::new(&mut out, &mut err).with_terminal(columns, colour).with_file(remote.out.is_some());
        command::main_as(&program_line(&words), &typed, invocation, &mut own)
    };
    err.finish()?;
    out.finish()?;
    output.write_error(&String::from_utf8_lossy(&errors))?;
    if let Some(out) = remote.out.as_ref().filter(|_| code == 0) {
        out.save(&String::from_utf8_lossy(&document), invocation, output)?;
    }
    Ok(code)
}

/// Returns the command line for the copy.
fn words_here(remote: &RemoteCommand, cli: &Cli, copy: &StoreCopy) -> Result<Vec<String>, Failure> {
    let here = copy.path().to_string_lossy().into_owned();
    let mut words = match &remote.path {
        Some(path) => remote.words.iter().map(|word| replaced(word, path, &here)).collect(),
        None => [remote.words.clone(), vec!["--store".to_owned(), here]].concat(),
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
    let folders = (copy.folder().to_path_buf(), copy.root.clone().into());
    options.app.remote_store = Some(RemoteStore { machine, link: remote.host.link(), copy: Some(folders) });
    runtime::run(place, options).map_err(|error| Failure::unreadable(format!("{error:#}")))?;
    Ok(0)
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
