//! What became of the open session's transcript, as the list tells it. What was read of it stays on the screen, and the
//! screen says that it is that.

use crate::app::state::App;
use crate::inspect::{Mark, SessionItem};

/// A transcript that does not lie any more where it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Its session has another transcript by now, or will have one with the first answer (store E7).
    BegunAnew,
    /// It was put aside, for the reason of this mark (store F1).
    Aside(Mark),
    /// Nothing lies there.
    Gone,
}

impl Left {
    /// What to say of it.
    pub fn words(self) -> &'static str {
        match self {
            Self::BegunAnew => "begun anew; the transcript before is shown",
            Self::Aside(Mark::Reset) => "put aside by a reset; shown as it was read",
            Self::Aside(Mark::Deleted) => "put aside as deleted; shown as it was read",
            Self::Aside(_) => "put aside; shown as it was read",
            Self::Gone => "its file is gone; shown as it was read",
        }
    }
}

impl App {
    /// What became of the open transcript; none while it lies where it was read.
    pub fn left(&self) -> Option<Left> {
        let open = &self.own_session()?.session;
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
            return Some(Left::BegunAnew);
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
            [Mark::Reset, Mark::Deleted].into_iter().find(|mark| item.has(*mark)).map(Left::Aside)
        };
        Some(items.iter().filter(is_own).find_map(aside).unwrap_or(Left::Gone))
    }
}
