//! Mistakes on the command line: every error names the expected argument, and the line that it offers works.

use clap::CommandFactory as _;
use clawscope::cli::Cli;

use crate::support::store::{Store, program, run};

/// Runs the line with the demo store; returns its exit code and errors.
fn mistaken(words: &[&str]) -> (i32, String) {
    let (code, _, error) = run(&mut program(words));
    (code, error)
}

/// The words of the line that an error offers, split as a shell would.
fn offered(error: &str) -> Option<Vec<String>> {
    let line = error.lines().find_map(|line| line.strip_prefix("Type: clawscope "))?;
    shell_words::split(line).ok()
}

#[test]
fn a_command_without_its_argument_offers_a_line_that_works() {
    let mut offers = 0;
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        // Another clawscope starts it, so a person never types it.
        if name == "serve" {
            continue;
        }
        let (code, error) = mistaken(&[name, "--demo"]);
        if code != 2 || !error.contains("is missing") {
            continue;
        }
        let words = offered(&error).unwrap_or_else(|| panic!("{name}: {error}"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let folder = tempfile::tempdir().unwrap();
        let (code, _, error) = run(program(&words).current_dir(folder.path()));
        // Nothing to undo, nothing found and a check that fails are answers too.
        assert!(
            code <= 1 || error.contains("othing") || error.contains("no commit to undo"),
            "{words:?}: {code} {error}"
        );
        assert!(!words.contains(&"KEY"), "{words:?}");
        offers += 1;
    }
    assert!(offers >= 15, "{offers}");
}

#[test]
fn a_value_without_its_option_is_offered_with_it() {
    let key = "agent:main:telegram:direct:8812";
    for (words, expected) in [
        (&["check", key, "90%", "--demo"][..], "--budget 90%"),
        (&["replay", key, "contextPruning.ttl=30m", "--demo"], "--set contextPruning.ttl=30m"),
        (&["sweep", key, "historyLimit=5,10", "--demo"], "--vary historyLimit=5,10"),
        (&["export", key, "md", "--demo", "--format", "json"], "--format md"),
        (&["context", key, "--breakdon", "--demo"], "--breakdown"),
        (&["breakdown", "8812", "--demo"], "context 8812 --breakdown --demo"),
        (&["--demo", "timeline", key], &format!("replay {key} --timeline")),
        (&["--theme", "dark", "timeline", key], &format!("--theme dark replay {key} --timeline")),
        (&["grep", "libatomic", "--demo"], "search libatomic --demo"),
        (&["ls", "--demo"], "sessions --demo"),
        (&["explian", key, "--demo"], &format!("explain {key} --demo")),
        (&["8812", "--demo"], "explain 8812 --demo"),
    ] {
        let (code, error) = mistaken(words);
        let offer = offered(&error).unwrap_or_default().join(" ");
        assert!(code == 2 && offer.contains(expected), "{words:?}: {error}");
    }
    let (code, out, _) = run(&mut program(&["ls", "--demo", "--json"]));
    assert!(code == 2 && out.is_empty());
}

#[test]
fn usage_errors_name_the_expected_argument() {
    for (words, expected) in [
        (&["explain"][..], "SESSION is missing: the session: its key"),
        (&["export", "x"], "--format FORMAT is missing"),
        (&["export", "x"], "write this format: html, md, json, svg"),
        (&["demo"], "--out DIR is missing: write to this folder"),
        (&["context", "x", "y"], "one argument too many. Expected: SESSION"),
        (&["presets", "x"], "one argument too many. Expected: no arguments"),
        (&["simulate", "x", "--policy", "prun"], "--policy \"prun\": expected compact, truncate"),
        (&["simulate", "x", "--policy", "prun"], "Did you mean prune?"),
        (&["watch", "--alert", "much"], "expected a share of the window, such as 80% or 0.8"),
        (&["sweep", "x", "--vary"], "--vary needs a value"),
        (&["search", "x", "--limit", "few"], "--limit \"few\""),
        (&["explain", "x", "--breakdown"], "explain has no option --breakdown. `context` has it."),
        (&["completions", "fishy"], "SHELL \"fishy\": expected bash, elvish, fish, powershell or zsh"),
    ] {
        let (code, error) = mistaken(words);
        let error = error.replace('\n', " ");
        assert!(code == 2 && error.contains(expected), "{words:?}: {error}");
        assert!(error.contains("--help` lists"), "{words:?}: {error}");
    }
}

#[test]
fn a_word_in_the_place_of_a_path_may_belong_to_an_option() {
    let store = Store::new();
    for (words, expected) in [
        (&["sessions", "overflow"][..], "sessions --filter overflow"),
        (&["sessions", "overflow", "--demo"], "sessions --filter overflow --demo"),
        (&["watch", "8812"], "watch --session 8812"),
        (&["rules", "2026.4.15"], "rules --ruleset 2026.4.15"),
    ] {
        let (code, _, error) = store.run(words);
        let offer = offered(&error).unwrap_or_default().join(" ");
        assert!(code >= 2 && offer == expected, "{words:?}: {error}");
    }
}

#[test]
fn a_json_error_is_one_object_with_the_suggested_command() {
    let (code, error) = mistaken(&["explain", "--demo", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&error).unwrap();
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(code == 2 && message.contains("Type: clawscope explain --demo --json agent:"), "{message}");
}
