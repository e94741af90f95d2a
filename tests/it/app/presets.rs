//! Presets on the screen: saved, loaded, deleted and compared.

use clawscope::app::state::Overlay;
use clawscope::report::sweep::SideOutcome;
use clawscope::units::Tokens;

use super::tuned;
use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

fn toast(driver: &Driver) -> String {
    driver.app.toast.as_ref().map(|toast| toast.text.clone()).unwrap_or_default()
}

#[test]
fn changed_settings_are_saved_under_a_name_and_loaded_again() {
    let home = tempfile::tempdir().expect("a folder");
    let mut driver = tuned();
    driver.home = Some(home.path().to_owned());
    driver.press(": text:preset space text:save space text:tight enter");
    assert_eq!(toast(&driver), "nothing to save: every setting is as configured");
    driver.press("4 j j l l j l");
    let tuned = driver.app.tuning.values.clone();
    driver.press(": text:preset space text:save space text:tight enter");
    assert!(toast(&driver).starts_with("Saved preset tight (2 settings) in "), "{}", toast(&driver));
    driver.press(": text:preset space text:save space text:tight enter");
    assert!(toast(&driver).starts_with("Replaced preset tight"), "{}", toast(&driver));
    driver.press(":all-to-config");
    assert!(!driver.app.tuning.has_changes());
    driver.press(": text:preset space text:load space text:ti enter");
    assert_eq!(toast(&driver), "Loaded preset tight (2 settings)");
    assert_eq!(driver.app.tuning.values, tuned);
    driver.press("alt-z");
    assert!(!driver.app.tuning.has_changes(), "loading a preset is a step to undo");
    driver.press(": text:preset space text:delete space text:tight enter");
    assert_eq!(toast(&driver), "Deleted preset tight.");
    assert!(driver.app.presets.is_empty());
    driver.press(": text:preset space text:save space text:../up enter");
    driver.press("l : text:preset space text:save space text:../up enter");
    assert!(toast(&driver).starts_with("preset \"../up\": expected"), "{}", toast(&driver));
    driver.home = None;
    driver.press(": text:preset space text:save space text:tight enter");
    assert!(toast(&driver).starts_with("no home folder"), "{}", toast(&driver));
}

/// The sides of the comparison with their outcomes, the reference first.
fn sides(driver: &Driver) -> Vec<(String, Option<SideOutcome>)> {
    let recording = driver.app.replay_state.recording.as_ref().expect("a recording");
    let sides = driver.app.compared_sides(recording).0;
    sides
        .into_iter()
        .map(|side| (side.name.label().to_owned(), driver.app.side_outcome(&side).cloned()))
        .collect()
}

fn names(driver: &Driver) -> Vec<String> {
    sides(driver).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn presets_are_columns_of_the_comparison() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/clawscope/presets");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [
        ("broken", "= = 1"),
        ("early", "\"contextPruning.ttl\" = \"5m\"\n"),
        ("odd", "\"contextPruning.ttl\" = \"soon\"\n"),
        ("room", "\"compaction.reserveTokens\" = 80000\n"),
    ] {
        crate::support::driver::append_to_new(&folder.join(format!("{name}.toml")), text);
    }
    let mut driver = tuned();
    driver.home = Some(home.path().to_owned());
    driver.press(":presets");
    assert!(matches!(driver.app.overlay(), Some(Overlay::Compare)));
    assert_eq!(names(&driver), ["config", "early", "room"]);
    let outcomes: Vec<SideOutcome> =
        sides(&driver).into_iter().map(|(_, outcome)| outcome.expect("replayed")).collect();
    assert!(outcomes.iter().all(|side| side.next_call_tokens.is_some() && side.cell.peak() > Tokens::ZERO));
    assert!(outcomes[0].cell.overflows() > outcomes[2].cell.overflows(), "{outcomes:#?}");
    let text = text_of(&drawn(&driver.app, &dark()));
    assert!(text.contains("preset odd: contextPruning.ttl") && text.contains("⚠"), "{text}");
    driver.press("l l space");
    assert_eq!(names(&driver), ["room", "config", "early"], "the others are compared with it");
    assert!(sides(&driver).iter().all(|(_, outcome)| outcome.is_some()), "nothing is replayed again");
    driver.press("y");
    assert!(driver.copied.last().expect("a patch").contains("80000"));
    driver.press("enter");
    assert_eq!(toast(&driver), "Loaded preset room (1 setting)");
    assert!(driver.app.overlay().is_none() && driver.app.tuning.has_changes());
    driver.press(":presets");
    assert_eq!(names(&driver), ["config", "tuning", "early", "room"], "so are the tuned settings");
    let [_, (_, tuning), _, (_, room)] = sides(&driver).try_into().expect("four sides");
    assert_eq!(tuning.expect("replayed").cell.peak(), room.expect("replayed").cell.peak());
    driver.press("v n");
    assert!(
        driver.app.compare_screen.sides.is_none() && !driver.app.compare_screen.sweep_state.axes.is_empty()
    );
    driver.press("esc w");
    assert!(driver.app.compare_screen.sides.is_none(), "w opens the map");
}

#[test]
fn sides_with_another_ttl_say_why_their_next_call_is_the_same() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/clawscope/presets");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut driver = tuned();
    driver.home = Some(home.path().to_owned());
    for (line, is_same) in
        [("compaction.reserveTokens\" = 80000", false), ("contextPruning.ttl\" = \"5m\"", true)]
    {
        crate::support::driver::append_to_new(
            &folder.join(format!("{is_same}.toml")),
            &format!("\"{line}\n"),
        );
        driver.press("esc :presets");
        let text = text_of(&drawn(&driver.app, &dark()));
        assert_eq!(text.contains("next call: ttl changes nothing, the last run ended"), is_same, "{text}");
    }
}

/// A cell of the map and a side with the same setting replay the same calls.
#[test]
fn a_preset_has_the_numbers_of_the_cell_with_its_setting() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/clawscope/presets");
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = "\"compaction.reserveTokens\" = 80000\n";
    crate::support::driver::append_to_new(&folder.join("room.toml"), text);
    let mut driver = tuned();
    driver.home = Some(home.path().to_owned());
    driver.press("w v a ctrl-u text:compaction.reserveTokens=80000 enter G");
    let screen = &driver.app.compare_screen;
    let cell = screen.selected().and_then(|at| screen.cell(at)).expect("a cell").clone();
    driver.press("v n");
    let side = sides(&driver).pop().and_then(|(_, outcome)| outcome).expect("replayed");
    assert_eq!((side.cell.peak(), side.cell.overflows()), (cell.peak(), cell.overflows()));
}
