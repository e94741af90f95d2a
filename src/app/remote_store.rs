//! The store of another machine on the screen: its name in the header, and its place in command lines.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::app::command_words::CommandWords;

/// The way to a store on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteStore {
    /// The machine in the header.
    pub machine: String,
    /// The command line that reaches the machine.
    pub link: RemoteLink,
    /// The folder of a copy on this machine, and the folder there that it is a copy of.
    pub copy: Option<(PathBuf, PathBuf)>,
}

/// The option of a command line that reaches another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteLink {
    /// `ssh://HOST`, which a path follows.
    Address(String),
    /// The command of `--via`.
    Via(String),
}

impl RemoteStore {
    /// Names the store: its machine, and the label that it has there.
    pub fn label(&self, label: &str) -> String {
        match &self.copy {
            Some((_, there)) => format!("copy of {}:{}", self.machine, there.display()),
            None => format!("{}:{label}", self.machine),
        }
    }

    /// Adds the store at a path to a command.
    pub(super) fn add_to(&self, words: CommandWords, path: &Path) -> CommandWords {
        let there = self.path_there(path);
        match &self.link {
            RemoteLink::Address(address) => words.option("--store", format!("{address}{}", encode(&there))),
            RemoteLink::Via(command) => {
                words.option("--via", command).option("--store", there.to_string_lossy())
            }
        }
    }

    fn path_there(&self, path: &Path) -> PathBuf {
        let copied =
            self.copy.as_ref().and_then(|(here, there)| Some((path.strip_prefix(here).ok()?, there)));
        match copied {
            Some((rest, there)) if rest.as_os_str().is_empty() => there.clone(),
            Some((rest, there)) => there.join(rest),
            None => path.to_path_buf(),
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

    fn line(store: &RemoteStore, path: &str) -> String {
        store.add_to(CommandWords::new("tree").value("K"), Path::new(path)).line()
    }

    #[test]
    fn a_command_line_reaches_the_same_store_from_the_persons_machine() {
        let link = RemoteLink::Address("ssh://me@gw:22".into());
        let ssh = RemoteStore { machine: "me@gw".into(), link, copy: None };
        assert_eq!(line(&ssh, "/srv/a b/é"), "clawscope tree K --store ssh://me@gw:22/srv/a%20b/%C3%A9");
        assert_eq!(ssh.label("~/.openclaw"), "me@gw:~/.openclaw");
        let link = RemoteLink::Via("docker exec -i gw".into());
        let via = RemoteStore { machine: "gw".into(), link, copy: Some(("/tmp/c".into(), "/data".into())) };
        assert_eq!(line(&via, "/tmp/c/x"), "clawscope tree K --via 'docker exec -i gw' --store /data/x");
        assert_eq!(via.label("/tmp/c"), "copy of gw:/data");
    }
}
