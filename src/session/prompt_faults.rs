//! Messages of the context that a provider refuses whatever their tokens: tool results without their call, calls without
//! a result, and images above the provider's limit.
//!
//! Evidence comes first: what an answered call contained is no fault, whatever a rule says.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::context::ContextMessage;
use crate::diagnostic::{Diagnostic, Severity};
use crate::format::{format_number, format_size};
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::session::LoadedSession;
use crate::session::manual_change::ManualChange;
use crate::store::body;
use crate::store::entry::{EntryKind, Role, StopReason};
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::store::prompt_report::{InjectedFile, ReportSource};
use crate::units::Bytes;

/// Anthropic's limit for one image, in base64 (overflow-texts 5, L3).
const MAX_IMAGE_BYTES: Bytes = Bytes(5 << 20);
/// Lines below this size hold no image worth reading.
const MIN_IMAGE_LINE: Bytes = Bytes(1 << 20);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFault {
    pub entry: EntryIx,
    pub kind: PromptFaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptFaultKind {
    /// A tool result whose call is not sent before it: it is missing, or in an answer that failed or was aborted.
    ResultWithoutCall { call: String },
    /// A tool result with an empty call id.
    EmptyCallId,
    /// A call that no result answers, although the conversation went on.
    CallWithoutResult { call: String },
    /// An image of this many bytes in base64.
    LargeImage { bytes: Bytes },
}

impl LoadedSession {
    /// Returns the faults of the context, in its order. Faults before the last answered call are none: a provider took
    /// them.
    pub fn prompt_faults(&self) -> Vec<PromptFault> {
        let mut faults = self.broken_pairs();
        faults.extend(self.large_images());
        faults.sort_by_key(|fault| fault.entry);
        faults
    }

    fn broken_pairs(&self) -> Vec<PromptFault> {
        let (answered, index) = (self.last_answered(), &self.index);
        let mut called: HashSet<IdIx> = HashSet::new();
        let mut open: Vec<(EntryIx, IdIx)> = Vec::new();
        let mut faults = Vec::new();
        for message in &self.context.messages {
            if message.size.role == Role::ToolResult {
                open.retain(|(_, id)| Some(*id) != message.size.call_id);
                faults.extend(unpaired_result(self, message, &called));
            } else if !is_dropped(message) {
                let calls = index.tool_calls_of(message.entry).iter().filter_map(|call| call.id);
                let calls: Vec<IdIx> = calls.collect();
                called.extend(&calls);
                open.extend(calls.into_iter().map(|id| (message.entry, id)));
            }
        }
        let last = self.context.messages.last().map(|message| message.entry);
        let unanswered =
            open.into_iter().filter(|(entry, _)| Some(*entry) != last && self.is_left_behind(*entry));
        faults.extend(unanswered.map(|(entry, id)| PromptFault {
            entry,
            kind: PromptFaultKind::CallWithoutResult { call: index.ids.text(id).to_owned() },
        }));
        // The answer that made a call was not sent with it yet.
        faults.retain(|fault| answered.is_none_or(|answered| fault.entry >= answered));
        faults
    }

    /// Whether the person wrote again after an entry, so that its results come no more.
    fn is_left_behind(&self, entry: EntryIx) -> bool {
        let later = self.context.messages.iter().filter(|message| message.entry > entry);
        later.into_iter().any(|message| message.size.role == Role::User)
    }

    /// Returns the last call whose prompt is known to have been accepted with the messages of the present context.
    fn last_answered(&self) -> Option<EntryIx> {
        let index = &self.index;
        let path = &self.context.path;
        let since = path.iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Compaction);
        // A compaction may have removed the call of a result that it kept.
        let path = &path[since.map_or(0, |at| at + 1)..];
        let answers = |ix: &EntryIx| {
            let entry = index.entry(*ix);
            let stop = entry.message.map(|size| size.stop_reason);
            let failed = matches!(stop, Some(StopReason::Error | StopReason::Aborted));
            entry.is_model_call() && !failed && self.overflow_at(*ix).is_none()
        };
        path.iter().rev().copied().find(answers)
    }

    fn large_images(&self) -> Vec<PromptFault> {
        let answered = self.last_answered();
        let newer = |message: &&ContextMessage| {
            message.size.images > 0 && answered.is_none_or(|answered| message.entry > answered)
        };
        let candidates: Vec<&ContextMessage> = self.context.messages.iter().filter(newer).collect();
        if candidates.is_empty() {
            return Vec::new();
        }
        let refused_for_images = self.is_refused_for_images(answered);
        let is_claude = self.provider.contains("anthropic") || self.model.contains("claude");
        if !refused_for_images && !is_claude {
            return Vec::new();
        }
        let mut images: Vec<(EntryIx, Bytes)> = candidates
            .into_iter()
            .filter(|message| refused_for_images || self.index.entry(message.entry).bytes() > MIN_IMAGE_LINE)
            .filter_map(|message| Some((message.entry, largest_image(self, message.entry)?)))
            .collect();
        images.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let above = images.iter().filter(|(_, bytes)| *bytes > MAX_IMAGE_BYTES).count();
        // The provider's limit may be lower: then the largest image is the one to look at.
        images.truncate(above.max(usize::from(refused_for_images)));
        images
            .into_iter()
            .map(|(entry, bytes)| PromptFault { entry, kind: PromptFaultKind::LargeImage { bytes } })
            .collect()
    }

    /// Whether a failed call of the path since an entry speaks of images.
    fn is_refused_for_images(&self, since: Option<EntryIx>) -> bool {
        let errors = self.errors.iter().map(|error| (error.entry, &error.text));
        let refusals = self.overflows.iter().map(|overflow| (overflow.entry, &overflow.text));
        let mut newer = errors.chain(refusals).filter(|(entry, _)| since.is_none_or(|since| *entry > since));
        newer.any(|(entry, text)| text.to_lowercase().contains("image") && self.context.path.contains(&entry))
    }
}

/// Whether the runtime drops an answer before sending: it failed or was aborted.
fn is_dropped(message: &ContextMessage) -> bool {
    matches!(message.size.stop_reason, StopReason::Error | StopReason::Aborted)
}

fn unpaired_result(
    session: &LoadedSession,
    message: &ContextMessage,
    called: &HashSet<IdIx>,
) -> Option<PromptFault> {
    let id = message.size.call_id;
    let call = id.map(|id| session.index.ids.text(id)).unwrap_or_default();
    let kind = if call.trim().is_empty() {
        PromptFaultKind::EmptyCallId
    } else if id.is_some_and(|id| called.contains(&id)) {
        return None;
    } else {
        PromptFaultKind::ResultWithoutCall { call: call.to_owned() }
    };
    Some(PromptFault { entry: message.entry, kind })
}

/// Returns the bytes of an entry's largest image, in base64.
fn largest_image(session: &LoadedSession, entry: EntryIx) -> Option<Bytes> {
    let value = body::read_entry(&session.source, &session.index, entry).ok()?;
    let content = value.get("message").and_then(|message| message.get("content"))?;
    let blocks =
        content.as_array()?.iter().filter(|block| block.get("type").is_some_and(|kind| kind.str_is("image")));
    let data = |block: &Value| {
        let data = block.get("data").or_else(|| block.get("source")?.get("data"))?.as_str()?;
        Some(Bytes::from_len(JsString::len(data)))
    };
    blocks.filter_map(data).max()
}

pub(super) fn collect(session: &LoadedSession) -> Vec<Diagnostic> {
    let faults = session.prompt_faults();
    let mut found: Vec<Diagnostic> = faults.iter().map(|fault| describe_fault(session, fault)).collect();
    found.extend(cut_files(session));
    found
}

fn describe_fault(session: &LoadedSession, fault: &PromptFault) -> Diagnostic {
    let what = fault.kind.description();
    let drop = match ManualChange::Drop(vec![fault.entry]).command(session) {
        Ok(command) => {
            format!("`{command}` continues on a branch without it; /new starts without the history.")
        }
        Err(reason) => {
            format!("/new starts without the history. No commit drops it while the file is damaged: {reason}")
        }
    };
    let next = format!("Providers refuse every prompt with it. {drop}");
    diagnostic_at(&session.index, fault.entry, Severity::Warning, what, &next)
}

impl PromptFaultKind {
    /// Describes the fault without its entry.
    pub fn description(&self) -> String {
        match self {
            Self::ResultWithoutCall { call } => {
                format!(
                    "this tool result answers call {call}, which is not sent: no answer before it has that call"
                )
            }
            Self::EmptyCallId => "this tool result has an empty call id (toolCallId)".to_owned(),
            Self::CallWithoutResult { call } => format!("no tool result answers call {call} of this message"),
            Self::LargeImage { bytes } => {
                format!(
                    "this message has an image of {} in base64 ({} bytes)",
                    format_size(*bytes),
                    format_number(bytes.get())
                )
            }
        }
    }
}

/// Describes each workspace file that a run sent only in part (compaction 11.9).
fn cut_files(session: &LoadedSession) -> Vec<Diagnostic> {
    let Some(report) = &session.prompt_report else { return Vec::new() };
    // An estimate of today's files says nothing of what was sent.
    if matches!(report.source, ReportSource::Workspace | ReportSource::Estimate) {
        return Vec::new();
    }
    let is_cut = |file: &&InjectedFile| !file.is_missing && file.injected_chars < file.raw_chars;
    let limit =
        report.max_file_chars.map(|chars| format!(" (bootstrapMaxChars {})", format_number(chars.whole())));
    let limit = limit.unwrap_or_default();
    let describe = |file: &InjectedFile| {
        let path = file.path.as_deref().map_or_else(|| PathBuf::from(&file.name), PathBuf::from);
        let what = format!(
            "{} is cut: {} of {} chars are sent{limit}",
            file.name,
            format_number(file.injected_chars.whole()),
            format_number(file.raw_chars.whole()),
        );
        let next = "Shorten the file, or raise agents.defaults.bootstrapMaxChars (bootstrapTotalMaxChars for all files together).";
        Diagnostic::new(path, Severity::Warning, what, next)
    };
    report.files.iter().filter(is_cut).map(describe).collect()
}

/// Builds a diagnostic at the line of an entry.
pub(super) fn diagnostic_at(
    index: &Index,
    ix: EntryIx,
    severity: Severity,
    what: String,
    next: &str,
) -> Diagnostic {
    Diagnostic::new(&*index.path, severity, what, next)
        .at_line(index.entry(ix).line)
        .about(index.display_id(ix))
}

/// Returns the first entry that fits, and the number of entries that fit.
pub(super) fn first_match(index: &Index, fits: impl Fn(EntryIx) -> bool) -> Option<(EntryIx, usize)> {
    let mut all = index.iter().map(|(ix, _)| ix).filter(|ix| fits(*ix));
    let first = all.next()?;
    Some((first, 1 + all.count()))
}

pub(super) fn and_more(count: usize) -> String {
    if count > 1 { format!(", also at {} more", count - 1) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use crate::session::testing::{call, loaded_session, message, result, transcript, user};

    fn faults(entries: &[String]) -> Vec<(u32, String)> {
        let session = loaded_session(&transcript(entries), 200_000.0);
        session.prompt_faults().into_iter().map(|fault| (fault.entry.0, fault.kind.description())).collect()
    }

    fn answer(stop: &str, error: &str) -> String {
        message(&format!(
            r#"{{"role":"assistant","provider":"p","model":"m","content":[{{"type":"text","text":"hi"}}],"stopReason":"{stop}","errorMessage":"{error}"}}"#
        ))
    }

    fn aborted_call(id: &str) -> String {
        call(id, "exec", "{}").replace(r#""stopReason":"toolUse""#, r#""stopReason":"aborted""#)
    }

    fn image(chars: usize) -> String {
        let data = "A".repeat(chars);
        message(&format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"see"}},{{"type":"image","data":"{data}","mimeType":"image/png"}}]}}"#
        ))
    }

    #[test]
    fn a_result_of_an_aborted_call_is_a_fault_until_a_call_with_it_is_answered() {
        let stuck = [user("go"), aborted_call("c1"), result("c1", "exec", "late", ""), user("and?")];
        assert_eq!(
            faults(&stuck),
            [(
                2,
                "this tool result answers call c1, which is not sent: no answer before it has that call"
                    .into()
            )]
        );
        let refused = [&stuck[..], &[answer("error", "400 unexpected tool_use_id")]].concat();
        assert_eq!(faults(&refused).len(), 1, "a refusal proves nothing in its favour");
        let answered = [&stuck[..], &[answer("stop", "")]].concat();
        assert_eq!(faults(&answered), [], "the provider took it");
    }

    #[test]
    fn calls_and_results_in_pairs_are_sound_and_an_unfinished_run_is_no_fault() {
        let paired = [user("go"), call("c1", "exec", "{}"), result("c1", "exec", "done", ""), user("next")];
        assert_eq!(faults(&paired), []);
        assert_eq!(faults(&[user("go"), call("c1", "exec", "{}")]), [], "its result may still come");
        assert_eq!(
            faults(&[user("go"), aborted_call("c1"), user("again")]),
            [],
            "the runtime drops the answer"
        );
        let open = [user("go"), call("c1", "exec", "{}"), user("again")];
        assert_eq!(faults(&open), [(1, "no tool result answers call c1 of this message".into())]);
    }

    #[test]
    fn an_empty_call_id_is_named() {
        let lines = [user("go"), result("", "exec", "Tool not found", ""), user("and?")];
        assert_eq!(faults(&lines), [(1, "this tool result has an empty call id (toolCallId)".into())]);
    }

    #[test]
    fn an_image_is_a_fault_above_the_limit_or_where_a_refusal_names_images() {
        let stuck = |chars| [user("go"), image(chars), answer("error", "400 image exceeds 5 MB maximum")];
        assert_eq!(faults(&stuck(6_990_508))[0].0, 1);
        assert_eq!(faults(&stuck(3_000_000)).len(), 1, "another provider has a lower limit");
        assert_eq!(faults(&[user("go"), image(40_000)]), []);
        let fine = [user("go"), image(6_990_508), answer("stop", ""), user("thanks")];
        assert_eq!(faults(&fine), [], "this provider took it");
        let other = [user("go"), image(40_000), answer("error", "429 rate limit")];
        assert_eq!(faults(&other), []);
    }
}
