//! The store that a command reads, as its arguments name it.

use std::path::{MAIN_SEPARATOR, Path};

use super::{Command, SessionsArgs};
use crate::rulebook::begins_citation;

/// A place that a command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadPlace<'a> {
    /// No store, or none but the gateway's own: the command refuses the demo store.
    NoStore,
    /// This path, else the store of the options.
    Store(Option<&'a Path>),
    /// The transcript with this path, else a session in the store of the options.
    Session(&'a str),
}

/// Whether a word that may be a store or a session names a store: it has the form of a path, or one exists.
pub fn names_store(word: &str, cwd: &Path) -> bool {
    word.contains(['/', MAIN_SEPARATOR]) || matches!(word, "." | "..") || cwd.join(word).exists()
}

impl SessionsArgs {
    /// Returns the session to show; `None` where the arguments name a store to list, or nothing.
    pub fn session(&self, cwd: &Path) -> Option<&str> {
        self.target.as_deref().filter(|word| self.path.is_some() || !names_store(word, cwd))
    }
}

impl Command {
    /// Returns the place that the command reads. `cwd` is the folder that relative paths start from.
    pub fn read_place(&self, cwd: &Path) -> ReadPlace<'_> {
        let session = match self {
            Self::Sessions(args) => match args.session(cwd) {
                None => return ReadPlace::Store(args.target.as_deref().map(Path::new)),
                session => session,
            },
            Self::Search(args) => return ReadPlace::Store(args.list.path.as_deref()),
            Self::Doctor(args) if !args.about_self => return ReadPlace::Store(args.list.path.as_deref()),
            Self::Rules(args) if !args.releases && !args.sections => match args.targets.first() {
                Some(word) if begins_citation(word) || !names_store(word, cwd) => return ReadPlace::NoStore,
                word => return ReadPlace::Store(word.map(Path::new)),
            },
            Self::Explain(args) if args.all => {
                return ReadPlace::Store(args.target.as_deref().map(Path::new));
            }
            Self::Settings(args) if args.markdown || args.presets => return ReadPlace::NoStore,
            Self::Explain(args) => args.target.as_deref(),
            Self::Cost(args) => args.session.as_deref(),
            Self::Settings(args) => args.session.as_deref(),
            Self::Export(args) if args.is_dataset() => return ReadPlace::NoStore,
            Self::Export(args) => Some(args.session()),
            Self::Tree(args) => Some(args.target.session.as_str()),
            Self::Context(args) => Some(args.context.target.session.as_str()),
            Self::Simulate(args) => Some(args.context.target.session.as_str()),
            Self::Replay(args) => Some(args.target.session.as_str()),
            Self::Sweep(args) => Some(args.target.session.as_str()),
            Self::Check(args) => Some(args.target.session.as_str()),
            Self::Commit(args) => Some(args.target.session.as_str()),
            Self::Undo(args) => Some(args.target.session.as_str()),
            Self::Doctor(_)
            | Self::Rules(_)
            | Self::Watch(_)
            | Self::Guide { .. }
            | Self::Demo { .. }
            | Self::Schema { .. }
            | Self::Completions { .. }
            | Self::Man { .. } => return ReadPlace::NoStore,
        };
        session.map_or(ReadPlace::Store(None), ReadPlace::Session)
    }

    /// Returns the store that the arguments name after the session.
    pub fn store_of_session(&self) -> Option<&Path> {
        let path = match self {
            Self::Sessions(args) => &args.path,
            Self::Explain(args) => &args.path,
            Self::Cost(args) => &args.path,
            Self::Settings(args) => &args.path,
            Self::Tree(args) => &args.target.path,
            Self::Context(args) => &args.context.target.path,
            Self::Simulate(args) => &args.context.target.path,
            Self::Replay(args) => &args.target.path,
            Self::Sweep(args) => &args.target.path,
            Self::Check(args) => &args.target.path,
            Self::Commit(args) => &args.target.path,
            Self::Undo(args) => &args.target.path,
            Self::Export(args) if !args.is_dataset() => return args.targets.get(1).map(Path::new),
            _ => return None,
        };
        path.as_deref()
    }

    /// Returns the stores of a dataset.
    pub fn dataset_stores(&self) -> impl Iterator<Item = &Path> {
        let targets = match self {
            Self::Export(args) if args.is_dataset() => args.targets.as_slice(),
            _ => &[],
        };
        targets.iter().map(Path::new)
    }
}
