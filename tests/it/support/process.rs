//! Whether a process still exists.

use std::path::Path;

use rustix::process::{Pid, test_kill_process};

/// Returns the process whose id is in a file.
pub(crate) fn written_in(file: &Path) -> Pid {
    Pid::from_raw(std::fs::read_to_string(file).unwrap().trim().parse().unwrap()).unwrap()
}

/// Whether it has ended; collected or not by its new parent.
pub(crate) fn is_gone(pid: Pid) -> bool {
    test_kill_process(pid).is_err() || is_zombie(pid.as_raw_nonzero().get())
}

fn is_zombie(pid: i32) -> bool {
    let state =
        std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    String::from_utf8_lossy(&state.stdout).trim().starts_with('Z')
}

/// This test program. Linux keeps it for as long as it runs, even where a build has put another file in its place
/// meanwhile: the path would then lead nowhere, or to another program.
pub(crate) fn this_program() -> std::path::PathBuf {
    if cfg!(target_os = "linux") {
        format!("/proc/{}/exe", std::process::id()).into()
    } else {
        std::env::current_exe().expect("the path of this program")
    }
}
