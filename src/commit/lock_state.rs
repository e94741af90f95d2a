//! Reads a lock file: free, held or stale (store H1–H5).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::commit::process::{self, ProcessNamespace, ProcessState};
use crate::commit::session_folder::{LOCK_SUFFIX, file_name, parent, with_suffix};
use crate::files;
use crate::js::{self, Value};
use crate::units::{Millis, Moment};

/// Age at which a lock of any owner is stale (store H3, H7).
const STALE_MS: Millis = Millis(1_800_000.0);
/// Age below which a lock counts as held although its process is not visible: it may run in another container
/// (store H9).
const FOREIGN_GRACE_MS: Millis = Millis(60_000.0);
/// Limit for the payload; a real one has about a hundred bytes.
pub(super) const MAX_PAYLOAD_BYTES: u64 = 4096;

/// The state of a transcript's lock.
#[derive(Debug, Clone, PartialEq)]
pub enum LockState {
    Free,
    /// Someone holds it, or is about to.
    Held {
        /// The holder's process id, if the lock names it.
        pid: Option<u32>,
        /// Start of the lock, if the lock names it.
        since_ms: Option<Moment>,
        /// Whether that process is visible and runs.
        live: bool,
    },
    /// The holder left it behind: the next writer takes it.
    Stale {
        /// The reasons, in the gateway's own words.
        reasons: Vec<StaleReason>,
    },
}

/// A reason for a lock to be stale (store H3, H5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleReason {
    /// The lock names no process.
    MissingPid,
    /// The named process has ended.
    DeadPid,
    /// Another process has the named id by now.
    RecycledPid,
    /// The lock names no start.
    InvalidCreatedAt,
    /// The lock is older than 30 minutes.
    TooOld,
}

impl StaleReason {
    /// The gateway's own word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingPid => "missing-pid",
            Self::DeadPid => "dead-pid",
            Self::RecycledPid => "recycled-pid",
            Self::InvalidCreatedAt => "invalid-createdAt",
            Self::TooOld => "too-old",
        }
    }
}

/// Returns the path of a transcript's lock: symbolic links are resolved in the folder, not in the file name (store H1).
pub fn lock_path(transcript: &Path) -> io::Result<PathBuf> {
    let name = with_suffix(file_name(transcript)?, LOCK_SUFFIX);
    Ok(parent(transcript).canonicalize()?.join(name))
}

/// Reads the state of a transcript's lock; `now_ms` decides whether it is stale.
pub fn lock_state(transcript: &Path, now_ms: Moment) -> io::Result<LockState> {
    Ok(read_lock(files::open_without_link(&lock_path(transcript)?), now_ms)?.0)
}

/// Returns the state of a lock file as it was opened, and its text if it exists.
pub(super) fn read_lock(opened: io::Result<File>, now_ms: Moment) -> io::Result<(LockState, Option<String>)> {
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((LockState::Free, None)),
        // A link, a folder or a pipe in the lock's place: no program can take that lock, so it counts as held.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Ok((LockState::Held { pid: None, since_ms: None, live: true }, None));
        }
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let modified = file.metadata()?.modified()?;
    file.take(MAX_PAYLOAD_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let modified_ms = Moment::from_system_time(modified).unwrap_or_default();
    Ok((classify(&LockPayload::read(&text), now_ms, modified_ms), Some(text)))
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LockPayload {
    pid: Option<u32>,
    since_ms: Option<Moment>,
    start: Option<f64>,
    /// Where the process runs; only this program writes it.
    home: Option<ProcessNamespace>,
}

impl LockPayload {
    fn read(text: &str) -> Self {
        let value = js::parse(text).unwrap_or(Value::Null);
        let number = |name| value.get(name).and_then(Value::as_f64);
        let since = value.get("createdAt").filter(|value| value.as_str().is_some());
        let since = Some(js::date_value(since)).filter(|ms| ms.is_finite());
        Self {
            // Ids beyond u32 belong to no process; the cast maps them to the largest one.
            pid: number("pid").filter(|pid| pid.fract() == 0.0 && *pid > 0.0).map(|pid| pid as u32),
            since_ms: since,
            start: number("starttime").filter(|start| start.fract() == 0.0 && *start >= 0.0),
            home: serde_json::from_str::<OwnPart>(text).ok().map(|own| own.clawscope),
        }
    }

    /// Returns the text of this process's lock (store H2). Its own part, which other programs ignore, says where the
    /// process runs, so that a lock that it leaves behind is known to be left at once.
    pub(super) fn for_this_process(now_ms: Moment) -> String {
        let pid = std::process::id();
        let start = process::start_ticks(pid)
            .map_or_else(String::new, |ticks| format!(",\n  \"starttime\": {ticks}"));
        let own = process::process_namespace().and_then(|home| serde_json::to_string(&home).ok());
        let own = own.map_or_else(String::new, |own| format!(",\n  \"clawscope\": {own}"));
        format!("{{\n  \"pid\": {pid},\n  \"createdAt\": \"{}\"{start}{own}\n}}", js::iso_text(now_ms))
    }
}

/// The part of a lock that only this program writes.
#[derive(Deserialize)]
struct OwnPart {
    clawscope: ProcessNamespace,
}

/// Decides between held and stale (store H3–H5, S2). `modified_ms` is the lock file's modification time.
fn classify(payload: &LockPayload, now_ms: Moment, modified_ms: Moment) -> LockState {
    let seen = payload.pid.map(process::process_state);
    let held = LockState::Held {
        pid: payload.pid,
        since_ms: payload.since_ms,
        live: seen == Some(ProcessState::Alive),
    };
    let mut reasons = Vec::new();
    match (payload.pid, seen) {
        (Some(pid), Some(ProcessState::Alive)) if is_recycled(pid, payload.start) => {
            reasons.push(StaleReason::RecycledPid);
        }
        (_, Some(ProcessState::Alive)) => {}
        (_, Some(ProcessState::Gone | ProcessState::Zombie)) => reasons.push(StaleReason::DeadPid),
        (_, None) => reasons.push(StaleReason::MissingPid),
    }
    // Without a start in the lock, the file's time counts.
    let age_ms = now_ms - payload.since_ms.unwrap_or(modified_ms);
    // A process of this boot and this namespace would be visible.
    let is_at_home = payload.home.is_some() && payload.home == process::process_namespace();
    if seen == Some(ProcessState::Gone) && !is_at_home && age_ms.abs() < FOREIGN_GRACE_MS {
        return held;
    }
    match payload.since_ms {
        None => reasons.push(StaleReason::InvalidCreatedAt),
        Some(_) if age_ms > STALE_MS => reasons.push(StaleReason::TooOld),
        Some(_) => {}
    }
    let being_written = reasons
        .iter()
        .all(|reason| matches!(reason, StaleReason::MissingPid | StaleReason::InvalidCreatedAt));
    if reasons.is_empty() || (being_written && now_ms - modified_ms <= STALE_MS) {
        return held;
    }
    LockState::Stale { reasons }
}

/// Whether another process has the id by now. A lock with our own id and no start time comes from an earlier container:
/// on Linux we always write one.
fn is_recycled(pid: u32, start: Option<f64>) -> bool {
    match (start, process::start_ticks(pid)) {
        (Some(then), Some(now)) => then != now as f64,
        (None, Some(_)) => pid == std::process::id(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment(1_772_000_000_000.0);
    const MINUTE: Millis = Millis(60_000.0);
    const TICK: Millis = Millis(1.0);

    fn state(text: &str, age_of_file: Millis) -> LockState {
        classify(&LockPayload::read(text), NOW, NOW - age_of_file)
    }

    fn payload(pid: u64, age: Millis, start: &str) -> String {
        format!("{{\"pid\": {pid}, \"createdAt\": \"{}\"{start}}}", js::iso_text(NOW - age))
    }

    fn reasons(state: LockState) -> Vec<&'static str> {
        match state {
            LockState::Stale { reasons } => reasons.into_iter().map(StaleReason::as_str).collect(),
            other => panic!("not stale: {other:?}"),
        }
    }

    #[test]
    fn a_lock_has_the_format_of_the_gateways() {
        let pid = std::process::id();
        let start = process::start_ticks(pid)
            .map_or_else(String::new, |ticks| format!(",\n  \"starttime\": {ticks}"));
        let text = LockPayload::for_this_process(NOW);
        let begins = format!("{{\n  \"pid\": {pid},\n  \"createdAt\": \"2026-02-25T06:13:20.000Z\"{start}");
        assert!(text.starts_with(&begins) && text.ends_with("\n}"), "{text}");
        assert_eq!(LockPayload::read(&text).home, process::process_namespace());
        assert_eq!(
            state(&LockPayload::for_this_process(NOW), Millis::ZERO),
            LockState::Held { pid: Some(pid), since_ms: Some(NOW), live: true }
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_dead_owner_frees_the_lock_after_a_minute_because_it_may_run_in_another_container() {
        let gone = u64::from(u32::MAX);
        assert_eq!(
            state(&payload(gone, MINUTE - TICK, ""), Millis::ZERO),
            LockState::Held { pid: Some(u32::MAX), since_ms: Some(NOW - MINUTE + TICK), live: false }
        );
        assert_eq!(reasons(state(&payload(gone, MINUTE, ""), Millis::ZERO)), ["dead-pid"]);
        // A lock without a start is as old as its file.
        let undated = format!("{{\"pid\": {gone}}}");
        assert!(matches!(state(&undated, MINUTE - TICK), LockState::Held { live: false, .. }));
        assert_eq!(reasons(state(&undated, MINUTE)), ["dead-pid", "invalid-createdAt"]);
        // A clock far ahead does not keep it for ever.
        assert_eq!(reasons(state(&payload(gone, MINUTE * -1.0, ""), Millis::ZERO)), ["dead-pid"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_dead_owner_of_this_boot_and_namespace_frees_the_lock_at_once() {
        let home = serde_json::to_string(&process::process_namespace().unwrap()).unwrap();
        let lock = |home: &str| payload(u32::MAX.into(), Millis::ZERO, &format!(", \"clawscope\": {home}"));
        assert_eq!(reasons(state(&lock(&home), Millis::ZERO)), ["dead-pid"]);
        let elsewhere = home.replace("pid:[", "pid:[9");
        assert!(matches!(state(&lock(&elsewhere), Millis::ZERO), LockState::Held { live: false, .. }));
    }

    #[test]
    #[cfg(unix)]
    fn a_lock_older_than_half_an_hour_is_stale_even_when_its_owner_runs() {
        let running = u64::from(std::os::unix::process::parent_id());
        assert!(matches!(
            state(&payload(running, MINUTE * 30.0, ""), Millis::ZERO),
            LockState::Held { live: true, .. }
        ));
        assert_eq!(reasons(state(&payload(running, MINUTE * 30.0 + TICK, ""), Millis::ZERO)), ["too-old"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn another_process_with_the_same_id_does_not_own_the_lock() {
        let parent = std::os::unix::process::parent_id();
        let start = process::start_ticks(parent).unwrap();
        let lock = |ticks: u64| payload(parent.into(), MINUTE, &format!(", \"starttime\": {ticks}"));
        assert!(matches!(state(&lock(start), Millis::ZERO), LockState::Held { live: true, .. }));
        assert_eq!(reasons(state(&lock(start + 1), Millis::ZERO)), ["recycled-pid"]);
        assert_eq!(reasons(state(&lock(0), Millis::ZERO)), ["recycled-pid"], "0 is a time too");
        // An invalid start time is ignored.
        let odd = payload(parent.into(), MINUTE, ", \"starttime\": 1.5");
        assert!(matches!(state(&odd, Millis::ZERO), LockState::Held { live: true, .. }));
        // A lock with our own id and no start time was written before a restart of the container.
        assert_eq!(
            reasons(state(&payload(std::process::id().into(), Millis::ZERO, ""), Millis::ZERO)),
            ["recycled-pid"]
        );
    }

    #[test]
    fn a_young_malformed_lock_counts_as_held_because_its_owner_may_still_write() {
        for text in ["", "{", "null", "{\"pid\": -1}", "{\"pid\": 1.5, \"createdAt\": 5}"] {
            let held = LockState::Held { pid: None, since_ms: None, live: false };
            assert_eq!(state(text, MINUTE * 30.0), held, "{text}");
            assert_eq!(
                reasons(state(text, MINUTE * 30.0 + TICK)),
                ["missing-pid", "invalid-createdAt"],
                "{text}"
            );
        }
    }

    #[test]
    fn the_lock_is_in_the_folder_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let expected = folder.path().canonicalize().unwrap().join("a.jsonl.lock");
        assert_eq!(lock_path(&folder.path().join("a.jsonl")).unwrap(), expected);
        assert!(lock_path(&folder.path().join("nowhere/a.jsonl")).is_err());
    }
}
