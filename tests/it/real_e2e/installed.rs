//! Finds the programs, or installs them. Says `skipped: …` where that fails.

use std::path::PathBuf;

use super::changes::Changes;
use super::openclaw::OpenClawProgram;
use super::pi::PiProgram;
use crate::support::real_openclaw::{Fetch, RealOpenClaw};
use crate::support::{pi, pi_1_5, skipped};

/// The pi that OpenClaw 2026.3.2 contains.
pub(super) fn pi_0_55_3() -> Option<PiProgram> {
    let package = pi::Pi::find()?.package().to_path_buf();
    let name = "pi 0.55.3".to_owned();
    Some(PiProgram {
        name,
        node: PathBuf::from("node"),
        script: package.join("dist/cli.js"),
        changes: Changes::default(),
        reports_end: false,
    })
}

/// Today's pi.
pub(super) fn pi_1_5_2() -> Option<PiProgram> {
    let pi = pi_1_5::Pi::find()?;
    let script = pi.package().join("dist/bundle/cli.js");
    Some(PiProgram {
        name: "pi 1.5.2".to_owned(),
        node: pi.node().to_path_buf(),
        script,
        changes: Changes::default(),
        reports_end: true,
    })
}

/// A release of today's pi.
pub(super) fn pi(release: &str) -> PiProgram {
    let (node, package) =
        pi_1_5::whole(release).unwrap_or_else(|why| panic!("pi {release} is not here: {why}"));
    PiProgram {
        name: format!("pi {release}"),
        node,
        script: package.join("dist/cli.js"),
        changes: Changes::default(),
        reports_end: true,
    }
}

/// The gateway of early 2026.
pub(super) fn openclaw_2026_3_2() -> Option<OpenClawProgram> {
    openclaw("2026.3.2", true)
}

/// A release of OpenClaw.
pub(super) fn openclaw(release: &str, is_required: bool) -> Option<OpenClawProgram> {
    match RealOpenClaw::find(release, Fetch::IfMissing) {
        Ok(installed) => {
            Some(OpenClawProgram { release: release.to_owned(), installed, changes: Changes::default() })
        }
        Err(why) => {
            let required = std::env::var_os("CLAWSCOPE_REQUIRE_REAL").is_some_and(|value| value == "1");
            assert!(
                !(required && is_required),
                "the real openclaw {release} is required and not here: {why}"
            );
            skipped::note(&format!("the real openclaw {release}"), &why);
            None
        }
    }
}
