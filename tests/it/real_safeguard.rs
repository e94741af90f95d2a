//! Compares our summaries call by call with the real gateway's: the same calls with the same messages, the same
//! fallbacks, the same text to the letter. Says `skipped: …` where the real programs are not here.

use clawscope::gateway::ruleset::PiRelease;
use clawscope::js::{self, JsString, Object, Value};
use clawscope::policy::compact::workspace_rules::rules_section;
use clawscope::policy::compact::{
    AnswerFailure, FileOps, Identifiers, SummaryMode, SummaryModel, SummaryRequest, SummarySpec,
    prepare::CompactionTexts, summarise_within,
};

use crate::support::generate::Dice;
use crate::support::openclaw::Openclaw;
use crate::support::pi::Pi;
use clawscope::units::{Moment, Tokens};

const CASES: u64 = 1000;

/// A summary to make, and its failing calls.
struct Case {
    job: SummarySpec,
    agents: String,
    fails: Vec<usize>,
}

fn pick<'a>(dice: &mut Dice, list: &[&'a str]) -> &'a str {
    list[dice.below(list.len())]
}

fn words(dice: &mut Dice) -> String {
    let text = pick(dice, &["word ", "a\\n\\tb ", "\u{3000}\u{4e2d}\u{6587}", "x", "\u{1f600}", "\\u0085 "]);
    let most = [3, 60, 700, 9000][dice.below(4)];
    text.repeat(dice.below(most))
}

/// One message as JSON; sometimes a malformed one.
fn message(dice: &mut Dice) -> Value {
    let (id, text) = (dice.below(40), words(dice));
    let block = format!(r#"{{"type":"text","text":"{text}"}}"#);
    let path = pick(dice, &["a.rs", "B.rs", "c/10", "c/9"]);
    let tool = pick(dice, &["read", "write", "edit", "exec", " exec ", ""]);
    let call =
        format!(r#"{{"type":"toolCall","id":"{id}","name":"{tool}","arguments":{{"path":"{path}"}}}}"#);
    let details = pick(
        dice,
        &[
            "null",
            "{}",
            r#"{"status":"failed"}"#,
            r#"{"status":"","exitCode":0}"#,
            r#"{"status":"x","exitCode":-1.5}"#,
            r#""text""#,
        ],
    );
    let failed = pick(dice, &["true", "true", "false", "1"]);
    let json = match dice.below(40) {
        8..12 => format!(r#"{{"role":"user","content":[{block},{{"type":"image"}},{block}]}}"#),
        12..22 => format!(r#"{{"role":"assistant","content":[{block},{call}]}}"#),
        22 => format!(r#"{{"role":"assistant","content":[{call}],"stopReason":"error"}}"#),
        23..34 => format!(
            r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"{tool}","isError":{failed},"details":{details},"content":[{block},null5]}}"#
        )
        .replace(",null5", pick(dice, &["", r#",{"type":"text","text":" tail"}"#, r#",{"type":"image"}"#])),
        34 => format!(r#"{{"role":"toolResult","toolCallId":"","isError":true,"content":"{text}"}}"#),
        35 => format!(r#"{{"role":"custom","content":"{text}"}}"#),
        36 => format!(r#"{{"role":"bashExecution","command":"ls","output":"{text}"}}"#),
        37 => format!(r#"{{"role":"branchSummary","summary":"{text}"}}"#),
        38 if dice.below(8) == 0 => r#"{"role":"assistant"}"#.to_owned(),
        _ => format!(r#"{{"role":"user","content":"{text}"}}"#),
    };
    js::parse(&json).unwrap_or_else(|_| panic!("{json}"))
}

fn agents(dice: &mut Dice) -> String {
    let line = |dice: &mut Dice| {
        let head = pick(
            dice,
            &[
                "## ",
                "### ",
                "# ",
                "#### ",
                "##",
                "##  \t",
                " ## ",
                "\u{feff}## ",
                "  ```",
                "```sh",
                "",
                "- ",
            ],
        );
        let name = pick(
            dice,
            &[
                "Red Lines",
                "session startup",
                "SESSION STARTUP  ",
                "Red Lines:",
                "Other",
                "",
                " ",
                "x\r",
                "Red\rLines",
            ],
        );
        format!("{head}{name}")
    };
    let mut text: String = (0..dice.below(24)).map(|_| line(dice)).collect::<Vec<_>>().join("\n");
    if dice.below(6) == 0 {
        text.push_str(&"\u{1f600}rule ".repeat(400));
    }
    text
}

fn case(seed: u64) -> Case {
    let dice = &mut Dice::new(seed);
    let list =
        |dice: &mut Dice, most: usize| (0..dice.below(most)).map(|_| message(dice)).collect::<Vec<_>>();
    let most = [4, 70][dice.below(2)];
    let (history, turn_prefix) = (list(dice, most), list(dice, 8));
    let mut files = FileOps::default();
    for message in history.iter().chain(&turn_prefix) {
        files.add_message(message);
    }
    let previous_summary = [None, Some(Value::from("before")), Some(Value::from(""))][dice.below(3)].clone();
    let text = |dice: &mut Dice| JsString::from(pick(dice, &["", "  ", " keep the numbers "]));
    let window = f64::from([900, 5000, 20_000, 60_000, 200_000][dice.below(5)]);
    let identifiers = match dice.below(3) {
        0 => Identifiers::Strict,
        1 => Identifiers::Off,
        _ => Identifiers::Custom(text(dice)),
    };
    let agents = agents(dice);
    let job = SummarySpec {
        texts: CompactionTexts { history, turn_prefix, previous_summary, files, pi: PiRelease::OLDEST },
        mode: SummaryMode::Safeguard,
        window: Tokens(window),
        history_share: [0.1, 0.3, 0.5, 0.9][dice.below(4)],
        reserve_tokens: Tokens([0.0, 16_384.5, 20_000.0][dice.below(3)]),
        tokens_before: Tokens([0.0, window / 3.0, window * 2.0][dice.below(3)] + dice.below(9000) as f64),
        identifiers,
        instructions: if dice.below(2) == 0 { None } else { Some(text(dice)) },
        rules_section: rules_section(&agents.as_str().into()),
        now_ms: Moment::ZERO,
    };
    let most = [0, 1, 2, 12][dice.below(4)];
    let fails = (0..most).map(|_| dice.below(5) + 1).collect();
    Case { job, agents, fails }
}

fn number(value: usize) -> Value {
    Value::from(value as f64)
}

impl Case {
    /// Returns the case in the form of the real program.
    fn value(&self) -> Value {
        let inputs = &self.job.texts;
        let (policy, identifiers) = match &self.job.identifiers {
            Identifiers::Strict => ("strict", JsString::new()),
            Identifiers::Off => ("off", JsString::new()),
            Identifiers::Custom(text) => ("custom", text.clone()),
        };
        let files = [
            ("read", inputs.files.read()),
            ("written", inputs.files.written()),
            ("edited", inputs.files.edited()),
        ];
        let files = files.map(|(key, paths)| (key, Value::Array(paths.to_vec())));
        let instructions = self.job.instructions.clone().map_or(Value::Null, Value::String);
        Value::Object(Object::from([
            ("history", Value::Array(inputs.history.clone())),
            ("prefix", Value::Array(inputs.turn_prefix.clone())),
            ("previous", inputs.previous_summary.clone().unwrap_or(Value::Null)),
            ("files", Value::Object(Object::from(files))),
            ("window", Value::Number(self.job.window.get())),
            ("share", Value::Number(self.job.history_share)),
            ("reserve", Value::Number(self.job.reserve_tokens.get())),
            ("tokensBefore", Value::Number(self.job.tokens_before.get())),
            ("policy", Value::from(policy)),
            ("identifiers", Value::String(identifiers)),
            ("custom", instructions),
            ("agents", Value::from(self.agents.as_str())),
            ("fails", Value::Array(self.fails.iter().copied().map(number).collect())),
        ]))
    }

    /// Returns our answer in the form of the real program's script.
    fn answer(&self) -> (Value, usize) {
        let mut ours = Ours { case: self, requested: Vec::new(), left_out: 0 };
        let summary = summarise_within(&self.job, self.job.window, &mut ours)
            .map_or(Value::Null, |made| Value::String(made.parts.text()));
        let requested = Value::Array(ours.requested);
        (Value::Object(Object::from([("summary", summary), ("asked", requested)])), ours.left_out)
    }
}

struct Ours<'a> {
    case: &'a Case,
    requested: Vec<Value>,
    /// Notes on messages that were left out.
    left_out: usize,
}

impl Ours<'_> {
    /// Whether a call's instructions contain a text of the case.
    fn says(request: &SummaryRequest<'_>, text: Option<&JsString>) -> bool {
        let (Some(focus), Some(text)) = (request.focus, text.map(JsString::trim)) else { return false };
        !text.is_empty() && focus.to_string_lossy().contains(&text.to_string_lossy())
    }
}

impl SummaryModel for Ours<'_> {
    fn report_omitted(&mut self, notes: &[JsString]) {
        self.left_out += notes.len();
    }

    fn answer(&mut self, request: &SummaryRequest<'_>) -> Result<JsString, AnswerFailure> {
        let mut what = JsString::new();
        for (at, message) in request.messages.iter().enumerate() {
            let part = |key| {
                message
                    .get(key)
                    .filter(|value| !value.is_null())
                    .map(|value| js::to_text(Some(value)))
                    .unwrap_or_default()
            };
            what.push_str(if at > 0 { "," } else { "" });
            what.push(&part("role"));
            if let Some(text) = message.get("content").and_then(Value::as_str) {
                what.push_str(&text.len().to_string());
            }
            for key in ["toolCallId", "toolName"] {
                what.push_str(":");
                what.push(&part(key));
            }
        }
        let job = &self.case.job;
        // The script treats an empty text of the caller as an absent one.
        let custom = Self::says(request, job.instructions.as_ref());
        let own = match &job.identifiers {
            Identifiers::Custom(text) => Self::says(request, Some(text)),
            _ => false,
        };
        let focus = match request.focus {
            None => "none".to_owned(),
            Some(_) => format!("{}{}", if custom { "custom" } else { "" }, if own { "own" } else { "" }),
        };
        let previous = request.previous_summary.cloned().map_or(Value::Null, Value::String);
        self.requested.push(Value::Array(vec![Value::String(what), previous, Value::from(focus.as_str())]));
        if self.case.fails.contains(&self.requested.len()) {
            return Err(AnswerFailure::Failed("no".to_owned()));
        }
        Ok(format!("s{}:{}", self.requested.len(), request.messages.len()).into())
    }
}

#[test]
fn every_call_fallback_and_section_matches_the_real_gateway() {
    let (Some(pi), Some(gateway)) = (Pi::find(), Openclaw::find()) else { return };
    let cases: Vec<Case> = (0..CASES).map(case).collect();
    let real = gateway.safeguard(pi.package(), &cases.iter().map(Case::value).collect::<Vec<_>>());
    assert_eq!(real.len(), cases.len());
    let (mut made, mut calls, mut left_out, mut seen) = (0, 0, 0, [0; 5]);
    for (seed, (case, real)) in cases.iter().zip(&real).enumerate() {
        let (ours, notes) = case.answer();
        left_out += notes;
        assert_eq!(
            js::stringify(&ours),
            js::stringify(real),
            "seed {seed}: {}",
            js::stringify(&case.value())
        );
        let text = real.get("summary").and_then(Value::as_str).map(JsString::to_string_lossy);
        made += usize::from(text.is_some());
        calls += real.get("asked").and_then(Value::as_array).map_or(0, <[Value]>::len);
        let marks =
            ["Tool Failures", "Summary unavailable", "<workspace-critical-rules>", "Turn Context", "...and"];
        for (count, mark) in seen.iter_mut().zip(marks) {
            *count += usize::from(text.as_deref().is_some_and(|text| text.contains(mark)));
        }
    }
    // The cases reach every part of the rules, and both outcomes.
    assert!(made > 500 && made < cases.len() && calls > 3000, "{made} summaries, {calls} calls");
    assert!(left_out > 30 && seen.iter().all(|count| *count > 10), "{left_out} {seen:?}");
}
