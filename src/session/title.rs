//! Makes a session's title: its name, else the user's first words.
//!
//! A title is masked before it is cut: half a secret would not be recognised.

use std::borrow::Cow;

use crate::gateway::ruleset::PiChange;
use crate::js::JsString;
use crate::redact::{SecretDisplay, masked};
use crate::session::SessionItem;
use crate::session::message::excerpt::content_texts;
use crate::store::body;
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;
use crate::store::source::Source;
use crate::transcript::envelope::{UnwrappedMessage, unwrap_message};
use crate::transcript::tree;

/// Chars of a title made from text, with the ellipsis.
const TITLE_CHARS: usize = 60;
/// Chars kept of a title with a secret, so that the secret can still be recognised when the title is shown.
const SECRET_CHARS: usize = TITLE_CHARS + 512;
/// UTF-16 units of a text that are read.
const TEXT_UNITS: usize = 1 << 18;

/// Returns a session's title with secrets masked or shown.
pub fn shown_title(item: &SessionItem, secrets: SecretDisplay) -> Cow<'_, str> {
    match secrets.apply(&item.title) {
        Cow::Borrowed(title) => Cow::Borrowed(title),
        Cow::Owned(masked) => Cow::Owned(truncate(&masked)),
    }
}

/// Returns a session's display name with secrets masked or shown. Masks first: a display name loses the colon by which
/// a secret is recognised.
pub fn shown_name(item: &SessionItem, secrets: SecretDisplay) -> Cow<'_, str> {
    match shown_title(item, secrets) {
        Cow::Borrowed(_) => item.display_name(),
        Cow::Owned(title) => Cow::Owned(SessionItem { title, ..item.clone() }.display_name().into_owned()),
    }
}

/// Splits a title into the mark of its envelope and its words.
pub fn split_envelope(title: &str) -> (&str, &str) {
    let end = title.starts_with('⟨').then(|| title.find('⟩')).flatten();
    title.split_at(end.map_or(0, |at| at + '⟩'.len_utf8()))
}

/// Returns a title for a session without a session record: its own name (store K9), else the user's first words
/// (store C10, R4).
pub(super) fn title(source: &Source, index: &Index) -> Option<String> {
    if let Some(name) = tree::session_name(index).filter(|_| index.pi_release.has(PiChange::ClearsNames)) {
        return Some(one_line(&name));
    }
    let named = !index.pi_release.has(PiChange::ClearsNames);
    let names = index.auxiliary_entries().rev().filter(|(_, entry)| entry.kind == EntryKind::SessionInfo);
    let mut names =
        names.filter_map(|(_, entry)| index.value_text(entry.payload)).map(|name| one_line(&name));
    let own = names.find(|name| named && !name.is_empty());
    own.or_else(|| first_user_words(source, index))
}

/// Returns the first words of the first user message; a message that is all envelope gives the envelope's mark.
fn first_user_words(source: &Source, index: &Index) -> Option<String> {
    let requested = index.iter().find(|(_, entry)| entry.role() == Some(Role::User))?.0;
    let message = body::read_message(source, index, requested).ok().flatten()?;
    let texts: Vec<String> = content_texts(message.get("content")).map(title_words).collect();
    let opened: Vec<_> = texts.iter().map(|text| unwrap_message(text)).collect();
    let mark = opened.iter().find_map(UnwrappedMessage::mark_prefix);
    let said = opened.iter().map(|opened| one_line(opened.text)).find(|said| !said.is_empty());
    match (mark, said) {
        (Some(mark), Some(said)) => Some(one_line(&format!("{mark} {said}"))),
        (mark, said) => mark.or(said),
    }
}

fn title_words(text: &JsString) -> String {
    text.slice(0, TEXT_UNITS).to_string_lossy()
}

/// Collapses white space and cuts to 60 chars (store C10). A text with a secret is cut when it is shown.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * SECRET_CHARS {
            break;
        }
    }
    let long: String = line.chars().take(SECRET_CHARS).collect();
    if long.chars().count() > TITLE_CHARS && matches!(masked(&long), Cow::Owned(_)) {
        return long;
    }
    truncate(&long)
}

fn truncate(line: &str) -> String {
    if line.chars().count() <= TITLE_CHARS {
        return line.to_owned();
    }
    line.chars().take(TITLE_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing;

    #[test]
    fn a_secret_that_the_end_of_a_title_cuts_is_masked() {
        let words = "please deploy the new release of the gateway with";
        let text = format!("{words} sk-ant-api03-Zx81Kq92Lm37Vb64Nc55Qw");
        let mut item = testing::item();
        item.title = one_line(&text);
        assert_eq!(shown_title(&item, SecretDisplay::Hidden), format!("{words} [redacted…"));
        assert_eq!(shown_title(&item, SecretDisplay::Shown), text);
    }

    #[test]
    fn a_secret_after_a_word_like_a_channel_is_masked() {
        let mut item = testing::item();
        item.title = "password:tall9-orange".to_owned();
        assert_eq!(shown_name(&item, SecretDisplay::Hidden), "password [redacted:value]");
        assert_eq!(shown_title(&item, SecretDisplay::Shown), "password:tall9-orange");
        item.title = "telegram:8812".to_owned();
        assert_eq!(shown_name(&item, SecretDisplay::Hidden), "telegram 8812");
        assert_eq!(shown_title(&item, SecretDisplay::Hidden), "telegram:8812");
    }

    #[test]
    fn the_mark_of_a_title_is_split_from_its_words() {
        assert_eq!(split_envelope("⟨telegram⟩ find it"), ("⟨telegram⟩", " find it"));
        assert_eq!(split_envelope("⟨cron⟩"), ("⟨cron⟩", ""));
        assert_eq!(split_envelope("find ⟨it⟩"), ("", "find ⟨it⟩"));
    }

    #[test]
    fn a_title_without_secrets_is_truncated_as_stored() {
        let text = "word ".repeat(40);
        let mut item = testing::item();
        item.title = one_line(&text);
        assert_eq!(item.title.chars().count(), TITLE_CHARS);
        assert!(item.title.ends_with('…'));
        assert_eq!(shown_title(&item, SecretDisplay::Hidden), item.title);
    }
}
