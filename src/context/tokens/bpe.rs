//! Counts tokens with the public byte-pair vocabularies of `OpenAI`'s models. For other models the count is an
//! approximation and marked as one. Each vocabulary is unpacked on first use.

use tiktoken::CoreBpe;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabulary {
    /// gpt-4o, gpt-4.1, gpt-5, the o-series and gpt-oss.
    O200k,
    /// gpt-4 and gpt-3.5.
    Cl100k,
}

impl Vocabulary {
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }
}

/// Prefixes of model ids with a known vocabulary; longer ones come before their own prefixes.
const FAMILIES: [(&str, Vocabulary); 14] = [
    ("gpt-4o", Vocabulary::O200k),
    ("gpt-4.1", Vocabulary::O200k),
    ("gpt-4.5", Vocabulary::O200k),
    ("gpt-4", Vocabulary::Cl100k),
    ("gpt-3.5", Vocabulary::Cl100k),
    ("gpt-35", Vocabulary::Cl100k),
    ("gpt-5", Vocabulary::O200k),
    ("gpt-oss", Vocabulary::O200k),
    ("chatgpt-4o", Vocabulary::O200k),
    ("chatgpt-5", Vocabulary::O200k),
    ("codex-mini", Vocabulary::O200k),
    ("o1", Vocabulary::O200k),
    ("o3", Vocabulary::O200k),
    ("o4", Vocabulary::O200k),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bpe {
    pub vocabulary: Vocabulary,
    /// The vocabulary is the model's own; otherwise counts are only approximate.
    pub is_exact: bool,
}

impl Bpe {
    /// Selects the tokenizer for a model id, with or without a provider prefix. Models of other makers get the newest
    /// vocabulary, which covers the most languages.
    pub fn for_model(model: &str) -> Self {
        let id = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let known = FAMILIES.iter().find(|(start, _)| is_of_family(&id, start));
        let vocabulary = known.map_or(Vocabulary::O200k, |(_, vocabulary)| *vocabulary);
        Self { vocabulary, is_exact: known.is_some() }
    }

    /// Counts the tokens of a text; special tokens are read as text.
    pub fn count(self, text: &str) -> u64 {
        tokenizer(self.vocabulary).map_or_else(|| text.len().div_ceil(4), |tokens| tokens.count(text)) as u64
    }
}

/// Whether an id belongs to a family: for `o1`, `o1-mini` does and `o10` does not.
fn is_of_family(id: &str, family: &str) -> bool {
    let rest = id.strip_prefix(family);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// Returns the tokenizer, shared by all threads. A test checks that both vocabularies exist.
fn tokenizer(vocabulary: Vocabulary) -> Option<&'static CoreBpe> {
    tiktoken::get_encoding(vocabulary.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vocabularies_count_as_published() {
        let count = |vocabulary, text| Bpe { vocabulary, is_exact: true }.count(text);
        for vocabulary in [Vocabulary::O200k, Vocabulary::Cl100k] {
            assert!(tokenizer(vocabulary).is_some());
            assert_eq!(count(vocabulary, "hello world"), 2);
            assert_eq!(count(vocabulary, ""), 0);
        }
        assert_eq!(count(Vocabulary::Cl100k, "tiktoken is great!"), 6);
        assert_eq!(count(Vocabulary::Cl100k, "お誕生日おめでとう"), 9);
        assert_eq!(count(Vocabulary::O200k, "お誕生日おめでとう"), 8);
    }

    #[test]
    fn special_tokens_in_a_transcript_are_text() {
        assert!(Bpe::for_model("gpt-5.2").count("<|endoftext|>") > 1);
    }

    #[test]
    fn the_start_of_the_id_selects_the_vocabulary_and_other_families_are_inexact() {
        let named = |model| {
            let bpe = Bpe::for_model(model);
            (bpe.vocabulary.name(), bpe.is_exact)
        };
        assert_eq!(named("gpt-5.2"), ("o200k_base", true));
        assert_eq!(named("openai/GPT-4o-mini"), ("o200k_base", true));
        assert_eq!(named("gpt-4-turbo"), ("cl100k_base", true));
        assert_eq!(named("o3-pro"), ("o200k_base", true));
        assert_eq!(named("o10"), ("o200k_base", false));
        assert_eq!(named("claude-opus-4-6"), ("o200k_base", false));
        assert_eq!(named("google/gemini-3-pro"), ("o200k_base", false));
        assert_eq!(named(""), ("o200k_base", false));
    }

    #[test]
    fn long_runs_of_one_character_are_counted_in_time() {
        let bpe = Bpe::for_model("gpt-5.2");
        assert!(bpe.count(&" ".repeat(300_000)) < 10_000);
        assert!(bpe.count(&"a".repeat(300_000)) < 100_000);
    }
}
