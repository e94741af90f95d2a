//! Makes text safe for the screen; no other code draws text from outside. Transcripts, paths and settings may contain
//! anything: escape sequences, direction overrides, characters without a width. Here they become visible, and every
//! cluster gets a width on which terminals agree. For example, an escape character becomes `␛`.

pub mod sgr;
pub mod shell;

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const ELLIPSIS: &str = "…";

/// Columns between tab stops.
const TAB_STOP: usize = 4;

/// Makes everything visible that a terminal would execute, hide, or draw in an unknown width. Applying it twice
/// changes nothing.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut columns = 0;
    for cluster in text.graphemes(true) {
        let from = out.len();
        if cluster == "\t" {
            out.extend(std::iter::repeat_n(' ', TAB_STOP - columns % TAB_STOP));
        } else {
            push_cluster(cluster, &mut out);
        }
        columns += measure(&out[from..]);
    }
    Cow::Owned(out)
}

/// Columns of the text after [`visible`].
pub fn width(text: &str) -> usize {
    measure(&visible(text))
}

/// Truncates the visible text to at most `columns`, at a cell boundary and with `…`; returns it and its columns.
pub fn truncate(text: &str, columns: usize) -> (String, usize) {
    let text = visible(text);
    let whole = measure(&text);
    if whole <= columns {
        return (text.into_owned(), whole);
    }
    if columns == 0 {
        return (String::new(), 0);
    }
    let (mut out, mut used) = fitting_prefix(&text, columns - 1);
    out.push_str(ELLIPSIS);
    used += 1;
    (out, used)
}

/// Truncates the visible text to at most `columns` by replacing its middle with `…`: keys and names differ at their ends.
pub fn truncate_middle(text: &str, columns: usize) -> String {
    let text = visible(text);
    if measure(&text) <= columns || columns == 0 {
        return truncate(&text, columns).0;
    }
    let tail = fitting_suffix(&text, (columns - 1) / 2);
    let (mut out, _) = fitting_prefix(&text, columns - 1 - measure(tail));
    out.extend([ELLIPSIS, tail]);
    out
}

/// Returns the byte offset in visible text at which `columns` columns have passed; a wide character across the border
/// is passed too.
pub fn skip_columns(visible: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, cluster) in visible.grapheme_indices(true) {
        if used >= columns {
            return at;
        }
        used += measure(cluster);
    }
    visible.len()
}

/// Returns the start of the character before a byte offset, as a person counts characters.
pub fn grapheme_before(text: &str, at: usize) -> usize {
    text[..at].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
}

/// Returns the end of the character after a byte offset, as a person counts characters.
pub fn grapheme_after(text: &str, at: usize) -> usize {
    text[at..].graphemes(true).next().map_or(text.len(), |cluster| at + cluster.len())
}

/// Fits the visible text into exactly `columns`: truncates it, or appends blanks.
pub fn pad(text: &str, columns: usize) -> String {
    let (mut out, used) = truncate(text, columns);
    out.extend(std::iter::repeat_n(' ', columns - used));
    out
}

/// Wraps the visible text into lines of at most `columns` (at least 2), at blanks if possible. Keeps the text's own
/// line ends; does not break at a no-break space. Returns at least one line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    text.split('\n').flat_map(|line| wrap_line(line.trim_end_matches('\r'), columns)).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let line = visible(line);
    let mut lines = Vec::new();
    let mut rest: &str = &line;
    loop {
        // Measures only the head, because a line may be as long as a transcript.
        let fits = fitting_prefix(rest, columns).0;
        if fits.len() == rest.len() {
            break;
        }
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

/// Columns of text that is already visible: the sum over its clusters, as a buffer of cells counts.
fn measure(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(UnicodeWidthStr::width).sum() }
}

/// The whole clusters that fit, and their columns.
fn fitting_prefix(text: &str, columns: usize) -> (String, usize) {
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

/// The whole clusters at the end that fit.
fn fitting_suffix(text: &str, columns: usize) -> &str {
    let mut start = text.len();
    let mut used = 0;
    for (at, cluster) in text.grapheme_indices(true).rev() {
        used += measure(cluster);
        if used > columns {
            break;
        }
        start = at;
    }
    &text[start..]
}

// Converts one grapheme cluster to text that every terminal draws, and in the same width.

/// Maximum marks on one base character; more would cover the rows above.
const MAX_MARKS: usize = 2;

/// Whether every terminal draws the character in the same way, in any context.
fn is_plain(character: char) -> bool {
    match character {
        '\u{a0}'..='\u{2ff}' => character != '\u{ad}',
        ' '..='~' | '\u{2010}'..='\u{2027}' | '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{259f}'
        // Kana, ideographs and Hangul syllables take two cells everywhere.
        | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff60}' => true,
        _ => false,
    }
}

/// Appends a cluster, reduced to characters with a width on which terminals agree: separates emoji joined by
/// zero-width joiners, removes skin tones and presentation selectors, and turns flags into letters.
fn push_cluster(cluster: &str, out: &mut String) {
    let mut has_base = false;
    let mut marks = 0;
    let joined = cluster.chars().any(is_pictograph);
    for character in cluster.chars() {
        match classify(character) {
            CharClass::Selector | CharClass::Tone if has_base => {}
            CharClass::Joiner if joined => {}
            CharClass::Mark if has_base && marks >= MAX_MARKS => {}
            CharClass::Mark if has_base => {
                out.push(character);
                marks += 1;
            }
            // A written code point is not a base: a later mark in the cluster would not attach to it.
            CharClass::Mark => (has_base, marks) = (push_lone_mark(character, out), 1),
            CharClass::Regional(letter) => {
                out.push(letter);
                has_base = true;
            }
            CharClass::Blank => out.push(' '),
            CharClass::Hidden | CharClass::Selector | CharClass::Joiner | CharClass::Tone => {
                push_code_point(character, out);
            }
            CharClass::Base => {
                out.push(character);
                (has_base, marks) = (true, 0);
            }
        }
    }
}

/// Puts a mark without a base on a circle; writes its code point if it does not attach to that either. Returns
/// whether there is a base now.
fn push_lone_mark(character: char, out: &mut String) -> bool {
    let circled = String::from_iter(['◌', character]);
    let attaches = circled.graphemes(true).count() == 1;
    if attaches {
        out.push_str(&circled);
    } else {
        push_code_point(character, out);
    }
    attaches
}

/// The effect of a character on the cells around it.
enum CharClass {
    Base,
    /// Attaches to the character before it.
    Mark,
    Joiner,
    /// Selects text or emoji presentation, or encloses a key.
    Selector,
    Tone,
    /// Half of a flag, as its letter.
    Regional(char),
    /// A blank of another width.
    Blank,
    /// A terminal would execute or hide it, or draw it in an unknown width.
    Hidden,
}

fn classify(character: char) -> CharClass {
    match character {
        '\u{200d}' => CharClass::Joiner,
        '\u{fe00}'..='\u{fe0f}' | '\u{20e3}' => CharClass::Selector,
        '\u{1f3fb}'..='\u{1f3ff}' => CharClass::Tone,
        '\u{1f1e6}'..='\u{1f1ff}' => {
            let letter = (character as u32 - 0x1f1e6) as u8 + b'A';
            CharClass::Regional(char::from(letter))
        }
        '\u{a0}' => CharClass::Base,
        '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => CharClass::Blank,
        _ if is_hidden(character) => CharClass::Hidden,
        _ => match character.width() {
            None => CharClass::Hidden,
            Some(0) => CharClass::Mark,
            Some(_) => CharClass::Base,
        },
    }
}

/// Controls, direction marks, format characters, fillers, private use and unassigned code points.
fn is_hidden(character: char) -> bool {
    let filler = matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}'
    );
    let selector = matches!(character, '\u{180b}'..='\u{180f}' | '\u{e0100}'..='\u{e01ef}');
    character.is_control() || filler || selector || !is_printable(character)
}

/// The standard library knows the printable characters: it escapes all others.
fn is_printable(character: char) -> bool {
    // A combining mark after a letter is not escaped.
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

/// Appends a picture for an ASCII control character, the code point for any other.
fn push_code_point(character: char, out: &mut String) {
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
    fn escape_sequences_are_shown_and_never_executed() {
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
    fn emoji_are_reduced_to_a_form_with_the_same_width_everywhere() {
        shows("👨\u{200d}👩\u{200d}👧", "👨👩👧");
        shows("👍🏽!", "👍!");
        shows("🇩🇪", "DE");
        shows("❤\u{fe0f}", "❤");
        shows("1\u{fe0f}\u{20e3}", "1");
        assert_eq!(width("👨\u{200d}👩\u{200d}👧"), 6);
    }

    #[test]
    fn combining_marks_keep_their_letter_but_do_not_pile_up() {
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
        assert_eq!(truncate("树莓派", 6), ("树莓派".to_owned(), 6));
        assert_eq!(truncate("树莓派", 5), ("树莓…".to_owned(), 5));
        assert_eq!(truncate("树莓派", 4), ("树…".to_owned(), 3));
        assert_eq!(pad("树莓派", 4), "树… ");
    }

    #[test]
    fn the_middle_of_a_name_is_cut() {
        let name = |columns| truncate_middle("telegram:group:-100123", columns);
        assert_eq!([22, 21, 9].map(name), ["telegram:group:-100123", "telegram:g…up:-100123", "tele…0123"]);
        assert_eq!([2, 1, 0].map(name), ["t…", "…", ""]);
        assert_eq!([7, 6].map(|columns| truncate_middle("飞书周报助手", columns)), ["飞书…手", "飞…手"]);
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

    #[test]
    fn a_line_of_a_megabyte_is_wrapped_in_one_pass() {
        let began = std::time::Instant::now();
        let lines = wrap(&"é".repeat(500_000), 10);
        assert_eq!(lines.len(), 50_000);
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }

    fn is_safe(character: char) -> bool {
        let bidi = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !character.is_control() && !bidi
    }

    #[test]
    fn characters_that_would_join_across_escapes_are_escaped() {
        assert_eq!(visible("\u{11d46}\u{d7cb}"), "⟨11D46⟩⟨D7CB⟩");
    }

    proptest! {
        #[test]
        fn visible_text_has_no_control_sequences(text in "\\PC*|[\\x00-\\x9f\u{2000}-\u{206f}\u{1f1e6}-\u{1f3ff}\u{200d}\u{fe0f}a-z]{0,40}|.*") {
            let shown = visible(&text).into_owned();
            prop_assert!(shown.chars().all(is_safe), "{shown:?}");
            prop_assert_eq!(visible(&shown), shown.as_str());
        }

        #[test]
        fn truncated_text_fits(text in ".*", columns in 0_usize..40) {
            let (shown, used) = truncate(&text, columns);
            prop_assert!(used <= columns);
            prop_assert_eq!(width(&shown), used);
            prop_assert_eq!(width(&pad(&text, columns)), columns);
            prop_assert!(width(&truncate_middle(&text, columns)) <= columns);
        }

        #[test]
        fn wrapped_lines_fit(text in ".*", columns in 2_usize..40) {
            prop_assert!(wrap(&text, columns).iter().all(|line| width(line) <= columns));
        }
    }
}
