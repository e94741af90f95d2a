//! A copy as it arrives: counted against its limits, shown on a progress line, and left when it is silent for too long.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::super::transport::StopRequest;
use super::limits::{CopyLimits, Limit};
use crate::command::sweep_report::ProgressLine;
use crate::format::{format_count, format_size};
use crate::units::Bytes;

/// Time between two looks at the clock and at the request to stop, and between two progress lines.
const TICK: Duration = Duration::from_millis(100);
/// Bytes of one read.
const CHUNK_BYTES: usize = 1 << 16;
/// Chunks that wait for the disk.
const MAX_WAITING: usize = 8;

/// The reason that a copy ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Early {
    Reached(Limit),
    /// A signal.
    Stopped,
}

/// Counts a copy.
#[derive(Debug)]
pub(super) struct Meter<'a> {
    limits: CopyLimits,
    request: &'a StopRequest,
    /// The machine in the progress line.
    name: String,
    began: Instant,
    shown: Cell<Instant>,
    progress: ProgressLine,
    bytes: Cell<u64>,
    files: Cell<u64>,
    folders: Cell<u64>,
    early: Cell<Option<Early>>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(limits: CopyLimits, name: String, request: &'a StopRequest) -> Self {
        let began = Instant::now();
        let zero = || Cell::new(0);
        Self {
            limits,
            request,
            name,
            began,
            shown: Cell::new(began),
            progress: ProgressLine::new(),
            bytes: zero(),
            files: zero(),
            folders: zero(),
            early: Cell::new(None),
        }
    }

    /// Begins another try; its time is part of the whole.
    pub(super) fn restart(&self) {
        for count in [&self.bytes, &self.files, &self.folders] {
            count.set(0);
        }
    }

    /// The reason that the copy ended early. ctrl-c may have ended the command before it was seen here.
    pub(super) fn early(&self) -> Option<Early> {
        self.early.get().or_else(|| self.request.explains_end().then_some(Early::Stopped))
    }

    /// Counts a file of this many bytes before it is written.
    pub(super) fn count_file(&self, size: u64) -> io::Result<()> {
        let rest = self.limits.size.get().saturating_sub(self.bytes.get());
        // What was read ahead is counted already.
        self.check(Limit::Size, size > rest.saturating_add((CHUNK_BYTES * (MAX_WAITING + 2)) as u64))?;
        self.add(&self.files, 1, self.limits.files, Limit::Files)
    }

    /// Counts a folder before it is created.
    pub(super) fn count_folder(&self) -> io::Result<()> {
        self.add(&self.folders, 1, self.limits.folders, Limit::Folders)
    }

    fn add(&self, count: &Cell<u64>, more: u64, limit: u64, name: Limit) -> io::Result<()> {
        count.set(count.get().saturating_add(more));
        self.check(name, count.get() > limit)
    }

    fn check(&self, limit: Limit, is_reached: bool) -> io::Result<()> {
        if is_reached { Err(self.end(Early::Reached(limit))) } else { Ok(()) }
    }

    fn end(&self, early: Early) -> io::Error {
        self.early.set(Some(early));
        self.progress.clear();
        io::Error::new(io::ErrorKind::QuotaExceeded, "the copy was ended")
    }

    /// Looks at the clock and for a signal, and shows the progress.
    fn tick(&self) -> io::Result<()> {
        if self.request.is_made() {
            return Err(self.end(Early::Stopped));
        }
        self.check(Limit::Time, self.began.elapsed() > self.limits.time)?;
        if self.shown.get().elapsed() >= TICK {
            self.shown.set(Instant::now());
            self.progress.show(&format!(
                "copying from {}: {}, {}",
                self.name,
                format_count(self.files.get(), "file", "files"),
                format_size(Bytes(self.bytes.get()))
            ));
        }
        Ok(())
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.progress.clear();
    }
}

/// The output of a command. A thread reads it, because a silent link must not keep the clock from being seen.
#[derive(Debug)]
pub(super) struct MeteredStream<'a> {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
    meter: &'a Meter<'a>,
}

impl<'a> MeteredStream<'a> {
    pub(super) fn new(mut from: impl Read + Send + 'static, meter: &'a Meter<'a>) -> Self {
        let (sender, chunks) = sync_channel(MAX_WAITING);
        std::thread::spawn(move || {
            loop {
                let mut chunk = vec![0; CHUNK_BYTES];
                let read = from.read(&mut chunk).map(|count| {
                    chunk.truncate(count);
                    chunk
                });
                let is_end = !read.as_ref().is_ok_and(|chunk| !chunk.is_empty());
                // Without a receiver the copy has ended.
                if sender.send(read).is_err() || is_end {
                    break;
                }
            }
        });
        Self { chunks, chunk: Cursor::default(), meter }
    }

    /// Waits for the next chunk; an empty one is the end.
    fn next_chunk(&self) -> io::Result<Vec<u8>> {
        loop {
            self.meter.tick()?;
            match self.chunks.recv_timeout(TICK) {
                Ok(chunk) => return chunk,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            }
        }
    }
}

impl Read for MeteredStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.chunk.read(buffer)?;
        if count > 0 || buffer.is_empty() {
            return Ok(count);
        }
        let chunk = self.next_chunk()?;
        let meter = self.meter;
        meter.add(&meter.bytes, chunk.len() as u64, meter.limits.size.get(), Limit::Size)?;
        self.chunk = Cursor::new(chunk);
        self.chunk.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> CopyLimits {
        CopyLimits::parse(text).unwrap()
    }

    #[test]
    fn a_stream_without_an_end_is_left_at_its_limit() {
        let going = StopRequest::default();
        let meter = Meter::new(limits("size=1MB"), "gw".into(), &going);
        let mut stream = MeteredStream::new(io::repeat(1), &meter);
        let copied = io::copy(&mut stream, &mut io::sink());
        assert!(copied.is_err());
        assert_eq!(meter.early(), Some(Early::Reached(Limit::Size)));
    }

    #[test]
    fn a_silent_stream_is_left_at_its_time_and_at_a_signal() {
        struct Silent(Receiver<()>);
        impl Read for Silent {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                _ = self.0.recv();
                Ok(0)
            }
        }
        for (text, is_stopped, expected) in
            [("time=1s", false, Early::Reached(Limit::Time)), ("time=1h", true, Early::Stopped)]
        {
            let (_open, silent) = std::sync::mpsc::channel();
            let request = StopRequest::default();
            if is_stopped {
                request.make();
            }
            let meter = Meter::new(limits(text), "gw".into(), &request);
            let read = MeteredStream::new(Silent(silent), &meter).read(&mut [0; 9]);
            assert!(read.is_err());
            assert_eq!(meter.early(), Some(expected));
        }
    }

    #[test]
    fn a_stream_arrives_completely_and_ends() {
        let going = StopRequest::default();
        let meter = Meter::new(CopyLimits::default(), "gw".into(), &going);
        let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let mut read = Vec::new();
        MeteredStream::new(Cursor::new(bytes.clone()), &meter).read_to_end(&mut read).unwrap();
        assert_eq!((read == bytes, meter.early()), (true, None));
    }
}
