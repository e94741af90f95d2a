//! Features that depend on the characters of a text and not only on its length and line ends, for rules since 2026.3.7
//! (pruning 8.3, 8.5, 8.7; 8, row "Legacy images"; releases R32, R50).

use crate::context::tokens::weighted::NORMAL_WEIGHT;
use crate::gateway::ruleset::{Guard, LegacyImages, Rules, Truncation};
use crate::js::Value;
use crate::policy::guard_2026_9::counted_chars;
use crate::policy::media_2026_9::without_media;
use crate::policy::truncate::v2026_9::result_chars;
use crate::store::entry::Role;
use crate::units::Chars;

/// Measured once when the message is read, so that moving a threshold does not read the text again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextFeatures {
    /// Chars of a tool result's text as truncation counts them (pruning 8.5, releases R32); 0 for a user message.
    pub chars: Chars,
    /// Chars of a tool result as the guard since 2026.8.1 counts them (pruning 8.7); 0 for a user message and under
    /// older rules.
    pub guard_chars: Chars,
    /// The message holds images, or texts that refer to media.
    pub has_media: bool,
}

impl TextFeatures {
    /// Measures a tool result or user message; `None` for other roles, because no rule reads them.
    pub fn of(rules: &Rules, role: Role, message: &Value) -> Option<Self> {
        matches!(role, Role::User | Role::ToolResult).then(|| Self {
            chars: match rules.truncation {
                Truncation::Ends(ends) => ends.chars(message),
                _ => result_chars(message, NORMAL_WEIGHT),
            },
            guard_chars: if rules.guard == Guard::Single { counted_chars(message) } else { Chars::ZERO },
            has_media: match rules.legacy_images {
                LegacyImages::BeforeLastTurns { references, .. } => {
                    without_media(message, references).is_some()
                }
                // Only keeps the body for the edit; the sizes decide which messages change.
                LegacyImages::BeforeLastAnswer { results } => {
                    (role == Role::User || results) && without_media(message, false).is_some()
                }
                LegacyImages::Stay => false,
            },
        })
    }

    /// Whether an edit of the message depends on its characters.
    pub(super) fn needs_body(self, role: Role) -> bool {
        role == Role::ToolResult || self.has_media
    }
}

#[cfg(test)]
mod tests {
    use crate::gateway::ruleset::Ruleset;
    use crate::js;
    use crate::policy::features::{ContentFeatures, TextFeatures};
    use crate::units::Chars;

    fn features(ruleset: Ruleset, json: &str) -> ContentFeatures {
        ContentFeatures::of_under(ruleset.rules(), &js::parse(json).unwrap())
    }

    #[test]
    fn a_heavy_text_counts_more_than_its_chars() {
        let result = r#"{"role":"toolResult","content":[{"type":"text","text":"ab你"},{"type":"image"}]}"#;
        let features = features(Ruleset::V2026_9_6, result);
        let text_features = TextFeatures { chars: Chars(6.0), guard_chars: Chars(16_008.0), has_media: true };
        assert_eq!(features.text_features(), Some(text_features));
    }

    #[test]
    fn a_body_is_kept_if_its_text_decides() {
        let keeps = |json: &str| {
            [Ruleset::V2026_9_6, Ruleset::V2026_3_2].map(|ruleset| features(ruleset, json).body.is_some())
        };
        assert_eq!(keeps(r#"{"role":"toolResult","content":[]}"#), [true, false]);
        assert_eq!(keeps(r#"{"role":"user","content":"see media://inbound/a.png"}"#), [true, false]);
        assert_eq!(keeps(r#"{"role":"user","content":"see"}"#), [false, false]);
        assert_eq!(keeps(r#"{"role":"assistant","content":[]}"#), [false, false]);
    }
}
