//! Validates the whole configuration as the release does that reads it, and says what it refuses (releases R77).

use serde_json::Value;

use super::ruleset::Version;
use super::schema::{self, Issue, Refused, ReleaseSchema, tables};

/// The release that clawscope assumes for a file that names none.
const REFERENCE: &str = "2026.3.2";

/// The schemas that may apply to a file, the most likely one first.
pub(super) struct Candidates {
    schemas: Vec<&'static ReleaseSchema>,
    /// Whether the schema is that of another release than the one that wrote the file.
    is_other: bool,
    /// Whether the file names a release.
    is_named: bool,
}

/// A release's reading of a file.
pub(super) struct Verdict<T> {
    /// The file as the release reads it; none where no schema applies to it.
    pub(super) prepared: Option<(Value, T)>,
    pub(super) refusal: Option<Refusal>,
}

/// A file that its release refuses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) issues: Vec<RefusedValue>,
    /// The release, as the subject of a sentence.
    by: String,
    does: Refused,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct RefusedValue {
    /// Keys and indices to the value, or to the key that is not allowed.
    pub(super) trail: Vec<String>,
    /// The place and the sentence that the release prints.
    pub(super) message: String,
}

impl Refusal {
    /// Whether the gateway runs on an empty configuration in place of the file.
    pub(super) fn runs_empty(&self) -> bool {
        self.does == Refused::Empty
    }

    /// The gateway's way to treat the file, and the next step for the person.
    pub(super) fn consequence(&self, values: FileValues<'_>) -> String {
        let does = match (self.does, values) {
            (Refused::Stops, FileValues::Asked) => {
                "would not start with this file; clawscope shows its values under the rules of that release".to_owned()
            }
            (Refused::Stops, _) => {
                "does not start with this file, and one that runs keeps the configuration that it has; clawscope shows the values of the file".to_owned()
            }
            (Refused::Empty, FileValues::Asked) => {
                "would refuse the whole file and run on an empty configuration; clawscope shows its values under the rules of that release".to_owned()
            }
            (Refused::Empty, FileValues::Replaced) => {
                "refuses the whole file and runs on an empty configuration: pruning off, defaults everywhere".to_owned()
            }
            (Refused::Empty, FileValues::Proved(proof)) => format!(
                "refuses the whole file and runs on an empty configuration when it reads it again; the sessions ran with its values ({proof}), and clawscope shows them"
            ),
        };
        format!("{} {does}; correct the value", self.by)
    }
}

/// The reason for which the values of a refused file count, or do not.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileValues<'a> {
    /// The release decides.
    Replaced,
    /// The store shows that a gateway ran with them; the text says how.
    Proved(&'a str),
    /// A person asks for the rules of another release than the one that wrote the file.
    Asked,
}

impl Candidates {
    /// Finds the schemas for a file of a release; without one, those of the reference and, where that refuses the
    /// file, of every other release that such a store can be of.
    pub(super) fn for_file(release: Option<&str>, has_database: bool) -> Self {
        match release.and_then(|text| text.parse::<Version>().ok()) {
            Some(version) => {
                let schemas: Vec<_> = tables().release(&version).into_iter().collect();
                let is_other = schemas.iter().any(|schema| !version.is_release(&schema.release));
                Self { schemas, is_other, is_named: true }
            }
            None => Self { schemas: unnamed(has_database), is_other: false, is_named: false },
        }
    }

    pub(super) fn first(&self) -> Option<&'static ReleaseSchema> {
        self.schemas.first().copied()
    }

    /// Validates by the first schema that accepts the file; the refusal is that of the most likely one.
    ///
    /// `prepare` makes what a release validates out of the file.
    pub(super) fn validate<T>(&self, prepare: impl Fn(&'static ReleaseSchema) -> (Value, T)) -> Verdict<T> {
        let mut first = None;
        for schema in &self.schemas {
            let (root, more) = prepare(schema);
            let mut issues = schema::validate(schema, &root);
            // The release may know more keys than the one whose schema this is, and a file that names none may be a
            // part of a whole one.
            issues.retain(|issue| !(self.is_other && issue.is_unknown_key()));
            issues.retain(|issue| self.is_named || !issue.is_missing);
            if issues.is_empty() {
                return Verdict { prepared: Some((root, more)), refusal: None };
            }
            first.get_or_insert((schema, (root, more), issues));
        }
        let Some((schema, prepared, issues)) = first else {
            return Verdict { prepared: None, refusal: None };
        };
        let refusal = Some(self.refusal(schema, &issues));
        Verdict { prepared: Some(prepared), refusal }
    }

    fn refusal(&self, schema: &ReleaseSchema, issues: &[Issue]) -> Refusal {
        let by = if self.is_other {
            format!("by the schema of {}, the nearest that clawscope has, the gateway", schema.source())
        } else {
            format!("openclaw {}", schema.release)
        };
        let refused = |issue: &Issue| RefusedValue {
            trail: issue.place(),
            message: format!("{}: {}", issue.path(), issue.message),
        };
        Refusal { issues: issues.iter().map(refused).collect(), by, does: schema.refused }
    }
}

/// The reference first, then all releases from the newest on. Those that move agents keep sessions in databases.
fn unnamed(has_database: bool) -> Vec<&'static ReleaseSchema> {
    let all = tables().newest_first();
    let (reference, others): (Vec<_>, Vec<_>) = all.partition(|schema| schema.release == REFERENCE);
    reference.into_iter().chain(others.into_iter().filter(|schema| has_database || !schema.roster)).collect()
}
