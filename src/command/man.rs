//! `clawscope man [COMMAND]`: prints the manual page of the program, or of one command.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_mangen::Man;

use super::failure::Failure;
use super::output::Output;
use super::suggest::did_you_mean;
use crate::cli::Cli;

pub(super) fn run(command: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    let mut program = Cli::command();
    program.build();
    let page = match command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
            let near = did_you_mean(name, known.iter().copied());
            Failure::usage(format!(
                "No command is called {name:?}. The commands are {}.{near}",
                known.join(", ")
            ))
        })?,
    };
    let title = page.get_display_name().unwrap_or(page.get_name()).to_owned();
    let mut roff = Vec::new();
    Man::new(page).title(title).render(&mut roff)?;
    Ok(output.write_all(&roff)?)
}
