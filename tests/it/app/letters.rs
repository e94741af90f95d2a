//! Menus of two keys: the copy menu and the marks.

use clawscope::app::state::Overlay;

use super::tuned;
use crate::support::driver::Driver;

fn toast(driver: &Driver) -> String {
    driver.app.toast.as_ref().map(|toast| toast.text.clone()).unwrap_or_default()
}

fn cursor(driver: &Driver) -> usize {
    driver.app.transcript.as_ref().expect("a session").scroll.cursor
}

#[test]
fn the_copy_menu_offers_the_parts_of_the_row() {
    let mut driver = tuned();
    driver.press("2 y");
    let Some(Overlay::Letters(window)) = driver.app.overlay() else { panic!("no menu") };
    let letters: String = window.rows.iter().map(|row| row.letter).collect();
    assert_eq!(letters, "ymjrqiskfc");
    driver.press("esc");
    for letter in letters.chars() {
        driver.press(&format!("y {letter}"));
        assert!(driver.app.overlay().is_none());
    }
    let copied = &driver.copied[driver.copied.len() - 10..];
    assert!(copied[1].starts_with("### ") && copied[1].contains(&copied[0]), "{}", copied[1]);
    assert!(copied[2].trim_start().starts_with('{') && copied[2].contains(&copied[5]));
    let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(same(&copied[2]), same(&copied[3]), "indented, and as the file has it");
    assert_eq!(copied[4], format!("jq 'select(.id == \"{}\")' {}", copied[5], copied[8]));
    assert_eq!(copied[7], "agent:main:telegram:direct:8812");
    driver.press("y esc");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn a_mark_belongs_to_its_session_and_the_way_back_is_a_jump() {
    let mut driver = tuned();
    driver.press("2 '");
    assert_eq!(toast(&driver), "no marks in this session");
    driver.press("g j j m a");
    let marked = cursor(&driver);
    assert_eq!(toast(&driver), "Mark a set");
    driver.press("G");
    let end = cursor(&driver);
    assert_ne!(marked, end);
    driver.press("' b");
    assert_eq!(toast(&driver), "no mark b in this session");
    driver.press("' a");
    assert_eq!(cursor(&driver), marked);
    driver.press("<");
    assert_eq!(cursor(&driver), end);
    driver.press("m 1");
    assert!(toast(&driver).starts_with("a mark is a letter"));
    driver.go_to("research:main");
    driver.press("2 ' a");
    assert_eq!(toast(&driver), "no marks in this session");
}
