//! `clawscope [PATH]`: the screen.

use std::path::Path;

use super::failure::Failure;
use super::scene::{Around, environment, place_of};
use crate::app::state::Options;
use crate::cli::Cli;
use crate::gateway::env::absolute;
use crate::inspect::place::Place;
use crate::runtime::{self, RunOptions};

/// Opens the screen and stays there until the person leaves.
pub(super) fn run(cli: &Cli, around: &Around) -> Result<(), Failure> {
    let place = place_of(cli.path.as_deref(), &cli.place)?;
    if let Some(path) = cli.path.as_deref().filter(|path| is_slip(path, &around.env.cwd)) {
        let path = path.display();
        return Err(Failure::usage(format!(
            "{path}: is neither a command nor a path. `clawscope --help` lists the commands."
        )));
    }
    let mut environment = environment(&cli.place, around)?;
    if let Some(file) = &cli.place.config {
        if place != Place::Default {
            return Err(Failure::usage(
                "--config: on the screen it goes with the gateway's own store only. Leave out PATH, --store and --demo, \
                 or use one of the commands.",
            ));
        }
        let file = environment.resolve(&file.to_string_lossy());
        environment.set("OPENCLAW_CONFIG_PATH", &file.to_string_lossy());
    }
    let options = RunOptions {
        app: screen_options(cli),
        auto_theme: cli.theme.is_none(),
        agent: cli.place.agent.clone(),
        environment,
        ..RunOptions::default()
    };
    runtime::run(place, options).map_err(|error| Failure::unreadable(format!("{error:#}")))
}

fn screen_options(cli: &Cli) -> Options {
    let mut options = Options { mouse: !cli.no_mouse, ..Options::default() };
    if let Some(name) = &cli.theme {
        options.theme = options.themes.iter().position(|theme| theme == name).unwrap_or(options.themes.len());
        if options.theme == options.themes.len() {
            options.themes.push(name.clone());
        }
    }
    options
}

/// A word that is no path is probably a command with a slip in it. Any other path is told on the screen, where it may
/// still appear.
fn is_slip(given: &Path, cwd: &Path) -> bool {
    given.components().count() == 1 && given.extension().is_none() && !absolute(cwd, given).exists()
}
