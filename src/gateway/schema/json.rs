//! JSON schemas, by which newer releases validate their channels, with the messages of their validator.

use serde_json::{Map, Value};

use super::node::{Check, JsonSchema, Kind, index};
use super::rules;
use super::words::{Issue, Values, Walk};

/// Lists the issues of one value.
pub(super) fn check(
    run: &mut impl Walk,
    schema: &JsonSchema,
    checks: &[Check],
    value: Option<&Value>,
) -> Vec<Issue> {
    let Some(value) = value else { return Vec::new() };
    if !schema.ty.is_empty() && !schema.ty.iter().any(|name| is_type(name, value)) {
        let mismatch = issue(run, format!("must be {}", schema.ty.join(",")), Values::Unlistable);
        return std::iter::once(mismatch).chain(not_allowed(run, schema, value)).collect();
    }
    let mut issues = not_allowed(run, schema, value);
    for check in checks {
        issues.extend(bound(run, check, value));
    }
    match value {
        Value::Object(object) => issues.extend(keys(run, schema, object)),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                issues.extend(
                    schema.e.map(|node| run.below(&at.to_string(), node, Some(item))).into_iter().flatten(),
                );
            }
        }
        _ => {}
    }
    schema.o.iter().for_each(|&node| issues.extend(run.check(node, Some(value))));
    for (options, name) in [(&schema.any, "a schema in anyOf"), (&schema.one, "exactly one schema in oneOf")]
    {
        issues.extend(one_option(run, options, name, value));
    }
    issues
}

fn issue(run: &impl Walk, message: String, values: Values) -> Issue {
    Issue {
        trail: run.words().trail.to_vec(),
        message,
        unknown_key: None,
        is_missing: false,
        values,
        goes_on: false,
    }
}

fn not_allowed(run: &impl Walk, schema: &JsonSchema, value: &Value) -> Vec<Issue> {
    let Some(allowed) = schema.v.as_ref().filter(|allowed| !allowed.contains(value)) else {
        return Vec::new();
    };
    let message = match allowed.len() {
        1 => "must be equal to constant",
        _ => "must be equal to one of the allowed values",
    };
    vec![issue(run, message.to_owned(), Values::Listed(allowed.clone()))]
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

fn keys(run: &mut impl Walk, schema: &JsonSchema, object: &Map<String, Value>) -> Vec<Issue> {
    let mut issues = Vec::new();
    for missing in schema.q.iter().filter(|key| !object.contains_key(*key)) {
        run.trail().push(missing.clone());
        issues.push(issue(run, format!("must have required property '{missing}'"), Values::None));
        run.trail().pop();
    }
    let mut unknown = Vec::new();
    for (key, value) in object {
        if let Some(names) = schema.k
            && !run.check(names, Some(&Value::String(key.clone()))).is_empty()
        {
            issues.push(issue(run, "property name must be valid".to_owned(), Values::None));
        }
        if let Some(node) = schema.p.get(key) {
            issues.extend(run.below(key, index(node), Some(value)));
        } else if let Some(rest) = schema.r {
            // The schema `false`: the key itself is not allowed.
            if matches!(run.tables().node(rest).map(|node| &node.kind), Some(Kind::Never)) {
                unknown.push(key.as_str());
            } else {
                issues.extend(run.below(key, rest, Some(value)));
            }
        }
    }
    if let Some(first) = unknown.first() {
        let keys: Vec<String> = unknown.iter().map(|key| format!("\"{key}\"")).collect();
        let found =
            issue(run, format!("must not have additional properties: {}", keys.join(", ")), Values::None);
        issues.push(Issue { unknown_key: Some((*first).to_owned()), ..found });
    }
    issues
}

fn one_option(run: &mut impl Walk, options: &[usize], name: &str, value: &Value) -> Vec<Issue> {
    if options.is_empty() {
        return Vec::new();
    }
    let branches: Vec<Vec<Issue>> = options.iter().map(|&node| run.check(node, Some(value))).collect();
    if branches.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let message = format!("must match {name}");
    let mut issues: Vec<Issue> = branches.into_iter().flatten().collect();
    issues.push(issue(run, message, Values::None));
    issues
}

fn bound(run: &impl Walk, check: &Check, value: &Value) -> Option<Issue> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        _ => 0,
    } as f64;
    let unit = if value.is_array() { "items" } else { "characters" };
    let sized = !value.is_number();
    let number = value.as_f64();
    let limit = check.bound;
    let message = match (check.rule.as_str(), number) {
        ("min", Some(number)) if number < limit => format!("must be >= {limit}"),
        ("gt", Some(number)) if number <= limit => format!("must be > {limit}"),
        ("max", Some(number)) if number > limit => format!("must be <= {limit}"),
        ("lt", Some(number)) if number >= limit => format!("must be < {limit}"),
        ("minlen", None) if sized && length < limit => format!("must not have fewer than {limit} {unit}"),
        ("maxlen", None) if sized && length > limit => format!("must not have more than {limit} {unit}"),
        ("format", None) => {
            let pattern = check.pattern.as_deref()?;
            let fits = value.as_str().is_none_or(|text| rules::matches(pattern, "", text));
            (!fits).then(|| format!("must match pattern \"{pattern}\""))?
        }
        _ => return None,
    };
    Some(issue(run, message, Values::None))
}
