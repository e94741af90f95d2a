//! The excess that some refusals state instead of a size and a limit: "exceeded max context length by 7,701 tokens"
//! (overflow-texts T21).

/// Words that precede an excess, and the words that the sentence must contain.
const VERBS: [&str; 4] = ["exceed", "over", "above", "too long"];

/// Returns the tokens by which a prompt exceeded the limit, if the text states them.
pub fn stated_excess(text: &str) -> Option<u64> {
    let lower = text.to_lowercase();
    lower.match_indices(" by ").find_map(|(at, by)| {
        let (before, after) = (&lower[..at], &lower[at + by.len()..]);
        let sentence = before.rsplit(['.', ';', '"', '\n']).next().unwrap_or(before);
        let (number, rest) = leading_number(after)?;
        let unit = rest.trim_start().starts_with("token");
        (unit && VERBS.iter().any(|verb| sentence.contains(verb))).then_some(number)
    })
}

/// Splits a number with any grouping from the text after it.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start_matches(['~', '≈', ' ']);
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '_'))).unwrap_or(text.len());
    let digits: String = text[..end].chars().filter(char::is_ascii_digit).collect();
    Some((digits.parse().ok().filter(|number| *number > 0)?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::stated_excess;

    #[test]
    fn an_excess_is_a_number_of_tokens_after_words_of_excess() {
        let refusal =
            r#"400 {"error":"prompt too long; exceeded max context length by 7701 tokens (ref: 03e0)"}"#;
        assert_eq!(stated_excess(refusal), Some(7_701));
        assert_eq!(stated_excess("input exceeds the context window by 12,345 tokens"), Some(12_345));
        assert_eq!(stated_excess("Prompt is over the limit by ~900 tokens"), Some(900));
    }

    #[test]
    fn other_numbers_are_no_excess() {
        for text in [
            "prompt is too long: 205000 tokens > 200000 maximum",
            "the request was rejected by 3 tokens of the filter",
            "exceeds the size limit by 12 MB",
            "rate limit exceeded. Retry by 12 tokens",
            "exceeded by many tokens",
        ] {
            assert_eq!(stated_excess(text), None, "{text}");
        }
    }
}
