//! Splits the prompt before the messages into pieces, from the report of the last run (compaction 11.1–11.3).

use schemars::JsonSchema;
use serde::Serialize;

use super::share_tokens;
use crate::context::budget::{Budget, BudgetPart, FixedChars};
use crate::context::tokens::chars4::estimate_chars;
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
