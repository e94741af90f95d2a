//! Compaction as a trimming policy.

use crate::context::ContextMessage;
use crate::gateway::ruleset::{PiChange, Rules};
use crate::js::{JsException, Object, Value};
use crate::policy::clear_tool_uses::MessageDigest;
use crate::policy::compact::branch::BranchEntry;
use crate::policy::compact::prepare::Preparation;
use crate::policy::compact::v2026_9::CompactionInput;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::features::ContentFeatures;
use crate::policy::message_list::{MessageChange, MessageList, MessageOrigin, PlannedMessage};
use crate::policy::policy_set::Phase;
use crate::policy::reason::Reason;
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{
    PolicyDetails, PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows,
};
use crate::store::entry::{CharCount, MessageSize, Role};
use crate::units::{Chars, Tokens};

/// Replaces old messages with a summary (compaction 1–5).
#[derive(Debug)]
pub struct Compact;

impl TrimmingPolicy for Compact {
    fn word(&self) -> &'static str {
        "compact"
    }

    fn rule(&self) -> &'static str {
        "compaction 3"
    }

    fn phase(&self) -> Phase {
        Phase::Transcript
    }

    fn is_supported_by(&self, _: &Rules) -> bool {
        true
    }

    fn needs_features(&self, _: &Rules) -> bool {
        false
    }

    fn settings_json(&self, settings: &PolicySettings, _: Windows) -> Object {
        Object::from([
            ("reserveTokens", settings.compaction.reserve_tokens.get()),
            ("keepRecentTokens", settings.compaction.keep_recent_tokens.get()),
        ])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let branch = input.branch.ok_or(PolicyError::NeedsTexts)?;
        let keep_tokens = input.settings.compaction.keep_recent_tokens;
        let summary_tokens = input.settings.summary_tokens;
        let compacted = compact_list(list, input.rules(), &branch, keep_tokens, summary_tokens)?;
        let outcome = PolicyOutcome::new(compacted.fates);
        // A summary is added even if no message is removed.
        let changed = outcome.changed || compacted.preparation.is_some();
        let details = compacted.preparation.map(PolicyDetails::Compaction);
        Ok(PolicyOutcome { changed, details, ..outcome })
    }
}

// Compaction as a policy: predicts from sizes which messages a summary would replace if the session were compacted now
// (compaction 3, 4.2).

/// Chars per token of an assumed summary.
const CHARS_PER_TOKEN: f64 = 4.0;

/// Chars that the pruner counts for a role without content (pruning 5.4).
const OTHER_CHARS: Chars = Chars(256.0);

#[derive(Debug, Clone, PartialEq)]
pub struct CompactionResult {
    /// The fate of every input message.
    pub fates: Vec<MessageFate>,
    /// `None` when there is nothing to compact (compaction 3.1).
    pub preparation: Option<Preparation>,
}

/// Replaces the summarised messages with a summary of `summary_tokens`. The list must be an unchanged context of the
/// branch. Errors where preparing throws; the list is then unchanged.
pub(super) fn compact_list(
    list: &mut MessageList,
    rules: &Rules,
    compacting: &CompactionInput<'_>,
    keep_tokens: Tokens,
    summary_tokens: u64,
) -> Result<CompactionResult, JsException> {
    let branch = compacting.branch;
    let Some(preparation) = compacting.prepare(rules, keep_tokens)? else {
        let kept = |size| MessageFate::kept(&size, Reason::Untouched);
        return Ok(CompactionResult { fates: list.sizes().map(kept).collect(), preparation: None });
    };
    let checkpoint = system_checkpoint(list).filter(|_| rules.pi.has(PiChange::KeepsSystemMessages));
    let positions = positions(list, branch);
    let replayed = checkpoint.is_some();
    let fate = |(at, size): (usize, MessageSize)| {
        if replayed && size.role == Role::System {
            return MessageFate::removed(&size, Fate::Summarised, Reason::Replayed);
        }
        message_fate(&preparation, positions[at], &size)
    };
    let fates: Vec<MessageFate> = list.sizes().enumerate().map(fate).collect();
    let kept = list
        .messages_mut()
        .drain(..)
        .zip(&fates)
        .filter(|(_, fate)| !fate.fate.is_change())
        .map(|(item, _)| item);
    let kept: Vec<PlannedMessage> = kept.collect();
    *list.messages_mut() =
        checkpoint.into_iter().chain([summary_message(summary_tokens)]).chain(kept).collect();
    Ok(CompactionResult { fates, preparation: Some(preparation) })
}

/// Returns each message's position on the branch. A context keeps the branch's order, except for the summary, which is
/// first.
fn positions(list: &MessageList, branch: &[BranchEntry]) -> Vec<usize> {
    let mut next = 0;
    let messages = list.messages().iter().filter_map(|item| list.context.messages.get(item.position()?));
    let position = |message: &ContextMessage| {
        if Some(message.entry) == list.context.compaction {
            return branch.iter().rposition(|entry| entry.entry == message.entry).unwrap_or(0);
        }
        let from = next;
        let found = branch[from..].iter().position(|entry| entry.entry == message.entry);
        next = found.map_or(next, |found| from + found + 1);
        found.map_or(branch.len(), |found| from + found)
    };
    messages.map(position).collect()
}

fn message_fate(preparation: &Preparation, at: usize, size: &MessageSize) -> MessageFate {
    let gone = |fate, reason| MessageFate::removed(size, fate, reason);
    match preparation.previous_compaction {
        // Releases that reconsider the part kept by the previous compaction start at that part, so nothing is lost.
        Some(previous) if at < previous.min(preparation.start) => gone(Fate::Dropped, Reason::LostTail),
        Some(previous) if at == previous => gone(Fate::Summarised, Reason::PreviousSummary),
        _ if preparation.turn_prefix().contains(&at) => gone(Fate::Summarised, Reason::SummarisedTurn),
        _ if preparation.history().contains(&at) => gone(Fate::Summarised, Reason::SummarisedHistory),
        _ => MessageFate::kept(size, Reason::KeptRecent),
    }
}

/// Returns the checkpoint that replaces the system messages of a list: they are replayed to one and stored with the
/// summary (store-pi-1.5 D2, I4). Its size is the sum of them all, an upper bound.
fn system_checkpoint(list: &MessageList) -> Option<PlannedMessage> {
    let system: Vec<MessageSize> = list.sizes().filter(|size| size.role == Role::System).collect();
    let chars = system.iter().map(|size| size.pi_chars.whole_chars()).sum::<Chars>();
    let size = MessageSize {
        role: Role::System,
        pi_chars: CharCount::new(Ok(chars)),
        prune_chars: CharCount::new(Ok(OTHER_CHARS)),
        ..MessageSize::EMPTY
    };
    let change = MessageChange::for_added(size, ContentFeatures::of(&Value::Null));
    (!system.is_empty()).then_some(PlannedMessage { origin: MessageOrigin::Checkpoint, change: Some(change) })
}

fn summary_message(tokens: u64) -> PlannedMessage {
    let (size, features) = assumed_summary(tokens);
    PlannedMessage { origin: MessageOrigin::Summary, change: Some(MessageChange::for_added(size, features)) }
}

/// Returns sizes and features of a summary that does not exist yet, as a text of `tokens` tokens.
pub fn assumed_summary(tokens: u64) -> (MessageSize, ContentFeatures) {
    let chars = Tokens(tokens as f64).to_chars(CHARS_PER_TOKEN);
    let size = MessageSize {
        role: Role::CompactionSummary,
        pi_chars: CharCount::new(Ok(chars)),
        prune_chars: CharCount::new(Ok(OTHER_CHARS)),
        text_chars: chars.into(),
        ..MessageSize::EMPTY
    };
    (size, summary_features(chars))
}

/// Returns the features of a summary message with a text of `chars` chars.
fn summary_features(chars: Chars) -> ContentFeatures {
    let empty = Object::from([("role", Role::CompactionSummary.as_str()), ("summary", "")]);
    let mut features = ContentFeatures::of(&Value::Object(empty));
    if let Ok(Some(MessageDigest::Human { content })) = &mut features.digest {
        content.code_points += chars.whole() as usize;
    }
    features
}
