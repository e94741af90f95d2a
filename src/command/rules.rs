//! `clawscope rules`: prints the rules of a gateway release, the changes between two releases, or rules in full.

use std::io::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace, profile_environment};
use super::failure::Failure;
use super::output::Output;
use super::rule;
use super::ruleset::{RulesetJson, print_ruleset, requested_ruleset, ruleset_json};
use crate::cli::{RulesArgs, StoreArgs, names_store};
use crate::doc::{Align, Cell, Table, Tone, wrap_words};
use crate::export::json::JsonOutput;
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::{ReleaseStatus, Ruleset, RulesetChoice, Topic};
use crate::policy::settings::{ConfigKey, config_keys};
use crate::rulebook::{DOCUMENTS, begins_citation};

pub(super) fn run(
    args: &RulesArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.releases {
        return show_releases(args.json, output);
    }
    if args.sections {
        return rule::show_sections(&DOCUMENTS, args.json, output);
    }
    let store = match args.targets.as_slice() {
        [word, ..] if begins_citation(word) || !names_store(word, &invocation.env.cwd) => {
            refuse_diff(args, word)?;
            return rule::run(&args.targets, args.json, output);
        }
        [_, more, ..] => {
            return Err(Failure::usage(format!(
                "{more}: one argument too many. Expected one store, or rules."
            )));
        }
        words => words.first().map(Path::new),
    };
    let chosen = choose_ruleset(store, place, invocation)?;
    let other = args.diff.as_deref().map(|text| {
        RulesetChoice::from_version(text, Provenance::Flag)
            .map_err(|error| Failure::usage(format!("--diff: {error}")))
    });
    match other.transpose()? {
        Some(other) => show_diff(&chosen, &other, args.json, output),
        None => show_rules(&chosen, args.json, output),
    }
}

/// Refuses to compare releases by the text of one rule, which holds for all of them.
fn refuse_diff(args: &RulesArgs, rule: &str) -> Result<(), Failure> {
    args.diff.as_ref().map_or(Ok(()), |_| {
        Err(Failure::usage(format!(
            "--diff compares the rules of two releases, and {rule} is one rule. Leave out one of them."
        )))
    })
}

/// Returns the requested release, or the store's own.
fn choose_ruleset(
    path: Option<&Path>,
    place: &StoreArgs,
    invocation: &Invocation,
) -> Result<RulesetChoice, Failure> {
    match requested_ruleset(place, &profile_environment(place, invocation)?)? {
        Some(chosen) => Ok(chosen),
        None => Ok(Workspace::from_path(path, place, invocation)?.store().ruleset.clone()),
    }
}

fn show_rules(chosen: &RulesetChoice, json: bool, output: &mut Output) -> Result<(), Failure> {
    let topics = chosen.id.rules().topics();
    let read: Vec<&ConfigKey> = config_keys().filter(|key| key.is_read(chosen.id)).collect();
    if json {
        return Ok(output.json(&RulesJson {
            ruleset: ruleset_json(chosen),
            releases: releases_json(chosen.id),
            rules: topics,
            keys: read.iter().map(|key| key.path).collect(),
        })?);
    }
    print_ruleset(chosen, output)?;
    print_topics(&topics, output, |topic| vec![(Tone::Plain, topic.rule.clone())])?;
    output.line(Tone::Plain, "")?;
    output.line(Tone::Strong, "Keys it reads under agents.defaults")?;
    for key in read {
        output.line(Tone::Plain, &format!("  {}", key.path))?;
    }
    Ok(())
}

fn show_diff(
    before: &RulesetChoice,
    after: &RulesetChoice,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let (old, new) = (before.id.rules().topics(), after.id.rules().topics());
    let changed: Vec<(&Topic, &Topic)> =
        old.iter().zip(&new).filter(|(old, new)| old.rule != new.rule).collect();
    let is = |key: &&ConfigKey, ruleset: Ruleset| key.is_read(ruleset);
    let comes: Vec<&ConfigKey> =
        config_keys().filter(|key| !is(key, before.id) && is(key, after.id)).collect();
    let goes: Vec<&ConfigKey> =
        config_keys().filter(|key| is(key, before.id) && !is(key, after.id)).collect();
    if json {
        let rule = |(old, new): &(&Topic, &Topic)| ChangedTopicJson {
            group: new.group,
            topic: new.name,
            before: old.rule.clone(),
            after: new.rule.clone(),
        };
        return Ok(output.json(&RulesDiffJson {
            before: ruleset_json(before),
            after: ruleset_json(after),
            rules: changed.iter().map(rule).collect(),
            new_keys: comes.iter().map(|key| key.path).collect(),
            gone_keys: goes.iter().map(|key| removed_key_json(key)).collect(),
        })?);
    }
    let [from, to] = [before, after].map(|chosen| chosen.id.display_name());
    output.line(Tone::Strong, &format!("{from} → {to}"))?;
    for note in [before, after].into_iter().filter_map(|chosen| chosen.note.as_ref()) {
        output.line(Tone::Warning, note)?;
    }
    if changed.is_empty() && comes.is_empty() && goes.is_empty() {
        output.line(Tone::Plain, "No rule changes.")?;
        return Ok(());
    }
    let topics: Vec<Topic> = changed.iter().map(|(_, new)| (*new).clone()).collect();
    print_topics(&topics, output, |topic| {
        let old = changed.iter().find(|(_, new)| new.name == topic.name).map_or("", |(old, _)| &old.rule);
        vec![(Tone::Bad, format!("- {old}")), (Tone::Good, format!("+ {}", topic.rule))]
    })?;
    print_keys("Removed keys", &goes, output, |key| {
        key.removed.map_or(String::new(), |(release, instead)| match instead {
            "nothing" => format!("since {release}"),
            _ => format!("since {release}; {instead}"),
        })
    })?;
    print_keys("New keys", &comes, output, |key| {
        key.since.map_or(String::new(), |release| format!("since {release}"))
    })
}

/// Prints topics under their groups, each line in its tone.
fn print_topics(
    topics: &[Topic],
    output: &mut Output,
    lines: impl Fn(&Topic) -> Vec<(Tone, String)>,
) -> Result<(), Failure> {
    let width = topics.iter().map(|topic| topic.name.len()).max().unwrap_or(0);
    let mut group = "";
    for topic in topics {
        if topic.group != group {
            output.line(Tone::Plain, "")?;
            output.line(Tone::Strong, topic.group)?;
            group = topic.group;
        }
        for (nth, (tone, line)) in lines(topic).into_iter().enumerate() {
            let mut name = format!("  {:width$}  ", if nth == 0 { topic.name } else { "" });
            let columns =
                output.width().map_or(usize::MAX, |columns| columns.saturating_sub(name.chars().count()));
            for line in wrap_words(&line, columns) {
                writeln!(output, "{}{}", output.paint(Tone::Dim, &name), output.paint(tone, &line))?;
                name = " ".repeat(name.chars().count());
            }
        }
    }
    Ok(())
}

fn print_keys(
    title: &str,
    keys: &[&ConfigKey],
    output: &mut Output,
    words: impl Fn(&ConfigKey) -> String,
) -> Result<(), Failure> {
    if keys.is_empty() {
        return Ok(());
    }
    output.line(Tone::Plain, "")?;
    output.line(Tone::Strong, title)?;
    let width = keys.iter().map(|key| key.path.len()).max().unwrap_or(0);
    for key in keys {
        output.line(Tone::Plain, &format!("  {:width$}  {}", key.path, words(key)))?;
    }
    Ok(())
}

const RELEASE_COLUMN: &str =
    "releases, asked themselves unless marked ~ (between two that answered alike) or ? (never asked)";

/// The mark of a release in [`RELEASE_COLUMN`].
fn evidence_mark(evidence: ReleaseStatus) -> &'static str {
    match evidence {
        ReleaseStatus::Asked => "",
        ReleaseStatus::Between => "~",
        ReleaseStatus::NeverAsked | ReleaseStatus::Unpublished => "?",
    }
}

/// Prints the ranges of releases that share a ruleset.
fn show_releases(json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        let ranges = Ruleset::all_known().map(|ruleset| KnownRulesetJson {
            id: ruleset.id(),
            name: ruleset.display_name(),
            releases: releases_json(ruleset),
        });
        return Ok(output.json(&RulesetsJson { rulesets: ranges.collect() })?);
    }
    let mut table = Table::new(&[("ruleset", Align::Left), (RELEASE_COLUMN, Align::Left)]);
    for ruleset in Ruleset::all_known() {
        let releases: Vec<String> = ruleset
            .releases()
            .map(|(release, evidence)| format!("2026.{release}{}", evidence_mark(evidence)))
            .collect();
        let releases =
            if releases.is_empty() { ruleset.display_name().to_owned() } else { releases.join(" ") };
        table.push(vec![Cell::new(ruleset.id(), Tone::Strong), Cell::new(&releases, Tone::Plain)]);
    }
    table.print(output, "")?;
    Ok(())
}

/// The rules of a release.
#[derive(Serialize, JsonSchema)]
pub(super) struct RulesJson {
    ruleset: RulesetJson,
    releases: Vec<ReleaseJson>,
    rules: Vec<Topic>,
    /// The settings that it reads, below `agents.defaults`.
    keys: Vec<&'static str>,
}

impl JsonOutput for RulesJson {}

/// The changes between two releases.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RulesDiffJson {
    before: RulesetJson,
    after: RulesetJson,
    rules: Vec<ChangedTopicJson>,
    new_keys: Vec<&'static str>,
    gone_keys: Vec<RemovedKeyJson>,
}

impl JsonOutput for RulesDiffJson {}

/// The releases that share a ruleset.
#[derive(Serialize, JsonSchema)]
pub(super) struct RulesetsJson {
    rulesets: Vec<KnownRulesetJson>,
}

impl JsonOutput for RulesetsJson {}

#[derive(Serialize, JsonSchema)]
struct KnownRulesetJson {
    id: &'static str,
    name: &'static str,
    releases: Vec<ReleaseJson>,
}

#[derive(Serialize, JsonSchema)]
struct ReleaseJson {
    version: String,
    /// The evidence for these rules.
    evidence: ReleaseStatus,
}

#[derive(Serialize, JsonSchema)]
struct ChangedTopicJson {
    group: &'static str,
    topic: &'static str,
    /// The rule before.
    before: String,
    /// The rule after.
    after: String,
}

#[derive(Serialize, JsonSchema)]
struct RemovedKeyJson {
    key: &'static str,
    /// The first release without it.
    since: &'static str,
    /// The replacement.
    instead: &'static str,
}

fn removed_key_json(key: &ConfigKey) -> RemovedKeyJson {
    let (since, instead) = key.removed.unwrap_or_default();
    RemovedKeyJson { key: key.path, since, instead }
}

fn releases_json(ruleset: Ruleset) -> Vec<ReleaseJson> {
    let release = |(release, evidence)| ReleaseJson { version: format!("2026.{release}"), evidence };
    ruleset.releases().map(release).collect()
}
