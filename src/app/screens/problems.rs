//! The list of problems found while reading the store and its sessions.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::app::action::Action;
use crate::app::screens::context::ScreenContext;
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::diagnostic::Diagnostic;
use crate::ids::SessionKey;
use crate::session::store_problems::SessionProblems;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProblemsScreen {
    pub scroll: Scroll,
}

impl ProblemsScreen {
    pub(in crate::app) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        self.scroll.move_by(by, context.problem_count, usize::from(context.size.1).saturating_sub(6));
    }

    pub(super) fn hints() -> Vec<Hint> {
        vec![MOVE, (&[Action::Open], "open the session"), (&[Action::Copy], "copy"), CLOSE]
    }
}

/// Progress of reading every transcript for its problems.
#[derive(Debug, Clone)]
pub enum ProblemsUpdate {
    Found(Vec<SessionProblems>),
    /// Every transcript was read.
    Finished,
}

/// The problems that were found in transcripts.
#[derive(Debug, Clone, Default)]
pub struct StoreProblems {
    /// Increases with every request.
    pub request_id: u64,
    pub is_running: bool,
    /// Whether all transcripts were read.
    pub is_complete: bool,
    /// Transcripts read so far.
    pub read: usize,
    /// Whether files changed after the last reading started.
    pub(in crate::app) is_outdated: bool,
    /// The worst first.
    found: Vec<(SessionKey, Diagnostic)>,
    /// Texts of `found`: every session of a workspace reports its cut files.
    texts: HashSet<String>,
}

impl StoreProblems {
    /// Starts a reading.
    pub(in crate::app) fn new(request_id: u64) -> Self {
        Self { request_id, is_running: true, ..Self::default() }
    }

    pub fn found(&self) -> &[(SessionKey, Diagnostic)] {
        &self.found
    }

    pub(in crate::app) fn add(&mut self, sessions: Vec<SessionProblems>) {
        for SessionProblems { key, diagnostics, has_transcript } in sessions {
            self.read += usize::from(has_transcript);
            for found in diagnostics {
                if self.texts.insert(found.to_string()) {
                    self.found.push((key.clone(), found));
                }
            }
        }
        self.found.sort_by_key(|(_, found)| Reverse(found.severity));
    }
}
