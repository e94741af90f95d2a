//! Other readings of a text, each mapped to its place in the original: secrets are found in them and masked in the
//! original. Transcripts contain JSON in JSON, encoded parameters, colours, and lines that `grep -n` or a quote broke.
//!
//! For example, the view `a/b` of `a%2Fb` maps its byte 1 to byte 1 and its byte 2 to byte 4.

use super::escapes::decode;
use super::lines::{join_lines, join_strings, strip_prefixes};
use super::view::View;

/// Maximum levels of escapes: JSON in JSON in JSON, as a parameter.
const MAX_LEVELS: usize = 5;

/// The ranges of the original that a range of a view was made from.
pub(super) fn original_ranges(views: &[View], at: usize, from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut ranges = vec![(from, to)];
    let mut view = views.get(at);
    while let Some(current) = view {
        ranges = ranges.into_iter().flat_map(|(from, to)| current.parent_ranges(from, to)).collect();
        view = current.parent.and_then(|parent| views.get(parent));
    }
    ranges
}

/// Reads a text in every other way: decoded level by level, without the prefix of its lines, then with its broken lines and
/// strings joined. Returns nothing for a text that has only one reading.
pub(super) fn views(text: &str) -> Vec<View> {
    let mut views: Vec<View> = Vec::new();
    for _ in 0..MAX_LEVELS {
        if !add_reading(&mut views, text, decode) {
            break;
        }
    }
    add_reading(&mut views, text, strip_prefixes);
    let last = views.len().checked_sub(1);
    let plain = last.map_or(text, |at| views[at].text.as_str());
    let joined: Vec<View> =
        [join_lines(plain, last), join_strings(plain, last)].into_iter().flatten().collect();
    views.extend(joined);
    views
}

/// Adds a reading of the last view; `false` if it is no different.
fn add_reading(views: &mut Vec<View>, text: &str, read: fn(&str, Option<usize>) -> Option<View>) -> bool {
    let parent = views.len().checked_sub(1);
    let next = read(views.last().map_or(text, |view| &view.text), parent);
    views.extend(next);
    views.len() > parent.map_or(0, |parent| parent + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_level_by_level_with_the_original_position_of_every_byte() {
        let text = r#"a \\\"b\\\" é%20d%C3%A9 %zz \u0041"#;
        let views = views(text);
        let last = views.iter().rposition(|view| !view.is_joined).unwrap();
        assert_eq!(views[last].text, "a \"b\" é dé %zz A");
        for (at, view) in views.iter().enumerate() {
            for (from, char) in view.text.char_indices().filter(|(_, char)| "bé".contains(*char)) {
                let (start, end) = original_ranges(&views, at, from, from + char.len_utf8())[0];
                assert!(
                    text[start..end].contains(char) || &text[start..end] == "%C3%A9",
                    "{:?}",
                    &text[start..end]
                );
            }
        }
        let from = views[last].text.find('A').unwrap();
        let (start, end) = original_ranges(&views, last, from, from + 1)[0];
        assert_eq!(&text[start..end], r"\u0041");
    }

    #[test]
    fn a_plain_text_has_no_other_reading() {
        assert_eq!(views("100 % of C:/x, é\nnext line"), []);
        assert_eq!(views(r"\d+\s"), []);
    }

    #[test]
    fn disguises_are_undone() {
        for text in [
            "k\u{200b}ey-1\u{feff}2",
            "\u{1b}[31mkey\u{1b}[0m-12",
            r"\x1b[1mkey-12",
            "&#107;ey&#x2d;12",
            r"\153ey-12",
            r"\u{6b}ey-12",
            "ｋｅｙ-12",
            "key\u{2011}12",
            "%256bey-12",
        ] {
            assert!(views(text).iter().any(|view| view.text == "key-12"), "{text}: {:?}", views(text));
        }
    }

    #[test]
    fn blanks_of_forms_quotes_of_shells_and_signs_of_mails_are_undone() {
        for (text, plain) in [
            ("a+%3D+b", "a = b"),
            ("curl+-u+me", "curl -u me"),
            (r"sh -c 'a '\''b'\'''", "sh -c 'a 'b''"),
            ("x=3D=22y=22", "x=\"y\""),
        ] {
            assert!(views(text).iter().any(|view| view.text == plain), "{text}: {:?}", views(text));
        }
        for text in ["a + b", "x+y", "dGVz+dDEy/MzQ1+Njc4", "x=30", "it's"] {
            assert_eq!(views(text).iter().filter(|view| !view.is_joined).count(), 0, "{text}");
        }
    }

    #[test]
    fn digits_after_a_line_prefix_are_part_of_a_word() {
        for prefix in ["a/b.rs:12:", "> ", "# ", "| ", "2026-01-01T10:00:00.123Z ", "12-"] {
            let text = format!("{prefix}HRKU-1b0c7c78-4dfa-cd5b-\n{prefix}7099-2025cfe163c5\nend");
            let joined = "HRKU-1b0c7c78-4dfa-cd5b-7099-2025cfe163c5";
            assert!(views(&text).iter().any(|view| view.text.contains(joined)), "{text}: {:?}", views(&text));
        }
    }

    #[test]
    fn broken_words_are_joined_without_the_prefix_of_their_lines() {
        for text in [
            "sk-ant-api03-a1b2C3d4\nE5f6G7h8i9",
            "a.rs:10:sk-ant-api03-a1b2C3d4\na.rs:11:E5f6G7h8i9",
            "> sk-ant-api03-a1b2C3d4\n> E5f6G7h8i9",
            " * sk-ant-api03-a1b2C3d4\n * E5f6G7h8i9",
            "2026-01-01T10:00:00Z sk-ant-api03-a1b2C3d4\n2026-01-01T10:00:00Z E5f6G7h8i9",
            "x = \"sk-ant-api03-a1b2C3d4\" +\n  \"E5f6G7h8i9\"",
            "+sk-ant-api03-a1b2C3d4\n+E5f6G7h8i9",
            "sk-ant-api03-a1b2C3d4\\\nE5f6G7h8i9",
            "a.rs:9:sk-ant-api03-a1b2C\na.rs:10:3d4E5f6G7h8i9",
        ] {
            assert!(
                views(text).iter().any(|view| view.text.contains("sk-ant-api03-a1b2C3d4E5f6G7h8i9")),
                "{text}: {:?}",
                views(text)
            );
        }
    }
}
