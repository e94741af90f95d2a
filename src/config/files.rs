//! Finds the settings folder and reads the files in it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    AlertsConfig, Config, ConfigError, CustomCommand, FiringLimits, KeymapFile, NamedChoice, SummarizerConfig,
};
use crate::files;
use crate::gateway::env::Environment;

/// Maximum bytes of a settings file: a device or a log under its name must not fill the memory.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The zone of displayed times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TimeDisplay {
    Local,
    Utc,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    theme: Option<String>,
    ruleset: Option<String>,
    mouse: Option<bool>,
    motion: Option<bool>,
    ascii: Option<bool>,
    time: Option<TimeDisplay>,
    #[serde(default)]
    alerts: AlertsConfig,
    #[serde(default, rename = "too-often")]
    too_often: FiringLimits,
    #[serde(default)]
    command: Vec<CustomCommand>,
    #[serde(default)]
    summarizer: SummarizerConfig,
}

/// Returns the settings folder: `clawscope` in `XDG_CONFIG_HOME` if that is absolute, else in `~/.config`, on every
/// system; `None` without a home.
pub fn config_dir(env: &Environment) -> Option<PathBuf> {
    let xdg = env.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env.first(&["HOME", "USERPROFILE"]).map(PathBuf::from).or_else(|| env.os_home.clone());
    let base = xdg.or_else(|| Some(home()?.join(".config")))?;
    Some(base.join("clawscope"))
}

/// Returns the folder for logs, crash reports and staged sessions: `clawscope` in `XDG_STATE_HOME` if that is absolute,
/// else in `~/.local/state`.
pub fn log_dir(env: &Environment) -> PathBuf {
    let state = env.get("XDG_STATE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    state.unwrap_or_else(|| env.resolve("~/.local/state")).join("clawscope")
}

/// Loads the settings: the defaults, overridden by the files, overridden by the variables.
///
/// # Errors
/// Fails for a file that exists but cannot be read or parsed, and for a variable with an unknown value.
pub fn load(env: &Environment) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    if let Some(folder) = config_dir(env) {
        let path = folder.join("config.toml");
        if let Some(text) = read_text(&path)? {
            merge_file(&mut config, &path, &text)?;
        }
        let path = folder.join("keymap.toml");
        config.keymap = read_text(&path)?.map(|text| KeymapFile { path, text });
    }
    apply_variables(&mut config, env)?;
    Ok(config)
}

/// Returns the text of a file; `None` if there is no such file.
fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    match files::read_text(path, MAX_FILE_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

fn merge_file(config: &mut Config, path: &Path, text: &str) -> Result<(), ConfigError> {
    let file: ConfigFile = toml::from_str(text)
        .map_err(|error| ConfigError::Toml { path: path.to_owned(), fault: describe_fault(text, &error) })?;
    let named = |key: &str, name| NamedChoice { name, origin: format!("{}: {key}", path.display()) };
    config.theme = file.theme.map(|name| named("theme", name));
    config.ruleset = file.ruleset.map(|name| named("ruleset", name));
    config.mouse = file.mouse.unwrap_or(config.mouse);
    config.motion = file.motion.unwrap_or(config.motion);
    config.ascii = file.ascii;
    config.utc = file.time == Some(TimeDisplay::Utc);
    config.alerts = file.alerts;
    config.too_often = file.too_often;
    config.commands = file.command;
    for command in &mut config.commands {
        let line = text[..command.key_at].matches('\n').count() + 1;
        command.origin = format!("{}, line {line}", path.display());
    }
    config.summarizer = file.summarizer;
    Ok(())
}

// The settings in environment variables.

const THEME: &str = "CLAWSCOPE_THEME";

const RULESET: &str = "CLAWSCOPE_RULESET";

const MOUSE: &str = "CLAWSCOPE_MOUSE";

const MOTION: &str = "CLAWSCOPE_MOTION";

const ASCII: &str = "CLAWSCOPE_ASCII";

/// Overrides the settings with the variables that are set.
fn apply_variables(config: &mut Config, env: &Environment) -> Result<(), ConfigError> {
    if let Some(name) = env.get(THEME) {
        config.theme = Some(NamedChoice { name: name.to_owned(), origin: THEME.to_owned() });
    }
    if let Some(name) = env.get(RULESET) {
        config.ruleset = Some(NamedChoice { name: name.to_owned(), origin: RULESET.to_owned() });
    }
    config.mouse = read_bool(MOUSE, env)?.unwrap_or(config.mouse);
    config.motion = read_bool(MOTION, env)?.unwrap_or(config.motion);
    config.ascii = read_bool(ASCII, env)?.or(config.ascii);
    Ok(())
}

/// Parses yes or no; `None` if the variable is not set.
fn read_bool(name: &'static str, env: &Environment) -> Result<Option<bool>, ConfigError> {
    let Some(value) = env.get(name) else { return Ok(None) };
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(Some(true)),
        "0" | "false" | "no" | "off" => Ok(Some(false)),
        _ => Err(ConfigError::NotBoolean { name, value: value.to_owned() }),
    }
}

/// The file in the state folder that marks an introduced screen.
const MARKER: &str = "introduced";

/// Whether no screen was introduced yet. Without a home, which could remember it, none ever is.
pub fn is_first_run(env: &Environment) -> bool {
    let home = env.first(&["HOME", "USERPROFILE"]).map(PathBuf::from).or_else(|| env.os_home.clone());
    home.is_some_and(|home| home.is_dir()) && !log_dir(env).join(MARKER).exists()
}

/// Remembers that the screen was introduced.
///
/// # Errors
/// When the state folder cannot be written.
pub fn remember_first_run(env: &Environment) -> io::Result<()> {
    let marker: PathBuf = log_dir(env).join(MARKER);
    if let Some(folder) = marker.parent() {
        std::fs::create_dir_all(folder)?;
    }
    files::replace(&marker, b"")
}

/// Describes a fault with its line: `line 2, kind = "http": expected extractive or command`.
pub(super) fn describe_fault(text: &str, error: &toml::de::Error) -> String {
    let message = reword(error.message());
    let Some(span) = error.span() else { return message };
    let before = text.as_bytes().iter().take(span.start);
    let number = before.filter(|byte| **byte == b'\n').count() + 1;
    match text.lines().nth(number - 1).map(str::trim) {
        Some(line) if !line.is_empty() => format!("line {number}, {line}: {message}"),
        _ => format!("line {number}: {message}"),
    }
}

/// Rewords the parser's message for a person who knows the file and not TOML.
fn reword(message: &str) -> String {
    let Some((found, expected)) = message.split_once(", expected ") else { return message.to_owned() };
    if found.starts_with("string values must be quoted") {
        return "expected a text in quotes".to_owned();
    }
    let names = expected.strip_prefix("one of ").unwrap_or(expected).replace('`', "");
    let names = names.rsplit_once(", ").map_or(names.clone(), |(first, last)| format!("{first} or {last}"));
    if found.starts_with("unknown variant") {
        return format!("expected {names}");
    }
    match found.strip_prefix("unknown field `") {
        Some(field) => format!("unknown key {}; expected {names}", field.trim_end_matches('`')),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use std::io::Write as _;
    use tempfile::TempDir;

    /// Creates a home with these files in its settings folder.
    fn home(files: &[(&str, &str)]) -> TempDir {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".config/clawscope");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            fs::File::create(folder.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        }
        home
    }

    fn env(home: &TempDir, vars: &[(&str, &str)]) -> Environment {
        let mut env = Environment::new(vars.iter().copied(), None, "/".into());
        env.set("HOME", home.path().to_str().unwrap());
        env
    }

    #[test]
    fn defaults_apply_without_files() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(load(&env(&home, &[])).unwrap(), Config::default());
        assert_eq!(load(&Environment::new([("A", "b")], None, "/".into())).unwrap(), Config::default());
    }

    #[test]
    fn a_file_overrides_the_defaults_and_a_variable_overrides_the_file() {
        let home = home(&[(
            "config.toml",
            "theme = \"light\"\nruleset = \"2026.9\"\nmouse = false\nascii = true\n",
        )]);
        let config = load(&env(&home, &[])).unwrap();
        assert_eq!((config.mouse, config.motion, config.ascii), (false, true, Some(true)));
        let theme = config.theme.unwrap();
        assert_eq!(theme.name, "light");
        assert!(theme.origin.ends_with(".config/clawscope/config.toml: theme"), "{}", theme.origin);
        assert!(config.ruleset.unwrap().origin.ends_with("config.toml: ruleset"));

        let over = [
            ("CLAWSCOPE_THEME", "mono"),
            ("CLAWSCOPE_RULESET", "2026.2.19"),
            ("CLAWSCOPE_MOUSE", "on"),
            ("CLAWSCOPE_MOTION", "0"),
        ];
        let config = load(&env(&home, &over)).unwrap();
        assert_eq!((config.mouse, config.motion, config.ascii), (true, false, Some(true)));
        assert_eq!(config.ruleset.unwrap().name, "2026.2.19");
        assert_eq!(
            config.theme.unwrap(),
            NamedChoice { name: "mono".into(), origin: "CLAWSCOPE_THEME".into() }
        );
    }

    #[test]
    fn the_keymap_has_its_file_name() {
        let home = home(&[("keymap.toml", "[global]\n\"x\" = \"quit\"\n")]);
        let keymap = load(&env(&home, &[])).unwrap().keymap.unwrap();
        assert!(keymap.path.ends_with(".config/clawscope/keymap.toml"));
        assert_eq!(keymap.text, "[global]\n\"x\" = \"quit\"\n");
    }

    #[test]
    fn a_mistake_is_reported_with_its_file_line_and_key() {
        for (text, words) in [
            ("theme = \"dark\"\nmice = false\n", &["config.toml", "line 2", "mice", "mouse"][..]),
            ("mouse = \"no\"\n", &["config.toml", "line 1", "mouse", "boolean"]),
            ("theme = \n", &["config.toml", "line 1"]),
            (
                "[summarizer]\nkind = \"http\"\n",
                &["config.toml", "line 2", "extractive or command", "guide config"],
            ),
            ("[summarizer]\nurl = \"http://a\"\n", &["line 2", "unknown key url", "command"]),
        ] {
            let home = home(&[("config.toml", text)]);
            let error = load(&env(&home, &[])).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
        let home = home(&[]);
        let error = load(&env(&home, &[("CLAWSCOPE_MOUSE", "maybe")])).unwrap_err().to_string();
        assert!(error.contains("CLAWSCOPE_MOUSE=\"maybe\"") && error.contains("off"), "{error}");
    }

    #[test]
    fn a_command_has_the_line_of_its_key() {
        let text = "theme = \"dark\"\n\n[[command]]\nname = \"é\"\nkey = \"f5\"\ncommand = \"ls\"\n";
        let home = home(&[("config.toml", text)]);
        let commands = load(&env(&home, &[])).unwrap().commands;
        assert!(commands[0].origin.ends_with("config.toml, line 5"), "{}", commands[0].origin);
    }

    #[test]
    fn an_unreadable_file_is_reported_and_not_ignored() {
        let home = home(&[]);
        fs::create_dir(home.path().join(".config/clawscope/keymap.toml")).unwrap();
        let error = load(&env(&home, &[])).unwrap_err().to_string();
        assert!(error.contains("keymap.toml: cannot read the file"), "{error}");
    }

    #[test]
    fn the_folder_is_the_xdg_one_only_when_that_is_absolute() {
        let env = |vars: &[(&str, &str)]| {
            config_dir(&Environment::new(vars.iter().copied(), Some("/os".into()), "/".into()))
        };
        for (vars, expected) in [
            (&[("XDG_CONFIG_HOME", "/xdg"), ("HOME", "/home/u")][..], "/xdg/clawscope"),
            (&[("XDG_CONFIG_HOME", "xdg"), ("HOME", "/home/u")], "/home/u/.config/clawscope"),
            (&[("OPENCLAW_HOME", "/claw")], "/os/.config/clawscope"),
        ] {
            assert_eq!(env(vars).unwrap(), Path::new(expected), "{vars:?}");
        }
    }
}

#[cfg(test)]
mod first_run_tests {
    use super::*;

    #[test]
    fn a_screen_is_introduced_once_and_never_where_nothing_can_remember_it() {
        let home = tempfile::tempdir().unwrap();
        let env = Environment::new([("HOME", home.path().to_string_lossy())], None, "/".into());
        assert!(is_first_run(&env));
        remember_first_run(&env).unwrap();
        assert!(!is_first_run(&env));
        assert!(home.path().join(".local/state/clawscope").join(MARKER).is_file());
        let missing = home.path().join("missing");
        assert!(!is_first_run(&Environment::new([("HOME", missing.to_string_lossy())], None, "/".into())));
    }
}

#[cfg(test)]
mod toml_fault_tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        _kind: Option<Kind>,
        _mouse: Option<bool>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Extractive,
        Command,
    }

    #[test]
    fn a_fault_has_its_line_and_what_was_expected() {
        for (text, expected) in [
            ("_kind = \"http\"\n", "line 1, _kind = \"http\": expected extractive or command"),
            ("_mouse = true\n_kind = llm\n", "line 2, _kind = llm: expected a text in quotes"),
            ("\n_mice = 1\n", "line 2, _mice = 1: unknown key _mice; expected _kind or _mouse"),
            ("_mouse = 5\n", "line 1, _mouse = 5: invalid type: integer `5`, expected a boolean"),
        ] {
            let error = toml::from_str::<File>(text).unwrap_err();
            assert_eq!(describe_fault(text, &error), expected, "{}", error.message());
        }
    }
}
