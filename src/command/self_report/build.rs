//! Facts about the running program that were fixed when it was built.

use std::env::consts::{ARCH, OS};

use schemars::JsonSchema;
use serde::Serialize;

use crate::command::explain_json;
use crate::export::json::SCHEMA_VERSION;
use crate::format::format_number;
use crate::gateway::ruleset::Ruleset;

/// The build of the program, and its file.
#[derive(Serialize, JsonSchema)]
pub(super) struct BuildJson {
    /// The target triple.
    pub(super) target: String,
    /// `release` or `debug`.
    pub(super) profile: &'static str,
    /// The commit that a release was built from; null for other builds.
    pub(super) commit: Option<&'static str>,
    /// The path of the running program.
    pub(super) program: Option<String>,
}

impl BuildJson {
    pub(super) fn of_this_program() -> Self {
        Self {
            target: target(),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
            commit: option_env!("CLAWSCOPE_COMMIT").filter(|commit| !commit.is_empty()),
            program: std::env::current_exe().ok().map(|path| path.display().to_string()),
        }
    }
}

/// Returns the target triple; only build scripts get it from cargo.
fn target() -> String {
    let architecture = if ARCH == "x86" { "i686" } else { ARCH };
    let abi = if cfg!(target_env = "musl") {
        "-musl"
    } else if cfg!(target_env = "gnu") {
        "-gnu"
    } else if cfg!(target_env = "msvc") {
        "-msvc"
    } else {
        ""
    };
    match OS {
        "macos" => format!("{architecture}-apple-darwin"),
        "windows" => format!("{architecture}-pc-windows{abi}"),
        system => format!("{architecture}-unknown-{system}{abi}"),
    }
}

/// A part that is built in.
#[derive(Serialize, JsonSchema)]
pub(super) struct FeatureJson {
    pub(super) name: &'static str,
    pub(super) detail: String,
}

/// Returns the parts whose version or presence matters in a report.
pub(super) fn features() -> Vec<FeatureJson> {
    [
        ("rules", Ruleset::known_releases()),
        ("databases", format!("SQLite {}", rusqlite::version())),
        ("datasets", "Parquet with gzip".to_owned()),
        ("json", format!("schemaVersion {SCHEMA_VERSION}; explain {}", explain_json::SCHEMA_VERSION)),
        ("threads", format_number(rayon::current_num_threads() as u64)),
    ]
    .into_iter()
    .map(|(name, detail)| FeatureJson { name, detail })
    .collect()
}
