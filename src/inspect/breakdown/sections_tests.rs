use std::sync::Arc;

use super::*;
use crate::context::budget::FixedChars;
use crate::inspect::breakdown::heavy_blocks;
use crate::inspect::testing::{at, call, inspection, message, result, transcript, user};
use crate::js;
use crate::store::prompt_report::SystemPromptReport;

fn told(inspection: &Inspection) -> Vec<Section> {
    let contents = WindowContents::new(inspection, None);
    let blocks = heavy_blocks(inspection, &contents.heavy_entries(), &mut || true);
    sections(inspection, &contents, &blocks)
}

fn section(sections: &[Section], kind: SectionKind) -> &Section {
    sections.iter().find(|section| section.kind == kind).unwrap()
}

fn lines(section: &Section) -> Vec<(String, String, Option<u64>)> {
    let line = |line: &Line| (line.label.clone(), line.note.replace('\u{a0}', " "), line.figure.amount());
    section.lines.iter().map(line).collect()
}

fn with_report(text: &str, report: &str) -> Inspection {
    let report = SystemPromptReport::new(&js::parse(report).unwrap()).unwrap();
    Inspection {
        fixed: Some(FixedChars::new(&report)),
        report: Some(Arc::new(report)),
        ..inspection(text, 1_000.0)
    }
}

#[test]
fn images_are_told_apart_by_what_they_count() {
    let image = r#"{"type":"image","data":"x","mimeType":"image/png"}"#;
    let text = transcript(&[
        message(&format!(r#"{{"role":"user","content":[{image}]}}"#)),
        call("c", "shot", "{}"),
        message(&format!(
            r#"{{"role":"toolResult","toolCallId":"c","toolName":"shot","content":[{image},{image}],"isError":true}}"#
        )),
    ]);
    let sections = told(&inspection(&text, 1_000.0));
    let images = section(&sections, SectionKind::Images);
    assert_eq!(images.figure, Figure::Est(2_400));
    assert_eq!(
        images.note.replace('\u{a0}', " "),
        "2 at 1 200 tokens, of the above; 1 that the rule counts 0"
    );
    let results = section(&sections, SectionKind::Part(Part::Results));
    assert_eq!(lines(results), [("shot".into(), "1 result, 1 failed, 2 images".into(), Some(2_400))]);
    let heaviest = &section(&sections, SectionKind::Heaviest).lines[0];
    assert_eq!(heaviest.words.replace('\u{a0}', " "), "e2: heaviest block of 2 image, 4 800 chars");
    assert_eq!(heaviest.entry, Some(at(2)));
    assert!(
        told(&inspection(&transcript(&[user("hi")]), 1_000.0))
            .iter()
            .all(|it| it.kind != SectionKind::Images)
    );
}

#[test]
fn people_extensions_and_shells_speak_in_one_part() {
    let text = transcript(&[
        user("12345678"),
        r#"{"type":"custom_message","customType":"note","content":"1234","display":true}"#.into(),
        message(r#"{"role":"bashExecution","command":"ls","output":"12"}"#),
        message(r#"{"role":"toolResult","content":[{"type":"text","text":"1234"}]}"#),
    ]);
    let sections = told(&inspection(&text, 1_000.0));
    let you = lines(section(&sections, SectionKind::Part(Part::You)));
    let expected = [("messages", 2), ("of extensions", 1), ("shell commands", 1)];
    assert_eq!(you, expected.map(|(label, tokens)| (label.to_owned(), "1".to_owned(), Some(tokens))));
    let results = lines(section(&sections, SectionKind::Part(Part::Results)));
    assert_eq!(results[0].0, NAMELESS);
}

#[test]
fn a_tool_that_nothing_calls_is_told_with_its_schema() {
    let text = transcript(&[user("go"), call("c", "exec", "{}"), result("c", "exec", "done", "")]);
    let report = r#"{"source":"run","systemPrompt":{"chars":400},"tools":{"listChars":40,"schemaChars":300,
        "entries":[{"name":"exec","schemaChars":100,"propertiesCount":1},{"name":"cron","schemaChars":160,"summaryChars":41}]},
        "skills":{"promptChars":80,"entries":[{"name":"tmux","blockChars":60}]}}"#;
    let sections = told(&with_report(&text, report));
    let tools = section(&sections, SectionKind::Part(Part::Tools));
    assert_eq!(tools.note, "2 tools, 1 not called in this window");
    let expected = [
        ("cron", "not called", 40),
        ("exec", "1 property, 1 call", 25),
        ("of no tool in the list", "40 chars", 10),
    ];
    assert_eq!(lines(tools), expected.map(|(label, note, tokens)| (label.into(), note.into(), Some(tokens))));
    assert_eq!(tools.lines.iter().map(|line| line.entry).collect::<Vec<_>>(), [None, Some(at(1)), None]);
    let system = lines(section(&sections, SectionKind::Part(Part::System)));
    let labels: Vec<&str> = system.iter().map(|line| line.0.as_str()).collect();
    assert_eq!(labels, ["instructions", "skills", "tmux", "around them", "tool list"]);
}

#[test]
fn without_a_report_nothing_before_the_messages_is_made_up() {
    let sections = told(&inspection(&transcript(&[user("hi")]), 1_000.0));
    let kinds: Vec<SectionKind> = sections.iter().map(|section| section.kind).collect();
    let (system, you) = (SectionKind::Part(Part::System), SectionKind::Part(Part::You));
    assert_eq!(kinds, [system, you, SectionKind::Remainder, SectionKind::Heaviest, SectionKind::History]);
    assert_eq!((sections[0].figure, sections[2].figure), (Figure::Unknown, Figure::Unknown));
    assert_eq!(sections[2].note, "no usage recorded");
}

#[test]
fn a_message_that_cannot_be_read_again_says_what_is_wrong() {
    let inspection = inspection(&transcript(&[user("hi")]), 1_000.0);
    let contents = WindowContents::new(&inspection, None);
    let blocks = [(at(0), Err("line 2: changed since it was read".to_owned()))].into();
    let heaviest = sections(&inspection, &contents, &blocks);
    let line = &section(&heaviest, SectionKind::Heaviest).lines[0];
    assert!(line.warns && line.words.contains("changed"), "{line:?}");
}
