//! The reasons why an import has no result, or not the promised one.

use std::io;
use std::path::PathBuf;

/// Reasons why there is no new session, or not the planned one. The old session is never touched.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{}: cannot write the new session there: {source}. Check the free space and that you may write to it. Nothing was imported.", .path.display())]
    Stage { path: PathBuf, source: io::Error },
    #[error("{}: the staged session reads back differently from the plan. Nothing was imported; please report this.", .path.display())]
    NotAsPlanned { path: PathBuf },
    #[error("found no `openclaw` in PATH. The new session is in {}; run the lines of `clawscope commit --apply` where openclaw is.", .folder.display())]
    NoProgram { folder: PathBuf },
    #[error(
        "the gateway (process {process}) still runs after `openclaw gateway stop`. Nothing was imported. Stop it where you started it, and try again."
    )]
    StillRuns { process: u32 },
    #[error(
        "the gateway (process {process}) runs, and `openclaw gateway stop` failed{output}. Nothing was imported. Stop the gateway where you started it, and try again."
    )]
    NotStopped { process: u32, output: String },
    #[error(
        "the session grew after clawscope read it. Nothing was imported. Reload the session and make the plan again."
    )]
    Grown,
    #[error("{}: cannot copy the staged session there: {source}. Nothing was imported.", .path.display())]
    Install { path: PathBuf, source: io::Error },
    #[error("`{line}` failed{output}. The database is as the gateway left it; the staged session is in {}.", .folder.display())]
    Step { line: String, output: String, folder: PathBuf },
    #[error("{}: cannot read the imported session back: {source}. Look at it with `clawscope sessions`.", .path.display())]
    ReadBack { path: PathBuf, source: io::Error },
    #[error("{}: the imported session differs from the promise: {what}. The old session is as it was; do not continue with the new one. Please report this.", .path.display())]
    Differs { path: PathBuf, what: String },
    #[error("{}: the old session's entries changed during the import. Compare it with a backup, and please report this.", .path.display())]
    OldChanged { path: PathBuf },
}

impl ImportError {
    /// Whether nothing was imported.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NoProgram { .. } | Self::NotStopped { .. } | Self::StillRuns { .. } | Self::Grown
        )
    }
}
