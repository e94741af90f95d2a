//! Applies the schema of a release to a configuration, in the order and with the messages of the release's own library.

use serde_json::{Map, Value};

use super::node::{Check, Kind, Node, ReleaseSchema, Tables, index, tables};
use super::words::{Issue, Walk, Wording, with_allowed};
use super::{json, rules};

/// The largest whole number that the library takes.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;
/// A key that the library never looks at.
const SKIPPED_KEY: &str = "__proto__";

/// Lists the issues for which a release refuses a configuration; empty for one that it accepts.
pub(in crate::gateway) fn validate(schema: &ReleaseSchema, root: &Value) -> Vec<Issue> {
    let mut run = Validation { tables: tables(), schema, trail: Vec::new() };
    let mut issues = run.check(schema.root, Some(root));
    if issues.is_empty() {
        issues = run.channels(root);
    }
    issues.into_iter().map(|issue| with_allowed(issue, schema)).collect()
}

/// Lists the keys of older releases that the gateway moves when it starts, with its sentences; `None` for a release
/// that moves none.
pub(in crate::gateway) fn old_keys(schema: &ReleaseSchema, root: &Value) -> Option<Vec<Issue>> {
    let rules = schema.legacy.as_ref()?;
    Some(rules.iter().filter_map(|&node| old_key(schema, node, root)).collect())
}

fn old_key(schema: &ReleaseSchema, node: usize, root: &Value) -> Option<Issue> {
    let Kind::Legacy { at, w, m } = &tables().node(node)?.kind else { return None };
    let value = at.iter().try_fold(root, |value, key| value.get(key))?;
    let words = Wording { schema, trail: at };
    let check = Check { message: Some(m.clone()), ..Check::default() };
    rules::is_legacy(w, value).then(|| words.failed(&check, String::new()))
}

struct Validation<'a> {
    tables: &'a Tables,
    schema: &'a ReleaseSchema,
    /// Keys and indices to the value that is checked.
    trail: Vec<String>,
}

impl Walk for Validation<'_> {
    fn tables(&self) -> &Tables {
        self.tables
    }

    fn words(&self) -> Wording<'_> {
        Wording { schema: self.schema, trail: &self.trail }
    }

    fn trail(&mut self) -> &mut Vec<String> {
        &mut self.trail
    }

    fn check(&mut self, node: usize, value: Option<&Value>) -> Vec<Issue> {
        // A node that is not in the table refuses nothing.
        let Some(node) = self.tables.node(node) else { return Vec::new() };
        let mut issues = self.check_kind(node, value);
        if let Some(value) = value.filter(|_| !matches!(node.kind, Kind::Json(_))) {
            self.run_checks(&node.checks, value, &mut issues);
        }
        issues
    }
}

impl Validation<'_> {
    fn check_kind(&mut self, node: &Node, value: Option<&Value>) -> Vec<Issue> {
        let typed = |run: &Self, name: &str, fits: fn(&Value) -> bool| match value {
            Some(value) if fits(value) => Vec::new(),
            other => vec![run.words().wrong_type(name, other)],
        };
        match &node.kind {
            Kind::Any | Kind::Unknown | Kind::Transform | Kind::Custom | Kind::Up | Kind::Legacy { .. } => {
                Vec::new()
            }
            Kind::String => typed(self, "string", Value::is_string),
            Kind::Number => typed(self, "number", Value::is_number),
            Kind::Boolean => typed(self, "boolean", Value::is_boolean),
            Kind::Null => typed(self, "null", Value::is_null),
            Kind::Never => vec![self.words().wrong_type("never", value)],
            Kind::Undefined => {
                typed(self, "undefined", |_| false).into_iter().filter(|_| value.is_some()).collect()
            }
            Kind::Literal { v } | Kind::Enum { v } => match value {
                Some(value) if v.iter().any(|allowed| same(allowed, value)) => Vec::new(),
                _ => vec![self.words().wrong_value(v)],
            },
            Kind::Optional { .. } | Kind::Default { .. } if value.is_none() => Vec::new(),
            Kind::Nullable { .. } if value == Some(&Value::Null) => Vec::new(),
            Kind::Optional { e } | Kind::Default { e } | Kind::Nullable { e } | Kind::Readonly { e } => {
                self.check(*e, value)
            }
            Kind::Object { p, r } => match value {
                Some(Value::Object(object)) => self.object(p, *r, object),
                other => vec![self.words().wrong_type("object", other)],
            },
            Kind::Record { k, e, all, loose } => match value {
                Some(Value::Object(object)) if *all > 0 => self.whole_record(*k, *e, object),
                Some(Value::Object(object)) => self.record(*k, *e, *loose > 0, object),
                other => vec![self.words().wrong_type("record", other)],
            },
            Kind::Array { e } => match value {
                Some(Value::Array(items)) => self.items(items, |_| Some(*e)),
                other => vec![self.words().wrong_type("array", other)],
            },
            Kind::Tuple { o, e } => match value {
                Some(Value::Array(items)) => self.items(items, |at| o.get(at).copied().or(*e)),
                other => vec![self.words().wrong_type("tuple", other)],
            },
            Kind::Union { o, d } => self.union(o, d.as_deref(), value),
            Kind::Intersection { o } => o.iter().flat_map(|&one| self.check(one, value)).collect(),
            Kind::Pipe { o } => self.pipe(o, value),
            Kind::Json(schema) => json::check(self, schema, &node.checks, value),
        }
    }

    fn object(
        &mut self,
        shape: &Map<String, Value>,
        rest: Option<usize>,
        object: &Map<String, Value>,
    ) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (key, node) in shape {
            issues.extend(self.below(key, index(node), object.get(key)));
        }
        let Some(rest) = rest else { return issues };
        let others = || object.iter().filter(|(key, _)| !shape.contains_key(*key) && *key != SKIPPED_KEY);
        if matches!(self.tables.node(rest).map(|node| &node.kind), Some(Kind::Never)) {
            let unknown: Vec<&str> = others().map(|(key, _)| key.as_str()).collect();
            if !unknown.is_empty() {
                issues.push(self.words().unknown_keys(&unknown));
            }
            return issues;
        }
        for (key, value) in others() {
            issues.extend(self.below(key, rest, Some(value)));
        }
        issues
    }

    fn record(&mut self, keys: usize, values: usize, loose: bool, object: &Map<String, Value>) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (key, value) in object.iter().filter(|(key, _)| *key != SKIPPED_KEY) {
            if !self.check(keys, Some(&Value::String(key.clone()))).is_empty() {
                if !loose {
                    self.trail.push(key.clone());
                    issues.push(self.words().wrong_key());
                    self.trail.pop();
                }
                continue;
            }
            issues.extend(self.below(key, values, Some(value)));
        }
        issues
    }

    /// A record that needs each of the keys that its schema lists.
    fn whole_record(&mut self, keys: usize, values: usize, object: &Map<String, Value>) -> Vec<Issue> {
        let Some(Kind::Enum { v: listed } | Kind::Literal { v: listed }) =
            self.tables.node(keys).map(|node| &node.kind)
        else {
            return self.record(keys, values, false, object);
        };
        let names: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
        let mut issues: Vec<Issue> =
            names.iter().flat_map(|name| self.below(name, values, object.get(*name))).collect();
        let unknown: Vec<&str> =
            object.keys().map(String::as_str).filter(|key| !names.contains(key)).collect();
        if !unknown.is_empty() {
            issues.push(self.words().unknown_keys(&unknown));
        }
        issues
    }

    fn items(&mut self, items: &[Value], node: impl Fn(usize) -> Option<usize>) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if let Some(node) = node(at) {
                issues.extend(self.below(&at.to_string(), node, Some(item)));
            }
        }
        issues
    }

    fn pipe(&mut self, steps: &[usize], value: Option<&Value>) -> Vec<Issue> {
        for &step in steps {
            let issues = self.check(step, value);
            // What a transformation makes of a value is not known here.
            if !issues.is_empty() || self.ends_in_transform(step) {
                return issues;
            }
        }
        Vec::new()
    }

    fn ends_in_transform(&self, node: usize) -> bool {
        let Some(Kind::Pipe { o }) = self.tables.node(node).map(|node| &node.kind) else { return false };
        let last = o.last().and_then(|&last| self.tables.node(last));
        matches!(last.map(|node| &node.kind), Some(Kind::Transform))
    }

    fn union(&mut self, options: &[usize], discriminator: Option<&str>, value: Option<&Value>) -> Vec<Issue> {
        if let Some(key) = discriminator {
            return self.discriminated(options, key, value);
        }
        let mut branches = Vec::with_capacity(options.len());
        for &option in options {
            let issues = self.check(option, value);
            if issues.is_empty() {
                return issues;
            }
            branches.push(issues);
        }
        // One option that has the right type speaks for the union.
        let typed: Vec<usize> =
            (0..branches.len()).filter(|&at| branches[at].iter().all(|issue| issue.goes_on)).collect();
        match typed[..] {
            [one] => branches.swap_remove(one),
            _ => vec![self.words().no_option(&branches)],
        }
    }

    fn discriminated(&mut self, options: &[usize], key: &str, value: Option<&Value>) -> Vec<Issue> {
        let Some(Value::Object(object)) = value else {
            return vec![self.words().wrong_type("object", value)];
        };
        let mut known = Vec::new();
        for &option in options {
            let allowed = self.discriminator_values(option, key);
            if object.get(key).is_some_and(|found| allowed.contains(found)) {
                return self.check(option, value);
            }
            known.extend(allowed);
        }
        self.trail.push(key.to_owned());
        let issue = self.words().wrong_discriminator(&known);
        self.trail.pop();
        vec![issue]
    }

    fn discriminator_values(&self, option: usize, key: &str) -> Vec<Value> {
        match self.tables.node(option).map(|node| &node.kind) {
            Some(Kind::Object { p, .. }) => match p.get(key).and_then(|node| self.tables.node(index(node))) {
                Some(Node { kind: Kind::Literal { v } | Kind::Enum { v }, .. }) => v.clone(),
                _ => Vec::new(),
            },
            Some(Kind::Union { o, .. }) => {
                o.iter().flat_map(|&one| self.discriminator_values(one, key)).collect()
            }
            Some(Kind::Pipe { o }) => {
                o.first().map(|&one| self.discriminator_values(one, key)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Runs the checks of a value in order; one that fails on the type ends them.
    fn run_checks(&mut self, checks: &[Check], value: &Value, issues: &mut Vec<Issue>) {
        for check in checks {
            if issues.iter().any(|issue| !issue.goes_on) {
                return;
            }
            issues.extend(self.run_check(check, value));
        }
    }

    fn run_check(&mut self, check: &Check, value: &Value) -> Vec<Issue> {
        let number = value.as_f64();
        match (check.rule.as_str(), number) {
            ("int", Some(number)) if number.fract() != 0.0 => {
                vec![self.words().wrong_type("int", Some(value))]
            }
            ("int", Some(number)) if number.abs() > MAX_SAFE => {
                let (side, sign, limit) = if number > 0.0 { ("big", "<=", "") } else { ("small", ">=", "-") };
                vec![
                    self.words().failed(
                        check,
                        format!("Too {side}: expected int to be {sign}{limit}9007199254740991"),
                    ),
                ]
            }
            ("min", Some(number)) if number < check.bound => vec![self.words().out_of_bounds(check)],
            ("gt", Some(number)) if number <= check.bound => vec![self.words().out_of_bounds(check)],
            ("max", Some(number)) if number > check.bound => vec![self.words().out_of_bounds(check)],
            ("lt", Some(number)) if number >= check.bound => vec![self.words().out_of_bounds(check)],
            ("mult", Some(number)) if number % check.bound != 0.0 => {
                let message = format!("Invalid number: must be a multiple of {}", check.bound);
                vec![self.words().failed(check, message)]
            }
            ("int" | "min" | "gt" | "max" | "lt" | "mult" | "trim", _) => Vec::new(),
            ("minlen" | "maxlen" | "len", _) => self.length(check, value),
            ("format", _) => self.format(check, value),
            _ => rules::check(&self.words(), check, value),
        }
    }

    fn length(&self, check: &Check, value: &Value) -> Vec<Issue> {
        let (length, origin, unit) = match value {
            Value::String(text) => (text.encode_utf16().count(), "string", "characters"),
            Value::Array(items) => (items.len(), "array", "items"),
            _ => return Vec::new(),
        };
        let (length, bound) = (length as f64, check.bound);
        let (side, sign) = match check.rule.as_str() {
            "minlen" if length < bound => ("small", ">="),
            "maxlen" if length > bound => ("big", "<="),
            "len" if length < bound => ("small", "exactly "),
            "len" if length > bound => ("big", "exactly "),
            _ => return Vec::new(),
        };
        let message = format!("Too {side}: expected {origin} to have {sign}{bound} {unit}");
        vec![self.words().failed(check, message)]
    }

    fn format(&self, check: &Check, value: &Value) -> Vec<Issue> {
        let Some(text) = value.as_str() else { return Vec::new() };
        let fits = match (check.format.as_str(), &check.prefix, &check.pattern) {
            ("starts_with", Some(prefix), _) => text.starts_with(prefix.as_str()),
            ("url", ..) => rules::is_url(text),
            (_, _, Some(pattern)) => rules::matches(pattern, &check.flags, text),
            _ => true,
        };
        if fits {
            return Vec::new();
        }
        let message = match (check.format.as_str(), &check.prefix, &check.pattern) {
            ("starts_with", Some(prefix), _) => format!("Invalid string: must start with \"{prefix}\""),
            ("regex", _, Some(pattern)) => {
                format!("Invalid string: must match pattern /{pattern}/{}", check.flags)
            }
            ("url", ..) => "Invalid URL".to_owned(),
            (name, ..) => format!("Invalid {name}"),
        };
        vec![self.words().failed(check, message)]
    }

    /// Channels whose schema is that of their plug-in.
    fn channels(&mut self, root: &Value) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (name, value) in root.get("channels").and_then(Value::as_object).into_iter().flatten() {
            if let Some(&node) = self.schema.channels.get(name.trim()) {
                self.trail = vec!["channels".to_owned(), name.clone()];
                issues.extend(self.check(node, Some(value)));
            }
        }
        for issue in &mut issues {
            issue.message = format!("invalid config: {}", issue.message);
        }
        issues
    }
}

/// Numbers are equal however they are written.
fn same(allowed: &Value, value: &Value) -> bool {
    match (allowed.as_f64(), value.as_f64()) {
        (Some(a), Some(b)) => a.to_bits() == b.to_bits(),
        _ => allowed == value,
    }
}
