//! The report of a prompt that the gateway keeps in the session record (compaction 11.1).
use super::prompt::Prompt;
use super::transcript_writer::TranscriptWriter;
use serde_json::{Value, json};

/// `bootstrapMaxChars` of the demo gateway: limit of chars per workspace file.
pub(super) const MAX_FILE: u64 = 8_000;

impl Prompt {
    /// Returns the `systemPromptReport` of the last run under `key` (compaction 11.1).
    pub(super) fn report(&self, scribe: &TranscriptWriter, key: &str) -> Value {
        let files = self.files.iter().map(|(name, raw, chars)| {
            json!({"name": name, "path": format!("{}/{name}", self.workspace), "missing": raw.is_none(),
                "rawChars": raw.unwrap_or(0), "injectedChars": chars, "truncated": raw.is_some_and(|raw| *chars < raw)})
        });
        let skills = self.skills.iter().map(|(name, chars)| json!({"name": name, "blockChars": chars}));
        let tools = self.tools.iter().map(|(name, summary, schema, properties)| {
            json!({"name": name, "summaryChars": summary, "schemaChars": schema,
                "propertiesCount": properties})
        });
        let list: u64 = self.tools.iter().map(|(name, ..)| name.len() as u64 + 58).sum();
        let block: u64 = self.skills.iter().map(|(_, chars)| chars).sum();
        json!({
            "source": "run", "generatedAt": scribe.updated_ms - 4_120, "sessionId": scribe.id, "sessionKey": key,
            "provider": scribe.model.provider, "model": scribe.model.id, "workspaceDir": self.workspace,
            "bootstrapMaxChars": MAX_FILE, "bootstrapTotalMaxChars": 150_000,
            "sandbox": {"mode": "off", "sandboxed": false},
            "systemPrompt": {"chars": self.base_chars + self.files_chars(), "projectContextChars": self.files_chars(),
                "nonProjectContextChars": self.base_chars},
            "injectedWorkspaceFiles": files.collect::<Vec<_>>(),
            "skills": {"promptChars": if block == 0 { 0 } else { block + 310 },
                "entries": skills.collect::<Vec<_>>()},
            "tools": {"listChars": list, "schemaChars": self.schema_chars(), "entries": tools.collect::<Vec<_>>()},
        })
    }
}
