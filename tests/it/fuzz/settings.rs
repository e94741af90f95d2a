//! clawscope's own settings: a damaged file is refused with its name, or read.

use super::checks::settings::{config_is_read_or_refused, keymap_is_read_or_refused};
use super::{damage, for_each_seed, random_bytes};
use crate::support::generate::Dice;

const KEYMAP: &str = include_str!("../../../assets/keymap.toml");
const CONFIG: &str = "theme = \"dark\"\nruleset = \"2026.3.2\"\nmouse = true\nmotion = false\nascii = true\ntime = \"utc\"\n\
                      [alerts]\nenabled = true\n[summarizer]\nkind = \"command\"\ncommand = [\"cat\"]\n";
const PRESET: &str = "\"contextPruning.ttl\" = \"30m\"\n[agents.defaults]\ncontextTokens = \"20000\"\n";

fn damaged(text: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = if dice.once_in(10) { random_bytes(dice, 300) } else { text.as_bytes().to_vec() };
    damage(&mut bytes, dice);
    bytes
}

#[test]
fn any_keymap_is_read_or_refused() {
    // One section is enough to damage; the defaults are merged each time.
    let section: String = KEYMAP.split("\n[").take(2).collect::<Vec<_>>().join("\n[");
    for_each_seed(120, |dice| keymap_is_read_or_refused(&damaged(&section, dice)));
}

#[test]
fn any_settings_file_and_preset_is_read_or_refused_by_name() {
    for_each_seed(300, |dice| {
        let files = [damaged(CONFIG, dice), damaged(PRESET, dice)];
        config_is_read_or_refused(&files.join(&b'\x0C'));
    });
}
