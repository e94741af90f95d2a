//! The remainder: tokens that a provider counted for the last prompt, minus the estimate of that prompt, and the likely
//! cause.

use crate::context::breakdown::PromptParts;
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::format::{format_duration, format_number};
use crate::ids::EntryIx;
use crate::session::{LoadedSession, UnmeasuredReason};
use crate::store::entry::Role;
use crate::store::prompt_report::ReportSource;
use crate::units::{Chars, Millis};

/// A report may precede its turn by the time that a run needs to start.
const SAME_RUN_MS: Millis = Millis(300_000.0);
/// Below this, no tokenizer explains the count: even rare scripts have more chars per token.
const MIN_CHARS_PER_TOKEN: f64 = 0.4;

#[derive(Debug, Clone, PartialEq)]
pub enum RemainderCause {
    /// No run left a report, so the remainder includes everything before the messages.
    NoReport,
    /// The report was estimated; no run left it (compaction 11.4).
    EstimatedReport,
    /// No run left a report; the sizes are those of the workspace now.
    Workspace,
    /// The report belongs to a run of another session.
    OtherSession,
    /// The report belongs to a run on this other model.
    OtherModel(String),
    /// The report precedes the turn of the call by this long.
    OlderReport(Millis),
    /// The report belongs to that run: the rule is off by this much, or the prompt has content that it does not count.
    Estimator,
}

/// The last call that a provider counted, measured and estimated.
#[derive(Debug, Clone, PartialEq)]
pub struct Remainder {
    /// The answer whose usage holds the count.
    pub entry: EntryIx,
    /// Prompt tokens that the provider counted.
    pub measured: u64,
    /// Estimate of the same prompt: the tokens before the messages, and the messages before that answer.
    pub estimated: u64,
    /// Chars of the same prompt.
    pub chars: Chars,
    /// Estimated tokens of that answer and of later messages; neither number includes them.
    pub tokens_since: u64,
    /// Tokens of tool descriptions in the report: sent, but in no estimate.
    pub tool_description_tokens: u64,
    pub cause: RemainderCause,
}

impl Remainder {
    /// Compares both numbers for a session, or returns why no answer was measured.
    pub fn new(session: &LoadedSession) -> Result<Self, UnmeasuredReason> {
        let measured = session.measured?;
        let messages = &session.context.messages;
        let at = session.context.position(measured.entry).ok_or(UnmeasuredReason::NoUsage)?;
        let tokens = |from: usize, to: usize| -> u64 {
            messages[from..to].iter().map(|message| estimate_or_zero(&message.size)).sum()
        };
        let fixed = session.fixed_chars.unwrap_or_default();
        let chars: Chars = messages[..at].iter().map(|message| message.size.pi_chars.whole_chars()).sum();
        Ok(Self {
            entry: measured.entry,
            measured: measured.prompt_tokens,
            estimated: session.fixed_tokens() + tokens(0, at),
            chars: fixed.system + fixed.tools + chars,
            tokens_since: tokens(at, messages.len()),
            tool_description_tokens: tool_description_tokens(session),
            cause: remainder_cause(session, at),
        })
    }

    /// Returns measured minus estimated tokens; negative when the estimate is larger.
    pub fn difference(&self) -> i64 {
        self.measured as i64 - self.estimated as i64
    }

    /// Returns the cause in a few words.
    pub fn label(&self) -> String {
        match &self.cause {
            RemainderCause::NoReport => "no report stored".into(),
            RemainderCause::EstimatedReport => "the report was estimated".into(),
            RemainderCause::Workspace => "estimated from the workspace".into(),
            RemainderCause::OtherSession => "the report is from another session".into(),
            RemainderCause::OtherModel(model) => format!("the report is for {model}"),
            RemainderCause::OlderReport(ms) => format!("the report is {} older", format_duration(*ms)),
            RemainderCause::Estimator if self.difference() < 0 => "the estimate is higher".into(),
            RemainderCause::Estimator if self.has_unseen_text() => "text that clawscope does not see".into(),
            RemainderCause::Estimator => format!("{:.1} chars per token here, not 4", self.chars_per_token()),
        }
    }

    /// Returns chars per token that the provider counted.
    pub fn chars_per_token(&self) -> f64 {
        self.chars.get() / self.measured.max(1) as f64
    }

    /// Whether no script has so few chars per token: the call sent more than the transcript and the report show.
    fn has_unseen_text(&self) -> bool {
        self.chars_per_token() < MIN_CHARS_PER_TOKEN
    }

    /// Returns the cause in one or two sentences.
    pub fn explanation(&self) -> String {
        match &self.cause {
            RemainderCause::NoReport => "This session stores no report of its system prompt, so this includes system prompt, workspace \
                 files, tool schemas and the error of the estimate."
                .into(),
            RemainderCause::EstimatedReport => {
                "The stored report is an estimate and not from a run: the real sizes may differ.".into()
            }
            RemainderCause::Workspace => {
                "No run stored a report: the sizes of the system prompt are those of the workspace now, and may differ from what this call sent."
                    .into()
            }
            RemainderCause::OtherSession => {
                "The stored report is from a run of another session: its system prompt and tools may differ in size."
                    .into()
            }
            RemainderCause::OtherModel(model) => format!(
                "The stored report is from a run on {model}, the count from another model: their prompts and tools may differ."
            ),
            RemainderCause::OlderReport(ms) => format!(
                "The stored report is {} older than the turn of this call: files, skills and tools may have changed since.",
                format_duration(*ms)
            ),
            RemainderCause::Estimator => self.estimator_explanation(),
        }
    }

    fn estimator_explanation(&self) -> String {
        if self.difference() < 0 {
            return "The estimate is higher than the provider's count, or the call was sent with pruned results."
                .into();
        }
        let described = if self.tool_description_tokens > 0 {
            format!(
                " The call also sends tool descriptions (~{} tokens), which no estimate includes.",
                format_number(self.tool_description_tokens as f64)
            )
        } else {
            String::new()
        };
        if self.has_unseen_text() {
            return format!(
                "The provider counted {} tokens for this prompt; clawscope sees text for ~{}.{described}",
                format_number(self.measured),
                format_number(self.estimated)
            );
        }
        let ratio = self.chars_per_token();
        format!(
            "The estimate assumes 4 chars per token; here the provider counted one per {ratio:.1} chars.{described}"
        )
    }
}

fn tool_description_tokens(session: &LoadedSession) -> u64 {
    let report = session.prompt_report.as_deref();
    let parts = |report| PromptParts::new(report, &Budget::fixed_only(Some(FixedChars::new(report))));
    report.map_or(0, |report| parts(report).descriptions.tokens)
}

/// Returns the first cause that holds. `at` is the index of the answer among the messages.
fn remainder_cause(session: &LoadedSession, at: usize) -> RemainderCause {
    let Some(report) = session.prompt_report.as_deref() else { return RemainderCause::NoReport };
    match report.source {
        ReportSource::Estimate => return RemainderCause::EstimatedReport,
        ReportSource::Workspace => return RemainderCause::Workspace,
        // A report from the transcript was in force at any age.
        ReportSource::Transcript => return RemainderCause::Estimator,
        ReportSource::Run | ReportSource::Recorded | ReportSource::Unknown => {}
    }
    if report.session_id.as_ref().is_some_and(|id| *id != session.item.id) {
        return RemainderCause::OtherSession;
    }
    let index = &session.index;
    let messages = &session.context.messages;
    let answered = index.entry(messages[at].entry).model.and_then(|(_, model)| index.values.text(model));
    if let Some(model) = report.model.as_ref().filter(|model| answered.is_some_and(|other| other != **model))
    {
        return RemainderCause::OtherModel(model.clone());
    }
    let turn = messages[..at].iter().rev().find(|message| message.size.role == Role::User);
    let began = turn.map(|message| index.entry(message.entry).time_ms).filter(|ms| ms.is_finite());
    let older = began.zip(report.generated_at).map(|(began, made)| began - made);
    match older.filter(|ms| *ms > SAME_RUN_MS) {
        Some(ms) => RemainderCause::OlderReport(ms),
        None => RemainderCause::Estimator,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::js;
    use crate::session::MeasuredPrompt;
    use crate::session::testing::{entry_ix, loaded_session, message, transcript, user};
    use crate::store::prompt_report::SystemPromptReport;

    /// Builds two turns; the usage of the second answer counts its prompt. Entries are a minute apart, from 13:00:07.
    fn session(measured: u64, report: Option<&str>) -> LoadedSession {
        let answer = |text: &str| {
            message(&format!(
                r#"{{"role":"assistant","provider":"p","model":"m-1","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input":{measured}}},"stopReason":"stop"}}"#
            ))
        };
        let text = transcript(&[user("12345678"), answer("1234"), user("123456789012"), answer("12345")]);
        let report =
            report.map(|report| SystemPromptReport::from_value(&js::parse(report).unwrap()).unwrap());
        LoadedSession {
            measured: Ok(MeasuredPrompt { prompt_tokens: measured, entry: entry_ix(3) }),
            fixed_chars: report.as_ref().map(FixedChars::new),
            prompt_report: report.map(Arc::new),
            ..loaded_session(&text, 1_000.0)
        }
    }

    fn cause_of(report: &str) -> RemainderCause {
        Remainder::new(&session(50, Some(report))).unwrap().cause
    }

    const RUN: &str = r#""source":"run","model":"m-1","sessionId":"s","systemPrompt":{"chars":80}"#;
    /// 13:02:07, the start of the second turn.
    const TURN: i64 = 1_795_093_327_000;

    #[test]
    fn measured_and_estimated_tokens_belong_to_the_same_prompt() {
        let remainder = Remainder::new(&session(50, Some(&format!("{{{RUN}}}")))).unwrap();
        // 20 of the system prompt, and 2 + 1 + 3 of the messages before the answer; the answer itself came later.
        assert_eq!((remainder.measured, remainder.estimated, remainder.tokens_since), (50, 26, 2));
        assert_eq!((remainder.difference(), remainder.chars), (24, Chars(104.0)));
        assert_eq!(remainder.label(), "2.1 chars per token here, not 4");
    }

    #[test]
    fn without_a_report_the_remainder_includes_the_part_before_the_messages() {
        let remainder = Remainder::new(&session(50, None)).unwrap();
        assert_eq!(
            (remainder.estimated, remainder.difference(), &remainder.cause),
            (6, 44, &RemainderCause::NoReport)
        );
        assert!(remainder.explanation().contains("no report"));
    }

    #[test]
    fn an_estimate_above_the_count_has_a_negative_remainder() {
        let remainder = Remainder::new(&session(10, Some(&format!("{{{RUN}}}")))).unwrap();
        assert_eq!((remainder.difference(), remainder.cause.clone()), (-16, RemainderCause::Estimator));
        assert_eq!(remainder.label(), "the estimate is higher");
    }

    #[test]
    fn a_report_of_another_run_is_named_as_the_cause() {
        assert_eq!(cause_of(r#"{"source":"estimate"}"#), RemainderCause::EstimatedReport);
        assert_eq!(
            cause_of(&format!("{{{RUN}}}").replace(r#":"s""#, r#":"t""#)),
            RemainderCause::OtherSession
        );
        assert_eq!(
            cause_of(&format!("{{{RUN}}}").replace("m-1", "m-2")),
            RemainderCause::OtherModel("m-2".into())
        );
        let made = |ms: i64| cause_of(&format!(r#"{{{RUN},"generatedAt":{}}}"#, TURN - ms));
        assert_eq!((made(300_000), made(-60_000)), (RemainderCause::Estimator, RemainderCause::Estimator));
        assert_eq!(made(300_001), RemainderCause::OlderReport(Millis(300_001.0)));
    }

    #[test]
    fn an_uncounted_prompt_has_no_remainder() {
        let session = LoadedSession { measured: Err(UnmeasuredReason::SinceCommit), ..session(50, None) };
        assert_eq!(Remainder::new(&session), Err(UnmeasuredReason::SinceCommit));
    }
}
