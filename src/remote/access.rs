//! Which commands another machine answers: only those that read a store. The person's side checks first, so that it can
//! name the command to run there; the serving side checks again, because it trusts no one else with its store.

use crate::cli::{Cli, Command};
use crate::config::SummarizerKind;

/// The reason that another machine does not answer a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It writes to a store.
    Writes,
    /// It writes files besides its answer.
    WritesFiles {
        /// The option that names them.
        option: &'static str,
    },
    /// It starts another program or sends the conversation away.
    Summarizer,
    /// It reads no store.
    NoStore,
}

/// Returns why a command is not answered for another machine; `None` for one that only reads.
pub(super) fn refusal(cli: &Cli) -> Option<Refusal> {
    match cli.command.as_ref()? {
        Command::Commit(args) if args.write.apply => Some(Refusal::Writes),
        Command::Undo(args) if args.write.apply => Some(Refusal::Writes),
        Command::Doctor(args) if args.repair => Some(Refusal::Writes),
        Command::Commit(args) => summarizer(args.with.as_deref()),
        Command::Simulate(args) => summarizer(args.with.as_deref()),
        Command::Summarize(args) => summarizer(args.with.as_deref()),
        Command::Sweep(args) if args.patch.is_some() => Some(Refusal::WritesFiles { option: "--patch" }),
        Command::Dataset(_) => Some(Refusal::WritesFiles { option: "--out" }),
        Command::Sessions(_)
        | Command::Search(_)
        | Command::Record(_)
        | Command::Tree(_)
        | Command::Context(_)
        | Command::Recovery(_)
        | Command::Explain(_)
        | Command::Cache(_)
        | Command::Replay(_)
        | Command::Regret(_)
        | Command::Sweep(_)
        | Command::Check(_)
        | Command::Undo(_)
        | Command::Commits(_)
        | Command::Compare(_)
        | Command::Export(_)
        | Command::Watch(_)
        | Command::Doctor(_)
        | Command::Rules(_)
        | Command::Settings(_) => None,
        Command::Rule(_)
        | Command::Guide { .. }
        | Command::Presets { .. }
        | Command::Demo { .. }
        | Command::Schema { .. }
        | Command::Completions { .. }
        | Command::Serve(_)
        | Command::Man { .. } => Some(Refusal::NoStore),
    }
}

/// A summary from the conversation's own words stays on the machine of the store; others do not.
fn summarizer(kind: Option<&str>) -> Option<Refusal> {
    let is_other = kind.is_some_and(|kind| kind != SummarizerKind::Extractive.as_str());
    is_other.then_some(Refusal::Summarizer)
}

impl Refusal {
    /// Explains the refusal. `place` is the machine, `line` the command to run there.
    pub(super) fn message(self, place: &str, line: &str) -> String {
        match self {
            Self::Writes => {
                format!("clawscope only reads stores on other machines. To write on {place}, run: {line}")
            }
            Self::WritesFiles { option } => format!(
                "{option}: clawscope writes these files only on the machine of the store. On {place}, run: {line}"
            ),
            Self::Summarizer => format!(
                "--with: for a store on another machine, clawscope only summarises with `extractive`. On {place}, run: \
                 {line}"
            ),
            Self::NoStore => format!("this command reads no store, so it needs no other machine ({place})."),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn refused(line: &str) -> Option<Refusal> {
        let words = shell_words::split(line).unwrap();
        refusal(&Cli::try_parse_from(words).unwrap())
    }

    #[test]
    fn commands_that_write_are_refused_and_their_dry_runs_are_not() {
        for line in ["commit K --apply", "undo K --apply", "undo K --redo --apply", "doctor --repair"] {
            assert_eq!(refused(&format!("clawscope {line}")), Some(Refusal::Writes), "{line}");
        }
        for line in ["", "commit K", "undo K", "doctor", "sessions", "export K --format md --out x.md"] {
            assert_eq!(refused(&format!("clawscope {line}")), None, "{line}");
        }
    }

    #[test]
    fn no_other_program_is_started_and_no_file_is_written() {
        for line in ["summarize K --with http", "commit K --with command", "simulate K --with http"] {
            assert_eq!(refused(&format!("clawscope {line}")), Some(Refusal::Summarizer), "{line}");
        }
        assert_eq!(refused("clawscope summarize K --with extractive"), None);
        let files = |option| Some(Refusal::WritesFiles { option });
        assert_eq!(refused("clawscope sweep K --patch p.json5"), files("--patch"));
        assert_eq!(refused("clawscope dataset --out d"), files("--out"));
        assert_eq!(refused("clawscope demo --out d"), Some(Refusal::NoStore));
    }
}
