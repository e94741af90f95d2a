//! `commit` and `undo`, their refusals, links and orphans.

use clawscope::js;
use clawscope::units::Moment;
use serde_json::{Value, json};

use crate::support::store::{Store, lines, long_session, program, run};

#[test]
fn the_list_of_commits_marks_estimates_only() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("demo");
    let store = store.to_str().unwrap();
    assert_eq!(run(&mut program(&["demo", "--out", store])).0, 0);
    let key = "agent:main:telegram:direct:8812";
    let (code, _, error) =
        run(&mut program(&["commit", key, "--store", store, "--policy", "prune", "--apply"]));
    assert_eq!(code, 0, "{error}");
    let (_, list, _) = run(&mut program(&["undo", key, "--list", "--store", store]));
    assert!(list.contains(" 203,412 → ~"), "{list}");
}

#[test]
fn a_commit_is_a_dry_run_until_it_is_applied_and_can_be_taken_back() {
    let store = Store::new();
    let before = std::fs::read(store.transcript()).unwrap();
    let words = ["commit", "main"];
    let dry = store.json(&words);
    assert_eq!(
        (&dry["applied"], &dry["kind"], &dry["lock"]),
        (&json!(false), &json!("commit"), &json!("free"))
    );
    assert_eq!(std::fs::read(store.transcript()).unwrap(), before);
    let planned = store.json(&["simulate", "main"]);
    assert_eq!(dry["tokens"]["after"], planned["after"]["tokens"]);

    let (code, out, error) = store.run(&[&words[..], &["--apply"]].concat());
    assert!(code == 0 && out.contains("clawscope undo agent:main:main --apply"), "{out}{error}");
    let after = std::fs::read(store.transcript()).unwrap();
    assert!(
        after.starts_with(&before)
            && after.len() as u64 == before.len() as u64 + dry["bytes"].as_u64().unwrap()
    );
    assert_eq!(store.json(&["context", "main"])["messageTokens"], planned["after"]["tokens"]);

    let undone = store.json(&["undo", "main", "--apply"]);
    assert_eq!((&undone["applied"], &undone["entries"]), (&json!(true), &json!(1)));
    assert_eq!(undone["undo"], "clawscope undo agent:main:main --redo --apply");
    assert_eq!(store.json(&["context", "main"])["messageTokens"], planned["before"]["tokens"]);
    let (_, out, _) = store.run(&["undo", "main", "--redo"]);
    assert!(out.contains("becomes the last message; next prompt "), "{out}");
    let (_, out, _) = store.run(&["undo", "main", "--redo", "--apply"]);
    assert!(out.ends_with("to undo it: clawscope undo agent:main:main --apply\n"), "{out}");
    assert_eq!(store.json(&["context", "main"])["messageTokens"], planned["after"]["tokens"]);
    let (_, list, _) = store.run(&["undo", "main", "--list"]);
    assert!(list.contains("1 commit, 1 undo and 1 redo, "), "{list}");
}

#[test]
fn refusals_exit_with_four_and_say_why() {
    let store = Store::new();
    let refused = |words: &[&str], why: &str| {
        let (code, _, error) = store.run(words);
        assert!(code == 4 && error.contains(why), "{words:?}: {code} {error}");
    };
    refused(&["undo", "main"], "no commit to undo");
    refused(&["commit", "main", "--now", "2026-03-05T08:41:00Z"], "Without --gates and --now");
    refused(&["commit", "main", "--set", "contextPruning.softTrimRatio=1"], "changes nothing");
    let pid = std::process::id();
    store.write(
        "agents/main/sessions/long-1.jsonl.lock",
        &json!({ "pid": pid, "createdAt": js::iso_text(now_ms()) }).to_string(),
    );
    refused(&["commit", "main", "--apply"], "locked by");
    let bytes = std::fs::read(store.transcript()).unwrap();
    assert_eq!(bytes, lines(&long_session()).into_bytes());
    let (code, _, error) = run(&mut program(&["commit", "--demo", "slack:channel:c07infra", "--apply"]));
    assert!(code == 4 && error.contains("demo store"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_transcript_is_read_with_its_row_and_never_written() {
    let store = Store::new();
    let link = store.path().join("agents/main/sessions/link.jsonl");
    std::os::unix::fs::symlink("long-1.jsonl", &link).unwrap();
    let link = link.to_str().unwrap();
    assert_eq!(store.json(&["context", link])["session"]["key"], "agent:main:main");
    let (code, _, error) = store.run(&["commit", link, "--apply"]);
    assert!(code == 4 && error.contains("this is a symbolic link"), "{error}");
    assert_eq!(std::fs::read(store.transcript()).unwrap(), lines(&long_session()).into_bytes());
}

fn now_ms() -> Moment {
    use clawscope::commit::Clock as _;
    clawscope::commit::SystemClock.now_ms()
}

#[test]
fn an_orphan_is_written_only_if_allowed() {
    let store = Store::new();
    store.write_rows(&json!({}));
    let words = ["commit", "long-1"];
    let (code, _, error) = store.run(&words);
    assert!(code == 4 && error.contains("no row"), "{error}");
    let answer = store.json(&[&words[..], &["--allow-orphan", "--apply"]].concat());
    assert!(answer["undo"].as_str().unwrap().contains("--allow-orphan"));
}

/// After a commit, the copies of calls that failed before it are no calls of the new branch; after an undo, what
/// clawscope wrote is nothing that the gateway did.
#[test]
fn a_commit_after_a_refusal_is_judged_by_its_own_branch_and_leaves_no_trace_in_explanations() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("demo");
    let path = store.to_str().unwrap();
    assert_eq!(run(&mut program(&["demo", "--out", path])).0, 0);
    let run = |words: &[&str]| {
        let session = ["agent:main:telegram:direct:8812", "--store", path];
        run(&mut program(&[&words[..1], &session, &words[1..]].concat()))
    };
    let before = run(&["explain", "--json"]).1;
    let recovery = run(&["explain", "--recovery", "--json"]).1;
    assert_eq!(run(&["check"]).0, 1);

    let (code, _, error) = run(&["commit", "--set", "contextPruning.ttl=30m", "--apply"]);
    assert_eq!(code, 0, "{error}");
    let (code, out, _) = run(&["check"]);
    assert!(code == 0 && out.contains("all 104 calls fit"), "{out}");
    assert!(run(&["explain"]).1.contains("Fits now: "));

    assert_eq!(run(&["undo", "--apply"]).0, 0);
    assert_eq!(run(&["check"]).0, 1);
    let findings = |text: &str| serde_json::from_str::<Value>(text).unwrap()["findings"].clone();
    assert_eq!(findings(&run(&["explain", "--json"]).1), findings(&before));
    let recorded = |text: &str| serde_json::from_str::<Value>(text).unwrap()["recorded"].clone();
    assert_eq!(recorded(&run(&["explain", "--recovery", "--json"]).1), recorded(&recovery));
}
