//! A commit that was broken off, as the next start finds it: how far it came, and how it is settled.
//!
//! Reading never settles anything: what opens a session only tells of it. It is settled when someone asks for that, or is
//! about to write to the same file anyway, and then under the lock. What was begun is finished, since it was agreed to and
//! checked before, and finishing takes no byte away; where that cannot be done, as on a full disk, it is cut off again, and
//! only while nothing else stands behind it. A commit whose lines were not begun is forgotten, and one whose lines are all
//! there is only tidied up after: neither touches the transcript.
//!
//! Lines are appended in one write(2), so a part of them can only stand there when the machine stopped or the process was
//! killed within that call. No order of lines could spare a reader the sight of such a part: the last line of a file is its
//! leaf, whatever it holds (store K1), so any message that stands there alone is seen.

use std::io;
use std::path::{Path, PathBuf};

use crate::commit::append::Appender;
use crate::commit::clock::Clock;
use crate::commit::disk::Disk;
use crate::commit::journal::{Intent, Journal};
use crate::commit::lock::Lock;
use crate::commit::lock_state::{LockState, inspect, lock_path};
use crate::commit::refusal::{CommitError, Refusal};
use crate::ids::LineIds;
use crate::js;
use crate::store::index::Standing;
use crate::store::load::load;
use crate::store::source::{Source, identity};

/// How far a commit came that was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// None of its lines is in the file.
    NotBegun,
    /// A part of them is, at the end of the file.
    Torn {
        /// Bytes that are there.
        written: u64,
        /// Bytes in all.
        bytes: u64,
    },
    /// All of them are, and were not read back yet.
    Whole {
        /// Nothing stands behind them.
        last: bool,
    },
    /// A part of them is, and other lines stand behind it.
    Overtaken,
    /// The file is another one, or was rewritten or put away since.
    Replaced,
}

/// A commit that was broken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The transcript.
    pub path: PathBuf,
    /// `commit` or `undo`; none where not even its journal was written to the end.
    pub kind: Option<String>,
    /// When it was made, ms since 1970.
    pub time_ms: Option<i64>,
    /// How far it came.
    pub extent: Extent,
}

impl Unfinished {
    /// Why nothing is planned for the file: it ends in a part of a commit, and what is read there is no branch of anyone's.
    pub fn refusal(&self) -> Option<Refusal> {
        let torn = matches!(self.extent, Extent::Torn { .. });
        torn.then(|| Refusal::Unfinished { path: self.path.clone(), what: self.sentence() })
    }

    /// What was found, in one sentence without its end.
    pub fn sentence(&self) -> String {
        let kind = self.kind.as_deref().unwrap_or("commit");
        let time = self.time_ms.map_or_else(String::new, |ms| format!(" of {}", js::iso_text(ms)));
        let found = match self.extent {
            Extent::NotBegun => "before its first line was written".to_owned(),
            Extent::Torn { written, bytes } => format!("after {written} of {bytes} bytes"),
            Extent::Whole { .. } => "after its last line was written".to_owned(),
            Extent::Overtaken => {
                "after a part of its lines, and another program wrote behind them".to_owned()
            }
            Extent::Replaced => "and the file was rewritten or put away since".to_owned(),
        };
        format!("the {kind}{time} was broken off {found}")
    }
}

/// What was done about a commit that was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing of it was in the file, and nothing is.
    Forgotten,
    /// The rest of it was appended, and it reads as it was planned.
    Finished,
    /// All of it was in the file.
    Complete,
    /// What was in the file of it was cut off; the file is as it was before.
    RolledBack,
    /// The file stays as it is: others wrote behind it, or it is another file by now.
    LeftAsItIs,
}

impl Outcome {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Forgotten => "forgotten",
            Self::Finished => "finished",
            Self::Complete => "complete",
            Self::RolledBack => "rolledBack",
            Self::LeftAsItIs => "leftAsItIs",
        }
    }

    /// Whether the transcript is another one than before.
    pub fn changed_the_file(self) -> bool {
        matches!(self, Self::Finished | Self::RolledBack)
    }
}

/// A commit that was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// As it was found.
    pub found: Unfinished,
    /// What was done.
    pub outcome: Outcome,
}

impl Settled {
    /// What was found and done, in two sentences.
    pub fn sentence(&self) -> String {
        let done = match self.outcome {
            Outcome::Forgotten => "Nothing of it is in the file; it can be made again.",
            Outcome::Finished => "The rest was appended, and the new branch is active.",
            Outcome::Complete => "All of it is in the file; nothing had to be done.",
            Outcome::RolledBack => "What was there of it was taken back; the file is as it was before.",
            Outcome::LeftAsItIs => {
                "The file stays as it is: nothing can be finished or taken back any more. The branch written last is \
                 the active one; look which one you want."
            }
        };
        let found = self.found.sentence();
        let mut chars = found.chars();
        let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{}. {done}", chars.as_str())
    }
}

/// The commit to this transcript that was broken off, where there is one; one that is just being written is none.
/// Reads, and writes nothing. `now_ms` is the time the lock is judged by.
pub fn unfinished(transcript: &Path, now_ms: i64) -> io::Result<Option<Unfinished>> {
    let Some(journal) = Journal::read(transcript)? else { return Ok(None) };
    let (state, lock) = inspect(&lock_path(transcript)?, now_ms)?;
    let writing = match (&state, &journal) {
        (LockState::Held { live: true, .. }, Journal::Complete(intent, _)) => {
            lock.is_some_and(|lock| intent.is_under(&lock))
        }
        (LockState::Held { live: true, .. }, Journal::Incomplete) => true,
        _ => false,
    };
    // A commit that ended between the two looks took its journal with it.
    if writing || Journal::read(transcript)?.as_ref() != Some(&journal) {
        return Ok(None);
    }
    Ok(Some(found(transcript, &journal)?))
}

/// Settles the commit to this transcript that was broken off, where there is one. Waits for a lock that is held for at
/// most `wait_ms`.
pub fn settle(
    transcript: &Path,
    wait_ms: u64,
    clock: &dyn Clock,
    disk: &dyn Disk,
) -> Result<Option<Settled>, CommitError> {
    let journal = |source| CommitError::Journal { path: transcript.into(), source };
    if Journal::read(transcript).map_err(journal)?.is_none() {
        return Ok(None);
    }
    let lock = Lock::take(transcript, wait_ms, clock, disk)?;
    let settled = settle_locked(transcript, disk)?;
    drop(lock);
    Ok(settled)
}

/// The same while the lock is held.
pub(super) fn settle_locked(transcript: &Path, disk: &dyn Disk) -> Result<Option<Settled>, CommitError> {
    let failed = |source| CommitError::Journal { path: transcript.into(), source };
    let Some(journal) = Journal::read(transcript).map_err(failed)? else { return Ok(None) };
    let found = found(transcript, &journal).map_err(failed)?;
    let outcome = match (found.extent, &journal) {
        (Extent::Torn { written, .. }, Journal::Complete(intent, payload)) => {
            finish(transcript, intent, payload, written, disk)?
        }
        (Extent::Whole { last }, Journal::Complete(intent, payload)) => {
            if !last || reads_back(transcript, intent) {
                Outcome::Complete
            } else {
                let appender = Appender::resume(transcript, intent, payload.len() as u64, disk)?;
                taken_back(&appender)
            }
        }
        (Extent::NotBegun, _) => Outcome::Forgotten,
        _ => Outcome::LeftAsItIs,
    };
    Journal::end(disk, transcript).map_err(failed)?;
    Ok(Some(Settled { found, outcome }))
}

/// Refuses to plan anything for a file that ends in a part of a commit which was broken off. One that another program is
/// just writing is no such part: the file grows on, and the plan is refused when it is written.
pub(super) fn refuse_torn(transcript: &Path, now_ms: i64) -> Result<(), Refusal> {
    let unreadable = |source| Refusal::Unreadable { path: transcript.into(), source };
    let found = unfinished(transcript, now_ms).map_err(unreadable)?;
    found.as_ref().and_then(Unfinished::refusal).map_or(Ok(()), Err)
}

/// Appends what is missing; where that cannot be done, or does not read as planned, takes back what is there.
fn finish(
    transcript: &Path,
    intent: &Intent,
    payload: &[u8],
    written: u64,
    disk: &dyn Disk,
) -> Result<Outcome, CommitError> {
    let mut appender = Appender::resume(transcript, intent, written, disk)?;
    match appender.append(&payload[written as usize..]) {
        Ok(()) if reads_back(transcript, intent) => Ok(Outcome::Finished),
        Ok(()) => Ok(taken_back(&appender)),
        Err(CommitError::Write { restored: true, .. }) => Ok(Outcome::RolledBack),
        Err(CommitError::Interleaved { .. }) => Ok(Outcome::LeftAsItIs),
        Err(error) => Err(error),
    }
}

fn taken_back(appender: &Appender<'_>) -> Outcome {
    if appender.take_back() { Outcome::RolledBack } else { Outcome::LeftAsItIs }
}

/// Whether the runtime would take every line of the file, and the last one is the planned one. That the lines give the
/// planned context was checked before they were written, and they are those lines, behind the same bytes.
fn reads_back(transcript: &Path, intent: &Intent) -> bool {
    let Ok(source) = Source::open(transcript) else { return false };
    let Ok(index) = load(&source, &mut LineIds, &mut |_, _| true) else { return false };
    let last = index.last().map(|ix| index.name(ix));
    index.standing == Standing::Fine
        && index.bad_lines == 0
        && index.pending == 0
        && last.as_ref() == Some(&intent.leaf)
}

fn found(transcript: &Path, journal: &Journal) -> io::Result<Unfinished> {
    let path = transcript.to_path_buf();
    match journal {
        Journal::Incomplete => Ok(Unfinished { path, kind: None, time_ms: None, extent: Extent::NotBegun }),
        Journal::Complete(intent, payload) => {
            let extent =
                behind(transcript, intent)?.map_or(Extent::Replaced, |behind| extent(payload, &behind));
            Ok(Unfinished { path, kind: Some(intent.kind.clone()), time_ms: Some(intent.time_ms), extent })
        }
    }
}

/// What stands behind the old end of the file; none when it is another file, or its end is.
fn behind(transcript: &Path, intent: &Intent) -> io::Result<Option<Vec<u8>>> {
    let metadata = match std::fs::symlink_metadata(transcript) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() || identity(&metadata) != intent.identity() {
        return Ok(None);
    }
    let source = Source::open(transcript)?;
    let Some(added) = source.len()?.checked_sub(intent.size) else { return Ok(None) };
    let (from, count) = intent.tail_span();
    if !intent.tail_is(&source.read_span(from, count)?) {
        return Ok(None);
    }
    source.read_span(intent.size, added as usize).map(Some)
}

/// How much of what was to be appended stands behind the old end.
fn extent(payload: &[u8], behind: &[u8]) -> Extent {
    if behind.is_empty() {
        return Extent::NotBegun;
    }
    if payload.starts_with(behind) && payload.len() > behind.len() {
        return Extent::Torn { written: behind.len() as u64, bytes: payload.len() as u64 };
    }
    // Another program may have written in the same moment, before or after.
    if let Some(at) = memchr::memmem::find(behind, payload) {
        return Extent::Whole { last: at + payload.len() == behind.len() };
    }
    let line = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    let first = line(behind);
    let is_json = std::str::from_utf8(&first).is_ok_and(|text| js::parse(text).is_ok());
    // A whole line of ours, or a part of one with another program's line behind it.
    if first == line(payload) || !is_json { Extent::Overtaken } else { Extent::NotBegun }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_came_is_told_by_what_stands_behind_the_old_end() {
        let payload = b"{\"id\":1}\n{\"id\":2}\n";
        let told = |behind: &str| extent(payload, behind.as_bytes());
        let torn = |written| Extent::Torn { written, bytes: 18 };
        assert_eq!(told(""), Extent::NotBegun);
        assert_eq!([told("{"), told("{\"id\":1}"), told("{\"id\":1}\n")], [torn(1), torn(8), torn(9)]);
        assert_eq!(told("{\"id\":1}\n{\"id\":2}\n"), Extent::Whole { last: true });
        assert_eq!(told("{\"id\":1}\n{\"id\":2}\n{}\n"), Extent::Whole { last: false });
    }

    #[test]
    fn lines_of_others_are_told_from_ours() {
        let payload = b"{\"id\":1}\n{\"id\":2}\n";
        let told = |behind: &str| extent(payload, behind.as_bytes());
        // They wrote, we did not.
        assert_eq!(told("{\"id\":7}\n"), Extent::NotBegun);
        // They wrote in the same moment, before us.
        assert_eq!(told("{\"id\":7}\n{\"id\":1}\n{\"id\":2}\n"), Extent::Whole { last: true });
        // They wrote behind a line of ours, and behind a part of one.
        assert_eq!(told("{\"id\":1}\n{\"id\":7}\n"), Extent::Overtaken);
        assert_eq!(told("{\"id\"{\"id\":7}\n"), Extent::Overtaken);
    }
}
