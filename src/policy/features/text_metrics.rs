//! Metrics of a text: enough to predict its length, line ends and surrogate pairs after every cut, without its
//! characters.

use std::sync::Arc;

use crate::js::{CharacterSink, JsString, Json};

const LINE_FEED: u16 = 10;

const HIGH: std::ops::RangeInclusive<u16> = 0xD800..=0xDBFF;

const LOW: std::ops::RangeInclusive<u16> = 0xDC00..=0xDFFF;

#[derive(Debug, Clone, PartialEq)]
pub struct TextMetrics {
    /// In UTF-16 units.
    pub chars: usize,
    pub line_feeds: Positions,
    /// Surrogate pairs; clearing counts each pair as one code point (pruning 7.4).
    pub pairs: Positions,
}

impl TextMetrics {
    pub fn of(text: &JsString) -> Self {
        let mut heard = TextMetricsBuilder::default();
        text.units().iter().for_each(|unit| heard.unit(*unit));
        heard.into()
    }

    /// [`Self::of`] for a JSON value; `None` if it is not a string.
    pub(super) fn from_json<'a>(value: impl Json<'a>) -> Option<Self> {
        value.unit_len()?;
        let mut heard = TextMetricsBuilder::default();
        value.visit_characters(&mut heard);
        Some(heard.into())
    }

    /// Returns the length in code points; a lone surrogate is one.
    pub fn code_points(&self) -> usize {
        self.chars - self.pairs.count()
    }

    /// Returns the last line feed at or before `at`.
    pub fn last_line_feed(&self, at: usize) -> Option<usize> {
        self.line_feeds.iter().take_while(|feed| *feed as usize <= at).last().map(|feed| feed as usize)
    }

    /// Returns the first `chars` chars followed by `suffix`, which must not start with a low surrogate.
    #[must_use]
    pub fn cut(&self, chars: usize, suffix: &Self) -> Self {
        let chars = chars.min(self.chars);
        let kept = |positions: &Positions, behind: &Positions, width: usize| {
            let kept = positions.iter().take_while(|at| *at as usize + width <= chars);
            kept.chain(behind.iter().map(|at| at + chars as u32)).collect()
        };
        Self {
            chars: chars + suffix.chars,
            line_feeds: kept(&self.line_feeds, &suffix.line_feeds, 1),
            pairs: kept(&self.pairs, &suffix.pairs, 2),
        }
    }

    /// Returns the last `chars` chars.
    #[must_use]
    pub fn tail(&self, chars: usize) -> Self {
        let from = self.chars.saturating_sub(chars);
        let kept = |positions: &Positions| {
            positions.iter().filter(|at| *at as usize >= from).map(|at| at - from as u32).collect()
        };
        Self { chars: self.chars - from, line_feeds: kept(&self.line_feeds), pairs: kept(&self.pairs) }
    }

    /// Joins texts with one line feed.
    pub fn joined<'a>(texts: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut chars, mut feeds, mut pairs) = (0, PositionList::default(), PositionList::default());
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                feeds.push(chars as u32);
                chars += 1;
            }
            text.line_feeds.iter().for_each(|feed| feeds.push(feed + chars as u32));
            text.pairs.iter().for_each(|pair| pairs.push(pair + chars as u32));
            chars += text.chars;
        }
        Self { chars, line_feeds: feeds.into(), pairs: pairs.into() }
    }
}

#[derive(Default)]
struct TextMetricsBuilder {
    chars: usize,
    line_feeds: PositionList,
    pairs: PositionList,
    /// Whether the last unit is a high surrogate, which the next unit may complete.
    ends_high: bool,
}

impl From<TextMetricsBuilder> for TextMetrics {
    fn from(TextMetricsBuilder { chars, line_feeds, pairs, .. }: TextMetricsBuilder) -> Self {
        Self { chars, line_feeds: line_feeds.into(), pairs: pairs.into() }
    }
}

impl CharacterSink for TextMetricsBuilder {
    fn run(&mut self, run: &str) {
        // Whole characters never complete a pair.
        self.ends_high = false;
        if run.is_ascii() {
            self.chars += run.len();
            return;
        }
        for char in run.chars() {
            if char.len_utf16() == 2 {
                self.pairs.push(self.chars as u32);
            }
            self.chars += char.len_utf16();
        }
    }

    fn unit(&mut self, unit: u16) {
        match unit {
            LINE_FEED => self.line_feeds.push(self.chars as u32),
            // Surrogates in a row pair from the left: a high one cannot complete a pair.
            _ if self.ends_high && LOW.contains(&unit) => self.pairs.push(self.chars as u32 - 1),
            _ => {}
        }
        self.ends_high = HIGH.contains(&unit);
        self.chars += 1;
    }
}

// Ascending positions in a text. A long transcript has tens of millions of line ends, most of them fewer than 128 chars
// apart, so each position is kept as its distance from the one before: one byte instead of four.

/// Bits of a distance in one byte; the eighth says that more follow.
const BITS: u32 = 7;

const MORE: u8 = 1 << BITS;

/// Positions, ascending.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Positions(Arc<[u8]>);

impl Positions {
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (mut bytes, mut position) = (self.0.iter(), 0);
        std::iter::from_fn(move || {
            let mut shift = 0;
            loop {
                let byte = *bytes.next()?;
                position += u32::from(byte & !MORE) << shift;
                shift += BITS;
                if byte & MORE == 0 {
                    return Some(position);
                }
            }
        })
    }

    /// Returns the number of positions.
    pub(super) fn count(&self) -> usize {
        self.0.iter().filter(|byte| **byte & MORE == 0).count()
    }
}

impl FromIterator<u32> for Positions {
    fn from_iter<T: IntoIterator<Item = u32>>(positions: T) -> Self {
        let mut list = PositionList::default();
        positions.into_iter().for_each(|position| list.push(position));
        list.into()
    }
}

/// Collects positions.
#[derive(Debug, Default)]
pub(super) struct PositionList {
    bytes: Vec<u8>,
    last: u32,
}

impl PositionList {
    /// Appends a position that is not before the last one.
    pub(super) fn push(&mut self, position: u32) {
        let mut distance = position - self.last;
        self.last = position;
        while distance >= u32::from(MORE) {
            self.bytes.push(distance as u8 | MORE);
            distance >>= BITS;
        }
        self.bytes.push(distance as u8);
    }
}

impl From<PositionList> for Positions {
    fn from(list: PositionList) -> Self {
        // An empty default allocates nothing.
        if list.bytes.is_empty() { Self::default() } else { Self(list.bytes.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> TextMetrics {
        TextMetrics::of(&text.into())
    }

    #[test]
    fn a_cut_text_keeps_the_line_ends_of_the_kept_part() {
        let cut = text("a\nb\ncdef").cut(5, &text("\n[cut]"));
        assert_eq!(cut, text("a\nb\nc\n[cut]"));
        assert_eq!(text("a\nb\ncdef").tail(6), text("b\ncdef"));
        assert_eq!(text("a\nb\nc").last_line_feed(2), Some(1));
        assert_eq!(text("a\nb\nc").last_line_feed(0), None);
    }

    #[test]
    fn joined_texts_have_a_line_end_between_them() {
        assert_eq!(TextMetrics::joined([&text("a\n"), &text(""), &text("b")]), text("a\n\n\nb"));
    }

    #[test]
    fn a_surrogate_pair_is_one_code_point_until_a_cut_splits_it() {
        let faces = text("a😀b😀");
        assert_eq!((faces.chars, faces.code_points()), (6, 4));
        assert_eq!(faces.cut(3, &text("!")).code_points(), 3);
        assert_eq!(faces.cut(2, &text("!")).code_points(), 3);
        assert_eq!((faces.tail(1).code_points(), faces.tail(2).code_points()), (1, 1));
        assert_eq!(TextMetrics::joined([&faces, &faces]).code_points(), 9);
    }
}

#[cfg(test)]
mod positions_tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_read_back_as_written(distances in proptest::collection::vec(0..3_000_000_u32, 0..40)) {
            let positions: Vec<u32> = distances
                .iter()
                .scan(0, |sum, distance| {
                    *sum += distance >> (distance % 20);
                    Some(*sum)
                })
                .collect();
            let kept: Positions = positions.iter().copied().collect();
            prop_assert_eq!(kept.count(), positions.len());
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), positions);
        }
    }

    #[test]
    fn the_last_position_of_the_longest_text_is_kept() {
        let kept: Positions = [0, 127, 255, u32::MAX].into_iter().collect();
        assert_eq!(kept.iter().collect::<Vec<_>>(), [0, 127, 255, u32::MAX]);
    }
}
