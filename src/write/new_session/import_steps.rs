//! The commands that bring a staged session into its gateway.

use std::path::PathBuf;

use crate::gateway::env::Environment;
use crate::gateway::state_dir::state_dir;
use crate::text::shell;
use crate::write::new_session::gateway_place::GatewayPlace;

/// A step, in the order of [`ImportStep::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportStep {
    /// Stops the gateway, which holds the lock that the importer needs.
    Stop,
    /// Copies the staged files to where the importer reads.
    Install,
    Import,
    Validate,
    Start,
}

impl ImportStep {
    pub const ALL: [Self; 5] = [Self::Stop, Self::Install, Self::Import, Self::Validate, Self::Start];

    /// Returns the arguments of `openclaw`; `None` for the copy.
    pub(super) fn arguments(self, agent: &str) -> Option<Vec<String>> {
        let doctor = |mode| vec!["doctor", "--session-sqlite", mode, "--session-sqlite-agent", agent];
        let words = match self {
            Self::Stop => vec!["gateway", "stop"],
            Self::Install => return None,
            Self::Import => doctor("import"),
            Self::Validate => doctor("validate"),
            Self::Start => vec!["gateway", "start"],
        };
        Some(words.into_iter().map(str::to_owned).collect())
    }
}

/// The steps as command lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportLines {
    /// The state dir, unless `openclaw` uses it anyway in this environment.
    pub(super) named_state_dir: Option<PathBuf>,
    pub lines: Vec<String>,
}

impl ImportLines {
    /// `staged` is the folder with the two files.
    pub(super) fn new(place: &GatewayPlace, staged: PathBuf, env: &Environment) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let named = place.state_dir.clone();
        let named = (real(state_dir(env).path) != real(named.clone())).then_some(named);
        let word = |path: PathBuf| shell::word(&path.to_string_lossy());
        let prefix = named
            .as_ref()
            .map_or_else(String::new, |dir| format!("OPENCLAW_STATE_DIR={} ", word(dir.clone())));
        let target = word(place.sessions_dir());
        let files = word(staged);
        let line = |step: ImportStep| match step.arguments(&place.agent) {
            Some(words) => {
                let words: Vec<String> = words.iter().map(|text| shell::word(text)).collect();
                format!("{prefix}openclaw {}", words.join(" "))
            }
            None => format!("mkdir -p {target} && cp -n {files}/* {target}"),
        };
        let lines = ImportStep::ALL.into_iter().map(line).collect();
        Self { named_state_dir: named, lines }
    }
}
