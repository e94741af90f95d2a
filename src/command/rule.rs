//! `clawscope rule`: prints the text of a rule that a screen, a report or a comment cites.

use super::failure::Failure;
use super::output::{Output, Tone};
use crate::cli::RuleArgs;
use crate::js::{Object, Value};
use crate::rulebook::{DOCUMENTS, Document, Rule, find, headings};

/// Prints the cited rules, or without arguments the sections of every document.
pub(super) fn run(args: &RuleArgs, output: &mut Output) -> Result<(), Failure> {
    let citations = parse_citations(&args.rule);
    if citations.is_empty() {
        return show_contents(args.json, output);
    }
    let rules: Vec<Rule> = citations.iter().map(|citation| find_rule(citation)).collect::<Result<_, _>>()?;
    if args.json {
        let rules = rules.iter().map(rule_value).collect::<Vec<_>>();
        return Ok(output.json(Object::from([("rules", Value::from(rules))]))?);
    }
    for (at, rule) in rules.iter().enumerate() {
        if at > 0 {
            output.line(Tone::Plain, "")?;
        }
        output.line(Tone::Strong, &format!("{} {}  {}", rule.document.name, rule.id, rule.title))?;
        output.line(Tone::Plain, "")?;
        for line in rule.text.lines() {
            output.line(Tone::Plain, line)?;
        }
    }
    Ok(())
}

/// Joins words to citations: a document and an id may be one word or two.
fn parse_citations(words: &[String]) -> Vec<String> {
    let mut citations: Vec<String> = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let is_document = DOCUMENTS.iter().any(|document| document.name == word) || word == "sqlite";
        match words.peek().filter(|_| is_document) {
            Some(_) => citations.extend(words.next().map(|id| format!("{word} {id}"))),
            None => citations.push(word.clone()),
        }
    }
    citations
}

/// Finds the rule of a citation.
///
/// # Errors
/// Returns a usage error with the ids of the document, or with the documents, if no rule matches.
fn find_rule(citation: &str) -> Result<Rule, Failure> {
    find(citation).ok_or_else(|| {
        let of = DOCUMENTS.iter().filter(|document| citation.starts_with(document.name));
        let names = || DOCUMENTS.iter().map(|document| document.name).collect::<Vec<_>>().join(", ");
        let expected = of.max_by_key(|document| document.name.len()).map_or_else(
            || format!("DOCUMENT-ID with a document of {}", names()),
            |document| format!("an id of {}, such as {}", document.name, sections(*document).join(", ")),
        );
        Failure::usage(format!("{citation:?} is not a rule; expected {expected}"))
    })
}

/// Returns the ids without a dot: the sections of a document, and its rules if they have no sections.
fn sections(document: Document) -> Vec<&'static str> {
    headings(document).into_iter().map(|rule| rule.id).filter(|id| !id.contains('.')).collect()
}

fn show_contents(json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        let rules = DOCUMENTS.into_iter().flat_map(headings).map(|rule| heading_value(&rule));
        return Ok(output.json(Object::from([("rules", Value::from(rules.collect::<Vec<_>>()))]))?);
    }
    for document in DOCUMENTS {
        let title = document.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
        output.line(Tone::Strong, &format!("{}  {title}", document.name))?;
        let marks = document.text.lines().filter_map(|line| line.strip_prefix("## "));
        for section in marks {
            output.line(Tone::Plain, &format!("  {section}"))?;
        }
    }
    Ok(())
}

fn heading_value(rule: &Rule) -> Value {
    Value::from(Object::from([("document", rule.document.name), ("id", rule.id), ("title", rule.title)]))
}

fn rule_value(rule: &Rule) -> Value {
    let members =
        [("document", rule.document.name), ("id", rule.id), ("title", rule.title), ("text", rule.text)];
    Value::from(Object::from(members))
}
