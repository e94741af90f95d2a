//! The real `openclaw agent --local`. One process takes one command line after the other: loading the program takes longer
//! than a short turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::mock::Mock;
use super::program::Program;
use super::scenario::Model;
use super::work;
use crate::support::real_openclaw::RealOpenClaw;

/// Runs the command line of each line of the input. It is read without the event loop: since 2026.7 a command ends the
/// program's own use of it.
const DRIVER: &str = r#"
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
const [pkg] = process.argv.slice(2);
const input = fs.openSync("/dev/stdin", "r");
const dist = path.join(pkg, "dist");
const main = fs.existsSync(path.join(dist, "cli/run-main.js"))
  ? "cli/run-main.js"
  : fs.readdirSync(dist).find((name) => /^run-main.*\.js$/.test(name));
const { runCli } = await import(pathToFileURL(path.join(dist, main)));
function nextLine() {
  const bytes = [], byte = Buffer.alloc(1);
  while (fs.readSync(input, byte) === 1) {
    if (byte[0] === 10) return Buffer.from(bytes).toString();
    bytes.push(byte[0]);
  }
}
for (let line; (line = nextLine()) !== undefined; ) {
  let error = null;
  process.exitCode = 0;
  process.argv = [process.argv[0], path.join(pkg, "openclaw.mjs"), ...JSON.parse(line)];
  try { await runCli(process.argv); } catch (thrown) { error = String(thrown?.stack ?? thrown); }
  fs.writeSync(1, "\n@@" + JSON.stringify({ error, code: process.exitCode ?? 0 }) + "\n");
}
process.exit(0);
"#;

/// A release of the program.
#[derive(Debug, Clone)]
pub(super) struct OpenClawProgram {
    pub(super) release: String,
    pub(super) installed: RealOpenClaw,
}

impl OpenClawProgram {
    pub(super) fn name(&self) -> String {
        format!("openclaw {}", self.release)
    }

    /// Whether it came out before a month.
    pub(super) fn is_older_than(&self, year: u32, month: u32) -> bool {
        let mut numbers = self.release.split(['.', '-']).map(|word| word.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (year, month)
    }
}

/// A running gateway program with a store of its own.
pub(super) struct OpenClaw {
    process: Program,
    folder: PathBuf,
}

impl OpenClaw {
    /// Starts the program below `folder`; the store is its `state`.
    pub(super) fn start(program: &OpenClawProgram, folder: &Path, mock: &Mock, setup: &Setup) -> Self {
        let program = &program.installed;
        let (state, desk, home) = (folder.join("state"), folder.join("work"), folder.join("home"));
        for folder in [&state, &home] {
            fs::create_dir_all(folder).expect("a folder");
        }
        if !desk.exists() {
            work::write_files(&desk);
        }
        let config = state.join("openclaw.json");
        super::write_file(&config, setup.config(&desk, &mock.url()).to_string().as_bytes());
        let driver = folder.join("driver.mjs");
        super::write_file(&driver, DRIVER.as_bytes());
        let mut command = Command::new(&program.node);
        command.arg(&driver).arg(&program.package).current_dir(&desk).env_clear();
        let beside = program.node.parent().map(Path::to_path_buf);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(beside.into_iter().chain(std::env::split_paths(&path))).expect("a path");
        command.env("PATH", path).env("HOME", &home).env("OPENCLAW_HOME", &home).env("LANG", "C.UTF-8");
        command.env("OPENCLAW_STATE_DIR", &state).env("OPENCLAW_CONFIG_PATH", &config);
        for name in ["SKIP_CHANNELS", "NO_RESPAWN", "DISABLE_BONJOUR", "SKIP_UPDATE_CHECK"] {
            command.env(format!("OPENCLAW_{name}"), "1");
        }
        command.env("NODE_COMPILE_CACHE", program.package.with_file_name(".compile-cache"));
        let process = Program::start(&mut command, folder.join("stderr.log"));
        Self { process, folder: folder.to_path_buf() }
    }

    /// Runs a command line and returns its exit code.
    pub(super) fn run(&mut self, words: &[&str]) -> i64 {
        self.process.send(&json!(words));
        let answer = self.process.wait(&format!("the end of openclaw {words:?}"), |line| {
            serde_json::from_str::<Value>(line.strip_prefix("@@")?).ok()
        });
        assert_eq!(answer["error"], Value::Null, "openclaw {words:?}");
        answer["code"].as_i64().unwrap_or(0)
    }

    /// Sends a message to the agent's session; `options` replace the choice of the session.
    pub(super) fn prompt(&mut self, text: &str, options: &[&str]) {
        let session: &[&str] = if options.is_empty() { &["--agent", "main"] } else { options };
        // A refused run also ends with a code that is not zero.
        self.run(&[&["agent", "--local", "--json", "--message", text], session].concat());
    }

    /// Its transcripts; the one that it wrote last comes first.
    pub(super) fn transcripts(&self) -> Vec<PathBuf> {
        super::transcripts(&self.folder.join("state/agents/main/sessions"))
    }
}

/// What a gateway is configured with.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) release: String,
    pub(super) models: Vec<Model>,
    /// Merged into `agents.defaults`.
    pub(super) defaults: Value,
    /// Merged into the whole.
    pub(super) more: Value,
    pub(super) tools: &'static [&'static str],
}

impl Setup {
    fn config(&self, desk: &Path, url: &str) -> Value {
        let primary = &self.models[0];
        let mut providers = json!({});
        for model in &self.models {
            providers[model.provider] = model.gateway_provider(url);
        }
        let mut defaults = json!({ "model": { "primary": format!("{}/{}", primary.provider, primary.name) },
            "workspace": desk, "skipBootstrap": true, "heartbeat": { "every": "0m" } });
        merge(&mut defaults, &self.defaults);
        let mut config = json!({
            "meta": { "lastTouchedVersion": self.release },
            "models": { "mode": "merge", "providers": providers },
            "agents": { "defaults": defaults },
            "tools": { "allow": self.tools },
            "skills": { "allowBundled": ["none"] },
            "plugins": { "enabled": false },
            "update": { "checkOnStart": false },
        });
        merge(&mut config, &self.more);
        config
    }
}

/// Puts the fields of one object into another.
fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}
