//! A word of a person's command, with placeholders for the selected row.

use super::error::CommandError;
use super::placeholder::Placeholder;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Placeholder),
}

/// A word with placeholders. It becomes one argument for any values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    /// Parses `{file}` and the like; `{{` and `}}` are braces, and braces around anything but letters stay.
    pub fn parse(word: &str) -> Result<Self, CommandError> {
        let mut template = Self::default();
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("{{") {
                template.push_text("{");
                rest = after;
            } else if let Some(after) = rest.strip_prefix("}}") {
                template.push_text("}");
                rest = after;
            } else if let Some((name, after)) = braced_name(rest) {
                let found = Placeholder::ALL.into_iter().find(|known| known.name() == name);
                let unknown = || CommandError::UnknownPlaceholder { name: name.to_owned() };
                template.parts.push(Part::Value(found.ok_or_else(unknown)?));
                rest = after;
            } else {
                let (text, after) = rest.split_at(first.len_utf8());
                template.push_text(text);
                rest = after;
            }
        }
        Ok(template)
    }

    fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(known)) => known.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    pub fn placeholders(&self) -> impl Iterator<Item = Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(placeholder) => Some(*placeholder),
            Part::Text(_) => None,
        })
    }

    /// Returns the argument with the values in place.
    ///
    /// # Errors
    /// The error of the first value that is missing.
    pub fn expand<E>(&self, value: impl Fn(Placeholder) -> Result<String, E>) -> Result<String, E> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Ok(text.clone()),
                Part::Value(placeholder) => value(*placeholder),
            })
            .collect()
    }

    /// The text of a word without placeholders.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text before the first placeholder.
    pub(super) fn leading_text(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }
}

/// Splits `{name}…` after the brace.
fn braced_name(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    let is_name = !name.is_empty() && name.chars().all(|char| char.is_ascii_lowercase());
    is_name.then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_values_is_one_argument() {
        let value = |placeholder: Placeholder| Ok::<_, ()>(format!("<{} x;y>", placeholder.name()));
        let expand = |word: &str| Template::parse(word).unwrap().expand(value).unwrap();
        assert_eq!(expand("{file}:{line}"), "<file x;y>:<line x;y>");
        assert_eq!(expand("--key={key}"), "--key=<key x;y>");
        assert_eq!(expand("{{key}} {a: 1} {} é{ $1"), "{key} {a: 1} {} é{ $1");
        assert_eq!(expand(""), "");
    }
}
