//! What the README and the help say is so. The table of keys is made from the keymap: run with `CLAWSCOPE_UPDATE=1` to
//! write it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::{CommandFactory as _, Parser as _};
use clawscope::app::action::{ACTIONS, ActionGroup};
use clawscope::app::keymap::{KeyContext, Keymap};
use clawscope::cli::Cli;
use clawscope::gateway::env::Environment;

const BEGIN: &str = "<!-- keys -->\n";
const END: &str = "<!-- /keys -->";

fn context(group: ActionGroup) -> KeyContext {
    match group {
        ActionGroup::Transcript => KeyContext::Transcript,
        ActionGroup::Message => KeyContext::Message,
        ActionGroup::Tuning => KeyContext::Tuning,
        ActionGroup::Timeline => KeyContext::Timeline,
        ActionGroup::Compare => KeyContext::Compare,
        ActionGroup::Commit => KeyContext::Dialog,
        _ => KeyContext::Global,
    }
}

fn table() -> String {
    let keymap = Keymap::standard();
    let mut text = String::new();
    for group in ActionGroup::ALL {
        let _ = writeln!(text, "\n**{}**\n\n| key | does |\n|---|---|", group.name());
        for (action, _, _, words) in ACTIONS.iter().filter(|row| row.2 == group) {
            let mut keys = keymap.keys_for(context(group), *action);
            if keys.is_empty() {
                keys = keymap.keys_for(KeyContext::Global, *action);
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

#[test]
fn the_readme_lists_the_settings_as_the_program_prints_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).expect("README.md");
    let mut program = assert_cmd::Command::cargo_bin("clawscope").expect("the program");
    let ran = program.env_clear().args(["settings", "--markdown"]).output().expect("it runs");
    let printed = String::from_utf8(ran.stdout).expect("UTF-8");
    let begin = readme.find("<!-- settings -->\n").expect("a place for the settings");
    let begin = begin + "<!-- settings -->\n".len();
    let end = readme.find("<!-- /settings -->").expect("its end");
    if std::env::var_os("CLAWSCOPE_UPDATE").is_some() {
        let new = format!("{}{printed}{}", &readme[..begin], &readme[end..]);
        let mut file = fs::File::create(&path).expect("README.md");
        std::io::Write::write_all(&mut file, new.as_bytes()).expect("writes");
        return;
    }
    assert_eq!(readme[begin..end], printed, "run the test with CLAWSCOPE_UPDATE=1");
}

/// The command lines of a text: those that begin with the program's name, without what a shell does with the answer and
/// without the words beside them.
fn commands(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("clawscope"));
    let words = lines.map(|line| {
        let alone = ["  ", " #", " |", " >", " \u{b7}"]
            .iter()
            .fold(line, |line, end| line.split(end).next().unwrap_or(line));
        alone.split_whitespace().map(str::to_owned).collect()
    });
    words.collect()
}

#[track_caller]
fn all_parse(text: &str, least: usize) {
    let commands = commands(text);
    assert!(commands.len() >= least, "{} commands", commands.len());
    for command in commands {
        if let Err(error) = Cli::try_parse_from(&command) {
            panic!("{command:?}: {error}");
        }
    }
}

#[test]
fn every_command_of_the_readme_is_one() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README.md");
    let blocks: Vec<&str> = readme.split("```").skip(1).step_by(2).collect();
    all_parse(&blocks.join("\n"), 9);
    let table = readme.lines().filter(|line| line.starts_with("| `clawscope"));
    let named: Vec<&str> = table.filter_map(|line| line.split('`').nth(1)?.split(' ').nth(1)).collect();
    for command in Cli::command().get_subcommands().map(clap::Command::get_name).filter(|name| *name != "man")
    {
        assert!(named.contains(&command), "{command} is missing in the table");
    }
}

#[test]
fn every_example_of_the_help_is_a_command() {
    let mut cli = Cli::command();
    cli.build();
    let long =
        |command: &clap::Command| command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    all_parse(&long(&cli), 6);
    for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
        all_parse(&long(command), 1);
    }
}

#[test]
fn the_settings_the_readme_names_are_read() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README.md");
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/clawscope");
    fs::create_dir_all(&folder).expect("a folder");
    let named = readme.lines().find(|line| line.contains("`theme = ")).expect("a line with the settings");
    let settings: Vec<&str> = named.split('`').filter(|part| part.contains(" = ")).collect();
    assert_eq!(settings.len(), 5, "{named}");
    let mut file = fs::File::create(folder.join("config.toml")).expect("a file");
    std::io::Write::write_all(&mut file, settings.join("\n").as_bytes()).expect("writes");
    let env = Environment::new([("HOME", home.path().to_str().expect("text"))], None, "/".into());
    let config = clawscope::config::load(&env).expect("the settings of the README");
    assert_eq!((config.mouse, config.motion, config.ascii), (false, false, Some(true)));
    assert_eq!(config.ruleset.map(|named| named.name).as_deref(), Some("2026.9.6"));
}

#[test]
fn what_the_readme_shows_of_an_explanation_is_what_is_printed() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README.md");
    let blocks =
        readme.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("text\n$ clawscope "));
    let mut seen = 0;
    for block in blocks {
        let (command, shown) = block.split_once('\n').expect("a command and what it prints");
        let mut program = assert_cmd::Command::cargo_bin("clawscope").expect("the program");
        let ran = program
            .env_clear()
            .env("HOME", "/nonexistent")
            .args(command.split(' '))
            .output()
            .expect("it runs");
        let mut rest = String::from_utf8(ran.stdout).expect("UTF-8");
        // What stands between two dots was left out; nothing else was.
        for part in shown.split("…\n") {
            let at =
                rest.find(part).unwrap_or_else(|| panic!("{command}: README says\n{part}\nbut not\n{rest}"));
            rest = rest.split_off(at + part.len());
        }
        assert_eq!(rest, "", "{command}: more is printed");
        seen += 1;
    }
    assert_eq!(seen, 2);
}
