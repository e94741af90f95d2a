//! Pane and full screen as drawn.

use super::*;
use crate::app::message::MessageView;
use crate::app::message_testing::{open, open_session, select_entry};
use crate::session::testing::{call, message, result, transcript, user};
use crate::ui::highlight;
use crate::ui::message_body::LAID_OUT;
use crate::ui::theme::ColourDepth;

fn theme(name: &str) -> Theme {
    Theme::load(name, ColourDepth::True).expect("a built-in theme")
}

fn drawn(app: &App, theme: &Theme) -> Buffer {
    highlight::load();
    let area = app.layout().message;
    let mut buf = Buffer::empty(Rect::new(0, 0, app.size.0, app.size.1));
    buf.set_style(buf.area, theme.base());
    draw(app, theme, area, &mut buf);
    let mut pane = Buffer::empty(Rect { x: 0, y: 0, ..area });
    for y in 0..area.height {
        for x in 0..area.width {
            pane[(x, y)] = buf[(area.x + x, area.y + y)].clone();
        }
    }
    pane
}

/// Returns the rows as text, without trailing blanks.
fn text_of(buf: &Buffer) -> String {
    let width = usize::from(buf.area.width).max(1);
    let rows = buf.content.chunks(width).map(|row| {
        let mut skip = 0;
        let mut text = String::new();
        for cell in row {
            if skip == 0 {
                text.push_str(cell.symbol());
                skip = text::width(cell.symbol()).max(1);
            }
            skip -= 1;
        }
        text.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// Returns the rows as text, each with its style runs below it.
fn styled(buf: &Buffer) -> String {
    let width = usize::from(buf.area.width).max(1);
    let mut out = Vec::new();
    for (row, text) in buf.content.chunks(width).zip(text_of(buf).lines()) {
        out.push(text.to_owned());
        let mut runs: Vec<(String, usize)> = Vec::new();
        for cell in row {
            let style = format!(
                "{}/{}{}",
                hex(cell.fg),
                hex(cell.bg),
                if cell.modifier.is_empty() { String::new() } else { format!(" {:?}", cell.modifier) }
            );
            match runs.last_mut() {
                Some((last, count)) if *last == style => *count += 1,
                _ => runs.push((style, 1)),
            }
        }
        let runs: Vec<String> = runs.into_iter().map(|(style, count)| format!("{count}×{style}")).collect();
        out.push(format!("    {}", runs.join("  ")));
    }
    out.join("\n")
}

fn hex(colour: ratatui::style::Color) -> String {
    match colour {
        ratatui::style::Color::Rgb(red, green, blue) => format!("{red:02x}{green:02x}{blue:02x}"),
        other => other.to_string(),
    }
}

fn zoomed(size: (u16, u16), entry: usize, plan: bool) -> App {
    let mut app = open(size, entry, plan);
    app.zoom = true;
    app.update_message_layout();
    app
}

const SIZES: [(u16, u16); 3] = [(130, 36), (80, 24), (60, 20)];

#[test]
fn the_message_pane_shows_content_fate_and_reason() {
    for (width, height) in SIZES {
        for plan in [true, false] {
            let app = open((width, height), 2, plan);
            let name = format!("pane_{width}x{height}_{}", if plan { "plan" } else { "rest" });
            insta::assert_snapshot!(name, text_of(&drawn(&app, &theme("dark"))));
        }
    }
}

#[test]
fn the_full_screen_shows_before_and_after() {
    for (width, height) in SIZES {
        for plan in [true, false] {
            let app = zoomed((width, height), 2, plan);
            let name = format!("detail_{width}x{height}_{}", if plan { "plan" } else { "rest" });
            insta::assert_snapshot!(name, text_of(&drawn(&app, &theme("dark"))));
        }
    }
}

#[test]
fn dark_and_light_colour_the_same_meanings() {
    for name in ["dark", "light"] {
        insta::assert_snapshot!(
            format!("pane_{name}"),
            styled(&drawn(&open((80, 24), 2, true), &theme(name)))
        );
        insta::assert_snapshot!(
            format!("detail_{name}"),
            styled(&drawn(&zoomed((130, 36), 2, true), &theme(name)))
        );
    }
}

#[test]
fn an_answer_shows_thinking_text_code_and_its_call() {
    let mut app = zoomed((110, 30), 5, false);
    insta::assert_snapshot!("answer", text_of(&drawn(&app, &theme("dark"))));
    app.message.hide_thinking = true;
    let hidden = text_of(&drawn(&app, &theme("dark")));
    assert!(hidden.contains("hidden") && !hidden.contains("libatomic is missing"), "{hidden}");
}

#[test]
fn the_raw_entry_is_indented_json_in_the_themes_colours() {
    let mut app = zoomed((110, 30), 7, false);
    app.message.show(MessageView::Raw);
    let buf = drawn(&app, &theme("dark"));
    insta::assert_snapshot!("raw", text_of(&buf));
    let number = theme("dark").style(Role::Keyword).fg;
    assert!(buf.content.iter().any(|cell| Some(cell.fg) == number), "keys have a colour of their own");
}

#[test]
fn tool_output_never_reaches_a_cell_unescaped() {
    for view in [MessageView::Text, MessageView::Raw, MessageView::Diff] {
        for (zoom, wrap) in [(false, false), (true, true), (true, false)] {
            let mut app = open((130, 36), 9, true);
            (app.zoom, app.message.view, app.message.wrap) = (zoom, view, wrap);
            let buf = drawn(&app, &theme("dark"));
            let text: String = buf.content.iter().map(ratatui::buffer::Cell::symbol).collect();
            let hostile = |char: char| {
                char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            assert!(!text.contains(hostile), "{view:?} {text:?}");
            // The raw entry is one long line, which is truncated before this word unless it wraps.
            assert!(text.contains("drow") || (view == MessageView::Raw && !wrap), "{view:?}");
        }
    }
}

#[test]
fn failures_in_a_log_are_red_and_code_is_coloured_instead() {
    let mut app = zoomed((130, 36), 2, false);
    app.scroll_message(isize::MAX / 2);
    let buf = drawn(&app, &theme("dark"));
    let row = |needle: &str, buf: &Buffer| {
        let rows: Vec<String> = text_of(buf).lines().map(str::to_owned).collect();
        let y = rows.iter().position(|row| row.contains(needle)).expect("in sight");
        let at = rows[y].find(needle).map_or(0, |at| rows[y][..at].chars().count());
        buf[(at as u16, y as u16)].fg
    };
    let dark = theme("dark");
    assert_eq!(Some(row("FAILED", &buf)), dark.style(Role::Danger).fg);
    let code = drawn(&zoomed((130, 36), 4, false), &dark);
    assert_eq!(Some(row("\"ring\"", &code)), dark.style(Role::String).fg);
    assert_eq!(Some(row("42", &code)), dark.style(Role::Number).fg);
    assert_eq!(Some(row("// rings", &code)), dark.style(Role::Muted).fg);
}

#[test]
fn a_search_marks_and_reveals_its_match() {
    let mut app = zoomed((130, 36), 2, false);
    assert_eq!(app.find_in_message("ring_200."), 1);
    let text = text_of(&drawn(&app, &theme("dark")));
    assert!(text.contains("ring_200.cpp.o") && text.contains("match 1 of 1"), "{text}");
}

#[test]
fn without_colour_the_text_is_complete() {
    let app = zoomed((130, 36), 2, true);
    let mono = Theme::load("mono", ColourDepth::None).expect("a built-in theme");
    let (mono, dark) = (text_of(&drawn(&app, &mono)), text_of(&drawn(&app, &theme("dark"))));
    assert_eq!(mono, dark.replace('╱', " ").lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
}

#[test]
fn no_size_and_no_message_panics() {
    for (width, height) in [(60, 20), (61, 21), (79, 20), (99, 20), (100, 20), (130, 20), (400, 90)] {
        for entry in 0..11 {
            for plan in [true, false] {
                let mut app = open((width, height), entry, plan);
                for zoom in [true, false] {
                    app.zoom = zoom;
                    app.message.top = usize::MAX / 2;
                    drawn(&app, &theme("light"));
                }
            }
        }
    }
    let mut app = open((130, 36), 2, true);
    select_entry(&mut app, 4);
    let mut tiny = Buffer::empty(Rect::new(0, 0, 3, 2));
    draw(&app, &theme("dark"), Rect::new(0, 0, 130, 36), &mut tiny);
    draw(&app, &theme("dark"), Rect::new(0, 0, 0, 0), &mut tiny);
}

#[test]
fn a_message_that_cannot_be_read_says_why() {
    let mut app = open((130, 36), 2, false);
    let error = crate::store::body::BodyError::Changed { path: "memory.jsonl".into(), line: 4 };
    app.message.set_text(Err(error.into()));
    let text = text_of(&drawn(&app, &theme("dark")));
    assert!(text.contains("Cannot read the message") && text.contains("line 4"), "{text}");
}

#[test]
fn long_lines_are_laid_out_once_and_not_for_each_frame() {
    let log = format!("start {} end", "word ".repeat(40_000));
    let calls = [user("go"), call("c1", "exec", r#"{"command":"cat big"}"#), result("c1", "exec", &log, "")];
    let later = (0..8).flat_map(|_| [user("next"), message(r#"{"role":"assistant","content":[]}"#)]);
    let text = transcript(&calls.into_iter().chain(later).collect::<Vec<_>>());
    let mut app = open_session(&text, 20_000.0, (160, 40), 2, true);
    app.zoom = true;
    app.update_message_layout();
    app.message.query = "word".to_owned();
    assert!(app.message_screen().unwrap().layout.body.side_by_side, "the plan trims the result");
    let laid_out = || {
        let before = LAID_OUT.get();
        drawn(&app, &theme("dark"));
        LAID_OUT.get() - before
    };
    let first = laid_out();
    let again = laid_out();
    assert!(again < first, "{first} layouts, then {again}");
}

/// Entry 9 begins with a red word.
#[test]
fn colours_of_output_are_drawn_and_its_other_codes_are_shown() {
    let dark = theme("dark");
    let mut app = zoomed((130, 36), 9, false);
    let buf = drawn(&app, &dark);
    let rows: Vec<String> = text_of(&buf).lines().map(str::to_owned).collect();
    let y = rows.iter().position(|row| row.contains("red ⟨202E⟩drow⟨009B⟩2J␇")).expect("in sight");
    let x = rows[y].find("red ").map_or(0, |at| rows[y][..at].chars().count()) as u16;
    let ink = |x: u16| buf[(x, y as u16)].fg;
    assert_eq!((ink(x), ink(x + 2)), (ratatui::style::Color::Indexed(1), ratatui::style::Color::Indexed(1)));
    assert_eq!(Some(ink(x + 4)), dark.style(Role::Text).fg, "the colour ends");
    assert_eq!(app.find_in_message("red "), 1, "codes do not split words");
    let plain = drawn(&app, &theme("mono"));
    assert!(text_of(&plain).contains("red ⟨202E⟩drow"));
    app.message.toggle_raw();
    app.update_message_layout();
    let raw = text_of(&drawn(&app, &dark));
    assert!(raw.contains(r"\u001b[31mred"), "{raw}");
}
