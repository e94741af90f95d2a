//! The gateway's own lock on a transcript, taken exactly as the gateway takes it, and released on drop, also in a panic
//! (store H6, H8, H9).

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::commit::disk::{Disk, write_all};
use crate::commit::lock_state::{LockPayload, LockState, MAX_PAYLOAD_BYTES, read_lock};
use crate::commit::refusal::{CommitError, Refusal};
use crate::commit::session_folder::{Place, SessionFiles, with_suffix};
use crate::files;
use crate::store::source::file_identity;
use crate::units::{Millis, Moment};

/// Pause after the first try; each further pause is longer by this much (store H6).
const RETRY_PAUSE_MS: Millis = Millis(50.0);

/// Longest pause.
const MAX_RETRY_PAUSE_MS: Millis = Millis(1000.0);

/// A held lock. Dropping it releases it, if it is still ours.
#[derive(Debug)]
pub(super) struct Lock<'a> {
    session: &'a SessionFiles<'a>,
    payload: String,
    disk: &'a dyn Disk,
}

impl<'a> Lock<'a> {
    /// Takes the lock of a transcript; tries for at most `wait_ms`.
    pub(super) fn acquire(
        session: &'a SessionFiles<'a>,
        wait_ms: Millis,
        clock: &dyn Clock,
        disk: &'a dyn Disk,
    ) -> Result<Self, CommitError> {
        let failed = |source| CommitError::Lock { path: session.lock().path(), source };
        let deadline = clock.now_ms() + wait_ms;
        let mut pause_ms = Millis::ZERO;
        loop {
            session.check_folder()?;
            let payload = LockPayload::for_this_process(clock.now_ms());
            match create_lock(disk, session, &payload, clock.now_ms()) {
                Ok(()) => return Ok(Self { session, payload, disk }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
            let (state, text) = read_lock(session.lock().open(), clock.now_ms()).map_err(failed)?;
            match state {
                LockState::Free => {}
                // A link, a folder or a pipe: no program can hold or remove such a lock.
                LockState::Held { .. } if text.is_none() => {
                    let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
                    return Err(failed(source));
                }
                LockState::Stale { .. } => {
                    remove_if_unchanged(disk, session.lock(), text.as_deref()).map_err(failed)?;
                }
                LockState::Held { pid, since_ms, .. } if clock.now_ms() >= deadline => {
                    return Err(Refusal::Locked { path: session.transcript.into(), pid, since_ms }.into());
                }
                LockState::Held { .. } => {
                    pause_ms = (pause_ms + RETRY_PAUSE_MS).min(MAX_RETRY_PAUSE_MS);
                    clock.pause(pause_ms);
                }
            }
        }
    }

    pub(super) fn payload(&self) -> &str {
        &self.payload
    }

    /// Whether the lock file is still ours: a program that cannot see this process, as in another container, takes it
    /// for stale.
    pub(super) fn is_ours(&self) -> bool {
        let now = self.session.lock().open().and_then(|file| files::read_open(file, MAX_PAYLOAD_BYTES));
        now.is_ok_and(|now| now == self.payload.as_bytes())
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // A lock that cannot be removed is stale as soon as this process ends.
        let _ = remove_if_unchanged(self.disk, self.session.lock(), Some(&self.payload));
    }
}

/// Removes a lock file if its text is unchanged. Programs like this one take turns, so that none removes the new lock
/// of another.
fn remove_if_unchanged(disk: &dyn Disk, lock: Place<'_>, text: Option<&str>) -> io::Result<()> {
    let file = match lock.open() {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    lock_for_removal(&file);
    let mut now = Vec::new();
    (&file).take(MAX_PAYLOAD_BYTES).read_to_end(&mut now)?;
    let identity = |file: &File| file.metadata().map(|found| file_identity(&found));
    let gone = lock.open().and_then(|there| Ok(identity(&there)? != identity(&file)?)).unwrap_or(true);
    if gone || Some(String::from_utf8_lossy(&now).as_ref()) != text {
        return Ok(());
    }
    match disk.remove(lock) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Waits for others that want to remove the same file, which takes them microseconds. Closing the file releases it.
fn lock_for_removal(file: &File) {
    // On other systems such a lock would keep the gateway from reading the file.
    if cfg!(unix) {
        let _ = file.lock();
    }
}

// Creates a lock with its content, so that a kill never leaves an empty one, which would keep every writer out for half an
// hour (store H4): the content is written to a file without a name, or with a private one, and the file then gets the name
// of the lock, which fails if that exists (store H9).

/// The private name of a lock that is being written, before the process and a number. It does not end as a session or a
/// lock.
const DRAFT_SUFFIX: &str = ".clawscope-lock-";

/// Age of a draft that no process is writing any more.
const LEFT_MS: Millis = Millis(60_000.0);

/// Creates a lock with its content; fails if one exists.
fn create_lock(disk: &dyn Disk, session: &SessionFiles<'_>, content: &str, now_ms: Moment) -> io::Result<()> {
    let unnamed = disk.create_unnamed(&session.folder).and_then(|mut file| {
        write_all(disk, &mut file, content.as_bytes())?;
        disk.link_unnamed(&file, session.lock())
    });
    match unnamed {
        Err(error) if is_unsupported(&error) => create_by_name(disk, session, content, now_ms),
        other => other,
    }
}

/// Writes a draft beside the lock and links it to the lock's name.
fn create_by_name(
    disk: &dyn Disk,
    session: &SessionFiles<'_>,
    content: &str,
    now_ms: Moment,
) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let own = [DRAFT_SUFFIX, &std::process::id().to_string(), "-", &number.to_string()].concat();
    let name = with_suffix(session.transcript().name, &own);
    let draft = session.folder.place(&name);
    let linked = write_new(disk, draft, content).and_then(|()| disk.link(draft, session.lock()));
    // The lock is taken or not whether or not its draft stays.
    let _ = disk.remove(draft);
    match linked {
        // A file system without hard links, such as FAT: only there a kill can leave a part of a lock.
        Err(error) if is_unsupported(&error) => write_new(disk, session.lock(), content),
        Ok(()) => {
            remove_left_drafts(disk, session, now_ms);
            Ok(())
        }
        failed => failed,
    }
}

/// Whether the file system lacks such a step.
fn is_unsupported(error: &io::Error) -> bool {
    use io::ErrorKind::{
        CrossesDevices, InvalidInput, IsADirectory, NotFound, PermissionDenied, Unsupported,
    };
    matches!(
        error.kind(),
        CrossesDevices | InvalidInput | IsADirectory | NotFound | PermissionDenied | Unsupported
    )
}

fn write_new(disk: &dyn Disk, at: Place<'_>, content: &str) -> io::Result<()> {
    let mut file: File = disk.create(at, false)?;
    write_all(disk, &mut file, content.as_bytes()).inspect_err(|_| {
        let _ = disk.remove(at);
    })
}

/// Removes the drafts that killed processes left. The caller holds the lock.
fn remove_left_drafts(disk: &dyn Disk, session: &SessionFiles<'_>, now_ms: Moment) {
    let prefix = with_suffix(session.transcript().name, DRAFT_SUFFIX);
    let Ok(items) = std::fs::read_dir(session.folder.path()) else { return };
    for name in items.filter_map(|item| Some(item.ok()?.file_name())) {
        let draft = session.folder.place(&name);
        if name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) && is_left(draft, now_ms) {
            let _ = disk.remove(draft);
        }
    }
}

fn is_left(draft: Place<'_>, now_ms: Moment) -> bool {
    let modified = draft.open().and_then(|file| file.metadata()?.modified());
    let modified_ms = modified.ok().and_then(Moment::from_system_time);
    modified_ms.is_some_and(|modified_ms| now_ms - modified_ms > LEFT_MS)
}

/// A clock that a test can replace.
pub trait Clock {
    /// Returns the time.
    fn now_ms(&self) -> Moment;
    /// Waits about this long.
    fn pause(&self, duration: Millis);
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that is passed in")]
    fn now_ms(&self) -> Moment {
        Moment::from_system_time(SystemTime::now()).unwrap_or_default()
    }

    fn pause(&self, duration: Millis) {
        std::thread::park_timeout(Duration::from_millis(duration.whole()));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::commit::lock_state::lock_path;
    use crate::commit::{SystemClock, SystemDisk};
    use crate::units::Moment;

    fn put(lock: &Path, text: &str) {
        fs::File::create(lock).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn session(transcript: &Path) -> SessionFiles<'_> {
        SessionFiles::open(transcript).unwrap()
    }

    fn folder() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("t.jsonl");
        let lock = lock_path(&transcript).unwrap();
        (folder, transcript, lock)
    }

    #[test]
    fn a_lock_is_released_on_drop_and_on_panic() {
        let (_folder, transcript, lock) = folder();
        let session = session(&transcript);
        let held = Lock::acquire(&session, Millis::ZERO, &SystemClock, &SystemDisk).unwrap();
        assert!(lock.exists());
        drop(held);
        assert!(!lock.exists());
        let panicked = std::panic::catch_unwind(|| {
            let _held = Lock::acquire(&session, Millis::ZERO, &SystemClock, &SystemDisk).unwrap();
            panic!("in the middle");
        });
        assert!(panicked.is_err() && !lock.exists());
    }

    #[test]
    fn a_lock_taken_over_by_another_program_is_not_released() {
        let (_folder, transcript, lock) = folder();
        let session = session(&transcript);
        let held = Lock::acquire(&session, Millis::ZERO, &SystemClock, &SystemDisk).unwrap();
        fs::remove_file(&lock).unwrap();
        put(&lock, "{\"pid\": 1}");
        drop(held);
        assert_eq!(fs::read_to_string(&lock).unwrap(), "{\"pid\": 1}");
    }

    /// Number of open handles of this process on a file.
    #[cfg(target_os = "linux")]
    fn open_handles(path: &Path) -> usize {
        let handles = fs::read_dir("/proc/self/fd").unwrap();
        handles.filter(|one| fs::read_link(one.as_ref().unwrap().path()).is_ok_and(|to| to == path)).count()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_stale_lock_that_was_replaced_meanwhile_is_not_removed() {
        let (_folder, transcript, lock) = folder();
        let stale = "{\"pid\": 1}";
        put(&lock, stale);
        let turn = File::open(&lock).unwrap();
        turn.lock().unwrap();
        let path = transcript.clone();
        let waiting = std::thread::spawn(move || {
            remove_if_unchanged(&SystemDisk, session(&path).lock(), Some("{\"pid\": 1}"))
        });
        while open_handles(&lock) < 2 && !waiting.is_finished() {
            std::thread::yield_now();
        }
        // The writer whose turn it is replaces the stale lock. Only the file distinguishes the two.
        fs::remove_file(&lock).unwrap();
        put(&lock, stale);
        drop(turn);
        waiting.join().unwrap().unwrap();
        assert_eq!(fs::read_to_string(&lock).unwrap(), stale, "the new lock is not removed");
        remove_if_unchanged(&SystemDisk, session(&transcript).lock(), Some("{\"pid\": 2}")).unwrap();
        assert!(lock.exists(), "nor one with another text");
        remove_if_unchanged(&SystemDisk, session(&transcript).lock(), Some(stale)).unwrap();
        assert!(!lock.exists());
    }

    #[test]
    fn two_writers_of_one_program_exclude_each_other() {
        let (_folder, transcript, _) = folder();
        let session = session(&transcript);
        let lock = Lock::acquire(&session, Millis::ZERO, &SystemClock, &SystemDisk).unwrap();
        let second = Lock::acquire(&session, Millis::ZERO, &SystemClock, &SystemDisk);
        assert!(
            matches!(second, Err(CommitError::Refused(Refusal::Locked { pid, .. })) if pid == Some(std::process::id()))
        );
        drop(lock);
        assert!(Lock::acquire(&session, Millis::ZERO, &SystemClock, &SystemDisk).is_ok());
    }

    /// A clock that advances by the pauses and notes them.
    #[derive(Default)]
    struct Pauses(std::cell::RefCell<Vec<Millis>>);

    impl Clock for Pauses {
        fn now_ms(&self) -> Moment {
            Moment::ZERO + self.0.borrow().iter().sum()
        }

        fn pause(&self, duration: Millis) {
            self.0.borrow_mut().push(duration);
        }
    }

    #[test]
    fn pauses_grow_up_to_a_second_until_the_wait_ends() {
        let (_folder, transcript, lock) = folder();
        // Somebody is just writing this lock.
        put(&lock, "");
        let paused = |wait_ms: f64| {
            let clock = Pauses::default();
            assert!(Lock::acquire(&session(&transcript), Millis(wait_ms), &clock, &SystemDisk).is_err());
            clock.0.take().into_iter().map(Millis::whole).collect::<Vec<u64>>()
        };
        assert_eq!(paused(0.0), [0_u64; 0], "the time is over at once");
        assert_eq!(paused(150.0), [50, 100], "to the millisecond");
        assert_eq!(paused(151.0), [50, 100, 150]);
        let long = paused(60_000.0);
        assert_eq!((long[18], long[19], long[20]), (950, 1_000, 1_000));
    }
}
