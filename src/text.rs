//! Makes text safe for the screen; no other code draws text from outside. Transcripts, paths and settings may contain
//! anything: escape sequences, direction overrides, characters without a width. Here they become visible, and every
//! cluster gets a width on which terminals agree. For example, an escape character becomes `␛`.

mod cluster;
pub mod sgr;
pub mod shell;

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use cluster::{is_plain, push_cluster};

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
