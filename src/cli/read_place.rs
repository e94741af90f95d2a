//! The store that a command reads, as its arguments name it.

use std::path::Path;

use super::Command;

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

impl Command {
    /// Returns the place that the command reads.
    pub fn read_place(&self) -> ReadPlace<'_> {
        let session = match self {
            Self::Sessions(args) => return ReadPlace::Store(args.list.path.as_deref()),
            Self::Search(args) => return ReadPlace::Store(args.list.path.as_deref()),
            Self::Doctor(args) if !args.about_self => return ReadPlace::Store(args.list.path.as_deref()),
            Self::Rules(args) if !args.releases => return ReadPlace::Store(args.path.as_deref()),
            Self::Explain(args) if args.all => {
                return ReadPlace::Store(args.target.as_deref().map(Path::new));
            }
            Self::Settings(args) if args.markdown => return ReadPlace::NoStore,
            Self::Explain(args) => args.target.as_deref(),
            Self::Cache(args) => args.session.as_deref(),
            Self::Settings(args) => args.session.as_deref(),
            Self::Record(args) | Self::Recovery(args) | Self::Commits(args) => Some(args.session.as_str()),
            Self::Tree(args) => Some(args.target.session.as_str()),
            Self::Context(args) => Some(args.context.target.session.as_str()),
            Self::Simulate(args) => Some(args.context.target.session.as_str()),
            Self::Replay(args) => Some(args.target.session.as_str()),
            Self::Regret(args) => Some(args.target.session.as_str()),
            Self::Sweep(args) => Some(args.target.session.as_str()),
            Self::Check(args) => Some(args.target.session.as_str()),
            Self::Summarize(args) => Some(args.target.session.as_str()),
            Self::Commit(args) => Some(args.target.session.as_str()),
            Self::Undo(args) => Some(args.target.session.as_str()),
            Self::Compare(args) => Some(args.session.as_str()),
            Self::Export(args) => Some(args.session.as_str()),
            Self::Doctor(_)
            | Self::Rules(_)
            | Self::Watch(_)
            | Self::Dataset(_)
            | Self::Rule(_)
            | Self::Guide { .. }
            | Self::Presets { .. }
            | Self::Demo { .. }
            | Self::Schema { .. }
            | Self::Completions { .. }
            | Self::Man { .. } => return ReadPlace::NoStore,
        };
        session.map_or(ReadPlace::Store(None), ReadPlace::Session)
    }
}
