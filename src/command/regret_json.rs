//! The JSON of `clawscope regret`.

use schemars::JsonSchema;
use serde::Serialize;

use super::session_output::{SessionJson, rounded, session_json};
use crate::export::json::JsonOutput;
use crate::redact::masked;
use crate::report::regret::json::RegretTotalsJson;
use crate::report::regret::{LostMessage, Need, Regret};
use crate::report::summary_audit::{AuditedFact, FactState, SummaryAudit};
use crate::session::LoadedSession;

/// Lost messages and their later needs, as recorded and under other settings.
#[derive(Serialize, JsonSchema)]
pub(super) struct RegretJson {
    session: SessionJson,
    recorded: TraceRegretJson,
    /// Null without other settings.
    simulated: Option<TraceRegretJson>,
    /// The recorded summaries of the branch, and what they kept of the messages that they replace.
    summaries: Vec<SummaryAuditJson>,
}

impl JsonOutput for RegretJson {}

#[derive(Serialize, JsonSchema)]
struct TraceRegretJson {
    /// Calls of the branch.
    calls: usize,
    totals: RegretTotalsJson,
    /// Messages that a prompt lacked, in the order of the calls.
    lost: Vec<LostMessageJson>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LostMessageJson {
    entry: String,
    /// The tool of a result.
    tool: Option<String>,
    /// summarised, dropped, pruned, cleared, guarded, result-budget, rewritten or several-policies.
    cause: &'static str,
    /// Number of the first call without it, from 1.
    from_call: usize,
    /// Number of the first call that has it again.
    until_call: Option<usize>,
    /// Estimated tokens of the whole message.
    tokens_before: Option<f64>,
    /// Estimated tokens of what was left.
    tokens_after: Option<f64>,
    needs: Vec<NeedJson>,
}

#[derive(Serialize, JsonSchema)]
struct NeedJson {
    /// fetched-again, quoted or asked-again.
    kind: &'static str,
    /// The answer or question that needed it.
    entry: String,
    /// Number of the call, from 1.
    call: usize,
    /// Calls since the first one without the message.
    distance: usize,
    /// Estimated tokens of the repetition.
    tokens: Option<f64>,
    /// List price of the repetition, USD.
    cost: Option<f64>,
    /// The identifier, or the arguments of the repeated call; secrets are masked.
    evidence: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SummaryAuditJson {
    /// The compaction.
    entry: String,
    /// Messages that it replaces.
    messages: usize,
    kept: usize,
    stale: usize,
    lost: usize,
    /// Lost or stale facts that were used later.
    used_later: usize,
    facts: Vec<AuditedFactJson>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AuditedFactJson {
    /// constraint, decision, error, path, id, number or date.
    kind: &'static str,
    /// The fact; secrets are masked.
    text: String,
    /// The name before it.
    name: Option<String>,
    /// kept, in-kept-messages, stale or lost.
    state: &'static str,
    /// The older value in the summary.
    stale_value: Option<String>,
    /// The last message that has it.
    source: String,
    /// The first later message that uses it although no message of the prompt had it.
    used_later: Option<String>,
}

fn audit_json(session: &LoadedSession, audit: &SummaryAudit) -> SummaryAuditJson {
    let totals = audit.totals();
    let fact = |fact: &AuditedFact| AuditedFactJson {
        kind: fact.kind.as_str(),
        text: masked(&fact.text).into_owned(),
        name: fact.name.clone(),
        state: fact.state.as_str(),
        stale_value: match &fact.state {
            FactState::Stale { summary } => Some(masked(summary).into_owned()),
            _ => None,
        },
        source: session.index.display_id(fact.source),
        used_later: fact.used_later.map(|entry| session.index.display_id(entry)),
    };
    SummaryAuditJson {
        entry: session.index.display_id(audit.entry),
        messages: audit.messages,
        kept: totals.kept,
        stale: totals.stale,
        lost: totals.lost,
        used_later: totals.used_later,
        facts: audit.facts.iter().map(fact).collect(),
    }
}

pub(super) fn report_json(
    session: &LoadedSession,
    recorded: &Regret,
    other: Option<&Regret>,
    audits: &[SummaryAudit],
) -> RegretJson {
    RegretJson {
        session: session_json(&session.item),
        recorded: trace_json(session, recorded),
        simulated: other.map(|other| trace_json(session, other)),
        summaries: audits.iter().map(|audit| audit_json(session, audit)).collect(),
    }
}

fn trace_json(session: &LoadedSession, regret: &Regret) -> TraceRegretJson {
    TraceRegretJson {
        calls: regret.calls,
        totals: RegretTotalsJson::new(&regret.totals()),
        lost: regret.lost.iter().map(|lost| lost_json(session, lost)).collect(),
    }
}

pub(super) fn lost_json(session: &LoadedSession, lost: &LostMessage) -> LostMessageJson {
    let need = |need: &Need| NeedJson {
        kind: need.kind.as_str(),
        entry: session.index.display_id(need.entry),
        call: need.call + 1,
        distance: need.distance,
        tokens: rounded(need.tokens),
        cost: need.cost,
        evidence: masked(&need.evidence).into_owned(),
    };
    let loss = &lost.loss;
    LostMessageJson {
        entry: session.index.display_id(loss.entry),
        tool: lost.tool.clone(),
        cause: loss.cause.as_str(),
        from_call: loss.from_call + 1,
        until_call: loss.until_call.map(|call| call + 1),
        tokens_before: rounded(loss.tokens_before),
        tokens_after: rounded(loss.tokens_after),
        needs: lost.needs.iter().map(need).collect(),
    }
}
