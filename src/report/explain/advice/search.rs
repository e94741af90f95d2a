//! The search: each key separately from its mildest value, then pairs of keys if no single key helps.

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::gateway::compaction::engine_plugin;
use crate::policy::Policy;
use crate::policy::settings::SettingId;
use crate::report::explain::advice::candidates::{Candidate, SearchSpace, advised_change};
use crate::report::explain::advice::{Advice, AdviceOutcome, AdvisedChange, render_patch};
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::FindingClass;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::replay_summary::ReplaySummary;
use crate::session::setting_change::SettingChange;
use crate::units::Tokens;

/// Changes to list: those that help, and those that do not.
const MAX_LISTED: (usize, usize) = (5, 3);
/// Keys by user preference: earlier keys are easier to change.
const PREFERRED_KEYS: [&str; 6] =
    ["maxTokens", "contextPruning.", "compaction.", "historyLimit", "contextTokens", "contextWindow"];
/// The number of replayed calls above which the search skips pairs, because they would take too long.
const MAX_CALLS_FOR_PAIRS: usize = 40_000;

#[derive(Debug, Default)]
pub(in crate::report::explain) struct SearchResult {
    /// The best changes tried; those that help come first.
    pub advice: Vec<Advice>,
    /// Totals of the recorded session; `None` if nothing was tried.
    pub recorded: Option<ReplaySummary>,
    /// Number of changes tried.
    pub tried_count: usize,
    /// Whether the session has few enough calls to search pairs of keys too, so that no further search is left.
    pub is_exhausted: bool,
}

/// One change and its replay.
#[derive(Debug, Clone)]
struct SettingTrial {
    changes: Vec<SettingChange>,
    whole: ReplaySummary,
    /// Tokens that the failing call's prompt may have under the change.
    limit: u64,
    outcome: AdviceOutcome,
}

/// Data that all replays of a search share.
struct Bench<'a> {
    runner: &'a ReplayRunner,
    failure: &'a Failure,
    /// Tokens that a run needs to go on.
    turn: u64,
    verdict: Option<FindingClass>,
}

impl Bench<'_> {
    fn replay(&self, changes: &[SettingChange]) -> SettingTrial {
        let whole = self.runner.run_under(changes);
        SettingTrial {
            outcome: AdviceOutcome::TooLarge,
            limit: self.limit_under(changes),
            whole,
            changes: changes.to_vec(),
        }
        .judged(self)
    }

    /// Returns the tokens that the failing prompt may have: more where less is reserved for the reply. Past the gateway's
    /// own check, the configured window decides.
    fn limit_under(&self, changes: &[SettingChange]) -> u64 {
        if self.failure.is_by_gateway() {
            let window = changes.iter().rev().find(|change| change.id == SettingId::ContextWindow);
            let window = window.and_then(|change| change.value.as_f64()).map(Tokens);
            return window.unwrap_or(self.failure.believed_window.runtime).whole();
        }
        let reply = self.failure.overflow.reply_reserve.unwrap_or(0);
        let session = &self.runner.session;
        let change = session.reply_change(&session.failing_model(), changes);
        let to = change.map_or(reply, |change| change.reserved(Tokens(reply as f64)).whole());
        self.failure.limit + reply.saturating_sub(to)
    }

    /// Whether changes only remove something once, so that a session that grows overflows a little later.
    fn only_delays(&self, changes: &[SettingChange]) -> bool {
        let by_fixed =
            matches!(self.verdict, Some(FindingClass::FixedOverhead | FindingClass::ImpossibleBudget));
        !by_fixed && !changes.is_empty() && changes.iter().all(|change| is_file_limit(change.id))
    }
}

fn is_file_limit(id: SettingId) -> bool {
    matches!(id, SettingId::BootstrapMaxChars | SettingId::BootstrapTotalMaxChars)
}

/// Searches for changes that prevent every overflow of the session. `verdict` is the class of the verdict.
pub(in crate::report::explain) fn search_advice(
    case: &OverflowCase<'_>,
    verdict: Option<FindingClass>,
) -> SearchResult {
    // The gateway compares the wrong count again, whatever is set.
    let by_count = verdict == Some(FindingClass::ImplausibleUsage);
    let Some((failure, runner)) = case.failure.as_ref().zip(case.replays.as_ref()).filter(|_| !by_count)
    else {
        return SearchResult::default();
    };
    let space = SearchSpace {
        session: &runner.session,
        failure,
        has_engine_plugin: engine_plugin(&case.session.config).is_some(),
        can_prune: runner.can_prune(),
    };
    let candidates = space.candidates();
    let believable = ReplayFidelity::check(runner);
    let bench = Bench { runner, failure, turn: case.tokens_to_continue(), verdict };
    let mut trials: Vec<SettingTrial> = candidates
        .par_iter()
        .flat_map_iter(|candidate| pick_value(candidate.values.iter().map(|changes| bench.replay(changes))))
        .filter(|trial| believable.is_credible(&trial.changes))
        .collect();
    let mut tried: usize = candidates.iter().map(|candidate| candidate.values.len()).sum();
    let pairs = runner.call_count() <= MAX_CALLS_FOR_PAIRS;
    if !trials.iter().any(SettingTrial::helps) && pairs {
        let (found, count) = try_pairs(&bench, &candidates, &believable);
        trials.extend(found);
        tried += count;
    }
    let mut advice: Vec<Advice> = trials.into_iter().map(|trial| build_advice(&bench, &trial)).collect();
    let changed = |advice: &Advice| advice.fits_all || advice.tokens_after != advice.tokens_before;
    if advice.iter().any(changed) {
        advice.retain(changed);
    }
    advice.sort_by_key(|advice| rank(advice, verdict));
    let helping = advice.iter().filter(|advice| advice.fits_all).count();
    let (most, others) = MAX_LISTED;
    let mut at = 0;
    advice.retain(|_| {
        at += 1;
        at <= most.min(helping) || at > helping && at <= helping + others
    });
    let nothing = advice.is_empty();
    SearchResult {
        advice,
        recorded: (!nothing).then(|| runner.run_recorded()),
        tried_count: tried,
        is_exhausted: pairs,
    }
}

/// Replays the session with its refused call under changes. `turn` are the tokens that a run needs to go on.
pub(super) fn try_on_failure(
    runner: &ReplayRunner,
    failure: &Failure,
    turn: u64,
    verdict: Option<FindingClass>,
    changes: &[SettingChange],
) -> Advice {
    let bench = Bench { runner, failure, turn, verdict };
    build_advice(&bench, &bench.replay(changes))
}

impl SettingTrial {
    fn tokens(&self) -> u64 {
        self.whole.failing_call_tokens.unwrap_or(self.whole.peak_tokens)
    }

    fn helps(&self) -> bool {
        matches!(self.outcome, AdviceOutcome::Fits { .. } | AdviceOutcome::LacksRoom)
    }

    fn has_room(&self) -> bool {
        matches!(self.outcome, AdviceOutcome::Fits { .. })
    }

    fn judged(self, bench: &Bench<'_>) -> Self {
        let (failure, whole, after) = (bench.failure, &self.whole, self.tokens());
        let margin = if whole.failing_call_measured { 0 } else { failure.uncounted_margin() };
        let outcome = match (whole.failing_call_overflows, whole.overflows) {
            (true, _) if failure.is_byte_limit() => AdviceOutcome::TooManyBytes,
            (true, _) if after <= self.limit && whole.compactions > 0 => AdviceOutcome::FitsAfterCompaction,
            (true, _) => AdviceOutcome::TooLarge,
            (false, 0) if bench.only_delays(&self.changes) => AdviceOutcome::Postpones,
            (false, 0) if margin > 0 && after + margin > self.limit => AdviceOutcome::Unproven,
            (false, 0) if after + bench.turn > self.limit => AdviceOutcome::LacksRoom,
            (false, 0) => AdviceOutcome::Fits { compactions: whole.compactions },
            (false, others) => AdviceOutcome::OthersTooLarge(others),
        };
        Self { outcome, ..self }
    }
}

/// Whether the recorded gateway compacted at its trigger. If not, any changed compaction setting would appear to help.
struct ReplayFidelity {
    compaction: bool,
}

impl ReplayFidelity {
    fn check(runner: &ReplayRunner) -> Self {
        Self { compaction: !runner.lacks_due_compactions() }
    }

    fn is_credible(&self, changes: &[SettingChange]) -> bool {
        let compacts = |change: &SettingChange| {
            change.policy() == Some(Policy::Compact) || change.id == SettingId::ContextWindow
        };
        self.compaction || !changes.iter().any(compacts)
    }
}

/// Returns the mildest value under which the failing call leaves room for a turn, otherwise the mildest that helps. If no
/// value helps, returns the one that comes closest. The mildest comes first; later values are replayed only if needed.
fn pick_value(trials: impl Iterator<Item = SettingTrial>) -> Option<SettingTrial> {
    let mut nearest: Option<SettingTrial> = None;
    let mut barely: Option<SettingTrial> = None;
    for trial in trials {
        if trial.helps() {
            if trial.has_room() {
                return Some(trial);
            }
            barely = barely.or(Some(trial));
        } else {
            let less = |known: &SettingTrial| {
                (trial.whole.overflows, trial.whole.failing_call_tokens)
                    < (known.whole.overflows, known.whole.failing_call_tokens)
            };
            if nearest.as_ref().is_none_or(less) {
                nearest = Some(trial);
            }
        }
    }
    barely.or(nearest)
}

/// Tries two keys at once: the strongest value of each, then milder values of the pairs that help. Two changes that leave
/// no room for the next turn are no cure.
fn try_pairs(
    bench: &Bench<'_>,
    candidates: &[Candidate],
    believable: &ReplayFidelity,
) -> (Vec<SettingTrial>, usize) {
    let pairs: Vec<(usize, usize)> =
        (0..candidates.len()).flat_map(|a| (a + 1..candidates.len()).map(move |b| (a, b))).collect();
    let both = |(a, b): (usize, usize), (x, y): (usize, usize)| -> Option<Vec<SettingChange>> {
        let changes: Vec<SettingChange> =
            candidates[a].values.get(x)?.iter().chain(candidates[b].values.get(y)?).cloned().collect();
        believable.is_credible(&changes).then_some(changes)
    };
    let count = pairs.len();
    let found = pairs.into_par_iter().filter_map(|(a, b)| {
        let last = |at: usize| candidates[at].values.len() - 1;
        let strongest = both((a, b), (last(a), last(b)))?;
        let strongest = bench.replay(&strongest);
        if !strongest.has_room() {
            return None;
        }
        let middle = both((a, b), (last(a) / 2, last(b) / 2)).map(|changes| bench.replay(&changes));
        Some(middle.filter(SettingTrial::has_room).unwrap_or(strongest))
    });
    (found.collect(), count)
}

fn build_advice(bench: &Bench<'_>, trial: &SettingTrial) -> Advice {
    let (failure, session) = (bench.failure, &bench.runner.session);
    let changes: Vec<_> = trial.changes.iter().map(|change| advised_change(session, change)).collect();
    let fits = !trial.whole.failing_call_overflows;
    let (patch, commands) = render_patch(&changes);
    Advice {
        changes,
        tokens_before: failure.prompt_tokens,
        tokens_after: trial.tokens(),
        limit: trial.limit,
        fits,
        fits_all: trial.helps(),
        has_room: fits && trial.tokens() + bench.turn <= trial.limit,
        whole: trial.whole,
        outcome: trial.outcome,
        patch,
        commands,
    }
}

/// Sorts changes that prevent every overflow first. Among these, cuts of unrelated workspace files and of the
/// history to one turn come last and the verdict's
/// key first; then fewer keys win, where missing room for a turn counts as one more key.
fn rank(advice: &Advice, verdict: Option<FindingClass>) -> (bool, bool, bool, usize, usize, usize, u64) {
    let key = advice.changes.first().map_or("", AdvisedChange::key);
    let is_own = match verdict {
        Some(FindingClass::ReplyReserve) => key == "maxTokens",
        Some(FindingClass::WrongWindow) => key == "contextWindow",
        // The provider was not asked: the gateway's check is the cause, not the window.
        Some(FindingClass::EstimatorError) => key.starts_with("compaction.midTurnPrecheck"),
        Some(FindingClass::PruningInert) => key.starts_with("contextPruning."),
        Some(FindingClass::FixedOverhead | FindingClass::ImpossibleBudget) => {
            key.starts_with("bootstrap") || key.contains("reserve")
        }
        _ => false,
    };
    let one_turn = |change: &AdvisedChange| {
        change.id == SettingId::HistoryLimit && change.value.as_f64().is_some_and(|turns| turns <= 1.0)
    };
    let files = key.starts_with("bootstrap") && !is_own || advice.changes.iter().any(one_turn);
    if !advice.fits_all {
        return (true, false, false, advice.overflows(), 0, 0, advice.tokens_after);
    }
    let usual =
        PREFERRED_KEYS.iter().position(|usual| key.starts_with(usual)).unwrap_or(PREFERRED_KEYS.len());
    let size = usize::from(!advice.has_room) + advice.changes.len();
    (!advice.fits_all, files, !is_own, size, advice.overflows(), usual, advice.tokens_after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::explain::testing::with_failure;

    fn summary(overflows: usize, tokens: u64) -> ReplaySummary {
        ReplaySummary {
            overflows,
            failing_call_overflows: overflows > 0,
            failing_call_tokens: Some(tokens),
            failing_call_measured: false,
            failing_call_compacted: false,
            peak_tokens: 0,
            peak_measured: false,
            cost: None,
            cost_is_estimated: false,
            compactions: 0,
        }
    }

    fn trial(changes: Vec<SettingChange>, whole: ReplaySummary) -> SettingTrial {
        SettingTrial { changes, whole, limit: 1_000, outcome: AdviceOutcome::TooLarge }
    }

    /// Returns the advice for a change that leads to this replay of a call of 1,000 tokens, where a turn takes 100.
    fn said(whole: ReplaySummary) -> Advice {
        with_failure("u:9 a:9 r:75", 1_100, 0, |case, failure| {
            let runner = case.replays.as_ref().expect("a refused session is replayed");
            let bench = Bench { runner, failure, turn: 100, verdict: None };
            build_advice(&bench, &trial(Vec::new(), whole).judged(&bench))
        })
    }

    #[test]
    fn a_change_under_which_the_refused_call_still_overflows_does_not_fit() {
        let advice = said(summary(1, 900));
        assert_eq!((advice.fits, advice.fits_all, advice.has_room), (false, false, false));
        assert_eq!(advice.outcome, AdviceOutcome::TooLarge);
        assert_eq!((advice.tokens_before, advice.tokens_after, advice.limit), (1_100, 900, 1_000));
        let recovered = said(ReplaySummary { compactions: 1, ..summary(1, 900) });
        assert_eq!(recovered.outcome, AdviceOutcome::FitsAfterCompaction);
        assert!(!recovered.fits, "the change did not prevent the refusal");
    }

    #[test]
    fn a_change_that_only_another_call_overflows_under_fits_the_refused_one() {
        let others =
            |overflows| said(ReplaySummary { failing_call_overflows: false, ..summary(overflows, 900) });
        assert_eq!(others(1).outcome, AdviceOutcome::OthersTooLarge(1));
        assert_eq!(others(3).outcome, AdviceOutcome::OthersTooLarge(3));
        assert_eq!((others(1).fits, others(1).fits_all, others(1).has_room), (true, false, true));
    }

    #[test]
    fn a_turn_fits_to_the_token_and_compactions_are_counted() {
        let outcome = |tokens, compactions| said(ReplaySummary { compactions, ..summary(0, tokens) }).outcome;
        assert_eq!(outcome(900, 0), AdviceOutcome::Fits { compactions: 0 });
        assert_eq!(outcome(901, 0), AdviceOutcome::LacksRoom);
        assert_eq!(outcome(900, 2), AdviceOutcome::Fits { compactions: 2 });
        // A call that never came about is judged by the largest prompt.
        let gone = ReplaySummary { failing_call_tokens: None, peak_tokens: 901, ..summary(0, 0) };
        assert_eq!((said(gone).tokens_after, said(gone).has_room), (901, false));
    }

    /// Picks from trials with these overflows and tokens of the failing call, the mildest first; returns its place and
    /// the number of replays. Up to `room` tokens leave room for a turn.
    fn picked(trials: &[(usize, u64)], room: u64) -> (Option<usize>, usize) {
        let replayed = std::cell::Cell::new(0);
        let trials = trials.iter().enumerate().map(|(at, (overflows, tokens))| {
            replayed.set(at + 1);
            let outcome = match overflows {
                0 if *tokens > room => AdviceOutcome::LacksRoom,
                0 => AdviceOutcome::Fits { compactions: 0 },
                _ => AdviceOutcome::TooLarge,
            };
            let whole = ReplaySummary { peak_tokens: at as u64, ..summary(*overflows, *tokens) };
            SettingTrial { outcome, ..trial(Vec::new(), whole) }
        });
        let picked = pick_value(trials).map(|trial| trial.whole.peak_tokens as usize);
        (picked, replayed.get())
    }

    #[test]
    fn the_mildest_value_that_leaves_the_failing_call_room_for_a_turn_is_advised() {
        assert_eq!(picked(&[(1, 990), (0, 950), (0, 900), (0, 800)], 900), (Some(2), 3));
        assert_eq!(picked(&[(0, 901), (0, 900)], 900), (Some(1), 2));
    }

    #[test]
    fn the_mildest_helpful_value_is_advised_if_none_leaves_room() {
        assert_eq!(picked(&[(1, 990), (0, 950), (0, 940)], 900), (Some(1), 3));
        assert_eq!(picked(&[(0, 950), (1, 100)], 900), (Some(0), 2));
    }

    #[test]
    fn the_closest_value_is_shown_if_none_helps() {
        assert_eq!(picked(&[(2, 700), (1, 990), (1, 980), (1, 985)], 900), (Some(2), 4));
        assert_eq!(picked(&[], 900), (None, 0));
    }

    #[test]
    fn a_compaction_setting_is_advised_only_if_the_replay_overflows_as_recorded() {
        let change = |id: SettingId| SettingChange {
            id,
            value: crate::js::Value::from(1.0),
            origin: crate::gateway::registry::Provenance::Tuned,
            model: None,
        };
        let [prune, reserve, window] =
            [SettingId::SoftTrimRatio, SettingId::ReserveTokens, SettingId::ContextWindow].map(change);
        let believed =
            |compaction, changes: &[SettingChange]| ReplayFidelity { compaction }.is_credible(changes);
        assert!(
            believed(true, std::slice::from_ref(&reserve)) && believed(false, std::slice::from_ref(&prune))
        );
        assert!(
            !believed(false, std::slice::from_ref(&reserve))
                && !believed(false, std::slice::from_ref(&window))
        );
        assert!(!believed(false, &[prune, window]), "one of two");
    }

    #[test]
    fn changes_that_prevent_every_overflow_come_first_then_the_verdicts_key_then_fewer_keys() {
        let advice = |key: SettingId, whole: ReplaySummary| {
            with_failure("u:9 a:9 r:75", 1_100, 0, |case, failure| {
                let runner = case.replays.as_ref().expect("a refused session is replayed");
                let change = SettingChange {
                    id: key,
                    value: crate::js::Value::from(7.0),
                    origin: crate::gateway::registry::Provenance::Tuned,
                    model: None,
                };
                let bench = Bench { runner, failure, turn: 100, verdict: None };
                build_advice(&bench, &trial(vec![change], whole).judged(&bench))
            })
        };
        let window = advice(SettingId::ContextWindow, summary(0, 900));
        let reserve = advice(SettingId::ReserveTokens, summary(0, 900));
        let none = advice(SettingId::ContextWindow, summary(2, 900));
        let worse = advice(SettingId::ContextWindow, summary(3, 900));
        let tight = advice(SettingId::ContextWindow, summary(0, 950));
        assert!(rank(&reserve, None) < rank(&none, None), "one that helps is before one that does not");
        assert!(rank(&none, None) < rank(&worse, None), "then the one with fewer overflows");
        assert!(rank(&window, None) < rank(&tight, None), "room for a turn is worth a key");
        assert!(rank(&reserve, None) < rank(&window, None), "the usual order of keys");
        let verdict = Some(FindingClass::ImpossibleBudget);
        assert!(rank(&reserve, verdict) < rank(&window, verdict), "the verdict names the reserve");
        let wrong = Some(FindingClass::WrongWindow);
        assert!(rank(&tight, wrong) < rank(&reserve, wrong), "the verdict names the window");
    }

    #[test]
    fn a_cut_of_workspace_files_cures_only_what_they_cause() {
        let outcome = |verdict| {
            with_failure("u:9 a:9 r:75", 1_100, 0, |case, failure| {
                let runner = case.replays.as_ref().expect("a refused session is replayed");
                let change = SettingChange {
                    id: SettingId::BootstrapMaxChars,
                    value: crate::js::Value::from(500.0),
                    origin: crate::gateway::registry::Provenance::Tuned,
                    model: None,
                };
                let bench = Bench { runner, failure, turn: 100, verdict };
                trial(vec![change], summary(0, 800)).judged(&bench).outcome
            })
        };
        assert_eq!(outcome(Some(FindingClass::GradualGrowth)), AdviceOutcome::Postpones);
        assert_eq!(outcome(Some(FindingClass::FixedOverhead)), AdviceOutcome::Fits { compactions: 0 });
    }

    #[test]
    fn a_refusal_without_a_number_needs_a_margin() {
        let outcome = |requested: Option<u64>, tokens| {
            with_failure("u:9 a:9 r:75", 1_100, 0, |case, failure| {
                let runner = case.replays.as_ref().expect("a refused session is replayed");
                let mut failure = failure.clone();
                failure.last_counted = Some((crate::ids::EntryIx(1), 700));
                failure.overflow.requested = requested;
                let bench = Bench { runner, failure: &failure, turn: 100, verdict: None };
                trial(Vec::new(), summary(0, tokens)).judged(&bench).outcome
            })
        };
        assert_eq!(outcome(None, 801), AdviceOutcome::Unproven);
        assert_eq!(outcome(None, 800), AdviceOutcome::Fits { compactions: 0 });
        assert_eq!(outcome(Some(1_100), 801), AdviceOutcome::Fits { compactions: 0 });
    }
}
