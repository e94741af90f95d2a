//! A person's own commands: their keys, their rows in help, palette and command log, and values that are refused.

use clawscope::app::custom_commands::bind_commands;
use clawscope::app::effect::{Effect, ProgramRun};
use clawscope::app::state::Overlay;
use clawscope::config::{CustomCommand, RowVariable};

use super::Driver;
use crate::support::driver::append_to_new;

const COMMANDS: &str = r#"
[[command]]
key = "F"
name = "Edit the line"
command = 'vi "+$CLAWSCOPE_LINE" "$CLAWSCOPE_FILE"'
on = "entry"
terminal = true

[[command]]
key = "F"
name = "Count the lines"
command = 'wc -l "$CLAWSCOPE_FILE" --label="$CLAWSCOPE_KEY"'
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

fn run(effects: Vec<Effect>) -> Option<ProgramRun> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::RunCommand { run, .. } => Some(run),
        _ => None,
    })
}

fn value(run: &ProgramRun, variable: RowVariable) -> &str {
    let found = run.variables.iter().find(|(known, _)| *known == variable);
    found.map_or("", |(_, value)| value)
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
    let found = run(driver.key_effects("F")).expect("a run");
    assert_eq!(found.words, ["sh", "-c", r#"wc -l "$CLAWSCOPE_FILE" --label="$CLAWSCOPE_KEY""#]);
    assert!(value(&found, RowVariable::File).ends_with(&format!("{id}.jsonl")), "{found:?}");
    assert_eq!(value(&found, RowVariable::Key), key);
    assert_eq!(value(&found, RowVariable::Line), "", "a session has no line");

    driver.press("2 g down");
    let found = run(driver.key_effects("F")).expect("a run");
    let session = driver.app.displayed_session().expect("a session");
    let entry = driver.app.selected_entry().expect("an entry");
    assert_eq!(value(&found, RowVariable::Line), session.index.entry(entry).line.to_string());
    let text = std::fs::read_to_string(value(&found, RowVariable::File)).expect("the transcript");
    let line = text.lines().nth(session.index.entry(entry).line as usize - 1).expect("the line");
    assert!(line.contains(value(&found, RowVariable::Entry)), "{line}");
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
    let line = &log.commands[0].line;
    assert!(line.starts_with("CLAWSCOPE_FILE=") && line.contains(" CLAWSCOPE_LINE="), "{line}");
    assert!(line.ends_with(r#" sh -c 'vi "+$CLAWSCOPE_LINE" "$CLAWSCOPE_FILE"'"#), "{line}");
}

#[test]
fn a_hostile_session_key_stops_a_command_that_reads_it() {
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
    assert_eq!(run(driver.key_effects("F")), None);
    let toast = driver.app.toast.as_ref().expect("a reason").text.clone();
    assert!(toast.contains("Count the lines did not run") && toast.contains("$(touch pwned)"), "{toast}");
}
