//! The only road of text to the screen. Transcripts, paths and settings hold whatever someone put there:
//! escape sequences, direction overrides, characters of no width. Here they become visible, and every
//! cluster gets a width that terminals agree on.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What stands where text was cut.
const ELLIPSIS: &str = "…";
/// Columns between tab stops.
const TAB: usize = 4;
/// Marks kept on one base character; more would climb over the rows above.
const MARKS: usize = 2;

/// The text with everything visible that a terminal would obey, hide, or draw in a width of its own.
/// Applying it twice changes nothing.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut columns = 0;
    for cluster in text.graphemes(true) {
        let from = out.len();
        if cluster == "\t" {
            out.extend(std::iter::repeat_n(' ', TAB - columns % TAB));
        } else {
            push_cluster(cluster, &mut out);
        }
        columns += measure(&out[from..]);
    }
    Cow::Owned(out)
}

/// Columns the text takes once it is visible.
pub fn width(text: &str) -> usize {
    measure(&visible(text))
}

/// The visible text in at most `columns`, cut at a cell boundary with `…`, and the columns it takes.
pub fn cut(text: &str, columns: usize) -> (String, usize) {
    let text = visible(text);
    let whole = measure(&text);
    if whole <= columns {
        return (text.into_owned(), whole);
    }
    if columns == 0 {
        return (String::new(), 0);
    }
    let (mut out, mut used) = head(&text, columns - 1);
    out.push_str(ELLIPSIS);
    used += 1;
    (out, used)
}

/// The visible text in exactly `columns`: cut, or followed by blanks.
pub fn pad(text: &str, columns: usize) -> String {
    let (mut out, used) = cut(text, columns);
    out.extend(std::iter::repeat_n(' ', columns - used));
    out
}

/// The visible text in lines of at most `columns`, broken at blanks where there are any. Line ends in the
/// text are kept; a no-break space is no blank. Never empty.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    text.split('\n').flat_map(|line| wrap_line(line.trim_end_matches('\r'), columns)).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let line = visible(line);
    let mut lines = Vec::new();
    let mut rest: &str = &line;
    while measure(rest) > columns {
        let (fits, _) = head(rest, columns);
        let next_is_blank = rest[fits.len()..].starts_with(' ');
        let at = if next_is_blank {
            fits.len()
        } else {
            fits.rfind(' ').filter(|at| *at > 0).unwrap_or(fits.len())
        };
        lines.push(rest[..at].trim_end_matches(' ').to_owned());
        rest = rest[at..].trim_start_matches(' ');
    }
    lines.push(rest.to_owned());
    lines
}

/// Columns of text that is visible already: the sum of its clusters, as a buffer of cells counts.
fn measure(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(UnicodeWidthStr::width).sum() }
}

/// As many whole clusters as fit.
fn head(text: &str, columns: usize) -> (String, usize) {
    let mut out = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        let wide = measure(cluster);
        if used + wide > columns {
            break;
        }
        out.push_str(cluster);
        used += wide;
    }
    (out, used)
}

/// A character that every terminal draws in the same way, whatever stands beside it.
fn is_plain(character: char) -> bool {
    match character {
        '\u{a0}'..='\u{2ff}' => character != '\u{ad}',
        ' '..='~' | '\u{2010}'..='\u{2027}' | '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{259f}'
        // Kana, ideographs and syllables are two cells everywhere.
        | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff60}' => true,
        _ => false,
    }
}

/// One cluster, made visible and reduced to what has a width that terminals agree on: emoji joined by
/// zero-width joiners stand side by side, skin tones and presentation selectors go, flags become letters.
fn push_cluster(cluster: &str, out: &mut String) {
    let mut has_base = false;
    let mut marks = 0;
    let joined = cluster.chars().any(is_pictograph);
    for character in cluster.chars() {
        match shape(character) {
            Shape::Selector | Shape::Tone if has_base => {}
            Shape::Joiner if joined => {}
            Shape::Mark if has_base && marks >= MARKS => {}
            Shape::Mark if has_base => {
                out.push(character);
                marks += 1;
            }
            Shape::Mark => {
                push_lone_mark(character, out);
                (has_base, marks) = (true, 1);
            }
            Shape::Regional(letter) => {
                out.push(letter);
                has_base = true;
            }
            Shape::Blank => out.push(' '),
            Shape::Hidden | Shape::Selector | Shape::Joiner | Shape::Tone => push_code(character, out),
            Shape::Base => {
                out.push(character);
                (has_base, marks) = (true, 0);
            }
        }
    }
}

/// A mark with nothing to stand on gets a circle; where it would not stand on that either, its code point.
fn push_lone_mark(character: char, out: &mut String) {
    let circled = String::from_iter(['◌', character]);
    if circled.graphemes(true).count() == 1 {
        out.push_str(&circled);
    } else {
        push_code(character, out);
    }
}

/// What a character does to the cells around it.
enum Shape {
    /// It has a width.
    Base,
    /// It stands on the character before.
    Mark,
    /// It joins emoji.
    Joiner,
    /// It selects text or emoji presentation, or encloses a key.
    Selector,
    /// A skin tone.
    Tone,
    /// Half of a flag, as its letter.
    Regional(char),
    /// A blank of another width.
    Blank,
    /// It would be obeyed, hidden, or drawn in an unknown width.
    Hidden,
}

fn shape(character: char) -> Shape {
    match character {
        '\u{200d}' => Shape::Joiner,
        '\u{fe00}'..='\u{fe0f}' | '\u{20e3}' => Shape::Selector,
        '\u{1f3fb}'..='\u{1f3ff}' => Shape::Tone,
        '\u{1f1e6}'..='\u{1f1ff}' => {
            let letter = (character as u32 - 0x1f1e6) as u8 + b'A';
            Shape::Regional(char::from(letter))
        }
        '\u{a0}' => Shape::Base,
        '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Shape::Blank,
        _ if is_hidden(character) => Shape::Hidden,
        _ => match character.width() {
            None => Shape::Hidden,
            Some(0) => Shape::Mark,
            Some(_) => Shape::Base,
        },
    }
}

/// Controls, direction marks, format characters, fillers, private use and code points without a meaning.
fn is_hidden(character: char) -> bool {
    let filler = matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}'
    );
    let selector = matches!(character, '\u{180b}'..='\u{180f}' | '\u{e0100}'..='\u{e01ef}');
    character.is_control() || filler || selector || !is_printable(character)
}

/// The standard library knows which characters can be printed; it says so by escaping the others.
fn is_printable(character: char) -> bool {
    // Behind a letter a combining mark is printed as it is.
    let mut buffer = [b'x'; 5];
    let end = 1 + character.encode_utf8(&mut buffer[1..]).len();
    let escaped = std::str::from_utf8(&buffer[..end]).is_ok_and(|text| {
        let mut escaped = text.escape_debug().skip(1);
        escaped.next() == Some('\\') && escaped.next() == Some('u')
    });
    !escaped
}

fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}')
}

/// A picture for the old control characters, the code point for everything else.
fn push_code(character: char, out: &mut String) {
    let code = character as u32;
    match code {
        0..=0x1f => out.extend(char::from_u32(0x2400 + code)),
        0x7f => out.push('\u{2421}'),
        _ => {
            let digits = format!("{code:04X}");
            out.extend(["⟨", &digits, "⟩"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn shows(text: &str, expected: &str) {
        assert_eq!(visible(text), expected, "{text:?}");
    }

    #[test]
    fn escape_sequences_are_shown_and_never_obeyed() {
        shows("\u{1b}[31mred\u{1b}]0;title\u{7}", "␛[31mred␛]0;title␇");
        shows("\u{9b}2J\u{7f}\u{0}", "⟨009B⟩2J␡␀");
        shows("a\r\nb", "a␍␊b");
    }

    #[test]
    fn text_cannot_turn_its_direction_or_hide() {
        shows("a\u{202e}b\u{2066}c", "a⟨202E⟩b⟨2066⟩c");
        shows("pass\u{200b}word\u{feff}", "pass⟨200B⟩word⟨FEFF⟩");
        shows("\u{e000}\u{10ffff}\u{378}", "⟨E000⟩⟨10FFFF⟩⟨0378⟩");
        shows("x\u{200d}y\u{e0041}", "x⟨200D⟩y⟨E0041⟩");
    }

    #[test]
    fn tabs_become_blanks_up_to_the_next_stop() {
        shows("a\tb\tc", "a   b   c");
        shows("树\tx", "树  x");
    }

    #[test]
    fn emoji_are_reduced_to_what_every_terminal_draws_in_the_same_width() {
        shows("👨\u{200d}👩\u{200d}👧", "👨👩👧");
        shows("👍🏽!", "👍!");
        shows("🇩🇪", "DE");
        shows("❤\u{fe0f}", "❤");
        shows("1\u{fe0f}\u{20e3}", "1");
        assert_eq!(width("👨\u{200d}👩\u{200d}👧"), 6);
    }

    #[test]
    fn marks_stay_on_their_letter_but_do_not_pile_up() {
        shows("e\u{301}", "e\u{301}");
        shows("\u{301}", "◌\u{301}");
        shows("z\u{300}\u{301}\u{302}\u{303}", "z\u{300}\u{301}");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(visible("树莓派 ninja -C build · ok"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_wide_character_is_never_cut_in_half() {
        assert_eq!(cut("树莓派", 6), ("树莓派".to_owned(), 6));
        assert_eq!(cut("树莓派", 5), ("树莓…".to_owned(), 5));
        assert_eq!(cut("树莓派", 4), ("树…".to_owned(), 3));
        assert_eq!(pad("树莓派", 4), "树… ");
    }

    #[test]
    fn lines_break_at_blanks_and_long_words_at_the_edge() {
        assert_eq!(
            wrap("the first and last 1\u{a0}500 chars", 12),
            ["the first", "and last", "1\u{a0}500 chars"]
        );
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\nb", 4), ["a", "b"]);
        assert_eq!(wrap("", 4), [""]);
    }

    fn is_safe(character: char) -> bool {
        let bidi = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !character.is_control() && !bidi
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_comes_through(text in "\\PC*|[\\x00-\\x9f\u{2000}-\u{206f}\u{1f1e6}-\u{1f3ff}\u{200d}\u{fe0f}a-z]{0,40}|.*") {
            let shown = visible(&text).into_owned();
            prop_assert!(shown.chars().all(is_safe), "{shown:?}");
            prop_assert_eq!(visible(&shown), shown.as_str());
        }

        #[test]
        fn what_was_cut_fits(text in ".*", columns in 0_usize..40) {
            let (shown, used) = cut(&text, columns);
            prop_assert!(used <= columns);
            prop_assert_eq!(width(&shown), used);
            prop_assert_eq!(width(&pad(&text, columns)), columns);
        }

        #[test]
        fn wrapped_lines_fit(text in ".*", columns in 2_usize..40) {
            prop_assert!(wrap(&text, columns).iter().all(|line| width(line) <= columns));
        }
    }
}
