//! The status of the open session's file, as the list reports it. When the file is replaced or deleted, the screen keeps
//! the entries it read and says so.

use crate::app::state::App;
use crate::session::{Mark, SessionItem};

/// The reason why the transcript is no longer at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceStatus {
    /// The session has another transcript, or gets one with its first answer (store E7).
    Replaced,
    /// It was archived, for the reason in this mark (store F1).
    Archived(Mark),
    Missing,
}

impl SourceStatus {
    pub fn description(self) -> &'static str {
        match self {
            Self::Replaced => "new transcript started; showing the old one",
            Self::Archived(Mark::Reset) => "archived by a reset; showing it as last read",
            Self::Archived(Mark::Deleted) => "archived as deleted; showing it as last read",
            Self::Archived(_) => "archived; showing it as last read",
            Self::Missing => "file is gone; showing it as last read",
        }
    }
}

impl App {
    /// The status of the open transcript; `None` while it is at its path.
    pub fn source_status(&self) -> Option<SourceStatus> {
        let open = &self.active_session()?.item;
        let path = open.path.as_deref()?;
        let items = &self.sessions.items;
        let is_there = |item: &SessionItem| {
            !item.has(Mark::Missing)
                && item.path.as_deref().is_some_and(|own| own.as_os_str() == path.as_os_str())
        };
        let row = items.iter().find(|item| item.key == open.key);
        if items.is_empty() || row.is_some_and(is_there) {
            return None;
        }
        if row.is_some_and(|row| row.path.as_deref().is_some_and(|own| own != path)) {
            return Some(SourceStatus::Replaced);
        }
        if items.iter().any(is_there) {
            return None;
        }
        let name = format!("{}.", path.file_name()?.to_string_lossy());
        let is_own = |item: &&SessionItem| {
            let own = item.path.as_deref().filter(|own| own.parent() == path.parent());
            own.and_then(|own| own.file_name()).is_some_and(|own| own.to_string_lossy().starts_with(&name))
        };
        let aside = |item: &SessionItem| {
            [Mark::Reset, Mark::Deleted].into_iter().find(|mark| item.has(*mark)).map(SourceStatus::Archived)
        };
        Some(items.iter().filter(is_own).find_map(aside).unwrap_or(SourceStatus::Missing))
    }
}
