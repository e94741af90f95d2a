//! The first line of a transcript: part of the index, and the only line read when a store is listed (store I2, J2).

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::files;
use crate::gateway::substitute::is_secret_file;
use crate::js::{self, Value};
use crate::units::Moment;

/// Limit in bytes of the search for the header (store-pi-1.5 A6).
const MAX_HEADER_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    pub id: String,
    /// Version as JavaScript compares it: 1 when absent, NaN for text that is not a number (store L1).
    pub version: f64,
    /// Working directory of the session.
    pub cwd: Option<String>,
    /// Start of the session; NaN when absent.
    pub started_ms: Moment,
    /// The session that this one was forked from or continues: the path of its file, or its id (store I2, sqlite F).
    pub parent: Option<String>,
}

impl Header {
    /// Reads the header from the first line that parses; `None` when that is another kind of line (store J2, J3).
    pub fn from_value(value: &Value) -> Option<Self> {
        let is_header = value.get("type")?.str_is("session");
        let text_of = |key: &str| Some(value.get(key)?.as_str()?.to_string_lossy());
        let id = text_of("id").filter(|_| is_header)?;
        let cwd = text_of("cwd").filter(|cwd| !cwd.is_empty());
        let started = js::date_value(value.get("timestamp"));
        let parent = text_of("parentSession").filter(|parent| !parent.is_empty());
        Some(Self { id, version: parse_version(value.get("version")), cwd, started_ms: started, parent })
    }
}

/// Reads the header of a file; `None` when the first line that parses is not a header, or the file cannot be read.
pub fn read_header(path: &Path) -> Option<Header> {
    // A credentials file is not a transcript.
    if is_secret_file(path) {
        return None;
    }
    let mut reader = BufReader::new(files::open(path).ok()?.take(MAX_HEADER_BYTES));
    let mut line = Vec::new();
    let mut first = true;
    // The header is almost always the first line, so later lines are rarely read.
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        let text = String::from_utf8_lossy(&line);
        let text = if std::mem::take(&mut first) { text.trim_start_matches('\u{feff}') } else { &text };
        if let Ok(value) = js::parse(text.trim()) {
            return Header::from_value(&value);
        }
        line.clear();
    }
    None
}

/// Reads the header from the text at the start of a file.
pub fn parse_header(text: &str) -> Option<Header> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty());
    Header::from_value(&lines.find_map(|line| js::parse(line).ok())?)
}

/// Returns `version ?? 1` as a JavaScript number (store L1).
fn parse_version(value: Option<&Value>) -> f64 {
    match value {
        None | Some(Value::Null) => 1.0,
        Some(Value::Number(number)) => *number,
        Some(Value::Bool(flag)) => f64::from(u8::from(*flag)),
        Some(Value::Object(_)) => f64::NAN,
        Some(other) => {
            let text = js::to_text(Some(other)).trim().to_string_lossy();
            if text.is_empty() { 0.0 } else { text.parse().unwrap_or(f64::NAN) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_parseable_line_decides() {
        let header =
            r#"{"type":"session","version":3,"id":"s1","timestamp":"1970-01-01T00:00:01.000Z","cwd":"/w"}"#;
        let expected = Header {
            id: "s1".into(),
            version: 3.0,
            cwd: Some("/w".into()),
            started_ms: Moment(1_000.0),
            parent: None,
        };
        assert_eq!(parse_header(header), Some(expected.clone()));
        assert_eq!(
            parse_header(&format!("\u{feff}\n\r\n{{junk\n{header}\n{{\"type\":\"message\"}}")),
            Some(expected)
        );
        for other in ["5", "{\"type\":\"message\",\"id\":\"x\"}", "{\"type\":\"session\",\"id\":5}", "[]"] {
            assert_eq!(parse_header(&format!("{other}\n{header}")), None, "{other}");
        }
    }

    #[test]
    fn versions_compare_as_javascript_numbers_do() {
        let version = |text: &str| {
            parse_header(&format!(r#"{{"type":"session","id":"s","version":{text}}}"#)).unwrap().version
        };
        assert_eq!(["null", "2", "\" 3 \"", "\"\"", "true"].map(version), [1.0, 2.0, 3.0, 0.0, 1.0]);
        assert!(version("\"x\"").is_nan() && version("{}").is_nan());
    }
}
