//! Metrics of a text: enough to predict its length, line ends and surrogate pairs after every cut, without its
//! characters.

use super::positions::{PositionList, Positions};
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
