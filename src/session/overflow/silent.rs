//! Finds overflows without an error: the usage of an answer shows that its prompt did not fit (overflow-texts 6).
//!
//! An answer above the window proves either an overflow or a wrong window. It counts as an overflow only if a setting
//! configured the window, and if the model never answered a prompt above it with tool calls: such a prompt did fit.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::session::overflow::answered::{ModelKey, largest_prompts, measured_usage};
use crate::session::overflow::call::{Overflow, OverflowKind};
use crate::session::overflow::model_windows::WindowCache;
use crate::store::entry::{Entry, EntryKind, StopReason};
use crate::store::index::Index;
use crate::units::Tokens;

/// Share of the window from which an empty reply shows that the prompt filled it (S2).
const FULL_RATIO: f64 = 0.99;
/// Calls in a row with the same count, at the window, that show that a server cut the prompt (S3).
const MIN_REPEATED_COUNTS: u32 = 2;
/// Estimated tokens that must be added between two such calls.
const MIN_ADDED_TOKENS: u64 = 200;

/// A prompt estimated at more than this many windows cannot have been evaluated whole, so one call suffices.
const OUTGROWN_RATIO: f64 = 1.1;

pub(super) fn find_silent(index: &Index, windows: &WindowCache<'_>) -> Vec<Overflow> {
    let answered = largest_prompts(index, |stop| stop == StopReason::ToolUse);
    let mut truncation = TruncationTracker::default();
    let mut found = Vec::new();
    for (ix, entry) in index.iter() {
        truncation.observe(entry);
        let Some((stop, usage)) = measured_usage(entry) else { continue };
        let Some(window) = windows.known_window(entry.model) else { continue };
        let proved = answered.get(&entry.model).is_some_and(|most| *most > window);
        let is_over = match stop {
            StopReason::Stop => {
                !proved && windows.is_configured(entry.model) && usage.input + usage.cache_read > window
            }
            StopReason::Length => {
                usage.output == Tokens::ZERO && usage.prompt_tokens() >= window * FULL_RATIO
            }
            _ => false,
        };
        let is_cut = truncation.observe_call(entry, usage.prompt_tokens(), window);
        if is_over || is_cut {
            found.push(Overflow {
                requested: (!is_cut).then_some(usage.prompt_tokens().whole()),
                limit: Some(window.whole()),
                ..Overflow::from_usage(ix, OverflowKind::Silent, entry.time_ms, entry.model)
            });
        }
    }
    found
}

/// Tracks calls whose count stays at the window while their messages grow: the server cut the prompt from the front.
#[derive(Default)]
struct TruncationTracker {
    last_prompt: Option<(ModelKey, f64)>,
    repeats: u32,
    added_tokens: u64,
}

impl TruncationTracker {
    fn observe(&mut self, entry: &Entry) {
        if entry.kind == EntryKind::Compaction {
            *self = Self::default();
        } else if let Some(size) = entry.message.filter(|_| entry.becomes_message()) {
            self.added_tokens += estimate_or_zero(&size);
        }
    }

    fn observe_call(&mut self, entry: &Entry, tokens: Tokens, window: Tokens) -> bool {
        let at_window = (tokens - window).abs() <= Tokens(1.0);
        let before = self.last_prompt.filter(|(model, _)| *model == entry.model).map(|(_, last)| last);
        let same = before.is_some_and(|last| (last - tokens.get()).abs() <= 1.0);
        let outgrew =
            before.is_some_and(|last| last + self.added_tokens as f64 > OUTGROWN_RATIO * window.get());
        let goes_on = at_window && same && self.added_tokens >= MIN_ADDED_TOKENS;
        self.repeats = if goes_on { self.repeats + 1 } else { u32::from(at_window) };
        self.last_prompt = Some((entry.model, tokens.get()));
        self.added_tokens = 0;
        self.repeats >= MIN_REPEATED_COUNTS || at_window && outgrew
    }
}
