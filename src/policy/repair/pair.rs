//! Gives each assistant message with calls exactly one result per call: existing results move up, missing ones are
//! invented, orphans and duplicates are dropped (compaction 6.2–6.8).

use crate::gateway::ruleset::ResultMatching;
use crate::policy::repair::by_id::pair_by_id;
use crate::policy::repair::by_use::{Pairing, pair_by_use};
use crate::policy::repair::shape::{PairingShape, RepairRules};

/// Pairs results with calls as a version does.
pub fn pair(shapes: &[&PairingShape], rules: RepairRules) -> Pairing {
    match rules.pairing().matching {
        ResultMatching::EachUse => pair_by_use(shapes, rules),
        _ => pair_by_id(shapes, rules),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::policy::repair::{PairedCall, PlacedMessage, StubMark};

    /// Parses `a:x,y` as an assistant with calls x and y, `r:x` or `r:x=name` as a result, the rest as other messages.
    fn shape(word: &str) -> PairingShape {
        if let Some(calls) = word.strip_prefix("a:") {
            let call = |id: &str| PairedCall { id: id.into(), name: Some("exec".into()) };
            let calls = calls.split(',').filter(|id| !id.is_empty()).map(call).collect();
            return PairingShape::Assistant { calls, failed: false };
        }
        let Some(result) = word.strip_prefix("r:") else { return PairingShape::Other };
        let (id, name) = result.split_once('=').unwrap_or((result, "exec"));
        PairingShape::Result {
            id: Some(id.into()),
            name: Some(name.replace('_', " ").as_str().into()),
            invented: StubMark::No,
        }
    }

    fn paired(list: &str) -> Pairing {
        let shapes: Vec<PairingShape> = list.split_whitespace().map(shape).collect();
        pair(&shapes.iter().collect::<Vec<_>>(), RepairRules::default())
    }

    /// Formats the new list: indexes, `+x` for an invented result, `3=name` for a renamed one.
    fn order(pairing: &Pairing) -> String {
        let word = |placed: &PlacedMessage| match placed {
            PlacedMessage::Original(at) => at.to_string(),
            PlacedMessage::Renamed(at, name) => format!("{at}={}", name.to_string_lossy()),
            PlacedMessage::Synthetic(missing) => format!("+{}", missing.id.to_string_lossy()),
        };
        pairing.order.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn counts(pairing: &Pairing) -> (usize, usize, usize, bool) {
        (pairing.added.len(), pairing.dropped_duplicates, pairing.orphans.len(), pairing.is_replaced)
    }

    #[test]
    fn a_result_moves_up_to_its_call_and_a_missing_one_is_invented() {
        let pairing = paired("u a:x,y u r:y u");
        assert_eq!(order(&pairing), "0 1 +x 3 2 4");
        assert_eq!(counts(&pairing), (1, 0, 0, true));
    }

    #[test]
    fn a_result_without_a_call_is_an_orphan_and_one_after_the_next_assistant_too() {
        let pairing = paired("r:x a:x a: r:x");
        assert_eq!(order(&pairing), "1 +x 2");
        assert_eq!(counts(&pairing), (1, 0, 2, true));
    }

    #[test]
    fn a_second_result_in_one_span_is_dropped_only_with_another_change() {
        let alone = paired("a:x r:x r:x");
        assert_eq!((order(&alone).as_str(), counts(&alone)), ("0 1 2", (0, 0, 0, false)));
        let beside = paired("a:x r:x r:x r:z");
        assert_eq!((order(&beside).as_str(), counts(&beside)), ("0 1", (0, 0, 1, true)));
    }

    #[test]
    fn an_ordinary_turn_counts_as_moved_without_moving() {
        let pairing = paired("a:x r:x u");
        assert_eq!((order(&pairing).as_str(), counts(&pairing)), ("0 1 2", (0, 0, 0, true)));
    }

    #[test]
    fn a_reused_id_leaves_the_later_call_without_a_result() {
        let pairing = paired("a:x r:x a:x r:x");
        assert_eq!((order(&pairing).as_str(), counts(&pairing)), ("0 1 2", (1, 2, 0, true)));
    }

    #[test]
    fn one_message_with_the_same_id_twice_has_one_result() {
        let there = paired("a:x,x r:x");
        assert_eq!((order(&there).as_str(), counts(&there)), ("0 1", (0, 1, 0, true)));
        let missing = paired("a:x,x");
        assert_eq!((order(&missing).as_str(), counts(&missing)), ("0 +x", (2, 1, 0, true)));
    }

    #[test]
    fn names_are_trimmed_filled_from_the_call_or_unknown() {
        assert_eq!(order(&paired("a:x r:x=_read_")), "0 1=read");
        assert_eq!(order(&paired("a:x r:x=_")), "0 1=exec");
    }

    /// Formats the new list under the rules of a version; `!` after the calls marks an answer that failed.
    fn order_under(ruleset: Ruleset, list: &str) -> String {
        let mut shapes: Vec<PairingShape> =
            list.split_whitespace().map(|word| shape(word.trim_end_matches('!'))).collect();
        for (shape, word) in shapes.iter_mut().zip(list.split_whitespace()) {
            if let PairingShape::Assistant { failed, .. } = shape {
                *failed = word.ends_with('!');
            }
        }
        let rules = RepairRules { rules: ruleset.rules(), is_responses_api: false };
        order(&pair(&shapes.iter().collect::<Vec<_>>(), rules))
    }

    #[test]
    fn releases_differ_in_their_handling_of_failed_answers() {
        let list = "a:x! r:x u a:y r:y r:z";
        assert_eq!(order_under(Ruleset::V2026_2_1, list), "0 1 2 3 4");
        assert_eq!(order_under(Ruleset::V2026_3_2, list), "0 2 3 4");
        assert_eq!(order_under(Ruleset::V2026_3_31, list), "0 2 3 4");
        assert_eq!(order_under(Ruleset::V2026_4_25, list), "2 3 4");
        assert_eq!(order_under(Ruleset::V2026_9_6, list), "2 3 4");
        assert_eq!(order_under(Ruleset::V2026_2_1, "a:x!"), "0 +x");
        assert_eq!(order_under(Ruleset::V2026_3_2, "a:x!"), "0");
    }

    #[test]
    fn a_late_result_is_an_orphan_until_releases_move_it_up() {
        let behind_an_answer = "a:x a: r:x";
        assert_eq!(order_under(Ruleset::V2026_5_2, behind_an_answer), "0 +x 1");
        assert_eq!(order_under(Ruleset::V2026_5_18, behind_an_answer), "0 2 1");
        let behind_calls = "a:x a:y r:y r:x";
        assert_eq!(order_under(Ruleset::V2026_5_28, behind_calls), "0 +x 1 2");
        assert_eq!(order_under(Ruleset::V2026_6_11, behind_calls), "0 3 1 2");
        assert_eq!(order_under(Ruleset::V2026_9_6, behind_calls), "0 3 1 2");
    }

    #[test]
    fn each_use_of_an_id_has_a_separate_result_since_8_1() {
        let reused = "a:x r:x a:x,x r:x r:x r:x";
        assert_eq!(order_under(Ruleset::V2026_7_1, reused), "0 1 2");
        assert_eq!(order_under(Ruleset::V2026_8_1, reused), "0 1 2 3 4");
        // Two uses wait for it, so neither gets it.
        assert_eq!(order_under(Ruleset::V2026_8_1, "a:x a:x a:y r:x r:y"), "0 +x 1 +x 2 4");
    }
}
