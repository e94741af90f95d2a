//! Stores on other machines: `ssh://HOST[/PATH]` and `--via COMMAND`.
//!
//! clawscope starts the person's own command with `clawscope serve --stdio` at its end. The machine of the store answers:
//! it runs the same command, or the same screen, and sends back the output or the cells that changed. So every answer is
//! the one that a person would get there; indexes and transcripts stay there; and secrets are masked before anything
//! leaves. Where clawscope is not installed, the answer comes from a copy of the store (`copy`).
//!
//! Neither side trusts the other more than it must: the serving side runs only commands that read (`access`), and the
//! person's side treats all input as text from outside (`client`, `runtime::remote_screen`).

mod access;
mod address;
mod arguments;
mod client;
mod copied;
mod copy;
mod ending;
mod extract;
mod host;
mod link;
mod out_file;
mod packed;
mod path_writer;
mod person;
mod protocol;
mod relay;
mod server;
mod view;

use std::ffi::OsString;

use clap::Parser as _;

use crate::cli::{Cli, Command};
use crate::command::environment::Invocation;
use crate::command::failure::{Exit, Failure};
use crate::command::{self, output::Output};

/// Runs a command line, including the program name, on this machine or on the one it names; returns the exit code.
pub fn main(words: Vec<OsString>, invocation: &Invocation, output: &mut Output) -> u8 {
    // A faulty command line fails the same way for any store.
    let Ok(cli) = Cli::try_parse_from(&words) else { return command::main(words, invocation, output) };
    if matches!(cli.command, Some(Command::Serve(_))) {
        return finish(server::serve(invocation), &cli, output);
    }
    match arguments::remote_command(&words, &cli) {
        Ok(None) => command::main(words, invocation, output),
        Ok(Some(remote)) => match client::run(&remote, &cli, invocation, output) {
            Ok(code) => code,
            Err(failure) => finish(Err(failure), &cli, output),
        },
        Err(failure) => finish(Err(failure), &cli, output),
    }
}

fn finish(result: Result<(), Failure>, cli: &Cli, output: &mut Output) -> u8 {
    let Err(failure) = result else { return Exit::Success.code() };
    _ = output.failure(&failure, cli.is_json());
    failure.exit().code()
}
