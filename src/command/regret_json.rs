//! The JSON of `clawscope regret`.

use schemars::JsonSchema;
use serde::Serialize;

use super::session_output::{SessionJson, rounded, session_json};
use crate::export::json::JsonOutput;
use crate::redact::masked;
use crate::report::regret::{LostMessage, Need, Regret};
use crate::session::LoadedSession;

/// Lost messages and their later needs, as recorded and under other settings.
#[derive(Serialize, JsonSchema)]
pub(super) struct RegretJson {
    session: SessionJson,
    recorded: TraceRegretJson,
    /// Null without other settings.
    simulated: Option<TraceRegretJson>,
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
struct RegretTotalsJson {
    lost: usize,
    /// Estimated tokens that were gone.
    lost_tokens: Option<f64>,
    /// Lost messages that were needed again.
    needed: usize,
    fetched_again: usize,
    quoted: usize,
    asked_again: usize,
    /// Estimated tokens of all repetitions.
    tokens: Option<f64>,
    /// List price of all repetitions, USD.
    cost: Option<f64>,
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

pub(super) fn report_json(session: &LoadedSession, recorded: &Regret, other: Option<&Regret>) -> RegretJson {
    RegretJson {
        session: session_json(&session.item),
        recorded: trace_json(session, recorded),
        simulated: other.map(|other| trace_json(session, other)),
    }
}

fn trace_json(session: &LoadedSession, regret: &Regret) -> TraceRegretJson {
    let totals = regret.totals();
    TraceRegretJson {
        calls: regret.calls,
        totals: RegretTotalsJson {
            lost: totals.lost,
            lost_tokens: rounded(totals.lost_tokens),
            needed: totals.needed,
            fetched_again: totals.fetched_again,
            quoted: totals.quoted,
            asked_again: totals.asked_again,
            tokens: rounded(totals.tokens),
            cost: totals.cost,
        },
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
