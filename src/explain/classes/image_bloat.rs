//! Images that fill the window: each costs far more than the estimate says of it, and stays in the context.

use crate::explain::case::Case;
use crate::explain::classes::{numbers_of, overflow};
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, count, exact, percent};
use crate::ids::EntryIx;

/// Fewer images are no load.
const LEAST_IMAGES: u64 = 3;
/// Share of the prompt that the calls with new images must have added.
const LEAST_SHARE: f64 = 0.4;
/// Share of the window from which that is worth a word without an overflow.
const LARGE: f64 = 0.6;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let context = case.failure.as_ref().map_or(&case.inspection.context, |failure| &failure.then.context);
    let holding: Vec<EntryIx> =
        context.messages.iter().filter(|it| it.size.images > 0).map(|it| it.entry).collect();
    let images: u64 = context.messages.iter().map(|it| u64::from(it.size.images)).sum();
    let (prompt, counted) = case.prompt();
    let limit = case.failure.as_ref().map_or(case.window(), |failure| failure.limit);
    let large = case.failure.is_some() || prompt as f64 >= LARGE * limit as f64;
    if images < LEAST_IMAGES || !large {
        return None;
    }
    let added = added(case);
    if (added as f64) < LEAST_SHARE * prompt as f64 {
        return None;
    }
    let each = added / images;
    let head = case.failure.as_ref().map(|failure| format!("{}: ", overflow(failure))).unwrap_or_default();
    let line = format!(
        "{head}{} added {} tokens ({} of the prompt), {} each where the estimate says ~1,200; full after ~{}",
        count(images as usize, "image"),
        about(added),
        percent(added as f64, prompt as f64),
        about(each),
        limit.checked_div(each).unwrap_or(0),
    );
    let confidence = if counted { Confidence::Sure } else { Confidence::Likely };
    let mut finding = Finding::new(Class::ImageBloat, confidence, line)
        .by("compaction 1.5")
        .number("images", images as f64)
        .number("tokensEach", each as f64)
        .number("added", added as f64);
    finding.evidence.extend(case.failure.as_ref().map(numbers_of));
    let bytes: u64 = holding.iter().map(|ix| u64::from(case.inspection.index.entry(*ix).bytes)).sum();
    let text =
        format!("{} with images, {} bytes in the transcript", count(holding.len(), "message"), exact(bytes));
    Some(finding.seen(Evidence::new(text).at(holding).by("pruning 5.12")))
}

/// Tokens by which prompts grew that came with new images.
fn added(case: &Case<'_>) -> u64 {
    let grown = case.calls.windows(2).filter(|pair| pair[1].images > 0);
    let before: u64 = grown.map(|pair| pair[1].prompt.saturating_sub(pair[0].prompt)).sum();
    let last = case.failure.as_ref().and_then(|failure| {
        let new = &failure.then.context.messages[failure.new_from..];
        let (_, counted) = failure.before?;
        new.iter().any(|it| it.size.images > 0).then(|| failure.requested.saturating_sub(counted))
    });
    before + last.unwrap_or(0)
}
