//! A person's own commands: their keys, their rows in help, palette and command log, and values that are refused.

use clawscope::app::custom_commands::bind_commands;
use clawscope::app::effect::Effect;
use clawscope::app::state::Overlay;
use clawscope::config::CustomCommand;

use super::Driver;
use crate::support::driver::append_to_new;

const COMMANDS: &str = r#"
[[command]]
key = "F"
name = "Edit the line"
command = ["vi", "+{line}", "{file}"]
on = "entry"
terminal = true

[[command]]
key = "F"
name = "Count the lines"
command = "wc -l {file} --label={key}"
"#;

/// On an entry, "F" runs another command than on a session.
fn with_commands(mut driver: Driver) -> Driver {
    #[derive(serde::Deserialize)]
    struct File {
        command: Vec<CustomCommand>,
    }
    let commands = toml::from_str::<File>(COMMANDS).expect("valid").command;
    bind_commands(&mut driver.app.options.keymap, &commands).expect("keys");
    driver.app.options.commands = commands;
    driver
}

fn run(effects: Vec<Effect>) -> Vec<String> {
    let mut runs = effects.into_iter().filter_map(|effect| match effect {
        Effect::RunCommand { words, .. } => Some(words),
        _ => None,
    });
    runs.next().unwrap_or_default()
}

#[test]
fn a_key_runs_the_command_of_the_row_under_the_cursor() {
    let mut driver = with_commands(Driver::demo(130, 36));
    driver.go_to("telegram:direct:8812");
    let (id, key) = {
        let item = &driver.app.displayed_session().expect("a session").item;
        (item.id.clone(), item.key.0.clone())
    };
    driver.press("1");
    let words = run(driver.key_effects("F"));
    assert_eq!((words[0].as_str(), words[1].as_str()), ("wc", "-l"));
    assert!(words[2].ends_with(&format!("{id}.jsonl")), "{words:?}");
    assert_eq!(words[3], format!("--label={key}"));

    driver.press("2 g down");
    let words = run(driver.key_effects("F"));
    let session = driver.app.displayed_session().expect("a session");
    let entry = driver.app.selected_entry().expect("an entry");
    assert_eq!(words[1], format!("+{}", session.index.entry(entry).line));
    let text = std::fs::read_to_string(&words[2]).expect("the transcript");
    let line = text.lines().nth(session.index.entry(entry).line as usize - 1).expect("the line");
    let entry_id = session.index.entry(entry).id.expect("an id");
    assert!(line.contains(session.index.ids.text(entry_id)), "{line}");
}

#[test]
fn help_palette_and_command_log_know_the_commands() {
    let mut driver = with_commands(Driver::demo(130, 36));
    driver.press("2 ?");
    let help = super::help::rows(&driver);
    assert!(help.iter().any(|row| row.contains("Edit the line") && row.contains('F')), "{help:#?}");
    driver.press("esc : text:count");
    let Some(Overlay::Palette(palette)) = driver.app.overlay() else { panic!("no palette") };
    let row = palette.rows().into_iter().next().expect("a match");
    assert_eq!(
        (row.name.as_ref(), row.description.as_ref()),
        ("Count the lines", "your command on the session")
    );
    driver.press("esc 2 F @");
    let Some(Overlay::CommandLog(log)) = driver.app.overlay() else { panic!("no command log") };
    assert!(log.commands[0].line.starts_with("vi +"), "{:#?}", log.commands);
}

#[test]
fn a_hostile_session_key_never_becomes_an_argument() {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("agents/main/sessions");
    std::fs::create_dir_all(&sessions).expect("folders");
    let listing = r#"{"agent:main:$(touch pwned)": {"sessionId": "s1", "updatedAt": 1}}"#;
    let entry =
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-03-05T10:00:00.000Z","cwd":"/w"}"#;
    append_to_new(&sessions.join("sessions.json"), listing);
    append_to_new(&sessions.join("s1.jsonl"), &format!("{entry}\n"));
    let mut driver = with_commands(Driver::on(folder, 130, 36));
    driver.press("1");
    assert_eq!(run(driver.key_effects("F")), [""; 0]);
    let toast = driver.app.toast.as_ref().expect("a reason").text.clone();
    assert!(toast.contains("Count the lines did not run") && toast.contains("$(touch pwned)"), "{toast}");
}
