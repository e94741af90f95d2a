//! Colours in the output of programs: select graphic rendition (`ESC [ … m`), as `less -R` draws it. Every other control
//! sequence stays text, which [`visible`](super::visible) shows.

use std::borrow::Cow;
use std::ops::Range;

/// Bytes of the longest sequence that is read; a longer one stays text.
const MAX_SEQUENCE_BYTES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SgrColour {
    /// A colour of the terminal's palette.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// The style that sequences set. Concealed and blinking text is plain: nothing may hide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent attributes of a terminal")]
pub struct SgrStyle {
    pub foreground: Option<SgrColour>,
    pub background: Option<SgrColour>,
    pub is_bold: bool,
    pub is_dim: bool,
    pub is_italic: bool,
    pub is_underlined: bool,
    pub is_reversed: bool,
    pub is_struck: bool,
}

/// A sequence in a text, and the style after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SgrChange {
    /// Bytes of the sequence.
    pub range: Range<usize>,
    pub style: SgrStyle,
}

/// Returns the sequences of a text, in order.
pub fn sgr_changes(text: &str) -> Vec<SgrChange> {
    let mut style = SgrStyle::default();
    let sequences = sequences(text).map(|range| {
        style.apply(&text[range.start + 2..range.end - 1]);
        SgrChange { range, style }
    });
    sequences.collect()
}

/// Removes the sequences.
pub fn strip_sgr(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut from = 0;
    for sequence in sequences(text) {
        out.push_str(&text[from..sequence.start]);
        from = sequence.end;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

fn sequences(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    text.match_indices("\u{1b}[").filter_map(|(start, _)| {
        let parameters = text.as_bytes()[start + 2..].iter().take(MAX_SEQUENCE_BYTES);
        let count = parameters.take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
        let end = start + 2 + count;
        (text.as_bytes().get(end) == Some(&b'm')).then_some(start..end + 1)
    })
}

impl SgrStyle {
    fn apply(&mut self, parameters: &str) {
        let mut codes = parameters.split(';');
        while let Some(code) = codes.next() {
            let mut parts = code.split(':');
            let number = number(parts.next());
            match (number, number_in(code)) {
                // `38;5;1` and `38:5:1`.
                (38 | 48, subs) => {
                    let colour = if subs.is_empty() { extended(&mut codes) } else { extended_in(&subs) };
                    if let Some(colour) = colour {
                        *(if number == 38 { &mut self.foreground } else { &mut self.background }) =
                            Some(colour);
                    }
                }
                (4, subs) => self.is_underlined = subs.first() != Some(&0),
                (number, _) => self.apply_code(number),
            }
        }
    }

    fn apply_code(&mut self, code: u16) {
        match code {
            0 => *self = Self::default(),
            1 => self.is_bold = true,
            2 => self.is_dim = true,
            3 => self.is_italic = true,
            7 => self.is_reversed = true,
            9 => self.is_struck = true,
            21 => self.is_underlined = true,
            22 => (self.is_bold, self.is_dim) = (false, false),
            23 => self.is_italic = false,
            24 => self.is_underlined = false,
            27 => self.is_reversed = false,
            29 => self.is_struck = false,
            30..=37 => self.foreground = Some(SgrColour::Indexed((code - 30) as u8)),
            39 => self.foreground = None,
            40..=47 => self.background = Some(SgrColour::Indexed((code - 40) as u8)),
            49 => self.background = None,
            90..=97 => self.foreground = Some(SgrColour::Indexed((code - 90 + 8) as u8)),
            100..=107 => self.background = Some(SgrColour::Indexed((code - 100 + 8) as u8)),
            _ => {}
        }
    }
}

/// An absent number is 0.
fn number(text: Option<&str>) -> u16 {
    text.filter(|text| !text.is_empty()).map_or(0, |text| text.parse().unwrap_or(u16::MAX))
}

/// The numbers after the first of a code with colons.
fn number_in(code: &str) -> Vec<u16> {
    code.split(':').skip(1).map(|part| number(Some(part))).collect()
}

fn extended<'a>(codes: &mut impl Iterator<Item = &'a str>) -> Option<SgrColour> {
    let mut next = || number(codes.next());
    match next() {
        5 => Some(SgrColour::Indexed(u8::try_from(next()).ok()?)),
        2 => {
            let [red, green, blue] = [next(), next(), next()].map(u8::try_from);
            Some(SgrColour::Rgb(red.ok()?, green.ok()?, blue.ok()?))
        }
        _ => None,
    }
}

/// `38:2:r:g:b` may have a colour space before the colours.
fn extended_in(subs: &[u16]) -> Option<SgrColour> {
    let byte = |number: u16| u8::try_from(number).ok();
    match *subs {
        [5, index, ..] => Some(SgrColour::Indexed(byte(index)?)),
        [2, red, green, blue] | [2, _, red, green, blue, ..] => {
            Some(SgrColour::Rgb(byte(red)?, byte(green)?, byte(blue)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn last(text: &str) -> SgrStyle {
        sgr_changes(text).last().map(|change| change.style).unwrap_or_default()
    }

    #[test]
    fn colours_and_attributes_are_read_and_reset() {
        let red = SgrStyle { foreground: Some(SgrColour::Indexed(1)), is_bold: true, ..SgrStyle::default() };
        assert_eq!(last("\u{1b}[1;31m"), red);
        assert_eq!(last("\u{1b}[1m\u{1b}[31mx"), red);
        for reset in ["\u{1b}[0m", "\u{1b}[m", "\u{1b}[22;39m"] {
            assert_eq!(last(&format!("\u{1b}[1;31m{reset}")), SgrStyle::default(), "{reset:?}");
        }
        let foreground = |text| last(text).foreground;
        assert_eq!(foreground("\u{1b}[38;5;208m"), Some(SgrColour::Indexed(208)));
        assert_eq!(foreground("\u{1b}[38:5:208m"), Some(SgrColour::Indexed(208)));
        for rgb in ["\u{1b}[38;2;1;2;3m", "\u{1b}[38:2:1:2:3m", "\u{1b}[38:2::1:2:3m"] {
            assert_eq!(foreground(rgb), Some(SgrColour::Rgb(1, 2, 3)), "{rgb:?}");
        }
        assert_eq!(foreground("\u{1b}[38;5;999m\u{1b}[95m"), Some(SgrColour::Indexed(13)));
        assert_eq!(last("\u{1b}[103m").background, Some(SgrColour::Indexed(11)));
        assert_eq!(last("\u{1b}[4:3m").is_underlined, !last("\u{1b}[4:0m").is_underlined);
        assert_eq!(last("\u{1b}[5;8m"), SgrStyle::default(), "nothing blinks or hides");
    }

    #[test]
    fn only_colours_are_removed_and_every_other_sequence_stays() {
        assert_eq!(strip_sgr("\u{1b}[1;32mok\u{1b}[0m done"), "ok done");
        for other in
            ["\u{1b}[2J", "\u{1b}]0;title\u{7}", "\u{1b}[?25l", "\u{1b}[31", "\u{9b}31m", "\u{1b}[31 m"]
        {
            assert_eq!(strip_sgr(other), other);
        }
        let long = format!("\u{1b}[{}m", "1;".repeat(100));
        assert_eq!(strip_sgr(&long), long);
    }

    proptest! {
        #[test]
        fn removed_and_kept_bytes_are_the_text(text in "(\u{1b}|\\[|[0-9;:m]|é|x){0,40}") {
            let removed: usize = sgr_changes(&text).iter().map(|change| change.range.len()).sum();
            prop_assert_eq!(strip_sgr(&text).len() + removed, text.len());
        }
    }
}
