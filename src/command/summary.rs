//! What `summarize`, `simulate` and `commit` share: who writes a summary, making it with progress and cancel, and its calls
//! in words and as JSON.

use std::cell::RefCell;

use super::described::number;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::preview::{Preview, SummaryLength};
use super::scene::Around;
use super::table::{Align, Table};
use super::words::{counted, estimated, grouped, span};
use crate::config::{self, SummarizerConfig};
use crate::inspect::making::{Made, Making, MakingError, no_summary_words};
use crate::inspect::summary::{Compactable, NotCompactable, SummarySettings};
use crate::inspect::words::{dollars, estimated_dollars};
use crate::inspect::writer::Writer;
use crate::js::{Object, Value};
use crate::policy::Step;
use crate::policy::compact::{Call, Calls, calls};
use crate::runtime::interruptible;
use crate::summarize::{Cancel, MadeCall, Progress, Summarizer, SummarizerKind, choose};

/// Lines of a summary that are shown before a commit.
const HEAD_LINES: usize = 12;

/// Who is asked for summaries.
pub(super) struct Asked {
    pub writer: Writer,
    pub summarizer: Box<dyn Summarizer>,
}

/// The person's settings of summaries.
pub(super) fn config_of(around: &Around) -> Result<SummarizerConfig, Failure> {
    Ok(config::read(&around.env).map_err(|error| Failure::usage(error.to_string()))?.summarizer)
}

/// A kind by the word of `--with`.
pub(super) fn kind_of(word: Option<&str>) -> Option<SummarizerKind> {
    SummarizerKind::ALL.into_iter().find(|kind| Some(kind.word()) == word)
}

/// The summarizer of a kind; a slip in the settings is told before anything is read or asked.
pub(super) fn summarizer(
    kind: SummarizerKind,
    config: &SummarizerConfig,
    around: &Around,
) -> Result<Asked, Failure> {
    let summarizer = choose(kind, config, &around.env).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Asked { writer: Writer::of(kind, config), summarizer })
}

/// Does `work` that tells its progress; ctrl-c cancels it in order. `quiet`: nothing is told.
pub(super) fn cancellable<T>(
    quiet: bool,
    output: &mut Output,
    work: impl FnOnce(&Cancel, &mut dyn FnMut(Progress)) -> T,
) -> Result<T, Failure> {
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let told = RefCell::new(output);
    let mut progress = |progress: Progress| {
        if !quiet {
            // That a note cannot be told is no reason to stop.
            _ = told.borrow_mut().note(&progress_words(&progress));
        }
    };
    Ok(interruptible(move || stop.cancel(), || work(&cancel, &mut progress))?)
}

fn progress_words(progress: &Progress) -> String {
    let Progress { call, of, purpose, tokens, attempt, wait_ms } = progress;
    let again = match (attempt, wait_ms) {
        (1, _) => String::new(),
        (attempt, wait) => format!(", attempt {attempt} in {}", span((*wait as f64).max(1000.0))),
    };
    format!("call {call} of {of}: {} · {} tokens{again}", purpose.word(), estimated(*tokens))
}

/// Makes the summary of a preview's compaction, and counts its length from then on.
pub(super) fn make(
    preview: &mut Preview,
    asked: Asked,
    json: bool,
    output: &mut Output,
) -> Result<Made, Failure> {
    let quiet = json || !asked.writer.is_outside();
    let Preview { inspection, plan, now_ms, .. } = &*preview;
    let told = |error: MakingError| told(preview, &error);
    let settings = summary_settings(preview);
    let who = (asked.writer, asked.summarizer);
    let making = Making::new(inspection, plan, settings, who, *now_ms).map_err(told)?;
    let made = cancellable(quiet, output, |cancel, progress| making.make(cancel, progress))?.map_err(told)?;
    let plan = made.plan(inspection, plan).map_err(|error| Failure::unreadable(error.to_string()))?;
    preview.plan = plan;
    preview.set_summary_length(SummaryLength::Made(made.writer.words()), made.summary.tokens());
    Ok(made)
}

/// What the store's configuration says of summaries.
fn summary_settings(preview: &Preview) -> SummarySettings {
    let rules = preview.inspection.ruleset.ruleset.rules();
    SummarySettings::of(rules, &preview.scene.store().config.js)
}

fn told(preview: &Preview, error: &MakingError) -> Failure {
    match error {
        MakingError::NotCompactable(NotCompactable::Read(error)) => Failure::unreadable(error.to_string()),
        other => Failure::refused(format!("{}: {other}", preview.inspection.session.key.0)),
    }
}

/// That a summary was asked for, and no step makes use of it.
pub(super) fn refuse_without_compaction(preview: &Preview, option: &str) -> Result<(), Failure> {
    if preview.simulated.steps.steps.has(Step::Compact) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{option}: the plan has no compaction to summarise for. Add compact to --policy."
    )))
}

/// The calls that the gateway itself would make for a preview's compaction; none where it compacts nothing, and the
/// reason where it would give up.
pub(super) fn gateway_calls(preview: &Preview) -> Result<Option<Result<Calls, String>>, Failure> {
    let Preview { inspection, plan, now_ms, .. } = preview;
    if plan.compaction.is_none() {
        return Ok(None);
    }
    let settings = plan.settings.compaction;
    let compactable = Compactable::new(inspection, settings, summary_settings(preview), None, *now_ms);
    let compactable = compactable.map_err(|error| told(preview, &error.into()))?;
    let told = calls(&compactable.job, plan.settings.summary_tokens as f64);
    Ok(Some(told.map_err(|why| no_summary_words(&why))))
}

/// The gateway's calls in words: all of them in one line, then each.
pub(super) fn print_gateway_calls(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    match gateway_calls(preview)? {
        None => Ok(()),
        Some(Err(why)) => Ok(output.line(Tone::Warning, &format!("  {why}"))?),
        Some(Ok(calls)) => {
            let cost =
                preview.inspection.price.map(|price| format!(", {}", estimated_dollars(calls.cost(&price))));
            let line = format!(
                "  the gateway would take {} with {} tokens in and {} out{} (compaction 3.19, 5.21)",
                counted(calls.calls.len() as u64, "call", "calls"),
                estimated(calls.input_tokens()),
                estimated(calls.output_tokens()),
                cost.unwrap_or_default()
            );
            output.line(Tone::Dim, &line)?;
            Ok(calls_table(&calls).print(output, "    ")?)
        }
    }
}

/// One row for each call.
pub(super) fn calls_table(calls: &Calls) -> Table {
    let mut table = Table::new(&[
        ("#", Align::Right),
        ("summarises", Align::Left),
        ("messages", Align::Right),
        ("tokens in", Align::Right),
        ("tokens out", Align::Right),
        ("at most", Align::Right),
    ]);
    for (at, call) in calls.calls.iter().enumerate() {
        let what = if call.merges {
            format!("{}: merge", call.purpose.word())
        } else {
            call.purpose.word().to_owned()
        };
        table.push(vec![
            (at + 1).to_string().into(),
            what.into(),
            grouped(call.messages as u64).into(),
            estimated(call.input_tokens).into(),
            estimated(call.output_tokens).into(),
            grouped(call.max_tokens.max(0.0) as u64).into(),
        ]);
    }
    table
}

/// The gateway's calls as JSON: null where nothing is compacted, or where the gateway would give up.
pub(super) fn gateway_calls_value(preview: &Preview) -> Result<Value, Failure> {
    let Some(Ok(calls)) = gateway_calls(preview)? else { return Ok(Value::Null) };
    let cost = preview.inspection.price.map(|price| calls.cost(&price));
    let each: Vec<Value> = calls.calls.iter().map(call_value).collect();
    Ok(Value::from(Object::from([
        ("count", Value::from(calls.calls.len())),
        ("inputTokens", Value::from(calls.input_tokens())),
        ("outputTokens", Value::from(calls.output_tokens())),
        ("cost", cost.map_or(Value::Null, number)),
        ("each", Value::from(each)),
    ])))
}

/// A call that would be made, as JSON.
pub(super) fn call_value(call: &Call) -> Value {
    Value::from(Object::from([
        ("purpose", Value::from(call.purpose.word())),
        ("merges", Value::from(call.merges)),
        ("messages", Value::from(call.messages)),
        ("inputTokens", Value::from(call.input_tokens)),
        ("maxTokens", number(call.max_tokens)),
        ("outputTokens", Value::from(call.output_tokens)),
    ]))
}

/// A call that was made, as JSON.
pub(super) fn made_call_value(call: &MadeCall) -> Value {
    let tokens = call.measured.unwrap_or(call.estimated);
    Value::from(Object::from([
        ("purpose", Value::from(call.purpose.word())),
        ("merges", Value::from(call.merges)),
        ("messages", Value::from(call.messages)),
        ("attempts", Value::from(u64::from(call.attempts))),
        ("inputTokens", Value::from(tokens.input)),
        ("outputTokens", Value::from(tokens.output)),
        ("source", Value::from(if call.measured.is_some() { "measured" } else { "est" })),
        ("cut", Value::from(call.cut)),
    ]))
}

/// A summary that was made, as JSON: who wrote it, what it took, and its text.
pub(super) fn made_value(made: &Made) -> Value {
    Value::from(Object::from([
        ("summarizer", Value::from(made.writer.kind.word())),
        ("model", Value::from(made.writer.name.clone())),
        ("tokens", Value::from(made.summary.tokens())),
        ("calls", Value::from(made.calls.iter().map(made_call_value).collect::<Vec<_>>())),
        ("costUsd", made.cost.map_or(Value::Null, number)),
        ("text", Value::String(made.summary.text.clone())),
    ]))
}

/// Who wrote a summary, what it took, and its first lines.
pub(super) fn print_made(made: &Made, output: &mut Output) -> Result<(), Failure> {
    let calls = counted(made.calls.len() as u64, "call", "calls");
    let cost = made.cost.filter(|usd| *usd > 0.0).map(|usd| format!(" · {}", dollars(usd)));
    let (who, tokens) = (made.writer.words(), estimated(made.summary.tokens()));
    let line = format!("summary by {who} · {tokens} tokens · {calls}{}", cost.unwrap_or_default());
    output.line(Tone::Strong, &line)?;
    let text = made.summary.text.to_string_lossy();
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(HEAD_LINES) {
        output.line(Tone::Dim, &format!("  {line}"))?;
    }
    if let Some(more) = lines.len().checked_sub(HEAD_LINES).filter(|more| *more > 0) {
        output.line(Tone::Dim, &format!("  … {} more", counted(more as u64, "line", "lines")))?;
    }
    if made.is_cut() {
        output.line(Tone::Warning, "an answer ended at its limit: the summary may lack its end")?;
    }
    Ok(())
}
