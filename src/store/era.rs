//! How a store keeps its sessions: what that tells of the gateway's version (sqlite A7).

use std::path::{Path, PathBuf};

use super::agents::Agent;
use super::shape::Shape;
use crate::gateway::ruleset::Era;

/// The name of an agent's database, below `agents/<id>/agent` (sqlite A1).
const DATABASE: &str = "openclaw-agent.sqlite";

/// The era of a store of this shape, around this state dir.
pub(super) fn era(shape: &Shape, state_dir: &Path, agents: &[Agent]) -> Era {
    match shape {
        Shape::PiAgentDir(_) | Shape::PiSessions(_) => Era::Pi,
        Shape::Database(file) => Era::Database(file.clone()),
        Shape::StateDir(_)
        | Shape::Sessions(_)
        | Shape::Rows(_)
        | Shape::Transcript(_)
        | Shape::Nothing(_) => database_of(state_dir, agents).map_or(Era::Files, Era::Database),
    }
}

/// The first database that an agent has. Only its name is looked at: it is never opened here.
fn database_of(state_dir: &Path, agents: &[Agent]) -> Option<PathBuf> {
    let paths =
        agents.iter().map(|agent| state_dir.join("agents").join(&agent.id).join("agent").join(DATABASE));
    paths.into_iter().find(|path| path.is_file())
}
