//! The documents that the help shows as pages: the topics of the guide, and the rules.

use crate::guide::Topic;
use crate::rulebook::{self, Rule};

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
}
