//! The documents that the help shows as pages: the topics of the guide, and the rules.

use crate::app::screens::help::page::HelpLine;
use crate::guide::Topic;
use crate::rulebook::{self, Rule};
use crate::text;

/// The widest line of a text.
const MAX_WIDTH: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpDocument {
    Topic(Topic),
    Rule(Rule),
}

impl HelpDocument {
    /// Finds the first rule of a citation such as `pruning 5.12` or `releases R35–R38`.
    pub(in crate::app) fn cited(citation: &str) -> Option<Self> {
        rulebook::find(citation.split(['–', ',']).next().unwrap_or_default()).map(Self::Rule)
    }

    pub fn title(self) -> String {
        match self {
            Self::Topic(topic) => topic.title().to_owned(),
            Self::Rule(rule) => format!("Rule {} {}", rule.document.name, rule.id),
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Topic(topic) => topic.text,
            Self::Rule(rule) => rule.text,
        }
    }

    /// Wraps the text; code keeps its lines.
    pub(super) fn lines(self, columns: usize) -> Vec<HelpLine> {
        let width = columns.min(MAX_WIDTH);
        let heading = |title: &str| HelpLine::Heading(title.trim_start_matches(['#', ' ']).into());
        let mut lines = match self {
            Self::Topic(_) => Vec::new(),
            Self::Rule(rule) => vec![heading(rule.title), HelpLine::Blank],
        };
        let mut is_code = false;
        for line in rulebook::paragraphs(self.text()).iter().filter(|line| !line.starts_with("<!--")) {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if line.is_empty() {
                lines.push(HelpLine::Blank);
            } else if line.starts_with('#') && !is_code {
                lines.push(heading(line));
            } else if is_code {
                lines.push(HelpLine::Text(format!("    {line}")));
            } else {
                lines.extend(text::wrap(line, width).into_iter().map(HelpLine::Text));
            }
        }
        lines
    }
}
