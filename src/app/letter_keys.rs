//! Two keys for one thing: `y` and a letter copies, `v` and a letter changes what is shown.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::key_words::{key_words, views_of};
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::screens::letters::{KeyMenu, KeyMenuKind, KeyMenuRow};
use crate::app::state::{App, Overlay};
use crate::format::quantity;
use crate::js;
use crate::store::sqlite::database_of;
use crate::text::shell;

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
        let (text, pane) = (self.text_to_copy()?, self.transcript.as_ref()?);
        let message = pane.selected()?.message?;
        let role =
            pane.session.index.entry(pane.session.context.messages.get(message)?.entry).role()?.as_str();
        Some(format!("### {role} · {}\n\n{text}\n", self.selected_entry_name()?))
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
