//! The help: keys of the current screen, search, signs and the guide.

use clawscope::app::screens::help::{HelpArea, HelpDocument, HelpLine, HelpPage, HelpScreen, sign_widths};
use clawscope::app::state::Overlay;
use clawscope::text;

use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

fn demo() -> Driver {
    let mut driver = Driver::demo(140, 40);
    driver.go_to("telegram:direct:8812");
    driver
}

fn help(driver: &Driver) -> &HelpScreen {
    match driver.app.overlay() {
        Some(Overlay::Help(screen)) => screen,
        other => panic!("no help but {other:?}"),
    }
}

/// Every row of the help as text, column after column.
pub(super) fn rows(driver: &Driver) -> Vec<String> {
    let layout = driver.app.help_layout(help(driver));
    let mut rows: Vec<String> = Vec::new();
    for line in layout.columns.iter().flatten() {
        rows.push(match line {
            HelpLine::Heading(words) | HelpLine::Subheading(words) | HelpLine::Text(words) => words.clone(),
            HelpLine::Entry(entry) => format!("{} {} {}", entry.lead, entry.name, entry.words),
            HelpLine::More(words, _) => {
                let entry = rows.last_mut().expect("an entry above");
                entry.push(' ');
                entry.push_str(words);
                continue;
            }
            HelpLine::Blank => String::new(),
        });
    }
    rows
}

fn place(rows: &[String], words: &str) -> usize {
    rows.iter().position(|row| row.contains(words)).unwrap_or_else(|| panic!("no {words} in {rows:#?}"))
}

#[test]
fn the_keys_that_work_here_come_first() {
    let mut driver = demo();
    driver.press("2 ?");
    let found = rows(&driver);
    assert_eq!(found[0], "Here: Transcript");
    let everywhere = place(&found, "Everywhere");
    assert!(place(&found, "next, previous user turn") < everywhere);
    assert!(place(&found, "why it overflowed") > everywhere);
    assert!(place(&found, "no message has changed yet") > place(&found, "Not now"));
    driver.press("esc plan ?");
    assert!(place(&rows(&driver), "} {  next, previous change") < place(&rows(&driver), "Everywhere"));
    for (keys, name) in
        [("esc 1 ?", "Sessions"), ("esc 4 ?", "Tuning"), ("esc t ?", "Timeline"), ("esc esc w ?", "Compare")]
    {
        driver.press(keys);
        assert_eq!(rows(&driver)[0], format!("Here: {name}"));
    }
    assert!(rows(&driver).iter().any(|row| row.contains("Numbers here")));
}

#[test]
fn a_key_without_an_effect_is_not_offered() {
    let mut driver = demo();
    let without_command = "only explain has a command to copy";
    driver.press("b ?");
    let found = rows(&driver);
    assert!(place(&found, without_command) > place(&found, "Not now"));
    assert!(!found.iter().any(|row| row.starts_with("x ")), "no policy is on this screen: {found:#?}");
    driver.press("esc esc e ?");
    assert!(!rows(&driver).iter().any(|row| row.contains(without_command)));
}

#[test]
fn the_help_is_searched_while_one_types() {
    let mut driver = demo();
    driver.press("? / text:soft-tr");
    assert!(rows(&driver).iter().any(|row| row.contains("soft-trimmed start and end stay")));
    assert!(!rows(&driver).iter().any(|row| row.contains("quit")));
    driver.press("ctrl-u text:q");
    assert!(rows(&driver).iter().any(|row| row.contains("quit")), "q is a letter here");
    driver.press("esc");
    assert!(!help(&driver).is_typing && help(&driver).search.text().is_empty());
    driver.press("/ text:zzzzzz enter esc");
    assert_eq!(rows(&driver)[0], "Here: Transcript");
    driver.press("esc");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn every_action_is_found_with_the_key_of_the_place_where_it_works() {
    let mut driver = demo();
    for (words, found) in [
        ("wrap", "v l  toggle line wrap"),
        ("pager", "v o  open in pager"),
        ("copy patch", "y p  copy the config patch"),
        ("reload", ":reload  reload"),
        ("swap axes", "v x  swap axes"),
    ] {
        driver.press(&format!("? / text:{} enter", words.replace(' ', " space text:")));
        let rows = rows(&driver);
        assert!(rows.iter().any(|row| row.starts_with(found)), "{words}: {rows:#?}");
        driver.press("esc esc");
    }
}

#[test]
fn all_keys_are_listed_in_the_place_where_they_work() {
    let mut driver = demo();
    driver.press("? tab tab");
    assert_eq!(help(&driver).page, HelpPage::Keys);
    let rows = rows(&driver);
    let questions = place(&rows, "Questions before a write");
    for only_in_a_question in ["P  copy the config patch", "R  reload", "A  repair"] {
        assert!(place(&rows, only_in_a_question) > questions, "{only_in_a_question}");
    }
    assert!(place(&rows, "y p  copy the config patch") < questions);
    assert!(rows.iter().all(|row| !row.starts_with("  ")), "a key is missing: {rows:#?}");
}

#[test]
fn pages_of_the_guide_open_from_the_help_and_lead_back() {
    let mut driver = demo();
    driver.press("? tab tab tab");
    assert_eq!(help(&driver).page, HelpPage::Guide);
    driver.press("j j enter");
    assert!(matches!(help(&driver).document, Some(HelpDocument::Topic(topic)) if topic.name == "keys"));
    assert_eq!(rows(&driver)[0], "Keys");
    driver.press("G j k esc");
    assert_eq!((help(&driver).document, help(&driver).scroll.cursor), (None, 2));
    driver.press("/ text:safeguard enter enter");
    assert!(help(&driver).document.is_some(), "a page with the word opens");
    driver.press("esc esc esc");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn a_rule_is_a_page_that_scrolls_is_found_and_leads_back() {
    let mut driver = Driver::demo(80, 24);
    driver.press("4 v r");
    let Some(HelpDocument::Rule(rule)) = help(&driver).document else {
        panic!("{:?}", help(&driver).document)
    };
    assert_eq!(rule.document.name, "pruning");
    assert_eq!(rows(&driver)[0], rule.title);
    driver.press("j j");
    assert_eq!(help(&driver).scroll.top, 2);
    driver.press("g / text:soft-trimmed");
    assert!(help(&driver).is_searching(), "the search covers the whole help");
    assert!(rows(&driver).contains(&"Rules".to_owned()));
    driver.press("enter G enter");
    let Some(HelpDocument::Rule(found)) = help(&driver).document else { panic!("a rule opens") };
    assert_ne!(found, rule);
    driver.press("esc");
    assert!(help(&driver).document.is_none() && help(&driver).is_searching());
    driver.press("esc esc v r esc");
    assert!(driver.app.overlay().is_none(), "a rule that opened by itself leads back to its row");
}

#[test]
fn the_end_of_a_page_stops_scrolling_at_every_size() {
    for (width, height) in [(140, 40), (80, 24), (60, 20)] {
        let mut driver = Driver::demo(width, height);
        driver.press("? G");
        let end = help(&driver).scroll.top;
        driver.press("j j j");
        assert_eq!(help(&driver).scroll.top, end);
        if end > 0 {
            driver.press("k");
            assert_eq!(help(&driver).scroll.top, end - 1);
        }
    }
}

#[test]
fn a_key_without_an_effect_says_why() {
    let mut driver = demo();
    let mut note_of = |keys: &str| {
        driver.press(keys);
        driver.app.toast.take().map(|toast| toast.text).unwrap_or_default()
    };
    assert_eq!(note_of("2 alt-z"), "alt-z works in Tuning, Timeline: undo the last change");
    assert_eq!(note_of("1 }"), "} works in Transcript and message: next changed message");
    assert_eq!(note_of("2 }"), "no message has changed yet");
    assert_eq!(note_of("n"), "no search is active");
    assert_eq!(note_of("3 N"), "no search is active");
    assert_eq!(note_of("2 : text:save-plan enter"), "no plan to save");
    assert_eq!(note_of(": text:headroom enter"), "only compare has this");
    let app = &mut driver.app;
    app.transcript = None;
    driver.press("u");
    assert_eq!(driver.app.toast.as_ref().map(|toast| toast.text.as_str()), Some("no session is open"));
}

#[test]
fn the_help_wraps_its_texts_instead_of_cutting_them() {
    for size in [(60, 20), (80, 24), (120, 40), (160, 45)] {
        let mut driver = Driver::demo(size.0, size.1);
        driver.go_to("telegram:direct:8812");
        for keys in ["2 ?", "4 ?", "t ?", "w ?", "e ?", "b ?", "? tab", "? tab tab", "? / text:the enter"] {
            driver.press(keys);
            let layout = driver.app.help_layout(help(&driver));
            let width = HelpArea::new(size).columns / layout.columns.len() - 2;
            for lines in &layout.columns {
                for (row, line) in lines.iter().enumerate() {
                    let (from, words) = match line {
                        HelpLine::Entry(entry) => (entry.columns(sign_widths(lines, row)).1, &entry.words),
                        HelpLine::More(words, from) => (*from, words),
                        _ => continue,
                    };
                    assert!(from + text::width(words) <= width, "{size:?} {keys}: {line:?}");
                }
            }
            driver.press("esc esc esc esc");
        }
    }
    let mut driver = Driver::demo(60, 20);
    driver.go_to("telegram:direct:8812");
    driver.press("2 ?");
    let screen = text_of(&drawn(&driver.app, &dark()));
    let row =
        screen.lines().position(|row| row.contains("fold or unfold, scroll, decrease")).expect("the keys");
    assert_eq!(screen.lines().nth(row + 1).map(|row| row.contains("increase")), Some(true), "{screen}");
}

#[test]
fn the_help_of_compare_explains_the_columns_of_its_list() {
    let mut driver = demo();
    driver.press("w ?");
    let rows = rows(&driver);
    for (column, meaning) in [
        ("freed", "Tokens that policies and compactions keep out"),
        ("↺", "Messages that a prompt of that replay"),
    ] {
        assert!(
            rows.iter().any(|row| row.starts_with(column) && row.contains(meaning)),
            "{column}: {rows:#?}"
        );
    }
}
