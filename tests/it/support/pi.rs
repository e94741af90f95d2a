//! The real pi coding agent, installed once into a cache folder, as the judge of our files.
//!
//! `CLAWSCOPE_PI_DIR` names the folder (default: `real-pi` in the build folder). Without node, npm or
//! the package the tests say so and pass, unless `CLAWSCOPE_REQUIRE_REAL=1`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use clawscope::js::{self, JsString, Value};

use crate::support::skipped;

const VERSION: &str = "0.55.3";
const PACKAGE: &str = "node_modules/@mariozechner/pi-coding-agent";

/// The program at the other end: opens each file and prints one JSON line about it. Files named after
/// `+` also get a question and an answer appended.
const SCRIPT: &str = r#"
import { pathToFileURL } from "node:url";
import { join } from "node:path";
const [dir, ...files] = process.argv.slice(2);
const core = (name) => import(pathToFileURL(join(dir, "dist/core", name)));
const { SessionManager } = await core("session-manager.js");
const { prepareCompaction } = await core("compaction/compaction.js");
const settings = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };
const context = (sm) => sm.buildSessionContext().messages.map((message) => JSON.stringify(message));
for (const name of files) {
  const file = name.replace(/^\+/, "");
  const sm = SessionManager.open(file);
  const labels = sm.getEntries().map((entry) => sm.getLabel(entry.id)).filter((label) => label);
  const compacts = prepareCompaction(sm.getBranch(), settings) !== undefined;
  const out = { leaf: sm.getLeafId(), context: context(sm), labels, compacts };
  if (name.startsWith("+")) {
    sm.appendMessage({ role: "user", content: "and now?", timestamp: 1 });
    sm.appendMessage({ role: "assistant", content: [], stopReason: "stop", timestamp: 2 });
    out.next = context(SessionManager.open(file));
  }
  console.log(JSON.stringify(out));
}
"#;

/// Sums pi's estimates over every message of each file, branches included.
const SUMS: &str = r#"
import { pathToFileURL } from "node:url";
import { join } from "node:path";
const [dir, ...files] = process.argv.slice(2);
const core = (name) => import(pathToFileURL(join(dir, "dist/core", name)));
const { SessionManager } = await core("session-manager.js");
const { estimateTokens } = await core("compaction/compaction.js");
for (const file of files) {
  const messages = SessionManager.open(file).getEntries().filter((entry) => entry.type === "message");
  console.log(messages.reduce((sum, entry) => sum + estimateTokens(entry.message), 0));
}
"#;

/// An installed copy.
#[derive(Debug)]
pub(crate) struct Pi {
    package: PathBuf,
}

/// A file as pi reads it.
#[derive(Debug, PartialEq)]
pub(crate) struct Opened {
    /// The id of its leaf.
    pub(crate) leaf: String,
    /// The messages of its context, as `JSON.stringify` writes them.
    pub(crate) context: Vec<String>,
    /// The labels in force, in the order of their entries.
    pub(crate) labels: Vec<String>,
    /// Whether it finds something to compact right now.
    pub(crate) compacts: bool,
    /// The context after a question and an answer were appended, if requested.
    pub(crate) next: Vec<String>,
}

impl Pi {
    /// Finds or installs the package. Returns `None`, after a line with the reason, if that fails.
    pub(crate) fn find() -> Option<Self> {
        // Tests run in parallel: the first one installs, the others wait for it.
        static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match INSTALLED.get_or_init(install) {
            Ok(folder) => Some(Self { package: folder.join(PACKAGE) }),
            Err(why) => {
                let required = std::env::var_os("CLAWSCOPE_REQUIRE_REAL").is_some_and(|value| value == "1");
                assert!(!required, "the real pi is required and not here: {why}");
                skipped::note(&format!("the real pi {VERSION}"), why);
                None
            }
        }
    }

    /// The package's folder.
    pub(crate) fn package(&self) -> &Path {
        &self.package
    }

    /// Returns the sum of its estimates over every message of each file. It may rewrite opened files: pass copies.
    pub(crate) fn sums(&self, files: &[PathBuf]) -> Vec<u64> {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("sums.mjs");
        fs::File::create(&script).and_then(|mut file| file.write_all(SUMS.as_bytes())).expect("the script");
        let output = Command::new("node").arg(&script).arg(&self.package).args(files).output();
        let output = output.expect("node runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().map(|line| line.parse().expect("a number")).collect()
    }

    /// Opens copies of files with the real session manager, in one process. It may rewrite what it
    /// opens, so it never gets the file itself. With `go_on` a turn is appended to each copy.
    pub(crate) fn open(&self, files: &[PathBuf], go_on: bool) -> Vec<Opened> {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("open.mjs");
        fs::File::create(&script).and_then(|mut file| file.write_all(SCRIPT.as_bytes())).expect("the script");
        let mut command = Command::new("node");
        command.arg(&script).arg(&self.package);
        for (at, file) in files.iter().enumerate() {
            let copy = folder.path().join(format!("{at}.jsonl"));
            fs::copy(file, &copy).expect("a copy");
            command.arg(format!("{}{}", if go_on { "+" } else { "" }, copy.display()));
        }
        let output = command.output().expect("node runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for (at, file) in files.iter().enumerate() {
            let copy = fs::read(folder.path().join(format!("{at}.jsonl"))).expect("the copy");
            let original = fs::read(file).expect("the file");
            assert!(copy.starts_with(&original), "{}: pi rewrote it", file.display());
            assert_eq!(copy.len() > original.len(), go_on);
        }
        String::from_utf8(output.stdout).expect("UTF-8").lines().map(opened).collect()
    }
}

fn opened(line: &str) -> Opened {
    let value = js::parse(line).expect("a JSON line");
    let texts = |key| {
        let items = value.get(key).and_then(Value::as_array).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(JsString::to_string_lossy).collect()
    };
    let leaf = value.get("leaf").and_then(Value::as_str).expect("a leaf").to_string_lossy();
    let compacts = value.get("compacts").and_then(Value::as_bool).expect("whether it would compact");
    Opened { leaf, context: texts("context"), labels: texts("labels"), compacts, next: texts("next") }
}

fn default_folder() -> PathBuf {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    build.parent().unwrap_or(build).join("real-pi")
}

/// Returns the package's folder, after installing it if needed.
fn install() -> Result<PathBuf, String> {
    let folder = std::env::var_os("CLAWSCOPE_PI_DIR").map_or_else(default_folder, PathBuf::from);
    run(Command::new("node").arg("--version"))?;
    if !is_installed(&folder) {
        install_into(&folder)?;
    }
    Ok(folder)
}

fn install_into(folder: &Path) -> Result<(), String> {
    // Installed in a sibling folder and moved into place whole, so that no other test sees half of it.
    let parent = folder.parent().ok_or("the folder has no parent")?;
    fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    let fresh = tempfile::tempdir_in(parent).map_err(|error| error.to_string())?;
    let manifest = fs::File::create(fresh.path().join("package.json"));
    manifest.and_then(|mut file| file.write_all(b"{\"private\":true}")).map_err(|error| error.to_string())?;
    let options = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let package = format!("@mariozechner/pi-coding-agent@{VERSION}");
    run(skipped::npm().args(options).arg(package).current_dir(fresh.path()))?;
    if is_installed(folder) {
        return Ok(());
    }
    // Another version, or a partial one; there is nothing to remove the first time.
    let _ = fs::remove_dir_all(folder);
    match fs::rename(fresh.path(), folder) {
        Err(error) if !is_installed(folder) => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    }
}

fn is_installed(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join(PACKAGE).join("package.json")).unwrap_or_default();
    js::parse(&text)
        .is_ok_and(|manifest| manifest.get("version").is_some_and(|version| version.str_is(VERSION)))
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
