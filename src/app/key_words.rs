//! The keys of actions in words: a key, two letters of a menu as `v l`, or a typed name as `:reload`; and the list of all
//! keys by the place where they work.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::app::action::{ACTIONS, Action, ActionGroup, ScreenKind};
use crate::app::effect::Effect;
use crate::app::keymap::{KeyContext, Keymap};
use crate::app::layout::Pane;
use crate::app::screens::letters::{KeyMenu, KeyMenuKind, KeyMenuRow};
use crate::app::state::{App, Overlay};
use crate::export::markdown::code_block;
use crate::format::quantity;
use crate::js;
use crate::store::entry::Role;
use crate::store::sqlite::database_of;
use crate::text::shell;

/// The views of the main screen.
const MAIN_VIEWS: &[(char, Action)] = &[
    ('s', Action::ShowPolicies),
    ('r', Action::ShowRule),
    ('f', Action::CycleFilter),
    ('h', Action::ToggleHistory),
    ('t', Action::Thinking),
    ('l', Action::Wrap),
    ('o', Action::Pager),
    ('/', Action::Show(ScreenKind::Search)),
];

const TIMELINE_VIEWS: &[(char, Action)] = &[('x', Action::InWords), ('b', Action::CostOrCache)];

const COMPARE_VIEWS: &[(char, Action)] =
    &[('a', Action::EditAxes), ('x', Action::TurnAxes), ('h', Action::Headroom)];

/// The views and switches of every screen.
const SHARED_VIEWS: &[(char, Action)] = &[
    ('n', Action::ShowPresets),
    ('w', Action::Show(ScreenKind::Breakdown)),
    ('d', Action::Show(ScreenKind::Record)),
    ('!', Action::Show(ScreenKind::Problems)),
    ('p', Action::TogglePause),
    ('u', Action::ToggleUtc),
    ('m', Action::ToggleMouse),
    ('*', Action::ShowSecrets),
    ('c', Action::NextTheme),
];

/// The action in the copy menu of the main screen; its other rows copy texts.
const MAIN_COPIES: &[(char, Action)] = &[('p', Action::CopyPatch)];

/// Returns the letters of the view menu that belong to one place only.
fn own_views(context: KeyContext) -> &'static [(char, Action)] {
    match context {
        KeyContext::Timeline => TIMELINE_VIEWS,
        KeyContext::Compare => COMPARE_VIEWS,
        context if context.is_pane() => MAIN_VIEWS,
        _ => &[],
    }
}

/// Returns the letters of the view menu, those of the screen first.
fn views_of(context: KeyContext) -> impl Iterator<Item = (char, Action)> {
    own_views(context).iter().chain(SHARED_VIEWS).copied()
}

/// Chooses one of several keys: `n` next to `y`, esc to leave.
pub fn preferred_key(action: Action, keys: &[String]) -> Option<&str> {
    let wanted = match action {
        Action::No => "n",
        Action::Back => "esc",
        _ => "",
    };
    keys.iter().find(|key| *key == wanted).or(keys.first()).map(String::as_str)
}

/// Returns the key of an action, its two keys in a menu, or the words that run it, as `:repair`.
pub(super) fn key_words(keymap: &Keymap, context: KeyContext, action: Action) -> String {
    if let Some(key) = preferred_key(action, &keymap.keys_for(context, action)) {
        return key.to_owned();
    }
    let copies = if context.is_pane() { MAIN_COPIES } else { &[] };
    let copies = copies.iter().copied();
    menu_keys(keymap, context, (Action::ViewMenu, views_of(context)), action)
        .or_else(|| menu_keys(keymap, context, (Action::Copy, copies), action))
        .unwrap_or_else(|| action.typed_name())
}

/// Returns the key of a menu and the letter of an action in it.
fn menu_keys(
    keymap: &Keymap,
    context: KeyContext,
    (menu, mut letters): (Action, impl Iterator<Item = (char, Action)>),
    action: Action,
) -> Option<String> {
    let (letter, _) = letters.find(|(_, known)| *known == action)?;
    Some(format!("{} {letter}", keymap.keys_for(context, menu).first()?))
}

/// The keys that work in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySection {
    pub title: &'static str,
    /// Each with its keys, of which none is empty.
    pub rows: Vec<(Vec<String>, Action)>,
}

/// The place of keys that answer a question.
const QUESTIONS: &str = "Questions before a write";

/// The places with keys of their own, with the contexts that share them, those of several before those of one.
const PLACES: [(&str, &[KeyContext]); 11] = [
    ("Main screen", &[KeyContext::Main]),
    ("Sessions", &[KeyContext::Sessions]),
    ("Transcript and message", &[KeyContext::Transcript, KeyContext::Message]),
    ("Transcript", &[KeyContext::Transcript]),
    ("Message", &[KeyContext::Message]),
    ("Tuning", &[KeyContext::Tuning]),
    ("Timeline", &[KeyContext::Timeline]),
    ("Compare", &[KeyContext::Compare]),
    ("Lists and explain", &[KeyContext::List]),
    ("Help", &[KeyContext::Help]),
    (QUESTIONS, &[KeyContext::Dialog]),
];

/// Returns every action with its keys, by the place where they work. An action without a key outside questions is in the
/// last section, with the name that runs it.
pub fn key_sections(keymap: &Keymap) -> Vec<KeySection> {
    let section = |title, select: &dyn Fn(Action) -> Vec<String>| {
        let rows = ACTIONS.iter().map(|row| (select(row.0), row.0)).filter(|(keys, _)| !keys.is_empty());
        KeySection { title, rows: rows.collect() }
    };
    let of_global = |action| bound_keys(keymap, &[KeyContext::Global], action);
    let moves = |action: Action| action.definition().2 == ActionGroup::Move;
    let mut sections = vec![
        section("Move", &|action| if moves(action) { of_global(action) } else { Vec::new() }),
        section("Everywhere", &|action| if moves(action) { Vec::new() } else { of_global(action) }),
    ];
    for (title, contexts) in PLACES {
        let is_shared = |action| {
            let wider = PLACES.iter().filter(|(_, wider)| wider.len() > contexts.len());
            let mut wider = wider.filter(|(_, wider)| contexts.iter().all(|context| wider.contains(context)));
            wider.any(|(_, wider)| !bound_keys(keymap, wider, action).is_empty())
        };
        sections.push(section(title, &|action| {
            let keys = bound_keys(keymap, contexts, action);
            if keys == of_global(action) || is_shared(action) { Vec::new() } else { keys }
        }));
    }
    let answers = ACTIONS.iter().map(|row| row.0).filter(|action| matches!(action, Action::Yes | Action::No));
    let has_key: Vec<Action> = sections[..sections.len() - 1]
        .iter()
        .flat_map(|known| &known.rows)
        .map(|row| row.1)
        .chain(answers)
        .collect();
    sections.push(section("By name", &|action| {
        if has_key.contains(&action) { Vec::new() } else { vec![action.typed_name()] }
    }));
    sections.retain(|section| !section.rows.is_empty());
    sections
}

/// Names the places where a key works and what it does there; `None` for a key that has no use of its own anywhere.
pub(super) fn other_places(keymap: &Keymap, key: &str) -> Option<String> {
    let sections = key_sections(keymap).into_iter().filter(|section| section.title != QUESTIONS);
    let found = sections.filter_map(|section| {
        let row = section.rows.iter().find(|(keys, _)| keys.iter().any(|known| known == key))?;
        Some((section.title, row.1.description()))
    });
    let (titles, words): (Vec<&str>, Vec<&str>) = found.unzip();
    Some(format!("{key} works in {}: {}", titles.join(", "), words.first()?))
}

/// Returns the keys that the tables of all these contexts bind, and the letters of their menus.
fn bound_keys(keymap: &Keymap, contexts: &[KeyContext], action: Action) -> Vec<String> {
    let Some(context) = contexts.first() else { return Vec::new() };
    if contexts.iter().all(|context| keymap.own_actions(*context).contains(&action)) {
        return keymap.keys_for(*context, action);
    }
    let (views, copies) = match context {
        KeyContext::Global => (SHARED_VIEWS, &[][..]),
        KeyContext::Main => (MAIN_VIEWS, MAIN_COPIES),
        context if context.is_pane() => (&[][..], &[][..]),
        context => (own_views(*context), &[][..]),
    };
    let view = menu_keys(keymap, *context, (Action::ViewMenu, views.iter().copied()), action);
    let copy = || menu_keys(keymap, *context, (Action::Copy, copies.iter().copied()), action);
    view.or_else(copy).into_iter().collect()
}

impl App {
    /// Opens the window that waits for a letter.
    pub(super) fn ask_letter(&mut self, kind: KeyMenuKind) {
        let rows = match kind {
            KeyMenuKind::Copy => self.copy_rows(),
            KeyMenuKind::View => self.view_rows(),
        };
        if kind == KeyMenuKind::Copy && rows.is_empty() {
            self.show_note("nothing to copy".into());
        } else {
            self.views.push(Overlay::Letters(KeyMenu { kind, rows }));
        }
    }

    /// Takes the letter; any other key closes the window.
    pub(super) fn on_letter_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Letters(window)) = self.views.pop() else { return Vec::new() };
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let KeyCode::Char(letter) = key.code else { return Vec::new() };
        match window.rows.into_iter().find(|row| plain && row.letter == letter) {
            Some(KeyMenuRow { action: Some(action), .. }) => self.dispatch(action),
            Some(row) => vec![Effect::Copy { text: row.text, label: row.name }],
            None => Vec::new(),
        }
    }

    /// The texts that `y` offers for the selected row or session.
    fn copy_rows(&self) -> Vec<KeyMenuRow> {
        let row = |letter, name, text: Option<String>| {
            text.filter(|text| !text.is_empty()).map(|text| KeyMenuRow { letter, name, text, action: None })
        };
        let item = match self.focus {
            Pane::Sessions => self.sessions.selected(),
            _ => self.active_session().map(|session| &session.item),
        };
        let path = item.and_then(|item| item.path.as_ref()).map(|path| path.display().to_string());
        let key = item.map(|item| item.key.0.clone());
        let command = self.command_line();
        let is_up_to_here = command.as_ref().is_some_and(|line| line.contains(" --leaf "));
        let command_name = if is_up_to_here { "command up to here" } else { "command line" };
        let of_session = [
            row('s', "session id", item.map(|item| item.id.clone())),
            row('k', "session key", key.clone().filter(|_| self.focus != Pane::Sessions)),
            row('f', "file path", path),
            row('c', command_name, command),
            self.patch_row(),
        ];
        let of_row = if self.focus == Pane::Sessions {
            vec![row('y', "session key", key)]
        } else {
            let entry = self.message.text.as_ref();
            vec![
                row('y', "message", self.text_to_copy()),
                row('m', "message as Markdown", self.markdown_to_copy()),
                row('j', "entry as JSON", entry.map(|text| text.indented_json())),
                row('r', "line of the file", entry.map(|text| text.raw_line.clone())),
                row('q', "jq command", self.jq_to_copy()),
                row('i', "entry id", self.selected_entry_name()),
            ]
        };
        of_row.into_iter().chain(of_session).flatten().collect()
    }

    /// The patch for the changed settings.
    fn patch_row(&self) -> Option<KeyMenuRow> {
        let text = quantity(self.changed_settings(self.active_session()?).len() as u64, "changed setting");
        let action = Some(Action::CopyPatch);
        self.tuning.has_changes().then_some(KeyMenuRow { letter: 'p', name: "config patch", text, action })
    }

    /// The views and switches that `v` offers on the screen.
    fn view_rows(&self) -> Vec<KeyMenuRow> {
        let row = |(letter, action): (char, Action)| {
            let name = action.description();
            KeyMenuRow { letter, name, text: String::new(), action: Some(action) }
        };
        views_of(self.key_context()).map(row).collect()
    }

    /// Returns the key of an action, its two keys in a menu, or the words that run it, as `:repair`.
    pub fn key_words(&self, context: KeyContext, action: Action) -> String {
        key_words(&self.options.keymap, context, action)
    }

    /// The message with a heading, as a document has it.
    fn markdown_to_copy(&self) -> Option<String> {
        let (text, session) = (self.text_to_copy()?, self.displayed_session()?);
        let entry = session.index.entry(self.selected_entry()?);
        let role = entry.role()?;
        // The output of a tool is no Markdown.
        let text = if role == Role::ToolResult { code_block(&text, "") } else { text };
        Some(format!("### {} · {}\n\n{text}\n", role.as_str(), self.selected_entry_name()?))
    }

    /// The command that prints the entry from its file; `None` for an entry of a database.
    fn jq_to_copy(&self) -> Option<String> {
        let session = self.displayed_session()?;
        let path = session.item.path.as_ref().filter(|path| database_of(path).is_none())?;
        let file = path.to_string_lossy();
        let file = shell::word(&shell::file_argument(&file));
        let entry = session.index.entry(self.selected_entry()?);
        Some(match entry.id.map(|id| js::stringify(&js::Value::from(session.index.ids.text(id)))) {
            Some(id) => format!("jq {} {file}", shell::word(&format!("select(.id == {id})"))),
            None => format!("sed -n {}p {file} | jq .", entry.line),
        })
    }
}
