//! Two texts → rows of a diff, left before and right after: what stays, what leaves, what comes, and where
//! a line is cut inside. A soft trim is recognised by its note and costs one walk over the text.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Removed lines in a row before the middle of them folds.
const FOLD_FROM: usize = 9;
/// Removed lines shown before a fold; after it stands one.
const FOLD_HEAD: usize = 5;
/// Lines of one side times lines of the other that are still compared line by line.
const COMPARED: usize = 4_000_000;
/// What every note of a soft trim starts with (pruning 5.7).
const NOTE: &str = "\n\n[Tool result trimmed: kept first ";

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It stays.
    Kept,
    /// It leaves.
    Removed,
    /// It comes.
    Added,
}

/// One line on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Its number in the text before, counted from 1; none for lines that come.
    pub number: Option<u32>,
    /// Its bytes: of the text before on the left, of the text after on the right.
    pub text: Range<usize>,
    /// What becomes of it; of a line that is cut inside, of what is not in `removed`.
    pub change: Change,
    /// Bytes of the line that leave, counted from its start; empty unless it is cut inside.
    pub removed: Range<usize>,
    /// The text before is cut at the end of this line: after so many chars (UTF-16 units).
    pub cut_at: Option<u64>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A line on one side or on both.
    Lines {
        /// The text before.
        left: Option<Side>,
        /// The text after.
        right: Option<Side>,
    },
    /// So many lines that leave are not shown.
    Fold {
        /// How many.
        lines: usize,
    },
}

/// What a soft trim kept of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoftCut {
    /// Bytes of the text before up to here stay.
    pub head: usize,
    /// Bytes of the text before from here stay.
    pub tail: usize,
    /// Chars (UTF-16 units) of the head.
    pub head_chars: u64,
    /// Chars that leave.
    pub removed_chars: u64,
    /// Where the dots between head and tail start in the text after.
    after_gap: usize,
    /// Where the tail starts in the text after.
    after_tail: usize,
    /// Where the note starts in the text after.
    after_note: usize,
}

/// The rows of a diff. Long runs of lines that leave are folded unless `unfold`.
pub fn rows(before: &str, after: &str, unfold: bool) -> Vec<Row> {
    let mut out = Rows { done: Vec::new(), left: Vec::new(), right: Vec::new(), unfold };
    match soft_cut(before, after) {
        Some(cut) => soft_trim(before, after, &cut, &mut out),
        None => by_line(before, after, &mut out),
    }
    out.flush();
    out.done
}

/// Chars of a text as the gateway counts: UTF-16 units.
pub fn chars_of(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().map(|char| char.len_utf16() as u64).sum() }
}

/// What a soft trim kept, where `after` is one of `before`: told by its note, and checked.
pub fn soft_cut(before: &str, after: &str) -> Option<SoftCut> {
    let after_note = after.rfind(NOTE)?;
    let (head_chars, rest) = number(&after[after_note + NOTE.len()..], " chars and last ")?;
    let (tail_chars, rest) = number(rest, " chars of ")?;
    let (all, rest) = number(rest, " chars.]")?;
    let removed_chars = all.checked_sub(head_chars)?.checked_sub(tail_chars)?;
    if !rest.is_empty() || chars_of(before) != all {
        return None;
    }
    let head = byte_at(before, head_chars, false);
    let tail = byte_at(before, all - tail_chars, true);
    let after_tail = after_note.checked_sub(before.len() - tail)?;
    let same = after.as_bytes().starts_with(&before.as_bytes()[..head])
        && after.get(after_tail..after_note)? == &before[tail..];
    // A cut inside a surrogate pair leaves a replacement character on either side of the gap.
    let gap = after.get(head..after_tail)?;
    let after_gap = head + gap.find("...")?;
    let dots = gap.trim_matches(char::REPLACEMENT_CHARACTER) == "\n...\n";
    let cut = SoftCut { head, tail, head_chars, removed_chars, after_gap, after_tail, after_note };
    (same && dots).then_some(cut)
}

fn number<'a>(text: &'a str, then: &str) -> Option<(u64, &'a str)> {
    let (digits, rest) = text.split_once(then)?;
    Some((digits.parse().ok()?, rest))
}

/// The byte after so many UTF-16 units; a unit inside a character counts for its start, or its end.
fn byte_at(text: &str, units: u64, round_up: bool) -> usize {
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

/// Byte ranges of the lines of a text, without their ends. Never empty.
pub fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    text.split('\n').map(move |line| {
        let range = from..from + line.len();
        from = range.end + 1;
        range
    })
}

/// Collects what leaves and what comes until something stays.
struct Rows {
    done: Vec<Row>,
    left: Vec<Side>,
    right: Vec<Side>,
    unfold: bool,
}

impl Rows {
    fn both(&mut self, left: Side, right: Side) {
        self.flush();
        self.done.push(Row::Lines { left: Some(left), right: Some(right) });
    }

    /// Puts what leaves beside what comes.
    fn flush(&mut self) {
        let left = std::mem::take(&mut self.left);
        let mut right = std::mem::take(&mut self.right).into_iter();
        let (count, folds) = (left.len(), !self.unfold && left.len() >= FOLD_FROM);
        for (at, side) in left.into_iter().enumerate() {
            if folds && at == FOLD_HEAD {
                self.done.push(Row::Fold { lines: count - FOLD_HEAD - 1 });
            }
            if !folds || at < FOLD_HEAD || at + 1 == count {
                self.done.push(Row::Lines { left: Some(side), right: right.next() });
            }
        }
        self.done.extend(right.map(|side| Row::Lines { left: None, right: Some(side) }));
    }
}

fn side(number: Option<u32>, text: Range<usize>, change: Change) -> Side {
    Side { number, text, change, removed: 0..0, cut_at: None }
}

fn soft_trim(before: &str, after: &str, cut: &SoftCut, out: &mut Rows) {
    let moved = |at: usize| cut.after_tail + at - cut.tail;
    for (at, line) in lines(before).enumerate() {
        let number = Some(at as u32 + 1);
        let has_head = line.start <= cut.head && cut.head <= line.end;
        let has_tail = line.start < cut.tail && cut.tail <= line.end;
        if line.end < cut.head {
            out.both(side(number, line.clone(), Change::Kept), side(number, line, Change::Kept));
        } else if has_head || has_tail {
            cut_line(&line, number, cut, (has_head, has_tail), out);
        } else if line.start >= cut.tail {
            let right = moved(line.start)..moved(line.end);
            out.both(side(number, line, Change::Kept), side(number, right, Change::Kept));
        } else {
            out.left.push(side(number, line, Change::Removed));
        }
    }
    out.flush();
    let note = cut.after_note + 1;
    out.right.extend(
        lines(&after[note..]).map(|line| side(None, note + line.start..note + line.end, Change::Added)),
    );
}

/// A line that holds the end of the head, the start of the tail, or both.
fn cut_line(
    line: &Range<usize>,
    number: Option<u32>,
    cut: &SoftCut,
    (has_head, has_tail): (bool, bool),
    out: &mut Rows,
) {
    let from = if has_head { cut.head } else { line.start };
    let to = if has_tail { cut.tail } else { line.end };
    let whole = from == line.start && to == line.end;
    let mut left = side(number, line.clone(), if whole { Change::Removed } else { Change::Kept });
    if !whole {
        left.removed = from - line.start..to - line.start;
    }
    let gap = side(None, cut.after_gap..cut.after_gap + 3, Change::Added);
    let tail = side(number, cut.after_tail..cut.after_tail + line.end - to, Change::Kept);
    if has_head {
        let shown = if line.start == cut.head { None } else { number };
        let head = Side { cut_at: Some(cut.head_chars), ..side(shown, line.start..cut.head, Change::Kept) };
        out.both(left, head);
        out.right.push(gap);
        if has_tail {
            out.right.push(tail);
        }
    } else {
        out.both(left, tail);
    }
}

/// Any two texts, line by line; where that would be too much work, everything between what both start and
/// end with is replaced.
fn by_line(before: &str, after: &str, out: &mut Rows) {
    let (old, new): (Vec<_>, Vec<_>) = (lines(before).collect(), lines(after).collect());
    let (old_text, new_text): (Vec<&str>, Vec<&str>) = (
        old.iter().map(|it| &before[it.clone()]).collect(),
        new.iter().map(|it| &after[it.clone()]).collect(),
    );
    let same = |(one, other): &(&&str, &&str)| one == other;
    let start = old_text.iter().zip(&new_text).take_while(same).count();
    let end = old_text[start..].iter().rev().zip(new_text[start..].iter().rev()).take_while(same).count();
    let (old_mid, new_mid) = (&old_text[start..old.len() - end], &new_text[start..new.len() - end]);
    let mut ops = if old_mid.len().saturating_mul(new_mid.len()) <= COMPARED {
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
                out.both(
                    side(number(at), old[at].clone(), Change::Kept),
                    side(number(at), new[to].clone(), Change::Kept),
                );
            }
        } else {
            out.left.extend(olds.map(|at| side(number(at), old[at].clone(), Change::Removed)));
            out.right.extend(news.map(|at| side(None, new[at].clone(), Change::Added)));
        }
    };
    apply(&keep(0, 0, start), 0);
    ops.drain(..).for_each(|op| apply(&op, start));
    apply(&keep(old.len() - end, new.len() - end, end), 0);
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
