//! The texts of the explain screen that need wrapping: headline, advice, and the text of each row next to its columns.

use crate::app::screens::explain::ExplainRow;
use crate::format::format_number;
use crate::js::{JsString, parse};
use crate::report::explain::{
    Advice, Explanation, Finding, FindingClass, GuardReport, Mechanism, PromptCount, PromptPartKind,
};
use crate::text;

/// Lines of the headline, and of the advice below it.
const MAX_HEADLINE_LINES: usize = 3;
/// The most chars of an error that are read.
const MAX_ERROR_CHARS: usize = 4_000;
/// Blanks between the headline and the facts to its right.
const FACTS_GAP: usize = 4;

/// The two sentences above the page, as lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headline {
    pub verdict: Vec<String>,
    /// The next step for the reader.
    pub advice: Vec<String>,
}

impl Headline {
    /// Wraps both sentences. `facts` is the number of columns that the first one leaves free at its right.
    pub fn new(explanation: &Explanation, width: u16, facts: usize) -> Self {
        let width = usize::from(width).saturating_sub(6).max(1);
        let wrapped = |text: &str, width: usize| {
            let mut lines = text::wrap(text, width.max(1));
            lines.truncate(MAX_HEADLINE_LINES);
            lines
        };
        let verdict = explanation.verdict().map(Finding::headline).unwrap_or_default();
        let beside = if facts > 0 { width.saturating_sub(facts + FACTS_GAP) } else { width };
        let advice = advice_sentence(explanation);
        Self {
            verdict: wrapped(&verdict, beside),
            advice: if advice.is_empty() { Vec::new() } else { wrapped(&advice, width) },
        }
    }

    pub fn rows(&self) -> u16 {
        (self.verdict.len() + self.advice.len()) as u16
    }
}

/// Returns the next step after an overflow; without an overflow, the first line of evidence.
pub fn advice_sentence(explanation: &Explanation) -> String {
    explanation.next_step().unwrap_or_else(|| {
        let seen = explanation.verdict().and_then(|verdict| verdict.evidence().into_iter().next());
        seen.map(|evidence| evidence.text).unwrap_or_default()
    })
}

/// The text of a row before wrapping.
pub(super) fn row_text(explanation: &Explanation, row: ExplainRow) -> String {
    match row {
        ExplainRow::Call => explanation
            .failure
            .as_ref()
            .map(|it| error_message(&it.overflow.shown_text()))
            .unwrap_or_default(),
        ExplainRow::Mechanism => explanation.mechanism.as_ref().map(mechanism_text).unwrap_or_default(),
        ExplainRow::Guard(at) => explanation.guards.get(at).map(GuardReport::description).unwrap_or_default(),
        ExplainRow::Count(at) => explanation.counts.get(at).map(PromptCount::description).unwrap_or_default(),
        ExplainRow::WayOut(at) => {
            explanation.ways_out().get(at).map(|way| way.description()).unwrap_or_default()
        }
        ExplainRow::Advice(at) => explanation.advice.get(at).map(Advice::description).unwrap_or_default(),
        ExplainRow::OtherCall(at) => {
            explanation.overflows.get(at).map(|it| error_message(&it.shown_text())).unwrap_or_default()
        }
        ExplainRow::Finding(at) => {
            let finding = explanation.findings.get(at);
            finding
                .map(|it| format!("{} · {}: {}", it.class.as_str(), it.confidence.as_str(), it.headline()))
                .unwrap_or_default()
        }
        ExplainRow::Evidence(at, line) => {
            let finding = explanation.findings.get(at);
            let evidence = finding.and_then(|finding| finding.evidence().into_iter().nth(line));
            evidence.map(|it| it.text).unwrap_or_default()
        }
        // Blocks of their own reports.
        ExplainRow::Recovery
        | ExplainRow::RecoveryStep(_)
        | ExplainRow::Estimators
        | ExplainRow::Estimator(_)
        | ExplainRow::CountedCall(_) => String::new(),
    }
}

/// Returns the part of the prompt that a mechanism is about; `None` when it is no single part.
pub fn mechanism_part(mechanism: &Mechanism) -> Option<PromptPartKind> {
    match mechanism.class {
        FindingClass::SingleResult | FindingClass::ParallelResults => Some(PromptPartKind::NewestResults),
        FindingClass::UserMessage => Some(PromptPartKind::NewestMessage),
        FindingClass::ToolLoopTreadmill => Some(PromptPartKind::RunResults),
        FindingClass::FixedOverhead => Some(PromptPartKind::Fixed),
        _ => None,
    }
}

/// The cause of the large call in a few words.
fn mechanism_text(mechanism: &Mechanism) -> String {
    let count = format_number(mechanism.count as u64);
    match mechanism.class {
        FindingClass::SingleResult | FindingClass::ParallelResults | FindingClass::UserMessage => {
            "without it the call fits".to_owned()
        }
        FindingClass::ToolLoopTreadmill => format!("{count} results in one run"),
        FindingClass::FixedOverhead => "before any message".to_owned(),
        FindingClass::ImageBloat => format!("{count} images"),
        FindingClass::BytesLimit => format!("{count} images; too many bytes"),
        FindingClass::ModelSwitch => "the previous model accepted more".to_owned(),
        FindingClass::RecurringSessionGrowth => format!("the same job ran {count} times"),
        _ => "it grew message by message".to_owned(),
    }
}

/// Returns the message of a provider's error on one line; for JSON its `message` field. Reads only the start of a
/// long error.
pub fn error_message(error: &str) -> String {
    let error = error.char_indices().nth(MAX_ERROR_CHARS).map_or(error, |(end, _)| &error[..end]);
    let inner = error.find('{').and_then(|at| parse(&error[at..]).ok()).and_then(|value| {
        let message = value.get("error").and_then(|inner| inner.get("message")).or(value.get("message"))?;
        message.as_str().map(JsString::to_string_lossy)
    });
    let words = inner.filter(|inner| !inner.trim().is_empty()).unwrap_or_else(|| error.to_owned());
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Wraps a patch with its object on as few lines as possible; comments keep their own lines.
pub fn patch_lines(patch: &str, width: usize) -> Vec<String> {
    let (comments, object): (Vec<&str>, Vec<&str>) =
        patch.lines().map(str::trim).partition(|line| line.starts_with("//"));
    let object = object.join(" ");
    let all = comments.into_iter().chain([object.as_str()]).filter(|line| !line.is_empty());
    all.flat_map(|line| text::wrap(line, width.max(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_becomes_one_line_after_its_comments() {
        let patch = "// guard.budgetShare 0.6: built in\n{\n  \"a\": {\n    \"b\": 1\n  }\n}";
        assert_eq!(patch_lines(patch, 80), ["// guard.budgetShare 0.6: built in", r#"{ "a": { "b": 1 } }"#]);
        assert!(patch_lines("", 80).is_empty());
    }

    #[test]
    fn an_error_in_json_is_read_down_to_its_message() {
        let wrapped = r#"400 {"type":"error","error":{"type":"x","message":"prompt is too long:\n 5 > 4"}}"#;
        assert_eq!(error_message(wrapped), "prompt is too long: 5 > 4");
        assert_eq!(error_message("413 {broken"), "413 {broken");
        assert_eq!(error_message("two\nlines"), "two lines");
        assert_eq!(error_message(&"é".repeat(9_000)).chars().count(), MAX_ERROR_CHARS);
    }
}
