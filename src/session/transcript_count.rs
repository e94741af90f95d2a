//! Numbers of the transcript that the gateway's check before a chat turn reads (releases R67).

use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::TranscriptTotal;
use crate::ids::EntryIx;
use crate::policy::chat_preflight::TranscriptCount;
use crate::policy::memory_flush::LastCall;
use crate::session::LoadedSession;
use crate::store::entry::{Entry, EntryKind};
use crate::units::Tokens;

const BYTES_PER_TOKEN: f64 = 4.0;
/// The gateway estimates the messages of the end of a file: at most so many bytes and messages.
const ESTIMATED_BYTES: u64 = 1_048_576;
const ESTIMATED_MESSAGES: usize = 200;

impl LoadedSession {
    pub(super) fn transcript_count(&self) -> TranscriptCount {
        let rule = self.ruleset.id.rules().transcript_total;
        let count = TranscriptCount {
            rule,
            last_call: None,
            tail: Tokens::ZERO,
            estimate: Tokens::ZERO,
            file: by_bytes(self.index.file_bytes().get()),
        };
        match rule {
            TranscriptTotal::AllMessages => {
                TranscriptCount { estimate: estimate(self.index.entries.iter()), ..count }
            }
            TranscriptTotal::AllOfPath => {
                TranscriptCount { estimate: estimate(self.path_entries()), ..count }
            }
            TranscriptTotal::UsageOrFile | TranscriptTotal::UsageAndTail { .. } => {
                let last = self.last_usage_of_file();
                let counts_line_end = rule == TranscriptTotal::UsageAndTail { counts_line_end: true };
                TranscriptCount {
                    last_call: last.map(|(_, call)| call),
                    tail: last.map_or(Tokens::ZERO, |(ix, _)| self.tokens_after(ix, counts_line_end)),
                    estimate: self.newest_estimate(),
                    ..count
                }
            }
            TranscriptTotal::UsageOfPath => {
                let last = self.last_usage_of_path();
                TranscriptCount {
                    last_call: last.map(|(_, call)| call),
                    tail: last.map_or(Tokens::ZERO, |(after, _)| estimate(self.path_entries().take(after))),
                    estimate: estimate(
                        self.path_entries().take_while(|entry| entry.kind != EntryKind::Reset),
                    ),
                    ..count
                }
            }
        }
    }

    /// Returns the last usage in the file with a positive number, on any branch and with its entry (compaction 9.5).
    pub(super) fn last_usage_of_file(&self) -> Option<(EntryIx, LastCall)> {
        self.index.iter().rev().find_map(|(ix, _)| Some((ix, self.usage_of(ix)?)))
    }

    /// Returns the last usage on the path, unless a compaction or reset follows it, with the number of entries after it.
    fn last_usage_of_path(&self) -> Option<(usize, LastCall)> {
        let bounds =
            |ix: &EntryIx| matches!(self.index.entry(*ix).kind, EntryKind::Compaction | EntryKind::Reset);
        let since = self.context.path.iter().rev().take_while(|ix| !bounds(ix));
        since.enumerate().find_map(|(after, ix)| Some((after, self.usage_of(*ix)?)))
    }

    /// Returns the usage of an answer, also of a failed one.
    fn usage_of(&self, ix: EntryIx) -> Option<LastCall> {
        let entry = self.index.entry(ix);
        let failed = || self.index.unanchored_usage.get(&ix).copied();
        let usage = entry.message.filter(|_| entry.is_model_call())?.usage.or_else(failed)?;
        let call = LastCall { prompt_tokens: usage.prompt_tokens(), output_tokens: usage.output };
        Some(call).filter(|call| call.prompt_tokens > Tokens::ZERO || call.output_tokens > Tokens::ZERO)
    }

    /// Returns a token per four bytes after the line of an entry. The gateway counts one byte more for each of those lines
    /// and for the end of the file.
    fn tokens_after(&self, ix: EntryIx, counts_line_end: bool) -> Tokens {
        let (entry, index) = (self.index.entry(ix), &self.index);
        let end = entry.offset + entry.bytes().get() + 1;
        let bytes = index.file_bytes().get().saturating_sub(end);
        let lines = index.line_count.saturating_sub(entry.line);
        if lines == 0 && !counts_line_end {
            return Tokens::ZERO;
        }
        by_bytes(bytes + lines + u64::from(!index.is_unterminated))
    }

    /// Returns the estimate of the newest messages of the path.
    fn newest_estimate(&self) -> Tokens {
        let from = self.index.file_bytes().get().saturating_sub(ESTIMATED_BYTES);
        let read = self.path_entries().take_while(|entry| entry.offset >= from);
        estimate(read.filter(|entry| entry.kind == EntryKind::Message).take(ESTIMATED_MESSAGES))
    }

    /// Returns the entries of the path, newest first.
    fn path_entries(&self) -> impl Iterator<Item = &Entry> {
        self.context.path.iter().rev().map(|ix| self.index.entry(*ix))
    }
}

fn by_bytes(bytes: u64) -> Tokens {
    Tokens((bytes as f64 / BYTES_PER_TOKEN).ceil())
}

fn estimate<'a>(entries: impl Iterator<Item = &'a Entry>) -> Tokens {
    let sizes = entries.filter(|entry| entry.kind == EntryKind::Message).filter_map(|entry| entry.message);
    Tokens(sizes.map(|size| estimate_or_zero(&size)).sum::<u64>() as f64)
}
