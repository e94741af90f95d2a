//! The gateway's own lock on a transcript, taken exactly as the gateway takes it, and given back when
//! the guard is dropped, also in a panic (store H6, H8, H9).

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::commit::clock::Clock;
use crate::commit::lock_state::{LockState, PAYLOAD_MAX, Payload, inspect, lock_path};
use crate::commit::refusal::{CommitError, Refusal};

/// Pause between two tries, ms.
const PAUSE_MS: u64 = 50;

/// A lock that is held. Dropping it gives it back, if it is still ours.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    payload: String,
}

impl Lock {
    /// Takes the lock of a transcript; tries for at most `wait_ms`.
    pub(super) fn take(transcript: &Path, wait_ms: u64, clock: &dyn Clock) -> Result<Self, CommitError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            |source| CommitError::Lock { path, source }
        };
        let path = lock_path(transcript).map_err(failed(transcript))?;
        let deadline = clock.now_ms().saturating_add(wait_ms as i64);
        loop {
            let payload = Payload::ours(clock.now_ms());
            match create(&path, &payload) {
                Ok(()) => return Ok(Self { path, payload }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&path)(error)),
            }
            let (state, text) = inspect(&path, clock.now_ms()).map_err(failed(&path))?;
            match state {
                LockState::Free => {}
                LockState::Stale { .. } => remove_if(&path, text.as_deref()).map_err(failed(&path))?,
                LockState::Held { pid, since_ms, .. } if clock.now_ms() >= deadline => {
                    return Err(Refusal::Locked { path: transcript.into(), pid, since_ms }.into());
                }
                LockState::Held { .. } => clock.pause(PAUSE_MS),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Nothing can be done about a lock that cannot be removed; it is stale as soon as we end.
        let _ = remove_if(&self.path, Some(&self.payload));
    }
}

/// Makes the lock file and says in one write who holds it (store H9).
fn create(path: &Path, payload: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(payload.as_bytes()).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Removes a lock file that still says what it said.
fn remove_if(path: &Path, text: Option<&str>) -> io::Result<()> {
    let now = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let now = String::from_utf8_lossy(&now[..now.len().min(PAYLOAD_MAX as usize)]).into_owned();
    if Some(now.as_str()) != text {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::SystemClock;

    fn folder() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("t.jsonl");
        let lock = lock_path(&transcript).unwrap();
        (folder, transcript, lock)
    }

    #[test]
    fn a_lock_is_given_back_when_it_is_dropped_and_in_a_panic() {
        let (_folder, transcript, lock) = folder();
        let held = Lock::take(&transcript, 0, &SystemClock).unwrap();
        assert!(lock.exists());
        drop(held);
        assert!(!lock.exists());
        let panicked = std::panic::catch_unwind(|| {
            let _held = Lock::take(&transcript, 0, &SystemClock).unwrap();
            panic!("in the middle");
        });
        assert!(panicked.is_err() && !lock.exists());
    }

    #[test]
    fn a_lock_that_someone_else_took_over_is_not_given_back_for_them() {
        let (_folder, transcript, lock) = folder();
        let held = Lock::take(&transcript, 0, &SystemClock).unwrap();
        fs::remove_file(&lock).unwrap();
        fs::File::create(&lock).unwrap().write_all(b"{\"pid\": 1}").unwrap();
        drop(held);
        assert_eq!(fs::read_to_string(&lock).unwrap(), "{\"pid\": 1}");
    }

    #[test]
    fn two_writers_of_one_program_keep_each_other_out() {
        let (_folder, transcript, _) = folder();
        let held = Lock::take(&transcript, 0, &SystemClock).unwrap();
        let second = Lock::take(&transcript, 0, &SystemClock);
        assert!(
            matches!(second, Err(CommitError::Refused(Refusal::Locked { pid, .. })) if pid == Some(std::process::id()))
        );
        drop(held);
        assert!(Lock::take(&transcript, 0, &SystemClock).is_ok());
    }
}
