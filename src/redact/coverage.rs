//! Every rule finds the secret in its samples and nothing in its clean texts, and every kind of token is found.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;

use super::compiled::{COMPILED, ascii_pattern};
use super::corpus::Random;
use super::detection::detect;
use super::lines::views;
use super::proof::{is_placeholder, placeholder_len};
use super::rules::{NAMES, rules};
use super::tokens::tokens;

#[test]
fn every_file_is_read_whole() {
    assert!(rules().len() > 120 && tokens().count() > 500, "{} {}", rules().len(), tokens().count());
    assert!(is_placeholder("password") && !NAMES.keys.ends.is_empty());
    for rule in rules() {
        assert!(!rule.samples.is_empty() && !rule.letters.is_empty(), "{}", rule.pattern);
        let unread = rule.letters.iter().any(|letters| letters.starts_with('{'));
        assert!(!unread && !rule.pattern.contains("{secret"), "{:?} {}", rule.letters, rule.pattern);
    }
}

#[test]
fn every_rule_finds_its_samples_and_leaves_its_clean_texts() {
    let (mut random, first) = (Random(0x5eed), tokens().count());
    for (at, rule) in rules().iter().enumerate() {
        for sample in &rule.samples {
            let (text, secret) = random.fill(sample);
            let hits = COMPILED.hits_of(first + at, &text);
            let is_found = hits.iter().any(|hit| text[hit.from..hit.to].contains(&secret));
            assert!(is_found, "{sample}\n{text}\n{hits:?}\n{}", rule.pattern);
            let lower = text.to_ascii_lowercase();
            let has_letters =
                rule.letters.iter().any(|letters| lower.contains(&letters.to_ascii_lowercase()));
            assert!(has_letters, "{text}: {:?}", rule.letters);
        }
        for text in &rule.clean {
            assert_eq!(COMPILED.hits_of(first + at, text), [], "{text}\n{}", rule.pattern);
        }
    }
}

#[test]
fn every_sample_is_masked_whole() {
    let mut random = Random(0xfeed);
    for sample in rules().iter().flat_map(|rule| &rule.samples) {
        let (text, secret) = random.fill(sample);
        let found = detect(&text, &views(&text));
        let start = text.find(&secret).unwrap();
        let is_covered = |at: usize| found.iter().any(|one| (one.from..one.to).contains(&at));
        assert!((start..start + secret.len()).all(is_covered), "{text}: {found:?}");
    }
}

#[test]
fn every_kind_of_token_is_found_by_its_own_form_and_named_by_a_valid_kind() {
    let mut runner = TestRunner::deterministic();
    for token in tokens() {
        assert!(placeholder_len(&format!("[redacted:{}]", token.kind)).is_some(), "{}", token.kind);
        if !token.sample.is_empty() {
            continue;
        }
        // The parts around a secret, and the ends of words, are no characters of it.
        let plain = token
            .pattern
            .replace("(?i)", "")
            .replace("(?i:", "(?:")
            .replace(r"\b", "")
            .replace("{end}", "")
            .replace("{near}", "_key: ");
        let made = string_regex(&ascii_pattern(
            &plain.replace("|$", "").replace(r"|\z", "").replace("(?:^|", "(?:").replace("(?:$|", "(?:"),
        ));
        let made = made.unwrap_or_else(|error| panic!("{}: {error}", token.pattern));
        let mut texts = (0..200).map(|_| made.new_tree(&mut runner).unwrap().current());
        let is_found = |text: String| {
            let text = format!("{} {text} ", token.letters.split('|').next().unwrap_or_default());
            COMPILED.find_hits(&text).iter().any(|hit| hit.to - hit.from >= 8)
        };
        let last = texts.next();
        assert!(texts.any(is_found), "{} {}: {last:?}", token.kind, token.pattern);
    }
}
