//! What became of the open session's transcript, as the list tells it. What was read of it stays on the screen, and the
//! screen says that it is that.

use crate::app::state::App;
use crate::inspect::{Mark, SessionItem};

/// A transcript that does not lie any more where it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceStatus {
    /// Its session has another transcript by now, or will have one with the first answer (store E7).
    Replaced,
    /// It was put aside, for the reason of this mark (store F1).
    Archived(Mark),
    /// Nothing lies there.
    Missing,
}

impl SourceStatus {
    /// What to say of it.
    pub fn description(self) -> &'static str {
        match self {
            Self::Replaced => "begun anew; the transcript before is shown",
            Self::Archived(Mark::Reset) => "put aside by a reset; shown as it was read",
            Self::Archived(Mark::Deleted) => "put aside as deleted; shown as it was read",
            Self::Archived(_) => "put aside; shown as it was read",
            Self::Missing => "its file is gone; shown as it was read",
        }
    }
}

impl App {
    /// What became of the open transcript; none while it lies where it was read.
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
