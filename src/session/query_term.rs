//! One condition of a session filter: a word, `model:opus`, `>80%`, `has:compaction`.

use crate::session::{Mark, SessionItem};
use crate::units::Moment;

/// A number as a person writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Amount {
    value: f64,
    /// The place of its last digit: 0.01 for `1.25`, 1,000 for `20k`, a day in ms for `2d`.
    unit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Below,
    AtMost,
    Equal,
    AtLeast,
    Above,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    /// In lower case; `mark` is the mark of this name, if one has it.
    Word {
        text: String,
        mark: Option<Mark>,
        unknown_key: Option<String>,
    },
    Text(TextField, String),
    Number(NumberField, Comparison, Amount),
    Is(Mark),
    Has(Feature),
}

/// A condition, or its opposite after `!`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub(super) negated: bool,
    pub(super) condition: Condition,
}

impl Term {
    /// Parses a token. `None` while it is incomplete, such as `cost:>`; an error names the expected form.
    pub(super) fn parse(token: &str) -> Result<Option<Self>, QueryError> {
        let (negated, rest) = token.strip_prefix('!').map_or((false, token), |rest| (true, rest));
        Ok(condition(&rest.to_lowercase())?.map(|condition| Self { negated, condition }))
    }
}

fn condition(text: &str) -> Result<Option<Condition>, QueryError> {
    if text.is_empty() {
        return Ok(None);
    }
    if text.starts_with(['<', '>', '=']) {
        return number(NumberField::Full, text);
    }
    let Some((key, value)) = text.split_once(':') else { return Ok(Some(word(text, None))) };
    let text_field = match key {
        "agent" if value.contains(':') => return Ok(Some(word(text, None))),
        "agent" => Some(TextField::Agent),
        "channel" => Some(TextField::Channel),
        "kind" => Some(TextField::Kind),
        "model" => Some(TextField::Model),
        "id" => Some(TextField::Id),
        _ => None,
    };
    match (text_field, key) {
        (Some(_) | None, _) if value.is_empty() && FILTER_KEYS.contains(&key) => Ok(None),
        (Some(field), _) => Ok(Some(Condition::Text(field, value.to_owned()))),
        (None, "full") => number(NumberField::Full, value),
        (None, "tokens") => number(NumberField::Tokens, value),
        (None, "cost") => number(NumberField::Cost, value),
        (None, "age") => number(NumberField::Age, value),
        (None, "compactions") => number(NumberField::Compactions, value),
        (None, "overflows") => number(NumberField::Overflows, value),
        (None, "is") => {
            let found = mark(value).ok_or_else(|| QueryError::Mark(value.to_owned()))?;
            Ok(Some(Condition::Is(found)))
        }
        (None, "has") => {
            let found = feature(value).ok_or_else(|| QueryError::Feature(value.to_owned()))?;
            Ok(Some(Condition::Has(found)))
        }
        // Several colons are a part of a session key.
        (None, key) => Ok(Some(word(text, Some(key).filter(|_| !value.contains(':'))))),
    }
}

fn word(text: &str, unknown_key: Option<&str>) -> Condition {
    Condition::Word { text: text.to_owned(), mark: mark(text), unknown_key: unknown_key.map(str::to_owned) }
}

fn mark(text: &str) -> Option<Mark> {
    Mark::ALL.into_iter().find(|mark| mark.as_str() == text)
}

fn feature(text: &str) -> Option<Feature> {
    let name = text.strip_suffix('s').unwrap_or(text);
    FEATURES.into_iter().find(|(known, _)| *known == name).map(|(_, feature)| feature)
}

/// Parses a comparison; without a sign, an age is at most the value and everything else at least.
fn number(field: NumberField, text: &str) -> Result<Option<Condition>, QueryError> {
    let signs = [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        (">", Comparison::Above),
        ("<", Comparison::Below),
        ("=", Comparison::Equal),
    ];
    let found = signs.iter().find_map(|(sign, comparison)| Some((text.strip_prefix(sign)?, *comparison)));
    let bare = if field == NumberField::Age { Comparison::AtMost } else { Comparison::AtLeast };
    let (value, comparison) = found.unwrap_or((text, bare));
    if value.is_empty() {
        return Ok(None);
    }
    let parsed = match field {
        NumberField::Age => age_ms(value),
        NumberField::Cost => plain_number(value.strip_prefix('$').unwrap_or(value)),
        NumberField::Full => plain_number(value.strip_suffix('%').unwrap_or(value)),
        _ => plain_number(value),
    };
    parsed.map(|value| Some(Condition::Number(field, comparison, value))).ok_or(QueryError::Number(field))
}

/// Parses `1`, `1.5`, `200k` or `1m`.
fn plain_number(text: &str) -> Option<Amount> {
    let (digits, scale) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1e3),
        b'm' => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',');
    let number: f64 = digits.replace(',', "").parse().ok().filter(|_| is_plain)?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Some(Amount { value: number * scale, unit: scale / 10f64.powi(decimals as i32) })
}

/// Parses `45s`, `30m`, `2h`, `2d`, `1w` or a sum such as `1d12h`, in ms. A bare number counts days.
fn age_ms(text: &str) -> Option<Amount> {
    let (mut total, mut digits) = (Amount { value: 0.0, unit: 0.0 }, String::new());
    let mut add = |digits: &str, unit: f64| {
        let part = plain_number(digits)?;
        total = Amount { value: total.value + part.value * unit, unit: part.unit * unit };
        Some(total)
    };
    for char in text.chars() {
        let unit = match char {
            's' => 1e3,
            'm' => 60e3,
            'h' => 3_600e3,
            'd' => 86_400e3,
            'w' => 604_800e3,
            _ => {
                digits.push(char);
                continue;
            }
        };
        add(&std::mem::take(&mut digits), unit)?;
    }
    if digits.is_empty() { Some(total) } else { add(&digits, 86_400e3) }
}

impl Condition {
    /// Whether the condition needs to know which sessions started others.
    pub(super) fn needs_parents(&self) -> bool {
        matches!(self, Self::Has(Feature::Subagent))
    }

    /// Whether a session meets a condition other than a word. Unknown numbers meet none.
    pub(super) fn is_met(&self, item: &SessionItem, now_ms: Moment, has_children: bool) -> bool {
        match self {
            Self::Word { .. } => false,
            Self::Text(field, value) => text_matches(*field, value, item),
            Self::Number(field, comparison, limit) => measure(*field, item, now_ms)
                .is_some_and(|value| compares(*field, value, *comparison, *limit)),
            Self::Is(mark) => item.has(*mark),
            Self::Has(Feature::Compaction) => item.compactions.is_some_and(|count| count > 0),
            Self::Has(Feature::Overflow) => item.overflows.is_some_and(|count| count > 0),
            Self::Has(Feature::Cost) => item.cost_usd().is_some_and(|usd| usd > 0.0),
            Self::Has(Feature::Transcript) => item.path.is_some() && !item.has(Mark::Missing),
            Self::Has(Feature::Subagent) => has_children,
        }
    }
}

fn text_matches(field: TextField, value: &str, item: &SessionItem) -> bool {
    let starts = |text: &str| text.to_lowercase().starts_with(value);
    match field {
        TextField::Agent => starts(&item.agent),
        TextField::Channel => item.channel.as_deref().is_some_and(starts),
        TextField::Kind => starts(&item.kind),
        TextField::Model => format!("{}/{}", item.provider, item.model).to_lowercase().contains(value),
        TextField::Id => starts(&item.id),
    }
}

fn measure(field: NumberField, item: &SessionItem, now_ms: Moment) -> Option<f64> {
    match field {
        NumberField::Full => item.fullness().map(|share| (share * 1000.0).round() / 10.0),
        NumberField::Tokens => item.tokens.map(|count| count.tokens as f64),
        NumberField::Cost => item.cost_usd(),
        NumberField::Age => item.updated_ms.map(|at| (now_ms - at).get()),
        NumberField::Compactions => item.compactions.map(|count| count as f64),
        NumberField::Overflows => item.overflows.map(|count| count as f64),
    }
}

fn compares(field: NumberField, value: f64, comparison: Comparison, amount: Amount) -> bool {
    let limit = amount.value;
    match comparison {
        Comparison::Below => value < limit,
        Comparison::AtMost => value <= limit,
        // A shown age counts full units; other numbers are equal when they round to the typed one.
        Comparison::Equal if field == NumberField::Age => (limit..limit + amount.unit).contains(&value),
        Comparison::Equal => (value - limit).abs() < amount.unit / 2.0,
        Comparison::AtLeast => value >= limit,
        Comparison::Above => value > limit,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("{}", expected_number(*.0))]
    Number(NumberField),
    #[error("is: expects {}", near(.0, &Mark::ALL.map(Mark::as_str)))]
    Mark(String),
    #[error("has: expects {}", near(.0, &FEATURES.map(|(name, _)| name)))]
    Feature(String),
    #[error("unknown key {0}; {keys}", keys = expected_key(.0))]
    UnknownKey(String),
}

/// Lists the names that start as the value does, because the start of a name is not a mistake worth a long list.
fn near(value: &str, names: &[&str]) -> String {
    let near: Vec<&str> = names.iter().copied().filter(|name| name.starts_with(value)).collect();
    if near.is_empty() { names.join(", ") } else { near.join(", ") }
}

/// Names the key that a mistyped one is most like, else all.
fn expected_key(key: &str) -> String {
    let near = FILTER_KEYS.iter().map(|known| (strsim::jaro_winkler(key, known), known));
    let near = near.max_by(|one, other| one.0.total_cmp(&other.0));
    match near.filter(|(likeness, _)| *likeness >= MIN_LIKENESS) {
        Some((_, known)) => format!("did you mean {known}?"),
        None => format!("expected one of {}", FILTER_KEYS.join(", ")),
    }
}

/// Similarity (Jaro-Winkler) below which a key is not a suggestion.
const MIN_LIKENESS: f64 = 0.8;

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

/// The words before a colon, as the status line lists them.
const FILTER_KEYS: [&str; 13] = [
    "agent",
    "channel",
    "kind",
    "model",
    "id",
    "is",
    "has",
    "full",
    "tokens",
    "cost",
    "age",
    "compactions",
    "overflows",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextField {
    Agent,
    Channel,
    Kind,
    Model,
    Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberField {
    /// Percent of the window.
    Full,
    Tokens,
    /// USD.
    Cost,
    /// Ms since the last change.
    Age,
    Compactions,
    Overflows,
}

/// Things that a session has or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    Compaction,
    Overflow,
    Cost,
    Transcript,
    Subagent,
}

/// Features by the names that `has:` takes.
const FEATURES: [(&str, Feature); 5] = [
    ("compaction", Feature::Compaction),
    ("overflow", Feature::Overflow),
    ("cost", Feature::Cost),
    ("transcript", Feature::Transcript),
    ("subagent", Feature::Subagent),
];
