//! Diffs of trimmed, cleared and other texts.

use super::*;
use crate::gateway::pruning::SoftTrim;
use crate::gateway::ruleset::ImageResults;
use crate::js::{Object, Value};
use crate::policy::prune::soft_trimmed_message;
use crate::units::Chars;
use proptest::prelude::*;

/// Returns the pruner's version of a result with this text.
fn trimmed(text: &str, head_chars: f64, tail_chars: f64) -> Option<String> {
    let mut block = Object::default();
    block.set("type", Value::from("text"));
    block.set("text", Value::from(text));
    let mut message = Object::default();
    message.set("content", Value::Array(vec![Value::Object(block)]));
    let settings = SoftTrim {
        max_chars: Chars(0.0),
        head_chars: Chars(head_chars),
        tail_chars: Chars(tail_chars),
        images: ImageResults::Skipped,
    };
    let after = soft_trimmed_message(&Value::Object(message), &settings).expect("a string")?;
    Some(after.get("content")?.as_array()?.first()?.get("text")?.as_str()?.to_string_lossy())
}

/// Renders rows as text: number, sign and line of both sides, `[…]` around the removed part of a line.
fn drawn(before: &str, after: &str, unfold: bool) -> Vec<String> {
    let side = |text: &str, side: &Option<DiffLine>| {
        let Some(side) = side else { return "//".to_owned() };
        let sign = match side.change {
            LineChange::Kept => ' ',
            LineChange::Removed => '-',
            LineChange::Added => '+',
        };
        let mut line = text[side.text.clone()].to_owned();
        if !side.removed_range.is_empty() {
            line.insert(side.removed_range.end, ']');
            line.insert(side.removed_range.start, '[');
        }
        let cut = side.cut_after_chars.map(|chars| format!("|cut {}", chars.get())).unwrap_or_default();
        format!("{}{sign}{line}{cut}", side.number.map(|number| number.to_string()).unwrap_or_default())
    };
    diff_rows(before, after, unfold)
        .iter()
        .map(|row| match row {
            DiffRow::Lines { left, right } => format!("{} | {}", side(before, left), side(after, right)),
            DiffRow::Fold { lines } => format!("... {lines}"),
        })
        .collect()
}

#[test]
fn the_diff_of_a_soft_trim_shows_the_cut_the_removed_and_the_added_lines() {
    let before = "one\ntwo\nthree\nfour\nfive";
    let after = trimmed(before, 6.0, 6.0).expect("longer than head and tail");
    assert_eq!(
        drawn(before, &after, false),
        [
            "1 one | 1 one",
            "2 tw[o] | 2 tw|cut 6",
            "3-three | +...",
            "4 [fou]r | 4 r",
            "5 five | 5 five",
            "// | +",
            "// | +[Tool result trimmed: kept first 6 chars and last 6 chars of 23 chars.]",
        ]
    );
}

#[test]
fn a_cut_at_a_line_end_or_start_keeps_whole_lines_whole() {
    let before = "one\ntwo\nthree";
    let after = trimmed(before, 4.0, 5.0).expect("trimmed");
    let rows = drawn(before, &after, false);
    assert_eq!(
        rows[..4],
        ["1 one | 1 one", "2-two | |cut 4".replace("| |", "|  |").as_str(), "// | +...", "3 three | 3 three"]
    );
    let after = trimmed(before, 3.0, 0.0).expect("trimmed");
    assert_eq!(drawn(before, &after, false)[0], "1 one | 1 one|cut 3");
}

#[test]
fn one_long_line_is_cut_twice() {
    let after = trimmed("abcdefghij", 2.0, 3.0).expect("trimmed");
    assert_eq!(
        drawn("abcdefghij", &after, false)[..3],
        ["1 ab[cdefg]hij | 1 ab|cut 2", "// | +...", "// | 1 hij"]
    );
}

#[test]
fn a_cut_through_a_surrogate_pair_is_still_a_soft_trim() {
    let before = "a😀bcdefgh😀z";
    let after = trimmed(before, 2.0, 2.0).expect("trimmed");
    let cut = parse_soft_trim(before, &after).expect("recognised");
    assert_eq!((cut.head_end, &before[cut.tail_start..], cut.removed_chars), (1, "z", Chars(9.0)));
}

#[test]
fn long_runs_fold_in_the_middle_and_unfold() {
    let before: Vec<String> = (1..=30).map(|at| format!("line {at}")).collect();
    let before = before.join("\n");
    let after = trimmed(&before, 6.0, 7.0).expect("trimmed");
    let folded = drawn(&before, &after, false);
    assert_eq!(folded[6], "... 22");
    assert_eq!(folded[7], "29-line 29 | //");
    assert_eq!(drawn(&before, &after, true).len(), 32);
}

#[test]
fn a_cleared_text_is_replaced_by_its_placeholder() {
    let after = "[Old tool result content cleared]";
    assert_eq!(drawn("a\nb", after, false), [format!("1-a | +{after}"), "2-b | //".into()]);
}

#[test]
fn any_other_change_is_found_line_by_line() {
    assert_eq!(drawn("a\nb\nc", "a\nx\nc", false), ["1 a | 1 a", "2-b | +x", "3 c | 3 c"]);
    assert_eq!(drawn("a\nc", "a\nb\nc", false), ["1 a | 1 a", "// | +b", "2 c | 2 c"]);
    assert_eq!(drawn("same", "same", false), ["1 same | 1 same"]);
}

#[test]
fn a_text_with_a_false_trim_note_is_compared_line_by_line() {
    let fake = "other\n...\ntext\n\n[Tool result trimmed: kept first 2 chars and last 2 chars of 4 chars.]";
    assert_eq!(parse_soft_trim("abcd", fake), None);
    assert_eq!(parse_soft_trim("abcd", "[Tool result trimmed: kept first"), None);
    assert_eq!(
        parse_soft_trim("", "\n\n[Tool result trimmed: kept first 9 chars and last 9 chars of 0 chars.]"),
        None
    );
}

#[test]
fn two_large_texts_without_a_line_in_common_do_not_take_long() {
    let text = |word: &str| {
        let lines: Vec<String> = (0..50_000).map(|at| format!("{word}{at}")).collect();
        lines.join("\n") + "\n"
    };
    let rows = diff_rows(&text("a"), &text("b"), true);
    assert_eq!(rows.len(), 50_001, "both end with an empty line");
}

proptest! {
    #[test]
    fn the_left_side_is_the_text_before_and_the_right_side_the_text_after(
        before in "[ab😀\n]{0,60}", head in 0_u8..20, tail in 0_u8..20, other in "[ab\n]{0,20}"
    ) {
        let after = trimmed(&before, head.into(), tail.into()).unwrap_or(other);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for row in diff_rows(&before, &after, true) {
            if let DiffRow::Lines { left: one, right: two } = row {
                left.extend(one.map(|side| before[side.text].to_owned()));
                right.extend(two.map(|side| after[side.text].to_owned()));
            }
        }
        prop_assert_eq!(left.join("\n"), before);
        let split = char::REPLACEMENT_CHARACTER.to_string();
        prop_assert_eq!(right.join("\n").replace(&split, ""), after.replace(&split, ""));
    }
}
