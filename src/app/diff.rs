//! Diff rows of two texts: kept, removed and added lines, and cuts inside a line. A soft trim is recognised by its
//! note, which gives the exact cut in one pass; any other pair of texts is compared line by line.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::units::Chars;

/// Consecutive removed lines from which the middle folds.
const MIN_FOLDED_LINES: usize = 9;
/// Removed lines before a fold; one more follows it.
const LINES_BEFORE_FOLD: usize = 5;
/// The largest product of both line counts that is still compared line by line.
const MAX_COMPARED_LINE_PAIRS: usize = 4_000_000;
/// The start of every soft trim note (pruning 5.7).
const SOFT_TRIM_NOTE: &str = "\n\n[Tool result trimmed: kept first ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChange {
    Kept,
    Removed,
    Added,
}

/// One line on one side.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffLine {
    /// Line number in the text before, from 1; `None` for added lines.
    pub number: Option<u32>,
    /// Bytes in the text before (left) or after (right).
    pub text: Range<usize>,
    /// The change of the line, or of its part outside `removed_range`.
    pub change: LineChange,
    /// Removed bytes, from the start of the line; empty unless the cut is inside the line.
    pub removed_range: Range<usize>,
    /// Chars (UTF-16 units) before the cut, when the text before is cut at the end of this line.
    pub cut_after_chars: Option<Chars>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DiffRow {
    /// A line on one side or on both.
    Lines {
        /// The text before.
        left: Option<DiffLine>,
        /// The text after.
        right: Option<DiffLine>,
    },
    /// Removed lines that are not shown.
    Fold { lines: usize },
}

/// The cut of a soft trim, in both texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftTrimParts {
    /// The text before is kept up to this byte.
    pub head_end: usize,
    /// The text before is kept from this byte.
    pub tail_start: usize,
    /// Chars (UTF-16 units) of the head.
    pub head_chars: Chars,
    /// Chars (UTF-16 units) between head and tail.
    pub removed_chars: Chars,
    /// Start of the dots between head and tail in the text after.
    after_gap_start: usize,
    /// Start of the tail in the text after.
    after_tail_start: usize,
    /// Start of the note in the text after.
    after_note_start: usize,
}

/// Returns the rows of a diff. Folds long runs of removed lines unless `unfold`.
pub fn diff_rows(before: &str, after: &str, unfold: bool) -> Vec<DiffRow> {
    let mut out = RowCollector { done: Vec::new(), left: Vec::new(), right: Vec::new(), unfold };
    match parse_soft_trim(before, after) {
        Some(cut) => push_soft_trim(before, after, &cut, &mut out),
        None => push_line_diff(before, after, &mut out),
    }
    out.flush();
    out.done
}

/// Counts chars like the gateway: UTF-16 units.
pub fn count_chars(text: &str) -> Chars {
    let units = if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() };
    Chars::from_len(units)
}

/// Returns the cut if `after` is a soft trim of `before`: reads it from the note and checks it against both texts.
pub fn parse_soft_trim(before: &str, after: &str) -> Option<SoftTrimParts> {
    let after_note = after.rfind(SOFT_TRIM_NOTE)?;
    let (head_chars, rest) = parse_number(&after[after_note + SOFT_TRIM_NOTE.len()..], " chars and last ")?;
    let (tail_chars, rest) = parse_number(rest, " chars of ")?;
    let (all, rest) = parse_number(rest, " chars.]")?;
    let removed_chars = all.checked_sub(head_chars)?.checked_sub(tail_chars)?;
    if !rest.is_empty() || count_chars(before) != Chars(all as f64) {
        return None;
    }
    let head = byte_offset(before, head_chars, false);
    let tail = byte_offset(before, all - tail_chars, true);
    let after_tail = after_note.checked_sub(before.len() - tail)?;
    let same = after.as_bytes().starts_with(&before.as_bytes()[..head])
        && after.get(after_tail..after_note)? == &before[tail..];
    // A cut inside a surrogate pair leaves a replacement character on either side of the gap.
    let gap = after.get(head..after_tail)?;
    let after_gap = head + gap.find("...")?;
    let dots = gap.trim_matches(char::REPLACEMENT_CHARACTER) == "\n...\n";
    let cut = SoftTrimParts {
        head_end: head,
        tail_start: tail,
        head_chars: Chars(head_chars as f64),
        removed_chars: Chars(removed_chars as f64),
        after_gap_start: after_gap,
        after_tail_start: after_tail,
        after_note_start: after_note,
    };
    (same && dots).then_some(cut)
}

fn parse_number<'a>(text: &'a str, then: &str) -> Option<(u64, &'a str)> {
    let (digits, rest) = text.split_once(then)?;
    Some((digits.parse().ok()?, rest))
}

/// Returns the byte after `units` UTF-16 units; inside a character, its start or its end (`round_up`).
fn byte_offset(text: &str, units: u64, round_up: bool) -> usize {
    let mut seen = 0;
    for (at, char) in text.char_indices() {
        if seen >= units {
            return at;
        }
        seen += char.len_utf16() as u64;
        if seen > units {
            return if round_up { at + char.len_utf8() } else { at };
        }
    }
    text.len()
}

/// Byte ranges of the lines of a text, without their line feeds. Never empty.
pub fn line_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    text.split('\n').map(move |line| {
        let range = from..from + line.len();
        from = range.end + 1;
        range
    })
}

/// Collects removed and added lines until a kept line follows.
struct RowCollector {
    done: Vec<DiffRow>,
    left: Vec<DiffLine>,
    right: Vec<DiffLine>,
    unfold: bool,
}

impl RowCollector {
    fn push_both(&mut self, left: DiffLine, right: DiffLine) {
        self.flush();
        self.done.push(DiffRow::Lines { left: Some(left), right: Some(right) });
    }

    /// Pairs the collected removed lines with the added ones.
    fn flush(&mut self) {
        let left = std::mem::take(&mut self.left);
        let mut right = std::mem::take(&mut self.right).into_iter();
        let (count, folds) = (left.len(), !self.unfold && left.len() >= MIN_FOLDED_LINES);
        for (at, side) in left.into_iter().enumerate() {
            if folds && at == LINES_BEFORE_FOLD {
                self.done.push(DiffRow::Fold { lines: count - LINES_BEFORE_FOLD - 1 });
            }
            if !folds || at < LINES_BEFORE_FOLD || at + 1 == count {
                self.done.push(DiffRow::Lines { left: Some(side), right: right.next() });
            }
        }
        self.done.extend(right.map(|side| DiffRow::Lines { left: None, right: Some(side) }));
    }
}

fn diff_line(number: Option<u32>, text: Range<usize>, change: LineChange) -> DiffLine {
    DiffLine { number, text, change, removed_range: 0..0, cut_after_chars: None }
}

fn push_soft_trim(before: &str, after: &str, cut: &SoftTrimParts, out: &mut RowCollector) {
    let moved = |at: usize| cut.after_tail_start + at - cut.tail_start;
    for (at, line) in line_ranges(before).enumerate() {
        let number = Some(at as u32 + 1);
        let has_head = line.start <= cut.head_end && cut.head_end <= line.end;
        let has_tail = line.start < cut.tail_start && cut.tail_start <= line.end;
        if line.end < cut.head_end {
            out.push_both(
                diff_line(number, line.clone(), LineChange::Kept),
                diff_line(number, line, LineChange::Kept),
            );
        } else if has_head || has_tail {
            push_cut_line(&line, number, cut, (has_head, has_tail), out);
        } else if line.start >= cut.tail_start {
            let right = moved(line.start)..moved(line.end);
            out.push_both(
                diff_line(number, line, LineChange::Kept),
                diff_line(number, right, LineChange::Kept),
            );
        } else {
            out.left.push(diff_line(number, line, LineChange::Removed));
        }
    }
    out.flush();
    let note = cut.after_note_start + 1;
    out.right.extend(
        line_ranges(&after[note..])
            .map(|line| diff_line(None, note + line.start..note + line.end, LineChange::Added)),
    );
}

/// Adds the line that holds the end of the head, the start of the tail, or both.
fn push_cut_line(
    line: &Range<usize>,
    number: Option<u32>,
    cut: &SoftTrimParts,
    (has_head, has_tail): (bool, bool),
    out: &mut RowCollector,
) {
    let from = if has_head { cut.head_end } else { line.start };
    let to = if has_tail { cut.tail_start } else { line.end };
    let whole = from == line.start && to == line.end;
    let mut left =
        diff_line(number, line.clone(), if whole { LineChange::Removed } else { LineChange::Kept });
    if !whole {
        left.removed_range = from - line.start..to - line.start;
    }
    let gap = diff_line(None, cut.after_gap_start..cut.after_gap_start + 3, LineChange::Added);
    let tail =
        diff_line(number, cut.after_tail_start..cut.after_tail_start + line.end - to, LineChange::Kept);
    if has_head {
        let shown = if line.start == cut.head_end { None } else { number };
        let head = DiffLine {
            cut_after_chars: Some(cut.head_chars),
            ..diff_line(shown, line.start..cut.head_end, LineChange::Kept)
        };
        out.push_both(left, head);
        out.right.push(gap);
        if has_tail {
            out.right.push(tail);
        }
    } else {
        out.push_both(left, tail);
    }
}

/// Diffs any two texts line by line. If that takes too long, everything between their common start and end counts as
/// replaced.
fn push_line_diff(before: &str, after: &str, out: &mut RowCollector) {
    let (old, new): (Vec<_>, Vec<_>) = (line_ranges(before).collect(), line_ranges(after).collect());
    let (old_text, new_text): (Vec<&str>, Vec<&str>) = (
        old.iter().map(|it| &before[it.clone()]).collect(),
        new.iter().map(|it| &after[it.clone()]).collect(),
    );
    let same = |(one, other): &(&&str, &&str)| one == other;
    let start = old_text.iter().zip(&new_text).take_while(same).count();
    let end = old_text[start..].iter().rev().zip(new_text[start..].iter().rev()).take_while(same).count();
    let (old_mid, new_mid) = (&old_text[start..old.len() - end], &new_text[start..new.len() - end]);
    let mut ops = if old_mid.len().saturating_mul(new_mid.len()) <= MAX_COMPARED_LINE_PAIRS {
        capture_diff_slices(Algorithm::Myers, old_mid, new_mid)
    } else {
        vec![DiffOp::Replace { old_index: 0, old_len: old_mid.len(), new_index: 0, new_len: new_mid.len() }]
    };
    let keep = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    let mut apply = |op: &DiffOp, shift: usize| {
        let (olds, news) = (op.old_range(), op.new_range());
        let (olds, news) = (olds.start + shift..olds.end + shift, news.start + shift..news.end + shift);
        let number = |at: usize| Some(at as u32 + 1);
        if matches!(op, DiffOp::Equal { .. }) {
            for (at, to) in olds.zip(news) {
                out.push_both(
                    diff_line(number(at), old[at].clone(), LineChange::Kept),
                    diff_line(number(at), new[to].clone(), LineChange::Kept),
                );
            }
        } else {
            out.left.extend(olds.map(|at| diff_line(number(at), old[at].clone(), LineChange::Removed)));
            out.right.extend(news.map(|at| diff_line(None, new[at].clone(), LineChange::Added)));
        }
    };
    apply(&keep(0, 0, start), 0);
    ops.drain(..).for_each(|op| apply(&op, start));
    apply(&keep(old.len() - end, new.len() - end, end), 0);
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
