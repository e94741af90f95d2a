//! The commits to interrupt.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clawscope::commit::{
    Clock, CommitRequest, PlannedCompaction, PreparedCommit, SystemClock, UndoRequest, UndoTarget, lock_path,
    prepare, prepare_undo, write,
};
use clawscope::ids::{EntryIx, IdSource};
use clawscope::js::iso_text;

use crate::support::generate::{Options, transcript};
use crate::support::session::{NOW, Session};
use clawscope::units::{Millis, Tokens};

/// A commit of some kind to some file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// A branch of a few copied entries.
    Branch,
    /// A branch of many kinds of entries, several pages long.
    Long,
    /// A compaction after the leaf.
    Compaction,
    /// An undo.
    Undo,
    /// A redo.
    Redo,
    /// A branch, in a file whose last line has no end.
    Unended,
    /// A branch, despite a lock that was left behind.
    LeftLock,
    /// Context edits, the way of today's pi.
    Edits,
    /// Undone context edits.
    EditsUndone,
}

impl Case {
    pub(crate) const ALL: [Self; 9] = [
        Self::Branch,
        Self::Long,
        Self::Compaction,
        Self::Undo,
        Self::Redo,
        Self::Unended,
        Self::LeftLock,
        Self::Edits,
        Self::EditsUndone,
    ];

    /// Whether today's pi reads the session, and judges the remains.
    pub(crate) fn is_of_today(self) -> bool {
        matches!(self, Self::Edits | Self::EditsUndone)
    }

    /// Reads the session as its runtime does.
    pub(crate) fn open(self, path: &Path) -> Session {
        if self.is_of_today() { Session::of_today(path) } else { Session::at(path) }
    }

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|case| case.name() == name).expect("a case")
    }

    /// Puts the original session into a folder.
    pub(crate) fn set_up(self, folder: &Path) -> PathBuf {
        let path = folder.join("session.jsonl");
        let bytes = if self == Self::Long { long() } else { short(self == Self::Unended).into_bytes() };
        put(&path, &bytes);
        for _ in 0..self.earlier() {
            let session = self.open(&path);
            write(&earlier_commit(&session), Millis::ZERO, &SystemClock).unwrap();
        }
        if self == Self::LeftLock {
            let since = iso_text(SystemClock.now_ms() - Millis(120_000.0));
            let lock = format!("{{\n  \"pid\": 4194304999,\n  \"createdAt\": \"{since}\"\n}}");
            put(&lock_path(&path).unwrap(), lock.as_bytes());
        }
        path
    }

    /// Number of earlier commits.
    fn earlier(self) -> usize {
        match self {
            Self::Undo | Self::EditsUndone => 1,
            Self::Redo => 2,
            _ => 0,
        }
    }

    /// Returns the commit to write; it is the same every time.
    pub(crate) fn prepare(self, session: &Session) -> PreparedCommit {
        match self {
            Self::Branch | Self::Long | Self::Unended | Self::LeftLock | Self::Edits => cleared(session),
            Self::Undo | Self::EditsUndone => undone(session, UndoTarget::LastCommit),
            Self::Redo => undone(session, UndoTarget::LastUndo),
            Self::Compaction => {
                let compaction = PlannedCompaction {
                    summary: "It was read. ".repeat(200).as_str().into(),
                    first_kept: EntryIx(3),
                    tokens_before: Tokens(12.0),
                    details: None,
                    from_hook: false,
                };
                let request = CommitRequest { compaction: Some(compaction), ..session.request(Vec::new()) };
                prepare(&request, &mut Counted::of(session)).unwrap()
            }
        }
    }
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::File::create(path).unwrap().write_all(bytes).unwrap();
}

fn earlier_commit(session: &Session) -> PreparedCommit {
    let commits = clawscope::commit::receipts(&session.index, &session.source).unwrap().len();
    if commits == 0 { cleared(session) } else { undone(session, UndoTarget::LastCommit) }
}

fn cleared(session: &Session) -> PreparedCommit {
    let changes = session.results().into_iter().map(|ix| session.clear(ix)).collect();
    prepare(&session.request(changes), &mut Counted::of(session)).unwrap()
}

/// Clears one result more, with new ids: the next action of a person.
pub(crate) fn another(session: &Session) -> PreparedCommit {
    let last = *session.results().last().expect("a result");
    session.prepare(vec![session.replace(last, &format!("seen, {} bytes", session.bytes().len()))]).unwrap()
}

fn undone(session: &Session, target: UndoTarget) -> PreparedCommit {
    let request =
        UndoRequest { transcript: session.transcript(), target, tool: "clawscope".into(), now_ms: NOW };
    prepare_undo(&request, &mut Counted::of(session)).unwrap()
}

/// Reproducible ids.
struct Counted(u64);

impl Counted {
    fn of(session: &Session) -> Self {
        Self(session.bytes().len() as u64 * 100)
    }
}

impl IdSource for Counted {
    fn next_id(&mut self, _: u64, taken: &dyn Fn(&str) -> bool) -> String {
        loop {
            self.0 += 1;
            let id = format!("{:08x}", self.0);
            if !taken(&id) {
                return id;
            }
        }
    }
}

/// A question, two calls with results, an answer.
fn short(unended: bool) -> String {
    let message = |id: &str, parent: &str, message: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-02-21T05:00:01.000Z\",\"message\":{message}}}\n"
        )
    };
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-02-21T05:00:00.000Z\",\"cwd\":\"/\"}\n".to_owned();
    text += &message("u1", "null", r#"{"role":"user","content":"read both"}"#);
    let mut parent = "\"u1\"".to_owned();
    for at in 1..=2 {
        let call = format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"c{at}","name":"read","arguments":{{}}}}],"stopReason":"toolUse"}}"#
        );
        let result = format!(
            r#"{{"role":"toolResult","toolCallId":"c{at}","toolName":"read","content":[{{"type":"text","text":"long {at}"}}],"isError":false,"timestamp":{at}}}"#
        );
        let _ = write!(text, "{}", message(&format!("a{at}"), &parent, &call));
        let _ = write!(text, "{}", message(&format!("r{at}"), &format!("\"a{at}\""), &result));
        parent = format!("\"r{at}\"");
    }
    text += &message(
        "a9",
        &parent,
        r#"{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop"}"#,
    );
    if unended {
        text.pop();
    }
    text
}

/// Many kinds of entries; the copies are some pages long.
fn long() -> Vec<u8> {
    let options = Options { steps: 30, result_pieces: 1500, ..Options::default() };
    let bytes = transcript(7, &options);
    assert!(!Session::new(&bytes).results().is_empty(), "nothing to clear");
    bytes
}
