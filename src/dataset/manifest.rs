//! The manifest of a dataset: the transcript that each session's rows were made from, and the partition of the rows.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::SCHEMA_VERSION;
use super::columns::Table;
use super::stamp::{Stamp, digest};

/// Marks a folder as a dataset.
const FORMAT: &str = "clawscope-dataset";

/// Hive's folder for null.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// The contents of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    format: String,
    pub schema_version: u64,
    /// By the digest in the column `session`.
    pub sessions: BTreeMap<String, DatasetSession>,
}

/// A session in the dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DatasetSession {
    /// The store that listed it.
    pub place: String,
    pub key: String,
    /// The transcript's state when it was read; null without a transcript.
    pub stamp: Option<Stamp>,
    /// Digest of everything else that its rows depend on: record, settings, replays, version.
    pub inputs: String,
    /// `host=…/day=…`.
    pub partition: String,
    /// Number of rows, by table.
    pub rows: BTreeMap<String, u64>,
    /// The reason that a part of it could not be read.
    pub problem: Option<String>,
}

/// A text that is not a manifest of this version.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("not a manifest: {0}")]
    Json(#[from] serde_json::Error),
    #[error("expected the format {FORMAT}, found {0:?}")]
    Format(String),
    #[error("schema version {0} is from a later clawscope; this one writes {SCHEMA_VERSION}")]
    Later(u64),
    #[error("schema version {0} is of an earlier clawscope, with other columns")]
    Earlier(u64),
}

impl Default for Manifest {
    fn default() -> Self {
        Self { format: FORMAT.to_owned(), schema_version: SCHEMA_VERSION, sessions: BTreeMap::new() }
    }
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// When the text is not a manifest, or one of another version.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self = serde_json::from_str(text)?;
        if manifest.format != FORMAT {
            return Err(ManifestError::Format(manifest.format));
        }
        match manifest.schema_version.cmp(&SCHEMA_VERSION) {
            Ordering::Greater => Err(ManifestError::Later(manifest.schema_version)),
            Ordering::Less => Err(ManifestError::Earlier(manifest.schema_version)),
            Ordering::Equal => Ok(manifest),
        }
    }

    /// Returns the JSON text, one line for each member, so that two manifests can be compared.
    ///
    /// # Errors
    /// Never for the values that this type can hold.
    pub fn text(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the tables that have rows in each partition, and so a file.
    pub fn tables(&self) -> BTreeMap<&str, BTreeSet<Table>> {
        let mut tables: BTreeMap<&str, BTreeSet<Table>> = BTreeMap::new();
        for session in self.sessions.values() {
            let filled = |table: &Table| session.rows.get(table.name()).is_some_and(|rows| *rows > 0);
            tables.entry(&session.partition).or_default().extend(Table::ALL.into_iter().filter(filled));
        }
        tables
    }

    /// Returns the number of rows of a table.
    pub fn rows(&self, table: Table) -> u64 {
        self.sessions.values().filter_map(|session| session.rows.get(table.name())).sum()
    }
}

impl DatasetSession {
    /// Whether the session was read completely and nothing that its rows depend on has changed.
    pub fn is_current(&self, stamp: Option<&Stamp>, inputs: &str) -> bool {
        self.problem.is_none() && self.stamp.as_ref() == stamp && self.inputs == inputs
    }
}

/// Returns the path of a partition's file in a table, below the dataset.
pub fn table_path(table: Table, partition: &str) -> PathBuf {
    PathBuf::from(table.name()).join(partition).join("rows.parquet")
}

/// Returns the folder of a host and a day below a table. A session without any time is in Hive's folder for null.
pub fn partition(host: &str, day: Option<&str>) -> String {
    let host = encode_host(host);
    let host = if host.is_empty() { NO_VALUE } else { &host };
    format!("host={host}/day={}", day.unwrap_or(NO_VALUE))
}

#[cfg(test)]
impl DatasetSession {
    /// A session with these rows.
    pub fn example(partition: &str, tables: &[super::rows::Rows]) -> Self {
        let rows = tables.iter().map(|rows| (rows.table.name().to_owned(), rows.len() as u64)).collect();
        let [place, key, inputs] = ["p", "k", "i"].map(str::to_owned);
        Self { place, key, stamp: None, inputs, partition: partition.to_owned(), rows, problem: None }
    }
}

// The name of a host as the name of a folder, so that machines with different names never share one: a copy of the rows of
// one machine would replace those of the other.
//
// Lower-case letters, digits, `-`, `_` and `.` stay; every other byte becomes `%` and two hexadecimal digits, which Hive,
// Spark, Arrow and DuckDB decode. Capitals are coded too, because macOS and Windows ignore the case of names, and so is a
// dot at the end, which Windows drops. `host=` precedes the name, so that it is never `..` or a device of Windows. A name
// that is too long for a file system ends in a digest instead, after `~`, which no other name has.

/// Limit for the name of a folder on every common file system, less `host=`.
const MAX_BYTES: usize = 255 - "host=".len();

const DIGEST_SIGN: char = '~';

/// Returns the folder's name for a host. Different hosts have different folders, whatever their case or script.
pub(super) fn encode_host(host: &str) -> String {
    let last = host.len().saturating_sub(1);
    let mut name = String::with_capacity(host.len());
    for (at, byte) in host.bytes().enumerate() {
        let is_last_dot = byte == b'.' && at == last;
        if (byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte)) && !is_last_dot {
            name.push(char::from(byte));
        } else {
            name.extend(['%', hex(byte >> 4), hex(byte & 15)]);
        }
    }
    if name.len() <= MAX_BYTES { name } else { shortened(&name, host) }
}

fn hex(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).map_or('0', |digit| digit.to_ascii_uppercase())
}

/// Replaces the end of a coded name by a digest of the host.
fn shortened(name: &str, host: &str) -> String {
    let digest = digest(&[host.as_bytes()]);
    let start = &name[..MAX_BYTES - digest.len() - 1];
    // A coded byte is not cut.
    let whole = start.rfind('%').filter(|at| start.len() - at < 3).unwrap_or(start.len());
    [&start[..whole], digest.as_str()].join(DIGEST_SIGN.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(rows: &[(Table, u64)]) -> DatasetSession {
        DatasetSession {
            place: "~/.openclaw".to_owned(),
            key: "agent:main:main".to_owned(),
            stamp: None,
            inputs: "i".to_owned(),
            partition: partition("a b/..", Some("2026-03-05")),
            rows: rows.iter().map(|(table, rows)| (table.name().to_owned(), *rows)).collect(),
            problem: None,
        }
    }

    #[test]
    fn a_manifest_reads_back_and_sums_rows() {
        let mut manifest = Manifest::default();
        manifest.sessions.insert("s".to_owned(), session(&[(Table::Sessions, 1), (Table::Calls, 4)]));
        manifest.sessions.insert("t".to_owned(), session(&[(Table::Calls, 3)]));
        let read = Manifest::parse(&manifest.text().unwrap()).unwrap();
        assert_eq!((read.rows(Table::Calls), read.rows(Table::Events)), (7, 0));
        assert_eq!(read, manifest);
    }

    #[test]
    fn a_manifest_of_another_program_or_a_later_version_is_refused() {
        let text = Manifest::default().text().unwrap();
        let error = |text: &str| Manifest::parse(text).unwrap_err().to_string();
        assert!(error(&text.replace("clawscope-dataset", "other")).contains("expected the format"));
        assert!(
            error(&text.replace("\"schemaVersion\": 1", "\"schemaVersion\": 99")).contains("later clawscope")
        );
        assert!(error(&text.replace("\"schemaVersion\": 1", "\"schemaVersion\": 0")).contains("earlier"));
        assert!(error("{}").starts_with("not a manifest"));
    }

    #[test]
    fn only_tables_with_rows_have_files_and_no_name_leaves_the_folder() {
        let mut manifest = Manifest::default();
        manifest.sessions.insert("s".to_owned(), session(&[(Table::Sessions, 1), (Table::Events, 0)]));
        let partition = manifest.sessions["s"].partition.as_str();
        assert_eq!(manifest.tables(), [(partition, [Table::Sessions].into())].into());
        let path = table_path(Table::Sessions, partition);
        assert_eq!(path, PathBuf::from("sessions/host=a%20b%2F.%2E/day=2026-03-05/rows.parquet"));
    }

    #[test]
    fn a_session_with_a_problem_is_read_again() {
        let good = session(&[]);
        assert!(good.is_current(None, "i") && !good.is_current(None, "j"));
        let bad = DatasetSession { problem: Some("denied".to_owned()), ..good };
        assert!(!bad.is_current(None, "i"));
    }
}

#[cfg(test)]
mod host_folder_tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Returns the host of a folder; `None` where a digest replaces a part of it.
    fn decode(name: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let mut rest = name.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            let (byte, after) = match first {
                b'~' => return None,
                b'%' => {
                    let digits = std::str::from_utf8(&after[..2]).unwrap();
                    (u8::from_str_radix(digits, 16).unwrap(), &after[2..])
                }
                plain => (plain, after),
            };
            bytes.push(byte);
            rest = after;
        }
        Some(String::from_utf8(bytes).unwrap())
    }

    /// The name as a file system sees it that ignores case and a dot at the end.
    fn folded(name: &str) -> String {
        name.to_lowercase().trim_end_matches(['.', ' ']).to_owned()
    }

    #[test]
    fn hosts_keep_apart_on_every_file_system() {
        let hosts = [
            "web",
            "Web",
            "WEB",
            "日本",
            "中国",
            "büro",
            "bu\u{308}ro",
            "bäro",
            "a/b",
            "a_b",
            "a\\b",
            "a:b",
            "a b",
            "a.b",
            "a.",
            "a..",
            "a",
            "..",
            ".",
            "con",
            "NUL",
            "a%2fb",
            "a%2Fb",
            "~",
            "a~b",
            "a\0b",
            "a\nb",
            "-x",
            " a",
            "",
            "__HIVE_DEFAULT_PARTITION__",
            "__hive_default_partition__",
        ];
        let mut owners = HashMap::new();
        for host in hosts {
            let name = encode_host(host);
            assert_eq!(decode(&name).as_deref(), Some(host), "{name}");
            let other = owners.insert(folded(&name), host);
            assert_eq!(other, None, "{host:?} shares {name}");
        }
        assert_eq!(encode_host("gateway-1.example_x"), "gateway-1.example_x");
        assert_eq!(encode_host("Büro."), "%42%C3%BCro%2E");
    }

    #[test]
    fn a_long_name_ends_in_a_digest_of_the_whole() {
        let long = |end: &str| encode_host(&["日".repeat(200).as_str(), end].concat());
        let (one, other) = (long("a"), long("b"));
        assert!(one != other && one.len() <= MAX_BYTES && other.len() <= MAX_BYTES, "{one}");
        assert_eq!(decode(&one), None);
        let fits = "x".repeat(MAX_BYTES);
        assert_eq!(encode_host(&fits), fits);
        assert!(encode_host(&(fits + "x")).contains('~'));
    }

    fn host() -> impl Strategy<Value = String> {
        prop_oneof!["[aAbB%2Ff/_.~ \u{e4}\u{fc}\u{65e5}-]{0,6}", any::<String>(), "[aA.日]{80,300}",]
    }

    proptest! {
        #[test]
        fn a_folder_names_one_host(one in host(), other in host()) {
            let names = [&one, &other].map(|host| encode_host(host));
            for (host, name) in [&one, &other].into_iter().zip(&names) {
                prop_assert!(name.len() <= MAX_BYTES && !name.ends_with('.'));
                prop_assert!(name.chars().all(|char| char.is_ascii_graphic() && !"/\\:*?\"<>|".contains(char)));
                if let Some(decoded) = decode(name) {
                    prop_assert_eq!(&decoded, host);
                }
            }
            prop_assert_eq!(one == other, folded(&names[0]) == folded(&names[1]));
        }
    }
}
