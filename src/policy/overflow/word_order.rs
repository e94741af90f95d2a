//! Word order in an error text, which the gateway and pi test with a regex.

/// Whether the parts occur in this order on one line; each part is any of its alternatives. Equals a regex with `.*`
/// between the parts, which never crosses a line end.
pub(super) fn contains_in_order(text: &str, parts: &[&[&str]]) -> bool {
    text.split(['\n', '\r', '\u{2028}', '\u{2029}']).any(|line| {
        let mut rest = Some(line);
        for alternatives in parts {
            rest = rest.and_then(|rest| after_any(rest, alternatives));
        }
        rest.is_some()
    })
}

/// Returns the text after the alternative that ends first.
fn after_any<'a>(text: &'a str, alternatives: &[&str]) -> Option<&'a str> {
    let ends = alternatives.iter().filter_map(|part| text.find(part).map(|at| at + part.len()));
    ends.min().map(|end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_on_one_line() {
        let parts: &[&[&str]] = &[&["input", "in"], &["token"], &["over", "limit"]];
        assert!(contains_in_order("in token limit", parts));
        assert!(!contains_in_order("limit token in", parts));
        assert!(
            !contains_in_order("in token\u{2028}limit", parts)
                && !contains_in_order("in\rtoken limit", parts)
        );
        assert!(contains_in_order("x\nin token over", parts));
    }
}
