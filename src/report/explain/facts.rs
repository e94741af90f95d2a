//! The values of any finding. Each topic declares its own next to the rules that find them.

use crate::gateway::compaction::engine_plugin;
use crate::gateway::ruleset::ChatPreflight;
use crate::gateway::window::WindowSource;
use crate::ids::EntryIx;
use crate::policy::overflow::{documented_request_limit, is_bodyless_status};
use crate::report::cache_ledger::{
    CacheLedger, CacheTotals, CallCount, MissCause, cache_ledger_from, missed_share,
};
use crate::report::explain::aftermath::Aftermath;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::estimator::EstimatorError;
use crate::report::explain::failure::{Failure, LimitOrigin};
use crate::report::explain::finding::{Confidence, FindingClass, Found, Ground, Numbers};
use crate::report::explain::guards::PruningInert;
use crate::report::explain::lineage::LineageFacts;
use crate::report::explain::mechanism::LargePrompt;
use crate::report::explain::mismeasured::Mismeasured;
use crate::report::explain::outlook::Outlook;
use crate::report::explain::stored_counter::StoredCounter;
use crate::report::explain::unanswered::UnansweredCalls;
use crate::report::explain::way_out::WayOut;
use crate::session::overflow::largest_answer;
use crate::session::replay_inputs::ReplayInputs;
use crate::store::body::BodyError;

/// A finding of any topic.
pub type Finding = Found<Facts>;

#[derive(Debug, Clone, PartialEq)]
pub enum Facts {
    LargePrompt(LargePrompt),
    PruningInert(PruningInert),
    EngineOwned(EngineOwned),
    Mismeasured(Mismeasured),
    EstimatorError(EstimatorError),
    StoredCounter(StoredCounter),
    Aftermath(Aftermath),
    Outlook(Outlook),
    Lineage(LineageFacts),
    CacheMisses(CacheMisses),
    Unanswered(UnansweredCalls),
}

impl Finding {
    /// Returns the changes of the branch that end what was found, the smallest first.
    pub fn ways_out(&self) -> &[WayOut] {
        match &self.facts {
            Facts::Unanswered(facts) => &facts.ways_out,
            Facts::Lineage(facts) => facts.way_out().map_or(&[], std::slice::from_ref),
            Facts::LargePrompt(_)
            | Facts::PruningInert(_)
            | Facts::EngineOwned(_)
            | Facts::Mismeasured(_)
            | Facts::EstimatorError(_)
            | Facts::StoredCounter(_)
            | Facts::Aftermath(_)
            | Facts::Outlook(_)
            | Facts::CacheMisses(_) => &[],
        }
    }

    /// Returns the numbers for programs.
    pub fn numbers(&self) -> Numbers {
        match &self.facts {
            Facts::LargePrompt(facts) => facts.numbers(),
            Facts::Mismeasured(facts) => facts.numbers(),
            Facts::EstimatorError(facts) => facts.numbers(),
            Facts::StoredCounter(facts) => facts.numbers(),
            Facts::Aftermath(facts) => facts.numbers(),
            Facts::Outlook(facts) => facts.numbers(),
            Facts::Unanswered(facts) => facts.numbers(),
            Facts::Lineage(facts) => facts.numbers(),
            Facts::PruningInert(_) | Facts::EngineOwned(_) | Facts::CacheMisses(_) => Numbers::new(),
        }
    }
}

// Detects a context-engine plugin. It replaces the gateway's own engine: it assembles the context and decides when to
// compact.

/// A plugin compacts, and ignores the gateway's compaction settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOwned {
    pub plugin: String,
}

/// Returns the finding if a plugin is configured.
pub(super) fn find_engine_owned(case: &OverflowCase<'_>) -> Option<Found<EngineOwned>> {
    let facts = EngineOwned { plugin: engine_plugin(&case.session.config)? };
    Some(Found::new(FindingClass::EngineOwned, Confidence::Likely, facts).with_rule("compaction 8.9"))
}

/// Share of the cost from which misses are worth a line.
const MIN_COST_SHARE: f64 = 0.5;
/// Share of the prompt tokens below which misses cannot be half of the cost: a missed token costs about twelve times a read
/// one.
const MIN_TOKEN_SHARE: f64 = 0.05;
/// Causes to name.
const MAX_CAUSES: usize = 3;
/// Calls to name for each cause.
const MAX_ENTRIES: usize = 8;

/// The misses of a session, and what they cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheMisses {
    pub totals: CacheTotals,
    /// The cause that cost most.
    pub worst_cause: MissCause,
    /// The causes of most unread tokens.
    pub causes: Vec<CauseOfMisses>,
}

/// The misses of one cause.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseOfMisses {
    pub cause: MissCause,
    pub count: CallCount,
    /// The first calls.
    pub entries: Vec<EntryIx>,
}

/// Returns the finding if misses are at least half of the cost. It never is the verdict: a miss makes a call expensive, not
/// large.
pub(super) fn find_cache_misses(
    case: &OverflowCase<'_>,
    inputs: Option<&ReplayInputs>,
) -> Result<Option<Found<CacheMisses>>, BodyError> {
    if missed_share(case.session) < MIN_TOKEN_SHARE {
        return Ok(None);
    }
    let ledger = cache_ledger_from(case.session, inputs)?;
    let totals = ledger.totals();
    let share = totals.miss_share().filter(|share| *share >= MIN_COST_SHARE);
    let Some((worst_cause, _)) = share.and(totals.worst_cause()) else { return Ok(None) };
    let confidence = if totals.misses.cost.is_estimated() { Confidence::Likely } else { Confidence::Sure };
    let causes = largest_causes(&ledger, &totals);
    let facts = CacheMisses { totals, worst_cause, causes };
    Ok(Some(Found::new(FindingClass::CacheMisses, confidence, facts)))
}

fn largest_causes(ledger: &CacheLedger, totals: &CacheTotals) -> Vec<CauseOfMisses> {
    let mut causes: Vec<_> = totals.by_cause.iter().filter(|(cause, _)| !cause.makes_new_prompt()).collect();
    causes.sort_by(|(_, one), (_, other)| other.tokens.total_cmp(&one.tokens));
    let of_cause = |(cause, count): (&MissCause, &CallCount)| {
        let missed = ledger.calls.iter().filter(|call| call.miss.is_some_and(|miss| miss.cause == *cause));
        let entries = missed.map(|call| call.entry).take(MAX_ENTRIES).collect();
        CauseOfMisses { cause: *cause, count: *count, entries }
    };
    causes.into_iter().take(MAX_CAUSES).map(of_cause).collect()
}

/// Adds the grounds of the verdict, and lowers its confidence where they are weak.
pub(super) fn add_grounds(case: &OverflowCase<'_>, findings: &mut [Finding]) {
    let error = case.session.config.error.as_ref();
    let config = error.map(|error| Ground::UnreadableConfig { error: error.to_string() });
    let Some(verdict) = findings.first_mut() else { return };
    let compares = match &case.failure {
        Some(_) if verdict.class == FindingClass::WrongWindow => true,
        Some(failure) => failure.limit_origin() == LimitOrigin::AssumedWindow,
        None => matches!(verdict.facts, Facts::Outlook(_)),
    };
    let window = assumed_window(case).filter(|_| compares);
    verdict.grounds = config
        .clone()
        .into_iter()
        .chain(window)
        .chain(disproved_window(case))
        .chain(capped_window(case))
        .chain(unreproduced(case))
        .chain(unknown_words(case))
        .chain(bare_status(case))
        .collect();
    if config.is_some() {
        for finding in findings.iter_mut() {
            finding.confidence = finding.confidence.lowered();
        }
    } else if verdict.grounds.iter().any(Ground::is_weak) && verdict.confidence == Confidence::Sure {
        verdict.confidence = Confidence::Likely;
    }
}

fn assumed_window(case: &OverflowCase<'_>) -> Option<Ground> {
    let window = case.failure.as_ref().map_or(case.session.window, |failure| failure.believed_window.gateway);
    let (provider, id) = called_model(case, case.failure.as_ref());
    let model = [provider.as_str(), "/", id.as_str()].concat();
    let is_listed = window.model_source == WindowSource::Listed;
    let found = case.session.config.models.find(&provider, &id).filter(|_| is_listed);
    (!window.model_source.is_evidence() && !id.is_empty()).then_some(Ground::AssumedWindow {
        model,
        window: window.model_tokens,
        list: found.map(|found| found.release.to_string()),
    })
}

fn disproved_window(case: &OverflowCase<'_>) -> Option<Ground> {
    let window = case.failure.as_ref().map_or(case.session.window, |failure| failure.believed_window.gateway);
    let (provider, id) = called_model(case, case.failure.as_ref());
    let answered = largest_answer(&case.session.index, &provider, &id)?;
    (answered > window.model_tokens).then_some(Ground::SmallerThanAnswered {
        believed: window.model_tokens,
        source: window.model_source,
        answered,
    })
}

fn called_model(case: &OverflowCase<'_>, failure: Option<&Failure>) -> (String, String) {
    let words = &case.session.index.values;
    let called = failure.and_then(|failure| failure.model);
    let named = called.and_then(|(provider, id)| Some((words.text(provider)?, words.text(id)?)));
    named.unwrap_or_else(|| (case.session.provider.clone(), case.session.model.clone()))
}

/// Compares a replay under today's settings with the record, as the advice does.
fn unreproduced(case: &OverflowCase<'_>) -> Option<Ground> {
    case.failure.as_ref()?;
    let runner = case.replays.as_ref()?;
    let (recorded, replayed) = (runner.run_recorded().overflows, runner.run_under(&[]).overflows);
    (recorded != replayed).then_some(Ground::Unreproduced { recorded, replayed })
}

fn bare_status(case: &OverflowCase<'_>) -> Option<Ground> {
    let failure = case.failure.as_ref()?;
    let (provider, _) = called_model(case, Some(failure));
    let documented = documented_request_limit(&provider);
    let is_bare = failure.overflow.rule == "B" && is_bodyless_status(&failure.overflow.text);
    is_bare.then_some(Ground::BareStatus { provider, documented })
}

fn unknown_words(case: &OverflowCase<'_>) -> Option<Ground> {
    let overflow = &case.failure.as_ref()?.overflow;
    let (requested, limit) = overflow.requested.zip(overflow.limit)?;
    overflow.is_by_stated_size().then_some(Ground::UnknownWords { requested, limit })
}

fn capped_window(case: &OverflowCase<'_>) -> Option<Ground> {
    let window = case.session.window;
    let moves_preflight = case.session.ruleset.id.rules().chat_preflight != ChatPreflight::None;
    window.cap().map(|cap| Ground::CappedWindow { cap, window: window.model_tokens, moves_preflight })
}
