//! `clawscope doctor --self`: this program, its terminal, its files and the programs that it can use. Reads no session.

use std::env::consts::{ARCH, OS};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::screen::read_settings;
use crate::command::dataset::QUERY_PROGRAM;
use crate::command::explain_json;
use crate::config::presets::presets_dir;
use crate::config::{Config, SummarizerKind, config_dir, log_dir};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::{JsonOutput, SCHEMA_VERSION};
use crate::format::format_number;
use crate::gateway::env::Environment;
use crate::gateway::programs::find_program;
use crate::gateway::ruleset::Ruleset;
use crate::gateway::state_dir::{config_path, state_dir};
use crate::runtime::{
    Ability, Streams, TERMINAL_VARIABLES, clipboard_programs, is_remote, pager_line, terminal_abilities,
    terminal_name,
};
use crate::store::path_kind::pi_agent_dir;

/// The program and its surroundings.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SelfReportJson {
    version: &'static str,
    #[serde(flatten)]
    build: BuildJson,
    features: Vec<FeatureJson>,
    terminal: TerminalJson,
    paths: Vec<FolderJson>,
    /// The reason that clawscope's own settings are invalid; null if they are valid.
    settings_error: Option<String>,
    components: Vec<ComponentJson>,
}

impl JsonOutput for SelfReportJson {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TerminalJson {
    /// The terminal or multiplexer that the variables name.
    name: Option<&'static str>,
    /// The variable that names it.
    named_by: Option<String>,
    /// Whether the terminal is on another machine.
    over_ssh: bool,
    /// Whether each standard stream is a terminal.
    stdin: bool,
    stdout: bool,
    stderr: bool,
    columns: Option<u16>,
    rows: Option<u16>,
    /// Variables about the terminal that are set.
    variables: Vec<VariableJson>,
    abilities: Vec<Ability>,
}

#[derive(Serialize, JsonSchema)]
struct VariableJson {
    name: &'static str,
    value: String,
}

pub(super) fn run(json: bool, invocation: &Invocation, output: &mut Output) -> Result<(), Failure> {
    let report = report(&invocation.env, Streams::of_process());
    if json {
        output.json(&report)?;
    } else {
        print(&report, output)?;
    }
    match report.settings_error {
        Some(_) => Err(Failure::unreadable("clawscope's own settings are invalid; see the reason above")),
        None => Ok(()),
    }
}

fn report(env: &Environment, streams: Streams) -> SelfReportJson {
    let (config, settings_error) = match read_settings(env) {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(error.message().to_owned())),
    };
    SelfReportJson {
        version: env!("CARGO_PKG_VERSION"),
        build: BuildJson::of_this_program(),
        features: features(),
        terminal: terminal_json(env, &config, streams),
        paths: list(env),
        settings_error,
        components: find(env, &config),
    }
}

fn terminal_json(env: &Environment, config: &Config, streams: Streams) -> TerminalJson {
    let (name, named_by) = terminal_name(env).unzip();
    let variable = |name: &&'static str| Some(VariableJson { name, value: env.raw(name)?.to_owned() });
    TerminalJson {
        name,
        named_by,
        over_ssh: is_remote(env),
        stdin: streams.stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        columns: streams.size.map(|(columns, _)| columns),
        rows: streams.size.map(|(_, rows)| rows),
        variables: TERMINAL_VARIABLES.iter().filter_map(variable).collect(),
        abilities: terminal_abilities(env, config),
    }
}

fn print(report: &SelfReportJson, output: &mut Output) -> Result<(), Failure> {
    let BuildJson { target, profile, commit, program } = &report.build;
    let commit = commit.map(|commit| format!(" · {commit}")).unwrap_or_default();
    output.line(Tone::Strong, &format!("clawscope {} · {target} · {profile}{commit}", report.version))?;
    if let Some(program) = program {
        output.line(Tone::Plain, program)?;
    }
    output.line(Tone::Plain, "")?;
    print_terminal(&report.terminal, output)?;
    let mut table = heading(&["path", "", "location"]);
    for folder in &report.paths {
        let tone = if folder.exists { Tone::Plain } else { Tone::Dim };
        table.push(vec![folder.name.into(), Cell::new(folder.state(), tone), folder.path.as_str().into()]);
    }
    print_table(&table, output)?;
    if let Some(error) = &report.settings_error {
        output.line(Tone::Bad, error)?;
        output.line(Tone::Plain, "")?;
    }
    let mut table = heading(&["program", "", "for"]);
    for component in &report.components {
        let (state, tone) = component.state();
        table.push(vec![
            component.name.as_str().into(),
            Cell::new(state, tone),
            component.purpose.as_str().into(),
        ]);
    }
    print_table(&table, output)?;
    let mut table = heading(&["feature", ""]);
    for feature in &report.features {
        table.push(vec![feature.name.into(), feature.detail.as_str().into()]);
    }
    Ok(table.print(output, "")?)
}

fn print_terminal(terminal: &TerminalJson, output: &mut Output) -> Result<(), Failure> {
    let mut table = heading(&["terminal", "", "why"]);
    let size = match (terminal.columns, terminal.rows) {
        (Some(columns), Some(rows)) => format!("{columns}×{rows}"),
        _ => "unknown".to_owned(),
    };
    table.push(vec!["size".into(), size.into(), streams_text(terminal).into()]);
    for Ability { name, value, reason } in &terminal.abilities {
        let tone = if value == "unlikely" { Tone::Dim } else { Tone::Plain };
        table.push(vec![(*name).into(), Cell::new(value, tone), reason.as_str().into()]);
    }
    if terminal.over_ssh {
        let words = "ssh passes TERM on, and few other variables";
        table.push(vec!["connection".into(), "ssh".into(), words.into()]);
    }
    print_table(&table, output)?;
    let set: Vec<String> =
        terminal.variables.iter().map(|set| format!("{}={}", set.name, set.value)).collect();
    let set =
        if set.is_empty() { "no variable about the terminal is set".to_owned() } else { set.join("  ") };
    output.line(Tone::Dim, &set)?;
    Ok(output.line(Tone::Plain, "")?)
}

fn streams_text(terminal: &TerminalJson) -> String {
    let streams = [("input", terminal.stdin), ("output", terminal.stdout), ("errors", terminal.stderr)];
    let names = |wanted: bool| -> Vec<&str> {
        streams.iter().filter(|(_, is_terminal)| *is_terminal == wanted).map(|(name, _)| *name).collect()
    };
    match (names(true).as_slice(), names(false).as_slice()) {
        (_, []) => "standard input, output and errors are a terminal".to_owned(),
        ([], _) => "no standard stream is a terminal".to_owned(),
        (_, others) => format!("no terminal: standard {}", others.join(" and ")),
    }
}

fn heading(names: &[&str]) -> Table {
    Table::new(&names.iter().map(|name| (name, Align::Left)).collect::<Vec<_>>())
}

fn print_table(table: &Table, output: &mut Output) -> Result<(), Failure> {
    table.print(output, "")?;
    Ok(output.line(Tone::Plain, "")?)
}

// Facts about the running program that were fixed when it was built.

/// The build of the program, and its file.
#[derive(Serialize, JsonSchema)]
struct BuildJson {
    /// The target triple.
    target: String,
    /// `release` or `debug`.
    profile: &'static str,
    /// The commit that a release was built from; null for other builds.
    commit: Option<&'static str>,
    /// The path of the running program.
    program: Option<String>,
}

impl BuildJson {
    fn of_this_program() -> Self {
        Self {
            target: target(),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
            commit: option_env!("CLAWSCOPE_COMMIT").filter(|commit| !commit.is_empty()),
            program: std::env::current_exe().ok().map(|path| path.display().to_string()),
        }
    }
}

/// Returns the target triple; only build scripts get it from cargo.
fn target() -> String {
    let architecture = if ARCH == "x86" { "i686" } else { ARCH };
    let abi = if cfg!(target_env = "musl") {
        "-musl"
    } else if cfg!(target_env = "gnu") {
        "-gnu"
    } else if cfg!(target_env = "msvc") {
        "-msvc"
    } else {
        ""
    };
    match OS {
        "macos" => format!("{architecture}-apple-darwin"),
        "windows" => format!("{architecture}-pc-windows{abi}"),
        system => format!("{architecture}-unknown-{system}{abi}"),
    }
}

/// A part that is built in.
#[derive(Serialize, JsonSchema)]
struct FeatureJson {
    name: &'static str,
    detail: String,
}

/// Returns the parts whose version or presence matters in a report.
fn features() -> Vec<FeatureJson> {
    [
        ("rules", Ruleset::known_releases()),
        ("databases", format!("SQLite {}", rusqlite::version())),
        ("datasets", "Parquet with gzip".to_owned()),
        ("json", format!("schemaVersion {SCHEMA_VERSION}; explain {}", explain_json::SCHEMA_VERSION)),
        ("threads", format_number(rayon::current_num_threads() as u64)),
    ]
    .into_iter()
    .map(|(name, detail)| FeatureJson { name, detail })
    .collect()
}

// Programs that clawscope can use, if they are there.

/// A program and its use.
#[derive(Serialize, JsonSchema)]
struct ComponentJson {
    /// The name of the program.
    name: String,
    purpose: String,
    /// The file that runs; null if it is not found.
    path: Option<String>,
}

impl ComponentJson {
    fn new(env: &Environment, name: &str, purpose: impl Into<String>) -> Self {
        let path = find_program(env, name).map(|path| path.display().to_string());
        Self { name: name.to_owned(), purpose: purpose.into(), path }
    }

    fn state(&self) -> (&str, Tone) {
        self.path.as_deref().map_or(("not found", Tone::Dim), |path| (path, Tone::Plain))
    }
}

/// Finds the programs; none of them is run.
fn find(env: &Environment, config: &Config) -> Vec<ComponentJson> {
    let component = |name: &str, purpose: &str| ComponentJson::new(env, name, purpose);
    let mut found = vec![component(QUERY_PROGRAM, "`export --query`")];
    match pager_line(env) {
        Some(line) => found.push(component(program_of(&line), "long output of commands")),
        None => found.push(component("less", "long output of commands, unless a variable turns it off")),
    }
    found.push(component(program_of(env.get("PAGER").unwrap_or("less")), "long texts on the screen"));
    let clipboard = clipboard_programs(env);
    found.extend(clipboard.iter().map(|name| component(name, "the clipboard, besides OSC 52")));
    if clipboard.is_empty() {
        let purpose = "the clipboard: without DISPLAY and WAYLAND_DISPLAY only OSC 52 copies";
        found.push(ComponentJson { name: "clipboard".to_owned(), purpose: purpose.to_owned(), path: None });
    }
    if config.summarizer.kind == SummarizerKind::Command
        && let Some(program) = config.summarizer.command.first()
    {
        found.push(component(program, "summaries, by your settings"));
    }
    if let Some(program) = config.alerts.command.first() {
        found.push(component(program, "alerts, by your settings"));
    }
    for command in &config.commands {
        if let Some(program) = command.program() {
            found.push(component(program, &format!("your command {:?}, key {}", command.name, command.key)));
        }
    }
    found
}

/// Returns the program of a shell command line, after variables that it sets.
fn program_of(line: &str) -> &str {
    line.split_whitespace().find(|word| !word.contains('=')).unwrap_or(line)
}

// The files and folders that clawscope reads and writes, apart from sessions.

/// A file or a folder.
#[derive(Serialize, JsonSchema)]
struct FolderJson {
    name: &'static str,
    path: String,
    exists: bool,
}

impl FolderJson {
    fn new(name: &'static str, path: &std::path::Path) -> Self {
        Self { name, path: path.display().to_string(), exists: path.exists() }
    }

    fn state(&self) -> &'static str {
        if self.exists { "found" } else { "missing" }
    }
}

/// Lists clawscope's own places, then those of the gateway and of pi. Without a home there are fewer.
fn list(env: &Environment) -> Vec<FolderJson> {
    let state = state_dir(env).path;
    let settings = config_dir(env);
    let own = |name: &str| settings.as_ref().map(|folder| folder.join(name));
    let places: [(&'static str, Option<PathBuf>); 8] = [
        ("settings", own("config.toml")),
        ("keys", own("keymap.toml")),
        ("presets", presets_dir(env)),
        ("log, crash reports", Some(log_dir(env))),
        ("temporary files", Some(std::env::temp_dir())),
        ("gateway state", Some(state.clone())),
        ("gateway settings", config_path(env, &state)),
        ("pi", Some(pi_agent_dir(env))),
    ];
    places.into_iter().filter_map(|(name, path)| Some(FolderJson::new(name, &path?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Moment;

    const NO_TERMINAL: Streams = Streams { stdin: false, stdout: false, stderr: false, size: None };

    fn printed(env: &Environment, streams: Streams) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        print(&report(env, streams), &mut Output::new(&mut out, &mut err)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_report_names_build_terminal_paths_and_programs() {
        let vars =
            [("TERM", "xterm-kitty"), ("HOME", "/home/u"), ("PATH", "/nowhere"), ("SSH_TTY", "/dev/pts/7")];
        let env = Environment::new(vars, None, "/".into());
        let streams = Streams { stdin: true, stdout: true, stderr: false, size: Some((120, 40)) };
        let text = printed(&env, streams);
        for words in [
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH,
            "120×40",
            "no terminal: standard errors",
            "24-bit",
            "kitty (TERM=xterm-kitty)",
            "/home/u/.config/clawscope/config.toml",
            "/home/u/.local/state/clawscope",
            "/home/u/.openclaw",
            "duckdb",
            "ssh",
            "SQLite 3.",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(!text.contains("/dev/pts/7"), "{text}");
    }

    #[test]
    fn invalid_settings_are_shown_and_fail_while_the_rest_is_still_reported() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".config/clawscope");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("config.toml");
        for (text, words) in [("mice = 1\n", "mice"), ("theme = \"nope\"\n", "nope")] {
            crate::files::replace(&file, text.as_bytes()).unwrap();
            let env = Environment::new([("HOME", home.path().to_str().unwrap())], None, "/".into());
            let report = report(&env, NO_TERMINAL);
            assert!(report.settings_error.as_ref().unwrap().contains(words));
            assert!(printed(&env, NO_TERMINAL).contains("no standard stream is a terminal"));
            let invocation = Invocation { env, now_ms: Moment::ZERO };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let failure = run(true, &invocation, &mut Output::new(&mut out, &mut err)).unwrap_err();
            assert_eq!(failure.exit().code(), 3);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod components_tests {
    use super::*;

    #[test]
    fn programs_are_found_by_their_first_word_and_listed_by_use() {
        let vars = [("PATH", "/bin:/usr/bin"), ("PAGER", "LESS=S sh -c more"), ("DISPLAY", ":0")];
        let env = Environment::new(vars, None, "/".into());
        let mut config = Config::default();
        config.alerts.command = vec!["/nonexistent/bell".to_owned()];
        let found = find(&env, &config);
        let of = |purpose: &str| {
            let found = found.iter().find(|component| component.purpose.contains(purpose)).unwrap();
            (found.name.as_str(), found.path.is_some())
        };
        assert_eq!(of("long output"), ("sh", true));
        assert_eq!(of("on the screen"), ("sh", true));
        assert_eq!(of("alerts"), ("/nonexistent/bell", false));
        assert_eq!(of("clipboard").0, if cfg!(target_os = "macos") { "pbcopy" } else { "xclip" });
        let bare = find(&Environment::new([("PATH", "/bin")], None, "/".into()), &Config::default());
        let clipboard = bare.iter().find(|component| component.purpose.contains("clipboard")).unwrap();
        assert!(clipboard.path.is_none());
    }
}
