//! Words of command lines that a person pastes into a shell. A session key or a path may contain anything; pasted, it
//! is one word and executes nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Quotes a word for the shell of this system: a POSIX shell, or PowerShell on Windows.
pub fn word(text: &str) -> String {
    if cfg!(windows) { powershell_word(text) } else { posix_word(text) }
}

/// Returns the path as an argument that no program takes for an option or a command (`-x`, `+cmd`, `@list`).
pub fn file_argument(path: &str) -> Cow<'_, str> {
    let is_plain = |char: char| char.is_alphanumeric() || "/\\._~".contains(char);
    if path.starts_with(is_plain) { Cow::Borrowed(path) } else { Cow::Owned(format!("./{path}")) }
}

/// Replaces the characters that a terminal executes, so that a pasted text only types. Line ends and tabs stay.
pub fn pasteable(text: &str) -> Cow<'_, str> {
    let executes = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    if !text.contains(executes) {
        return Cow::Borrowed(text);
    }
    let shown = |char: char| match u32::from(char) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('␀'),
        0x7f => '␡',
        _ => '\u{fffd}',
    };
    let text = text.replace("\r\n", "\n");
    Cow::Owned(text.chars().map(|char| if executes(char) { shown(char) } else { char }).collect())
}

/// Whether a terminal or an editor of command lines acts on the character, or hides it.
fn is_unseen(char: char) -> bool {
    let hidden = matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    char.is_control() || hidden
}

/// Quotes a word for a POSIX shell.
pub fn posix_word(text: &str) -> String {
    // No program can receive a NUL in an argument.
    let text = text.replace('\0', "");
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:@%+,".contains(char);
    let quotes = !text.chars().all(|char| plain(char) || char == '=') || text.starts_with('=');
    if text.is_empty() || !text.contains(is_unseen) {
        let quoted = || format!("'{}'", text.replace('\'', r"'\''"));
        return if text.is_empty() || quotes { quoted() } else { text };
    }
    // A command substitution drops line ends, so those at the end are written as they are.
    let body = text.trim_end_matches('\n');
    let ends = &text[body.len()..];
    let ends = if ends.is_empty() { String::new() } else { format!("'{ends}'") };
    if body.is_empty() { ends } else { format!(r#""$(printf '{}')"{ends}"#, printf_format(body)) }
}

/// The format with which `printf` prints a text.
fn printf_format(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '%' => out.push_str("%%"),
            '\\' => out.push_str("\\134"),
            '\'' => out.push_str("\\047"),
            // Some printf take a format that begins with a dash for an option.
            '-' if out.is_empty() => out.push_str("\\055"),
            char if is_unseen(char) => {
                let mut bytes = [0; 4];
                for byte in char.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            char => out.push(char),
        }
    }
    out
}

/// PowerShell ends a word in single quotes at typographic ones too.
fn powershell_word(text: &str) -> String {
    let text = text.replace('\0', "");
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:\\".contains(char);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        return text;
    }
    if !text.contains(is_unseen) {
        let is_quote = |char: char| matches!(char, '\'' | '\u{2018}'..='\u{201b}');
        let doubled = |char| if is_quote(char) { vec![char, char] } else { vec![char] };
        return format!("'{}'", text.chars().flat_map(doubled).collect::<String>());
    }
    let letter = |char: char| match char {
        '`' | '$' | '"' | '\u{201c}'..='\u{201e}' => format!("`{char}"),
        char if is_unseen(char) => format!("$([char]{})", u32::from(char)),
        char => char.to_string(),
    };
    format!("\"{}\"", text.chars().map(letter).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that a shell, a terminal or `printf` would take for something else.
    const CRAFTED: [&str; 24] = [
        "agent:main:telegram:direct:7$(touch /tmp/x)",
        "a`id`b",
        "a;rm -rf ~",
        "it's",
        "''",
        "\\'; echo $HOME; '",
        "a\nb",
        "ends\n",
        "\n",
        "\u{1b}[201~; id\r",
        "%s%n%%",
        "-n",
        "--help\u{7}",
        "=cmd",
        "~root",
        "*?[a]{b,c}",
        "!!",
        "a b\tc",
        "é漢字🦀",
        "x\u{202e}txt.exe",
        "a\u{200b}b",
        "\"$(id)\"",
        "a\\012b\\",
        "#c & | < > ( )",
    ];

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_each_quoted_word_as_the_original() {
        for shell in ["sh", "bash"] {
            let line = CRAFTED.map(posix_word).join(" ");
            let script = format!("for word in {line}; do printf '%s\\0' \"$word\"; done");
            let made = std::process::Command::new(shell).args(["-c", &script]).output();
            let Ok(made) = made else { continue };
            let words = String::from_utf8(made.stdout).unwrap();
            assert_eq!(words.split_terminator('\0').collect::<Vec<_>>(), CRAFTED, "{shell}: {line}");
        }
    }

    #[test]
    fn a_quoted_word_has_no_control_or_invisible_characters() {
        for text in CRAFTED {
            for word in [posix_word(text), powershell_word(text)] {
                assert!(!word.trim_end_matches(['\'', '\n']).contains(is_unseen), "{word:?}");
            }
        }
    }

    #[test]
    fn words_are_quoted_only_if_needed() {
        assert_eq!(posix_word("agent:main:main"), "agent:main:main");
        assert_eq!(posix_word("a b"), "'a b'");
        assert_eq!(posix_word("it's;rm"), r"'it'\''s;rm'");
        assert_eq!(posix_word(""), "''");
        assert_eq!(posix_word("\u{1b}c"), r#""$(printf '\033c')""#);
        assert_eq!(powershell_word(r"C:\a\b.json"), r"C:\a\b.json");
        assert_eq!(powershell_word("it's $HOME"), "'it''s $HOME'");
        assert_eq!(powershell_word("a,b’c"), "'a,b’’c'");
        assert_eq!(powershell_word("\u{1b}$x"), "\"$([char]27)`$x\"");
    }

    #[test]
    fn a_pasted_text_has_no_control_characters() {
        assert_eq!(pasteable("a\r\n\tb"), "a\r\n\tb".replace('\r', ""));
        assert_eq!(pasteable("x\u{1b}[201~\u{7f}\u{9b}"), "x␛[201~␡\u{fffd}");
        assert!(matches!(pasteable("plain\n"), Cow::Borrowed(_)));
    }
}
