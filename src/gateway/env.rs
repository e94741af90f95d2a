//! The environment as a value: variables, home and working directory, read once (store A1, A2). Tests can then build
//! one without changing the process.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The parts of the process that the gateway's settings depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    vars: BTreeMap<String, String>,
    /// The home directory according to the operating system.
    pub os_home: Option<PathBuf>,
    /// The working directory, the base of relative paths.
    pub cwd: PathBuf,
}

impl Environment {
    pub fn new<K, V>(vars: impl IntoIterator<Item = (K, V)>, os_home: Option<PathBuf>, cwd: PathBuf) -> Self
    where
        K: Into<String>,
        V: Into<String>,
    {
        Self {
            vars: vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            os_home,
            cwd,
        }
    }

    /// Reads the environment of this process; skips variables that are not Unicode.
    pub fn from_process() -> Self {
        let vars = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Self::new(vars, std::env::home_dir(), cwd)
    }

    /// Returns the trimmed value; a blank one counts as unset (store A1).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns the value of a variable, which may be empty; `None` if it is unset.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// Returns the untrimmed value; an empty one counts as unset (store-pi-1.5 A1).
    pub fn verbatim(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the value of the first of these variables that is set.
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.vars.insert(name.to_owned(), value.to_owned());
    }

    /// Sets a variable that has no value; returns whether it did.
    pub fn set_if_unset(&mut self, name: &str, value: &str) -> bool {
        let unset = self.get(name).is_none();
        if unset {
            self.vars.insert(name.to_owned(), value.to_owned());
        }
        unset
    }

    /// Resolves a path from a setting: `~` is the effective home, the working directory is the base of relative
    /// paths.
    pub fn resolve(&self, text: &str) -> PathBuf {
        absolute(&self.cwd, &expand_tilde(text, || effective_home(self)))
    }
}

/// Returns the gateway's absolute home (store A2): `OPENCLAW_HOME` (whose own `~` is the user's home), `HOME`,
/// `USERPROFILE`, the system's home, else the working directory.
pub fn effective_home(env: &Environment) -> PathBuf {
    let user_home = || env.first(&["HOME", "USERPROFILE"]).map(PathBuf::from).or_else(|| env.os_home.clone());
    let home = match env.get("OPENCLAW_HOME") {
        Some(own) => Some(expand_tilde(own, || user_home().unwrap_or_else(|| env.cwd.clone()))),
        None => user_home(),
    };
    absolute(&env.cwd, &home.unwrap_or_else(|| env.cwd.clone()))
}

/// Replaces a leading `~` that is the whole text or precedes a separator.
fn expand_tilde(text: &str, home: impl FnOnce() -> PathBuf) -> PathBuf {
    match text.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with(['/', '\\']) => home().join(rest.trim_start_matches(['/', '\\'])),
        _ => PathBuf::from(text),
    }
}

/// Makes `path` absolute and resolves `.` and `..` textually, without the file system.
pub fn absolute(base: &Path, path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)], os_home: Option<&str>) -> Environment {
        Environment::new(vars.iter().copied(), os_home.map(PathBuf::from), PathBuf::from("/here"))
    }

    #[test]
    fn values_are_trimmed_and_blank_ones_are_unset() {
        let env = env(&[("A", "  x "), ("B", " \t")], None);
        assert_eq!(env.get("A"), Some("x"));
        assert_eq!(env.get("B"), None);
        assert_eq!(env.first(&["B", "C", "A"]), Some("x"));
    }

    #[test]
    fn the_first_home_that_is_set_wins() {
        let all = [("OPENCLAW_HOME", "/claw"), ("HOME", "/home/u"), ("USERPROFILE", "/profile")];
        for (vars, os, expected) in [
            (&all[..], Some("/os"), "/claw"),
            (&all[1..], Some("/os"), "/home/u"),
            (&all[2..], Some("/os"), "/profile"),
            (&[][..], Some("/os"), "/os"),
            (&[][..], None, "/here"),
            (&[("OPENCLAW_HOME", "  "), ("HOME", "/home/u")][..], None, "/home/u"),
            (&[("OPENCLAW_HOME", "~"), ("HOME", "/home/u")][..], None, "/home/u"),
            (&[("OPENCLAW_HOME", "~/claw"), ("HOME", "/home/u")][..], None, "/home/u/claw"),
            (&[("OPENCLAW_HOME", "~\\claw"), ("USERPROFILE", "/profile")][..], None, "/profile/claw"),
            (&[("OPENCLAW_HOME", "~/claw")][..], Some("/os"), "/os/claw"),
            (&[("OPENCLAW_HOME", "~other"), ("HOME", "/home/u")][..], None, "/here/~other"),
            (&[("OPENCLAW_HOME", "rel/../x")][..], None, "/here/x"),
        ] {
            assert_eq!(effective_home(&env(vars, os)), Path::new(expected), "{vars:?} {os:?}");
        }
    }

    #[test]
    fn a_variable_is_set_only_when_it_has_no_value() {
        let mut env = env(&[("A", "x"), ("B", " ")], None);
        assert!(!env.set_if_unset("A", "y"));
        assert!(env.set_if_unset("B", "y"));
        assert_eq!((env.get("A"), env.get("B")), (Some("x"), Some("y")));
    }
}
