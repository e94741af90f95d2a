//! A copy of a store from another machine on the screen: its name in the header, and its place in command lines.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::app::command_words::CommandWords;

/// The origin of a copied store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedStore {
    /// The machine in the header.
    pub machine: String,
    /// The option that reaches the machine.
    pub way: MachineOption,
    /// The folder of the copy.
    pub here: PathBuf,
    /// The folder there.
    pub there: PathBuf,
}

/// The option of a command line that reaches another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineOption {
    /// `ssh://HOST`, which a path follows.
    Address(String),
    /// The command of `--via`.
    Via(String),
}

impl CopiedStore {
    /// Names the store in the header.
    pub fn label(&self) -> String {
        format!("copy of {}:{}", self.machine, self.there.display())
    }

    /// Adds the store at a path of the copy to a command.
    pub(super) fn add_to(&self, words: CommandWords, path: &Path) -> CommandWords {
        let there = self.path_there(path);
        match &self.way {
            MachineOption::Address(address) => {
                words.option("--store", format!("{address}{}", encode(&there)))
            }
            MachineOption::Via(command) => {
                words.option("--via", command).option("--store", there.to_string_lossy())
            }
        }
    }

    fn path_there(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.here) {
            Ok(rest) if rest.as_os_str().is_empty() => self.there.clone(),
            Ok(rest) => self.there.join(rest),
            Err(_) => path.to_path_buf(),
        }
    }
}

/// Encodes a path for an address.
fn encode(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte);
    path.to_string_lossy().bytes().fold(String::new(), |mut out, byte| {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_reaches_the_same_store_from_the_persons_machine() {
        let copied = |way, there: &str| CopiedStore {
            machine: "gw".into(),
            way,
            here: "/tmp/c".into(),
            there: there.into(),
        };
        let line = |store: &CopiedStore, path: &str| {
            store.add_to(CommandWords::new("tree").value("K"), Path::new(path)).line()
        };
        let ssh = copied(MachineOption::Address("ssh://me@gw:22".into()), "/srv/a b");
        assert_eq!(line(&ssh, "/tmp/c/é"), "clawscope tree K --store ssh://me@gw:22/srv/a%20b/%C3%A9");
        let via = copied(MachineOption::Via("docker exec -i gw".into()), "/data");
        assert_eq!(line(&via, "/tmp/c"), "clawscope tree K --via 'docker exec -i gw' --store /data");
        assert_eq!(via.label(), "copy of gw:/data");
    }
}
