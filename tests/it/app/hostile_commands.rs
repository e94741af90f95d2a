//! Commands that hand a value of the store to a program that reads code: no hostile value runs, and harmless commands do.

use std::path::Path;
use std::process::{Command, Output};

use clawscope::app::custom_commands::bind_commands;
use clawscope::app::effect::{Effect, ProgramRun};
use clawscope::config::{CustomCommand, RowVariable};

use super::Driver;
use crate::support::driver::append_to_new;

/// Commands in the form of clawscope's placeholders, all of which would run their value.
const PLACEHOLDERS: [&str; 70] = [
    r#"["sh", "-c", "{key}"]"#,
    r#"["sh", "-c", "cat {key}"]"#,
    r#"["sh", "-c", "cat '{key}'"]"#,
    r#"["sh", "-c", "cat \"{key}\""]"#,
    r#""sh -c 'cat {key}'""#,
    r#"["bash", "-lc", "{key}"]"#,
    r#"["bash", "-O", "extglob", "-c", "{key}"]"#,
    r#"["dash", "-c", "{key}"]"#,
    r#"["zsh", "-ic", "{key}"]"#,
    r#"["fish", "--command={key}"]"#,
    r#"["su", "-c", "{key}"]"#,
    r#"["su", "me", "-c", "less {key}"]"#,
    r#"["sudo", "sh", "-c", "{key}"]"#,
    r#"["sudo", "-s", "{key}"]"#,
    r#"["doas", "sh", "-c", "{key}"]"#,
    r#"["runuser", "-c", "{key}"]"#,
    r#"["env", "-S", "{key}"]"#,
    r#"["env", "--split-string={key}"]"#,
    r#"["env", "A=1", "sh", "-c", "{key}"]"#,
    r#"["xterm", "-e", "{key}"]"#,
    r#"["gnome-terminal", "--", "sh", "-c", "{key}"]"#,
    r#"["konsole", "-e", "sh -c '{key}'"]"#,
    r#"["kitty", "sh", "-c", "{key}"]"#,
    r#"["npx", "-c", "{key}"]"#,
    r#"["npm", "exec", "-c", "{key}"]"#,
    r#"["ssh", "host", "{key}"]"#,
    r#"["ssh", "{key}", "ls"]"#,
    r#"["ssh", "host", "less '{key}'"]"#,
    r#"["scp", "{key}", "host:"]"#,
    r#"["rsync", "-e", "{key}", "a", "b"]"#,
    r#"["awk", "{key}"]"#,
    r#"["gawk", "BEGIN {system(\"{key}\")}"]"#,
    r#"["sed", "s/x/{key}/e"]"#,
    r#"["find", ".", "-exec", "sh", "-c", "{key}", ";"]"#,
    r#"["find", ".", "-exec", "{key}", ";"]"#,
    r#"["xargs", "sh", "-c", "{key}"]"#,
    r#"["python3", "-c", "{key}"]"#,
    r#"["python3", "-c", "print('{key}')"]"#,
    r#"["perl", "-e", "{key}"]"#,
    r#"["perl", "-pe", "s/x/{key}/"]"#,
    r#"["ruby", "-e", "{key}"]"#,
    r#"["node", "--eval={key}"]"#,
    r#"["node", "-p", "{key}"]"#,
    r#"["deno", "eval", "{key}"]"#,
    r#"["bun", "-e", "{key}"]"#,
    r#"["php", "-r", "{key}"]"#,
    r#"["lua", "-e", "{key}"]"#,
    r#"["tmux", "new-window", "{key}"]"#,
    r#"["tmux", "new-window", "less '{key}'"]"#,
    r#"["screen", "-X", "exec", "{key}"]"#,
    r#"["watch", "wc {key}"]"#,
    r#"["watch", "{key}"]"#,
    r#"["script", "-c", "{key}"]"#,
    r#"["parallel", "{key}"]"#,
    r#"["entr", "-s", "{key}"]"#,
    r#"["nohup", "sh", "-c", "{key}"]"#,
    r#"["timeout", "9", "sh", "-c", "{key}"]"#,
    r#"["git", "-c", "alias.x=!{key}", "x"]"#,
    r#"["git", "-c", "core.pager={key}", "log"]"#,
    r#"["make", "X={key}"]"#,
    r#"["make", "--eval={key}"]"#,
    r#"["sqlite3", "a.db", ".shell {key}"]"#,
    r#"["psql", "-c", "\\! {key}"]"#,
    r#"["vim", "-c", "{key}"]"#,
    r#"["vim", "-c", ":!{key}"]"#,
    r#"["vim", "+{key}"]"#,
    r#"["emacs", "--eval", "{key}"]"#,
    r#"["less", "+!{key}"]"#,
    r#"["docker", "run", "x", "sh", "-c", "{key}"]"#,
    r#"["busybox", "sh", "-c", "{key}"]"#,
];

/// Texts that hand the variable to a second shell or another reader of code, all of which clawscope accepts.
const SECOND_READERS: [&str; 18] = [
    r#"sh -c "cat $CLAWSCOPE_KEY""#,
    r#"sh -c "cat '$CLAWSCOPE_KEY'""#,
    r#"sh -c "$CLAWSCOPE_KEY""#,
    r#"eval "$CLAWSCOPE_KEY""#,
    "eval echo $CLAWSCOPE_KEY",
    r#"echo $(eval "$CLAWSCOPE_KEY")"#,
    r#"su -c "$CLAWSCOPE_KEY""#,
    r#"env -S "$CLAWSCOPE_KEY""#,
    "env $CLAWSCOPE_KEY",
    r#"awk "BEGIN { system(\"$CLAWSCOPE_KEY\") }""#,
    r#"find . -maxdepth 0 -exec sh -c "$CLAWSCOPE_KEY" ';'"#,
    r#"printf '%s' "$CLAWSCOPE_KEY" | sh"#,
    r#"printf '%s' "$CLAWSCOPE_KEY" | xargs sh -c"#,
    r#"tmux new-window "less '$CLAWSCOPE_KEY'""#,
    r#"ssh host "less $CLAWSCOPE_KEY""#,
    r#"git -c "alias.x=!$CLAWSCOPE_KEY" x"#,
    "ls $CLAWSCOPE_KEY",
    r#"python3 -c "print('$CLAWSCOPE_KEY')""#,
];

/// Session keys, each of which makes the file `ran` in some reader of code.
const KEYS: [&str; 14] = [
    "$(touch ran)",
    "`touch ran`",
    "; touch ran",
    "x; touch ran #",
    "touch ran",
    "'; touch ran; '",
    "\"; touch ran; \"",
    "x\ntouch ran\n",
    "x | touch ran",
    "x && touch ran",
    "-oProxyCommand=touch ran",
    "--eval=touch ran",
    "'); __import__('os').system('touch ran'); ('",
    "\\\"); system(\"touch ran\"); (\\\"",
];

/// Harmless commands. Each must succeed and print something.
const HARMLESS: [&str; 24] = [
    r#"cat "$CLAWSCOPE_FILE""#,
    r#"wc -l "$CLAWSCOPE_FILE""#,
    r#"head -n 1 "$CLAWSCOPE_FILE""#,
    r#"tail -n 1 -- "$CLAWSCOPE_FILE""#,
    r#"grep -c session "$CLAWSCOPE_FILE""#,
    r#"awk '{ print NR }' "$CLAWSCOPE_FILE""#,
    r#"sed -n 1p "$CLAWSCOPE_FILE""#,
    r#"sort "$CLAWSCOPE_FILE" | uniq -c"#,
    r#"basename "$CLAWSCOPE_FILE""#,
    r#"dirname "$CLAWSCOPE_FILE""#,
    r#"ls -l "$CLAWSCOPE_STORE""#,
    r#"cd "$CLAWSCOPE_STORE" && pwd"#,
    r#"cksum < "$CLAWSCOPE_FILE""#,
    r#"printf '%s\n' "$CLAWSCOPE_SESSION""#,
    r#"echo "The session is $CLAWSCOPE_KEY""#,
    r#"test -s "$CLAWSCOPE_FILE" && echo "${CLAWSCOPE_FILE##*/}""#,
    r#"file="$CLAWSCOPE_FILE"; wc -c "${file}""#,
    r#"sh -c 'wc -l "$CLAWSCOPE_FILE"'"#,
    r#"find "$CLAWSCOPE_STORE" -name '*.jsonl' -exec echo {} ';'"#,
    r#"for word in a b; do echo "$word"; done"#,
    r#"printf '%s\0' "$CLAWSCOPE_FILE" | xargs -0 wc -l"#,
    r#"LC_ALL=C grep -v nothing "$CLAWSCOPE_FILE""#,
    "env | grep CLAWSCOPE_",
    "date",
];

/// Reads a command as `config.toml` gives it.
fn command(value: &str) -> Result<CustomCommand, toml::de::Error> {
    #[derive(serde::Deserialize)]
    struct File {
        command: Vec<CustomCommand>,
    }
    let text = ["[[command]]\nkey = \"F\"\nname = \"x\"\ncommand = ", value, "\n"].concat();
    toml::from_str::<File>(&text).map(|mut file| file.command.remove(0))
}

fn literal(line: &str) -> String {
    ["'''", line, "'''"].concat()
}

/// The screen over a store with one session.
fn with_session(key: &str, id: &str) -> Driver {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("agents/main/sessions");
    std::fs::create_dir_all(&sessions).expect("folders");
    let file = [id, ".jsonl"].concat();
    let listing = serde_json::json!({ key: { "sessionId": "s1", "sessionFile": file, "updatedAt": 1 } });
    let header = serde_json::json!({ "type": "session", "version": 3, "id": "s1", "timestamp": "2026-03-05T10:00:00.000Z", "cwd": "/w" });
    append_to_new(&sessions.join("sessions.json"), &listing.to_string());
    append_to_new(&sessions.join(file), &[header.to_string().as_str(), "\n"].concat());
    let mut driver = Driver::on(folder, 130, 36);
    driver.press("1");
    driver
}

fn run(driver: &mut Driver, command: CustomCommand) -> Option<ProgramRun> {
    bind_commands(&mut driver.app.options.keymap, std::slice::from_ref(&command)).expect("a key");
    driver.app.options.commands = vec![command];
    driver.key_effects("F").into_iter().find_map(|effect| match effect {
        Effect::RunCommand { run, .. } => Some(run),
        _ => None,
    })
}

/// Runs a command as the screen does.
fn output(run: &ProgramRun, folder: &Path) -> Output {
    let mut command = Command::new(&run.words[0]);
    command.args(&run.words[1..]).current_dir(folder);
    command.envs(run.variables.iter().map(|(variable, value)| (variable.name(), value)));
    command.output().expect("it starts")
}

#[test]
fn a_placeholder_is_refused_in_every_form_with_the_text_to_write_instead() {
    for value in PLACEHOLDERS {
        let error = command(value).expect_err(value).to_string();
        assert!(error.contains("\"$CLAWSCOPE_KEY\"") && error.contains("{key}"), "{value}: {error}");
        let error = command(&value.replace("{key}", "{file}")).expect_err(value).to_string();
        assert!(error.contains("\"$CLAWSCOPE_FILE\""), "{value}: {error}");
    }
    for value in [r#"["sh", "-c", "$CLAWSCOPE_KEY"]"#, r#"["xdg-open", "$CLAWSCOPE_FILE"]"#] {
        assert!(command(value).expect_err(value).to_string().contains("no shell"), "{value}");
    }
}

#[test]
fn no_hostile_value_runs_in_any_second_reader() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut refused = 0;
    for key in KEYS {
        let mut driver = with_session(&["agent:main:", key].concat(), "s1");
        let mut bare = with_session(key, "s1");
        for line in SECOND_READERS {
            for driver in [&mut driver, &mut bare] {
                let found = run(driver, command(&literal(line)).expect(line));
                if let Some(run) = found {
                    output(&run, folder.path());
                }
                refused += 1;
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{key:?} ran");
        // A command that does not read the key runs without it.
        let other = run(&mut driver, command(&literal("env")).expect("a command")).expect("a run");
        assert!(other.variables.iter().all(|(variable, _)| *variable != RowVariable::Key), "{key:?}");
    }
    println!("{refused} runs with hostile keys, {} forms refused at the start", 2 * PLACEHOLDERS.len());
}

#[test]
fn a_hostile_file_name_is_not_handed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    for id in [
        "x$(touch ran)",
        "x`touch ran`",
        "x;touch ran",
        "x'; touch ran; '",
        "x\"; touch ran; \"",
        "x&touch ran",
    ] {
        let mut driver = with_session("agent:main:main", id);
        let item = driver.app.sessions.selected().expect("a session");
        assert!(
            item.path.as_ref().is_some_and(|path| path.to_string_lossy().contains("touch ran")),
            "{item:?}"
        );
        for line in SECOND_READERS {
            let line = line.replace("CLAWSCOPE_KEY", "CLAWSCOPE_FILE");
            if let Some(run) = run(&mut driver, command(&literal(&line)).expect("a command")) {
                output(&run, folder.path());
            }
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "a name ran");
}

#[test]
fn harmless_commands_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut driver = with_session("agent:main:telegram:group:-100", "a1b2-c3");
    for line in HARMLESS {
        let found = run(&mut driver, command(&literal(line)).expect(line)).expect(line);
        let output = output(&found, folder.path());
        assert!(output.status.success() && !output.stdout.is_empty(), "{line}: {output:?}");
    }
    let list = command(r#"["echo", "a b; $(touch ran)"]"#).expect("a list");
    let found = run(&mut driver, list).expect("a run");
    assert_eq!(output(&found, folder.path()).stdout, b"a b; $(touch ran)\n");
}
