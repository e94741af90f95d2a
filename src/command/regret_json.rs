//! The JSON of `clawscope replay --lost`.

use std::cell::Cell;

use schemars::JsonSchema;
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use super::session_output::{SessionJson, rounded, session_json};
use crate::export::json::JsonOutput;
use crate::redact::masked;
use crate::report::regret::{LostMessage, Need, Regret, RegretTotals};
use crate::report::summary_audit::{AuditedFact, FactState, SummaryAudit, summary_audits};
use crate::session::LoadedSession;
use crate::session::message_texts::MaskedQuotes;
use crate::store::body::BodyError;
use crate::units::Tokens;

/// Lost messages and their later needs, as recorded and under other settings.
#[derive(Serialize, JsonSchema)]
pub(super) struct RegretJson<'a> {
    session: SessionJson,
    recorded: TraceRegretJson<'a>,
    /// Null without other settings.
    simulated: Option<TraceRegretJson<'a>>,
    /// The recorded summaries of the branch, and the facts that they kept of the replaced messages.
    #[schemars(with = "Vec<SummaryAuditJson>")]
    summaries: AuditsJson<'a>,
}

impl JsonOutput for RegretJson<'_> {}

impl RegretJson<'_> {
    /// Checks that all texts could be read while the answer was written.
    ///
    /// # Errors
    /// When an entry could not be read again: the answer is incomplete.
    pub(super) fn check_texts(&self) -> Result<(), BodyError> {
        self.summaries.unread.take().map_or(Ok(()), Err)
    }
}

/// The audits of a session, each made when it is written.
struct AuditsJson<'a> {
    session: &'a LoadedSession,
    quotes: &'a MaskedQuotes<'a>,
    /// The reason that an audit could not be made.
    unread: Cell<Option<BodyError>>,
}

impl Serialize for AuditsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for audit in summary_audits(self.session) {
            let audit = audit.map_err(|error| {
                let message = S::Error::custom(&error);
                self.unread.set(Some(error));
                message
            })?;
            list.serialize_element(&audit_json(self.session, self.quotes, &audit))?;
        }
        list.end()
    }
}

/// A list whose items are made while they are written: a long session has hundreds of thousands, with their texts.
struct JsonList<'a, T, J> {
    items: &'a [T],
    make: Box<dyn Fn(&T) -> J + 'a>,
}

impl<T, J: Serialize> Serialize for JsonList<'_, T, J> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(&self.make))
    }
}

#[derive(Serialize, JsonSchema)]
struct TraceRegretJson<'a> {
    /// Calls of the branch.
    calls: usize,
    totals: RegretTotals,
    /// Messages that a prompt lacked, in the order of the calls.
    #[schemars(with = "Vec<LostMessageJson>")]
    lost: JsonList<'a, LostMessage, LostMessageJson>,
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
    tokens_before: Option<Tokens>,
    /// Estimated tokens of the rest.
    tokens_after: Option<Tokens>,
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
    tokens: Option<Tokens>,
    /// List price of the repetition, USD.
    cost: Option<f64>,
    /// The identifier, or the arguments of the repeated call; secrets are masked.
    evidence: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SummaryAuditJson<'a> {
    /// The compaction.
    entry: String,
    /// Messages that it replaces.
    messages: usize,
    kept: usize,
    stale: usize,
    lost: usize,
    /// Lost or stale facts that were used later.
    used_later: usize,
    #[schemars(with = "Vec<AuditedFactJson>")]
    facts: JsonList<'a, AuditedFact, AuditedFactJson>,
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

fn audit_json<'a>(
    session: &'a LoadedSession,
    quotes: &'a MaskedQuotes<'a>,
    audit: &'a SummaryAudit,
) -> SummaryAuditJson<'a> {
    let totals = audit.totals();
    let fact = move |fact: &AuditedFact| AuditedFactJson {
        kind: fact.kind.as_str(),
        text: quotes.masked(fact.source, &fact.text).into_owned(),
        name: fact.name.clone(),
        state: fact.state.as_str(),
        stale_value: match &fact.state {
            FactState::Stale { summary } => Some(quotes.masked(audit.entry, summary).into_owned()),
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
        facts: JsonList { items: &audit.facts, make: Box::new(fact) },
    }
}

pub(super) fn report_json<'a>(
    session: &'a LoadedSession,
    quotes: &'a MaskedQuotes<'a>,
    recorded: &'a Regret,
    other: Option<&'a Regret>,
) -> RegretJson<'a> {
    RegretJson {
        session: session_json(&session.item),
        recorded: trace_json(session, quotes, recorded),
        simulated: other.map(|other| trace_json(session, quotes, other)),
        summaries: AuditsJson { session, quotes, unread: Cell::new(None) },
    }
}

fn trace_json<'a>(
    session: &'a LoadedSession,
    quotes: &'a MaskedQuotes<'a>,
    regret: &'a Regret,
) -> TraceRegretJson<'a> {
    TraceRegretJson {
        calls: regret.calls,
        totals: regret.totals(),
        lost: JsonList { items: &regret.lost, make: Box::new(move |lost| lost_json(session, quotes, lost)) },
    }
}

pub(super) fn lost_json(
    session: &LoadedSession,
    quotes: &MaskedQuotes<'_>,
    lost: &LostMessage,
) -> LostMessageJson {
    let need = |need: &Need| NeedJson {
        kind: need.kind.as_str(),
        entry: session.index.display_id(need.entry),
        call: need.call + 1,
        distance: need.distance,
        tokens: rounded(need.tokens),
        cost: need.cost,
        evidence: quotes.masked(need.entry, &need.evidence).into_owned(),
    };
    let loss = &lost.loss;
    LostMessageJson {
        entry: session.index.display_id(loss.entry),
        tool: lost.tool.as_deref().map(|tool| masked(tool).into_owned()),
        cause: loss.cause.as_str(),
        from_call: loss.from_call + 1,
        until_call: loss.until_call.map(|call| call + 1),
        tokens_before: rounded(loss.tokens_before),
        tokens_after: rounded(loss.tokens_after),
        needs: lost.needs.iter().map(need).collect(),
    }
}
