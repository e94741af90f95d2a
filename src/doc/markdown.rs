//! Markdown of the guide and of the rules for a terminal.

use crate::rulebook::paragraphs;
use crate::text;

/// The fewest columns of a wrapped cell.
const MIN_CELL: usize = 20;
/// Before the rest of a row that goes below its first cell.
const INDENT: &str = "    ";

/// Lays a text out for `width` columns: a paragraph is one line to wrap, a table is in columns, and comments and the signs
/// of emphasis are gone. Code keeps its lines and fences.
pub fn readable(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut table): (Vec<String>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
    let mut is_code = false;
    for line in paragraphs(text) {
        let is_fence = line.trim_start().starts_with("```");
        if !is_code && line.starts_with('|') {
            table.push(cells(&line));
            continue;
        }
        lines.extend(table_lines(&std::mem::take(&mut table), width));
        let is_gap = line.is_empty() && lines.last().is_some_and(String::is_empty);
        if is_code || is_fence {
            lines.push(line);
        } else if !line.starts_with("<!--") && !is_gap {
            lines.push(line.replace("**", ""));
        }
        is_code ^= is_fence;
    }
    lines.extend(table_lines(&table, width));
    lines
}

/// Returns a line of a text without the signs of its table.
pub fn plain_line(line: &str) -> String {
    if line.starts_with('|') { cells(line).join("  ") } else { line.replace("**", "") }
}

/// Returns the cells of a table's row; `\|` is a char of a cell.
fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_start_matches('|');
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let kept = inner.replace("\\|", "\0").replace("**", "").replace('`', "");
    kept.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

/// Pads the columns of a table; the last one is wrapped.
fn table_lines(rows: &[Vec<String>], width: usize) -> Vec<String> {
    let is_border = |row: &&Vec<String>| row.iter().all(|cell| cell.trim_matches(['-', ':']).is_empty());
    let column = |at: usize| {
        let cells = rows.iter().filter(|row| !is_border(row)).filter_map(|row| row.get(at));
        cells.map(|cell| text::width(cell)).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let Some((last, first)) = row.split_last() else { return Vec::new() };
        let head: String = first
            .iter()
            .enumerate()
            .fold(String::new(), |head, (at, cell)| head + &text::pad(cell, column(at)) + "  ");
        let indent = text::width(&head);
        if width < indent + MIN_CELL {
            // Columns that are too wide: the rest of the row goes below its first cell.
            let name = first.first().map_or("", String::as_str).to_owned();
            let rest = text::wrap(&row[1..].join("  "), width.saturating_sub(INDENT.len()).max(MIN_CELL));
            let rest = rest.into_iter().map(|line| format!("{INDENT}{line}"));
            return std::iter::once(name).chain(rest).collect::<Vec<_>>();
        }
        let leads = std::iter::once(head).chain(std::iter::repeat(" ".repeat(indent)));
        let words = text::wrap(last, width.saturating_sub(indent).max(MIN_CELL));
        leads.zip(words).map(|(lead, words)| lead + &words).collect::<Vec<_>>()
    };
    rows.iter().filter(|row| !is_border(row)).flat_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_columns_and_comments_and_emphasis_go() {
        let text = "# T\n\n<!-- keys -->\n\n**Move** and\ngo\n\n| key | does |\n|---|---|\n| `j` | down |\n| `a \\| b` | one two three four five six seven |\n\n```\n| kept | **x** |\n```\n";
        let lines = readable(text, 34);
        let shown = [
            "# T",
            "",
            "Move and go",
            "",
            "key    does",
            "j      down",
            "a | b  one two three four five six",
            "       seven",
            "",
            "```",
            "| kept | **x** |",
            "```",
        ];
        assert_eq!(lines, shown);
        assert_eq!(
            readable("| a | b |\n| long words | one |\n", 24),
            ["a", "    b", "long words", "    one"]
        );
        assert_eq!(plain_line("| `mode` | off |"), "mode  off");
    }
}
