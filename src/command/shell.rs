//! Words of command lines that a person pastes into a shell.

/// Quotes a word for a POSIX shell.
pub(super) fn shell_quote(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:@%+=,".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_shell_are_quoted_only_where_it_matters() {
        assert_eq!(shell_quote("agent:main:main"), "agent:main:main");
        assert_eq!(shell_quote("a b"), "'a b'");
        assert_eq!(shell_quote("it's;rm"), r"'it'\''s;rm'");
    }
}
