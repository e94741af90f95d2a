//! `$include`: builds one configuration from several files (store B2).

use std::collections::HashMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use json5::ErrorCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::env::absolute;
use super::lines::{self, TextPosition, key_position};
use super::substitute::is_secret_file;
use crate::diagnostic::{Diagnostic, Severity};
use crate::files::{self, PathText};
use crate::format::format_size;
use crate::units::Bytes;

const INCLUDE: &str = "$include";
const MAX_INCLUDE_DEPTH: usize = 10;
const MAX_INCLUDED_BYTES: u64 = 2 * 1024 * 1024;
/// Maximum bytes of the main file and all its includes. A file that is included twice counts twice, as its text is kept
/// and parsed twice.
const MAX_TOTAL_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum number of included files, counted likewise.
const MAX_INCLUDES: usize = 500;
const SKIPPED_KEYS: [&str; 3] = ["__proto__", "prototype", "constructor"];

/// Reads `path` and all its includes. Fills `sources` with every parsed file, even after an error; a later one
/// overrides an earlier one.
pub(super) fn read(path: &Path, sources: &mut Vec<SourceFile>) -> Result<Value, ConfigError> {
    let dir = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let real_dir = dir.canonicalize().unwrap_or_else(|_| dir.clone());
    Reader {
        dir,
        real_dir,
        open_files: Vec::new(),
        bytes_left: MAX_TOTAL_BYTES,
        includes_left: MAX_INCLUDES,
        sources,
    }
    .read_file(path, &[])
}

struct Reader<'a> {
    /// The directory of the top file; files outside it are not included.
    dir: PathBuf,
    real_dir: PathBuf,
    /// Real paths of the files being read, outermost first.
    open_files: Vec<PathBuf>,
    bytes_left: u64,
    includes_left: usize,
    sources: &'a mut Vec<SourceFile>,
}

/// The file and the position of an `$include`.
struct IncludeSite<'a> {
    path: &'a Path,
    text: &'a str,
    /// Keys from the root of the whole configuration to the value.
    trail: &'a [String],
    /// The number of those keys that lead to the file.
    mount_depth: usize,
}

impl IncludeSite<'_> {
    fn error(&self, what: impl Into<String>, next: &str) -> ConfigError {
        let own = self.trail[self.mount_depth..].iter().map(String::as_str);
        let key: Vec<&str> = own.chain([INCLUDE]).collect();
        let spot = lines::key_position(self.text, &key);
        ConfigError {
            path: self.path.to_path_buf(),
            line: spot.map(|spot| spot.line),
            column: spot.map(|spot| spot.column),
            message: what.into(),
            advice: next.to_owned(),
        }
    }
}

impl Reader<'_> {
    fn read_file(&mut self, path: &Path, mount: &[String]) -> Result<Value, ConfigError> {
        let limit = if self.open_files.is_empty() { MAX_TOTAL_BYTES } else { MAX_INCLUDED_BYTES };
        let text = read_text(path, limit.min(self.bytes_left))?;
        self.bytes_left = self.bytes_left.saturating_sub(text.len() as u64);
        let value = parse(path, &text)?;
        self.open_files.push(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
        let mut trail = mount.to_vec();
        let value = self.resolve(value, path, &text, &mut trail, mount.len());
        self.open_files.pop();
        self.sources.push(SourceFile::new(path.to_path_buf(), text, mount.to_vec()));
        value
    }

    fn resolve(
        &mut self,
        value: Value,
        path: &Path,
        text: &str,
        trail: &mut Vec<String>,
        mount: usize,
    ) -> Result<Value, ConfigError> {
        match value {
            Value::Object(mut object) => {
                let included = match object.shift_remove(INCLUDE) {
                    None => None,
                    Some(include) => Some(
                        self.read_included(&include, &IncludeSite { path, text, trail, mount_depth: mount })?,
                    ),
                };
                let mut own = Map::new();
                for (key, item) in object {
                    trail.push(key.clone());
                    let item = self.resolve(item, path, text, trail, mount)?;
                    trail.pop();
                    own.insert(key, item);
                }
                match included {
                    None => Ok(Value::Object(own)),
                    Some(included) if own.is_empty() => Ok(included),
                    Some(included @ Value::Object(_)) => Ok(merge(included, Value::Object(own))),
                    Some(_) => Err(IncludeSite { path, text, trail, mount_depth: mount }.error(
                        "$include has keys beside it, but the included file is not an object",
                        "remove the keys, or include a file that contains an object",
                    )),
                }
            }
            Value::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    trail.push(index.to_string());
                    out.push(self.resolve(item, path, text, trail, mount)?);
                    trail.pop();
                }
                Ok(Value::Array(out))
            }
            scalar => Ok(scalar),
        }
    }

    fn read_included(&mut self, include: &Value, at: &IncludeSite<'_>) -> Result<Value, ConfigError> {
        let names: Vec<&Value> = match include {
            Value::Array(items) => items.iter().collect(),
            one => vec![one],
        };
        let mut merged = None;
        for name in names {
            let Some(name) = name.as_str() else {
                return Err(at.error(
                    "$include must be a string or a list of strings",
                    "write the paths of the files \
                         to include",
                ));
            };
            let path = self.check_path(name, at)?;
            let value =
                self.read_file(&path, at.trail).map_err(|error| self.with_including_file(error, name, at))?;
            merged = Some(match merged {
                None => value,
                Some(before) => merge(before, value),
            });
        }
        Ok(merged.unwrap_or_else(|| Value::Object(Map::new())))
    }

    /// Reports a file that cannot be opened at the place that includes it.
    fn with_including_file(&self, error: ConfigError, name: &str, at: &IncludeSite<'_>) -> ConfigError {
        if error.line.is_some() || self.open_files.contains(&error.path) {
            return error;
        }
        at.error(format!("included file {name:?}: {}", error.message), &error.advice)
    }

    fn check_path(&mut self, name: &str, at: &IncludeSite<'_>) -> Result<PathBuf, ConfigError> {
        let base = at.path.parent().unwrap_or(Path::new("/"));
        let path = absolute(base, Path::new(name));
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let inside = (path.starts_with(&self.dir) || path.starts_with(&self.real_dir))
            && (real.starts_with(&self.real_dir) || !path.exists());
        if !inside {
            let next = "move the file below the directory of the main configuration";
            return Err(at.error(format!("included file {name:?} is outside {}", self.dir.display()), next));
        }
        if self.open_files.contains(&real) {
            return Err(at.error(format!("{name:?} includes itself"), "remove one of the $include keys"));
        }
        self.take_include(&path, name, at)?;
        if self.open_files.len() > MAX_INCLUDE_DEPTH {
            let what = format!("{name:?} is included more than {MAX_INCLUDE_DEPTH} levels deep");
            return Err(at.error(what, "put the settings into fewer files"));
        }
        Ok(path)
    }
}

impl Reader<'_> {
    /// Counts a file towards the limits of all includes together.
    fn take_include(&mut self, path: &Path, name: &str, at: &IncludeSite<'_>) -> Result<(), ConfigError> {
        let next = "include fewer or smaller files; clawscope ignores the configuration until then";
        let bytes = path.metadata().map_or(0, |file| file.len());
        if bytes <= MAX_INCLUDED_BYTES && bytes > self.bytes_left {
            let limit = format_size(Bytes(MAX_TOTAL_BYTES));
            let what = format!("{name:?} exceeds the limit of {limit} for all configuration files together");
            return Err(at.error(what, next));
        }
        self.includes_left = self.includes_left.checked_sub(1).ok_or_else(|| {
            at.error(format!("{name:?} exceeds the limit of {MAX_INCLUDES} included files"), next)
        })?;
        Ok(())
    }
}

fn read_text(path: &Path, limit: u64) -> Result<String, ConfigError> {
    let error = |what: String| ConfigError {
        path: path.to_path_buf(),
        line: None,
        column: None,
        message: what,
        advice: "check the path and its permissions".to_owned(),
    };
    if is_secret_file(path) {
        return Err(error("clawscope does not read files with credentials".to_owned()));
    }
    let bytes = files::read(path, limit).map_err(|e| match e.kind() {
        ErrorKind::FileTooLarge => ConfigError {
            advice: "split it, or remove what the gateway does not need".to_owned(),
            ..error(format!("the file is larger than the limit of {}", format_size(Bytes(limit))))
        },
        ErrorKind::InvalidInput => error(e.to_string()),
        _ => error(format!("cannot read the file: {e}")),
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(path: &Path, text: &str) -> Result<Value, ConfigError> {
    let error = |line: Option<u32>, column: Option<u32>, what: String| ConfigError {
        path: path.to_path_buf(),
        line,
        column,
        message: what,
        advice: "correct the JSON5 here; until then the gateway runs with an empty configuration".to_owned(),
    };
    if lines::nesting_depth(text) > lines::MAX_DEPTH {
        return Err(error(None, None, format!("nested deeper than {} levels", lines::MAX_DEPTH)));
    }
    json5::from_str(text.trim_start_matches('\u{feff}')).map_err(|e| match (e.position(), e.code()) {
        (Some(at), Some(code)) => {
            error(Some(at.line as u32 + 1), Some(at.column as u32 + 1), describe_fault(code))
        }
        (Some(at), None) => error(Some(at.line as u32 + 1), Some(at.column as u32 + 1), e.to_string()),
        (None, _) => error(Some(text.lines().count().max(1) as u32), None, e.to_string()),
    })
}

/// Describes a fault of JSON5; the parser's own words for an end of the file are unclear.
fn describe_fault(code: ErrorCode) -> String {
    let inside = match code {
        ErrorCode::EofParsingArray => "a list",
        ErrorCode::EofParsingComment => "a comment",
        ErrorCode::EofParsingObject => "an object",
        ErrorCode::EofParsingString | ErrorCode::EofParsingEscapeSequence => "a string",
        ErrorCode::EofParsingValue => return "a value is missing at the end of the file".to_owned(),
        other => return other.to_string(),
    };
    format!("the file ends inside {inside}")
}

/// Merges objects key by key, appends lists, replaces anything else (store B2).
fn merge(base: Value, over: Value) -> Value {
    match (base, over) {
        (Value::Object(mut base), Value::Object(over)) => {
            for (key, value) in over {
                if SKIPPED_KEYS.contains(&key.as_str()) {
                    continue;
                }
                let merged = match base.get_mut(&key) {
                    Some(before) => merge(before.take(), value),
                    None => value,
                };
                base.insert(key, merged);
            }
            Value::Object(base)
        }
        (Value::Array(mut base), Value::Array(over)) => {
            base.extend(over);
            Value::Array(base)
        }
        (_, over) => over,
    }
}

/// A file that contributes to the configuration.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    text: String,
    /// The keys that lead to the place of inclusion.
    pub(super) mount: Vec<String>,
    /// Positions that were looked up. A search over many settings looks up the same few keys thousands of times, and each
    /// lookup scans the whole text.
    found: Arc<Mutex<HashMap<Vec<String>, Option<TextPosition>>>>,
}

impl SourceFile {
    pub(super) fn new(path: PathBuf, text: String, mount: Vec<String>) -> Self {
        Self { path, text, mount, found: Arc::default() }
    }

    /// Returns the position of a key in this file; `None` if it has no such key.
    pub(super) fn position(&self, key: &[&str]) -> Option<TextPosition> {
        let words: Vec<String> = key.iter().map(|&word| word.to_owned()).collect();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found.entry(words).or_insert_with(|| key_position(&self.text, key))
    }
}

/// A configuration that the gateway would refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, thiserror::Error)]
pub struct ConfigError {
    #[serde(with = "PathText")]
    pub path: PathBuf,
    /// From 1.
    pub line: Option<u32>,
    /// From 1, in characters.
    pub column: Option<u32>,
    #[serde(rename = "what")]
    pub message: String,
    /// The next step.
    #[serde(rename = "next")]
    pub advice: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        write!(f, ": {} ({})", self.message, self.advice)
    }
}

impl From<&ConfigError> for Diagnostic {
    fn from(error: &ConfigError) -> Self {
        Self {
            path: error.path.clone(),
            line: error.line.map(u64::from),
            subject: None,
            severity: Severity::Error,
            message: error.message.clone(),
            advice: error.advice.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_up_a_position_again_gives_the_same_one() {
        let text = "{\n a: { b: [1,\n 2] },\n a: 3 }".to_owned();
        let file = SourceFile::new("openclaw.json".into(), text.clone(), Vec::new());
        for key in [&["a"][..], &["a", "b", "1"], &["a", "c"], &[], &["a"], &["a", "c"]] {
            assert_eq!(file.position(key), key_position(&text, key), "{key:?}");
        }
        assert_eq!(file.clone().position(&["a"]).map(|spot| spot.line), Some(4));
    }
}
