//! Machines without clawscope: the answer comes from a copy of the store.

use std::path::Path;

use rusqlite::Connection;

use super::{Programs, contents, demo};
use crate::support::fixture::{database_of, state_2026_8_1};

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
    let own = programs.run(&["tree", transcript.to_str().unwrap(), "--json"]);
    let far = programs.run(&["tree", &format!("ssh://gateway{}", transcript.display()), "--json"]);
    assert_eq!((far.0, far.1), (own.0, own.1), "{}", far.2);
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
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nPATH=/usr/bin:/bin sh -c \"$*\" | tee {}\n",
            moved.display()
        ),
    );
    // A pipe hides the exit code, as some commands do; the shell's message shows it.
    let (code, _, err) = programs.run(&["sessions", &format!("ssh://gateway{}", store.display())]);
    assert_eq!(code, 0, "{err}");
    assert!(!String::from_utf8_lossy(&std::fs::read(moved).unwrap()).contains(secret));
    let (code, _, err) = programs.run(&["sessions", "ssh://gateway/no/such/store"]);
    assert!(code == 3 && err.contains("/no/such/store: no such store there"), "{err}");
    let (code, _, err) = programs.run(&["watch", &format!("ssh://gateway{}", store.display())]);
    assert!(code == 3 && err.contains("does not grow"), "{err}");
}
