//! The answer of `clawscope doctor --migration` as text: the sums, what stands alone, and every fault with its line.

use super::doctor::database_words;
use super::failure::Failure;
use super::migration::Totals;
use super::output::{Output, Tone};
use super::scene::Scene;
use super::words::counted;
use crate::store::migration::{Alone, Comparison, Difference, Fault, FaultKind, Held, Migration, Pair, Why};

/// Faults of one session that are printed; the JSON has all.
const MOST_FAULTS: usize = 20;
/// Files of one kind that are printed.
const MOST_FILES: usize = 10;

/// Prints the whole answer.
pub(super) fn print(
    scene: &Scene,
    migration: &Migration,
    totals: &Totals,
    output: &mut Output,
) -> Result<(), Failure> {
    output.line(Tone::Strong, &format!("{} · migration check", scene.listed.name))?;
    for (at, holding) in scene.store().databases.iter().enumerate() {
        let head = if at == 0 { "database   " } else { "           " };
        output.line(Tone::Plain, &format!("{head}{}", database_words(holding)))?;
    }
    print_compared(totals, output)?;
    print_alone(migration, output)?;
    for pair in &migration.pairs {
        match &pair.result {
            Ok(found) if found.faults.is_empty() && found.unreadable.is_empty() => {}
            Ok(found) => print_pair(pair, found, output)?,
            Err(error) => {
                let words = format!("\n{}: cannot be compared: {error}", pair.file.display());
                words.split('\n').try_for_each(|line| output.line(Tone::Bad, line))?;
            }
        }
    }
    print_end(totals, output)
}

fn print_compared(totals: &Totals, output: &mut Output) -> Result<(), Failure> {
    let sum = &totals.sum;
    if totals.compared == 0 {
        let words = "compared   nothing: no session is both in a file and in a database";
        return Ok(output.line(Tone::Plain, words)?);
    }
    let files = counted(totals.compared, "transcript", "transcripts");
    let entries = counted(sum.entries, "entry", "entries");
    output.line(Tone::Plain, &format!("compared   {files} with {entries}: {}", kept_words(sum)))?;
    if sum.later > 0 {
        let later = counted(sum.later, "entry was", "entries were");
        output.line(Tone::Dim, &format!("           {later} written to the database since"))?;
    }
    Ok(())
}

/// The entries that are as they should be.
fn kept_words(sum: &Comparison) -> String {
    let mut words = vec![counted(sum.identical, "identical", "identical")];
    if sum.rewritten > 0 {
        words.push(counted(
            sum.rewritten,
            "rewritten by the gateway's own repairs",
            "rewritten by the gateway's own repairs",
        ));
    }
    if sum.left_out > 0 {
        words.push(counted(sum.left_out, "left out on purpose", "left out on purpose"));
    }
    words.join(", ")
}

fn print_alone(migration: &Migration, output: &mut Output) -> Result<(), Failure> {
    for why in [Why::Lost, Why::DatabaseGone, Why::Unreadable, Why::SetAside, Why::NoDatabase] {
        let files: Vec<&Alone> = migration.alone.iter().filter(|alone| alone.why == why).collect();
        if files.is_empty() {
            continue;
        }
        let tone = if why.is_fault() { Tone::Bad } else { Tone::Plain };
        output.line(tone, &alone_words(why, files.len() as u64))?;
        // Files that no import touched are those of the store; every other command lists them.
        let shown = if why == Why::NoDatabase { 0 } else { MOST_FILES };
        for alone in files.iter().take(shown) {
            let session =
                if why.is_fault() { format!(" (session {})", alone.session) } else { String::new() };
            output.line(Tone::Dim, &format!("           {}{session}", alone.file.display()))?;
        }
        if shown > 0 {
            print_more(files.len(), shown, "           ", output)?;
        }
    }
    if migration.without_file > 0 {
        let sessions = counted(migration.without_file, "session", "sessions");
        output.line(Tone::Dim, &format!("no file    {sessions} in the database, with no file to compare"))?;
    }
    if migration.archives > 0 {
        let archives = counted(migration.archives, "archive", "archives");
        let words = format!("archives   {archives} of reset or deleted sessions, which no import takes");
        output.line(Tone::Dim, &words)?;
    }
    Ok(())
}

fn alone_words(why: Why, files: u64) -> String {
    let files = counted(files, "file", "files");
    match why {
        Why::Lost => format!("lost       {files} whose session is not in the database"),
        Why::DatabaseGone => {
            format!("lost       {files} that an import put away, but its database is not there")
        }
        Why::Unreadable => format!("unread     {files} whose database cannot be read"),
        Why::SetAside => format!("set aside  {files} that no session named: put away, but not imported"),
        Why::NoDatabase => {
            format!("in files   {files} of agents without a database of sessions: not imported")
        }
    }
}

fn print_pair(pair: &Pair, found: &Comparison, output: &mut Output) -> Result<(), Failure> {
    let faults = counted(found.faulty() as u64, "entry", "entries");
    output.line(Tone::Plain, "")?;
    output.line(
        Tone::Strong,
        &format!("{} · session {} · {faults} of {}", pair.key, pair.session, found.entries),
    )?;
    output.line(Tone::Dim, &format!("  file      {}", pair.file.display()))?;
    output.line(Tone::Dim, &format!("  database  {}", pair.database.display()))?;
    for line in found.unreadable.iter().take(MOST_FILES) {
        let words = format!("  line {line}: the file has no JSON there, and an import stops at such a line");
        output.line(Tone::Warning, &words)?;
    }
    for fault in found.faults.iter().take(MOST_FAULTS) {
        output.line(Tone::Bad, &format!("  {}", fault_words(fault)))?;
    }
    print_more(found.faults.len(), MOST_FAULTS, "  ", output)
}

fn print_more(all: usize, shown: usize, indent: &str, output: &mut Output) -> Result<(), Failure> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        more => Ok(output.line(Tone::Dim, &format!("{indent}and {more} more; --json lists all"))?),
    }
}

/// A fault in one line.
fn fault_words(fault: &Fault) -> String {
    let entry = fault.entry.as_deref().map(|entry| format!(" {entry}")).unwrap_or_default();
    let place = format!("line {}{entry}", fault.line);
    match &fault.kind {
        FaultKind::Lost => format!("{place}: lost, the database does not have it"),
        FaultKind::IdTaken { by } => {
            format!("{place}: lost, line {by} has the same id and only that was imported")
        }
        FaultKind::Added => format!("{place}: added to the file after the import, not in the database"),
        FaultKind::Changed { places, more } => format!("{place}: changed, {}", places_words(places, *more)),
        FaultKind::Reparented { file, database } => {
            let parent = |id: &Option<String>| id.clone().unwrap_or_else(|| "no entry".to_owned());
            format!(
                "{place}: re-parented, follows {} in the file and {} in the database",
                parent(file),
                parent(database)
            )
        }
        FaultKind::Doubled { again } if *again == fault.entry => {
            format!("{place}: doubled, the database has it twice")
        }
        FaultKind::Doubled { again } => {
            let again = again.as_deref().unwrap_or("an entry without an id");
            format!("{place}: doubled, the database has it again as {again}")
        }
        FaultKind::Moved => format!("{place}: moved, it stands at another place in the database"),
    }
}

fn places_words(places: &[Difference], more: usize) -> String {
    let words: Vec<String> = places
        .iter()
        .map(|place| {
            let from = place.from.map(|from| format!(", from character {} on", from + 1)).unwrap_or_default();
            let (file, database) = (held_words(&place.file), held_words(&place.database));
            let path = if place.path.is_empty() { "the line" } else { &place.path };
            format!("{path}: {file} in the file, {database} in the database{from}")
        })
        .collect();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    words.join("; ") + &more
}

fn held_words(held: &Held) -> String {
    match held {
        Held::Nothing => "nothing".to_owned(),
        Held::Text(chars) => counted(*chars as u64, "char", "chars"),
        Held::Plain(json) => json.clone(),
        Held::List(items) => format!("a list of {items}"),
        Held::Object => "an object".to_owned(),
    }
}

fn print_end(totals: &Totals, output: &mut Output) -> Result<(), Failure> {
    output.line(Tone::Plain, "")?;
    if totals.is_clean() {
        let words = match (totals.unreadable, totals.compared) {
            (0, 0) => "There is no migration to check here.",
            (0, _) => "Nothing was lost, changed or doubled.",
            _ => "Nothing is wrong with what could be compared.",
        };
        return Ok(output.line(if totals.unreadable > 0 { Tone::Warning } else { Tone::Good }, words)?);
    }
    let counts = totals.sum.counts();
    let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| format!("{count} {kind}"));
    let mut words: Vec<String> = counts.collect();
    if totals.lost_sessions > 0 {
        words.insert(0, counted(totals.lost_sessions, "whole session lost", "whole sessions lost"));
    }
    let sessions = match totals.faulty {
        0 => String::new(),
        faulty => format!(" in {}", counted(faulty, "session", "sessions")),
    };
    output.line(Tone::Bad, &format!("Not everything was kept{sessions}: {}.", words.join(", ")))?;
    let next = "Keep these files: they hold what the database lacks. A gateway that ran since may have changed or removed \
                entries itself: compare before you act.";
    output.line(Tone::Plain, next)?;
    if totals.sum.faults.iter().any(|fault| fault.kind == FaultKind::Added) {
        let next = "`openclaw doctor --session-sqlite import` takes in what was added, where a sessions.json beside the file \
                    names its session.";
        output.line(Tone::Plain, next)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "migration_text_tests.rs"]
mod tests;
