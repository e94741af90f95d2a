//! The texts of the explain screen outside its blocks: headline, advice and patch.

use crate::report::explain::{Explanation, Finding};
use crate::text;

/// Lines of the headline, and of the advice below it.
const MAX_HEADLINE_LINES: usize = 3;
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
}
