//! Updates a dataset: reads the sessions that changed and replaces their rows.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde_json::Value;

use super::replays::NamedReplay;
use super::session_tables::{SessionTables, TableRequest, read_tables};
use crate::command::environment::{SessionsByKey, Workspace};
use crate::command::failure::Failure;
use crate::command::parallel::map_by_size;
use crate::command::sessions::item_json;
use crate::dataset::SCHEMA_VERSION;
use crate::dataset::folder::{Change, DatasetFolder};
use crate::dataset::manifest::{DatasetSession, Manifest, partition};
use crate::dataset::rewrite::{Rewrite, Rewritten};
use crate::dataset::stamp::{Stamp, digest, started_ms};
use crate::js::{iso_text, stringify};
use crate::session::SessionItem;
use crate::session::family::Rollup;
use crate::store::source::Source;
use crate::units::{Bytes, Moment};

/// Limits of the sessions that are read before their rows are written: bytes of transcripts, and sessions.
const BATCH_BYTES: Bytes = Bytes(64 << 20);
const BATCH_SESSIONS: usize = 256;

/// The options of an update, the same for every session.
#[derive(Debug)]
pub(super) struct UpdateRequest {
    pub(super) replays: Vec<NamedReplay>,
    pub(super) with_text: bool,
    pub(super) host: String,
}

/// The result of an update.
#[derive(Debug, Default)]
pub(super) struct Update {
    /// Sessions that were read.
    pub(super) read: usize,
    pub(super) unchanged: usize,
    /// Sessions that their stores no longer list.
    pub(super) removed: usize,
    /// Sessions and files that could not be read, by session key.
    pub(super) problems: Vec<(String, String)>,
}

/// A session that has to be read.
struct Job<'a> {
    store: usize,
    item: &'a SessionItem,
    session: String,
    stamp: Option<Stamp>,
    /// Time in the header.
    started_ms: Option<Moment>,
    inputs: String,
}

/// Brings the dataset up to date. Sessions that vanished from these stores are removed if `removes`.
pub(super) fn update(
    folder: &mut DatasetFolder,
    workspaces: &[Workspace],
    request: &UpdateRequest,
    removes: bool,
) -> Result<Update, Failure> {
    let by_key: Vec<SessionsByKey<'_>> =
        workspaces.iter().map(|workspace| workspace.store().sessions_by_key()).collect();
    let mut listed = BTreeSet::new();
    let mut jobs = Vec::new();
    for (store, workspace) in workspaces.iter().enumerate() {
        let shared = shared_inputs(workspace, request);
        let items = workspace.listed.items.par_iter();
        let planned: Vec<Job<'_>> =
            items.map(|item| plan((store, &shared), (workspace, &by_key[store]), item)).collect();
        for job in planned {
            // Two paths may name the same store.
            if listed.insert(job.session.clone()) {
                jobs.push(job);
            }
        }
    }
    let old = folder.manifest();
    let is_current = |job: &Job<'_>| {
        old.sessions.get(&job.session).is_some_and(|known| known.is_current(job.stamp.as_ref(), &job.inputs))
    };
    let total = jobs.len();
    jobs.retain(|job| !is_current(job));
    let places = workspaces.iter().map(|workspace| workspace.listed.name.as_str()).collect();
    let gone = if removes { vanished(old, &listed, &places) } else { Vec::new() };
    let mut update =
        Update { read: jobs.len(), unchanged: total - jobs.len(), removed: gone.len(), problems: Vec::new() };
    if jobs.is_empty() && gone.is_empty() && !old.sessions.is_empty() {
        return Ok(update);
    }
    let stores: Vec<_> = workspaces.iter().zip(&by_key).collect();
    let change = rewrite(folder, &stores, request, (jobs, &gone), &mut update.problems)?;
    folder.publish(change)?;
    Ok(update)
}

/// Reads sessions and stages the new files of their partitions.
fn rewrite(
    folder: &DatasetFolder,
    stores: &[(&Workspace, &SessionsByKey<'_>)],
    request: &UpdateRequest,
    (jobs, gone): (Vec<Job<'_>>, &[String]),
    problems: &mut Vec<(String, String)>,
) -> Result<Change, Failure> {
    let mut jobs: Vec<(String, Job<'_>)> =
        jobs.into_iter().map(|job| (partition_of(&job, request), job)).collect();
    jobs.sort_by(|one, other| one.0.cmp(&other.0));
    let dropped = jobs.iter().map(|(_, job)| job.session.as_str()).chain(gone.iter().map(String::as_str));
    let mut rewrite = Rewrite::new(folder, &dropped.collect());
    let mut manifest = folder.manifest().clone();
    manifest.sessions.retain(|name, _| !gone.contains(name));
    for batch in batches(&jobs) {
        let transcripts: Vec<_> =
            batch.iter().map(|(_, job)| (job.item.bytes, job.item.id.as_str())).collect();
        let read =
            map_by_size(&transcripts, |at| read_session(stores[batch[at].1.store], &batch[at].1, request));
        for ((partition, job), tables) in batch.iter().zip(read) {
            let SessionTables { tables, unread, gaps } = tables?;
            let rows = tables.iter().map(|rows| (rows.table.name().to_owned(), rows.len() as u64)).collect();
            rewrite.add(partition, tables)?;
            let session = DatasetSession {
                place: stores[job.store].0.listed.name.clone(),
                key: job.item.key.0.clone(),
                stamp: job.stamp.clone(),
                inputs: job.inputs.clone(),
                partition: partition.clone(),
                rows,
                problem: unread.clone(),
            };
            manifest.sessions.insert(job.session.clone(), session);
            problems.extend(unread.into_iter().chain(gaps).map(|gap| (job.item.key.0.clone(), gap)));
        }
    }
    let Rewritten { files, removed } = rewrite.finish()?;
    Ok(Change { files, removed, manifest })
}

/// Splits jobs so that the rows of a batch need little memory.
fn batches<'a, 'b>(jobs: &'a [(String, Job<'b>)]) -> impl Iterator<Item = &'a [(String, Job<'b>)]> {
    let mut rest = jobs;
    std::iter::from_fn(move || {
        let mut bytes = Bytes::ZERO;
        let fits = |(_, job): &&(String, Job<'_>)| {
            bytes += job.item.bytes;
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take(BATCH_SESSIONS).take_while(fits).count().max(1).min(rest.len());
        let (batch, after) = rest.split_at(count);
        rest = after;
        (!batch.is_empty()).then_some(batch)
    })
}

/// Returns the partition of a session: the day in its header, else the day of its last change. A session keeps the first
/// while it grows.
fn partition_of(job: &Job<'_>, request: &UpdateRequest) -> String {
    let time = job.started_ms.or(job.item.updated_ms).map(iso_text);
    partition(&request.host, time.as_deref().and_then(|time| Some(time.split_once('T')?.0)))
}

/// Returns the sessions of these stores that are no longer listed.
fn vanished(old: &Manifest, listed: &BTreeSet<String>, places: &BTreeSet<&str>) -> Vec<String> {
    let is_gone = |(name, known): &(&String, &DatasetSession)| {
        places.contains(known.place.as_str()) && !listed.contains(*name)
    };
    old.sessions.iter().filter(is_gone).map(|(name, _)| name.clone()).collect()
}

fn plan<'a>(
    (store, shared): (usize, &str),
    (workspace, by_key): (&Workspace, &SessionsByKey<'_>),
    item: &'a SessionItem,
) -> Job<'a> {
    let place = workspace.listed.name.as_str();
    let session = by_key.get(&item.key);
    let source = session.and_then(|session| session.location.open(session.path.as_deref()?, None).ok());
    let stamp = |source: &Source| Stamp::read(source, session?.modified_ms).ok();
    Job {
        store,
        item,
        session: digest(&[place.as_bytes(), item.key.0.as_bytes()]),
        stamp: source.as_ref().and_then(stamp),
        started_ms: source.as_ref().and_then(started_ms),
        inputs: inputs(workspace, by_key, item, shared),
    }
}

/// Returns the digest of everything besides the transcript and its record that the rows of a store depend on.
fn shared_inputs(workspace: &Workspace, request: &UpdateRequest) -> String {
    let store = workspace.store();
    let mut parts = vec![
        env!("CARGO_PKG_VERSION").to_owned(),
        SCHEMA_VERSION.to_string(),
        partition(&request.host, None),
        request.with_text.to_string(),
        store.ruleset.id.id().to_owned(),
        stringify(&store.config.js_root),
    ];
    parts.extend(request.replays.iter().map(NamedReplay::identity));
    digest(&parts.iter().map(String::as_bytes).collect::<Vec<_>>())
}

/// Returns the digest of everything besides the transcript that the rows of a session depend on.
fn inputs(workspace: &Workspace, by_key: &SessionsByKey<'_>, item: &SessionItem, shared: &str) -> String {
    let mut listed =
        serde_json::to_value(item_json(workspace, (item, &Rollup::default()), by_key)).unwrap_or_default();
    // The next reset depends on the clock, and no column holds it.
    if let Value::Object(members) = &mut listed {
        members.shift_remove("reset");
    }
    digest(&[shared.as_bytes(), listed.to_string().as_bytes()])
}

fn read_session(
    (workspace, by_key): (&Workspace, &SessionsByKey<'_>),
    job: &Job<'_>,
    request: &UpdateRequest,
) -> Result<SessionTables, Failure> {
    let wanted = TableRequest { workspace, by_key, replays: &request.replays, with_text: request.with_text };
    read_tables(&wanted, job.item, &job.session).map_err(|error| {
        Failure::unreadable(format!("{}: cannot write its rows: {error}. Please report this.", job.item.key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sessions_of_the_stores_that_were_listed_vanish() {
        let session =
            |place: &str| DatasetSession { place: place.to_owned(), ..DatasetSession::example("d", &[]) };
        let mut old = Manifest::default();
        let sessions = [("a", "p"), ("b", "p"), ("c", "elsewhere")];
        old.sessions.extend(sessions.map(|(name, place)| (name.to_owned(), session(place))));
        let listed = BTreeSet::from(["a".to_owned()]);
        assert_eq!(vanished(&old, &listed, &BTreeSet::from(["p"])), ["b"]);
    }
}
