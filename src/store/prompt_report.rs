//! Sizes of the system prompt: the only place on disk that tells them (store C6). All sizes in chars.

use crate::js::Value;

/// What was sent before the first message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SystemPromptReport {
    /// The whole system prompt.
    pub system_chars: f64,
    /// Of it, workspace files.
    pub project_chars: f64,
    /// JSON schemas of the tools, sent beside the prompt.
    pub tool_schema_chars: f64,
    /// Of the prompt, the list of tools.
    pub tool_list_chars: f64,
    /// Of the prompt, the skills.
    pub skills_chars: f64,
    /// Workspace files, in order.
    pub files: Vec<InjectedFile>,
    /// Tools by name with the size of their schemas.
    pub tools: Vec<(String, f64)>,
}

/// One workspace file in the prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InjectedFile {
    /// File name.
    pub name: String,
    /// Size on disk.
    pub raw_chars: f64,
    /// Size in the prompt.
    pub injected_chars: f64,
    /// Cut to a limit.
    pub truncated: bool,
    /// Expected, but not there.
    pub missing: bool,
}

impl SystemPromptReport {
    /// Reads a row's report; `None` when it is no object. Sizes of a wrong type count as 0.
    pub(super) fn new(raw: &Value) -> Option<Self> {
        raw.as_object()?;
        let size = |group: &str, key: &str| raw.get(group).map_or(0.0, |value| size_of(value, key));
        let items = |value: Option<&Value>| {
            value.and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
        };
        let tools = items(raw.get("tools").and_then(|tools| tools.get("entries")));
        Some(Self {
            system_chars: size("systemPrompt", "chars"),
            project_chars: size("systemPrompt", "projectContextChars"),
            tool_schema_chars: size("tools", "schemaChars"),
            tool_list_chars: size("tools", "listChars"),
            skills_chars: size("skills", "promptChars"),
            files: items(raw.get("injectedWorkspaceFiles")).iter().map(InjectedFile::new).collect(),
            tools: tools.iter().map(|tool| (name_of(tool), size_of(tool, "schemaChars"))).collect(),
        })
    }
}

impl InjectedFile {
    fn new(raw: &Value) -> Self {
        let flag = |key: &str| raw.get(key).and_then(Value::as_bool).unwrap_or_default();
        Self {
            name: name_of(raw),
            raw_chars: size_of(raw, "rawChars"),
            injected_chars: size_of(raw, "injectedChars"),
            truncated: flag("truncated"),
            missing: flag("missing"),
        }
    }
}

fn name_of(raw: &Value) -> String {
    super::rows::text_of(raw.get("name")).unwrap_or_default()
}

fn size_of(raw: &Value, key: &str) -> f64 {
    raw.get(key).and_then(Value::as_f64).filter(|size| size.is_finite() && *size >= 0.0).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    #[test]
    fn sizes_are_read_and_odd_ones_are_zero() {
        let raw = js::parse(
            r#"{"systemPrompt":{"chars":30000,"projectContextChars":12000},"skills":{"promptChars":"x"},
            "tools":{"listChars":900,"schemaChars":15000,"entries":[{"name":"exec","schemaChars":700},null]},
            "injectedWorkspaceFiles":[{"name":"AGENTS.md","rawChars":9000,"injectedChars":8000,"truncated":true},5]}"#,
        )
        .unwrap();
        let report = SystemPromptReport::new(&raw).unwrap();
        assert_eq!((report.system_chars, report.project_chars), (30_000.0, 12_000.0));
        assert_eq!(
            (report.tool_schema_chars, report.tool_list_chars, report.skills_chars),
            (15_000.0, 900.0, 0.0)
        );
        assert_eq!(report.tools, [("exec".to_owned(), 700.0), (String::new(), 0.0)]);
        assert_eq!(report.files[0].injected_chars, 8000.0);
        assert!(report.files[0].truncated && !report.files[0].missing);
        assert_eq!(report.files[1], InjectedFile::default());
        assert_eq!(SystemPromptReport::new(&Value::Null), None);
    }
}
