//! What a provider counted for the last prompt, against the estimate of that same prompt; and why they differ.

use crate::context::breakdown::PromptParts;
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::inspect::words::{counted, span};
use crate::inspect::{Inspection, Unmeasured};
use crate::store::entry::Role;
use crate::store::prompt_report::ReportSource;

/// A report may come before the turn it is of by as much as it takes to begin a run, ms.
const SAME_RUN_MS: f64 = 300_000.0;

/// Why measured and estimated tokens differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// No run left a report: what precedes the messages is in the remainder.
    NoReport,
    /// The report was estimated and not left by a run (compaction 11.4).
    EstimatedReport,
    /// The report is of a run of another session.
    OtherSession,
    /// The report is of a run on another model, this one.
    OtherModel(String),
    /// The report was made this long before the turn of the call, ms.
    OlderReport(f64),
    /// The report is of that run: the rule is wrong by this much, or something is sent that it does not count.
    Estimator,
}

/// The last call that a provider counted, measured and estimated.
#[derive(Debug, Clone, PartialEq)]
pub struct Remainder {
    /// The answer that says what was counted.
    pub entry: EntryIx,
    /// Prompt tokens as counted.
    pub measured: u64,
    /// The estimate of the same prompt: what precedes the messages, and the messages before that answer.
    pub estimated: u64,
    /// Chars of the same prompt.
    pub chars: u64,
    /// Estimated tokens of that answer and what came after it: not in either of the two.
    pub since: u64,
    /// Tool descriptions of the report, tokens: sent, and in no estimate.
    pub descriptions: u64,
    /// Why the two differ.
    pub cause: Cause,
}

impl Remainder {
    /// Compares the two for a session, or says why nothing was counted.
    pub fn new(inspection: &Inspection) -> Result<Self, Unmeasured> {
        let measured = inspection.measured?;
        let messages = &inspection.context.messages;
        let at = inspection.context.position(measured.entry).ok_or(Unmeasured::NoUsage)?;
        let tokens = |from: usize, to: usize| -> u64 {
            messages[from..to].iter().map(|message| estimate_or_zero(&message.size)).sum()
        };
        let fixed = inspection.fixed.unwrap_or_default();
        let chars: u64 = messages[..at].iter().map(|message| message.size.pi_chars.chars()).sum();
        Ok(Self {
            entry: measured.entry,
            measured: measured.prompt_tokens,
            estimated: inspection.fixed_tokens() + tokens(0, at),
            chars: fixed.system + fixed.tools + chars,
            since: tokens(at, messages.len()),
            descriptions: descriptions(inspection),
            cause: cause(inspection, at),
        })
    }

    /// Measured less estimated, tokens; negative where the estimate is the larger.
    pub fn tokens(&self) -> i64 {
        self.measured as i64 - self.estimated as i64
    }

    /// Why, in a few words.
    pub fn short(&self) -> String {
        match &self.cause {
            Cause::NoReport => "no report stored".into(),
            Cause::EstimatedReport => "the report was estimated".into(),
            Cause::OtherSession => "the report is another session's".into(),
            Cause::OtherModel(model) => format!("the report is of {model}"),
            Cause::OlderReport(ms) => format!("the report is {} older", span(*ms)),
            Cause::Estimator if self.tokens() < 0 => "the estimate is the larger".into(),
            Cause::Estimator => format!("{:.1} chars to a token, not 4", self.chars_per_token()),
        }
    }

    /// Chars that the provider counted as one token.
    pub fn chars_per_token(&self) -> f64 {
        self.chars as f64 / self.measured.max(1) as f64
    }

    /// Why, in a sentence or two.
    pub fn words(&self) -> String {
        match &self.cause {
            Cause::NoReport => "No report of the system prompt is stored with this session: system prompt, workspace files \
                 and tool schemas are in here, and the error of the estimate."
                .into(),
            Cause::EstimatedReport => {
                "The stored report was estimated and not left by a run: what was sent may have been of another size.".into()
            }
            Cause::OtherSession => {
                "The stored report is of a run of another session: system prompt and tools may have been of another size."
                    .into()
            }
            Cause::OtherModel(model) => format!(
                "The stored report is of a run on {model}, the count of another model: their prompts and tools may differ."
            ),
            Cause::OlderReport(ms) => format!(
                "The stored report was made {} before the turn of this call: files, skills and tools may have changed since.",
                span(*ms)
            ),
            Cause::Estimator => self.estimator_words(),
        }
    }

    fn estimator_words(&self) -> String {
        if self.tokens() < 0 {
            return "The rule counts more than the provider did, or the call was sent with results pruned."
                .into();
        }
        let described = if self.descriptions > 0 {
            format!(
                " Descriptions of tools, ~{} tokens, are sent and in no estimate.",
                counted(self.descriptions as f64)
            )
        } else {
            String::new()
        };
        let ratio = self.chars_per_token();
        format!("The rule takes 4 chars a token; here the provider counted one for {ratio:.1}.{described}")
    }
}

fn descriptions(inspection: &Inspection) -> u64 {
    let report = inspection.report.as_deref();
    let parts = |report| PromptParts::new(report, &Budget::before_messages(Some(FixedChars::new(report))));
    report.map_or(0, |report| parts(report).descriptions.tokens)
}

/// The first of the reasons that holds. `at` is the place of the answer among the messages.
fn cause(inspection: &Inspection, at: usize) -> Cause {
    let Some(report) = inspection.report.as_deref() else { return Cause::NoReport };
    if report.source == ReportSource::Estimate {
        return Cause::EstimatedReport;
    }
    if report.session_id.as_ref().is_some_and(|id| *id != inspection.session.id) {
        return Cause::OtherSession;
    }
    let index = &inspection.index;
    let messages = &inspection.context.messages;
    let answered = index.entry(messages[at].entry).model.and_then(|(_, model)| index.words.text(model));
    if let Some(model) = report.model.as_ref().filter(|model| answered.is_some_and(|other| other != **model))
    {
        return Cause::OtherModel(model.clone());
    }
    let turn = messages[..at].iter().rev().find(|message| message.size.role == Role::User);
    let began = turn.map(|message| index.entry(message.entry).time).filter(|ms| ms.is_finite());
    let older = began.zip(report.generated_at).map(|(began, made)| began - made);
    match older.filter(|ms| *ms > SAME_RUN_MS) {
        Some(ms) => Cause::OlderReport(ms),
        None => Cause::Estimator,
    }
}
