//! Output of a command that ran on another machine. It keeps colours; everything else that a terminal executes becomes
//! visible.

use super::visible;

const COLOUR_START: &str = "\x1b[";

/// Makes a line safe for the terminal, except for colours.
pub fn relayed_line(line: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find(COLOUR_START) {
        let (before, code) = rest.split_at(at);
        let end = COLOUR_START.len() + code[COLOUR_START.len()..].find(is_end).unwrap_or(code.len());
        // Without a colour, the start is text like any other.
        let (is_colour, split) = match code.as_bytes().get(end) {
            Some(b'm') => (true, end + 1),
            _ => (false, COLOUR_START.len().min(code.len())),
        };
        let (code, after) = code.split_at(split);
        out.push_str(&visible(before));
        if is_colour {
            out.push_str(code);
        } else {
            out.push_str(&visible(code));
        }
        rest = after;
    }
    out.push_str(&visible(rest));
    out
}

fn is_end(char: char) -> bool {
    !char.is_ascii_digit() && char != ';'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_are_kept_and_no_other_sequence_reaches_the_terminal() {
        assert_eq!(relayed_line("a \x1b[38;5;8mdim\x1b[39m b"), "a \x1b[38;5;8mdim\x1b[39m b");
        assert_eq!(relayed_line("\x1b[2J\x1b]0;t\x07\x1b[31"), "␛[2J␛]0;t␇␛[31");
        assert_eq!(relayed_line("\x1b[\x1b[1mx\u{9b}2J"), "␛[\x1b[1mx⟨009B⟩2J");
    }

    proptest! {
        #[test]
        fn every_escape_character_begins_a_colour(text in "(\\x1b|\\[|[0-9;m]|.|[\\x00-\\x9f]){0,40}") {
            let text = text.replace('\n', "");
            let shown = relayed_line(&text);
            for (at, _) in shown.match_indices('\x1b') {
                let rest = shown[at..].strip_prefix(COLOUR_START).unwrap_or_default();
                prop_assert_eq!(rest.find(is_end).and_then(|end| rest[end..].chars().next()), Some('m'));
            }
            prop_assert!(!shown.replace('\x1b', "").contains(char::is_control), "{shown:?}");
        }
    }
}
