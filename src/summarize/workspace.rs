//! Reads the workspace rules of a session from its workspace (compaction 5.18).

use std::io::Read as _;
use std::path::Path;

use crate::js::JsString;
use crate::policy::compact::workspace_rules::rules_section;

/// Limit for the bytes read from `AGENTS.md`: a device with that name must not fill the memory.
const MAX_BYTES: u64 = 4 << 20;

/// Returns the rules section of the workspace's `AGENTS.md`; empty where it is missing, leads out of the workspace or
/// is unreadable, as in the gateway.
pub fn workspace_rules(workspace: &Path) -> JsString {
    read_rules(workspace).map(|text| rules_section(&text)).unwrap_or_default()
}

fn read_rules(workspace: &Path) -> Option<JsString> {
    let root = workspace.canonicalize().ok()?;
    let path = root.join("AGENTS.md").canonicalize().ok()?;
    if !path.starts_with(&root) || !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    crate::files::open(&path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    const RULES: &str = "## Red Lines\nnever\n";

    fn write(path: &Path, text: &str) {
        use std::io::Write as _;
        File::create(path).and_then(|mut file| file.write_all(text.as_bytes())).unwrap();
    }

    #[test]
    fn rules_are_read_from_the_workspace_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        assert!(workspace_rules(&inside).is_empty());
        write(&inside.join("AGENTS.md"), RULES);
        assert!(workspace_rules(&inside).to_string_lossy().contains("## Red Lines\nnever"));
        assert!(workspace_rules(&folder.path().join("nowhere")).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_workspace_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        write(&folder.path().join("outside.md"), RULES);
        std::os::unix::fs::symlink("../outside.md", inside.join("AGENTS.md")).unwrap();
        assert!(workspace_rules(&inside).is_empty());
    }
}
