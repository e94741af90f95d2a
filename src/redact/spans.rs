//! Ranges of a text that do not overlap, in order, each with what was found there.

use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Spans<T> {
    /// End and value of each range, by its first byte.
    by_start: BTreeMap<usize, (usize, T)>,
}

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Self { by_start: BTreeMap::new() }
    }
}

impl<T> Spans<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    /// The ranges that share a byte with a range.
    fn touched(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> {
        let before = self.by_start.range(..from).next_back();
        let touched = before.into_iter().chain(self.by_start.range(from..to.max(from)));
        touched.map(|(start, (end, _))| (*start, *end)).filter(move |(start, end)| from < *end && *start < to)
    }

    /// Adds a range if no other shares a byte with it.
    pub(super) fn add_if_free(&mut self, from: usize, to: usize, value: T) {
        if from < to && self.touched(from, to).next().is_none() {
            self.by_start.insert(from, (to, value));
        }
    }

    /// Adds a range in place of those that share a byte with it.
    pub(super) fn replace(&mut self, from: usize, to: usize, value: T) {
        let touched: Vec<usize> = self.touched(from, to).map(|(start, _)| start).collect();
        for start in touched {
            self.by_start.remove(&start);
        }
        self.by_start.insert(from, (to, value));
    }

    /// Adds a range: drops it if another covers it, merges it with those that it overlaps.
    pub(super) fn add_merged(&mut self, from: usize, to: usize, value: T) {
        let touched: Vec<(usize, usize)> = self.touched(from, to).collect();
        if touched.iter().any(|(start, end)| *start <= from && to <= *end) {
            return;
        }
        let from = touched.iter().fold(from, |from, (start, _)| from.min(*start));
        let to = touched.iter().fold(to, |to, (_, end)| to.max(*end));
        self.replace(from, to, value);
    }
}

impl<T: Clone> Spans<T> {
    /// Adds the parts of a range that no other covers.
    pub(super) fn add_uncovered(&mut self, from: usize, to: usize, value: &T) {
        let covered: Vec<(usize, usize)> = self.touched(from, to).collect();
        let mut from = from;
        for (start, end) in covered.into_iter().chain([(to, to)]) {
            self.add_if_free(from, start, value.clone());
            from = from.max(end);
        }
    }
}

impl<T> Spans<T> {
    /// First byte, end byte and value of each range, in order.
    pub(super) fn into_ranges(self) -> impl Iterator<Item = (usize, usize, T)> {
        self.by_start.into_iter().map(|(from, (to, value))| (from, to, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ranges: &[(usize, usize)]) -> Spans<()> {
        let mut spans = Spans::default();
        for (from, to) in ranges {
            spans.add_if_free(*from, *to, ());
        }
        spans
    }

    fn ranges(spans: Spans<()>) -> Vec<(usize, usize)> {
        spans.into_ranges().map(|(from, to, ())| (from, to)).collect()
    }

    #[test]
    fn ranges_never_overlap() {
        let start = || spans(&[(2, 4), (3, 5), (8, 10), (10, 12)]);
        assert_eq!(ranges(start()), [(2, 4), (8, 10), (10, 12)]);
        let mut merged = start();
        merged.add_merged(9, 11, ());
        merged.add_merged(2, 3, ());
        assert_eq!(ranges(merged), [(2, 4), (8, 12)]);
        let mut filled = start();
        filled.add_uncovered(0, 11, &());
        assert_eq!(ranges(filled), [(0, 2), (2, 4), (4, 8), (8, 10), (10, 12)]);
        let mut replaced = start();
        replaced.replace(3, 9, ());
        assert_eq!(ranges(replaced), [(3, 9), (10, 12)]);
    }
}
