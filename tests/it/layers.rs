//! Modules import only from modules above them, so that rules stay free of files, clocks and screens.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the top down. A module may use itself and the rows above it; modules of one row cannot see each other.
const ROWS: &[&[&str]] = &[
    &["units"],
    &["guide", "ids", "rulebook", "files"],
    &["diagnostic"],
    &["js"],
    &["format"],
    &["text"],
    &["redact"],
    &["gateway"],
    &["config"],
    &["store"],
    &["transcript"],
    &["context"],
    &["policy"],
    &["plan"],
    &["replay"],
    &["summarize"],
    &["commit"],
    &["session"],
    &["write"],
    &["doc"],
    &["report"],
    &["export", "dataset"],
    &["app"],
    &["ui"],
    &["runtime"],
    &["cli", "command"],
    &["remote"],
];

/// `command` implements `cli`: the only pair of a row that may import each other.
const PAIR: [&str; 2] = ["cli", "command"];

fn row(module: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&module))
}

/// Whether `user` may import from `used`.
fn may(user: &str, used: &str) -> bool {
    let pair = PAIR.contains(&user) && PAIR.contains(&used);
    user == used || pair || matches!((row(user), row(used)), (Some(user), Some(used)) if used < user)
}

/// The top modules that a source names: `crate::x`, `crate::{x, y::z}`. Comments do not count.
fn named(source: &str) -> BTreeSet<String> {
    let code: String =
        source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let whole = code[..at].chars().next_back().is_none_or(|char| !char.is_alphanumeric() && char != '_');
        if !whole {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            found.extend(heads(group));
        } else {
            found.extend(head(rest));
        }
    }
    found
}

/// The name a path begins with.
fn head(path: &str) -> Option<String> {
    let name: String =
        path.trim_start().chars().take_while(|char| char.is_ascii_alphanumeric() || *char == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The first names of the members of a group, up to its end.
fn heads(group: &str) -> Vec<String> {
    let (mut depth, mut member, mut found) = (0, String::new(), Vec::new());
    for char in group.chars() {
        match char {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => found.extend(head(&std::mem::take(&mut member))),
            _ => {}
        }
        if depth == 0 && char != ',' {
            member.push(char);
        }
    }
    found.extend(head(&member));
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for item in fs::read_dir(folder).expect("a folder of sources") {
        let path = item.expect("an item").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Returns the top module of a file; `None` for the roots of the crate, which name everything.
fn module_of(path: &Path, src: &Path) -> Option<String> {
    let first = path.strip_prefix(src).ok()?.components().next()?.as_os_str().to_string_lossy().into_owned();
    let name = first.strip_suffix(".rs").unwrap_or(&first).to_owned();
    (name != "lib" && name != "main").then_some(name)
}

#[test]
fn every_import_points_upwards() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in sources(&src) {
        let Some(module) = module_of(&path, &src) else { continue };
        assert!(row(&module).is_some(), "{}: give `{module}` a row", path.display());
        let text = fs::read_to_string(&path).expect("a source");
        for used in named(&text).iter().filter(|used| row(used).is_some() && !may(&module, used)) {
            wrong.push(format!("{}: {module} must not use {used}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A source without its unit tests and comments.
fn shipped(source: &str) -> String {
    let tested = source.find("#[cfg(test)]").unwrap_or(source.len());
    let lines = source[..tested].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns where a module (`None`: the roots) names one of these words outside its tests, as `file: word`.
fn uses(words: &[&str], of: impl Fn(&str) -> bool) -> Vec<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in sources(&src).iter().filter(|path| !path.to_string_lossy().ends_with("tests.rs")) {
        if !of(&module_of(path, &src).unwrap_or_default()) {
            continue;
        }
        let text = shipped(&fs::read_to_string(path).expect("a source"));
        let named = words.iter().filter(|word| text.contains(**word));
        found.extend(named.map(|word| format!("{}: {word}", path.display())));
    }
    found
}

const NONE: Vec<String> = Vec::new();

#[test]
fn only_the_runtime_module_uses_the_terminal_and_the_executor() {
    assert_eq!(uses(&["tokio::"], |module| module != "runtime"), NONE);
    // The event loop receives keys from the terminal; modules above it know no terminal.
    let far = |module: &str| row(module).is_some_and(|at| at < row("app").unwrap()) || module == "ui";
    assert_eq!(uses(&["crossterm::"], far), NONE);
    assert!(
        !uses(&["tokio::"], |module| module == "runtime").is_empty(),
        "the words are found where they are"
    );
}

#[test]
fn rules_and_screens_read_no_file_no_clock_and_no_environment() {
    let pure = [
        "ids",
        "diagnostic",
        "js",
        "text",
        "redact",
        "transcript",
        "context",
        "policy",
        "plan",
        "replay",
        "report",
        "export",
        "app",
        "ui",
    ];
    let words = [
        "std::fs",
        "fs::File",
        "std::env::",
        "std::process",
        "std::net",
        "SystemTime",
        "Instant::now",
        "thread::",
    ];
    assert_eq!(uses(&words, |module| pure.contains(&module)), NONE);
    assert!(!uses(&words, |module| module == "gateway").is_empty(), "the words are found where they are");
}

#[test]
fn only_a_commit_opens_files_to_write() {
    let words = ["OpenOptions", "File::options", "File::create", "fs::rename", "fs::remove_file", "fs::copy"];
    // `files` opens with flags: for reading, and a file that serves as a lock.
    let others = uses(&words, |module| module != "commit" && module != "files");
    // One place saves files for a person: a plan, an export, a picture; as a new file, or over one that they name and
    // agree to lose, never next to sessions. The demo store is written to a separate folder. A dataset is a separate
    // folder too, which may contain nothing else. The log and crash reports are in clawscope's own state folder, and a
    // preset is deleted by the name that a person typed.
    let writers = [
        "/runtime/save.rs:",
        "/store/demo/",
        "/dataset/folder.rs:",
        "/runtime/log.rs:",
        "/runtime/crash.rs:",
        "/config/presets.rs:",
        // Manual pages are written to a folder that the person names.
        "/command/man.rs:",
        // A copy of a store on another machine is unpacked into a new temporary folder.
        "/remote/copy/extract.rs:",
    ];
    let allowed = |place: &String| writers.iter().any(|writer| place.contains(writer));
    assert_eq!(others.into_iter().filter(|place| !allowed(place)).collect::<Vec<_>>(), NONE);
    assert!(!uses(&words, |module| module == "commit").is_empty(), "the words are found where they are");
}

/// A model is asked by a person's own program, and another machine by their own `ssh`.
#[test]
fn no_code_opens_a_connection() {
    let found = uses(&["std::net::", "std::os::unix::net", "TcpStream", "UdpSocket", "UnixStream"], |_| true);
    // An address of a machine is checked, and given to `ssh`.
    let address = "/remote/address.rs: std::net::";
    assert!(found.len() == 1 && found[0].ends_with(address), "{found:#?}");
}

/// The files of explain that find something keep it as values, so that text, JSON and screen have the same numbers.
#[test]
fn only_the_descriptions_of_explain_make_sentences() {
    let found = uses(&["crate::format::", "format!("], |module| module == "report");
    let explain = found.into_iter().filter(|place| place.contains("/report/explain/"));
    let explain = explain.filter(|place| !place.contains("/explain/testing.rs:"));
    let (described, elsewhere): (Vec<_>, Vec<_>) =
        explain.partition(|place| place.contains("/explain/description/"));
    assert_eq!(elsewhere, NONE);
    assert!(!described.is_empty(), "the words are found where they are");
}

#[test]
fn no_super_path_leaves_its_top_module() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&src).iter().filter(|path| !path.to_string_lossy().ends_with("tests.rs")) {
        let below = path.strip_prefix(&src).expect("below");
        let depth = below.components().count() - usize::from(below.ends_with("mod.rs"));
        let text = shipped(&fs::read_to_string(path).expect("a source"));
        // In `a/b.rs`, `super::super` is the root of the crate.
        let climb = "super::".repeat(depth);
        assert!(!text.contains(&climb), "{}: name it by `crate::`", path.display());
    }
}

#[test]
fn imports_are_found_everywhere_in_a_file() {
    let source = "use crate::store::{self, body};\nuse crate::{ui, app::{state, event}, js::Value};\n// crate::runtime\n\
                  fn f() { crate::plan::after(); mycrate::context::x() }\nuse crate::{\n    policy::fate,\n    ids,\n};";
    let expected = ["app", "ids", "js", "plan", "policy", "store", "ui"];
    assert_eq!(named(source).into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_module_may_use_only_modules_above_it() {
    assert!(may("session", "commit") && may("store", "store") && may("cli", "command"));
    assert!(
        !may("commit", "session") && !may("policy", "app") && !may("session", "report") && !may("js", "text")
    );
}

/// A FIFO, a device or an endless file in a store must not make the program wait or fill its memory.
#[test]
fn files_are_opened_for_reading_in_one_place() {
    let opens = [" File::open(", "(File::open(", "fs::File::open(", "fs::read(", "fs::read_to_string("];
    // Folders are opened to sync or to lock them, and processes are looked up in /proc.
    let elsewhere =
        ["src/files.rs", "src/commit/disk.rs", "src/commit/process.rs", "src/remote/copy/folder.rs"];
    let found = uses(&opens, |_| true);
    let found: Vec<&String> =
        found.iter().filter(|use_| !elsewhere.iter().any(|file| use_.contains(file))).collect();
    assert!(found.is_empty(), "use crate::files: {found:#?}");
}
