//! `clawscope doctor --migration`: checks that the import of transcripts into a database kept every entry.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::database::{DatabaseJson, describe_database};
use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use crate::cli::{ListArgs, StoreArgs};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::format_count;
use crate::store::migration::{
    EntryCounts, FilePair, ImportComparison, ImportFaultKind, Migration, UnmatchedReason, check_import,
};

/// Lines printed per list; the JSON has all.
const MAX_LINES: usize = 20;

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

fn print(
    workspace: &Workspace,
    migration: &Migration,
    totals: Totals,
    output: &mut Output,
) -> Result<(), Failure> {
    output.line(Tone::Strong, &format!("{} · migration check", workspace.listed.name))?;
    for (at, holding) in workspace.store().databases.iter().enumerate() {
        let head = if at == 0 { "database   " } else { "           " };
        output.line(Tone::Plain, &format!("{head}{}", describe_database(holding)))?;
    }
    output.line(Tone::Plain, &format!("compared   {}", describe_compared(totals)))?;
    print_alone(migration, output)?;
    for pair in &migration.pairs {
        match &pair.comparison {
            Some(found) if found.faults.is_empty() && found.unreadable_lines.is_empty() => {}
            Some(found) => print_pair(pair, found, output)?,
            None => {
                let error = pair.error.as_deref().unwrap_or_default();
                output.line(Tone::Plain, "")?;
                output.line(Tone::Bad, &format!("{}: cannot compare: {error}", pair.file))?;
            }
        }
    }
    print_verdict(migration, totals, output)
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

/// Prints the files and sessions without a partner.
fn print_alone(migration: &Migration, output: &mut Output) -> Result<(), Failure> {
    let mut files: BTreeMap<UnmatchedReason, Vec<String>> = BTreeMap::new();
    for alone in &migration.alone {
        files.entry(alone.why).or_default().push(format!("{} (session {})", alone.file, alone.session));
    }
    for (why, files) in files {
        let tone = if why.is_fault() { Tone::Bad } else { Tone::Plain };
        let (word, rest) = describe_alone(why);
        output
            .line(tone, &format!("{word:<11}{} {rest}", format_count(files.len() as u64, "file", "files")))?;
        // These files are the store itself, and every other command lists them.
        if why != UnmatchedReason::NoDatabase {
            print_lines(Tone::Dim, "           ", &files, output)?;
        }
    }
    let sessions = format_count(migration.without_file, "session", "sessions");
    let archives = format_count(migration.archives, "archive", "archives");
    for (count, words) in [
        (migration.without_file, format!("no file    {sessions} in the database, with no file to compare")),
        (
            migration.archives,
            format!("archives   {archives} of reset or deleted sessions, which are never imported"),
        ),
    ] {
        if count > 0 {
            output.line(Tone::Dim, &words)?;
        }
    }
    Ok(())
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

fn print_pair(pair: &FilePair, found: &ImportComparison, output: &mut Output) -> Result<(), Failure> {
    output.line(Tone::Plain, "")?;
    output.line(Tone::Strong, &format!("{} · session {}", pair.key, pair.session))?;
    output.line(Tone::Dim, &format!("  file      {}", pair.file))?;
    output.line(Tone::Dim, &format!("  database  {}", pair.database))?;
    let broken = found.unreadable_lines.iter();
    let broken: Vec<_> =
        broken.map(|line| format!("line {line}: not JSON; an import stops at such a line")).collect();
    print_lines(Tone::Warning, "  ", &broken, output)?;
    let faults = found.faults.iter().map(|fault| {
        let entry = fault.entry.as_deref().map(|entry| format!(" {entry}")).unwrap_or_default();
        format!("line {}{entry}: {}", fault.line, describe_fault(fault.kind))
    });
    print_lines(Tone::Bad, "  ", &faults.collect::<Vec<_>>(), output)
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

fn print_lines(tone: Tone, indent: &str, lines: &[String], output: &mut Output) -> Result<(), Failure> {
    for line in lines.iter().take(MAX_LINES) {
        output.line(tone, &format!("{indent}{line}"))?;
    }
    match lines.len().saturating_sub(MAX_LINES) {
        0 => Ok(()),
        more => Ok(output.line(Tone::Dim, &format!("{indent}and {more} more; --json lists all"))?),
    }
}

fn print_verdict(migration: &Migration, totals: Totals, output: &mut Output) -> Result<(), Failure> {
    output.line(Tone::Plain, "")?;
    if totals.is_clean() {
        let (tone, words) = match (totals.unreadable, totals.compared) {
            (0, 0) => (Tone::Good, "No migration to check."),
            (0, _) => (Tone::Good, "Nothing was lost, changed or duplicated."),
            _ => (Tone::Warning, "No differences in the sessions that could be compared."),
        };
        return Ok(output.line(tone, words)?);
    }
    let lost =
        [(totals.faults, "entry", "entries"), (totals.lost_sessions, "whole session", "whole sessions")];
    let lost = lost.into_iter().filter(|(count, ..)| *count > 0);
    let lost: Vec<String> = lost.map(|(count, one, many)| format_count(count, one, many)).collect();
    output.line(Tone::Bad, &format!("The import lost or changed {}.", lost.join(" and ")))?;
    let next = "Keep these files: they contain what the database lacks. A gateway that ran since may have \
         changed or removed entries itself: compare before you act.";
    output.line(Tone::Plain, next)?;
    let mut faults =
        migration.pairs.iter().filter_map(|pair| pair.comparison.as_ref()).flat_map(|it| &it.faults);
    if faults.any(|fault| fault.kind == ImportFaultKind::Added) {
        let next = "`openclaw doctor --session-sqlite import` imports the added entries if a sessions.json \
             beside the file lists its session.";
        output.line(Tone::Plain, next)?;
    }
    Ok(())
}
