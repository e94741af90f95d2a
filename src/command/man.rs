//! `clawscope man [COMMAND]`: prints the manual page of the program, or of one command, or writes them all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::suggest::{alternatives, did_you_mean};
use crate::cli::Cli;
use crate::doc::Tone;
use crate::format::format_count;
use crate::gateway::env::absolute;

pub(super) fn run(command: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    let program = program();
    let page = match command {
        None => &program,
        Some(name) => program.find_subcommand(name).ok_or_else(|| {
            let known: Vec<String> =
                program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
            let near = did_you_mean(name, known.iter().map(String::as_str));
            Failure::usage(format!("COMMAND {name:?}: expected {}.{near}", alternatives(&known)))
        })?,
    };
    Ok(output.write_all(&roff(page)?)?)
}

/// Writes the page of the program and of each command to a folder, in place of older ones.
pub(super) fn write_all(out: &Path, invocation: &Invocation, output: &mut Output) -> Result<(), Failure> {
    let folder = absolute(&invocation.env.cwd, out);
    let program = program();
    let pages: Vec<&Command> = std::iter::once(&program).chain(program.get_subcommands()).collect();
    let written = fs::create_dir_all(&folder)
        .and_then(|()| pages.iter().try_for_each(|page| write_page(&folder, page)));
    written.map_err(|error| {
        let place = out.display();
        Failure::refused(format!("{place}: cannot write the manual pages: {error}. Name another folder."))
    })?;
    let count = format_count(pages.len() as u64, "manual page is", "manual pages are");
    Ok(output.line(Tone::Plain, &format!("{count} in {}.", out.display()))?)
}

fn program() -> Command {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    program
}

/// Returns the name of a page, such as `clawscope-replay`.
fn title(page: &Command) -> &str {
    page.get_display_name().unwrap_or(page.get_name())
}

fn roff(page: &Command) -> io::Result<Vec<u8>> {
    let mut roff = Vec::new();
    Man::new(page.clone()).title(title(page)).render(&mut roff)?;
    Ok(roff)
}

fn write_page(folder: &Path, page: &Command) -> io::Result<()> {
    File::create(folder.join(format!("{}.1", title(page))))?.write_all(&roff(page)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use crate::units::Moment;

    #[test]
    fn a_folder_gets_the_pages_that_are_printed() {
        let dir = tempfile::tempdir().unwrap();
        let invocation = Invocation {
            env: Environment::new([("HOME", "/nowhere")], None, dir.path().to_path_buf()),
            now_ms: Moment::ZERO,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        write_all(Path::new("man1"), &invocation, &mut Output::new(&mut out, &mut err)).unwrap();
        let mut names: Vec<String> = fs::read_dir(dir.path().join("man1"))
            .unwrap()
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let commands = program().get_subcommands().count();
        assert_eq!(names.len(), commands + 1);
        assert_eq!(names[0], "clawscope-check.1");
        for (command, file) in [(None, "clawscope.1"), (Some("replay"), "clawscope-replay.1")] {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            run(command, &mut Output::new(&mut out, &mut err)).unwrap();
            let mut written = String::new();
            let mut page = crate::files::open(&dir.path().join("man1").join(file)).unwrap();
            io::Read::read_to_string(&mut page, &mut written).unwrap();
            assert_eq!(written.as_bytes(), out, "{file}");
            assert!(written.contains(&file.trim_end_matches(".1").replace('-', "\\-")), "{file}");
        }
        fs::File::create(dir.path().join("file")).unwrap();
        let mut output = Output::new(&mut out, &mut err);
        let refused = write_all(Path::new("file"), &invocation, &mut output).unwrap_err();
        assert_eq!(refused.exit().code(), 4);
    }
}
