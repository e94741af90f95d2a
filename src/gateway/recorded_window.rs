//! The windows that the rows of a store record. After a chat run the gateway writes the window of the model that
//! answered as `contextTokens` (compaction 7.7), so a row knows what no configuration says.

use std::collections::HashMap;

use crate::units::{Moment, Tokens};

/// The session for which a window is looked up: its agent's models and its own row come first.
#[derive(Debug, Clone, Copy)]
pub struct ModelUser<'a> {
    pub agent: &'a str,
    /// The session's key; empty for an agent as such.
    pub session: &'a str,
}

/// A row's window of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedWindow {
    /// The key of the row.
    pub session: String,
    pub provider: String,
    pub model: String,
    pub tokens: Tokens,
    pub updated_ms: Moment,
}

impl RecordedWindow {
    fn is_of(&self, provider: &str, model: &str) -> bool {
        self.provider.eq_ignore_ascii_case(provider) && self.model == model
    }
}

/// The recorded windows of a store.
#[derive(Debug, Clone, Default)]
pub struct RecordedWindows {
    by_session: HashMap<String, RecordedWindow>,
    /// The newest of each model, by its lower-case provider and its id.
    by_model: HashMap<(String, String), RecordedWindow>,
}

impl RecordedWindows {
    pub fn add(&mut self, row: RecordedWindow) {
        let model = (row.provider.to_lowercase(), row.model.clone());
        let newer = self.by_model.get(&model).is_none_or(|known| known.updated_ms < row.updated_ms);
        if newer {
            self.by_model.insert(model, row.clone());
        }
        self.by_session.insert(row.session.clone(), row);
    }

    /// Finds the window of a model: the session's own row, else the newest row of another session.
    pub fn find(&self, session: &str, provider: &str, model: &str) -> Option<&RecordedWindow> {
        let own = self.by_session.get(session).filter(|row| row.is_of(provider, model));
        own.or_else(|| self.by_model.get(&(provider.to_lowercase(), model.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(session: &str, model: &str, tokens: f64, updated: f64) -> RecordedWindow {
        RecordedWindow {
            session: session.to_owned(),
            provider: "lab".to_owned(),
            model: model.to_owned(),
            tokens: Tokens(tokens),
            updated_ms: Moment(updated),
        }
    }

    #[test]
    fn the_own_row_comes_before_the_newest_row_of_the_same_model() {
        let mut rows = RecordedWindows::default();
        [row("a", "m", 1e5, 3.0), row("b", "m", 2e5, 9.0), row("c", "m", 3e5, 5.0), row("d", "n", 4e5, 1.0)]
            .into_iter()
            .for_each(|row| rows.add(row));
        let found =
            |session, provider, model| rows.find(session, provider, model).map(|row| row.tokens.get());
        assert_eq!(found("a", "lab", "m"), Some(1e5));
        assert_eq!(found("x", "LAB", "m"), Some(2e5), "the newest of the others");
        assert_eq!(found("d", "lab", "m"), Some(2e5), "its own row is of another model");
        assert_eq!(found("x", "other", "m"), None);
    }
}
