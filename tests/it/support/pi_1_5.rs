//! Today's pi (1.5.2), unpacked once into a cache folder, as the judge of our files for it. It needs node 22.19 or
//! newer; with an older one npm also gets node 24.
//!
//! `CLAWSCOPE_PI_1_5_DIR` names the folder (default: `real-pi-1.5` in the build folder). Without node, npm or the package
//! the tests say so and pass, unless `CLAWSCOPE_REQUIRE_REAL=1`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use clawscope::js::{self, JsString, Value};

use crate::support::skipped;

const VERSION: &str = "1.5.2";
const PACKAGE: &str = "node_modules/@earendil-works/pi-coding-agent";
const OLDEST_NODE: (u32, u32) = (22, 19);

/// The program at the other end: opens each file and prints one JSON line about it. Files named after `+` also get a
/// question and an answer appended.
const SCRIPT: &str = r#"
import { pathToFileURL } from "node:url";
import { join } from "node:path";
const [dir, ...files] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(join(dir, "dist/bundle/index.js")));
const context = (sm) => sm.buildSessionProjection().messages.map((message) => JSON.stringify(message));
const open = (file) => { try { return SessionManager.open(file); } catch { return undefined; } };
for (const name of files) {
  const file = name.replace(/^\+/, "");
  const sm = open(file);
  if (!sm) { console.log("null"); continue; }
  const out = { leaf: sm.getLeafId() ?? null };
  try { out.context = context(sm); } catch { out.throws = true; }
  if (name.startsWith("+")) {
    sm.appendMessage({ role: "user", content: "and now?", timestamp: 1 });
    sm.appendMessage({ role: "assistant", content: [], stopReason: "stop", timestamp: 2 });
    out.next = context(SessionManager.open(file));
  }
  console.log(JSON.stringify(out));
}
"#;

/// Prints one JSON line about each file: the misses that pi counts, their tokens and their cost. The first argument after the
/// package is a JSON object of the prices of cached reads, USD per million tokens, by `provider/model`.
const CACHE_SCRIPT: &str = r#"
import { pathToFileURL } from "node:url";
import { join } from "node:path";
const [dir, reads, ...files] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(join(dir, "dist/bundle/index.js")));
const { computeCacheWaste } = await import(pathToFileURL(join(dir, "dist/core/cache-stats.js")));
const prices = JSON.parse(reads);
const getModel = (provider, id) => {
  const cacheRead = prices[`${provider}/${id}`];
  return cacheRead === undefined ? undefined : { cost: { cacheRead } };
};
for (const file of files) {
  try {
    console.log(JSON.stringify(computeCacheWaste(SessionManager.open(file).getEntries(), { getModel })));
  } catch { console.log("null"); }
}
"#;

/// Pi's own statistics of a transcript.
#[derive(Debug, PartialEq)]
pub(crate) struct CacheWaste {
    pub(crate) misses: f64,
    pub(crate) tokens: f64,
    /// USD.
    pub(crate) cost: f64,
}

/// An unpacked copy, and the node that runs it.
#[derive(Debug, Clone)]
pub(crate) struct Pi {
    folder: PathBuf,
    node: PathBuf,
}

/// A file as pi reads it.
#[derive(Debug, PartialEq)]
pub(crate) struct Opened {
    /// The id of its leaf.
    pub(crate) leaf: Option<String>,
    /// The messages of its context; `None` where building it throws.
    pub(crate) context: Option<Vec<String>>,
    /// The context after a question and an answer were appended, if requested.
    pub(crate) next: Vec<String>,
}

impl Pi {
    /// Finds or unpacks the package. Returns `None`, after a line with the reason, if that fails.
    pub(crate) fn find() -> Option<Self> {
        static INSTALLED: OnceLock<Result<Pi, String>> = OnceLock::new();
        match INSTALLED.get_or_init(install) {
            Ok(pi) => Some(pi.clone()),
            Err(why) => {
                let required = std::env::var_os("CLAWSCOPE_REQUIRE_REAL").is_some_and(|value| value == "1");
                assert!(!required, "the real pi {VERSION} is required and not here: {why}");
                skipped::note(&format!("the real pi {VERSION}"), why);
                None
            }
        }
    }

    /// The folder it is unpacked in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The package's folder.
    pub(crate) fn package(&self) -> PathBuf {
        self.folder.join(PACKAGE)
    }

    /// The node that runs it.
    pub(crate) fn node(&self) -> &Path {
        &self.node
    }

    /// Opens copies of files with the real session manager, in one process: opening may write. `None` for a file that
    /// it refuses. With `go_on` a turn is appended to each copy.
    pub(crate) fn open(&self, files: &[PathBuf], go_on: bool) -> Vec<Option<Opened>> {
        let lines = self.run_script(SCRIPT, None, files, if go_on { "+" } else { "" });
        lines.iter().map(|line| opened(line)).collect()
    }

    /// Returns pi's cache statistics of copies of files. `read_prices` is a JSON object: USD per million tokens by
    /// `provider/model`. `None` for a file that pi refuses, or whose statistics are not numbers.
    pub(crate) fn cache_waste(&self, files: &[PathBuf], read_prices: &str) -> Vec<Option<CacheWaste>> {
        let waste = |line: &String| {
            let value = js::parse(line).expect("a JSON line");
            let number = |key| value.get(key).and_then(Value::as_f64);
            Some(CacheWaste {
                misses: number("missCount")?,
                tokens: number("missedTokens")?,
                cost: number("missedCost")?,
            })
        };
        self.run_script(CACHE_SCRIPT, Some(read_prices), files, "").iter().map(waste).collect()
    }

    /// Runs a script on copies of files and returns its lines.
    fn run_script(&self, text: &str, argument: Option<&str>, files: &[PathBuf], mark: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("open.mjs");
        fs::File::create(&script).and_then(|mut file| file.write_all(text.as_bytes())).expect("the script");
        let mut command = Command::new(&self.node);
        command.arg(&script).arg(self.folder.join(PACKAGE)).args(argument);
        for (at, file) in files.iter().enumerate() {
            let copy = folder.path().join(format!("{at}.jsonl"));
            fs::copy(file, &copy).expect("a copy");
            command.arg(format!("{mark}{}", copy.display()));
        }
        let output = command.output().expect("node runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
    }
}

fn opened(line: &str) -> Option<Opened> {
    let value = js::parse(line).expect("a JSON line");
    value.as_object()?;
    let texts = |key| {
        let items = value.get(key).and_then(Value::as_array)?;
        Some(items.iter().filter_map(Value::as_str).map(JsString::to_string_lossy).collect())
    };
    let leaf = value.get("leaf").and_then(Value::as_str).map(JsString::to_string_lossy);
    Some(Opened { leaf, context: texts("context"), next: texts("next").unwrap_or_default() })
}

fn install() -> Result<Pi, String> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let default = || build.parent().unwrap_or(build).join("real-pi-1.5");
    let folder = std::env::var_os("CLAWSCOPE_PI_1_5_DIR").map_or_else(default, PathBuf::from);
    let version = run(Command::new("node").arg("--version"))?;
    let is_new = newer(&version);
    if !is_installed(&folder, is_new) {
        install_into(&folder, is_new)?;
    }
    let node = if is_new { PathBuf::from("node") } else { own_node(&folder) };
    Ok(Pi { folder, node })
}

/// Whether `v24.1.0` is new enough.
fn newer(version: &str) -> bool {
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(|word| word.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST_NODE
}

fn own_node(folder: &Path) -> PathBuf {
    folder.join("node_modules/.bin/node")
}

/// Only the bundle is run, which includes its libraries but these.
const LIBRARIES: [&str; 2] = ["cross-spawn@7.0.6", "jiti@2.7.0"];

fn install_into(folder: &Path, is_new: bool) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let parent = folder.parent().ok_or("the folder has no parent")?;
    fs::create_dir_all(parent).map_err(text)?;
    let fresh = tempfile::tempdir_in(parent).map_err(text)?;
    let manifest = fs::File::create(fresh.path().join("package.json"));
    manifest.and_then(|mut file| file.write_all(b"{\"private\":true}")).map_err(text)?;
    let npm = |words: &[&str]| {
        let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
        run(skipped::npm().args(words).args(quiet).current_dir(fresh.path()))
    };
    npm(&[&["install", "--ignore-scripts"], &LIBRARIES[..]].concat())?;
    if !is_new {
        // Its own script installs the program.
        npm(&["install", "node@24"])?;
    }
    let package = format!("@earendil-works/pi-coding-agent@{VERSION}");
    npm(&["pack", "--ignore-scripts", &package])?;
    let target = fresh.path().join(PACKAGE);
    fs::create_dir_all(&target).map_err(text)?;
    let archive = format!("earendil-works-pi-coding-agent-{VERSION}.tgz");
    let mut tar = Command::new("tar");
    run(tar.arg("xzf").arg(fresh.path().join(archive)).arg("-C").arg(&target).arg("--strip-components=1"))?;
    let _ = fs::remove_dir_all(folder);
    match fs::rename(fresh.path(), folder) {
        Err(error) if !is_installed(folder, is_new) => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    }
}

/// Installs a release with all its libraries; returns the node that runs it, and its folder.
pub(crate) fn whole(release: &str) -> Result<(PathBuf, PathBuf), String> {
    let text = |error: std::io::Error| error.to_string();
    let node = super::real_openclaw::node()?;
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = build.parent().unwrap_or(build).join(format!("real-pi-{release}"));
    let package = folder.join(PACKAGE);
    if !package.join("package.json").is_file() {
        let fresh = tempfile::tempdir_in(folder.parent().ok_or("the folder has no parent")?).map_err(text)?;
        let manifest = serde_json::json!({ "private": true, "dependencies": { "@earendil-works/pi-coding-agent": release } });
        fs::File::create(fresh.path().join("package.json"))
            .and_then(|mut file| file.write_all(manifest.to_string().as_bytes()))
            .map_err(text)?;
        let quiet = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(skipped::npm().args(quiet).current_dir(fresh.path()))?;
        fs::rename(fresh.path(), &folder).map_err(text)?;
    }
    Ok((node, package))
}

fn is_installed(folder: &Path, is_new: bool) -> bool {
    let text = fs::read_to_string(folder.join(PACKAGE).join("package.json")).unwrap_or_default();
    let right = js::parse(&text)
        .is_ok_and(|manifest| manifest.get("version").is_some_and(|version| version.str_is(VERSION)));
    let has = |library: &str| {
        let (name, _) = library.split_once('@').unwrap_or((library, ""));
        folder.join("node_modules").join(name).is_dir()
    };
    right && LIBRARIES.iter().all(|library| has(library)) && (is_new || own_node(folder).exists())
}

pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
