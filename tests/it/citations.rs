//! Every rule that the source cites is in the shipped documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clawscope::rulebook::{DOCUMENTS, find, find_all};
use regex::Regex;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).expect("a folder of sources") {
        let path = item.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The citations of a text, with the ids that follow the first one: `releases R60–R62`, `compaction 2.11, 10.11`.
fn citations(text: &str) -> Vec<String> {
    let id = r"[A-Z]?[0-9]{1,3}[a-z]?(?:\.[0-9]+[a-z]?)*\b";
    let names =
        r"pruning|compaction|releases|overflow-texts|store-sqlite|store-pi-1\.5|store|sqlite|trajectory";
    let cited = Regex::new(&format!(r"(?:^|[^\w-])({names}) ({id}(?:(?:–|, | to | and ){id})*)")).unwrap();
    let each = Regex::new(id).unwrap();
    let mut found = Vec::new();
    for captures in cited.captures_iter(text) {
        found.extend(each.find_iter(&captures[2]).map(|id| format!("{} {}", &captures[1], id.as_str())));
    }
    found
}

#[test]
fn every_citation_in_the_source_names_a_rule_that_ships() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for path in sources(&root.join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        for citation in citations(&text) {
            count += 1;
            if find(&citation).is_none() {
                let place = path.strip_prefix(root).unwrap().display().to_string();
                missing.entry(citation).or_default().push(place);
            }
        }
    }
    assert!(missing.is_empty(), "no such rules: {missing:#?}");
    assert!(count > 1000, "{count} citations found: the pattern has lost some");
}

/// Rules that JSON and screens name are texts of the source, and the ids of overflow texts.
#[test]
fn rules_prints_every_citation_that_the_program_gives() {
    let names =
        r"pruning|compaction|releases|overflow-texts|store-sqlite|store-pi-1\.5|store|sqlite|trajectory";
    let literal = Regex::new(&format!("\"((?:{names}) [A-Z]?[0-9][^\"\\s]*|T[0-9]{{2}})\"")).unwrap();
    let mut count = 0;
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        // Tests cite rules that do not exist.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for found in literal.captures_iter(text) {
            count += 1;
            assert!(!find_all(&found[1]).is_empty(), "{}: {}", path.display(), &found[1]);
        }
    }
    assert!(count > 100, "{count} citations found");
}

#[test]
fn every_reference_between_the_documents_names_a_rule_that_ships() {
    let missing: Vec<String> = DOCUMENTS
        .iter()
        .flat_map(|document| citations(document.text).into_iter().map(|citation| (document.name, citation)))
        .filter(|(_, citation)| find(citation).is_none())
        .map(|(name, citation)| format!("{name}: {citation}"))
        .collect();
    assert!(missing.is_empty(), "no such rules: {missing:#?}");
}
