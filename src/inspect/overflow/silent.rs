//! Overflows without an error: the usage of an answer shows that its prompt did not fit (overflow-texts 6).
//!
//! An answer above the window proves either an overflow or a window that is believed too small. It counts as an overflow
//! only where somebody named the window, and where the model never answered as much within a run: an answer that goes on
//! to call tools did fit.

use std::collections::HashMap;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::inspect::overflow::windows::Windows;
use crate::inspect::overflow::{Overflow, Sign};
use crate::store::entry::{Entry, EntryKind, StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::WordIx;

/// Share of the window from which a reply of nothing shows that the prompt filled it (S2).
const FULL: f64 = 0.99;
/// Calls in a row with the same count that show that a server cut the prompt (S3).
const SAME_COUNTS: u32 = 2;
/// Estimated tokens that must have been added between two such calls.
const LEAST_ADDED: u64 = 200;

/// A prompt estimated at more than this many windows cannot have been evaluated whole, so one call is enough.
const OUTGROWN: f64 = 1.1;

type Model = Option<(WordIx, WordIx)>;

pub(super) fn silent(index: &Index, windows: &Windows<'_>) -> Vec<Overflow> {
    let answered = largest_in_run(index);
    let mut truncation = Truncation::default();
    let mut found = Vec::new();
    for (ix, entry) in index.iter() {
        truncation.pass(entry);
        let Some((stop, usage)) = counted(entry) else { continue };
        let Some(window) = windows.known(entry.model) else { continue };
        let proved = answered.get(&entry.model).is_some_and(|most| *most > window);
        let is_over = match stop {
            StopReason::Stop => !proved && usage.input + usage.cache_read > window,
            StopReason::Length => usage.output == 0.0 && usage.prompt_tokens() >= FULL * window,
            _ => false,
        };
        let is_cut = truncation.is_cut(entry, usage.prompt_tokens(), window);
        if is_over || is_cut {
            found.push(Overflow {
                requested: (!is_cut).then_some(usage.prompt_tokens() as u64),
                limit: Some(window as u64),
                ..Overflow::by_usage(ix, Sign::Silent, entry.time, entry.model)
            });
        }
    }
    found
}

fn counted(entry: &Entry) -> Option<(StopReason, Usage)> {
    let size = entry.message.filter(|_| entry.is_call())?;
    Some((size.stop, size.usage.filter(Usage::is_counted)?))
}

/// The largest prompt that each model answered within a run.
fn largest_in_run(index: &Index) -> HashMap<Model, f64> {
    let mut largest: HashMap<Model, f64> = HashMap::new();
    for (_, entry) in index.iter() {
        if let Some((StopReason::ToolUse, usage)) = counted(entry) {
            let most = largest.entry(entry.model).or_default();
            *most = most.max(usage.prompt_tokens());
        }
    }
    largest
}

/// Follows calls whose count stays at the window while their messages grow: the server cut the prompt from the front.
#[derive(Default)]
struct Truncation {
    last: Option<(Model, f64)>,
    in_a_row: u32,
    added: u64,
}

impl Truncation {
    fn pass(&mut self, entry: &Entry) {
        if entry.kind == EntryKind::Compaction {
            *self = Self::default();
        } else if let Some(size) = entry.message.filter(|_| entry.makes_message()) {
            self.added += estimate_or_zero(&size);
        }
    }

    fn is_cut(&mut self, entry: &Entry, tokens: f64, window: f64) -> bool {
        let at_window = (tokens - window).abs() <= 1.0;
        let before = self.last.filter(|(model, _)| *model == entry.model).map(|(_, last)| last);
        let same = before.is_some_and(|last| (last - tokens).abs() <= 1.0);
        let outgrew = before.is_some_and(|last| last + self.added as f64 > OUTGROWN * window);
        let goes_on = at_window && same && self.added >= LEAST_ADDED;
        self.in_a_row = if goes_on { self.in_a_row + 1 } else { u32::from(at_window) };
        self.last = Some((entry.model, tokens));
        self.added = 0;
        self.in_a_row >= SAME_COUNTS || at_window && outgrew
    }
}
