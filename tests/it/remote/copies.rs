//! Machines without clawscope: the answer comes from a copy of the store.

use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use rustix::process::Signal;

use super::{Programs, contents, demo, leftovers, signal_when};
use crate::support::fixture::{database_of, state_2026_8_1};
use crate::support::terminal::Started;

const NOTE: &str = "has no clawscope, so this is a copy of ";

#[test]
fn a_copy_answers_with_the_paths_of_the_other_machine() {
    let programs = Programs::without_clawscope();
    let (_dir, store) = demo();
    let before = contents(&store);
    let own = store.to_str().unwrap();
    let far = format!("ssh://gateway{own}");
    for words in [
        &["sessions", "PLACE", "--json"][..],
        &["tree", "agent:main:telegram:direct:8812", "--store", "PLACE", "--json"],
        &["context", "agent:main:telegram:direct:8812", "--store", "PLACE", "--json"],
        &["explain", "--all", "--store", "PLACE", "--json"],
        &["replay", "agent:main:telegram:direct:8812", "--store", "PLACE", "--json"],
    ] {
        let at = |place: &str| words.iter().map(|word| word.replace("PLACE", place)).collect::<Vec<_>>();
        let run = |place: &str| {
            let words = at(place);
            programs.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let (code, out, err) = run(&far);
        assert_eq!((code, out), (0, run(own).1), "{words:?}: {err}");
        assert!(err.contains(NOTE) && err.contains("does not follow changes"), "{err}");
    }
    assert_eq!(contents(Path::new(own)), before);
}

#[test]
fn one_transcript_is_copied_with_its_store() {
    let programs = Programs::without_clawscope();
    let (_dir, store) = demo();
    let sessions = store.join("agents/main/sessions");
    let transcript = std::fs::read_dir(&sessions).unwrap().map(|item| item.unwrap().path());
    let transcript =
        transcript.filter(|path| path.extension().is_some_and(|own| own == "jsonl")).min().unwrap();
    for command in ["tree", "context", "explain", "replay"] {
        let own = programs.run(&[command, transcript.to_str().unwrap(), "--json"]);
        let far = programs.run(&[command, &format!("ssh://gateway{}", transcript.display()), "--json"]);
        assert_eq!((far.0, far.1), (own.0, own.1), "{command}: {}", far.2);
    }
}

#[test]
fn a_part_of_a_store_is_copied_alone_with_its_settings() {
    let programs = Programs::without_clawscope();
    let (_dir, store) = demo();
    let copied = |place: &str| {
        let (code, out, err) = programs.run(&["sessions", &format!("ssh://gateway{place}"), "--json"]);
        assert_eq!((code, &out), (0, &programs.run(&["sessions", place, "--json"]).1), "{place}: {err}");
        let files = err.split(": ").find_map(|part| part.split_once(" files, "));
        files.unwrap_or_else(|| panic!("{err}")).0.parse::<usize>().unwrap()
    };
    let whole = copied(store.to_str().unwrap());
    let agents: Vec<_> =
        std::fs::read_dir(store.join("agents")).unwrap().map(|item| item.unwrap().path()).collect();
    assert!(agents.len() > 1);
    for agent in agents {
        let part = copied(agent.join("sessions").to_str().unwrap());
        assert!(part < whole, "{}: {part} of {whole}", agent.display());
    }
}

#[test]
fn a_person_can_ask_for_a_copy() {
    let programs = Programs::new();
    let (_dir, store) = demo();
    let far = format!("ssh://gateway{}", store.display());
    let (code, out, err) = programs.run(&["sessions", &far, "--copy", "--json"]);
    assert_eq!((code, out), (0, programs.run(&["sessions", store.to_str().unwrap(), "--json"]).1));
    assert!(err.contains("note: gateway: this is a copy of ") && !err.contains("no clawscope"), "{err}");
    let (code, _, err) = programs.run(&["sessions", store.to_str().unwrap(), "--copy"]);
    assert!(code == 2 && err.contains("--copy: name the other machine"), "{err}");
    let (code, _, err) = programs.run(&["sessions", &far, "--copy=size=much"]);
    assert!(code == 2 && err.contains("--copy=size=much: expected"), "{err}");
}

#[test]
fn a_command_that_needs_the_store_itself_is_refused() {
    let programs = Programs::without_clawscope();
    let (_dir, store) = demo();
    let far = format!("ssh://gateway{}", store.display());
    for words in [
        &["commit", "agent:main:telegram:direct:8812", "--apply", "--store", &far][..],
        &["undo", "agent:main:telegram:direct:8812", "--apply", "--store", &far],
        &["doctor", "--repair", &far],
        &["watch", &far],
        &["export", "--format", "parquet", &far, "--out", "d"],
    ] {
        let (code, out, err) = programs.run(words);
        assert_eq!((code, out.as_str()), (4, ""), "{words:?}: {err}");
        assert!(err.contains("clawscope is not installed there") && err.contains("Install"), "{err}");
    }
}

/// A program that copies: its temporary folder, and whether a copy is there.
fn copying(programs: &Programs, words: &[&str], folder: &Path) -> std::process::Child {
    let mut command = programs.std_program(words);
    command.env("TMPDIR", folder).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_signal_removes_the_copy_while_it_arrives_and_while_it_is_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_dir, store) = demo();
    let far = format!("ssh://gateway{}", store.display());
    let silent = Programs::new();
    silent.write("ssh", "#!/bin/sh\nprintf 'clawscope-copy 1\\n/srv\\n\\n'\nexec sleep 60\n");
    let reading = Programs::without_clawscope();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        for (programs, words) in [
            (&silent, &["sessions", "ssh://gateway", "--copy"][..]),
            // No one reads the output, so the command waits in the middle of it.
            (
                &reading,
                &["context", "agent:main:telegram:direct:8812", "--messages", "--json", "--store", &far],
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let child = copying(programs, words, folder.path());
            let is_private = |name: &String| {
                let mode = folder.path().join(name).metadata().map(|found| found.permissions().mode());
                mode.is_ok_and(|mode| mode & 0o777 == 0o700)
            };
            let is_there = || leftovers(folder.path()).first().is_some_and(is_private);
            let status = signal_when(child, signal, is_there);
            assert_eq!(status.code(), Some(130), "{signal:?} {words:?}");
            assert_eq!(leftovers(folder.path()), [""; 0], "{signal:?} {words:?}");
        }
    }
}

#[test]
fn a_terminal_shows_the_progress_until_ctrl_c() {
    let programs = Programs::new();
    programs.write("ssh", "#!/bin/sh\nprintf 'clawscope-copy 1\\n/srv\\n\\n'\nexec sleep 60\n");
    let folder = tempfile::tempdir().unwrap();
    let variables = [("PATH", programs.search_path()), ("TMPDIR", folder.path().display().to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut program = Started::new(&["sessions", "ssh://gateway", "--copy"], &variables);
    program.until_shown("copying from gateway: 0 files, ");
    program.keys("\x03");
    let ended = program.ended();
    assert_eq!((ended.code, ended.text.contains("copying")), (130, false), "{}", ended.text);
    assert_eq!(leftovers(folder.path()), [""; 0]);
}

#[test]
fn no_copy_is_left_after_a_success_or_an_error() {
    let programs = Programs::without_clawscope();
    let (_dir, store) = demo();
    let far = format!("ssh://gateway{}", store.display());
    for (words, code) in [
        (&["sessions", &far][..], 0),
        (&["tree", "no-such-session", "--store", &far], 3),
        (&["search", "no-such-word-anywhere", &far], 1),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let status = copying(&programs, words, folder.path()).wait_with_output().unwrap().status;
        assert_eq!(status.code(), Some(code), "{words:?}");
        assert_eq!(leftovers(folder.path()), [""; 0], "{words:?}");
    }
}

#[test]
fn the_copy_of_a_killed_program_is_removed_by_the_next_copy() {
    let reading = Programs::without_clawscope();
    let (_dir, store) = demo();
    let far = format!("ssh://gateway{}", store.display());
    let silent = Programs::new();
    silent.write("ssh", "#!/bin/sh\nprintf 'clawscope-copy 1\\n/srv\\n\\n'\nexec sleep 60\n");
    let folder = tempfile::tempdir().unwrap();
    let child = copying(&silent, &["sessions", "ssh://gateway", "--copy"], folder.path());
    let status = signal_when(child, Signal::KILL, || !leftovers(folder.path()).is_empty());
    let left = leftovers(folder.path());
    assert_eq!((status.code(), left.len()), (None, 1));
    let killed = folder.path().join(&left[0]);
    let [living, young] =
        ["clawscope-copy-living", "clawscope-copy-young"].map(|name| folder.path().join(name));
    for path in [&living, &young] {
        std::fs::create_dir(path).unwrap();
    }
    for path in [&killed, &living] {
        std::fs::File::open(path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    let lock = std::fs::File::open(&living).unwrap();
    lock.try_lock().unwrap();
    let status = copying(&reading, &["sessions", &far], folder.path()).wait_with_output().unwrap().status;
    assert_eq!(status.code(), Some(0));
    assert!(!killed.exists() && living.exists() && young.exists(), "{:?}", leftovers(folder.path()));
}

#[test]
fn a_database_is_copied_with_its_wal() {
    let programs = Programs::without_clawscope();
    let state = state_2026_8_1();
    let connection = Connection::open(database_of(state.path())).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let table = "CREATE TABLE only_in_the_log (a); INSERT INTO only_in_the_log VALUES (1);";
    connection.execute_batch(table).unwrap();
    let log = database_of(state.path()).with_extension("sqlite-wal");
    assert!(log.metadata().unwrap().len() > 0);
    let own = programs.run(&["sessions", state.path().to_str().unwrap(), "--json"]);
    let far = programs.run(&["sessions", &format!("ssh://gateway{}", state.path().display()), "--json"]);
    assert_eq!((far.0, &far.1), (0, &own.1), "{}", far.2);
}

#[test]
fn a_database_that_changes_during_every_copy_is_refused() {
    let state = state_2026_8_1();
    let database = database_of(state.path());
    let programs = Programs::without_clawscope();
    programs.write(
        "ssh",
        &format!(
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nPATH={}/far:/usr/bin:/bin exec sh -c \"$*\"\n",
            programs.path().display()
        ),
    );
    std::fs::create_dir(programs.path().join("far")).unwrap();
    // A tar during which a gateway writes pages back.
    let tar = "#!/bin/sh\nPATH=/usr/bin:/bin tar \"$@\"\nprintf x >> ".to_owned();
    programs.write("far/tar", &format!("{tar}{}\n", database.display()));
    let (code, out, err) = programs.run(&["sessions", &format!("ssh://gateway{}", state.path().display())]);
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(err.contains("changed during each of 3 copies"), "{err}");
}

#[test]
fn credentials_are_not_copied_and_a_missing_store_is_named() {
    let programs = Programs::without_clawscope();
    let (_dir, store) = demo();
    let agent = store.join("agents/main/agent");
    std::fs::create_dir_all(&agent).unwrap();
    let secret = "sk-very-secret-0123456789";
    for path in [agent.join("auth-profiles.json"), agent.join("auth.json"), store.join("credentials/x.json")]
    {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        super::write(path, format!("{{\"key\":\"{secret}\"}}"));
    }
    let moved = store.with_extension("moved");
    programs.write(
        "ssh",
        &format!(
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\n{{ PATH=/usr/bin:/bin sh -c \"$*\"; echo $? > {0}.code; }} | \
             tee {0}\nexit $(cat {0}.code)\n",
            moved.display()
        ),
    );
    let (code, _, err) = programs.run(&["sessions", &format!("ssh://gateway{}", store.display())]);
    assert_eq!(code, 0, "{err}");
    assert!(!String::from_utf8_lossy(&std::fs::read(moved).unwrap()).contains(secret));
    let (code, _, err) = programs.run(&["sessions", "ssh://gateway/no/such/store"]);
    assert!(code == 3 && err.contains("/no/such/store: no such store there"), "{err}");
}
