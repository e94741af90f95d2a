//! Prepares a compaction up to its summary, under the settings in force (compaction 2.2, 2.5, 2.18, 5.6).
//!
//! Everything the gateway would send is built here, so that its calls can be predicted and any summarizer can run them.

pub mod job;

use std::collections::HashMap;
use std::path::Path;

use crate::context::{bodies, entries_since_reset};
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::ruleset::{Estimate, Rules};
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::policy::compact::history_share::DEFAULT_HISTORY_SHARE;
use crate::policy::compact::{
    BranchEntry, CompactionInput, Identifiers, NoSummary, PredictedCalls, Preparation, PreviousCompaction,
    SummaryMode, SummarySpec, branch_entries_for_runtime, predict_calls, weighted_tokens,
};
use crate::session::LoadedSession;
use crate::session::assumed_summary::AssumedSummary;
use crate::store::body::{self, BodyError};
use crate::store::entry::EntryKind;
use crate::summarize::workspace_rules;
use crate::units::{Chars, Moment, Tokens};

/// A compaction that lacks only its summary.
#[derive(Debug, Clone)]
pub struct PreparedCompaction {
    /// The cut of the branch.
    pub preparation: Preparation,
    /// The texts to summarise and the rules for that.
    pub job: SummarySpec,
    /// Assumed tokens of the summary, from the session's earlier ones.
    pub assumed_tokens: Tokens,
}

/// The reason that there is nothing to summarise; the first two are the answers of `/compact` (compaction 2.18).
#[derive(Debug, thiserror::Error)]
pub enum NotCompactable {
    #[error("Already compacted: the branch ends with a compaction")]
    AlreadyCompacted,
    /// No entry precedes the kept part.
    #[error("Nothing to compact (session too small): the branch has no entry to cut at")]
    NothingToSummarize,
    /// The runtime throws when it prepares the compaction.
    #[error("the runtime fails to prepare a compaction: it cannot read the shape of a message")]
    PreparationThrows,
    /// A text cannot be read back.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// The summary settings of `agents.defaults.compaction` (compaction 2.5, 2.6).
#[derive(Debug, Clone, PartialEq)]
pub struct SummarySettings {
    pub mode: SummaryMode,
    /// Share of the window that the history may take.
    pub history_share: f64,
    pub identifiers: Identifiers,
}

impl SummarySettings {
    /// Reads a gateway's configuration and fills in defaults. A version that never installs its safeguard summarises as
    /// its runtime does (compaction 12, row "Safeguard active?").
    pub fn from_config(rules: &Rules, config: &Value) -> Self {
        let raw = config.get("agents").and_then(|agents| agents.get("defaults")?.get("compaction"));
        let key = |key: &str| raw.and_then(|raw| raw.get(key));
        let is = |name: &str, word: &str| key(name).is_some_and(|value| value.str_is(word));
        let own = || key("identifierInstructions").and_then(Value::as_str).cloned().unwrap_or_default();
        Self {
            mode: if rules.safeguard && is("mode", "safeguard") {
                SummaryMode::Safeguard
            } else {
                SummaryMode::Default
            },
            history_share: key("maxHistoryShare").and_then(Value::as_f64).unwrap_or(DEFAULT_HISTORY_SHARE),
            identifiers: match () {
                () if is("identifierPolicy", "off") => Identifiers::Off,
                () if is("identifierPolicy", "custom") => Identifiers::Custom(own()),
                () => Identifiers::Strict,
            },
        }
    }
}

impl PreparedCompaction {
    /// Prepares a compaction at the leaf in view. `settings` gives reserve and kept part; `now_ms` is the timestamp of
    /// stubs for missing results (compaction 6.3). The workspace rules are read from the folder that the transcript
    /// names.
    pub fn new(
        session: &LoadedSession,
        settings: CompactionSettings,
        summary: SummarySettings,
        instructions: Option<&str>,
        now_ms: Moment,
    ) -> Result<Self, NotCompactable> {
        let read = |ix: EntryIx| body::read_entry(&session.source, &session.index, ix);
        let path = session.tree.branch(&session.index, &session.leaf);
        let path = entries_since_reset(&session.index, &session.tree, &path);
        let branch = branch_entries_for_runtime(&session.index, &path, read)?;
        let prepared = prepare(session, &branch, settings.keep_recent_tokens)?;
        let preparation = prepared.ok_or_else(|| not_compactable_reason(&branch))?;
        let workspace = session.index.header.as_ref().and_then(|header| header.cwd.as_deref());
        let rules = match (summary.mode, workspace) {
            (SummaryMode::Safeguard, Some(folder)) => workspace_rules(Path::new(folder)),
            _ => JsString::new(),
        };
        let job = SummarySpec {
            texts: preparation.read_texts(&branch, read)?,
            mode: summary.mode,
            window: session.window.tokens,
            history_share: summary.history_share,
            reserve_tokens: settings.reserve_tokens,
            tokens_before: preparation.tokens_before,
            identifiers: summary.identifiers,
            instructions: instructions.map(JsString::from),
            rules_section: rules,
            now_ms,
        };
        let assumed_tokens =
            AssumedSummary::new(&earlier_summary_chars(&branch), settings.reserve_tokens).tokens;
        Ok(Self { preparation, job, assumed_tokens })
    }

    /// Predicts the calls that the gateway itself would make if each succeeds.
    pub fn gateway_calls(&self) -> Result<PredictedCalls, NoSummary> {
        predict_calls(&self.job, self.assumed_tokens)
    }
}

/// Cuts the branch under the session's ruleset.
fn prepare(
    session: &LoadedSession,
    branch: &[BranchEntry],
    keep_tokens: Tokens,
) -> Result<Option<Preparation>, NotCompactable> {
    let LoadedSession { source, index, context, .. } = session;
    let rules = session.ruleset.id.rules();
    let before = PreviousCompaction::read(index, branch, |ix| body::read_entry(source, index, ix))?;
    let mut tokens = HashMap::new();
    for message in context.messages.iter().filter(|_| rules.estimate != Estimate::Units) {
        let body = bodies::read_message(source, index, message)?;
        tokens.extend(weighted_tokens(rules, &body).map(|weighted| (message.entry, weighted)));
    }
    let compacting = CompactionInput { branch, previous: &before, weighted_tokens: &tokens };
    compacting.prepare(rules, keep_tokens).map_err(|_| NotCompactable::PreparationThrows)
}

fn not_compactable_reason(branch: &[BranchEntry]) -> NotCompactable {
    let ended = branch.last().is_some_and(|entry| entry.kind == EntryKind::Compaction);
    if ended { NotCompactable::AlreadyCompacted } else { NotCompactable::NothingToSummarize }
}

fn earlier_summary_chars(branch: &[BranchEntry]) -> Vec<Chars> {
    let summaries = branch.iter().filter(|entry| entry.kind == EntryKind::Compaction);
    summaries
        .filter_map(|entry| entry.message)
        .map(|size| size.pi_chars.whole_chars())
        .filter(|chars| *chars > Chars::ZERO)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js;

    fn settings(compaction: &str) -> SummarySettings {
        let text = format!(r#"{{"agents":{{"defaults":{{"compaction":{compaction}}}}}}}"#);
        SummarySettings::from_config(Ruleset::V2026_3_2.rules(), &js::parse(&text).unwrap())
    }

    #[test]
    fn only_the_mode_safeguard_enables_the_safeguard() {
        assert_eq!(settings(r#"{"mode":"safeguard"}"#).mode, SummaryMode::Safeguard);
        for other in ["{}", r#"{"mode":"default"}"#, r#"{"mode":true}"#] {
            assert_eq!(settings(other).mode, SummaryMode::Default, "{other}");
        }
        assert_eq!(SummarySettings::from_config(Ruleset::V2026_3_2.rules(), &Value::Null).history_share, 0.5);
        let on = js::parse(r#"{"agents":{"defaults":{"compaction":{"mode":"safeguard"}}}}"#).unwrap();
        assert_eq!(SummarySettings::from_config(Ruleset::V2026_2_17.rules(), &on).mode, SummaryMode::Default);
    }

    #[test]
    fn share_and_identifiers_are_the_configured_ones() {
        assert_eq!(settings(r#"{"maxHistoryShare":0.3}"#).history_share, 0.3);
        assert_eq!(settings("{}").identifiers, Identifiers::Strict);
        assert_eq!(settings(r#"{"identifierPolicy":"off"}"#).identifiers, Identifiers::Off);
        let custom = settings(r#"{"identifierPolicy":"custom","identifierInstructions":"ids"}"#).identifiers;
        assert_eq!(custom, Identifiers::Custom("ids".into()));
    }
}
