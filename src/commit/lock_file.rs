//! Creates a lock with its content, so that a kill never leaves an empty one, which would keep every writer out for half an
//! hour (store H4): the content is written to a file without a name, or with a private one, and the file then gets the name
//! of the lock, which fails if that exists (store H9).

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::commit::disk::{Disk, write_all};
use crate::commit::session_folder::{Place, SessionFiles, with_suffix};
use crate::units::{Millis, Moment};

/// The private name of a lock that is being written, before the process and a number. It does not end as a session or a
/// lock.
const DRAFT_SUFFIX: &str = ".clawscope-lock-";
/// Age of a draft that no process is writing any more.
const LEFT_MS: Millis = Millis(60_000.0);

/// Creates a lock with its content; fails if one exists.
pub(super) fn create_lock(
    disk: &dyn Disk,
    session: &SessionFiles<'_>,
    content: &str,
    now_ms: Moment,
) -> io::Result<()> {
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
