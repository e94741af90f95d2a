//! Sizes of the system prompt, as the gateway reports them in the session record (store C6, compaction 11.1) or in the
//! recording of a run (trajectory 6.4). All sizes are in chars. Any key may be absent or of a wrong type; the rest is
//! still read.

use super::session_record::{SessionRecord, trimmed_text};
use crate::js::Value;
use crate::units::{Chars, Moment};

/// Limit for a plausible size: a trillion chars, so that sums stay exact.
const MAX_SIZE: f64 = 1e12;

/// Sizes of everything that was sent before the first message.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemPromptReport {
    pub source: ReportSource,
    /// Ms since the epoch.
    pub generated_at: Option<Moment>,
    pub session_id: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    /// Folder of the workspace files.
    pub workspace: Option<String>,
    /// `bootstrapMaxChars`: longer files are cut to it (compaction 11.9).
    pub max_file_chars: Option<Chars>,
    /// `bootstrapTotalMaxChars`: limit of all files together.
    pub max_total_chars: Option<Chars>,
    pub sandbox: Option<Sandbox>,
    /// Chars of the whole system prompt.
    pub system_chars: Chars,
    /// Part of `system_chars`: workspace files with the headings between them.
    pub project_chars: Chars,
    /// Part of `system_chars`: skills.
    pub skills_chars: Chars,
    /// Part of `system_chars`: the list of tools.
    pub tool_list_chars: Chars,
    /// JSON schemas of the tools, sent next to the prompt.
    pub tool_schema_chars: Chars,
    pub files: Vec<InjectedFile>,
    pub skills: Vec<SkillSize>,
    pub tools: Vec<ToolSize>,
    /// The recorded report.
    pub raw: Value,
}

/// Origin of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportSource {
    /// Sizes that a run sent.
    Run,
    /// Estimate without a run; the gateway ignores a stored one (compaction 11.4).
    Estimate,
    /// The transcript itself: the prompt in force at the leaf (store-pi-1.5 D6).
    Transcript,
    /// The gateway's recording of the run; the record has none (trajectory 6.4).
    Recorded,
    /// Estimated by clawscope from the current workspace: no run left a report.
    Workspace,
    #[default]
    Unknown,
}

impl ReportSource {
    /// Describes the origin for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::Run => "report of a run",
            Self::Estimate => "the gateway's estimate",
            Self::Transcript => "from the transcript",
            Self::Recorded => "recording of a run",
            Self::Workspace => "estimated: no report stored",
            Self::Unknown => "report of unknown origin",
        }
    }

    /// Returns the word of the gateway's file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Estimate => "estimate",
            Self::Transcript => "transcript",
            Self::Recorded => "recorded",
            Self::Workspace => "workspace",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// `off`, `non-main`, `all`.
    pub mode: Option<String>,
    /// Whether this session ran in a sandbox.
    pub is_sandboxed: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct InjectedFile {
    pub name: String,
    pub path: Option<String>,
    /// Chars on disk, without trailing white space.
    pub raw_chars: Chars,
    /// Chars in the prompt; for a missing file, of the notice in its place.
    pub injected_chars: Chars,
    /// Whether it was cut to a limit.
    pub is_truncated: bool,
    /// Whether it was expected but absent.
    pub is_missing: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkillSize {
    pub name: String,
    /// Chars of its block.
    pub chars: Chars,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolSize {
    pub name: String,
    /// Chars of its description, which is sent with the schema and which no estimate counts.
    pub summary_chars: Chars,
    /// Chars of its parameters as JSON.
    pub schema_chars: Chars,
    /// Number of parameters; `None` when not recorded.
    pub property_count: Option<u64>,
}

impl SystemPromptReport {
    /// Reads a recorded report; `None` when it is not an object. Sizes of a wrong type count as 0.
    pub fn from_value(raw: &Value) -> Option<Self> {
        raw.as_object()?;
        let text = |key: &str| trimmed_text(raw.get(key));
        let size = |group: &str, key: &str| raw.get(group).map_or(Chars::ZERO, |value| chars_of(value, key));
        Some(Self {
            source: parse_source(raw),
            generated_at: raw
                .get("generatedAt")
                .and_then(Value::as_f64)
                .map(Moment)
                .filter(|at| at.is_finite()),
            session_id: text("sessionId"),
            provider: text("provider"),
            model: text("model"),
            workspace: text("workspaceDir"),
            max_file_chars: known_chars(raw, "bootstrapMaxChars"),
            max_total_chars: known_chars(raw, "bootstrapTotalMaxChars"),
            sandbox: raw.get("sandbox").and_then(Sandbox::from_value),
            system_chars: size("systemPrompt", "chars"),
            project_chars: size("systemPrompt", "projectContextChars"),
            skills_chars: size("skills", "promptChars"),
            tool_list_chars: size("tools", "listChars"),
            tool_schema_chars: size("tools", "schemaChars"),
            files: items(raw.get("injectedWorkspaceFiles")).iter().map(InjectedFile::from_value).collect(),
            skills: group_entries(raw, "skills").iter().map(SkillSize::from_value).collect(),
            tools: group_entries(raw, "tools").iter().map(ToolSize::from_value).collect(),
            raw: raw.clone(),
        })
    }

    pub fn truncated_files(&self) -> impl Iterator<Item = &InjectedFile> {
        self.files.iter().filter(|file| file.is_truncated && !file.is_missing)
    }

    pub fn missing_files(&self) -> impl Iterator<Item = &InjectedFile> {
        self.files.iter().filter(|file| file.is_missing)
    }

    pub fn description_chars(&self) -> Chars {
        self.tools.iter().map(|tool| tool.summary_chars).sum()
    }
}

impl SessionRecord {
    /// Parses the sizes of the system prompt at the last run (store C6); on demand, because it is the largest part of a
    /// record.
    pub fn prompt_report(&self) -> Option<SystemPromptReport> {
        SystemPromptReport::from_value(&self.prompt_report_value()?)
    }
}

impl Sandbox {
    fn from_value(raw: &Value) -> Option<Self> {
        raw.as_object()?;
        Some(Self {
            mode: trimmed_text(raw.get("mode")),
            is_sandboxed: raw.get("sandboxed").and_then(Value::as_bool),
        })
    }
}

impl InjectedFile {
    fn from_value(raw: &Value) -> Self {
        let flag = |key: &str| raw.get(key).and_then(Value::as_bool).unwrap_or_default();
        Self {
            name: name_of(raw),
            path: trimmed_text(raw.get("path")),
            raw_chars: chars_of(raw, "rawChars"),
            injected_chars: chars_of(raw, "injectedChars"),
            is_truncated: flag("truncated"),
            is_missing: flag("missing"),
        }
    }

    /// Returns `ok`, `truncated` or `missing`.
    pub fn status(&self) -> &'static str {
        match self {
            Self { is_missing: true, .. } => "missing",
            Self { is_truncated: true, .. } => "truncated",
            _ => "ok",
        }
    }
}

impl SkillSize {
    fn from_value(raw: &Value) -> Self {
        Self { name: name_of(raw), chars: chars_of(raw, "blockChars") }
    }
}

impl ToolSize {
    fn from_value(raw: &Value) -> Self {
        Self {
            name: name_of(raw),
            summary_chars: chars_of(raw, "summaryChars"),
            schema_chars: chars_of(raw, "schemaChars"),
            property_count: known_size(raw, "propertiesCount"),
        }
    }
}

fn parse_source(raw: &Value) -> ReportSource {
    match raw.get("source") {
        Some(source) if source.str_is("run") => ReportSource::Run,
        Some(source) if source.str_is("estimate") => ReportSource::Estimate,
        Some(source) if source.str_is("transcript") => ReportSource::Transcript,
        Some(source) if source.str_is("workspace") => ReportSource::Workspace,
        _ => ReportSource::Unknown,
    }
}

fn group_entries<'a>(raw: &'a Value, group: &str) -> &'a [Value] {
    items(raw.get(group).and_then(|group| group.get("entries")))
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).unwrap_or_default()
}

fn name_of(raw: &Value) -> String {
    trimmed_text(raw.get("name")).unwrap_or_default()
}

fn known_size(raw: &Value, key: &str) -> Option<u64> {
    let size = raw.get(key).and_then(Value::as_f64)?;
    (0.0..=MAX_SIZE).contains(&size).then_some(size as u64)
}

fn known_chars(raw: &Value, key: &str) -> Option<Chars> {
    known_size(raw, key).map(|size| Chars(size as f64))
}

fn chars_of(raw: &Value, key: &str) -> Chars {
    known_chars(raw, key).unwrap_or(Chars::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn report(json: &str) -> SystemPromptReport {
        SystemPromptReport::from_value(&js::parse(json).unwrap()).unwrap()
    }

    #[test]
    fn sizes_are_read_and_odd_ones_are_zero() {
        let report = report(
            r#"{"systemPrompt":{"chars":30000,"projectContextChars":12000},"skills":{"promptChars":"x"},
            "tools":{"listChars":900,"schemaChars":15000,"entries":[{"name":"exec","schemaChars":700,"summaryChars":-4,"propertiesCount":null},null]},
            "injectedWorkspaceFiles":[{"name":"AGENTS.md","rawChars":9000,"injectedChars":8000,"truncated":true},5,{"rawChars":1e300}]}"#,
        );
        assert_eq!((report.system_chars, report.project_chars), (Chars(30_000.0), Chars(12_000.0)));
        assert_eq!(
            (report.tool_schema_chars, report.tool_list_chars, report.skills_chars),
            (Chars(15_000.0), Chars(900.0), Chars::ZERO)
        );
        let exec = ToolSize { name: "exec".into(), schema_chars: Chars(700.0), ..ToolSize::default() };
        assert_eq!(report.tools, [exec, ToolSize::default()]);
        assert_eq!((report.files[0].injected_chars, report.files[0].status()), (Chars(8_000.0), "truncated"));
        assert_eq!(report.files[1..], [InjectedFile::default(), InjectedFile::default()]);
        assert_eq!(SystemPromptReport::from_value(&Value::Null), None);
    }

    #[test]
    fn the_origin_of_a_report_is_read_and_odd_fields_are_ignored() {
        let full = report(
            r#"{"source":"run","generatedAt":5,"sessionId":"s","provider":"p","model":"m","workspaceDir":"/w",
            "bootstrapMaxChars":20000,"bootstrapTotalMaxChars":150000,"sandbox":{"mode":"all","sandboxed":true},
            "skills":{"entries":[{"name":"tmux","blockChars":886}]},"zzz":1}"#,
        );
        assert_eq!((full.source, full.generated_at), (ReportSource::Run, Some(Moment(5.0))));
        assert_eq!(
            (full.max_file_chars, full.max_total_chars),
            (Some(Chars(20_000.0)), Some(Chars(150_000.0)))
        );
        assert_eq!(full.sandbox, Some(Sandbox { mode: Some("all".into()), is_sandboxed: Some(true) }));
        assert_eq!(full.skills, [SkillSize { name: "tmux".into(), chars: Chars(886.0) }]);
        assert!(full.raw.get("zzz").is_some());
        let odd = report(
            r#"{"source":7,"generatedAt":"now","bootstrapMaxChars":"2","sandbox":[],"skills":[],"tools":{"entries":{}}}"#,
        );
        assert_eq!((odd.source, odd.generated_at, odd.max_file_chars), (ReportSource::Unknown, None, None));
        assert!(odd.sandbox.is_none() && odd.skills.is_empty() && odd.tools.is_empty());
    }
}
