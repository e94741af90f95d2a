//! Puts the parts of a summary together (compaction 3.20, 5.19).

use crate::js::JsString;

/// Heading before the summary of a split turn's beginning.
pub const TURN_CONTEXT: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";
/// Summary of an empty history (compaction 3.20, 5.11).
pub const NO_HISTORY: &str = "No prior history.";

/// The parts of a summary. Each section begins with its own separator and is empty when it has no content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryParts {
    pub history: JsString,
    /// Summary of the beginning of a split turn.
    pub turn_prefix: Option<JsString>,
    /// Tool failures (compaction 5.4); only the safeguard writes them.
    pub failures: JsString,
    /// File lists (compaction 3.15).
    pub files: JsString,
    /// Workspace rules (compaction 5.18); only the safeguard writes them.
    pub rules: JsString,
}

impl SummaryParts {
    /// Returns the text to store. Its length has no limit (compaction 5.19).
    pub fn text(&self) -> JsString {
        let mut text = self.history.clone();
        if let Some(prefix) = &self.turn_prefix {
            text.push_str(TURN_CONTEXT);
            text.push(prefix);
        }
        for section in [&self.failures, &self.files, &self.rules] {
            text.push(section);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_without_further_separators() {
        let parts = SummaryParts {
            history: "history".into(),
            turn_prefix: Some("prefix".into()),
            failures: "\n\nfailures".into(),
            files: "\n\nfiles".into(),
            rules: "\n\nrules".into(),
        };
        let expected =
            "history\n\n---\n\n**Turn Context (split turn):**\n\nprefix\n\nfailures\n\nfiles\n\nrules";
        assert_eq!(parts.text(), expected);
        assert_eq!(SummaryParts { history: "h".into(), ..SummaryParts::default() }.text(), "h");
    }
}
