//! Prepares compactions of OpenClaw 2026.9, which reconsiders the part that the previous compaction kept, counts every
//! message towards the budget, and accepts the nearest earlier cut (compaction 12, rows "Range start", "Cut point").

use std::collections::HashMap;

use crate::context::ContextMessage;
use crate::context::tokens::{ContextEstimate, estimate_context_under, estimate_message, estimate_under};
use crate::gateway::ruleset::{Compaction, Estimate, PiRelease, Rules};
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::policy::compact::branch::{BranchEntry, PreviousCompaction};
use crate::policy::compact::pi_0_63::prepare_from_kept;
use crate::policy::compact::prepare::{CutPoint, Preparation, is_turn_start, is_valid_cut, prepare};
use crate::policy::compact::projected::{prepare_projected, prepare_unprojected};
use crate::store::entry::EntryKind;
use crate::units::{Chars, Tokens};

/// Note at the end of a truncated summary.
const CUT_NOTE: &str = "\n\n[Compaction summary truncated to fit budget]";

/// A branch to compact, with the facts that rules need besides its sizes.
#[derive(Debug, Clone, Copy)]
pub struct CompactionInput<'a> {
    /// Root first.
    pub branch: &'a [BranchEntry],
    pub previous: &'a PreviousCompaction,
    /// Weighted tokens by entry, for rules that weigh characters; an entry without counts chars / 4.
    pub weighted_tokens: &'a HashMap<EntryIx, Tokens>,
}

impl CompactionInput<'_> {
    /// Calls [`prepare_under`] with these facts.
    pub fn prepare(&self, rules: &Rules, keep_tokens: Tokens) -> Result<Option<Preparation>, JsException> {
        let tokens = |entry: &BranchEntry| match (self.weighted_tokens.get(&entry.entry), entry.message) {
            (Some(tokens), _) => Ok(*tokens),
            (None, Some(size)) => estimate_message(&size),
            (None, None) => Ok(Tokens::ZERO),
        };
        prepare_under(rules, self.branch, self.previous, keep_tokens, tokens)
    }
}

/// Returns the weighted tokens of a message; `None` when the version estimates as pi does (pruning 8.5, releases R20,
/// R21).
pub fn weighted_tokens(rules: &Rules, message: &Value) -> Option<Tokens> {
    if rules.estimate == Estimate::Units {
        return None;
    }
    estimate_under(rules, message).ok()
}

/// Prepares a compaction under the rules of a version. `tokens` estimates the message of an entry.
pub fn prepare_under(
    rules: &Rules,
    branch: &[BranchEntry],
    before: &PreviousCompaction,
    keep_tokens: Tokens,
    tokens: impl Fn(&BranchEntry) -> Result<Tokens, JsException>,
) -> Result<Option<Preparation>, JsException> {
    let prepared = match rules.compaction {
        Compaction::AfterPrevious => prepare(branch, keep_tokens),
        Compaction::EntriesFromKept => prepare_from_kept(rules.pi, branch, before.first_kept, keep_tokens),
        Compaction::FromFirstKept => prepare_with_kept(rules, branch, before, keep_tokens, tokens),
        Compaction::Projected if branch.iter().any(|entry| entry.projected.is_some()) => {
            prepare_projected(branch, before.system_tokens, keep_tokens)
        }
        Compaction::Projected => prepare_unprojected(branch, before, keep_tokens),
    };
    Ok(prepared?.map(|prepared| Preparation { pi: rules.pi, ..prepared }))
}

fn prepare_with_kept(
    rules: &Rules,
    branch: &[BranchEntry],
    before: &PreviousCompaction,
    keep_tokens: Tokens,
    tokens: impl Fn(&BranchEntry) -> Result<Tokens, JsException>,
) -> Result<Option<Preparation>, JsException> {
    let previous = branch.iter().rposition(|entry| entry.kind == EntryKind::Compaction);
    let at_end = previous.is_some_and(|at| at + 1 == branch.len());
    let was_reset = branch.last().is_some_and(|entry| entry.kind == EntryKind::Reset);
    if branch.is_empty() || was_reset || at_end && before.from_hook {
        return Ok(None);
    }
    let start = previous.map_or(0, |at| before.first_kept.filter(|first| *first <= at).unwrap_or(at + 1));
    let context = estimate_branch(rules, branch, start, previous)?;
    let in_context = previous.into_iter().chain((start..branch.len()).filter(|at| Some(*at) != previous));
    let has_message = |at: &usize| branch[*at].message.is_some();
    let estimated =
        in_context.filter(has_message).try_fold(Tokens::ZERO, |sum, at| Ok(sum + tokens(&branch[at])?))?;
    // What is kept is estimated, while the trigger compares what the provider counted (compaction 12, row "Cut point").
    let ratio = before.counted.unwrap_or(context.usage_tokens) / estimated;
    let most = keep_tokens.max(Tokens(1.0)).get();
    let keep = if ratio.is_finite() { keep_tokens / ratio.clamp(1.0, most) } else { keep_tokens };
    let Some(cut) = find_cut(branch, start, previous, keep, tokens)? else { return Ok(None) };
    let first_kept = branch[cut.first_kept];
    let tokens_before = context.tokens;
    let pi = PiRelease::OLDEST;
    let prepared = Preparation {
        previous_compaction: previous,
        start,
        cut,
        first_kept: first_kept.entry,
        tokens_before,
        pi,
    };
    let summarised = prepared.history().chain(prepared.turn_prefix());
    let any = summarised.into_iter().any(|at| Some(at) != previous && branch[at].message.is_some());
    Ok((any && first_kept.has_id).then_some(prepared))
}

/// Cuts `branch[start..]`; `None` when no entry of it can begin the kept part.
fn find_cut(
    branch: &[BranchEntry],
    start: usize,
    previous: Option<usize>,
    keep: Tokens,
    tokens: impl Fn(&BranchEntry) -> Result<Tokens, JsException>,
) -> Result<Option<CutPoint>, JsException> {
    let valid: Vec<usize> =
        (start..branch.len()).filter(|at| Some(*at) != previous && is_valid_cut(&branch[*at])).collect();
    let Some(first) = valid.first() else { return Ok(None) };
    let (mut sum, mut reached) = (Tokens::ZERO, None);
    for at in (start..branch.len()).rev().filter(|at| Some(*at) != previous && branch[*at].message.is_some())
    {
        sum += tokens(&branch[at])?;
        if sum >= keep {
            reached = Some(at);
            break;
        }
    }
    let nearest =
        |at: usize| valid.iter().find(|cut| **cut >= at).or_else(|| valid.iter().rfind(|cut| **cut < at));
    let mut cut = *reached.and_then(nearest).unwrap_or(first);
    while cut > start && branch[cut - 1].message.is_none() && branch[cut - 1].kind != EntryKind::Message {
        cut -= 1;
    }
    let turn_start =
        (start..cut).rev().filter(|at| Some(*at) != previous).find(|at| is_turn_start(&branch[*at]));
    Ok(Some(CutPoint { first_kept: cut, turn_start: turn_start.filter(|_| !is_turn_start(&branch[cut])) }))
}

/// Estimates the context: the last summary, the part it kept, and everything after.
fn estimate_branch(
    rules: &Rules,
    branch: &[BranchEntry],
    start: usize,
    previous: Option<usize>,
) -> Result<ContextEstimate, JsException> {
    let kept = (start..branch.len()).filter(|at| Some(*at) != previous);
    let message = |at: usize| Some(ContextMessage::from_entry(branch[at].entry, branch[at].message?));
    let messages: Vec<ContextMessage> = previous.into_iter().chain(kept).filter_map(message).collect();
    let tokens_of = |at: usize| estimate_message(&messages[at].size);
    estimate_context_under(rules, &messages, tokens_of)
}

/// Returns the summary that a version stores: complete, or cut to the version's limit including the note.
pub fn stored_summary(rules: &Rules, summary: &crate::js::JsString) -> crate::js::JsString {
    let Some(most) = rules.summary_chars.filter(|most| Chars::from_len(summary.len()) > *most) else {
        return summary.clone();
    };
    let note = crate::js::JsString::from(CUT_NOTE);
    let mut cut = summary.slice(0, (most.whole() as usize).saturating_sub(note.len()));
    if cut.units().last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
        cut = cut.slice(0, cut.len() - 1);
    }
    cut.push(&note);
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js;
    use crate::store::scan::measure_message;

    /// Parses `u:8` as a message of 8 tokens (`u` user, `a` assistant, `r` result) and `compaction`, `custom`, … as an
    /// entry of that type; a compaction has a summary of 1 token.
    fn entries(list: &str) -> Vec<BranchEntry> {
        let entry = |(at, word): (usize, &str)| {
            let (kind, json) = match word.split_once(':') {
                Some((role, tokens)) => {
                    let text = "x".repeat(4 * tokens.parse::<usize>().unwrap());
                    let json = match role {
                        "u" => format!(r#"{{"role":"user","content":"{text}"}}"#),
                        "a" => {
                            format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#)
                        }
                        "c" => format!(r#"{{"role":"custom","content":"{text}"}}"#),
                        _ => format!(r#"{{"role":"toolResult","content":"{text}"}}"#),
                    };
                    (if role == "c" { EntryKind::CustomMessage } else { EntryKind::Message }, Some(json))
                }
                None if word == "compaction" => (
                    EntryKind::Compaction,
                    Some(r#"{"role":"compactionSummary","summary":"abcd"}"#.to_owned()),
                ),
                None => (EntryKind::from_type(word), None),
            };
            let message = json.map(|json| measure_message(&js::parse(&json).unwrap()).size);
            BranchEntry {
                entry: EntryIx(at as u32),
                kind,
                has_id: true,
                message,
                lacks_message: false,
                projected: None,
            }
        };
        list.split_whitespace().enumerate().map(entry).collect()
    }

    fn prepared(list: &str, before: &PreviousCompaction, keep: f64) -> Option<Preparation> {
        let tokens =
            |entry: &BranchEntry| entry.message.map_or(Ok(Tokens::ZERO), |size| estimate_message(&size));
        prepare_under(Ruleset::V2026_9_6.rules(), &entries(list), before, Tokens(keep), tokens).unwrap()
    }

    fn cut(list: &str, keep: f64) -> (usize, Option<usize>) {
        let cut = prepared(list, &PreviousCompaction::default(), keep).expect("prepared").cut;
        (cut.first_kept, cut.turn_start)
    }

    #[test]
    fn previously_kept_messages_are_summarised_too() {
        let before = PreviousCompaction { first_kept: Some(1), ..PreviousCompaction::default() };
        let again = prepared("u:9 u:10 compaction u:10 u:10", &before, 20.0).unwrap();
        assert_eq!((again.start, again.history(), again.cut.first_kept), (1, 1..3, 3));
        assert_eq!(again.tokens_before, Tokens(1.0 + 30.0));
    }

    #[test]
    fn a_branch_that_ends_in_a_compaction_may_be_compacted_again_unless_an_extension_made_it() {
        let before = PreviousCompaction { first_kept: Some(0), ..PreviousCompaction::default() };
        assert_eq!(prepared("u:10 u:10 u:10 compaction", &before, 10.0).unwrap().cut.first_kept, 2);
        assert_eq!(
            prepared("u:10 u:10 u:10 compaction", &PreviousCompaction { from_hook: true, ..before }, 10.0),
            None
        );
        assert_eq!(prepared("", &PreviousCompaction::default(), 10.0), None);
    }

    #[test]
    fn a_branch_without_messages_to_summarise_cannot_be_compacted() {
        assert_eq!(prepared("u:10 a:10", &PreviousCompaction::default(), 100.0), None);
    }

    #[test]
    fn the_nearest_earlier_cut_is_used_if_no_later_one_exists() {
        assert_eq!(cut("u:10 a:1 u:1 a:1 r:1000", 100.0), (3, Some(2)));
    }

    #[test]
    fn extension_messages_count_and_begin_turns() {
        assert_eq!(cut("u:10 a:10 c:10 a:1", 11.0), (2, None));
        assert_eq!(cut("u:10 a:10 custom u:10 a:10", 20.0), (2, Some(0)));
    }

    #[test]
    fn a_provider_that_counts_more_leaves_less_to_keep() {
        let before = PreviousCompaction { counted: Some(Tokens(80.0)), ..PreviousCompaction::default() };
        assert_eq!(prepared("u:10 u:10 u:10 u:10", &before, 20.0).unwrap().cut.first_kept, 3);
        let fewer = PreviousCompaction { counted: Some(Tokens(20.0)), ..PreviousCompaction::default() };
        assert_eq!(prepared("u:10 u:10 u:10 u:10", &fewer, 20.0).unwrap().cut.first_kept, 2);
    }

    #[test]
    fn the_reference_starts_after_the_previous_compaction() {
        let tokens = |_: &BranchEntry| Ok(Tokens::ZERO);
        let list = entries("u:9 u:10 compaction u:10 u:10");
        let before = PreviousCompaction { first_kept: Some(1), ..PreviousCompaction::default() };
        let reference =
            prepare_under(Ruleset::V2026_3_2.rules(), &list, &before, Tokens(10.0), tokens).unwrap();
        assert_eq!(reference.unwrap().start, 3);
    }

    #[test]
    fn a_summary_has_16000_chars_at_most_with_the_note() {
        let long = js::JsString::from("x".repeat(16_001).as_str());
        let newest = stored_summary(Ruleset::V2026_9_6.rules(), &long);
        assert_eq!(newest.len(), 16_000);
        assert!(newest.to_string_lossy().ends_with("truncated to fit budget]"));
        assert_eq!(stored_summary(Ruleset::V2026_3_2.rules(), &long), long);
        let whole = js::JsString::from("x".repeat(16_000).as_str());
        assert_eq!(stored_summary(Ruleset::V2026_9_6.rules(), &whole), whole);
    }

    #[test]
    fn a_cut_summary_never_ends_in_half_a_character() {
        let kept = 16_000 - CUT_NOTE.encode_utf16().count();
        let stored = |before: usize| {
            let text = format!("{}😀{}", "x".repeat(before), "y".repeat(16_000));
            stored_summary(Ruleset::V2026_9_6.rules(), &js::JsString::from(text.as_str()))
        };
        let split = stored(kept - 1);
        assert_eq!(split.len(), 15_999);
        assert_eq!(split.to_string_lossy(), format!("{}{CUT_NOTE}", "x".repeat(kept - 1)));
        let whole = stored(kept - 2);
        assert_eq!(whole.len(), 16_000);
        assert_eq!(whole.to_string_lossy(), format!("{}😀{CUT_NOTE}", "x".repeat(kept - 2)));
    }

    #[test]
    fn a_branch_right_after_a_reset_cannot_be_compacted() {
        let before = PreviousCompaction::default();
        assert_eq!(prepared("u:10 u:10 u:10 reset", &before, 10.0), None);
        assert!(prepared("u:10 u:10 u:10 reset u:10", &before, 10.0).is_some());
    }
}
