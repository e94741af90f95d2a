//! Weighs each message of a path by the provider's own counts.
//!
//! Messages between two counted calls share the growth of the prompt: if it grew by 3,000 tokens and chars/4 estimates
//! 2,000, each estimated token weighs 1.5. Where no count exists, or the prompt changed for another reason, the fit of
//! the whole session applies; without a fit its average ratio, and with too few counts chars/4.

use std::collections::{HashMap, HashSet};

use crate::commit::read_receipt;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::policy::guard::GuardLimits;
use crate::session::prompt_counts::{PromptCounts, is_committed_branch};
use crate::session::prompt_estimates::estimate_with_images;
use crate::session::sent_forms::most_guard_chars;
use crate::store::entry::{Entry, EntryKind, MessageSize, Usage};
use crate::store::intern::ValueIx;
use crate::transcript::{Tree, copied_answers, originals};
use crate::units::{Chars, Tokens};

/// Counted tokens per estimated token. No script is outside this range, so such a growth had another cause.
pub(super) const FACTOR_RANGE: (f64, f64) = (0.2, 8.0);
/// Chars per token of the guard's limits.
const CHARS_PER_TOKEN: f64 = 4.0;
/// Factor by which a growth may be below the estimate of the new messages where the guard shortens older ones.
const GUARDED_RANGE: f64 = 2.0;
/// Upper limit for stretches with images, whose tokens depend on their pixels.
const MAX_IMAGE_FACTOR: f64 = 40.0;
/// Growth, in estimated tokens, below which a message's envelope outweighs its text.
const MIN_GROWTH: Tokens = Tokens(200.0);
/// Stretches needed before their ratio applies to messages without a count.
const MIN_STRETCHES: usize = 4;
/// The messages before the first count must be at most this share of it; otherwise the rest of the count does not show
/// the tokens before the messages.
const MAX_UNCOUNTED_SHARE: f64 = 0.25;

/// Commits before the last one, through which a copy's original is sought.
const MAX_COMMITS: usize = 8;

/// Messages of the path between two counts.
#[derive(Debug, Default)]
struct Stretch {
    /// Indices into the path.
    positions: Vec<usize>,
    /// Growth of the prompt in tokens; `None` when no count shows it.
    growth: Option<Tokens>,
    /// Those of them that have images.
    images: Vec<usize>,
    /// Tokens that the guard leaves of each message at most, by its estimate.
    most: Tokens,
}

/// Returns the tokens before the messages, and the tokens of each entry's message. `fitted` is the fit of the session.
/// Returns `None` without a fit and without a counted call. The copies of a commit weigh as their originals do.
pub(super) fn weights_from_growth(
    counts: &PromptCounts<'_>,
    fitted: Option<(Tokens, Vec<Tokens>)>,
) -> Option<(Tokens, Vec<Tokens>)> {
    let path = &counts.context.path;
    if fitted.is_some() {
        return weights_of_path(counts, path, fitted);
    }
    weights_with_copies(counts, path, MAX_COMMITS)
}

fn weights_with_copies(
    counts: &PromptCounts<'_>,
    path: &[EntryIx],
    commits: usize,
) -> Option<(Tokens, Vec<Tokens>)> {
    let own = weights_of_path(counts, path, None);
    let Some((record, before)) = path_before_commit(counts, path).filter(|_| commits > 0) else { return own };
    let Some((fixed, counted)) = weights_with_copies(counts, &before, commits - 1) else { return own };
    let counted: HashMap<EntryIx, Tokens> = before.iter().copied().zip(counted).collect();
    let mut weights = own.map_or_else(|| chars4_weights(counts, path), |(_, weights)| weights);
    let originals = originals(counts.index, &path[..record], &before);
    let estimate =
        |ix: EntryIx| counts.index.entry(ix).message.map_or(0, |size| estimate_or_zero(&size)) as f64;
    for ((weight, copy), original) in weights.iter_mut().zip(path).zip(originals) {
        if let Some(original) = original.filter(|original| estimate(*original) > 0.0) {
            *weight = counted[&original] * (estimate(*copy) / estimate(original));
        }
    }
    Some((fixed, weights))
}

/// Returns the place of the last commit on a path, and the path that it was planned on.
fn path_before_commit(counts: &PromptCounts<'_>, path: &[EntryIx]) -> Option<(usize, Vec<EntryIx>)> {
    let index = counts.index;
    let record = path.iter().rposition(|ix| is_committed_branch(index, *ix))?;
    let receipt = read_receipt(index, counts.source, path[record]).ok()??;
    let tree = Tree::new(index);
    Some((record, tree.path_to(index, tree.find_by_text(index, &receipt.from_leaf)?)))
}

fn weights_of_path(
    counts: &PromptCounts<'_>,
    path: &[EntryIx],
    fitted: Option<(Tokens, Vec<Tokens>)>,
) -> Option<(Tokens, Vec<Tokens>)> {
    let is_fitted = fitted.is_some();
    let (fixed, mut weights) = fitted.unwrap_or_else(|| (Tokens(f64::NAN), chars4_weights(counts, path)));
    let walk = StretchBuilder::from_counts(counts, path);
    if !is_fitted {
        // Even a single count shows the tokens before the messages.
        let ratio = ratio(&walk.stretches, &weights).or_else(|| walk.first_count.map(|_| 1.0))?;
        for weight in &mut weights {
            *weight *= ratio;
        }
    }
    for stretch in &walk.stretches {
        stretch.scale(&mut weights);
    }
    let residual = walk.first_count.and_then(|(place, prompt)| {
        let messages: Tokens = weights[..place].iter().sum();
        (messages <= prompt * MAX_UNCOUNTED_SHARE).then_some(prompt - messages)
    });
    let estimated = Tokens(counts.fixed_tokens() as f64);
    let fixed = residual.unwrap_or(if fixed.is_finite() { fixed } else { estimated });
    // No part of a prompt is larger than the smallest whole prompt.
    let most = walk.smallest_count.filter(|_| residual.is_some()).unwrap_or(Tokens(f64::INFINITY));
    Some((fixed.min(most).max(Tokens::ZERO), weights))
}

fn chars4_weights(counts: &PromptCounts<'_>, path: &[EntryIx]) -> Vec<Tokens> {
    let weigh = |ix: &EntryIx| {
        let entry = counts.index.entry(*ix);
        let sent = entry.becomes_message() || entry.kind == EntryKind::Compaction;
        entry.message.filter(|_| sent).map_or(Tokens::ZERO, |size| Tokens(estimate_with_images(&size) as f64))
    };
    path.iter().map(weigh).collect()
}

impl Stretch {
    /// Returns the most tokens of a message that the call after the stretch sent: the guard's limit, or no limit if whole
    /// messages are nearer to the growth.
    fn sent_limit(&self, weights: &[Tokens], growth: Tokens) -> Tokens {
        let sum = |most: Tokens| self.positions.iter().map(|at| weights[*at].min(most)).sum::<Tokens>();
        let distance = |sum: Tokens| (growth / sum).ln().abs();
        let is_guarded = distance(sum(self.most)) < distance(sum(Tokens(f64::INFINITY)));
        if is_guarded { self.most } else { Tokens(f64::INFINITY) }
    }

    /// Scales the messages to the growth. If some have images, these carry the rest that the text does not explain.
    fn scale(&self, weights: &mut [Tokens]) {
        let scaled = if self.images.is_empty() { &self.positions } else { &self.images };
        let Some(growth) = self.growth else { return };
        let limit = self.sent_limit(weights, growth);
        let sent = |at: &usize| weights[*at].min(limit);
        let text = self.positions.iter().filter(|at| !scaled.contains(at)).map(sent).sum::<Tokens>();
        let estimated = scaled.iter().map(sent).sum::<Tokens>();
        let most = if self.images.is_empty() { FACTOR_RANGE.1 } else { MAX_IMAGE_FACTOR };
        let factor = (growth - text) / estimated;
        if factor >= FACTOR_RANGE.0 && factor <= most {
            for at in scaled {
                weights[*at] *= factor;
            }
        }
    }
}

/// Returns the counted tokens per estimated token over all growths.
fn ratio(stretches: &[Stretch], weights: &[Tokens]) -> Option<f64> {
    let growths = stretches.iter().filter_map(|stretch| {
        let grown = stretch.growth.filter(|grown| *grown >= Tokens::ZERO)?;
        let limit = stretch.sent_limit(weights, grown);
        let estimated: Tokens = stretch.positions.iter().map(|at| weights[*at].min(limit)).sum();
        (estimated >= MIN_GROWTH).then_some((grown, estimated))
    });
    let (count, grown, estimated) = growths
        .fold((0, Tokens::ZERO, Tokens::ZERO), |sum: (usize, Tokens, Tokens), growth| {
            (sum.0 + 1, sum.1 + growth.0, sum.2 + growth.1)
        });
    (count >= MIN_STRETCHES && grown > Tokens::ZERO)
        .then(|| (grown / estimated).clamp(FACTOR_RANGE.0, FACTOR_RANGE.1))
}

/// Splits the path at its counts.
#[derive(Default)]
struct StretchBuilder {
    stretches: Vec<Stretch>,
    /// Path index of the first count, and its prompt in tokens.
    first_count: Option<(usize, Tokens)>,
    /// The smallest prompt of the first count's model.
    smallest_count: Option<Tokens>,
    first_model: Option<(ValueIx, ValueIx)>,
    pending: Vec<usize>,
    images: Vec<usize>,
    last_count: Option<(f64, Option<(ValueIx, ValueIx)>)>,
    guard: GuardRoom,
    /// Estimated tokens of each message of the path.
    weights: Vec<Tokens>,
}

/// Follows the messages of a path to where the guard begins to shorten older ones.
#[derive(Default)]
struct GuardRoom {
    limits: Option<GuardLimits>,
    chars: Chars,
}

impl GuardRoom {
    fn add(&mut self, size: &MessageSize) {
        let most = self.limits.map_or(Chars::INFINITY, |limits| limits.single);
        self.chars += most_guard_chars(size).min(most);
    }

    /// Whether a prompt lacks parts of messages that the prompts before it had.
    fn shortens_older(&self) -> bool {
        self.limits.is_some_and(|limits| self.chars > limits.budget)
    }

    /// Returns the tokens that the guard leaves of a result at most.
    fn most_tokens(&self) -> Tokens {
        let most = self.limits.map_or(f64::INFINITY, |limits| limits.single.get());
        Chars(most).to_tokens(CHARS_PER_TOKEN)
    }
}

impl StretchBuilder {
    fn from_counts(counts: &PromptCounts<'_>, path: &[EntryIx]) -> Self {
        let index = counts.index;
        let refused = counts.refused_prompts();
        let copied: HashSet<EntryIx> = copied_answers(index, path).into_iter().collect();
        let guard = GuardRoom { limits: counts.guard, chars: Chars::ZERO };
        let mut walk = Self { guard, weights: chars4_weights(counts, path), ..Self::default() };
        for (place, ix) in path.iter().enumerate() {
            let entry = index.entry(*ix);
            if matches!(entry.kind, EntryKind::Compaction | EntryKind::Reset | EntryKind::ContextEdit) {
                walk.close_stretch(None);
                walk.last_count = None;
                walk.guard.chars = Chars::ZERO;
            }
            let whole = !copied.contains(ix) && !counts.unreliable_counts.contains(ix);
            let counted = counted_prompt(entry).filter(|_| whole);
            if let Some(prompt) = counted.or_else(|| refused.get(ix).copied()) {
                walk.record_count(place, Tokens(prompt), entry.model);
            }
            if entry.message.is_some() && (entry.becomes_message() || entry.kind == EntryKind::Compaction) {
                walk.pending.push(place);
                entry.message.iter().for_each(|size| walk.guard.add(size));
                walk.images.extend(entry.message.filter(|size| size.images > 0).map(|_| place));
            }
        }
        walk.close_stretch(None);
        walk
    }

    fn record_count(&mut self, place: usize, prompt: Tokens, model: Option<(ValueIx, ValueIx)>) {
        let same = self.last_count.filter(|(_, last)| *last == model || model.is_none());
        let growth = same.map(|(last, _)| prompt - Tokens(last)).filter(|growth| self.is_plausible(*growth));
        self.close_stretch(growth.map(Tokens::get));
        if self.first_count.is_none() {
            (self.first_count, self.first_model) = (Some((place, prompt)), model);
        }
        if model == self.first_model {
            self.smallest_count = Some(self.smallest_count.map_or(prompt, |least| least.min(prompt)));
        }
        self.last_count = Some((prompt.get(), model.or(self.last_count.and_then(|(_, model)| model))));
    }

    /// Whether a growth is that of the new messages: the guard may have shortened older ones meanwhile.
    fn is_plausible(&self, growth: Tokens) -> bool {
        let added: Tokens = self.pending.iter().map(|place| self.weights[*place]).sum();
        !self.guard.shortens_older() || growth >= added / GUARDED_RANGE
    }

    fn close_stretch(&mut self, grown: Option<f64>) {
        let places = std::mem::take(&mut self.pending);
        let images = std::mem::take(&mut self.images);
        if !places.is_empty() {
            let most = self.guard.most_tokens();
            self.stretches.push(Stretch { positions: places, growth: grown.map(Tokens), images, most });
        }
    }
}

fn counted_prompt(entry: &Entry) -> Option<f64> {
    let usage = entry.message.filter(|_| entry.is_model_call())?.usage.filter(Usage::has_prompt_tokens)?;
    Some(usage.prompt_tokens().get())
}
