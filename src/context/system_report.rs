//! Reports system prompt and tools of a pi transcript in the form of a gateway's run report, so that the budget and the
//! breakdown treat both alike (store-pi-1.5 B9, D6).

use crate::context::system::SystemState;
use crate::js::{self, JsString, Object, Value};
use crate::store::prompt_report::SystemPromptReport;

pub fn report_from_state(state: &SystemState) -> Option<SystemPromptReport> {
    SystemPromptReport::from_value(&report_value(state))
}

fn report_value(state: &SystemState) -> Value {
    let section = |name: &str| {
        let text = state.sections().find(|(key, _)| key.eq_str(name)).map(|(_, text)| text)?;
        text.as_str().cloned()
    };
    let chars = |text: &Option<JsString>| number(text.as_ref().map_or(0, JsString::len));
    let (project, skills, list) = (section("project_context"), section("skills"), section("tools"));
    let prompt = state.prompt().len();
    let project_chars = project.as_ref().map_or(0, JsString::len);
    let declared = Value::Array(state.tools().cloned().collect());
    let schema_chars = if state.tools().count() == 0 { 0 } else { js::stringify_len(&declared) };
    object([
        ("source", Value::from("transcript")),
        ("generatedAt", state.timestamp().cloned().unwrap_or(Value::Null)),
        (
            "systemPrompt",
            object([
                ("chars", number(prompt)),
                ("projectContextChars", number(project_chars)),
                ("nonProjectContextChars", number(prompt.saturating_sub(project_chars))),
            ]),
        ),
        ("injectedWorkspaceFiles", file_values(project.as_ref())),
        ("skills", object([("promptChars", chars(&skills)), ("entries", skill_values(skills.as_ref()))])),
        (
            "tools",
            object([
                ("listChars", chars(&list)),
                ("schemaChars", number(schema_chars)),
                ("entries", Value::Array(state.tools().map(tool_value).collect())),
            ]),
        ),
    ])
}

/// Reports a tool by the chars of its whole declaration, which is sent and estimated.
fn tool_value(tool: &Value) -> Value {
    let properties = tool.get("parameters").and_then(|schema| schema.get("properties")?.as_object());
    object([
        ("name", Value::String(js::to_text(tool.get("name")))),
        ("summaryChars", number(0)),
        ("schemaChars", number(js::stringify_len(tool))),
        ("propertiesCount", properties.map_or(Value::Null, |it| number(it.iter().len()))),
    ])
}

/// Finds the project files: each is in a tag that names its path.
fn file_values(section: Option<&JsString>) -> Value {
    let text = section.map(JsString::to_string_lossy).unwrap_or_default();
    let each = texts_between(&text, "<project_instructions path=\"", "</project_instructions>");
    let file = |block: &str| {
        let path = block.split('"').next().unwrap_or_default();
        let chars = number(JsString::from(block).len());
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        object([
            ("name", Value::from(name)),
            ("path", Value::from(path)),
            ("rawChars", chars.clone()),
            ("injectedChars", chars),
        ])
    };
    Value::Array(each.into_iter().map(file).collect())
}

/// Finds the offered skills, each with the size of its block.
fn skill_values(section: Option<&JsString>) -> Value {
    let text = section.map(JsString::to_string_lossy).unwrap_or_default();
    let skill = |block: &str| {
        let name = texts_between(block, "<name>", "</name>").first().copied().unwrap_or_default();
        object([("name", Value::from(name.trim())), ("blockChars", number(JsString::from(block).len()))])
    };
    Value::Array(texts_between(&text, "<skill>", "</skill>").into_iter().map(skill).collect())
}

/// Returns the texts between each pair of marks.
fn texts_between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let blocks = text.split(open).skip(1);
    blocks.filter_map(|rest| rest.split_once(close).map(|(block, _)| block)).collect()
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(Object::from(members))
}

fn number(count: usize) -> Value {
    Value::Number(count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{budget::FixedChars, system::replay_system_messages};
    use crate::context::{build_context, tokens::estimate_message};
    use crate::ids::LineIds;
    use crate::store::entry::ReadMode;
    use crate::store::load::load_for_release;
    use crate::store::source::Source;
    use crate::transcript::{Leaf, Tree};
    use crate::units::{Chars, Tokens};

    const SYSTEM: &str = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"system","content":"","sections":{
        "preamble":"You help.","tools":"<tools>\nread\n</tools>","project_context":"<project_context>\n<project_instructions path=\"/w/AGENTS.md\">\nbe brief\n</project_instructions>\n</project_context>",
        "skills":"<skills>\n  <skill>\n    <name>tmux</name>\n  </skill>\n</skills>"},"toolsAdded":[{"name":"read","description":"reads","parameters":{"properties":{"path":{}}}}],"timestamp":5}}"#;

    #[test]
    fn prompt_sections_are_reported_as_by_a_run() {
        let line = SYSTEM.replace('\n', "");
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{line}\n");
        let source = Source::from_memory("t.jsonl", text.into_bytes());
        let index =
            load_for_release(&source, ReadMode::Projected, &mut LineIds, &mut |_, _| true).expect("loads");
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        let state = replay_system_messages(&index, &context.messages).expect("replays").expect("a prompt");
        let report = report_from_state(&state).expect("a report");
        let file = (report.files[0].name.as_str(), report.files[0].path.as_deref());
        assert_eq!(file, ("AGENTS.md", Some("/w/AGENTS.md")));
        assert_eq!((report.skills[0].name.as_str(), report.tools[0].name.as_str()), ("tmux", "read"));
        assert_eq!(report.tools[0].property_count, Some(1));
        let fixed = FixedChars::new(&report);
        assert!(fixed.files > Chars(0.0) && fixed.files < fixed.system && fixed.tools > Chars(40.0));
        // The parts add up to the runtime's estimate, except for the blank lines between sections.
        let tokens = estimate_message(&context.messages[0].size).expect("measurable");
        assert!((tokens - (fixed.system + fixed.tools).to_tokens(4.0)).abs() < Tokens(4.0));
    }
}
