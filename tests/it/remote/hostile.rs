//! A machine that lies: its copies stay in their folder, within their limits, and leave nothing behind.

use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::{Programs, leftovers};

const LEAD: &str = "clawscope-copy 1\n/srv\n\n";
const SAME: &str = "clawscope-copy same\n";

fn header(name: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    // Not `set_path`, which refuses what a hostile machine sends.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_cksum();
    header
}

/// An `ssh` that runs no clawscope, and answers the script of a copy with these bytes and commands.
fn answering(bytes: &[u8], commands: &str) -> Programs {
    let programs = Programs::new();
    super::write(programs.path().join("answer"), bytes);
    let answer = format!("cat {}/answer; {commands}", programs.path().display());
    programs.write("ssh", &format!("#!/bin/sh\ncase $* in *clawscope*) exit 127 ;; esac\n{answer}\n"));
    programs
}

/// Runs a command on a copy with these limits; returns its error.
#[track_caller]
fn refused(programs: &Programs, limits: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let option = format!("--copy={limits}");
    let mut words = vec!["sessions", "ssh://gateway", "--json"];
    if !limits.is_empty() {
        words.push(&option);
    }
    let mut command = programs.program(&words);
    let (code, out, err) = crate::support::store::run(command.env("TMPDIR", folder.path()));
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert_eq!(leftovers(folder.path()), [""; 0], "{err}");
    err
}

fn archive(build: impl FnOnce(&mut Builder<Vec<u8>>)) -> Vec<u8> {
    let mut builder = Builder::new(LEAD.as_bytes().to_vec());
    build(&mut builder);
    [builder.into_inner().unwrap(), SAME.as_bytes().to_vec()].concat()
}

#[test]
fn an_entry_that_leads_out_of_the_copy_is_refused() {
    for name in ["../x", "/tmp/clawscope-test-escaped", "a/../../x", "a\\..\\x"] {
        let bytes =
            archive(|builder| builder.append(&header(name, EntryType::Regular, 1), &b"x"[..]).unwrap());
        assert!(refused(&answering(&bytes, ""), "").contains("leads out of its folder"), "{name}");
    }
    assert!(!Path::new("/tmp/clawscope-test-escaped").exists());
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Char, EntryType::Fifo, EntryType::GNUSparse]
    {
        let bytes = archive(|builder| builder.append(&header("x", kind, 0), &b""[..]).unwrap());
        assert!(refused(&answering(&bytes, ""), "").contains("an entry of kind"), "{kind:?}");
    }
}

#[test]
fn each_limit_is_named_with_the_option_that_raises_it() {
    let many = |name: &dyn Fn(usize) -> String| {
        archive(|builder| {
            for at in 0..60 {
                builder.append(&header(&name(at), EntryType::Regular, 0), &b""[..]).unwrap();
            }
        })
    };
    let err = refused(&answering(&many(&|at| format!("{at}.json")), ""), "files=50");
    assert!(err.contains("more than 50 files") && err.contains("--copy=files=100"), "{err}");
    let err = refused(&answering(&many(&|at| format!("{at}/x.json")), ""), "folders=50");
    assert!(err.contains("more than 50 folders") && err.contains("--copy=folders=100"), "{err}");
    let deep = format!("{}x", "a/".repeat(45));
    let err = refused(&answering(&many(&|_| deep.clone()), ""), "folders=20");
    assert!(err.contains("more than 20 folders"), "{err}");
    let err = refused(&answering(LEAD.as_bytes(), "exec sleep 60"), "time=1s");
    assert!(err.contains("longer than 1s") && err.contains("--copy=time=2s"), "{err}");
    assert!(err.contains("one agent's folder"), "{err}");
}

#[test]
fn a_stream_without_an_end_is_left_at_the_limit() {
    let endless = [LEAD.as_bytes(), header("x.jsonl", EntryType::Regular, 7 << 30).as_bytes()].concat();
    let err = refused(&answering(&endless, "exec cat /dev/zero"), "size=3MB");
    assert!(err.contains("more than 3.0 MB") && err.contains("--copy=size=6MB"), "{err}");
    // Entries that write nothing, for ever.
    let folder = header("x", EntryType::Directory, 0);
    for block in [folder, header("x", EntryType::XGlobalHeader, 0)] {
        let programs = answering(LEAD.as_bytes(), "while :; do cat \"${0%/*}/block\" || exit; done");
        super::write(programs.path().join("block"), block.as_bytes().repeat(1000));
        assert!(refused(&programs, "size=3MB").contains("more than 3.0 MB"));
    }
}

#[test]
fn noise_without_an_end_is_no_copy() {
    for commands in ["while :; do echo noise noise noise || exit; done", "exec cat /dev/zero"] {
        let err = refused(&answering(b"", commands), "");
        assert!(err.contains("gateway: ") && err.contains("cannot copy the store"), "{err}");
    }
    for answer in [
        "clawscope-copy 2\n",
        "clawscope-copy 1\n/srv\n/../..\n",
        "clawscope-copy 1\n/s\u{1b}[2J\n\n",
        LEAD,
        "",
    ] {
        let err = refused(&answering(answer.as_bytes(), ""), "");
        assert!(err.contains("cannot copy the store") && !err.contains('\u{1b}'), "{answer:?}: {err}");
    }
}
