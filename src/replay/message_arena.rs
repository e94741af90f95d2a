//! The messages of a path as they are at one moment of a trace: sizes, features and tokens, after the changes that each
//! run makes to old messages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, ContextMessage};
use crate::ids::EntryIx;
use crate::policy::edit::{Edit, has_legacy_images, size_without_images};
use crate::policy::features::ContentFeatures;
use crate::policy::message_list::{
    FeatureLookup, FeatureSource, FullChange, MessageChange, MessageList, MessageOrigin, PlannedMessage,
};
use crate::policy::planned_message::EditCache;
use crate::replay::ReplaySession;
use crate::replay::base::{ReplayBase, has_details};
use crate::replay::fixed_point::fixed_point;
use crate::store::entry::MessageSize;
use crate::units::Tokens;

/// The messages: first those of the path in its order, then summaries as the trace meets them.
#[derive(Debug)]
pub(super) struct MessageArena<'a> {
    session: &'a ReplaySession<'a>,
    pub(super) base: &'a ReplayBase,
    /// Sizes, in the form that a message list needs.
    pub(super) context: Context,
    /// Features of messages that a run or a truncation changed; only stripped details do not count as a change here.
    changed_features: HashMap<usize, ContentFeatures>,
    /// Results before this index have no details.
    stripped_until: usize,
    /// Calls and results before this index are paired.
    pub(super) paired_until: usize,
    summaries: Vec<SummaryMessage>,
    /// Messages of the path that this trace changed for good.
    changed: HashSet<usize>,
    /// Edits of messages that other traces do not have in this form.
    edit_cache: EditCache,
}

#[derive(Debug)]
struct SummaryMessage {
    features: Option<ContentFeatures>,
    calibrated_tokens: Option<Tokens>,
    /// Tokens estimated from chars.
    estimated_tokens: u64,
    /// The transcript holds it.
    is_written: bool,
}

impl<'a> MessageArena<'a> {
    pub(super) fn new(session: &'a ReplaySession<'a>, base: &'a ReplayBase) -> Self {
        let context = base.context.clone();
        Self {
            session,
            base,
            context,
            changed_features: HashMap::new(),
            stripped_until: 0,
            paired_until: 0,
            summaries: Vec::new(),
            changed: HashSet::new(),
            edit_cache: EditCache::default(),
        }
    }

    /// Adds the summary of a compaction of the path and returns its index.
    pub(super) fn push_recorded_summary(&mut self, place: usize, size: MessageSize) -> usize {
        let ix = self.session.path[place];
        if let Some(body) = self.session.index.retained_bodies.get(&ix).filter(|_| size.needs_body) {
            self.context.odd_bodies.insert(self.context.messages.len(), Arc::clone(body));
        }
        let of_nothing = || ContentFeatures::of(&crate::js::Value::Null);
        let features = self.session.features.map(|all| all[place].as_deref().cloned());
        let features = features.map(|read| read.unwrap_or_else(of_nothing));
        let weight = self.session.calibrated.map(|fit| fixed_point(fit.weights[place]));
        self.push(
            ix,
            size,
            SummaryMessage {
                features,
                calibrated_tokens: weight.map(Tokens),
                estimated_tokens: estimate_or_zero(&size),
                is_written: true,
            },
        )
    }

    /// Adds an assumed summary and returns its index.
    pub(super) fn push_assumed_summary(
        &mut self,
        ix: EntryIx,
        size: MessageSize,
        features: ContentFeatures,
    ) -> usize {
        let estimate = estimate_or_zero(&size);
        let features = self.session.features.map(|_| features);
        let weight = self.session.calibrated.map(|_| estimate as f64);
        self.push(
            ix,
            size,
            SummaryMessage {
                features,
                calibrated_tokens: weight.map(Tokens),
                estimated_tokens: estimate,
                is_written: false,
            },
        )
    }

    fn push(&mut self, entry: EntryIx, size: MessageSize, summary: SummaryMessage) -> usize {
        self.context.messages.push(ContextMessage::from_entry(entry, size));
        self.summaries.push(summary);
        self.context.messages.len() - 1
    }

    fn summary_at(&self, at: usize) -> Option<&SummaryMessage> {
        self.summaries.get(at.checked_sub(self.base.len())?)
    }

    /// Returns the identity of a summary: its entry, and whether the transcript holds it.
    pub(super) fn summary_key(&self, at: usize) -> (EntryIx, bool) {
        let is_written = self.summary_at(at).is_none_or(|summary| summary.is_written);
        (self.context.messages[at].entry, is_written)
    }

    /// Whether a message is not sent now: a result not yet invented, or one that repair dropped.
    pub(super) fn is_omitted(&self, at: usize) -> bool {
        self.is_omitted_by(at, self.paired_until)
    }

    /// [`Self::is_omitted`] where the messages before `paired_until` are paired.
    pub(super) fn is_omitted_by(&self, at: usize, paired_until: usize) -> bool {
        let special = &self.base.repair_changes;
        if special.is_empty() || special.binary_search(&at).is_err() {
            return false;
        }
        self.base.is_missing(at) != (at < paired_until)
    }

    /// Returns the messages of a range that are not sent now.
    pub(super) fn omitted_within(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        let changes = &self.base.repair_changes;
        let first = changes.partition_point(|at| *at < from);
        changes[first..].iter().copied().take_while(move |at| *at < to).filter(|at| self.is_omitted(*at))
    }

    /// Returns a message's entry; `None` for an invented result.
    pub(super) fn entry(&self, at: usize) -> Option<EntryIx> {
        (!self.base.is_missing(at)).then(|| self.context.messages[at].entry)
    }

    pub(super) fn planned_message(&self, at: usize) -> PlannedMessage {
        match self.base.missing.get(&at) {
            Some(missing) => missing.clone(),
            None => PlannedMessage { origin: MessageOrigin::Context(at as u32), change: None },
        }
    }

    pub(super) fn size(&self, at: usize) -> &MessageSize {
        &self.context.messages[at].size
    }

    /// Returns a message's features; `None` where texts were not read.
    pub(super) fn features(&self, at: usize) -> Option<&ContentFeatures> {
        if at >= self.base.len() {
            return self.summary_at(at)?.features.as_ref();
        }
        if !self.changed_features.is_empty()
            && let Some(features) = self.changed_features.get(&at)
        {
            return Some(features);
        }
        if self.base.is_missing(at) {
            return self.base.missing_features(at);
        }
        if at < self.stripped_until {
            return self.base.features_without_details(self.session, at);
        }
        self.base.features(self.session, at)
    }

    /// Returns the tokens of a message with these sizes. The fitted weight of an edited message shrinks in proportion
    /// to its estimated tokens.
    pub(super) fn estimate_tokens(&self, at: usize, size: &MessageSize) -> Tokens {
        let tokens = estimate_or_zero(size) as f64;
        let (weight, before) = match self.summary_at(at) {
            Some(summary) => (summary.calibrated_tokens, summary.estimated_tokens),
            None => (self.base.weights.as_ref().map(|weights| weights[at]), self.base.estimates[at]),
        };
        let (Some(weight), before) = (weight, before as f64) else { return Tokens(tokens) };
        if tokens == before {
            weight
        } else if before == 0.0 {
            Tokens(tokens)
        } else {
            Tokens(fixed_point(weight * tokens / before))
        }
    }

    pub(super) fn estimate_message_tokens(&self, item: &PlannedMessage) -> Tokens {
        match (item.position(), &item.change) {
            (Some(at), Some(change)) => self.estimate_tokens(at, &self.size_after(Some(at), change)),
            (Some(at), None) => self.estimate_tokens(at, self.size(at)),
            (None, Some(change)) => Tokens(estimate_or_zero(&self.size_after(None, change)) as f64),
            (None, None) => Tokens::ZERO,
        }
    }

    /// Returns the sizes after a change; without a position the message is in no file and has no sizes before.
    pub(super) fn size_after(&self, at: Option<usize>, change: &MessageChange) -> MessageSize {
        change.size(at.map_or(&MessageSize::EMPTY, |at| self.size(at)))
    }

    pub(super) fn list(&self, items: Vec<PlannedMessage>) -> MessageList<'_> {
        let features = self.session.features.map(|_| FeatureLookup::Source(self));
        MessageList::from_messages(&self.context, features, items)
    }

    /// Sets a message's sizes for good, after a context edit.
    pub(super) fn resize(&mut self, at: usize, size: MessageSize) {
        self.mark_changed(at);
        self.context.messages[at].size = size;
    }

    fn mark_changed(&mut self, at: usize) {
        self.changed.insert(at);
        self.edit_cache.invalidate(at);
    }

    /// Predicts an edit of a message with these sizes and features, cached if it has them now.
    pub(super) fn predict(
        &self,
        at: usize,
        edit: &Edit,
        size: &MessageSize,
        features: &ContentFeatures,
    ) -> Arc<FullChange> {
        let make = || {
            let (size, features) = edit.predict(size, features);
            FullChange { size, edits: vec![edit.clone()], features: Some(features) }
        };
        let is_present = self.features(at).is_some_and(|own| std::ptr::eq(own, features));
        match self.edit_cache(at).filter(|_| is_present && self.size(at) == size) {
            Some(cache) => cache.get_or_insert_with(at, &[], edit, make),
            None => Arc::new(make()),
        }
    }

    /// Applies an edit for good.
    pub(super) fn apply_edit(&mut self, at: usize, edit: &Edit) {
        self.mark_changed(at);
        let size = *self.size(at);
        match self.features(at).map(|features| edit.predict(&size, features)) {
            Some((after, features)) => {
                self.context.messages[at].size = after;
                self.changed_features.insert(at, features);
            }
            None if *edit == Edit::RemoveImages => {
                self.context.messages[at].size = size_without_images(&size);
            }
            None => {}
        }
    }

    /// Strips the details of all results before `until`.
    pub(super) fn strip_details(&mut self, until: usize) {
        for (at, features) in &mut self.changed_features {
            let size = &self.context.messages[*at].size;
            if (self.stripped_until..until).contains(at) && has_details(size.role, features) {
                *features = Edit::StripDetails.predict(size, features).1;
            }
        }
        (self.stripped_until..until)
            .filter(|at| self.changed.contains(at))
            .for_each(|at| self.edit_cache.invalidate(at));
        self.stripped_until = until;
    }

    /// Whether a run removes the message's images once the model has seen them.
    pub(super) fn has_images(&self, at: usize, results: bool) -> bool {
        has_legacy_images(self.size(at), results)
    }

    /// The same for rules that also remove references to media (pruning 8, row "Legacy images").
    pub(super) fn has_media(&self, at: usize) -> bool {
        let text_features = self.features(at).and_then(ContentFeatures::text_features);
        text_features.is_some_and(|text_features| text_features.has_media)
    }
}

impl FeatureSource for MessageArena<'_> {
    fn features_at(&self, at: usize) -> Option<&ContentFeatures> {
        self.features(at)
    }

    fn edit_cache(&self, at: usize) -> Option<&EditCache> {
        let is_shared = at < self.base.len() && !self.changed.contains(&at);
        Some(if is_shared {
            &self.base.edits[usize::from(at < self.stripped_until)]
        } else {
            &self.edit_cache
        })
    }
}
