//! Facts of a text that can be found again in another one: paths, ids, numbers, dates, errors, and the sentences that set a
//! limit or take a decision. Found only by their form, in any language that `cues` knows; nothing is inferred.

mod cues;
mod kinds;
mod sentences;
#[cfg(test)]
mod tests;
mod words;

pub use sentences::{
    AwaitedSentences, Fact, FactKind, MAX_FACT_BYTES, SentenceIndex, SentenceWords, TextHash, sentence_words,
    text_hash,
};

use kinds::{Word, classify, is_telling};

/// Returns the paths, ids, numbers, dates and errors of a text, in its order; repetitions included.
pub fn facts(text: &str) -> Vec<Fact<'_>> {
    let mut found = unnamed_facts(text);
    for fact in found.iter_mut().filter(|fact| !fact.kind.is_sentence()) {
        fact.name = words::name_before(text, fact.text);
    }
    found
}

/// Returns the same without the names before them, which take longer to find than the facts.
pub fn unnamed_facts(text: &str) -> Vec<Fact<'_>> {
    let mut found = Vec::new();
    let words: Vec<&str> = words::words(text).collect();
    let mut at = 0;
    while at < words.len() {
        if !is_telling(words[at]) {
            at += 1;
            continue;
        }
        let (taken, word) = words::join(text, &words[at..]);
        if let Some(Word { kind, text: own, key }) = classify(word, text) {
            found.push(Fact { kind, text: own, key, name: None });
        }
        at += taken;
    }
    found.extend(sentences::errors(text));
    found
}

/// Returns the sentences that set a limit.
pub fn constraints(text: &str) -> Vec<Fact<'_>> {
    sentences::with_cues(text, FactKind::Constraint)
}

/// Returns the sentences that take a decision.
pub fn decisions(text: &str) -> Vec<Fact<'_>> {
    sentences::with_cues(text, FactKind::Decision)
}
