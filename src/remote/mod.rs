//! Stores on other machines: `ssh://HOST[/PATH]` and `--via COMMAND`.
//!
//! clawscope runs the person's own `ssh`, or COMMAND, with the same command line at its end (`run`): the machine of the
//! store answers, and its output is that of this process. Where clawscope is not installed, or where the person wants
//! it, the command reads a copy of the store here (`copied`).

mod address;
mod arguments;
mod copied;
mod copy;
mod run;
mod transport;

use std::ffi::OsString;

use clap::Parser as _;

use self::arguments::{RemoteCommand, remote_command};
use crate::cli::Cli;
use crate::command::environment::Invocation;
use crate::command::failure::Failure;
use crate::command::{self, output::Output};

/// Runs a command line, including the program name, on this machine or on the one it names; returns the exit code.
pub fn main(words: Vec<OsString>, invocation: &Invocation, output: &mut Output) -> u8 {
    // A faulty command line fails the same way for any store.
    let Ok(cli) = Cli::try_parse_from(&words) else { return command::main(words, invocation, output) };
    let ended = match remote_command(&words, &cli) {
        Ok(None) => return command::main(words, invocation, output),
        Ok(Some(remote)) => run_remote(&remote, &cli, invocation, output),
        Err(failure) => Err(failure),
    };
    ended.unwrap_or_else(|failure| {
        _ = output.failure(&failure, cli.is_json());
        failure.exit().code()
    })
}

/// Runs a command there, else on a copy.
fn run_remote(
    remote: &RemoteCommand,
    cli: &Cli,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<u8, Failure> {
    let code = if remote.wants_copy { None } else { run::run(remote, cli, invocation)? };
    code.map_or_else(|| copied::run(remote, cli, invocation, output), Ok)
}
