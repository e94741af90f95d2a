//! Lines of messages in every view.

use std::sync::Arc;

use super::*;
use crate::app::message::MessageArea;
use crate::app::message_layout::{MessageLayout, ViewOptions};
use crate::app::message_testing::{build_log, open};
use crate::session::message::MessageText;
use crate::units::Chars;

const FORM: BodyOptions = BodyOptions {
    view: MessageView::Text,
    side_by_side: false,
    show_end: false,
    hide_thinking: false,
    unfold: false,
};

fn result(text: &str, after: Option<&str>) -> MessageText {
    MessageText {
        entry: crate::ids::EntryIx(0),
        facts: vec![("role", "toolResult".into())],
        title: (Some("exec".into()), "make all".into()),
        parts: vec![TextPart { kind: PartKind::Text, text: text.into() }],
        planned_text: after.map(str::to_owned),
        fate: None,
        raw_line: "{}".into(),
    }
}

/// Renders lines as text: number, sign of the tone, text.
fn drawn(message: &MessageText, form: BodyOptions) -> Vec<String> {
    let body = MessageBody::new(message, form);
    let piece = |piece: &TextLine| {
        let sign = match piece.tone {
            LineTone::Plain => ' ',
            LineTone::Faded => '~',
            LineTone::Removed => '-',
            LineTone::Added => '+',
        };
        format!("{}{sign}{}", piece.number.map(|it| it.to_string()).unwrap_or_default(), body.text(piece))
    };
    let lines = body.lines.iter().map(|line| match line {
        BodyLine::Single(one) => piece(one),
        BodyLine::SideBySide(..) => "two".into(),
        BodyLine::Heading(name, words) => format!("[{name}: {words}]"),
        BodyLine::RemovedChars(chars) => format!("<{}>", chars.get()),
        BodyLine::FoldedLines(lines) => format!("<{lines} lines>"),
        BodyLine::Blank => String::new(),
        BodyLine::End => "end".into(),
    });
    lines.collect()
}

fn trimmed(head: &str, tail: &str, (h, t, n): (usize, usize, usize)) -> String {
    format!(
        "{head}\n...\n{tail}\n\n[Tool result trimmed: kept first {h} chars and last {t} chars of {n} chars.]"
    )
}

#[test]
fn a_trimmed_text_has_a_mark_at_the_removed_part() {
    let after = trimmed("one\ntw", "ee\nfour", (6, 7, 18));
    let message = result("one\ntwo\nthree\nfour", Some(&after));
    assert_eq!(drawn(&message, FORM), ["1 one", "2 tw", "<5>", "3 ee", "4 four"]);
    let unfolded = drawn(&message, BodyOptions { unfold: true, ..FORM });
    assert_eq!(unfolded, ["1 one", "2 tw", "<5>", "~o", "3~thr", " ee", "4 four"]);
}

#[test]
fn a_cleared_text_is_faint_below_its_replacement() {
    let message = result("one\ntwo", Some("[cleared]"));
    assert_eq!(drawn(&message, FORM), ["+[cleared]", "<7>", "1~one", "2~two"]);
}

#[test]
fn a_one_column_diff_shows_removed_lines_before_added_ones() {
    let after = trimmed("one\ntw", "ee\nfour", (6, 7, 22));
    let message = result("one\ntwo\nnew\nthree\nfour", Some(&after));
    let form = BodyOptions { view: MessageView::Diff, ..FORM };
    let note = "+[Tool result trimmed: kept first 6 chars and last 7 chars of 22 chars.]";
    let expected = ["1 one", "2 two", "3-new", "+...", "4 three", "5 four", "+", note];
    assert_eq!(drawn(&message, form), expected);
    assert!(
        drawn(&message, BodyOptions { side_by_side: true, show_end: true, ..form })
            .ends_with(&[String::new(), "end".into()])
    );
}

#[test]
fn texts_of_a_result_are_numbered_consecutively_and_images_named() {
    let mut message = result("one", None);
    message.parts.push(TextPart { kind: PartKind::Text, text: "two\nthree".into() });
    let image = PartKind::Image { mime: "image/png".into(), chars: Chars(12.0) };
    message.parts.push(TextPart { kind: image, text: String::new() });
    let lines = drawn(&message, FORM);
    assert_eq!(lines, ["1 one", "2 two", "3 three", "", "[image: image/png 12 chars of data]"]);
}

#[test]
fn thinking_can_be_hidden_and_an_empty_message_has_a_note() {
    let mut message = result("x", None);
    message.facts = vec![("role", "assistant".into())];
    message.parts.insert(0, TextPart { kind: PartKind::Thinking, text: "hm".into() });
    assert_eq!(drawn(&message, FORM), ["[thinking: 2 chars]", " hm", "", " x"]);
    let hidden = BodyOptions { hide_thinking: true, ..FORM };
    assert_eq!(drawn(&message, hidden), ["[thinking: 2 chars hidden]", "", " x"]);
    message.parts.clear();
    assert_eq!(drawn(&message, FORM), ["[empty: no content]"]);
}

#[test]
fn only_a_title_of_one_word_is_a_path() {
    let path = |title: &str| {
        let message = MessageText { title: (Some("read".into()), title.into()), ..result("", None) };
        let ContentKind::Output { path } = output_kind(&message) else { return None };
        path
    };
    assert_eq!(path("src/ring.rs").as_deref(), Some("src/ring.rs"));
    assert_eq!((path("cat src/ring.rs"), path("")), (None, None));
}

#[test]
fn four_hundred_kilobytes_are_laid_out_in_milliseconds() {
    let text: String = build_log().repeat(400_000 / build_log().len() + 1);
    let (head, tail) = (&text[..1_500], &text[text.len() - 1_500..]);
    let after = trimmed(head, tail, (1_500, 1_500, text.len()));
    let message = Arc::new(result(&text, Some(&after)));
    let mut app = open((130, 36), 2, false);
    app.message.set_text(Ok(message));
    let started = std::time::Instant::now();
    for (zoom, wrap) in [(true, false), (true, true), (false, true)] {
        (app.message.wrap, app.message.unfold) = (wrap, true);
        let shown = app.message.layout(MessageArea { columns: 128, rows: 30, zoom }).expect("a message");
        assert!(shown.rows() > 5_000);
    }
    // A generous limit for three layouts, without optimisation on a busy machine.
    assert!(started.elapsed().as_millis() < 1_500, "{:?}", started.elapsed());
}

#[test]
fn colours_continue_on_the_next_line_and_widths_do_not_count_their_codes() {
    let message = result("\u{1b}[31mred\u{1b}[0m x\n\u{1b}[1mbold\nstill\té\u{1b}[m end", None);
    let body = MessageBody::new(&message, FORM);
    let lines = body.lines.iter().filter_map(|line| match line {
        BodyLine::Single(piece) => Some((body.visible(piece).into_owned(), body.colours(piece))),
        _ => None,
    });
    let lines: Vec<_> = lines.collect();
    let styles = |at: usize| -> Vec<(usize, bool, bool)> {
        let colours = lines[at].1.iter();
        colours.map(|(at, style)| (*at, style.foreground.is_some(), style.is_bold)).collect()
    };
    assert_eq!([0, 1, 2].map(|at| lines[at].0.as_str()), ["red x", "bold", "still   é end"]);
    assert_eq!(styles(0), [(0, true, false), (3, false, false)]);
    assert_eq!(styles(1), [(0, false, false), (0, false, true)]);
    assert_eq!(styles(2), [(0, false, true), (10, false, false)]);
    let layout = MessageLayout::new(
        &Arc::new(message),
        ViewOptions { body_options: FORM, wrap: true, columns: (18, 0) },
    );
    assert_eq!(layout.rows(), 3, "codes take no columns");
    assert_eq!(layout.find("red x"), [0]);
}
