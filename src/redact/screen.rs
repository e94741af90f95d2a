//! Masks secrets on a drawn screen. Lines are wrapped and cut there, so a secret may be in pieces.

use std::collections::HashSet;

use ratatui::buffer::Buffer;

use super::Redactor;
use super::detection::detect;
use super::lines::views;

const MASK: &str = "█";
/// Cells that equal this many characters of a secret are part of it.
const GRAM_LEN: usize = 8;

/// Masks every cell of a secret: one that a row shows whole, or a piece of one that the document knows. Returns the
/// number of masked cells.
pub fn redact_screen(buffer: &mut Buffer, redactor: &Redactor) -> usize {
    if !redactor.is_enabled() {
        return 0;
    }
    let grams = grams(redactor);
    let rows: Vec<ScreenRow> = (0..buffer.area.height).map(|y| ScreenRow::read(buffer, y)).collect();
    let mut marked: Vec<Vec<bool>> = rows.iter().map(|row| vec![false; row.chars.len()]).collect();
    for (row, marked) in rows.iter().zip(&mut marked) {
        row.mark_shapes(marked);
        row.mark_grams(&grams, marked);
    }
    mark_wrapped(&rows, &mut marked, redactor);
    let mut masked = 0;
    for (y, (row, marked)) in rows.iter().zip(&marked).enumerate() {
        for (at, _) in marked.iter().enumerate().filter(|(_, marked)| **marked) {
            let place = (buffer.area.x + row.columns[at], buffer.area.y + y as u16);
            if let Some(cell) = buffer.cell_mut(place) {
                cell.set_symbol(MASK);
                masked += 1;
            }
        }
    }
    masked
}

/// A row: its characters, each with its column.
struct ScreenRow {
    chars: Vec<char>,
    columns: Vec<u16>,
}

impl ScreenRow {
    fn read(buffer: &Buffer, y: u16) -> Self {
        let (mut chars, mut columns) = (Vec::new(), Vec::new());
        for x in 0..buffer.area.width {
            let Some(cell) = buffer.cell((buffer.area.x + x, buffer.area.y + y)) else { continue };
            chars.push(cell.symbol().chars().next().unwrap_or(' '));
            columns.push(x);
        }
        Self { chars, columns }
    }

    fn mark_shapes(&self, marked: &mut [bool]) {
        let text: String = self.chars.iter().collect();
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for hit in detect(&text, &views(&text)) {
            for (at, start) in starts.iter().enumerate() {
                marked[at] |= (hit.from..hit.to).contains(start);
            }
        }
    }

    fn mark_grams(&self, grams: &HashSet<String>, marked: &mut [bool]) {
        for at in 0..self.chars.len().saturating_sub(GRAM_LEN - 1) {
            let gram: String = self.chars[at..at + GRAM_LEN].iter().collect();
            if grams.contains(&gram) {
                marked[at..at + GRAM_LEN].fill(true);
            }
        }
    }
}

/// Pieces of every known secret, except those that look like words.
fn grams(redactor: &Redactor) -> HashSet<String> {
    let mut grams = HashSet::new();
    for secret in redactor.secrets.keys().chain(&redactor.encoded_forms) {
        let chars: Vec<char> = secret.chars().filter(|char| !char.is_control()).collect();
        // The head of a secret always counts, even if it is a prefix that all secrets of its kind share.
        let telling =
            chars.windows(GRAM_LEN).enumerate().filter(|(at, gram)| *at == 0 || is_distinctive(gram));
        grams.extend(telling.map(|(_, gram)| gram.iter().collect::<String>()));
    }
    grams
}

/// Whether a piece contains a digit or mixed case, unlike an ordinary word.
fn is_distinctive(gram: &[char]) -> bool {
    let digits = gram.iter().any(char::is_ascii_digit);
    let mixed = gram.iter().any(|char| char.is_uppercase()) && gram.iter().any(|char| char.is_lowercase());
    digits || mixed
}

/// Marks the last few characters of a secret that wraps at the end of a line, at the start of the next.
fn mark_wrapped(rows: &[ScreenRow], marked: &mut [Vec<bool>], redactor: &Redactor) {
    let secrets: Vec<Vec<char>> = redactor
        .secrets
        .keys()
        .chain(&redactor.encoded_forms)
        .map(|secret| secret.chars().collect())
        .collect();
    for y in 1..rows.len() {
        let above = &rows[y - 1];
        let ends: Vec<usize> = (GRAM_LEN..=above.chars.len())
            .filter(|end| marked[y - 1][end - 1] && !marked[y - 1].get(*end).copied().unwrap_or(false))
            .collect();
        for end in ends {
            let piece = &above.chars[end - GRAM_LEN..end];
            for secret in &secrets {
                let Some(at) = secret.windows(GRAM_LEN).position(|gram| gram == piece) else { continue };
                let rest = &secret[at + GRAM_LEN..];
                let rest = &rest[..rest.len().min(GRAM_LEN)];
                mark_start(&rows[y], &mut marked[y], rest);
            }
        }
    }
}

/// Marks every `rest` at the start of a pane's line.
fn mark_start(row: &ScreenRow, marked: &mut [bool], rest: &[char]) {
    if rest.is_empty() {
        return;
    }
    for at in 0..=row.chars.len().saturating_sub(rest.len()) {
        let begins = at == 0 || !row.chars[at - 1].is_alphanumeric();
        if begins && row.chars[at..].starts_with(rest) {
            marked[at..at + rest.len()].fill(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-ant-api03-Zx81Kq92Lm37Vb64Nc55";

    fn drawn(lines: &[String], redactor: &Redactor) -> String {
        let mut buffer = Buffer::with_lines(lines.iter().map(String::as_str));
        redact_screen(&mut buffer, redactor);
        buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn a_secret_is_masked_by_its_shape_without_being_known() {
        let text = drawn(&[format!("│ key {KEY} │")], &Redactor::default());
        assert!(text.starts_with("│ key ███") && text.ends_with("█ │"), "{text}");
    }

    #[test]
    fn a_known_secret_broken_over_lines_is_masked() {
        let mut redactor = Redactor::default();
        redactor.learn(KEY);
        for at in 9..KEY.len() {
            let lines = [format!("│{}│", &KEY[..at]), format!("│{}  │", &KEY[at..])];
            let text = drawn(&lines, &redactor);
            assert!(!text.contains(&KEY[at..]), "{at}: {text}");
            assert!(!text.contains(&KEY[at - 8..at]), "{at}: {text}");
        }
    }

    #[test]
    fn a_base64_secret_broken_over_lines_is_masked() {
        // `key {KEY}` as in a header.
        let written = "a2V5IHNrLWFudC1hcGkwMy1aeDgxS3E5MkxtMzdWYjY0TmM1NQ";
        let mut redactor = Redactor::default();
        redactor.learn(written);
        let lines = [format!("│{}│", &written[..30]), format!("│{}          │", &written[30..])];
        let text = drawn(&lines, &redactor);
        assert!(!text.contains(&written[..16]) && !text.contains(&written[30..]), "{text}");
    }

    #[test]
    fn redaction_switched_off_masks_nothing() {
        assert!(drawn(&[KEY.to_owned()], &Redactor::disabled()).contains(KEY));
    }
}
