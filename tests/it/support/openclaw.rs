//! The real gateway's compaction safeguard, cut out of its published package at run time, as the judge of our stages.
//!
//! `CLAWSCOPE_OPENCLAW_DIR` names the folder that the package is unpacked in (default: `real-openclaw` in the build
//! folder). Without node, npm or the package the tests say so and pass, unless `CLAWSCOPE_REQUIRE_REAL=1`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use clawscope::js::{self, Value};

use crate::support::skipped;

const VERSION: &str = "2026.3.2";
const DIST: &str = "package/dist";

/// The program at the other end: puts the needed regions of the bundle together with stand-ins for outside calls,
/// runs the safeguard on each case and prints one JSON line about it. A summary is `s<call>:<messages>`.
const SCRIPT: &str = r#"
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
const [pi, dist, folder] = process.argv.slice(2);
const files = fs.readdirSync(dist).filter((name) => name.endsWith(".js")).sort();
const texts = files.map((name) => fs.readFileSync(path.join(dist, name), "utf8"));
function region(text, name) {
  const start = text.indexOf(`//#region ${name}\n`);
  return start < 0 ? null : text.slice(start, text.indexOf("\n//#endregion", start));
}
function regions(names, also = "") {
  for (const text of texts) {
    const parts = names.map((name) => region(text, name));
    if (parts.every((part) => part !== null) && text.includes(also)) return parts.join("\n");
  }
  throw new Error(`regions not found: ${names}`);
}
const helpers = regions(["src/agents/tool-call-id.ts"]);
const main = regions([
  "src/agents/session-transcript-repair.ts",
  "src/agents/compaction.ts",
  "src/auto-reply/reply/post-compaction-context.ts",
  "src/agents/pi-extensions/compaction-safeguard.ts",
], "function collectTextContentBlocks(");
const whole = texts.find((text) => text.includes(main.slice(0, 400)));
const blocks = whole.slice(whole.indexOf("function collectTextContentBlocks("));
const stubs = `
import path from "node:path";
import syncFs from "node:fs";
import { createHash } from "node:crypto";
import { estimateTokens } from ${JSON.stringify(pathToFileURL(path.join(pi, "dist/core/compaction/compaction.js")).href)};
const quiet = new Proxy({}, { get: () => () => {} });
const createSubsystemLogger = () => quiet;
const DEFAULT_CONTEXT_TOKENS = 200000;
const retryAsync = (work) => work();
const openBoundaryFile = async ({ absolutePath }) =>
  syncFs.existsSync(absolutePath) ? { ok: true, fd: syncFs.openSync(absolutePath, "r") } : { ok: false };
const getCompactionSafeguardRuntime = () => globalThis.runtime;
const generateSummary = (...args) => globalThis.generate(...args);
`;
const file = path.join(folder, "safeguard.mjs");
const collect = blocks.slice(0, blocks.indexOf("\n}\n") + 3);
fs.writeFileSync(file, [stubs, helpers, collect, main, "export { compactionSafeguardExtension };"].join("\n"));
const { compactionSafeguardExtension } = await import(pathToFileURL(file));
let handler;
compactionSafeguardExtension({ on: (_, own) => { handler = own; } });
console.warn = () => {};
const lines = fs.readFileSync(path.join(folder, "cases.jsonl"), "utf8").split("\n").filter(Boolean);
process.chdir(folder);
for (const line of lines) {
  const one = JSON.parse(line);
  fs.writeFileSync("AGENTS.md", one.agents);
  const asked = [];
  globalThis.runtime = {
    maxHistoryShare: one.share, contextWindowTokens: one.window,
    identifierPolicy: one.policy, identifierInstructions: one.identifiers,
  };
  globalThis.generate = async (messages, model, reserve, key, signal, custom, previous) => {
    const length = (m) => (typeof m.content === "string" ? m.content.length : "");
    const what = messages.map((m) => `${m.role}${length(m)}:${m.toolCallId ?? ""}:${m.toolName ?? ""}`).join(",");
    const focus = one.custom?.trim() && custom?.includes(one.custom.trim()) ? "custom" : "";
    const own = one.policy === "custom" && one.identifiers.trim() && custom?.includes(one.identifiers.trim()) ? "own" : "";
    asked.push([what, previous ?? null, custom === undefined ? "none" : focus + own]);
    if (one.fails.includes(asked.length)) throw new Error("no");
    return `s${asked.length}:${messages.length}`;
  };
  const set = (list) => new Set(list);
  const preparation = {
    messagesToSummarize: one.history, turnPrefixMessages: one.prefix, isSplitTurn: one.prefix.length > 0,
    fileOps: { read: set(one.files.read), written: set(one.files.written), edited: set(one.files.edited) },
    tokensBefore: one.tokensBefore, settings: { reserveTokens: one.reserve }, firstKeptEntryId: "k",
  };
  if (one.previous !== null) preparation.previousSummary = one.previous;
  const context = { model: { contextWindow: 200000 }, modelRegistry: { getApiKey: async () => "k" }, sessionManager: {} };
  const event = { preparation, customInstructions: one.custom ?? undefined };
  const answer = await handler(event, context);
  console.log(JSON.stringify({ summary: answer.cancel ? null : answer.compaction.summary, asked }));
}
"#;

/// An unpacked copy.
#[derive(Debug)]
pub(crate) struct Openclaw {
    dist: PathBuf,
}

impl Openclaw {
    /// Finds or unpacks the package. Returns `None`, after a line with the reason, if that fails.
    pub(crate) fn find() -> Option<Self> {
        static UNPACKED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match UNPACKED.get_or_init(unpack) {
            Ok(folder) => Some(Self { dist: folder.join(DIST) }),
            Err(why) => {
                let required = std::env::var_os("CLAWSCOPE_REQUIRE_REAL").is_some_and(|value| value == "1");
                assert!(!required, "the real gateway is required and not here: {why}");
                skipped::note(&format!("the real gateway {VERSION}"), why);
                None
            }
        }
    }

    /// The folder of its bundles.
    pub(crate) fn dist(&self) -> &Path {
        &self.dist
    }

    /// Returns the safeguard's results for cases, in one process. `pi` is the folder of the matching runtime.
    pub(crate) fn safeguard(&self, pi: &Path, cases: &[Value]) -> Vec<Value> {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let file = fs::File::create(folder.path().join(name));
            file.and_then(|mut file| file.write_all(text.as_bytes())).expect("written");
        };
        write("run.mjs", SCRIPT);
        write("cases.jsonl", &cases.iter().map(js::stringify).collect::<Vec<_>>().join("\n"));
        let mut command = Command::new("node");
        command.arg(folder.path().join("run.mjs")).arg(pi).arg(&self.dist).arg(folder.path());
        let output = command.output().expect("node runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().map(|line| js::parse(line).expect("a JSON line")).collect()
    }
}

fn unpack() -> Result<PathBuf, String> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let default = || build.parent().unwrap_or(build).join("real-openclaw");
    let folder = std::env::var_os("CLAWSCOPE_OPENCLAW_DIR").map_or_else(default, PathBuf::from);
    run(Command::new("node").arg("--version"))?;
    if folder.join(DIST).is_dir() {
        return Ok(folder);
    }
    // Unpacked in a sibling folder and moved into place whole, so that no other test sees half of it.
    let parent = folder.parent().ok_or("the folder has no parent")?;
    fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    let fresh = tempfile::tempdir_in(parent).map_err(|error| error.to_string())?;
    let package = format!("openclaw@{VERSION}");
    run(skipped::npm().args(["pack", "--ignore-scripts", "--silent", &package]).current_dir(fresh.path()))?;
    let archive = format!("openclaw-{VERSION}.tgz");
    run(Command::new("tar").args(["xzf", &archive, DIST]).current_dir(fresh.path()))?;
    match fs::rename(fresh.path(), &folder) {
        Err(error) if !folder.join(DIST).is_dir() => Err(format!("{}: {error}", folder.display())),
        _ => Ok(folder),
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
