//! Tool calls with their results, in the form in which the gateway's tools store them.
use super::json::pretty;
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct ToolUse {
    pub(super) name: &'static str,
    pub(super) arguments: Value,
    pub(super) text: String,
    pub(super) details: Option<Value>,
    pub(super) is_error: bool,
    pub(super) took_ms: i64,
    /// ASCII chars per token of the result: 3.9 for prose, 2 for symbols, 1.4 for hex and base64.
    pub(super) chars_per_token: f64,
}

impl ToolUse {
    pub(super) fn new(name: &'static str, arguments: Value, text: String, details: Option<Value>) -> Self {
        Self { name, arguments, text, details, is_error: false, took_ms: 180, chars_per_token: 3.5 }
    }

    /// Sets the duration of the call.
    pub(super) fn after(mut self, ms: i64) -> Self {
        self.took_ms = ms;
        self
    }

    /// Sets the chars per token of the result.
    pub(super) fn dense(mut self, chars_per_token: f64) -> Self {
        self.chars_per_token = chars_per_token;
        self
    }
}

/// A shell command that exited with `code`. Its whole output is stored twice, in the text and in the details.
pub(super) fn exec(command: &str, cwd: &str, output: &str, code: i64, took_ms: i64) -> ToolUse {
    let mut text = output.trim_end().to_owned();
    if code != 0 {
        text = format!("{text}\n\n(Command exited with code {code})");
    }
    let details = json!({"status": "completed", "exitCode": code, "durationMs": took_ms, "aggregated": text,
        "cwd": cwd});
    ToolUse::new("exec", json!({"command": command}), text, Some(details)).after(took_ms)
}

/// A shell command that the gateway aborted; the thrown error is stored as an error object.
pub(super) fn exec_failed(command: &str, error: &str, took_ms: i64) -> ToolUse {
    let details = json!({"status": "error", "tool": "exec", "error": error});
    let text = pretty(&details);
    ToolUse { is_error: true, ..ToolUse::new("exec", json!({"command": command}), text, Some(details)) }
        .after(took_ms)
}

/// A command in the background; `process` calls follow it.
pub(super) fn exec_background(command: &str, cwd: &str, session: &str, pid: u64, now: i64) -> ToolUse {
    let text = format!(
        "Command still running (session {session}, pid {pid}). Use process (list/poll/log/write/kill/clear/remove) \
         for follow-up."
    );
    let details = json!({"status": "running", "sessionId": session, "pid": pid, "startedAt": now, "cwd": cwd,
        "tail": ""});
    let arguments = json!({"command": command, "background": true});
    ToolUse::new("exec", arguments, text, Some(details)).after(240)
}

/// Output of a background command since the last poll.
pub(super) fn process_poll(session: &str, name: &str, output: &str, ended: Option<i64>) -> ToolUse {
    let tail = ended.map_or_else(
        || "Process still running.".to_owned(),
        |code| format!("Process exited with code {code}."),
    );
    let mut details = json!({"status": if ended.is_some_and(|code| code == 0) { "completed" } else { "running" },
        "sessionId": session});
    if let Some(code) = ended {
        details["exitCode"] = json!(code);
    }
    details["aggregated"] = json!(output.trim_end());
    details["name"] = json!(name);
    let arguments = json!({"action": "poll", "sessionId": session, "timeout": 30000});
    ToolUse::new("process", arguments, format!("{}\n\n{tail}", output.trim_end()), Some(details))
        .after(30_120)
}

/// Log of a background command, without a second copy in the details.
pub(super) fn process_log(session: &str, name: &str, output: &str, limit: u64) -> ToolUse {
    let total = output.lines().count();
    let details = json!({"status": "running", "sessionId": session, "total": total, "totalLines": total,
        "totalChars": output.len(), "truncated": false, "name": name});
    let arguments = json!({"action": "log", "sessionId": session, "limit": limit});
    ToolUse::new("process", arguments, output.trim_end().to_owned(), Some(details)).after(35)
}

/// Reads a file; plain reads store no details.
pub(super) fn read(path: &str, text: &str) -> ToolUse {
    ToolUse::new("read", json!({"path": path}), text.to_owned(), None).after(22)
}

/// Replaces a text in a file; `line` is the first line of the replacement.
pub(super) fn edit(path: &str, old: &str, new: &str, line: usize) -> ToolUse {
    let numbered = |sign: &str, text: &str| -> Vec<String> {
        text.lines().enumerate().map(|(i, row)| format!("{sign}{:>4} {row}", line + i)).collect()
    };
    let diff = [numbered("-", old), numbered("+", new)].concat().join("\n");
    let details = json!({"diff": diff, "firstChangedLine": line});
    let arguments = json!({"path": path, "oldText": old, "newText": new});
    ToolUse::new("edit", arguments, format!("Successfully replaced text in {path}."), Some(details)).after(31)
}

/// Writes a whole file.
pub(super) fn write(path: &str, text: &str) -> ToolUse {
    let done = format!("Successfully wrote {} bytes to {path}", text.len());
    ToolUse::new("write", json!({"path": path, "content": text}), done, None).after(27)
}
