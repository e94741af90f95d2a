//! Repairing a planned list must equal repairing the messages themselves.

use super::*;
use crate::gateway::ruleset::Ruleset;
use crate::js;
use crate::policy::features::ContentFeatures;
use crate::policy::message_list::MessageOrigin;
use crate::policy::repair::{AllowedTools, apply_pairing, pair, repair_inputs, shape_of};
use crate::policy::testing::{ListFixture as Messages, calls, result};
use crate::units::{Chars, Moment};

/// Returns the origin of each repaired message (`None`: invented), the reason of each input message, and `changed`.
fn repaired<T: AsRef<str>>(messages: &[T]) -> (Vec<Option<usize>>, Vec<Reason>, bool) {
    let messages = Messages::of(messages);
    let mut list = messages.list();
    let repaired = repair_list(&mut list, RepairRules::default());
    let made = messages.check(&list);
    let rules = RepairRules::default();
    let inputs = repair_inputs(&messages.bodies, &AllowedTools::default()).messages;
    let shapes: Vec<PairingShape> = inputs.iter().map(|message| shape_of(message, rules.pairing())).collect();
    let expected =
        apply_pairing(&inputs, &pair(&shapes.iter().collect::<Vec<_>>(), rules).order, Moment::ZERO);
    let expected: Vec<Value> = expected.iter().map(|message| Edit::StripDetails.apply(message)).collect();
    assert_eq!(made, expected);
    assert_eq!(repaired.fates.len(), messages.bodies.len());
    let reasons = repaired.fates.iter().map(|fate| fate.reason).collect();
    (list.messages().iter().map(PlannedMessage::position).collect(), reasons, repaired.changed)
}

const USER: &str = r#"{"role":"user","content":"go"}"#;

#[test]
fn an_ordinary_turn_only_loses_its_details() {
    let (order, reasons, changed) = repaired(&[calls(&["x"]), result("x", "a"), USER.into()]);
    assert_eq!(order, [Some(0), Some(1), Some(2)]);
    assert_eq!(reasons, [Reason::Untouched, Reason::DetailsStripped, Reason::Untouched]);
    assert!(!changed);
}

#[test]
fn repair_moves_invents_and_drops_results() {
    let messages = [
        result("x", "early"),
        calls(&["x", "y"]),
        USER.into(),
        result("y", "b"),
        result("y", "again"),
        result("z", "c"),
    ];
    let (order, reasons, changed) = repaired(&messages);
    assert_eq!(order, [Some(1), None, Some(3), Some(2)]);
    assert_eq!(
        reasons,
        [
            Reason::OrphanResult,
            Reason::Untouched,
            Reason::Untouched,
            Reason::Moved,
            Reason::DuplicateResult,
            Reason::OrphanResult
        ]
    );
    assert!(changed);
}

#[test]
fn a_second_result_is_kept_if_nothing_else_changes() {
    let (order, _, changed) = repaired(&[calls(&["x"]), result("x", "a"), result("x", "b")]);
    assert_eq!((order.len(), changed), (3, false));
}

#[test]
fn pruning_uses_the_repaired_tool_name() {
    let blank = result("x", "a").replace(r#""toolName":"exec""#, r#""toolName":" ""#);
    let messages = Messages::of(&[calls(&["x", "y"]), blank]);
    let mut list = messages.list();
    let repaired = repair_list(&mut list, RepairRules::default());
    assert_eq!((repaired.fates[1].reason, repaired.changed), (Reason::RenamedResult, true));
    let tool = |at| list.tool_name(at, &messages.index.values).map(|name| js::stringify(&name));
    assert_eq!([tool(1), tool(2)], [Some("\"exec\"".into()), Some("\"exec\"".into())]);
    assert!(matches!(list.messages()[2].origin, MessageOrigin::Missing(_)));
}

#[test]
fn unusable_calls_are_removed_with_their_results() {
    let call = |name: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"a"}},{{"type":"toolCall","id":"x","name":"{name}","arguments":{{}}}}]}}"#
        )
    };
    let (order, reasons, changed) = repaired(&[call("no name"), result("x", "a"), call(" exec")]);
    assert_eq!(order, [Some(0), Some(2), None]);
    assert_eq!(reasons, [Reason::CallRemoved, Reason::OrphanResult, Reason::CallTidied]);
    assert!(changed);
    let alone = r#"{"role":"assistant","content":[{"type":"toolCall"}]}"#;
    let (order, reasons, _) = repaired(&[alone, USER]);
    assert_eq!((order, reasons[0]), (vec![Some(1)], Reason::CallRemoved));
}

#[test]
fn pairing_again_keeps_details_and_calls() {
    let messages = Messages::of(&[result("x", "a"), calls(&["y"]), result("y", "b")]);
    let mut list = messages.list();
    let again = pair_list(&mut list, RepairRules::default());
    assert!(again.changed && again.fates[2].reason == Reason::Untouched);
    assert_eq!(list.features_at(1).and_then(|features| features.details_chars), Some(Chars(7.0)));
}

#[test]
fn an_invented_result_is_measured_under_the_rules_of_the_version() {
    for (ruleset, is_responses_api, chars) in [
        (Ruleset::V2026_9_6, false, 105.0),
        (Ruleset::V2026_9_6, true, 7.0),
        (Ruleset::V2026_4_15, true, 105.0),
    ] {
        let messages = Messages::under(ruleset, &[calls(&["x"])]);
        let mut list = messages.list();
        repair_list(&mut list, RepairRules { rules: ruleset.rules(), is_responses_api });
        messages.check(&list);
        let weight = list.features_at(1).and_then(ContentFeatures::prune_chars).map(CharCount::value);
        assert_eq!(weight, Some(Ok(Chars(chars))), "{ruleset:?}");
    }
}

#[test]
fn a_failed_answer_and_its_results_share_one_reason() {
    let ruleset = Ruleset::V2026_9_6;
    let failed = calls(&["x"]).replacen('{', r#"{"stopReason":"error","#, 1);
    let messages = Messages::under(ruleset, &[failed, result("x", "a"), USER.into()]);
    let mut list = messages.list();
    let repaired = repair_list(&mut list, RepairRules { rules: ruleset.rules(), ..RepairRules::default() });
    let reasons: Vec<Reason> = repaired.fates.iter().map(|fate| fate.reason).collect();
    assert_eq!(reasons, [Reason::FailedAnswer, Reason::FailedAnswer, Reason::Untouched]);
    assert_eq!(list.len(), 1);
}
