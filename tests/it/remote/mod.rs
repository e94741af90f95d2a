//! Stores on other machines: the same answers through a link as without one, links that break, and copies of stores from
//! machines without clawscope, which may lie. A script replaces `ssh`; where `sshd` is installed, a real one answers on the loopback.
#![cfg(unix)]

mod answers;
mod copies;
mod hostile;
mod link;
mod screen;
mod sshd;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use rustix::process::{Pid, Signal};

use crate::support::store::program;

const DEADLINE: Duration = Duration::from_mins(1);
/// The words after the host, run by a shell as `sshd` does. `$1` to `--` are options.
const SSH: &str = "#!/bin/sh\n\
    while [ \"$1\" != -- ]; do shift; done\n\
    shift 2\n";

/// A folder of programs that come before those of the system.
pub(super) struct Programs(tempfile::TempDir);

impl Programs {
    /// An `ssh` that reaches this machine, where clawscope is installed.
    pub(super) fn new() -> Self {
        let programs = Self(tempfile::tempdir().unwrap());
        let own = assert_cmd::cargo::cargo_bin("clawscope");
        std::os::unix::fs::symlink(own, programs.path().join("clawscope")).unwrap();
        programs.write("ssh", &format!("{SSH}exec sh -c \"$*\"\n"));
        programs
    }

    /// An `ssh` that reaches this machine without clawscope.
    pub(super) fn without_clawscope() -> Self {
        let programs = Self(tempfile::tempdir().unwrap());
        programs.write("ssh", &format!("{SSH}PATH=/usr/bin:/bin exec sh -c \"$*\"\n"));
        programs
    }

    /// An `ssh` with other commands after the options.
    pub(super) fn with_ssh(commands: &str) -> Self {
        let programs = Self::new();
        programs.write("ssh", &format!("{SSH}{commands}\n"));
        programs
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path().join(name);
        // Renamed, because a script that another thread's child still has open for writing cannot be run.
        let new = self.path().join(format!("{name}.new"));
        File::create(&new).unwrap().write_all(text.as_bytes()).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(new, path).unwrap();
    }

    /// The value of `PATH` with these programs first.
    pub(super) fn search_path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.path().display())
    }

    /// The program with these programs.
    pub(super) fn program(&self, words: &[&str]) -> Command {
        let mut command = program(words);
        command.env("PATH", self.search_path());
        command
    }

    /// The program with these programs, to be started and signalled.
    pub(super) fn std_program(&self, words: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("clawscope"));
        command.env_clear().env("HOME", "/nonexistent/clawscope-test").env("PATH", self.search_path());
        command.args(words);
        command
    }

    /// Runs the program; returns exit code, output and errors.
    pub(super) fn run(&self, words: &[&str]) -> (i32, String, String) {
        crate::support::store::run(&mut self.program(words))
    }
}

/// Waits for something in the program, sends it a signal and returns how it ended.
pub(super) fn signal_when(mut child: Child, signal: Signal, is_ready: impl Fn() -> bool) -> ExitStatus {
    let deadline = Instant::now() + DEADLINE;
    while !is_ready() {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "the program is not ready");
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            drop(child.kill());
            panic!("{signal:?} did not end the program");
        }
        std::thread::yield_now();
    }
    child.wait().unwrap()
}

/// The copies that are left in a folder for temporary files.
pub(super) fn leftovers(folder: &Path) -> Vec<String> {
    let items =
        fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().to_string_lossy().into_owned());
    items.filter(|name| name.starts_with("clawscope-copy-")).collect()
}

/// Writes a file.
pub(super) fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    File::create(path).unwrap().write_all(text.as_ref()).unwrap();
}

/// The demo store in a folder.
pub(super) fn demo() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state");
    fs::create_dir(&path).unwrap();
    clawscope::store::demo::write_to(&path).unwrap();
    (dir, path)
}

/// Every file below a folder with its bytes and its time of change.
pub(super) fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            let changed = path.metadata().unwrap().modified().unwrap();
            found.push((path.clone(), fs::read(&path).unwrap(), changed));
        }
    }
    found.sort();
    found
}
