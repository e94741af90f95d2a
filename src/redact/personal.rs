//! Finds personal data: e-mail addresses, phone numbers, and the numbers of cards and bank accounts by their check digits.

use std::sync::LazyLock;

use regex::Regex;

use super::detection::DetectedSecret;
use super::lines::original_ranges;
use super::view::View;

/// A kind of personal data: its form, and whether a match of it is one.
struct Kind {
    name: &'static str,
    form: LazyLock<Regex>,
    is_one: fn(&str) -> bool,
}

#[expect(clippy::unwrap_used, reason = "patterns that a test compiles")]
static KINDS: [Kind; 4] = [
    Kind {
        name: "email",
        form: LazyLock::new(|| Regex::new(r"[\p{L}\p{N}._%+-]+@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}").unwrap()),
        is_one: |text| !text.starts_with("git@"),
    },
    Kind {
        name: "iban",
        form: LazyLock::new(|| {
            Regex::new(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b").unwrap()
        }),
        is_one: is_iban,
    },
    Kind {
        name: "card",
        form: LazyLock::new(|| Regex::new(r"\b[3-6]\d{3}(?:[ -]?\d){9,15}\b").unwrap()),
        is_one: is_card,
    },
    Kind {
        name: "phone",
        form: LazyLock::new(|| {
            Regex::new(
                r"\+\d{1,3}[ ./-]?(?:\(\d{1,4}\)[ ./-]?)?\d(?:[ ./-]?\d){6,12}\b|\(\d{3}\) ?\d{3}[-.]\d{4}\b|\b0\d{2,4}[ /-]\d{6,8}\b",
            )
            .unwrap()
        }),
        is_one: |_| true,
    },
];

/// Finds the personal data in a text and in its other readings, in order and without overlap.
pub(super) fn detect_personal(text: &str, views: &[View]) -> Vec<DetectedSecret> {
    let mut found: Vec<DetectedSecret> = matches(text)
        .map(|(from, to, kind)| DetectedSecret { from, to, kind, secret: text[from..to].to_owned() })
        .collect();
    for (at, view) in views.iter().enumerate().filter(|(_, view)| !view.is_joined) {
        for (from, to, kind) in matches(&view.text) {
            let secret = view.text[from..to].to_owned();
            let ranges = original_ranges(views, at, from, to).into_iter();
            found.extend(ranges.map(|(from, to)| DetectedSecret { from, to, kind, secret: secret.clone() }));
        }
    }
    found.sort_by_key(|one| (one.from, std::cmp::Reverse(one.to)));
    let mut end = 0;
    found.retain(|one| {
        let is_free = one.from >= end;
        end = end.max(one.to);
        is_free
    });
    found
}

fn matches(text: &str) -> impl Iterator<Item = (usize, usize, &'static str)> {
    KINDS.iter().flat_map(move |kind| {
        let found = kind.form.find_iter(text).filter(|found| (kind.is_one)(found.as_str()));
        found.map(|found| (found.start(), found.end(), kind.name))
    })
}

/// By the check sum of Luhn.
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|char| char.to_digit(10)).collect();
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| if at % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != digits[0])
}

/// By the remainder of 97.
fn is_iban(text: &str) -> bool {
    let plain: String = text.chars().filter(|char| !char.is_whitespace()).collect();
    let Some((head, body)) = plain.split_at_checked(4).filter(|_| (15..=34).contains(&plain.len())) else {
        return false;
    };
    let numbers = body.chars().chain(head.chars()).filter_map(|char| char.to_digit(36));
    let rest = numbers.fold(0, |rest, number| (rest * if number > 9 { 100 } else { 10 } + number) % 97);
    rest == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::lines::views;

    fn kinds(text: &str) -> Vec<&'static str> {
        detect_personal(text, &views(text)).into_iter().map(|one| one.kind).collect()
    }

    #[test]
    fn addresses_and_numbers_are_found_in_any_reading() {
        for (text, kind) in [
            ("write to mei.lin@example.org, please", "email"),
            ("jörg@bücher.example", "email"),
            (r#"{\"to\":\"a\u0040b.example.com\"}"#, "email"),
            ("mailto:a%40b.example.com?x", "email"),
            ("IBAN DE89 3704 0044 0532 0130 00", "iban"),
            ("GB82WEST12345698765432", "iban"),
            ("card 4111 1111 1111 1111 until", "card"),
            ("378282246310005", "card"),
            ("call +49 30 901820 or", "phone"),
            ("+1 (415) 555-0132", "phone"),
            ("(415) 555-0132", "phone"),
            ("Tel. 0171 2345678", "phone"),
        ] {
            assert_eq!(kinds(text), [kind], "{text}");
        }
    }

    #[test]
    fn ids_times_and_counts_are_not_personal_data() {
        for text in [
            "git@github.com:a/b.git",
            "203,412 of 200,000 tokens at 2026-03-05T14:02:12Z",
            "1772716146674",
            "4111 1111 1111 1112",
            "DE88 3704 0044 0532 0130 00",
            "c7190160-2dee-4784-afa7-195b2cd1d7a0",
            "@types/node@20.1.0 and x@latest",
            "10.0.0.1:8080 1+2345678",
        ] {
            assert_eq!(kinds(text), [] as [&str; 0], "{text}");
        }
    }
}
