//! One other reading of a text, whose runs of bytes tell where each byte comes from.

use super::windows::{Lines, Reach, add_window};

/// A run of bytes of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// First byte here.
    at: usize,
    /// First byte in the text that it was made from.
    from: usize,
    /// Bytes there, of a decoded character; `None` for a copy of as many bytes.
    decoded: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct View {
    pub text: String,
    runs: Vec<Run>,
    /// The view that it was made from; `None` for the original.
    pub parent: Option<usize>,
    /// Whether its runs were apart, as lines are; then only a secret that is in two of them is new.
    pub is_joined: bool,
    /// The offsets at which lines were joined though a quote or a comma ends the line above, in order.
    pub closed: Vec<usize>,
}

impl View {
    pub(super) fn new(parent: Option<usize>, capacity: usize) -> Self {
        Self {
            text: String::with_capacity(capacity),
            runs: Vec::new(),
            parent,
            is_joined: false,
            closed: Vec::new(),
        }
    }

    /// A view whose lines or strings are joined.
    pub(super) fn joined(parent: Option<usize>, capacity: usize) -> Self {
        Self { is_joined: true, ..Self::new(parent, capacity) }
    }

    pub(super) fn copy(&mut self, text: &str, from: usize) {
        if !text.is_empty() {
            self.runs.push(Run { at: self.text.len(), from, decoded: None });
            self.text.push_str(text);
        }
    }

    pub(super) fn push(&mut self, char: char, from: usize, bytes: usize) {
        self.runs.push(Run { at: self.text.len(), from, decoded: Some(bytes) });
        self.text.push(char);
    }

    /// The ranges in the parent that a range here was made from: one, or one for each joined run.
    pub(super) fn parent_ranges(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let first = self.runs.partition_point(|run| run.at <= from).saturating_sub(1);
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (at, run) in self.runs.iter().enumerate().skip(first).take_while(|(_, run)| run.at < to) {
            let end = self.runs.get(at + 1).map_or(self.text.len(), |next| next.at).min(to);
            let start = from.max(run.at);
            let range = match run.decoded {
                Some(bytes) => (run.from, run.from + bytes),
                None => (run.from + start - run.at, run.from + end - run.at),
            };
            match ranges.last_mut() {
                Some(last) if !self.is_joined || last.1 == range.0 => last.1 = range.1,
                _ => ranges.push(range),
            }
        }
        ranges
    }

    /// Whether a sign ends the line above a seam.
    pub(super) fn is_closed(&self, seam: usize) -> bool {
        self.closed.binary_search(&seam).is_ok()
    }

    /// The offsets within a range at which lines or strings were joined: two copies meet that are apart in the parent.
    pub(super) fn seams(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let first = self.runs.partition_point(|run| run.at <= from).max(1);
        let pairs = self.runs[first - 1..].windows(2).take_while(move |pair| pair[1].at < to);
        pairs.filter(|pair| is_seam(pair)).map(|pair| pair[1].at)
    }

    /// The lines that no text before this one in its chain of readings has: those with a decoded character or a seam.
    /// Everything in the other lines was found there.
    pub(super) fn new_lines(&self) -> Vec<(usize, usize)> {
        let (mut windows, mut lines) = (Vec::new(), Lines::new(&self.text));
        let mut add = |from: usize, to: usize| {
            let first = lines.around(from, Reach::OneLine).0;
            add_window(&mut windows, (first, lines.around(to, Reach::OneLine).1));
        };
        // The parent may have had bytes before the first run and behind the last.
        if !self.is_joined && self.runs.first().is_some_and(|run| run.from > 0) {
            add(0, 0);
        }
        for (at, run) in self.runs.iter().enumerate() {
            let end = self.runs.get(at + 1).map_or(self.text.len(), |next| next.at);
            if run.decoded.is_some() && !self.is_joined {
                add(run.at, end);
            } else if at > 0 && is_seam(&self.runs[at - 1..=at]) {
                add(run.at, run.at);
            }
        }
        if !self.is_joined {
            add(self.text.len(), self.text.len());
        }
        windows
    }
}

/// Whether two copies meet that are apart in the parent.
fn is_seam(pair: &[Run]) -> bool {
    let is_copy = pair.iter().all(|run| run.decoded.is_none());
    is_copy && pair[0].from + (pair[1].at - pair[0].at) != pair[1].from
}
