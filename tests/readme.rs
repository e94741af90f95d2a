//! The README's table of keys is made from the keymap: run with `CLAWSCOPE_UPDATE=1` to write it anew.

#![allow(clippy::expect_used, reason = "a test program fails loudly")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clawscope::app::action::{ACTIONS, Group};
use clawscope::app::keymap::{Context, Keymap};

const BEGIN: &str = "<!-- keys -->\n";
const END: &str = "<!-- /keys -->";

fn context(group: Group) -> Context {
    match group {
        Group::Transcript => Context::Transcript,
        Group::Message => Context::Message,
        Group::Tuning => Context::Tuning,
        Group::Commit => Context::Dialog,
        _ => Context::Global,
    }
}

fn table() -> String {
    let keymap = Keymap::standard();
    let mut text = String::new();
    for group in Group::ALL {
        let _ = writeln!(text, "\n**{}**\n\n| key | does |\n|---|---|", group.name());
        for (action, _, _, words) in ACTIONS.iter().filter(|row| row.2 == group) {
            let mut keys = keymap.keys(context(group), *action);
            if keys.is_empty() {
                keys = keymap.keys(Context::Global, *action);
            }
            let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", key.replace('|', "\\|"))).collect();
            let _ = writeln!(text, "| {} | {words} |", keys.join(" "));
        }
    }
    text
}

#[test]
fn the_readme_lists_the_keys_of_the_keymap() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).expect("README.md");
    let begin = readme.find(BEGIN).expect("a place for the keys") + BEGIN.len();
    let end = readme.find(END).expect("its end");
    if std::env::var_os("CLAWSCOPE_UPDATE").is_some() {
        let new = format!("{}{}\n{}", &readme[..begin], table(), &readme[end..]);
        let mut file = fs::File::create(&path).expect("README.md");
        std::io::Write::write_all(&mut file, new.as_bytes()).expect("writes");
        return;
    }
    assert_eq!(readme[begin..end].trim(), table().trim(), "run the test with CLAWSCOPE_UPDATE=1");
}
