//! The body of a message whose features alone do not determine it after an edit. Under rules that read texts these are
//! most messages of a session, so that long sessions keep only the place of the body.

use std::fmt::Debug;
use std::sync::Arc;

use crate::ids::EntryIx;
use crate::js::Value;
use crate::policy::edit::{Edit, apply_all};

/// Reads bodies again where the features of a path were read.
pub trait BodySource: Debug + Send + Sync {
    /// Returns the body of an entry's message. A body that cannot be read again is null; the source reports it to the
    /// caller of the policies.
    fn body(&self, entry: EntryIx) -> Arc<Value>;
}

#[derive(Debug, Clone)]
pub enum MessageBody {
    Held(Arc<Value>),
    Stored(Arc<dyn BodySource>, EntryIx),
    /// [`Self::Stored`] after these edits.
    Edited(Arc<dyn BodySource>, EntryIx, Arc<[Edit]>),
}

impl MessageBody {
    pub fn value(&self) -> Arc<Value> {
        match self {
            Self::Held(value) => Arc::clone(value),
            Self::Stored(source, entry) => source.body(*entry),
            Self::Edited(source, entry, edits) => Arc::new(apply_all(edits, &source.body(*entry))),
        }
    }

    /// Returns the body after one more edit: its place and the edits, or `made`, the edited value, where no source has it.
    #[must_use]
    pub fn edited(&self, edit: &Edit, made: Value) -> Self {
        let (source, entry, before) = match self {
            Self::Held(_) => return Self::Held(Arc::new(made)),
            Self::Stored(source, entry) => (source, entry, &[][..]),
            Self::Edited(source, entry, edits) => (source, entry, &edits[..]),
        };
        let edits = before.iter().chain([edit]).cloned().collect();
        Self::Edited(Arc::clone(source), *entry, edits)
    }
}

/// Bodies are equal by value, not by storage.
impl PartialEq for MessageBody {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}
