//! One transcript that is followed: what was read of it, and what is new. A file that is rewritten, put aside or deleted
//! is told to its end first, where it can still be read.

use std::path::Path;
use std::sync::Arc;

use super::lines::Became;
use super::told::Told;
use crate::ids::{EntryIx, LineIds};
use crate::inspect::Inspection;
use crate::inspect::open::{OpenError, open_from};
use crate::store::archive::archive_of;
use crate::store::load::{Extent, LoadError, load};
use crate::store::session::Session;
use crate::store::source::{Source, identity};
use crate::store::survey::Store;

/// What is known of a transcript without having told it.
#[derive(Debug)]
enum Seen {
    /// Bytes of one in a database, as it was listed.
    Bytes(u64),
    /// The beginning of a file.
    Extent(Extent),
}

/// A transcript and how much of it was told.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// None while nothing lies there.
    seen: Option<Seen>,
    told: Told,
    /// What was there when the watch began is not read yet; that was at this moment (ms since 1970).
    unread_since: Option<i64>,
    /// The file was rewritten before anyone read what was there when the watch began, at this moment: only the entries' own
    /// times tell what is new.
    old_before: Option<i64>,
    /// The last reading, while it is kept. Its file stays readable when it is deleted.
    known: Option<Box<Inspection>>,
}

/// Entries to tell, with the reading they belong to.
#[derive(Debug)]
pub(super) struct News<'a> {
    /// The reading.
    pub(super) inspection: &'a Inspection,
    /// In the order of the file.
    pub(super) entries: Vec<EntryIx>,
    /// The file was rewritten since.
    pub(super) rewritten: bool,
}

impl Followed {
    /// One that was there when the watch began: only what is added is told. `now_ms` is that moment.
    pub(super) fn from_end(session: &Session, path: &Path, now_ms: i64) -> Self {
        let seen = match session.kept.database() {
            Some(_) => Some(Seen::Bytes(session.bytes)),
            None => end_of(path).map(Seen::Extent),
        };
        Self { unread_since: seen.is_some().then_some(now_ms), seen, ..Self::default() }
    }

    /// Whether nothing changed that could be told.
    pub(super) fn is_as_known(&self, session: &Session, path: &Path) -> bool {
        match &self.seen {
            Some(Seen::Bytes(bytes)) => session.bytes == *bytes,
            Some(Seen::Extent(extent)) => std::fs::metadata(path).is_ok_and(|meta| {
                let is_long = || meta.len() == extent.end && identity(&meta) == extent.identity;
                is_long() && Source::open(path).is_ok_and(|source| extent.is_still_in(&source))
            }),
            None => session.kept.database().is_none() && !path.is_file(),
        }
    }

    /// The file that was known, where another or none lies at its path by now: what it was put aside as, or as it is
    /// still open here.
    pub(super) fn left(&self, path: &Path) -> Option<(Became, Option<Source>)> {
        let Some(Seen::Extent(known)) = &self.seen else { return None };
        let now = std::fs::metadata(path).ok().map(|meta| identity(&meta));
        if now == Some(known.identity) {
            return None;
        }
        let open = || self.known.as_ref().map(|known| known.source.clone());
        Some(match archive_of(path, known.identity) {
            Some(archive) => {
                let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
                // Its entries are told as those of the transcript they were written to.
                let file = std::fs::File::open(&archive).ok().map(Arc::new);
                let source = file.map(|file| Source::File { path: path.into(), file });
                (Became::Archived(name), source.or_else(open))
            }
            None if now.is_some() => (Became::Rewritten, open()),
            None => (Became::Gone, open()),
        })
    }

    /// Nothing lies there any more. What was told stays told, should it come back.
    pub(super) fn is_gone(&mut self) {
        (self.seen, self.known) = (None, None);
        self.told.begin_again();
    }

    /// The file or database of the last reading, while that is kept.
    pub(super) fn source(&self) -> Option<Source> {
        self.known.as_ref().map(|known| known.source.clone())
    }

    /// Forgets the last reading; the next one reads the whole file.
    pub(super) fn rest(&mut self) {
        self.known = None;
    }

    /// Reads on from what is known; everything, where that does not stand there any more.
    pub(super) fn read(
        &mut self,
        store: &Store,
        session: &Session,
        source: &Source,
        now_ms: i64,
    ) -> Result<News<'_>, OpenError> {
        let stands = |seen: &Option<Seen>| match seen {
            None => true,
            Some(Seen::Bytes(bytes)) => source.len().is_ok_and(|len| len >= *bytes),
            Some(Seen::Extent(extent)) => extent.is_still_in(source),
        };
        let stood = stands(&self.seen);
        let known = self.known.as_deref();
        let opened = open_from(store, session, source.clone(), known, now_ms, &mut |_, _| true)?;
        let has_grown = stood && stands(&self.seen);
        let done = match &self.seen {
            Some(Seen::Bytes(bytes)) => *bytes,
            Some(Seen::Extent(extent)) => extent.end,
            None => 0,
        };
        let entries = self.take(&opened, done, has_grown);
        self.seen = Some(match session.kept.database() {
            Some(_) => Seen::Bytes(opened.index.end),
            None => Seen::Extent(Extent::of(&opened.index)),
        });
        let inspection = &**self.known.insert(Box::new(opened));
        Ok(News { inspection, entries, rewritten: !has_grown })
    }

    /// The entries that are new, where the first `done` bytes are known and stand there yet, or do not.
    fn take(&mut self, opened: &Inspection, done: u64, has_grown: bool) -> Vec<EntryIx> {
        let index = &opened.index;
        let unread = self.unread_since.take();
        if !has_grown {
            self.told.begin_again();
            self.old_before = unread.or(self.old_before);
        }
        // What is known already is only gone through where something of it was not told.
        let from = match unread {
            None if has_grown => index.entries.partition_point(|entry| entry.offset < done),
            _ => 0,
        };
        let mut new = Vec::new();
        for (at, entry) in (from..).zip(index.entries.since(from)) {
            let ix = EntryIx(at as u32);
            let is_before = has_grown && entry.offset < done;
            let is_old =
                self.old_before.is_some_and(|began| entry.time.is_nan() || entry.time < began as f64);
            if is_before && unread.is_some() || !is_before && is_old {
                self.told.know(index, ix);
            } else if !is_before && self.told.is_news(index, ix) {
                new.push(ix);
            }
        }
        new
    }
}

/// Everything that stands in a file now; none where there is none. A last line without its end is read to tell whether it
/// is an entry already (store J7).
fn end_of(path: &Path) -> Option<Extent> {
    let source = Source::open(path).ok().filter(|_| path.is_file())?;
    let len = source.len().ok()?;
    let ended = len == 0 || source.read_span(len - 1, 1).ok()? == b"\n";
    if !ended {
        return load(&source, &mut LineIds, &mut |_, _| true).ok().map(|index| Extent::of(&index));
    }
    Extent::up_to(&source, len).ok()
}

/// A failure that the next look may not meet: the file was just then cut or replaced.
pub(super) fn may_pass(error: &OpenError) -> bool {
    matches!(error, OpenError::Load(LoadError::Read { .. }))
}
