//! A number that is shown in several places is the same in all of them, for every session of the demo store.

use std::sync::OnceLock;

use clawscope::format::format_number;
use clawscope::store::demo;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde_json::Value;

use crate::support::driver::Driver;
use crate::support::store::program;

fn demo_store() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    demo::write_to(folder.path()).expect("the demo store");
    folder
}

fn text(store: &str, words: &[&str]) -> String {
    let output = program(words).args(["--store", store]).env("TZ", "UTC").output().expect("it runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// `None` for a session without a transcript.
fn json(store: &str, words: &[&str]) -> Option<Value> {
    let printed = text(store, &[words, &["--json"]].concat());
    serde_json::from_str(&printed).ok()
}

fn rows(store: &str) -> Vec<Value> {
    let rows = json(store, &["sessions"]).expect("JSON")["sessions"].as_array().expect("a list").clone();
    let rows: Vec<Value> = rows.into_iter().filter(|row| !row["tokens"].is_null()).collect();
    assert!(rows.len() >= 12, "{} sessions", rows.len());
    rows
}

fn key(row: &Value) -> &str {
    row["key"].as_str().expect("a key")
}

#[test]
fn the_next_call_of_the_list_is_that_of_the_context() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    for row in rows(store) {
        let context = json(store, &["context", key(&row)]).expect("JSON");
        assert_eq!(context["nextCall"]["tokens"], row["tokens"], "{}", key(&row));
        assert_eq!(context["nextCall"]["percent"], row["percent"], "{}", key(&row));
        let shown = text(store, &["context", key(&row)]);
        let line = shown.lines().find(|line| line.starts_with("next call: ")).expect("the line");
        let tokens = format_number(row["tokens"]["value"].as_u64().expect("tokens") as i64);
        assert!(line.contains(&tokens), "{}: {line}", key(&row));
        assert!(line.contains(&format!("{}%", row["percent"])), "{}: {line}", key(&row));
    }
}

#[test]
fn calls_and_cost_of_the_list_are_those_of_the_context() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    for row in rows(store) {
        let context = json(store, &["context", key(&row)]).expect("JSON");
        assert_eq!(context["spent"]["answers"]["calls"], row["usage"]["calls"], "{}", key(&row));
        assert_eq!(context["spent"]["cost"], row["usage"]["cost"], "{}", key(&row));
    }
}

#[test]
fn overflows_compactions_and_the_largest_call_are_the_same_everywhere() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let mut explained = 0;
    for row in rows(store) {
        let check = json(store, &["check", key(&row)]).expect("JSON");
        let calls = row["usage"]["calls"].as_u64().expect("calls");
        assert!(
            check["calls"].as_u64().expect("calls") <= calls + row["overflows"].as_u64().expect("overflows")
        );
        if row["overflows"] == 0 {
            assert_eq!(check["over"], 0, "{}", key(&row));
            continue;
        }
        explained += 1;
        let recorded = &json(store, &["explain", key(&row)]).expect("JSON")["recorded"];
        assert_eq!(recorded["overflows"], row["overflows"], "{}", key(&row));
        assert_eq!(recorded["compactions"], row["compactions"], "{}", key(&row));
        assert_eq!(
            (&recorded["overflows"], &recorded["peak"]),
            (&check["over"], &check["peak"]),
            "{}",
            key(&row)
        );
    }
    assert!(explained >= 2, "{explained} sessions overflowed");
}

/// Returns a shown cost in cents.
fn cents(value: &Value) -> i64 {
    (value.as_f64().unwrap_or(0.0) * 100.0).round() as i64
}

fn dollars(value: &Value) -> String {
    format!("${}.{:02}", cents(value) / 100, cents(value) % 100)
}

#[test]
fn the_cost_of_a_session_is_the_same_in_the_list_the_context_and_the_replay() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let mut elsewhere = 0;
    for row in rows(store) {
        let name = key(&row);
        let usage = &row["usage"];
        let cache = json(store, &["cache", name]).expect("JSON");
        assert_eq!(cache["totals"]["cost"], usage["cost"], "{name}");
        assert_eq!(cache["totals"]["calls"], usage["calls"], "{name}");
        let replay = json(store, &["replay", name]).expect("JSON");
        let recorded = &replay["totals"]["recorded"];
        let shown = text(store, &["replay", name]);
        let other = shown.lines().find(|line| line.contains("on other branches"));
        let refused = recorded["overflows"].as_u64().expect("overflows");
        let missing = usage["calls"].as_i64().expect("calls")
            - (recorded["calls"].as_i64().expect("calls") - refused as i64);
        if let Some(other) = other {
            elsewhere += 1;
            assert!(other.starts_with(&format!("{missing} call")), "{name}: {other}");
            let total = format!("the session cost {}", dollars(&usage["cost"]));
            assert!(other.contains(&total), "{name}: {other}, {total}");
        } else {
            assert_eq!(missing, 0, "{name}");
            assert_eq!(cents(&usage["cost"]), cents(&recorded["recordedCost"]), "{name}");
        }
    }
    assert!(elsewhere >= 2, "{elsewhere} sessions with calls elsewhere");
}

#[test]
fn a_replay_a_check_a_sweep_and_an_explanation_count_the_same_calls() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    for row in rows(store) {
        let name = key(&row);
        let replay = json(store, &["replay", name, "--all"]).expect("JSON");
        let check = json(store, &["check", name]).expect("JSON");
        let recorded = &replay["totals"]["recorded"];
        assert_eq!(replay["calls"].as_array().expect("calls").len() as u64, recorded["calls"], "{name}");
        for (number, of_check) in [("calls", "calls"), ("overflows", "over"), ("peak", "peak")] {
            assert_eq!(recorded[number], check[of_check], "{name}: {number}");
        }
        let words = ["sweep", name, "--vary", "compaction.reserveTokens=20000"];
        let sweep = json(store, &words).expect("JSON");
        for number in ["calls", "overflows", "peak"] {
            assert_eq!(sweep["recorded"][number], recorded[number], "{name}: {number}");
        }
        let timeline = text(store, &["replay", name, "--timeline"]);
        let calls = recorded["calls"].as_u64().expect("calls");
        assert!(timeline.contains(&format!("{calls} call")), "{name}: {timeline}");
        if row["overflows"] == 0 {
            continue;
        }
        let explained = json(store, &["explain", name]).expect("JSON");
        let total =
            recorded["cost"].as_f64().expect("a cost") + recorded["summaryCost"].as_f64().expect("a cost");
        assert_eq!(cents(&explained["recorded"]["cost"]), cents(&total.into()), "{name}");
        let peak = format_number(recorded["peak"].as_i64().expect("a peak"));
        for words in
            [&["explain", name][..], &["replay", name], &["replay", name, "--timeline"], &["check", name]]
        {
            assert!(text(store, words).contains(&peak), "{words:?}: {peak}");
        }
    }
}

/// The output of a command about a session.
struct Printed {
    session: Value,
    command: String,
    text: String,
}

/// Every command that prints numbers of one session, for every session; made once for all tests.
fn outputs() -> &'static [Printed] {
    const COMMANDS: [&[&str]; 13] = [
        &["context"],
        &["context", "--breakdown"],
        &["context", "--estimators"],
        &["explain"],
        &["recovery"],
        &["replay"],
        &["replay", "--timeline"],
        &["cache"],
        &["regret"],
        &["check"],
        &["simulate"],
        &["record"],
        &["tree"],
    ];
    static OUTPUTS: OnceLock<Vec<Printed>> = OnceLock::new();
    OUTPUTS.get_or_init(|| {
        let folder = demo_store();
        let store = folder.path().to_str().expect("text");
        let rows = rows(store);
        let runs: Vec<(&Value, &[&str])> =
            rows.iter().flat_map(|row| COMMANDS.map(|command| (row, command))).collect();
        let print = |(row, words): &(&Value, &[&str])| Printed {
            session: (*row).clone(),
            command: words.join(" "),
            text: text(store, &[words, &[key(row)][..]].concat()),
        };
        runs.par_iter().map(print).collect()
    })
}

/// Returns the words of a text without quoted lines of a transcript.
fn own_words(command: &str, text: &str) -> String {
    let quotes = ["tree", "record"].contains(&command);
    let is_quoted = |line: &&str| quotes || line.contains("prompt is too long") || line.contains("://");
    text.lines().filter(|line| !is_quoted(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn numbers_have_one_form_and_calls_count_from_one() {
    let blank_groups =
        regex::Regex::new(r"(^|[^0-9,.:#-])[1-9][0-9]{0,2}[ \u{a0}\u{202f}][0-9]{3}([^0-9:]|$)")
            .expect("a pattern");
    let many_minutes = regex::Regex::new(r"\b([6-9][0-9]|[0-9]{3,})m\b").expect("a pattern");
    let call_zero = regex::Regex::new(r"#0\b").expect("a pattern");
    let doubled = regex::Regex::new(r"~~|~-|\$-").expect("a pattern");
    for Printed { command, text, .. } in outputs() {
        let own = own_words(command, text);
        for line in own.lines() {
            assert!(!many_minutes.is_match(line), "{command}: {line}");
            assert!(!call_zero.is_match(line), "{command}: {line}");
            assert!(!doubled.is_match(line), "{command}: {line}");
        }
        for line in own.lines().filter(|line| !line.contains("  ")) {
            assert!(!blank_groups.is_match(line), "{command}: {line}");
        }
    }
}

#[test]
fn a_measured_number_has_no_tilde_and_an_estimate_has_one_in_every_place() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let list = text(store, &["sessions"]);
    let (mut measured, mut estimated) = (0, 0);
    for row in rows(store) {
        let name = key(&row);
        let tokens = format_number(row["tokens"]["value"].as_i64().expect("tokens"));
        let is_measured = row["tokens"]["source"] == "measured";
        let shown = if is_measured { tokens.clone() } else { format!("~{tokens}") };
        let short = name.trim_start_matches("agent:").split_once(':').expect("a key").1;
        let line = list.lines().find(|line| line.trim_start().starts_with(short)).expect("the row");
        assert!(line.split_whitespace().any(|word| word == shown), "{name}: {line}");
        let context = text(store, &["context", name]);
        let line = context.lines().find(|line| line.starts_with("next call: ")).expect("the line");
        assert!(line.split_whitespace().any(|word| word.trim_end_matches(',') == shown), "{name}: {line}");
        if is_measured {
            measured += 1;
            let estimate = format!("~{tokens}");
            for printed in outputs().iter().filter(|printed| key(&printed.session) == name) {
                assert!(!printed.text.contains(&format!("{estimate} ")), "{}: {estimate}", printed.command);
            }
        } else {
            estimated += 1;
        }
    }
    assert!(measured >= 8, "{measured} measured, {estimated} estimated");
}

/// `watch` names the number of the list besides its own; doctor and the screen count as the list does.
#[test]
fn every_place_counts_the_same_sessions() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let sessions = json(store, &["sessions"]).expect("JSON")["sessions"].as_array().expect("a list").clone();
    let driver = Driver::demo(130, 36);
    assert_eq!(driver.app.sessions.items.len(), sessions.len());
    let archived = sessions.iter().filter(|row| {
        let flags = row["flags"].as_array().expect("flags");
        flags.iter().any(|flag| flag == "reset" || flag == "deleted")
    });
    let followed = sessions.len() - archived.count();
    assert!(followed < sessions.len());
    let watch = watch_start(folder.path());
    let expected = format!("following {followed} of {} sessions", sessions.len());
    assert!(watch.contains(&expected), "{watch}, {expected}");
    let doctor = json(store, &["doctor"]).expect("JSON");
    let of_agents = doctor["agents"].as_array().expect("agents").iter().map(|agent| &agent["sessions"]);
    assert_eq!(of_agents.map(|count| count.as_u64().expect("a count")).sum::<u64>(), sessions.len() as u64);
}

/// The bar, the list and the message pane of the screen show the numbers of the commands.
#[test]
fn the_screen_shows_the_numbers_of_the_commands() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    for row in rows(store) {
        let name = key(&row);
        let mut driver = Driver::demo(130, 36);
        driver.go_to(name);
        let session = driver.app.displayed_session().expect("a session");
        let item = driver.app.sessions.items.iter().find(|item| item.key.0 == name).expect("listed");
        let counted = item.tokens.expect("tokens");
        assert_eq!(counted.tokens, row["tokens"]["value"], "{name}: the list");
        assert_eq!(session.next_prompt.total.tokens, row["tokens"]["value"], "{name}: the bar");
        assert_eq!(item.overflows, row["overflows"].as_u64(), "{name}");
        let context = json(store, &["context", name, "--breakdown"]).expect("JSON");
        let contents = clawscope::report::breakdown::WindowContents::new(session, None);
        assert_eq!(contents.now.budget.total(), context["budget"]["total"], "{name}: the breakdown");
        let messages = json(store, &["context", name]).expect("JSON");
        let of_messages: u64 = sum_of(&messages["messages"], "tokens");
        assert_eq!(session.fixed_tokens() + of_messages, context["budget"]["total"], "{name}: row by row");
    }
}

fn sum_of(list: &Value, member: &str) -> u64 {
    list.as_array().expect("a list").iter().map(|item| item[member].as_u64().expect("whole")).sum()
}

/// The first line of `watch`.
fn watch_start(store: &std::path::Path) -> String {
    use std::io::BufRead as _;
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("clawscope"));
    let command = command.arg("watch").arg(store).stderr(std::process::Stdio::piped()).env("TZ", "UTC");
    let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("it starts");
    let mut line = String::new();
    let error = child.stderr.take().expect("errors");
    std::io::BufReader::new(error).read_line(&mut line).expect("a line");
    child.kill().expect("it ends");
    child.wait().expect("it ended");
    line
}
