//! The palette: a line to type in, and the actions and commands that match it. Without a text, it lists suggestions for
//! the session, the person's commands and recent actions before the others.

use crossterm::event::{KeyCode, KeyEvent};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::app::action::{ACTIONS, Action, ActionRow};
use crate::app::keymap::KeyContext;
use crate::app::line_editor::{LineEdit, LineEditor};
use crate::app::screens::hint::{CLOSE, Hint};
use crate::app::screens::ruleset_rows::{WORD, ruleset_rows};
use crate::config::{CommandRow, CustomCommand};
use crate::format::quantity;
use crate::gateway::ruleset::Ruleset;

pub use crate::app::screens::palette_row::{PaletteCommand, PaletteRow};

/// Added to the rank of a match that is likely or was run lately.
const LIKELY_SCORE: u32 = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaletteScreen {
    pub line: LineEditor,
    /// The highlighted action, as an index into the matches.
    pub selected: usize,
    /// The context below the palette, whose keys are shown next to the actions.
    pub below: KeyContext,
    /// Actions that the session suggests, the most likely first.
    likely: Vec<Action>,
    /// Actions run from the palette, the last first.
    recent: Vec<Action>,
    /// The names of the person's commands, each with its row; [`Action::Custom`] counts in this order.
    commands: Vec<(String, CommandRow)>,
    /// The names of the presets.
    pub(in crate::app) presets: Vec<String>,
    /// Changed settings, which a preset would keep.
    changed_settings: usize,
    ruleset: Option<Ruleset>,
}

impl PaletteScreen {
    pub(in crate::app) fn new(below: KeyContext, likely: Vec<Action>, recent: Vec<Action>) -> Self {
        let (presets, changed_settings) = (Vec::new(), 0);
        let (commands, ruleset) = (Vec::new(), None);
        Self {
            line: LineEditor::default(),
            selected: 0,
            below,
            likely,
            recent,
            commands,
            presets,
            changed_settings,
            ruleset,
        }
    }

    /// Offers the person's commands.
    pub(in crate::app) fn with_commands(self, commands: &[CustomCommand]) -> Self {
        Self {
            commands: commands.iter().map(|command| (command.name.clone(), command.row)).collect(),
            ..self
        }
    }

    /// Knows presets by these names, and how many settings a new one would keep.
    pub(in crate::app) fn with_presets(self, presets: Vec<String>, changed_settings: usize) -> Self {
        Self { presets, changed_settings, ..self }
    }

    /// Knows the ruleset in use.
    pub(in crate::app) fn with_ruleset(self, ruleset: Option<Ruleset>) -> Self {
        Self { ruleset, ..self }
    }

    pub(super) fn hints() -> Vec<Hint> {
        vec![(&[Action::Open], "run"), CLOSE]
    }

    /// The number of a row, when the text is one.
    pub fn row_number(&self) -> Option<usize> {
        self.line.text().trim().parse().ok().filter(|row| *row > 0)
    }

    /// Says why the text matches nothing, and what was expected.
    pub fn expected(&self) -> String {
        let text = self.line.text().trim();
        match text.strip_prefix(WORD).map(str::trim_start) {
            Some(typed) if !typed.is_empty() => {
                format!("no release matches {typed}; {WORD} alone lists them")
            }
            _ => expected_preset(text, &self.presets).unwrap_or_else(|| "no action matches".into()),
        }
    }

    pub(in crate::app) fn chosen(&self) -> Option<PaletteCommand> {
        self.rows().get(self.selected).map(|found| found.command.clone())
    }

    /// Handles a key that neither runs nor closes.
    pub(in crate::app) fn on_key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Down | KeyCode::Tab => self.move_by(1),
            KeyCode::Up | KeyCode::BackTab => self.move_by(-1),
            KeyCode::PageDown => self.move_by(10),
            KeyCode::PageUp => self.move_by(-10),
            _ if self.line.handle(key) == LineEdit::Changed => self.selected = 0,
            _ => {}
        }
    }

    fn move_by(&mut self, by: isize) {
        let last = self.rows().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Returns the matching actions, the best first.
    pub fn rows(&self) -> Vec<PaletteRow> {
        let text = self.line.text().trim();
        if text.is_empty() {
            return self.ordered_rows();
        }
        let rulesets = ruleset_rows(text, self.ruleset);
        if !rulesets.is_empty() {
            return rulesets;
        }
        let mut rows = preset_rows(text, &self.presets, self.changed_settings);
        if !text.starts_with("preset ") {
            rows.extend(self.matching_rows(text));
        }
        rows
    }

    fn command_rows(&self) -> impl Iterator<Item = PaletteRow> {
        (0..=u16::MAX).zip(&self.commands).map(|(at, (name, row))| PaletteRow {
            command: PaletteCommand::Action(Action::Custom(at)),
            name: name.clone().into(),
            description: format!("your command on the {}", row.as_str()).into(),
            note: "",
            name_hits: Vec::new(),
            description_hits: Vec::new(),
        })
    }

    /// Every action: likely ones, the person's commands, recent ones, then all others in the order of the help.
    fn ordered_rows(&self) -> Vec<PaletteRow> {
        let recent = self.recent.iter().map(|action| action.definition());
        let mut rows: Vec<PaletteRow> = Vec::with_capacity(ACTIONS.len() + self.commands.len());
        let add = |rows: &mut Vec<PaletteRow>, row: &'static ActionRow| {
            if !rows.iter().any(|known| known.command == PaletteCommand::Action(row.0)) {
                rows.push(PaletteRow { note: self.note(row.0), ..action_row(row) });
            }
        };
        self.likely.iter().for_each(|action| add(&mut rows, action.definition()));
        rows.extend(self.command_rows());
        recent.chain(ACTIONS).for_each(|row| add(&mut rows, row));
        rows
    }

    fn note(&self, action: Action) -> &'static str {
        match action {
            action if self.likely.contains(&action) => "suggested",
            action if self.recent.contains(&action) => "recent",
            _ => "",
        }
    }

    fn matching_rows(&self, text: &str) -> Vec<PaletteRow> {
        let pattern = Pattern::parse(text, CaseMatching::Smart, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut found: Vec<(u32, PaletteRow)> =
            self.all_rows().filter_map(|row| matched(row, &pattern, &mut matcher)).collect();
        found.sort_by_key(|(score, row)| std::cmp::Reverse((row.name == text, *score)));
        found.into_iter().map(|(_, row)| row).collect()
    }

    /// Every action and command, unordered.
    fn all_rows(&self) -> impl Iterator<Item = PaletteRow> {
        let actions = ACTIONS.iter().map(|row| PaletteRow { note: self.note(row.0), ..action_row(row) });
        self.command_rows().chain(actions)
    }
}

/// Returns the rank of a row and the row with its matched characters; `None` when it does not match.
fn matched(row: PaletteRow, pattern: &Pattern, matcher: &mut Matcher) -> Option<(u32, PaletteRow)> {
    let line = format!("{} {}", row.name, row.description);
    let (mut characters, mut hits) = (Vec::new(), Vec::new());
    let score = pattern.indices(Utf32Str::new(&line, &mut characters), matcher, &mut hits)?;
    let border = row.name.chars().count();
    let hits = hits.into_iter().map(|at| at as usize);
    let (name_hits, others): (Vec<usize>, Vec<usize>) = hits.partition(|at| *at < border);
    let description_hits = others.into_iter().filter_map(|at| at.checked_sub(border + 1)).collect();
    let score = score + if row.note.is_empty() { 0 } else { LIKELY_SCORE };
    Some((score, PaletteRow { name_hits, description_hits, ..row }))
}

fn action_row(row: &'static ActionRow) -> PaletteRow {
    PaletteRow {
        command: PaletteCommand::Action(row.0),
        name: row.1.into(),
        description: row.3.into(),
        note: "",
        name_hits: Vec::new(),
        description_hits: Vec::new(),
    }
}

const VERBS: [&str; 3] = ["save", "load", "delete"];

/// Returns the commands that a text such as `preset load ti` begins; none for a text about something else.
fn preset_rows(text: &str, names: &[String], changed: usize) -> Vec<PaletteRow> {
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
fn expected_preset(text: &str, names: &[String]) -> Option<String> {
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
    use crate::app::action::ScreenKind;

    fn typed(text: &str) -> Vec<String> {
        let likely = vec![Action::Show(ScreenKind::Explain), Action::Commit];
        let mut screen =
            PaletteScreen::new(KeyContext::Transcript, likely, vec![Action::Zoom, Action::Commit]);
        screen.line.insert(text);
        screen.rows().into_iter().map(|found| found.name.into_owned()).collect()
    }

    #[test]
    fn without_a_text_suggested_and_recent_actions_come_first_and_every_action_once() {
        let names = typed("");
        assert_eq!(names[..4], ["explain", "commit", "zoom", "down"]);
        assert_eq!(names.len(), ACTIONS.len());
    }

    #[test]
    fn letters_in_order_find_an_action_and_whole_words_rank_first() {
        assert_eq!(typed("xplain")[0], "explain");
        assert!(typed("tgprn").contains(&"toggle-prune".to_owned()));
        assert_eq!(typed("timeline")[0], "timeline");
        assert_eq!(typed("copy patch")[0], "copy-patch");
        assert_eq!(typed("fold")[0], "fold", "an action's own name, whatever ranks higher");
        assert!(typed("zzzq").is_empty());
    }

    #[test]
    fn matches_are_located_in_name_and_description() {
        let mut screen = PaletteScreen::new(KeyContext::Global, Vec::new(), Vec::new());
        screen.line.insert("overflowed");
        let rows = screen.rows();
        assert_eq!(rows[0].name, "explain");
        assert_eq!((rows[0].name_hits.len(), rows[0].description_hits[0]), (0, "why it ".len()));
    }
}

#[cfg(test)]
mod preset_commands_tests {
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
