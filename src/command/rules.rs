//! `clawscope rules`: prints the rules of a gateway release, or the changes between two releases.

use std::io::Write as _;
use std::path::Path;

use super::environment::{Invocation, Workspace, profile_environment};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::{print_ruleset, requested_ruleset, ruleset_json};
use super::table::{Align, Cell, Table};
use crate::cli::{RulesArgs, StoreArgs};
use crate::gateway::provenance::Provenance;
use crate::gateway::ruleset::{ConfigKey, KEYS, Ruleset, RulesetChoice, Topic};
use crate::js::{Object, Value};

pub(super) fn run(
    args: &RulesArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.releases {
        return show_releases(args.json, output);
    }
    let chosen = choose_ruleset(args.path.as_deref(), place, invocation)?;
    let other = args.diff.as_deref().map(|text| {
        RulesetChoice::from_version(text, Provenance::Flag)
            .map_err(|error| Failure::usage(format!("--diff: {error}")))
    });
    match other.transpose()? {
        Some(other) => show_diff(&chosen, &other, args.json, output),
        None => show_rules(&chosen, args.json, output),
    }
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
    let read: Vec<&ConfigKey> = KEYS.iter().filter(|key| key.is_read(chosen.id)).collect();
    if json {
        let rules = topics.iter().map(|topic| topic_value(topic, &[("rule", &topic.rule)])).collect();
        let keys = read.iter().map(|key| Value::from(key.path)).collect();
        output.json(Object::from([
            ("ruleset", ruleset_json(chosen)),
            ("releases", releases_value(chosen.id)),
            ("rules", Value::Array(rules)),
            ("keys", Value::Array(keys)),
        ]))?;
        return Ok(());
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
    let comes: Vec<&ConfigKey> = KEYS.iter().filter(|key| !is(key, before.id) && is(key, after.id)).collect();
    let goes: Vec<&ConfigKey> = KEYS.iter().filter(|key| is(key, before.id) && !is(key, after.id)).collect();
    if json {
        let rules =
            changed.iter().map(|(old, new)| topic_value(new, &[("before", &old.rule), ("after", &new.rule)]));
        output.json(Object::from([
            ("before", ruleset_json(before)),
            ("after", ruleset_json(after)),
            ("rules", Value::Array(rules.collect())),
            ("newKeys", Value::Array(comes.iter().map(|key| Value::from(key.path)).collect())),
            ("goneKeys", Value::Array(goes.iter().map(|key| removed_key_value(key)).collect())),
        ]))?;
        return Ok(());
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
            let name = format!("  {:width$}  ", if nth == 0 { topic.name } else { "" });
            writeln!(output, "{}{}", output.paint(Tone::Dim, &name), output.paint(tone, &line))?;
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
        let words = output.paint(Tone::Dim, &words(key));
        writeln!(output, "  {:width$}  {words}", key.path)?;
    }
    Ok(())
}

/// Prints the ranges of releases that share a ruleset.
fn show_releases(json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        let ranges = Ruleset::all_known().map(|ruleset| {
            Value::Object(Object::from([
                ("id", Value::from(ruleset.id())),
                ("name", Value::from(ruleset.display_name())),
                ("releases", releases_value(ruleset)),
            ]))
        });
        output.json(Object::from([("rulesets", Value::Array(ranges.collect()))]))?;
        return Ok(());
    }
    let mut table =
        Table::new(&[("RULESET", Align::Left), ("RELEASES (* VERIFIED AGAINST THE RELEASE)", Align::Left)]);
    for ruleset in Ruleset::all_known() {
        let releases: Vec<String> = ruleset
            .releases()
            .map(|(release, requested)| format!("{release}{}", if requested { "*" } else { "" }))
            .collect();
        let releases =
            if releases.is_empty() { ruleset.display_name().to_owned() } else { releases.join(" ") };
        table.push(vec![Cell::new(ruleset.id(), Tone::Strong), Cell::new(&releases, Tone::Plain)]);
    }
    table.print(output, "")?;
    Ok(())
}

fn topic_value(topic: &Topic, rules: &[(&str, &String)]) -> Value {
    let mut value = Object::from([("group", topic.group), ("topic", topic.name)]);
    for (key, rule) in rules {
        value.set(key, Value::from(rule.as_str()));
    }
    Value::Object(value)
}

fn removed_key_value(key: &ConfigKey) -> Value {
    let (release, instead) = key.removed.unwrap_or_default();
    Value::Object(Object::from([("key", key.path), ("since", release), ("instead", instead)]))
}

fn releases_value(ruleset: Ruleset) -> Value {
    let release = |(release, requested): (&str, bool)| {
        let version = format!("2026.{release}");
        Value::Object(Object::from([
            ("version", Value::from(version.as_str())),
            ("opened", Value::Bool(requested)),
        ]))
    };
    Value::Array(ruleset.releases().map(release).collect())
}
