//! The log of clawscope's events, for maintainers: the last events always, for crash reports, and all of them in a file
//! when `CLAWSCOPE_LOG` names a level. Events hold counts, times and paths; no text of a transcript.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::config::log_dir;
use crate::gateway::env::Environment;
use crate::runtime::watcher_pipe;

/// Number of events that a crash report shows.
const RECENT_EVENTS: usize = 50;
/// A static, because the panic hook has no other access to it.
static RECENT: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Starts the log. A file that cannot be written is no reason to stop.
pub(super) fn start(env: &Environment) {
    let level = env.get("CLAWSCOPE_LOG").and_then(|name| name.parse::<Level>().ok());
    let file = level.and_then(|_| open_log(&log_dir(env)).ok()).map(Mutex::new);
    // A test may have started it already.
    _ = tracing::subscriber::set_global_default(Log { level: level.unwrap_or(Level::INFO), file });
}

/// Returns the last events, oldest first.
pub(super) fn recent_events() -> Vec<String> {
    RECENT.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// Appends an event to the last events.
pub(super) fn push_recent(recent: &mut VecDeque<String>, event: String) {
    if recent.len() == RECENT_EVENTS {
        recent.pop_front();
    }
    recent.push_back(event);
}

fn open_log(dir: &Path) -> io::Result<File> {
    fs::create_dir_all(dir)?;
    let path = dir.join("log");
    // A pipe would wait for its reader.
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    private_options().append(true).create(true).open(path)
}

/// Creates files that only the person can read: the paths in them are nobody else's business.
pub(super) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The receiver of all events.
struct Log {
    level: Level,
    file: Option<Mutex<File>>,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("clawscope")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let (level, target) = (event.metadata().level(), event.metadata().target());
        let mut line = Line(format!("{} {level} {target}:", jiff::Timestamp::now()));
        event.record(&mut line);
        if let Some(file) = &self.file {
            _ = writeln!(file.lock().unwrap_or_else(PoisonError::into_inner), "{}", line.0);
        }
        watcher_pipe::note_event(&line.0);
        push_recent(&mut RECENT.lock().unwrap_or_else(PoisonError::into_inner), line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// One event as text.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
