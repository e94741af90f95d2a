//! Archives that appear while `watch` runs. A followed transcript was already read to its end, so its archive is
//! skipped. A session that was created and archived between two surveys is new, so all its entries are printed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::followed_transcript::{FollowedTranscript, original_path};
use super::follower::Follower;
use super::lines::report_entries;
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::commit::{Clock as _, SystemClock};
use crate::store::archive::ArchiveReason;
use crate::store::session::{Flag, Session};

impl Follower {
    /// Prints all entries of new archives whose transcripts were never followed. `known` holds the paths of the
    /// previous survey.
    pub(super) fn report_unseen_archives(
        &self,
        known: &BTreeSet<PathBuf>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if self.only_session.is_some() {
            return Ok(());
        }
        let mut unseen = self.store.sessions.iter().filter(|session| self.is_unseen(session, known));
        unseen.try_for_each(|session| self.report_archive(session, output))
    }

    /// Backups do not count: they are copies (store F2).
    fn is_unseen(&self, session: &Session, known: &BTreeSet<PathBuf>) -> bool {
        let aside = [ArchiveReason::Reset, ArchiveReason::Deleted].map(Flag::Archived);
        let path = session.path.as_ref().filter(|_| aside.iter().any(|flag| session.has_flag(*flag)));
        let is_own = self.agent.as_ref().is_none_or(|agent| *agent == session.agent);
        let is_followed =
            |path| original_path(path).is_none_or(|original| self.transcripts.contains_key(&original));
        path.is_some_and(|path| is_own && !known.contains(path) && !is_followed(path))
    }

    fn report_archive(&self, session: &Session, output: &mut Output) -> Result<(), Failure> {
        let Some(path) = session.path.as_deref().filter(|_| session.location.database().is_none()) else {
            return Ok(());
        };
        let mut followed = FollowedTranscript::default();
        if let Ok(source) = session.location.open(path, None)
            && let Ok(news) = followed.read(&self.store, session, &source, SystemClock.now_ms())
        {
            report_entries(news.session, &news.entries, (self.json, self.secrets), output)?;
        }
        Ok(())
    }
}
