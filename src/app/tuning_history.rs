//! Undo and redo of the tuned settings: a pure list of states, and the state of the tuning pane that it keeps.

use crate::gateway::ruleset::RulesetChoice;
use crate::gateway::setting_value::edit_text;
use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::policy::{Policy, PolicySet};
use crate::session::setting_change::SettingChange;

/// The most steps that one session remembers; older ones are forgotten.
const MAX_STEPS: usize = 200;

/// States before and after the shown one.
#[derive(Debug, Clone)]
pub(super) struct History<State> {
    /// States to undo to, the nearest last.
    past: Vec<State>,
    /// States to redo to, the nearest last.
    future: Vec<State>,
    /// The setting that moves: further moves of it belong to the same step.
    moving: Option<SettingId>,
}

impl<State> Default for History<State> {
    fn default() -> Self {
        Self { past: Vec::new(), future: Vec::new(), moving: None }
    }
}

impl<State: PartialEq> History<State> {
    /// Remembers the state that a change replaced. What was undone before can no longer be redone. `moved` is the
    /// setting whose slider the change moved, if it only did that.
    pub(super) fn record(&mut self, before: State, after: &State, moved: Option<SettingId>) {
        self.future.clear();
        let goes_on = moved.is_some() && moved == self.moving && !self.past.is_empty();
        self.moving = moved;
        if !goes_on {
            if self.past.len() == MAX_STEPS {
                self.past.remove(0);
            }
            self.past.push(before);
        } else if self.past.last() == Some(after) {
            // The slider is back where it started.
            self.past.pop();
            self.moving = None;
        }
    }

    /// Ends the step of the setting that moves: its next move is a new step.
    pub(super) fn end_move(&mut self) {
        self.moving = None;
    }

    /// Takes the state before the last change, or after the last undone one; `now` is kept for the way back.
    pub(super) fn step(&mut self, forward: bool, now: State) -> Option<State> {
        let (from, to) =
            if forward { (&mut self.future, &mut self.past) } else { (&mut self.past, &mut self.future) };
        let state = from.pop()?;
        to.push(now);
        self.moving = None;
        Some(state)
    }
}

/// A value of a setting, with the text that a person would type for it, or the meaning of its 0.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TunedValue {
    pub(super) id: SettingId,
    pub(super) value: Value,
    pub(super) text: String,
}

impl TunedValue {
    pub(super) fn new(
        id: SettingId,
        value: &Value,
        unit: Option<crate::gateway::setting_value::Unit>,
    ) -> Self {
        let text = id.spec().zero_word(value).map_or_else(|| edit_text(unit, value), str::to_owned);
        Self { id, value: value.clone(), text }
    }
}

/// Everything that a person tunes. Values are kept by setting, as another release has other rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TuningState {
    pub(super) values: Vec<TunedValue>,
    pub(super) policies: PolicySet,
    /// Whether the plan is shown: restored with a change, and no change by itself.
    pub(super) preview: bool,
    pub(super) respect_gates: bool,
    pub(super) assumed_changes: Vec<SettingChange>,
    /// The release whose rules apply.
    pub(super) ruleset: Option<RulesetChoice>,
}

impl TuningState {
    /// Whether a person would call the difference a change.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        Self { preview: other.preview, ..self.clone() } != *other
    }

    /// Returns the values that differ in another state.
    fn changed<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a TunedValue> {
        let differs = |own: &&TunedValue| {
            other.values.iter().any(|known| known.id == own.id && known.value != own.value)
        };
        self.values.iter().filter(differs)
    }

    /// Returns the only setting whose value differs in another state.
    pub(super) fn only_change(&self, other: &Self) -> Option<SettingId> {
        let mut changed = self.changed(other);
        changed.next().filter(|_| changed.next().is_none()).map(|value| value.id)
    }

    /// Describes this state by its differences from the one that it replaced, as `softTrimRatio is 0.4`.
    pub(super) fn describe_against(&self, replaced: &Self) -> String {
        let release = |state: &Self| state.ruleset.as_ref().map(|choice| choice.id.display_name());
        if let (Some(rules), Some(old)) = (release(self), release(replaced))
            && rules != old
        {
            return format!("the rules are {rules}");
        }
        let values = self.changed(replaced).map(|value| (value.id.spec().name(), value.text.as_str()));
        let switched = |policy: &Policy| self.policies.has(*policy) != replaced.policies.has(*policy);
        let is_on = |policy: Policy| if self.policies.has(policy) { "on" } else { "off" };
        let policies = Policy::ALL.into_iter().filter(switched).map(|policy| (policy.word(), is_on(policy)));
        let mut differences: Vec<_> = values.collect();
        if differences.is_empty() {
            differences.extend(policies);
        }
        if !differences.is_empty() {
            let differences: Vec<String> =
                differences.into_iter().map(|(name, value)| format!("{name} is {value}")).collect();
            return differences.join(", ");
        }
        match self.respect_gates == replaced.respect_gates {
            true => "the assumed window is back".to_owned(),
            false if self.respect_gates => "pruning waits as in the gateway".to_owned(),
            false => "the next call is pruned anyway".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A setting and its new value, moved with the slider or set at once.
    fn changes() -> impl Strategy<Value = Vec<(bool, u8, bool)>> {
        prop::collection::vec((any::<bool>(), 0_u8..4, any::<bool>()), 0..60)
    }

    proptest! {
        #[test]
        fn undoing_everything_restores_the_start_and_redoing_everything_the_end(changes in changes()) {
            let (mut history, mut now) = (History::default(), [0_u8; 2]);
            for (second, value, is_move) in changes {
                let before = now;
                now[usize::from(second)] = value;
                let id = if second { SettingId::SoftTrimRatio } else { SettingId::HardClearRatio };
                if now != before {
                    history.record(before, &now, is_move.then_some(id));
                }
            }
            let end = now;
            let mut seen = vec![now];
            while let Some(state) = history.step(false, now) {
                now = state;
                seen.push(now);
            }
            prop_assert_eq!(now, [0; 2]);
            for known in seen.iter().rev().skip(1) {
                now = history.step(true, now).expect("a step to redo");
                prop_assert_eq!(&now, known);
            }
            prop_assert_eq!(now, end);
            prop_assert_eq!(history.step(true, now), None);
        }
    }

    #[test]
    fn moves_of_one_slider_are_one_undo_step_until_another_change() {
        let mut history = History::default();
        let id = Some(SettingId::SoftTrimRatio);
        history.record(1, &2, id);
        history.record(2, &3, id);
        history.end_move();
        history.record(3, &4, id);
        assert_eq!(history.step(false, 4), Some(3));
        assert_eq!(history.step(false, 3), Some(1));
        assert_eq!(history.step(false, 1), None);
        assert_eq!(history.step(true, 1), Some(3));
        history.record(3, &9, None);
        assert_eq!(history.step(true, 9), None, "a new change forgets what was undone");
    }

    #[test]
    fn a_slider_moved_back_leaves_no_undo_step() {
        let mut history = History::default();
        let id = Some(SettingId::SoftTrimRatio);
        history.record(1, &2, id);
        history.record(2, &1, id);
        assert_eq!(history.step(false, 1), None);
    }
}
