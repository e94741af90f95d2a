//! "Did you mean": the known name that is nearest to a mistyped one.

/// Similarity (Jaro-Winkler) below which a name is not a suggestion.
const MIN_SIMILARITY: f64 = 0.8;

/// Returns the name that is nearest to `typed`, the first of several, if it is near enough to be meant.
pub(super) fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let similarity = |name: &str| strsim::jaro_winkler(&typed, &name.to_lowercase());
    let scored = names.into_iter().map(|name| (similarity(name), name));
    let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY).map(|(_, name)| name)
}

/// Formats the suggestion as the end of a sentence: ` Did you mean explain?`, or nothing.
pub(super) fn did_you_mean<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, names).map(|name| format!(" Did you mean {name}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_similar_name_is_suggested() {
        let names = ["explain", "export", "sessions"];
        assert_eq!(nearest("explian", names), Some("explain"));
        assert_eq!(nearest("SESSION", names), Some("sessions"));
        assert_eq!(nearest("zebra", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(did_you_mean("exprot", names), " Did you mean export?");
        assert_eq!(did_you_mean("zebra", names), "");
    }
}
