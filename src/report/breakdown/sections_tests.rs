use std::sync::Arc;

use super::*;
use crate::context::budget::FixedChars;
use crate::js;
use crate::report::breakdown::heavy_blocks;
use crate::session::testing::{call, entry_ix, loaded_session, message, result, transcript, user};
use crate::store::body::BodyError;
use crate::store::prompt_report::SystemPromptReport;

fn reported(session: &LoadedSession) -> Vec<Section> {
    let contents = WindowContents::new(session, None);
    let blocks = heavy_blocks(session, &contents.heaviest_entries(), &mut || true);
    sections(session, &contents, &blocks)
}

fn section(sections: &[Section], kind: SectionKind) -> &Section {
    sections.iter().find(|section| section.kind == kind).unwrap()
}

fn lines(section: &Section) -> Vec<(String, String, Option<u64>)> {
    let line = |line: &Line| (line.label.clone(), line.note.clone(), line.figure.tokens());
    section.lines.iter().map(line).collect()
}

fn with_report(text: &str, report: &str) -> LoadedSession {
    let report = SystemPromptReport::from_value(&js::parse(report).unwrap()).unwrap();
    let mut session = LoadedSession {
        fixed_chars: Some(FixedChars::new(&report)),
        prompt_report: Some(Arc::new(report)),
        ..loaded_session(text, 1_000.0)
    };
    session.recount_prompt();
    session
}

#[test]
fn counted_and_free_images_are_listed_separately() {
    let image = r#"{"type":"image","data":"x","mimeType":"image/png"}"#;
    let text = transcript(&[
        message(&format!(r#"{{"role":"user","content":[{image}]}}"#)),
        call("c", "shot", "{}"),
        message(&format!(
            r#"{{"role":"toolResult","toolCallId":"c","toolName":"shot","content":[{image},{image}],"isError":true}}"#
        )),
    ]);
    let sections = reported(&loaded_session(&text, 1_000.0));
    let images = section(&sections, SectionKind::Images);
    assert_eq!(images.figure, Figure::Estimated(2_400));
    assert_eq!(images.note, "2 estimated at 1,200 tokens each, included above; 1 estimated at 0");
    let results = section(&sections, SectionKind::Part(BudgetPart::Results));
    assert_eq!(lines(results), [("shot".into(), "1 result, 1 failed, 2 images".into(), Some(2_400))]);
    let heaviest = &section(&sections, SectionKind::Heaviest).lines[0];
    assert_eq!(heaviest.explanation, "e2: heaviest block of 2 image, 4,800 chars");
    assert_eq!(heaviest.entry, Some(entry_ix(2)));
    assert!(
        reported(&loaded_session(&transcript(&[user("hi")]), 1_000.0))
            .iter()
            .all(|it| it.kind != SectionKind::Images)
    );
}

#[test]
fn user_extension_and_shell_messages_share_a_part() {
    let text = transcript(&[
        user("12345678"),
        r#"{"type":"custom_message","customType":"note","content":"1234","display":true}"#.into(),
        message(r#"{"role":"bashExecution","command":"ls","output":"12"}"#),
        message(r#"{"role":"toolResult","content":[{"type":"text","text":"1234"}]}"#),
    ]);
    let sections = reported(&loaded_session(&text, 1_000.0));
    let you = lines(section(&sections, SectionKind::Part(BudgetPart::User)));
    let expected = [("messages", 2), ("extension messages", 1), ("shell commands", 1)];
    assert_eq!(you, expected.map(|(label, tokens)| (label.to_owned(), "1".to_owned(), Some(tokens))));
    let results = lines(section(&sections, SectionKind::Part(BudgetPart::Results)));
    assert_eq!(results[0].0, UNNAMED);
}

#[test]
fn an_uncalled_tool_is_listed_with_the_size_of_its_schema() {
    let text = transcript(&[user("go"), call("c", "exec", "{}"), result("c", "exec", "done", "")]);
    let report = r#"{"source":"run","systemPrompt":{"chars":400},"tools":{"listChars":40,"schemaChars":300,
        "entries":[{"name":"exec","schemaChars":100,"propertiesCount":1},{"name":"cron","schemaChars":160,"summaryChars":41}]},
        "skills":{"promptChars":80,"entries":[{"name":"tmux","blockChars":60}]}}"#;
    let sections = reported(&with_report(&text, report));
    let tools = section(&sections, SectionKind::Part(BudgetPart::Tools));
    assert_eq!(tools.note, "2 tools, 1 not called in this window");
    let expected = [
        ("cron", "not called", 40),
        ("exec", "1 property, 1 call", 25),
        ("schemas of unlisted tools", "40 chars", 10),
    ];
    assert_eq!(lines(tools), expected.map(|(label, note, tokens)| (label.into(), note.into(), Some(tokens))));
    assert_eq!(
        tools.lines.iter().map(|line| line.entry).collect::<Vec<_>>(),
        [None, Some(entry_ix(1)), None]
    );
    let system = lines(section(&sections, SectionKind::Part(BudgetPart::System)));
    let labels: Vec<&str> = system.iter().map(|line| line.0.as_str()).collect();
    assert_eq!(labels, ["instructions", "skills", "tmux", "surrounding text", "tool list"]);
}

#[test]
fn without_a_report_the_system_part_is_unknown() {
    let sections = reported(&loaded_session(&transcript(&[user("hi")]), 1_000.0));
    let kinds: Vec<SectionKind> = sections.iter().map(|section| section.kind).collect();
    let (system, you) = (SectionKind::Part(BudgetPart::System), SectionKind::Part(BudgetPart::User));
    assert_eq!(kinds, [system, you, SectionKind::Remainder, SectionKind::Heaviest, SectionKind::History]);
    assert_eq!((sections[0].figure, sections[2].figure), (Figure::Unknown, Figure::Unknown));
    assert_eq!(sections[2].note, "no usage recorded");
}

#[test]
fn an_unreadable_message_shows_its_error() {
    let session = loaded_session(&transcript(&[user("hi")]), 1_000.0);
    let contents = WindowContents::new(&session, None);
    let changed = BodyError::Changed { path: "a.jsonl".to_owned(), line: 2 };
    let blocks = [(entry_ix(0), Err(Arc::new(changed)))].into();
    let heaviest = sections(&session, &contents, &blocks);
    let line = &section(&heaviest, SectionKind::Heaviest).lines[0];
    assert!(line.has_warning && line.explanation.contains("changed"), "{line:?}");
}
