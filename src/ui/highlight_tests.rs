//! The language comes from path, content and fences, and only visible lines are parsed.

use std::time::Instant;

use super::*;
use crate::app::message::MessageView;
use crate::app::message_body::BodyOptions;
use crate::app::message_layout::ViewOptions;
use crate::session::message::{MessageText, PartKind, TextPart};

fn shown(role: &str, title: &str, text: &str) -> Arc<MessageLayout> {
    let message = MessageText {
        entry: crate::ids::EntryIx(0),
        facts: vec![("role", role.into())],
        title: (Some("read".into()), title.into()),
        parts: vec![TextPart { kind: PartKind::Text, text: text.into() }],
        planned_text: None,
        fate: None,
        raw_line: "{}".into(),
    };
    let form = BodyOptions {
        view: MessageView::Text,
        side_by_side: false,
        show_end: false,
        hide_thinking: false,
        unfold: false,
    };
    Arc::new(MessageLayout::new(
        &Arc::new(message),
        ViewOptions { body_options: form, wrap: false, columns: (80, 0) },
    ))
}

fn coloured(shown: &Arc<MessageLayout>, line: usize) -> Vec<(String, Role)> {
    load();
    let spans = spans(shown, line..line + 1);
    let BodyLine::Single(piece) = &shown.body.lines[line] else { panic!("a line of text") };
    let text = text::visible(shown.body.text(piece)).into_owned();
    spans[0][0].iter().map(|(range, role)| (text[range.clone()].to_owned(), *role)).collect()
}

fn language_of(title: &str, text: &str) -> Option<String> {
    load();
    let body = &shown("toolResult", title, text).body;
    let set = SYNTAXES.get()?;
    syntax_of(set, &body.texts[0].kind, &body.texts[0].text).map(|syntax| syntax.name.clone())
}

#[test]
fn the_language_is_detected_by_the_path_or_the_first_line() {
    assert_eq!(language_of("src/ring.rs", "x").as_deref(), Some("Rust"));
    assert_eq!(language_of("a.py", "{\"a\":1}").as_deref(), Some("Python"));
    assert_eq!(language_of("curl -s x", " {\"a\": 1}").as_deref(), Some("JSON"));
    assert_eq!(language_of("curl -s x", "[{}]").as_deref(), Some("JSON"));
    assert_eq!(language_of("git show", "diff --git a/x b/x\n").as_deref(), Some("Diff"));
    assert_eq!(language_of("cat run", "#!/bin/sh\nls").as_deref(), Some("Bourne Again Shell (bash)"));
}

#[test]
fn logs_prose_and_web_pages_have_no_language() {
    assert_eq!(language_of("make all", "[1/4] Building"), None);
    assert_eq!(language_of("https://example.org/a.rs", "words"), None);
    assert_eq!(language_of("notes.unknown", "words"), None);
    assert_eq!(language_of("list", "[ok] done"), None);
}

#[test]
fn code_between_fences_is_coloured_and_the_rest_is_not() {
    let shown = shown("assistant", "", "let it be\n```rust\nlet x = 1;\n```\nlet it be");
    assert!(coloured(&shown, 0).is_empty());
    assert_eq!(coloured(&shown, 1), [("```rust".to_owned(), Role::Muted)]);
    assert!(coloured(&shown, 2).contains(&("let".to_owned(), Role::Keyword)));
    assert!(coloured(&shown, 2).contains(&("1".to_owned(), Role::Number)));
    assert!(coloured(&shown, 4).is_empty());
}

#[test]
fn a_fence_far_above_still_counts() {
    let text = format!("```rust\n{}let x = 1;\n```", "// more\n".repeat(300));
    assert!(coloured(&shown("assistant", "", &text), 301).contains(&("let".to_owned(), Role::Keyword)));
}

#[test]
fn keys_texts_and_numbers_of_json_differ() {
    let shown = shown("toolResult", "curl", "{\"name\": \"ring\", \"n\": 12, \"ok\": true}");
    let spans = coloured(&shown, 0);
    let roles = |role: Role| {
        spans.iter().filter(|(_, own)| *own == role).map(|(text, _)| text.as_str()).collect::<String>()
    };
    assert_eq!(roles(Role::Keyword), "\"name\"\"n\"\"ok\"");
    assert_eq!((roles(Role::String), roles(Role::Number)), ("\"ring\"".into(), "12true".into()));
}

#[test]
fn very_long_lines_are_not_coloured_and_later_lines_are() {
    let text = format!("let a = 1;\n// {}\nlet b = 2;", "x".repeat(5_000));
    let shown = shown("toolResult", "a.rs", &text);
    assert!(coloured(&shown, 1).is_empty());
    assert!(!coloured(&shown, 2).is_empty());
}

#[test]
fn only_lines_around_those_in_sight_are_parsed() {
    load();
    let shown = shown("toolResult", "a.rs", &"let a = \"text\"; // and more\n".repeat(100_000));
    let started = Instant::now();
    assert_eq!(spans(&shown, 50_000..50_040).len(), 40);
    // Parsing the whole text would take seconds; the limit also holds without optimisation.
    assert!(started.elapsed().as_millis() < 1_000, "{:?}", started.elapsed());
    let parsed = LAST.with_borrow(|last| last.as_ref().map_or(0, |window| window.lines.len()));
    assert!((40..=40 + 2 * CONTEXT_LINES).contains(&parsed), "{parsed}");
}
