//! The identifiers of a text: paths, ids, long numbers and error lines. They are rare enough that a later use of one points
//! back to its source.

use crate::report::facts::{Fact, FactKind, TextHash, text_hash, unnamed_facts};

/// The shortest path and the shortest id, in bytes.
const MIN_NAME_BYTES: usize = 7;
/// The shortest number, in digits: shorter ones occur by chance.
const MIN_DIGITS: usize = 5;

/// Returns the identifiers of a text, each once: digest and text.
pub(super) fn identifiers(text: &str) -> Vec<(TextHash, &str)> {
    let rare = |fact: &Fact<'_>| match fact.kind {
        FactKind::Path | FactKind::Id => fact.key.len() >= MIN_NAME_BYTES,
        FactKind::Number => {
            fact.key.len() >= MIN_DIGITS && fact.key.bytes().all(|byte| byte.is_ascii_digit())
        }
        FactKind::Error => true,
        FactKind::Date | FactKind::Constraint | FactKind::Decision => false,
    };
    let mut found: Vec<(TextHash, &str)> = unnamed_facts(text)
        .iter()
        .filter(|fact| rare(fact))
        .map(|fact| (text_hash(&fact.key), fact.text))
        .collect();
    found.sort_unstable_by_key(|(hash, _)| *hash);
    found.dedup_by_key(|(hash, _)| *hash);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_ids_numbers_and_error_lines_are_identifiers_and_words_are_not() {
        let text = "see src/main.rs, commit 4fa91c2d and 48213 rows.\nerror[E0308]: mismatched types here\nplain words only, 2026-11-19 12";
        let mut found: Vec<&str> = identifiers(text).into_iter().map(|(_, text)| text).collect();
        found.sort_unstable();
        assert_eq!(found, ["48213", "4fa91c2d", "error[E0308]: mismatched types here", "src/main.rs"]);
        assert!(identifiers("and/or a1 1234 either").is_empty());
    }

    #[test]
    fn one_identifier_has_one_digest_however_it_is_written() {
        let of = |text: &str| identifiers(text)[0].0;
        assert_eq!(of(r"in .\src\main.rs"), of("src/main.rs:12"));
        assert_eq!(of("48,213 rows"), of("48213"));
        assert_ne!(of("48,213 rows"), of("48214"));
    }
}
