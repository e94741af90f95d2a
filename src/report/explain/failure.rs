//! The call that did not fit, as it was: what the model was sent, and what each message of it weighs by the provider's own
//! count.

use crate::context::budget::Budget;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::report::explain::counted_calls::CountedCall;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::LoadedSession;
use crate::session::overflow::{ModelWindow, Overflow, OverflowKind};
use crate::store::entry::{MessageSize, Role};
use crate::store::intern::ValueIx;

/// Tokens of an image by the runtime's estimate (compaction 1.4).
const IMAGE_TOKENS: f64 = 1_200.0;
/// A limit above this share of the believed window is that window.
const SAME_WINDOW_SHARE: f64 = 0.97;
/// A reply of at least this share of the window, reserved, shrinks the window.
const LARGE_RESERVE_SHARE: f64 = 0.1;

/// A call that did not fit, or the next one.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The overflow.
    pub overflow: Overflow,
    /// The session as it was when the call was made.
    pub session: LoadedSession,
    /// The model that was called.
    pub model: Option<(ValueIx, ValueIx)>,
    /// The window that the runtime believed in for that model, in tokens, and the gateway's.
    pub believed_window: ModelWindow,
    /// The last call before it that was counted, behind the same compaction, and its tokens.
    pub last_counted: Option<(EntryIx, u64)>,
    /// The first message since that call in the context, its answer included; 0 without one.
    pub first_new: usize,
    /// Tokens of the prompt: as the provider counted it, else estimated.
    pub prompt_tokens: u64,
    /// Whether the provider counted it.
    pub is_measured: bool,
    /// Tokens that fit: as the provider says, else as learnt from what it accepted.
    pub limit: u64,
    /// Tokens before the messages.
    pub fixed_tokens: u64,
    /// Tokens of each message of the context by the provider's count.
    pub weights: Vec<f64>,
    /// It is the next call, which nobody made yet.
    pub is_next_call: bool,
}

impl Failure {
    /// The call behind an overflow; none where it has no place in the tree. `calls` are those of its path.
    pub(super) fn new(rehearsal: &ReplayRunner, overflow: &Overflow, calls: &[CountedCall]) -> Option<Self> {
        let loaded = &rehearsal.session;
        let then = loaded.before_call(overflow)?;
        let model = overflow.model.or(then.context.model);
        let weights = rehearsal.weights_of(&then.context.messages);
        let behind = |call: &&CountedCall| {
            call.entry < overflow.entry
                && then.context.compaction.is_none_or(|compacted| compacted < call.entry)
        };
        let before = calls.iter().rev().find(behind).map(|call| (call.entry, call.prompt_tokens));
        let new_from = before.and_then(|(entry, _)| then.context.position(entry)).unwrap_or(0);
        let sent = rehearsal.recorded_call(overflow.entry);
        let requested = overflow.prompt_tokens().or(sent.map(|sent| sent.expected.max(0.0) as u64));
        let estimated = rehearsal.fixed_tokens as u64 + weights.iter().sum::<f64>() as u64;
        let believed = believed_window(loaded, model);
        let limit = overflow
            .prompt_limit()
            .or(rehearsal.learned_limit(model))
            .unwrap_or(believed.runtime.max(0.0) as u64);
        Some(Self {
            overflow: overflow.clone(),
            last_counted: before,
            first_new: new_from,
            prompt_tokens: requested.unwrap_or(estimated),
            is_measured: overflow.requested.is_some(),
            limit,
            fixed_tokens: rehearsal.fixed_tokens as u64,
            weights,
            is_next_call: false,
            believed_window: believed,
            model,
            session: then,
        })
    }

    /// Whether it was refused for its bytes and not for its tokens.
    pub fn is_byte_limit(&self) -> bool {
        self.overflow.kind == OverflowKind::Bytes
    }

    /// What the prompt carried, in tokens as the provider counts them.
    pub fn budget(&self) -> Budget {
        Budget::new(self.session.fixed_chars, &self.session.context, |at| {
            self.weights.get(at).copied().unwrap_or(0.0) as u64
        })
    }

    /// Whether the provider takes less than the runtime believes: a reply that is reserved counts only where it is large.
    pub fn serves_less(&self) -> bool {
        let believed = self.believed_window.runtime;
        let reply = self
            .overflow
            .reply_reserve
            .filter(|reply| *reply as f64 >= LARGE_RESERVE_SHARE * believed)
            .unwrap_or(0);
        let allowed = self.overflow.limit.map_or(self.limit, |limit| limit.saturating_sub(reply));
        let tokens = matches!(self.overflow.kind, OverflowKind::Refused | OverflowKind::CutShort);
        tokens && self.limit > 0 && (allowed as f64) < SAME_WINDOW_SHARE * believed
    }

    /// By how many tokens it did not fit.
    pub fn excess_tokens(&self) -> u64 {
        self.prompt_tokens.saturating_sub(self.limit)
    }

    /// The gateway's own estimate of the prompt: chars / 4 of everything.
    pub fn gateway_estimate(&self) -> u64 {
        let messages = self.session.context.messages.iter();
        self.session.fixed_tokens() + messages.map(|it| estimate_or_zero(&it.size)).sum::<u64>()
    }

    /// Tokens of all messages that `of` picks, by the provider's count.
    pub(super) fn tokens_of(&self, of: impl Fn(usize, &MessageSize) -> bool) -> f64 {
        let messages = self.session.context.messages.iter().enumerate();
        messages.filter(|(at, message)| of(*at, &message.size)).map(|(at, _)| self.weights[at]).sum()
    }

    /// Positions of the messages since the last counted call that answer tools: one turn's results.
    pub(super) fn newest_results(&self) -> Vec<usize> {
        let messages = &self.session.context.messages;
        let from = messages.iter().rposition(|message| message.size.role != Role::ToolResult);
        let from = from.map_or(0, |at| at + 1).max(self.first_new);
        (from..messages.len()).collect()
    }

    /// Position of the message that opened the failing run: the last that is neither answer nor result.
    pub(super) fn run_opening(&self) -> Option<usize> {
        let opens =
            |role: Role| !matches!(role, Role::Assistant | Role::ToolResult | Role::CompactionSummary);
        self.session.context.messages.iter().rposition(|message| opens(message.size.role))
    }

    /// Images of the prompt, and their tokens.
    pub(super) fn images(&self) -> (u64, f64) {
        let messages = self.session.context.messages.iter().enumerate();
        messages.fold((0, 0.0), |(count, tokens), (at, message)| {
            let images = f64::from(message.size.images);
            let text = f64::from(message.size.text_chars) / 4.0;
            let share = images * IMAGE_TOKENS / (images * IMAGE_TOKENS + text).max(1.0);
            let sent = self.weights[at].max(images * IMAGE_TOKENS);
            (count + u64::from(message.size.images), tokens + if images > 0.0 { sent * share } else { 0.0 })
        })
    }
}

/// The windows that the gateway believed in for the model of a call.
fn believed_window(session: &LoadedSession, model: Option<(ValueIx, ValueIx)>) -> ModelWindow {
    let words = &session.index.values;
    let names = model.and_then(|(provider, id)| Some((words.text(provider)?, words.text(id)?)));
    let own = (session.provider.clone(), session.model.clone());
    match names {
        Some(names) if names != own => ModelWindow::for_model(&session.overflow_scope(), &names.0, &names.1),
        _ => ModelWindow { gateway: session.window, runtime: session.limits.runtime_window },
    }
}
