//! Installed releases of OpenClaw, and the node that runs them.
//!
//! `CLAWSCOPE_OPENCLAW_<version>_DIR`, such as `CLAWSCOPE_OPENCLAW_2026_8_1_DIR`, names the folder in which `npm install` put
//! a release (default: `real-openclaw-<version>` in the build folder, which is filled on first use).

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::support::skipped;

/// One of its libraries comes from GitHub. Nothing here needs it, and a registry is all that a machine may reach.
const STUB: &str = r#"const none = () => { throw new Error("stub") };
export const DisconnectReason = {}, downloadMediaMessage = none, extractMessageContent = none, getContentType = none,
  isJidGroup = none, normalizeMessageContent = none, fetchLatestBaileysVersion = none, makeCacheableSignalKeyStore = none,
  makeWASocket = none, useMultiFileAuthState = none;
export default none;
"#;
const STUB_MANIFEST: &str =
    r#"{"name":"@whiskeysockets/baileys","version":"7.0.0","type":"module","main":"index.js"}"#;

/// An installed release.
#[derive(Debug, Clone)]
pub(crate) struct RealOpenClaw {
    /// A node that it accepts.
    pub(crate) node: PathBuf,
    /// The package's folder.
    pub(crate) package: PathBuf,
}

/// Whether a release may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fetch {
    /// It fills most of a gigabyte and is used only where someone has installed it.
    Never,
    IfMissing,
}

impl RealOpenClaw {
    /// Finds or installs a release; the error says why that failed.
    pub(crate) fn find(version: &str, fetch: Fetch) -> Result<Self, String> {
        // Tests run in parallel: the first one installs, the others wait for it.
        type Found = HashMap<(String, Fetch), Result<PathBuf, String>>;
        static FOUND: Mutex<Option<Found>> = Mutex::new(None);
        let node = node()?;
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found.get_or_insert_default();
        let package = found.entry((version.to_owned(), fetch)).or_insert_with(|| installed(version, fetch));
        Ok(Self { node, package: package.clone()? })
    }

    /// Writes a program `openclaw` into a folder of programs, which runs this release with `home` as its home.
    pub(crate) fn install(&self, bin: &Path, home: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        let (node, program) = (self.node.display(), self.package.join("openclaw.mjs"));
        let program = program.display();
        let text = format!(
            "#!/bin/sh\nHOME='{home}' OPENCLAW_HOME='{home}' exec '{node}' '{program}' \"$@\"\n",
            home = home.display()
        );
        let path = bin.join("openclaw");
        super::fixture::put(&path, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is a program");
    }
}

fn installed(version: &str, fetch: Fetch) -> Result<PathBuf, String> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let default = || build.parent().unwrap_or(build).join(format!("real-openclaw-{version}"));
    let name = format!("CLAWSCOPE_OPENCLAW_{}_DIR", version.replace('.', "_"));
    let folder = std::env::var_os(name).map_or_else(default, PathBuf::from);
    let package = folder.join("node_modules/openclaw");
    let is_installed = || package.join("openclaw.mjs").is_file();
    if is_installed() {
        return Ok(package);
    }
    if fetch == Fetch::Never {
        return Err(format!("{} holds no openclaw; install it there", folder.display()));
    }
    // Installed in a sibling folder and moved into place whole, so that no other test sees half of it.
    let parent = folder.parent().ok_or("the folder has no parent")?;
    fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    let fresh = tempfile::tempdir_in(parent).map_err(|error| error.to_string())?;
    write_manifests(fresh.path(), version).map_err(|error| error.to_string())?;
    let words = [
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--silent",
        "--omit=peer",
        "--prefer-offline",
    ];
    run(skipped::npm().args(words).current_dir(fresh.path()))?;
    match fs::rename(fresh.path(), &folder) {
        // Another program may have been faster.
        Err(error) if !is_installed() => Err(format!("{}: {error}", folder.display())),
        _ => Ok(package),
    }
}

fn write_manifests(folder: &Path, version: &str) -> std::io::Result<()> {
    let stub = folder.join("stub");
    fs::create_dir(&stub)?;
    let write = |path: PathBuf, text: &str| fs::File::create(path)?.write_all(text.as_bytes());
    write(stub.join("package.json"), STUB_MANIFEST)?;
    write(stub.join("index.js"), STUB)?;
    let manifest = serde_json::json!({
        "private": true,
        "dependencies": { "openclaw": version },
        "overrides": { "@whiskeysockets/baileys": "file:./stub" },
    });
    write(folder.join("package.json"), &manifest.to_string())
}

/// A node that today's releases accept: the installed one, or the one that npm fetches.
pub(crate) fn node() -> Result<PathBuf, String> {
    static NODE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    NODE.get_or_init(find_node).clone()
}

fn find_node() -> Result<PathBuf, String> {
    let path = "process.stdout.write(process.execPath)";
    let major = run(Command::new("node").args(["-p", "process.versions.node.split('.')[0]"]))?;
    let found = if major.trim().parse::<u32>().is_ok_and(|major| major >= 24) {
        run(Command::new("node").args(["-e", path]))?
    } else {
        run(Command::new("npx").args(["-y", "-p", "node@24", "node", "-e", path]))?
    };
    Ok(PathBuf::from(found))
}

fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
