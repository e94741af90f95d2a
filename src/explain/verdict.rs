//! Which finding heads the answer: a mis-measurement that flips the outcome, else a guard's defect that does, else the
//! mechanism. Without an overflow: what is ahead, or what came of compactions.

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::guards::{Guard, GuardKind, GuardState};
use crate::explain::mechanism::{Mechanism, cap};
use crate::explain::outlook;
use crate::explain::words::{about, count, exact, short, told};
use crate::inspect::overflow::{Overflow, Sign};

/// Chars of a headline at most.
const HEADLINE: usize = 100;
/// Share of the prompt that is in no message, from which that is said.
const UNSEEN: f64 = 0.3;

/// Every finding of an overflow, the verdict first.
pub(super) fn of_overflow(
    case: &Case<'_>,
    failure: &Failure,
    mechanism: &Mechanism,
    guards: &[Guard],
    mismeasured: Vec<Finding>,
    aftermath: Vec<Finding>,
) -> Vec<Finding> {
    let own = from_mechanism(case, failure, mechanism);
    let inert = pruning_inert(guards);
    let impossible = outlook::impossible(case);
    let engine = engine_owned(case);
    let (causes, notes): (Vec<_>, Vec<_>) = mismeasured.into_iter().partition(|it| it.flips == Some(true));
    let bytes = mechanism.class == Class::BytesLimit;
    let fixed = mechanism.class == Class::FixedOverhead;
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
        verdict.line = headline(case, failure, verdict, guards);
        verdict.evidence.insert(0, numbers_of(failure));
    }
    found
}

/// Every finding of a session without an overflow, the verdict first.
pub(super) fn without_overflow(
    case: &Case<'_>,
    mismeasured: Vec<Finding>,
    aftermath: Vec<Finding>,
) -> Vec<Finding> {
    let mut found = outlook::outlook(case);
    let (heads, past): (Vec<_>, Vec<_>) =
        aftermath.into_iter().partition(|finding| finding.confidence == Confidence::Sure);
    let healthy = found.first().is_some_and(|first| first.class == Class::Healthy);
    if healthy && !heads.is_empty() {
        found.retain(|finding| finding.class != Class::Healthy);
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
        first.line = capitalised(&first.line);
    }
    all
}

/// One gate of a configured pruner kept every call from fitting.
fn pruning_inert(guards: &[Guard]) -> Option<Finding> {
    let guard = guards.iter().find(|guard| guard.kind == GuardKind::Pruning && !guard.opens.is_empty())?;
    let keys = guard.opens.join(", ");
    let line = match guard.state {
        GuardState::Acted => format!("pruning {}, too little under {}", guard.why, guard.opens[0]),
        _ => format!("pruning was blocked: {}", guard.why),
    };
    let opened = format!("with one of these opened every call fits, by replay: {keys}");
    Some(
        Finding::new(Class::PruningInert, Confidence::Sure, line)
            .by(guard.rule)
            .seen(Evidence::new(opened).at(guard.entry).by(guard.rule))
            .flips(true),
    )
}

fn engine_owned(case: &Case<'_>) -> Option<Finding> {
    let engine = crate::explain::engine::owner(case)?;
    let line =
        format!("the context engine {engine} owns compaction; the gateway's settings of it are not read");
    Some(Finding::new(Class::EngineOwned, Confidence::Likely, line).by("compaction 8.9"))
}

fn from_mechanism(case: &Case<'_>, failure: &Failure, mechanism: &Mechanism) -> Finding {
    let confidence = match mechanism.class {
        Class::GradualGrowth => Confidence::Possible,
        _ if failure.counted => Confidence::Sure,
        _ => Confidence::Likely,
    };
    let seen = Evidence::new(format!("{} by the provider's count", about(mechanism.tokens as u64)));
    let results = [Class::SingleResult, Class::ParallelResults, Class::ToolLoopTreadmill];
    let cap = cap(failure).filter(|_| results.contains(&mechanism.class));
    let capped = cap.map(|(chars, cut)| {
        let results = count(cut, "result");
        Evidence::new(format!("with each result cut to {} chars it fits; that cuts {results}", exact(chars)))
            .by("pruning 6.1")
    });
    let mut finding = Finding::new(mechanism.class, confidence, phrase(case, failure, mechanism))
        .by("compaction 8.8")
        .seen(seen.at(mechanism.entries.iter().copied().take(40)))
        .number("tokens", mechanism.tokens.round())
        .number("count", mechanism.count as f64)
        .number("requested", failure.requested as f64)
        .number("limit", failure.limit as f64)
        .number("over", failure.over() as f64);
    finding.numbers.extend(cap.map(|(chars, _)| ("capChars", chars as f64)));
    finding.evidence.extend(capped);
    finding
}

/// The mechanism in a few words.
fn phrase(case: &Case<'_>, failure: &Failure, mechanism: &Mechanism) -> String {
    let tokens = about(mechanism.tokens as u64);
    let limit = exact(failure.limit);
    let counted = |noun: &str| count(mechanism.count, noun);
    match mechanism.class {
        Class::BytesLimit if mechanism.count > 0 => {
            format!("refused for its bytes, not its tokens: {}", counted("image"))
        }
        Class::BytesLimit => "refused for its bytes, not its tokens".to_owned(),
        Class::ModelSwitch => {
            let words = &case.inspection.index.words;
            let name =
                failure.model.and_then(|(_, id)| words.text(id)).unwrap_or_else(|| "the model".to_owned());
            format!("the call went to {name}, which takes {limit}")
        }
        Class::FixedOverhead => format!("fixed parts take {tokens} of the {limit} that fit"),
        Class::ImageBloat => format!("{} take {tokens} of the {limit} that fit", counted("image")),
        Class::UserMessage => format!("your message alone is {tokens}; {limit} fit"),
        Class::SingleResult => {
            let tool = mechanism.entries.first().map(|entry| case.tool(*entry)).unwrap_or_default();
            format!("one {tool} result is {tokens}; {limit} fit")
        }
        Class::ParallelResults => format!("{} of one turn are {tokens}; {limit} fit", counted("result")),
        Class::ToolLoopTreadmill => format!("one run's {} fill {tokens} of {limit}", counted("tool result")),
        Class::RecurringSessionGrowth => {
            format!("the same job ran {} times in one session", exact(mechanism.count as u64))
        }
        _ => {
            let requested = told(failure.requested, failure.counted);
            let seen = failure.fixed + failure.weights.iter().sum::<f64>() as u64;
            let unseen = failure.requested.saturating_sub(seen);
            if unseen as f64 >= UNSEEN * failure.requested as f64 {
                format!("{} of {requested} tokens are in no message of the transcript", about(unseen))
            } else {
                format!("the session grew to {requested} message by message")
            }
        }
    }
}

/// `Overflowed 2x: …. Not prevented because ….`, as much of it as fits.
fn headline(case: &Case<'_>, failure: &Failure, verdict: &Finding, guards: &[Guard]) -> String {
    let times = case.overflows().len();
    let head = if times == 1 { "Overflowed".to_owned() } else { format!("Overflowed {times}x") };
    let head = match failure.overflow.sign {
        Sign::Precheck if times == 1 => "Refused by the gateway".to_owned(),
        _ => head,
    };
    let first = format!("{head}: {}.", verdict.line);
    let why =
        guards.iter().find(|guard| guard.kind == GuardKind::Compaction).map(|guard| match guard.state {
            GuardState::NotDue => match guard.due_by {
                Some(by) => format!(" Compaction was {} below its trigger.", short(by)),
                None => String::new(),
            },
            GuardState::Failed => " Compaction was due and failed.".to_owned(),
            _ => String::new(),
        });
    let both = format!("{first}{}", why.unwrap_or_default());
    let shown = if both.chars().count() <= HEADLINE { both } else { first };
    shorten(&shown)
}

fn shorten(line: &str) -> String {
    if line.chars().count() <= HEADLINE {
        return line.to_owned();
    }
    line.chars().take(HEADLINE - 1).chain(['…']).collect()
}

fn capitalised(line: &str) -> String {
    let mut chars = line.chars();
    let first = chars.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    shorten(&format!("{first}{}", chars.as_str()))
}

/// What was refused, who says so, and what the gateway's own estimate was.
fn numbers_of(failure: &Failure) -> Evidence {
    let Overflow { entry, .. } = failure.overflow;
    let accepted =
        failure.before.map(|(_, tokens)| format!("; accepted before: {}", exact(tokens))).unwrap_or_default();
    let text = format!(
        "{} of {} by {}{accepted}; the gateway estimated ~{}",
        told(failure.requested, failure.counted),
        exact(failure.limit),
        failure.overflow.who(),
        exact(failure.estimate()),
    );
    Evidence::new(text).at([entry]).by("compaction 8.8")
}
