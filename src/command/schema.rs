//! `clawscope schema [NAME]`: prints the JSON schema of a command's `--json`, which the output types define.

use std::io::Write as _;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::json;

use super::failure::Failure;
use super::output::{FailureJson, Output};
use super::suggest::{alternatives, did_you_mean};
use super::{
    breakdown_json, cache_json, check, commits, compare, context_json, doctor_json, estimators, explain_all,
    explain_json, migration, presets, record, recorded, recovery, regret_json, replay_json, rule, rules,
    search, self_report, sessions, settings, simulate, summarize, tree, watch, writing,
};
use crate::dataset::documentation::json_schema;
use crate::doc::Tone;
use crate::export::json::{DocumentJson, JsonOutput, VersionedOutput};
use crate::report::sweep::json::SweepJson;

/// The name of the dataset's schema, which describes tables and no answer.
const DATASET: &str = "parquet";

/// Adds every form of an answer to a generator.
type Forms = fn(&mut SchemaGenerator) -> Vec<Schema>;

/// The forms of each command's answer; `error` is a failed command's answer on the error stream.
const SCHEMAS: [(&str, Forms); 18] = [
    ("sessions", |all| vec![form::<sessions::SessionsJson>(all), form::<record::RecordJson>(all)]),
    ("search", |all| vec![form::<search::SearchJson>(all)]),
    ("tree", |all| vec![form::<tree::TreeJson>(all)]),
    ("context", |all| {
        vec![
            form::<context_json::ContextJson>(all),
            form::<breakdown_json::BreakdownJson>(all),
            form::<estimators::EstimatorsJson>(all),
            form::<recorded::RecordedJson>(all),
        ]
    }),
    ("explain", |all| {
        vec![
            form::<explain_json::ExplanationJson>(all),
            form::<explain_all::ExplainedStoreJson>(all),
            form::<recovery::RecoveryJson>(all),
        ]
    }),
    ("cost", |all| vec![form::<cache_json::CacheJson>(all), form::<cache_json::StoreCacheJson>(all)]),
    ("simulate", |all| vec![form::<simulate::SimulationJson>(all), form::<summarize::SummarizeJson>(all)]),
    ("replay", |all| vec![form::<replay_json::ReplayJson>(all), form::<regret_json::RegretJson>(all)]),
    ("sweep", |all| vec![form::<SweepJson>(all)]),
    ("check", |all| vec![form::<check::CheckJson>(all)]),
    ("commit", |all| vec![form::<writing::WriteJson>(all)]),
    ("undo", |all| {
        vec![
            form::<writing::WriteJson>(all),
            form::<commits::CommitsJson>(all),
            form::<compare::ComparisonJson>(all),
        ]
    }),
    ("export", |all| vec![all.subschema_for::<DocumentJson>()]),
    ("watch", |all| {
        vec![
            form::<watch::StartJson>(all),
            form::<watch::EntryJson>(all),
            form::<watch::ChangeJson>(all),
            form::<watch::AlertJson>(all),
            form::<watch::PollingJson>(all),
        ]
    }),
    ("settings", |all| vec![form::<settings::SettingsJson>(all), form::<presets::PresetsJson>(all)]),
    ("doctor", |all| {
        vec![
            form::<doctor_json::DoctorJson>(all),
            form::<migration::MigrationJson>(all),
            form::<self_report::SelfReportJson>(all),
        ]
    }),
    ("rules", |all| {
        vec![
            form::<rules::RulesJson>(all),
            form::<rules::RulesDiffJson>(all),
            form::<rules::RulesetsJson>(all),
            form::<rule::RuleListJson>(all),
        ]
    }),
    ("error", |all| vec![form::<FailureJson>(all)]),
];

fn form<T: JsonOutput + JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<VersionedOutput<T>>()
}

pub(super) fn run(name: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    let names = || SCHEMAS.iter().map(|(name, _)| *name).chain([DATASET]);
    let Some(name) = name else {
        return Ok(names().try_for_each(|name| output.line(Tone::Plain, name))?);
    };
    if name == DATASET {
        return Ok(writeln!(output, "{:#}", json_schema())?);
    }
    let schema = find(name).ok_or_else(|| {
        let known: Vec<String> = names().map(str::to_owned).collect();
        let near = did_you_mean(name, names());
        Failure::usage(format!("NAME {name:?}: expected {}.{near}", alternatives(&known)))
    })?;
    Ok(writeln!(output, "{schema:#}")?)
}

/// Returns the schema of a command's answer. Keys that are always written are required, also where they are null.
fn find(name: &str) -> Option<serde_json::Value> {
    let (name, forms) = SCHEMAS.iter().find(|(known, _)| *known == name)?;
    Some(schema_of(name, *forms))
}

fn schema_of(name: &str, forms: Forms) -> serde_json::Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let forms = forms(&mut generator);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("clawscope {name} --json"),
        "anyOf": forms,
        "$defs": generator.take_definitions(true),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::command::environment::Invocation;
    use crate::gateway::env::Environment;
    use crate::units::Moment;

    /// Follows references within a schema.
    struct Reader<'a>(&'a Value);

    impl<'a> Reader<'a> {
        fn resolve(&self, schema: &'a Value) -> &'a Value {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return schema };
            let name = reference.trim_start_matches("#/$defs/");
            &self.0["$defs"][name]
        }

        fn branches(&self, schema: &'a Value) -> Vec<&'a Value> {
            let lists = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
            lists.flatten().map(|branch| self.resolve(branch)).collect()
        }

        /// Returns the first fault of a value: a wrong type, a missing or an unknown key.
        fn fault(&self, schema: &'a Value, value: &Value, path: &str) -> Option<String> {
            let schema = self.resolve(schema);
            let unknown = || self.unknown_key(schema, value, path);
            self.shape_fault(schema, value, path).or_else(unknown)
        }

        fn shape_fault(&self, schema: &'a Value, value: &Value, path: &str) -> Option<String> {
            if let Some(types) = schema.get("type").filter(|types| !is_of(types, value)) {
                return Some(format!("{path}: {value} is not {types}"));
            }
            for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                if value.get(key.as_str()?).is_none() {
                    return Some(format!("{path}: {key} is missing"));
                }
            }
            for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                let of = schema.get("items")?;
                if let Some(fault) = self.fault(of, item, &format!("{path}[{at}]")) {
                    return Some(fault);
                }
            }
            for (key, member) in value.as_object().into_iter().flatten() {
                let own = schema.get("properties").and_then(|own| own.get(key));
                let own = own.or_else(|| schema.get("additionalProperties"));
                if let Some(fault) = own.and_then(|own| self.fault(own, member, &format!("{path}.{key}"))) {
                    return Some(fault);
                }
            }
            let branches = self.branches(schema);
            let faults: Vec<_> =
                branches.iter().map(|branch| self.shape_fault(branch, value, path)).collect();
            faults.iter().all(Option::is_some).then(|| faults.into_iter().flatten().next())?
        }

        fn unknown_key(&self, schema: &'a Value, value: &Value, path: &str) -> Option<String> {
            let keys = value.as_object()?.keys().map(String::as_str).collect::<BTreeSet<_>>();
            let known = self.known_keys(schema, value)?;
            let unknown = keys.difference(&known).next()?;
            Some(format!("{path}: {unknown} is not in the schema"))
        }

        /// Returns the keys that a schema and its fitting branches name; `None` if any key may occur.
        fn known_keys(&self, schema: &'a Value, value: &Value) -> Option<BTreeSet<&'a str>> {
            let is_open = schema.get("additionalProperties").is_some_and(|more| *more != false);
            let branches = self.branches(schema);
            let properties = schema.get("properties").and_then(Value::as_object);
            if is_open || (properties.is_none() && branches.is_empty()) {
                return None;
            }
            let mut keys: BTreeSet<&str> =
                properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            let fitting = branches.into_iter().filter(|branch| self.shape_fault(branch, value, "").is_none());
            for branch in fitting {
                if branch.get("properties").is_some() || !self.branches(branch).is_empty() {
                    keys.extend(self.known_keys(branch, value)?);
                }
            }
            Some(keys)
        }
    }

    fn is_of(types: &Value, value: &Value) -> bool {
        let fits = |name: &Value| match name.as_str().unwrap() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            _ => false,
        };
        types.as_array().map_or_else(|| fits(types), |types| types.iter().any(fits))
    }

    /// Runs a command on the demo store; its answer is on either stream.
    fn answer(words: &[&str]) -> Value {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let env = Environment::new([("HOME", "/nowhere")], None, "/".into());
        let invocation = Invocation { env, now_ms: Moment(1_772_452_800_000.0) };
        let words = ["clawscope"].iter().chain(words).map(std::ffi::OsString::from);
        crate::command::main(words, &invocation, &mut Output::new(&mut out, &mut err));
        let text = if out.is_empty() { err } else { out };
        serde_json::from_slice(&text)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&text)))
    }

    fn verify(words: &[&str]) {
        let answer = answer(words);
        let name = if answer.get("error").is_some() { "error" } else { words[0] };
        let schema = find(name).unwrap();
        if let Some(fault) = Reader(&schema).fault(&schema, &answer, "") {
            panic!("{}: {fault}", words.join(" "));
        }
    }

    #[test]
    fn every_answer_about_a_demo_session_fits_its_schema() {
        let listed = answer(&["sessions", "--demo", "--json"]);
        let keys =
            listed["sessions"].as_array().unwrap().iter().filter_map(|session| session["key"].as_str());
        let views = [
            "tree",
            "context",
            "context --messages",
            "context --breakdown",
            "context --estimators",
            "context --recorded",
            "sessions",
            "explain --recovery",
            "explain",
            "simulate",
            "replay",
            "check --budget 50%",
            "undo --list",
            "simulate --messages --policy all",
            "simulate --summary --with extractive",
            "commit --policy prune",
            "undo --compare",
            "commit --policy compact",
            "undo",
            "export --format json",
        ];
        for key in keys.take(1) {
            for view in views {
                let mut words: Vec<&str> = view.split(' ').collect();
                words.insert(1, key);
                words.push("--demo");
                if words[0] != "export" {
                    words.push("--json");
                }
                verify(&words);
            }
        }
    }

    #[test]
    fn every_answer_about_a_store_or_a_release_fits_its_schema() {
        for words in [
            "sessions --demo",
            "doctor --demo",
            "doctor --demo --migration",
            "doctor --self",
            "explain --all --demo",
            "rules --sections",
            "explain --all --window 100000 --demo",
            "rules --demo",
            "rules --demo --diff 2026.9.2",
            "rules --releases",
            "rules pruning-5.12",
            "sessions /nowhere/at/all",
            "sweep telegram:direct:8812 --demo --vary contextPruning.keepLastAssistants=1,3",
        ] {
            let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
            verify(&words);
        }
    }

    #[test]
    fn a_schema_finds_wrong_types_missing_and_unknown_keys() {
        let schema = schema_of("rules", |all| vec![form::<rule::RuleListJson>(all)]);
        let fault =
            |rules: Value| Reader(&schema).fault(&schema, &json!({ "schemaVersion": 1, "rules": rules }), "");
        let rule = json!({ "document": "pruning", "id": "1", "title": "t" });
        assert_eq!(fault(json!([rule])), None);
        for (change, expected) in [
            (json!({ "document": 1, "id": "1", "title": "t" }), "not \"string\""),
            (json!({ "document": "pruning", "id": "1" }), "missing"),
            (json!({ "document": "pruning", "id": "1", "title": "t", "new": 1 }), "not in the schema"),
        ] {
            assert!(fault(json!([change])).unwrap().contains(expected), "{expected}");
        }
    }

    #[test]
    fn every_command_with_json_has_a_schema() {
        use clap::CommandFactory as _;
        let has_json =
            |command: &&clap::Command| command.get_arguments().any(|argument| argument.get_id() == "json");
        let cli = crate::cli::Cli::command();
        for command in cli.get_subcommands().filter(has_json) {
            assert!(find(command.get_name()).is_some(), "{}", command.get_name());
        }
    }
}
