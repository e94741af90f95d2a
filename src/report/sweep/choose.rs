//! Chooses the settings to vary if the user names none: the one that explain advises after an overflow, and of those that
//! the version supports those with the largest effect on this session, two in all. It tries each separately, then each
//! together with the best of the first round.

use crate::js::to_text;
use crate::policy::settings::SettingId;
use crate::policy::{Policy, PolicySet};
use crate::replay::{TraceTotals, simulated_totals};
use crate::report::explain::{AdvisedChange, explain_from};
use crate::report::sweep::axis::{Axis, AxisContext};
use crate::report::sweep::settings_under;
use crate::report::timeline::RecordedSession;
use crate::session::path_texts::IsWanted;
use crate::session::setting_change::SettingChange;

/// Number of axes in a default grid: a map shows two.
const MAX_AXES: usize = 2;

/// Common values by key, in the order of preference if no key has an effect.
const USUAL_VALUES: [(SettingId, &[&str]); 8] = [
    (SettingId::PruneTtl, &["5m", "15m", "30m", "1h", "2h"]),
    (SettingId::KeepLastAssistants, &["1", "2", "3", "5", "8"]),
    (SettingId::HardClearRatio, &["0.2", "0.3", "0.4", "0.5", "0.65"]),
    (SettingId::SoftTrimRatio, &["0.1", "0.2", "0.3", "0.45"]),
    (SettingId::MinPrunableToolChars, &["0", "10000", "25000", "50000", "100000"]),
    (SettingId::HardClearEnabled, &["true", "false"]),
    (SettingId::SoftTrimMaxChars, &["1000", "2000", "4000", "8000"]),
    (SettingId::HistoryLimit, &["5", "10", "20", "40"]),
];
/// Values as shares of the window.
const WINDOW_SHARES: [(SettingId, &[f64]); 2] = [
    (SettingId::ReserveTokens, &[0.1, 0.2, 0.3, 0.4]),
    (SettingId::KeepRecentTokens, &[0.05, 0.1, 0.2, 0.3]),
];
/// Shares of the window are rounded to multiples of this many tokens.
const ROUND_TO_TOKENS: f64 = 1000.0;

/// Builds the axis of a key from common values, or from shares of `window` in tokens; `None` if the version cannot set
/// the key, or if no value differs from the current one.
fn usual_axis(axis_context: &AxisContext<'_>, id: SettingId, window: f64) -> Option<Axis> {
    Axis::from_texts(axis_context, id, &usual_values(id, window)).ok().filter(|axis| axis.points.len() > 1)
}

fn usual_values(id: SettingId, window: f64) -> Vec<String> {
    let fixed = USUAL_VALUES.iter().find(|(known, _)| *known == id);
    let shares = WINDOW_SHARES.iter().find(|(known, _)| *known == id).filter(|_| window > 0.0);
    match (fixed, shares) {
        (Some((_, values)), _) => values.iter().map(|value| (*value).to_owned()).collect(),
        (None, Some((_, shares))) => {
            let tokens = shares
                .iter()
                .map(|share| (share * window / ROUND_TO_TOKENS).round().max(1.0) * ROUND_TO_TOKENS);
            tokens.map(crate::js::number_text).collect()
        }
        (None, None) => Vec::new(),
    }
}

/// Returns the axis of the smallest change that explain advises, if it is one setting; its value is among the points.
fn advised_axis(recording: &RecordedSession, axis_context: &AxisContext<'_>, window: f64) -> Option<Axis> {
    let explanation = explain_from(&recording.session, Some(&recording.inputs)).ok()?;
    let advice = explanation.advice.into_iter().next().filter(|advice| advice.fits_all)?;
    let [AdvisedChange { id, value, .. }] = advice.changes.as_slice() else { return None };
    let text = to_text(Some(value)).to_string_lossy();
    let texts: Vec<String> = std::iter::once(text).chain(usual_values(*id, window)).collect();
    Axis::from_texts(axis_context, *id, &texts).ok().filter(|axis| axis.points.len() > 1)
}

/// Returns every axis that needs no typing, in the order of preference.
pub fn usual_axes(axis_context: &AxisContext<'_>, window: f64) -> Vec<Axis> {
    let ids = USUAL_VALUES.iter().map(|(id, _)| *id).chain(WINDOW_SHARES.iter().map(|(id, _)| *id));
    ids.filter_map(|id| usual_axis(axis_context, id, window)).collect()
}

/// Chooses the default axes of a session; `None` once the caller cancelled.
///
/// `steps` are the policies of the grid; compaction settings switch on their own policy.
pub fn default_axes(
    recording: &RecordedSession,
    base: &[SettingChange],
    steps: PolicySet,
    wanted: IsWanted<'_>,
) -> Option<Vec<Axis>> {
    let axis_context = AxisContext { session: &recording.session, base, policies: steps };
    let window = recording.inputs.provider_window.get();
    let mut left = usual_axes(&axis_context, window);
    // A policy that is off has nothing to vary, except compaction, which is available everywhere.
    left.retain(|axis| axis.policy.is_none_or(|policy| policy == Policy::Compact || steps.has(policy)));
    let mut trial = AxisTrial { recording, base: base.to_vec(), policies: steps, is_wanted: wanted };
    // pi has no other settings: there the grid itself reports where compactions were not made as recorded.
    let others = left.iter().any(|axis| axis.policy != Some(Policy::Compact));
    let RecordedSession { session, inputs, trace, .. } = recording;
    if others && trace.lacks_due_compactions(&inputs.replay_session(session), wanted)? {
        left.retain(|axis| axis.policy != Some(Policy::Compact) || steps.has(Policy::Compact));
    }
    let mut chosen = Vec::new();
    let advised = base.is_empty().then(|| advised_axis(recording, &axis_context, window)).flatten();
    if let Some(axis) = advised {
        left.retain(|other| other.id != axis.id);
        let gain = trial.gain(&axis)?;
        trial.take(&axis, gain);
        chosen.push(axis);
    }
    while chosen.len() < MAX_AXES && !left.is_empty() {
        let mut gains = Vec::with_capacity(left.len());
        for axis in &left {
            gains.push(trial.gain(axis)?);
        }
        let best =
            (0..left.len()).reduce(|best, at| if gains[at].is_better_than(&gains[best]) { at } else { best });
        let Some(best) = best else { break };
        // A second axis without any effect besides the first is useless.
        if gains[best].is_zero() && !chosen.is_empty() {
            break;
        }
        let axis = left.remove(best);
        trial.take(&axis, gains[best]);
        chosen.push(axis);
    }
    Some(chosen)
}

/// The largest effect of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AxisGain {
    /// The best point.
    point: usize,
    /// Reduction of overflows.
    overflows: f64,
    /// Reduction of the peak, as a share.
    peak: f64,
    /// Range of peak and cost over the axis, as shares.
    spread: f64,
}

impl AxisGain {
    fn is_better_than(&self, other: &Self) -> bool {
        let rank = |gain: &Self| [gain.overflows, gain.peak, gain.spread];
        rank(self).partial_cmp(&rank(other)) == Some(std::cmp::Ordering::Greater)
    }

    /// Returns the effect of an axis from the totals at its points; `None` without a point.
    fn from_totals(all: &[TraceTotals], current: usize) -> Option<Self> {
        let now = all.get(current)?;
        let cost = |totals: &TraceTotals| totals.cost.unwrap_or(0.0) + totals.summary_cost;
        let rank = |totals: &TraceTotals| [totals.overflows as f64, totals.peak.0.get(), cost(totals)];
        let better = |one: usize, other: usize| rank(&all[one]).partial_cmp(&rank(&all[other]));
        let best = (0..all.len())
            .reduce(|best, at| if better(at, best) == Some(std::cmp::Ordering::Less) { at } else { best })?;
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let spread = |of: &dyn Fn(&TraceTotals) -> f64| {
            let (least, most) =
                all.iter().map(of).fold((f64::MAX, 0.0_f64), |(a, b), n| (a.min(n), b.max(n)));
            share(most - least, most)
        };
        Some(Self {
            point: best,
            overflows: now.overflows as f64 - all[best].overflows as f64,
            peak: share((now.peak.0 - all[best].peak.0).get(), now.peak.0.get()),
            spread: spread(&|totals| totals.peak.0.get()) + spread(&cost),
        })
    }

    fn is_zero(&self) -> bool {
        self.overflows == 0.0 && self.peak == 0.0 && self.spread == 0.0
    }
}

struct AxisTrial<'a> {
    recording: &'a RecordedSession,
    base: Vec<SettingChange>,
    policies: PolicySet,
    is_wanted: IsWanted<'a>,
}

impl AxisTrial<'_> {
    /// Adds the best point of an axis to those of the axes chosen so far.
    fn take(&mut self, axis: &Axis, gain: AxisGain) {
        self.base.extend(axis.change(gain.point));
        self.policies = axis.policy.map_or(self.policies, |policy| self.policies.with(policy, true));
    }

    /// Returns the totals of a replay with one point of an axis added to the axes chosen so far; `None` once cancelled.
    fn totals(&self, axis: &Axis, point: usize) -> Option<TraceTotals> {
        let changes: Vec<SettingChange> = self.base.iter().cloned().chain(axis.change(point)).collect();
        self.totals_under(
            &changes,
            axis.policy.map_or(self.policies, |policy| self.policies.with(policy, true)),
        )
    }

    fn totals_under(&self, changes: &[SettingChange], policies: PolicySet) -> Option<TraceTotals> {
        let RecordedSession { session, inputs, trace, .. } = self.recording;
        let settings = settings_under(session, changes, policies).0;
        simulated_totals(&inputs.replay_session(session), &settings, trace, &self.is_wanted)
    }

    fn gain(&self, axis: &Axis) -> Option<AxisGain> {
        let mut all = Vec::with_capacity(axis.points.len());
        for point in 0..axis.points.len() {
            all.push(self.totals(axis, point)?);
        }
        AxisGain::from_totals(&all, axis.current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Tokens;

    fn totals(overflows: usize, peak: f64, cost: f64) -> TraceTotals {
        TraceTotals { overflows, peak: (Tokens(peak), None), cost: Some(cost), ..TraceTotals::default() }
    }

    fn gain(all: &[TraceTotals]) -> AxisGain {
        AxisGain::from_totals(all, 0).expect("points")
    }

    #[test]
    fn the_best_point_has_the_fewest_overflows_then_the_lowest_peak_then_the_lowest_cost() {
        let all = [totals(1, 10.0, 1.0), totals(0, 30.0, 9.0), totals(0, 20.0, 9.0), totals(0, 20.0, 8.0)];
        assert_eq!(gain(&all).point, 3);
        assert_eq!((gain(&all).overflows, gain(&all).peak), (1.0, -1.0));
    }

    #[test]
    fn among_axes_without_gain_the_one_with_more_effect_is_better() {
        let peak = gain(&[totals(0, 10.0, 1.0), totals(0, 20.0, 1.0)]);
        let cost = gain(&[totals(0, 10.0, 1.0), totals(0, 10.0, 4.0)]);
        let neither = gain(&[totals(0, 10.0, 1.0); 2]);
        assert_eq!([peak, cost, neither].map(|gain| gain.spread), [0.5, 0.75, 0.0]);
        assert_eq!([peak, cost, neither].map(|gain| (gain.overflows, gain.peak)), [(0.0, 0.0); 3]);
        assert!(cost.is_better_than(&peak) && peak.is_better_than(&neither));
        assert!(!peak.is_better_than(&cost) && !neither.is_better_than(&neither));
        assert_eq!([peak, cost, neither].map(|gain| gain.is_zero()), [false, false, true]);
        assert!(gain(&[totals(0, 0.0, 0.0); 2]).is_zero(), "shares of nothing are nothing");
    }

    #[test]
    fn an_overflow_less_counts_more_than_any_peak_and_a_peak_more_than_any_spread() {
        let overflow = gain(&[totals(1, 10.0, 1.0), totals(0, 10.0, 1.0)]);
        let peak = gain(&[totals(1, 10.0, 1.0), totals(1, 5.0, 1.0)]);
        let spread = gain(&[totals(1, 10.0, 1.0), totals(1, 90.0, 90.0)]);
        assert!(overflow.is_better_than(&peak) && peak.is_better_than(&spread));
    }
}
