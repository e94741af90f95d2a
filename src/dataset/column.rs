//! A column of a table.

/// The type of the values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8. A list of words is joined by spaces; other lists and objects are JSON.
    Text,
    /// 64-bit integer.
    Integer,
    /// 64-bit floating point.
    Number,
    Boolean,
    /// A moment in UTC, in ms.
    Time,
}

impl Kind {
    /// Returns the name of the type in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Text => "VARCHAR",
            Self::Integer => "BIGINT",
            Self::Number => "DOUBLE",
            Self::Boolean => "BOOLEAN",
            Self::Time => "TIMESTAMP",
        }
    }

    /// Returns the name of the type in JSON Schema.
    pub fn json(self) -> &'static str {
        match self {
            Self::Text | Self::Time => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// A column: its description, and where its values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    /// The unit of numbers, such as `tokens`; empty without one.
    pub unit: &'static str,
    /// One sentence without a full stop.
    pub meaning: &'static str,
    /// The attribute of OpenTelemetry's GenAI conventions with the same meaning.
    pub otel: Option<&'static str>,
    /// JSON pointer of the value in a row.
    pub pointer: &'static str,
    /// Whether it holds words of a person, a model or a provider, so that it is filled only with `--text`.
    pub is_text: bool,
}

impl Column {
    /// Creates a column without a unit.
    pub(super) const fn new(
        name: &'static str,
        kind: Kind,
        pointer: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self { name, kind, unit: "", meaning, otel: None, pointer, is_text: false }
    }

    /// Adds the unit.
    pub(super) const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Adds the name of the OpenTelemetry attribute.
    pub(super) const fn otel(self, name: &'static str) -> Self {
        Self { otel: Some(name), ..self }
    }

    /// Marks a column that is filled only with `--text`.
    pub(super) const fn of_words(self) -> Self {
        Self { is_text: true, ..self }
    }
}
