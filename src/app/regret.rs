//! Marks the transcript's messages that prompts lacked and that were needed again: as recorded, or under the tuned
//! settings while a preview is on.

mod marks;

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::replay_state::ReplayRequest;
use crate::app::state::App;
use crate::context::rows::{RowKind, TranscriptRow};
use crate::ids::EntryIx;
use crate::policy::Policy;

pub use marks::{FoundRegret, RegretState, RowRegret};

/// Regret reads every text of the path, so larger transcripts are marked only by `clawscope replay --lost`.
const MAX_TRANSCRIPT_BYTES: u64 = 32 << 20;

impl App {
    /// Whether the transcript can have marks: a preview changes the prompt, or the record lost something.
    pub(super) fn wants_regret(&self) -> bool {
        let Some(session) = self.replayed_session() else { return false };
        let has_lost =
            || session.context.compaction.is_some() || session.gateway_policies().has(Policy::Prune);
        session.index.end <= MAX_TRANSCRIPT_BYTES && (self.tuning.preview || has_lost())
    }

    /// Requests the regret of the shown settings, once the session was read for replays.
    pub(super) fn request_regret(&mut self, request: &ReplayRequest, effects: &mut Vec<Effect>) {
        let recording = self.replay_state.recording.clone().filter(|_| self.wants_regret());
        let Some(recording) = recording else { return };
        if self.regret.requested.as_ref() == Some(request) {
            return;
        }
        self.regret.requested = Some(request.clone());
        self.regret.newest_id += 1;
        let settings = self.tuning.preview.then(|| Box::new(self.simulated_settings(&recording)));
        let (known, request_id) = (self.regret.texts.clone(), self.regret.newest_id);
        effects.push(Effect::FindRegret { recording, settings, known, request_id });
    }

    /// Shows the marks.
    pub(super) fn on_regret(&mut self, request_id: u64, found: Result<Arc<FoundRegret>, EffectError>) {
        self.regret.answer(request_id, found);
    }

    /// Returns a row's text about its lost messages.
    pub fn row_regret(&self, row: &TranscriptRow) -> Option<RowRegret<'_>> {
        let pane = self.transcript.as_ref()?;
        match row.kind {
            RowKind::Entry => {
                self.row_entries(row).find_map(|entry| self.regret.need_of(entry)).map(RowRegret::One)
            }
            RowKind::Compacted { entries, open: false } => {
                let path = pane.session.context.path.iter().take(entries as usize);
                let count = path.filter(|entry| self.regret.need_of(**entry).is_some()).count();
                (count > 0).then_some(RowRegret::Several(count))
            }
            RowKind::Turn { .. } => {
                let count =
                    self.row_entries(row).filter(|entry| self.regret.need_of(*entry).is_some()).count();
                (count > 0).then_some(RowRegret::Several(count))
            }
            RowKind::Compacted { .. } | RowKind::Branch { .. } | RowKind::Cut => None,
        }
    }

    /// Returns the entries of a row: its own, and those of the messages that it represents.
    fn row_entries(&self, row: &TranscriptRow) -> impl Iterator<Item = EntryIx> {
        let messages = self.transcript.as_ref().map_or(&[][..], |pane| &pane.session.context.messages);
        let first = row.message.unwrap_or(messages.len()).min(messages.len());
        let last = (first + row.messages as usize).min(messages.len());
        let own = std::iter::once(row.entry);
        let more = messages[first..last].iter().map(|message| message.entry);
        let entry = row.entry;
        own.chain(more.filter(move |other| *other != entry))
    }
}
