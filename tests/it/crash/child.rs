//! The process that is killed: this test program itself, with its task in a variable.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use clawscope::commit::{SystemClock, recover_commit, write_to_disk};
use clawscope::units::Millis;

use super::cases::Case;
use super::disk::{Fault, Faulty, LockNames};

const TASK: &str = "CLAWSCOPE_TEST_CRASH";

/// The task of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Commits.
    Commit,
    /// The same, on a disk without unnamed files.
    CommitByDraft,
    /// Repairs the remains of an earlier child.
    Settle,
    /// The same, on a full disk.
    SettleOnFull,
}

/// Performs the task of the environment, if there is one.
#[test]
fn child() {
    let Ok(reported) = std::env::var(TASK) else { return };
    let parts: Vec<&str> = reported.splitn(4, ' ').collect();
    let [case, deed, at, path] = parts[..] else { panic!("{reported}") };
    let (case, path, at) = (Case::named(case), Path::new(path), at.parse().unwrap());
    let disk = Faulty::new(Fault::Kill, at);
    match deed {
        "Commit" | "CommitByDraft" => {
            let disk = if deed == "Commit" { disk } else { disk.with(LockNames::Draft) };
            drop(write_to_disk(&disk, &case.prepare(&case.open(path)), Millis::ZERO, &SystemClock).unwrap());
        }
        "Settle" => drop(recover_commit(path, Millis::ZERO, &SystemClock, &disk).unwrap()),
        _ => drop(recover_commit(path, Millis::ZERO, &SystemClock, &super::repairs::Cramped(disk))),
    }
}

/// This program again, as a child to kill at a point.
pub(crate) fn command(case: Case, deed: Deed, at: usize, path: &Path) -> Command {
    let mut command = Command::new(crate::support::process::this_program());
    command.args(["crash::child::child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(TASK, format!("{} {deed:?} {at} {}", case.name(), path.display()));
    command.stdin(Stdio::null());
    command
}

/// Runs a child that is killed at a point.
pub(crate) fn killed(case: Case, deed: Deed, at: usize, path: &Path) {
    let output = command(case, deed, at, path).output().expect("this program runs a second time");
    assert_eq!(output.status.signal(), Some(9), "{case:?} {deed:?} {at}: {}", reported(&output));
}

pub(crate) fn reported(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
}
