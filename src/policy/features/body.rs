//! The body of a message whose features alone do not determine it after an edit. Under rules that read texts these are
//! most messages of a session, so that long sessions keep only the place of the body.

use std::fmt::Debug;
use std::sync::Arc;

use crate::ids::EntryIx;
use crate::js::Value;

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
    /// [`Self::Stored`] without the details, which every run strips from all results.
    StoredWithoutDetails(Arc<dyn BodySource>, EntryIx),
}

impl MessageBody {
    pub fn value(&self) -> Arc<Value> {
        match self {
            Self::Held(value) => Arc::clone(value),
            Self::Stored(source, entry) => source.body(*entry),
            Self::StoredWithoutDetails(source, entry) => {
                let mut body = source.body(*entry);
                if let Value::Object(message) = Arc::make_mut(&mut body) {
                    message.remove("details");
                }
                body
            }
        }
    }

    /// Returns the place of the body without its details; `None` if it is not read again.
    pub fn without_details(&self) -> Option<Self> {
        match self {
            Self::Held(_) => None,
            Self::Stored(source, entry) | Self::StoredWithoutDetails(source, entry) => {
                Some(Self::StoredWithoutDetails(Arc::clone(source), *entry))
            }
        }
    }
}

/// Bodies are equal by value, not by storage.
impl PartialEq for MessageBody {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}
