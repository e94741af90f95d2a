//! Mistakes on the command line: every error names the expected argument, and the line that it offers works.

use clap::{CommandFactory as _, Parser as _};
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
        let (code, error) = mistaken(&[name, "--demo"]);
        if code != 2 || !error.contains("error: missing ") {
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
    assert!(offers >= 11, "{offers}");
}

#[test]
fn a_value_without_its_option_is_offered_with_it() {
    let key = "agent:main:telegram:direct:8812";
    for (words, expected) in [
        (&["check", key, "90%", "--demo"][..], "--budget 90%"),
        (&["replay", key, "contextPruning.ttl=30m", "--demo"], "--set contextPruning.ttl=30m"),
        (&["sweep", key, "historyLimit=5,10", "--demo"], "--vary historyLimit=5,10"),
        (&["export", key, "md", "--demo", "--format", "html"], "--format md"),
        (&["context", key, "--breakdon", "--demo"], "--breakdown"),
        (&["breakdown", "8812", "--demo"], "context 8812 --breakdown --demo"),
        (&["--demo", "timeline", key], &format!("replay {key} --timeline")),
        (&["--theme", "dark", "timeline", key], &format!("--theme dark replay {key} --timeline")),
        (&["grep", "libatomic", "--demo"], "search libatomic --demo"),
        (&["ls", "--demo"], "sessions --demo"),
        (&["explian", key, "--demo"], &format!("explain {key} --demo")),
        (&["explainx", "telegram"], "explain telegram"),
        (&["8812", "--demo"], "explain 8812 --demo"),
        (&["version"], "--version"),
        (&["search", "demo", "LTO"], "search 'demo LTO'"),
        (&["search", "demo", "LTO", "build", "--demo"], "search 'demo LTO build' --demo"),
        (&["sweep", "8812", "--patch", "--demo"], "sweep 8812 --patch patch.json5 --demo"),
    ] {
        let (code, error) = mistaken(words);
        let offer = error.lines().find_map(|line| line.strip_prefix("Type: clawscope "));
        assert!(code >= 2 && offer.is_some_and(|offer| offer.contains(expected)), "{words:?}: {error}");
    }
    let (code, out, _) = run(&mut program(&["ls", "--demo", "--json"]));
    assert!(code == 2 && out.is_empty());
}

#[test]
fn usage_errors_name_the_expected_argument() {
    for (words, expected) in [
        (&["explain"][..], "missing SESSION: its key, its id or"),
        (&["export", "x"], "missing --format: expected html, md, json, svg, pi or parquet."),
        (
            &["export", "x", "--out", "report"],
            "missing --format: expected html, md, json, svg, pi or parquet.",
        ),
        (&["export", "-o", "report.html"], "missing SESSION: its key, its id or"),
        (&["demo"], "missing --out DIR: write to this folder"),
        (&["context", "x", "y", "z"], "one argument too many. Expected: SESSION PATH"),
        (&["demo", "a=b"], "one argument too many. Expected: no arguments"),
        (&["simulate", "x", "--policy", "prun"], "--policy \"prun\": expected compact, truncate"),
        (&["simulate", "x", "--policy", "prun"], "Did you mean prune?"),
        (&["watch", "--alert", "much"], "expected a share of the window, such as 80% or 0.8"),
        (&["sweep", "x", "--vary"], "--vary needs a value"),
        (&["search", "x", "--limit", "few"], "--limit \"few\": expected a whole number, such as 0."),
        (&["explain", "x", "--breakdown"], "explain has no option --breakdown. `context` has it."),
        (&["context", "x", "--budget", "90%"], "context has no option --budget. `check` has it."),
        (&["sessions", "-v"], "sessions has no option -v. `clawscope"),
        (&["cost", "--sessions"], "cost has no option --sessions. `clawscope"),
        (&["completions", "fishy"], "SHELL \"fishy\": expected bash, elvish, fish, powershell or zsh"),
    ] {
        let (code, error) = mistaken(words);
        let error = error.replace('\n', " ");
        assert!(code == 2 && error.contains(expected), "{words:?}: {error}");
        assert!(error.contains("--help` lists"), "{words:?}: {error}");
    }
}

#[test]
fn a_word_that_is_like_nothing_gets_no_line_to_type() {
    for words in [&["exit"][..], &["nothing", "--demo"]] {
        let (code, error) = mistaken(words);
        assert!(code == 2 && offered(&error).is_none() && error.contains("neither a command"), "{error}");
    }
}

#[test]
fn a_folder_without_a_slash_is_a_store_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |words: &[&str]| run(program(words).current_dir(folder.path()));
    assert_eq!(in_folder(&["demo", "--out", "demo1"]).0, 0);
    for command in ["cost", "explain", "settings", "tree", "check"] {
        let [plain, dotted] = ["demo1", "./demo1"].map(|path| in_folder(&[command, path]));
        assert!(!plain.2.contains("no gateway store"), "{command}: {}", plain.2);
        let same = |text: &str| text.replace("/./demo1", "/demo1").replace("./demo1", "demo1");
        assert_eq!((plain.0, same(&plain.2)), (dotted.0, same(&dotted.2)), "{command}");
    }
    let (code, out, error) = in_folder(&["cost", "demo1"]);
    assert!(code == 0 && out.contains("telegram:direct:8812"), "{error}{out}");
}

#[test]
fn tokens_and_formats_are_written_as_people_write_them() {
    let key = "agent:main:telegram:direct:8812";
    let of = |words: &[&str]| run(&mut program(&[words, &["--demo"]].concat()));
    let plain = of(&["check", key, "--window", "100000"]);
    for window in ["100k", "100,000", "100_000", "0.1M"] {
        assert_eq!(of(&["check", key, "--window", window]), plain, "{window}");
    }
    let plain = of(&["check", key, "--budget", "150000", "--set", "compaction.reserveTokens=30000"]);
    assert_eq!(of(&["check", key, "--budget", "150,000", "--set", "compaction.reserveTokens=30k"]), plain);
    for (word, name) in [("markdown", "md"), ("jsonl", "pi")] {
        let [one, other] = [word, name].map(|format| of(&["export", key, "--format", format]));
        // An export has its own time, and one for pi its own id.
        let form = |text: &str| (text.lines().count(), text.get(..2).map(str::to_owned));
        assert!(one.0 == 0 && form(&one.1) == form(&other.1), "{word}: {}", one.2);
        let (code, error) = mistaken(&["export", "--format", word]);
        assert!(code == 2 && error.contains("missing SESSION"), "{error}");
    }
    let (code, error) = mistaken(&["sessions", "--store", "x", "--demo"]);
    assert!(
        code == 2 && error.contains("--store and --demo cannot be combined. Remove one of them."),
        "{error}"
    );
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

#[test]
fn every_line_that_an_error_offers_is_one_that_clawscope_accepts() {
    let mut offers = 0;
    for line in [
        "sessions --demo --agent mian",
        "sessions --profile x",
        "sessions --demo --filter foo:bar",
        "sessions --demo --filter '>x%'",
        "sessions overflow --demo",
        "sessions ./nothing-here",
        "watch 8812",
        "rules 2026.4.15",
        "rules --ruleset newest",
        "explain --demo 8812 --window much",
        "explain --demo --all --window learnt",
        "explain --demo --window",
        "explain --demo",
        "explain telegram:8813 --demo",
        "explain agent:main --demo",
        "explian 8812 --demo",
        "sessions nope --demo",
        "8812 --demo",
        "--demo timeline 8812",
        "breakdown 8812 --demo",
        "check 8812 90% --demo",
        "replay 8812 contextPruning.ttl=30m --demo",
        "sweep 8812 historyLimit=5,10 --demo",
        "sweep 8812 --vary --demo",
        "sweep 8812 --demo --headroom 300%",
        "export 8812 md --demo",
        "export 8812 --demo",
        "export 8812 --demo --format pdf",
        "export 8812 --demo --format html --size 80x24",
        "context 8812 --breakdon --demo",
        "context 8812 --estimators=x --demo",
        "undo 8812 --compare a b c --demo",
        "simulate 8812 --demo --policy prun",
        "commit main --demo --apply",
        "undo main --demo",
        "search --demo",
        "search --limit few x --demo",
        "demo",
        "man nothing",
        "schema nothing",
        "guide nothing",
        "rules pruning-99",
        "completions fishy",
        "settings --presets x",
    ] {
        let words = shell_words::split(line).unwrap();
        let (code, error) = mistaken(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(code > 1, "{line}: {code} {error}");
        for offer in error.lines().filter_map(|line| line.strip_prefix("Type: ")) {
            let words = shell_words::split(offer).unwrap();
            if let Err(fault) = Cli::try_parse_from(&words) {
                panic!("{line}: {offer}: {fault}");
            }
            offers += 1;
        }
    }
    assert!(offers >= 15, "{offers}");
}

#[test]
fn every_command_says_once_that_it_reads_the_demo_store_for_want_of_another() {
    let key = "agent:main:telegram:direct:8812";
    for words in [
        &["sessions"][..],
        &["search", "libatomic"],
        &["sessions", key],
        &["tree", key],
        &["context", key],
        &["explain", "--recovery", key],
        &["explain", "--all"],
        &["cost"],
        &["cost", key],
        &["simulate", key],
        &["check", key],
        &["simulate", "--summary", key],
        &["commit", key],
        &["undo", "--list", key],
        &["undo", key, "--compare"],
        &["export", key, "--format", "md"],
        &["rules"],
        &["settings"],
        &["doctor"],
    ] {
        let of = |more: &[&str]| run(&mut program(&[words, more].concat()));
        let (_, shown, error) = of(&[]);
        let note = "note: no gateway store at ~/.openclaw; this is the built-in demo store.";
        assert_eq!(error.matches("gateway store").count(), 1, "{words:?}: {error}");
        assert!(error.contains(note) && !shown.contains("gateway store at"), "{words:?}: {error}");
        let (_, _, error) = of(&["--demo"]);
        assert!(!error.contains("no gateway store"), "{words:?}: {error}");
    }
    for words in [
        &["rules", "--sections"][..],
        &["guide"],
        &["settings", "--presets"],
        &["rules", "--releases"],
        &["settings", "--markdown"],
    ] {
        let (code, _, error) = run(&mut program(words));
        assert!(code == 0 && error.is_empty(), "{words:?}: {error}");
    }
    let store = Store::new();
    for words in [&["sessions"][..], &["context", "main"], &["explain", "--all"]] {
        let (_, _, error) = store.run(words);
        assert!(!error.contains("demo store"), "{words:?}: {error}");
    }
}

#[test]
fn commands_without_a_store_do_not_offer_options_for_one() {
    for name in ["demo", "guide", "completions", "man", "schema"] {
        let (code, help, _) = run(&mut program(&[name, "--help"]));
        assert!(
            code == 0 && !help.contains("--store <PATH>") && help.contains("--no-pager"),
            "{name}: {help}"
        );
    }
    let (_, help, _) = run(&mut program(&["context", "--help"]));
    assert!(help.contains("--store <PATH>"), "{help}");
    let (code, _, error) = run(&mut program(&["guide", "--demo"]));
    assert!(code == 0 && error.is_empty(), "{error}");
}
