//! Records which messages each prompt of a trace lacks.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::message_list::PlannedMessage;
use crate::replay::losses::{ContextLoss, LossCause};
use crate::replay::send::SentPrompt;
use crate::replay::trace::Trace;
use crate::store::entry::MessageSize;

/// A message that the current prompt lacks: why, and tokens of what is left.
type Withheld = BTreeMap<usize, (LossCause, f64)>;

impl Trace<'_> {
    /// Adds the prompt of the current call to the log, if this trace has one.
    pub(super) fn log_losses(&mut self, sent: &SentPrompt) {
        let Some(mut log) = self.loss_log.take() else { return };
        log.has_rewrites |= self.truncated.is_some() || self.has_context_edits;
        let withheld = self.withheld_messages(sent, log.has_rewrites);
        let restored: Vec<usize> = log.open.keys().filter(|at| !withheld.contains_key(at)).copied().collect();
        for at in restored {
            let loss = log.open.remove(&at);
            if let Some(loss) = loss.and_then(|loss| log.losses.get_mut(loss)) {
                loss.until_call = Some(log.calls);
            }
        }
        for (at, (cause, tokens_after)) in withheld {
            let Some(entry) = self.arena.entry(at).filter(|_| !log.open.contains_key(&at)) else { continue };
            log.open.insert(at, log.losses.len());
            log.losses.push(ContextLoss {
                entry,
                cause,
                from_call: log.calls,
                until_call: None,
                tokens_before: self.whole_tokens(at),
                tokens_after,
            });
        }
        log.calls += 1;
        self.loss_log = Some(log);
    }

    fn withheld_messages(&self, sent: &SentPrompt, has_rewrites: bool) -> Withheld {
        let mut withheld = Withheld::new();
        let summarised = self.session_start.from;
        let absent = |at: usize| if at < summarised { LossCause::Summarised } else { LossCause::Dropped };
        match &self.loaded {
            Some(loaded) => {
                let present: BTreeSet<usize> =
                    loaded.messages.iter().filter_map(PlannedMessage::position).collect();
                let gone = (0..self.run_base_len).filter(|at| !present.contains(at));
                withheld.extend(gone.map(|at| (at, (absent(at), 0.0))));
                for message in loaded.messages.iter().filter(|_| self.reduce_trim.has_changes()) {
                    let (Some(at), Some(change)) = (message.position(), &message.change) else { continue };
                    let after = self.arena.estimate_tokens(at, &change.size(self.arena.size(at)));
                    withheld.insert(at, (LossCause::ResultBudget, after));
                }
            }
            None => withheld.extend((0..self.run_start.from).map(|at| (at, (absent(at), 0.0)))),
        }
        let cause = LossCause::of_edits(&sent.pruned, &sent.cleared, &sent.guarded);
        for (at, after) in self.edits_from(&sent.edits, 0) {
            let at = if sent.edits.start.is_some() { Some(at) } else { self.message_at(at).position() };
            withheld.extend(at.map(|at| (at, (cause, after as f64))));
        }
        if has_rewrites {
            let rewritten = (0..self.messages_seen).filter(|at| self.is_rewritten(*at));
            for at in rewritten {
                let after = self.arena.estimate_tokens(at, self.arena.size(at));
                withheld.entry(at).or_insert((LossCause::Rewritten, after));
            }
        }
        // A summary and an invented result are no messages of the path.
        withheld.retain(|at, (_, after)| *at < self.arena.base.len() && *after < self.whole_tokens(*at));
        withheld
    }

    fn is_rewritten(&self, at: usize) -> bool {
        let chars = |size: &MessageSize| size.pi_chars.whole_chars();
        at < self.arena.base.len()
            && chars(self.arena.size(at)) < chars(&self.arena.base.context.messages[at].size)
    }

    fn whole_tokens(&self, at: usize) -> f64 {
        if self.arena.base.is_missing(at) {
            return 0.0;
        }
        self.arena.estimate_tokens(at, &self.arena.base.context.messages[at].size)
    }
}
