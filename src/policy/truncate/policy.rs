//! Truncation of single tool results, and the budget of all of them, as trimming policies.

use crate::gateway::ruleset::{Aggregate, Rules, Truncation};
use crate::js::Object;
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::reason::Reason;
use crate::policy::settings::{PolicySettings, TruncateSettings};
use crate::policy::trimming::{PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows};
use crate::policy::truncate::reduce_step::{apply_budget, reduce_list};
use crate::policy::truncate::{reduce_step, result_budget, result_chars, sized_result_chars};
use crate::store::entry::Role;
use crate::units::{Chars, Tokens};

/// Cuts oversized tool results in the transcript (pruning 6b).
#[derive(Debug)]
pub struct Truncate;

impl TrimmingPolicy for Truncate {
    fn word(&self) -> &'static str {
        "truncate"
    }

    fn rule(&self) -> &'static str {
        "pruning 6b"
    }

    fn phase(&self) -> Phase {
        Phase::Transcript
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        rules.truncation != Truncation::None
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn settings_json(&self, settings: &PolicySettings, windows: Windows) -> Object {
        Object::from([
            ("window", windows.session),
            ("windowShare", settings.truncate.window_share),
            ("maxChars", settings.truncate.max_chars.get()),
            ("minKeepChars", settings.truncate.min_keep_chars.get()),
        ])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let (rules, window) = (input.rules(), input.windows.session);
        Ok(PolicyOutcome::new(truncate_list(list, rules, Tokens(window), &input.settings.truncate)))
    }
}

/// Holds all tool results together to a budget (releases R35–R38).
#[derive(Debug)]
pub struct Reduce;

impl TrimmingPolicy for Reduce {
    fn word(&self) -> &'static str {
        "reduce"
    }

    fn rule(&self) -> &'static str {
        "releases R35–R38"
    }

    fn phase(&self) -> Phase {
        Phase::Run
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        !matches!(rules.aggregate, Aggregate::None | Aggregate::Weighted)
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn is_rare(&self) -> bool {
        true
    }

    fn settings_json(&self, settings: &PolicySettings, _: Windows) -> Object {
        Object::from([("allChars", settings.reduce.all_chars)])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let (rules, settings) = (input.rules(), input.settings);
        let window = input.windows.session;
        Ok(PolicyOutcome::new(reduce_list(list, rules, Tokens(window), &settings.truncate, &settings.reduce)))
    }
}

// Applies truncation to a message list: cuts the tool results over the limit of one result, as the gateway rewrites
// them in the transcript after an overflow (pruning 6.8, 6b).

/// Cuts every result over a version's limit, for a window in tokens. Up to the reference, a message over the limit
/// counts as truncated even if no block could be cut (pruning 6.6). A content that is not a list stays; it is over the
/// limit only if that is negative.
pub fn truncate_list(
    list: &mut MessageList,
    rules: &Rules,
    window: Tokens,
    settings: &TruncateSettings,
) -> Vec<MessageFate> {
    let max_chars = settings.max_result_chars_under(rules, window);
    if rules.truncation == Truncation::HeadAndTail {
        return reduce_step::truncate_list(list, rules, window, max_chars, settings);
    }
    if rules.truncation == Truncation::None {
        let kept = |size| MessageFate::kept(&size, Reason::Untouched);
        return list.sizes().map(kept).collect();
    }
    let edit =
        Edit::Truncate { max_chars, min_keep_chars: settings.min_keep_chars, truncation: rules.truncation };
    (0..list.len()).map(|at| truncate(list, at, max_chars, &edit)).collect()
}

fn truncate(list: &mut MessageList, at: usize, max_chars: Chars, edit: &Edit) -> MessageFate {
    let size = list.size(at);
    if size.role != Role::ToolResult {
        return MessageFate::kept(&size, Reason::Untouched);
    }
    if max_chars.is_nan() {
        return MessageFate::kept(&size, Reason::NoWindow);
    }
    if chars(list, at) <= max_chars || !has_blocks(list, at) {
        return MessageFate::kept(&size, Reason::WithinLimit);
    }
    list.apply_edit(at, edit);
    let after = list.size(at).prune_chars;
    MessageFate { after, fate: Fate::Truncated, ..MessageFate::kept(&size, Reason::OverLimit) }
}

/// Returns the chars of the message's text (pruning 6.5).
fn chars(list: &MessageList, at: usize) -> Chars {
    let body = list.features_at(at).and_then(|features| features.body.as_ref());
    body.map(|body| result_chars(&body.value()))
        .or_else(|| sized_result_chars(&list.size(at)))
        .unwrap_or(Chars::ZERO)
}

fn has_blocks(list: &MessageList, at: usize) -> bool {
    use crate::policy::features::ResultContent;
    list.features_at(at).is_some_and(|features| matches!(features.content, ResultContent::Blocks(_)))
}

// The cut of tool results in a transcript after an overflow, by the budget of all results where a version has one,
// otherwise by the limit of one result (releases R35–R38).

/// Cuts the results of a list as the gateway rewrites them in the transcript after an overflow: each to its limit, and
/// since 2026.4.8 all of them to a budget.
pub fn truncate_after_overflow(
    list: &mut MessageList,
    rules: &Rules,
    window: Tokens,
    truncate: &TruncateSettings,
) {
    let single = truncate.max_result_chars_under(rules, window);
    match result_budget(rules, window, Some(single), false) {
        Some(budget) => {
            let mut fates: Vec<MessageFate> =
                list.sizes().map(|size| MessageFate::kept(&size, Reason::WithinLimit)).collect();
            apply_budget(list, &mut fates, &budget);
        }
        None => _ = truncate_list(list, rules, window, truncate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::policy::testing::{ListFixture as Messages, result};

    /// Returns the chars of each message after truncation, with the reason.
    fn truncated(chars: &[usize], window: Tokens, settings: &TruncateSettings) -> Vec<(u64, Reason)> {
        truncated_under(Ruleset::V2026_3_2, chars, window, settings)
    }

    fn truncated_under(
        ruleset: Ruleset,
        chars: &[usize],
        window: Tokens,
        settings: &TruncateSettings,
    ) -> Vec<(u64, Reason)> {
        let texts: Vec<String> = chars.iter().map(|chars| result("c", &"x".repeat(*chars))).collect();
        let messages = Messages::of(&texts);
        let mut list = messages.list();
        let fates = truncate_list(&mut list, ruleset.rules(), window, settings);
        messages.check(&list);
        fates.iter().map(|fate| (fate.after.whole_chars().whole(), fate.reason)).collect()
    }

    #[test]
    fn only_results_over_the_limit_are_cut() {
        let settings = TruncateSettings::default();
        assert_eq!(
            truncated(&[9829, 9828], Tokens(8192.0), &settings),
            [(9828, Reason::OverLimit), (9828, Reason::WithinLimit)]
        );
        assert_eq!(truncated(&[9829], Tokens(f64::NAN), &settings), [(9829, Reason::NoWindow)]);
    }

    #[test]
    fn the_version_before_has_a_lower_floor_for_many_texts() {
        let text = format!(r#"{{"type":"text","text":"{}"}}"#, "x".repeat(2100));
        let many = format!(r#"{{"role":"toolResult","content":[{}]}}"#, [text.as_str(); 10].join(","));
        let chars = |ruleset: Ruleset| {
            let messages = Messages::under(ruleset, &[&many]);
            let mut list = messages.list();
            let fates = truncate_list(
                &mut list,
                ruleset.rules(),
                Tokens(5000.0),
                &TruncateSettings::built_in(ruleset.rules(), Tokens(5000.0)),
            );
            messages.check(&list);
            fates[0].after.whole_chars().whole()
        };
        // A cut block keeps 2000 chars and the suffix.
        assert_eq!((chars(Ruleset::V2026_3_2), chars(Ruleset::V2026_2_17)), (21_000, 22_170));
    }

    #[test]
    fn share_cap_and_minimum_are_configurable() {
        let settings =
            TruncateSettings { window_share: 0.1, max_chars: Chars(1000.0), min_keep_chars: Chars(500.0) };
        assert_eq!(truncated(&[1001], Tokens(1e6), &settings), [(1000, Reason::OverLimit)]);
        assert_eq!(truncated(&[1001], Tokens(1000.0), &settings), [(717, Reason::OverLimit)]);
    }
}
