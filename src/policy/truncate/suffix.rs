//! The text after a cut text, which says that a part is missing; every version of the cut adds one (pruning 6.3,
//! releases R32).

use std::borrow::Cow;

use crate::gateway::ruleset::Notice;
use crate::js::JsString;
use crate::units::Chars;

/// Suffix of a cut text; 217 chars (pruning 6.3).
pub(super) const SUFFIX: &str = "\n\n⚠️ [Content truncated — original was too large for the model's context window. The content above is a partial view. If you need more, request specific sections or use offset/limit parameters to read smaller chunks.]";

impl Notice {
    /// Returns the notice for `lost` missing units.
    pub(in crate::policy) fn text(self, lost: Chars) -> JsString {
        let lost = crate::js::number_text(lost.max(Chars(1.0)).get());
        match self {
            Self::Partial => SUFFIX.into(),
            Self::Count => format!("[... {lost} more characters truncated]").as_str().into(),
            Self::CountAndAdvice => {
                format!("[... {lost} more characters truncated; rerun with narrower args if needed]")
                    .as_str()
                    .into()
            }
        }
    }
}

/// Text after a cut text.
#[derive(Debug, Clone, Copy)]
pub enum Suffix<'a> {
    /// Built from the number of lost units.
    Generated(fn(Chars) -> JsString),
    /// The version's notice.
    Standard(Notice),
    /// Fixed text, for tests and for the guard.
    Fixed(&'a JsString),
}

impl<'a> Suffix<'a> {
    /// Returns the suffix for `lost` missing units.
    pub(super) fn text(self, lost: Chars) -> Cow<'a, JsString> {
        match self {
            Self::Generated(text) => Cow::Owned(text(lost)),
            Self::Standard(notice) => Cow::Owned(notice.text(lost)),
            Self::Fixed(text) => Cow::Borrowed(text),
        }
    }

    pub(super) fn len(self, lost: Chars) -> Chars {
        Chars::from_len(self.text(lost).len())
    }
}
