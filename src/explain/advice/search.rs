//! The search: every key alone, from its mildest value on, then pairs of keys where no key alone helps.

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::explain::advice::candidates::{Candidate, Ground, shown};
use crate::explain::advice::{Advice, written};
use crate::explain::case::Case;
use crate::explain::engine;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Finding};
use crate::explain::rehearsal::Rehearsal;
use crate::explain::words::count;
use crate::inspect::change::Change;
use crate::inspect::whole::Whole;
use crate::policy::Step;

/// Changes that are listed: of those that help, and of those that do not.
const SHOWN: (usize, usize) = (5, 3);
/// Keys in the order in which people would rather change them.
const USUAL: [&str; 5] = ["contextWindow", "contextPruning.", "compaction.", "historyLimit", "contextTokens"];
/// Replayed calls from which on pairs of keys are left out, as they would take too long.
const MOST_CALLS: usize = 40_000;

/// What was tried.
#[derive(Debug, Default)]
pub(in crate::explain) struct Tries {
    /// The best of what was tried; what helps first.
    pub advice: Vec<Advice>,
    /// The whole session as it was; none where nothing was tried.
    pub recorded: Option<Whole>,
    /// Changes that were tried.
    pub tried: usize,
    /// Every key and every pair of keys was tried.
    pub exhausted: bool,
}

/// One change, tried.
struct Trial {
    changes: Vec<Change>,
    whole: Whole,
}

/// Searches what would have prevented every overflow of the session.
pub(in crate::explain) fn search(case: &Case<'_>, verdict: Option<&Finding>) -> Tries {
    let Some((failure, rehearsal)) = case.failure.as_ref().zip(case.rehearsal.as_ref()) else {
        return Tries::default();
    };
    let ground = Ground {
        inspection: &rehearsal.inspection,
        failure,
        engine: engine::owner(case).is_some(),
        prunes: rehearsal.prunes(),
    };
    let candidates = ground.candidates();
    let believable = Believable::of(rehearsal);
    let turn = case.room_to_go_on();
    let room = failure.limit.saturating_sub(turn);
    let mut trials: Vec<Trial> = candidates
        .par_iter()
        .flat_map_iter(|candidate| climb(rehearsal, room, candidate))
        .filter(|trial| believable.holds(&trial.changes))
        .collect();
    let mut tried: usize = candidates.iter().map(|candidate| candidate.values.len()).sum();
    let pairs = rehearsal.len() <= MOST_CALLS;
    if !trials.iter().any(Trial::helps) && pairs {
        let (found, count) = in_pairs(rehearsal, &candidates, &believable);
        trials.extend(found);
        tried += count;
    }
    let mut advice: Vec<Advice> =
        trials.into_iter().map(|trial| told(rehearsal, failure, turn, &trial)).collect();
    let changed = |advice: &Advice| advice.helps || advice.after != advice.before;
    if advice.iter().any(changed) {
        advice.retain(changed);
    }
    let own = verdict.map(|verdict| verdict.class);
    advice.sort_by_key(|advice| rank(advice, own));
    let helping = advice.iter().filter(|advice| advice.helps).count();
    let (most, others) = SHOWN;
    let mut at = 0;
    advice.retain(|_| {
        at += 1;
        at <= most.min(helping) || at > helping && at <= helping + others
    });
    let nothing = advice.is_empty();
    Tries { advice, recorded: (!nothing).then(|| rehearsal.as_it_was()), tried, exhausted: pairs }
}

impl Trial {
    fn helps(&self) -> bool {
        self.whole.overflows == 0
    }
}

/// Whether a replay that decides by itself when to compact shows the overflow at all where nothing is changed. Where it
/// does not, a changed compaction would seem to help whatever its value.
struct Believable {
    compaction: bool,
}

impl Believable {
    fn of(rehearsal: &Rehearsal) -> Self {
        let mut settings = rehearsal.settings(&[]);
        settings.steps.steps = settings.steps.steps.with(Step::Compact, true);
        Self { compaction: rehearsal.run(&settings).overflows > 0 }
    }

    fn holds(&self, changes: &[Change]) -> bool {
        let compacts = |change: &Change| change.step == Some(Step::Compact) || change.key == "contextWindow";
        self.compaction || !changes.iter().any(compacts)
    }
}

/// Tries the values of one key: the mildest under which the failing call leaves room for a turn, in tokens up to `room`,
/// else the mildest that helps at all. Where none helps, the one under which the session comes nearest to fitting.
fn climb(rehearsal: &Rehearsal, room: u64, candidate: &Candidate) -> Vec<Trial> {
    let mut nearest: Option<Trial> = None;
    let mut barely: Option<Trial> = None;
    for changes in &candidate.values {
        let trial = Trial { whole: rehearsal.under(changes), changes: changes.clone() };
        if trial.helps() {
            if trial.whole.tokens.is_none_or(|tokens| tokens <= room) {
                return vec![trial];
            }
            barely = barely.or(Some(trial));
        } else {
            let less = |known: &Trial| {
                (trial.whole.overflows, trial.whole.tokens) < (known.whole.overflows, known.whole.tokens)
            };
            if nearest.as_ref().is_none_or(less) {
                nearest = Some(trial);
            }
        }
    }
    barely.or(nearest).into_iter().collect()
}

/// Two keys at once, the strongest value of each, then the milder ones of those that help.
fn in_pairs(rehearsal: &Rehearsal, candidates: &[Candidate], believable: &Believable) -> (Vec<Trial>, usize) {
    let pairs: Vec<(usize, usize)> =
        (0..candidates.len()).flat_map(|a| (a + 1..candidates.len()).map(move |b| (a, b))).collect();
    let both = |(a, b): (usize, usize), (x, y): (usize, usize)| -> Option<Vec<Change>> {
        let changes: Vec<Change> =
            candidates[a].values.get(x)?.iter().chain(candidates[b].values.get(y)?).cloned().collect();
        believable.holds(&changes).then_some(changes)
    };
    let count = pairs.len();
    let found = pairs.into_par_iter().filter_map(|(a, b)| {
        let last = |at: usize| candidates[at].values.len() - 1;
        let strongest = both((a, b), (last(a), last(b)))?;
        let strongest = Trial { whole: rehearsal.under(&strongest), changes: strongest };
        if !strongest.helps() {
            return None;
        }
        let middle = both((a, b), (last(a) / 2, last(b) / 2))
            .map(|changes| Trial { whole: rehearsal.under(&changes), changes });
        Some(middle.filter(Trial::helps).unwrap_or(strongest))
    });
    (found.collect(), count)
}

fn told(rehearsal: &Rehearsal, failure: &Failure, turn: u64, trial: &Trial) -> Advice {
    let whole = trial.whole;
    let changes: Vec<_> = trial.changes.iter().map(|change| shown(&rehearsal.inspection, change)).collect();
    let after = whole.tokens.unwrap_or(whole.peak);
    let has_room = !whole.failing && after + turn <= failure.limit;
    let note = match (whole.failing, whole.overflows) {
        (true, _) => "the call still does not fit".to_owned(),
        (false, 0) if !has_room => "fits, with less room than a typical turn takes".to_owned(),
        (false, 0) if whole.compactions > 0 => {
            format!("every call fits, with {}", count(whole.compactions, "compaction"))
        }
        (false, 0) => "every call fits".to_owned(),
        (false, 1) => "the call fits, but 1 other call does not".to_owned(),
        (false, others) => format!("the call fits, but {} do not", count(others, "other call")),
    };
    let (patch, commands) = written(&changes);
    Advice {
        changes,
        before: failure.requested,
        after,
        limit: failure.limit,
        fits: !whole.failing,
        helps: whole.overflows == 0,
        has_room,
        whole,
        note,
        patch,
        commands,
    }
}

/// What helps first, with room before without; of these the key that the verdict is about, then the fewest keys.
fn rank(advice: &Advice, verdict: Option<Class>) -> (bool, bool, bool, usize, usize, usize, u64) {
    let key = advice.changes.first().map_or("", |change| change.key.as_str());
    let is_own = match verdict {
        Some(Class::WrongWindow) => key == "contextWindow",
        Some(Class::PruningInert) => key.starts_with("contextPruning."),
        Some(Class::FixedOverhead | Class::ImpossibleBudget) => {
            key.starts_with("bootstrap") || key.contains("reserve")
        }
        _ => false,
    };
    let files = key.starts_with("bootstrap") && !is_own;
    if !advice.helps {
        return (true, false, false, advice.overflows(), 0, 0, advice.after);
    }
    let usual = USUAL.iter().position(|usual| key.starts_with(usual)).unwrap_or(USUAL.len());
    let size = usize::from(!advice.has_room) + advice.changes.len();
    (!advice.helps, files, !is_own, size, advice.overflows(), usual, advice.after)
}
