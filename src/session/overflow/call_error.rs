//! A call that failed for another reason than its size.

use std::borrow::Cow;

use crate::ids::EntryIx;
use crate::policy::overflow::{ErrorClass, RefusalNumbers};
use crate::redact::masked;
use crate::store::intern::ValueIx;

#[derive(Debug, Clone, PartialEq)]
pub struct CallError {
    /// Its answer, or the gateway's note of a prompt that threw.
    pub entry: EntryIx,
    pub class: ErrorClass,
    /// What the text says was requested, reserved for the reply, and allowed.
    pub numbers: RefusalNumbers,
    /// Provider and model that were called.
    pub model: Option<(ValueIx, ValueIx)>,
    /// The error's words, else its codes; may be empty.
    pub text: String,
    /// Whether the gateway noted the error itself instead of keeping a failed answer.
    pub noted_by_gateway: bool,
}

impl CallError {
    /// Returns the error text without secrets: some providers quote the key or the request.
    pub fn shown_text(&self) -> Cow<'_, str> {
        masked(&self.text)
    }
}
