//! Finds the gateway's state directory and its configuration file (store A3, A4, A5, A8, A9).

use std::path::{Path, PathBuf};

use super::env::{Environment, effective_home};

/// Names of the configuration file, newest first.
const CONFIG_NAMES: [&str; 4] = ["openclaw.json", "clawdbot.json", "moldbot.json", "moltbot.json"];
const STATE_DIR_VARS: [&str; 2] = ["OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR"];
const CONFIG_PATH_VARS: [&str; 2] = ["OPENCLAW_CONFIG_PATH", "CLAWDBOT_CONFIG_PATH"];
const STATE_DIR_NAMES: [&str; 4] = [".openclaw", ".clawdbot", ".moldbot", ".moltbot"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    /// Absolute.
    pub path: PathBuf,
    pub source: StateDirSource,
    pub exists: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateDirSource {
    Variable(&'static str),
    /// The standard place below the effective home, even if it does not exist yet.
    Home,
    /// The place of an older version, which exists while the standard one does not.
    Legacy,
}

/// Returns the state directory (store A3). Only its existence counts, not its contents.
pub fn state_dir(env: &Environment) -> StateDir {
    let found = |path: PathBuf, why| StateDir { exists: path.exists(), path, source: why };
    if let Some((name, value)) = STATE_DIR_VARS.iter().find_map(|name| Some((*name, env.get(name)?))) {
        return found(env.resolve(value), StateDirSource::Variable(name));
    }
    let home = effective_home(env);
    let mut candidates = STATE_DIR_NAMES.iter().map(|name| home.join(name)).filter(|path| path.exists());
    match candidates.next() {
        Some(path) if !path.ends_with(STATE_DIR_NAMES[0]) => found(path, StateDirSource::Legacy),
        _ => found(home.join(STATE_DIR_NAMES[0]), StateDirSource::Home),
    }
}

/// Returns the configuration file (store A5); `None` if there is none, and the gateway would create `openclaw.json`
/// in `state`. Returns a file that a variable names even if it is missing, so that a caller can report that.
pub fn config_path(env: &Environment, state: &Path) -> Option<PathBuf> {
    if let Some(value) = env.first(&CONFIG_PATH_VARS) {
        return Some(env.resolve(value));
    }
    let home = effective_home(env);
    let from_variable = env.first(&STATE_DIR_VARS).map(|value| env.resolve(value));
    let at_home = STATE_DIR_NAMES.iter().map(|name| home.join(name));
    from_variable.into_iter().chain(at_home).find_map(|dir| config_in(&dir)).or_else(|| config_in(state))
}

/// Returns the state directory that a home folder, or a copy of one, contains.
pub fn state_dir_in(home: &Path) -> Option<PathBuf> {
    STATE_DIR_NAMES.iter().map(|name| home.join(name)).find(|path| path.is_dir())
}

/// Returns the configuration file in a directory, under the name of any version.
pub fn config_in(dir: &Path) -> Option<PathBuf> {
    CONFIG_NAMES.iter().map(|name| dir.join(name)).find(|path| path.exists())
}

/// A profile name that the gateway would refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("profile {0:?}: expected a letter or digit, then up to 63 letters, digits, `_` or `-`")]
pub struct InvalidProfile(pub String);

/// Returns the environment under `--profile name` (store A4): the profile sets the state directory and the
/// configuration unless variables do.
pub fn with_profile(env: &Environment, name: &str) -> Result<Environment, InvalidProfile> {
    if !is_plain_name(name) {
        return Err(InvalidProfile(name.to_owned()));
    }
    let suffix = if name.eq_ignore_ascii_case("default") { String::new() } else { format!("-{name}") };
    let mut env = env.clone();
    let dir = match env.get(STATE_DIR_VARS[0]) {
        Some(own) => env.resolve(own),
        None => effective_home(&env).join(format!(".openclaw{suffix}")),
    };
    env.set_if_unset("OPENCLAW_PROFILE", name);
    env.set_if_unset(STATE_DIR_VARS[0], &dir.to_string_lossy());
    env.set_if_unset(CONFIG_PATH_VARS[0], &dir.join(CONFIG_NAMES[0]).to_string_lossy());
    Ok(env)
}

/// Returns the names of the profiles that have a state directory, sorted.
pub fn profiles(env: &Environment) -> Vec<String> {
    let entries = std::fs::read_dir(effective_home(env)).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let own = |name: String| name.strip_prefix(".openclaw-").map(str::to_owned);
    let mut profiles: Vec<String> = names.filter_map(own).filter(|name| is_plain_name(name)).collect();
    profiles.sort_unstable();
    profiles
}

/// Whether `name` matches `^[a-z0-9][a-z0-9_-]{0,63}$` in any case: profile names (store A4), agent ids (store D2).
pub fn is_plain_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=64).contains(&name.len()) && name.as_bytes()[0].is_ascii_alphanumeric() && name.bytes().all(allowed)
}

/// The transcripts of very old versions: `.openclaw/sessions` below the effective home (store A9).
pub fn legacy_sessions_dir(env: &Environment) -> PathBuf {
    effective_home(env).join(".openclaw").join("sessions")
}

/// Normalises an agent id as the gateway does (store D2): lower case, dashes for other characters, at most 64 of
/// them, `main` if nothing remains.
pub fn normalise_agent_id(id: &str) -> String {
    let id = id.trim();
    if is_plain_name(id) {
        return id.to_ascii_lowercase();
    }
    let mut out = String::new();
    for c in id.to_lowercase().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-' {
            out.push(c);
        } else if !out.ends_with('\u{0}') {
            out.push('\u{0}');
        }
    }
    let dashed = out.replace('\u{0}', "-");
    let cut: String = dashed.trim_matches('-').chars().take(64).collect();
    if cut.is_empty() { "main".to_owned() } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, create_dir_all};

    struct Home {
        dir: tempfile::TempDir,
    }

    impl Home {
        fn with(paths: &[&str]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for path in paths {
                let path = dir.path().join(path);
                create_dir_all(path.parent().unwrap()).unwrap();
                if path.extension().is_some_and(|e| e == "json") {
                    File::create(path).unwrap();
                } else {
                    create_dir_all(path).unwrap();
                }
            }
            Self { dir }
        }

        fn env(&self, vars: &[(&str, &str)]) -> Environment {
            let home = self.dir.path().to_string_lossy().into_owned();
            let vars = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            Environment::new(vars.chain([("HOME".to_owned(), home)]), None, self.dir.path().join("cwd"))
        }

        #[track_caller]
        fn state_is(&self, vars: &[(&str, &str)], expected: &str, why: &StateDirSource) {
            let state = state_dir(&self.env(vars));
            assert_eq!(state.path, self.dir.path().join(expected));
            assert_eq!(&state.source, why);
        }

        #[track_caller]
        fn config_is(&self, vars: &[(&str, &str)], expected: Option<&str>) {
            let env = self.env(vars);
            let found = config_path(&env, &state_dir(&env).path);
            assert_eq!(found, expected.map(|e| self.dir.path().join(e)));
        }
    }

    #[test]
    fn a_variable_names_the_state_dir_and_its_tilde_is_the_effective_home() {
        let home = Home::with(&[".openclaw/x"]);
        let by = StateDirSource::Variable;
        home.state_is(
            &[("OPENCLAW_STATE_DIR", "~/s"), ("CLAWDBOT_STATE_DIR", "/o")],
            "s",
            &by("OPENCLAW_STATE_DIR"),
        );
        home.state_is(
            &[("OPENCLAW_STATE_DIR", " "), ("CLAWDBOT_STATE_DIR", "~/o")],
            "o",
            &by("CLAWDBOT_STATE_DIR"),
        );
        home.state_is(&[("OPENCLAW_STATE_DIR", "rel")], "cwd/rel", &by("OPENCLAW_STATE_DIR"));
        home.state_is(
            &[("OPENCLAW_STATE_DIR", "~/s"), ("OPENCLAW_HOME", "~/claw")],
            "claw/s",
            &by("OPENCLAW_STATE_DIR"),
        );
    }

    #[test]
    fn the_current_state_dir_comes_before_legacy_ones_and_is_the_default() {
        Home::with(&[".openclaw/x", ".clawdbot/x"]).state_is(&[], ".openclaw", &StateDirSource::Home);
        Home::with(&[".moltbot/x", ".moldbot/x"]).state_is(&[], ".moldbot", &StateDirSource::Legacy);
        Home::with(&[".moltbot/x", ".clawdbot/x"]).state_is(&[], ".clawdbot", &StateDirSource::Legacy);
        let none = Home::with(&[]);
        none.state_is(&[], ".openclaw", &StateDirSource::Home);
        assert!(!state_dir(&none.env(&[])).exists);
    }

    #[test]
    fn a_profile_in_the_environment_does_not_move_the_state_dir() {
        Home::with(&[]).state_is(&[("OPENCLAW_PROFILE", "work")], ".openclaw", &StateDirSource::Home);
    }

    #[test]
    fn the_config_named_by_a_variable_is_the_only_candidate() {
        let home = Home::with(&[".openclaw/openclaw.json"]);
        home.config_is(&[("OPENCLAW_CONFIG_PATH", "~/missing.json")], Some("missing.json"));
        home.config_is(&[("CLAWDBOT_CONFIG_PATH", "~/c.json")], Some("c.json"));
    }

    #[test]
    fn the_first_existing_config_wins_and_may_be_an_older_one_elsewhere() {
        let old = Home::with(&["s/x", ".moltbot/moltbot.json"]);
        old.config_is(&[("OPENCLAW_STATE_DIR", "~/s")], Some(".moltbot/moltbot.json"));
        let beside = Home::with(&[".openclaw/x", ".clawdbot/clawdbot.json"]);
        beside.config_is(&[], Some(".clawdbot/clawdbot.json"));
        let own = Home::with(&["s/moldbot.json", "s/clawdbot.json", ".openclaw/openclaw.json"]);
        own.config_is(&[("OPENCLAW_STATE_DIR", "~/s")], Some("s/clawdbot.json"));
        Home::with(&[".openclaw/x"]).config_is(&[], None);
    }

    #[test]
    fn a_profile_moves_state_and_config_unless_variables_name_them() {
        let home = Home::with(&[]);
        let at = |name: &str, vars: &[(&str, &str)]| {
            let env = with_profile(&home.env(vars), name).unwrap();
            let state = state_dir(&env).path;
            let config = config_path(&env, &state).unwrap();
            let relative =
                |path: PathBuf| path.strip_prefix(home.dir.path()).unwrap().to_string_lossy().into_owned();
            (relative(state), relative(config))
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(at("work", &[]), pair(".openclaw-work", ".openclaw-work/openclaw.json"));
        assert_eq!(at("Default", &[]), pair(".openclaw", ".openclaw/openclaw.json"));
        assert_eq!(at("work", &[("OPENCLAW_STATE_DIR", "~/s")]), pair("s", "s/openclaw.json"));
        assert_eq!(at("work", &[("OPENCLAW_CONFIG_PATH", "~/c.json")]), pair(".openclaw-work", "c.json"));
    }

    #[test]
    fn profile_names_are_checked() {
        let env = Environment::default();
        for bad in ["", "-a", "_a", "a b", "a/b", "ä", &"a".repeat(65)] {
            assert_eq!(with_profile(&env, bad), Err(InvalidProfile(bad.to_owned())));
        }
        assert!(with_profile(&env, "Work-2_x").is_ok());
    }
}

#[cfg(test)]
mod agent_id_tests {
    use super::*;

    #[test]
    fn agent_ids_are_normalised_as_the_gateway_does() {
        for (id, expected) in [
            ("", "main"),
            ("  ", "main"),
            ("Main", "main"),
            ("A b", "a-b"),
            ("--x--", "x"),
            ("a--b", "a--b"),
            ("ä ö!", "main"),
            ("a/../b", "a-b"),
            ("_x", "_x"),
            ("x.y", "x-y"),
        ] {
            assert_eq!(normalise_agent_id(id), expected, "{id:?}");
        }
        assert_eq!(normalise_agent_id(&"x".repeat(100)).len(), 64);
    }
}
