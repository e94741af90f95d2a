//! The newest calls, if the provider or the gateway refused them for another reason than their size: which error, how
//! often, and which message or setting it is about.

use crate::ids::EntryIx;
use crate::policy::overflow::{ErrorClass, RefusalNumbers};
use crate::redact::masked;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::report::explain::way_out::WayOut;
use crate::session::overflow::{CallError, CallState};
use crate::session::prompt_faults::PromptFaultKind;
use crate::session::{LoadedSession, ManualChange};
use crate::store::entry::{Role, StopReason};
use crate::units::{Chars, Moment};

/// The longest quote of an error, in chars.
const MAX_QUOTE_CHARS: usize = 240;
/// Words of an error about the number of images.
const TOO_MANY: [&str; 6] = ["too many", "too much media", "at most", "up to", "maximum of", "max is"];
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
    /// The changes that end a rejection of the history, the smallest first.
    pub ways_out: Vec<WayOut>,
}

/// A message that the provider rejects.
#[derive(Debug, Clone, PartialEq)]
pub struct Culprit {
    pub entry: EntryIx,
    /// The entry's id.
    pub name: String,
    pub fault: Fault,
}

/// The fault for which the provider rejects a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    Prompt(PromptFaultKind),
    /// Some of the images that are too many together.
    Images(u32),
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
        ways_out: branch_from.map_or_else(Vec::new, |from| ways_out(session, &error, &culprits, from)),
        culprits,
        branch_from: branch_from.map(|ix| (ix, name(ix))),
    };
    let sure = if error.class == ErrorClass::Other { Confidence::Likely } else { Confidence::Sure };
    Some(Found::new(class, sure, facts).with_rule("overflow-texts 5"))
}

/// Returns the branches without the rejected messages, if the error is about messages at all.
fn ways_out(
    session: &LoadedSession,
    error: &CallError,
    culprits: &[Culprit],
    branch_from: EntryIx,
) -> Vec<WayOut> {
    let is_about_messages = matches!(
        error.class,
        ErrorClass::Media
            | ErrorClass::ToolPairing
            | ErrorClass::Thinking
            | ErrorClass::MessageForm
            | ErrorClass::Content
    );
    if !is_about_messages {
        return Vec::new();
    }
    let dropped: Vec<EntryIx> = culprits.iter().map(|culprit| culprit.entry).collect();
    let drop = (!dropped.is_empty()).then_some(ManualChange::Drop(dropped));
    let changes = drop.into_iter().chain([ManualChange::Branch(branch_from)]);
    changes.filter_map(|change| WayOut::new(session, change).ok()).collect()
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

/// Returns all messages with images if there are too many, else the one that the text numbers or the large ones.
fn rejected_images(session: &LoadedSession, error: &CallError) -> Vec<(EntryIx, Fault)> {
    let text = error.text.to_lowercase();
    if TOO_MANY.iter().any(|words| text.contains(words)) {
        let images = session.context.messages.iter().filter(|message| message.size.images > 0);
        return images.map(|message| (message.entry, Fault::Images(message.size.images))).collect();
    }
    let large = prompt_faults(session, |kind| matches!(kind, PromptFaultKind::LargeImage { .. }));
    let numbered = numbered_message(session, &error.text);
    match large.iter().find(|(entry, _)| Some(*entry) == numbered) {
        Some(image) => vec![image.clone()],
        None => large,
    }
}

/// Returns the broken pairs whose id the text names, else all.
fn rejected_pairs(session: &LoadedSession, error: &CallError) -> Vec<(EntryIx, Fault)> {
    let broken = prompt_faults(session, |kind| !matches!(kind, PromptFaultKind::LargeImage { .. }));
    let is_named = |(_, fault): &&(EntryIx, Fault)| match fault {
        Fault::Prompt(
            PromptFaultKind::ResultWithoutCall { call } | PromptFaultKind::CallWithoutResult { call },
        ) => error.text.contains(call),
        _ => false,
    };
    let named: Vec<_> = broken.iter().filter(is_named).cloned().collect();
    if named.is_empty() { broken } else { named }
}

fn prompt_faults(
    session: &LoadedSession,
    wanted: impl Fn(&PromptFaultKind) -> bool,
) -> Vec<(EntryIx, Fault)> {
    let faults = session.prompt_faults().into_iter().filter(|fault| wanted(&fault.kind));
    faults.map(|fault| (fault.entry, Fault::Prompt(fault.kind))).collect()
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

/// Returns the entry of a message of the request: failed answers are not sent, and results that follow each other are
/// joined.
fn entry_of_request_message(session: &LoadedSession, number: usize) -> Option<EntryIx> {
    let sent = session.context.messages.iter().filter(|message| {
        !matches!(message.size.stop_reason, StopReason::Error | StopReason::Aborted)
            || message.size.role != Role::Assistant
    });
    let sent: Vec<(Role, EntryIx)> = sent.map(|message| (message.size.role, message.entry)).collect();
    let joins = |one: &(Role, EntryIx), next: &(Role, EntryIx)| {
        one.0 == Role::ToolResult && next.0 == Role::ToolResult
    };
    sent.chunk_by(joins).nth(number)?.first().map(|(_, entry)| *entry)
}
