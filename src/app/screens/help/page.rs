//! The rows of a page of the help, distributed over columns.

use crate::app::legend::Tone;
use crate::guide::Topic;
use crate::rulebook;
use crate::rulebook::Rule;
use crate::text;

/// Columns of one column of entries, and of the keys before an entry.
const COLUMN_WIDTH: usize = 42;

pub(super) const LEAD_WIDTH: usize = 14;

/// The fewest columns of the words of an entry.
const MIN_WORDS: usize = 12;

/// Columns of a row of the legend with a long meaning.
const SIGN_COLUMN_WIDTH: usize = 62;

/// The space of the help: columns and rows of its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HelpArea {
    pub columns: usize,
    pub rows: usize,
}

impl HelpArea {
    /// The list inside a window that leaves one row for the status line.
    pub fn new((width, height): (u16, u16)) -> Self {
        // The border with a blank on each side; border, a blank row, and the hairline with the search.
        Self { columns: usize::from(width).saturating_sub(8), rows: usize::from(height).saturating_sub(7) }
    }

    /// Returns the number of columns of entries.
    pub fn column_count(self) -> usize {
        (self.columns / COLUMN_WIDTH).clamp(1, 3)
    }

    /// Returns the number of columns of signs.
    pub(super) fn sign_column_count(self) -> usize {
        (self.columns / SIGN_COLUMN_WIDTH).clamp(1, 2)
    }

    /// Columns of a line in one of several columns, between the line at its left and a blank at its right.
    pub(super) fn line_width(self, columns: usize) -> usize {
        (self.columns / columns.max(1)).saturating_sub(2)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelpLine {
    Heading(String),
    Subheading(String),
    Entry(HelpEntry),
    /// More words of the entry above, and the column at which they begin.
    More(String, usize),
    Text(String),
    Blank,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpEntry {
    /// Keys, a sign or a number.
    pub lead: String,
    pub tone: Tone,
    /// The name of a sign; empty for keys.
    pub name: String,
    pub words: String,
    /// The document that it opens.
    pub opens: Option<HelpDocument>,
}

impl HelpEntry {
    /// Whether the entry contains every word.
    pub(super) fn contains(&self, words: &[String]) -> bool {
        let line = format!("{} {} {}", self.lead, self.name, self.words).to_lowercase();
        words.iter().all(|word| line.contains(word.as_str()))
    }

    /// Returns the column at which the name begins, and that of the words. `sign` and `name` are the columns of the
    /// section's signs and names.
    pub fn columns(&self, (sign, name): (usize, usize)) -> (usize, usize) {
        let lead = if self.name.is_empty() { LEAD_WIDTH } else { sign };
        let first = text::width(&self.lead).max(lead) + 1;
        (first, if self.name.is_empty() { first } else { first + text::width(&self.name).max(name) + 2 })
    }
}

/// Returns the columns of the signs and of the names in the section of a row.
pub fn sign_widths(lines: &[HelpLine], row: usize) -> (usize, usize) {
    let is_entry = |line: &&HelpLine| matches!(line, HelpLine::Entry(_) | HelpLine::More(..));
    let before = lines[..row].iter().rev().take_while(is_entry);
    let after = lines[row..].iter().take_while(is_entry);
    let sizes = before.chain(after).filter_map(|line| match line {
        HelpLine::Entry(entry) => Some((text::width(&entry.lead), text::width(&entry.name))),
        _ => None,
    });
    sizes.fold((0, 0), |widest, size| (widest.0.max(size.0), widest.1.max(size.1)))
}

/// Wraps the words of entries for lines of `columns` columns.
pub(super) fn wrapped(lines: &[HelpLine], columns: usize) -> Vec<HelpLine> {
    let mut all = Vec::new();
    for (row, line) in lines.iter().enumerate() {
        let HelpLine::Entry(entry) = line else {
            all.push(line.clone());
            continue;
        };
        let from = entry.columns(sign_widths(lines, row)).1;
        let mut parts = text::wrap(&entry.words, columns.saturating_sub(from).max(MIN_WORDS)).into_iter();
        let words = parts.next().unwrap_or_default();
        all.push(HelpLine::Entry(HelpEntry { words, ..entry.clone() }));
        all.extend(parts.map(|words| HelpLine::More(words, from)));
    }
    all
}

/// The columns of a page; all scroll together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpLayout {
    pub columns: Vec<Vec<HelpLine>>,
}

impl HelpLayout {
    pub fn single(lines: Vec<HelpLine>) -> Self {
        Self { columns: vec![lines] }
    }

    /// Puts the groups into columns of about equal height, unbroken and in order.
    pub(super) fn balanced(groups: &[Vec<HelpLine>], columns: usize) -> Self {
        let all: usize = groups.iter().map(|group| group.len() + 1).sum();
        let least = groups.iter().map(Vec::len).max().unwrap_or(0);
        let fits = |rows: &usize| distribute(groups, *rows).len() <= columns;
        let rows = (least..=all).find(fits).unwrap_or(all);
        Self { columns: distribute(groups, rows) }
    }

    pub fn rows(&self) -> usize {
        self.columns.iter().map(Vec::len).max().unwrap_or(0)
    }
}

/// Fills columns of at most `rows` rows, with a blank line between two groups.
fn distribute(groups: &[Vec<HelpLine>], rows: usize) -> Vec<Vec<HelpLine>> {
    let mut columns: Vec<Vec<HelpLine>> = Vec::new();
    for group in groups {
        match columns.last_mut().filter(|column| column.len() + 1 + group.len() <= rows) {
            Some(column) => {
                column.push(HelpLine::Blank);
                column.extend_from_slice(group);
            }
            None => columns.push(group.clone()),
        }
    }
    columns
}

// The documents that the help shows as pages: the topics of the guide, and the rules.

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
