//! Grounds of a verdict: the configuration that it was read from, and the window that it compares with.

use crate::gateway::ruleset::ChatPreflight;
use crate::gateway::window::WindowSource;
use crate::policy::overflow::{documented_request_limit, is_bodyless_status};
use crate::report::explain::case::OverflowCase;
use crate::report::explain::facts::{Facts, Finding};
use crate::report::explain::failure::{Failure, LimitOrigin};
use crate::report::explain::finding::{Confidence, FindingClass, Ground};
use crate::session::overflow::largest_answer;

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
