//! "Did you mean": the known name that is nearest to a mistyped one.

/// Similarity (Jaro-Winkler) below which a name is not a suggestion.
const MIN_SIMILARITY: f64 = 0.8;

/// Share of its letters that a mistyped name has right, unless it is the start of a name: `exit` is not `export`.
const MIN_SHARE_RIGHT: f64 = 0.6;

/// [`parts_similarity`] below which a session is not a suggestion.
pub(super) const MIN_PARTS_SIMILARITY: f64 = 0.7;

/// Returns the name that is nearest to `typed`, the first of several, if it is near enough to be meant.
pub(super) fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let similarity = |name: &str| strsim::jaro_winkler(&typed, &name.to_lowercase());
    let scored = names.into_iter().map(|name| (similarity(name), name));
    let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let is_meant = |name: &str| {
        let name = name.to_lowercase();
        name.starts_with(&typed) || strsim::normalized_damerau_levenshtein(&typed, &name) >= MIN_SHARE_RIGHT
    };
    best.filter(|(similarity, name)| *similarity >= MIN_SIMILARITY && is_meant(name)).map(|(_, name)| name)
}

/// Returns how well the parts of `typed` match some of these words, 0 to 1. Parts end at colons and spaces, and each
/// counts equally, so that a long part that is right does not outweigh a number that is wrong.
pub(super) fn parts_similarity<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> f64 {
    let words: Vec<String> = words.into_iter().map(str::to_lowercase).collect();
    let typed = typed.to_lowercase();
    let parts: Vec<&str> = typed.split([':', ' ']).filter(|part| !part.is_empty()).collect();
    let best = |part: &str| {
        let scores = words.iter().map(|word| strsim::normalized_damerau_levenshtein(part, word));
        scores.fold(0.0, f64::max)
    };
    parts.iter().map(|part| best(part)).sum::<f64>() / parts.len().max(1) as f64
}

/// Formats the suggestion as the end of a sentence: ` Did you mean explain?`, or nothing.
pub(super) fn did_you_mean<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, names).map(|name| format!(" Did you mean {name}?")).unwrap_or_default()
}

/// Joins words as `a, b or c`.
pub(super) fn alternatives<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_number_suggests_its_session() {
        let telegram = |number| ["agent", "main", "telegram", "direct", number];
        let [near, far] = ["8812", "9020"].map(|number| parts_similarity("telegram:8813", telegram(number)));
        assert!(near > 0.85 && far < 0.7, "{near} {far}");
        assert!(parts_similarity("slakc", ["agent", "main", "slack", "channel"]) > 0.7);
        assert!(parts_similarity("nope", ["agent", "research", "llvm-notes", "notes"]) < 0.7);
        assert!(parts_similarity("", ["agent"]) < 0.1);
    }

    #[test]
    fn only_a_similar_name_is_suggested() {
        let names = ["explain", "export", "sessions"];
        assert_eq!(nearest("explian", names), Some("explain"));
        assert_eq!(nearest("SESSION", names), Some("sessions"));
        assert_eq!(nearest("expl", names), Some("explain"));
        assert_eq!(nearest("exit", names), None);
        assert_eq!(nearest("zebra", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(did_you_mean("exprot", names), " Did you mean export?");
        assert_eq!(did_you_mean("zebra", names), "");
    }
}
