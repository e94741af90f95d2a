//! Totals of each tool, calls and results separate.

use std::collections::HashMap;

use super::{IMAGE_TOKENS, Tally};
use crate::js;
use crate::store::entry::{MessageSize, ToolCall};
use crate::store::intern::{ValueIx, ValueTable};

#[derive(Debug, Clone, PartialEq)]
pub struct ToolTotals {
    /// `None` when calls and results name no tool.
    pub name: Option<String>,
    /// Calls: names and arguments.
    pub calls: Tally,
    pub results: Tally,
    pub images: u64,
    /// Tokens of the images, included in `results`.
    pub image_tokens: u64,
    /// Results marked as errors.
    pub errors: u64,
    /// Context index of the heaviest message with a call or result of this tool.
    pub heaviest: usize,
}

#[derive(Debug, Default)]
pub(super) struct ToolTotalsBuilder {
    positions: HashMap<ValueIx, usize>,
    totals: Vec<(ValueIx, ToolTotals)>,
    heaviest: Vec<u64>,
}

impl ToolTotalsBuilder {
    pub(super) fn add_call(&mut self, call: &ToolCall, tokens: u64, message: usize) {
        self.entry_for(call.name, tokens, message).calls.add(call.chars.get(), tokens);
    }

    pub(super) fn add_result(&mut self, size: &MessageSize, tokens: u64, message: usize) {
        let tool = self.entry_for(size.tool_name, tokens, message);
        let images = u64::from(size.images);
        tool.results.add(size.pi_chars.whole_chars(), tokens);
        tool.images += images;
        tool.image_tokens += (images * IMAGE_TOKENS).min(tokens);
        tool.errors += u64::from(size.is_error);
    }

    /// Returns the totals of a tool and notes the message if it is the tool's heaviest.
    fn entry_for(&mut self, name: ValueIx, tokens: u64, message: usize) -> &mut ToolTotals {
        let at = *self.positions.entry(name).or_insert_with(|| {
            let tool = ToolTotals {
                name: None,
                calls: Tally::default(),
                results: Tally::default(),
                images: 0,
                image_tokens: 0,
                errors: 0,
                heaviest: message,
            };
            self.totals.push((name, tool));
            self.heaviest.push(tokens);
            self.totals.len() - 1
        });
        let tool = &mut self.totals[at].1;
        if tokens > self.heaviest[at] {
            (self.heaviest[at], tool.heaviest) = (tokens, message);
        }
        tool
    }

    pub(super) fn into_named(self, words: &ValueTable) -> Vec<ToolTotals> {
        let name = |word| words.value(word).map(|name| js::to_text(Some(name)).to_string_lossy());
        self.totals.into_iter().map(|(word, tool)| ToolTotals { name: name(word), ..tool }).collect()
    }
}
