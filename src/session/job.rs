//! The runs of one scheduled job: a cron job, or the heartbeat of an agent. Stores keep a session for each run.

use std::collections::HashSet;
use std::path::Path;

use crate::session::SessionItem;
use crate::session::title::split_envelope;
use crate::store::key::{is_cron_run, key_without_agent};

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
pub(super) fn job_of(item: &SessionItem) -> Option<String> {
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
