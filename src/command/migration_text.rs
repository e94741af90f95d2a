//! Text of `clawscope doctor --migration`: the totals, files without a counterpart, and every fault with its line.

use super::database::describe_database;
use super::environment::Workspace;
use super::failure::Failure;
use super::migration_totals::MigrationTotals;
use super::output::{Output, Tone};
use crate::format::format_count;
use crate::store::migration::{
    EntryDifference, FilePair, ImportComparison, ImportFault, ImportFaultKind, Migration, UnmatchedFile,
    UnmatchedReason, ValueSummary,
};

/// Faults printed per session; the JSON has all.
const MAX_FAULTS: usize = 20;
/// Files printed per kind.
const MAX_FILES: usize = 10;

pub(super) fn print(
    workspace: &Workspace,
    migration: &Migration,
    totals: &MigrationTotals,
    output: &mut Output,
) -> Result<(), Failure> {
    output.line(Tone::Strong, &format!("{} · migration check", workspace.listed.name))?;
    for (at, holding) in workspace.store().databases.iter().enumerate() {
        let head = if at == 0 { "database   " } else { "           " };
        output.line(Tone::Plain, &format!("{head}{}", describe_database(holding)))?;
    }
    print_compared(totals, output)?;
    print_unpaired(migration, output)?;
    for pair in &migration.pairs {
        match &pair.comparison {
            Ok(found) if found.faults.is_empty() && found.unreadable_lines.is_empty() => {}
            Ok(found) => print_pair(pair, found, output)?,
            Err(error) => {
                let words = format!("\n{}: cannot compare: {error}", pair.file.display());
                words.split('\n').try_for_each(|line| output.line(Tone::Bad, line))?;
            }
        }
    }
    print_verdict(totals, output)
}

fn print_compared(totals: &MigrationTotals, output: &mut Output) -> Result<(), Failure> {
    let sum = &totals.comparison;
    if totals.compared_pairs == 0 {
        let words = "compared   nothing: no session is in both a file and a database";
        return Ok(output.line(Tone::Plain, words)?);
    }
    let files = format_count(totals.compared_pairs, "transcript", "transcripts");
    let entries = format_count(sum.entries, "entry", "entries");
    output.line(Tone::Plain, &format!("compared   {files} with {entries}: {}", describe_intact(sum)))?;
    if sum.added_rows > 0 {
        let later = format_count(sum.added_rows, "entry was", "entries were");
        output.line(Tone::Dim, &format!("           {later} written to the database since"))?;
    }
    Ok(())
}

fn describe_intact(sum: &ImportComparison) -> String {
    let mut words = vec![format_count(sum.identical, "identical", "identical")];
    if sum.rewritten > 0 {
        words.push(format_count(
            sum.rewritten,
            "rewritten by the gateway's own repairs",
            "rewritten by the gateway's own repairs",
        ));
    }
    if sum.skipped > 0 {
        words.push(format_count(sum.skipped, "skipped on purpose", "skipped on purpose"));
    }
    words.join(", ")
}

fn print_unpaired(migration: &Migration, output: &mut Output) -> Result<(), Failure> {
    for why in [
        UnmatchedReason::Lost,
        UnmatchedReason::DatabaseGone,
        UnmatchedReason::Unreadable,
        UnmatchedReason::SetAside,
        UnmatchedReason::NoDatabase,
    ] {
        let files: Vec<&UnmatchedFile> =
            migration.unmatched.iter().filter(|alone| alone.reason == why).collect();
        if files.is_empty() {
            continue;
        }
        let tone = if why.is_fault() { Tone::Bad } else { Tone::Plain };
        output.line(tone, &describe_unpaired(why, files.len() as u64))?;
        // These files are the store itself, and every other command lists them.
        let shown = if why == UnmatchedReason::NoDatabase { 0 } else { MAX_FILES };
        for alone in files.iter().take(shown) {
            let session =
                if why.is_fault() { format!(" (session {})", alone.session_id) } else { String::new() };
            output.line(Tone::Dim, &format!("           {}{session}", alone.file.display()))?;
        }
        if shown > 0 {
            print_more(files.len(), shown, "           ", output)?;
        }
    }
    if migration.without_file > 0 {
        let sessions = format_count(migration.without_file, "session", "sessions");
        output.line(Tone::Dim, &format!("no file    {sessions} in the database, with no file to compare"))?;
    }
    if migration.archives > 0 {
        let archives = format_count(migration.archives, "archive", "archives");
        let words = format!("archives   {archives} of reset or deleted sessions, which are never imported");
        output.line(Tone::Dim, &words)?;
    }
    Ok(())
}

fn describe_unpaired(why: UnmatchedReason, files: u64) -> String {
    let files = format_count(files, "file", "files");
    match why {
        UnmatchedReason::Lost => format!("lost       {files} whose session is not in the database"),
        UnmatchedReason::DatabaseGone => {
            format!("lost       {files} that an import moved aside, but its database does not exist")
        }
        UnmatchedReason::Unreadable => format!("unread     {files} with an unreadable database"),
        UnmatchedReason::SetAside => {
            format!("set aside  {files} without a session: moved aside, but not imported")
        }
        UnmatchedReason::NoDatabase => {
            format!("in files   {files} of agents without a session database: not imported")
        }
    }
}

fn print_pair(pair: &FilePair, found: &ImportComparison, output: &mut Output) -> Result<(), Failure> {
    let faults = format_count(found.faulty_entries() as u64, "entry", "entries");
    output.line(Tone::Plain, "")?;
    output.line(
        Tone::Strong,
        &format!("{} · session {} · {faults} of {}", pair.key, pair.session_id, found.entries),
    )?;
    output.line(Tone::Dim, &format!("  file      {}", pair.file.display()))?;
    output.line(Tone::Dim, &format!("  database  {}", pair.database.display()))?;
    for line in found.unreadable_lines.iter().take(MAX_FILES) {
        let words = format!("  line {line}: not JSON; an import stops at such a line");
        output.line(Tone::Warning, &words)?;
    }
    for fault in found.faults.iter().take(MAX_FAULTS) {
        output.line(Tone::Bad, &format!("  {}", describe_fault(fault)))?;
    }
    print_more(found.faults.len(), MAX_FAULTS, "  ", output)
}

fn print_more(all: usize, shown: usize, indent: &str, output: &mut Output) -> Result<(), Failure> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        more => Ok(output.line(Tone::Dim, &format!("{indent}and {more} more; --json lists all"))?),
    }
}

fn describe_fault(fault: &ImportFault) -> String {
    let entry = fault.entry_id.as_deref().map(|entry| format!(" {entry}")).unwrap_or_default();
    let place = format!("line {}{entry}", fault.line);
    match &fault.kind {
        ImportFaultKind::Lost => format!("{place}: lost, not in the database"),
        ImportFaultKind::IdTaken { taken_by_line: by } => {
            format!("{place}: lost, because line {by} has the same id and only that one was imported")
        }
        ImportFaultKind::Added => format!("{place}: added to the file after the import, not in the database"),
        ImportFaultKind::Changed { differences: places, unlisted: more } => {
            format!("{place}: changed, {}", describe_differences(places, *more))
        }
        ImportFaultKind::Reparented { file, database } => {
            let parent = |id: &Option<String>| id.clone().unwrap_or_else(|| "no entry".to_owned());
            format!(
                "{place}: re-parented, follows {} in the file but {} in the database",
                parent(file),
                parent(database)
            )
        }
        ImportFaultKind::Duplicated { duplicate_id: again } if *again == fault.entry_id => {
            format!("{place}: duplicated, the database has it twice")
        }
        ImportFaultKind::Duplicated { duplicate_id: again } => {
            let again = again.as_deref().unwrap_or("an entry without an id");
            format!("{place}: duplicated, the database also has it as {again}")
        }
        ImportFaultKind::Moved => format!("{place}: moved to another position in the database"),
    }
}

fn describe_differences(places: &[EntryDifference], more: usize) -> String {
    let words: Vec<String> = places
        .iter()
        .map(|place| {
            let from = place
                .first_difference
                .map(|from| format!(", from character {}", from + 1))
                .unwrap_or_default();
            let (file, database) = (describe_side(&place.file), describe_side(&place.database));
            let path = if place.path.is_empty() { "the line" } else { &place.path };
            format!("{path}: {file} in the file, {database} in the database{from}")
        })
        .collect();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    words.join("; ") + &more
}

fn describe_side(value: &ValueSummary) -> String {
    match value {
        ValueSummary::Nothing => "nothing".to_owned(),
        ValueSummary::Text(chars) => format_count(*chars as u64, "char", "chars"),
        ValueSummary::Scalar(json) => json.clone(),
        ValueSummary::List(items) => format!("a list of {items}"),
        ValueSummary::Object => "an object".to_owned(),
    }
}

fn print_verdict(totals: &MigrationTotals, output: &mut Output) -> Result<(), Failure> {
    output.line(Tone::Plain, "")?;
    if totals.is_clean() {
        let words = match (totals.unreadable_pairs, totals.compared_pairs) {
            (0, 0) => "No migration to check.",
            (0, _) => "Nothing was lost, changed or duplicated.",
            _ => "No differences in the sessions that could be compared.",
        };
        return Ok(output.line(if totals.unreadable_pairs > 0 { Tone::Warning } else { Tone::Good }, words)?);
    }
    let counts = totals.comparison.fault_counts();
    let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| format!("{count} {kind}"));
    let mut words: Vec<String> = counts.collect();
    if totals.lost_sessions > 0 {
        words.insert(0, format_count(totals.lost_sessions, "whole session lost", "whole sessions lost"));
    }
    let sessions = match totals.faulty_pairs {
        0 => String::new(),
        faulty => format!(" in {}", format_count(faulty, "session", "sessions")),
    };
    output
        .line(Tone::Bad, &format!("The import lost or changed history{sessions}: {}.", words.join(", ")))?;
    let next = "Keep these files: they contain what the database lacks. A gateway that ran since may have \
         changed or removed entries itself: compare before you act.";
    output.line(Tone::Plain, next)?;
    if totals.comparison.faults.iter().any(|fault| fault.kind == ImportFaultKind::Added) {
        let next = "`openclaw doctor --session-sqlite import` imports the added entries if a sessions.json \
             beside the file lists its session.";
        output.line(Tone::Plain, next)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "migration_text_tests.rs"]
mod tests;
