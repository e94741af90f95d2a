//! The newest calls, if the provider or the gateway refused them for another reason than their size: which error, how
//! often, and which message or setting it is about.

use crate::ids::EntryIx;
use crate::policy::overflow::{ErrorClass, RefusalNumbers};
use crate::redact::masked;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::session::LoadedSession;
use crate::session::overflow::{CallError, CallState};
use crate::session::rejected_messages::{
    PairFault, SentImages, broken_pairs, entry_of_request_message, sent_images,
};
use crate::store::entry::StopReason;
use crate::units::{Bytes, Chars, Moment};

/// The longest quote of an error, in chars.
const MAX_QUOTE_CHARS: usize = 240;
/// Most messages that a rejected request is blamed on.
const MAX_CULPRITS: usize = 8;

/// The newest calls of the path, all without an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct UnansweredCalls {
    pub class: ErrorClass,
    pub state: CallState,
    /// The calls with this error since the last answer, oldest first. Never empty.
    pub calls: Vec<EntryIx>,
    /// The id and time of the first.
    pub since: (String, Moment),
    /// Whether any call of the path was answered before.
    pub last_answer: Option<(EntryIx, String)>,
    /// The newest error's words; secrets are masked.
    pub said: String,
    pub numbers: RefusalNumbers,
    /// Provider and model of the newest call; empty if unknown.
    pub provider: String,
    pub model: String,
    /// The messages that the error is about.
    pub culprits: Vec<Culprit>,
    /// The answer from which a branch without these messages can go on.
    pub branch_from: Option<(EntryIx, String)>,
}

/// A message that the provider rejects.
#[derive(Debug, Clone, PartialEq)]
pub struct Culprit {
    pub entry: EntryIx,
    /// The entry's id.
    pub name: String,
    pub fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// An image of this many bytes in base64.
    Image(Bytes),
    Pair(PairFault),
    Thinking,
}

impl UnansweredCalls {
    pub(super) fn numbers(&self) -> Numbers {
        let stated = [
            ("requested", self.numbers.requested),
            ("limit", self.numbers.limit),
            ("reply", self.numbers.output),
            ("input", self.numbers.input),
        ];
        let stated = stated.into_iter().filter_map(|(name, number)| Some((name, number? as f64)));
        std::iter::once(("calls", self.calls.len() as f64)).chain(stated).collect()
    }
}

/// Returns the newest calls if none of them was answered and the newest did not fail for its size.
pub(super) fn find_unanswered(case: &OverflowCase<'_>) -> Option<Found<UnansweredCalls>> {
    let session = case.session;
    let last = session.last_calls();
    let error = last.error?;
    let class = match last.state {
        CallState::Failing => FindingClass::Failing,
        _ => FindingClass::Refused,
    };
    let first = *last.failed.first()?;
    let name = |ix: EntryIx| session.index.display_id(ix);
    let (provider, model) = called_model(session, &error);
    let culprits = culprits(session, &error);
    let before = culprits.iter().map(|culprit| culprit.entry).min();
    let branch_from = match before {
        Some(before) => answer_before(session, before),
        None => last.last_answer,
    };
    let facts = UnansweredCalls {
        class: error.class,
        state: last.state,
        since: (name(first), session.index.entry(first).time_ms),
        calls: last.failed,
        last_answer: last.last_answer.map(|ix| (ix, name(ix))),
        said: quote(&error.text),
        numbers: error.numbers,
        provider,
        model,
        culprits,
        branch_from: branch_from.map(|ix| (ix, name(ix))),
    };
    let sure = if error.class == ErrorClass::Other { Confidence::Likely } else { Confidence::Sure };
    Some(Found::new(class, sure, facts).with_rule("overflow-texts 5"))
}

fn quote(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    masked(&folded).chars().take(MAX_QUOTE_CHARS).collect()
}

fn called_model(session: &LoadedSession, error: &CallError) -> (String, String) {
    let words = &session.index.values;
    let called = error.model.and_then(|(provider, model)| Some((words.text(provider)?, words.text(model)?)));
    let (provider, model) = called.unwrap_or_else(|| (session.provider.clone(), session.model.clone()));
    (masked(&provider).into_owned(), masked(&model).into_owned())
}

/// Returns the newest answer before an entry that ended a turn.
fn answer_before(session: &LoadedSession, entry: EntryIx) -> Option<EntryIx> {
    let path = session.context.path.iter().rev().copied();
    path.skip_while(|ix| *ix >= entry).find(|ix| {
        let found = session.index.entry(*ix);
        let ended = |stop| matches!(stop, StopReason::Stop | StopReason::Length);
        found.is_model_call()
            && found.message.is_some_and(|size| ended(size.stop_reason))
            && session.overflow_at(*ix).is_none()
    })
}

/// Returns the messages that an error is about, oldest first.
fn culprits(session: &LoadedSession, error: &CallError) -> Vec<Culprit> {
    let found = match error.class {
        ErrorClass::Media => rejected_images(session, error),
        ErrorClass::ToolPairing => rejected_pairs(session, error),
        ErrorClass::Thinking => rejected_thinking(session, error),
        _ => Vec::new(),
    };
    let culprit =
        |(entry, fault): (EntryIx, Fault)| Culprit { entry, name: session.index.display_id(entry), fault };
    found.into_iter().take(MAX_CULPRITS).map(culprit).collect()
}

/// Returns the image that the text numbers or the ones above its limit, else the largest one; all images if there are
/// too many.
fn rejected_images(session: &LoadedSession, error: &CallError) -> Vec<(EntryIx, Fault)> {
    let images = sent_images(session);
    let fault = |image: &SentImages| (image.entry, Fault::Image(image.largest));
    let numbered = numbered_message(session, &error.text);
    if let Some(image) = images.iter().find(|image| Some(image.entry) == numbered) {
        return vec![fault(image)];
    }
    let limit = error.numbers.limit.unwrap_or(u64::MAX);
    let above: Vec<_> = images.iter().filter(|image| image.largest.get() > limit).map(fault).collect();
    if !above.is_empty() {
        return above;
    }
    let text = error.text.to_lowercase();
    if ["too many", "at most", "up to", "maximum of"].iter().any(|words| text.contains(words)) {
        return images.iter().map(fault).collect();
    }
    images.iter().max_by_key(|image| image.largest.get()).map(fault).into_iter().collect()
}

/// Returns the broken pairs whose id the text names, else all.
fn rejected_pairs(session: &LoadedSession, error: &CallError) -> Vec<(EntryIx, Fault)> {
    let broken = broken_pairs(&session.index, &session.context.messages);
    let named: Vec<_> =
        broken.iter().filter(|pair| !pair.id.is_empty() && error.text.contains(&pair.id)).collect();
    let chosen = if named.is_empty() { broken.iter().collect() } else { named };
    chosen.into_iter().map(|pair| (pair.entry, Fault::Pair(pair.fault))).collect()
}

/// Returns the thinking that the text numbers, else the newest one of another model, else the newest.
fn rejected_thinking(session: &LoadedSession, error: &CallError) -> Vec<(EntryIx, Fault)> {
    let index = &session.index;
    let messages = session.context.messages.iter().rev();
    let thinking = messages
        .filter(|message| message.size.thinking_chars.get() > Chars::ZERO)
        .map(|message| message.entry)
        .filter(|entry| index.entry(*entry).is_model_call());
    let thinking: Vec<EntryIx> = thinking.collect();
    let numbered = numbered_message(session, &error.text).filter(|entry| thinking.contains(entry));
    let foreign = thinking.iter().copied().find(|entry| index.entry(*entry).model != error.model);
    let chosen = numbered.or(foreign).or(thinking.first().copied());
    chosen.into_iter().map(|entry| (entry, Fault::Thinking)).collect()
}

/// Returns the entry of the message that a text numbers: `messages.10.content.1`, `messages[10]`.
fn numbered_message(session: &LoadedSession, text: &str) -> Option<EntryIx> {
    let behind = ["messages.", "messages["].iter().find_map(|start| text.split_once(start))?.1;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    entry_of_request_message(session, digits.parse().ok()?)
}
