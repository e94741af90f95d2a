use super::*;
use crate::store::session_records::parse_records;
use std::fs::{File, create_dir_all};

struct State {
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl State {
    fn with(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        create_dir_all(root.join("agents/main/sessions")).unwrap();
        for file in files {
            let path = root.join(file);
            create_dir_all(path.parent().unwrap()).unwrap();
            File::create(path).unwrap();
        }
        Self { dir, root }
    }

    fn resolve(&self, text: &str) -> Option<PathBuf> {
        let sessions = self.root.join("agents/main/sessions");
        resolve_session_file(text, &TranscriptLocator::new(&sessions, "main", &self.root, None))
    }

    fn locate(&self, row: &str) -> Option<(String, bool, bool)> {
        let sessions = self.root.join("agents/main/sessions");
        let ancient = self.root.join("old/sessions");
        let place = TranscriptLocator::new(&sessions, "main", &self.root, Some(&ancient));
        let row = parse_records(Path::new("x"), &format!("{{\"k\":{row}}}")).records.remove(0);
        let found = locate(&row, &place)?;
        let path = found.path.strip_prefix(&self.root).unwrap_or(&found.path).to_string_lossy().into_owned();
        Some((path, found.exists, found.is_foreign))
    }
}

fn at(path: &str, exists: bool, foreign: bool) -> (String, bool, bool) {
    (path.to_owned(), exists, foreign)
}

#[test]
fn relative_paths_resolve_only_below_the_sessions_dir() {
    let state = State::with(&[]);
    let base = state.root.join("agents/main/sessions");
    assert_eq!(state.resolve("foo.jsonl"), Some(base.join("foo.jsonl")));
    assert_eq!(state.resolve(" sub/foo.jsonl "), Some(base.join("sub/foo.jsonl")));
    for refused in
        ["../x.jsonl", "..foo.jsonl", "sub/../../x.jsonl", "a/../../../../../etc/passwd", ".", "", "sub/.."]
    {
        assert_eq!(state.resolve(refused), None, "{refused}");
    }
}

#[test]
fn absolute_values_may_name_this_store_or_the_same_shape_elsewhere() {
    let state = State::with(&["agents/ops/sessions/o.jsonl"]);
    let inside = state.root.join("agents/main/sessions/x.jsonl");
    assert_eq!(state.resolve(inside.to_str().unwrap()), Some(inside));
    let sibling = state.root.join("agents/ops/sessions/sub/o.jsonl");
    assert_eq!(state.resolve(sibling.to_str().unwrap()), Some(sibling));
    for (text, accepted) in [
        ("/other/root/agents/ops/sessions/o.jsonl", true),
        ("/other/root/agents/ops/sessions/sub/o.jsonl", false),
        ("/other/root/agents/o ps/sessions/o.jsonl", false),
        ("/other/root/agents/Ops/sessions/o.jsonl", false),
        ("/other/root/ops/sessions/o.jsonl", false),
        ("/etc/passwd", false),
        ("/other/agents/ops/sessions/../../../../etc/passwd", false),
        ("/", false),
    ] {
        assert_eq!(state.resolve(text), accepted.then(|| PathBuf::from(text)), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn the_base_and_the_value_are_compared_by_their_real_paths() {
    let state = State::with(&["agents/main/sessions/x.jsonl"]);
    let link = state.dir.path().join("link");
    std::os::unix::fs::symlink(state.root.join("agents"), &link).unwrap();
    let through = link.join("main/sessions/x.jsonl");
    let expected = state.root.join("agents/main/sessions/x.jsonl");
    assert_eq!(state.resolve(through.to_str().unwrap()), Some(expected));
}

#[test]
fn the_first_candidate_that_exists_is_taken() {
    let own = "agents/main/sessions/s1.jsonl";
    let state = State::with(&[own, "agents/main/sessions/s1-topic-5.jsonl", "old/sessions/s2.jsonl"]);
    assert_eq!(state.locate(r#"{"sessionId":"s1"}"#), Some(at(own, true, false)));
    let topic = "agents/main/sessions/s1-topic-5.jsonl";
    assert_eq!(
        state.locate(r#"{"sessionId":"s1","sessionFile":"s1-topic-5.jsonl"}"#),
        Some(at(topic, true, false))
    );
    assert_eq!(state.locate(r#"{"sessionId":"s1","sessionFile":"gone.jsonl"}"#), Some(at(own, true, false)));
    assert_eq!(state.locate(r#"{"sessionId":"s2"}"#), Some(at("old/sessions/s2.jsonl", true, false)));
    assert_eq!(
        state.locate(r#"{"sessionId":"s3"}"#),
        Some(at("agents/main/sessions/s3.jsonl", false, false))
    );
    assert_eq!(state.locate(r#"{"sessionId":"../s1"}"#), None);
    assert_eq!(state.locate("{}"), None);
}

#[test]
fn a_copied_store_finds_its_files_next_to_the_rows() {
    let topic = "agents/main/sessions/s1-topic-5.jsonl";
    let state = State::with(&["agents/main/sessions/s1.jsonl", topic]);
    for file in [
        "/home/other/.openclaw/agents/main/sessions/s1-topic-5.jsonl",
        "C:\\\\Users\\\\x\\\\.openclaw\\\\agents\\\\main\\\\sessions\\\\s1-topic-5.jsonl",
        "C:/Users/x/s1-topic-5.jsonl",
        "/nowhere/s1-topic-5.jsonl",
    ] {
        let row = format!(r#"{{"sessionId":"s1","sessionFile":"{file}"}}"#);
        assert_eq!(state.locate(&row), Some(at(topic, true, true)), "{file}");
    }
    let gone = r#"{"sessionId":"s1","sessionFile":"D:\\x\\gone.jsonl"}"#;
    assert_eq!(state.locate(gone), Some(at("agents/main/sessions/s1.jsonl", true, true)));
}

#[test]
fn a_row_cannot_name_a_file_with_secrets() {
    let state = State::with(&["agents/main/agent/auth-profiles.json", "agents/main/sessions/auth.json"]);
    assert_eq!(state.locate(r#"{"sessionFile":"auth.json"}"#), None);
    let row = format!(r#"{{"sessionFile":"{}/agents/main/agent/auth-profiles.json"}}"#, state.root.display());
    assert_eq!(state.locate(&row), None);
    #[cfg(unix)]
    {
        let link = state.root.join("agents/main/sessions/link.jsonl");
        std::os::unix::fs::symlink(state.root.join("agents/main/agent/auth-profiles.json"), link).unwrap();
        assert_eq!(state.locate(r#"{"sessionFile":"link.jsonl"}"#), None);
    }
}

#[test]
fn ids_that_could_leave_the_directory_name_no_file() {
    for (id, safe) in [
        ("0f3b-1.x_Y", true),
        ("", false),
        (".hidden", false),
        ("a/b", false),
        ("a\\b", false),
        ("a b", false),
        ("-a", false),
        ("ä", false),
        (&"a".repeat(128), true),
        (&"a".repeat(129), false),
    ] {
        assert_eq!(is_safe_id(id), safe, "{id}");
    }
}

#[test]
fn the_store_file_follows_the_configuration() {
    let home = tempfile::tempdir().unwrap();
    let env = Environment::new([("HOME", home.path().to_string_lossy())], None, PathBuf::from("/cwd"));
    let with = |store: &str, agent: &str| {
        let path = home.path().join("openclaw.json");
        let text = format!("{{ session: {{ store: '{store}' }} }}");
        std::io::Write::write_all(&mut File::create(&path).unwrap(), text.as_bytes()).unwrap();
        let found =
            store_path(&GatewayConfig::load(Some(&path), &env, home.path()), &env, Path::new("/s"), agent);
        (found.path, found.is_shared, found.is_relative)
    };
    assert_eq!(with("", "main"), ("/s/agents/main/sessions/sessions.json".into(), false, false));
    assert_eq!(with("/x/{agentId}/{agentId}.json", "A b"), ("/x/a-b/a-b.json".into(), false, false));
    assert_eq!(with("~/all.json", "main"), (home.path().join("all.json"), true, false));
    assert_eq!(with("all.json", "main"), ("/cwd/all.json".into(), true, true));
}

#[test]
fn a_row_without_a_file_finds_the_transcript_of_its_thread() {
    let state = State::with(&[
        "agents/main/sessions/one-topic-5.jsonl",
        "agents/main/sessions/two-topic-5.jsonl",
        "agents/main/sessions/two-topic-a%3Ab.jsonl",
        "agents/main/sessions/two-topic-7.trajectory.jsonl",
    ]);
    let file = |name: &str| Some(at(&format!("agents/main/sessions/{name}"), true, false));
    assert_eq!(state.locate(r#"{"sessionId":"one"}"#), file("one-topic-5.jsonl"));
    assert_eq!(state.locate(r#"{"sessionId":"two","lastThreadId":5}"#), file("two-topic-5.jsonl"));
    let nested = r#"{"sessionId":"two","deliveryContext":{"threadId":"A:b"}}"#;
    assert_eq!(state.locate(nested), file("two-topic-a%3Ab.jsonl"));
    let unclear = at("agents/main/sessions/two.jsonl", false, false);
    assert_eq!(state.locate(r#"{"sessionId":"two"}"#), Some(unclear));
}
