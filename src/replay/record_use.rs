//! How a trace uses the record to decide about compactions, and what departs from it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::ids::EntryIx;
use crate::replay::calls::ModelCall;
use crate::store::entry::EntryKind;
use crate::store::index::Index;

/// A compaction that a rule asks for: the number of calls before it, and whether a refusal asks for it.
pub(super) type Due = (usize, bool);

/// Departures of the record from a replay under its own settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Departures {
    /// Places on the path of compactions that the replay does not derive.
    pub(super) underived: HashSet<usize>,
    /// Compactions that the replay derives and the transcript lacks.
    pub(super) missed: HashSet<Due>,
    /// Every one of several compactions that a trigger asked for is missing: under other settings they would fail as well.
    pub(super) always_fails: bool,
}

/// How a trace uses the record to decide about compactions.
#[derive(Debug, Clone, Default)]
pub(super) enum RecordUse {
    /// Compacts wherever a rule asks for it, as an ideal gateway.
    #[default]
    None,
    /// Collects the departures. `compacted` has the number of calls before each compaction of the transcript.
    Derive {
        found: Departures,
        compacted: HashSet<usize>,
    },
    Follow(Arc<Departures>),
}

/// State of a trace between a compaction of the transcript and the next call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PendingCompaction {
    /// Place of a compaction of the transcript that the trace has neither applied nor derived.
    pub(super) place: Option<usize>,
    /// A rule asked for a compaction that had nothing to summarise.
    pub(super) found_nothing: bool,
    /// The trace compacted since the last compaction of the transcript.
    pub(super) has_compacted: bool,
}

impl RecordUse {
    /// Prepares the search for departures.
    pub(super) fn derive(index: &Index, path: &[EntryIx], calls: &[ModelCall]) -> Self {
        let is_compaction = |place: &usize| index.entry(path[*place]).kind == EntryKind::Compaction;
        let calls_before = |place: usize| calls.partition_point(|call| call.path_index < place);
        let compacted = (0..path.len()).filter(is_compaction).map(calls_before).collect();
        Self::Derive { found: Departures::default(), compacted }
    }
}
