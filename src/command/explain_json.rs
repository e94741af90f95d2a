//! JSON of `explain` (schemaVersion 2).

use schemars::JsonSchema;
use serde::Serialize;

use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{SessionJson, finite, rounded, session_json};
use crate::export::json::JsonOutput;
use crate::ids::EntryIx;
use crate::js::{Members, Object};
use crate::policy::preflight::Route;
use crate::redact::masked;
use crate::report::explain::{
    Advice, CallHistory, CallPoint, Culprit, Evidence, Explanation, Facts, Finding, GuardReport, Mechanism,
    Overflow, PromptCount, PromptPart, ReplaySummary,
};
use crate::session::LoadedSession;
use crate::units::{Moment, Tokens};

/// Version 2 gave each of the four questions its own member.
pub(super) const SCHEMA_VERSION: u64 = 2;

/// The causes of an overflow, and the changes that would have prevented it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplanationJson {
    session: SessionJson,
    ruleset: RulesetJson,
    /// How the newest calls ended: `overflow`, `refused`, `silent-cut`, `failing` or `healthy`.
    state: &'static str,
    /// The newest calls, if they were refused or failed for another reason than their size.
    last_calls: Option<LastCallsJson>,
    /// Whether a call overflowed.
    overflow: bool,
    /// Tokens of the next prompt, if a commit made the active branch fit after an overflow.
    fits_since_commit: Option<u64>,
    /// What to do now; null if there is nothing to do.
    next_step: Option<String>,
    /// The overflows, oldest first.
    events: Vec<OverflowJson>,
    verdict: Option<VerdictJson>,
    /// The gateway's own numbers and words, from the session's record.
    gateway: GatewayRecordJson,
    course: CourseJson,
    mechanism: Option<MechanismJson>,
    /// The parts of the prompt that failed, or of the next one.
    parts: Vec<PromptPart>,
    guards: Vec<GuardJson>,
    /// The size of that prompt by everyone who counted it.
    counts: Vec<CountJson>,
    /// Findings about wrong counts.
    mismeasured: Vec<FindingJson>,
    /// Findings about the time after the overflow.
    aftermath: Vec<FindingJson>,
    /// All findings, the verdict first.
    findings: Vec<FindingJson>,
    /// The changes of --set, --settings and --window.
    asked: Option<AdviceJson>,
    /// Changes of settings, the best first.
    advice: Vec<AdviceJson>,
    /// The replay of the recorded settings.
    recorded: Option<ReplayJson>,
    /// Number of settings that were tried.
    tried: usize,
    /// Whether every setting was tried.
    exhausted: bool,
    no_setting_helps: bool,
}

impl JsonOutput for ExplanationJson {
    const VERSION: u64 = SCHEMA_VERSION;
}

/// Calls that all failed with one error since the last answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LastCallsJson {
    /// The class of the error.
    class: &'static str,
    /// Oldest first.
    entries: Vec<String>,
    /// The newest answered call.
    last_answer: Option<String>,
    text: String,
    way_out: String,
    waiting_helps: bool,
    /// The messages that the error is about.
    culprits: Vec<CulpritJson>,
    /// The answer from which a branch without these messages goes on.
    branch_from: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct CulpritJson {
    entry: String,
    what: String,
}

fn last_calls_json(session: &LoadedSession, verdict: &Finding) -> Option<LastCallsJson> {
    let Facts::Unanswered(calls) = &verdict.facts else { return None };
    let culprit =
        |culprit: &Culprit| CulpritJson { entry: culprit.name.clone(), what: culprit.description() };
    Some(LastCallsJson {
        class: calls.class.as_str(),
        entries: calls.calls.iter().map(|ix| session.index.display_id(*ix)).collect(),
        last_answer: calls.last_answer.as_ref().map(|(_, name)| name.clone()),
        text: calls.said.clone(),
        way_out: calls.way_out(),
        waiting_helps: calls.class.waiting_helps(),
        culprits: calls.culprits.iter().map(culprit).collect(),
        branch_from: calls.branch_from.as_ref().map(|(_, name)| name.clone()),
    })
}

/// Class, confidence and line of the first finding.
#[derive(Serialize, JsonSchema)]
pub(super) struct VerdictJson {
    pub(super) class: &'static str,
    pub(super) confidence: &'static str,
    pub(super) line: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GatewayRecordJson {
    /// `contextBudgetStatus`: the check of the last prompt.
    budget: Option<GatewayBudgetJson>,
    /// `lastRunError`: why the last run failed.
    last_run_error: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GatewayBudgetJson {
    /// ms since 1970.
    time: Option<Moment>,
    route: Option<&'static str>,
    /// The gateway's estimate of the prompt in tokens.
    estimate: u64,
    /// Tokens that the estimate may have.
    budget: u64,
    /// Tokens above the budget.
    excess: u64,
    /// The window in tokens that the gateway used.
    window: Option<u64>,
}

fn gateway_record_json(session: &LoadedSession) -> GatewayRecordJson {
    let budget = session.limits.gateway_budget.map(|budget| GatewayBudgetJson {
        time: finite(budget.updated_at),
        route: budget.route.map(Route::as_str),
        estimate: budget.estimate.whole(),
        budget: budget.budget.whole(),
        excess: budget.excess().whole(),
        window: budget.window.map(Tokens::whole),
    });
    let last_run_error = session.limits.run_error.as_deref().map(|error| masked(error).into_owned());
    GatewayRecordJson { budget, last_run_error }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OverflowJson {
    entry: String,
    kind: &'static str,
    /// ms since 1970.
    time: Option<Moment>,
    model: Option<ModelJson>,
    /// Tokens that the refused call needed, by its text.
    requested: Option<u64>,
    /// Tokens that fit, by its text.
    limit: Option<u64>,
    /// Tokens of `requested` that are reserved for the reply.
    reply: Option<u64>,
    /// Tokens above the limit, where the refusal states only them.
    excess: Option<u64>,
    /// The last prompt in tokens that was accepted before the explained overflow.
    accepted_before: Option<u64>,
    /// Whether the runtime of that release recognised the overflow.
    recognised: Option<bool>,
    /// The rule that recognised it.
    rule: &'static str,
    /// The origin of the limit.
    by: &'static str,
    text: String,
    /// Other entries that record the same refusal.
    again: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ModelJson {
    provider: Option<String>,
    id: Option<String>,
}

/// The calls up to the overflow.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CourseJson {
    /// The window in tokens that the runtime believed in.
    believed: Option<u64>,
    /// Tokens that fit, by the provider or learned from accepted calls.
    served: Option<u64>,
    /// Tokens above which compaction is due; null if it is off.
    trigger: Option<u64>,
    largest_accepted: Option<AcceptedJson>,
    /// Number of calls on the path; `calls` may list fewer.
    total: usize,
    calls: Vec<CallJson>,
}

#[derive(Serialize, JsonSchema)]
struct AcceptedJson {
    entry: String,
    tokens: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallJson {
    /// The number among the calls of the path, from 1.
    number: usize,
    entry: String,
    /// ms since 1970.
    time: Option<Moment>,
    tokens: u64,
    /// Whether a provider counted the tokens.
    exact: bool,
    /// Whether the call overflowed.
    refused: bool,
    /// Whether a compaction is between the previous call and this one.
    compacted_before: bool,
}

/// The reason why the prompt is large.
#[derive(Serialize, JsonSchema)]
struct MechanismJson {
    class: &'static str,
    tokens: Option<Tokens>,
    /// Number of messages, results, images or runs.
    count: usize,
    entries: Vec<String>,
}

/// A mechanism that could have prevented the overflow.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GuardJson {
    guard: &'static str,
    state: &'static str,
    why: String,
    /// Tokens below its threshold.
    due_by: Option<u64>,
    /// Keys that make every call fit when opened alone.
    opened: Vec<&'static str>,
    entry: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct CountJson {
    who: &'static str,
    tokens: u64,
    /// Whether a provider counted the tokens.
    exact: bool,
    what: String,
    entry: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct FindingJson {
    class: &'static str,
    confidence: &'static str,
    text: String,
    /// The rule behind it; empty if no rule of the gateway applies.
    rule: &'static str,
    /// Whether every call fits after a correction; null if no replay was made.
    flips: Option<bool>,
    /// Every entry of the lines, once.
    evidence: Vec<String>,
    lines: Vec<EvidenceJson>,
    /// Numbers of the text: tokens, chars, ms or counts, by name.
    numbers: Members<Option<f64>>,
}

#[derive(Serialize, JsonSchema)]
struct EvidenceJson {
    text: String,
    rule: &'static str,
    entries: Vec<String>,
}

/// A change of settings and its effect in a replay.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AdviceJson {
    /// The changed settings, by key.
    set: Object,
    /// Whether every call of the session fits.
    helps: bool,
    /// Whether the failing call fits together with one more typical turn.
    has_room: bool,
    overflows: usize,
    /// The largest prompt in tokens.
    peak: u64,
    /// USD for all calls and summaries.
    cost: Option<f64>,
    note: String,
    /// Whether the failing call fits.
    fits: bool,
    /// Tokens of the recorded prompt.
    before: u64,
    /// Tokens of it under the change.
    after: u64,
    compactions: usize,
    limit: u64,
    /// The change as a patch of the configuration.
    patch: String,
    commands: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ReplayJson {
    /// Calls that do not fit.
    overflows: usize,
    /// The largest prompt in tokens.
    peak: u64,
    /// USD for all calls and summaries.
    cost: Option<f64>,
    compactions: usize,
}

pub(super) fn verdict_json(explanation: &Explanation) -> Option<VerdictJson> {
    explanation.verdict().map(|finding| VerdictJson {
        class: finding.class.as_str(),
        confidence: finding.confidence.as_str(),
        line: finding.headline(),
    })
}

pub(super) fn report_json(session: &LoadedSession, explanation: &Explanation) -> ExplanationJson {
    let json = Builder { session, explanation };
    let findings = |findings: &[Finding]| findings.iter().map(|finding| json.finding(finding)).collect();
    ExplanationJson {
        session: session_json(&session.item),
        ruleset: ruleset_json(&session.ruleset),
        state: explanation.state.as_str(),
        last_calls: explanation.verdict().and_then(|verdict| last_calls_json(session, verdict)),
        overflow: explanation.has_overflowed(),
        fits_since_commit: explanation.fits_since_commit,
        next_step: explanation.next_step(),
        events: explanation.overflows.iter().map(|overflow| json.overflow(overflow)).collect(),
        verdict: verdict_json(explanation),
        gateway: gateway_record_json(session),
        course: json.course(&explanation.course),
        mechanism: explanation.mechanism.as_ref().map(|mechanism| json.mechanism(mechanism)),
        parts: explanation.parts.clone(),
        guards: explanation.guards.iter().map(|guard| json.guard(guard)).collect(),
        counts: explanation.counts.iter().map(|count| json.count(count)).collect(),
        mismeasured: findings(&explanation.mismeasured),
        aftermath: findings(&explanation.aftermath),
        findings: findings(&explanation.findings),
        asked: explanation.asked.as_ref().map(advice_json),
        advice: explanation.advice.iter().map(advice_json).collect(),
        recorded: explanation.recorded.map(|whole| replay_json(&whole)),
        tried: explanation.tried_count,
        exhausted: explanation.is_exhausted,
        no_setting_helps: explanation.no_setting_helps(),
    }
}

struct Builder<'a> {
    session: &'a LoadedSession,
    explanation: &'a Explanation,
}

impl Builder<'_> {
    fn name(&self, entry: EntryIx) -> String {
        self.session.index.display_id(entry)
    }

    fn names(&self, entries: &[EntryIx]) -> Vec<String> {
        entries.iter().map(|entry| self.name(*entry)).collect()
    }

    fn overflow(&self, overflow: &Overflow) -> OverflowJson {
        let words = &self.session.index.values;
        let explained = self.explanation.failure.as_ref().filter(|it| it.overflow.entry == overflow.entry);
        let accepted = explained.and_then(|failure| failure.last_counted);
        OverflowJson {
            entry: self.name(overflow.entry),
            kind: overflow.kind.as_str(),
            time: finite(overflow.time_ms),
            model: overflow
                .model
                .map(|(provider, id)| ModelJson { provider: words.text(provider), id: words.text(id) }),
            requested: overflow.requested,
            limit: overflow.limit,
            reply: overflow.reply_reserve,
            excess: overflow.excess,
            accepted_before: accepted.map(|(_, tokens)| tokens),
            recognised: overflow.recognised,
            rule: overflow.rule,
            by: overflow.limit_source(),
            text: overflow.shown_text().into_owned(),
            again: self.names(&overflow.duplicates),
        }
    }

    fn course(&self, course: &CallHistory) -> CourseJson {
        let accepted = |(entry, tokens)| AcceptedJson { entry: self.name(entry), tokens };
        CourseJson {
            believed: course.believed_window,
            served: course.served_limit,
            trigger: course.trigger,
            largest_accepted: course.largest_accepted.map(accepted),
            total: course.total,
            calls: course.calls.iter().map(|call| self.call(call)).collect(),
        }
    }

    fn call(&self, call: &CallPoint) -> CallJson {
        CallJson {
            number: call.number,
            entry: self.name(call.entry),
            time: finite(call.at_ms),
            tokens: call.tokens,
            exact: call.is_measured,
            refused: call.is_refused,
            compacted_before: call.compacted_before,
        }
    }

    fn mechanism(&self, mechanism: &Mechanism) -> MechanismJson {
        MechanismJson {
            class: mechanism.class.as_str(),
            tokens: rounded(mechanism.tokens),
            count: mechanism.count,
            entries: self.names(&mechanism.entries),
        }
    }

    fn guard(&self, guard: &GuardReport) -> GuardJson {
        GuardJson {
            guard: guard.kind.as_str(),
            state: guard.state.as_str(),
            why: guard.reason.description(),
            due_by: guard.missing_tokens,
            opened: guard.opening_keys.clone(),
            entry: guard.entry.map(|entry| self.name(entry)),
        }
    }

    fn count(&self, count: &PromptCount) -> CountJson {
        CountJson {
            who: count.counter.as_str(),
            tokens: count.tokens,
            exact: count.is_measured,
            what: count.description(),
            entry: count.entry.map(|entry| self.name(entry)),
        }
    }

    fn finding(&self, finding: &Finding) -> FindingJson {
        let all = finding.evidence();
        let mut seen: Vec<EntryIx> = Vec::new();
        for entry in all.iter().flat_map(|evidence| &evidence.entries) {
            if !seen.contains(entry) {
                seen.push(*entry);
            }
        }
        let line = |evidence: Evidence| EvidenceJson {
            rule: evidence.rule,
            entries: self.names(&evidence.entries),
            text: evidence.text,
        };
        FindingJson {
            class: finding.class.as_str(),
            confidence: finding.confidence.as_str(),
            text: finding.headline(),
            rule: finding.rule,
            flips: finding.prevents_overflow,
            evidence: self.names(&seen),
            lines: all.into_iter().map(line).collect(),
            numbers: finding.numbers().into_iter().map(|(name, number)| (name, finite(number))).collect(),
        }
    }
}

fn advice_json(advice: &Advice) -> AdviceJson {
    AdviceJson {
        set: advice.changes.iter().map(|change| (change.key(), change.value.clone())).collect(),
        helps: advice.fits_all,
        has_room: advice.has_room,
        overflows: advice.overflows(),
        peak: advice.peak(),
        cost: advice.whole.cost,
        note: advice.outcome.description(),
        fits: advice.fits,
        before: advice.tokens_before,
        after: advice.tokens_after,
        compactions: advice.whole.compactions,
        limit: advice.limit,
        patch: advice.patch.clone(),
        commands: advice.commands.clone(),
    }
}

fn replay_json(whole: &ReplaySummary) -> ReplayJson {
    ReplayJson {
        overflows: whole.overflows,
        peak: whole.peak_tokens,
        cost: whole.cost,
        compactions: whole.compactions,
    }
}
