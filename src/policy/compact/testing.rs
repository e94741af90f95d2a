use crate::gateway::ruleset::PiRelease;
use crate::js::{self, JsString, Value};
use crate::policy::compact::files::FileOps;
use crate::policy::compact::prepare::CompactionTexts;
use crate::policy::compact::request::Identifiers;
use crate::policy::compact::stages::{NoSummary, StoredSummary, SummaryMode, SummaryModel, SummarySpec};
use crate::policy::compact::summarise::summarise_within;
use crate::units::{Moment, Tokens};

/// Builds `count` user messages of `chars` chars each.
pub(crate) fn users(count: usize, chars: usize) -> Vec<Value> {
    let json = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(chars));
    vec![js::parse(&json).expect("test JSON"); count]
}

/// Builds a safeguard job over a history with the gateway's defaults.
pub(crate) fn job(history: Vec<Value>) -> SummarySpec {
    let inputs = CompactionTexts {
        history,
        turn_prefix: Vec::new(),
        previous_summary: None,
        files: FileOps::default(),
        pi: PiRelease::OLDEST,
    };
    SummarySpec {
        texts: inputs,
        mode: SummaryMode::Safeguard,
        window: Tokens(200_000.0),
        history_share: 0.5,
        reserve_tokens: Tokens(20_000.0),
        tokens_before: Tokens::ZERO,
        identifiers: Identifiers::Strict,
        instructions: None,
        rules_section: JsString::new(),
        now_ms: Moment::ZERO,
    }
}

/// Makes a summary in the job's own window.
pub(crate) fn summarise(
    job: &SummarySpec,
    answers: &mut dyn SummaryModel,
) -> Result<StoredSummary, NoSummary> {
    summarise_within(job, job.window, answers)
}
