//! `clawscope watch [PATH]`: a line for each entry that is added to a transcript, with running totals.

mod archives;
mod followed;
mod following;
mod lines;
mod told;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use self::following::Following;
use super::failure::Failure;
use super::output::Output;
use super::scene::{Around, Scene};
use super::words::counted;
use crate::cli::{PlaceArgs, WatchArgs, secrets};
use crate::commit::{Clock as _, SystemClock};
use crate::js::{Object, Value};
use crate::runtime::pace::Pace;
use crate::runtime::watch::{Polled, Told, Watch, Ways, databases_of, folders_of, in_words};

/// What could not be read is tried again so soon.
const AGAIN: Duration = Duration::from_secs(1);

/// Follows a store until it is interrupted.
pub(super) fn run(
    args: &WatchArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let scene = match (&args.path, &args.session) {
        (None, Some(session)) => Scene::for_session(session, place, around)?,
        _ => Scene::list(args.path.as_deref(), place, around)?,
    };
    if scene.listed.demo {
        return Err(Failure::unreadable(match scene.missing() {
            Some(path) => format!("{}: there is no gateway store to follow. Name a PATH.", path.display()),
            None => "the demo store never changes. Name a PATH to follow.".to_owned(),
        }));
    }
    let only = args
        .session
        .as_deref()
        .map(|session| Ok::<_, Failure>(scene.open(session)?.session.key))
        .transpose()?;
    let shown = (args.json, secrets(args.no_redact));
    let mut following = Following::new(&scene, shown, place.agent.clone(), only, around.now_ms);
    let (sender, changes) = channel();
    let watch = Watch::start(Ways::of(&around.env), move |told| sender.send(told).is_ok());
    watch.set(folders_of(following.store()), around.now_ms);
    watch.follow(databases_of(following.store()));
    told_start(&scene, following.len() as u64, args.json, output)?;
    // What was added while the watch began is told at once, not with the change after it.
    let mut changed = following.paths();
    let mut pace = Pace::default();
    loop {
        following.take(&changed, output)?;
        if following.wants_survey() && pace.is_due() {
            let (began, began_ms) = (Instant::now(), SystemClock.now_ms());
            following.survey(&scene, output)?;
            watch.set(folders_of(following.store()), began_ms);
            watch.follow(databases_of(following.store()));
            pace.took(began.elapsed());
        }
        output.flush()?;
        let wait = following.wants_survey().then(|| pace.wait());
        let again = following.is_behind().then_some(AGAIN);
        let Some(heard) = next(&changes, wait.into_iter().chain(again).min()) else { return Ok(()) };
        changed = BTreeSet::new();
        for told in heard {
            match told {
                Told::Changed(paths) => changed.extend(paths),
                Told::Polled(polled) => tell_polled(&polled, args.json, output)?,
            }
        }
    }
}

/// What is told next: everything that waits. Nothing after this time; none when the watch is over.
fn next(told: &Receiver<Told>, wait: Option<Duration>) -> Option<Vec<Told>> {
    let first = match wait {
        None => Some(told.recv().ok()?),
        Some(wait) => match told.recv_timeout(wait) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return None,
        },
    };
    Some(first.into_iter().chain(told.try_iter()).collect())
}

/// Tells which folders are looked at now and then: their changes come later than others.
fn tell_polled(polled: &[Polled], json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        let folder = |polled: &Polled| {
            Value::from(Object::from([
                ("path", Value::from(polled.folder.to_string_lossy().as_ref())),
                ("why", Value::from(polled.why.to_string().as_str())),
            ]))
        };
        let folders: Vec<Value> = polled.iter().map(folder).collect();
        output.json(Object::from([("event", Value::from("polling")), ("folders", Value::from(folders))]))?;
    } else if let Some(words) = in_words(polled) {
        output.note(&words)?;
    }
    Ok(())
}

fn told_start(scene: &Scene, sessions: u64, json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        output.json(Object::from([
            ("event", Value::from("following")),
            ("place", Value::from(scene.listed.name.as_str())),
            ("sessions", Value::from(sessions)),
        ]))?;
    } else {
        let sessions = counted(sessions, "session", "sessions");
        output.note(&format!("following {sessions} of {}; ctrl-c ends", scene.listed.name))?;
    }
    Ok(output.flush()?)
}
