//! `clawscope rules RULE`: prints the text of a rule that a screen, a report or a comment cites.

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::output::Output;
use super::suggest::{alternatives, did_you_mean};
use crate::doc::Tone;
use crate::doc::markdown::readable;
use crate::export::json::JsonOutput;
use crate::rulebook::{DOCUMENTS, Document, Rule, document, documents_with, find_all, headings, is_document};

/// Prints the cited rules.
pub(super) fn run(words: &[String], json: bool, output: &mut Output) -> Result<(), Failure> {
    if let [word] = words
        && let Some(document) = document(word)
    {
        return show_sections(&[document], json, output);
    }
    let citations = parse_citations(words);
    let found: Vec<Vec<Rule>> =
        citations.iter().map(|citation| find_rules(citation)).collect::<Result<_, _>>()?;
    let rules = found.concat();
    if json {
        let rules = rules.iter().map(|rule| RuleJson::new(rule, Some(rule.text))).collect();
        return Ok(output.json(&RuleListJson { rules })?);
    }
    for (at, rule) in rules.iter().enumerate() {
        if at > 0 {
            output.line(Tone::Plain, "")?;
        }
        output.line(Tone::Strong, &format!("{} {}  {}", rule.document.name, rule.id, rule.title))?;
        output.line(Tone::Plain, "")?;
        print_markdown(rule.text, output)?;
    }
    Ok(())
}

/// Prints Markdown: unchanged for scripts, laid out for a terminal.
pub(super) fn print_markdown(text: &str, output: &mut Output) -> Result<(), Failure> {
    let lines = match output.width() {
        None => text.lines().map(str::to_owned).collect(),
        Some(width) => readable(text, width),
    };
    for line in lines {
        output.line(if line.starts_with('#') { Tone::Strong } else { Tone::Plain }, &line)?;
    }
    Ok(())
}

/// Joins words to citations: a document and an id may be one word or two.
fn parse_citations(words: &[String]) -> Vec<String> {
    let mut citations: Vec<String> = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        match words.peek().filter(|_| is_document(word)) {
            Some(_) => citations.extend(words.next().map(|id| format!("{word} {id}"))),
            None => citations.push(word.clone()),
        }
    }
    citations
}

/// Finds the rules of a citation.
///
/// # Errors
/// Returns a usage error with the ids of the document, or with the documents, if no rule matches.
fn find_rules(citation: &str) -> Result<Vec<Rule>, Failure> {
    let rules = find_all(citation);
    if rules.is_empty() { Err(unknown_rule(citation)) } else { Ok(rules) }
}

fn unknown_rule(citation: &str) -> Failure {
    let several = documents_with(citation);
    if !several.is_empty() {
        let id = |rule: &Rule| format!("{}-{citation}", rule.document.name);
        let titled: Vec<String> =
            several.iter().map(|rule| format!("{} ({})", id(rule), rule.title)).collect();
        return Failure::Reported {
            exit: Exit::Usage,
            message: format!("RULE {citation:?}: expected {}.", alternatives(&titled)),
            candidates: several.iter().map(id).collect(),
            typed: Some(citation.to_owned()),
        };
    }
    let of = DOCUMENTS.iter().filter(|document| citation.starts_with(document.name));
    let all: Vec<String> = DOCUMENTS.into_iter().flat_map(cited_ids).collect();
    let near = did_you_mean(&citation.replacen(' ', "-", 1), all.iter().map(String::as_str));
    let names = || DOCUMENTS.iter().map(|document| document.name).collect::<Vec<_>>().join(", ");
    let expected = of.max_by_key(|document| document.name.len()).map_or_else(
        || format!("DOCUMENT-ID with a document of {}", names()),
        |document| format!("an id of {}, such as {}", document.name, sections(*document).join(", ")),
    );
    Failure::usage(format!("RULE {citation:?}: expected {expected}.{near}"))
}

/// Returns the ids of a document's sections and rules as a person types them, `pruning-5.12`.
fn cited_ids(document: Document) -> impl Iterator<Item = String> {
    headings(document).into_iter().map(move |rule| format!("{}-{}", document.name, rule.id))
}

/// Returns the ids without a dot: the sections of a document, and its rules if they have no sections.
fn sections(document: Document) -> Vec<&'static str> {
    headings(document).into_iter().map(|rule| rule.id).filter(|id| !id.contains('.')).collect()
}

/// Prints the sections of documents.
pub(super) fn show_sections(documents: &[Document], json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        let rules = documents.iter().copied().flat_map(headings).map(|rule| RuleJson::new(&rule, None));
        return Ok(output.json(&RuleListJson { rules: rules.collect() })?);
    }
    for document in documents {
        let title = document.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
        output.line(Tone::Strong, &format!("{}  {title}", document.name))?;
        let marks = document.text.lines().filter_map(|line| line.strip_prefix("## "));
        for section in marks {
            output.line(Tone::Plain, &format!("  {section}"))?;
        }
    }
    Ok(())
}

/// Rules, or with `--sections` the headings of all.
#[derive(Serialize, JsonSchema)]
pub(super) struct RuleListJson {
    rules: Vec<RuleJson>,
}

impl JsonOutput for RuleListJson {}

#[derive(Serialize, JsonSchema)]
struct RuleJson {
    /// The document's name in citations.
    document: &'static str,
    /// The id, such as `5.12` or `K7`.
    id: &'static str,
    title: &'static str,
    /// The text as Markdown; absent in the list of headings.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'static str>,
}

impl RuleJson {
    fn new(rule: &Rule, text: Option<&'static str>) -> Self {
        Self { document: rule.document.name, id: rule.id, title: rule.title, text }
    }
}
