//! The members that begin every answer about a session.

use schemars::JsonSchema;
use serde::Serialize;

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

/// Returns a number that JSON can hold; `None` for NaN and infinities, which mean "unknown" or "no limit".
pub fn finite<N: Copy + Into<f64>>(number: N) -> Option<N> {
    number.into().is_finite().then_some(number)
}

/// Returns whole tokens; `None` if they are unknown.
pub fn rounded(tokens: Tokens) -> Option<Tokens> {
    finite(tokens.round())
}
