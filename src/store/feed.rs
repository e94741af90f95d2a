//! The pieces of a transcript in the order of the file, read and scanned by whoever has time: the cores never wait for each
//! other but where one is a few pieces ahead.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::store::pieces::{Pass, Piece};

/// Pieces on their way from the file to the one who takes them.
#[derive(Debug)]
pub(crate) struct Feed<'a> {
    pass: Pass<'a>,
    start: u64,
    count: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the piece that is scanned next.
    next: usize,
    /// Room for pieces.
    free: Vec<Piece>,
    /// Those that are scanned and not taken yet, by number.
    scanned: BTreeMap<usize, io::Result<Piece>>,
    /// Nothing more is wanted.
    stopped: bool,
}

impl<'a> Feed<'a> {
    /// What follows `start`, in this room.
    pub(crate) fn new(pass: Pass<'a>, start: u64, room: Vec<Piece>) -> Self {
        let state = Mutex::new(State { free: room, ..State::default() });
        Self { pass, start, count: pass.pieces(start), state, changed: Condvar::new() }
    }

    /// Hands every piece on, in order, while all cores read and scan; `take` is told how far the file is read with it, and
    /// answers whether that goes on. Returns the room.
    pub(crate) fn each(self, mut take: impl FnMut(&mut Piece, u64) -> bool) -> io::Result<Vec<Piece>> {
        let threads = rayon::current_num_threads();
        let mut state = self.state();
        // Room that is there already stays for the files that are read next.
        let room = (2 * threads + 2).min(self.count).max(state.free.len());
        state.free.resize_with(room, Piece::default);
        drop(state);
        rayon::in_place_scope(|scope| {
            (1..threads.min(self.count)).for_each(|_| scope.spawn(|_| self.help()));
            let _stop = Stop { feed: &self, always: true };
            for number in 0..self.count {
                let mut piece = self.take(number)?;
                let goes_on = take(&mut piece, self.pass.end(self.start, number));
                self.give_back(piece);
                if !goes_on {
                    break;
                }
            }
            Ok(())
        })
        .map(|()| std::mem::take(&mut self.state().free))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What it holds is whole between any two lines.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next piece, if one is left and there is room for it.
    fn claim(&self, state: &mut State) -> Option<(usize, Piece)> {
        let number = state.next;
        if number >= self.count {
            return None;
        }
        let piece = state.free.pop()?;
        state.next += 1;
        Some((number, piece))
    }

    /// Scans pieces until none is left.
    fn help(&self) {
        let _stop = Stop { feed: self, always: false };
        let mut state = self.state();
        while !state.stopped && state.next < self.count {
            state = self.go_on(state);
        }
    }

    /// Scans the next piece; where there is none, or no room for it, waits until something changes.
    fn go_on<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let Some(claimed) = self.claim(&mut state) else {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        self.scan(claimed);
        self.state()
    }

    fn scan(&self, (number, mut piece): (usize, Piece)) {
        let scanned = piece.scan(self.pass, self.start, number).map(|()| piece);
        self.state().scanned.insert(number, scanned);
        self.changed.notify_all();
    }

    /// The piece of a number; until it is scanned, others are.
    fn take(&self, number: usize) -> io::Result<Piece> {
        let mut state = self.state();
        loop {
            if let Some(scanned) = state.scanned.remove(&number) {
                return scanned;
            }
            if state.stopped {
                return Err(io::Error::other("the reading broke off"));
            }
            state = self.go_on(state);
        }
    }

    fn give_back(&self, piece: Piece) {
        self.state().free.push(piece);
        self.changed.notify_all();
    }
}

/// Ends the reading for everybody, always or where this thread panics: nobody waits for what does not come.
struct Stop<'f, 'a> {
    feed: &'f Feed<'a>,
    always: bool,
}

impl Drop for Stop<'_, '_> {
    fn drop(&mut self) {
        if self.always || std::thread::panicking() {
            self.feed.state().stopped = true;
            self.feed.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::source::Source;

    /// Lines of many lengths, one of them longer than a piece.
    fn text() -> Vec<u8> {
        let mut text = Vec::new();
        for number in 0..6_000_usize {
            let chars = match number {
                700 => 600_000,
                _ => number * 7919 % 700,
            };
            text.extend(format!("{{\"n\":{number},\"t\":\"{}\"}}\n", "x".repeat(chars)).into_bytes());
        }
        text
    }

    fn feed(source: &Source, total: u64) -> Feed<'_> {
        Feed::new(Pass { source, total, rename_hooks: false }, 1, Vec::new())
    }

    #[test]
    fn every_line_behind_the_start_comes_once_and_in_order() {
        let text = text();
        let source = Source::memory("t.jsonl", text.clone());
        let (mut lines, mut ends) = (Vec::new(), Vec::new());
        let room = feed(&source, text.len() as u64).each(|piece, end| {
            for line in piece.take_lines() {
                assert!(line.said.is_some(), "it is scanned");
                lines.push(String::from_utf8(piece.bytes_of(&line).to_vec()).unwrap());
            }
            ends.push(end);
            true
        });
        let behind: Vec<&str> = std::str::from_utf8(&text).unwrap().lines().skip(1).collect();
        assert_eq!(lines, behind);
        assert!(ends.len() > 4 && ends.is_sorted() && ends.last() == Some(&(text.len() as u64)), "{ends:?}");
        assert!(!room.unwrap().is_empty());
    }

    #[test]
    fn nothing_more_is_handed_on_once_it_is_stopped() {
        let text = text();
        let source = Source::memory("t.jsonl", text.clone());
        let mut handed = 0;
        let room = feed(&source, text.len() as u64).each(|_, _| {
            handed += 1;
            handed < 2
        });
        assert!(room.is_ok() && handed == 2);
    }

    #[test]
    fn a_file_that_became_shorter_meanwhile_ends_where_it_does() {
        let text = text();
        let source = Source::memory("t.jsonl", &text[..200_000]);
        let mut lines = 0;
        let room = feed(&source, text.len() as u64).each(|piece, _| {
            lines += piece.take_lines().len();
            true
        });
        let whole = memchr::memchr_iter(b'\n', &text[..200_000]).count();
        assert_eq!((room.is_ok(), lines), (true, whole - 1));
    }
}
