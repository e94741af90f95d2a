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
    /// The newest row of each model and window, by the lower-case provider and the id.
    by_model: HashMap<(String, String), Vec<RecordedWindow>>,
}

impl RecordedWindows {
    pub fn add(&mut self, row: RecordedWindow) {
        let model = (row.provider.to_lowercase(), row.model.clone());
        let known = self.by_model.entry(model).or_default();
        match known.iter_mut().find(|known| known.tokens == row.tokens) {
            Some(same) if same.updated_ms < row.updated_ms => *same = row.clone(),
            Some(_) => {}
            None => known.push(row.clone()),
        }
        self.by_session.insert(row.session.clone(), row);
    }

    /// Finds a window of a model that says something: the session's own row, else the newest row of another session.
    pub fn find(
        &self,
        session: &str,
        (provider, model): (&str, &str),
        says_something: impl Fn(Tokens) -> bool,
    ) -> Option<&RecordedWindow> {
        let own = self.by_session.get(session).filter(|row| row.is_of(provider, model));
        let others = || self.by_model.get(&(provider.to_lowercase(), model.to_owned())).into_iter().flatten();
        let newest = |rows: &mut dyn Iterator<Item = _>| {
            rows.filter(|row: &&RecordedWindow| says_something(row.tokens))
                .max_by(|a, b| a.updated_ms.total_cmp(&b.updated_ms))
        };
        newest(&mut own.into_iter()).or_else(|| newest(&mut others()))
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
        for row in [
            row("a", "m", 1e5, 3.0),
            row("b", "m", 2e5, 9.0),
            row("c", "m", 3e5, 5.0),
            row("d", "n", 4e5, 1.0),
            row("e", "m", 5e5, 99.0),
        ] {
            rows.add(row);
        }
        let usable = |tokens: Tokens| tokens != Tokens(5e5);
        let found = |session, provider, model| {
            rows.find(session, (provider, model), usable).map(|row| row.tokens.get())
        };
        assert_eq!(found("a", "lab", "m"), Some(1e5));
        assert_eq!(found("x", "LAB", "m"), Some(2e5), "the newest of the others that says something");
        assert_eq!(found("d", "lab", "m"), Some(2e5), "its own row is of another model");
        assert_eq!(found("x", "other", "m"), None);
    }
}
