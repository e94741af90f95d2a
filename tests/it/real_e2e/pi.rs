//! The real pi in RPC mode.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::changes::Changes;
use super::mock::Mock;
use super::program::Program;
use super::scenario::Model;
use super::work;

/// Commands that pi offers only to extensions: `/jump ENTRY` moves to an entry of the tree, `/jumpsum ENTRY` leaves a summary
/// of the branch that it came from.
const EXTENSION: &str = r#"
export default function (pi) {
  for (const [name, summarize] of [["jump", false], ["jumpsum", true]]) {
    pi.registerCommand(name, {
      description: name,
      handler: async (entry, context) => {
        await context.navigateTree(entry.trim(), { summarize });
        context.ui.notify("jumped");
      },
    });
  }
}
"#;

/// The program of a release, and the node that runs it.
#[derive(Debug, Clone)]
pub(super) struct PiProgram {
    /// With its release.
    pub(super) name: String,
    pub(super) node: PathBuf,
    /// Its command line.
    pub(super) script: PathBuf,
    /// Written into its configuration before it starts.
    pub(super) changes: Changes,
    /// Whether it reports that nothing more follows a run; older releases are asked.
    pub(super) reports_end: bool,
}

/// How pi is started.
pub(super) struct Launch<'a> {
    pub(super) model: Model,
    pub(super) settings: Value,
    /// A transcript to go on with.
    pub(super) session: Option<&'a Path>,
    /// With the commands of [`EXTENSION`].
    pub(super) jumps: bool,
}

/// A running pi with a store of its own.
pub(super) struct Pi {
    process: Program,
    reports_end: bool,
    folder: PathBuf,
    calls: usize,
}

impl Pi {
    /// Starts pi below `folder`; the store is its `agent`.
    pub(super) fn start(program: &PiProgram, folder: &Path, mock: &Mock, launch: &Launch<'_>) -> Self {
        let Launch { model, settings, session, jumps } = launch;
        let (agent, desk) = (folder.join("agent"), folder.join("work"));
        fs::create_dir_all(&agent).expect("a folder");
        if !desk.exists() {
            work::write_files(&desk);
        }
        let config = [("models.json", model.pi_config(&mock.url())), ("settings.json", settings.clone())];
        for (name, own) in config {
            let changed = program.changes.applied(name, own);
            super::write_file(&agent.join(name), changed.to_string().as_bytes());
        }
        let mut command = Command::new(&program.node);
        command.arg(&program.script).args([
            "--mode",
            "rpc",
            "--provider",
            model.provider,
            "--model",
            model.name,
        ]);
        command.arg("--session-dir").arg(agent.join("sessions/e2e"));
        if *jumps {
            let extension = folder.join("jump.ts");
            super::write_file(&extension, EXTENSION.as_bytes());
            command.arg("--extension").arg(extension);
        }
        if let Some(session) = session {
            command.arg("--session").arg(session);
        }
        command.current_dir(&desk).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", folder).env("PI_CODING_AGENT_DIR", &agent).env("LANG", "C.UTF-8");
        command.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0");
        let process = Program::start(&mut command, folder.join("stderr.log"));
        Self { process, reports_end: program.reports_end, folder: folder.to_path_buf(), calls: 0 }
    }

    /// Sends a command and returns the data of its response.
    pub(super) fn call(&mut self, command: Value) -> Value {
        self.call_watching(command, |_| ())
    }

    /// The same; `seen` gets every event up to the response.
    fn call_watching(&mut self, mut command: Value, mut seen: impl FnMut(&Value)) -> Value {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        command["id"] = json!(id);
        self.process.send(&command);
        self.process.expect(&format!("a response to {command}"), |line| {
            let event: Value = serde_json::from_str(line).ok()?;
            if event["type"] == "response" && event["id"] == json!(id) {
                assert!(event["success"] == json!(true), "{command}: {event}");
                return Some(event["data"].clone());
            }
            seen(&event);
            None
        })
    }

    /// Sends a message and waits until pi is idle, after retries and compactions.
    pub(super) fn prompt(&mut self, text: &str, images: &[Value]) {
        let mut run = Run::default();
        let command = json!({ "type": "prompt", "message": text, "images": images });
        self.call_watching(command, |event| run.see(event));
        while !self.has_settled(&mut run) {
            self.process.expect("the end of a run", |line| {
                let event: Value = serde_json::from_str(line).ok()?;
                run.see(&event);
                (event["type"] == "agent_settled" || event["type"] == "agent_end" || run.ended_beside)
                    .then_some(())
            });
        }
    }

    /// Runs a command of the extension, which says when it has ended.
    pub(super) fn command(&mut self, text: &str) {
        let mut has_ended = false;
        let is_end = |event: &Value| event["method"] == "notify" && event["message"] == "jumped";
        self.call_watching(json!({ "type": "prompt", "message": text }), |event| has_ended |= is_end(event));
        if !has_ended {
            let event = |line: &str| serde_json::from_str::<Value>(line).ok().filter(is_end);
            self.process.expect(&format!("the end of {text}"), event);
        }
    }

    /// Whether nothing more follows. Two questions, because what follows a run is started by it, not in it.
    fn has_settled(&mut self, run: &mut Run) -> bool {
        if self.reports_end {
            return run.has_settled;
        }
        if !run.has_ended || run.awaits_more {
            return false;
        }
        let is_idle =
            |state: &Value| state["isStreaming"] == json!(false) && state["isCompacting"] == json!(false);
        for _ in 0..2 {
            let state = self.call_watching(json!({ "type": "get_state" }), |event| run.see(event));
            if !is_idle(&state) || run.awaits_more || !run.has_ended {
                return false;
            }
        }
        true
    }

    /// Its transcripts; the one that it wrote last comes first.
    pub(super) fn transcripts(&self) -> Vec<PathBuf> {
        super::transcripts(&self.folder.join("agent/sessions/e2e"))
    }
}

/// What the events say about the run in progress.
#[derive(Default)]
struct Run {
    has_ended: bool,
    /// A retry or a compaction follows.
    awaits_more: bool,
    has_settled: bool,
    /// The last event ended a compaction or the retries without another run.
    ended_beside: bool,
}

impl Run {
    fn see(&mut self, event: &Value) {
        self.ended_beside = false;
        match event["type"].as_str().unwrap_or_default() {
            "agent_start" => (self.has_ended, self.awaits_more) = (false, false),
            "agent_end" => self.has_ended = true,
            "agent_settled" => self.has_settled = true,
            "auto_retry_start" | "auto_compaction_start" => self.awaits_more = true,
            "auto_retry_end" | "auto_compaction_end" if event["willRetry"] != json!(true) => {
                // Before a message is sent, a compaction belongs to no run.
                self.awaits_more = false;
                self.ended_beside = self.has_ended;
            }
            _ => {}
        }
    }
}
