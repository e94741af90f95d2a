use std::fmt::Write as _;

use super::*;
use crate::context::budget::{BudgetPart, part_for};
use crate::context::build_context;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::LineIds;
use crate::js;
use crate::store::load::load_bytes;
use crate::transcript::{Leaf, Tree};
use crate::units::Chars;

fn taken(messages: &[&str], report: &str) -> Breakdown {
    let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    for (at, message) in messages.iter().enumerate() {
        let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
        let _ =
            writeln!(text, r#"{{"type":"message","id":"e{at}","parentId":{parent},"message":{message}}}"#);
    }
    let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
    let context = build_context(&index, &Tree::new(&index), &Leaf::Own).unwrap();
    let report = SystemPromptReport::from_value(&js::parse(report).unwrap());
    Breakdown::new(report.as_ref(), &index, &context, |at| estimate_or_zero(&context.messages[at].size))
}

const TURN: [&str; 4] = [
    r#"{"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image","data":"x"}]}"#,
    r#"{"role":"assistant","content":[{"type":"thinking","thinking":"123456"},{"type":"text","text":"12345"},
        {"type":"toolCall","id":"a","name":"exec","arguments":{"command":"ls"}},
        {"type":"toolCall","id":"b","name":"read","arguments":{}}]}"#,
    r#"{"role":"toolResult","toolCallId":"a","toolName":"exec","content":[{"type":"text","text":"0123456789"}],"isError":true}"#,
    r#"{"role":"toolResult","toolCallId":"b","toolName":"read","content":[{"type":"text","text":"ab"},{"type":"image","data":"x"}]}"#,
];

#[test]
fn a_message_is_rounded_once_and_its_pieces_share_that() {
    let turn = taken(&TURN.map(|line| line.replace('\n', " ")).each_ref().map(String::as_str), "null");
    // 6 chars of thinking, 5 of text, 20 of an exec call, 6 of a read call: 37 chars, 10 tokens.
    assert_eq!(turn.role_tally(Role::Assistant), Tally { count: 1, chars: Chars(37.0), tokens: 10 });
    assert_eq!(turn.thinking, Tally { count: 1, chars: Chars(6.0), tokens: 1 });
    assert_eq!(turn.answer_text, Tally { count: 1, chars: Chars(5.0), tokens: 2 });
    let calls: Vec<_> = turn.tools.iter().map(|tool| (tool.name.as_deref().unwrap(), tool.calls)).collect();
    let exec = Tally { count: 1, chars: Chars(20.0), tokens: 5 };
    let read = Tally { count: 1, chars: Chars(6.0), tokens: 2 };
    assert_eq!(calls, [("exec", exec), ("read", read)]);
}

#[test]
fn images_count_in_results_and_are_free_in_user_messages() {
    let turn = taken(&TURN.map(|line| line.replace('\n', " ")).each_ref().map(String::as_str), "null");
    assert_eq!(turn.images, Images { priced: 1, tokens: 1_200, free: 1 });
    assert_eq!((turn.tools[1].images, turn.tools[1].results.tokens), (1, 1_201));
    assert_eq!((turn.tools[0].errors, turn.tools[1].errors), (1, 0));
    assert_eq!(turn.heaviest, [3, 1, 0, 2]);
    assert_eq!(turn.tools.iter().map(|tool| tool.heaviest).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn the_parts_of_the_prompt_add_up_to_the_bar() {
    let whole = taken(
        &[],
        r#"{"systemPrompt":{"chars":1003,"projectContextChars":401},"skills":{"promptChars":99,"entries":[{"name":"a","blockChars":41},{"name":"b","blockChars":33}]},
        "tools":{"listChars":51,"schemaChars":222,"entries":[{"name":"exec","schemaChars":101,"summaryChars":9},{"name":"read","schemaChars":55}]},
        "injectedWorkspaceFiles":[{"name":"A.md","injectedChars":201},{"name":"B.md","injectedChars":101}]}"#,
    );
    let prompt = whole.prompt.unwrap();
    let sum = |pieces: &[PromptPiece], rest: PromptPiece| {
        let all = pieces.iter().chain([&rest]);
        all.fold((Chars::ZERO, 0), |(chars, tokens), piece| (chars + piece.chars, tokens + piece.tokens))
    };
    let system = sum(&[prompt.skills, prompt.tool_list], prompt.instructions);
    assert_eq!(system, (Chars(602.0), whole.budget.tokens(BudgetPart::System)));
    assert_eq!(sum(&prompt.skill_pieces, prompt.skills_overhead), (Chars(99.0), prompt.skills.tokens));
    assert_eq!(
        sum(&prompt.file_pieces, prompt.files_overhead),
        (Chars(401.0), whole.budget.tokens(BudgetPart::Files))
    );
    assert_eq!(
        sum(&prompt.schema_pieces, prompt.other_schemas),
        (Chars(222.0), whole.budget.tokens(BudgetPart::Tools))
    );
    assert_eq!(prompt.descriptions, PromptPiece { chars: Chars(9.0), tokens: 3 });
}

#[test]
fn every_role_belongs_to_one_part_of_the_bar() {
    let odd = taken(
        &[
            r#"{"role":"bashExecution","command":"ls","output":"12345"}"#,
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"a","arguments":{}}]}"#,
            r#"{"role":"toolResult","content":[{"type":"text","text":"123456789"}]}"#,
        ],
        "null",
    );
    for part in [BudgetPart::User, BudgetPart::Results] {
        let roles = odd.roles.iter().filter(|(role, _)| part_for(*role) == part);
        assert_eq!(roles.map(|(_, amount)| amount.tokens).sum::<u64>(), odd.budget.tokens(part));
    }
    // A call without a name cannot be estimated, so neither can its message.
    assert_eq!((odd.tools[0].calls.tokens, odd.tools.len(), odd.tools[0].name.as_deref()), (0, 1, None));
    assert_eq!(odd.tools[0].results.tokens, 3);
}
