//! 153 answers in the words of many providers, each judged as its line says. The fixture's `recognised` holds the first
//! sampled release of each program that took the words for an overflow.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test stops there")]

use clawscope::policy::overflow::{Judgement, Said, Verdict, judge};
use serde_json::Value;

const FIXTURE: &str = include_str!("fixtures/overflow-texts.jsonl");

struct Line {
    json: Value,
    said: Said,
    judgement: Judgement,
}

fn lines() -> Vec<Line> {
    let read = |text: &str| {
        let said = Said::of_message(&clawscope::js::parse(text).unwrap());
        Line { json: serde_json::from_str(text).unwrap(), judgement: judge(&said), said }
    };
    FIXTURE.lines().map(read).collect()
}

impl Line {
    /// Whether usage decides and not words: such a line carries a window.
    fn is_judged_by_usage(&self) -> bool {
        self.json.get("window").is_some()
    }

    fn verdict(&self) -> Verdict {
        match &self.json["overflow"] {
            Value::Bool(true) => Verdict::Tokens,
            Value::Bool(false) => Verdict::No,
            other => {
                assert_eq!(other, "bytes");
                Verdict::Bytes
            }
        }
    }
}

#[test]
fn every_line_is_judged_as_it_says_with_its_numbers() {
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
        assert_eq!((line.judgement.verdict, line.judgement.rule), (Verdict::No, ""), "{}", line.json["id"]);
    }
}
