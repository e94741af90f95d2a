//! The commands of the palette that save, load and delete presets, completed with the names of the presets.

use crate::app::screens::palette_row::{PaletteCommand, PaletteRow};
use crate::format::quantity;

const VERBS: [&str; 3] = ["save", "load", "delete"];

/// Returns the commands that a text such as `preset load ti` begins; none for a text about something else.
pub(super) fn preset_rows(text: &str, names: &[String], changed: usize) -> Vec<PaletteRow> {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    if first.len() < 3 || !"preset".starts_with(first) {
        return Vec::new();
    }
    let (verb, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if words.next().is_some() || (first != "preset" && !verb.is_empty()) {
        return Vec::new();
    }
    let verbs = VERBS.into_iter().filter(|known| known.starts_with(verb));
    verbs.flat_map(|verb| verb_rows(verb, name, names, changed)).collect()
}

/// Says what was expected instead of a text that no command about presets matches; `None` for a text about something else.
pub(super) fn expected_preset(text: &str, names: &[String]) -> Option<String> {
    let mut words = text.split_whitespace();
    let verb = words.next().filter(|first| *first == "preset").and(words.next())?;
    let (name, is_long) = (words.next().unwrap_or_default(), words.next().is_some());
    if !VERBS.contains(&verb) {
        return Some("preset save NAME, preset load NAME or preset delete NAME".into());
    }
    if is_long {
        return Some(format!("a preset's name has no spaces: preset {verb} NAME"));
    }
    if names.is_empty() {
        return Some("no preset is saved; preset save NAME saves the changed settings".into());
    }
    Some(format!("no preset is called {name}; there are: {}", names.join(", ")))
}

fn verb_rows(verb: &'static str, typed: &str, names: &[String], changed: usize) -> Vec<PaletteRow> {
    let is_new = verb == "save" && !typed.is_empty() && !names.iter().any(|name| name == typed);
    let known = names.iter().filter(|name| name.starts_with(typed)).map(String::as_str);
    let mut rows: Vec<PaletteRow> = is_new
        .then_some(typed)
        .into_iter()
        .chain(known)
        .map(|name| command_row(verb, name, is_new && name == typed, changed))
        .collect();
    if typed.is_empty() && verb == "save" {
        let words = format!("save {} under a name", quantity(changed as u64, "changed setting"));
        rows.insert(
            0,
            PaletteRow::of_command(
                "preset save NAME".into(),
                words,
                PaletteCommand::Type("preset save ".into()),
            ),
        );
    }
    rows
}

fn command_row(verb: &str, name: &str, is_new: bool, changed: usize) -> PaletteRow {
    let own = name.to_owned();
    let (words, command) = match verb {
        "save" => {
            let settings = quantity(changed as u64, "changed setting");
            let words =
                if is_new { format!("save {settings}") } else { format!("replace it with {settings}") };
            (words, PaletteCommand::SavePreset(own))
        }
        "load" => ("set the tuning pane to it".to_owned(), PaletteCommand::LoadPreset(own)),
        _ => ("delete its file".to_owned(), PaletteCommand::DeletePreset(own)),
    };
    PaletteRow::of_command(format!("preset {verb} {name}"), words, command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let rows = preset_rows(text, &["tight".to_owned(), "wide".to_owned()], 2);
        rows.into_iter().map(|row| format!("{}: {}", row.name, row.description)).collect()
    }

    #[test]
    fn names_are_completed_and_replacing_a_preset_is_announced() {
        assert_eq!(names("preset load t"), ["preset load tight: set the tuning pane to it"]);
        assert_eq!(names("preset save tight"), ["preset save tight: replace it with 2 changed settings"]);
        assert_eq!(names("preset save ti").len(), 2, "a new name, and the known one that it begins");
        assert_eq!(
            names("preset delete"),
            ["preset delete tight: delete its file", "preset delete wide: delete its file"]
        );
        assert_eq!(names("preset")[0], "preset save NAME: save 2 changed settings under a name");
        assert!(names("prune").is_empty() && names("preset load a b").is_empty());
    }

    #[test]
    fn a_command_that_cannot_run_says_what_was_expected() {
        let known = ["tight".to_owned(), "wide".to_owned()];
        let expected = |text| expected_preset(text, &known).unwrap_or_default();
        assert_eq!(expected("preset load nope"), "no preset is called nope; there are: tight, wide");
        assert_eq!(expected("preset save shorter ttl"), "a preset's name has no spaces: preset save NAME");
        assert!(expected("preset lode tight").starts_with("preset save NAME, "));
        assert!(
            expected_preset("preset delete x", &[]).unwrap_or_default().starts_with("no preset is saved")
        );
        assert_eq!(expected_preset("prune", &known), None);
    }
}
