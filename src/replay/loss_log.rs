//! Records which messages each prompt of a trace lacks.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::message_list::PlannedMessage;
use crate::replay::outcome::{ContextLoss, LossCause};
use crate::replay::send::SentPrompt;
use crate::replay::trace::Trace;
use crate::store::entry::MessageSize;
use crate::units::Tokens;

/// The messages that the current prompt lacks. A long session lacks most of its messages at every call, so that only the
/// others are listed one by one.
struct MissingMessages {
    /// The prompt lacks every message before this one.
    prefix: usize,
    /// After the prefix: the cause, and the remaining tokens.
    rest: BTreeMap<usize, (LossCause, f64)>,
}

impl Trace<'_> {
    /// Adds the prompt of the current call to the log, if this trace has one.
    pub(super) fn log_losses(&mut self, sent: &SentPrompt) {
        let Some(mut log) = self.loss_log.take() else { return };
        log.has_rewrites |= self.truncated.is_some() || self.has_context_edits;
        let withheld = self.withheld_messages(sent, log.has_rewrites);
        let open = log.open.range(withheld.prefix..).map(|(at, _)| *at);
        let restored: Vec<usize> = open.filter(|at| !withheld.rest.contains_key(at)).collect();
        for at in restored {
            let loss = log.open.remove(&at);
            if let Some(loss) = loss.and_then(|loss| log.losses.get_mut(loss)) {
                loss.until_call = Some(log.calls);
            }
        }
        let more = (log.prefix..withheld.prefix).filter(|at| self.is_counted(*at, Tokens::ZERO));
        let lost: Vec<_> = more.map(|at| (at, (self.absence(at), 0.0))).chain(withheld.rest).collect();
        log.prefix = withheld.prefix;
        for (at, (cause, tokens_after)) in lost {
            let Some(entry) = self.arena.entry(at).filter(|_| !log.open.contains_key(&at)) else { continue };
            log.open.insert(at, log.losses.len());
            log.losses.push(ContextLoss {
                entry,
                cause,
                from_call: log.calls,
                until_call: None,
                tokens_before: self.whole_tokens(at),
                tokens_after: Tokens(tokens_after),
            });
        }
        log.calls += 1;
        self.loss_log = Some(log);
    }

    fn withheld_messages(&self, sent: &SentPrompt, has_rewrites: bool) -> MissingMessages {
        let mut withheld = BTreeMap::new();
        let prefix = if let Some(loaded) = &self.loaded {
            let present: BTreeSet<usize> =
                loaded.messages.iter().filter_map(PlannedMessage::position).collect();
            let prefix = present.first().map_or(self.run_base_len, |first| *first).min(self.run_base_len);
            let gone = (prefix..self.run_base_len).filter(|at| !present.contains(at));
            withheld.extend(gone.map(|at| (at, (self.absence(at), 0.0))));
            for message in loaded.messages.iter().filter(|_| self.reduce_trim.has_changes()) {
                let (Some(at), Some(change)) = (message.position(), &message.change) else { continue };
                let after = self.arena.estimate_tokens(at, &change.size(self.arena.size(at)));
                withheld.insert(at, (LossCause::ResultBudget, after.get()));
            }
            prefix
        } else {
            let from = self.run_start.from;
            let omitted = self.arena.omitted_within(from, self.run_base_len);
            withheld.extend(omitted.map(|at| (at, (self.absence(at), 0.0))));
            from
        };
        let cause = LossCause::of_edits(&sent.pruned, &sent.cleared, &sent.guarded);
        for (at, after) in self.edits_from(&sent.edits, 0) {
            let at = if sent.edits.start.is_some() { Some(at) } else { self.message_at(at).position() };
            withheld.extend(at.map(|at| (at, (cause, after as f64))));
        }
        if has_rewrites {
            let rewritten = (prefix..self.messages_seen).filter(|at| self.is_rewritten(*at));
            for at in rewritten {
                let after = self.arena.estimate_tokens(at, self.arena.size(at));
                withheld.entry(at).or_insert((LossCause::Rewritten, after.get()));
            }
        }
        withheld.retain(|at, (_, after)| *at >= prefix && self.is_counted(*at, Tokens(*after)));
        MissingMessages { prefix, rest: withheld }
    }

    /// Whether a part of a message is lost. A summary and an invented result are not messages of the path.
    fn is_counted(&self, at: usize, tokens_after: Tokens) -> bool {
        at < self.arena.base.len() && tokens_after < self.whole_tokens(at)
    }

    /// Returns why a prompt has nothing of a message.
    fn absence(&self, at: usize) -> LossCause {
        if at < self.session_start.from { LossCause::Summarised } else { LossCause::Dropped }
    }

    fn is_rewritten(&self, at: usize) -> bool {
        let chars = |size: &MessageSize| size.pi_chars.whole_chars();
        at < self.arena.base.len()
            && chars(self.arena.size(at)) < chars(&self.arena.base.context.messages[at].size)
    }

    fn whole_tokens(&self, at: usize) -> Tokens {
        if self.arena.base.is_missing(at) {
            return Tokens::ZERO;
        }
        self.arena.estimate_tokens(at, &self.arena.base.context.messages[at].size)
    }
}
