//! The real gateway's own importer of transcripts, run offline on a store of files.
//!
//! `CLAWSCOPE_OPENCLAW_2026_8_1_DIR` and `CLAWSCOPE_OPENCLAW_2026_9_6_DIR` name folders in which `npm install` put the package
//! (default: `real-openclaw-<version>` in the build folder, into which 2026.8.1 is installed). Without node 24, npm or the
//! package the tests say so and pass, unless `CLAWSCOPE_REQUIRE_REAL=1`; 2026.9.6 is never required.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::skipped;

/// The release whose importer is required if the real programs are.
const REQUIRED: &str = "2026.8.1";

/// An installed release.
#[derive(Debug)]
pub(crate) struct RealImport {
    node: String,
    program: PathBuf,
}

impl RealImport {
    /// Finds or installs a release. Returns `None`, after a line with the reason, if that fails.
    pub(crate) fn find(version: &str) -> Option<Self> {
        match installed(version) {
            Ok(found) => Some(found),
            Err(why) => {
                // The newest is installed only on demand: it fills most of a gigabyte.
                let required = std::env::var_os("CLAWSCOPE_REQUIRE_REAL").is_some_and(|value| value == "1")
                    && version == REQUIRED;
                assert!(!required, "the real importer {version} is required and not here: {why}");
                skipped::note(&format!("the real importer of openclaw {version}"), &why);
                None
            }
        }
    }

    /// Writes a program `openclaw` into a folder of programs, which runs this release with `home` as its home.
    pub(crate) fn install(&self, bin: &Path, home: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        let (node, program) = (&self.node, self.program.display());
        let text = format!(
            "#!/bin/sh\nHOME='{home}' OPENCLAW_HOME='{home}' exec '{node}' '{program}' \"$@\"\n",
            home = home.display()
        );
        let path = bin.join("openclaw");
        super::fixture::put(&path, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is a program");
    }

    /// Imports every agent's sessions; returns the output.
    pub(crate) fn run(&self, state: &Path) -> String {
        let mut command = Command::new(&self.node);
        command.arg(&self.program).args([
            "doctor",
            "--session-sqlite",
            "import",
            "--session-sqlite-all-agents",
        ]);
        command.env("HOME", state).env("OPENCLAW_STATE_DIR", state);
        command.env("OPENCLAW_CONFIG_PATH", state.join("openclaw.json"));
        let output = command.output().expect("node runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn installed(version: &str) -> Result<RealImport, String> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let default = || build.parent().unwrap_or(build).join(format!("real-openclaw-{version}"));
    let name = format!("CLAWSCOPE_OPENCLAW_{}_DIR", version.replace('.', "_"));
    let folder = std::env::var_os(name).map_or_else(default, PathBuf::from);
    let node = node()?;
    let program = |folder: &Path| folder.join("node_modules/openclaw/openclaw.mjs");
    if !program(&folder).is_file() && version != REQUIRED {
        return Err(format!("{} holds no openclaw; install it there", folder.display()));
    }
    if !program(&folder).is_file() {
        // Installed in a sibling folder and moved into place whole, so that no other test sees half of it.
        let parent = folder.parent().ok_or("the folder has no parent")?;
        fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        let fresh = tempfile::tempdir_in(parent).map_err(|error| error.to_string())?;
        let package = format!("openclaw@{version}");
        let words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", "."];
        run(skipped::npm().args(words).arg(package).current_dir(fresh.path()))?;
        match fs::rename(fresh.path(), &folder) {
            // Another test may have been faster.
            Err(error) if !program(&folder).is_file() => {
                return Err(format!("{}: {error}", folder.display()));
            }
            _ => {}
        }
    }
    Ok(RealImport { node, program: program(&folder) })
}

/// A node that the releases accept: the installed one, or the one that npm fetches.
fn node() -> Result<String, String> {
    let path = "process.stdout.write(process.execPath)";
    let major = run(Command::new("node").args(["-p", "process.versions.node.split('.')[0]"]))?;
    if major.trim().parse::<u32>().is_ok_and(|major| major >= 24) {
        return run(Command::new("node").args(["-e", path]));
    }
    run(Command::new("npx").args(["-y", "-p", "node@24", "node", "-e", path]))
}

fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
