//! Reads sizes from the text of a refusal whose words name no cause (releases R78).

use crate::policy::overflow::RefusalNumbers;
use crate::units::Tokens;

/// Smaller numbers are statuses, codes and counts of messages.
const MIN_TOKENS: u64 = 1_000;
/// Share by which the estimate of a prompt and the provider's count differ at most.
const MAX_DIFFERENCE: f64 = 0.1;
/// A limit is at least this share of the prompt that it refuses: a session grows call by call.
const MIN_LIMIT_SHARE: f64 = 0.25;
/// Characters that join a number to a date, a path, a version or an id.
const JOINS: &str = "-./:_%";

/// Returns the size of a refused prompt of about `prompt` tokens and the smaller one that is allowed, if a text states
/// both, in any language. Asks for the prompt only if the text has two numbers.
pub fn stated_sizes(text: &str, prompt: impl FnOnce() -> Option<Tokens>) -> Option<RefusalNumbers> {
    let numbers = whole_numbers(text);
    let prompt = (numbers.len() > 1).then(prompt)??;
    let is_near = |number: &u64| (*number as f64 / prompt.get() - 1.0).abs() <= MAX_DIFFERENCE;
    // A limit that the prompt just exceeds is near, too.
    let requested = numbers.iter().copied().filter(is_near).max()?;
    let least = (requested as f64 * MIN_LIMIT_SHARE) as u64;
    let limit = numbers.into_iter().filter(|number| (least..requested).contains(number)).max()?;
    Some(RefusalNumbers { requested: Some(requested), limit: Some(limit), input: None, output: None })
}

/// Returns the numbers of a text that stand alone, commas between thousands or not.
fn whole_numbers(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(|char: char| char.is_ascii_digit()).map(|at| rest + at) {
        let run = text[start..].find(|char: char| !char.is_ascii_digit() && char != ',');
        let end = run.map_or(text.len(), |at| start + at);
        let digits = text[start..end].trim_end_matches(',');
        if stands_alone(&text[..start], &text[start + digits.len()..]) {
            let groups: Vec<&str> = digits.split(',').collect();
            let is_grouped = groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3);
            let parts = if is_grouped {
                vec![groups.concat()]
            } else {
                groups.into_iter().map(str::to_owned).collect()
            };
            found.extend(parts.iter().filter_map(|part| part.parse::<u64>().ok()));
        }
        rest = end;
    }
    found.retain(|number| *number >= MIN_TOKENS);
    found
}

fn stands_alone(before: &str, behind: &str) -> bool {
    let joins = |char: char| char.is_ascii_alphanumeric() || JOINS.contains(char);
    let mut next = behind.chars();
    let goes_on = match next.next() {
        Some('%') => true,
        Some(char) if JOINS.contains(char) => next.next().is_some_and(|char| char.is_ascii_alphanumeric()),
        Some(char) => char.is_ascii_alphanumeric(),
        None => false,
    };
    !before.chars().next_back().is_some_and(joins) && !goes_on
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Option<(u64, u64)> {
        let numbers = stated_sizes(text, || Some(Tokens(6_100.0)))?;
        numbers.requested.zip(numbers.limit)
    }

    #[test]
    fn a_text_in_any_words_states_sizes_if_one_number_is_the_prompts_and_another_is_smaller() {
        assert_eq!(
            sizes("400 Input payload of 6150 units is above the plan's ceiling (5000)."),
            Some((6_150, 5_000))
        );
        assert_eq!(sizes("输入6,150超过5,000个单位"), Some((6_150, 5_000)));
        assert_eq!(sizes("Erlaubt sind 5000, gesendet wurden 6150."), Some((6_150, 5_000)));
        assert_eq!(sizes("limit=5000,size=6150"), Some((6_150, 5_000)));
        assert_eq!(sizes("6300 units, at most 6100"), Some((6_300, 6_100)), "both are near");
    }

    #[test]
    fn other_numbers_are_no_sizes() {
        for text in [
            "500 Internal server error",
            "Input payload of 9000 units is above the ceiling (5000).",
            "Input payload of 6150 units is above the ceiling.",
            "request 6150 was rejected at 2026-11-27T05:00:00Z",
            "request 6150 of shard-5000 failed in v5000.1",
            "Input payload of 6150 units is above the ceiling (1000).",
            "Reply of 6150 units, at most 8000",
        ] {
            assert_eq!(sizes(text), None, "{text}");
        }
    }
}
