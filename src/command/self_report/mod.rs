//! `clawscope doctor --self`: this program, its terminal, its files and the programs that it can use. Reads no session.

mod build;
mod components;
mod folders;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::screen::read_settings;
use super::table::{Align, Cell, Table};
use crate::config::Config;
use crate::export::json::JsonOutput;
use crate::gateway::env::Environment;
use crate::runtime::{Ability, Streams, TERMINAL_VARIABLES, is_remote, terminal_abilities, terminal_name};

use build::{BuildJson, FeatureJson};
use components::ComponentJson;
use folders::FolderJson;

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
    abilities: Vec<AbilityJson>,
}

#[derive(Serialize, JsonSchema)]
struct VariableJson {
    name: &'static str,
    value: String,
}

#[derive(Serialize, JsonSchema)]
struct AbilityJson {
    name: &'static str,
    /// A guess is `likely`, `unlikely` or `unknown`.
    value: String,
    reason: String,
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
        features: build::features(),
        terminal: terminal_json(env, &config, streams),
        paths: folders::list(env),
        settings_error,
        components: components::find(env, &config),
    }
}

fn terminal_json(env: &Environment, config: &Config, streams: Streams) -> TerminalJson {
    let (name, named_by) = terminal_name(env).unzip();
    let variable = |name: &&'static str| Some(VariableJson { name, value: env.raw(name)?.to_owned() });
    let ability = |Ability { name, value, reason }| AbilityJson { name, value, reason };
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
        abilities: terminal_abilities(env, config).into_iter().map(ability).collect(),
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
    for AbilityJson { name, value, reason } in &terminal.abilities {
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
            crate::files::replace::replace(&file, text.as_bytes()).unwrap();
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
