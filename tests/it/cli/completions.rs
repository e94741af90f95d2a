//! What a shell offers while a person types: sessions of the store that the line names, and settings.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::overflowed;
use crate::support::skipped;
use crate::support::store::{Store, TOUCHED_MS, program, run};

/// Returns the words offered for the last word of a line.
fn offered(store: &Store, line: &[&str]) -> Vec<String> {
    let mut shell = store.command(&["--"]);
    shell.args(line).env("CLAWSCOPE_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    let (code, out, error) = run(shell.env("_CLAP_COMPLETE_INDEX", (line.len() - 1).to_string()));
    assert_eq!((code, error.as_str()), (0, ""), "{line:?}");
    out.lines().map(str::to_owned).collect()
}

#[test]
fn a_session_is_offered_by_its_key_without_its_agent_and_by_its_id() {
    let store = overflowed();
    for command in ["explain", "replay", "tree", "cost", "commit", "sessions"] {
        assert_eq!(offered(&store, &["clawscope", command, "agent:"]), ["agent:main:main"], "{command}");
    }
    assert_eq!(offered(&store, &["clawscope", "explain", "ma"]), ["main"]);
    assert_eq!(offered(&store, &["clawscope", "explain", "long"]), ["long-1"]);
    assert_eq!(offered(&store, &["clawscope", "explain", "other"]), [""; 0]);
}

#[test]
fn the_store_is_the_one_that_the_line_names() {
    let (own, other) = (Store::new(), Store::new());
    other.write_rows(&json!({ "agent:main:elsewhere": { "sessionId": "long-1", "updatedAt": TOUCHED_MS } }));
    let path = other.path().to_str().expect("UTF-8");
    assert_eq!(offered(&own, &["clawscope", "--store", path, "explain", "agent:"]), ["agent:main:elsewhere"]);
    assert_eq!(offered(&own, &["clawscope", "explain", "--store", path, "agent:"]), ["agent:main:elsewhere"]);
    assert_eq!(offered(&own, &["clawscope", "explain", "--store", "ssh://host", "agent:"]), [""; 0]);
}

#[test]
fn a_key_that_means_something_to_a_shell_is_never_put_into_the_line() {
    let store = Store::new();
    let record = |id: &str| json!({ "sessionId": id, "updatedAt": TOUCHED_MS });
    store.write_rows(&json!({ "agent:main:$(touch /tmp/x)": record("a-1"), "agent:main:`x`": record("b-1"),
        "agent:main:x;y": record("c-1"), "agent:main:x\ny": record("d-1"), "agent:main:家里人": record("long-1") }));
    assert_eq!(offered(&store, &["clawscope", "explain", "agent:main:"]), ["agent:main:家里人"]);
    assert_eq!(offered(&store, &["clawscope", "explain", "c-"]), ["c-1"]);
}

#[test]
fn set_offers_the_settings() {
    let store = Store::new();
    let keys = offered(&store, &["clawscope", "replay", "main", "--set", "contextPruning.t"]);
    assert!(keys.contains(&"contextPruning.ttl=".to_owned()), "{keys:?}");
}

/// Bash gives its function the line cut at each colon; what it gets back stands behind the last of them.
#[test]
fn bash_completes_a_key_with_colons() {
    if Command::new("bash").arg("--version").output().is_err() {
        skipped::note("bash", "its completion is not tried");
        return;
    }
    let store = Store::new();
    let script = run(&mut program(&["completions", "bash"])).1;
    let answer = |line: &str, words: &str, at: usize| {
        let asked = format!(
            "{script}\nCOMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({words}); COMP_CWORD={at}; _clawscope\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let folder = Path::new(env!("CARGO_BIN_EXE_clawscope")).parent().expect("a folder");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &asked]).env("PATH", path).env("OPENCLAW_STATE_DIR", store.path());
        String::from_utf8(bash.output().expect("it runs").stdout).expect("UTF-8")
    };
    assert_eq!(answer("clawscope explain agent:main:", "clawscope explain agent : main :", 5), "main\n");
    assert_eq!(answer("clawscope explain agent:m", "clawscope explain agent : m", 4), "main:main\n");
    assert!(answer("clawscope explain ", "clawscope explain ''", 2).starts_with("agent:main:main\n"));
    assert_eq!(answer("clawscope expl", "clawscope expl", 1), "explain\n");
}
