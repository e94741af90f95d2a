//! The table of tokens that their own form reveals, `assets/redact/tokens.tsv`.

/// One kind of token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub kind: &'static str,
    pub pattern: &'static str,
    /// Whether a match must look random, because its first letters also occur in words.
    pub needs_random: bool,
    /// The form of a made-up token.
    #[cfg(test)]
    pub sample: &'static str,
}

const TABLE: &str = include_str!("../../assets/redact/tokens.tsv");

/// Reads the table; a test checks that each of its lines is a token.
pub(super) fn tokens() -> impl Iterator<Item = Token> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut cells = line.split('\t');
        let (kind, pattern) = (cells.next()?, cells.next()?);
        let needs_random = pattern.starts_with('~');
        Some(Token {
            kind,
            pattern: pattern.trim_start_matches('~'),
            needs_random,
            #[cfg(test)]
            sample: cells.next()?,
        })
    })
}
