//! One other reading of a text, whose runs of bytes tell where each byte comes from.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use regex_syntax::hir::{Class, Hir, HirKind};

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

// The part of a text in which a rule may match: the lines around the letters that the rule needs. A long text is mostly not
// searched, and each part once.

/// Lines before and after its letters that a match of a rule may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    OneLine,
    /// Blanks in it may hold the end of a line.
    NextLine,
    /// It names the end of a line, or any text.
    Lines,
}

impl Reach {
    pub(super) fn of_pattern(pattern: &str) -> Self {
        regex_syntax::parse(pattern).map_or(Self::Lines, |form| reach(&form))
    }

    fn lines(self) -> usize {
        match self {
            Self::OneLine => 0,
            Self::NextLine => 1,
            Self::Lines => 5,
        }
    }
}

/// How far a match of a pattern may reach.
fn reach(form: &Hir) -> Reach {
    let of_class = |holds: &dyn Fn(char) -> bool| match (holds('\n'), holds('a')) {
        (false, _) => Reach::OneLine,
        (true, false) => Reach::NextLine,
        (true, true) => Reach::Lines,
    };
    match form.kind() {
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => Reach::Lines,
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) => Reach::OneLine,
        HirKind::Class(Class::Unicode(class)) => {
            of_class(&|char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&char)))
        }
        HirKind::Class(Class::Bytes(class)) => of_class(&|char| {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&(char as u8)))
        }),
        HirKind::Repetition(repeated) => reach(&repeated.sub),
        HirKind::Capture(group) => reach(&group.sub),
        HirKind::Concat(forms) | HirKind::Alternation(forms) => {
            forms.iter().map(reach).max().unwrap_or(Reach::OneLine)
        }
    }
}

/// The lines around a position: many rules ask for the same ones, and the positions of each come in order.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    /// The line of the last position.
    line: (usize, usize),
    /// The lines around a line, by its first byte, for each reach beyond it.
    reached: HashMap<usize, [Option<(usize, usize)>; 2], FixedState>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), line: (1, 0), reached: HashMap::default() }
    }

    /// First and end byte of the lines that a match may reach from a position.
    pub(super) fn around(&mut self, at: usize, reach: Reach) -> (usize, usize) {
        if !(self.line.0..=self.line.1).contains(&at) {
            self.line = (self.start_before(at), self.end_after(at));
        }
        if reach == Reach::OneLine {
            return self.line;
        }
        let known = self.reached.get(&self.line.0).and_then(|known| known[reach as usize - 1]);
        if let Some(known) = known {
            return known;
        }
        let (mut from, mut to) = self.line;
        for _ in 0..reach.lines() {
            from = self.start_before(self.text[..from].trim_ascii_end().len());
            let blank = self.text[to..].len() - self.text[to..].trim_ascii_start().len();
            to = self.end_after(to + blank);
        }
        self.reached.entry(self.line.0).or_default()[reach as usize - 1] = Some((from, to));
        (from, to)
    }

    fn start_before(&self, at: usize) -> usize {
        memchr::memrchr(b'\n', &self.text[..at]).map_or(0, |end| end + 1)
    }

    fn end_after(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |end| at + end)
    }
}

/// Adds a window, which begins no earlier than the last, or widens the last.
pub(super) fn add_window(windows: &mut Vec<(usize, usize)>, (from, to): (usize, usize)) {
    match windows.last_mut() {
        Some(last) if from <= last.1 => last.1 = last.1.max(to),
        _ => windows.push((from, to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_tells_how_far_it_reaches() {
        for (pattern, reach) in [
            (r"key=([^\s]+)", Reach::OneLine),
            (r"key:[ \t]*(\w+)", Reach::OneLine),
            (r"key:\s*(\w+)", Reach::NextLine),
            (r"USER \w+\nPASS (\w+)", Reach::Lines),
            (r"\{[^{}]*key", Reach::Lines),
        ] {
            assert_eq!(Reach::of_pattern(pattern), reach, "{pattern}");
        }
    }

    #[test]
    fn windows_are_whole_lines_and_do_not_overlap() {
        let text = "one\ntwo key\n\n  \nthree\nfour key\nfive\nsix";
        let mut windows = Vec::new();
        let mut lines = Lines::new(text);
        let keys = [text.find("key").unwrap(), text.rfind("key").unwrap()];
        for at in keys {
            add_window(&mut windows, lines.around(at, Reach::OneLine));
        }
        assert_eq!(
            windows.iter().map(|(from, to)| &text[*from..*to]).collect::<Vec<_>>(),
            ["two key", "four key"]
        );
        let mut lines = Lines::new(text);
        let (from, to) = lines.around(keys[0], Reach::NextLine);
        assert_eq!(&text[from..to], "one\ntwo key\n\n  \nthree");
        windows.clear();
        for at in keys {
            add_window(&mut windows, lines.around(at, Reach::Lines));
        }
        assert_eq!(windows, [(0, text.len())]);
    }
}
