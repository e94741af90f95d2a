//! The rows of the palette that choose the release whose rules are used.

use crate::app::screens::palette_row::{PaletteCommand, PaletteRow};
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::{Ruleset, RulesetChoice};

/// The word before the name of a release.
pub(in crate::app) const WORD: &str = "release";

/// Returns the rulesets whose names a text such as `release 5.2` has a part of: those of the program in use first, the
/// newest first; a release by its full name comes before all. None for a text about something else.
pub(super) fn ruleset_rows(text: &str, used: Option<Ruleset>) -> Vec<PaletteRow> {
    let mut words = text.split_whitespace();
    if words.next() != Some(WORD) {
        return Vec::new();
    }
    let typed = words.next().unwrap_or_default().to_lowercase();
    let named = RulesetChoice::from_version(&typed, Provenance::Tuned).ok();
    let named = named.map(|choice| row(typed.clone(), choice.id, used));
    let known: Vec<Ruleset> = Ruleset::all_known().collect();
    let is_part = |ruleset: &&Ruleset| {
        let name = ruleset.display_name().to_lowercase();
        ruleset.id() != typed && (ruleset.id().contains(&typed) || name.contains(&typed))
    };
    let is_pi = used.is_some_and(Ruleset::is_pi);
    let (own, others): (Vec<Ruleset>, Vec<Ruleset>) =
        known.iter().rev().filter(is_part).partition(|ruleset| ruleset.is_pi() == is_pi);
    let others = own.into_iter().chain(others).map(|ruleset| row(ruleset.id().to_owned(), ruleset, used));
    named.into_iter().chain(others).collect()
}

fn row(release: String, ruleset: Ruleset, used: Option<Ruleset>) -> PaletteRow {
    let (name, description) = (format!("{WORD} {release}"), ruleset.display_name().to_owned());
    let row = PaletteRow::of_command(name, description, PaletteCommand::UseRuleset(release));
    PaletteRow { note: if used == Some(ruleset) { "in use" } else { "" }, ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        ruleset_rows(text, Some(Ruleset::V2026_9_6)).into_iter().map(|row| row.name.into_owned()).collect()
    }

    #[test]
    fn rulesets_are_listed_from_the_newest_and_narrowed_by_a_part_of_the_name() {
        assert_eq!(names("release").len(), Ruleset::all_known().count());
        assert_eq!(names("release")[0], "release 2026.9.6");
        let of_pi = ruleset_rows("release", Some(Ruleset::Pi1_5));
        assert_eq!(of_pi[0].name, "release pi-1.5");
        assert_eq!(names("release 2026.9.6")[0], "release 2026.9.6");
        assert!(
            names("release 2026.9").len() > 1
                && names("release 2026.9").iter().all(|name| name.contains("2026.9"))
        );
        assert_eq!(names("release pi")[0], "release pi-1.5");
        assert!(names("release nothing").is_empty() && names("rules").is_empty());
    }

    #[test]
    fn a_release_inside_a_range_uses_the_rules_of_that_range() {
        let rows = ruleset_rows("release 2026.5.20", None);
        assert_eq!(rows[0].command, PaletteCommand::UseRuleset("2026.5.20".into()));
        assert_eq!(rows[0].description, Ruleset::for_gateway([2026, 5, 20]).display_name());
    }

    #[test]
    fn the_ruleset_in_use_is_marked() {
        let rows = ruleset_rows("release", Some(Ruleset::V2026_9_6));
        let marked: Vec<_> =
            rows.iter().filter(|row| !row.note.is_empty()).map(|row| row.name.as_ref()).collect();
        assert_eq!(marked, ["release 2026.9.6"]);
    }
}
