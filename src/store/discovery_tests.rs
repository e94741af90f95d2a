use super::*;
use crate::store::key::SessionKind;
use crate::store::session::Flag;
use std::io::Write;

struct Made {
    dir: tempfile::TempDir,
}

impl Made {
    fn new(files: &[(&str, &str)]) -> Self {
        let made = Self { dir: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            let path = made.at(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        made
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn env(&self) -> Environment {
        Environment::new([("HOME", self.at("home").to_string_lossy())], None, self.at(""))
    }

    fn survey(&self, path: &str) -> Store {
        discover(Some(Path::new(path)), &self.env())
    }
}

fn seen(store: &Store) -> Vec<(&str, &str, SessionKind)> {
    store.sessions.iter().map(|s| (s.agent.as_str(), s.id.as_str(), s.kind)).collect()
}

fn flags(store: &Store, id: &str) -> Vec<&'static str> {
    let session = store.sessions.iter().find(|session| session.id == id).unwrap();
    session.flags.iter().map(|flag| flag.as_str()).collect()
}

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"ID\",\"cwd\":\"/w\"}\n";

fn whole() -> Made {
    let header = |id: &str| HEADER.replace("ID", id);
    Made::new(&[
        ("s/openclaw.json", "{ agents: { list: [{ id: 'main' }, { id: 'Planned' }] } }"),
        (
            "s/agents/main/sessions/sessions.json",
            r#"{"agent:main:main":{"sessionId":"a","updatedAt":9},"telegram:direct:42":{"sessionId":"b"},
            "agent:main:cron:day":{"sessionId":"c"},"agent:main:cron:day:run:c":{"sessionId":"c"},
            "agent:main:cron:day:run:old":{"sessionId":"old"},
            "agent:main:slack:channel:x":{"sessionId":"f","sessionFile":"/elsewhere/agents/main/sessions/f.jsonl"},
            "agent:main:bad":{"sessionId":"../x"},"global":{"sessionId":"g"}}"#,
        ),
        ("s/agents/main/sessions/a.jsonl", &header("a")),
        ("s/agents/main/sessions/a.jsonl.lock", "{}"),
        ("s/agents/main/sessions/c.jsonl", &header("c")),
        ("s/agents/main/sessions/old.jsonl", &header("old")),
        ("s/agents/main/sessions/f.jsonl", &header("f")),
        ("s/agents/main/sessions/2026-01-01T00-00-00-000Z_o.jsonl", &header("fork")),
        ("s/agents/main/sessions/z-topic-5.jsonl", "no header"),
        ("s/agents/main/sessions/a.jsonl.reset.2026-02-21T05-16-55.686Z", &header("a")),
        ("s/agents/main/sessions/sessions.json.bak.1700000000000", "{}"),
        ("s/agents/main/agent/auth-profiles.json", "secret"),
        ("s/agents/ops/sessions/sessions.json", "{\n broken"),
        ("s/agents/ops/sessions/p.jsonl", &header("p")),
        ("s/agents/note.txt", ""),
    ])
}

#[test]
fn a_state_dir_lists_every_agent_and_session() {
    let made = whole();
    let store = made.survey("s");
    let agents: Vec<_> =
        store.agents.iter().map(|a| (a.id.as_str(), a.is_on_disk, a.is_configured)).collect();
    assert_eq!(agents, [("main", true, true), ("ops", true, false), ("planned", false, true)]);
    assert_eq!(
        seen(&store),
        [
            ("main", "a", SessionKind::Main),
            ("main", "b", SessionKind::Direct),
            ("main", "c", SessionKind::Cron),
            ("main", "old", SessionKind::Cron),
            ("main", "f", SessionKind::Channel),
            ("main", "../x", SessionKind::Other),
            ("main", "g", SessionKind::Global),
            ("main", "fork", SessionKind::Orphan),
            ("main", "z-topic-5", SessionKind::Orphan),
            ("main", "a", SessionKind::Archive),
            ("ops", "p", SessionKind::Orphan),
        ]
    );
}

#[test]
fn sessions_carry_the_flags_that_lists_mark() {
    let store = whole().survey("s");
    assert_eq!(flags(&store, "a"), ["locked"]);
    assert_eq!(flags(&store, "b"), ["missing"]);
    assert_eq!(flags(&store, "c"), ["run-twin"]);
    assert_eq!(flags(&store, "f"), ["foreign-path"]);
    assert_eq!(flags(&store, "../x"), ["missing"]);
    assert_eq!(flags(&store, "fork"), ["orphan"]);
    assert_eq!(store.sessions[9].flags, [Flag::Archived(super::super::archive::ArchiveReason::Reset)]);
    let keys: Vec<_> = store.sessions.iter().map(|session| session.key.0.as_str()).collect();
    assert_eq!((keys[1], keys[6]), ("agent:main:telegram:direct:42", "global"));
    assert_eq!((keys[8], store.sessions[8].title.as_str()), ("agent:main:z-topic-5", "z"));
}

#[test]
fn unreadable_files_are_diagnostics_and_the_rest_is_listed() {
    let store = whole().survey("s");
    let errors: Vec<_> = store.diagnostics.iter().filter(|f| f.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].path.ends_with("agents/ops/sessions/sessions.json") && errors[0].line == Some(2));
    let warned: Vec<_> = store.diagnostics.iter().filter_map(|f| f.subject.as_deref()).collect();
    assert_eq!(warned, ["agent:main:bad"]);
}

#[test]
fn every_path_into_a_store_shows_its_part_of_it() {
    let made = whole();
    for path in ["s/agents/main", "s/agents/main/sessions", "s/agents/main/sessions/sessions.json"] {
        let store = made.survey(path);
        assert_eq!(store.sessions.len(), 10, "{path}");
        assert_eq!(store.state_dir, made.at("s"), "{path}");
        assert!(store.config.path.is_some(), "{path}");
        assert_eq!(store.agents.len(), 1, "{path}");
    }
    let one = made.survey("s/agents/main/sessions/a.jsonl");
    assert_eq!(seen(&one), [("main", "a", SessionKind::Main)]);
    assert!(one.sessions[0].record.is_some());
    let archive = made.survey("s/agents/main/sessions/a.jsonl.reset.2026-02-21T05-16-55.686Z");
    assert_eq!(seen(&archive), [("main", "a", SessionKind::Archive)]);
}

#[test]
fn a_single_transcript_is_a_session() {
    let made = Made::new(&[("x/t.jsonl", &HEADER.replace("ID", "t1"))]);
    let store = made.survey("x/t.jsonl");
    assert_eq!(seen(&store), [("main", "t1", SessionKind::File)]);
    assert_eq!(store.sessions[0].title, "t");
    assert_eq!(seen(&made.survey("x")), [("main", "t1", SessionKind::Orphan)]);
}

#[test]
fn pi_directories_are_distinguished_from_a_gateways() {
    let name = "2026-02-21T05-16-55-686Z_0f.jsonl";
    let inner = format!("agent/sessions/--w--/{name}");
    let made = Made::new(&[(&inner, &HEADER.replace("ID", "p1")), ("agent/auth.json", "secret")]);
    for path in ["agent", "agent/sessions", "agent/sessions/--w--"] {
        let store = made.survey(path);
        assert_eq!(seen(&store), [("pi", "p1", SessionKind::Pi)], "{path}");
        assert_eq!(store.diagnostics, [], "{path}");
    }
}

#[test]
fn a_place_without_sessions_is_an_error_not_an_empty_list() {
    let made = Made::new(&[("empty/readme.txt", ""), ("agent.sqlite", "")]);
    for (path, what) in
        [("gone", "does not exist"), ("empty", "contains no sessions"), ("agent.sqlite", "schema version 0")]
    {
        let store = made.survey(path);
        assert!(store.diagnostics[0].message.starts_with(what), "{path}: {}", store.diagnostics[0]);
        assert_eq!(store.diagnostics[0].severity, Severity::Error);
    }
}

#[test]
fn without_a_path_the_environment_names_the_state_dir() {
    let made = Made::new(&[("home/.openclaw/agents/main/sessions/x.jsonl", &HEADER.replace("ID", "x"))]);
    let store = discover(None, &made.env());
    assert_eq!(store.state_dir, made.at("home/.openclaw"));
    assert_eq!(seen(&store), [("main", "x", SessionKind::Orphan)]);
    let none = Made::new(&[]);
    assert!(matches!(discover(None, &none.env()).path_kind, PathKind::Nothing(_)));
}

#[test]
fn a_shared_store_file_is_read_once_and_its_keys_name_the_agents() {
    let made = Made::new(&[
        (
            "s/openclaw.json",
            "{ session: { store: '~/all/sessions.json' }, agents: { list: [{ id: 'ops' }, { id: 'main' }] } }",
        ),
        ("home/all/sessions.json", r#"{"agent:main:main":{"sessionId":"a"},"bare":{"sessionId":"b"}}"#),
        ("home/all/a.jsonl", &HEADER.replace("ID", "a")),
    ]);
    let store = made.survey("s");
    assert_eq!(seen(&store), [("main", "a", SessionKind::Main), ("ops", "b", SessionKind::Other)]);
}

#[test]
fn a_broken_configuration_is_a_finding_and_sessions_are_listed_all_the_same() {
    let made = Made::new(&[
        ("s/openclaw.json", "{"),
        ("s/agents/main/sessions/x.jsonl", &HEADER.replace("ID", "x")),
    ]);
    let store = made.survey("s");
    assert!(store.diagnostics[0].path.ends_with("openclaw.json"));
    assert_eq!(store.sessions.len(), 1);
}

#[cfg(unix)]
#[test]
fn links_and_read_only_files_are_flagged() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let made = Made::new(&[("s/agents/main/sessions/x.jsonl", &HEADER.replace("ID", "x"))]);
    let path = made.at("s/agents/main/sessions/x.jsonl");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    symlink(made.at("auth.json"), made.at("s/agents/main/sessions/sneaky.jsonl")).unwrap();
    std::fs::File::create(made.at("auth.json")).unwrap();
    symlink(made.at("elsewhere.jsonl"), made.at("s/agents/main/sessions/dangling.jsonl")).unwrap();
    let store = made.survey("s");
    assert_eq!(flags(&store, "x"), ["orphan", "read-only"]);
    assert_eq!(flags(&store, "dangling"), ["orphan", "missing", "symlink"]);
    assert_eq!(store.sessions.len(), 2);
    assert!(matches!(made.survey("auth.json").path_kind, PathKind::Nothing(_)));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_sessions_dir_does_not_hang_the_survey() {
    let made = Made::new(&[("s/agents/main/sessions/x.jsonl", &HEADER.replace("ID", "x"))]);
    let pipe = made.at("s/agents/main/sessions/pipe.jsonl");
    let made_pipe = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made_pipe.is_ok_and(|status| status.success()));
    let store = made.survey("s");
    assert_eq!(flags(&store, "pipe"), ["orphan", "missing"]);
    let found: Vec<_> = store.diagnostics.iter().map(|f| (f.path.clone(), f.message.as_str())).collect();
    assert_eq!(found, [(pipe, "not a regular file")]);
}

#[cfg(unix)]
#[test]
fn an_agent_dir_that_is_a_link_to_another_agents_is_listed_once() {
    let made = Made::new(&[("s/agents/main/sessions/x.jsonl", &HEADER.replace("ID", "x"))]);
    std::os::unix::fs::symlink("main", made.at("s/agents/alias")).unwrap();
    let elsewhere = Made::new(&[("ops/sessions/y.jsonl", &HEADER.replace("ID", "y"))]);
    std::os::unix::fs::symlink(elsewhere.at("ops"), made.at("s/agents/ops")).unwrap();
    let store = made.survey("s");
    let seen: Vec<_> = store.sessions.iter().map(|s| (s.agent.as_str(), s.id.as_str())).collect();
    assert_eq!(seen, [("main", "x"), ("ops", "y")]);
}

#[test]
fn an_empty_database_is_reported_and_the_session_files_are_listed() {
    let made = Made::new(&[
        ("s/agents/main/agent/openclaw-agent.sqlite", ""),
        ("s/agents/main/sessions/x.jsonl", &HEADER.replace("ID", "x")),
    ]);
    let store = made.survey("s");
    let [finding] = store.diagnostics.as_slice() else { panic!("{:?}", store.diagnostics) };
    assert!(
        finding.path.ends_with("openclaw-agent.sqlite")
            && finding.message.starts_with("the database is empty"),
        "{finding}"
    );
    assert_eq!((store.databases.len(), store.sessions.len()), (0, 1));
}

/// Returns the ruleset of the session with this id, in the store at `place`.
fn ruleset(made: &Made, place: &str, id: &str) -> (String, bool) {
    let store = made.survey(place);
    let session = store.sessions.iter().find(|session| session.id == id).unwrap();
    (store.ruleset.id.id().to_owned(), session.record.is_none() && !store.is_gateway())
}

#[test]
fn trajectories_are_not_sessions_and_informal_copies_are_archives() {
    let dir = "s/agents/main/sessions";
    let made = Made::new(&[
        (&format!("{dir}/a.jsonl"), &HEADER.replace("ID", "a")),
        (&format!("{dir}/a.trajectory.jsonl"), "{}\n"),
        (&format!("{dir}/b.trajectory.jsonl.deleted.1712000000000"), ""),
        (&format!("{dir}/a.trajectory-path.json"), "{}"),
        (&format!("{dir}/a.jsonl.deleted.1712000000000"), ""),
        (&format!("{dir}/a.jsonl.full_backup"), ""),
        (&format!("{dir}/a.jsonl.bak-12-1712000000000"), ""),
        ("s/agents/main/session-sqlite-import-archive/k.a.trajectory.jsonl.imported-1", "{}"),
    ]);
    let store = made.survey("s");
    let marks: Vec<_> = store.sessions.iter().map(flags_of).collect();
    assert_eq!(marks, ["orphan", "archived", "archived", "archived"]);
    assert!(!store.sessions.is_empty());
    assert!(store.sessions.iter().all(|session| session.id == "a"), "{:?}", seen(&store));
    assert!(store.diagnostics.is_empty(), "{:?}", store.diagnostics);
    let named = made.survey(&format!("{dir}/a.trajectory.jsonl"));
    assert!(named.sessions.is_empty() && named.diagnostics[0].message.contains("recording of its runs"));
}

fn flags_of(session: &Session) -> String {
    session.flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_has_the_same_rules_by_its_path_and_in_its_folder() {
    let header = |id: &str| HEADER.replace("ID", id);
    let made = Made::new(&[
        ("pi/sessions/--w--/2026_p.jsonl", &header("p")),
        ("flat/2026-02-21T05-16-55-686Z_q.jsonl", &header("q")),
        ("lone/t.jsonl", &header("t")),
        ("old/agents/main/sessions/2026-02-21T05-16-55-686Z_o.jsonl", &header("o")),
        ("old/agents/main/sessions/n.jsonl.deleted.1712000000000", &header("n")),
        ("old/openclaw.json", "{ meta: { lastTouchedVersion: '2026.2.19' } }"),
    ]);
    for (folder, file, id, expected) in [
        ("pi/sessions", "--w--/2026_p.jsonl", "p", ("pi-0.55", true)),
        ("pi/sessions/--w--", "2026_p.jsonl", "p", ("pi-0.55", true)),
        ("flat", "2026-02-21T05-16-55-686Z_q.jsonl", "q", ("pi-0.55", true)),
        ("lone", "t.jsonl", "t", ("2026.3.2", true)),
        ("old/agents/main/sessions", "2026-02-21T05-16-55-686Z_o.jsonl", "o", ("2026.2.17", false)),
        ("old/agents/main/sessions", "n.jsonl.deleted.1712000000000", "n", ("2026.2.17", false)),
    ] {
        let expected = (expected.0.to_owned(), expected.1);
        assert_eq!(ruleset(&made, folder, id), expected, "{folder}");
        assert_eq!(ruleset(&made, &format!("{folder}/{file}"), id), expected, "{folder}/{file}");
    }
}

#[test]
fn sessions_that_are_grouped_by_project_are_pis() {
    let made = Made::new(&[("all/team/--w--/2026_p.jsonl", &HEADER.replace("ID", "p"))]);
    assert_eq!(seen(&made.survey("all")), [("pi", "p", SessionKind::Pi)]);
}
