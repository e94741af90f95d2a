//! `clawscope watch [PATH]`: prints a line for each entry added to a transcript, with running totals.

mod alerts;
mod archives;
mod followed_transcript;
mod follower;
mod lines;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

pub(super) use self::alerts::AlertJson;
use self::alerts::AlertRequest;
use self::follower::Follower;
pub(super) use self::lines::{ChangeJson, EntryJson};
use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use crate::cli::{StoreArgs, WatchArgs, secrets};
use crate::commit::{Clock as _, SystemClock};
use crate::config;
use crate::export::json::JsonOutput;
use crate::format::{format_count, format_number};
use crate::runtime::on_output_end;
use crate::runtime::relist_queue::Backoff;
use crate::runtime::watch::{
    PolledFolder, Watch, WatchEvent, WatchMode, describe_polled, store_databases, store_folders,
};
use crate::session::fullness_alert::AlertLevels;

/// Delay before a failed read is retried.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn run(
    args: &WatchArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let workspace = match (&args.path, &args.session) {
        (None, Some(session)) => Workspace::for_session(session, place, invocation)?,
        _ => Workspace::from_path(args.path.as_deref(), place, invocation)?,
    };
    if workspace.listed.is_demo {
        return Err(Failure::unreadable(match workspace.missing_path() {
            Some(path) => format!("{}: found no gateway store to follow. Pass a PATH.", path.display()),
            None => "the demo store never changes. Pass a PATH to follow.".to_owned(),
        }));
    }
    let only = args
        .session
        .as_deref()
        .map(|session| Ok::<_, Failure>(workspace.open_session(session, output)?.item.key))
        .transpose()?;
    let shown = (args.json, secrets(args.no_redact));
    let mut following = Follower::new(&workspace, shown, place.agent.clone(), only, invocation.now_ms);
    following.alerts = alert_request(args, invocation)?;
    let (sender, changes) = channel();
    let end = sender.clone();
    // Without a receiver, the command has ended already.
    on_output_end(move || _ = end.send(None));
    let watch = Watch::start(WatchMode::from_env(&invocation.env), move |reported| {
        sender.send(Some(reported)).is_ok()
    });
    watch.set_folders(store_folders(following.store()), invocation.now_ms);
    watch.set_databases(store_databases(following.store()));
    report_start(&workspace, (following.len() as u64, args.session.is_some()), args.json, output)?;
    // Entries added while the watch started are reported now, not with the next change.
    let mut changed = following.paths();
    let mut pace = Backoff::default();
    loop {
        following.process_changes(&changed, output)?;
        if following.needs_survey() && pace.is_due() {
            let (began, began_ms) = (Instant::now(), SystemClock.now_ms());
            following.resurvey(&workspace, output)?;
            watch.set_folders(store_folders(following.store()), began_ms);
            watch.set_databases(store_databases(following.store()));
            pace.record(began.elapsed());
        }
        output.flush()?;
        let wait = following.needs_survey().then(|| pace.remaining());
        let again = following.has_retries().then_some(RETRY_INTERVAL);
        let Some(heard) = receive_events(&changes, wait.into_iter().chain(again).min()) else {
            return Ok(());
        };
        changed = BTreeSet::new();
        for reported in heard {
            match reported {
                WatchEvent::Changed(paths) => changed.extend(paths),
                WatchEvent::Polled(polled) => report_polled(&polled, args.json, output)?,
            }
        }
    }
}

/// Returns the alerts that `--alert` requests; the configuration says how they are raised.
fn alert_request(args: &WatchArgs, invocation: &Invocation) -> Result<Option<AlertRequest>, Failure> {
    let levels = AlertLevels::new(&args.alert);
    if levels.is_empty() {
        return Ok(None);
    }
    let config = config::load(&invocation.env).map_err(|error| Failure::usage(error.to_string()))?.alerts;
    Ok(Some(AlertRequest { levels, config }))
}

/// Waits up to `wait` for events and returns all pending ones: empty on timeout, `None` when the watch has ended or no one
/// reads the output.
fn receive_events(
    reported: &Receiver<Option<WatchEvent>>,
    wait: Option<Duration>,
) -> Option<Vec<WatchEvent>> {
    let first = match wait {
        None => Some(reported.recv().ok()?),
        Some(wait) => match reported.recv_timeout(wait) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return None,
        },
    };
    first.into_iter().chain(reported.try_iter()).collect()
}

/// Reports the folders that are polled: their changes arrive later.
/// Folders that send no notifications, so that they are polled.
#[derive(Serialize, JsonSchema)]
pub(super) struct PollingJson {
    /// `polling`.
    event: &'static str,
    folders: Vec<PolledFolderJson>,
}

impl JsonOutput for PollingJson {}

#[derive(Serialize, JsonSchema)]
struct PolledFolderJson {
    path: String,
    why: String,
}

/// The first line.
#[derive(Serialize, JsonSchema)]
pub(super) struct StartJson {
    /// `following`.
    event: &'static str,
    place: String,
    /// Number of sessions.
    sessions: u64,
}

impl JsonOutput for StartJson {}

fn report_polled(polled: &[PolledFolder], json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        let folder = |polled: &PolledFolder| PolledFolderJson {
            path: polled.folder.to_string_lossy().into_owned(),
            why: polled.reason.to_string(),
        };
        output.json(&PollingJson { event: "polling", folders: polled.iter().map(folder).collect() })?;
    } else if let Some(words) = describe_polled(polled) {
        output.note(&words)?;
    }
    Ok(())
}

fn report_start(
    workspace: &Workspace,
    (sessions, is_chosen): (u64, bool),
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    if json {
        let place = workspace.listed.name.clone();
        output.json(&StartJson { event: "following", place, sessions })?;
    } else {
        let listed = workspace.listed.items.len() as u64;
        let name = &workspace.listed.name;
        let (sessions, why) = if is_chosen || listed <= sessions {
            (format_count(sessions, "session", "sessions"), "")
        } else {
            let counts = format!("{} of {} sessions", format_number(sessions), format_number(listed));
            (counts, " (archived ones do not change)")
        };
        output.note(&format!("following {sessions} of {name}{why}; ctrl-c stops"))?;
    }
    Ok(output.flush()?)
}
