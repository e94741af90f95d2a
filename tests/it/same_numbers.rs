//! A number that is shown in several places is the same in all of them, for every session of the demo store.

use std::sync::OnceLock;

use clawscope::app::state::Overlay;
use clawscope::app::target::Target;
use clawscope::format::{format_number, format_short_estimate};
use clawscope::policy::{Fate, Policy};
use clawscope::report::breakdown::SectionKind;
use clawscope::store::demo;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde_json::Value;

use crate::frames::{dark, drawn, text_of};
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
        let cache = json(store, &["cost", name]).expect("JSON");
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
            let total = format!("all branches cost {}", dollars(&usage["cost"]));
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
        &["explain", "--recovery"],
        &["replay"],
        &["replay", "--timeline"],
        &["cost"],
        &["replay", "--lost"],
        &["check"],
        &["simulate"],
        &["sessions"],
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
    let quotes = ["tree", "sessions"].contains(&command);
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
    let doubled = regex::Regex::new(r"~~|~-|~\+|\$-").expect("a pattern");
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
        assert_eq!(contents.total(), session.next_prompt.total, "{name}: the breakdown and the bar");
        let messages = json(store, &["context", name]).expect("JSON");
        let of_messages: u64 = sum_of(&messages["messages"], "tokens");
        assert_eq!(session.fixed_tokens() + of_messages, contents.estimated_tokens, "{name}: row by row");
    }
}

/// The parts of a window are the same in `context`, in its breakdown and in the explanation of a refused call, and add
/// up to the prompt of the list.
#[test]
fn the_parts_of_a_window_are_the_same_everywhere_and_add_up() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let mut refused = 0;
    for row in rows(store) {
        let name = key(&row);
        let context = json(store, &["context", name]).expect("JSON");
        let breakdown = json(store, &["context", name, "--breakdown"]).expect("JSON");
        assert_eq!(context["budget"], breakdown["budget"], "{name}");
        assert_eq!(context["budget"]["total"], row["tokens"]["value"], "{name}");
        assert_eq!(breakdown["percent"], row["percent"], "{name}");
        let shown = text(store, &["context", name]);
        let line = shown.lines().find(|line| line.starts_with("by part")).expect("the parts");
        let results = format_number(breakdown["budget"]["results"].as_i64().expect("tokens"));
        assert!(results == "0" || line.contains(&format!("results ~{results}")), "{name}: {line}");
        let shown = text(store, &["context", name, "--breakdown"]);
        let total = format_number(row["tokens"]["value"].as_i64().expect("tokens"));
        let line = shown.lines().find(|line| line.starts_with("sum of the parts: ")).expect("the sum");
        assert!(line.contains(&total), "{name}: {line}");
        if row["overflows"] == 0 {
            continue;
        }
        let explained = json(store, &["explain", name]).expect("JSON");
        let parts = sum_of(&explained["parts"], "tokens");
        assert_eq!(parts, explained["counts"][0]["tokens"].as_u64().expect("tokens"), "{name}");
        if parts == row["tokens"]["value"] {
            refused += 1;
            let is_result =
                |part: &&Value| part["part"].as_str().is_some_and(|name| name.contains("results"));
            let parts = explained["parts"].as_array().expect("parts").iter().filter(is_result);
            let results: u64 = parts.map(|part| part["tokens"].as_u64().expect("whole")).sum();
            assert_eq!(results, context["budget"]["results"], "{name}");
        }
    }
    assert!(refused >= 1, "{refused} sessions end in a refusal");
}

/// A plan frees the same in the tuning pane at both heights, in the breakdown and in `simulate`.
#[test]
fn a_plan_frees_the_same_wherever_it_is_shown() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let name = "agent:main:telegram:direct:8812";
    let mut driver = Driver::demo(130, 36);
    driver.go_to(name);
    let at_rest = driver.app.preview.policy_savings.clone();
    driver.press(":policies");
    let now = driver.app.displayed_session().expect("a session").next_prompt.total.tokens;
    assert!(
        at_rest
            .iter()
            .any(|(policy, freed)| *policy == Policy::Prune && freed.is_some_and(|freed| freed > 0))
    );
    for (policy, freed) in at_rest {
        let alone = driver.app.policy_effects.alone(policy).expect("measured").prompt_tokens;
        assert_eq!(Some(now - alone), freed, "{policy:?}");
    }
    driver.press("esc plan");
    let after = driver.app.preview.totals.after.expect("a plan").total();
    driver.press(":policies");
    assert_eq!(driver.app.policy_effects.prompts.last().map(|(_, tokens)| *tokens), Some(after));
    driver.press("esc v w");
    let Some(Overlay::Breakdown(screen)) = driver.app.overlay() else { panic!("no screen") };
    assert_eq!(screen.contents.after.as_ref().expect("a plan").budget.total(), after);
    let parts = screen.sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
    assert_eq!(parts.map(|section| section.after.expect("a plan")).sum::<u64>(), after);
    let simulated = text(store, &["simulate", name]);
    let expected = format!("{} tokens, ", format_short_estimate(after));
    let line = simulated
        .lines()
        .find(|line| line.starts_with("prompt as the provider counts: "))
        .expect("the prompt");
    assert!(line.contains(&expected), "{line}, {expected}");
}

/// A compaction has the same assumed summary, the same messages and the same prompt in a plan and in a recovery.
#[test]
fn a_compaction_is_the_same_in_a_plan_a_recovery_and_the_settings() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let name = "agent:main:telegram:direct:8812";
    let words = ["simulate", name, "--policy", "compact"];
    let planned = json(store, &words).expect("JSON");
    let settings = json(store, &["settings", name]).expect("JSON");
    let summary = settings["settings"].as_array().expect("rows").iter();
    let summary = summary.clone().find(|row| row["key"] == "compaction.summaryTokens").expect("the row");
    assert_eq!(summary["value"], planned["compaction"]["summaryTokens"]);
    let fates = planned["fates"].as_array().expect("fates").iter();
    let summarised = fates.filter(|fate| fate["fate"] == "summarised").count();
    let recovery = json(store, &["explain", "--recovery", name]).expect("JSON");
    let steps = recovery["attempts"][0]["steps"].as_array().expect("steps");
    let compacted = steps.iter().find(|step| !step["summarised"].is_null()).expect("a compaction");
    assert_eq!(compacted["summarised"], summarised);
    let fits = steps.iter().rev().find_map(|step| step["tokens"].as_u64()).expect("tokens");
    let shown = text(store, &words);
    assert!(shown.contains(&format!("→ {} tokens, ", format_short_estimate(fits))), "{fits}: {shown}");
    let shown = text(store, &["explain", "--recovery", name]);
    let words = "the summary is assumed to have 610 tokens, the average of this session's earlier summaries";
    assert!(shown.contains(words) && shown.contains(&format!("{summarised} summarised")), "{shown}");
}

/// The guard acts by its rule, and the counts show that it did not: the explanation says what the replay says.
#[test]
fn an_explanation_and_a_replay_agree_about_the_context_guard() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let name = "agent:main:telegram:direct:8812";
    assert!(text(store, &["replay", name]).contains("`guard` had no effect here"));
    let explained = json(store, &["explain", name]).expect("JSON");
    let guards = explained["guards"].as_array().expect("guards");
    let guard = guards.iter().find(|guard| guard["guard"] == "context guard").expect("the guard");
    assert_eq!((&guard["state"], &guard["dueBy"]), (&"freed nothing".into(), &Value::Null), "{guard}");
}

/// Different counts of one prompt say which they are.
#[test]
fn counts_of_one_prompt_name_what_they_include() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let mut with_answer = 0;
    for row in rows(store).iter().filter(|row| row["tokens"]["source"] == "measured") {
        let shown = text(store, &["context", key(row)]);
        let line = |start: &str| shown.lines().find(|line| line.starts_with(start)).unwrap_or_default();
        if line("runtime's estimate now: ").contains(" with its answer") && row["overflows"] == 0 {
            with_answer += 1;
            assert!(line("next call: ").contains("measured with the last answer ("), "{shown}");
        }
        let flush = line("memory flush: at ");
        let names = flush.contains("from the stored total (")
            || flush.contains("from the last prompt with its answer (");
        assert!(names || !flush.contains("to go"), "{flush}");
    }
    assert!(with_answer >= 5, "{with_answer} sessions");
    let name = "agent:main:telegram:direct:8812";
    let compared = json(store, &["undo", name, "--compare"]).expect("JSON");
    let listed = rows(store).into_iter().find(|row| key(row) == name).expect("listed");
    assert_eq!(compared["second"]["tokens"], listed["tokens"]["value"]);
    let replayed = text(store, &["replay", name]);
    assert!(replayed.contains("135 calls on this branch"), "{replayed}");
    let words = "3 calls on other branches are not replayed; all branches cost $24.04 for 137 answers, without the summaries";
    assert!(replayed.contains(words), "{replayed}");
}

/// The screen of problems does not call transcripts valid that it has not looked at.
#[test]
fn the_screen_of_problems_lists_those_of_every_session() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("llvm-notes");
    driver.press("v !");
    let shown = text_of(&drawn(&driver.app, &dark()));
    assert!(shown.contains("Hook: mail") && shown.contains("telegram 8812 "), "{shown}");
    assert!(!shown.contains("is valid"), "{shown}");
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

/// The turn limit cuts the history that the run of the failed call loaded, before the message that began it.
#[test]
fn a_turn_limit_leaves_the_same_prompt_in_the_rows_and_in_the_header() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    driver.press("p 4");
    for _ in 0..12 {
        if driver.app.tuning.policy == Policy::History {
            break;
        }
        driver.press(".");
    }
    driver.press("enter ctrl-u text:1 enter");
    assert_eq!(driver.app.target, Target::FailedCall);
    let (_, _, tuned) = driver.app.target_tokens().expect("a replay");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let plan = driver.app.preview.plan.as_deref().expect("a plan");
    let rows = pane.session.prompt_tokens_after(plan);
    assert!(rows.abs_diff(tuned.expect("tuned")) * 100 < rows, "{rows} {tuned:?}");
    let sent = plan.fates().iter().filter(|fate| fate.fate != Fate::Dropped).count();
    assert_eq!(sent, 14, "the turn before, this one and the refused answer");
}

/// A message is as large on the full screen as in its pane and its row.
#[test]
fn a_message_has_one_size() {
    for width in [130, 170] {
        let mut driver = Driver::demo(width, 40);
        driver.go_to("telegram:direct:8812");
        driver.press("2 G k");
        let tokens = driver.app.message.text.as_deref().and_then(|text| driver.app.message_tokens(text));
        let expected = format!("~{}", format_number(tokens.expect("a size").0 as i64));
        driver.press("3 enter");
        let frame = text_of(&drawn(&driver.app, &dark()));
        let line = frame.lines().find(|line| line.contains("tokens ") && line.contains(&expected));
        assert!(line.is_some() && !frame.contains(" est"), "{expected}: {frame}");
    }
}

/// The list shows no share before the transcript was counted.
#[test]
fn a_share_in_the_list_is_counted() {
    let mut driver = Driver::demo(130, 36);
    let list = |driver: &Driver| {
        let frame = text_of(&drawn(&driver.app, &dark()));
        frame.lines().skip(8).map(|line| line.chars().take(27).collect::<String>()).collect::<Vec<_>>()
    };
    let shares = |lines: &[String]| lines.iter().filter(|line| line.contains('%')).count();
    let lines = list(&driver);
    assert_eq!(shares(&lines), 1, "only the open session is counted: {lines:#?}");
    driver.go_to("llvm-notes");
    let lines = list(&driver);
    assert_eq!(shares(&lines), 2, "{lines:#?}");
}
