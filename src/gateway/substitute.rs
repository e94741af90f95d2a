//! Environment variables in the configuration: `.env` files, the `env` block and `${NAME}` (store B1, B3).

use std::path::Path;

use serde_json::Value;

use super::env::Environment;
use crate::files;

/// A `${NAME}` without a value, and the keys that lead to its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingVariable {
    pub(super) name: String,
    pub(super) trail: Vec<String>,
    /// Whether the key holds a secret; clawscope does not need its value.
    pub(super) secret: bool,
}

/// The maximum size of a `.env` file in bytes.
const MAX_DOTENV_BYTES: u64 = 1024 * 1024;

/// Sets the variables of a `.env` file that have no value yet; ignores a missing file.
pub(super) fn load_dotenv(env: &mut Environment, path: &Path) {
    let Ok(text) = files::read_text(path, MAX_DOTENV_BYTES) else { return };
    for (name, value) in text.lines().filter_map(dotenv_line) {
        env.set_if_unset(name, &value);
    }
}

fn dotenv_line(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !plain || line.starts_with('#') {
        return None;
    }
    let value = value.trim();
    let quoted = ['"', '\'', '`']
        .iter()
        .find_map(|&q| value.strip_prefix(q)?.split_once(q).map(|(inner, _)| (q, inner)));
    let value = match quoted {
        Some(('"', inner)) => inner.replace("\\n", "\n"),
        Some((_, inner)) => inner.to_owned(),
        None => value.split('#').next().unwrap_or_default().trim().to_owned(),
    };
    Some((name, value))
}

/// Sets the variables of the configuration's `env` block that have no value yet.
pub(super) fn apply_env_block(env: &mut Environment, root: &Value) {
    let Some(block) = root.get("env").and_then(Value::as_object) else { return };
    let vars = block.get("vars").and_then(Value::as_object).into_iter().flatten();
    let direct = block.iter().filter(|(name, _)| *name != "vars" && *name != "shellEnv");
    for (name, value) in vars.chain(direct) {
        if let Some(value) = value.as_str() {
            env.set_if_unset(name, value);
        }
    }
}

/// Replaces `${NAME}` in every text below `root`, except where the key or the variable names a secret: clawscope does not
/// need those values and should not hold them. Elsewhere they would appear among the settings.
pub(super) fn substitute(root: &mut Value, env: &Environment) -> Vec<MissingVariable> {
    let mut missing = Vec::new();
    visit(root, env, &mut Vec::new(), &mut missing);
    missing
}

fn visit(value: &mut Value, env: &Environment, trail: &mut Vec<String>, missing: &mut Vec<MissingVariable>) {
    match value {
        Value::String(text) if text.contains("${") => {
            let secret = trail.last().is_some_and(|key| is_secret_key(key));
            let replaced = replace(text, env, |name| {
                missing.push(MissingVariable { name: name.to_owned(), trail: trail.clone(), secret });
            });
            if !secret {
                *text = replaced;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                trail.push(index.to_string());
                visit(item, env, trail, missing);
                trail.pop();
            }
        }
        Value::Object(object) => {
            for (key, item) in object.iter_mut() {
                trail.push(key.clone());
                visit(item, env, trail, missing);
                trail.pop();
            }
        }
        _ => {}
    }
}

/// Replaces `${NAME}` with its value and `$${NAME}` with the text `${NAME}`; lower-case names are not variables.
fn replace(text: &str, env: &Environment, mut missing: impl FnMut(&str)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((name, after)) =
            rest.strip_prefix('$').and_then(parse_variable).filter(|_| rest.starts_with("$${"))
        {
            out.push_str("${");
            out.push_str(name);
            out.push('}');
            rest = after;
        } else if let Some((name, after)) = parse_variable(rest) {
            let value = env.verbatim(name);
            if value.is_none() {
                missing(name);
            }
            let shown = value.filter(|_| !is_secret_variable(name));
            out.push_str(shown.unwrap_or(&rest[..rest.len() - after.len()]));
            rest = after;
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

/// Parses a leading `${NAME}` into the name and the rest.
fn parse_variable(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix("${")?.split_once('}')?;
    let first = name.bytes().next()?;
    let allowed = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    (!first.is_ascii_digit() && name.bytes().all(allowed)).then_some((name, after))
}

const SECRET_FILES: [&str; 2] = ["auth-profiles.json", "auth.json"];
const SECRET_VARIABLES: [&str; 5] = ["_KEY", "_PASS", "_PASSWD", "_PWD", "_PAT"];
const SECRET_KEYS: [&str; 6] = ["apikey", "api_key", "token", "password", "secret", "authorization"];

/// Whether a path leads to a file with credentials, directly or through a link.
pub fn is_secret_file(path: &Path) -> bool {
    let named =
        |path: &Path| path.file_name().and_then(|n| n.to_str()).is_some_and(|n| SECRET_FILES.contains(&n));
    named(path) || path.is_symlink() && path.canonicalize().is_ok_and(|real| named(&real))
}

pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_KEYS.iter().any(|word| key.ends_with(word))
}

fn is_secret_variable(name: &str) -> bool {
    is_secret_key(name) || SECRET_VARIABLES.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn env(vars: &[(&str, &str)]) -> Environment {
        Environment::new(vars.iter().copied(), None, "/".into())
    }

    #[test]
    fn upper_case_variables_are_replaced_and_doubled_dollars_kept() {
        let env = env(&[("DIR", "/d"), ("A_1", "x"), ("BLANK", " ")]);
        for (text, expected) in [
            ("${DIR}/s", "/d/s"),
            ("a${A_1}b${A_1}", "axbx"),
            ("$${DIR}", "${DIR}"),
            ("$$${DIR}", "$${DIR}"),
            ("${dir} $DIR ${} ${1A} ${DIR", "${dir} $DIR ${} ${1A} ${DIR"),
            ("100$", "100$"),
            ("<${BLANK}>", "< >"),
        ] {
            let mut value = json!({ "k": [text] });
            assert_eq!(substitute(&mut value, &env), []);
            assert_eq!(value, json!({ "k": [expected] }), "{text}");
        }
    }

    #[test]
    fn unset_and_empty_variables_are_reported_with_their_key() {
        let mut value = json!({ "session": { "store": "${NOPE}/${EMPTY}" } });
        let missing = substitute(&mut value, &env(&[("EMPTY", "")]));
        let names: Vec<_> = missing.iter().map(|m| (m.name.as_str(), m.trail.join("."), m.secret)).collect();
        assert_eq!(
            names,
            [("NOPE", "session.store".to_owned(), false), ("EMPTY", "session.store".to_owned(), false)]
        );
    }

    #[test]
    fn variables_in_secrets_are_not_substituted() {
        let mut value = json!({ "apiKey": "${KEY}", "botToken": "${GONE}" });
        let missing = substitute(&mut value, &env(&[("KEY", "sk-1")]));
        assert_eq!(value, json!({ "apiKey": "${KEY}", "botToken": "${GONE}" }));
        assert!(missing.len() == 1 && missing[0].secret);
    }

    #[test]
    fn variables_that_name_secrets_do_not_become_settings() {
        let env = env(&[
            ("BRAVE_API_KEY", "Kohlrabi"),
            ("DB_PASS", "Winter"),
            ("KEYBOARD", "qwertz"),
            ("PATHS", "/p"),
        ]);
        let text = "${BRAVE_API_KEY} ${DB_PASS} ${KEYBOARD} ${PATHS}";
        let mut value = json!({ "placeholder": text, "deny": [text] });
        assert_eq!(substitute(&mut value, &env), []);
        let kept = "${BRAVE_API_KEY} ${DB_PASS} qwertz /p";
        assert_eq!(value, json!({ "placeholder": kept, "deny": [kept] }));
    }

    #[test]
    fn the_env_block_fills_only_unset_variables() {
        let mut env = env(&[("A", "own"), ("B", " ")]);
        let block = json!({ "env": { "vars": { "A": "x", "B": "b" }, "C": "c", "B": "late", "N": 5, "shellEnv": "no" } });
        apply_env_block(&mut env, &block);
        let value = |name| env.get(name);
        assert_eq!((value("A"), value("B"), value("C")), (Some("own"), Some("b"), Some("c")));
        assert_eq!((value("N"), value("shellEnv"), value("vars")), (None, None, None));
    }

    #[test]
    fn dotenv_lines_are_read_without_overriding() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".env");
        std::io::Write::write_all(
            &mut std::fs::File::create(&path).unwrap(),
            b"# c\nexport A=1 # one\nB=\"two # 2\"\n C = 'x'\nBAD LINE\nHAVE=new\n=x\n",
        )
        .unwrap();
        let mut env = env(&[("HAVE", "old")]);
        load_dotenv(&mut env, &path);
        load_dotenv(&mut env, &dir.path().join("missing"));
        let value = |name| env.get(name);
        assert_eq!((value("A"), value("B"), value("C")), (Some("1"), Some("two # 2"), Some("x")));
        assert_eq!(value("HAVE"), Some("old"));
    }
}

#[cfg(test)]
mod secrets_tests {
    use super::*;

    #[test]
    fn credentials_are_recognised_by_file_name_and_key() {
        assert!(is_secret_file(Path::new("/x/agent/auth.json")));
        assert!(is_secret_file(Path::new("auth-profiles.json")));
        assert!(!is_secret_file(Path::new("/x/models.json")));
        assert!(is_secret_key("apiKey") && is_secret_key("botToken") && is_secret_key("Authorization"));
        assert!(!is_secret_key("contextTokens") && !is_secret_key("keyboard"));
    }
}
