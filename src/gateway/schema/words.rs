//! The issues of a validation in the release's own words.

use serde_json::Value;

use super::node::{Check, ReleaseSchema, Tables, Words};

/// The most allowed values that a message lists.
const MAX_LISTED: usize = 12;

/// One reason for which a release refuses a configuration.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::gateway) struct Issue {
    /// Keys and indices from the root.
    pub(in crate::gateway) trail: Vec<String>,
    /// The release's sentence.
    pub(in crate::gateway) message: String,
    /// The first of the keys that are not allowed.
    pub(super) unknown_key: Option<String>,
    /// Whether there is no value at all.
    pub(in crate::gateway) is_missing: bool,
    /// The values that are allowed instead.
    pub(super) values: Values,
    /// Whether checks of the values around it still run.
    pub(super) goes_on: bool,
}

impl Issue {
    pub(in crate::gateway) fn is_unknown_key(&self) -> bool {
        self.unknown_key.is_some()
    }

    /// Keys to the value, or to the key that is not allowed.
    pub(in crate::gateway) fn place(&self) -> Vec<String> {
        self.trail.iter().chain(&self.unknown_key).cloned().collect()
    }

    /// The path as the release prints it.
    pub(in crate::gateway) fn path(&self) -> String {
        if self.trail.is_empty() { "<root>".to_owned() } else { self.trail.join(".") }
    }
}

/// The values that an issue would allow, as far as they can be listed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    None,
    Listed(Vec<Value>),
    Unlistable,
}

/// Builds issues at one place.
pub(super) struct Wording<'a> {
    pub(super) schema: &'a ReleaseSchema,
    pub(super) trail: &'a [String],
}

impl Wording<'_> {
    fn issue(&self, message: String, values: Values) -> Issue {
        Issue {
            trail: self.trail.to_vec(),
            message: self.known(message),
            unknown_key: None,
            is_missing: false,
            values,
            goes_on: false,
        }
    }

    /// A library without its English words says the same of everything.
    fn known(&self, message: String) -> String {
        if self.schema.words == Words::None { "Invalid input".to_owned() } else { message }
    }

    pub(super) fn wrong_type(&self, expected: &str, found: Option<&Value>) -> Issue {
        let values = if expected == "boolean" {
            Values::Listed(vec![Value::Bool(true), Value::Bool(false)])
        } else {
            Values::Unlistable
        };
        let issue =
            self.issue(format!("Invalid input: expected {expected}, received {}", type_name(found)), values);
        Issue { is_missing: found.is_none(), ..issue }
    }

    pub(super) fn wrong_value(&self, allowed: &[Value]) -> Issue {
        let message = match allowed {
            [one] => format!("Invalid input: expected {one}"),
            many => format!("Invalid option: expected one of {}", joined(many, "|")),
        };
        self.issue(message, Values::Listed(allowed.to_vec()))
    }

    pub(super) fn unknown_keys(&self, keys: &[&str]) -> Issue {
        let quoted: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
        let plural = if keys.len() > 1 { "s" } else { "" };
        let issue = self.issue(format!("Unrecognized key{plural}: {}", quoted.join(", ")), Values::None);
        // Later versions of the library run the checks of the object all the same; they are those with words.
        let goes_on = self.schema.words == Words::Zod;
        Issue { unknown_key: keys.first().map(|&key| key.to_owned()), goes_on, ..issue }
    }

    pub(super) fn wrong_key(&self) -> Issue {
        self.issue("Invalid key in record".to_owned(), Values::None)
    }

    pub(super) fn no_option(&self, branches: &[Vec<Issue>]) -> Issue {
        self.issue("Invalid input".to_owned(), merged(branches))
    }

    pub(super) fn wrong_discriminator(&self, allowed: &[Value]) -> Issue {
        let options: Vec<String> =
            allowed.iter().map(|value| format!("'{}'", value.as_str().unwrap_or_default())).collect();
        let message = format!("Invalid discriminator value. Expected {}", options.join(" | "));
        self.issue(message, Values::Unlistable)
    }

    /// A check whose message is its own, or that of the library; `origin` is what it measures, with its unit.
    pub(super) fn failed(&self, check: &Check, message: String) -> Issue {
        let known = check.message.clone().unwrap_or_else(|| self.known(message));
        Issue {
            trail: self.trail.to_vec(),
            message: known,
            unknown_key: None,
            is_missing: false,
            values: Values::None,
            goes_on: true,
        }
    }

    /// A number beyond a bound; newer releases repeat it in words.
    pub(super) fn out_of_bounds(&self, check: &Check) -> Issue {
        let bound = crate::js::number_text(check.bound);
        let (side, sign, hint) = match check.rule.as_str() {
            "min" => ("small", ">=", "minimum: "),
            "gt" => ("small", ">", "must be greater than "),
            "max" => ("big", "<=", "maximum: "),
            _ => ("big", "<", "must be less than "),
        };
        let mut issue = self.failed(check, format!("Too {side}: expected number to be {sign}{bound}"));
        if self.schema.bounds {
            issue.message += &[" (", hint, &bound, ")"].concat();
        }
        issue
    }
}

/// Adds the list of allowed values that a release puts behind a message.
pub(super) fn with_allowed(mut issue: Issue, schema: &ReleaseSchema) -> Issue {
    let lower = issue.message.to_lowercase();
    let says_so = lower.contains("(allowed:") || lower.contains("expected one of");
    if let Values::Listed(values) = &issue.values
        && schema.allowed
        && !says_so
        && !values.is_empty()
    {
        let mut unique: Vec<&Value> = Vec::new();
        for value in values {
            if !unique.contains(&value) {
                unique.push(value);
            }
        }
        let shown: Vec<String> = unique.iter().take(MAX_LISTED).map(ToString::to_string).collect();
        let hidden = unique.len().saturating_sub(MAX_LISTED);
        let more = if hidden > 0 { format!(", ... (+{hidden} more)") } else { String::new() };
        issue.message += &[" (allowed: ", &shown.join(", "), &more, ")"].concat();
    }
    issue
}

/// The values of a union: those of all branches, if each can list its own.
fn merged(branches: &[Vec<Issue>]) -> Values {
    let mut all = Vec::new();
    for branch in branches {
        let mut own = Vec::new();
        for issue in branch {
            match &issue.values {
                Values::Unlistable => return Values::Unlistable,
                Values::Listed(values) => own.extend(values.iter().cloned()),
                Values::None => {}
            }
        }
        if own.is_empty() {
            return Values::Unlistable;
        }
        all.extend(own);
    }
    Values::Listed(all)
}

fn joined(values: &[Value], by: &str) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(by)
}

fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

/// A validation in progress, as JSON schemas use it.
pub(super) trait Walk {
    fn tables(&self) -> &Tables;
    fn words(&self) -> Wording<'_>;
    fn trail(&mut self) -> &mut Vec<String>;
    /// Checks a value, `None` for a key that is not there.
    fn check(&mut self, node: usize, value: Option<&Value>) -> Vec<Issue>;

    /// Checks what is below a key.
    fn below(&mut self, step: &str, node: usize, value: Option<&Value>) -> Vec<Issue> {
        self.trail().push(step.to_owned());
        let issues = self.check(node, value);
        self.trail().pop();
        issues
    }
}
