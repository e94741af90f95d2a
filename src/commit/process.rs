//! Finds out whether the process that a lock names still runs.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// It runs, or a process runs that we may not signal (store S2).
    Alive,
    /// It ended, and its parent has not collected it yet.
    Zombie,
    /// Not visible from this process (store H9).
    Gone,
}

/// Processes with equal namespaces can see each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessNamespace {
    /// Id of the machine's last boot.
    boot: String,
    /// The pid namespace.
    pids: String,
}

/// Only Linux provides it.
pub(super) fn process_namespace() -> Option<ProcessNamespace> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let pids = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(ProcessNamespace { boot: boot.trim().to_owned(), pids: pids.to_str()?.to_owned() })
}

pub(super) fn process_state(pid: u32) -> ProcessState {
    if !exists(pid) {
        return ProcessState::Gone;
    }
    if stat_state(pid) == Some('Z') { ProcessState::Zombie } else { ProcessState::Alive }
}

#[cfg(unix)]
fn exists(pid: u32) -> bool {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Without a way to look it up, a process counts as running: its lock stays until it is too old.
#[cfg(not(unix))]
fn exists(_: u32) -> bool {
    true
}

/// Returns a process's start in clock ticks since boot, which separates two processes with the same id (store H2). Only
/// Linux provides it.
pub(super) fn start_ticks(pid: u32) -> Option<u64> {
    // Field 22; the fields after the command's closing parenthesis begin with the third.
    stat_fields(pid)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn stat_state(pid: u32) -> Option<char> {
    stat_fields(pid)?.chars().next()
}

/// `/proc/PID/stat` after the command, which may itself hold spaces and parentheses.
fn stat_fields(pid: u32) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn this_process_is_alive_and_has_a_start_time_on_linux() {
        assert_eq!(process_state(std::process::id()), ProcessState::Alive);
        assert_eq!(start_ticks(std::process::id()).is_some(), cfg!(target_os = "linux"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_a_boot_id_and_a_namespace() {
        let home = process_namespace().unwrap();
        assert!(home.boot.len() == 36 && home.pids.starts_with("pid:["), "{home:?}");
    }

    #[test]
    #[cfg(unix)]
    fn a_child_is_a_zombie_until_its_parent_waits_for_it() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        if cfg!(target_os = "linux") {
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while process_state(pid) == ProcessState::Alive && std::time::Instant::now() < deadline {
                std::thread::yield_now();
            }
            assert_eq!(process_state(pid), ProcessState::Zombie);
        }
        child.wait().unwrap();
        assert_eq!(process_state(pid), ProcessState::Gone);
    }

    #[test]
    #[cfg(unix)]
    fn an_id_no_process_can_have_is_gone() {
        assert_eq!(process_state(u32::MAX), ProcessState::Gone);
        assert_eq!(process_state(0), ProcessState::Gone);
    }

    #[test]
    #[cfg(unix)]
    fn a_process_we_may_not_signal_is_alive() {
        // Process 1 always runs, and belongs to another user unless the tests run as root.
        assert_eq!(process_state(1), ProcessState::Alive);
    }
}
