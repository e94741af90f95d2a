//! A real `sshd` on the loopback, if it is installed.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Programs, demo};
use crate::support::{skipped, terminal::Started};

const SSHD: &str = "/usr/sbin/sshd";
const DEADLINE: Duration = Duration::from_secs(30);

/// A running server, and an `ssh` that knows it as `gateway`.
struct Server {
    _folder: tempfile::TempDir,
    child: Child,
    programs: Programs,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn key(path: &Path) -> Result<(), String> {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).output();
    let made = made.map_err(|error| format!("ssh-keygen: {error}"))?;
    if made.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&made.stderr).into_owned()) }
}

/// Starts a server on a free port.
fn start() -> Result<Server, String> {
    if !Path::new(SSHD).exists() {
        return Err(format!("{SSHD} does not exist"));
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let shown = |name: &str| at(name).display().to_string();
    key(&at("host"))?;
    key(&at("person"))?;
    std::fs::copy(at("person.pub"), at("authorized")).unwrap();
    let programs = Programs::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nPidFile {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication no\nPermitRootLogin yes\nPrintMotd no\nSetEnv PATH={}\n",
        shown("host"),
        shown("pid"),
        shown("authorized"),
        programs.search_path()
    );
    super::write(at("sshd_config"), config);
    // A server that runs as root needs this folder.
    drop(std::fs::create_dir_all("/run/sshd"));
    let log = std::fs::File::create(at("log")).unwrap();
    let mut child = Command::new(SSHD)
        .args(["-D", "-e", "-f"])
        .arg(at("sshd_config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| error.to_string())?;
    let config = format!(
        "Host gateway\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
         StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n",
        shown("person")
    );
    super::write(at("ssh_config"), config);
    programs.write("ssh", &format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", shown("ssh_config")));
    let deadline = Instant::now() + DEADLINE;
    loop {
        let mut probe = Command::new(programs.path().join("ssh"));
        let answered = probe.args(["gateway", "true"]).stdin(Stdio::null()).output();
        if answered.is_ok_and(|output| output.status.success()) {
            return Ok(Server { _folder: folder, child, programs });
        }
        if child.try_wait().unwrap().is_some() || Instant::now() > deadline {
            drop(child.kill());
            drop(child.wait());
            return Err(std::fs::read_to_string(at("log")).unwrap_or_default());
        }
        std::thread::yield_now();
    }
}

fn server() -> Option<Server> {
    start().map_err(|why| skipped::note("sshd", &why)).ok()
}

#[test]
fn a_real_server_gives_the_same_answers() {
    let Some(server) = server() else { return };
    let (_dir, store) = demo();
    let own = store.to_str().unwrap();
    for words in [
        &["sessions", "PLACE", "--json"][..],
        &["explain", "agent:main:telegram:direct:8812", "--store", "PLACE", "--json"],
    ] {
        let run = |place: &str| {
            let words: Vec<String> = words.iter().map(|word| word.replace("PLACE", place)).collect();
            server.programs.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(run(&format!("ssh://gateway{own}")), run(own), "{words:?}");
    }
    let (code, _, err) = server.programs.run(&["sessions", &format!("ssh://gateway{own}/none")]);
    assert!(code == 3 && !err.is_empty(), "{err}");
}

#[test]
fn a_real_server_shows_the_screen() {
    let Some(server) = server() else { return };
    let (_dir, store) = demo();
    let place = format!("ssh://gateway{}", store.display());
    let mut program = Started::new(&[&place], &[("PATH", &server.programs.search_path())]);
    program.until_shown("⚠ overflow");
    program.keys("\x1a");
    program.until_shown("ctrl-z does nothing here");
    program.resize(100, 30);
    program.until("the new size", |screen| {
        screen.contents().lines().count() <= 30 && screen.contents().contains("q quit")
    });
    program.until_quiet();
    program.keys("q");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert!(!ended.alternate_screen && ended.cooked);
}
