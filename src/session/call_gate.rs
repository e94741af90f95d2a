//! The pruner's gate at a call in the past or the next one: a call knows the touches before its run, and that an earlier
//! call of the run pruned.

use crate::gateway::pruning::PruneSettings;
use crate::ids::EntryIx;
use crate::policy::history_range::loaded_history;
use crate::policy::prune::{Gate, gate_under, touches, touches_under};
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::LoadedSession;
use crate::session::context_details::PruneReach;
use crate::store::body;
use crate::store::entry::Role;
use crate::units::{Millis, Moment};

impl LoadedSession {
    /// Returns the pruner's gate at `now_ms` for the next call from the leaf.
    pub fn gate(&self, on: bool, settings: &PruneSettings, now_ms: Moment) -> Gate {
        self.gate_of_call(on, settings, self.context.messages.len(), Some(now_ms))
    }

    /// Returns the gate for the call that sends the first `count` messages of the context; without a time, at the time of
    /// the last of them.
    pub(super) fn gate_of_call(
        &self,
        on: bool,
        settings: &PruneSettings,
        count: usize,
        now_ms: Option<Moment>,
    ) -> Gate {
        let now_ms = now_ms.unwrap_or_else(|| self.call_time(count));
        let touch = on.then(|| self.touch_before_call(settings, count, now_ms)).flatten();
        self.gate_after(on.then_some(settings), touch, now_ms)
    }

    fn gate_after(&self, settings: Option<&PruneSettings>, touch: Option<Moment>, now_ms: Moment) -> Gate {
        gate_under(self.ruleset.id.rules(), settings, self.is_prune_eligible(), touch, now_ms)
    }

    /// Whether the gate can be open in the run of the call that sent the first `count` messages: at its end the touch is
    /// oldest. Reads no texts.
    pub(super) fn may_open_gate(&self, count: usize) -> bool {
        let settings = self.pruning_configured.then_some(&self.configured_settings.prune);
        let now_ms = self.call_time(count);
        let touch = self.touch_before(self.run_of(count).1, now_ms);
        self.gate_after(settings, touch, now_ms).is_open()
    }

    /// Returns where the run of a call begins, and its first entry.
    fn run_of(&self, count: usize) -> (usize, Option<EntryIx>) {
        let messages = &self.context.messages[..count];
        let roles: Vec<Role> = messages.iter().map(|message| message.size.role).collect();
        let run = loaded_history(&roles);
        (run, messages.get(run).map(|message| message.entry))
    }

    /// Returns the last touch that a call knows. A run reads it when it begins; a call of the run that prunes counts as
    /// the next one (pruning 4.3, 4.6).
    fn touch_before_call(&self, settings: &PruneSettings, count: usize, now_ms: Moment) -> Option<Moment> {
        let messages = &self.context.messages[..count];
        let (run, started) = self.run_of(count);
        let mut touch = self.touch_before(started, now_ms);
        let reach = PruneReach::new(
            (self.ruleset.id.rules(), settings, self.window.tokens),
            &self.index,
            &self.context,
            self.details.as_deref(),
        );
        let may_prune = |at: &usize| messages[*at].size.role == Role::Assistant && reach.may_prune(*at);
        let answers = (run..count).filter(may_prune);
        for sent in answers {
            let time = self.call_time(sent);
            let gate = self.gate_after(Some(settings), touch, time);
            if gate.is_open() && self.prunes(settings, sent, gate) {
                touch = Some(time);
            }
        }
        touch
    }

    /// Returns the last touch of a time that has come, before the entry that began the run.
    fn touch_before(&self, started: Option<EntryIx>, now_ms: Moment) -> Option<Moment> {
        let newest = self.last_cache_touch_ms?;
        if started.is_none() && newest <= now_ms {
            return Some(newest);
        }
        let model = (self.provider.as_str(), self.model.as_str());
        let read = |ix: EntryIx| body::read_entry(&self.source, &self.index, ix);
        let touches = touches_under(self.ruleset.id.rules(), &self.index, model, read);
        let is_known = |(entry, time): &&(EntryIx, Moment)| {
            *time <= now_ms && *time <= newest && started.is_none_or(|started| *entry < started)
        };
        touches.iter().rev().find(is_known).map(|(_, time)| *time)
    }

    /// Returns the last use of the cache up to a time, which may be on a clock that is behind by up to a second.
    pub fn cache_touch_before(&self, at: Moment) -> Option<Moment> {
        let newest =
            self.last_cache_touch_ms.filter(|newest| newest.is_finite() && *newest > Moment::ZERO)?;
        let earlier = || touches(&self.index).map(|(_, time)| time).find(|time| *time <= at);
        if newest <= at + Millis(1_000.0) { Some(newest) } else { earlier() }
    }

    /// Whether pruning changes the first `sent` messages.
    fn prunes(&self, settings: &PruneSettings, sent: usize, gate: Gate) -> bool {
        let enabled = PolicySet::of(&[Policy::History, Policy::Prune]);
        let settings =
            PolicySettings { enabled, prune: settings.clone(), ..self.configured_settings.clone() };
        let plan = self.plan_of_first(sent, &settings, gate);
        plan.is_ok_and(|plan| plan.is_changed_by(Policy::Prune))
    }

    /// Returns the time of the message that the call answered.
    fn call_time(&self, sent: usize) -> Moment {
        let last = sent.checked_sub(1).and_then(|at| self.context.messages.get(at));
        last.map_or(Moment(f64::NAN), |message| self.index.entry(message.entry).time_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::{loaded_session, quoted};
    use crate::units::{Chars, Millis, Tokens};

    const TTL: f64 = 300_000.0;

    /// Entries of one run every ten minutes, with a touch after each, and two calls in the last one.
    fn session(calls_in_last: usize) -> LoadedSession {
        let mut lines = vec![r#"{"type":"session","version":3,"id":"s"}"#.to_owned()];
        let mut add = |time: f64, entry: String| {
            let at = lines.len();
            let parent = if at == 1 { "null".to_owned() } else { format!("\"e{}\"", at - 1) };
            let time = crate::js::iso_text(Moment(time));
            lines.push(format!(r#"{{"id":"e{at}","parentId":{parent},"timestamp":"{time}",{entry}}}"#));
        };
        let message = |json: String| format!(r#""type":"message","message":{json}"#);
        let text = quoted(&"x".repeat(20_000));
        let base = 1_700_000_000_000.0;
        for run in 0..4_u32 {
            let time = base + f64::from(run) * 2.0 * TTL;
            add(time, message(r#"{"role":"user","content":"go"}"#.to_owned()));
            let calls = if run == 3 { calls_in_last } else { 1 };
            for at in 0..calls {
                let id = format!("c{run}{at}");
                add(
                    time + 1_000.0,
                    message(format!(
                        r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"{id}","name":"exec","arguments":{{}}}}]}}"#
                    )),
                );
                add(
                    time + 2_000.0,
                    message(format!(
                        r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"exec","content":[{{"type":"text","text":{text}}}]}}"#
                    )),
                );
            }
            if run < 3 {
                add(
                    time + 3_000.0,
                    message(r#"{"role":"assistant","content":[{"type":"text","text":"ok"}]}"#.to_owned()),
                );
                add(
                    time + 3_000.0,
                    format!(
                        r#""type":"custom","customType":"openclaw.cache-ttl","data":{{"timestamp":{}}}"#,
                        time + 3_000.0
                    ),
                );
            }
        }
        let mut session = loaded_session(&(lines.join("\n") + "\n"), 20_000.0);
        session.window.tokens = Tokens(20_000.0);
        session
    }

    #[test]
    fn a_run_that_pruned_once_does_not_prune_again() {
        let settings = PruneSettings { min_prunable_tool_chars: Chars::ZERO, ..PruneSettings::default() };
        let first = session(0);
        let now = first.call_time(first.context.messages.len());
        assert!(first.gate(true, &settings, now).is_open(), "ten minutes have passed since the last run");
        let second = session(1);
        let gate = second.gate(true, &settings, now + Millis(3_000.0));
        assert!(matches!(gate, Gate::Warm { .. }), "{gate:?}");
    }

    #[test]
    fn a_past_moment_knows_no_later_touch() {
        let session = session(0);
        let settings = PruneSettings::default();
        let second_run = Moment(1_700_000_000_000.0 + 2.0 * TTL);
        assert!(session.gate(true, &settings, second_run).is_open(), "only the first touch has come");
        let gate = session.gate(true, &settings, Moment(1_700_000_000_000.0));
        assert_eq!(gate, Gate::NeverTouched);
    }
}
