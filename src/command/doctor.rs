//! `clawscope doctor [PATH]`: prints the store's contents, its problems and the settings in force.

use std::io::Write as _;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::database::{DatabaseJson, describe_database};
use super::diagnostics::{AgentModel, DoctorReport, TranscriptLock};
use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::pi_settings::PiSettingsReport;
use super::preview::format_value;
use super::repair::{self, Repair, RepairJson, settle_unfinished};
use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{DiagnosticJson, LifecycleJson, WindowJson, finite, lifecycle_json, window_json};
use super::setting_value::SettingJson;
use super::table::{Align, Cell, Table};
use crate::cli::{DoctorArgs, StoreArgs};
use crate::diagnostic::Severity;
use crate::export::json::JsonOutput;
use crate::format::{format_count, format_number, format_size};
use crate::gateway::AppliedDefault;
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::config::GatewayConfig;
use crate::gateway::effective::ResolvedSetting;
use crate::gateway::effective::overridden_text;
use crate::gateway::provenance::Provenance;
use crate::gateway::reset::ResetMode;
use crate::js::{self, Members, Value};
use crate::policy::settings::{SettingId, find_setting};
use crate::session::Mark;
use crate::session::lifecycle::Lifecycle;

/// Parent keys of the rows in the settings tables.
const PRUNING_PATH: [&str; 3] = ["agents", "defaults", "contextPruning"];
const COMPACTION_PATH: [&str; 3] = ["agents", "defaults", "compaction"];

pub(super) fn run(
    args: &DoctorArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let DoctorArgs { list: args, repair: repairs, migration, about_self: _ } = args;
    if *migration {
        return super::migration::run(args, place, invocation, output);
    }
    let mut workspace = Workspace::from_path(args.path.as_deref(), place, invocation)?;
    let repairs = repairs.then(|| settle_unfinished(&workspace));
    if repairs.as_ref().is_some_and(|repairs| !repairs.is_empty()) {
        workspace = Workspace::from_path(args.path.as_deref(), place, invocation)?;
    }
    let read = |item| workspace.open_item(item).map(Into::into);
    let read = workspace.listed.items.par_iter().map(read).collect();
    let checkup = DoctorReport::new(&workspace, read);
    if args.json {
        output.json(&report_json(&workspace, &checkup, repairs.as_deref()))?;
    } else {
        print(&workspace, &checkup, repairs.as_deref(), output)?;
    }
    if repairs.iter().flatten().any(Repair::has_failed) {
        return Err(Failure::refused("cannot repair an interrupted commit; see the reason above"));
    }
    let errors = checkup.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count();
    if errors == 0 {
        return Ok(());
    }
    let errors = format_count(errors as u64, "finding is an error", "findings are errors");
    Err(Failure::unreadable(format!("{}: {errors}; each explains what to do", workspace.listed.name)))
}

/// The store, its problems and the settings in force.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DoctorJson {
    place: String,
    /// Whether this is the demo store.
    demo: bool,
    ruleset: RulesetJson,
    state_dir: StateDirJson,
    config: ConfigJson,
    databases: Vec<DatabaseJson>,
    /// Transcripts by ruleset.
    rulesets: Members<u64>,
    /// Sessions, transcripts, bytes, entries and bad lines, then sessions by mark.
    counts: Members<u64>,
    agents: Vec<AgentJson>,
    context_pruning: Vec<SettingJson>,
    compaction: CompactionJson,
    compaction_settings: Vec<SettingJson>,
    memory_flush: Vec<SettingJson>,
    /// Remaining settings that affect sessions, or pi's own.
    settings: Vec<SettingJson>,
    /// The resets of each session.
    lifecycle: Vec<SessionLifecycleJson>,
    locks: Vec<LockJson>,
    /// With `--repair`.
    repairs: Option<Vec<RepairJson>>,
    findings: Vec<DiagnosticJson>,
}

impl JsonOutput for DoctorJson {}

#[derive(Serialize, JsonSchema)]
struct StateDirJson {
    path: String,
    /// The setting or variable that named it.
    why: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ConfigJson {
    path: Option<String>,
    error: Option<ConfigErrorJson>,
    /// Defaults that the gateway fills in.
    filled_in: Vec<AppliedDefault>,
}

#[derive(Serialize, JsonSchema)]
struct ConfigErrorJson {
    path: String,
    /// From 1.
    line: Option<u32>,
    /// From 1, in characters.
    column: Option<u32>,
    what: String,
    /// The next step.
    next: String,
}

/// An agent and the model of its next call.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentJson {
    id: String,
    configured: bool,
    on_disk: bool,
    sessions: u64,
    provider: String,
    model: String,
    window: WindowJson,
    /// The origin of the window.
    window_from: String,
    /// Whether the pruner runs on this model.
    pruning_eligible: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompactionJson {
    enabled: bool,
    mode: &'static str,
    reserve_tokens: Option<f64>,
    keep_recent_tokens: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct SessionLifecycleJson {
    /// The session key.
    key: String,
    #[serde(flatten)]
    lifecycle: LifecycleJson,
}

/// A lock file beside a transcript.
#[derive(Serialize, JsonSchema)]
struct LockJson {
    path: String,
    /// `held` or `stale`.
    state: &'static str,
    pid: Option<u32>,
    why: String,
}

fn report_json(workspace: &Workspace, checkup: &DoctorReport, repairs: Option<&[Repair]>) -> DoctorJson {
    let store = workspace.store();
    let setting = |row: (&str, &Value, &Provenance), path| {
        let (key, value, from) = row;
        SettingJson::new(key, value, from, &overridden_origins(&store.config, path, key, from))
    };
    let pruning = checkup.settings.iter().map(|row| (row.key, &row.value, &row.provenance));
    let compaction = checkup.compaction_rows.iter().map(|row| (row.name(), &row.value, &row.provenance));
    let flush = flush_rows(checkup).map(|(key, value, from)| SettingJson::new(key, &value, from, &[]));
    let lifecycle = |(key, lifecycle): &(String, Lifecycle)| SessionLifecycleJson {
        key: key.clone(),
        lifecycle: lifecycle_json(lifecycle, workspace.now_ms),
    };
    DoctorJson {
        place: workspace.listed.name.clone(),
        demo: workspace.listed.is_demo,
        ruleset: ruleset_json(&store.ruleset),
        state_dir: StateDirJson {
            path: store.state_dir.to_string_lossy().into_owned(),
            why: checkup.state_dir_origin.clone(),
        },
        config: config_json(&store.config),
        databases: store.databases.iter().map(DatabaseJson::from).collect(),
        rulesets: checkup.ruleset_counts.iter().map(|(ruleset, count)| (ruleset.id(), *count)).collect(),
        counts: checkup.counts().into_iter().collect(),
        agents: checkup.agents.iter().map(agent_json).collect(),
        context_pruning: pruning.map(|row| setting(row, PRUNING_PATH)).collect(),
        compaction: CompactionJson {
            enabled: checkup.compaction.enabled,
            mode: checkup.mode.as_str(),
            reserve_tokens: finite(checkup.compaction.reserve_tokens),
            keep_recent_tokens: finite(checkup.compaction.keep_recent_tokens),
        },
        compaction_settings: compaction.map(|row| setting(row, COMPACTION_PATH)).collect(),
        memory_flush: if checkup.pi.is_some() { Vec::new() } else { flush.into() },
        settings: checkup.pi.as_ref().map_or_else(
            || checkup.other_settings.iter().map(SettingJson::from).collect(),
            PiSettingsReport::settings_json,
        ),
        lifecycle: checkup.lifecycles.iter().map(lifecycle).collect(),
        locks: checkup.locks.iter().map(lock_json).collect(),
        repairs: repairs.map(|repairs| repairs.iter().map(Repair::to_json).collect()),
        findings: checkup.diagnostics.iter().map(DiagnosticJson::from).collect(),
    }
}

fn config_json(config: &GatewayConfig) -> ConfigJson {
    ConfigJson {
        path: config.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
        error: config.error.as_ref().map(|error| ConfigErrorJson {
            path: error.path.to_string_lossy().into_owned(),
            line: error.line,
            column: error.column,
            what: error.message.clone(),
            next: error.advice.clone(),
        }),
        filled_in: config.applied_defaults().to_vec(),
    }
}

fn agent_json(agent: &super::diagnostics::AgentReport) -> AgentJson {
    let AgentModel { provider, id, window, window_provenance: window_from, is_prunable: eligible } =
        &agent.model;
    AgentJson {
        id: agent.id.clone(),
        configured: agent.is_configured,
        on_disk: agent.is_on_disk,
        sessions: agent.sessions,
        provider: provider.clone(),
        model: id.clone(),
        window: window_json(*window),
        window_from: window_from.to_string(),
        pruning_eligible: *eligible,
    }
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

fn flush_rows(checkup: &DoctorReport) -> [(&'static str, Value, &Provenance); 4] {
    let flush = &checkup.flush;
    let (soft, force, floor) = (&flush.soft_tokens, &flush.force_bytes, &flush.floor_tokens);
    [
        ("memoryFlush.enabled", Value::from(flush.enabled.value), &flush.enabled.provenance),
        ("memoryFlush.softThresholdTokens", Value::from(finite(soft.value)), &soft.provenance),
        ("memoryFlush.forceFlushTranscriptBytes", Value::from(finite(force.value)), &force.provenance),
        ("reserveTokensFloor", Value::from(finite(floor.value)), &floor.provenance),
    ]
}

fn lock_json(lock: &TranscriptLock) -> LockJson {
    LockJson {
        path: lock.path.to_string_lossy().into_owned(),
        state: lock.state,
        pid: lock.pid,
        why: lock.reason.clone(),
    }
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
        Table::new(&[("contextPruning", Align::Left), ("value", Align::Right), ("from", Align::Left)]);
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
        Table::new(&[("compaction", Align::Left), ("value", Align::Right), ("from", Align::Left)]);
    for (key, value, from) in flush_rows(checkup) {
        table.push(vec![
            key.into(),
            format_value(None, &value).into(),
            Cell::new(&from.to_string(), Tone::Dim),
        ]);
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
        let what = if set.is_some() { "the configured reserve" } else { "the runtime's reserve" };
        let what = format!("{what} {}", format_number(own as u64));
        format!(
            "            reserveTokensFloor {} ({}) overrides {what}",
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
    let mut table = Table::new(&[("session", Align::Left), ("reset", Align::Left), ("resets", Align::Left)]);
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
            "bytes" => format_size(*count),
            "badLines" => format!("unreadable lines {}", format_number(*count)),
            name => format!("{name} {}", format_number(*count)),
        })
        .collect();
    output.line(Tone::Plain, &counts.join(" · "))?;
    if checkup.diagnostics.is_empty() {
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
