//! `clawscope rules RULE`: prints the text of a rule that a screen, a report or a comment cites.

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::output::Output;
use super::suggest::{alternatives, did_you_mean};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::rulebook::{
    DOCUMENTS, Document, Rule, document, documents_with, find_all, headings, is_document, paragraphs,
};

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

/// Prints Markdown: unchanged for scripts; for a terminal with its paragraphs wrapped, and its tables in columns.
pub(super) fn print_markdown(text: &str, output: &mut Output) -> Result<(), Failure> {
    if output.width().is_none() {
        return Ok(text.lines().try_for_each(|line| output.line(markdown_tone(line), line))?);
    }
    let mut lines = paragraphs(text).into_iter().peekable();
    let mut is_code = false;
    while let Some(line) = lines.next() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code || !line.starts_with(['|', '<', '*']) {
            output.line(markdown_tone(&line), &line)?;
        } else if line.starts_with('|') {
            let more = std::iter::from_fn(|| lines.next_if(|next| next.starts_with('|')));
            let rows: Vec<String> = [line].into_iter().chain(more).collect();
            markdown_table(&rows).print(output, "")?;
        } else if line.starts_with("<!--") {
            lines.next_if(String::is_empty);
        } else {
            let title = line.strip_prefix("**").and_then(|line| line.strip_suffix("**"));
            output.line(title.map_or(Tone::Plain, |_| Tone::Strong), title.unwrap_or(&line))?;
        }
    }
    Ok(())
}

fn markdown_tone(line: &str) -> Tone {
    if line.starts_with('#') { Tone::Strong } else { Tone::Plain }
}

/// Reads the rows of a table in Markdown; the second is the line below the head.
fn markdown_table(rows: &[String]) -> Table {
    const ESCAPED: &str = "\u{1}";
    let cells = |row: &String| -> Vec<String> {
        let row = row.trim().trim_start_matches('|').replace("\\|", ESCAPED);
        let row = row.trim_end_matches('|').replace('`', "");
        row.split('|').map(|cell| cell.trim().replace(ESCAPED, "|")).collect()
    };
    let head: Vec<(String, Align)> =
        rows.first().map(cells).unwrap_or_default().into_iter().map(|name| (name, Align::Left)).collect();
    let mut table = Table::new(&head);
    for row in rows.iter().skip(2).map(cells) {
        let filled = row.into_iter().chain(std::iter::repeat(String::new())).take(head.len());
        table.push(filled.map(Cell::from).collect::<Vec<_>>());
    }
    table
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::Line;

    #[test]
    fn a_table_of_markdown_has_columns_and_no_signs() {
        let rows = ["| key | does |", "|---|---|", "| `j` `down` | down |", "| `a\\|b` | a long `word` |"];
        let table = markdown_table(&rows.map(str::to_owned));
        let text = |line: &Line| line.spans.iter().map(|span| span.text.as_str()).collect::<String>();
        let lines: Vec<String> =
            table.lines(Some(40)).iter().map(|line| text(line).trim_end().to_owned()).collect();
        assert_eq!(lines, ["key     does", "j down  down", "a|b     a long word"]);
    }
}
