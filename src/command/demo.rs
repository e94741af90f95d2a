//! `clawscope demo --out DIR`: writes the demo store to a folder, where commands may change it.

use std::path::Path;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use crate::doc::Tone;
use crate::gateway::env::absolute;
use crate::store::demo;
use crate::text::shell;

/// A session of the demo store with something to commit.
const EXAMPLE_KEY: &str = "agent:research:main";

pub(super) fn run(out: &Path, invocation: &Invocation, output: &mut Output) -> Result<(), Failure> {
    let folder = absolute(&invocation.env.cwd, out);
    let refused = |why: &str| Err(Failure::refused(format!("{}: {why}. Name a new folder.", out.display())));
    if folder.is_file() {
        return refused("is a file");
    }
    if std::fs::read_dir(&folder).is_ok_and(|mut items| items.next().is_some()) {
        return refused("the folder is not empty");
    }
    let failed =
        |error| Failure::unreadable(format!("{}: cannot write the demo store: {error}", out.display()));
    std::fs::create_dir_all(&folder).and_then(|()| demo::write_to(&folder)).map_err(failed)?;
    output.line(Tone::Strong, &format!("The demo store is in {}. Type next:", out.display()))?;
    // A bare name may be the name of a command, as `demo` is.
    let is_bare = out.is_relative() && out.components().count() == 1;
    let name = if is_bare { Path::new(".").join(out) } else { out.to_owned() };
    let name = shell::word(&name.to_string_lossy());
    for line in [
        format!("clawscope {name}"),
        format!("clawscope sessions {name}"),
        format!("clawscope commit {EXAMPLE_KEY} --store {name} --apply"),
    ] {
        output.line(Tone::Plain, &format!("  {line}"))?;
    }
    Ok(())
}
