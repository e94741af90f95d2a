//! The tables of tokens that their own form reveals, or the name of their issuer near them: `assets/redact/tokens.tsv` and
//! `betterleaks.tsv`.

/// One kind of token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub kind: &'static str,
    pub pattern: &'static str,
    /// Letters, in any case, without one of which the pattern cannot match; empty where it begins with its own.
    pub letters: &'static str,
    /// Whether a match must look random, because its first letters also occur in words.
    pub needs_random: bool,
    /// The form of a made-up token; empty where the pattern itself makes one.
    #[cfg(test)]
    pub sample: &'static str,
}

const TOKENS: &str = include_str!("../../assets/redact/tokens.tsv");
const BETTERLEAKS: &str = include_str!("../../assets/redact/betterleaks.tsv");

/// Reads the tables; a test checks that each of their lines is a token.
pub(super) fn tokens() -> impl Iterator<Item = Token> {
    let own = lines(TOKENS).filter_map(|line| {
        let mut cells = line.split('\t');
        Some(token(cells.next()?, "", cells.next()?, cells.next()?))
    });
    own.chain(lines(BETTERLEAKS).filter_map(|line| {
        let mut cells = line.split('\t');
        Some(token(cells.next()?, cells.next()?, cells.next()?, ""))
    }))
}

pub(super) fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.starts_with('#'))
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests make tokens"))]
fn token(kind: &'static str, letters: &'static str, pattern: &'static str, sample: &'static str) -> Token {
    let needs_random = pattern.starts_with('~');
    Token {
        kind,
        pattern: pattern.trim_start_matches('~'),
        letters,
        needs_random,
        #[cfg(test)]
        sample,
    }
}
