//! Releases of pi as they were published, unpacked once next to today's (`pi_1_5.rs`), which supplies the node that
//! runs them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clawscope::js::{self, JsString, Value};

use super::pi_1_5::{Pi, run};
use crate::support::skipped;

/// A package that the bundles up to 0.99 leave out. These tests do not need it, and not every version of it is published.
const LIBRARY: &str = "@earendil-works/chord";

/// Opens each file and prints one JSON line: the context, the size of each message, and the text for the summariser.
const SCRIPT: &str = r#"
import { pathToFileURL } from "node:url";
import { join } from "node:path";
const [dir, ...files] = process.argv.slice(2);
const pi = await import(pathToFileURL(join(dir, "dist/bundle/index.js")));
const attempt = (ask) => { try { return ask(); } catch { return null; } };
for (const file of files) {
  const messages = attempt(() => pi.SessionManager.open(file).buildSessionContext().messages);
  const out = messages && {
    context: messages.map((message) => JSON.stringify(message)),
    tokens: messages.map((message) => attempt(() => pi.estimateTokens(message))),
    text: attempt(() => pi.serializeConversation(pi.convertToLlm(messages))),
  };
  console.log(JSON.stringify(out ?? null));
}
"#;

/// An unpacked release, and the node that runs it.
#[derive(Debug)]
pub(crate) struct Bundle {
    package: PathBuf,
    node: PathBuf,
}

/// A file as a release reads it.
#[derive(Debug)]
pub(crate) struct Read {
    /// The messages of its context.
    pub(crate) context: Vec<String>,
    /// The tokens of each message; `None` where the release throws.
    pub(crate) tokens: Vec<Option<f64>>,
    /// The text for the summariser; `None` where that throws.
    pub(crate) text: Option<JsString>,
}

impl Bundle {
    /// Finds or unpacks a release. Returns `None`, after a line with the reason, if that fails.
    pub(crate) fn find(version: &str) -> Option<Self> {
        let today = Pi::find()?;
        match unpacked(today.folder(), version) {
            Ok(package) => Some(Self { package, node: today.node().to_path_buf() }),
            Err(why) => {
                let required = std::env::var_os("CLAWSCOPE_REQUIRE_REAL").is_some_and(|value| value == "1");
                assert!(!required, "the real pi {version} is required and not here: {why}");
                skipped::note(&format!("the real pi {version}"), &why);
                None
            }
        }
    }

    /// Reads copies of files in one process: opening may write. `None` for a file that it refuses or throws at.
    pub(crate) fn read(&self, files: &[PathBuf]) -> Vec<Option<Read>> {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("read.mjs");
        fs::File::create(&script).and_then(|mut file| file.write_all(SCRIPT.as_bytes())).expect("the script");
        let mut command = Command::new(&self.node);
        command.arg(&script).arg(&self.package);
        for (at, file) in files.iter().enumerate() {
            let copy = folder.path().join(format!("{at}.jsonl"));
            fs::copy(file, &copy).expect("a copy");
            command.arg(copy);
        }
        let output = command.output().expect("node runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").lines().map(reported).collect()
    }
}

fn reported(line: &str) -> Option<Read> {
    let value = js::parse(line).expect("a JSON line");
    value.as_object()?;
    let list = |key| value.get(key).and_then(Value::as_array).unwrap_or_default();
    Some(Read {
        context: list("context").iter().filter_map(Value::as_str).map(JsString::to_string_lossy).collect(),
        tokens: list("tokens").iter().map(Value::as_f64).collect(),
        text: value.get("text").and_then(Value::as_str).cloned(),
    })
}

/// The folder of a release, within that of today's: so that it finds the one library that a bundle omits.
fn unpacked(folder: &Path, version: &str) -> Result<PathBuf, String> {
    let text = |error: std::io::Error| error.to_string();
    let target = folder.join("releases").join(version);
    if target.join("package/package.json").is_file() {
        return Ok(target.join("package"));
    }
    let parent = folder.join("releases");
    fs::create_dir_all(&parent).map_err(text)?;
    let fresh = tempfile::tempdir_in(&parent).map_err(text)?;
    let package = format!("@earendil-works/pi-coding-agent@{version}");
    let quiet = ["--ignore-scripts", "--loglevel=error"];
    run(skipped::npm().args(["pack", &package]).args(quiet).current_dir(fresh.path()))?;
    let archive = fresh.path().join(format!("earendil-works-pi-coding-agent-{version}.tgz"));
    run(Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(fresh.path()))?;
    fs::remove_file(archive).map_err(text)?;
    let manifest = fs::read_to_string(fresh.path().join("package/package.json")).map_err(text)?;
    if manifest.contains(LIBRARY) {
        fs::File::create(fresh.path().join("package.json"))
            .and_then(|mut file| file.write_all(b"{\"private\":true}"))
            .map_err(text)?;
        let library = format!("{LIBRARY}@<={version}");
        let quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(skipped::npm().args(["install", &library]).args(quiet).current_dir(fresh.path()))?;
    }
    match fs::rename(fresh.path(), &target) {
        Err(error) if !target.join("package").is_dir() => Err(format!("{}: {error}", target.display())),
        _ => Ok(target.join("package")),
    }
}
