//! The table of schemas: one line of JSON a node. Releases share nodes, and a node names those below it by line.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::files;
use crate::gateway::ruleset::Version;

const PACKED: &[u8] = include_bytes!("../../../assets/config-schemas.zst");

/// The schemas of all exported releases.
pub(in crate::gateway) struct Tables {
    releases: Vec<([u32; 3], ReleaseSchema)>,
    text: String,
    /// The end of each line in `text`.
    ends: Vec<usize>,
    /// The node of each line, read on first use: a value may be checked by many schemas.
    nodes: Vec<OnceLock<Option<Node>>>,
}

/// How a release validates its configuration.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::gateway) struct ReleaseSchema {
    /// The name of the release whose schema this is.
    #[serde(skip)]
    pub(in crate::gateway) release: String,
    /// The published package that it was taken from.
    package: String,
    /// ISO date on which the package was built.
    date: String,
    pub(super) root: usize,
    pub(in crate::gateway) refused: Refused,
    pub(in crate::gateway) variables: Variables,
    pub(super) words: Words,
    /// Whether its messages repeat a bound in words.
    #[serde(default)]
    pub(super) bounds: bool,
    /// Whether its messages list the values that it allows.
    #[serde(default)]
    pub(super) allowed: bool,
    /// Whether it moves context budgets and the list of agents to their new places before it validates.
    #[serde(default)]
    pub(in crate::gateway) roster: bool,
    /// The JSON schemas of channels that the root schema leaves open.
    #[serde(default)]
    pub(super) channels: BTreeMap<String, usize>,
    /// The providers that need neither an address nor models.
    #[serde(default)]
    pub(super) overlays: Vec<String>,
    /// Keys of older releases that the gateway moves when it starts; none where it refuses them like any unknown key.
    pub(super) legacy: Option<Vec<usize>>,
}

/// A release's way to treat a file that it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::gateway) enum Refused {
    /// It runs on an empty configuration.
    Empty,
    /// It does not start; one that runs keeps the configuration that it has.
    Stops,
}

/// A release's way to treat a `${NAME}` that has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::gateway) enum Variables {
    /// It refuses the file.
    Refused,
    /// It warns and keeps the text.
    Kept,
}

/// Whether the schema library of a release has its English messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Words {
    Zod,
    None,
}

#[derive(Debug, Deserialize)]
pub(super) struct Node {
    #[serde(flatten)]
    pub(super) kind: Kind,
    #[serde(default, rename = "c")]
    pub(super) checks: Vec<Check>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "t", rename_all = "lowercase")]
pub(super) enum Kind {
    String,
    Number,
    Boolean,
    Null,
    Undefined,
    Never,
    Any,
    Unknown,
    Transform,
    Custom,
    /// A schema that contains itself; nothing below it is checked.
    Up,
    Literal {
        v: Vec<Value>,
    },
    Enum {
        v: Vec<Value>,
    },
    Object {
        p: Map<String, Value>,
        /// The schema of other keys; without one they are allowed.
        r: Option<usize>,
    },
    Array {
        e: usize,
    },
    Tuple {
        o: Vec<usize>,
        e: Option<usize>,
    },
    Record {
        k: usize,
        e: usize,
        #[serde(default)]
        all: u8,
        #[serde(default)]
        loose: u8,
    },
    Union {
        o: Vec<usize>,
        d: Option<String>,
    },
    Intersection {
        o: Vec<usize>,
    },
    Pipe {
        o: Vec<usize>,
    },
    Optional {
        e: usize,
    },
    Nullable {
        e: usize,
    },
    #[serde(alias = "nonoptional", alias = "lazy")]
    Readonly {
        e: usize,
    },
    #[serde(alias = "prefault", alias = "catch")]
    Default {
        e: usize,
    },
    Json(JsonSchema),
    Legacy {
        at: Vec<String>,
        w: String,
        m: String,
    },
}

/// A JSON schema, for the keywords that channels use.
#[derive(Debug, Deserialize)]
pub(super) struct JsonSchema {
    #[serde(default)]
    pub(super) ty: Vec<String>,
    #[serde(default)]
    pub(super) p: Map<String, Value>,
    #[serde(default)]
    pub(super) q: Vec<String>,
    pub(super) r: Option<usize>,
    pub(super) k: Option<usize>,
    pub(super) e: Option<usize>,
    #[serde(default)]
    pub(super) any: Vec<usize>,
    #[serde(default)]
    pub(super) one: Vec<usize>,
    #[serde(default)]
    pub(super) o: Vec<usize>,
    pub(super) v: Option<Vec<Value>>,
}

/// One check of a value that has the right type, under the name that the export gives it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Check {
    #[serde(rename = "r")]
    pub(super) rule: String,
    #[serde(rename = "m")]
    pub(super) message: Option<String>,
    /// A bound.
    #[serde(rename = "n")]
    pub(super) bound: f64,
    /// The format of a text, and its pattern.
    #[serde(rename = "f")]
    pub(super) format: String,
    #[serde(rename = "re")]
    pub(super) pattern: Option<String>,
    #[serde(rename = "fl")]
    pub(super) flags: String,
    #[serde(rename = "s")]
    pub(super) prefix: Option<String>,
    /// The keys that the rule reads, as paths with dots; `@` stands for an account.
    #[serde(rename = "k")]
    pub(super) keys: Vec<String>,
    #[serde(rename = "a")]
    pub(super) allow: Vec<String>,
    /// The variant of the rule.
    #[serde(rename = "w")]
    pub(super) variant: String,
    #[serde(rename = "u")]
    pub(super) unless: Vec<String>,
    /// Whether the setting may also be `false`.
    #[serde(rename = "off")]
    pub(super) may_be_off: u8,
    /// Whether the rule leaves out accounts that are off.
    #[serde(rename = "en")]
    pub(super) enabled_only: u8,
    /// Whether the issue is at the first of several keys that is set.
    pub(super) first: u8,
}

/// Returns the table; unpacks it on first use.
pub(in crate::gateway) fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| Tables::unpack().unwrap_or_else(Tables::empty))
}

impl ReleaseSchema {
    /// Names the package and its day: `openclaw@2026.9.6 of 2026-11-20`.
    pub(in crate::gateway) fn source(&self) -> String {
        format!("{} of {}", self.package, self.date)
    }
}

impl Tables {
    /// `None` if the asset is broken, which a test rules out.
    fn unpack() -> Option<Self> {
        let text = files::unpack_text(PACKED)?;
        let (head, nodes) = text.split_once('\n')?;
        let named: Map<String, Value> = serde_json::from_str(head).ok()?;
        let mut releases = Vec::with_capacity(named.len());
        for (name, value) in named {
            let parts = name.parse::<Version>().ok()?.gateway()?;
            let mut schema: ReleaseSchema = serde_json::from_value(value).ok()?;
            schema.release = name;
            releases.push((parts, schema));
        }
        let text = nodes.to_owned();
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let nodes = ends.iter().map(|_| OnceLock::new()).collect();
        Some(Self { releases, text, ends, nodes })
    }

    fn empty() -> Self {
        Self { releases: Vec::new(), text: String::new(), ends: Vec::new(), nodes: Vec::new() }
    }

    /// Returns the schema of a release: its own, else that of the last one before it, else the oldest.
    pub(in crate::gateway) fn release(&self, version: &Version) -> Option<&ReleaseSchema> {
        let parts = version.gateway()?;
        let named = self.releases.iter().rev().find(|(_, schema)| version.is_release(&schema.release));
        let before = || self.releases.iter().rev().find(|(known, _)| *known <= parts);
        Some(&named.or_else(before).or(self.releases.first())?.1)
    }

    pub(in crate::gateway) fn newest_first(&self) -> impl Iterator<Item = &ReleaseSchema> {
        self.releases.iter().rev().map(|(_, schema)| schema)
    }

    pub(super) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)?.get_or_init(|| self.read_node(index)).as_ref()
    }

    fn read_node(&self, index: usize) -> Option<Node> {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)? + 1,
            None => 0,
        };
        let line = self.text.get(start..*self.ends.get(index)?)?;
        serde_json::from_str(line).ok()
    }
}

/// A reference to a node in a list of keys.
pub(super) fn index(node: &Value) -> usize {
    node.as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_of_every_release_is_read() {
        let tables = tables();
        assert!(tables.releases.len() >= 93, "{}", tables.releases.len());
        for index in 0..tables.ends.len() {
            assert!(tables.node(index).is_some(), "{index}: {:?}", tables.text.lines().nth(index));
        }
        assert!(tables.node(tables.ends.len()).is_none());
    }

    #[test]
    fn every_release_names_its_package_and_day() {
        for (_, schema) in &tables().releases {
            assert_eq!(
                schema.package.split_once('@').map(|(_, version)| version),
                Some(schema.release.as_str())
            );
            assert!(schema.date.starts_with("2026-") && schema.date.len() == 10, "{}", schema.source());
        }
        assert_eq!(tables().releases[0].1.source(), "clawdbot@2026.1.24 of 2026-01-25");
    }

    #[test]
    fn a_release_without_a_schema_has_that_of_the_one_before() {
        let name = |text: &str| tables().release(&text.parse().unwrap()).map(|found| found.release.clone());
        assert_eq!(name("2026.3.2").as_deref(), Some("2026.3.2"));
        assert_eq!(name("2026.3.23-1").as_deref(), Some("2026.3.23-1"));
        assert_eq!(name("2026.3.3").as_deref(), Some("2026.3.2"));
        assert_eq!(name("2025.1.1").as_deref(), Some("2026.1.24"));
        assert_eq!(name("2030.1.1").as_deref(), Some("2026.9.6"));
        assert_eq!(name("pi-1.5.2"), None);
    }
}
