//! The binary: reads the command line and hands it to the library.
use clawscope::inspect::place::Place;
use clawscope::runtime::{RunOptions, run};

fn main() -> anyhow::Result<()> {
    let place = std::env::args_os().nth(1).map_or(Place::Default, |path| match path.to_str() {
        Some("--demo") => Place::Demo,
        _ => Place::Path(path.into()),
    });
    run(place, RunOptions::default())
}
