//! 153 answers in the words of many providers, each with the expected verdict on its line. The fixture's `recognised`
//! holds the first sampled release of each program that took the words for an overflow.

mod families;

use clawscope::policy::overflow::{
    Classification, Runtime, StopDetails, Verdict, is_recognised, is_recognised_in_run, judge,
};
use serde_json::Value;

const FIXTURE: &str = include_str!("../../fixtures/overflow-texts.jsonl");

struct Line {
    json: Value,
    said: StopDetails,
    judgement: Classification,
}

fn lines() -> Vec<Line> {
    let read = |text: &str| {
        let said = StopDetails::from_message(&clawscope::js::parse(text).unwrap());
        Line { json: serde_json::from_str(text).unwrap(), judgement: judge(&said), said }
    };
    FIXTURE.lines().map(read).collect()
}

impl Line {
    /// Whether usage decides and not the text: such a line has a window.
    fn is_judged_by_usage(&self) -> bool {
        self.json.get("window").is_some()
    }

    fn verdict(&self) -> Verdict {
        match &self.json["overflow"] {
            Value::Bool(true) => Verdict::Tokens,
            Value::Bool(false) => Verdict::NoOverflow,
            other => {
                assert_eq!(other, "bytes");
                Verdict::Bytes
            }
        }
    }
}

#[test]
fn every_line_gets_its_expected_verdict_and_numbers() {
    let lines = lines();
    assert_eq!(lines.len(), 153);
    let mut wrong = Vec::new();
    for line in lines.iter().filter(|line| !line.is_judged_by_usage()) {
        let (judged, json) = (&line.judgement, &line.json);
        let numbers = (judged.numbers.requested, judged.numbers.limit);
        let expected = (json["requested"].as_u64(), json["limit"].as_u64());
        if judged.verdict != line.verdict() || numbers != expected {
            wrong.push(format!("{}: {judged:?}, expected {expected:?}: {}", json["id"], line.said.message));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_answer_without_an_error_is_left_to_its_usage() {
    let silent: Vec<Line> = lines().into_iter().filter(Line::is_judged_by_usage).collect();
    assert_eq!(silent.len(), 5);
    for line in silent {
        assert_eq!(
            (line.judgement.verdict, line.judgement.rule),
            (Verdict::NoOverflow, ""),
            "{}",
            line.json["id"]
        );
    }
}

/// Releases that the fixture's `recognised` was sampled from.
const PI: [&str; 30] = [
    "0.20.0", "0.30.0", "0.40.0", "0.49.3", "0.52.0", "0.55.3", "0.57.0", "0.58.3", "0.60.0", "0.63.1",
    "0.64.0", "0.65.0", "0.66.0", "0.73.0", "0.74.0", "0.77.0", "0.79.0", "0.80.2", "0.82.0", "0.84.0",
    "0.85.0", "0.86.1", "0.87.1", "0.99.1", "1.0.3", "1.3.0", "1.4.0", "1.5.0", "1.5.2", "1.6.0",
];
const OPENCLAW: [&str; 14] = [
    "2026.3.2",
    "2026.3.7",
    "2026.3.13",
    "2026.3.22",
    "2026.3.31",
    "2026.4.14",
    "2026.5.2",
    "2026.5.28",
    "2026.6.1",
    "2026.6.11",
    "2026.7.1",
    "2026.7.35",
    "2026.9.6",
    "2026.10.1",
];

/// The texts that every release in a row should recognise, from the first that did; the newest may no longer.
fn expected<'a>(
    releases: &'a [&'a str],
    since: &Value,
    newest: &Value,
) -> impl Iterator<Item = (&'a str, bool)> {
    let at = since.as_str().map_or(releases.len(), |since| {
        releases.iter().position(|release| *release == since).expect("a sampled release")
    });
    let still = newest.as_bool().expect("a bool");
    let rows = releases.iter().enumerate().map(move |(ix, release)| (*release, ix >= at));
    rows.filter(move |(_, recognised)| still || !*recognised)
}

#[test]
fn releases_recognise_the_words_from_the_first_that_did_and_not_before() {
    let mut wrong = Vec::new();
    for line in lines() {
        let Some(known) = line.json.get("recognised") else { continue };
        let check = |runtime, expected: bool, wrong: &mut Vec<String>| {
            if is_recognised(&line.said, &line.judgement, runtime) != Some(expected) {
                wrong.push(format!("{}: {runtime:?} {expected}: {}", line.json["id"], line.said.message));
            }
        };
        for (release, expected) in expected(&OPENCLAW, &known["openclaw_since"], &known["openclaw_2026.9.6"])
        {
            check(Runtime::OpenClaw(release), expected, &mut wrong);
        }
        // Two rules of pi disagree about a bare 413: without a body it counted up to 0.86, with one from 1.4 on.
        let bare = |release: &str| line.json["id"] == "p136" && ("0.86".."1.4").contains(&release);
        for (release, expected) in expected(&PI, &known["pi_since"], &known["pi_1.5.2"]) {
            check(Runtime::Pi(release), expected && !bare(release), &mut wrong);
        }
        check(Runtime::OpenClaw("2026.9.6"), known["openclaw_2026.9.6"] == true, &mut wrong);
        check(Runtime::Pi("1.5.2"), known["pi_1.5.2"] == true, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_release_recognises_its_recorded_texts() {
    let mut rows = include_str!("../../fixtures/overflow-releases.jsonl")
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).unwrap() });
    let releases = rows.next().unwrap()["releases"].clone();
    let (mut compared, mut wrong) = (0, Vec::new());
    for row in rows {
        let text = row["text"].as_str().unwrap();
        let details = StopDetails::from_text(text);
        let judgement = judge(&details);
        for (at, release) in releases.as_array().unwrap().iter().enumerate() {
            let release = release.as_str().unwrap();
            let seen = |field: &str| match row[field].as_str().unwrap().as_bytes()[at] {
                b'?' => None,
                seen => Some(seen == b'1'),
            };
            let after = (seen("afterRun"), is_recognised(&details, &judgement, Runtime::OpenClaw(release)));
            let inside = (seen("inRun"), is_recognised_in_run(&details, release));
            for (seen, recognised) in [after, inside] {
                compared += usize::from(seen.is_some());
                if seen.is_some() && seen != recognised {
                    wrong.push(format!("{release}: seen {seen:?}: {text}"));
                }
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
    assert!(wrong.is_empty(), "{} of {compared}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_version_that_names_no_release_is_not_compared() {
    let details = StopDetails::from_text("prompt is too long: 213462 tokens > 200000 maximum");
    let judgement = judge(&details);
    for runtime in
        [Runtime::OpenClaw("unknown"), Runtime::OpenClaw("0.55.3"), Runtime::Pi("2026.3.2"), Runtime::Pi("")]
    {
        assert_eq!(is_recognised(&details, &judgement, runtime), None, "{runtime:?}");
    }
    assert_eq!(is_recognised(&details, &judgement, Runtime::OpenClaw("2026.1.24-3")), Some(true));
}
