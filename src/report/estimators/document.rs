//! The estimators as a document: each one's next prompt and errors, and every call that the provider counted.

use super::{Estimates, Estimator, MeasuredCall};
use crate::context::tokens::script::Script;
use crate::doc::{Align, Cell, Doc, Row, Table, Tone};
use crate::format::{format_count, format_deviation, format_estimate, format_number, format_signed_percent};
use crate::session::LoadedSession;

/// Relative errors from which a number is costly, and useless.
const COSTLY_ERROR: f64 = 0.1;
const USELESS_ERROR: f64 = 0.25;

impl Estimates {
    /// Lists at most the newest `max_calls` counted calls.
    pub fn doc(&self, session: &LoadedSession, max_calls: usize) -> Doc {
        let mut doc = Doc::new(headline(self));
        let notes = [describe_fixed(self), describe_factors(self)];
        for note in notes.into_iter().chain(describe_confidence(self)) {
            doc.say(Tone::Dim, &note);
        }
        doc.gap();
        doc.table(self.estimators());
        if self.calls.is_empty() {
            return doc;
        }
        let shown = &self.calls[self.calls.len().saturating_sub(max_calls)..];
        let count = format_count(self.calls.len() as u64, "counted call", "counted calls");
        let which = if shown.len() < self.calls.len() {
            format!(", the last {}", format_number(shown.len() as u64))
        } else {
            String::new()
        };
        doc.gap();
        doc.say(Tone::Strong, &format!("{count}{which}, with the error of each estimator"));
        doc.table(calls(session, shown));
        self.say_excluded_calls(&mut doc);
        doc
    }

    fn estimators(&self) -> Table {
        let mut table = Table::new(&[
            ("estimator", Align::Left),
            ("next prompt", Align::Right),
            ("last", Align::Right),
            ("mean", Align::Right),
            ("bias", Align::Right),
            ("worst", Align::Right),
            ("", Align::Left),
        ]);
        table.drop_first(&["", "worst", "bias"]);
        for estimator in Estimator::ALL {
            let deviation = self.deviation(estimator);
            let last = self.last_reliable_call().and_then(|call| call.error(estimator));
            let of = |text: Option<String>| text.map_or_else(|| Cell::new("—", Tone::Dim), Cell::from);
            let (mean, worst) = (deviation.map(|it| it.mean), deviation.map(|it| it.max));
            table.push(vec![
                estimator.label().into(),
                of(self.describe_next(estimator)),
                error_cell(last, format_signed_percent),
                error_cell(mean, format_deviation),
                of(deviation.map(|it| format_signed_percent(it.bias))),
                of(worst.map(format_deviation)),
                Cell::new(estimator.description(), Tone::Dim),
            ]);
        }
        table
    }

    fn say_excluded_calls(&self, doc: &mut Doc) {
        if self.calls.iter().any(|call| call.shrunk) {
            let why = "trimmed: fewer tokens than the previous call although the context grew, for example because of \
                       pruning; not included in the errors above";
            doc.say(Tone::Dim, why);
        }
        if self.copies > 0 {
            let copies = format_count(self.copies as u64, "answer", "answers");
            let why = format!("{copies} left out: copied to this branch with the usage of another branch");
            doc.say(Tone::Dim, &why);
        }
    }
}

fn calls(session: &LoadedSession, shown: &[MeasuredCall]) -> Table {
    let mut columns = vec![("entry", Align::Left), ("counted", Align::Right)];
    columns.extend(Estimator::ALL.map(|estimator| (estimator.label(), Align::Right)));
    columns.push(("", Align::Left));
    let mut table = Table::new(&columns);
    table.drop_first(&["weighted", "pruning"]);
    for call in shown {
        let mut cells =
            vec![session.index.display_id(call.entry).into(), format_number(call.measured).into()];
        cells
            .extend(Estimator::ALL.map(|estimator| error_cell(call.error(estimator), format_signed_percent)));
        cells.push(Cell::new(if call.shrunk { "trimmed" } else { "" }, Tone::Dim));
        table.push(Row::from(cells).leading_to(Some(call.entry)));
    }
    table
}

/// Colours an error: quiet while it is small.
fn error_cell(error: Option<f64>, format: fn(f64) -> String) -> Cell {
    let Some(error) = error else { return Cell::new("—", Tone::Dim) };
    let tone = match error.abs() {
        USELESS_ERROR.. => Tone::Bad,
        COSTLY_ERROR.. => Tone::Warning,
        _ => Tone::Plain,
    };
    Cell::new(&format(error), tone)
}

/// Returns chars/4 at the last reliable call: the estimate, the count, and the factor by which it is too low, for the
/// whole prompt and, if a fit separates the tokens before the messages, for only the messages.
fn chars4_error(estimates: &Estimates) -> Option<(u64, u64, f64, Option<f64>)> {
    let call = estimates.last_reliable_call()?;
    let pi = call.estimates.get(Estimator::Pi)?;
    let times = |measured: u64, pi: u64| measured as f64 / pi.max(1) as f64;
    let fitted = estimates.calibration.as_ref().ok().map(|fit| fit.fixed_tokens.round() as u64);
    let before = estimates.fixed_tokens.unwrap_or(0);
    let messages =
        fitted.map(|fitted| times(call.measured.saturating_sub(fitted), pi.saturating_sub(before)));
    Some((pi, call.measured, times(call.measured, pi), messages))
}

/// Shown when no answer has a usage.
const NO_MEASURED_CALL: &str = "The provider counted no call on this path.";

/// Says in one line by how much chars/4 is off at the last call.
pub(super) fn headline(estimates: &Estimates) -> String {
    let Some((pi, counted, whole, messages)) = chars4_error(estimates) else {
        return NO_MEASURED_CALL.to_owned();
    };
    let (pi, counted) = (format_number(pi), format_number(counted));
    let rest = match messages {
        Some(times) => format!("; messages alone {times:.1}x"),
        None if estimates.fixed_tokens.is_none() => ", with system prompt, tools and files".to_owned(),
        None => String::new(),
    };
    format!("chars/4 estimates ~{pi}; the provider counted {counted} ({whole:.1}x{rest})")
}

/// Describes the tokens before the messages.
fn describe_fixed(estimates: &Estimates) -> String {
    match estimates.fixed_tokens {
        Some(tokens) => format!("system prompt, tools and files: ~{}, from the last run's report", format_number(tokens)),
        None => "system prompt, tools and files: no run stored a report, so only usage and calibrated include them".to_owned(),
    }
}

/// Describes the fitted factors, or why there is no fit.
fn describe_factors(estimates: &Estimates) -> String {
    let fit = match &estimates.calibration {
        Ok(fit) => fit,
        Err(too_few) => return format!("calibrated: {too_few}"),
    };
    if fit.fitted_alone == [false; 3] {
        let rate = fit.chars_per_token(Script::Ascii);
        return format!(
            "calibrated: {rate:.2} chars per token over all counted calls, plus {} for system prompt, tools and files",
            format_estimate(fit.fixed_tokens.round() as u64)
        );
    }
    let rate = |script: &Script| format!("{:.2}", fit.chars_per_token(*script));
    let (own, shared): (Vec<Script>, Vec<Script>) =
        Script::ALL.into_iter().partition(|script| fit.fitted_alone[*script as usize]);
    let mut rates: Vec<String> =
        own.iter().map(|script| format!("{} {}", script.name(), rate(script))).collect();
    let names: Vec<&str> = shared.iter().map(|script| script.name()).collect();
    rates.extend(shared.first().map(|script| format!("{} {}", names.join(" and "), rate(script))));
    let fixed = format_estimate(fit.fixed_tokens.round() as u64);
    format!(
        "calibrated: {} chars per token; plus {fixed} for system prompt, tools and files",
        rates.join(", ")
    )
}

/// Describes the confidence of the fit; `None` without a fit.
fn describe_confidence(estimates: &Estimates) -> Option<String> {
    let fit = estimates.calibration.as_ref().ok()?;
    let off = format!(
        "mean error {}, at most {}",
        format_deviation(fit.deviation.mean),
        format_deviation(fit.deviation.max)
    );
    let ahead = fit
        .holdout_error
        .map(|ahead| format!("; fitted to the first half: {} in the second", format_deviation(ahead)));
    Some(format!("calibrated: {off}, over {} steps between calls{}", fit.growths, ahead.unwrap_or_default()))
}
