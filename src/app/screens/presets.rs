//! The presets, the changes of each, and two of them side by side on the open session.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect_error::EffectError;
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::config::presets::PresetFile;
use crate::ids::Epoch;
use crate::report::preset_outcome::PresetOutcome;

/// The most settings that the comparison lists.
pub const MAX_DIFFERENCES: usize = 6;
/// Rows below the list: a line, the heads, the differing settings, and the numbers.
pub const COMPARISON_ROWS: u16 = 8 + MAX_DIFFERENCES as u16;

/// The settings of the two compared columns; the config has no name and no values.
pub type PresetPair = [(String, Vec<(String, String)>); 2];

/// Both outcomes, or why they cannot be computed.
pub type PresetOutcomes = Result<[PresetOutcome; 2], EffectError>;

#[derive(Debug, Clone, Default)]
pub struct PresetsScreen {
    pub scroll: Scroll,
    /// The preset in the first column; without one, the config.
    pub pinned: Option<String>,
    /// The last request and its answer, once it is computed.
    pub outcomes: Option<(Epoch, Arc<PresetPair>, Option<PresetOutcomes>)>,
}

impl PresetsScreen {
    /// Returns the two columns: the pinned preset or the config, and the preset under the cursor. `None` without a
    /// readable preset there.
    pub fn pair(&self, presets: &[PresetFile]) -> Option<PresetPair> {
        let named = |file: &PresetFile| Some((file.name.clone(), file.values.clone().ok()?));
        let selected = named(presets.get(self.scroll.cursor)?)?;
        let pinned = self.pinned.as_ref().and_then(|name| presets.iter().find(|file| file.name == *name));
        Some([pinned.and_then(named).unwrap_or_default(), selected])
    }

    /// Rows of the list on a screen with `rows`.
    pub fn list_rows(rows: u16) -> usize {
        usize::from(rows.saturating_sub(4 + COMPARISON_ROWS).max(3))
    }

    pub(super) fn hints() -> Vec<Hint> {
        vec![
            MOVE,
            (&[Action::Open], "load"),
            (&[Action::Fold], "compare with it"),
            (&[Action::Copy], "copy"),
            CLOSE,
        ]
    }
}

/// Returns the keys whose values differ between two columns, with both values.
pub fn differing_settings(pair: &PresetPair) -> Vec<(&str, Option<&str>, Option<&str>)> {
    let find = |at: usize, key: &str| {
        pair[at].1.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    };
    let mut keys: Vec<&str> =
        pair.iter().flat_map(|(_, values)| values).map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    let rows = keys.into_iter().map(|key| (key, find(0, key), find(1, key)));
    rows.filter(|(_, first, second)| first != second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, values: &[(&str, &str)]) -> PresetFile {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        PresetFile { name: name.to_owned(), values: Ok(values) }
    }

    #[test]
    fn the_preset_under_the_cursor_is_compared_with_the_config_or_the_pinned_one() {
        let files = [file("a", &[("x", "1"), ("y", "2")]), file("b", &[("x", "1"), ("z", "3")])];
        let mut screen = PresetsScreen::default();
        let pair = screen.pair(&files).expect("a pair");
        assert_eq!((pair[0].0.as_str(), pair[1].0.as_str()), ("", "a"));
        screen.pinned = Some("b".to_owned());
        let pair = screen.pair(&files).expect("a pair");
        assert_eq!(differing_settings(&pair), [("y", None, Some("2")), ("z", Some("3"), None)]);
        screen.pinned = Some("gone".to_owned());
        assert_eq!(screen.pair(&files).expect("a pair")[0].0, "");
        assert_eq!(screen.pair(&[]), None);
    }
}
