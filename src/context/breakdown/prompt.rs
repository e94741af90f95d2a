//! Splits the prompt before the messages into pieces, from the report of the last run (compaction 11.1–11.3).

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::budget::{Budget, BudgetPart, FixedChars};
use crate::context::build::Context;
use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::ids::EntryIx;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::prompt_report::{SystemPromptReport, ToolSize};
use crate::units::{Chars, serialize_whole};

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct PromptPiece {
    /// Chars, limited to those that earlier pieces left of the whole.
    #[serde(serialize_with = "serialize_whole")]
    #[schemars(with = "u64")]
    pub chars: Chars,
    /// Its share of the part's tokens.
    pub tokens: u64,
}

/// The parts before the messages. Lists keep the report's order; each group adds up to its part of the bar.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptParts {
    /// All skills, part of the system prompt.
    pub skills: PromptPiece,
    /// The list of tools, part of the system prompt.
    pub tool_list: PromptPiece,
    /// The rest of the system prompt: instructions, safety, runtime, date.
    pub instructions: PromptPiece,
    /// Each skill, part of `skills`.
    pub skill_pieces: Vec<PromptPiece>,
    /// The text around the skills.
    pub skills_overhead: PromptPiece,
    /// Each workspace file.
    pub file_pieces: Vec<PromptPiece>,
    /// The headings around the files.
    pub files_overhead: PromptPiece,
    /// The schema of each tool.
    pub schema_pieces: Vec<PromptPiece>,
    /// Schemas without a tool in the list.
    pub other_schemas: PromptPiece,
    /// Descriptions of the tools. They are sent with the schemas, but neither the gateway nor the bar counts them.
    pub descriptions: PromptPiece,
}

impl PromptParts {
    /// Splits the parts of a budget by the sizes in its report.
    pub fn new(report: &SystemPromptReport, budget: &Budget) -> Self {
        let fixed = FixedChars::new(report);
        let own = fixed.system - fixed.files;
        let (parts, instructions) = split_pieces(
            budget.tokens(BudgetPart::System),
            own,
            [report.skills_chars, report.tool_list_chars].into_iter(),
        );
        let (skills, tool_list) = (parts[0], parts[1]);
        let blocks = report.skills.iter().map(|skill| skill.chars);
        let (skill_pieces, skills_overhead) = split_pieces(skills.tokens, skills.chars, blocks);
        let files = report.files.iter().map(|file| file.injected_chars);
        let (file_pieces, files_overhead) =
            split_pieces(budget.tokens(BudgetPart::Files), fixed.files, files);
        let schemas = report.tools.iter().map(|tool: &ToolSize| tool.schema_chars);
        let (schema_pieces, other_schemas) =
            split_pieces(budget.tokens(BudgetPart::Tools), fixed.tools, schemas);
        let descriptions = report.description_chars();
        Self {
            skills,
            tool_list,
            instructions,
            skill_pieces,
            skills_overhead,
            file_pieces,
            files_overhead,
            schema_pieces,
            other_schemas,
            descriptions: PromptPiece { chars: descriptions, tokens: estimate_chars(descriptions) },
        }
    }
}

/// Returns the pieces of a whole and the remainder. No piece exceeds the chars that earlier ones left.
fn split_pieces(
    tokens: u64,
    whole: Chars,
    chars: impl Iterator<Item = Chars>,
) -> (Vec<PromptPiece>, PromptPiece) {
    let mut left = whole;
    let mut chars: Vec<Chars> = chars
        .map(|piece| {
            let piece = piece.min(left);
            left -= piece;
            piece
        })
        .collect();
    chars.push(left);
    let shares = share_tokens(tokens, &chars);
    let mut pieces: Vec<PromptPiece> =
        chars.into_iter().zip(shares).map(|(chars, tokens)| PromptPiece { chars, tokens }).collect();
    let rest = pieces.pop().unwrap_or_default();
    (pieces, rest)
}

/// Shares `total` tokens among pieces with these chars. If `total` is the estimate of all chars, a piece ends at the
/// rounded-up sum of all chars up to and including it; a total on another scale is shared in proportion. The remainder
/// goes to the last piece with chars, or to the first piece if none has any. The shares add up to `total`; without
/// pieces the list is empty.
pub fn share_tokens(total: u64, chars: &[Chars]) -> Vec<u64> {
    let mut shares = Vec::with_capacity(chars.len());
    let all = chars.iter().fold(Chars::ZERO, |sum, piece| sum + *piece);
    // Thinking is rounded down, so the rest of its message may have one more.
    let is_estimate = estimate_chars(all).abs_diff(total) <= 1;
    let (mut sum, mut given) = (Chars::ZERO, 0_u64);
    for piece in chars {
        sum += *piece;
        let end = if is_estimate {
            estimate_chars(sum)
        } else {
            (sum.get() / all.get().max(1.0) * total as f64).round() as u64
        };
        let end = end.min(total);
        shares.push(end - given);
        given = end;
    }
    let last = chars.iter().rposition(|piece| *piece > Chars::ZERO).unwrap_or(0);
    if let Some(share) = shares.get_mut(last) {
        *share += total - given;
    }
    shares
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessageSum {
    pub messages: u64,
    pub tokens: u64,
}

/// The share of a session that is in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WindowHistory {
    /// Messages in the context of the leaf, including summaries.
    #[serde(rename = "window")]
    pub live: MessageSum,
    /// Every message from the root to the leaf, including compacted ones but not the compactions' summaries.
    pub path: MessageSum,
    /// Every message of the file, including other branches.
    pub file: MessageSum,
    /// Compactions on the path.
    pub compactions: u64,
}

impl WindowHistory {
    pub fn new(index: &Index, context: &Context) -> Self {
        let live = context.messages.iter().fold(MessageSum::default(), |sum, message| MessageSum {
            messages: sum.messages + 1,
            tokens: sum.tokens + estimate_or_zero(&message.size),
        });
        let compactions = context.path.iter().filter(|ix| index.entry(**ix).kind == EntryKind::Compaction);
        Self {
            live,
            path: sum_messages(index, context.path.iter().copied()),
            file: sum_messages(index, index.iter().map(|(ix, _)| ix)),
            compactions: compactions.count() as u64,
        }
    }
}

fn sum_messages(index: &Index, entries: impl Iterator<Item = EntryIx>) -> MessageSum {
    let sizes =
        entries.filter(|ix| index.entry(*ix).becomes_message()).filter_map(|ix| index.entry(ix).message);
    sizes.fold(MessageSum::default(), |sum, size| MessageSum {
        messages: sum.messages + 1,
        tokens: sum.tokens + estimate_or_zero(&size),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_claim_too_much_share_the_remaining_chars() {
        let (pieces, rest) = split_pieces(25, Chars(100.0), [60.0, 70.0, 5.0].map(Chars).into_iter());
        let chars: Vec<Chars> = pieces.iter().map(|piece| piece.chars).collect();
        assert_eq!((chars, rest), (vec![Chars(60.0), Chars(40.0), Chars::ZERO], PromptPiece::default()));
        assert_eq!(pieces.iter().map(|piece| piece.tokens).sum::<u64>(), 25);
    }
}

#[cfg(test)]
mod share_tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(total: u64, chars: &[u32]) -> Vec<u64> {
        share_tokens(total, &chars.iter().map(|chars| Chars::from(*chars)).collect::<Vec<Chars>>())
    }

    #[test]
    fn pieces_are_rounded_where_they_end_and_add_up() {
        // 10 + 3 + 2 chars are 4 tokens; rounding each piece up would give 5.
        assert_eq!(shares(4, &[10, 3, 2]), [3, 1, 0]);
        assert_eq!(shares(7, &[0, 5, 0]), [0, 7, 0]);
        assert_eq!(shares(1, &[0, 0]), [1, 0]);
        assert_eq!(shares(1, &[400, 400]), [1, 0]);
        assert_eq!(shares(9, &[]), Vec::<u64>::new());
    }

    #[test]
    fn a_total_on_another_scale_is_shared_in_proportion() {
        assert_eq!(shares(200, &[100, 300]), [50, 150]);
        assert_eq!(shares(40, &[100, 300]), [10, 30]);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_whole(total in 0_u64..10_000, chars in proptest::collection::vec(0_u32..5_000, 1..20)) {
            prop_assert_eq!(shares(total, &chars).iter().sum::<u64>(), total);
        }

        #[test]
        fn with_all_chars_present_no_piece_is_off_by_more_than_one(chars in proptest::collection::vec(0_u32..5_000, 1..20)) {
            let total = estimate_chars(Chars::from(chars.iter().sum::<u32>()));
            for (piece, tokens) in chars.iter().zip(shares(total, &chars)) {
                prop_assert!(tokens.abs_diff(estimate_chars(Chars::from(*piece))) <= 1);
            }
        }
    }
}
