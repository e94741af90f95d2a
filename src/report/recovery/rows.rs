//! Expected steps and recorded events side by side, one row per step.

use crate::ids::EntryIx;
use crate::policy::recovery::{CompactionCaller, CompactionOutcome, Ending, Recovery, RecoveryStep};
use crate::report::recovery::{RecoveryEvent, RefusedCall, description};
use crate::session::LoadedSession;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// The head of an attempt, counted from 1.
    Attempt(usize),
    /// A step of the attempt.
    Step,
    /// The ending of the recovery.
    Ending,
    /// A recorded event without an expected step.
    Event,
}

/// The outcome of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowMark {
    /// The provider refuses.
    Refused,
    /// The step is tried in vain.
    Failed,
    /// The step succeeds.
    Done,
    /// The recovery continues.
    Continued,
    /// Information only.
    Neutral,
}

impl RowMark {
    /// Returns one character for the mark.
    pub fn glyph(self) -> &'static str {
        match self {
            Self::Refused => "⚠",
            Self::Failed => "✗",
            Self::Done => "✓",
            Self::Continued => "→",
            Self::Neutral => "·",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryRow {
    pub kind: RowKind,
    pub mark: RowMark,
    /// The expected step, in a few words.
    pub label: String,
    /// Estimated tokens of the prompt after the step.
    pub tokens: Option<u64>,
    /// The rule, such as `compaction 8.13`; empty for heads.
    pub rule: &'static str,
    /// The explanation in sentences.
    pub explanation: String,
    /// The recorded event in a few words; `None` if the transcript has none.
    pub observed: Option<String>,
    /// The entry to open.
    pub entry: Option<EntryIx>,
}

pub(super) fn build_rows(
    session: &LoadedSession,
    refusal: &RefusedCall,
    expected: &Recovery,
    recorded: &[RecoveryEvent],
) -> Vec<RecoveryRow> {
    let mut shown = EventCursor { events: recorded, next: 0 };
    let mut rows = Vec::new();
    for (at, attempt) in expected.attempts.iter().enumerate() {
        rows.push(attempt_row(at + 1));
        for (nth, policy) in attempt.steps.iter().enumerate() {
            let seen = match attempt.steps.get(nth + 1) {
                // A compaction that is left to the gateway is the gateway's next step.
                Some(RecoveryStep::Compaction { .. }) if is_unstarted(policy) => None,
                _ => shown.next_matching(policy),
            };
            let mut row = step_row(session, policy);
            // A prompt too small to be refused is answered at once, without an error text.
            if at == 0 && nth == 0 && !matches!(policy, RecoveryStep::Answered { .. }) {
                row.explanation = description::describe_refused_call(session, refusal);
                // The size of a refusal without a number is only assumed.
                row.tokens = refusal.tokens.or(row.tokens.filter(|_| refusal.entry.is_none()));
            }
            row.entry = seen.and_then(RecoveryEvent::entry).or(row.entry);
            row.observed = seen.map(|seen| description::describe_event(session, seen));
            // An event is recorded at this point, but it differs from the expected one.
            let in_vain = matches!(policy, RecoveryStep::Compaction { outcome, .. } if !outcome.is_done());
            if let Some(words) = row.observed.as_mut().filter(|_| in_vain) {
                *words = words.replace("compacted", "compacted anyway");
            }
            // What was only expected is no success.
            if row.mark == RowMark::Done && row.observed.is_none() {
                row.mark = RowMark::Neutral;
            }
            rows.push(row);
        }
    }
    let mut end = ending_row(expected.ending);
    if end.mark == RowMark::Done && !matches!(recorded.last(), Some(RecoveryEvent::Answered { .. })) {
        end.mark = RowMark::Neutral;
    }
    let silent = shown.remaining().is_empty() && matches!(recorded.last(), Some(RecoveryEvent::Refused(_)));
    end.observed = silent.then(|| "nothing follows".to_owned());
    rows.push(end);
    rows.extend(shown.remaining().iter().map(|seen| event_row(session, seen)));
    rows
}

/// Consumes recorded events in order.
struct EventCursor<'a> {
    events: &'a [RecoveryEvent],
    next: usize,
}

impl<'a> EventCursor<'a> {
    /// Takes the next event if it matches the kind of this step.
    fn next_matching(&mut self, policy: &RecoveryStep) -> Option<&'a RecoveryEvent> {
        let next = self.events.get(self.next)?;
        let fits = match policy {
            RecoveryStep::Refused { .. } => matches!(next, RecoveryEvent::Refused(_)),
            RecoveryStep::Retried => matches!(next, RecoveryEvent::Failed { .. }),
            RecoveryStep::Compaction { .. } => matches!(next, RecoveryEvent::Compacted { .. }),
            RecoveryStep::RunAgain => matches!(next, RecoveryEvent::Prompted { .. }),
            RecoveryStep::Truncation { .. } => matches!(next, RecoveryEvent::Rewritten { .. }),
            RecoveryStep::Answered { .. } => matches!(next, RecoveryEvent::Answered { .. }),
            RecoveryStep::NothingOversized { .. } => false,
        };
        self.next += usize::from(fits);
        fits.then_some(next)
    }

    fn remaining(&self) -> &'a [RecoveryEvent] {
        &self.events[self.next..]
    }
}

fn is_unstarted(step: &RecoveryStep) -> bool {
    matches!(step, RecoveryStep::Compaction { outcome, .. } if !outcome.has_started())
}

fn attempt_row(attempt: usize) -> RecoveryRow {
    RecoveryRow {
        kind: RowKind::Attempt(attempt),
        mark: RowMark::Neutral,
        label: format!("Attempt {attempt}"),
        tokens: None,
        rule: "",
        explanation: "One run of the prompt, its compactions, and what the gateway does if it fails.".into(),
        observed: None,
        entry: None,
    }
}

fn step_row(session: &LoadedSession, policy: &RecoveryStep) -> RecoveryRow {
    let (words, why) = description::describe_step(session, policy);
    let (tokens, entry) = match policy {
        RecoveryStep::Refused { tokens } | RecoveryStep::Answered { tokens } => {
            (Some((*tokens).whole()), None)
        }
        RecoveryStep::Compaction { outcome: CompactionOutcome::Done { first_kept, .. }, .. } => {
            (None, Some(*first_kept))
        }
        RecoveryStep::Truncation { cut, .. } => (None, cut.first().copied()),
        _ => (None, None),
    };
    RecoveryRow {
        kind: RowKind::Step,
        mark: row_mark(policy),
        label: words,
        tokens,
        rule: policy.rule(),
        explanation: why,
        observed: None,
        entry,
    }
}

fn row_mark(policy: &RecoveryStep) -> RowMark {
    match policy {
        RecoveryStep::Refused { .. } => RowMark::Refused,
        RecoveryStep::Retried | RecoveryStep::RunAgain => RowMark::Continued,
        // It is written all the same.
        RecoveryStep::Compaction { outcome, .. } if outcome.frees_nothing() => RowMark::Failed,
        RecoveryStep::Compaction { outcome, .. } if outcome.is_done() => RowMark::Done,
        RecoveryStep::Compaction { caller: CompactionCaller::InRun, outcome } if !outcome.has_started() => {
            RowMark::Neutral
        }
        RecoveryStep::Compaction { .. } | RecoveryStep::NothingOversized { .. } => RowMark::Failed,
        RecoveryStep::Truncation { .. } | RecoveryStep::Answered { .. } => RowMark::Done,
    }
}

fn ending_row(ending: Ending) -> RecoveryRow {
    let (words, why) = description::describe_ending(ending);
    RecoveryRow {
        kind: RowKind::Ending,
        mark: if ending == Ending::Answered { RowMark::Done } else { RowMark::Failed },
        label: words,
        tokens: None,
        rule: ending.rule(),
        explanation: why,
        observed: None,
        entry: None,
    }
}

fn event_row(session: &LoadedSession, seen: &RecoveryEvent) -> RecoveryRow {
    RecoveryRow {
        kind: RowKind::Event,
        mark: RowMark::Neutral,
        label: "afterwards".to_owned(),
        tokens: None,
        rule: "compaction 8.8",
        explanation: "The transcript continues like this after the expected end: someone wrote again, or the gateway had another release or other settings.".into(),
        observed: Some(description::describe_event(session, seen)),
        entry: seen.entry(),
    }
}
