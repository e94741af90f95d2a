//! `clawscope doctor [PATH]`: prints the store's contents, its problems and the settings in force.

use std::io::Write as _;

use rayon::prelude::*;

use super::database::{database_value, describe_database};
use super::diagnostics::{AgentModel, DoctorReport, TranscriptLock};
use super::environment::{Invocation, Workspace, diagnostic_value};
use super::failure::Failure;
use super::format::{format_bytes, format_count, format_number};
use super::output::{Output, Tone};
use super::pi_settings::PiSettingsReport;
use super::preview::format_value;
use super::repair::{self, Repair, settle_unfinished};
use super::ruleset::ruleset_json;
use super::session_output::{lifecycle_value, number_value, window_value};
use super::setting_value::setting_value;
use super::table::{Align, Cell, Table};
use crate::cli::{DoctorArgs, StoreArgs};
use crate::diagnostic::Severity;
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::config::GatewayConfig;
use crate::gateway::effective::ResolvedSetting;
use crate::gateway::effective::overridden_text;
use crate::gateway::provenance::{Provenance, Setting};
use crate::gateway::reset::ResetMode;
use crate::js::{self, Object, Value};
use crate::policy::settings::{SettingId, find_setting};
use crate::session::Mark;

/// Parent keys of the rows in the settings tables.
const PRUNING_PATH: [&str; 3] = ["agents", "defaults", "contextPruning"];
const COMPACTION_PATH: [&str; 3] = ["agents", "defaults", "compaction"];

pub(super) fn run(
    args: &DoctorArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let DoctorArgs { list: args, repair: repairs, migration } = args;
    if *migration {
        return super::migration::run(args, place, invocation, output);
    }
    let mut workspace = Workspace::from_path(args.path.as_deref(), place, invocation)?;
    let repairs = repairs.then(|| settle_unfinished(&workspace));
    if repairs.as_ref().is_some_and(|repairs| !repairs.is_empty()) {
        workspace = Workspace::from_path(args.path.as_deref(), place, invocation)?;
    }
    let read =
        workspace.listed.items.par_iter().map(|item| (item.clone(), workspace.open_item(item))).collect();
    let checkup = DoctorReport::new(&workspace, read);
    if args.json {
        output.json(report_json(&workspace, &checkup, repairs.as_deref()))?;
    } else {
        print(&workspace, &checkup, repairs.as_deref(), output)?;
    }
    if repairs.iter().flatten().any(Repair::has_failed) {
        return Err(Failure::refused("a commit that was broken off could not be settled; it says why"));
    }
    let errors = checkup.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count();
    if errors == 0 {
        return Ok(());
    }
    let errors = format_count(errors as u64, "finding is an error", "findings are errors");
    Err(Failure::unreadable(format!("{}: {errors}; each says what to do", workspace.listed.name)))
}

fn report_json(workspace: &Workspace, checkup: &DoctorReport, repairs: Option<&[Repair]>) -> Object {
    let config = &workspace.store().config;
    let error = config.error.as_ref().map(|error| {
        Object::from([
            ("path", Value::from(error.path.to_string_lossy().as_ref())),
            ("line", Value::from(error.line.map(u64::from))),
            ("column", Value::from(error.column.map(u64::from))),
            ("what", Value::from(error.message.as_str())),
            ("next", Value::from(error.advice.as_str())),
        ])
    });
    let config_path = config.path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let applied = config.applied_defaults().iter().map(|applied| {
        let members =
            [("key", applied.key.as_str()), ("rule", applied.rule), ("why", applied.reason.as_str())];
        Value::from(Object::from(members))
    });
    let config = Object::from([
        ("path", Value::from(config_path)),
        ("error", Value::from(error)),
        ("filledIn", Value::from(applied.collect::<Vec<_>>())),
    ]);
    let counts = checkup.counts().into_iter().map(|(name, count)| (name, Value::from(count)));
    let state_dir = Object::from([
        ("path", Value::from(workspace.store().state_dir.to_string_lossy().as_ref())),
        ("why", Value::from(checkup.state_dir_origin.as_str())),
    ]);
    let store = &workspace.store().config;
    let pruning = checkup.settings.iter().map(|row| {
        setting_value(
            row.key,
            &row.value,
            &row.provenance.to_string(),
            &overridden_origins(store, PRUNING_PATH, row.key, &row.provenance),
        )
    });
    let compaction = checkup.compaction_rows.iter().map(|row| {
        let over = overridden_origins(store, COMPACTION_PATH, row.name(), &row.provenance);
        setting_value(row.name(), &row.value, &row.provenance.to_string(), &over)
    });
    let flush = flush_rows(checkup).map(|(key, value, from)| setting_value(key, &value, &from, &[]));
    let others = checkup.other_settings.iter();
    let others =
        others.map(|row| setting_value(&row.key, &row.value, &row.provenance.to_string(), &row.overridden));
    let lifecycles = checkup.lifecycles.iter().map(|(key, lifecycle)| {
        let mut value = Object::from([("key", Value::from(key.as_str()))]);
        if let Value::Object(members) = lifecycle_value(lifecycle, workspace.now_ms) {
            members.into_iter().for_each(|(key, member)| value.insert(key, member));
        }
        Value::from(value)
    });
    let rulesets = checkup.ruleset_counts.iter().map(|(ruleset, count)| (ruleset.id(), Value::from(*count)));
    Object::from([
        ("place", Value::from(workspace.listed.name.as_str())),
        ("demo", Value::from(workspace.listed.is_demo)),
        ("ruleset", ruleset_json(&workspace.store().ruleset)),
        ("stateDir", Value::from(state_dir)),
        ("config", Value::from(config)),
        (
            "databases",
            Value::from(workspace.store().databases.iter().map(database_value).collect::<Vec<_>>()),
        ),
        ("rulesets", Value::from(rulesets.collect::<Object>())),
        ("counts", Value::from(counts.collect::<Object>())),
        ("agents", Value::from(checkup.agents.iter().map(agent_value).collect::<Vec<_>>())),
        ("contextPruning", Value::from(pruning.collect::<Vec<_>>())),
        ("compaction", compaction_value(checkup)),
        ("compactionSettings", Value::from(compaction.collect::<Vec<_>>())),
        ("memoryFlush", Value::from(if checkup.pi.is_some() { Vec::new() } else { Vec::from(flush) })),
        (
            "settings",
            Value::from(
                checkup
                    .pi
                    .as_ref()
                    .map_or_else(|| others.collect::<Vec<_>>(), PiSettingsReport::setting_values),
            ),
        ),
        ("lifecycle", Value::from(lifecycles.collect::<Vec<_>>())),
        ("locks", Value::from(checkup.locks.iter().map(lock_value).collect::<Vec<_>>())),
        (
            "repairs",
            Value::from(repairs.map(|repairs| repairs.iter().map(Repair::to_value).collect::<Vec<_>>())),
        ),
        ("findings", Value::from(checkup.diagnostics.iter().map(diagnostic_value).collect::<Vec<_>>())),
    ])
}

fn agent_value(agent: &super::diagnostics::AgentReport) -> Value {
    let AgentModel { provider, id, window, window_provenance: window_from, is_prunable: eligible } =
        &agent.model;
    Value::from(Object::from([
        ("id", Value::from(agent.id.as_str())),
        ("configured", Value::from(agent.is_configured)),
        ("onDisk", Value::from(agent.is_on_disk)),
        ("sessions", Value::from(agent.sessions)),
        ("provider", Value::from(provider.as_str())),
        ("model", Value::from(id.as_str())),
        ("window", window_value(*window)),
        ("windowFrom", Value::from(window_from.to_string())),
        ("pruningEligible", Value::from(*eligible)),
    ]))
}

fn overridden_origins(
    config: &GatewayConfig,
    above: [&str; 3],
    key: &str,
    from: &Provenance,
) -> Vec<Provenance> {
    if !matches!(from, Provenance::File { .. }) {
        return Vec::new();
    }
    let path: Vec<&str> = above.into_iter().chain(key.split('.')).collect();
    config.provenance_chain(&path).into_iter().skip(1).collect()
}

fn describe_origins(from: &Provenance, over: &[Provenance]) -> String {
    if over.is_empty() { from.to_string() } else { format!("{from} {}", overridden_text(over)) }
}

fn compaction_value(checkup: &DoctorReport) -> Value {
    Value::from(Object::from([
        ("enabled", Value::from(checkup.compaction.enabled)),
        ("mode", Value::from(checkup.mode.as_str())),
        ("reserveTokens", number_value(checkup.compaction.reserve_tokens)),
        ("keepRecentTokens", number_value(checkup.compaction.keep_recent_tokens)),
    ]))
}

fn flush_rows(checkup: &DoctorReport) -> [(&'static str, Value, String); 4] {
    let flush = &checkup.flush;
    let number_row =
        |key, setting: &Setting<f64>| (key, number_value(setting.value), setting.provenance.to_string());
    [
        ("memoryFlush.enabled", Value::from(flush.enabled.value), flush.enabled.provenance.to_string()),
        number_row("memoryFlush.softThresholdTokens", &flush.soft_tokens),
        number_row("memoryFlush.forceFlushTranscriptBytes", &flush.force_bytes),
        number_row("reserveTokensFloor", &flush.floor_tokens),
    ]
}

fn lock_value(lock: &TranscriptLock) -> Value {
    Value::from(Object::from([
        ("path", Value::from(lock.path.to_string_lossy().as_ref())),
        ("state", Value::from(lock.state)),
        ("pid", Value::from(lock.pid.map(u64::from))),
        ("why", Value::from(lock.reason.as_str())),
    ]))
}

fn print(
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
        (None, None) => "none: the gateway runs on its defaults".to_owned(),
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
        let words = "           `clawscope doctor --migration` checks what the move into it kept";
        output.line(Tone::Dim, words)?;
    }
    let read = format!(
        "read       {}, {}, {}, {}",
        format_count(checkup.transcripts, "transcript", "transcripts"),
        format_bytes(checkup.bytes),
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
        let of = chosen.release.as_ref().map(|release| format!(", for {release}")).unwrap_or_default();
        let line = format!("{head}{}{of} ({})", chosen.id.release_span(), chosen.provenance_text());
        output.line(Tone::Plain, &line)?;
        head = "           ";
    }
    if let Some(note) = &chosen.note {
        output.line(Tone::Warning, &format!("           {note}"))?;
    }
    for (ruleset, count) in checkup.ruleset_counts.iter().filter(|(own, _)| *own != chosen.id) {
        let read = format_count(*count, "transcript", "transcripts");
        let line =
            format!("{head}{} for {read} of {}, by what is in them", ruleset.id(), checkup.transcripts);
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
            if known { format!("{provider}/{id}") } else { "each session's own".to_owned() }.into(),
            if known { format_number(window.tokens.max(0.0) as u64) } else { "-".to_owned() }.into(),
            Cell::new(
                &if known { format!("{}: {window_from}", window.source.name()) } else { "-".to_owned() },
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

fn print_settings(workspace: &Workspace, checkup: &DoctorReport, output: &mut Output) -> Result<(), Failure> {
    let config = &workspace.store().config;
    let mut table =
        Table::new(&[("contextPruning", Align::Left), ("value", Align::Right), ("from", Align::Flexible)]);
    for row in &checkup.settings {
        let over = overridden_origins(config, PRUNING_PATH, row.key, &row.provenance);
        table.push(vec![
            row.key.into(),
            format_value(None, &row.value).into(),
            Cell::new(&describe_origins(&row.provenance, &over), Tone::Dim),
        ]);
    }
    for row in &checkup.compaction_rows {
        let over = overridden_origins(config, COMPACTION_PATH, row.name(), &row.provenance);
        table.push(vec![
            row.key().into(),
            format_value(None, &row.value).into(),
            Cell::new(&describe_origins(&row.provenance, &over), Tone::Dim),
        ]);
    }
    table.print(output, "")?;
    let compaction = &checkup.compaction;
    let line = format!(
        "compaction: {} · mode {} · reserve {} tokens · keeps the last {}",
        if compaction.enabled { "on" } else { "off" },
        checkup.mode.as_str(),
        format_number(compaction.reserve_tokens.max(0.0) as u64),
        format_number(compaction.keep_recent_tokens.max(0.0) as u64),
    );
    output.line(Tone::Plain, &line)?;
    if let Some(words) = describe_raised_reserve(checkup) {
        output.line(Tone::Dim, &words)?;
    }
    writeln!(output)?;
    let mut table =
        Table::new(&[("compaction", Align::Left), ("value", Align::Right), ("from", Align::Flexible)]);
    for (key, value, from) in flush_rows(checkup) {
        table.push(vec![key.into(), format_value(None, &value).into(), Cell::new(&from, Tone::Dim)]);
    }
    table.print(output, "")?;
    Ok(writeln!(output)?)
}

/// Explains a reserve above its setting: the reserve floor raises it (compaction 2.2).
fn describe_raised_reserve(checkup: &DoctorReport) -> Option<String> {
    let floor = checkup.flush.floor_tokens.value;
    let row = checkup.compaction_rows.iter().find(|row| row.id == SettingId::ReserveTokens)?;
    let set = row.config.as_ref().and_then(Value::as_f64).filter(|tokens| *tokens >= 0.0);
    let own = set.unwrap_or(CompactionSettings::default().reserve_tokens);
    (checkup.compaction.reserve_tokens == floor && own < floor).then(|| {
        let what = if set.is_some() { "The configured reserve" } else { "The runtime's own reserve" };
        let what = format!("{what} {}", format_number(own as u64));
        format!(
            "            {what} is raised to its floor: reserveTokensFloor {} ({})",
            format_number(floor as u64),
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
    table.print(output, "")?;
    let default = checkup.other_settings.iter().filter(|row| row.provenance == Provenance::Default).count();
    output.line(
        Tone::Dim,
        &format!("{} more at their default (--json lists them)", format_number(default as u64)),
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
        Table::new(&[("session", Align::Left), ("reset", Align::Left), ("begins anew", Align::Flexible)]);
    for (key, lifecycle) in &checkup.lifecycles {
        let policy = &lifecycle.policy;
        let idle = policy.idle_minutes.as_ref().map(|(minutes, _)| format!("idle {minutes}m"));
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
    output.line(Tone::Dim, &format!("it leaves {}; hours are those of this machine", first.reset_effect))?;
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
    let counts: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} {}", format_number(*count))).collect();
    output.line(Tone::Plain, &counts.join(" · "))?;
    if checkup.diagnostics.is_empty() {
        return match checkup.damage_counts() {
            (0, 0) => Ok(output.line(Tone::Good, "nothing is wrong")?),
            (sessions, lines) => {
                let sessions = format_count(sessions, "session is damaged", "sessions are damaged");
                let lines = format_count(lines, "line", "lines");
                let words = format!("nothing else is wrong, but {sessions}: {lines} could not be read");
                Ok(output.line(Tone::Warning, &words)?)
            }
        };
    }
    for finding in &checkup.diagnostics {
        let tone = match finding.severity {
            Severity::Note => Tone::Dim,
            Severity::Warning => Tone::Warning,
            Severity::Error => Tone::Bad,
        };
        output.line(tone, &finding.to_string())?;
    }
    Ok(())
}
