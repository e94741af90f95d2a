//! Finds the folder whose files the gateway puts into an agent's system prompt.

use std::path::{Path, PathBuf};

use super::config::GatewayConfig;
use super::state_dir::is_plain_name;

/// Name of the default agent's workspace in the state dir.
const DEFAULT_NAME: &str = "workspace";

impl GatewayConfig {
    /// Returns an agent's workspace if it exists: the configured folder, else a folder of the same name in the state dir,
    /// because a copied store has its workspaces there; without a configured one, the gateway's default.
    pub fn workspace_dir(&self, agent: &str, state_dir: &Path) -> Option<PathBuf> {
        let is_default = agent == self.default_agent_id();
        let text = |value: &serde_json::Value| value.as_str().map(str::trim).map(str::to_owned);
        let own = self.agent_entry(agent).and_then(|entry| text(entry.get("workspace")?));
        let shared = || self.root.pointer("/agents/defaults/workspace").and_then(text);
        let configured = own.or_else(|| shared().filter(|_| is_default)).filter(|text| !text.is_empty());
        let name = match &configured {
            Some(text) => Path::new(text).file_name()?.to_string_lossy().into_owned(),
            None if is_default => DEFAULT_NAME.to_owned(),
            None => format!("{DEFAULT_NAME}-{agent}"),
        };
        let configured = configured.map(PathBuf::from).filter(|path| path.is_absolute());
        let beside = is_plain_name(&name).then(|| state_dir.join(name));
        [configured, beside].into_iter().flatten().find(|path| path.is_dir())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> (tempfile::TempDir, GatewayConfig) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("openclaw.json");
        let mut file = std::fs::File::create(&path).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let env = super::super::env::Environment::new([("HOME", "/nonexistent")], None, "/".into());
        let config = GatewayConfig::load(Some(&path), &env, folder.path());
        (folder, config)
    }

    fn make(folder: &tempfile::TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn each_agent_has_a_separate_workspace() {
        let (folder, config) = config(r#"{"agents":{"list":[{"id":"main","default":true},{"id":"ops"}]}}"#);
        assert_eq!(config.workspace_dir("main", folder.path()), None);
        let (own, other) = (make(&folder, "workspace"), make(&folder, "workspace-ops"));
        assert_eq!(config.workspace_dir("main", folder.path()), Some(own));
        assert_eq!(config.workspace_dir("ops", folder.path()), Some(other));
        assert_eq!(config.workspace_dir("../ops", folder.path()), None);
    }

    #[test]
    fn a_configured_folder_of_a_copied_store_is_found_in_the_copy() {
        let text = r#"{"agents":{"defaults":{"workspace":"/nonexistent/home/desk"},"list":[{"id":"main"}]}}"#;
        let (folder, config) = config(text);
        let desk = make(&folder, "desk");
        make(&folder, "workspace");
        assert_eq!(config.workspace_dir("main", folder.path()), Some(desk));
    }
}
