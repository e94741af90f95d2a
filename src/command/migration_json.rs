//! JSON of `clawscope doctor --migration`.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::database::DatabaseJson;
use super::environment::Workspace;
use super::migration_totals::MigrationTotals;
use crate::export::json::JsonOutput;
use crate::js::Members;
use crate::store::migration::{
    EntryDifference, FilePair, ImportComparison, ImportFault, ImportFaultKind, Migration, UnmatchedFile,
    ValueSummary,
};

/// Every transcript file compared with its import into a database.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MigrationJson {
    place: String,
    /// Whether this is the demo store.
    demo: bool,
    databases: Vec<DatabaseJson>,
    /// Whether everything was compared and nothing is lost or changed.
    clean: bool,
    totals: TotalsJson,
    pairs: Vec<PairJson>,
    /// Files without an import.
    alone: Vec<UnmatchedFileJson>,
    /// Imported sessions without a file.
    without_file: u64,
    archives: u64,
}

impl JsonOutput for MigrationJson {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TotalsJson {
    /// Pairs that were compared.
    compared: u64,
    /// Pairs with an unreadable side.
    unreadable: u64,
    /// Sessions missing from every database.
    lost_sessions: u64,
    #[serde(flatten)]
    counts: CountsJson,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CountsJson {
    /// Entries of the file.
    entries: u64,
    identical: u64,
    /// Entries that the import rewrites on purpose.
    rewritten: u64,
    /// Entries that the import leaves out on purpose.
    left_out: u64,
    /// Rows added after the import.
    later: u64,
    /// Faults by kind.
    #[serde(flatten)]
    faults: Members<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PairJson {
    agent: String,
    /// The session key.
    key: String,
    /// The id of the session.
    session: String,
    file: String,
    database: String,
    /// Whether the import moved the file aside.
    put_away: bool,
    /// The reason that the pair was not compared; it then has no member after this one.
    error: Option<String>,
    #[serde(flatten)]
    comparison: Option<ComparisonJson>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ComparisonJson {
    #[serde(flatten)]
    counts: CountsJson,
    /// Lines of the file that cannot be read.
    unreadable_lines: Vec<u64>,
    faults: Vec<FaultJson>,
}

/// A fault of the import; members of other kinds are null.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FaultJson {
    kind: &'static str,
    entry: Option<String>,
    /// Line in the file, from 1.
    line: u64,
    /// The line of the entry that took the id.
    id_taken_by_line: Option<u64>,
    /// The id of the duplicate.
    again_as: Option<String>,
    parent: Option<ParentsJson>,
    /// The differences.
    places: Option<Vec<DifferenceJson>>,
    /// Number of differences that are not listed.
    more_places: usize,
}

#[derive(Serialize, JsonSchema)]
struct ParentsJson {
    file: Option<String>,
    database: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DifferenceJson {
    path: String,
    file: Option<SideJson>,
    database: Option<SideJson>,
    /// The first differing char of a text.
    from_char: Option<usize>,
}

/// Kind and size of a value, never its text: it may hold secrets.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum SideJson {
    Text { chars: usize },
    Value { json: String },
    List { items: usize },
    Object,
}

#[derive(Serialize, JsonSchema)]
struct UnmatchedFileJson {
    agent: String,
    /// The id of the session.
    session: String,
    file: String,
    why: &'static str,
}

pub(super) fn report_json(
    workspace: &Workspace,
    migration: &Migration,
    totals: &MigrationTotals,
) -> MigrationJson {
    let alone = |alone: &UnmatchedFile| UnmatchedFileJson {
        agent: alone.agent.clone(),
        session: alone.session_id.clone(),
        file: path_text(&alone.file),
        why: alone.reason.as_str(),
    };
    MigrationJson {
        place: workspace.listed.name.clone(),
        demo: workspace.listed.is_demo,
        databases: workspace.store().databases.iter().map(DatabaseJson::from).collect(),
        clean: totals.is_clean() && totals.unreadable_pairs == 0,
        totals: TotalsJson {
            compared: totals.compared_pairs,
            unreadable: totals.unreadable_pairs,
            lost_sessions: totals.lost_sessions,
            counts: CountsJson::from(&totals.comparison),
        },
        pairs: migration.pairs.iter().map(pair_json).collect(),
        alone: migration.unmatched.iter().map(alone).collect(),
        without_file: migration.without_file,
        archives: migration.archives,
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl From<&ImportComparison> for CountsJson {
    fn from(found: &ImportComparison) -> Self {
        Self {
            entries: found.entries,
            identical: found.identical,
            rewritten: found.rewritten,
            left_out: found.skipped,
            later: found.added_rows,
            faults: found.fault_counts().into_iter().collect(),
        }
    }
}

fn pair_json(pair: &FilePair) -> PairJson {
    let comparison = |found: &ImportComparison| ComparisonJson {
        counts: CountsJson::from(found),
        unreadable_lines: found.unreadable_lines.clone(),
        faults: found.faults.iter().map(fault_json).collect(),
    };
    PairJson {
        agent: pair.agent.clone(),
        key: pair.key.clone(),
        session: pair.session_id.clone(),
        file: path_text(&pair.file),
        database: path_text(&pair.database),
        put_away: pair.is_moved_aside,
        error: pair.comparison.as_ref().err().map(ToString::to_string),
        comparison: pair.comparison.as_ref().ok().map(comparison),
    }
}

fn fault_json(fault: &ImportFault) -> FaultJson {
    let mut json = FaultJson {
        kind: fault.kind.as_str(),
        entry: fault.entry_id.clone(),
        line: fault.line,
        id_taken_by_line: None,
        again_as: None,
        parent: None,
        places: None,
        more_places: 0,
    };
    match &fault.kind {
        ImportFaultKind::IdTaken { taken_by_line } => json.id_taken_by_line = Some(*taken_by_line),
        ImportFaultKind::Duplicated { duplicate_id } => json.again_as.clone_from(duplicate_id),
        ImportFaultKind::Reparented { file, database } => {
            json.parent = Some(ParentsJson { file: file.clone(), database: database.clone() });
        }
        ImportFaultKind::Changed { differences, unlisted } => {
            json.places = Some(differences.iter().map(difference_json).collect());
            json.more_places = *unlisted;
        }
        ImportFaultKind::Lost | ImportFaultKind::Added | ImportFaultKind::Moved => {}
    }
    json
}

fn difference_json(place: &EntryDifference) -> DifferenceJson {
    DifferenceJson {
        path: place.path.clone(),
        file: side_json(&place.file),
        database: side_json(&place.database),
        from_char: place.first_difference,
    }
}

fn side_json(value: &ValueSummary) -> Option<SideJson> {
    Some(match value {
        ValueSummary::Nothing => return None,
        ValueSummary::Text(chars) => SideJson::Text { chars: *chars },
        ValueSummary::Scalar(json) => SideJson::Value { json: json.clone() },
        ValueSummary::List(items) => SideJson::List { items: *items },
        ValueSummary::Object => SideJson::Object,
    })
}
