//! Collects the rows of one table as columns.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::column::{Column, Kind};
use super::columns::Table;

/// A value that does not have the type of its column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table}.{column}: expected {expected}, found {found}")]
pub struct RowError {
    table: &'static str,
    column: &'static str,
    expected: &'static str,
    found: String,
}

/// The values of a column that are not null, in the order of the rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    Text(Texts),
    Integer(Vec<i64>),
    Number(Vec<f64>),
    Boolean(Vec<bool>),
}

/// One column of collected rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    pub column: &'static Column,
    /// For each row, whether it has a value.
    pub present: Vec<bool>,
    pub values: Values,
}

impl Values {
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Text(own), Self::Text(more)) => own.append(more),
            (Self::Integer(own), Self::Integer(mut more)) => own.append(&mut more),
            (Self::Number(own), Self::Number(mut more)) => own.append(&mut more),
            (Self::Boolean(own), Self::Boolean(mut more)) => own.append(&mut more),
            _ => debug_assert!(false, "a column has one type"),
        }
    }

    /// Keeps the values at the positions for which `keep` is true.
    fn retain(&mut self, keep: &[bool]) {
        match self {
            Self::Text(values) => {
                let mut kept = keep.iter();
                values.retain(|| kept.next().is_some_and(|kept| *kept));
            }
            Self::Integer(values) => retain(values, keep),
            Self::Number(values) => retain(values, keep),
            Self::Boolean(values) => retain(values, keep),
        }
    }
}

/// Keeps the elements at the positions for which `keep` is true.
fn retain<T>(values: &mut Vec<T>, keep: &[bool]) {
    let mut kept = keep.iter();
    values.retain(|_| kept.next().is_some_and(|kept| *kept));
}

impl Cells {
    fn new(column: &'static Column) -> Self {
        let values = match column.kind {
            Kind::Text => Values::Text(Texts::default()),
            Kind::Integer | Kind::Time => Values::Integer(Vec::new()),
            Kind::Number => Values::Number(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
        };
        Self { column, present: Vec::new(), values }
    }

    /// Adds a value; `false` if it has another type. A transcript may report any number as a count of tokens: a fraction is
    /// rounded, and a number beyond 64 bits is null.
    fn push(&mut self, value: &Value) -> bool {
        let is_beyond =
            matches!(self.values, Values::Integer(_)) && value.is_number() && whole(value).is_none();
        let value = if is_beyond { &Value::Null } else { value };
        self.present.push(!value.is_null());
        match &mut self.values {
            _ if value.is_null() => true,
            Values::Text(texts) => {
                texts.push(&text_of(value));
                true
            }
            Values::Integer(numbers) => add(numbers, whole(value)),
            Values::Number(numbers) => add(numbers, value.as_f64()),
            Values::Boolean(flags) => add(flags, value.as_bool()),
        }
    }
}

fn add<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let fits = value.is_some();
    values.extend(value);
    fits
}

/// Returns an integer; reports write whole tokens as floating point.
fn whole(value: &Value) -> Option<i64> {
    let fits = |number: &f64| number.abs() < i64::MAX as f64;
    value.as_i64().or_else(|| value.as_f64().map(f64::round).filter(fits).map(|number| number as i64))
}

fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ").into()
        }
        other => other.to_string().into(),
    }
}

/// The rows of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    pub table: Table,
    pub cells: Vec<Cells>,
}

impl Rows {
    pub fn new(table: Table) -> Self {
        Self { table, cells: table.columns().map(Cells::new).collect() }
    }

    /// Adds a row, given as named parts. A column whose pointer finds nothing is null.
    ///
    /// # Errors
    /// When a value does not have the type of its column.
    pub fn push(&mut self, parts: &[(&str, &Value)]) -> Result<(), RowError> {
        for cells in &mut self.cells {
            let value = find_value(parts, cells.column.pointer).unwrap_or(&Value::Null);
            if !cells.push(value) {
                let (table, column, expected) =
                    (self.table.name(), cells.column.name, cells.column.kind.sql());
                return Err(RowError { table, column, expected, found: value.to_string() });
            }
        }
        Ok(())
    }

    /// Adds the rows of the same table after its own.
    pub fn append(&mut self, other: Self) {
        debug_assert_eq!(self.table, other.table);
        for (own, mut more) in self.cells.iter_mut().zip(other.cells) {
            own.present.append(&mut more.present);
            own.values.append(more.values);
        }
    }

    /// Keeps the rows of the sessions for which `keep` is true.
    pub fn retain_sessions(&mut self, keep: impl Fn(&str) -> bool) {
        let is_kept: Vec<bool> = match self.cells.first().map(|cells| &cells.values) {
            // Every row names its session, in the first column.
            Some(Values::Text(sessions)) => sessions.iter().map(|session| keep(session)).collect(),
            _ => Vec::new(),
        };
        if is_kept.iter().all(|kept| *kept) {
            return;
        }
        for cells in &mut self.cells {
            let filled = is_kept.iter().zip(&cells.present).filter(|(_, present)| **present);
            let filled: Vec<bool> = filled.map(|(kept, _)| *kept).collect();
            cells.values.retain(&filled);
            retain(&mut cells.present, &is_kept);
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.cells.first().map_or(0, |cells| cells.present.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Finds a value by a pointer that begins with the name of a part; several parts may have one name. No name in it has a `/`
/// or `~`.
fn find_value<'a>(parts: &[(&str, &'a Value)], pointer: &str) -> Option<&'a Value> {
    let (first, names) = pointer.get(1..)?.split_once('/').unwrap_or((pointer.get(1..)?, ""));
    let mut named = parts.iter().filter(|(name, _)| *name == first);
    named.find_map(|(_, part)| {
        if names.is_empty() {
            Some(*part)
        } else {
            names.split('/').try_fold(*part, |value, name| value.get(name))
        }
    })
}

/// Different texts of a column that are stored once. A column of ids has no two rows alike, and no more are looked for.
const MAX_SHARED: usize = 256;

#[derive(Debug, Clone, Default)]
pub struct Texts {
    values: Vec<Arc<str>>,
    shared: HashSet<Arc<str>>,
}

impl Texts {
    pub fn push(&mut self, text: &str) {
        let is_last = |last: &&Arc<str>| ***last == *text;
        let known = self.values.last().filter(is_last).or_else(|| self.shared.get(text)).cloned();
        let value = known.unwrap_or_else(|| {
            let value: Arc<str> = text.into();
            if self.shared.len() < MAX_SHARED {
                self.shared.insert(Arc::clone(&value));
            }
            value
        });
        self.values.push(value);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.values.iter()
    }

    pub fn append(&mut self, mut other: Self) {
        self.values.append(&mut other.values);
    }

    /// Keeps the texts for which `keep` returns true; it is called once for each, in order.
    pub fn retain(&mut self, mut keep: impl FnMut() -> bool) {
        self.values.retain(|_| keep());
    }
}

/// Texts are equal by content, not by storage.
impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<T: IntoIterator<Item = &'a str>>(texts: T) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text));
        all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find<'a>(rows: &'a Rows, name: &str) -> &'a Cells {
        rows.cells.iter().find(|cells| cells.column.name == name).unwrap()
    }

    #[test]
    fn a_row_fills_every_column_and_absent_values_are_null() {
        let mut rows = Rows::new(Table::Sessions);
        let flags = ["orphan", "damaged"];
        let listed = json!({ "window": 200_000, "flags": flags, "usage": { "cost": 0.25 }, "bytes": 7.0 });
        rows.push(&[("of", &json!({ "session": "s", "key": "k" })), ("listed", &listed)]).unwrap();
        rows.push(&[("of", &json!({ "session": "t", "key": null }))]).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(find(&rows, "flags").values, Values::Text(["orphan damaged"].into_iter().collect()));
        assert_eq!(find(&rows, "bytes").values, Values::Integer(vec![7]));
        assert_eq!(find(&rows, "cost").values, Values::Number(vec![0.25]));
        assert_eq!(find(&rows, "key").present, [true, false]);
        assert!(rows.cells.iter().all(|cells| cells.present.len() == 2));
    }

    #[test]
    fn rows_are_joined_and_those_of_other_sessions_dropped() {
        let of = |session: &str, window: serde_json::Value| {
            let mut rows = Rows::new(Table::Sessions);
            let (of, listed) = (json!({ "session": session }), json!({ "window": window }));
            rows.push(&[("of", &of), ("listed", &listed)]).unwrap();
            rows
        };
        let mut rows = of("a", json!(1));
        rows.append(of("b", json!(null)));
        rows.append(of("a", json!(3)));
        rows.append(of("c", json!(4)));
        rows.retain_sessions(|session| session != "a");
        assert_eq!(rows.len(), 2);
        assert_eq!(find(&rows, "window_tokens").values, Values::Integer(vec![4]));
        assert_eq!(find(&rows, "window_tokens").present, [false, true]);
        rows.retain_sessions(|_| false);
        assert!(rows.is_empty() && rows.cells.iter().all(|cells| cells.present.is_empty()));
    }

    #[test]
    fn a_value_of_another_type_is_an_error_that_names_the_column() {
        let mut rows = Rows::new(Table::Sessions);
        let error = rows.push(&[("listed", &json!({ "window": "0" }))]).unwrap_err();
        assert_eq!(error.to_string(), "sessions.window_tokens: expected BIGINT, found \"0\"");
    }

    #[test]
    fn any_number_of_a_transcript_fits_a_count() {
        let mut rows = Rows::new(Table::Sessions);
        for window in [json!(2000.5), json!(-0.4), json!(9.3e18), json!(u64::MAX), json!(6e18)] {
            rows.push(&[("listed", &json!({ "window": window }))]).unwrap();
        }
        let cells = find(&rows, "window_tokens");
        assert_eq!(cells.present, [true, true, false, false, true]);
        assert_eq!(cells.values, Values::Integer(vec![2001, 0, 6_000_000_000_000_000_000]));
    }
}

#[cfg(test)]
mod texts_tests {
    use super::*;

    #[test]
    fn a_repeated_text_is_stored_once_and_keeps_its_positions() {
        let mut texts: Texts = ["a", "b", "a", "a"].into_iter().collect();
        assert!(Arc::ptr_eq(&texts.values[0], &texts.values[2]));
        texts.append(["a", "c"].into_iter().collect());
        let mut at = 0;
        texts.retain(|| {
            at += 1;
            at != 1
        });
        assert_eq!(texts, ["b", "a", "a", "a", "c"].into_iter().collect());
        assert_ne!(texts, ["b"].into_iter().collect());
    }
}
