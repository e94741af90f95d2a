//! The watching thread against a real folder.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use notify::EventKind;

use super::thread::command_for;
use super::*;
use crate::units::Moment;

fn changes(reported: WatchEvent) -> Option<Vec<PathBuf>> {
    match reported {
        WatchEvent::Changed(paths) => Some(paths),
        WatchEvent::Polled(_) => None,
    }
}

/// Returns a thread whose events are discarded.
fn silent(ways: WatchMode) -> WatchThread<impl Fn(WatchEvent) -> bool> {
    WatchThread::new(ways, channel().0, |_| true)
}

/// Watches folders; returns the watch and its changes.
fn watched(folders: &[&Path]) -> (Watch, Receiver<Vec<PathBuf>>) {
    let (teller, heard) = channel();
    let tell = move |reported| changes(reported).is_none_or(|paths| teller.send(paths).is_ok());
    let watch = Watch::start(WatchMode::Auto, tell);
    watch.set_folders(folders.iter().map(|path| path.to_path_buf()).collect(), Moment::NEVER);
    (watch, heard)
}

/// Appends to `path` until a change of it arrives: the watch may not have started yet.
fn until_reported(heard: &Receiver<Vec<PathBuf>>, path: &Path) -> Vec<PathBuf> {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "x").unwrap();
        if let Ok(paths) = heard.recv_timeout(Duration::from_millis(200))
            && paths.iter().any(|reported| reported.file_name() == path.file_name())
        {
            return paths;
        }
    }
    panic!("{} was never reported", path.display());
}

#[test]
fn a_line_appended_to_a_transcript_is_reported_under_every_name_of_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap().join("real");
    std::fs::create_dir(&real).unwrap();
    let other = dir.path().join("other");
    std::os::unix::fs::symlink(&real, &other).unwrap();
    let (_watch, heard) = watched(&[&real, &other]);
    let reported = until_reported(&heard, &real.join("a.jsonl"));
    assert!(
        reported.contains(&real.join("a.jsonl")) && reported.contains(&other.join("a.jsonl")),
        "{reported:?}"
    );
}

#[test]
fn a_burst_is_reported_once_and_temporary_files_never() {
    let dir = tempfile::tempdir().unwrap();
    let (_watch, heard) = watched(&[dir.path()]);
    until_reported(&heard, &dir.path().join("begun.jsonl"));
    for at in 0..20 {
        for name in ["sessions.json", "sessions.json.123.tmp", "notes.txt"] {
            let mut file = std::fs::File::create(dir.path().join(name)).unwrap();
            writeln!(file, "{at}").unwrap();
        }
    }
    let mut reported = Vec::new();
    while let Ok(paths) = heard.recv_timeout(Duration::from_secs(1)) {
        reported.extend(paths);
    }
    let rows = reported.iter().filter(|path| path.ends_with("sessions.json")).count();
    assert!((1..20).contains(&rows), "{rows} of 20");
    assert!(reported.iter().all(|path| path.extension().is_some_and(|ext| ext == "json" || ext == "jsonl")));
}

#[test]
fn read_events_are_ignored_and_lost_events_cause_a_rescan() {
    use notify::event::{AccessKind, Flag};
    let at = |kind| notify::Event::new(kind).add_path("/x/a.jsonl".into());
    assert!(command_for(Ok(at(EventKind::Access(AccessKind::Any)))).is_none());
    assert!(matches!(command_for(Ok(at(EventKind::Any))), Some(WatchCommand::Changed(_))));
    let lost = notify::Event::new(EventKind::Other).set_flag(Flag::Rescan);
    assert!(matches!(command_for(Ok(lost)), Some(WatchCommand::Rescan)));
    assert!(matches!(command_for(Err(notify::Error::generic("x"))), Some(WatchCommand::Rescan)));
}

#[test]
fn a_rescan_reports_every_relevant_file_of_every_folder() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    for name in ["a.jsonl", "b.jsonl.lock", "c.txt"] {
        std::fs::File::create(real.join(name)).unwrap();
    }
    let mut thread = silent(WatchMode::Auto);
    thread.set_folders(BTreeSet::from([real.clone()]), Moment::NEVER);
    thread.record_all_folders();
    let reported: Vec<_> = thread.changed.iter().cloned().collect();
    assert_eq!(reported, [real.clone(), real.join("a.jsonl"), real.join("b.jsonl.lock")]);
    assert!(thread.notify_at.is_some());
}

#[test]
fn folders_without_a_watcher_are_polled() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let mut thread = silent(WatchMode::Poll);
    thread.set_folders(BTreeSet::from([real.clone()]), Moment::NEVER);
    assert!(thread.next_poll.is_some());
    std::fs::File::create(real.join("new.jsonl")).unwrap();
    thread.poll_folders();
    assert_eq!(thread.changed.iter().cloned().collect::<Vec<_>>(), [real.join("new.jsonl")]);
    thread.set_folders(BTreeSet::new(), Moment::NEVER);
    assert!(thread.next_poll.is_none(), "nothing to look at, nothing to wake up for");
}

#[test]
fn changes_between_reading_and_watching_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let file = |name: &str, ms: u64| {
        let file = std::fs::File::create(real.join(name)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH + Duration::from_millis(ms)).unwrap();
    };
    file("before.jsonl", 1_000_000);
    file("after.jsonl", 2_000_000);
    file("after.tmp", 2_000_000);
    let reported = |read_ms: Moment| {
        let mut thread = silent(WatchMode::Auto);
        thread.set_folders(BTreeSet::from([real.clone()]), read_ms);
        thread.changed.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(reported(Moment(1_500_000.0)), [real.clone(), real.join("after.jsonl")]);
    assert!(reported(Moment::NEVER).is_empty());
    let mut thread = silent(WatchMode::Auto);
    thread.set_folders(BTreeSet::from([real.clone()]), Moment::NEVER);
    thread.set_folders(BTreeSet::from([real.clone()]), Moment::ZERO);
    assert!(thread.changed.is_empty(), "a folder that is watched tells by itself");
}

#[test]
fn the_watched_folders_of_the_demo_contain_its_files() {
    use crate::session::store_location::{StoreLocation, StoreRequest};
    let place = StoreLocation::new(&StoreRequest::Demo, crate::gateway::env::Environment::default()).unwrap();
    let store = place.survey();
    let folders = store_folders(&store);
    for part in ["", "agents", "agents/main/sessions", "agents/research/sessions"] {
        assert!(folders.contains(&store.state_dir.join(part)), "{part:?} of {folders:?}");
    }
    assert!(!folders.is_empty() && folders.iter().all(|folder| folder.is_dir()));
}

#[test]
fn a_recreated_folder_is_watched_again_and_its_files_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().canonicalize().unwrap();
    let sessions = state.join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let (_watch, heard) = watched(&[&state, &sessions]);
    until_reported(&heard, &sessions.join("a.jsonl"));
    std::fs::remove_dir_all(&sessions).unwrap();
    std::fs::create_dir(&sessions).unwrap();
    std::fs::File::create(sessions.join("b.jsonl")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut reported = BTreeSet::new();
    while !reported.contains(&sessions.join("b.jsonl")) {
        assert!(Instant::now() < deadline, "{reported:?}");
        reported.extend(heard.recv_timeout(Duration::from_millis(200)).into_iter().flatten());
    }
    until_reported(&heard, &sessions.join("c.jsonl"));
}

#[test]
fn after_lost_changes_every_file_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let (teller, heard) = channel();
    let watch = Watch::start(WatchMode::Ignore, move |reported| {
        changes(reported).is_none_or(|paths| teller.send(paths).is_ok())
    });
    watch.set_folders(BTreeSet::from([real.clone()]), Moment::NEVER);
    for name in ["a.jsonl", "sessions.json"] {
        std::fs::File::create(real.join(name)).unwrap();
    }
    let overflow = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
    watch.commands.send(command_for(Ok(overflow)).unwrap()).unwrap();
    let reported = heard.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(reported, [real.clone(), real.join("a.jsonl"), real.join("sessions.json")]);
}

#[test]
fn polled_folders_are_reported_with_the_reason_and_their_changes() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let (teller, heard) = channel();
    let watch = Watch::start(WatchMode::Poll, move |reported| teller.send(reported).is_ok());
    watch.set_folders(BTreeSet::from([real.clone()]), Moment::NEVER);
    let polled = vec![PolledFolder { folder: real.clone(), reason: PollReason::Requested }];
    assert_eq!(heard.recv_timeout(Duration::from_secs(20)).unwrap(), WatchEvent::Polled(polled.clone()));
    assert_eq!(
        describe_polled(&polled).unwrap(),
        format!("{}: checked every second, because CLAWSCOPE_POLL is set.", real.display())
    );
    let file = real.join("a.jsonl");
    std::fs::File::create(&file).unwrap();
    assert_eq!(heard.recv_timeout(Duration::from_secs(20)).unwrap(), WatchEvent::Changed(vec![file]));
    watch.set_folders(BTreeSet::new(), Moment::NEVER);
    assert_eq!(heard.recv_timeout(Duration::from_secs(20)).unwrap(), WatchEvent::Polled(Vec::new()));
}

#[test]
fn a_failed_watcher_is_replaced_by_polling_and_its_error_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let mut thread = silent(WatchMode::Auto);
    thread.native_watcher = Err(PollReason::Refused("too many watches".into()));
    let polled = thread.find_polled(BTreeSet::from([real.clone()]));
    assert_eq!(
        polled,
        [PolledFolder { folder: real, reason: PollReason::Refused("too many watches".into()) }]
    );
    assert_eq!(
        super::folder::describe_error(&notify::Error::new(notify::ErrorKind::MaxFilesWatch)),
        "the limit of watches is reached (fs.inotify.max_user_watches, max_user_instances)"
    );
}
