//! One event in, effects out.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::app::effect::{Effect, Write};
use crate::app::event::{Event, Listing, Written};
use crate::app::layout::Pane;
use crate::app::state::{App, Live, Loading, Overlay, Toast, WriteStage};
use crate::app::target::Target;
use crate::app::transcript::TranscriptPane;
use crate::ids::SessionKey;
use crate::inspect::{Inspection, Mark, SessionItem};
use crate::policy::MessageFate;
use crate::store::sqlite::database_of;

/// How long a toast stays, ms.
const TOAST_MS: i64 = 3_000;

impl App {
    /// What to do before anything happened.
    pub fn start(&mut self, demo: bool) -> Vec<Effect> {
        vec![Effect::List { demo }]
    }

    /// Takes one event at a moment (ms since the epoch) and answers what to do.
    pub fn update(&mut self, event: Event, now_ms: i64) -> Vec<Effect> {
        self.now_ms = now_ms;
        let estimators = self.estimators().is_some();
        let summarising = self.is_summarising();
        let comparing = matches!(self.overlay, Some(Overlay::Compare));
        let mut effects = match event {
            Event::Key(key) => self.key(key),
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Paste(text) => self.paste(&text),
            Event::Resize { width, height } => self.resize(width, height),
            Event::Timer => Vec::new(),
            Event::Listed(listing) => self.listed(*listing),
            Event::ListFailed(error) => self.list_failed(error),
            Event::Counted(items) => self.counted(items),
            Event::Relisted(items) => self.relisted(items),
            Event::Progress { key, done, total } => self.progress(&key, done, total),
            Event::Opened(inspection) => self.opened(&Arc::new(*inspection)),
            Event::OpenFailed { key, error } => self.open_failed(key, error),
            Event::RefreshFailed(error) => self.refresh_failed(error),
            Event::Changed(paths) => self.changed(&paths),
            Event::Polled(why) => self.take_polled(why),
            other => self.answered(other),
        };
        self.close_breakdown_of_nothing();
        self.rereading |= effects.iter().any(|effect| matches!(effect, Effect::Refresh { .. }));
        if estimators && self.estimators().is_none() {
            effects.push(Effect::StopEstimates);
        }
        if summarising && !self.is_summarising() {
            effects.push(Effect::StopSummary);
        }
        if comparing && !matches!(self.overlay, Some(Overlay::Compare)) && self.is_sweeping() {
            self.stop_sweep();
            effects.push(Effect::StopSweep);
        }
        self.expire();
        self.settle(&mut effects);
        effects
    }

    /// Answers to what was asked about the open session; those of an older reading are dropped here.
    fn answered(&mut self, event: Event) -> Vec<Effect> {
        let epoch = self.inspection().map(|inspection| inspection.epoch);
        match event {
            Event::Excerpts { epoch: of, items } if Some(of) == epoch => {
                if let Some(pane) = &mut self.transcript {
                    pane.excerpts.extend(items);
                }
            }
            Event::Message { epoch: of, entry, text }
                if Some(of) == epoch && self.message.wanted == Some(entry) =>
            {
                self.message.take(text);
            }
            Event::Texts { subject, closer }
                if self.inspection().is_some_and(|it| it.subject() == subject) =>
            {
                self.take_texts(closer);
            }
            Event::LookedAtCall { epoch, inspection } => self.looked_at_call(epoch, inspection),
            Event::Calls { asked, told } => self.take_calls(&asked, told),
            Event::Blocks { epoch: of, blocks } if Some(of) == epoch => self.take_blocks(blocks),
            Event::Found { epoch, query, from, matches } => return self.found(epoch, &query, from, matches),
            Event::Estimating { epoch, done, total } => self.estimating(epoch, done, total),
            Event::Estimated { epoch, estimates } => self.estimated(epoch, estimates),
            Event::Recovery { epoch: of, view } if Some(of) == epoch => self.recovery_read(view),
            Event::Summary { epoch, said } => return self.summary_said(epoch, said),
            Event::Explained { epoch: of, view } if Some(of) == epoch => self.explained(view),
            Event::Commits { epoch: of, view } if Some(of) == epoch => self.commits_read(view),
            Event::BranchesCompared { epoch: of, view } if Some(of) == epoch => self.branches_compared(view),
            Event::Repaired(told) => return self.repaired(told),
            Event::Recording { epoch, recording } => self.take_recording(epoch, recording),
            Event::Replayed { request, timeline } => self.replayed(request, timeline),
            Event::Swept { request, said } => self.swept(request, said),
            Event::Prepared(preview) => self.prepared(preview),
            Event::Written(written) => return self.written(written),
            Event::Said(text) => self.toast(text, false),
            Event::Failed(text) => self.toast(text, true),
            _ => {}
        }
        Vec::new()
    }

    fn resize(&mut self, width: u16, height: u16) -> Vec<Effect> {
        self.size = (width, height);
        self.keep_in_sight();
        Vec::new()
    }

    /// Every pane keeps its cursor in sight when the room changes.
    pub(super) fn keep_in_sight(&mut self) {
        let layout = self.layout();
        self.sessions.scroll.keep(self.sessions.rows.len(), layout.rows(Pane::Sessions));
        self.tuning.keep(layout.rows(Pane::Tuning));
        if let Some(pane) = &mut self.transcript {
            pane.scroll.keep(pane.rows.len(), layout.rows(Pane::Transcript));
        }
        self.keep_estimators();
        if let Some(Overlay::Explain(screen)) = &mut self.overlay {
            screen.step(0, self.size);
        }
    }

    /// Rows of a pane.
    pub(super) fn height(&self, pane: Pane) -> usize {
        self.layout().rows(pane)
    }

    fn listed(&mut self, mut listing: Listing) -> Vec<Effect> {
        let height = self.height(Pane::Sessions);
        let items = std::mem::take(&mut listing.items);
        let another = self.listing.as_ref().is_none_or(|known| known.place != listing.place);
        let known_error = self.listing.as_ref().and_then(|known| known.config_error.clone());
        if let Some(error) = listing.config_error.clone().filter(|error| known_error.as_ref() != Some(error))
        {
            self.toast(format!("defaults are in force: {error}"), true);
        }
        self.listing = Some(listing);
        self.store_error = None;
        let known = std::mem::take(&mut self.sessions.items);
        self.sessions.items.clone_from(&known);
        self.sessions.set_items(with_counts(items, if another { &[] } else { &known }), height);
        if another {
            self.transcript = None;
        }
        if self.loading.is_some() {
            return Vec::new();
        }
        match self.own_session() {
            Some(open) if self.is_elsewhere(open) => {
                vec![Effect::Refresh { inspection: Arc::clone(open) }]
            }
            Some(_) => Vec::new(),
            None => self.open_first(height),
        }
    }

    /// Whether the key that is open means another transcript by now: a reset, a rewind or a switch made a new one.
    fn is_elsewhere(&self, open: &Inspection) -> bool {
        let listed = self.sessions.items.iter().find(|item| item.key == open.session.key);
        // A new one is written with the first answer (store E7); until then the one before is all there is to show.
        let is_written = |item: &&SessionItem| item.path.is_some() && !item.has(Mark::Missing);
        listed.filter(is_written).is_some_and(|item| item.path != open.session.path)
    }

    /// Opens the session with the newest change, where nothing is open yet.
    fn open_first(&mut self, height: usize) -> Vec<Effect> {
        let readable = self.sessions.items.iter().filter(|item| item.path.is_some() && !is_aside(item));
        let newest = readable.max_by_key(|item| item.updated_ms).or(self.sessions.items.first());
        let Some(key) = newest.map(|item| item.key.clone()) else { return Vec::new() };
        self.sessions.select(&key, height);
        self.open(key)
    }

    /// Asks for a session; what was asked before is dropped.
    pub(super) fn open(&mut self, key: SessionKey) -> Vec<Effect> {
        let loading = self.loading.as_ref().map(|loading| &loading.key);
        let shown = self.inspection().map(|inspection| &inspection.session.key);
        if loading == Some(&key) || (loading.is_none() && shown == Some(&key)) {
            return Vec::new();
        }
        self.open_error = None;
        self.loading = Some(Loading { key: key.clone(), done: 0, total: 0, since_ms: self.now_ms });
        vec![Effect::Open { key }]
    }

    fn list_failed(&mut self, error: String) -> Vec<Effect> {
        if self.listing.is_some() {
            self.toast(error, true);
        } else {
            self.store_error = Some(error);
        }
        Vec::new()
    }

    fn counted(&mut self, items: Vec<SessionItem>) -> Vec<Effect> {
        self.sessions.update_items(items);
        Vec::new()
    }

    fn relisted(&mut self, items: Vec<SessionItem>) -> Vec<Effect> {
        let height = self.height(Pane::Sessions);
        if self.sessions.update_items(items) {
            self.sessions.sort(height);
        }
        Vec::new()
    }

    fn progress(&mut self, key: &SessionKey, done: u64, total: u64) -> Vec<Effect> {
        if let Some(loading) = self.loading.as_mut().filter(|loading| loading.key == *key) {
            (loading.done, loading.total) = (done, total);
        }
        Vec::new()
    }

    fn opened(&mut self, inspection: &Arc<Inspection>) -> Vec<Effect> {
        let key = inspection.session.key.clone();
        let wanted = self.loading.as_ref().map(|loading| loading.key.clone());
        let shown = self.inspection().map(|shown| shown.session.key.clone());
        if wanted.is_some() && wanted.as_ref() != Some(&key) {
            return Vec::new();
        }
        self.loading = None;
        let told = self.inspection().filter(|shown| shown.session.key == key);
        let told = told.is_some_and(|shown| shown.unfinished == inspection.unfinished);
        self.epoch = inspection.epoch;
        self.sessions.update_items(vec![inspection.session.clone()]);
        let height = self.height(Pane::Transcript);
        if let Some(pane) = self.transcript.as_mut().filter(|_| shown.as_ref() == Some(&key)) {
            pane.own = Arc::clone(inspection);
        } else {
            self.transcript = Some(TranscriptPane::new(Arc::clone(inspection), height));
            self.target = Target::NextCall;
            self.tuning.assumed.clear();
            self.message = self.message.for_another_session();
            self.forget_replays();
            self.forget_compare();
        }
        self.find_failed_call();
        let looking = self.look_at_target();
        self.asked_message = None;
        self.asked_texts = None;
        self.texts_failed = false;
        self.tuning.configure(inspection);
        self.would_save = crate::app::preview::would_save(inspection);
        self.rereading = false;
        self.replan(false);
        let mut effects = vec![Effect::Forget { epoch: inspection.epoch }];
        effects.extend(looking);
        effects.extend(self.transcript.as_mut().map(TranscriptPane::search_on).unwrap_or_default());
        effects.extend(self.ask_again());
        effects.extend(self.estimate_again());
        effects.extend(self.renew_breakdown());
        effects.extend(self.ask_recovery());
        effects.extend(self.ask_explain());
        effects.extend(self.ask_branches());
        if !told {
            self.tell_unfinished();
        }
        effects
    }

    fn refresh_failed(&mut self, error: String) -> Vec<Effect> {
        self.rereading = false;
        self.toast(error, true);
        // The list says what became of the file.
        let demo = self.listing.as_ref().is_some_and(|listing| listing.demo);
        let mut effects = vec![Effect::List { demo }];
        effects.extend(self.ask_again());
        effects
    }

    fn open_failed(&mut self, key: SessionKey, error: String) -> Vec<Effect> {
        if self.loading.as_ref().is_some_and(|loading| loading.key == key) {
            self.loading = None;
            self.transcript = None;
            self.plan = None;
            self.rereading = false;
            self.open_error = Some((key, error));
        }
        Vec::new()
    }

    /// Files changed on disk: follow them, or count them while paused.
    fn changed(&mut self, paths: &[PathBuf]) -> Vec<Effect> {
        if let Live::Paused { changes } = &mut self.live {
            *changes += 1;
            return Vec::new();
        }
        let open = self.own_session().and_then(|open| Some((open, open.session.path.clone()?)));
        let is_open = |path: &PathBuf| open.as_ref().is_some_and(|(_, open)| open == path);
        let others: Vec<PathBuf> = paths.iter().filter(|path| !is_open(path)).cloned().collect();
        let mut effects = Vec::new();
        if !others.is_empty() {
            effects.push(Effect::Relist { paths: others });
        }
        if let Some((inspection, path)) = &open {
            let database = database_of(path);
            if paths.iter().any(|changed| changed == path || Some(changed) == database.as_ref()) {
                effects.push(Effect::Refresh { inspection: Arc::clone(inspection) });
            }
        }
        effects
    }

    /// Changes come later where nobody tells of them: the header says so, and why is said once.
    fn take_polled(&mut self, why: Option<String>) -> Vec<Effect> {
        if let Some(why) = why.clone().filter(|_| self.polled.is_none()) {
            self.toast(why, false);
        }
        self.polled = why;
        Vec::new()
    }

    /// Reads again what may have changed: the open transcript, the list.
    pub(super) fn follow_changes(
        &self,
        transcript_changed: impl Fn(&Path) -> bool,
        list_changed: impl Fn(Option<&Path>) -> bool,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        let open = self.inspection().and_then(|inspection| inspection.session.path.clone());
        if list_changed(open.as_deref()) {
            let demo = self.listing.as_ref().is_some_and(|listing| listing.demo);
            effects.push(Effect::List { demo });
        }
        if let (Some(inspection), Some(path)) = (self.own_session(), open)
            && transcript_changed(&path)
        {
            effects.push(Effect::Refresh { inspection: Arc::clone(inspection) });
        }
        effects
    }

    fn prepared(&mut self, preview: Result<crate::app::event::WritePreview, String>) {
        if let Some(Overlay::Write(dialog)) = &mut self.overlay
            && matches!(dialog.stage, WriteStage::Checking)
        {
            dialog.stage = match preview {
                Ok(preview) => WriteStage::Asking(preview),
                Err(reason) => WriteStage::Refused(reason),
            };
        }
    }

    fn written(&mut self, written: Result<Written, String>) -> Vec<Effect> {
        let Some(Overlay::Write(dialog)) = &mut self.overlay else { return Vec::new() };
        match written {
            Ok(written) => {
                let undone = matches!(dialog.write, Write::Undo { .. });
                self.overlay = None;
                if !undone {
                    self.tuning.preview = false;
                }
                self.toast(format!("{} {}", written.line, written.next), false);
                self.replan(false);
                self.follow_changes(|_| true, |_| true)
            }
            Err(reason) => {
                dialog.stage = WriteStage::Refused(reason);
                Vec::new()
            }
        }
    }

    /// Says something in the status line for a while.
    pub(super) fn toast(&mut self, text: String, failed: bool) {
        let ms = if failed { 2 * TOAST_MS } else { TOAST_MS };
        self.toast = Some(Toast { text, failed, until_ms: self.now_ms + ms });
    }

    /// Takes away what has had its time.
    fn expire(&mut self) {
        if self.toast.as_ref().is_some_and(|toast| toast.until_ms <= self.now_ms) {
            self.toast = None;
        }
        if self.flash.until_ms != 0 && self.flash.until_ms <= self.now_ms {
            self.flash = crate::app::state::Flash::default();
            if let Some(pane) = &mut self.transcript {
                pane.arrived.clear();
            }
        }
    }

    /// Asks for what the screen needs now: texts of rows, the message, the next moment something goes.
    fn settle(&mut self, effects: &mut Vec<Effect>) {
        let height = self.height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            let entries = pane.missing_excerpts(height.max(1));
            if !entries.is_empty() {
                effects.push(Effect::ReadExcerpts { inspection: Arc::clone(&pane.inspection), entries });
            }
        }
        self.want_texts(effects);
        self.want_calls(effects);
        self.want_replay(effects);
        self.want_sweep(effects);
        self.want_message(effects);
        self.prepare_message();
        let moments = [
            self.toast.as_ref().map(|toast| toast.until_ms),
            Some(self.flash.until_ms),
            self.again.slow_at(),
            self.again.read_at(),
        ];
        let next = moments.into_iter().flatten().filter(|at| *at > self.now_ms && *at != i64::MAX).min();
        if let Some(at) = next.filter(|at| self.armed != Some(*at)) {
            self.armed = Some(at);
            effects.push(Effect::TimerAt(at));
        }
    }

    /// Asks for the message under the cursor when it, the reading or its fate is another than asked for.
    fn want_message(&mut self, effects: &mut Vec<Effect>) {
        let Some(pane) = &self.transcript else { return };
        let Some(entry) = pane.selected().map(|row| row.entry) else { return };
        let fate: Option<MessageFate> = self
            .plan
            .as_ref()
            .and_then(|plan| plan.fates().get(pane.inspection.context.position(entry)?).copied());
        let texts = self.plan.as_ref().filter(|_| fate.is_some_and(|fate| fate.fate.changes()));
        let texts =
            texts.and_then(|plan| Some(plan.edits(pane.inspection.context.position(entry)?).to_vec()));
        let asked = Some((pane.inspection.epoch, entry, fate, texts));
        if self.asked_message == asked {
            return;
        }
        self.asked_message = asked;
        self.message.want(entry);
        effects.push(Effect::ReadMessage {
            inspection: Arc::clone(&pane.inspection),
            entry,
            plan: self.plan.clone(),
        });
    }
}

/// An archive, an orphan, or a row without a transcript yet: opened only when someone asks for it.
fn is_aside(item: &SessionItem) -> bool {
    item.has(Mark::Orphan) || item.has(Mark::Missing) || item.marks.iter().any(|mark| mark.is_archive())
}

/// What was counted of a session stays until it is counted anew, unless its file changed.
fn with_counts(items: Vec<SessionItem>, known: &[SessionItem]) -> Vec<SessionItem> {
    let known: HashMap<&SessionKey, &SessionItem> = known.iter().map(|old| (&old.key, old)).collect();
    let merge = |mut item: SessionItem| {
        let same = known.get(&item.key).filter(|old| old.bytes == item.bytes && old.path == item.path);
        if let Some(old) = same.filter(|old| old.entries.is_some() && item.entries.is_none()) {
            item.entries = old.entries;
            item.tokens = old.tokens;
            item.compactions = old.compactions.or(item.compactions);
            let overflowed = old.has(Mark::Overflow) && !item.has(Mark::Overflow);
            item.marks.extend(overflowed.then_some(Mark::Overflow));
        }
        item
    };
    items.into_iter().map(merge).collect()
}
