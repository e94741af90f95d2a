//! How the parts of a summary are put together (compaction 3.20, 5.19).

use crate::js::JsString;

/// What stands before the summary of a split turn's beginning.
pub const TURN_CONTEXT: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";
/// The summary of no messages at all (compaction 3.20, 5.11).
pub const NO_HISTORY: &str = "No prior history.";

/// The parts of a summary. The sections bring their own separators, and are empty where there is
/// nothing to say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryParts {
    /// Summary of the history.
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
    /// The text that is stored. There is no limit to its length (compaction 5.19).
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
