//! Wraps lines for a terminal at blanks. Words stay whole, so that paths can be copied, and so do commands in backticks
//! that fit into a line.

use crate::text::{visible, width};

/// Columns that continued lines are indented more than the first.
const HANGING_INDENT: usize = 2;
/// Deepest indent of a continued line.
const MAX_INDENT: usize = 24;

/// Wraps a visible line to `columns`; continued lines keep its indent and two columns more.
pub fn wrap_line(text: &str, columns: usize) -> Vec<String> {
    let text = visible(text);
    if width(&text) <= columns {
        return vec![text.into_owned()];
    }
    let own = text.len() - text.trim_start_matches(' ').len();
    let indent = (own + HANGING_INDENT).min(MAX_INDENT).min(columns / 2);
    let mut lines = fill(&text[own..], columns.saturating_sub(own), columns - indent).into_iter();
    let first = format!("{}{}", " ".repeat(own), lines.next().unwrap_or_default());
    std::iter::once(first).chain(lines.map(|line| format!("{}{line}", " ".repeat(indent)))).collect()
}

/// Wraps a visible text at blanks into lines of at most `columns`; only a longer word makes a longer line.
pub fn wrap_words(text: &str, columns: usize) -> Vec<String> {
    fill(text, columns, columns)
}

fn fill(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words(text, rest) {
        let limit = if lines.is_empty() { first } else { rest };
        let is_over = width(&line) + width(word.trim_end_matches(' ')) > limit;
        if is_over && !line.trim().is_empty() {
            let full = std::mem::take(&mut line);
            lines.push(full.trim_end_matches(' ').to_owned());
        }
        line.push_str(word);
    }
    lines.push(line.trim_end_matches(' ').to_owned());
    lines
}

/// Splits a text into words with the blanks that follow them. A span in backticks is one word if it fits into `columns`.
fn words(text: &str, columns: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = span_end(rest).filter(|end| width(&rest[..*end]) <= columns).unwrap_or(0);
        let end = rest[end..].find(' ').map_or(rest.len(), |at| end + at);
        let blanks = rest[end..].len() - rest[end..].trim_start_matches(' ').len();
        words.push(&rest[..end + blanks]);
        rest = &rest[end + blanks..];
    }
    words
}

/// Returns the end of the span in backticks in the first word of a text.
fn span_end(text: &str) -> Option<usize> {
    let word = text.find(' ').unwrap_or(text.len());
    let start = text[..word].find('`')? + 1;
    text[start..].find('`').map(|end| start + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_their_indent() {
        let lines = wrap_line("  one two three four", 12);
        assert_eq!(lines, ["  one two", "    three", "    four"]);
        assert_eq!(wrap_line("short", 12), ["short"]);
        assert_eq!(wrap_line("", 12), [""]);
    }

    #[test]
    fn wrapping_keeps_words_and_commands_whole() {
        let path = "/a/very/long/path/that/has/no/blank";
        assert_eq!(wrap_line(&format!("see {path} now"), 12), ["see", &format!("  {path}"), "  now"]);
        let lines = wrap_line("now type `claw guide keys` to see", 20);
        assert_eq!(lines, ["now type", "  `claw guide keys`", "  to see"]);
        assert_eq!(wrap_words("a `b c", 3), ["a", "`b", "c"]);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(wrap_words("日本 日本 日本", 9), ["日本 日本", "日本"]);
    }
}
