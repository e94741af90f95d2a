//! `clawscope [PATH]`: opens the screen.

use std::ffi::OsString;
use std::path::PathBuf;

use super::environment::{Invocation, profile_environment, resolve_place};
use super::failure::Failure;
use super::ruleset::requested_ruleset_from;
use super::usage_error::{is_mistyped_command, unknown_command};
use crate::app::custom_commands::bind_commands;
use crate::app::keymap::Keymap;
use crate::app::state::Options;
use crate::cli::{Cli, StoreArgs};
use crate::config::{self, Config, NamedChoice, is_first_run};
use crate::format::zone_name;
use crate::gateway::config::local_time_zone;
use crate::gateway::env::Environment;
use crate::runtime::{self, RunOptions};
use crate::session::fullness_alert::AlertLevels;
use crate::session::store_location::StoreRequest;
use crate::ui::session_columns::needs_ascii;
use crate::write::summary::job::SummaryWriter;

pub(super) fn run(cli: &Cli, words: &[OsString], invocation: &Invocation) -> Result<(), Failure> {
    if let Some(path) = cli.path.as_deref().filter(|path| is_mistyped_command(path, &invocation.env.cwd)) {
        return Err(unknown_command(&path.to_string_lossy(), words, invocation));
    }
    let (place, options) = prepare(cli, invocation)?;
    runtime::run(place, options).map_err(|error| Failure::unreadable(format!("{error:#}")))
}

/// Checks the arguments and the settings of the screen.
pub fn prepare(cli: &Cli, invocation: &Invocation) -> Result<(StoreRequest, RunOptions), Failure> {
    let place = match resolve_place(cli.path.as_deref(), &cli.store)? {
        StoreRequest::Default => {
            session_from_env(&cli.store, &invocation.env).map_or(StoreRequest::Default, StoreRequest::Path)
        }
        place => place,
    };
    let mut environment = profile_environment(&cli.store, invocation)?;
    if let Some(file) = &cli.store.config {
        if place != StoreRequest::Default {
            return Err(Failure::usage(
                "--config: the screen accepts it only with the gateway's own store. Leave out PATH, --store and --demo, \
                 or use a command.",
            ));
        }
        let file = environment.resolve(&file.to_string_lossy());
        environment.set("OPENCLAW_CONFIG_PATH", &file.to_string_lossy());
    }
    let config = load_config(cli, invocation)?;
    let zone_name = zone_name(&local_time_zone(&environment), invocation.now_ms);
    let options = RunOptions {
        app: Options { zone_name, introduces: is_first_run(&environment), ..screen_options(&config)? },
        auto_theme: config.theme.is_none(),
        ascii: uses_ascii(&config, &environment),
        agent: cli.store.agent.clone(),
        ruleset: requested_ruleset_from(&cli.store, &config)?,
        alerts: config.alerts,
        summarizer: config.summarizer,
        environment,
        read_only: None,
    };
    Ok((place, options))
}

/// Returns the session of the surrounding pi, if its shell tool started this program and no option or variable selects
/// a gateway (store-pi-1.5 A9).
fn session_from_env(args: &StoreArgs, env: &Environment) -> Option<PathBuf> {
    let named = args.profile.is_some() || args.agent.is_some() || args.config.is_some();
    let gateway = named || env.first(&["OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"]).is_some();
    let file = env.verbatim("PI_SESSION_FILE").map(PathBuf::from).filter(|_| !gateway)?;
    file.is_file().then_some(file)
}

/// Merges the configuration files, the variables and the flags; later ones take precedence.
fn load_config(cli: &Cli, invocation: &Invocation) -> Result<Config, Failure> {
    let mut config = config::load(&invocation.env).map_err(|error| Failure::usage(error.to_string()))?;
    if let Some(name) = &cli.theme {
        config.theme = Some(NamedChoice { name: name.clone(), origin: "--theme".to_owned() });
    }
    config.mouse &= !cli.no_mouse;
    if cli.ascii {
        config.ascii = Some(true);
    }
    config.utc |= cli.utc;
    Ok(config)
}

/// Whether to draw ASCII only: as configured, otherwise if terminal or locale require it.
fn uses_ascii(config: &Config, env: &Environment) -> bool {
    let needed = || needs_ascii(env.first(&["LC_ALL", "LC_CTYPE", "LANG"]), env.get("TERM"));
    config.ascii.unwrap_or_else(needed)
}

/// Reads clawscope's own settings as the screen does, without flags; the error names the file, the key or the variable.
pub(super) fn read_settings(env: &Environment) -> Result<Config, Failure> {
    let config = config::load(env).map_err(|error| Failure::usage(error.to_string()))?;
    screen_options(&config)?;
    Ok(config)
}

/// Converts the configuration to screen options; an unknown theme, key or action is an error that names its origin.
fn screen_options(config: &Config) -> Result<Options, Failure> {
    let mut options = Options {
        mouse: config.mouse,
        motion: config.motion,
        summarizer: SummaryWriter::from_config(config.summarizer.kind, &config.summarizer),
        alerts: AlertLevels::new(&config.alerts.at),
        utc: config.utc,
        ..Options::default()
    };
    if let Some(NamedChoice { name, origin }) = &config.theme {
        let known = options.themes.iter().position(|theme| theme == name);
        options.theme = known.ok_or_else(|| {
            Failure::usage(format!(
                "{origin}: unknown theme {name:?}; the themes are {}",
                options.themes.join(", ")
            ))
        })?;
    }
    if let Some(file) = &config.keymap {
        options.keymap = Keymap::with_overrides(&file.text)
            .map_err(|error| Failure::usage(format!("{}: {error}", file.path.display())))?;
    }
    options.warnings = bind_commands(&mut options.keymap, &config.commands)
        .map_err(|error| Failure::usage(error.to_string()))?;
    options.commands.clone_from(&config.commands);
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KeymapFile;
    use crate::units::Moment;
    use clap::Parser as _;

    fn reported<T>(result: Result<T, Failure>) -> (u8, String) {
        match result {
            Err(Failure::Reported { exit, message, .. }) => (exit.code(), message),
            _ => panic!("expected a failure"),
        }
    }

    #[test]
    fn a_flag_overrides_a_variable() {
        let env = Environment::new([("CLAWSCOPE_THEME", "mono"), ("CLAWSCOPE_MOUSE", "1")], None, "/".into());
        let invocation = Invocation { env, now_ms: Moment::ZERO };
        let options = |words: &[&str]| {
            let cli = Cli::try_parse_from([&["clawscope"], words].concat()).unwrap();
            screen_options(&load_config(&cli, &invocation).unwrap()).unwrap()
        };
        let without = options(&[]);
        assert_eq!((without.theme, without.mouse), (2, true));
        let with = options(&["--theme", "light", "--no-mouse"]);
        assert_eq!((with.theme, with.mouse), (1, false));
    }

    #[test]
    fn a_shell_of_pi_opens_the_session_it_belongs_to_unless_a_gateway_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let own = file.path().to_string_lossy().into_owned();
        let invocation = |vars: &[(&str, &str)], words: &[&str]| {
            let all = [&[("PI_SESSION_FILE", own.as_str())][..], vars].concat();
            let cli = Cli::try_parse_from([&["clawscope"], words].concat()).unwrap();
            session_from_env(&cli.store, &Environment::new(all, None, "/".into()))
        };
        assert_eq!(invocation(&[], &[]), Some(file.path().to_path_buf()));
        assert_eq!(invocation(&[("OPENCLAW_STATE_DIR", "/s")], &[]), None);
        assert_eq!(invocation(&[], &["--profile", "work"]), None);
        let gone = Environment::new([("PI_SESSION_FILE", "/nonexistent/x.jsonl")], None, "/".into());
        assert_eq!(session_from_env(&StoreArgs::default(), &gone), None);
    }

    #[test]
    fn a_terminal_that_has_no_other_signs_gets_ascii_unless_a_person_says_otherwise() {
        let env = |vars: &[(&str, &str)]| Environment::new(vars.iter().copied(), None, "/".into());
        let own = |ascii| Config { ascii, ..Config::default() };
        for (vars, message, expected) in [
            (&[("LANG", "C.UTF-8"), ("TERM", "xterm")][..], None, false),
            (&[("TERM", "linux")], None, true),
            (&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], None, true),
            (&[("TERM", "linux")], Some(false), false),
            (&[("LANG", "C.UTF-8")], Some(true), true),
        ] {
            assert_eq!(uses_ascii(&own(message), &env(vars)), expected, "{vars:?} {message:?}");
        }
    }

    #[test]
    fn an_unknown_theme_is_a_usage_error_that_names_its_origin() {
        let theme = NamedChoice { name: "solar".into(), origin: "/h/config.toml: theme".into() };
        let (code, message) = reported(screen_options(&Config { theme: Some(theme), ..Config::default() }));
        assert_eq!(code, 2);
        assert_eq!(
            message,
            "/h/config.toml: theme: unknown theme \"solar\"; the themes are dark, light, mono"
        );
    }

    #[test]
    fn a_mistake_in_the_keymap_names_file_and_key() {
        let keymap =
            KeymapFile { path: "/h/keymap.toml".into(), text: "[global]\n\"x\" = \"qiut\"\n".into() };
        let (code, message) = reported(screen_options(&Config { keymap: Some(keymap), ..Config::default() }));
        assert_eq!(code, 2);
        assert!(message.starts_with("/h/keymap.toml: [global] \"x\" = \"qiut\":"), "{message}");
    }
}
