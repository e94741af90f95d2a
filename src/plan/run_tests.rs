//! Tests for policies that run one after another.

use super::*;
use crate::policy::PolicySet;
use crate::policy::message_list::MessageOrigin;
use crate::policy::preflight::FixedPressure;
use crate::policy::testing::{ListFixture as Messages, calls, result};
use crate::units::{Chars, Millis, Tokens};

const ANSWER: &str = r#"{"role":"assistant","content":[{"type":"text","text":"ok"}]}"#;
const USER: &str = r#"{"role":"user","content":"go"}"#;

fn plan(messages: &Messages, settings: &PolicySettings, features: bool) -> Result<Plan, PlanError> {
    plan_behind(Gate::Off, messages, settings, features)
}

fn plan_behind(
    gate: Gate,
    messages: &Messages,
    settings: &PolicySettings,
    all_features: bool,
) -> Result<Plan, PlanError> {
    Plan::new(&PlanInput {
        index: &messages.index,
        context: &messages.context,
        branch: None,
        features: all_features.then_some(messages.features.as_slice()),
        remembered: None,
        settings,
        window: Tokens(10_000.0),
        guard_window: Tokens(10_000.0),
        gate,
        drops_thinking: false,
        is_responses_api: false,
        fixed_pressure: FixedPressure::default(),
    })
}

fn settings(policies: &[Policy]) -> PolicySettings {
    PolicySettings { enabled: PolicySet::of(policies), history_limit: 1.0, ..PolicySettings::default() }
}

/// Two calls share an id: while the first turn is present, its result is the only one.
fn reused() -> Messages {
    let result = result("c", "a");
    Messages::of(&[USER, &calls(&["c"]), &result, USER, &calls(&["c"]), &result])
}

#[test]
fn the_history_limit_pairs_its_messages_again() {
    let plan = plan(&reused(), &settings(&[Policy::Repair, Policy::History]), true).expect("plans");
    let policies: Vec<(Policy, usize, usize)> = plan
        .effects
        .iter()
        .map(|effect| (effect.policy, effect.messages_before, effect.messages_after))
        .collect();
    assert_eq!(policies, [(Policy::Repair, 6, 5), (Policy::History, 5, 2), (Policy::Repair, 2, 3)]);
    let from: Vec<Option<usize>> = plan.messages.iter().map(PlannedMessage::position).collect();
    assert_eq!(from, [Some(3), Some(4), None]);
    assert!(matches!(plan.messages[2].origin, MessageOrigin::Missing(_)) && plan.tokens_added > 0);
    assert_eq!(plan.fates()[5].reason, Reason::DuplicateResult);
}

#[test]
fn only_repair_pairs_results() {
    let (call, result) = (calls(&["c"]), result("c", "a"));
    let ended = Messages::of(&[USER, &call, &result, USER, &call, &result, ANSWER]);
    let history = plan(&ended, &settings(&[Policy::History]), true).expect("plans");
    assert_eq!((history.effects.len(), history.messages.len()), (1, 4));
    let repair = plan(&reused(), &settings(&[Policy::Repair]), true).expect("plans");
    assert_eq!((repair.effects.len(), repair.messages.len()), (1, 5));
}

#[test]
fn removed_details_do_not_change_the_sent_messages() {
    let messages = Messages::of(&[USER, &calls(&["c"]), &result("c", "a")]);
    let plan = plan(&messages, &settings(&[Policy::Repair]), true).expect("plans");
    assert!(plan.is_empty() && !plan.edits_at(2).is_empty());
    assert!(!plan.edits_at(2).is_empty() && plan.edits_at(2).iter().all(|edit| !edit.is_written()));
}

#[test]
fn content_policies_need_texts() {
    let rules = PolicySettings::default().ruleset.rules();
    for policy in Policy::ALL.into_iter().filter(|policy| policy.needs_features(rules)) {
        let refused = plan(&reused(), &settings(&[policy]), false).map(|_| ());
        assert_eq!(refused, Err(PlanError::NeedsTexts(policy)));
    }
}

#[test]
fn pruning_measures_the_list_after_the_previous_policy() {
    let big = result("c", &"x".repeat(100_000));
    let call = calls(&["c"]);
    let messages = Messages::of(&[USER, &call, &big, &call, &call, &call]);
    let planned = |policies: &[Policy]| {
        plan_behind(Gate::Open { idle_ms: Millis(1e9) }, &messages, &settings(policies), true).expect("plans")
    };
    let (_, left) = planned(&[Policy::Truncate]).total_chars().expect("measurable");
    let (written, _) = planned(&[Policy::Prune]).total_chars().expect("measurable");
    assert!(left < written / 2.0, "it is truncated: {left:?}");
    let ratio = |policies: &[Policy]| planned(policies).pruning.ratio_before;
    assert_eq!(ratio(&[Policy::Prune]), written / Chars(40_000.0));
    assert_eq!(ratio(&[Policy::Truncate, Policy::Prune]), left / Chars(40_000.0));
}
