//! Text of commands on terminals of several widths.

use std::ffi::OsString;

use clawscope::command::environment::Invocation;
use clawscope::command::output::Output;
use clawscope::gateway::env::Environment;
use clawscope::text::width;
use clawscope::units::Moment;
use regex::Regex;

const OVERFLOWED: &str = "agent:main:telegram:direct:8812";
const COMPACTED: &str = "agent:research:main";

fn output(words: &[&str], columns: Option<usize>) -> String {
    let env = Environment::new([("HOME", "/nonexistent/clawscope-test")], None, "/".into());
    let invocation = Invocation { env, now_ms: Moment(1_772_719_601_000.0) };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = std::iter::once("clawscope").chain(words.iter().copied()).map(OsString::from);
    let mut both = Output::new(&mut out, &mut err).with_terminal(columns, false);
    clawscope::command::main(words, &invocation, &mut both);
    String::from_utf8([out, err].concat()).expect("UTF-8")
}

/// The commands whose text a person reads.
fn commands() -> Vec<Vec<&'static str>> {
    let mut all: Vec<Vec<&str>> = Vec::new();
    for key in [OVERFLOWED, COMPACTED] {
        for command in ["tree", "context", "explain", "simulate", "replay", "check", "sessions"] {
            all.push(vec![command, key]);
        }
        all.push(vec!["explain", key, "--recovery"]);
        all.push(vec!["undo", key, "--list"]);
        all.push(vec!["undo", key, "--compare"]);
        all.push(vec!["context", key, "--breakdown"]);
        all.push(vec!["context", key, "--estimators"]);
        all.push(vec!["context", key, "--set", "contextTokens=100000"]);
        all.push(vec!["simulate", key, "--policy", "all"]);
        all.push(vec!["replay", key, "--timeline"]);
        all.push(vec!["simulate", "--summary", key, "--calls"]);
        all.push(vec!["commit", key]);
        all.push(vec!["undo", key]);
        all.push(vec!["settings", key]);
    }
    all.push(vec!["sweep", OVERFLOWED, "--vary", "contextPruning.ttl=5m,30m"]);
    for words in [
        &["sessions"][..],
        &["explain", "--all"],
        &["explain", "--all", "--window", "100000"],
        &["doctor"],
        &["doctor", "--self"],
        &["rules"],
        &["rules", "--releases"],
        &["rules", "--diff", "2026.4.15"],
        &["settings"],
        &["rules", "--sections"],
        &["rules", "pruning-5"],
        &["guide"],
        &["guide", "explain"],
        &["guide", "commands"],
        &["schema"],
        &["tree", "telegram"],
        &["tree", "nobody"],
    ] {
        all.push(words.to_vec());
    }
    for words in &mut all {
        words.push("--demo");
    }
    all
}

#[test]
fn every_command_fits_the_terminal() {
    for words in commands() {
        for columns in [80, 100, 140] {
            let text = output(&words, Some(columns));
            assert!(!text.trim().is_empty(), "{words:?}");
            for line in text.lines().filter(|line| width(line) > columns) {
                // A path, a key or a line to paste is not broken.
                let is_one_word = !line.trim().contains("  ")
                    && line.split_whitespace().any(|word| word.len() > columns / 2);
                assert!(is_one_word || line.starts_with("Type: "), "{words:?} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn a_search_prints_whole_times() {
    let time = Regex::new(r"^  \S{8}  (\d+[smhd]( \d+[smh])? ago|\d{4}-\d\d-\d\d( \d\d:\d\d:\d\dZ)?)  ")
        .expect("a pattern");
    for columns in [80, 100, 140] {
        let text = output(&["search", "the", "--limit", "0", "--demo"], Some(columns));
        let hits: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
        assert!(hits.len() > 20, "{text}");
        for line in hits {
            assert!(time.is_match(line), "{columns}: {line}");
        }
    }
}

#[test]
fn a_page_is_not_printed_to_a_terminal_unless_asked() {
    let words = ["export", "cron:5b0e6c1e", "--demo", "--format", "html"];
    let refusal = output(&words, Some(80)).replace('\n', " ");
    assert!(refusal.contains("Name a file: --out session.html.") && !refusal.contains("<html"), "{refusal}");
    for (more, columns) in [(&["--out", "-"][..], Some(80)), (&[], None)] {
        assert!(output(&[&words[..], more].concat(), columns).contains("<html"));
    }
}

#[test]
fn without_a_terminal_no_text_is_truncated() {
    let text = output(&["explain", "--all", "--demo"], None);
    assert!(
        text.contains("c9e3fcc7-3348-4239-872c-794309560f18.jsonl.reset.2026-03-04T08-12-44.918Z"),
        "{text}"
    );
    assert!(text.contains("the limit is 200,000. Compaction was still 27.9k away."), "{text}");
}

#[test]
fn a_table_of_verdicts_breaks_no_word() {
    let text = output(&["explain", "--all", "--demo"], Some(100));
    let words: Vec<&str> = text.split_whitespace().collect();
    for word in ["Overflowed:", "parallel-results", "compaction"] {
        assert!(words.contains(&word), "{word} in {text}");
    }
}
