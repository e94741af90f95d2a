//! The lost messages of the open session that were needed again.

use std::collections::HashMap;
use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::app::replay_state::ReplayRequest;
use crate::ids::EntryIx;
use crate::report::regret::{Need, Regret, RegretTexts, RegretTotals};

/// A regret, and the texts that it was found in.
#[derive(Debug, Clone)]
pub struct FoundRegret {
    pub regret: Regret,
    pub texts: Option<Arc<RegretTexts>>,
}

/// The needs of the transcript's lost messages.
#[derive(Debug, Clone, Default)]
pub struct RegretState {
    /// The costliest need of each lost message.
    needs: HashMap<EntryIx, Need>,
    /// The sums; `None` until they are known.
    pub totals: Option<RegretTotals>,
    pub(super) texts: Option<Arc<RegretTexts>>,
    pub(super) requested: Option<ReplayRequest>,
    pub(super) newest_id: u64,
    pub(super) answered_id: u64,
}

/// The lost messages of a row, in words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowRegret<'a> {
    One(&'a Need),
    /// Messages behind a folded row that were needed again.
    Several(usize),
}

impl RegretState {
    /// Forgets the needs of the previous session.
    pub(in crate::app) fn reset(&mut self) {
        *self = Self { newest_id: self.newest_id, answered_id: self.newest_id, ..Self::default() };
    }

    pub(in crate::app) fn is_answered(&self, request_id: u64) -> bool {
        request_id <= self.answered_id
    }

    /// Keeps an answer. A session that cannot be read again has no marks; the panes that read it say why.
    pub(super) fn answer(&mut self, request_id: u64, found: Result<Arc<FoundRegret>, EffectError>) {
        self.answered_id = request_id;
        let Ok(found) = found else { return };
        let FoundRegret { regret, texts } = &*found;
        let all = regret.lost.iter().flat_map(|lost| lost.needs.iter().map(|need| (lost.loss.entry, need)));
        let mut needs: HashMap<EntryIx, Need> = HashMap::new();
        for (entry, need) in all {
            let known = needs.entry(entry).or_insert_with(|| need.clone());
            if is_costlier(need, known) {
                *known = need.clone();
            }
        }
        self.needs = needs;
        self.totals = Some(regret.totals());
        self.texts = texts.clone().or_else(|| self.texts.take());
    }

    /// Returns how a message was needed again.
    pub fn need_of(&self, entry: EntryIx) -> Option<&Need> {
        self.needs.get(&entry)
    }
}

/// Orders needs by the price of the repetition; without one, the earlier need comes first.
fn is_costlier(one: &Need, other: &Need) -> bool {
    let rank = |need: &Need| (need.cost.unwrap_or(0.0), need.tokens);
    rank(one) > rank(other)
}
