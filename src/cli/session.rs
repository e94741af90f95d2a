//! Arguments of commands that read one session.

use std::path::PathBuf;

use clap::Args;

use crate::format::number::parse_count;

/// A session to look at.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The session: its key, its id or a unique prefix of it, or a transcript's path
    pub session: String,
    /// Find the session in this store, as with --store
    pub path: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A transcript to draw.
#[derive(Debug, Args)]
pub struct TreeArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// Show secrets in the rows
    #[arg(long)]
    pub no_redact: bool,
}

/// The sessions to explain.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The session: its key, its id or a unique prefix of it, or a transcript's path; with --all, the store
    #[arg(value_name = "SESSION", required_unless_present = "all")]
    pub target: Option<String>,
    /// Find the session in this store, as with --store
    #[arg(conflicts_with = "all")]
    pub path: Option<PathBuf>,
    /// Explain every session of the store, those at risk first
    #[arg(long)]
    pub all: bool,
    /// Compare the recovery that the transcript records with the one that the gateway's rules lead to
    #[arg(long, conflicts_with = "all")]
    pub recovery: bool,
    /// Try a window of N tokens, as `--set contextWindow=N` does; with --all: check each session against it, such as that
    /// of a fallback model; repeatable
    #[arg(long, value_name = "N|learnt", value_parser = WindowArg::parse, conflicts_with = "recovery")]
    pub window: Vec<WindowArg>,
    /// Try a change of a setting, by the gateway's name for it; repeatable
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["all", "recovery"])]
    pub set: Vec<String>,
    /// Try the settings of a JSON or JSON5 file (an openclaw.json or its contextPruning) or of a preset; --set overrides it
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["all", "recovery"])]
    pub settings: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// The calls to look up in the cache ledger.
#[derive(Debug, Args)]
pub struct CostArgs {
    /// The session: its key, its id or a unique prefix of it, or a transcript's path; a folder is a store [default: the whole store]
    pub session: Option<String>,
    /// Find the session in this store, as with --store
    pub path: Option<PathBuf>,
    /// List every call [default: the newest 40]
    #[arg(long, requires = "session")]
    pub all: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A session and a leaf.
#[derive(Debug, Args)]
pub struct ContextArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// End the context at this entry: its id or a unique prefix of it [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Print the messages themselves, as the runtime builds them
    #[arg(long)]
    pub messages: bool,
    /// Show secrets in the rows; --messages always shows them
    #[arg(long)]
    pub no_redact: bool,
}

/// A store to follow.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Follow this store [default: the gateway's state dir]
    pub path: Option<PathBuf>,
    /// Follow only this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Alert when a session fills this share of its window, such as 80%; repeat it for several
    #[arg(long, value_name = "SHARE", value_parser = crate::config::parse_share)]
    pub alert: Vec<f64>,
    /// Print one JSON object per line instead of text
    #[arg(long)]
    pub json: bool,
    /// Show secrets in the lines
    #[arg(long)]
    pub no_redact: bool,
}

/// A window to use in place of the configured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowArg {
    /// The one that calls which the provider refused or answered prove.
    Learnt,
    /// A number of tokens.
    Tokens(u64),
}

impl WindowArg {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let "learnt" | "learned" = text {
            return Ok(Self::Learnt);
        }
        let tokens = parse_count(text).map(f64::floor).filter(|tokens| *tokens >= 1.0);
        let expected = || format!("{text:?}: expected tokens such as 200000 or 200k, or learnt");
        tokens.map(|tokens| Self::Tokens(tokens as u64)).ok_or_else(expected)
    }
}
