//! `clawscope watch [PATH]`: a line for each entry that is added to a transcript, with running totals.

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;

use super::described::{number, tokens_of, tool_of};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::scene::{Around, Scene};
use super::words::{counted, estimated, grouped, moment, percent};
use crate::cli::{PlaceArgs, WatchArgs};
use crate::commit::{Clock as _, SystemClock};
use crate::context::budget::running_totals;
use crate::ids::{EntryIx, SessionKey};
use crate::inspect::Inspection;
use crate::inspect::excerpt::excerpt;
use crate::inspect::open::open;
use crate::js::{Object, Value};
use crate::runtime::watch::{Watch, databases_of, folders_of};
use crate::store::entry::EntryKind;
use crate::store::session::Session;
use crate::store::sqlite::database_of;
use crate::store::survey::Store;

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
    let mut followed = Following {
        json: args.json,
        agent: place.agent.clone(),
        only,
        followed: HashMap::new(),
        store: Arc::clone(&scene.listed.store),
    };
    followed.follow(Start::AtEnd);
    let (sender, changes) = channel();
    let watch = Watch::start(move |paths| sender.send(paths).is_ok());
    watch.set(folders_of(&followed.store), around.now_ms);
    watch.follow(databases_of(&followed.store));
    followed.told_start(&scene, output)?;
    // What was added while the watch began is told at once, not with the change after it.
    let mut changed: BTreeSet<PathBuf> = followed.followed.keys().cloned().collect();
    loop {
        let began_ms = SystemClock.now_ms();
        followed.take(&changed, &scene, output)?;
        watch.set(folders_of(&followed.store), began_ms);
        watch.follow(databases_of(&followed.store));
        output.flush()?;
        let Ok(paths) = changes.recv() else { return Ok(()) };
        changed = paths.into_iter().collect();
    }
}

/// Where the telling of a transcript begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// What was there when the watch began is known.
    AtEnd,
    /// The transcript came later: all of it is new.
    AtZero,
}

/// A transcript and how much of it was told.
#[derive(Debug)]
struct Followed {
    key: SessionKey,
    /// Bytes told.
    done: u64,
    /// Read with its first change.
    known: Option<Box<Inspection>>,
}

struct Following {
    json: bool,
    agent: Option<String>,
    only: Option<SessionKey>,
    followed: HashMap<PathBuf, Followed>,
    store: Arc<Store>,
}

impl Following {
    /// Takes up the sessions of the store that are not followed yet.
    fn follow(&mut self, start: Start) {
        for session in &self.store.sessions {
            let wanted = self.only.as_ref().is_none_or(|key| *key == session.key)
                && self.agent.as_ref().is_none_or(|agent| *agent == session.agent)
                && !session.archived();
            let Some(path) = session.path.as_ref().filter(|_| wanted) else { continue };
            let bytes = || bytes_of(session, path);
            let followed = self.followed.entry(path.clone()).or_insert_with(|| Followed {
                key: session.key.clone(),
                done: if start == Start::AtEnd { bytes() } else { 0 },
                known: None,
            });
            followed.key = session.key.clone();
        }
    }

    fn told_start(&self, scene: &Scene, output: &mut Output) -> Result<(), Failure> {
        let sessions = self.followed.len() as u64;
        if self.json {
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

    fn take(
        &mut self,
        changed: &BTreeSet<PathBuf>,
        scene: &Scene,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if changed.iter().any(|path| self.is_news_of_store(path)) {
            self.store = scene.relisted(SystemClock.now_ms()).store;
            self.follow(Start::AtZero);
        }
        let mut touched: Vec<PathBuf> =
            self.followed.keys().filter(|path| is_touched(path, changed)).cloned().collect();
        touched.sort();
        for path in touched {
            self.tell_new(&path, output)?;
        }
        Ok(())
    }

    /// Rows, unknown transcripts and folders say that the store is to be listed again.
    fn is_news_of_store(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unknown = name.ends_with(".jsonl") && !self.followed.contains_key(path);
        let is_database = self.store.databases.iter().any(|holding| holding.path == path);
        name == "sessions.json" || is_database || unknown || path.is_dir()
    }

    /// Tells the entries that stand after the bytes told.
    fn tell_new(&mut self, path: &Path, output: &mut Output) -> Result<(), Failure> {
        let Some(followed) = self.followed.get_mut(path) else { return Ok(()) };
        let listed = self.store.sessions.iter().find(|session| session.path.as_deref() == Some(path));
        let len = listed.map_or(0, |session| bytes_of(session, path));
        if len == followed.done {
            return Ok(());
        }
        let previous = followed.known.as_deref();
        let opened = open(&self.store, &followed.key, previous, SystemClock.now_ms(), &mut |_, _| true);
        // A transcript that is not there yet, or no more, comes again with its next change.
        let Ok(inspection) = opened else { return Ok(()) };
        let index = &inspection.index;
        if index.end < followed.done {
            output.note(&format!(
                "{}: the transcript was replaced; it is followed from its new end",
                path.display()
            ))?;
            followed.done = index.end;
        }
        let done = followed.done;
        let new: Vec<EntryIx> =
            index.iter().filter(|(_, entry)| entry.offset >= done).map(|(ix, _)| ix).collect();
        followed.done = index.end.max(done);
        tell(&inspection, &new, self.json, output)?;
        followed.known = Some(Box::new(inspection));
        Ok(())
    }
}

/// Bytes of a transcript now; of one in a database as it was listed, which is done anew with every commit to that.
fn bytes_of(session: &Session, path: &Path) -> u64 {
    match session.kept.database() {
        Some(_) => session.bytes,
        None => std::fs::metadata(path).map_or(0, |meta| meta.len()),
    }
}

/// A change of a folder may be one of any file in it, and one of a database one of any transcript.
fn is_touched(path: &Path, changed: &BTreeSet<PathBuf>) -> bool {
    changed.contains(path)
        || database_of(path).is_some_and(|database| changed.contains(&database))
        || path.parent().is_some_and(|folder| changed.contains(folder))
}

/// Prints entries with the totals that stand after each.
fn tell(inspection: &Inspection, new: &[EntryIx], json: bool, output: &mut Output) -> Result<(), Failure> {
    if new.is_empty() {
        return Ok(());
    }
    let totals = Totals::of(inspection);
    for entry in new {
        let (context, session) = totals.at(*entry);
        if json {
            output.json(entry_members(inspection, *entry, context, session))?;
        } else {
            print(inspection, *entry, context, output)?;
        }
    }
    Ok(())
}

/// Running totals by entry, in estimated tokens.
struct Totals {
    /// What the model would be sent, by entry of the file.
    context: Vec<u64>,
    /// All message entries up to here.
    session: Vec<u64>,
}

impl Totals {
    fn of(inspection: &Inspection) -> Self {
        let index = &inspection.index;
        let messages = &inspection.context.messages;
        let fixed = inspection.fixed_tokens();
        let running = running_totals(fixed, messages.iter().map(|message| tokens_of(&message.size)));
        let at: HashMap<EntryIx, u64> =
            messages.iter().zip(running).map(|(message, total)| (message.entry, total)).collect();
        let mut now = fixed;
        let context = index.iter().map(|(ix, _)| {
            now = at.get(&ix).copied().unwrap_or(now);
            now
        });
        let context = context.collect();
        let own = index.entries.iter().map(|entry| {
            entry.message.filter(|_| entry.kind == EntryKind::Message).map_or(0, |size| tokens_of(&size))
        });
        Self { context, session: running_totals(0, own) }
    }

    fn at(&self, entry: EntryIx) -> (u64, u64) {
        (self.context[entry.at()], self.session[entry.at()])
    }
}

fn entry_members(inspection: &Inspection, ix: EntryIx, context: u64, session: u64) -> Object {
    let index = &inspection.index;
    let entry = index.entry(ix);
    let item = &inspection.session;
    let size = entry.message;
    let share = (item.window > 0).then(|| context * 100 / item.window);
    Object::from([
        ("event", Value::from("entry")),
        ("key", Value::from(item.key.0.as_str())),
        ("agent", Value::from(item.agent.as_str())),
        ("path", Value::from(inspection.source.path().to_string_lossy().as_ref())),
        ("entry", Value::from(index.name(ix))),
        ("parent", Value::from(inspection.tree.parent(ix).map(|parent| index.name(parent)))),
        ("type", Value::from(entry.kind.word())),
        ("role", Value::from(size.map(|size| size.role.word()))),
        ("tool", Value::from(size.and_then(|size| tool_of(inspection, ix, &size)))),
        ("tokens", Value::from(size.map(|size| tokens_of(&size)))),
        ("chars", Value::from(size.map(|size| size.pi_chars.chars()))),
        ("time", number(entry.time)),
        ("contextTokens", Value::from(context)),
        ("sessionTokens", Value::from(session)),
        ("window", Value::from(item.window)),
        ("percent", Value::from(share)),
    ])
}

fn print(inspection: &Inspection, ix: EntryIx, context: u64, output: &mut Output) -> Result<(), Failure> {
    let index = &inspection.index;
    let entry = index.entry(ix);
    let item = &inspection.session;
    let what = entry.message.map_or(entry.kind.word(), |size| size.role.word());
    let tool = entry.message.and_then(|size| tool_of(inspection, ix, &size)).unwrap_or_default();
    let tokens = entry.message.map(|size| estimated(tokens_of(&size))).unwrap_or_default();
    let text = excerpt(&inspection.source, index, ix).map(|excerpt| excerpt.text).unwrap_or_default();
    let total =
        format!("~{} of {} ({})", grouped(context), grouped(item.window), percent(context, item.window));
    let line = format!("{} {} {what} {tool} {tokens} → {total}  {text}", moment(entry.time), item.key);
    let line = match output.width() {
        Some(columns) => crate::text::cut(&line, columns).0,
        None => line,
    };
    Ok(output.line(Tone::Plain, &line)?)
}
