//! Searches every transcript of a store, on all cores and the most recent sessions first. Nothing is kept on disk.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use memchr::{memchr, memrchr};
use rayon::ThreadPoolBuilder;
use schemars::JsonSchema;
use serde::Serialize;

use crate::files::PathText;
use crate::ids::{EntryIx, LineIds, SessionKey};
use crate::js::Value;
use crate::session::open_source::{OpenError, open_source};
use crate::session::ruleset_choice::choose_ruleset;
use crate::session::search::hits::{HitText, SearchHit, SessionHits};
use crate::session::search::in_session::{EntryLabel, SeenPart, joined, seen_parts};
use crate::session::search::query::SearchQuery;
use crate::store::body;
use crate::store::discovery::Store;
use crate::store::index::Index;
use crate::store::load::{LoadError, Trim, load, parse_line};
use crate::store::session::{Flag, Session};
use crate::store::source::{AlignedBuffer, Source};
use crate::transcript::{Leaf, Tree};
use crate::units::{Bytes, Moment};

/// Sessions, from the most recent one, that keep [`MANY_HITS`]; the others keep [`FEW_HITS`]. A common word is in every
/// session, and no one reads that many hits.
const FULL_SESSIONS: usize = 200;

const MANY_HITS: usize = 100;

const FEW_HITS: usize = 10;

/// The extent of a finished search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchTotals {
    /// Transcripts that were read.
    pub sessions: usize,
    pub bytes: Bytes,
    /// Transcripts that could not be read, by key.
    pub unread: Vec<UnreadTranscript>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadTranscript {
    pub key: SessionKey,
    #[serde(with = "PathText")]
    pub path: PathBuf,
    pub error: String,
}

/// Searches the transcripts of a store. Calls `found` for each session with hits, in no particular order. Returns `None`
/// as soon as `is_wanted` returns false.
pub fn search_store(
    store: &Store,
    query: &SearchQuery,
    is_wanted: &(dyn Fn() -> bool + Sync),
    found: &(dyn Fn(SessionHits) + Sync),
) -> Option<SearchTotals> {
    let mut sessions: Vec<&Session> =
        store.sessions.iter().filter(|session| !session.has_flag(Flag::Missing)).collect();
    sessions.sort_by_key(|session| Reverse(session.updated_ms().map(Moment::whole)));
    // Several keys may share a transcript (store D4); the newest shows its hits.
    let mut seen: HashSet<&Path> = HashSet::new();
    sessions.retain(|session| session.path.as_deref().is_some_and(|path| seen.insert(path)));
    if query.is_empty() {
        return Some(SearchTotals::default());
    }
    let (next, bytes, unread) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::new(Vec::new()));
    let search_some = || {
        // Sessions are searched side by side, so reading one stays on its thread.
        let _alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
        let mut buffer = AlignedBuffer::default();
        while is_wanted() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(session) = sessions.get(at) else { break };
            let kept = if at < FULL_SESSIONS { MANY_HITS } else { FEW_HITS };
            let search = SessionSearch { store, session, query, kept, is_wanted };
            match search.run(&mut buffer) {
                Ok((hits, read)) => {
                    bytes.fetch_add(read.get(), Ordering::Relaxed);
                    hits.into_iter().for_each(found);
                }
                Err(error) if error.is_stopped() => {}
                Err(error) => {
                    unread
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(unread_transcript(session, &error));
                }
            }
        }
    };
    let threads = rayon::current_num_threads().min(sessions.len());
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(search_some)));
    });
    let mut unread = unread.into_inner().unwrap_or_else(PoisonError::into_inner);
    unread.sort_by(|one, other| one.key.cmp(&other.key));
    is_wanted().then(|| SearchTotals {
        sessions: sessions.len() - unread.len(),
        bytes: Bytes(bytes.into_inner()),
        unread,
    })
}

fn unread_transcript(session: &Session, error: &OpenError) -> UnreadTranscript {
    let path = session.path.clone().unwrap_or_default();
    UnreadTranscript { key: session.key.clone(), path, error: error.to_string() }
}

/// The search of one session.
struct SessionSearch<'a> {
    store: &'a Store,
    session: &'a Session,
    query: &'a SearchQuery,
    /// Hits to keep, from the newest.
    kept: usize,
    is_wanted: &'a (dyn Fn() -> bool + Sync),
}

impl SessionSearch<'_> {
    /// Returns the hits, if there are any, and the bytes read.
    fn run(&self, buffer: &mut AlignedBuffer) -> Result<(Option<SessionHits>, Bytes), OpenError> {
        let source = open_source(self.session, None)?;
        let (mut offsets, mut kept) = (Vec::new(), VecDeque::new());
        let read = for_each_candidate(&source, self.query, buffer, self.is_wanted, &mut |offset, line| {
            let Some(found) = LineHit::find(line, self.query, offset) else { return };
            offsets.push(offset);
            kept.push_back(found);
            if kept.len() > self.kept {
                kept.pop_front();
            }
        });
        let read = read.map_err(|source| LoadError::Read { path: self.path(), source })?;
        let hits = if offsets.is_empty() { None } else { self.assign(&source, &offsets, kept)? };
        Ok((hits, read))
    }

    fn path(&self) -> String {
        self.session.path.as_deref().map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// Finds the entries of the lines, and which of them are on the active branch. Lines that are not entries are not hits.
    fn assign(
        &self,
        source: &Source,
        offsets: &[u64],
        kept: VecDeque<LineHit>,
    ) -> Result<Option<SessionHits>, LoadError> {
        let index = load(source, &mut LineIds, &mut |_, _| (self.is_wanted)())?;
        let rules = choose_ruleset(self.store, self.session, &index).id.rules();
        let tree = Tree::under(rules, &index);
        let branch: HashSet<EntryIx> = tree.branch(&index, &Leaf::Own).into_iter().collect();
        let entries: Vec<EntryIx> = offsets.iter().filter_map(|offset| entry_at(&index, *offset)).collect();
        let branch_count = entries.iter().filter(|entry| branch.contains(entry)).count();
        let mut kept: HashMap<u64, LineHit> = kept.into_iter().map(|found| (found.offset, found)).collect();
        let (active, others): (Vec<EntryIx>, Vec<EntryIx>) =
            entries.iter().rev().partition(|entry| branch.contains(entry));
        let hits = active.into_iter().chain(others).take(self.kept).filter_map(|entry| {
            let offset = index.entry(entry).offset;
            // A line that newer hits displaced is read again.
            let read = || LineHit::of(&body::read_entry(source, &index, entry).ok()?, self.query, offset);
            let found = kept.remove(&offset).or_else(read)?;
            Some(found.into_hit(self.query, &index, entry, branch.contains(&entry)))
        });
        let hits: Vec<SearchHit> = hits.collect();
        let (key, updated_ms) = (self.session.key.clone(), self.session.updated_ms());
        let count = entries.len();
        Ok((count > 0).then_some(SessionHits { key, updated_ms, hits, count, branch_count }))
    }
}

/// Returns the entry whose line begins at an offset.
pub fn entry_at(index: &Index, offset: u64) -> Option<EntryIx> {
    let at = index.entries.partition_point(|entry| entry.offset < offset);
    (index.entries.get(at)?.offset == offset).then_some(EntryIx(at as u32))
}

/// A matching line before its session was indexed.
struct LineHit {
    offset: u64,
    label: EntryLabel,
    part: SeenPart,
}

impl LineHit {
    fn find(line: &[u8], query: &SearchQuery, offset: u64) -> Option<Self> {
        Self::of(&parse_line(line, Trim::Both).ok()?, query, offset)
    }

    fn of(entry: &Value, query: &SearchQuery, offset: u64) -> Option<Self> {
        let label = EntryLabel::of(entry)?;
        let parts = seen_parts(entry, label);
        if !query.matches(&joined(&parts)) {
            return None;
        }
        let holds = |part: &SeenPart| query.first_range(&part.text).is_some();
        let at = parts.iter().position(holds).unwrap_or(0);
        let part = parts.into_iter().nth(at)?;
        Some(Self { offset, label, part })
    }

    fn into_hit(self, query: &SearchQuery, index: &Index, entry: EntryIx, is_on_branch: bool) -> SearchHit {
        let known = index.entry(entry);
        SearchHit {
            offset: self.offset,
            line: known.line,
            id: index.display_id(entry),
            time_ms: Some(known.time_ms).filter(|time| time.is_finite()),
            role: self.label.as_str(),
            part: self.part.kind,
            tool: self.part.tool,
            text: HitText::new(&self.part.text, query),
            is_on_branch,
        }
    }
}

// Finds the lines of a transcript that may hold the words, block by block: no file is mapped, and no more than a block
// or one line is in memory.

/// Bytes per read: few enough to stay in the cache of a core.
const BLOCK_BYTES: u64 = 512 << 10;

/// Calls `take` with the offset and the bytes of every line that may match. Returns the bytes read; stops early when
/// `go_on`, called before each block, returns false.
pub(super) fn for_each_candidate(
    source: &Source,
    query: &SearchQuery,
    buffer: &mut AlignedBuffer,
    go_on: &dyn Fn() -> bool,
    take: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<Bytes> {
    let total = source.len()?;
    let mut at = 0;
    while at < total && go_on() {
        buffer.read(source, at, total.min(at + BLOCK_BYTES))?;
        let end = complete_lines(source, buffer, at, total)?;
        if end == 0 {
            break;
        }
        scan(&buffer[..end], at, query, take);
        at += end as u64;
    }
    Ok(Bytes(at))
}

/// Returns the length of the complete lines in the buffer, which at the end of the file are all bytes. Reads on when one
/// line is longer than a block.
fn complete_lines(source: &Source, buffer: &mut AlignedBuffer, at: u64, total: u64) -> io::Result<usize> {
    let mut looked = 0;
    loop {
        let reached = at + buffer.len() as u64;
        if reached >= total {
            return Ok(buffer.len());
        }
        if let Some(line_end) = memrchr(b'\n', &buffer[looked..]) {
            return Ok(looked + line_end + 1);
        }
        looked = buffer.len();
        let more = BLOCK_BYTES.max(looked as u64);
        if buffer.read_more(source, total.min(reached + more))? == 0 {
            return Ok(buffer.len());
        }
    }
}

fn scan(lines: &[u8], offset: u64, query: &SearchQuery, take: &mut dyn FnMut(u64, &[u8])) {
    let mut from = 0;
    while let Some(found) = query.find_candidate(lines, from) {
        let start = memrchr(b'\n', &lines[..found]).map_or(0, |line_end| line_end + 1);
        let end = memchr(b'\n', &lines[found..]).map_or(lines.len(), |length| found + length);
        if query.may_match_line(&lines[start..end]) {
            take(offset + start as u64, &lines[start..end]);
        }
        from = (end + 1).min(lines.len());
        if end >= lines.len() {
            break;
        }
    }
}

#[cfg(test)]
#[path = "store_search_tests.rs"]
mod tests;
