//! The real `openclaw agent --local`. One process takes one command line after the other: loading the program takes longer
//! than a short turn.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use super::changes::Changes;
use super::mock::Mock;
use super::program::Program;
use super::scenario::Model;
use super::work;
use crate::support::real_openclaw::RealOpenClaw;

/// Runs the command line of each line of the input, or answers a message of a channel as its plugin would: some of what a
/// gateway does around a turn belongs to channels. The input is read without the event loop: since 2026.7 a command ends the
/// program's own use of it.
const DRIVER: &str = r#"
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { pathToFileURL } from "node:url";
const [pkg] = process.argv.slice(2);
const input = fs.openSync("/dev/stdin", "r");
const dist = path.join(pkg, "dist");
const main = fs.existsSync(path.join(dist, "cli/run-main.js"))
  ? "cli/run-main.js"
  : fs.readdirSync(dist).find((name) => /^run-main.*\.js$/.test(name));
const load = (name) => import(pathToFileURL(path.join(dist, name)));
const { runCli } = await load(main);
async function run(words) {
  process.argv = [process.argv[0], path.join(pkg, "openclaw.mjs"), ...words];
  await runCli(process.argv);
}
async function reply(message) {
  const { getReplyFromConfig } = await load("index.js");
  await getReplyFromConfig(message);
}
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
// A gateway runs as long as the process, which has nothing else to do while it pauses.
async function gateway(port) {
  void run(["gateway", "run", "--port", String(port)]);
  const isUp = () => new Promise((answer) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("connect", () => { socket.destroy(); answer(true); }).on("error", () => answer(false));
  });
  while (!(await isUp())) await pause(50);
}
function act(asked) {
  if (Array.isArray(asked)) return run(asked);
  if (asked.gateway) return gateway(asked.gateway);
  return asked.pause ? pause(asked.pause) : reply(asked);
}
function nextLine() {
  const bytes = [], byte = Buffer.alloc(1);
  while (fs.readSync(input, byte) === 1) {
    if (byte[0] === 10) return Buffer.from(bytes).toString();
    bytes.push(byte[0]);
  }
}
for (let line; (line = nextLine()) !== undefined; ) {
  // A run that the model refused ends with an error.
  try { await act(JSON.parse(line)); } catch (thrown) { console.error(thrown); }
  fs.writeSync(1, "\n@@done\n");
}
process.exit(0);
"#;

const GATEWAY_TOKEN: &str = "loopback";

/// Configures a gateway on a port.
pub(super) fn gateway_config(port: u16) -> Value {
    let auth = json!({ "mode": "token", "token": GATEWAY_TOKEN });
    json!({ "gateway": { "mode": "local", "port": port, "bind": "loopback", "auth": auth } })
}

/// A release of the program.
#[derive(Debug, Clone)]
pub(super) struct OpenClawProgram {
    pub(super) release: String,
    pub(super) installed: RealOpenClaw,
    /// Written into its configuration before it starts.
    pub(super) changes: Changes,
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

/// A gateway program with a store of its own.
pub(super) struct OpenClaw {
    installed: RealOpenClaw,
    /// Runs; a command that fails ends it in some releases.
    process: Option<Program>,
    /// The gateway itself, which has a process of its own: since 2026.9 a command closes the databases of its process.
    gateway: Option<Program>,
    folder: PathBuf,
}

impl OpenClaw {
    /// Prepares the program below `folder`; the store is its `state`.
    pub(super) fn start(program: &OpenClawProgram, folder: &Path, mock: &Mock, setup: &Setup) -> Self {
        let (state, desk) = (folder.join("state"), folder.join("work"));
        for folder in [&state, &folder.join("home")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        work::write_files(&desk);
        let config = setup.config(&desk, &mock.url());
        let config = program.changes.applied("openclaw.json", config).to_string();
        super::write_file(&state.join("openclaw.json"), config.as_bytes());
        super::write_file(&folder.join("driver.mjs"), DRIVER.as_bytes());
        Self {
            installed: program.installed.clone(),
            process: None,
            gateway: None,
            folder: folder.to_path_buf(),
        }
    }

    /// Starts a process; `log` is the file that holds what it prints beside its answers.
    fn spawn(&self, log: &str) -> Program {
        let RealOpenClaw { node, package } = &self.installed;
        let (state, home) = (self.folder.join("state"), self.folder.join("home"));
        let mut command = Command::new(node);
        command
            .arg(self.folder.join("driver.mjs"))
            .arg(package)
            .current_dir(self.folder.join("work"))
            .env_clear();
        let beside = node.parent().map(Path::to_path_buf);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(beside.into_iter().chain(std::env::split_paths(&path))).expect("a path");
        command.env("PATH", path).env("HOME", &home).env("OPENCLAW_HOME", &home).env("LANG", "C.UTF-8");
        command.env("OPENCLAW_STATE_DIR", &state).env("OPENCLAW_CONFIG_PATH", state.join("openclaw.json"));
        for name in ["SKIP_CHANNELS", "NO_RESPAWN", "DISABLE_BONJOUR", "SKIP_UPDATE_CHECK"] {
            command.env(format!("OPENCLAW_{name}"), "1");
        }
        command
            .env("OPENCLAW_GATEWAY_TOKEN", GATEWAY_TOKEN)
            .env("NODE_COMPILE_CACHE", package.with_file_name(".compile-cache"));
        Program::start(&mut command, self.folder.join(log))
    }

    /// Ends the program, so that nothing holds its store, and returns a folder with the command `openclaw`.
    pub(super) fn end_for_command(&mut self) -> PathBuf {
        self.process = None;
        let bin = self.folder.join("bin");
        self.installed.install(&bin, &self.folder.join("home"));
        bin
    }

    /// Starts the gateway itself, on the port of its configuration.
    pub(super) fn start_gateway(&mut self, port: u16) {
        let mut gateway = self.spawn("gateway.log");
        gateway.send(&json!({ "gateway": port }));
        gateway.expect("that it listens", |line| (line == "@@done").then_some(()));
        // It serves while it waits, and it ends with this value.
        gateway.send(&json!({ "pause": Duration::from_hours(1).as_millis() as u64 }));
        self.gateway = Some(gateway);
    }

    /// Sends a message to the agent through the gateway.
    pub(super) fn prompt_through_gateway(&mut self, text: &str) {
        self.run(&["agent", "--agent", "main", "--json", "--message", text]);
    }

    /// Lets the gateway work until a condition holds.
    #[expect(clippy::disallowed_methods, reason = "the gateway works beside this")]
    pub(super) fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        const ROUNDS: usize = 1_200;
        for _ in 0..ROUNDS {
            if holds() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let log = self.gateway.as_ref().map(Program::log).unwrap_or_default();
        panic!("the gateway never reached: {what}\n{log}");
    }

    /// Runs a command line.
    pub(super) fn run(&mut self, words: &[&str]) {
        self.ask(&json!(words));
    }

    /// Sends a message as the channel of a direct chat does.
    pub(super) fn channel_message(&mut self, text: &str, key: &str) {
        let peer = "telegram:4711";
        self.ask(&json!({ "Body": text, "RawBody": text, "CommandBody": text, "From": peer, "To": peer, "SessionKey": key,
            "Provider": "telegram", "Surface": "telegram", "ChatType": "direct", "CommandAuthorized": true }));
    }

    fn ask(&mut self, asked: &Value) {
        let mut process = self.process.take().unwrap_or_else(|| self.spawn("stderr.log"));
        process.send(asked);
        let is_done = process.wait(|line| (line == "@@done").then_some(()));
        // A run that the model refused may also end the program.
        self.process = is_done.map(|()| process);
    }

    /// Sends a message to the agent's session; `options` replace the choice of the session.
    pub(super) fn prompt(&mut self, text: &str, options: &[&str]) {
        let session: &[&str] = if options.is_empty() { &["--agent", "main"] } else { options };
        self.run(&[&["agent", "--local", "--json", "--message", text], session].concat());
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
pub(super) fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}
