//! Finds overflows without an error: the usage of an answer shows that its prompt did not fit (overflow-texts 6).
//!
//! An answer above the window proves either an overflow or a wrong window. It counts as an overflow only if a setting
//! configured the window, and if the model never answered a prompt above it with tool calls: such a prompt did fit.

use std::collections::HashSet;

use crate::ids::EntryIx;
use crate::session::overflow::answered::{largest_prompts, measured_usage};
use crate::session::overflow::call::{Overflow, OverflowKind};
use crate::session::overflow::model_windows::WindowCache;
use crate::store::entry::StopReason;
use crate::store::index::Index;
use crate::units::Tokens;

/// Share of the window from which an empty reply shows that the prompt filled it (S2).
const FULL_RATIO: f64 = 0.99;

/// Returns the answers above their window; `implausible` are those whose usage proves nothing.
pub(super) fn find_silent(
    index: &Index,
    windows: &WindowCache<'_>,
    implausible: &HashSet<EntryIx>,
) -> Vec<Overflow> {
    let answered = largest_prompts(index, |stop| stop == StopReason::ToolUse);
    let mut found = Vec::new();
    for (ix, entry) in index.iter().filter(|(ix, _)| !implausible.contains(ix)) {
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
        if is_over {
            found.push(Overflow {
                requested: Some(usage.prompt_tokens().whole()),
                limit: Some(window.whole()),
                ..Overflow::from_usage(ix, OverflowKind::Silent, entry.time_ms, entry.model)
            });
        }
    }
    found
}
