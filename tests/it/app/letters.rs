//! Menus of two keys: the copy menu and the view menu.

use clawscope::app::state::Overlay;

use super::tuned;

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
fn the_view_menu_compares_presets_on_every_screen() {
    for before in ["1", "2", "3", "4", "t", "e", "b", "w"] {
        let mut driver = tuned();
        driver.press(&format!("{before} v"));
        let Some(Overlay::Letters(window)) = driver.app.overlay() else { panic!("no menu after {before}") };
        assert_eq!(window.rows.iter().filter(|row| row.letter == 'n').count(), 1, "after {before}");
        driver.press("n");
        assert!(
            matches!(driver.app.overlay(), Some(Overlay::Compare)),
            "{before}: {:?}",
            driver.app.overlay()
        );
        assert!(driver.app.compare_screen.sides.is_some(), "after {before}");
    }
}
