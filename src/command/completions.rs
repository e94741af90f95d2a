//! `clawscope completions SHELL`: prints the completion script of a shell.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::failure::Failure;
use super::output::Output;
use crate::cli::Cli;

pub(super) fn run(shell: Shell, output: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "clawscope", &mut script);
    Ok(output.write_all(&script)?)
}
