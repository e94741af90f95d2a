//! Names under which people look for a command that has another name here.

/// Maps a name from another program to the words of the command here; `KEY` is replaced by a session.
const OTHER_NAMES: [(&[&str], &[&str]); 26] = [
    (&["breakdown", "tokens", "usage"], &["context", "KEY", "--breakdown"]),
    (&["estimators", "estimates"], &["context", "KEY", "--estimators"]),
    (&["recorded", "trajectory"], &["context", "KEY", "--recorded"]),
    (&["messages", "prompt"], &["context", "KEY", "--messages"]),
    (&["show", "view", "cat"], &["context", "KEY"]),
    (&["timeline", "calls"], &["replay", "KEY", "--timeline"]),
    (&["list", "ls", "ps"], &["sessions"]),
    (&["cache", "costs", "spend"], &["cost", "KEY"]),
    (&["find", "grep", "rg"], &["search", "TEXT"]),
    (&["why", "overflow"], &["explain", "KEY"]),
    (&["branches"], &["tree", "KEY"]),
    (&["findings", "problems", "status"], &["doctor"]),
    (&["presets"], &["settings", "--presets"]),
    (&["rule"], &["rules", "pruning-5.12"]),
    (&["record"], &["sessions", "KEY"]),
    (&["recovery"], &["explain", "KEY", "--recovery"]),
    (&["summarize", "summarise", "summary"], &["simulate", "KEY", "--summary"]),
    (&["regret", "lost"], &["replay", "KEY", "--lost"]),
    (&["dataset", "parquet"], &["export", "--format", "parquet", "--out", "fleet"]),
    (&["config"], &["settings"]),
    (&["diff", "compare"], &["undo", "KEY", "--compare"]),
    (&["preview", "prune"], &["simulate", "KEY"]),
    (&["compact"], &["simulate", "KEY", "--policy", "compact"]),
    (&["history", "log", "commits"], &["undo", "KEY", "--list"]),
    (&["follow", "tail"], &["watch"]),
    (&["version"], &["--version"]),
];

/// Returns the words of the command with the alias `name`.
pub(super) fn words_for(name: &str) -> Option<&'static [&'static str]> {
    OTHER_NAMES.iter().find(|(names, _)| names.contains(&name)).map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::error::ErrorKind;
    use clap::{CommandFactory as _, Parser as _};

    #[test]
    fn every_alias_is_unused_and_its_command_parses() {
        let commands = Cli::command();
        for (names, words) in OTHER_NAMES {
            for name in names {
                assert!(commands.find_subcommand(name).is_none(), "{name} is a command");
            }
            let line = ["clawscope"].into_iter().chain(words.iter().copied());
            if let Err(error) = Cli::try_parse_from(line) {
                assert_eq!(error.kind(), ErrorKind::DisplayVersion, "{words:?}");
            }
        }
    }
}
