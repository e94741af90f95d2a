//! `clawscope completions SHELL`.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::failure::Failure;
use super::output::Output;
use crate::cli::Cli;

/// Prints the script for a shell.
pub(super) fn run(shell: Shell, output: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "clawscope", &mut script);
    Ok(output.write_all(&script)?)
}
