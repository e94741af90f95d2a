//! The texts of the explain screen outside its blocks: headline, advice and patch.

use crate::app::screens::explain::page::{ExplainPage, MAX_CALL_LINES, TALL, WIDE};
use crate::app::screens::explain::{ExplainRow, ExplainScreen};
use crate::report::explain::{Explanation, Finding};
use crate::text;

/// Lines of the headline, and of the advice below it.
const MAX_HEADLINE_LINES: usize = 3;
/// Lines of the headline on a low screen, where the page needs the rows.
const MAX_LOW_HEADLINE_LINES: usize = 2;
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
    pub fn new(explanation: &Explanation, (width, height): (u16, u16), facts: usize) -> Self {
        let width = usize::from(width).saturating_sub(6).max(1);
        let most = if height < TALL { MAX_LOW_HEADLINE_LINES } else { MAX_HEADLINE_LINES };
        let wrapped =
            |text: &str, most, width: usize| first_lines(text::wrap(text, width.max(1)), most, width);
        let mut verdict = explanation.verdict().map(Finding::headline).unwrap_or_default();
        if let Some(found) = explanation.verdict().filter(|_| facts == 0) {
            verdict = format!("{} · {}", verdict.trim_end_matches('.'), found.confidence.as_str());
        }
        let beside = if facts > 0 { width.saturating_sub(facts + FACTS_GAP) } else { width };
        let advice = advice_sentence(explanation);
        Self {
            verdict: wrapped(&verdict, most, beside),
            advice: if advice.is_empty() { Vec::new() } else { wrapped(&advice, MAX_HEADLINE_LINES, width) },
        }
    }

    pub fn rows(&self) -> u16 {
        (self.verdict.len() + self.advice.len()) as u16
    }
}

/// Keeps the first lines; a sign at their end shows that the text continues.
fn first_lines(mut lines: Vec<String>, most: usize, width: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = text::truncate(&format!("{last} …"), width.max(1)).0;
        }
    }
    lines
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

/// Header and status line of the program.
const CHROME_ROWS: u16 = 2;
/// Visible lines of the patch.
const MAX_PATCH_LINES: usize = 3;
/// The same on a low screen: the row of the change names its values, and the whole patch can be copied.
const MAX_LOW_PATCH_LINES: usize = 1;
/// Rows from which a blank line is below the headline.
const ROOMY_MIN_ROWS: u16 = 30;

impl ExplainScreen {
    pub fn headline(&self, size: (u16, u16)) -> Headline {
        let Some(explanation) = self.explanation() else { return Headline::default() };
        let class =
            explanation.verdict().map_or(0, |it| it.class.as_str().len() + it.confidence.as_str().len() + 3);
        Headline::new(explanation, size, if size.0 >= WIDE { class } else { 0 })
    }

    /// Rows of the footer: a title, and the patch or the text of the selected row.
    pub fn footer_rows(&self, (width, height): (u16, u16)) -> u16 {
        let Some(explanation) = self.explanation() else { return 0 };
        let ways = explanation.ways_out();
        let has_fix = !explanation.advice.is_empty() || !ways.is_empty();
        if !has_fix && (explanation.failure.is_none() || height < TALL) {
            return 0;
        }
        let width = usize::from(width.saturating_sub(5));
        let patches = explanation.advice.iter().map(|advice| patch_lines(&advice.patch, width).len());
        let commands = ways.iter().map(|way| text::wrap(&way.command, width.max(1)).len());
        let most =
            if height < TALL && self.foot_shows_patch() { MAX_LOW_PATCH_LINES } else { MAX_PATCH_LINES };
        1 + patches.chain(commands).max().unwrap_or(0).clamp(1, most) as u16
    }

    /// Whether the footer of a low screen shows a patch, rather than words that are not elsewhere on the screen.
    fn foot_shows_patch(&self) -> bool {
        let has_words = |row: ExplainRow| row == ExplainRow::Call || self.way_out(row).is_some();
        self.shown_patch().is_some() && !self.selected().is_some_and(has_words)
    }

    /// Rows of the headline, with the blank below it if there is room.
    pub fn headline_rows(&self, size: (u16, u16)) -> u16 {
        self.headline(size).rows() + u16::from(size.1 >= ROOMY_MIN_ROWS)
    }

    /// Lines of the page that a screen of this size shows.
    pub fn page_rows(&self, size: (u16, u16)) -> usize {
        usize::from(size.1.saturating_sub(CHROME_ROWS + self.headline_rows(size) + self.footer_rows(size)))
    }

    pub fn page(&self, size: (u16, u16)) -> ExplainPage {
        let shown = self.page_rows(size) as u16;
        self.explanation().map(|it| ExplainPage::new(self, it, size, shown)).unwrap_or_default()
    }

    /// Whether a row shows only the start of its text, as a long error does.
    pub fn is_truncated(&self, row: ExplainRow, size: (u16, u16)) -> bool {
        let page = self.page(size);
        row == ExplainRow::Call
            && (size.1 < TALL || page.row(row).is_some_and(|placed| placed.lines.len() > MAX_CALL_LINES))
    }
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
