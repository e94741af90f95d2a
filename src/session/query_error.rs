//! Mistakes in a filter of sessions, each with the expected form.

use crate::session::Mark;
use crate::session::query_field::{FEATURES, FILTER_KEYS, NumberField};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("{}", expected_number(*.0))]
    Number(NumberField),
    #[error("is: expects {}", near(.0, &Mark::ALL.map(Mark::as_str)))]
    Mark(String),
    #[error("has: expects {}", near(.0, &FEATURES.map(|(name, _)| name)))]
    Feature(String),
    #[error("unknown key {0}; expected one of {keys}", keys = FILTER_KEYS.join(", "))]
    UnknownKey(String),
}

/// Lists the names that start as the value does, because the start of a name is not a mistake worth a long list.
fn near(value: &str, names: &[&str]) -> String {
    let near: Vec<&str> = names.iter().copied().filter(|name| name.starts_with(value)).collect();
    if near.is_empty() { names.join(", ") } else { near.join(", ") }
}

const fn expected_number(field: NumberField) -> &'static str {
    match field {
        NumberField::Full => "fullness is a percentage, such as >80%",
        NumberField::Tokens => "tokens: expects a number, such as tokens:>100k",
        NumberField::Cost => "cost: expects USD, such as cost:>1",
        NumberField::Age => "age: expects a time, such as age:<2d (s, m, h, d, w)",
        NumberField::Compactions => "compactions: expects a number, such as compactions:>2",
        NumberField::Overflows => "overflows: expects a number, such as overflows:>0",
    }
}
