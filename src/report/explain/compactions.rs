//! The compactions of a path, each with its effect: by estimate, and by the provider's counts before and after it.

use std::collections::{HashMap, HashSet};

use crate::context::build_context;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::tokens_before::recorded_tokens_before;
use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::policy::memory_flush;
use crate::report::explain::counted_calls::CountedCall;
use crate::report::explain::failure::believed_window;
use crate::session::LoadedSession;
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Role};
use crate::store::intern::ValueIx;
use crate::transcript::Leaf;
use crate::transcript::envelope::unwrap_message;
use crate::units::{Chars, Moment, Tokens};

/// A summary in sections with less text than this, in bytes without headings and spaces, counts as hollow.
const HOLLOW_SUMMARY_CHARS: usize = 160;
/// A hollow summary replaces at least this many messages; with fewer, there may be little to say.
const MIN_SUMMARISED: usize = 4;

/// Share of the trigger below which the tokens of a context cannot have started its compaction.
const FAR_BELOW_SHARE: f64 = 0.5;
/// Share of the trigger from which a prompt has reached it: the gateway adds estimates to the provider's count.
const NEAR_TRIGGER_SHARE: f64 = 0.9;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PastCompaction {
    pub entry: EntryIx,
    pub at_ms: Moment,
    /// Tokens before it, as the runtime stored them (compaction 3.9), otherwise from the provider's last count; NaN if
    /// neither is known.
    pub tokens_before: Tokens,
    /// Number of messages in the context before and directly after it.
    pub messages: (usize, usize),
    /// Estimated tokens of the context before and directly after it.
    pub estimated: (u64, u64),
    /// Prompt tokens of the last counted call before it, and of the first after it.
    pub counted: (Option<u64>, Option<u64>),
    /// The first entry that it summarised.
    pub first_summarised: Option<EntryIx>,
    pub summary_chars: Chars,
    /// Whether the summary has no content: the gateway's last resort, or headings with hardly a word (compaction 5.14).
    pub is_hollow: bool,
    /// Tool results among the messages that refilled the context, as a share of their tokens.
    pub refill_result_share: f64,
    /// Tokens to which the context grew before the next compaction or the end.
    pub refilled_to: Option<u64>,
    /// Tokens above which the model of the last call compacts, and the lowest at which any check of the gateway does.
    pub trigger: Tokens,
    pub lowest_trigger: Tokens,
    /// Whether a memory flush ran since the previous compaction.
    pub is_flushed: bool,
}

impl PastCompaction {
    /// Returns the tokens of the context that it compacted: as recorded, otherwise by the provider, but no less than by
    /// estimate.
    pub(super) fn tokens_at(&self) -> u64 {
        let recorded = self.tokens_before.is_finite().then(|| self.tokens_before.whole());
        recorded.or(self.counted.0).unwrap_or(0).max(self.estimated.0)
    }

    /// Whether the context was so small that its tokens cannot have started the compaction.
    pub(super) fn is_far_below_trigger(&self) -> bool {
        let trigger = self.trigger.min(self.lowest_trigger);
        trigger > Tokens::ZERO && Tokens(self.tokens_at() as f64) < trigger * FAR_BELOW_SHARE
    }

    /// Whether a prompt of these tokens reaches the trigger.
    pub(super) fn is_at_trigger(&self, tokens: u64) -> bool {
        Tokens(tokens as f64) >= self.lowest_trigger.min(self.trigger * NEAR_TRIGGER_SHARE)
    }
}

/// Returns the compactions on a path, root first.
pub(super) fn read_compactions(
    session: &LoadedSession,
    path: &[EntryIx],
    calls: &[CountedCall],
) -> Result<Vec<PastCompaction>, BodyError> {
    let index = &session.index;
    let places: Vec<usize> =
        (0..path.len()).filter(|at| index.entry(path[*at]).kind == EntryKind::Compaction).collect();
    let place_of: HashMap<EntryIx, usize> = path.iter().enumerate().map(|(at, ix)| (*ix, at)).collect();
    let calls: Vec<(usize, u64)> =
        calls.iter().filter_map(|call| Some((*place_of.get(&call.entry)?, call.prompt_tokens))).collect();
    let mut found = Vec::new();
    for (number, place) in places.iter().enumerate() {
        let end = places.get(number + 1).copied().unwrap_or(path.len());
        found.extend(read_compaction(session, path, (*place, end), &calls)?);
    }
    Ok(found)
}

fn read_compaction(
    session: &LoadedSession,
    path: &[EntryIx],
    (place, end): (usize, usize),
    calls: &[(usize, u64)],
) -> Result<Option<PastCompaction>, BodyError> {
    let index = &session.index;
    let entry = path[place];
    let context_at = |ix: EntryIx| {
        let id = index.entry(ix).id.map(|id| index.ids.text(id).to_owned())?;
        build_context(index, &session.tree, &Leaf::Id(id)).ok()
    };
    let Some((before, after)) =
        place.checked_sub(1).and_then(|at| context_at(path[at])).zip(context_at(entry))
    else {
        return Ok(None);
    };
    let tokens = |context: &crate::context::Context| -> u64 {
        context.messages.iter().map(|message| estimate_or_zero(&message.size)).sum()
    };
    let behind =
        &calls[calls.partition_point(|(at, _)| *at < place)..calls.partition_point(|(at, _)| *at < end)];
    let counted_before = calls[..calls.partition_point(|(at, _)| *at < place)].last();
    let value = body::read_entry(&session.source, index, entry)?;
    let summary = value.get("summary").map(|summary| js::to_text(Some(summary)).to_string_lossy());
    let summary = summary.unwrap_or_default();
    let kept: HashSet<EntryIx> = after.messages.iter().map(|message| message.entry).collect();
    let summarised: Vec<EntryIx> =
        before.messages.iter().map(|message| message.entry).filter(|ix| !kept.contains(ix)).collect();
    let called = path[..place].iter().rev().map(|ix| index.entry(*ix)).find(|entry| entry.is_model_call());
    let (trigger, lowest_trigger) = triggers(session, called.and_then(|entry| entry.model));
    let refill = path[place + 1..end].iter().filter(|ix| index.entry(**ix).becomes_message());
    let refill: Vec<_> = refill.filter_map(|ix| index.entry(*ix).message).collect();
    let all: u64 = refill.iter().map(estimate_or_zero).sum();
    let results =
        refill.iter().filter(|size| size.role == Role::ToolResult).map(estimate_or_zero).sum::<u64>();
    Ok(Some(PastCompaction {
        entry,
        at_ms: index.entry(entry).time_ms,
        tokens_before: recorded_tokens_before(index, path, place)
            .map_or(Tokens(f64::NAN), |before| before.tokens),
        messages: (before.messages.len(), after.messages.len()),
        estimated: (tokens(&before), tokens(&after)),
        counted: (counted_before.map(|(_, prompt)| *prompt), behind.first().map(|(_, prompt)| *prompt)),
        is_hollow: is_hollow(&summary, summarised.len()),
        first_summarised: summarised.first().copied(),
        summary_chars: Chars::from_len(summary.encode_utf16().count()),
        refill_result_share: if all > 0 { results as f64 / all as f64 } else { 0.0 },
        refilled_to: behind.iter().map(|(_, prompt)| *prompt).max(),
        trigger,
        lowest_trigger,
        is_flushed: has_flushed(session, &path[..place]),
    }))
}

/// Whether the gateway asked for a memory flush since the last compaction of a path.
fn has_flushed(session: &LoadedSession, path: &[EntryIx]) -> bool {
    let index = &session.index;
    let since = path.iter().rev().take_while(|ix| index.entry(**ix).kind != EntryKind::Compaction);
    let mut requested = since.filter(|ix| index.entry(**ix).role() == Some(Role::User));
    session.limits.is_gateway_run
        && requested.any(|ix| {
            let text = message_text(session, *ix);
            text.is_some_and(|text| unwrap_message(&text).marks.iter().any(|mark| mark == "memory flush"))
        })
}

/// Returns the texts of a message, joined; `None` if it has none or cannot be read again.
pub(super) fn message_text(session: &LoadedSession, ix: EntryIx) -> Option<String> {
    let message = body::read_message(&session.source, &session.index, ix).ok()??;
    let content = message.get("content")?;
    let blocks = content.as_array().unwrap_or_default().iter().filter_map(|block| block.get("text"));
    let texts = std::iter::once(content).chain(blocks).filter_map(Value::as_str);
    Some(texts.map(js::JsString::to_string_lossy).collect::<Vec<_>>().join(" "))
}

/// Returns the tokens above which the runtime compacts for a model, and the lowest at which the gateway does: its own
/// check before a chat turn comes earlier by the soft threshold (releases R60).
fn triggers(session: &LoadedSession, model: Option<(ValueIx, ValueIx)>) -> (Tokens, Tokens) {
    let window = believed_window(session, model).runtime;
    let trigger = session.configured_settings.compaction.threshold(window);
    (trigger, trigger.min(memory_flush::threshold(&session.limits.flush, window)))
}

/// Whether a summary says nothing about the messages that it replaces. `summarised` is their number.
fn is_hollow(summary: &str, summarised: usize) -> bool {
    let last_resort = summary.contains("Summary unavailable due to size limits");
    let words: String = summary.lines().filter(|line| !is_form_line(line)).collect();
    let says_little = words.split_whitespace().map(str::len).sum::<usize>() < HOLLOW_SUMMARY_CHARS;
    let skeleton = summary.contains("## ") && says_little;
    let is_empty = summary.contains("## ") && words.trim().is_empty() && summarised > 0;
    last_resort
        || is_empty
        || summarised >= MIN_SUMMARISED && (skeleton || summary.trim() == "No prior history.")
}

/// Whether a line is only form: a heading, a rule, a placeholder.
fn is_form_line(line: &str) -> bool {
    let line = line.trim();
    let nothing = ["(none)", "none", "n/a", "", "--", "none captured", "no prior history", "none yet"];
    let words = line.trim_start_matches(['-', '*', ' ']).trim_end_matches('.').to_lowercase();
    line.starts_with('#')
        || line.starts_with("**") && line.ends_with("**")
        || !line.is_empty() && nothing.contains(&words.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skeleton_is_hollow_and_a_short_summary_of_little_is_not() {
        let skeleton = "## Goal\n\n## Progress\n- (none)\n\n## Next Steps\nNone";
        assert!(is_hollow(skeleton, 10) && is_hollow(skeleton, 1) && !is_hollow(skeleton, 0));
        let last = "Context contained 42 messages (3 oversized). Summary unavailable due to size limits.";
        assert!(is_hollow(last, 42));
        let full = format!("## Goal\n{}\n## Progress\n- done", "the linker needs libatomic ".repeat(12));
        assert!(!is_hollow(&full, 40));
        assert!(!is_hollow("The build works now.", 40), "short, but no skeleton");
        let of_letters = |count: usize| format!("## Goal\n**Build**\n{}", "x ".repeat(count));
        assert!(is_hollow(&of_letters(159), 4) && !is_hollow(&of_letters(160), 4));
        assert!(is_hollow("No prior history.", 4) && !is_hollow("No prior history.", 3));
    }

    #[test]
    fn a_summary_of_nothing_but_headings_and_placeholders_is_hollow_however_few_messages_it_replaces() {
        let empty =
            "## Decisions\nNo prior history.\n\n## Open TODOs\nNone.\n\n## Identifiers\nNone captured.";
        assert!(is_hollow(empty, 1) && !is_hollow(empty, 0));
    }

    #[test]
    fn headings_rules_and_placeholders_are_form_and_bold_words_within_a_sentence_are_not() {
        let form = ["# Goal", "**Build**", "  (none)", "- None", "N/A", "---", "-", "none."];
        assert_eq!(form.map(is_form_line), [true; 8]);
        let words = ["**Build** failed", "it was **red**", "none of it works", "- done", ""];
        assert_eq!(words.map(is_form_line), [false; 5]);
    }
}
