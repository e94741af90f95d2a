//! What precedes the messages, piece by piece, from the report of the last run (compaction 11.1–11.3).

use super::share;
use crate::context::budget::{Budget, FixedChars, Part};
use crate::store::prompt_report::{SystemPromptReport, ToolSize};

/// A piece of the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Piece {
    /// Its chars, as far as the whole has room for them.
    pub chars: u64,
    /// Its share of the part's tokens.
    pub tokens: u64,
}

/// The parts before the messages. Each list is in the order of the report; each group adds up to its part of the bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptParts {
    /// Skills, all together; of the system prompt.
    pub skills: Piece,
    /// The list of tools; of the system prompt.
    pub tool_list: Piece,
    /// The rest of the system prompt: instructions, safety, runtime, date.
    pub instructions: Piece,
    /// Each skill, of `skills`.
    pub each_skill: Vec<Piece>,
    /// What stands around the skills.
    pub around_skills: Piece,
    /// Each workspace file.
    pub each_file: Vec<Piece>,
    /// What stands around the files: headings.
    pub around_files: Piece,
    /// Each tool's schema.
    pub each_schema: Vec<Piece>,
    /// Schemas that belong to no tool of the list.
    pub other_schemas: Piece,
    /// Descriptions of the tools. They are sent with the schemas, and neither the gateway nor the bar counts them.
    pub descriptions: Piece,
}

impl PromptParts {
    /// Takes the parts of a budget apart by the sizes of its report.
    pub fn new(report: &SystemPromptReport, budget: &Budget) -> Self {
        let fixed = FixedChars::new(report);
        let own = fixed.system - fixed.files;
        let (parts, instructions) = pieces(
            budget.tokens(Part::System),
            own,
            [report.skills_chars, report.tool_list_chars].into_iter(),
        );
        let (skills, tool_list) = (parts[0], parts[1]);
        let blocks = report.skills.iter().map(|skill| skill.chars);
        let (each_skill, around_skills) = pieces(skills.tokens, skills.chars, blocks);
        let files = report.files.iter().map(|file| file.injected_chars);
        let (each_file, around_files) = pieces(budget.tokens(Part::Files), fixed.files, files);
        let schemas = report.tools.iter().map(|tool: &ToolSize| tool.schema_chars);
        let (each_schema, other_schemas) = pieces(budget.tokens(Part::Tools), fixed.tools, schemas);
        let descriptions = report.description_chars();
        Self {
            skills,
            tool_list,
            instructions,
            each_skill,
            around_skills,
            each_file,
            around_files,
            each_schema,
            other_schemas,
            descriptions: Piece { chars: descriptions, tokens: descriptions.div_ceil(4) },
        }
    }
}

/// Pieces of a whole, and what no piece takes of it. A piece is not larger than what those before it left.
fn pieces(tokens: u64, whole: u64, chars: impl Iterator<Item = u64>) -> (Vec<Piece>, Piece) {
    let mut left = whole;
    let mut chars: Vec<u64> = chars
        .map(|piece| {
            let piece = piece.min(left);
            left -= piece;
            piece
        })
        .collect();
    chars.push(left);
    let shares = share(tokens, &chars);
    let mut pieces: Vec<Piece> =
        chars.into_iter().zip(shares).map(|(chars, tokens)| Piece { chars, tokens }).collect();
    let rest = pieces.pop().unwrap_or_default();
    (pieces, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_claim_more_than_there_is_get_what_is_left() {
        let (pieces, rest) = pieces(25, 100, [60, 70, 5].into_iter());
        let chars: Vec<u64> = pieces.iter().map(|piece| piece.chars).collect();
        assert_eq!((chars, rest), (vec![60, 40, 0], Piece::default()));
        assert_eq!(pieces.iter().map(|piece| piece.tokens).sum::<u64>(), 25);
    }
}
