//! The first line of a transcript, read without the rest: enough to list it (store I2, J2).

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::gateway::secrets::is_secret_file;
use crate::js;

/// How far into a file the header is looked for, in bytes.
const HEADER_BYTES: u64 = 64 * 1024;

/// What a header says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Header {
    /// Session id.
    pub id: String,
    /// Working directory of the session.
    pub cwd: Option<String>,
    /// Time the file was made, in ms since the epoch.
    pub time_ms: Option<i64>,
    /// Transcript this one was forked from.
    pub parent: Option<String>,
}

/// The header of a file; `None` when the first parseable line is none, or the file cannot be read.
pub fn read_header(path: &Path) -> Option<Header> {
    // A pipe would never end, and credentials are no transcript.
    if is_secret_file(path) || !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(HEADER_BYTES).read_to_end(&mut bytes).ok()?;
    parse_header(&String::from_utf8_lossy(&bytes))
}

/// The header in the text a file begins with.
pub fn parse_header(text: &str) -> Option<Header> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty());
    let first = lines.find_map(|line| js::parse(line).ok())?;
    if !first.get("type")?.str_is("session") {
        return None;
    }
    let text_of = |key: &str| Some(first.get(key)?.as_str()?.to_string_lossy());
    let time = js::date_value(first.get("timestamp"));
    Some(Header {
        id: text_of("id")?,
        cwd: text_of("cwd").filter(|cwd| !cwd.is_empty()),
        time_ms: time.is_finite().then_some(time as i64),
        parent: text_of("parentSession"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_parseable_line_decides() {
        let header =
            r#"{"type":"session","version":3,"id":"s1","timestamp":"1970-01-01T00:00:01.000Z","cwd":"/w"}"#;
        let expected = Header { id: "s1".into(), cwd: Some("/w".into()), time_ms: Some(1000), parent: None };
        assert_eq!(parse_header(header), Some(expected.clone()));
        assert_eq!(
            parse_header(&format!("\u{feff}\n\r\n{{junk\n{header}\n{{\"type\":\"message\"}}")),
            Some(expected)
        );
        for other in ["5", "{\"type\":\"message\",\"id\":\"x\"}", "{\"type\":\"session\",\"id\":5}", "[]"] {
            assert_eq!(parse_header(&format!("{other}\n{header}")), None, "{other}");
        }
    }
}
