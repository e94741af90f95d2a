//! Sentences about the session's lineage.

use std::path::Path;

use crate::format::{format_count, format_displayed_timestamp, format_estimate, format_number};
use crate::report::explain::description::grounds::{Described, Evidence};
use crate::report::explain::lineage::LineageFacts;
use crate::report::explain::way_out::{Blocked, WayOut};
use crate::session::ManualChange;
use crate::session::lineage::Inherited;

/// Chars of an id in a headline.
const SHORT_ID_CHARS: usize = 8;

impl Described for LineageFacts {
    fn headline(&self) -> String {
        match self {
            Self::Inherited { found, .. } => inherited_line(found),
            Self::IdMismatch { found, .. } => format!(
                "a reset changed the session id to {}, but the old file {} is still sent",
                short(&found.record),
                short(&found.file)
            ),
            Self::HiddenBranch { found, leaf, .. } => format!(
                "a longer branch ({}) is not active: it ends with {leaf}, the active one has {}",
                format_count(found.messages as u64, "message", "messages"),
                format_number(found.active_messages as u64),
            ),
            Self::CutOff { found, root, .. } if found.messages > 0 => format!(
                "{} of this file are unreachable: {root} {}",
                format_count(found.messages as u64, "earlier message", "earlier messages"),
                if found.parent.is_some() { "names a missing parent" } else { "names no parent" }
            ),
            Self::CutOff { root, .. } => {
                format!("the transcript starts in the middle: the parent of {root} is not in the file")
            }
            Self::Continued { found, .. } => format!(
                "{}, but the session record still names this file",
                format_count(
                    found.len() as u64,
                    "successor transcript exists",
                    "successor transcripts exist"
                )
            ),
            Self::Predecessor { messages, .. } => {
                let messages = messages.map(|count| format!(" ({})", messages_text(count)));
                format!(
                    "before this file, the same key had another transcript{}",
                    messages.unwrap_or_default()
                )
            }
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        let lines = match self {
            Self::Inherited { found, tokens, parent_tokens } => {
                inherited_lines(found, *tokens, *parent_tokens)
            }
            Self::IdMismatch { found, span } => id_lines(&found.record, &found.file, *span),
            Self::HiddenBranch { found, leaf, .. } => {
                let when =
                    format_displayed_timestamp(found.last_ms).map(|at| format!(", {at}")).unwrap_or_default();
                vec![format!(
                    "the longer branch ends with {leaf}{when}; the file ends with an entry that is no message"
                )]
            }
            Self::CutOff { found, root, .. } => {
                vec![cut_line(found.entries, found.messages, found.breaks, root)]
            }
            Self::Continued { found, compactions } => continued_lines(found, *compactions),
            Self::Predecessor { name, reset_ms, named_by_record, .. } => {
                let when = reset_ms.and_then(format_displayed_timestamp).map(|at| format!(", reset {at}"));
                let how = if *named_by_record { "the session record names it" } else { "the times match" };
                vec![format!("{name}{} ({how})", when.unwrap_or_default())]
            }
        };
        let mut evidence: Vec<Evidence> = lines.into_iter().map(Evidence::new).collect();
        if let Some(first) = evidence.first_mut() {
            *first = first.clone().with_entries(self.entries());
        }
        evidence
    }

    fn step(&self) -> Option<String> {
        match self {
            Self::IdMismatch { .. } => Some(
                "/new starts a new file; or remove sessionFile from the record while the gateway is stopped."
                    .to_owned(),
            ),
            Self::HiddenBranch { way_out, .. } => Some(way_out_step(way_out, "it active again")),
            Self::CutOff { root, way_out: Some(way), .. } => {
                Some(way_out_step(way, &format!("the part before {root} active")))
            }
            Self::Continued { .. } => Some(
                "Context and compactions go on in the old file: turn compaction.truncateAfterCompaction off, or start over with /new."
                    .to_owned(),
            ),
            Self::CutOff { .. } | Self::Inherited { .. } | Self::Predecessor { .. } => None,
        }
    }
}

/// Says which command makes `part`, or how to go on without a commit.
fn way_out_step(way: &Result<WayOut, Blocked>, part: &str) -> String {
    match way {
        Ok(way) => format!("`{}` makes {part}; undo takes that back.", way.command),
        Err(Blocked(reason)) => {
            format!("/new starts over. No commit makes {part} while the file is damaged: {reason}")
        }
    }
}

fn short(id: &str) -> String {
    id.chars().take(SHORT_ID_CHARS).collect()
}

fn messages_text(count: usize) -> String {
    format_count(count as u64, "message", "messages")
}

fn inherited_line(found: &Inherited) -> String {
    let (copied, of) = (format_number(found.messages as u64), messages_text(found.of));
    let how = if found.is_fork { "the parent session (a fork)" } else { "the parent session" };
    format!("{copied} of {of} were inherited from {how}")
}

fn inherited_lines(found: &Inherited, tokens: Option<u64>, parent_tokens: Option<u64>) -> Vec<String> {
    let name = Path::new(&found.parent)
        .file_name()
        .map_or_else(|| found.parent.clone(), |name| name.to_string_lossy().into_owned());
    let size = tokens.map(|tokens| format!(": {} tokens of the messages", format_estimate(tokens)));
    let mut lines =
        vec![format!("copied from {name}{}; their calls are counted there", size.unwrap_or_default())];
    if tokens.is_some() {
        let parent =
            parent_tokens.map(|tokens| format!(" (the parent's last prompt had {})", format_number(tokens)));
        lines.push(format!(
            "/new starts without the copied history; session.parentForkMaxTokens below the parent's size keeps the gateway \
             from copying it{}",
            parent.unwrap_or_default()
        ));
    }
    lines
}

fn id_lines(record: &str, file: &str, span: (crate::units::Moment, crate::units::Moment)) -> Vec<String> {
    let time = |at| format_displayed_timestamp(at).unwrap_or_else(|| "?".to_owned());
    vec![
        format!("the record's sessionId is {record}; the file's header has {file}"),
        format!(
            "the file was not rotated: its messages from {} to {} are one context",
            time(span.0),
            time(span.1)
        ),
    ]
}

fn cut_line(entries: usize, messages: usize, breaks: usize, root: &str) -> String {
    if messages == 0 {
        return format!(
            "the part before {root} is in no line of this file; its tokens are unknown, not a fixed part"
        );
    }
    let breaks = format_count(breaks as u64, "entry names a parent", "entries name a parent");
    let entries = format_count(entries as u64, "entry", "entries");
    format!(
        "{entries} ({}) are in this same file, but not sent: {breaks} that is not in the file",
        messages_text(messages)
    )
}

fn continued_lines(
    found: &[crate::session::lineage::Continuation],
    (counted, written): (u64, usize),
) -> Vec<String> {
    let names = found
        .iter()
        .rev()
        .take(3)
        .map(|it| it.path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    let mut lines = vec![format!("the newest: {}", names.collect::<Vec<_>>().join(", "))];
    if counted > written as u64 {
        lines.push(format!(
            "the record counts {}, this file has {}",
            format_count(counted, "compaction", "compactions"),
            format_number(written as u64)
        ));
    }
    lines
}

/// More messages than these are counted.
const MAX_NAMES: usize = 3;

impl WayOut {
    /// Says in a few words what it does: `Continue without 3f1a2b3c`.
    pub fn description(&self) -> String {
        let names = self.names.join(", ");
        match &self.change {
            ManualChange::Branch(_) => format!("Continue from {names}"),
            ManualChange::Drop(_) if self.names.len() <= MAX_NAMES => format!("Continue without {names}"),
            ManualChange::Drop(entries) => {
                format!("Continue without {}", format_count(entries.len() as u64, "message", "messages"))
            }
        }
    }
}
