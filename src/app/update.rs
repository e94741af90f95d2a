//! Handles one event and returns the effects.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::effect::{Effect, PendingWrite};
use crate::app::effect_error::EffectError;
use crate::app::event::{Event, StoreListing, WriteOutcome};
use crate::app::jump_list::JumpList;
use crate::app::layout::Pane;
use crate::app::place::JumpRow;
use crate::app::state::{App, Loading, Overlay, Toast, ToastKind, UpdateMode, WriteStage};
use crate::app::transcript::TranscriptPane;
use crate::app::tuning_undo::TuningEvent;
use crate::ids::SessionKey;
use crate::policy::MessageFate;
use crate::session::message::MessageText;
use crate::session::{LoadedSession, Mark, SessionItem};
use crate::store::sqlite::database_of;
use crate::units::{Bytes, Millis, Moment};

/// The time for which a toast shows.
const TOAST_MS: Millis = Millis(3_000.0);

impl App {
    /// Returns the first effects.
    pub fn start(&mut self, demo: bool) -> Vec<Effect> {
        vec![Effect::ListSessions { demo }]
    }

    /// Handles an event at `now_ms` and returns effects.
    pub fn update(&mut self, event: Event, now_ms: Moment) -> Vec<Effect> {
        self.now_ms = now_ms;
        self.sessions.update_day(now_ms, self.pane_height(Pane::Sessions));
        let estimating = self.shows_estimates();
        let introducing = self.is_introducing();
        let summarising = self.is_summarising();
        let comparing = self.is_comparing();
        let by_person = TuningEvent::of(&event).map(|event| (event, self.tuning_state()));
        let mut effects = if self.is_stale(&event) { Vec::new() } else { self.on_event(event) };
        if let Some((event, before)) = by_person {
            effects.extend(self.follow_preview(&before));
            self.record_tuning(before, event);
        }
        self.navigation.is_walking_sessions &= self.focus == Pane::Sessions;
        if self.transcript.is_none() {
            self.message = self.message.cleared();
            self.requests.message = None;
            self.views.retain(|view| !view.needs_session());
        }
        self.opening.is_refreshing |=
            effects.iter().any(|effect| matches!(effect, Effect::RefreshSession { .. }));
        if estimating && !self.shows_estimates() {
            effects.push(Effect::StopEstimates);
        }
        if introducing && !self.is_introducing() {
            effects.push(Effect::RememberIntroduction);
        }
        if summarising && !self.is_summarising() {
            effects.push(Effect::StopSummary);
        }
        if comparing && !self.is_comparing() && self.is_sweeping() {
            self.stop_sweep();
            effects.push(Effect::StopSweep);
        }
        effects.extend(self.stop_store_search());
        effects.extend(self.stop_problems());
        self.clear_expired();
        self.request_missing(&mut effects);
        effects
    }

    fn on_event(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => return self.on_key(key),
            Event::Mouse(mouse) => return self.on_mouse(mouse),
            Event::Paste(text) => return self.on_paste(&text),
            Event::Resize { width, height } => return self.on_resize(width, height),
            Event::Timer => {}
            Event::Listed(listing) => {
                let mut effects = self.on_listed(*listing);
                effects.extend(self.refresh_record());
                return effects;
            }
            Event::ListFailed(error) => return self.on_list_failed(error),
            Event::ItemsCounted(items) | Event::ItemsChanged(items) => return self.update_items(items),
            Event::OpenProgress { key: _, done, total } => self.on_open_progress(done, total),
            Event::Opened(session) => return self.on_opened(&Arc::new(*session)),
            Event::OpenFailed { key, error } => self.on_open_failed(key, error),
            Event::RefreshFailed(error) => return self.on_refresh_failed(error),
            Event::FilesChanged(paths) => return self.on_files_changed(&paths),
            Event::PollingChanged(why) => return self.on_polling_changed(why),
            Event::Excerpts { epoch: _, items } => {
                if let Some(pane) = &mut self.transcript {
                    pane.excerpts.extend(items);
                }
            }
            Event::Message { text, .. } => self.on_message(text),
            Event::Details { subject: _, details } => self.on_details(details),
            Event::SessionAtCall { epoch: _, session } => self.on_session_at_call(session),
            Event::SummaryCalls { request: _, calls } => self.on_summary_calls(calls),
            Event::Blocks { epoch: _, blocks } => self.on_blocks(blocks),
            Event::SearchMatches { epoch: _, query, from, matches } => {
                return self.on_search_matches(&query, from, matches);
            }
            Event::StoreSearch { request_id: _, update } => self.on_store_search(update),
            Event::Problems { request_id: _, update } => self.on_problems(update),
            Event::EstimateProgress { epoch: _, done, total } => self.on_estimate_progress(done, total),
            Event::FoldedReport { epoch: _, report, doc } => self.on_folded_report(report, doc),
            Event::Summary { epoch: _, update } => return self.on_summary_update(update),
            Event::Explanation { epoch: _, explanation } => self.on_explanation(explanation),
            Event::Commits { epoch: _, commits } => self.on_commits(commits),
            Event::Record { key, doc } => self.on_record(&key, doc),
            Event::BranchesCompared { epoch: _, comparison } => self.on_branches_compared(comparison),
            Event::Repaired(reported) => return self.on_repaired(reported),
            Event::Recording { epoch: _, recording } => self.on_recording(recording),
            Event::Replayed { request_id, timeline } => self.on_replayed(request_id, timeline),
            Event::Regret { epoch: _, request_id, found } => self.on_regret(request_id, found),
            Event::Sweep { request_id: _, update } => self.on_sweep_update(update),
            Event::WritePreviewed(preview) => self.on_write_previewed(preview),
            Event::Written(written) => return self.on_written(written),
            Event::Presets(presets) => self.on_presets(presets),
            Event::Notice(text) => self.show_toast(text, false),
            Event::Failure(text) => self.show_toast(text, true),
        }
        Vec::new()
    }

    fn on_resize(&mut self, width: u16, height: u16) -> Vec<Effect> {
        self.size = (width, height);
        self.keep_cursors_visible();
        Vec::new()
    }

    /// Keeps the cursor of every pane visible after its size changed.
    pub(super) fn keep_cursors_visible(&mut self) {
        let layout = self.layout();
        self.sessions.scroll.keep_visible(self.sessions.rows.len(), layout.rows(Pane::Sessions));
        self.tuning.keep_visible(layout.rows(Pane::Tuning));
        if let Some(pane) = &mut self.transcript {
            pane.scroll.keep_visible(pane.rows.len(), layout.rows(Pane::Transcript));
        }
        self.keep_screen_cursors_visible();
    }

    pub(super) fn pane_height(&self, pane: Pane) -> usize {
        self.layout().rows(pane)
    }

    fn on_listed(&mut self, mut listing: StoreListing) -> Vec<Effect> {
        let height = self.pane_height(Pane::Sessions);
        let items = std::mem::take(&mut listing.items);
        let another =
            self.store.listing.as_ref().is_none_or(|known| known.store_label != listing.store_label);
        let known_error = self.store.listing.as_ref().and_then(|known| known.config_error.clone());
        if let Some(error) = listing.config_error.clone().filter(|error| known_error.as_ref() != Some(error))
        {
            self.show_alert(format!("using defaults: {error}"));
        }
        if self.store.listing.is_none() && !self.options.warnings.is_empty() {
            self.show_alert(self.options.warnings.join(" · "));
        }
        self.store.listing = Some(listing);
        self.store.error = None;
        self.introduce();
        self.expect_new_sessions(&items, another);
        let known = std::mem::take(&mut self.sessions.items);
        self.sessions.items.clone_from(&known);
        self.sessions.set_items(keep_counts(items, if another { &[] } else { &known }), height);
        if another {
            self.transcript = None;
            self.navigation.jumps = JumpList::default();
        }
        if self.opening.loading.is_some() {
            return Vec::new();
        }
        match self.active_session() {
            Some(open) if self.has_new_transcript(open) => {
                vec![Effect::RefreshSession { session: Arc::clone(open) }]
            }
            Some(_) => Vec::new(),
            None => self.open_newest(height),
        }
    }

    /// Whether the open session has another transcript now, after a reset, a rewind or a switch.
    fn has_new_transcript(&self, open: &LoadedSession) -> bool {
        let listed = self.sessions.items.iter().find(|item| item.key == open.item.key);
        // The gateway writes a new transcript with the first answer (store E7); until then the old one is all there
        // is to show.
        let is_written = |item: &&SessionItem| item.path.is_some() && !item.has(Mark::Missing);
        listed.filter(is_written).is_some_and(|item| item.path != open.item.path)
    }

    /// Opens the last changed session when none is open.
    fn open_newest(&mut self, height: usize) -> Vec<Effect> {
        let readable = self.sessions.items.iter().filter(|item| item.path.is_some() && !is_secondary(item));
        // Of two keys of a run, the first stands in the list.
        let newest = readable
            .rev()
            .max_by_key(|item| item.updated_ms.map(Moment::whole))
            .or(self.sessions.items.first());
        let Some(key) = newest.map(|item| item.key.clone()) else { return Vec::new() };
        self.sessions.select(&key, height);
        self.open_session(key)
    }

    /// Opens a session; drops requests about the previous one.
    pub(super) fn open_session(&mut self, key: SessionKey) -> Vec<Effect> {
        let loading = self.opening.loading.as_ref().map(|loading| &loading.key);
        let shown = self.displayed_session().map(|session| &session.item.key);
        if loading == Some(&key) || (loading.is_none() && shown == Some(&key)) {
            return Vec::new();
        }
        self.record_session_change(&key);
        self.load_session(key)
    }

    /// Opens a session without remembering the one that it replaces.
    pub(super) fn load_session(&mut self, key: SessionKey) -> Vec<Effect> {
        self.opening.error = None;
        self.navigation.pending_place = None;
        self.navigation.pending_hit = self.navigation.pending_hit.take().filter(|hit| hit.key == key);
        self.opening.loading = Some(Loading {
            key: key.clone(),
            bytes_read: Bytes::ZERO,
            bytes_total: Bytes::ZERO,
            started_ms: self.now_ms,
        });
        vec![Effect::OpenSession { key }]
    }

    fn on_list_failed(&mut self, error: String) -> Vec<Effect> {
        if self.store.listing.is_some() {
            self.show_toast(error, true);
        } else {
            self.store.error = Some(error);
        }
        Vec::new()
    }

    fn update_items(&mut self, items: Vec<SessionItem>) -> Vec<Effect> {
        let effects = self.observe_fullness(&items);
        let height = self.pane_height(Pane::Sessions);
        self.sessions.update_items(items, height);
        effects
    }

    fn on_open_progress(&mut self, done: Bytes, total: Bytes) {
        if let Some(loading) = &mut self.opening.loading {
            (loading.bytes_read, loading.bytes_total) = (done, total);
        }
    }

    fn on_opened(&mut self, session: &Arc<LoadedSession>) -> Vec<Effect> {
        let key = session.item.key.clone();
        let shown = self.displayed_session().map(|shown| shown.item.key.clone());
        self.opening.loading = None;
        let reported = self.displayed_session().filter(|shown| shown.item.key == key);
        let reported = reported.is_some_and(|shown| shown.unfinished_commit == session.unfinished_commit);
        self.epoch = session.epoch;
        let alerts = self.update_items(vec![session.item.clone()]);
        let height = self.pane_height(Pane::Transcript);
        let same_session = shown.as_ref() == Some(&key);
        if let Some(pane) =
            self.transcript.as_mut().filter(|pane| same_session && pane.is_continued_by(session))
        {
            pane.active_session = Arc::clone(session);
        } else {
            let row = self.transcript.as_ref().filter(|_| same_session).and_then(JumpRow::of);
            self.show_another_file(session, row, height);
            if !same_session {
                self.target = self.preview_start();
            }
        }
        self.update_failed_call();
        let looking = self.load_target();
        self.requests.message = None;
        self.requests.details = None;
        self.preview.details_failed = false;
        self.tuning.configure(session);
        self.restore_after_reading();
        self.preview.policy_savings = crate::app::preview::policy_savings(session);
        (self.opening.is_refreshing, self.opening.awaits_write) = (false, false);
        self.replan(false);
        let mut effects = vec![Effect::DropStale { epoch: session.epoch }];
        effects.extend(alerts);
        effects.extend(looking);
        effects.extend(self.go_to_pending_hit());
        effects.extend(self.transcript.as_mut().map(TranscriptPane::continue_search).unwrap_or_default());
        effects.extend(self.reopen_write_dialog());
        effects.extend(if self.navigation.pending_place.is_some() {
            self.arrive_pending()
        } else {
            self.refresh_screens()
        });
        if !reported {
            self.notify_unfinished();
        }
        effects
    }

    /// Shows a session whose entries are not those on display: another one, or the same after its file was replaced.
    /// Everything that names entries by their place goes here, so that no such place meets another file.
    fn show_another_file(&mut self, session: &Arc<LoadedSession>, row: Option<JumpRow>, height: usize) {
        let mut pane = TranscriptPane::new(Arc::clone(session), height);
        if let Some(row) = row.filter(|_| self.transcript.as_ref().is_some_and(|known| !known.follow)) {
            row.restore(&mut pane, height);
        }
        self.transcript = Some(pane);
        self.update_failed_call();
        self.tuning.assumed_changes.clear();
        self.message = self.message.cleared();
        self.reset_replays();
        self.reset_compare();
        self.views.iter_mut().for_each(Overlay::forget_entries);
    }

    /// Stores the text; a message that was opened as a hit shows its words.
    fn on_message(&mut self, text: Result<Arc<MessageText>, EffectError>) {
        self.message.set_text(text);
        if let Some(words) = self.message.take_pending_words() {
            self.find_and_show(&words);
        }
    }

    fn on_refresh_failed(&mut self, error: String) -> Vec<Effect> {
        self.opening.is_refreshing = false;
        let explained_again =
            if std::mem::take(&mut self.opening.awaits_write) { self.refresh_screens() } else { Vec::new() };
        self.show_toast(error, true);
        // The list says whether the file was replaced or removed.
        let demo = self.store.listing.as_ref().is_some_and(|listing| listing.demo);
        let mut effects = vec![Effect::ListSessions { demo }];
        effects.extend(explained_again);
        effects.extend(self.reopen_write_dialog());
        effects
    }

    fn on_open_failed(&mut self, key: SessionKey, error: String) {
        self.opening.loading = None;
        self.navigation.pending_place = None;
        self.navigation.pending_hit = None;
        self.transcript = None;
        self.preview.plan = None;
        (self.opening.is_refreshing, self.opening.awaits_write) = (false, false);
        self.opening.error = Some((key, error));
    }

    /// Follows changed files, or counts the changes while paused.
    fn on_files_changed(&mut self, paths: &[PathBuf]) -> Vec<Effect> {
        self.search_screen.store_changed = true;
        self.problems.is_outdated = true;
        if let UpdateMode::Paused { changes } = &mut self.update_mode {
            *changes += 1;
            return Vec::new();
        }
        let open = self.active_session().and_then(|open| Some((open, open.item.path.clone()?)));
        let is_open = |path: &PathBuf| open.as_ref().is_some_and(|(_, open)| open == path);
        let others: Vec<PathBuf> = paths.iter().filter(|path| !is_open(path)).cloned().collect();
        let mut effects = Vec::new();
        if !others.is_empty() {
            effects.push(Effect::RefreshListing { paths: others });
        }
        if let Some((session, path)) = &open {
            let database = database_of(path);
            if paths.iter().any(|changed| changed == path || Some(changed) == database.as_ref()) {
                effects.push(Effect::RefreshSession { session: Arc::clone(session) });
            }
        }
        effects
    }

    /// Notes polled folders: the header shows it always, and a toast says why once.
    fn on_polling_changed(&mut self, why: Option<String>) -> Vec<Effect> {
        if let Some(why) = why.clone().filter(|_| self.store.polling_reason.is_none()) {
            self.show_note(why);
        }
        self.store.polling_reason = why;
        Vec::new()
    }

    /// Reads the open transcript and the list again if they may have changed.
    pub(super) fn request_refresh(
        &self,
        transcript_changed: impl Fn(&Path) -> bool,
        list_changed: impl Fn(Option<&Path>) -> bool,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        let open = self.displayed_session().and_then(|session| session.item.path.clone());
        if list_changed(open.as_deref()) {
            let demo = self.store.listing.as_ref().is_some_and(|listing| listing.demo);
            effects.push(Effect::ListSessions { demo });
        }
        if let (Some(session), Some(path)) = (self.active_session(), open)
            && transcript_changed(&path)
        {
            effects.push(Effect::RefreshSession { session: Arc::clone(session) });
        }
        effects
    }

    fn on_write_previewed(&mut self, preview: Result<crate::app::event::WritePreview, EffectError>) {
        if let Some(dialog) = self.write_dialog_mut()
            && matches!(dialog.stage, WriteStage::Checking)
        {
            dialog.stage = match preview {
                Ok(preview) => WriteStage::Confirming(Box::new(preview)),
                Err(reason) => WriteStage::Refused(reason.to_string()),
            };
        }
    }

    fn on_written(&mut self, written: Result<WriteOutcome, EffectError>) -> Vec<Effect> {
        let Some(dialog) = self.write_dialog_mut() else { return Vec::new() };
        match written {
            Ok(written) => {
                let is_plan = matches!(dialog.write, PendingWrite::Commit { .. });
                self.close_write_dialog();
                if is_plan {
                    self.tuning.preview = false;
                }
                self.show_toast(format!("{} {}", written.message, written.next_step), false);
                self.replan(false);
                let effects = self.request_refresh(|_| true, |_| true);
                self.opening.awaits_write =
                    effects.iter().any(|effect| matches!(effect, Effect::RefreshSession { .. }));
                if self.opening.awaits_write {
                    self.views.iter_mut().for_each(Overlay::forget_verdict);
                }
                effects
            }
            Err(reason) => {
                dialog.stage = WriteStage::Refused(reason.to_string());
                Vec::new()
            }
        }
    }

    pub(super) fn show_toast(&mut self, text: String, failed: bool) {
        self.show(text, if failed { ToastKind::Refused } else { ToastKind::Done });
    }

    /// Shows what the person should know without having asked, after the notice of what the person did.
    pub(super) fn show_alert(&mut self, text: String) {
        let is_answer = |toast: &Toast| toast.kind != ToastKind::Alert && toast.until_ms > self.now_ms;
        if self.toast.as_ref().is_some_and(is_answer) {
            self.waiting_alert = Some(text);
        } else {
            self.show(text, ToastKind::Alert);
        }
    }

    /// Shows why a key does nothing now.
    pub(super) fn show_note(&mut self, text: String) {
        self.show(text, ToastKind::Note);
    }

    fn show(&mut self, text: String, kind: ToastKind) {
        let is_long = matches!(kind, ToastKind::Alert | ToastKind::Refused);
        let shown = if is_long { TOAST_MS * 2.0 } else { TOAST_MS };
        let now_ms = self.now_ms;
        let before = self.toast.replace(Toast { text, kind, until_ms: now_ms + shown });
        // An alert that an answer covers is shown again after it.
        let is_covered = |toast: &Toast| {
            toast.kind == ToastKind::Alert && kind != ToastKind::Alert && toast.until_ms > now_ms
        };
        if let Some(alert) = before.filter(is_covered) {
            self.waiting_alert.get_or_insert(alert.text);
        }
    }

    /// Removes the toast and the highlights that have expired.
    fn clear_expired(&mut self) {
        if self.toast.as_ref().is_some_and(|toast| toast.until_ms <= self.now_ms) {
            self.toast = None;
            if let Some(text) = self.waiting_alert.take() {
                self.show_alert(text);
            }
        }
        self.message.clear_expired(self.now_ms);
        if self.flash.until_ms != Moment::ZERO && self.flash.until_ms <= self.now_ms {
            self.flash = crate::app::state::Flash::default();
            if let Some(pane) = &mut self.transcript {
                pane.new_entries.clear();
            }
        }
    }

    /// Requests the data that the screen needs now: excerpts, the message, the next timer.
    fn request_missing(&mut self, effects: &mut Vec<Effect>) {
        let height = self.pane_height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.clear_seen(height);
            let entries = pane.missing_excerpts(height.max(1));
            if !entries.is_empty() {
                effects.push(Effect::ReadExcerpts { session: Arc::clone(&pane.session), entries });
            }
        }
        self.request_details(effects);
        self.request_summary_calls(effects);
        self.request_replay(effects);
        self.request_sweep(effects);
        self.request_message(effects);
        self.update_message_layout();
        let moments = [
            self.toast.as_ref().map(|toast| toast.until_ms),
            Some(self.flash.until_ms),
            self.message.expires_ms(),
            self.replay_state.slow_at_ms(),
            self.replay_state.next_read_ms(),
        ];
        let next = moments
            .into_iter()
            .flatten()
            .filter(|at| *at > self.now_ms && *at != Moment::NEVER)
            .reduce(Moment::min);
        if let Some(at) = next.filter(|at| self.requests.next_timer_ms != Some(*at)) {
            self.requests.next_timer_ms = Some(at);
            effects.push(Effect::SetTimer(at));
        }
    }

    /// Requests the message under the cursor when entry, epoch or fate differ from the last request.
    fn request_message(&mut self, effects: &mut Vec<Effect>) {
        let Some(pane) = &self.transcript else { return };
        let Some(entry) = pane.selected().map(|row| row.entry) else { return };
        let fate: Option<MessageFate> = self
            .preview
            .plan
            .as_ref()
            .and_then(|plan| plan.fates().get(pane.session.context.position(entry)?).copied());
        let texts = self.preview.plan.as_ref().filter(|_| fate.is_some_and(|fate| fate.fate.is_change()));
        let texts =
            texts.and_then(|plan| Some(plan.edits_at(pane.session.context.position(entry)?).to_vec()));
        let requested = Some((pane.session.epoch, entry, fate, texts));
        if self.requests.message == requested {
            return;
        }
        self.requests.message = requested;
        self.message.request(entry, self.now_ms);
        effects.push(Effect::ReadMessage {
            session: Arc::clone(&pane.session),
            entry,
            plan: self.preview.plan.clone(),
        });
    }
}

/// Whether a session is an archive, an orphan or without a transcript: it opens only when selected.
fn is_secondary(item: &SessionItem) -> bool {
    item.has(Mark::Orphan) || item.has(Mark::Missing) || item.marks.iter().any(|mark| mark.is_archive())
}

/// Keeps the counts of sessions whose files did not change until they are counted again.
fn keep_counts(items: Vec<SessionItem>, known: &[SessionItem]) -> Vec<SessionItem> {
    let known: HashMap<&SessionKey, &SessionItem> = known.iter().map(|old| (&old.key, old)).collect();
    let merge = |mut item: SessionItem| {
        let same = known.get(&item.key).filter(|old| old.bytes == item.bytes && old.path == item.path);
        if let Some(old) = same.filter(|old| old.entries.is_some() && item.entries.is_none()) {
            item.entries = old.entries;
            item.tokens = old.tokens;
            item.overflows = old.overflows;
            item.usage = old.usage;
            item.compactions = old.compactions.or(item.compactions);
            item.state = old.state;
            for mark in [Mark::Overflow, Mark::Refused, Mark::Failing] {
                item.set_mark(mark, old.has(mark));
            }
        }
        item
    };
    items.into_iter().map(merge).collect()
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
