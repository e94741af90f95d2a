//! What the program may cost to read: lines of code by room, files, and shapes that are to disappear. The numbers only
//! fall: whoever deletes code lowers them in the same commit, and nobody raises one.
//!
//! A line of code is one that is not blank, no comment and no part of a unit test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Lines of code by room: a folder of `src`, or `""` for the files beside them.
const ROOMS: &[(&str, usize)] = &[
    ("", 1200),
    ("app", 13927),
    ("cli", 860),
    ("command", 14294),
    ("commit", 3551),
    ("config", 611),
    ("context", 2661),
    ("dataset", 1349),
    ("doc", 599),
    ("export", 2383),
    ("format", 385),
    ("gateway", 7088),
    ("js", 2117),
    ("plan", 593),
    ("policy", 14011),
    ("redact", 2739),
    ("remote", 1334),
    ("replay", 4466),
    ("report", 15130),
    ("runtime", 4224),
    ("session", 10908),
    ("store", 8725),
    ("summarize", 1604),
    ("text", 200),
    ("transcript", 1238),
    ("ui", 9975),
    ("write", 2336),
];
/// Rust files in `src`, tests included.
const FILES: usize = 958;
/// Types that mirror a value only to be its JSON.
const MIRRORS: usize = 162;
/// Files that are named after a release.
const DATED_FILES: usize = 7;
/// Lines of `tests`, comments and blank lines included.
const TEST_LINES: usize = 50_000;
/// What a room may be below its number before the number has to follow.
const SLACK: usize = 150;

/// A file of `src`.
struct Source {
    path: PathBuf,
    text: String,
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn files_of(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    rust_files(&root, &mut found);
    let source = |path: PathBuf| Source {
        text: fs::read_to_string(&path).expect("a text"),
        path: path.strip_prefix(&root).expect("below the folder").to_owned(),
    };
    found.into_iter().map(source).collect()
}

/// Returns the paths without extension of the modules that only tests have.
fn test_modules(files: &[Source]) -> BTreeSet<PathBuf> {
    let pattern =
        r#"(?m)^#\[cfg\(test\)\]\n(?:#\[path = "([^"]+)\.rs"\]\n)?(?:pub(?:\([^)]*\))? )?mod (\w+);"#;
    let declared = Regex::new(pattern).expect("a pattern");
    let mut found = BTreeSet::new();
    for file in files {
        let stem = file.path.file_stem().expect("a name");
        let is_root = ["mod", "lib", "main"].iter().any(|name| stem == *name);
        let parent = file.path.parent().expect("a folder");
        let folder = if is_root { parent.to_owned() } else { parent.join(stem) };
        found.extend(declared.captures_iter(&file.text).map(|one| match one.get(1) {
            Some(path) => parent.join(path.as_str()),
            None => folder.join(&one[2]),
        }));
    }
    found
}

/// Returns the lines of code of a file without its inline module of tests.
fn code_lines(text: &str) -> usize {
    let tests =
        Regex::new(r"(?ms)^#\[cfg\(test\)\]\n(?:pub(?:\([^)]*\))? )?mod \w+ \{.*?^\}").expect("a pattern");
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    tests.replace_all(text, "").lines().filter(is_code).count()
}

#[test]
fn no_room_is_over_its_number() {
    let files = files_of("src");
    let tests = test_modules(&files);
    let is_test = |file: &&Source| {
        let path = file.path.with_extension("");
        tests.iter().any(|module| path.starts_with(module))
    };
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| !is_test(file)) {
        let folder = file.path.parent().and_then(|parent| parent.iter().next());
        let room = folder.map_or_else(String::new, |folder| folder.to_string_lossy().into_owned());
        *rooms.entry(room).or_default() += code_lines(&file.text);
    }
    let total: usize = rooms.values().sum();
    println!("{total} lines of code in {} files: {rooms:?}", files.len());
    let budget: BTreeMap<&str, usize> = ROOMS.iter().copied().collect();
    let wrong = rooms.iter().filter(|(room, lines)| {
        let number = budget.get(room.as_str()).copied().unwrap_or(0);
        **lines > number || **lines + SLACK < number
    });
    let wrong: Vec<String> = wrong.map(|(room, lines)| format!("(\"{room}\", {lines}),")).collect();
    assert!(
        wrong.is_empty(),
        "over their number, or so far below that it must follow:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_other_numbers_only_fall() {
    let files = files_of("src");
    let mirror = Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum) \w+Json\b").expect("a pattern");
    let dated = Regex::new(r"\d{4}_\d|_\d+_\d+$").expect("a pattern");
    let mirrors = files.iter().map(|file| mirror.find_iter(&file.text).count()).sum();
    let is_dated = |file: &&Source| {
        file.path.iter().any(|part| dated.is_match(&Path::new(part).with_extension("").to_string_lossy()))
    };
    let test_lines = files_of("tests").iter().map(|file| file.text.lines().count()).sum();
    let numbers: [(&str, usize, usize); 4] = [
        ("files", files.len(), FILES),
        ("types that mirror a value as JSON", mirrors, MIRRORS),
        ("files named after a release", files.iter().filter(is_dated).count(), DATED_FILES),
        ("lines of tests", test_lines, TEST_LINES),
    ];
    println!("{numbers:?}");
    for (what, found, number) in numbers {
        assert!(found <= number, "{found} {what}, and the number is {number}");
    }
}
