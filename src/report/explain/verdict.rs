//! Selects the finding that heads the answer: a wrong measurement whose correction prevents the overflow, else a
//! guard's defect whose correction does, else the mechanism. Without an overflow: the outlook, or a finding about
//! compactions.

use crate::format::{format_number, format_short_estimate, format_short_tokens, format_tokens, quantity};
use crate::report::explain::case::Case;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{Confidence, Evidence, Finding, FindingClass};
use crate::report::explain::guards::{GuardKind, GuardReport, GuardState};
use crate::report::explain::mechanism::{Mechanism, largest_fitting_limit};
use crate::report::explain::outlook;
use crate::session::overflow::{Overflow, OverflowKind};
use crate::units::Tokens;

/// The longest headline, in chars.
const MAX_HEADLINE_CHARS: usize = 100;
/// Share of the prompt outside all messages above which the mechanism's phrase mentions it.
const MIN_UNSEEN_SHARE: f64 = 0.3;

/// Returns every finding of an overflow, the verdict first.
pub(super) fn overflow_findings(
    case: &Case<'_>,
    failure: &Failure,
    mechanism: &Mechanism,
    guards: &[GuardReport],
    mismeasured: Vec<Finding>,
    aftermath: Vec<Finding>,
) -> Vec<Finding> {
    let own = mechanism_finding(case, failure, mechanism);
    let inert = find_pruning_inert(guards);
    let impossible = outlook::detect_impossible_budget(case);
    let engine = find_engine_owned(case);
    let (causes, notes): (Vec<_>, Vec<_>) =
        mismeasured.into_iter().partition(|it| it.prevents_overflow == Some(true));
    let bytes = mechanism.class == FindingClass::BytesLimit;
    let fixed = mechanism.class == FindingClass::FixedOverhead;
    let mut found: Vec<Finding> = Vec::new();
    if bytes {
        found.push(own.clone());
    }
    found.extend(causes.into_iter().filter(|_| !bytes));
    found.extend(engine.filter(|_| !bytes));
    found.extend(inert.filter(|_| !bytes));
    found.extend(impossible.clone().filter(|_| fixed));
    if !bytes {
        found.push(own);
    }
    found.extend(impossible.filter(|_| !fixed));
    found.extend(notes.into_iter().filter(|_| !bytes));
    found.extend(aftermath);
    if let Some(verdict) = found.first_mut() {
        verdict.headline = headline(case, failure, verdict, guards);
        verdict.evidence.insert(0, size_evidence(failure));
    }
    found
}

/// Returns every finding of a session without an overflow, the verdict first.
pub(super) fn findings_without_overflow(
    case: &Case<'_>,
    mismeasured: Vec<Finding>,
    aftermath: Vec<Finding>,
) -> Vec<Finding> {
    let mut found = outlook::find_outlook(case);
    let (heads, past): (Vec<_>, Vec<_>) =
        aftermath.into_iter().partition(|finding| finding.confidence == Confidence::Sure);
    let healthy = found.first().is_some_and(|first| first.class == FindingClass::Healthy);
    if healthy && !heads.is_empty() {
        found.retain(|finding| finding.class != FindingClass::Healthy);
    }
    let mut all = heads;
    all.sort_by_key(|finding| finding.class);
    if healthy {
        all.append(&mut found);
    } else {
        found.append(&mut all);
        all = found;
    }
    all.extend(past);
    all.extend(
        mismeasured.into_iter().map(|finding| Finding { confidence: Confidence::Possible, ..finding }),
    );
    if let Some(first) = all.first_mut() {
        first.headline = capitalise(&first.headline);
    }
    all
}

/// A single closed gate of a configured pruner kept calls from fitting.
fn find_pruning_inert(guards: &[GuardReport]) -> Option<Finding> {
    let guard =
        guards.iter().find(|guard| guard.kind == GuardKind::Pruning && !guard.opening_keys.is_empty())?;
    let line = match guard.state {
        GuardState::Acted => {
            format!("pruning {}, too little because of {}", guard.why, guard.opening_keys[0])
        }
        _ => format!("pruning did nothing because {}", guard.why),
    };
    let opened = format!("in a replay {}, every call fits", guard.opening());
    Some(
        Finding::new(FindingClass::PruningInert, Confidence::Sure, line)
            .with_rule(guard.rule)
            .with_evidence(Evidence::new(opened).with_entries(guard.entry).with_rule(guard.rule))
            .with_prevents_overflow(true),
    )
}

fn find_engine_owned(case: &Case<'_>) -> Option<Finding> {
    let engine = crate::report::explain::engine::engine_plugin(case)?;
    let line = format!("the context engine {engine} compacts and ignores the gateway's compaction settings");
    Some(Finding::new(FindingClass::EngineOwned, Confidence::Likely, line).with_rule("compaction 8.9"))
}

fn mechanism_finding(case: &Case<'_>, failure: &Failure, mechanism: &Mechanism) -> Finding {
    let confidence = match mechanism.class {
        FindingClass::GradualGrowth => Confidence::Possible,
        _ if failure.is_measured => Confidence::Sure,
        _ => Confidence::Likely,
    };
    let scale = if failure.is_measured { "scaled to the provider's count" } else { "by estimate" };
    let seen = Evidence::new(format!("{} tokens, {scale}", format_short_estimate(mechanism.tokens.whole())));
    let results =
        [FindingClass::SingleResult, FindingClass::ParallelResults, FindingClass::ToolLoopTreadmill];
    let cap = largest_fitting_limit(failure).filter(|_| results.contains(&mechanism.class));
    let capped = cap.map(|(chars, cut)| {
        let results = quantity(cut, "result");
        Evidence::new(format!(
            "the call fits if each result is cut to {} chars; that cuts {results}",
            format_number(chars)
        ))
        .with_rule("pruning 6.1")
    });
    let mut finding = Finding::new(mechanism.class, confidence, mechanism_phrase(case, failure, mechanism))
        .with_rule("compaction 8.8")
        .with_evidence(seen.with_entries(mechanism.entries.iter().copied().take(40)))
        .with_number("tokens", mechanism.tokens.get().round())
        .with_number("count", mechanism.count as f64)
        .with_number("requested", failure.prompt_tokens as f64)
        .with_number("limit", failure.limit as f64)
        .with_number("over", failure.excess_tokens() as f64);
    finding.numbers.extend(cap.map(|(chars, _)| ("capChars", chars as f64)));
    finding.evidence.extend(capped);
    finding
}

/// Describes the mechanism in a few words.
fn mechanism_phrase(case: &Case<'_>, failure: &Failure, mechanism: &Mechanism) -> String {
    let tokens = format_short_estimate(mechanism.tokens.whole());
    let limit = format_number(failure.limit);
    let counted = |noun: &str| quantity(mechanism.count, noun);
    match mechanism.class {
        FindingClass::BytesLimit if mechanism.count > 0 => {
            format!("the request is too large in bytes ({}); this is not a token limit", counted("image"))
        }
        FindingClass::BytesLimit => "the request is too large in bytes; this is not a token limit".to_owned(),
        FindingClass::ModelSwitch => {
            let words = &case.session.index.values;
            let name =
                failure.model.and_then(|(_, id)| words.text(id)).unwrap_or_else(|| "the model".to_owned());
            format!("the call went to {name}, whose limit is {limit}")
        }
        FindingClass::FixedOverhead => {
            format!("system prompt, tools and files take {tokens} of {limit}")
        }
        FindingClass::ImageBloat => format!("{} take {tokens} of {limit}", counted("image")),
        FindingClass::UserMessage => format!("your message {}", describe_size(failure, mechanism)),
        FindingClass::SingleResult => {
            let tool = mechanism.entries.first().map(|entry| case.tool_name(*entry)).unwrap_or_default();
            format!("one {tool} result {}", describe_size(failure, mechanism))
        }
        FindingClass::ParallelResults => {
            format!("{} added {tokens}; the limit is {limit}", counted("parallel result"))
        }
        FindingClass::ToolLoopTreadmill => {
            format!("one run's {} fill {tokens} of {limit}", counted("tool result"))
        }
        FindingClass::RecurringSessionGrowth => {
            format!("the same job ran {} times in one session", format_number(mechanism.count as u64))
        }
        _ => {
            let requested = format_tokens(failure.prompt_tokens, failure.is_measured);
            let seen = failure.fixed_tokens + (failure.weights.iter().sum::<Tokens>()).whole();
            let unseen = failure.prompt_tokens.saturating_sub(seen);
            if unseen as f64 >= MIN_UNSEEN_SHARE * failure.prompt_tokens as f64 {
                format!(
                    "{} of {requested} tokens are in no message of the transcript",
                    format_short_estimate(unseen)
                )
            } else {
                format!("the session grew message by message to {requested} tokens")
            }
        }
    }
}

/// Describes a single message: too large on its own, or the one that no longer fitted.
fn describe_size(failure: &Failure, mechanism: &Mechanism) -> String {
    let tokens = format_short_estimate(mechanism.tokens.whole());
    let limit = format_number(failure.limit);
    if mechanism.tokens > Tokens(failure.limit as f64) {
        format!("alone is {tokens} tokens; the limit is {limit}")
    } else if never_fits(failure, mechanism.tokens) {
        let fixed = format_short_estimate(failure.fixed_tokens);
        format!("takes {tokens} and the fixed parts {fixed}; the limit is {limit}")
    } else {
        format!("added {tokens}; the limit is {limit}")
    }
}

/// Whether a message exceeds the limit even without any other message.
fn never_fits(failure: &Failure, tokens: Tokens) -> bool {
    tokens + Tokens(failure.fixed_tokens as f64) > Tokens(failure.limit as f64)
}

/// Builds `Overflowed 2x: …. Not prevented because ….`, with as many parts as fit.
fn headline(case: &Case<'_>, failure: &Failure, verdict: &Finding, guards: &[GuardReport]) -> String {
    let times = case.overflows().len();
    let head = if times == 1 { "Overflowed".to_owned() } else { format!("Overflowed {times}x") };
    let head = match failure.overflow.kind {
        OverflowKind::Precheck if times == 1 => "Refused by the gateway".to_owned(),
        _ => head,
    };
    let first = format!("{head}: {}.", verdict.headline);
    let both = format!("{first}{}", second_sentence(failure, verdict, guards));
    let shown = if both.chars().count() <= MAX_HEADLINE_CHARS { both } else { first };
    shorten(&shown)
}

/// Advises about a message that never fits, otherwise why compaction did not help.
fn second_sentence(failure: &Failure, verdict: &Finding, guards: &[GuardReport]) -> String {
    let mut sizes = verdict.numbers.iter().filter(|(name, _)| *name == "tokens").map(|(_, tokens)| *tokens);
    match verdict.class {
        FindingClass::BytesLimit => return String::new(),
        FindingClass::UserMessage if sizes.any(|tokens| never_fits(failure, Tokens(tokens))) => {
            return " Send it in parts or as a file.".to_owned();
        }
        _ => {}
    }
    let compaction = guards.iter().find(|guard| guard.kind == GuardKind::Compaction);
    let Some(guard) = compaction else { return String::new() };
    match (guard.state, guard.missing_tokens) {
        (GuardState::NotDue, Some(by)) => {
            let tokens = format_short_tokens(by, !guard.missing_is_estimate);
            format!(" Compaction was still {tokens} away.")
        }
        (GuardState::Failed, _) => " Compaction was due and failed.".to_owned(),
        _ => String::new(),
    }
}

fn shorten(line: &str) -> String {
    if line.chars().count() <= MAX_HEADLINE_CHARS {
        return line.to_owned();
    }
    line.chars().take(MAX_HEADLINE_CHARS - 1).chain(['…']).collect()
}

fn capitalise(line: &str) -> String {
    let mut chars = line.chars();
    let first = chars.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    shorten(&format!("{first}{}", chars.as_str()))
}

/// Evidence of the size: the refused tokens, the source of the number, and the gateway's own estimate.
fn size_evidence(failure: &Failure) -> Evidence {
    let Overflow { entry, .. } = failure.overflow;
    let accepted = failure
        .last_counted
        .map(|(_, tokens)| format!("; last accepted: {}", format_number(tokens)))
        .unwrap_or_default();
    let text = format!(
        "{} tokens, limit {} ({}){accepted}; the gateway estimated ~{}",
        format_tokens(failure.prompt_tokens, failure.is_measured),
        format_number(failure.limit),
        failure.limit_origin(),
        format_number(failure.gateway_estimate()),
    );
    Evidence::new(text).with_entries([entry]).with_rule("compaction 8.8")
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
