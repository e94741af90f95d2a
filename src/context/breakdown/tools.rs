//! What each tool takes of the messages: its calls and its results, apart.

use std::collections::HashMap;

use super::{Amount, IMAGE_TOKENS};
use crate::js;
use crate::store::entry::{Call, MessageSize};
use crate::store::intern::{WordIx, Words};

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// Its name; none where calls or results do not say.
    pub name: Option<String>,
    /// Its calls: names and arguments.
    pub calls: Amount,
    /// Its results.
    pub results: Amount,
    /// Images in its results.
    pub images: u64,
    /// What they count, tokens; part of the results.
    pub image_tokens: u64,
    /// Results marked as errors.
    pub errors: u64,
    /// The heaviest message with a call or result of it, by its index in the context.
    pub heaviest: usize,
}

impl ToolUse {
    /// Tokens of calls and results.
    pub fn tokens(&self) -> u64 {
        self.calls.tokens + self.results.tokens
    }
}

/// Tools while they are counted.
#[derive(Debug, Default)]
pub(super) struct Tools {
    at: HashMap<WordIx, usize>,
    found: Vec<(WordIx, ToolUse)>,
    heaviest: Vec<u64>,
}

impl Tools {
    pub(super) fn call(&mut self, call: &Call, tokens: u64, message: usize) {
        self.of(call.name, tokens, message).calls.add(u64::from(call.chars), tokens);
    }

    pub(super) fn result(&mut self, size: &MessageSize, tokens: u64, message: usize) {
        let tool = self.of(size.tool, tokens, message);
        let images = u64::from(size.images);
        tool.results.add(size.pi_chars.chars(), tokens);
        tool.images += images;
        tool.image_tokens += (images * IMAGE_TOKENS).min(tokens);
        tool.errors += u64::from(size.is_error);
    }

    /// The tool of a name, with a message of so many tokens of it noted.
    fn of(&mut self, name: WordIx, tokens: u64, message: usize) -> &mut ToolUse {
        let at = *self.at.entry(name).or_insert_with(|| {
            let tool = ToolUse {
                name: None,
                calls: Amount::default(),
                results: Amount::default(),
                images: 0,
                image_tokens: 0,
                errors: 0,
                heaviest: message,
            };
            self.found.push((name, tool));
            self.heaviest.push(tokens);
            self.found.len() - 1
        });
        let tool = &mut self.found[at].1;
        if tokens > self.heaviest[at] {
            (self.heaviest[at], tool.heaviest) = (tokens, message);
        }
        tool
    }

    /// The tools with their names.
    pub(super) fn named(self, words: &Words) -> Vec<ToolUse> {
        let name = |word| words.value(word).map(|name| js::to_text(Some(name)).to_string_lossy());
        self.found.into_iter().map(|(word, tool)| ToolUse { name: name(word), ..tool }).collect()
    }
}
