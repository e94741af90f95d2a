//! The real gateway's own importer of transcripts, run offline on a store of files.
//!
//! Without node 24, npm or the package the tests say so and pass, unless `CLAWSCOPE_REQUIRE_REAL=1`; of its releases only
//! 2026.8.1 is fetched and required.

use std::path::Path;
use std::process::Command;

use super::real_openclaw::{Fetch, RealOpenClaw};
use crate::support::skipped;

/// The release whose importer is required if the real programs are.
const REQUIRED: &str = "2026.8.1";

/// An installed release.
#[derive(Debug)]
pub(crate) struct RealImport(RealOpenClaw);

impl RealImport {
    /// Finds or installs a release. Returns `None`, after a line with the reason, if that fails.
    pub(crate) fn find(version: &str) -> Option<Self> {
        let fetch = if version == REQUIRED { Fetch::IfMissing } else { Fetch::Never };
        match RealOpenClaw::find(version, fetch) {
            Ok(found) => Some(Self(found)),
            Err(why) => {
                let required = std::env::var_os("CLAWSCOPE_REQUIRE_REAL").is_some_and(|value| value == "1")
                    && version == REQUIRED;
                assert!(!required, "the real importer {version} is required and not here: {why}");
                skipped::note(&format!("the real importer of openclaw {version}"), &why);
                None
            }
        }
    }

    /// Writes a command `openclaw` into a folder of programs.
    pub(crate) fn install(&self, bin: &Path, home: &Path) {
        self.0.install(bin, home);
    }

    /// Imports every agent's sessions; returns the output.
    pub(crate) fn run(&self, state: &Path) -> String {
        let mut command = Command::new(&self.0.node);
        command.arg(self.0.package.join("openclaw.mjs")).args([
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
