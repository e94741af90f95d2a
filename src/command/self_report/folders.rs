//! The files and folders that clawscope reads and writes, apart from sessions.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::config::presets::presets_dir;
use crate::config::{config_dir, log_dir};
use crate::gateway::env::Environment;
use crate::gateway::state_dir::{config_path, state_dir};
use crate::store::pi_dirs::pi_agent_dir;

/// A file or a folder.
#[derive(Serialize, JsonSchema)]
pub(super) struct FolderJson {
    pub(super) name: &'static str,
    pub(super) path: String,
    pub(super) exists: bool,
}

impl FolderJson {
    fn new(name: &'static str, path: &std::path::Path) -> Self {
        Self { name, path: path.display().to_string(), exists: path.exists() }
    }

    pub(super) fn state(&self) -> &'static str {
        if self.exists { "found" } else { "missing" }
    }
}

/// Lists clawscope's own places, then those of the gateway and of pi. Without a home there are fewer.
pub(super) fn list(env: &Environment) -> Vec<FolderJson> {
    let state = state_dir(env).path;
    let settings = config_dir(env);
    let own = |name: &str| settings.as_ref().map(|folder| folder.join(name));
    let places: [(&'static str, Option<PathBuf>); 8] = [
        ("settings", own("config.toml")),
        ("keys", own("keymap.toml")),
        ("presets", presets_dir(env)),
        ("log, crash reports", Some(log_dir(env))),
        ("temporary files", Some(std::env::temp_dir())),
        ("gateway state", Some(state.clone())),
        ("gateway settings", config_path(env, &state)),
        ("pi", Some(pi_agent_dir(env))),
    ];
    places.into_iter().filter_map(|(name, path)| Some(FolderJson::new(name, &path?))).collect()
}
