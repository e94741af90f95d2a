//! Describes the rules of a release in words, topic by topic, so that a person can compare two releases line by line.
//! `assets/topics.toml` has the words and says how they follow the rules.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use toml::{Table, Value as Words};

use super::rules::Rules;
use crate::format::format_number;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Topic {
    /// The phase of a session's life in which the rule applies.
    pub group: &'static str,
    /// A name that is unique across all groups.
    #[serde(rename = "topic")]
    pub name: &'static str,
    /// The rule, in a sentence or less.
    pub rule: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicWords {
    group: String,
    name: String,
    words: Words,
    /// Words for the fields that a text names.
    #[serde(default)]
    parts: Table,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicsFile {
    topic: Vec<TopicWords>,
}

/// The topics; a test checks that the file is read whole.
static FILE: LazyLock<TopicsFile> =
    LazyLock::new(|| toml::from_str(include_str!("../../../assets/topics.toml")).unwrap_or_default());

impl Rules {
    /// Describes every topic, in the order of a session's life.
    pub fn topics(&self) -> Vec<Topic> {
        let rules = serde_json::to_value(self).unwrap_or_default();
        let rule = |topic: &TopicWords| topic.say(&topic.words, &[&rules]).unwrap_or_default();
        let topic =
            |topic: &'static TopicWords| Topic { group: &topic.group, name: &topic.name, rule: rule(topic) };
        FILE.topic.iter().map(topic).collect()
    }
}

impl TopicWords {
    /// Follows the words to a text. The scopes are the objects on the way to it, the rules first; the innermost one that has
    /// a key of the table decides. `None` if there are no words for a value.
    fn say(&self, words: &Words, scopes: &[&Json]) -> Option<String> {
        let Words::Table(table) = words else { return self.fill(words.as_str()?, scopes) };
        let in_scope = |scope: &&Json| table.iter().find(|(key, _)| scope.get(key).is_some());
        let (key, words) = scopes.iter().rev().find_map(in_scope)?;
        match value(key, scopes)? {
            object @ Json::Object(_) => self.say(words, &[scopes, &[object]].concat()),
            plain => self.say(words.get(plain_text(plain)).or_else(|| words.get("_"))?, scopes),
        }
    }

    /// Fills in the fields that a text names.
    fn fill(&self, text: &str, scopes: &[&Json]) -> Option<String> {
        let Some((before, rest)) = text.split_once('{') else { return Some(text.to_owned()) };
        let (name, rest) = rest.split_once('}')?;
        let filled = match (self.parts.get_key_value(name), value(name, scopes)?) {
            (Some((name, words)), _) => {
                self.say(&Table::from_iter([(name.clone(), words.clone())]).into(), scopes)?
            }
            (None, Json::Number(number)) => format_number(number.as_f64()?),
            (None, value) => plain_text(value),
        };
        Some([before, &filled, &self.fill(rest, scopes)?].concat())
    }
}

/// The value of a field in the innermost scope that has it.
fn value<'a>(name: &str, scopes: &[&'a Json]) -> Option<&'a Json> {
    scopes.iter().rev().find_map(|scope| scope.get(name))
}

/// The text of a value that is no object, without quotes.
fn plain_text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn every_rule_of_every_release_has_words() {
        let file: TopicsFile = toml::from_str(include_str!("../../../assets/topics.toml")).unwrap();
        assert_eq!(file.topic.len(), 41);
        for ruleset in Ruleset::all_known() {
            for topic in ruleset.rules().topics() {
                assert!(!topic.rule.is_empty(), "{}: {}", ruleset.id(), topic.name);
            }
        }
    }

    #[test]
    fn words_follow_fields_variants_and_values() {
        let topic: TopicWords = toml::from_str(
            r#"
            group = "g"
            name = "n"
            words.limit = { None = "none", Share = "at most {most} of {of}{on}", _ = "other" }
            parts.on = { true = ", on", false = "" }
            "#,
        )
        .unwrap();
        let say = |rules: Json| topic.say(&topic.words, &[&rules]);
        let share =
            |on: bool| serde_json::json!({ "limit": { "Share": { "most": 4000.0 } }, "of": "all", "on": on });
        assert_eq!(say(share(true)).unwrap(), "at most 4,000 of all, on");
        assert_eq!(say(share(false)).unwrap(), "at most 4,000 of all");
        assert_eq!(say(serde_json::json!({ "limit": "None" })).unwrap(), "none");
        assert_eq!(say(serde_json::json!({ "limit": null })).unwrap(), "other");
        assert_eq!(say(serde_json::json!({ "limit": { "Share": { "most": 1.0 } } })), None);
    }

    #[test]
    fn neighbouring_releases_differ_in_words() {
        let gateways: Vec<Ruleset> = Ruleset::ALL.into_iter().filter(|ruleset| !ruleset.is_pi()).collect();
        for pair in gateways.windows(2) {
            // 2026.3.1 answers as the reference does.
            if pair[1] == Ruleset::default() {
                continue;
            }
            let [before, after] = [pair[0], pair[1]].map(|ruleset| ruleset.rules().topics());
            assert_ne!(before, after, "{} {}", pair[0].id(), pair[1].id());
        }
    }

    #[test]
    fn topics_have_unique_names_and_groups_are_contiguous() {
        let topics = Ruleset::default().rules().topics();
        let names: std::collections::HashSet<&str> = topics.iter().map(|topic| topic.name).collect();
        assert_eq!(names.len(), topics.len());
        let mut groups: Vec<&str> = topics.iter().map(|topic| topic.group).collect();
        groups.dedup();
        let unique: std::collections::HashSet<&str> = groups.iter().copied().collect();
        assert_eq!(unique.len(), groups.len());
    }
}
