//! Compactions far below their trigger, and the event or the setting that started them.

use crate::gateway::memory_flush::transcript_byte_guard;
use crate::ids::EntryIx;
use crate::redact::masked;
use crate::report::explain::case::{MAX_QUOTE_CHARS, OverflowCase, is_answer};
use crate::report::explain::compactions::PastCompaction;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::store::entry::{EntryKind, Role};
use crate::units::{Bytes, Tokens};

/// Compactions in a row that cannot be a person's own wish, if nothing recorded explains them.
const MIN_UNEXPLAINED: usize = 3;
/// User messages between two compactions of a row.
const MAX_TURNS_BETWEEN: usize = 2;

/// The newest compactions in a row that ran far below the trigger.
#[derive(Debug, Clone, PartialEq)]
pub struct PrematureCompactions {
    /// The newest first.
    pub entries: Vec<EntryIx>,
    /// The largest context among them, in tokens.
    pub tokens: u64,
    /// Tokens above which the session compacts.
    pub trigger: u64,
    pub cause: PrematureCause,
    /// The number of them before which a memory flush ran.
    pub flushed: usize,
}

/// The start of a compaction that the size of the context does not explain.
#[derive(Debug, Clone, PartialEq)]
pub enum PrematureCause {
    /// The newest answer before each was an error that states no size; secrets are masked.
    Error { entry: EntryIx, text: String },
    /// The transcript may have at most `limit` bytes (`compaction.maxActiveTranscriptBytes`).
    ByteGuard { limit: Bytes, file: Bytes },
    /// The counter of the session record is above the trigger.
    StoredCounter(Tokens),
    /// Nothing in the store explains them; the transcript is below its limit of bytes, if it has one.
    Unexplained { limit: Option<Bytes>, file: Bytes },
}

impl PrematureCompactions {
    pub(super) fn numbers(&self) -> Numbers {
        vec![
            ("compactions", self.entries.len() as f64),
            ("tokens", self.tokens as f64),
            ("trigger", self.trigger as f64),
            ("flushed", self.flushed as f64),
        ]
    }
}

pub(super) fn detect_premature(case: &OverflowCase<'_>) -> Option<Found<PrematureCompactions>> {
    let row = newest_row(case);
    let newest = row.first()?;
    let cause = find_cause(case, newest);
    let explains = |it: &&&PastCompaction| same_kind(&cause, &find_cause(case, it));
    let row: Vec<&PastCompaction> = row.iter().take_while(explains).copied().collect();
    let answered = case.path.iter().any(|ix| *ix > newest.entry && is_answer(case.session.index.entry(*ix)));
    let enough = match cause {
        PrematureCause::Error { .. } => row.len() > 1 || !answered,
        // One compaction of a file above its limit is the setting's purpose.
        PrematureCause::ByteGuard { .. } => row.len() > 1,
        PrematureCause::StoredCounter(_) => true,
        PrematureCause::Unexplained { .. } => row.len() >= MIN_UNEXPLAINED,
    };
    let facts = PrematureCompactions {
        entries: row.iter().map(|it| it.entry).collect(),
        tokens: row.iter().map(|it| it.tokens_at()).max()?,
        trigger: newest.trigger.whole(),
        flushed: row.iter().filter(|it| it.is_flushed).count(),
        cause,
    };
    let error = matches!(facts.cause, PrematureCause::Error { .. });
    let known = error || !case.session.window.model_source.is_assumed();
    let confidence = if known { Confidence::Sure } else { Confidence::Likely };
    enough
        .then(|| Found::new(FindingClass::PrematureCompaction, confidence, facts).with_rule("compaction 2.7"))
}

/// Returns the compactions far below the trigger at the end of the path, the newest first, with few turns between each
/// two. A refused prompt explains a compaction, whatever its size.
fn newest_row<'a>(case: &'a OverflowCase<'_>) -> Vec<&'a PastCompaction> {
    let mut row: Vec<&PastCompaction> = Vec::new();
    for (at, compaction) in case.compactions.iter().enumerate().rev() {
        let from = at.checked_sub(1).map_or(EntryIx(0), |at| case.compactions[at].entry);
        let refused = case.overflows().iter().any(|it| from <= it.entry && it.entry < compaction.entry);
        let near = row.last().is_none_or(|later| {
            user_messages_between(case, compaction.entry, later.entry) <= MAX_TURNS_BETWEEN
        });
        if refused || !near || !compaction.is_far_below_trigger() {
            break;
        }
        row.push(compaction);
    }
    row
}

/// Counts user messages of the path between two entries.
pub(super) fn user_messages_between(case: &OverflowCase<'_>, from: EntryIx, until: EntryIx) -> usize {
    let index = &case.session.index;
    let between = case.path.iter().filter(|ix| **ix > from && **ix < until);
    between.filter(|ix| index.entry(**ix).role() == Some(Role::User)).count()
}

fn find_cause(case: &OverflowCase<'_>, compaction: &PastCompaction) -> PrematureCause {
    let session = case.session;
    if let Some(error) = error_before(case, compaction) {
        return error;
    }
    let stored = session.limits.stored_totals.total_tokens.filter(|stored| *stored >= compaction.trigger);
    if let Some(stored) = stored.filter(|_| session.limits.is_gateway_run) {
        return PrematureCause::StoredCounter(stored);
    }
    let limit = transcript_byte_guard(&session.config).filter(|_| session.limits.is_gateway_run);
    let file = session.index.file_bytes();
    match limit {
        Some(limit) if file >= limit => PrematureCause::ByteGuard { limit, file },
        limit => PrematureCause::Unexplained { limit, file },
    }
}

/// Returns the error that is the newest message before a compaction.
fn error_before(case: &OverflowCase<'_>, compaction: &PastCompaction) -> Option<PrematureCause> {
    let index = &case.session.index;
    let mut earlier = case.path.iter().rev().skip_while(|ix| **ix >= compaction.entry);
    let last = earlier.find(|ix| index.entry(**ix).kind == EntryKind::Message)?;
    let error = case.session.errors.iter().find(|error| error.entry == *last && !error.text.is_empty())?;
    let text = masked(&error.text).chars().take(MAX_QUOTE_CHARS).collect();
    Some(PrematureCause::Error { entry: error.entry, text })
}

fn same_kind(a: &PrematureCause, b: &PrematureCause) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}
