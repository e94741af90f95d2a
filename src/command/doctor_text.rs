//! The text of `doctor`.

use std::io::Write as _;

use super::diagnostics::{AgentModel, DoctorReport};
use super::doctor_json::{COMPACTION_PATH, PRUNING_PATH, describe_database, flush_rows, overridden_origins};
use super::environment::Workspace;
use super::failure::Failure;
use super::output::Output;
use super::preview::format_value;
use super::repair::{self, Repair};
use crate::diagnostic::Severity;
use crate::doc::{Align, Cell, Table, Tone};
use crate::format::{format_count, format_duration, format_number, format_size};
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::effective::{ResolvedSetting, overridden_text};
use crate::gateway::registry::Provenance;
use crate::gateway::reset::ResetMode;
use crate::gateway::window::WindowSource;
use crate::js::{self, Value};
use crate::policy::settings::{SettingId, find_setting};
use crate::redact::masked;
use crate::session::Mark;
use crate::units::{Bytes, Millis, Tokens};

pub(super) fn print(
    workspace: &Workspace,
    checkup: &DoctorReport,
    repairs: Option<&[Repair]>,
    output: &mut Output,
) -> Result<(), Failure> {
    let store = workspace.store();
    print_rules(workspace, checkup, output)?;
    output.line(
        Tone::Plain,
        &format!("state dir  {} ({})", store.state_dir.display(), checkup.state_dir_origin),
    )?;
    let config = match (&store.config.path, &store.config.error) {
        (_, Some(error)) => format!("{error}"),
        (Some(path), None) => path.display().to_string(),
        (None, None) if store.ruleset.id.is_pi() => "none: a folder of pi's own sessions".to_owned(),
        (None, None) => "none: the gateway uses its defaults".to_owned(),
    };
    let tone = if store.config.error.is_some() { Tone::Bad } else { Tone::Plain };
    output.line(tone, &format!("config     {config}"))?;
    for applied in store.config.applied_defaults() {
        let line = format!("           filled in by {}: {} ({})", applied.rule, applied.key, applied.reason);
        output.line(Tone::Dim, &line)?;
    }
    for (at, holding) in store.databases.iter().enumerate() {
        let head = if at == 0 { "database   " } else { "           " };
        output.line(Tone::Plain, &format!("{head}{}", describe_database(holding)))?;
    }
    if workspace.listed.items.iter().any(|item| item.has(Mark::Imported) || item.has(Mark::NotImported)) {
        let words = "           `clawscope doctor --migration` compares it with the old files";
        output.line(Tone::Dim, words)?;
    }
    let read = format!(
        "read       {}, {}, {}, {}",
        format_count(checkup.transcripts, "transcript", "transcripts"),
        format_size(checkup.bytes),
        format_count(checkup.entries, "entry", "entries"),
        format_count(checkup.bad_lines, "bad line", "bad lines"),
    );
    output.line(Tone::Plain, &read)?;
    if let Some(repairs) = repairs {
        repair::print(repairs, output)?;
    }
    writeln!(output)?;
    print_agents(checkup, output)?;
    match &checkup.pi {
        Some(pi) => pi.print(output)?,
        None => print_settings(workspace, checkup, output)?,
    }
    print_other_settings(checkup, output)?;
    print_lifecycles(workspace, checkup, output)?;
    print_locks(checkup, output)?;
    print_diagnostics(checkup, output)
}

/// Prints the store's ruleset, and the rulesets of transcripts that name their own.
fn print_rules(workspace: &Workspace, checkup: &DoctorReport, output: &mut Output) -> Result<(), Failure> {
    let chosen = &workspace.store().ruleset;
    // The store's ruleset applies nowhere if every transcript names another one.
    let of_all = match checkup.ruleset_counts.as_slice() {
        [(own, _)] if *own != chosen.id => Some(*own),
        _ => None,
    };
    let name = of_all.unwrap_or(chosen.id).display_name();
    output.line(Tone::Strong, &format!("{} · {name}", workspace.listed.name))?;
    let mut head = "rules      ";
    if of_all.is_none() {
        let span = chosen.id.release_span();
        let release = chosen.release.as_ref().map(ToString::to_string).filter(|release| *release != span);
        let of = release.map(|release| format!(", for {release}")).unwrap_or_default();
        let line = format!("{head}{span}{of} ({})", chosen.provenance_text());
        output.line(Tone::Plain, &line)?;
        head = "           ";
    }
    if let Some(note) = &chosen.note {
        output.line(Tone::Warning, &format!("           {note}"))?;
    }
    for (ruleset, count) in checkup.ruleset_counts.iter().filter(|(own, _)| *own != chosen.id) {
        let read = format_count(*count, "transcript", "transcripts");
        let line = format!(
            "{head}{} for {read} of {}, detected from their contents",
            ruleset.id(),
            checkup.transcripts
        );
        output.line(Tone::Plain, &line)?;
    }
    Ok(())
}

fn print_agents(checkup: &DoctorReport, output: &mut Output) -> Result<(), Failure> {
    let columns = [
        ("agent", Align::Left),
        ("sessions", Align::Right),
        ("model", Align::Flexible),
        ("window", Align::Right),
        ("from", Align::Left),
        ("pruning", Align::Left),
    ];
    // pi prunes for no model, so its table has no such column.
    let shown = if checkup.pi.is_some() { columns.len() - 1 } else { columns.len() };
    let mut table = Table::new(&columns[..shown]);
    for agent in &checkup.agents {
        let AgentModel { provider, id, window, window_provenance: window_from, is_prunable: eligible } =
            &agent.model;
        let known = !id.is_empty();
        let mut cells: Vec<Cell> = vec![
            agent.id.as_str().into(),
            format_number(agent.sessions).into(),
            if known { format!("{provider}/{}", masked(id)) } else { "each session's own".to_owned() }.into(),
            if known { format_number(window.tokens.whole()) } else { "-".to_owned() }.into(),
            Cell::new(
                &if known { describe_window_origin(window.source, window_from) } else { "-".to_owned() },
                Tone::Dim,
            ),
            if *eligible { "eligible" } else { "not eligible" }.into(),
        ];
        cells.truncate(shown);
        table.push(cells);
    }
    table.print(output, "")?;
    Ok(writeln!(output)?)
}

/// Describes where a window comes from: `models.providers in /srv/openclaw.json:75`.
fn describe_window_origin(source: WindowSource, from: &Provenance) -> String {
    match (source, from) {
        (WindowSource::ModelsConfig, from) => format!("models.providers in {from}"),
        (WindowSource::AgentContextTokens, from) => format!("contextTokens in {from}"),
        (WindowSource::Listed, Provenance::Rule { why, .. }) => format!("model list of {why}"),
        (WindowSource::Row, Provenance::Rule { why, .. }) => format!("contextTokens in the {why}"),
        (WindowSource::Model, from) => format!("model list in {from}"),
        (source, _) => source.label().to_owned(),
    }
}

fn print_settings(workspace: &Workspace, checkup: &DoctorReport, output: &mut Output) -> Result<(), Failure> {
    let config = &workspace.store().config;
    let mut table =
        Table::new(&[("contextPruning", Align::Left), ("value", Align::Right), ("from", Align::Left)]);
    for row in &checkup.settings {
        let over = overridden_origins(config, PRUNING_PATH, row.key, &row.provenance);
        table.push(vec![
            row.key.into(),
            format_value(None, &row.value).into(),
            Cell::new(&describe_origins(&row.provenance, &over), Tone::Dim),
        ]);
    }
    output.line(Tone::Strong, "pruning")?;
    table.print(output, "  ")?;
    writeln!(output)?;
    output.line(Tone::Strong, "compaction")?;
    let mut table =
        Table::new(&[("compaction", Align::Left), ("value", Align::Right), ("from", Align::Left)]);
    for row in &checkup.compaction_rows {
        let over = overridden_origins(config, COMPACTION_PATH, row.name(), &row.provenance);
        table.push(vec![
            row.name().into(),
            format_value(None, &row.value).into(),
            Cell::new(&describe_origins(&row.provenance, &over), Tone::Dim),
        ]);
    }
    table.print(output, "  ")?;
    let compaction = &checkup.compaction;
    let line = format!(
        "  {} · mode {} · reserve {} tokens · keeps the last {}",
        if compaction.enabled { "on" } else { "off" },
        checkup.mode.as_str(),
        format_number(compaction.reserve_tokens.whole()),
        format_number(compaction.keep_recent_tokens.whole()),
    );
    output.line(Tone::Plain, &line)?;
    if let Some(words) = describe_raised_reserve(checkup) {
        output.line(Tone::Dim, &words)?;
    }
    writeln!(output)?;
    output.line(Tone::Strong, "memory flush")?;
    let mut table =
        Table::new(&[("compaction", Align::Left), ("value", Align::Right), ("from", Align::Left)]);
    let is_above = |key: &str| checkup.compaction_rows.iter().any(|row| row.name() == key);
    for (key, value, from) in flush_rows(checkup).into_iter().filter(|(key, ..)| !is_above(key)) {
        table.push(vec![
            key.into(),
            format_value(None, &value).into(),
            Cell::new(&from.to_string(), Tone::Dim),
        ]);
    }
    table.print(output, "  ")?;
    Ok(writeln!(output)?)
}

/// Explains a reserve above its setting: the reserve floor raises it (compaction 2.2).
fn describe_raised_reserve(checkup: &DoctorReport) -> Option<String> {
    let floor = checkup.flush.floor_tokens.value;
    let row = checkup.compaction_rows.iter().find(|row| row.id == SettingId::ReserveTokens)?;
    let set = row.config.as_ref().and_then(Value::as_f64).filter(|tokens| *tokens >= 0.0);
    let own = set.map_or(CompactionSettings::default().reserve_tokens, Tokens);
    (checkup.compaction.reserve_tokens == floor && own < floor).then(|| {
        let what = if set.is_some() { "the configured reserve" } else { "the runtime's reserve" };
        let what = format!("{what} {}", format_number(own.whole()));
        format!(
            "  reserveTokensFloor {} ({}) overrides {what}",
            format_number(floor.whole()),
            checkup.flush.floor_tokens.provenance
        )
    })
}

/// Prints the settings that are set, and all that `--set` accepts; the JSON also has the ones at their default.
fn print_other_settings(checkup: &DoctorReport, output: &mut Output) -> Result<(), Failure> {
    let mut table =
        Table::new(&[("setting", Align::Left), ("value", Align::Flexible), ("from", Align::Left)]);
    // Keys that `--set` accepts are listed at their default too.
    let settable = |row: &ResolvedSetting| {
        let key = row.key.strip_prefix("agents.defaults.");
        key.and_then(find_setting).is_some_and(|setting| setting.policy.is_none()) && row.value != Value::Null
    };
    for row in
        checkup.other_settings.iter().filter(|row| row.provenance != Provenance::Default || settable(row))
    {
        table.push(vec![
            row.key.as_str().into(),
            match &row.value {
                Value::Object(_) => js::stringify(&row.value).as_str().into(),
                other => format_value(None, other).into(),
            },
            Cell::new(&describe_origins(&row.provenance, &row.overridden), Tone::Dim),
        ]);
    }
    if table.is_empty() {
        return Ok(());
    }
    output.line(Tone::Strong, "other settings")?;
    table.print(output, "  ")?;
    let default = checkup.other_settings.iter().filter(|row| row.provenance == Provenance::Default).count();
    output.line(
        Tone::Dim,
        &format!("  {} more at their default (--json lists them)", format_number(default as u64)),
    )?;
    Ok(writeln!(output)?)
}

fn print_lifecycles(
    workspace: &Workspace,
    checkup: &DoctorReport,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some((_, first)) = checkup.lifecycles.first() else { return Ok(()) };
    let mut table =
        Table::new(&[("session", Align::Left), ("rule", Align::Left), ("next reset", Align::Left)]);
    for (key, lifecycle) in &checkup.lifecycles {
        let policy = &lifecycle.policy;
        let idle_ms = policy.idle_minutes.as_ref().map(|(minutes, _)| Millis(minutes * 60_000.0));
        let idle = idle_ms.map(|idle| format!("idle {}", format_duration(idle)));
        let daily = (policy.mode.0 == ResetMode::Daily).then(|| format!("daily {}:00", policy.at_hour.0));
        let how: Vec<String> = daily.into_iter().chain(idle).collect();
        let tone = if lifecycle.is_due(workspace.now_ms) { Tone::Warning } else { Tone::Plain };
        table.push(vec![
            key.as_str().into(),
            Cell::new(&how.join(" or "), Tone::Dim),
            Cell::new(&lifecycle.describe_next_reset(workspace.now_ms), tone),
        ]);
    }
    table.print(output, "")?;
    output.line(
        Tone::Dim,
        &format!("a reset leaves {}; hours are in this machine's time zone", first.reset_effect),
    )?;
    Ok(writeln!(output)?)
}

fn print_locks(checkup: &DoctorReport, output: &mut Output) -> Result<(), Failure> {
    if checkup.locks.is_empty() {
        return Ok(output.line(Tone::Dim, "no locks")?);
    }
    for lock in &checkup.locks {
        let who = lock.pid.map(|pid| format!(" by process {pid}")).unwrap_or_default();
        output.line(
            Tone::Warning,
            &format!("lock {}{who}: {} {}", lock.state, lock.path.display(), lock.reason),
        )?;
    }
    Ok(())
}

fn print_diagnostics(checkup: &DoctorReport, output: &mut Output) -> Result<(), Failure> {
    let counts = checkup.counts();
    let counts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| match *name {
            "bytes" => format_size(Bytes(*count)),
            "badLines" => format!("unreadable lines {}", format_number(*count)),
            name => format!("{name} {}", format_number(*count)),
        })
        .collect();
    output.line(Tone::Plain, &counts.join(" · "))?;
    for finding in &checkup.diagnostics {
        let tone = match finding.severity {
            Severity::Note => Tone::Dim,
            Severity::Warning => Tone::Warning,
            Severity::Error => Tone::Bad,
        };
        output.line(tone, &finding.to_string())?;
    }
    // A note is no problem.
    if checkup.diagnostics.iter().all(|finding| finding.severity == Severity::Note) {
        return match checkup.damage_counts() {
            (0, 0) => Ok(output.line(Tone::Good, "no problems found")?),
            (sessions, lines) => {
                let sessions = format_count(sessions, "session is damaged", "sessions are damaged");
                let lines = format_count(lines, "line", "lines");
                let words = format!("{sessions}: clawscope could not read {lines}; no other problems found");
                Ok(output.line(Tone::Warning, &words)?)
            }
        };
    }
    Ok(())
}

fn describe_origins(from: &Provenance, over: &[Provenance]) -> String {
    if over.is_empty() { from.to_string() } else { format!("{from} {}", overridden_text(over)) }
}
