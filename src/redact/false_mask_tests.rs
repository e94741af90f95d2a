//! Ordinary texts have next to no secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::detection::detect;
use super::lines::views;

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for item in std::fs::read_dir(folder).unwrap().flatten() {
        let path = item.path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}

/// Counts words and masks of each file; redaction's own files hold secrets on purpose.
fn masks(paths: &[PathBuf]) -> (usize, BTreeMap<String, usize>) {
    let (mut words, mut masks) = (0, BTreeMap::new());
    for path in paths.iter().filter(|path| !path.to_string_lossy().contains("redact")) {
        let text = crate::files::read_text(path, 1 << 24).unwrap();
        words += text.split_whitespace().count();
        for found in detect(&text, &views(&text)) {
            let line = text[..found.from].matches('\n').count() + 1;
            *masks.entry(format!("{}:{line} {}", path.display(), found.secret)).or_default() += 1;
        }
    }
    (words, masks)
}

#[test]
fn documents_and_code_have_at_most_one_false_mask_in_ten_thousand_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![root.join("README.md"), root.join("CHANGELOG.md"), root.join("src/ARCHITECTURE.md")];
    files(&root.join("assets/guide"), "md", &mut paths);
    files(&root.join("assets/rules"), "md", &mut paths);
    for folder in ["src/app", "src/replay", "src/store", "src/cli", "src/plan"] {
        files(&root.join(folder), "rs", &mut paths);
    }
    let (words, masks) = masks(&paths);
    assert!(words > 100_000, "{words} words");
    let count: usize = masks.values().sum();
    eprintln!("{count} masks in {words} words");
    assert!(count * 10_000 <= words, "{count} masks in {words} words: {masks:#?}");
}
