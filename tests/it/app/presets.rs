//! Presets on the screen: saved, loaded, deleted and compared.

use clawscope::app::state::Overlay;

use super::tuned;
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

#[test]
fn two_presets_are_replayed_side_by_side() {
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
    driver.press(": text:presets enter");
    let outcome = |driver: &Driver| match driver.app.overlay() {
        Some(Overlay::Presets(screen)) => screen.outcomes.clone().and_then(|(_, _, outcomes)| outcomes),
        other => panic!("{other:?}"),
    };
    assert!(outcome(&driver).is_none(), "the file under the cursor is broken");
    driver.press("j");
    let [config, early] = outcome(&driver).expect("an answer").expect("numbers");
    assert!(config.next_call_tokens.is_some() && config.replay.peak_tokens > 0);
    driver.press("space j");
    let error = outcome(&driver).expect("an answer").expect_err("an error").to_string();
    assert!(error.starts_with("preset odd: contextPruning.ttl"), "{error}");
    driver.press("enter");
    assert_eq!(toast(&driver), error, "it is not loaded either");
    assert!(!driver.app.tuning.has_changes());
    driver.press("j");
    let [pinned, room] = outcome(&driver).expect("an answer").expect("numbers");
    assert_eq!(pinned, early);
    assert_ne!(pinned, room);
    driver.press("y");
    assert_eq!(driver.copied.last().map(String::as_str), Some("compaction.reserveTokens=80000\n"));
    driver.press("enter");
    assert_eq!(toast(&driver), "Loaded preset room (1 setting)");
    assert!(driver.app.overlay().is_none() && driver.app.tuning.has_changes());
}
