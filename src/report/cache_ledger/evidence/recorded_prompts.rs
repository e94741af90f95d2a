//! System prompts and tools of the gateway's runs, from its recording.

use std::collections::HashMap;

use crate::js::{Value, date_value};
use crate::session::LoadedSession;
use crate::store::trajectory::{
    CompiledContext, RecordedTool, Recording, RecordingLookup, RunAttempt, find_recording,
};
use crate::units::{Chars, Moment};

/// The part before the messages of a prompt: the system prompt, or its length where the recorder cut it, and the tools.
type PromptHead = (Option<String>, Option<Chars>, Vec<RecordedTool>);

/// The recorded runs of a session. Their heads are read on demand, because recordings are large.
#[derive(Debug, Default)]
pub(super) struct RecordedPrompts {
    recording: Option<Recording>,
    /// Each attempt and its start, in order.
    attempts: Vec<(Moment, RunAttempt)>,
    heads: HashMap<usize, Option<PromptHead>>,
}

impl RecordedPrompts {
    /// Finds the recording; a session without one has no runs here.
    pub(super) fn find(session: &LoadedSession) -> Self {
        let id = session.index.header.as_ref().map(|header| header.id.as_str()).unwrap_or_default();
        let dir = session.config.trajectory_dir.as_deref();
        let RecordingLookup::Found(place) = find_recording(&session.source, id, dir) else {
            return Self::default();
        };
        let Ok(recording) = Recording::read(&place) else { return Self::default() };
        let mut attempts: Vec<(Moment, RunAttempt)> = recording
            .attempts()
            .into_iter()
            .filter(|attempt| attempt.belongs_to(id))
            .filter_map(|attempt| {
                let first = recording.events.get(*attempt.event_indices.first()?)?;
                let start = date_value(Some(&Value::from(first.time.as_str())));
                start.is_finite().then_some((start, attempt))
            })
            .collect();
        attempts.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Self { recording: Some(recording), attempts, heads: HashMap::new() }
    }

    /// Whether the runs of two answers had different heads. Times are those of the answers.
    pub(super) fn differ(&mut self, earlier: Moment, later: Moment) -> bool {
        let (Some(one), Some(other)) = (self.attempt_at(earlier), self.attempt_at(later)) else {
            return false;
        };
        if one == other {
            return false;
        }
        let (one, other) = (self.head(one), self.head(other));
        one.zip(other).is_some_and(|(one, other)| one != other)
    }

    /// Returns the last attempt that began before a time.
    fn attempt_at(&self, time: Moment) -> Option<usize> {
        self.attempts.partition_point(|(start, _)| *start <= time).checked_sub(1)
    }

    fn head(&mut self, attempt: usize) -> Option<PromptHead> {
        let recording = self.recording.as_ref()?;
        let (_, run) = self.attempts.get(attempt)?;
        let read = || match recording.read_details(run).compiled {
            CompiledContext::Present(snapshot) => {
                Some((snapshot.system_prompt, snapshot.system_chars, snapshot.tools))
            }
            CompiledContext::Cut(_) | CompiledContext::Missing => None,
        };
        self.heads.entry(attempt).or_insert_with(read).clone()
    }
}
