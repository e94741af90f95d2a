//! Exported documents: no secret, and a page in which every text stays text.

use super::checks::{pages, secrets};
use super::for_each_seed;
use crate::support::generate::Dice;
use crate::support::secrets::{Sample, samples};

const WORDS: [&str; 12] = [
    "plain words",
    "漢字",
    "😀",
    "$ cargo test",
    "--flag",
    "path/to/file.rs:12:",
    "> quoted",
    "\u{1b}[31mred\u{1b}[0m",
    "| a | b |",
    "```",
    "2026-02-21T05:00:00Z",
    "error: x",
];
const SEPARATORS: [&str; 4] = [" ", "\n", "\n\n", "\t"];

#[test]
fn no_secret_survives_among_any_words() {
    // One is a secret only in a document that also contains the key of its line.
    let (samples, in_company): (Vec<Sample>, Vec<Sample>) =
        samples().into_iter().partition(|sample| secrets::is_known_alone(&sample.text, &sample.secret));
    assert_eq!(in_company.iter().map(|sample| sample.name).collect::<Vec<_>>(), ["private key by a line"]);
    for_each_seed(250, |dice| {
        let sample = &samples[dice.below(samples.len())];
        let mut text = String::new();
        for part in 0..3 {
            for _ in 0..dice.below(6) {
                text += dice.one_of(&WORDS);
                text += dice.one_of(&SEPARATORS);
            }
            if part < 2 {
                text += &sample.text;
                text += dice.one_of(&["\n", "\n\n"]);
            }
        }
        secrets::secret_stays_hidden(sample.name, &sample.secret, &text);
    });
}

const HOSTILE: [&str; 22] = [
    "<script>alert(1)</script>",
    "</script>",
    "</style>",
    "</title>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "\"",
    "'",
    ">",
    "<",
    "&lt;",
    "&#x3c;img&#62;",
    "<img src=x onerror=alert(1)>",
    "\" onload=\"x",
    "javascript:x",
    "\0",
    "\u{feff}",
    "\u{2028}",
    "<svg/onload=x>",
    "</textarea><base href=//x>",
];

fn hostile(dice: &mut Dice) -> String {
    (0..=dice.below(5)).map(|_| if dice.once_in(4) { "word " } else { dice.one_of(&HOSTILE) }).collect()
}

#[test]
fn an_element_or_attribute_that_a_text_brings_is_noticed() {
    for text in HOSTILE.into_iter().filter(|text| text.contains('=') && text.contains('<')) {
        let seen = pages::read(&format!("<p>{text}</p>"));
        assert!(!seen.faults.borrow().is_empty(), "{text}");
    }
    assert!(!pages::read("<p title=\"\" onload=\"x\">").faults.borrow().is_empty());
    assert!(!pages::read("<a href=\"javascript:x\">").faults.borrow().is_empty());
    assert_eq!(pages::read("<script>a</script><script>b</script>").scripts.get(), 2);
}

#[test]
fn a_page_of_any_texts_has_only_the_programs_elements() {
    for_each_seed(25, |dice| pages::page_of_words_is_harmless(|| hostile(dice)));
}
