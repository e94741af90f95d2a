//! `clawscope doctor --migration`: checks that the import of transcripts into a database kept every entry.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::doctor_json::{DatabaseJson, describe_database};
use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use crate::cli::{ListArgs, StoreArgs};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::format_count;
use crate::store::migration::{
    EntryCounts, FilePair, ImportFaultKind, Migration, UnmatchedReason, check_import,
};

/// Lines printed per list; the JSON has all.
const MAX_LINES: usize = 20;

const INDENT: &str = "           ";

const KEEP_FILES: &str = "Keep these files: they contain what the database lacks. A gateway that ran since may have \
     changed or removed entries itself: compare before you act.";

const IMPORT_ADDED: &str = "`openclaw doctor --session-sqlite import` imports the added entries if a sessions.json beside \
     the file lists its session.";

/// Every transcript file compared with its import into a database.
#[derive(Serialize, JsonSchema)]
pub(super) struct MigrationJson {
    place: String,
    /// Whether this is the demo store.
    demo: bool,
    databases: Vec<DatabaseJson>,
    /// Whether everything was compared and nothing is lost or changed.
    clean: bool,
    totals: Totals,
    #[serde(flatten)]
    migration: Migration,
}

impl JsonOutput for MigrationJson {}

/// Sums over all pairs.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Totals {
    /// Pairs that were compared.
    compared: u64,
    /// Pairs with an unreadable side.
    unreadable: u64,
    /// Sessions missing from every database.
    lost_sessions: u64,
    #[serde(flatten)]
    counts: EntryCounts,
    faults: u64,
}

pub(super) fn run(
    args: &ListArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let workspace = Workspace::from_path(args.path.as_deref(), place, invocation)?;
    let migration = check_import(workspace.store());
    let totals = Totals::of(&migration);
    if args.json {
        output.json(&MigrationJson {
            place: workspace.listed.name.clone(),
            demo: workspace.listed.is_demo,
            databases: workspace.store().databases.iter().map(DatabaseJson::from).collect(),
            clean: totals.is_clean() && totals.unreadable == 0,
            totals,
            migration,
        })?;
    } else {
        print(&workspace, &migration, totals, output)?;
    }
    if totals.unreadable > 0 || workspace.store().databases.iter().any(|holding| holding.schema.is_none()) {
        let what = "cannot read a file or a database, so the comparison is incomplete";
        return Err(Failure::unreadable(format!("{}: {what}; see above", workspace.listed.name)));
    }
    if totals.is_clean() { Ok(()) } else { Err(Failure::CheckFailed) }
}

impl Totals {
    fn of(migration: &Migration) -> Self {
        let mut totals = Self::default();
        for pair in &migration.pairs {
            let Some(found) = &pair.comparison else {
                totals.unreadable += 1;
                continue;
            };
            totals.compared += 1;
            totals.counts += found.counts;
            totals.faults += found.faults.len() as u64;
        }
        totals.lost_sessions = migration.alone.iter().filter(|alone| alone.why.is_fault()).count() as u64;
        totals
    }

    fn is_clean(&self) -> bool {
        self.faults == 0 && self.lost_sessions == 0
    }
}

/// The lines of the answer.
#[derive(Default)]
struct Lines(Vec<(Tone, String)>);

impl Lines {
    fn add(&mut self, tone: Tone, text: impl Into<String>) {
        self.0.push((tone, text.into()));
    }

    fn add_list(&mut self, tone: Tone, indent: &str, items: &[String]) {
        self.0.extend(items.iter().take(MAX_LINES).map(|item| (tone, format!("{indent}{item}"))));
        if let more @ 1.. = items.len().saturating_sub(MAX_LINES) {
            self.add(Tone::Dim, format!("{indent}and {more} more; --json lists all"));
        }
    }

    /// Adds the files and sessions without a partner.
    fn add_alone(&mut self, migration: &Migration) {
        let mut files: BTreeMap<UnmatchedReason, Vec<String>> = BTreeMap::new();
        for alone in &migration.alone {
            files.entry(alone.why).or_default().push(format!("{} (session {})", alone.file, alone.session));
        }
        for (why, files) in files {
            let tone = if why.is_fault() { Tone::Bad } else { Tone::Plain };
            let count = format_count(files.len() as u64, "file", "files");
            let (word, rest) = describe_alone(why);
            self.add(tone, format!("{word:<11}{count} {rest}"));
            // These files are the store itself, and every other command lists them.
            if why != UnmatchedReason::NoDatabase {
                self.add_list(Tone::Dim, INDENT, &files);
            }
        }
        let sessions = format_count(migration.without_file, "session", "sessions");
        if migration.without_file > 0 {
            self.add(Tone::Dim, format!("no file    {sessions} in the database, with no file to compare"));
        }
        let archives = format_count(migration.archives, "archive", "archives");
        if migration.archives > 0 {
            let rest = "of reset or deleted sessions, which are never imported";
            self.add(Tone::Dim, format!("archives   {archives} {rest}"));
        }
    }

    fn add_pair(&mut self, pair: &FilePair) {
        let Some(found) = &pair.comparison else {
            let error = pair.error.as_deref().unwrap_or_default();
            self.add(Tone::Plain, "");
            return self.add(Tone::Bad, format!("{}: cannot compare: {error}", pair.file));
        };
        if found.faults.is_empty() && found.unreadable_lines.is_empty() {
            return;
        }
        self.add(Tone::Plain, "");
        self.add(Tone::Strong, format!("{} · session {}", pair.key, pair.session));
        self.add(Tone::Dim, format!("  file      {}", pair.file));
        self.add(Tone::Dim, format!("  database  {}", pair.database));
        let broken = |line| format!("line {line}: not JSON; an import stops at such a line");
        let broken: Vec<_> = found.unreadable_lines.iter().map(broken).collect();
        self.add_list(Tone::Warning, "  ", &broken);
        let faults = found.faults.iter().map(|fault| {
            let entry = fault.entry.as_deref().map(|entry| format!(" {entry}")).unwrap_or_default();
            format!("line {}{entry}: {}", fault.line, describe_fault(fault.kind))
        });
        self.add_list(Tone::Bad, "  ", &faults.collect::<Vec<_>>());
    }

    fn add_verdict(&mut self, migration: &Migration, totals: Totals) {
        self.add(Tone::Plain, "");
        if totals.is_clean() {
            return match (totals.unreadable, totals.compared) {
                (0, 0) => self.add(Tone::Good, "No migration to check."),
                (0, _) => self.add(Tone::Good, "Nothing was lost, changed or duplicated."),
                _ => self.add(Tone::Warning, "No differences in the sessions that could be compared."),
            };
        }
        let lost =
            [(totals.faults, "entry", "entries"), (totals.lost_sessions, "whole session", "whole sessions")];
        let lost = lost.into_iter().filter(|(count, ..)| *count > 0);
        let lost: Vec<String> = lost.map(|(count, one, many)| format_count(count, one, many)).collect();
        self.add(Tone::Bad, format!("The import lost or changed {}.", lost.join(" and ")));
        self.add(Tone::Plain, KEEP_FILES);
        let mut faults =
            migration.pairs.iter().filter_map(|pair| pair.comparison.as_ref()).flat_map(|it| &it.faults);
        if faults.any(|fault| fault.kind == ImportFaultKind::Added) {
            self.add(Tone::Plain, IMPORT_ADDED);
        }
    }
}

fn print(
    workspace: &Workspace,
    migration: &Migration,
    totals: Totals,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut lines = Lines::default();
    lines.add(Tone::Strong, format!("{} · migration check", workspace.listed.name));
    for (at, holding) in workspace.store().databases.iter().enumerate() {
        let head = if at == 0 { "database   " } else { INDENT };
        lines.add(Tone::Plain, format!("{head}{}", describe_database(holding)));
    }
    lines.add(Tone::Plain, format!("compared   {}", describe_compared(totals)));
    lines.add_alone(migration);
    migration.pairs.iter().for_each(|pair| lines.add_pair(pair));
    lines.add_verdict(migration, totals);
    for (tone, line) in lines.0 {
        output.line(tone, &line)?;
    }
    Ok(())
}

fn describe_compared(totals: Totals) -> String {
    let EntryCounts { entries, identical, rewritten, left_out, later } = totals.counts;
    if totals.compared == 0 {
        return "nothing: no session is in both a file and a database".to_owned();
    }
    let parts = [
        (rewritten, ", ", "rewritten by the gateway's own repairs"),
        (left_out, ", ", "skipped on purpose"),
        (later, "; ", "written to the database since"),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let part = |(count, before, words)| format!("{before}{}", format_count(count, words, words));
    let parts: String = parts.map(part).collect();
    format!(
        "{} with {}: {}{parts}",
        format_count(totals.compared, "transcript", "transcripts"),
        format_count(entries, "entry", "entries"),
        format_count(identical, "identical", "identical"),
    )
}

fn describe_alone(why: UnmatchedReason) -> (&'static str, &'static str) {
    match why {
        UnmatchedReason::Lost => ("lost", "whose session is not in the database"),
        UnmatchedReason::DatabaseGone => {
            ("lost", "that an import moved aside, but its database does not exist")
        }
        UnmatchedReason::Unreadable => ("unread", "with an unreadable database"),
        UnmatchedReason::SetAside => ("set aside", "without a session: moved aside, but not imported"),
        UnmatchedReason::NoDatabase => ("in files", "of agents without a session database: not imported"),
    }
}

fn describe_fault(kind: ImportFaultKind) -> &'static str {
    match kind {
        ImportFaultKind::Lost => "lost, not in the database",
        ImportFaultKind::Added => "added to the file after the import, not in the database",
        ImportFaultKind::Changed => "changed in the database",
        ImportFaultKind::Reparented => "has another parent in the database",
        ImportFaultKind::Doubled => "twice in the database",
        ImportFaultKind::Moved => "moved to another position in the database",
    }
}
