//! Wraps long lines and finds words in them. Both work on visible text ([`crate::text::visible`]), return byte ranges
//! and take one pass for a line of any length.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::text;

/// Returns the rows of a visible line, each at most `columns` wide and broken at blanks where possible. The blank at
/// a break belongs to no row. Never empty.
pub fn wrap_rows(line: &str, columns: usize) -> Vec<Range<usize>> {
    let columns = columns.max(2);
    if line.len() <= columns {
        return std::iter::once(0..line.len()).collect();
    }
    let mut walk =
        LineWrapper { line, columns, row_start: 0, used_columns: 0, last_blank: None, rows: Vec::new() };
    if line.is_ascii() {
        (0..line.len()).for_each(|at| walk.push_char(at, 1, line.as_bytes()[at] == b' '));
    } else {
        for (at, cluster) in line.grapheme_indices(true) {
            walk.push_char(at, text::width(cluster), cluster == " ");
        }
    }
    walk.rows.push(walk.row_start..line.len());
    walk.rows
}

struct LineWrapper<'a> {
    line: &'a str,
    columns: usize,
    /// Start of the current row, in bytes.
    row_start: usize,
    used_columns: usize,
    /// The last blank after a non-blank in the current row: its byte, and the columns up to and including it.
    last_blank: Option<(usize, usize)>,
    rows: Vec<Range<usize>>,
}

impl LineWrapper<'_> {
    fn push_char(&mut self, at: usize, width: usize, blank: bool) {
        if self.used_columns + width > self.columns {
            self.end_row(at, blank);
            if blank {
                return;
            }
        }
        if blank && !self.line[self.row_start..at].trim_start_matches(' ').is_empty() {
            self.last_blank = Some((at, self.used_columns + width));
        }
        self.used_columns += width;
    }

    /// Ends the current row before the char at `at`: at `at` if it is a blank, otherwise at the last blank, otherwise
    /// inside the word.
    fn end_row(&mut self, at: usize, blank: bool) {
        let (end, next, carried) = match self.last_blank {
            _ if blank => (at, at + 1, 0),
            Some((space, columns)) => (space, space + 1, self.used_columns - columns),
            None => (at, at, 0),
        };
        self.rows.push(self.row_start..end);
        (self.row_start, self.used_columns, self.last_blank) = (next, carried, None);
    }
}

/// Returns the occurrences of the words in a visible line. Ignores case unless the words contain a capital.
pub fn occurrences(line: &str, words: &str) -> Vec<Range<usize>> {
    if words.is_empty() {
        return Vec::new();
    }
    let exact = words.chars().any(char::is_uppercase);
    let lower = if exact { line.to_owned() } else { fold_case(line) };
    lower.match_indices(words).map(|(at, found)| at..at + found.len()).collect()
}

/// Lowercases the chars whose length in bytes stays the same, so that byte ranges remain valid.
fn fold_case(line: &str) -> String {
    let small = |char: char| {
        let mut lower = char.to_lowercase();
        lower
            .next()
            .filter(|small| lower.next().is_none() && small.len_utf8() == char.len_utf8())
            .unwrap_or(char)
    };
    line.chars().map(small).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(line: &str, columns: usize) -> Vec<&str> {
        wrap_rows(line, columns).into_iter().map(|row| &line[row]).collect()
    }

    #[test]
    fn rows_break_at_blanks_and_long_words_at_the_edge() {
        assert_eq!(texts("the first and last", 9), ["the first", "and last"]);
        assert_eq!(texts("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(texts("ab cdefgh", 4), ["ab", "cdef", "gh"]);
        assert_eq!(texts("", 4), [""]);
    }

    #[test]
    fn wrapping_keeps_indentation_and_whole_wide_characters() {
        assert_eq!(texts("    abc", 5), ["    a", "bc"]);
        assert_eq!(texts("树莓派好", 5), ["树莓", "派好"]);
    }

    #[test]
    fn search_ignores_case_unless_the_word_has_a_capital() {
        assert_eq!(occurrences("Error: error", "error"), [0..5, 7..12]);
        assert_eq!(occurrences("Error: error", "Error").first(), Some(&(0..5)));
        assert_eq!(occurrences("İx", "x").first(), Some(&(2..3)));
        assert!(occurrences("abc", "").is_empty());
    }

    #[test]
    fn a_line_of_a_megabyte_wraps_in_one_pass() {
        let line = "x".repeat(1 << 20);
        assert_eq!(wrap_rows(&line, 32).len(), 1 << 15);
        let line = "树".repeat(1 << 16);
        assert_eq!(wrap_rows(&line, 32).len(), 1 << 12);
    }

    proptest! {
        #[test]
        fn wrapped_rows_fit_and_lose_only_blanks(line in "[a-c 树é]{0,80}", columns in 2_usize..20) {
            let rows = wrap_rows(&line, columns);
            for row in &rows {
                prop_assert!(text::width(&line[row.clone()]) <= columns);
            }
            let joined: String = rows.iter().map(|row| &line[row.clone()]).collect();
            prop_assert_eq!(joined.replace(' ', ""), line.replace(' ', ""));
            prop_assert!(rows.windows(2).all(|pair| pair[1].start - pair[0].end <= 1));
        }
    }
}
