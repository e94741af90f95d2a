//! The estimators as a document: each one's next prompt and errors, and every call that the provider counted.

use super::description::{describe_confidence, describe_factors, describe_fixed, headline};
use super::{Estimates, Estimator, MeasuredCall};
use crate::doc::{Align, Cell, Doc, Row, Table, Tone};
use crate::format::{format_count, format_deviation, format_number, format_signed_percent};
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
                estimator.name().into(),
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
    columns.extend(Estimator::ALL.map(|estimator| (estimator.name(), Align::Right)));
    columns.push(("", Align::Left));
    let mut table = Table::new(&columns);
    table.drop_first(&["weighted", "gateway"]);
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
