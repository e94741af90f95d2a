//! Estimated prompt reports of the agents, kept for a moment: a list would read the files of a workspace once for each of
//! its sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::prompt_report::SystemPromptReport;

/// Age at which the files are read again.
const MAX_AGE: Duration = Duration::from_secs(1);

/// By agent, and whether it is for runs that get fewer files. A clone starts empty, because its settings may be changed.
#[derive(Debug, Default)]
pub(super) struct WorkspaceReports(Mutex<HashMap<(String, bool), KnownReport>>);

/// When the files were read, and the report; `None` without a workspace.
type KnownReport = (Instant, Option<Arc<SystemPromptReport>>);

impl Clone for WorkspaceReports {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl WorkspaceReports {
    pub(super) fn get_or_read(
        &self,
        agent: &str,
        is_run: bool,
        read: impl FnOnce() -> Option<SystemPromptReport>,
    ) -> Option<Arc<SystemPromptReport>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (agent.to_owned(), is_run);
        if let Some((_, report)) = known.get(&key).filter(|(since, _)| since.elapsed() < MAX_AGE) {
            return report.clone();
        }
        let report = read().map(Arc::new);
        known.insert(key, (Instant::now(), report.clone()));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_read_once_for_each_agent_and_kind_of_run() {
        let reports = WorkspaceReports::default();
        let mut reads = Vec::new();
        for (agent, is_run) in [("a", false), ("a", false), ("a", true), ("b", false), ("a", true)] {
            reports.get_or_read(agent, is_run, || {
                reads.push((agent, is_run));
                None
            });
        }
        assert_eq!(reads, [("a", false), ("a", true), ("b", false)]);
        let mut again = false;
        let old = Instant::now().checked_sub(MAX_AGE);
        reports.0.lock().unwrap().values_mut().for_each(|known| known.0 = old.unwrap_or(known.0));
        reports.get_or_read("a", false, || {
            again = true;
            None
        });
        assert_eq!(again, old.is_some(), "an old reading is read again");
    }
}
