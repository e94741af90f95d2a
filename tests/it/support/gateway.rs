//! A gateway reduced to its locks: its lock code, cut out of the published package at run time, and the runtime's
//! own session manager to append with.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use clawscope::js::{self, Value};

use super::openclaw::Openclaw;
use super::pi::Pi;

/// The program at the other end.
const SCRIPT: &str = r#"
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
const [pi, dist, folder, verb, file, ...rest] = process.argv.slice(2);
const names = fs.readdirSync(dist).filter((name) => name.endsWith(".js")).sort();
function region(name, ...marks) {
  for (const bundle of names) {
    const text = fs.readFileSync(path.join(dist, bundle), "utf8");
    const start = text.indexOf(`//#region ${name}\n`);
    if (start < 0) continue;
    const part = text.slice(start, text.indexOf("\n//#endregion", start));
    if (marks.every((mark) => part.includes(mark))) return part;
  }
  throw new Error(`region not found: ${name}`);
}
const module = path.join(folder, `lock-${process.pid}.mjs`);
fs.writeFileSync(module, [
  `import syncFs from "node:fs"; import fs from "node:fs/promises"; import path from "node:path";`,
  region("src/shared/process-scoped-map.ts"),
  region("src/shared/pid-alive.ts", "syncFs.readFileSync"),
  region("src/agents/session-write-lock.ts", "async function acquireSessionWriteLock(", "await fs.open(", "syncFs.rmSync"),
  `export { acquireSessionWriteLock, readLockPayload, inspectLockPayload, shouldReclaimContendedLockFile, shouldTreatAsOrphanSelfLock };`,
].join("\n"));
const lock = await import(pathToFileURL(module));
const say = (value) => fs.writeSync(1, JSON.stringify(value) + "\n");
const ended = () => new Promise((done) => process.stdin.on("end", done).resume());

if (verb === "hold") {
  const held = await lock.acquireSessionWriteLock({ sessionFile: file });
  say({ pid: process.pid });
  await ended();
  await held.release();
} else if (verb === "try") {
  const began = Date.now();
  try {
    const held = await lock.acquireSessionWriteLock({ sessionFile: file, timeoutMs: Number(rest[0]) });
    await held.release();
    say({ took: true, ms: Date.now() - began });
  } catch (error) {
    say({ took: false, error: error.message, ms: Date.now() - began });
  }
} else if (verb === "judge") {
  const staleMs = 30 * 60 * 1000;
  for (const one of JSON.parse(fs.readFileSync(file, "utf8"))) {
    const text = one.text.replaceAll("OWN", String(process.pid));
    const now = Date.now();
    const at = path.join(folder, "judged.jsonl.lock");
    fs.writeFileSync(at, text.replace("NOW", new Date(now - one.age).toISOString()));
    fs.utimesSync(at, (now - one.file) / 1000, (now - one.file) / 1000);
    const payload = await lock.readLockPayload(at);
    const own = lock.shouldTreatAsOrphanSelfLock({ payload, normalizedSessionFile: at.slice(0, -5) });
    const seen = lock.inspectLockPayload(payload, staleMs, now);
    const judged = own ? { ...seen, stale: true, staleReasons: [...seen.staleReasons, "orphan-self-pid"] } : seen;
    say({ takes: await lock.shouldReclaimContendedLockFile(at, judged, staleMs, now), reasons: judged.staleReasons });
  }
} else if (verb === "append") {
  const { SessionManager } = await import(pathToFileURL(path.join(pi, "dist/core/session-manager.js")));
  for (let round = 0; round < Number(rest[0]); round += 1) {
    const held = await lock.acquireSessionWriteLock({ sessionFile: file, timeoutMs: 60000 });
    const manager = SessionManager.open(file);
    const call = { type: "toolCall", id: `gateway-${round}`, name: "read", arguments: {} };
    manager.appendMessage({ role: "assistant", content: [call], stopReason: "toolUse", timestamp: round });
    const content = [{ type: "text", text: `gateway ${round}` }];
    manager.appendMessage({ role: "toolResult", toolCallId: call.id, toolName: "read", content, isError: false, timestamp: round });
    await held.release();
    await new Promise((done) => setTimeout(done, 5));
  }
  say({ appended: true });
}
process.exit(0);
"#;

/// A folder with the script, for any number of gateways.
#[derive(Debug)]
pub(crate) struct Gateways {
    folder: tempfile::TempDir,
    openclaw: Openclaw,
    pi: Pi,
}

/// A running gateway.
#[derive(Debug)]
pub(crate) struct Gateway {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Gateways {
    /// Returns `None`, after a line with the reason, if the real programs are missing.
    pub(crate) fn find() -> Option<Self> {
        let (openclaw, pi) = (Openclaw::find()?, Pi::find()?);
        let folder = tempfile::tempdir().expect("a folder");
        let script = std::fs::File::create(folder.path().join("gateway.mjs"));
        script.and_then(|mut file| file.write_all(SCRIPT.as_bytes())).expect("the script");
        Some(Self { folder, openclaw, pi })
    }

    /// Starts one that runs a task on a session file.
    pub(crate) fn start(&self, verb: &str, file: &Path, rest: &[&str]) -> Gateway {
        let mut command = Command::new("node");
        command.arg(self.folder.path().join("gateway.mjs")).arg(self.pi.package());
        command.arg(self.openclaw.dist()).arg(self.folder.path()).arg(verb).arg(file).args(rest);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node runs");
        let answers = BufReader::new(child.stdout.take().expect("its output"));
        Gateway { child, answers }
    }

    /// Runs one to its end; returns its answers.
    pub(crate) fn run(&self, verb: &str, file: &Path, rest: &[&str]) -> Vec<Value> {
        self.start(verb, file, rest).finish()
    }
}

impl Gateway {
    /// The next answer.
    pub(crate) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        js::parse(&line).unwrap_or_else(|_| panic!("no answer: {line:?}"))
    }

    /// Lets it end by itself; returns its answers.
    pub(crate) fn finish(mut self) -> Vec<Value> {
        drop(self.child.stdin.take());
        let lines = (&mut self.answers).lines().map(|line| js::parse(&line.expect("a line")).expect("JSON"));
        let answers = lines.collect();
        assert!(self.child.wait().expect("its end").success());
        answers
    }

    /// Kills it; its lock is left behind.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("its end");
    }
}
