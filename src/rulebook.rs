//! The rules that clawscope follows, shipped in `assets/rules/`: the behaviour of the gateways and of pi, rule by
//! rule.
//!
//! Comments, screens and reports cite rules by document and id, such as `pruning 5.12`. A test checks that every
//! citation in the source names a rule that exists; `clawscope rules pruning-5.12` prints one.
//!
//! ```
//! let rule = clawscope::rulebook::find("pruning-5.12").expect("a rule");
//! assert_eq!((rule.document.name, rule.id), ("pruning", "5.12"));
//! ```

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document {
    /// The name in citations.
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! document {
    ($name:literal) => {
        Document { name: $name, text: include_str!(concat!("../assets/rules/", $name, ".md")) }
    };
}

pub const DOCUMENTS: [Document; 8] = [
    document!("pruning"),
    document!("compaction"),
    document!("releases"),
    document!("overflow-texts"),
    document!("store"),
    document!("store-sqlite"),
    document!("store-pi-1.5"),
    document!("trajectory"),
];

/// A rule, or a section of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub document: Document,
    /// The id, such as `5.12` or `K7`.
    pub id: &'static str,
    pub title: &'static str,
    /// The text as Markdown, without the title. A section includes its rules.
    pub text: &'static str,
}

/// Returns the document of a name in citations.
pub fn document(word: &str) -> Option<Document> {
    let name = if word == "sqlite" { "store-sqlite" } else { word };
    DOCUMENTS.into_iter().find(|document| document.name == name)
}

/// Whether a word is the name of a document in citations.
pub fn is_document(word: &str) -> bool {
    document(word).is_some()
}

/// Whether a word begins a citation: the name of a document, alone or with an id after it.
pub fn begins_citation(word: &str) -> bool {
    is_document(word) || word.match_indices('-').any(|(at, _)| is_document(&word[..at]))
}

/// Finds the rule of a citation: `pruning-5.12`, `pruning 5.12`, `store K7`. The citation of a part finds the rule
/// that includes the part: a letter (`pruning 7.2e`), a number (`pruning 5.7.1`), or an item or table row
/// (`overflow-texts T04`). `None` for an unknown document or rule.
pub fn find(citation: &str) -> Option<Rule> {
    let (document, id) = parts(citation)?;
    let headings = headings(document);
    let exact = |id: &str| headings.iter().find(|heading| heading.id == id).copied();
    let without_letter = id.trim_end_matches(|sign: char| sign.is_ascii_lowercase());
    let without_number = without_letter.rsplit_once('.').map_or("", |(whole, _)| whole);
    let with_item = || rule_with_item(&headings, id);
    exact(id).or_else(|| exact(without_letter)).or_else(with_item).or_else(|| exact(without_number))
}

/// Finds the rule with a list item or a table row that begins with an id, one of its own before one for several ids.
fn rule_with_item(headings: &[Rule], id: &str) -> Option<Rule> {
    let own = format!("| {id} |");
    // A section and its rule both include the part; the rule comes later.
    let find =
        |is_there: &dyn Fn(&str) -> bool| headings.iter().rev().find(|rule| is_there(rule.text)).copied();
    find(&|text| text.lines().any(|line| line.starts_with(&own))).or_else(|| find(&|text| has_item(text, id)))
}

/// Finds every rule of a citation: one rule, those of a range such as `pruning 3–5`, or that of an id which only one
/// document has, such as `T01`. Empty for an unknown document or rule.
pub fn find_all(citation: &str) -> Vec<Rule> {
    let Some((document, ids)) = parts(citation) else {
        let found = documents_with(citation.trim());
        return if found.len() == 1 { found } else { Vec::new() };
    };
    let ids =
        ids.split_once(['–', '-']).map_or_else(|| vec![ids.to_owned()], |(from, to)| ids_between(from, to));
    let mut rules: Vec<Rule> = Vec::new();
    for id in ids {
        let Some(rule) = find(&format!("{} {id}", document.name)) else { return Vec::new() };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

/// Returns the rule with an id in every document that has one. A table row may have an id such as `T01` too.
pub fn documents_with(id: &str) -> Vec<Rule> {
    let names_row = id.starts_with(|sign: char| sign.is_ascii_uppercase())
        && id.ends_with(|sign: char| sign.is_ascii_digit());
    let of = |document: Document| {
        let rules = headings(document);
        let exact = rules.iter().find(|rule| rule.id == id).copied();
        exact.or_else(|| rule_with_item(&rules, id).filter(|_| names_row))
    };
    DOCUMENTS.into_iter().filter_map(of).collect()
}

/// Returns the ids from one to another whose last number counts up, such as `R35` to `R38`; empty if they do not.
fn ids_between(from: &str, to: &str) -> Vec<String> {
    let split = |id: &'_ str| {
        let id = id.trim();
        let prefix = id.trim_end_matches(|sign: char| sign.is_ascii_digit()).len();
        let number = id[prefix..].parse::<u32>().ok()?;
        Some((id[..prefix].to_owned(), number, id.len() - prefix))
    };
    let (Some((prefix, first, width)), Some((other, last, _))) = (split(from), split(to)) else {
        return Vec::new();
    };
    if prefix != other || last.saturating_sub(first) > 200 {
        return Vec::new();
    }
    (first..=last).map(|number| format!("{prefix}{number:0width$}")).collect()
}

/// Whether a text has a list item or a table row that begins with an id.
fn has_item(text: &str, id: &str) -> bool {
    text.lines().any(|line| {
        let rest = line.trim_start().strip_prefix(['-', '|']).map(|rest| rest.trim_start_matches([' ', '*']));
        let rest = rest.and_then(|rest| rest.strip_prefix(id));
        rest.is_some_and(|rest| !rest.starts_with(|sign: char| sign.is_ascii_alphanumeric()))
    })
}

/// Lists every section and rule of a document in order.
pub fn headings(document: Document) -> Vec<Rule> {
    let lines: Vec<(usize, &str)> = lines(document.text).collect();
    let level = |line: &str| ["## ", "### "].iter().position(|mark| line.starts_with(mark));
    let rule = |(at, (start, line)): (usize, &(usize, &'static str))| {
        let level_here = level(line)?;
        let (id, title) = line.trim_start_matches('#').trim().split_once(' ')?;
        let after =
            lines[at + 1..].iter().find(|(_, next)| level(next).is_some_and(|next| next <= level_here));
        let end = after.map_or(document.text.len(), |(end, _)| *end);
        let text = document.text[start + line.len()..end].trim();
        Some(Rule { document, id, title, text })
    };
    lines.iter().enumerate().filter_map(rule).collect()
}

/// Splits a text into lines, each with its first byte's index.
fn lines(text: &'static str) -> impl Iterator<Item = (usize, &'static str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line.trim_end()))
    })
}

/// Splits a citation into document and id. `sqlite` is short for `store-sqlite`.
fn parts(citation: &str) -> Option<(Document, &str)> {
    let citation = citation.trim();
    let name = |document: &Document| match document.name {
        "store-sqlite" if !citation.starts_with("store-sqlite") => "sqlite",
        name => name,
    };
    let named = |document: &Document| {
        let id = citation.strip_prefix(name(document))?.strip_prefix(['-', ' '])?.trim();
        Some((*document, id))
    };
    // `store-pi-1.5 D9` begins with `store-` too, so the longest name decides.
    DOCUMENTS.iter().filter_map(named).max_by_key(|(document, _)| document.name.len())
}

/// Joins the lines of each paragraph, because the file breaks them at its own width. Headings, table rows, list items
/// and code keep their lines.
pub fn paragraphs(text: &str) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for line in text.lines() {
        let words = line.trim_start();
        let is_fence = words.starts_with("```");
        match joined.last_mut() {
            Some(paragraph) if is_open && !is_code && !is_fence && continues(words) => {
                paragraph.push(' ');
                paragraph.push_str(words);
            }
            _ => joined.push(line.to_owned()),
        }
        is_open = !is_fence && !words.is_empty() && !words.starts_with(['#', '|']);
        is_code ^= is_fence;
    }
    joined
}

/// Whether a line of Markdown continues the paragraph before it.
fn continues(line: &str) -> bool {
    let is_numbered = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    !line.is_empty() && !line.starts_with(['#', '|']) && !line.starts_with("- ") && !is_numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cited(citation: &str) -> Option<(&'static str, &'static str)> {
        find(citation).map(|rule| (rule.document.name, rule.id))
    }

    #[test]
    fn a_citation_names_a_document_and_a_rule() {
        assert_eq!(cited("pruning-5.12"), Some(("pruning", "5.12")));
        assert_eq!(cited(" pruning 5.12 "), Some(("pruning", "5.12")));
        assert_eq!(cited("store-pi-1.5 D9"), Some(("store-pi-1.5", "D9")));
        assert_eq!(cited("sqlite G2"), Some(("store-sqlite", "G2")));
        assert_eq!([cited("pruning-99.1"), cited("pruning"), cited("weather 1")], [None; 3]);
    }

    #[test]
    fn a_part_of_a_rule_finds_the_rule() {
        assert_eq!(cited("pruning 7.2e"), Some(("pruning", "7.2")));
        assert_eq!(cited("store-pi-1.5 F3.3"), Some(("store-pi-1.5", "F3")));
        assert_eq!(cited("trajectory R5"), Some(("trajectory", "5.2")));
    }

    #[test]
    fn a_range_finds_each_of_its_rules_and_an_id_of_one_document_needs_no_name() {
        let ids = |citation: &str| find_all(citation).iter().map(|rule| rule.id).collect::<Vec<_>>();
        assert_eq!(ids("pruning 3–5"), ["3", "4", "5"]);
        assert_eq!(ids("pruning-3-5"), ["3", "4", "5"]);
        assert_eq!(ids("pruning 5.12"), ["5.12"]);
        assert_eq!(ids("overflow-texts T01 – T03").first(), ids("T01").first(), "the table of texts");
        assert_eq!(ids("T01"), ids("overflow-texts T01"));
        for unknown in ["pruning 5-3", "pruning 3-99", "5.12", "weather", "T99"] {
            assert!(ids(unknown).is_empty(), "{unknown}: {:?}", ids(unknown));
        }
    }

    #[test]
    fn a_section_includes_its_rules_and_a_rule_ends_where_the_next_begins() {
        let (section, rule) = (find("pruning 5").unwrap(), find("pruning 5.12").unwrap());
        assert!(section.text.contains(rule.text) && section.text.contains("### 5.1 "));
        assert!(!rule.text.contains("\n#"));
    }

    #[test]
    fn every_rule_has_a_title_and_a_text_and_no_id_is_there_twice() {
        for document in DOCUMENTS {
            let rules = headings(document);
            let mut ids: Vec<&str> = rules.iter().map(|rule| rule.id).collect();
            for rule in &rules {
                assert!(!rule.title.is_empty() && !rule.text.is_empty(), "{} {}", document.name, rule.id);
            }
            ids.sort_unstable();
            let count = ids.len();
            ids.dedup();
            assert_eq!(ids.len(), count, "{}: an id is there twice", document.name);
        }
    }

    #[test]
    fn paragraphs_and_list_items_are_joined_and_everything_else_keeps_its_lines() {
        let text = "One\ntwo.\n\n- item\n  more\n- next\n1. first\n\n| a |\n| b |\n```\nx\ny\n```\nend\nhere";
        let lines = [
            "One two.",
            "",
            "- item more",
            "- next",
            "1. first",
            "",
            "| a |",
            "| b |",
            "```",
            "x",
            "y",
            "```",
            "end here",
        ];
        assert_eq!(paragraphs(text), lines);
    }
}
