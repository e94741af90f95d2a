//! Expected and recorded side by side: one row a step.

use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::recovery::words;
use crate::inspect::recovery::{Recorded, Refusal};
use crate::policy::recovery::{Asked, Compacted, Ending, Recovery, Step};

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// The head of an attempt, counted from 1.
    Attempt(usize),
    /// A step of it.
    Step,
    /// How it ends.
    Ending,
    /// Something that is recorded behind it.
    Afterwards,
}

/// How a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The provider refuses.
    Refused,
    /// It was tried in vain.
    Failed,
    /// It is done.
    Done,
    /// It goes on.
    Again,
    /// It says something only.
    Plain,
}

impl Sign {
    /// One character for it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Refused => "⚠",
            Self::Failed => "✗",
            Self::Done => "✓",
            Self::Again => "→",
            Self::Plain => "·",
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryRow {
    /// What it is.
    pub kind: RowKind,
    /// How it goes.
    pub sign: Sign,
    /// What is expected, in a few words.
    pub words: String,
    /// Tokens of the prompt after it, estimated.
    pub tokens: Option<u64>,
    /// The rule, as `compaction 8.13`; empty for heads.
    pub rule: &'static str,
    /// The sentences that explain it.
    pub why: String,
    /// What the transcript shows of it, in a few words; none where it shows nothing of it.
    pub recorded: Option<String>,
    /// The entry to look at.
    pub entry: Option<EntryIx>,
}

/// The rows, from the refused call to the ending.
pub(super) fn rows(
    inspection: &Inspection,
    refusal: &Refusal,
    expected: &Recovery,
    recorded: &[Recorded],
) -> Vec<RecoveryRow> {
    let mut shown = Shown { recorded, next: 0 };
    let mut rows = Vec::new();
    for (at, attempt) in expected.attempts.iter().enumerate() {
        rows.push(head(at + 1));
        for (nth, step) in attempt.steps.iter().enumerate() {
            let seen = shown.take(step);
            let mut row = step_row(inspection, step);
            // A prompt too small to be refused is answered at once: nothing is said.
            if at == 0 && nth == 0 && !matches!(step, Step::Answered { .. }) {
                row.why = words::refusal(inspection, refusal);
                row.tokens = refusal.tokens.or(row.tokens);
            }
            row.entry = seen.and_then(Recorded::entry).or(row.entry);
            row.recorded = seen.map(|seen| words::recorded(inspection, seen));
            // Recorded at this moment, but not as expected.
            let in_vain = matches!(step, Step::Compaction { outcome, .. } if !outcome.is_done());
            if let Some(words) = row.recorded.as_mut().filter(|_| in_vain) {
                *words = words.replace("compacted", "compacted all the same");
            }
            rows.push(row);
        }
    }
    let mut end = ending(expected.ending);
    let silent = shown.rest().is_empty() && matches!(recorded.last(), Some(Recorded::Refused(_)));
    end.recorded = silent.then(|| "nothing after it".to_owned());
    rows.push(end);
    rows.extend(shown.rest().iter().map(|seen| afterwards(inspection, seen)));
    rows
}

/// What is recorded, taken off in its order.
struct Shown<'a> {
    recorded: &'a [Recorded],
    next: usize,
}

impl<'a> Shown<'a> {
    /// What is recorded of a step: the next thing, if it is of its kind.
    fn take(&mut self, step: &Step) -> Option<&'a Recorded> {
        let next = self.recorded.get(self.next)?;
        let fits = match step {
            Step::Refused { .. } => matches!(next, Recorded::Refused(_)),
            Step::Retried => matches!(next, Recorded::Failed { .. }),
            Step::Compaction { .. } => matches!(next, Recorded::Compacted { .. }),
            Step::RunAgain => matches!(next, Recorded::Prompted { .. }),
            Step::Truncation { .. } => matches!(next, Recorded::Rewritten { .. }),
            Step::Answered { .. } => matches!(next, Recorded::Answered { .. }),
            Step::NothingOversized { .. } => false,
        };
        self.next += usize::from(fits);
        fits.then_some(next)
    }

    fn rest(&self) -> &'a [Recorded] {
        &self.recorded[self.next..]
    }
}

fn head(attempt: usize) -> RecoveryRow {
    RecoveryRow {
        kind: RowKind::Attempt(attempt),
        sign: Sign::Plain,
        words: format!("Attempt {attempt}"),
        tokens: None,
        rule: "",
        why:
            "One run of the prompt, with the compactions inside it, and what the gateway does when it fails."
                .into(),
        recorded: None,
        entry: None,
    }
}

fn step_row(inspection: &Inspection, step: &Step) -> RecoveryRow {
    let (words, why) = words::step(inspection, step);
    let (tokens, entry) = match step {
        Step::Refused { tokens } | Step::Answered { tokens } => (Some(*tokens as u64), None),
        Step::Compaction { outcome: Compacted::Done { first_kept, .. }, .. } => (None, Some(*first_kept)),
        Step::Truncation { cut, .. } => (None, cut.first().copied()),
        _ => (None, None),
    };
    RecoveryRow {
        kind: RowKind::Step,
        sign: sign(step),
        words,
        tokens,
        rule: step.rule(),
        why,
        recorded: None,
        entry,
    }
}

fn sign(step: &Step) -> Sign {
    match step {
        Step::Refused { .. } => Sign::Refused,
        Step::Retried | Step::RunAgain => Sign::Again,
        Step::Compaction { outcome, .. } if outcome.is_done() => Sign::Done,
        Step::Compaction { by: Asked::InRun, outcome } if !outcome.was_begun() => Sign::Plain,
        Step::Compaction { .. } | Step::NothingOversized { .. } => Sign::Failed,
        Step::Truncation { .. } | Step::Answered { .. } => Sign::Done,
    }
}

fn ending(ending: Ending) -> RecoveryRow {
    let (words, why) = words::ending(ending);
    RecoveryRow {
        kind: RowKind::Ending,
        sign: if ending == Ending::Answered { Sign::Done } else { Sign::Failed },
        words,
        tokens: None,
        rule: ending.rule(),
        why,
        recorded: None,
        entry: None,
    }
}

fn afterwards(inspection: &Inspection, seen: &Recorded) -> RecoveryRow {
    RecoveryRow {
        kind: RowKind::Afterwards,
        sign: Sign::Plain,
        words: "afterwards".to_owned(),
        tokens: None,
        rule: "compaction 8.8",
        why: "The transcript shows this behind what was expected: the person went on, or another version or setting of the gateway did it.".into(),
        recorded: Some(words::recorded(inspection, seen)),
        entry: seen.entry(),
    }
}
