//! The members that begin every answer about a session.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::budget::{Budget, BudgetPart};
use crate::gateway::ruleset::RulesetChoice;
use crate::session::{Mark, SessionItem};
use crate::units::Tokens;

/// The session that the answer is about.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionJson {
    /// The routing key.
    key: String,
    /// The agent that owns the session.
    agent: String,
    /// The id of the transcript.
    id: String,
    /// The transcript file; null if the session has none.
    path: Option<String>,
    /// Whether a commit to it was broken off.
    unfinished: bool,
}

pub fn session_json(item: &SessionItem) -> SessionJson {
    SessionJson {
        key: item.key.0.clone(),
        agent: item.agent.clone(),
        id: item.id.clone(),
        path: item.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
        unfinished: item.has(Mark::Unfinished),
    }
}

/// The rules that the answer follows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RulesetJson {
    /// The id, for `--ruleset`.
    id: &'static str,
    name: &'static str,
    /// The gateway's release, if known.
    release: Option<String>,
    /// The origin of the choice.
    from: String,
    /// A warning about the choice.
    note: Option<String>,
}

pub fn ruleset_json(chosen: &RulesetChoice) -> RulesetJson {
    RulesetJson {
        id: chosen.id.id(),
        name: chosen.id.display_name(),
        release: chosen.release.clone(),
        from: chosen.provenance_text(),
        note: chosen.note.clone(),
    }
}

/// Estimated tokens of the prompt, by part.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BudgetJson {
    /// System prompt without its workspace files.
    system: u64,
    /// Tool schemas.
    tools: u64,
    /// Workspace files in the system prompt.
    files: u64,
    /// Summaries of compactions and branches.
    summary: u64,
    /// User messages, custom messages of extensions, shell commands.
    you: u64,
    /// Texts and tool calls of the model.
    asst: u64,
    /// Thinking of the model.
    thinking: u64,
    /// Tool results.
    results: u64,
    total: u64,
}

pub fn budget_json(budget: &Budget) -> BudgetJson {
    let [system, tools, files, summary, you, asst, thinking, results] =
        BudgetPart::ALL.map(|part| budget.tokens(part));
    let total = budget.total();
    BudgetJson { system, tools, files, summary, you, asst, thinking, results, total }
}

/// Returns a number that JSON can hold; `None` for NaN and infinities, which mean "unknown" or "no limit".
pub fn finite<N: Copy + Into<f64>>(number: N) -> Option<N> {
    number.into().is_finite().then_some(number)
}

/// Returns whole tokens; `None` if they are unknown.
pub fn rounded(tokens: Tokens) -> Option<Tokens> {
    finite(tokens.round())
}
