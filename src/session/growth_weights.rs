//! What each message of a path weighs by the provider's own count: messages between two counted calls share what the prompt
//! grew by. Where nothing was counted, or something else than these messages changed the prompt, the fit of the whole
//! session decides, and without one chars / 4.

use std::collections::HashSet;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::session::prompt_counts::PromptCounts;
use crate::store::entry::{Entry, EntryKind, Role, Usage};
use crate::store::intern::ValueIx;
use crate::transcript::copied_answers;

/// What one estimated token may count for. Beyond that the growth was not that of these messages: no script takes more.
pub(super) const FACTOR_RANGE: (f64, f64) = (0.2, 8.0);
/// The same where there are images, whose tokens follow their pixels.
const MAX_IMAGE_FACTOR: f64 = 40.0;
/// Tokens that an image is first taken for.
const IMAGE_TOKENS: f64 = 1_200.0;
/// Growth, in estimated tokens, below which what surrounds a message outweighs it.
const MIN_GROWTH: f64 = 200.0;
/// Growths that must be there before they speak for messages without a count of their own.
const MIN_STRETCHES: usize = 4;
/// The messages before the first count must be at most this share of it, to tell what precedes them.
const MAX_UNCOUNTED_SHARE: f64 = 0.25;

/// A stretch of the path between two counts.
#[derive(Debug, Default)]
struct Stretch {
    /// Places on the path.
    positions: Vec<usize>,
    /// Tokens that the prompt grew by; none where no count tells.
    growth: Option<f64>,
    /// There are images among them.
    has_images: bool,
}

/// Tokens before the messages, and of the message of each entry of the path; `fitted` are those of the session's fit. None
/// without a fit and without a counted call.
pub(super) fn weights_from_growth(
    counts: &PromptCounts<'_>,
    fitted: Option<(f64, Vec<f64>)>,
) -> Option<(f64, Vec<f64>)> {
    let is_fitted = fitted.is_some();
    let (fixed, mut weights) = fitted.unwrap_or_else(|| (f64::NAN, chars4_weights(counts)));
    let walk = StretchBuilder::from_counts(counts);
    if !is_fitted {
        let ratio = ratio(&walk.stretches, &weights)?;
        for weight in &mut weights {
            *weight *= ratio;
        }
    }
    for stretch in &walk.stretches {
        if let Some(factor) = factor(stretch, &weights) {
            stretch.positions.iter().for_each(|at| weights[*at] *= factor);
        }
    }
    let residual = walk.first_count.and_then(|(place, prompt)| {
        let messages: f64 = weights[..place].iter().sum();
        (messages <= MAX_UNCOUNTED_SHARE * prompt).then_some(prompt - messages)
    });
    let estimated = counts.fixed_tokens() as f64;
    let fixed = residual.unwrap_or(if fixed.is_finite() { fixed } else { estimated });
    Some((fixed.max(0.0), weights))
}

fn chars4_weights(counts: &PromptCounts<'_>) -> Vec<f64> {
    let weigh = |ix: &EntryIx| {
        let entry = counts.index.entry(*ix);
        let sent = entry.becomes_message() || entry.kind == EntryKind::Compaction;
        entry.message.filter(|_| sent).map_or(0.0, |size| {
            // The runtime's estimate leaves the images of a person out; providers do not.
            let unseen = if size.role == Role::User { f64::from(size.images) * IMAGE_TOKENS } else { 0.0 };
            estimate_or_zero(&size) as f64 + unseen
        })
    };
    counts.context.path.iter().map(weigh).collect()
}

fn factor(stretch: &Stretch, weights: &[f64]) -> Option<f64> {
    let estimated: f64 = stretch.positions.iter().map(|at| weights[*at]).sum();
    let factor = stretch.growth? / estimated;
    let most = if stretch.has_images { MAX_IMAGE_FACTOR } else { FACTOR_RANGE.1 };
    (factor >= FACTOR_RANGE.0 && factor <= most).then_some(factor)
}

/// Tokens counted for one estimated over all that the prompts grew by.
fn ratio(stretches: &[Stretch], weights: &[f64]) -> Option<f64> {
    let growths = stretches.iter().filter_map(|stretch| {
        let estimated: f64 = stretch.positions.iter().map(|at| weights[*at]).sum();
        let grown = stretch.growth.filter(|grown| *grown >= 0.0 && estimated >= MIN_GROWTH)?;
        Some((grown, estimated))
    });
    let (count, grown, estimated) = growths.fold((0, 0.0, 0.0), |sum: (usize, f64, f64), growth| {
        (sum.0 + 1, sum.1 + growth.0, sum.2 + growth.1)
    });
    let reported = (count >= MIN_STRETCHES && grown > 0.0)
        .then(|| (grown / estimated).clamp(FACTOR_RANGE.0, FACTOR_RANGE.1));
    // A single count still tells what precedes the messages.
    reported.or_else(|| stretches.iter().any(|stretch| stretch.growth.is_some()).then_some(1.0))
}

/// The path, cut at its counts.
#[derive(Default)]
struct StretchBuilder {
    stretches: Vec<Stretch>,
    /// Where the first count stands, and its prompt in tokens.
    first_count: Option<(usize, f64)>,
    pending: Vec<usize>,
    has_images: bool,
    last_count: Option<(f64, Option<(ValueIx, ValueIx)>)>,
}

impl StretchBuilder {
    fn from_counts(counts: &PromptCounts<'_>) -> Self {
        let (index, path) = (counts.index, &counts.context.path);
        let refused = counts.refused_prompts();
        let copied: HashSet<EntryIx> = copied_answers(index, path).into_iter().collect();
        let mut walk = Self::default();
        for (place, ix) in path.iter().enumerate() {
            let entry = index.entry(*ix);
            if matches!(entry.kind, EntryKind::Compaction | EntryKind::Reset | EntryKind::ContextEdit) {
                walk.close_stretch(None);
                walk.last_count = None;
            }
            let whole = !copied.contains(ix) && !counts.partial_counts.contains(ix);
            let counted = counted_prompt(entry).filter(|_| whole);
            if let Some(prompt) = counted.or_else(|| refused.get(ix).copied()) {
                walk.record_count(place, prompt, entry.model);
            }
            if entry.message.is_some() && (entry.becomes_message() || entry.kind == EntryKind::Compaction) {
                walk.pending.push(place);
                walk.has_images |= entry.message.is_some_and(|size| size.images > 0);
            }
        }
        walk.close_stretch(None);
        walk
    }

    fn record_count(&mut self, place: usize, prompt: f64, model: Option<(ValueIx, ValueIx)>) {
        let same = self.last_count.filter(|(_, last)| *last == model || model.is_none());
        self.close_stretch(same.map(|(last, _)| prompt - last));
        if self.first_count.is_none() {
            self.first_count = Some((place, prompt));
        }
        self.last_count = Some((prompt, model.or(self.last_count.and_then(|(_, model)| model))));
    }

    fn close_stretch(&mut self, grown: Option<f64>) {
        let places = std::mem::take(&mut self.pending);
        let has_images = std::mem::take(&mut self.has_images);
        if !places.is_empty() {
            self.stretches.push(Stretch { positions: places, growth: grown, has_images });
        }
    }
}

fn counted_prompt(entry: &Entry) -> Option<f64> {
    let usage = entry.message.filter(|_| entry.is_model_call())?.usage.filter(Usage::has_prompt_tokens)?;
    Some(usage.prompt_tokens())
}
