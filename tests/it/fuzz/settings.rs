//! clawscope's own settings: a damaged file is refused with its name, or read.

use std::fs::{self, File};
use std::io::Write as _;

use clawscope::app::keymap::Keymap;
use clawscope::config::{self, presets};
use clawscope::gateway::env::Environment;

use super::{damage, for_each_seed, random_bytes};
use crate::support::generate::Dice;

const KEYMAP: &str = include_str!("../../../assets/keymap.toml");
const CONFIG: &str = "theme = \"dark\"\nruleset = \"2026.3.2\"\nmouse = true\nmotion = false\nascii = true\ntime = \"utc\"\n\
                      [alerts]\nenabled = true\n[summarizer]\nkind = \"command\"\ncommand = [\"cat\"]\nmodel = \"m\"\n";
const PRESET: &str = "\"contextPruning.ttl\" = \"30m\"\n[agents.defaults]\ncontextTokens = \"20000\"\n";

fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut bytes = if dice.once_in(10) { random_bytes(dice, 300) } else { text.as_bytes().to_vec() };
    damage(&mut bytes, dice);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn any_keymap_is_read_or_refused() {
    // One section is enough to damage; the defaults are merged each time.
    let section: String = KEYMAP.split("\n[").take(2).collect::<Vec<_>>().join("\n[");
    for_each_seed(120, |dice| {
        if let Err(error) = Keymap::with_overrides(&damaged(&section, dice)) {
            assert!(!error.to_string().is_empty());
        }
    });
}

#[test]
fn any_settings_file_and_preset_is_read_or_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("clawscope");
    fs::create_dir_all(folder.join("presets")).unwrap();
    let mut env = Environment::default();
    env.set("XDG_CONFIG_HOME", home.path().to_str().unwrap());
    for_each_seed(300, |dice| {
        let put = |name: &str, text: String| {
            File::create(folder.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        };
        put("config.toml", damaged(CONFIG, dice));
        put("presets/mine.toml", damaged(PRESET, dice));
        if let Err(error) = config::load(&env) {
            assert!(error.to_string().contains("config.toml"), "{error}");
        }
        for preset in presets::list_presets(&env) {
            if let Err(error) = preset.values {
                assert!(error.contains("mine.toml"), "{error}");
            }
        }
    });
}
