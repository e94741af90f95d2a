//! Which session started which: sub-agents and cron runs below their parents, with usage summed up to the root.
//!
//! Stores hold parents that no longer exist and, after edits by hand, circles. A circle is cut at its first session in the
//! list.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::session::title::split_envelope;
use crate::session::{ItemUsage, SessionItem};
use crate::store::key::{is_cron_run, key_without_agent};

/// The trees of sessions, by index in their list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Families {
    parents: Vec<Option<usize>>,
    /// In the order of the list.
    children: Vec<Vec<usize>>,
    /// Whether a session is one of several runs of a job.
    runs: Vec<bool>,
    /// Whether an earlier session of the list has the same transcript.
    repeats: Vec<bool>,
}

/// A session with everything that it started, directly or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rollup {
    /// Sessions below this one.
    pub descendants: usize,
    /// Sessions without usage, because their transcripts cannot be read.
    pub uncounted: usize,
    pub usage: ItemUsage,
}

impl Rollup {
    /// Returns the sums of a session that started others.
    pub fn with_descendants(&self) -> Option<Self> {
        Some(*self).filter(|rollup| rollup.descendants > 0)
    }
}

impl Families {
    pub fn build(items: &[SessionItem]) -> Self {
        let mut parents = named_parents(items);
        cut_circles(&mut parents);
        let runs = vec![false; items.len()];
        Self::from_parents(items, parents, runs)
    }

    /// Builds the trees for a list that shows the runs of a job below its first one.
    pub fn with_jobs(items: &[SessionItem]) -> Self {
        let mut parents = named_parents(items);
        cut_circles(&mut parents);
        let runs = join_runs(items, &mut parents);
        Self::from_parents(items, parents, runs)
    }

    /// Whether an item has the same place in the trees as an earlier reading of it; its mark of a job may show only when
    /// it is read.
    pub fn are_same(before: &SessionItem, now: &SessionItem) -> bool {
        let has_same_job =
            || (&before.title, &before.marks) == (&now.title, &now.marks) || job_of(before) == job_of(now);
        before.parent == now.parent && before.path == now.path && has_same_job()
    }

    fn from_parents(items: &[SessionItem], parents: Vec<Option<usize>>, runs: Vec<bool>) -> Self {
        let mut children = vec![Vec::new(); parents.len()];
        for (at, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(at);
            }
        }
        let mut seen: HashSet<&Path> = HashSet::new();
        let repeats = items.iter().map(|item| item.path.as_deref().is_some_and(|path| !seen.insert(path)));
        Self { parents, children, runs, repeats: repeats.collect() }
    }

    /// Returns the runs of the job that this session stands for.
    pub fn job(&self, at: usize, items: &[SessionItem]) -> Option<JobRuns> {
        let is_run = |at: &usize| self.runs.get(*at).copied().unwrap_or(false);
        let below = self.children(at).iter().copied().filter(is_run);
        let runs = std::iter::once(at).chain(below.clone()).filter_map(|run| items.get(run));
        (is_run(&at) && below.clone().next().is_some()).then(|| JobRuns::new(runs))
    }

    /// Returns the parent of a session, if the list has it.
    pub fn parent(&self, at: usize) -> Option<usize> {
        self.parents.get(at).copied().flatten()
    }

    pub fn children(&self, at: usize) -> &[usize] {
        self.children.get(at).map_or(&[], Vec::as_slice)
    }

    /// Returns every session, parents before their children.
    fn top_down(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.parents.len()).filter(|at| self.parent(*at).is_none()).collect();
        let mut next = 0;
        while let Some(at) = order.get(next).copied() {
            order.extend(self.children(at));
            next += 1;
        }
        order
    }

    /// Sums up each session with its descendants. A transcript that two keys share counts for the first of them only
    /// (store D4).
    pub fn rollups(&self, items: &[SessionItem]) -> Vec<Rollup> {
        let own = |item: &SessionItem| match &item.usage {
            Some(usage) => Rollup { descendants: 0, usage: *usage, uncounted: 0 },
            None => Rollup { uncounted: usize::from(item.path.is_some()), ..Rollup::default() },
        };
        let first_only = |(item, repeats): (&SessionItem, &bool)| {
            if *repeats { Rollup::default() } else { own(item) }
        };
        let mut sums: Vec<Rollup> = items.iter().zip(&self.repeats).map(first_only).collect();
        for at in self.top_down().into_iter().rev() {
            let Some(parent) = self.parent(at) else { continue };
            let below = sums[at];
            let sum = &mut sums[parent];
            sum.descendants += below.descendants + 1;
            sum.uncounted += below.uncounted;
            sum.usage = sum.usage.combined_with(below.usage);
        }
        sums
    }
}

/// Finds each named parent by its key, in any case (store C4).
fn named_parents(items: &[SessionItem]) -> Vec<Option<usize>> {
    let exact: HashMap<&str, usize> =
        items.iter().enumerate().rev().map(|(at, item)| (item.key.0.as_str(), at)).collect();
    let mut folded: Option<HashMap<String, usize>> = None;
    let mut find = |key: &str| {
        exact.get(key).copied().or_else(|| {
            let by_case = folded.get_or_insert_with(|| {
                items.iter().enumerate().rev().map(|(at, item)| (item.key.0.to_lowercase(), at)).collect()
            });
            by_case.get(&key.to_lowercase()).copied()
        })
    };
    items.iter().map(|item| find(&item.parent.as_ref()?.0)).collect()
}

/// Puts each run without a parent below the first run of its job; returns which sessions are runs.
fn join_runs(items: &[SessionItem], parents: &mut [Option<usize>]) -> Vec<bool> {
    let jobs: Vec<Option<String>> = items.iter().map(job_of).collect();
    let mut runs = vec![false; items.len()];
    let mut first: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, job) in jobs.iter().enumerate() {
        let Some(job) = job else { continue };
        let root = parents[at].unwrap_or_else(|| *first.entry((&items[at].agent, job)).or_insert(at));
        if root != at && jobs[root].as_ref() == Some(job) {
            parents[at] = Some(root);
            (runs[at], runs[root]) = (true, true);
        }
    }
    runs
}

/// Makes the first session of each circle a root.
fn cut_circles(parents: &mut [Option<usize>]) {
    const NEW: u8 = 0;
    const ON_THE_WAY: u8 = 1;
    const DONE: u8 = 2;
    let mut states = vec![NEW; parents.len()];
    for start in 0..parents.len() {
        let mut way = Vec::new();
        let mut at = Some(start);
        while let Some(here) = at.filter(|here| states[*here] == NEW) {
            states[here] = ON_THE_WAY;
            way.push(here);
            at = parents[here];
        }
        if let Some(meeting) = at.filter(|here| states[*here] == ON_THE_WAY) {
            let from = way.iter().position(|here| *here == meeting).unwrap_or(0);
            let first = way[from..].iter().min().copied().unwrap_or(meeting);
            parents[first] = None;
        }
        for here in way {
            states[here] = DONE;
        }
    }
}

/// All runs of a job together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobRuns {
    /// Transcripts.
    pub count: usize,
    /// Tokens by which the newest run is larger than the oldest, and whether one of the two is an estimate.
    pub growth: Option<(i64, bool)>,
}

impl JobRuns {
    /// Sums up runs, in any order.
    pub(super) fn new<'a>(runs: impl Iterator<Item = &'a SessionItem> + Clone) -> Self {
        // Two keys of a run share its transcript (store D4).
        let transcripts: HashSet<&Path> = runs.clone().filter_map(|run| run.path.as_deref()).collect();
        let dated = runs.filter_map(|run| Some((run.updated_ms?.whole(), run.tokens?)));
        let newest = dated.clone().max_by_key(|(at, _)| *at);
        let oldest = dated.min_by_key(|(at, _)| *at);
        let growth = newest.zip(oldest).filter(|(new, old)| new.0 > old.0).map(|((_, new), (_, old))| {
            (new.tokens as i64 - old.tokens as i64, new.is_estimate() || old.is_estimate())
        });
        Self { count: transcripts.len(), growth }
    }
}

/// Returns a name for the job that a session is a run of. A run that no record names any more is known by the mark of
/// its first message.
fn job_of(item: &SessionItem) -> Option<String> {
    let key = item.key.0.as_str();
    let rest = key_without_agent(key);
    if let Some(job) = rest.strip_prefix("cron:").filter(|job| !job.contains(':') || is_cron_run(key)) {
        return Some(format!("cron:{}", job.split(':').next().unwrap_or(job)));
    }
    if rest.ends_with(":heartbeat") {
        return Some(rest);
    }
    let mark = split_envelope(&item.title).0;
    let is_run = mark == "⟨heartbeat⟩" || mark.starts_with("⟨cron ");
    (is_run && item.is_aside()).then(|| mark.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionKey;
    use crate::replay::Cost;
    use crate::session::{Mark, testing};

    fn item(key: &str, parent: &str, usd: f64) -> SessionItem {
        let cost = Cost { recorded: Some(usd), ..Cost::default() };
        SessionItem {
            key: SessionKey(key.into()),
            parent: (!parent.is_empty()).then(|| SessionKey(parent.into())),
            path: Some(format!("/s/{key}.jsonl").into()),
            usage: Some(ItemUsage { calls: 1, tokens: 10, cost }),
            ..testing::item()
        }
    }

    fn usd(rollup: &Rollup) -> f64 {
        rollup.usage.cost.total().unwrap_or(-1.0)
    }

    #[test]
    fn usage_is_summed_to_the_root_and_counted_once() {
        let mut items =
            [item("root", "", 1.0), item("a", "root", 2.0), item("b", "A", 4.0), item("lost", "gone", 8.0)]
                .to_vec();
        // A second key of the same transcript.
        items.push(SessionItem { path: items[1].path.clone(), ..item("twin", "root", 2.0) });
        items.push(SessionItem { usage: None, ..item("unread", "root", 0.0) });
        let families = Families::build(&items);
        let sums = families.rollups(&items);
        assert_eq!((sums[0].descendants, usd(&sums[0]), sums[0].uncounted), (4, 7.0, 1));
        assert_eq!((sums[0].usage.calls, sums[0].usage.tokens), (3, 30));
        assert_eq!((sums[1].descendants, usd(&sums[1])), (1, 6.0));
        assert_eq!((families.parent(3), usd(&sums[3])), (None, 8.0));
        assert_eq!(families.children(0), [1, 4, 5]);
    }

    #[test]
    fn a_count_changes_the_trees_only_if_it_shows_a_parent_or_a_job() {
        let before = SessionItem { marks: vec![Mark::Orphan], ..item("run", "", 1.0) };
        let counted = SessionItem { usage: None, title: "Hello".into(), ..before.clone() };
        assert!(Families::are_same(&before, &counted));
        let job = SessionItem { title: "⟨cron nightly⟩ Sum up".into(), ..before.clone() };
        assert!(!Families::are_same(&before, &job));
        let child = SessionItem { parent: Some(SessionKey("root".into())), ..before.clone() };
        assert!(!Families::are_same(&before, &child));
    }

    #[test]
    fn a_circle_of_parents_is_cut_at_its_first_session() {
        let items =
            [item("tail", "b", 1.0), item("b", "c", 1.0), item("c", "b", 1.0), item("self", "self", 1.0)];
        let families = Families::build(&items);
        assert_eq!((0..4).map(|at| families.parent(at)).collect::<Vec<_>>(), [Some(1), None, Some(1), None]);
        let sums = families.rollups(&items);
        assert_eq!(sums.iter().map(|sum| sum.descendants).collect::<Vec<_>>(), [0, 2, 0, 0]);
        assert_eq!(usd(&sums[1]), 3.0);
    }

    #[test]
    fn a_chain_of_many_sessions_needs_no_deep_stack() {
        let key = |at: usize| format!("k{at}");
        let items: Vec<SessionItem> = (0..20_000)
            .map(|at| item(&key(at), &if at == 0 { String::new() } else { key(at - 1) }, 1.0))
            .collect();
        let sums = Families::build(&items).rollups(&items);
        assert_eq!((sums[0].descendants, usd(&sums[0])), (19_999, 20_000.0));
    }
}

#[cfg(test)]
mod job_tests {
    use super::*;
    use crate::ids::SessionKey;
    use crate::session::{Mark, testing};

    #[test]
    fn runs_are_known_by_their_key_or_by_the_mark_of_their_first_message() {
        let job = |key: &str, title: &str, marks: &[Mark]| {
            let (key, title) = (SessionKey(key.into()), title.to_owned());
            job_of(&SessionItem { key, title, marks: marks.to_vec(), ..testing::item() })
        };
        let nightly = Some("cron:nightly".to_owned());
        assert_eq!(job("agent:main:cron:nightly", "", &[]), nightly);
        assert_eq!(job("agent:main:cron:Nightly:run:0f", "", &[]), nightly);
        assert_eq!(job("agent:main:cron:nightly:run:0f:subagent:x", "", &[]), None);
        assert_eq!(job("agent:main:main:heartbeat", "", &[]).as_deref(), Some("main:heartbeat"));
        assert_eq!(job("orphan", "⟨cron x⟩ Sum up", &[Mark::Orphan]).as_deref(), Some("⟨cron x⟩"));
        assert_eq!(job("old", "⟨heartbeat⟩", &[Mark::Deleted]).as_deref(), Some("⟨heartbeat⟩"));
        assert_eq!(job("agent:main:main", "⟨heartbeat⟩", &[]), None, "a chat that heartbeats visit");
    }
}
